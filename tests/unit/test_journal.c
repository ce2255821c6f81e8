/* SPDX-License-Identifier: MIT */
/* test_journal.c - writing, reading, damage and resume of a journal */
/* test_journal --write-fixture DIR makes DIR/0001.ksj, as in tests/data/journal-v1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "journal/journal.h"
#include "journal/segment.h"
#include "journal_fixture.h"
#include "journal_kit.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void what_was_synced_is_read_in_order(void **state)
{
    const struct kit_read *r;
    struct ks_journal *j;
    struct ks_err err;
    struct kit_dir d;
    uint64_t durable = 0, at = 0, start;
    struct ks_buf raw, body;

    (void)state;
    kit_dir_make(&d);
    j = kit_open_journal(d.journal);
    assert_int_equal(ks_journal_pending(j), 0);
    assert_int_equal(ks_journal_sync(j, &start, &err), 0);
    assert_true(start > KS_FRAME_HEADER);
    for (uint64_t i = 0; i < 20; i++)
        at = kit_append(j, i);
    assert_int_equal(ks_journal_pending(j), at - start);
    assert_int_equal(kit_read(d.journal)->n, 0);
    assert_int_equal(ks_journal_sync(j, &durable, &err), 0);
    assert_int_equal(durable, at);
    assert_int_equal(ks_journal_pending(j), 0);
    assert_int_equal(kit_read(d.journal)->n, 20);
    assert_false(kit_read(d.journal)->totals.is_closed);

    ks_buf_init(&raw);
    ks_buf_init(&body);
    kit_body(20, &body);
    ks_frame_put(&raw, KS_F_DONE, body.data, body.len);
    ks_frame_put(&raw, KS_F_EVENT, NULL, 0);
    assert_int_equal(ks_journal_append_raw(j, raw.data, raw.len, &at, &err), 0);
    assert_int_equal(at, durable + raw.len);
    assert_int_equal(ks_journal_close(j, &err), 0);
    r = kit_read(d.journal);
    assert_int_equal(r->n, 21);
    for (uint32_t i = 0; i < r->n; i++)
        assert_int_equal(r->number[i], i);
    assert_int_equal(r->n_others, 1);
    assert_int_equal(r->totals.n_segments, 1);
    assert_int_equal(r->totals.n_frames, 24);
    assert_int_equal(r->totals.n_bytes, at + KS_FRAME_HEADER);
    assert_true(r->totals.is_closed);
    ks_buf_release(&raw);
    ks_buf_release(&body);
    kit_dir_remove(&d);
}

static void the_header_says_who_writes(void **state)
{
    const struct ks_segment *s;
    struct ks_journal *j;
    struct ks_err err;
    struct kit_dir d;
    char host[64];

    (void)state;
    kit_dir_make(&d);
    j = kit_open_journal(d.journal);
    s = ks_journal_segment(j);
    assert_int_equal(gethostname(host, sizeof(host)), 0);
    assert_string_equal(s->host, host);
    assert_int_equal(s->incarnation, 1);
    assert_int_equal(s->pid, getpid());
    assert_true(s->pid_start > 0);
    assert_int_equal(strlen(s->boot_id), 36);
    assert_true(ks_realtime_ns() - s->realtime_ns < 60000000000ull);
    assert_false(ks_id128_is_zero(s->run_id));
    assert_int_equal(s->n_fences, 0);
    assert_int_equal(ks_journal_close(j, &err), 0);
    assert_int_equal(ks_journal_close(NULL, &err), 0);
    ks_journal_abandon(NULL);
    kit_dir_remove(&d);
}

static void resume_goes_on_in_the_next_segment_of_the_same_run(void **state)
{
    struct ks_journal_open how = { .run_id = { 1, 2 } };
    struct ks_journal *j = NULL;
    struct ks_err err = { 0 };
    struct ks_id128 run_id;
    struct kit_dir d;

    (void)state;
    kit_dir_make(&d);
    j = kit_open_journal(d.journal);
    run_id = ks_journal_segment(j)->run_id;
    kit_append(j, 0);
    assert_int_equal(ks_journal_close(j, &err), 0);
    j = kit_open_journal(d.journal);
    assert_int_equal(ks_journal_segment(j)->incarnation, 2);
    assert_true(ks_id128_eq(ks_journal_segment(j)->run_id, run_id));
    assert_int_equal(ks_journal_segment(j)->n_fences, 1);
    assert_int_equal(ks_journal_segment(j)->fences[0].segment, 1);
    kit_append(j, 1);
    assert_int_equal(ks_journal_close(j, &err), 0);
    assert_int_equal(kit_read(d.journal)->n, 2);
    assert_int_equal(kit_read(d.journal)->totals.n_segments, 2);

    how.dir = d.journal;
    j = NULL;
    assert_int_equal(ks_journal_create(&how, &j, &err), KS_EEXIST);
    assert_null(j);
    assert_non_null(strstr(err.text, "00000000000000010000000000000002"));
    how.run_id = run_id;
    assert_int_equal(ks_journal_create(&how, &j, &err), 0);
    assert_int_equal(ks_journal_segment(j)->incarnation, 3);
    ks_journal_abandon(j);
    kit_dir_remove(&d);
}

/* ---- damage ---- */

static void a_flipped_byte_costs_one_record_and_is_located(void **state)
{
    enum { N = 50 };
    struct kit_dir d;
    struct ks_buf b;
    char path[400];

    (void)state;
    kit_dir_make(&d);
    kit_write_segment(d.journal, 0, N);
    ks_buf_init(&b);
    kit_read_file(d.journal, "0001.ksj", &b);
    snprintf(path, sizeof(path), "%s/0001.ksj", d.journal);
    for (size_t at = 0; at < b.len; at++) {
        FILE *file = fopen(path, "r+");
        const struct kit_read *r;
        bool is_end = at >= b.len - KS_FRAME_HEADER;

        assert_non_null(file);
        setvbuf(file, NULL, _IONBF, 0);
        assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
        fputc(b.data[at] ^ (1 << at % 8), file);
        r = kit_read(d.journal);
        assert_true(r->n >= N - 1);
        assert_int_equal(r->n + r->n_headers + r->n_closes, N + 1);
        assert_int_equal(r->n_damage, 1);
        assert_int_equal(r->totals.n_damaged_places, is_end ? 0 : 1);
        assert_int_equal(r->totals.n_torn_tails, is_end ? 1 : 0);
        assert_int_equal(r->damage.is_tail, is_end);
        assert_string_equal(r->damage.path, path);
        assert_true(r->damage.offset <= at && at < r->damage.offset + r->damage.n_bytes);
        assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
        fputc(b.data[at], file);
        fclose(file);
    }
    ks_buf_release(&b);
    kit_dir_remove(&d);
}

/* A length that is wrong under a CRC that is right: what follows is found when the file ends. */
static void a_huge_length_swallows_no_record(void **state)
{
    const struct kit_read *r;
    struct ks_buf b, body;
    struct kit_dir d;

    (void)state;
    kit_dir_make(&d);
    ks_buf_init(&b);
    ks_buf_init(&body);
    ks_buf_put(&b, KS_FRAME_SYNC, 8);
    ks_buf_u16(&b, KS_F_DONE);
    ks_buf_u16(&b, KS_FRAME_VERSION);
    ks_buf_u32(&b, KS_FRAME_BODY_MAX);
    ks_buf_u32(&b, ks_crc32c(0, b.data, 16));
    ks_buf_u32(&b, 0);
    for (uint64_t i = 0; i < 3; i++) {
        ks_buf_clear(&body);
        kit_body(i, &body);
        ks_frame_put(&b, KS_F_DONE, body.data, body.len);
    }
    kit_write_file(d.journal, "0001.ksj", &b);
    r = kit_read(d.journal);
    assert_int_equal(r->n, 3);
    assert_int_equal(r->totals.n_damaged_places, 1);
    assert_int_equal(r->damage.n_bytes, KS_FRAME_HEADER);
    ks_buf_release(&b);
    ks_buf_release(&body);
    kit_dir_remove(&d);
}

/* Wherever it is cut: what the last frame lost is a torn tail, and the header of the next segment
 * tells how much is missing. */
static void a_torn_tail_is_reported_wherever_it_is_cut(void **state)
{
    struct kit_dir d;
    size_t first, len;
    struct ks_buf b;

    (void)state;
    kit_dir_make(&d);
    kit_write_segment(d.journal, 0, 5);
    ks_buf_init(&b);
    kit_read_file(d.journal, "0001.ksj", &b);
    len = b.len;
    first = KS_FRAME_HEADER + (size_t)(b.data[12] | b.data[13] << 8); /* the header frame */
    kit_write_segment(d.journal, 5, 5);
    for (size_t cut = 0; cut < len; cut++) {
        const struct kit_read *r;
        bool is_torn;

        b.len = cut;
        kit_write_file(d.journal, "0001.ksj", &b);
        r = kit_read(d.journal);
        assert_true(r->n >= 5 && r->n <= 10);
        assert_int_equal(r->number[r->n - 1], 9);
        is_torn = r->totals.n_torn_tails == 1;
        assert_int_equal(r->totals.n_damaged_places, 1);
        assert_int_equal(r->n_damage, 1 + is_torn);
        assert_int_equal(r->damage.offset, cut);
        assert_int_equal(r->damage.n_bytes, len - cut);
        assert_true(is_torn || cut == 0 || cut >= first);
        assert_true(r->totals.is_closed); /* the second one */
    }
    ks_buf_release(&b);
    kit_dir_remove(&d);
}

static void unknown_types_and_versions_are_counted(void **state)
{
    const struct kit_read *r;
    struct ks_buf b, body;
    struct kit_dir d;

    (void)state;
    kit_dir_make(&d);
    ks_buf_init(&b);
    ks_buf_init(&body);
    ks_frame_put(&b, 99, "later", 5);
    kit_body(0, &body);
    ks_frame_put(&b, KS_F_DONE, body.data, body.len);
    ks_frame_put(&b, KS_F_READY, NULL, 0); /* belongs on a wire */
    size_t at = b.len;
    ks_frame_put(&b, KS_F_DONE, body.data, body.len);
    uint32_t crc;
    b.data[at + 10] = 2; /* version */
    crc = ks_crc32c(0, b.data + at, 16);
    for (unsigned i = 0; i < 4; i++)
        b.data[at + 16 + i] = (uint8_t)(crc >> (8 * i));
    kit_write_file(d.journal, "0001.ksj", &b);
    r = kit_read(d.journal);
    assert_int_equal(r->n, 1);
    assert_int_equal(r->n_others, 0);
    assert_int_equal(r->totals.n_frames, 4);
    assert_int_equal(r->totals.n_unknown_types, 3);
    assert_int_equal(r->n_damage, 0);
    ks_buf_release(&b);
    ks_buf_release(&body);
    kit_dir_remove(&d);
}

static void other_files_are_no_segments(void **state)
{
    static const char *const names[] = { "0000.ksj", "00002.ksj", "0002.ksj.bak", "x0002.ksj",
                                         "2.ksj",    "-001.ksj",  ".ksj",         "0002.KSJ" };
    struct ks_err err = { 0 };
    struct ks_buf junk;
    struct kit_dir d;

    (void)state;
    kit_dir_make(&d);
    assert_int_equal(ks_journal_read(d.journal, NULL, NULL, NULL, NULL, &err), KS_ENOENT);
    ks_buf_init(&junk);
    ks_buf_printf(&junk, "junk");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        kit_write_file(d.journal, names[i], &junk);
    assert_int_equal(ks_journal_read(d.journal, NULL, NULL, NULL, NULL, &err), KS_ENOENT);
    assert_non_null(strstr(err.text, d.journal));
    kit_write_segment(d.journal, 0, 3);
    assert_int_equal(kit_read(d.journal)->n, 3);
    assert_int_equal(kit_read(d.journal)->totals.n_segments, 1);
    ks_buf_release(&junk);
    kit_dir_remove(&d);
}

static void a_missing_segment_is_reported(void **state)
{
    const struct kit_read *r;
    struct ks_buf keep;
    struct kit_dir d;
    char path[400];

    (void)state;
    kit_dir_make(&d);
    for (uint64_t i = 0; i < 12; i++)
        kit_write_segment(d.journal, i, 1);
    assert_int_equal(kit_read(d.journal)->n, 12);
    snprintf(path, sizeof(path), "%s/0011.ksj", d.journal);
    ks_buf_init(&keep);
    kit_read_file(d.journal, "0011.ksj", &keep);
    assert_int_equal(unlink(path), 0);
    r = kit_read(d.journal);
    assert_int_equal(r->n, 11);
    assert_int_equal(r->n_damage, 1);
    assert_string_equal(r->damage.path, path);
    assert_int_equal(r->damage.n_bytes, 0);
    assert_int_equal(r->totals.n_damaged_places, 1);
    kit_write_segment(d.journal, 12, 1); /* the gap stays */
    assert_int_equal(kit_read(d.journal)->n, 12);
    ks_buf_release(&keep);
    kit_dir_remove(&d);
}

/* Between two frames, so that nothing looks torn: only the header of the next one tells. */
static void a_segment_cut_back_is_reported(void **state)
{
    const struct kit_read *r;
    uint64_t n_bytes, place = 0;
    struct ks_journal *j;
    struct ks_buf whole;
    struct ks_err err;
    struct kit_dir d;
    char path[400];

    (void)state;
    kit_dir_make(&d);
    j = kit_open_journal(d.journal);
    kit_append(j, 0);
    assert_int_equal(ks_journal_close(j, &err), 0);
    kit_write_segment(d.journal, 1, 1);
    snprintf(path, sizeof(path), "%s/0001.ksj", d.journal);
    ks_buf_init(&whole);
    kit_read_file(d.journal, "0001.ksj", &whole);
    n_bytes = whole.len;
    assert_true(ks_journal_reaches(d.journal, 1, n_bytes - 1));
    assert_int_equal(kit_read(d.journal)->totals.n_damaged_places, 0);
    for (size_t i = 0; i + 8 < whole.len; i++) /* the sync word of the last frame, a close */
        place = memcmp(whole.data + i, whole.data, 8) == 0 ? i : place;
    assert_int_equal(truncate(path, (off_t)place), 0);
    r = kit_read(d.journal);
    assert_int_equal(r->n, 2);
    assert_int_equal(r->totals.n_damaged_places, 1);
    assert_int_equal(r->damage.offset, place);
    assert_int_equal(r->damage.n_bytes, n_bytes - place);
    assert_false(ks_journal_reaches(d.journal, 1, place));
    assert_false(ks_journal_reaches(d.journal, 3, 0));
    ks_buf_release(&whole);
    kit_dir_remove(&d);
}

static int refuse_third(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    unsigned *n = ctx;

    (void)f;
    return ++*n == 3 ? ks_fail(err, KS_EINTR, "enough") : 0;
}

static void copy_segment(const char *dir, unsigned from, unsigned to)
{
    char command[800];

    snprintf(command, sizeof(command), "cp '%s/%04u.ksj' '%s/%04u.ksj'", dir, from, dir, to);
    assert_int_equal(system(command), 0);
}

/* cp 0001.ksj 0002.ksj: nothing in it counts twice, and the run goes on behind it. */
static void a_copied_segment_is_told_and_not_read(void **state)
{
    struct kit_dir d;
    const struct kit_read *r;

    (void)state;
    kit_dir_make(&d);
    kit_write_segment(d.journal, 0, 3);
    copy_segment(d.journal, 1, 2);
    r = kit_read(d.journal);
    assert_int_equal(r->n, 3);
    assert_int_equal(r->n_damage, 1);
    assert_int_equal(r->damage.copy_of, 1);
    assert_non_null(strstr(r->damage.path, "0002.ksj"));
    assert_true(r->damage.n_bytes > 100);
    assert_int_equal(r->totals.n_damaged_places, 1);
    assert_true(r->totals.is_closed);
    kit_write_segment(d.journal, 3, 2); /* a resume, 0003.ksj */
    copy_segment(d.journal, 3, 5);
    r = kit_read(d.journal);
    assert_int_equal(r->n, 5);
    assert_int_equal(r->number[4], 4);
    assert_int_equal(r->totals.n_damaged_places, 3); /* two copies, and 0004 is missing */
    kit_dir_remove(&d);
}

/* A directory was copied and the run resumed in both: 0002.ksj of the copy has the same number and
 * run, but records of its own. */
static void a_segment_of_another_copy_is_read(void **state)
{
    struct kit_dir d, copy;
    char command[800];

    (void)state;
    kit_dir_make(&d);
    kit_dir_make(&copy);
    kit_write_segment(d.journal, 0, 3);
    snprintf(command, sizeof(command), "cp -r '%s' '%s'", d.journal, copy.journal);
    assert_int_equal(system(command), 0);
    kit_write_segment(d.journal, 3, 2);
    kit_write_segment(copy.journal, 10, 4);
    snprintf(command, sizeof(command), "cp '%s/0002.ksj' '%s/0003.ksj'", copy.journal, d.journal);
    assert_int_equal(system(command), 0);
    assert_int_equal(kit_read(d.journal)->n, 3 + 2 + 4);
    assert_int_equal(kit_read(d.journal)->n_damage, 0);
    kit_dir_remove(&copy);
    kit_dir_remove(&d);
}

static void the_caller_can_stop_the_reader(void **state)
{
    struct ks_journal_totals t = { .n_frames = 99 };
    struct ks_err err = { 0 };
    struct kit_dir d;
    unsigned n = 0;

    (void)state;
    kit_dir_make(&d);
    kit_write_segment(d.journal, 0, 10);
    assert_int_equal(ks_journal_read(d.journal, refuse_third, NULL, &n, &t, &err), KS_EINTR);
    assert_int_equal(n, 3);
    assert_int_equal(t.n_frames, 99);
    assert_non_null(strstr(err.text, "0001.ksj': enough"));
    kit_dir_remove(&d);
}

static int watch_memory(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    size_t *most = ctx, now = mallinfo2().uordblks + mallinfo2().hblkhd;

    (void)f;
    (void)err;
    if (now > *most)
        *most = now;
    return 0;
}

/* 40 MB of frames, the reader holds less than 4. */
static void reading_takes_bounded_memory(void **state)
{
    static char big[100000];
    size_t most = 0, before;
    struct ks_journal *j;
    struct ks_err err;
    struct kit_dir d;

    (void)state;
    kit_dir_make(&d);
    j = kit_open_journal(d.journal);
    for (unsigned i = 0; i < 400; i++) {
        assert_int_equal(ks_journal_append(j, KS_F_OUTPUT, big, sizeof(big), NULL, &err), 0);
        if (i % 40 == 0)
            assert_int_equal(ks_journal_sync(j, NULL, &err), 0);
    }
    assert_int_equal(ks_journal_close(j, &err), 0);
    before = mallinfo2().uordblks + mallinfo2().hblkhd;
    assert_int_equal(ks_journal_read(d.journal, watch_memory, NULL, &most, NULL, &err), 0);
    assert_true(most < before + 4000000);
    kit_dir_remove(&d);
}

static void version_1_is_read(void **state)
{
    (void)state;
    fixture_check(KS_SOURCE_DIR "/tests/data/journal-v1");
}

static void this_version_writes_what_it_reads(void **state)
{
    struct kit_dir d;

    (void)state;
    kit_dir_make(&d);
    assert_int_equal(fixture_write(d.journal), 0);
    fixture_check(d.journal);
    kit_dir_remove(&d);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_synced_is_read_in_order),
        cmocka_unit_test(the_header_says_who_writes),
        cmocka_unit_test(resume_goes_on_in_the_next_segment_of_the_same_run),
        cmocka_unit_test(a_flipped_byte_costs_one_record_and_is_located),
        cmocka_unit_test(a_huge_length_swallows_no_record),
        cmocka_unit_test(a_torn_tail_is_reported_wherever_it_is_cut),
        cmocka_unit_test(unknown_types_and_versions_are_counted),
        cmocka_unit_test(other_files_are_no_segments),
        cmocka_unit_test(a_missing_segment_is_reported),
        cmocka_unit_test(a_segment_cut_back_is_reported),
        cmocka_unit_test(a_copied_segment_is_told_and_not_read),
        cmocka_unit_test(a_segment_of_another_copy_is_read),
        cmocka_unit_test(the_caller_can_stop_the_reader),
        cmocka_unit_test(reading_takes_bounded_memory),
        cmocka_unit_test(version_1_is_read),
        cmocka_unit_test(this_version_writes_what_it_reads),
    };

    if (argc == 3 && strcmp(argv[1], "--write-fixture") == 0)
        return fixture_write(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
