/* SPDX-License-Identifier: MIT */
/* test_store_robust.c - gather and check under damage, full disks, kills and no memory */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "fault.h"
#include "store_place.h"
#include "tests/tools/store_kit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* HDF5 leaks where it refuses damaged metadata. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5\n";
}

static void read_file(const char *path, struct ks_buf *b)
{
    struct ks_err err = { 0 };

    ks_buf_init(b);
    if (ks_file_read(path, b, &err) < 0)
        fail_msg("%s", err.text);
}

/* Entries of the directory that results.h5 is written to: two runs, and results.h5 or not. */
static int count_entries(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static int gather_with(const struct place *p, const struct ks_store_options *o, struct ks_err *err)
{
    const char *dirs[] = { p->dir[0] };

    return ks_store_gather(dirs, 1, p->file, o, NULL, err);
}

static struct ks_store_check checked(const char *path)
{
    struct ks_store_check c;
    struct ks_err err = { 0 };

    if (ks_store_check(path, &c, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

static void release(struct ks_store_check *c)
{
    ks_buf_release(&c->findings);
    ks_buf_release(&c->notes);
}

static void assert_clean(const char *path)
{
    struct ks_store_check c = checked(path);

    if (c.n_findings)
        fail_msg("%s", ks_buf_text(&c.findings));
    assert_true(c.is_compared);
    release(&c);
}

static void the_same_journal_gives_the_same_bytes(void **state)
{
    static const struct ks_store_options named = { .use_named_file = true };
    const struct place *p = *state;
    struct ks_buf a, b;
    struct ks_err err;

    skit_run(p->dir[0], 1, 4, 9, 6, 5);
    assert_int_equal(gather_with(p, NULL, &err), 0);
    read_file(p->file, &a);
    ks_sleep_ns(1010000000); /* times in the file would have whole seconds */
    assert_int_equal(gather_with(p, &named, &err), 0);
    read_file(p->file, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    assert_int_equal(count_entries(p->root), 3);
    ks_buf_release(&a);
    ks_buf_release(&b);
}

static void chunks_of_any_size(void **state)
{
    static const uint32_t rows[] = { 1, 2, 7, 35, 36, 37, 0 };
    const struct place *p = *state;
    struct ks_err err;

    skit_run(p->dir[0], 1, 4, 9, 6, 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_store_options o = { .chunk_rows = rows[i] };
        struct ks_store_file *f;

        assert_int_equal(gather_with(p, &o, &err), 0);
        f = place_open(p);
        assert_int_equal(ks_store_info(f)->n_measurements, 36);
        for (uint64_t m = 36; m-- > 0;) /* backwards: every read changes the chunk */
            assert_int_equal(measurement(f, m).attempt_row, m);
        ks_store_close(f);
        assert_clean(p->file);
    }
}

static void check_of_a_growing_run(void **state)
{
    const struct place *p = *state;
    char file[128];
    const char *dirs[] = { p->dir[0] };
    struct ks_store_check c;
    struct ks_err err;
    struct skit k;

    assert_int_equal(ks_store_check(p->dir[0], &c, &err), KS_ENOENT);
    skit_run(p->dir[0], 1, 4, 9, 6, 5);
    c = checked(p->dir[0]);
    assert_true(c.has_journal && !c.has_file && !c.is_compared && c.n_findings == 0);
    release(&c);
    snprintf(file, sizeof(file), "%s/results.h5", p->dir[0]);
    assert_int_equal(ks_store_gather(dirs, 1, file, NULL, NULL, &err), 0);
    assert_clean(p->dir[0]);
    assert_clean(file);
    skit_open(&k, p->dir[0], 1, 4, 9);
    skit_put(&k, skit_record(&k, 3, 8, 2));
    skit_close(&k);
    c = checked(p->dir[0]);
    assert_int_equal(c.n_findings, 0);
    assert_true(c.is_compared);
    assert_non_null(strstr(ks_buf_text(&c.notes), "3 frames are newer"));
    release(&c);
}

/* A run that was moved is compared where it is now; a file without its journals cannot be. */
static void check_after_a_move(void **state)
{
    const struct place *p = *state;
    const char *dirs[] = { p->dir[0] };
    char file[128];
    struct ks_store_check c;
    struct ks_err err;

    skit_run(p->dir[0], 1, 2, 3, 4, 0);
    snprintf(file, sizeof(file), "%s/results.h5", p->dir[0]);
    assert_int_equal(ks_store_gather(dirs, 1, file, NULL, NULL, &err), 0);
    assert_int_equal(rmdir(p->dir[1]), 0);
    assert_int_equal(rename(p->dir[0], p->dir[1]), 0);
    assert_clean(p->dir[1]);
    snprintf(file, sizeof(file), "%s/results.h5", p->dir[1]);
    c = checked(file);
    assert_true(c.n_findings == 0 && !c.is_compared && c.n_notes == 1);
    release(&c);
}

static void flip(const char *path, off_t at, uint8_t mask)
{
    int fd = open(path, O_RDWR);
    uint8_t byte;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= mask;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* What is free in a heap matters to who writes: no reader looks at it. A header of 82 bytes, which
 * says at 54 where its list is, and at 70 how long (free-space manager of the format). */
static bool is_for_writers(const struct ks_buf *b, size_t at)
{
    for (size_t head = 0; head + 82 <= b->len; head++) {
        struct ks_cur c = ks_cur(b->data + head, 82);
        uint64_t list, n;

        if (memcmp(b->data + head, "FSHD", 4) != 0)
            continue;
        (void)ks_cur_take(&c, 54);
        list = ks_cur_u64(&c);
        (void)ks_cur_take(&c, 8);
        n = ks_cur_u64(&c);
        if ((at >= head && at < head + 82) || (at >= list && at - list < n))
            return true;
    }
    return false;
}

#ifdef KSWEEP_SANITIZED
#define N_FLIPS 60 /* it is HDF5 that finds most of them, which is not sanitized */
#define N_KILLS 6  /* what is on disk then matters to the file, not to sanitizers */
#define LIMITS  1  /* likewise; each limit is this part larger than the one before */
#else
#define N_FLIPS 400
#define N_KILLS 20
#define LIMITS  3
#endif

/* Every byte of the file that means something is under a checksum; what is left over is padding. */
static void a_flipped_byte_of_the_file_is_found(void **state)
{
    const struct place *p = *state;
    struct ks_buf b;
    struct ks_err err;
    size_t n_missed = 0, n = 0;

    skit_run(p->dir[0], 1, 4, 9, 6, 5);
    assert_int_equal(gather_with(p, NULL, &err), 0);
    read_file(p->file, &b);
    for (size_t at = 0; at < b.len; at += 1 + b.len / N_FLIPS, n++) {
        struct ks_store_check c;

        flip(p->file, (off_t)at, 0x10);
        c = checked(p->file);
        if (c.n_findings == 0) {
            uint8_t was = b.data[at];

            n_missed++;
            if (was != 0 && !is_for_writers(&b, at)) /* free space of the format is zero */
                fail_msg("flipped byte %zu, 0x%02x, was not found", at, was);
        }
        release(&c);
        flip(p->file, (off_t)at, 0x10);
    }
    print_message("# %zu flips, %zu in free space\n", n, n_missed);
    assert_true(n_missed < n / 2);
    assert_clean(p->file);
    ks_buf_release(&b);
}

static void a_flipped_byte_of_the_journal_is_found(void **state)
{
    const struct place *p = *state;
    char segment[128];
    struct ks_store_check c;
    struct ks_err err;
    struct ks_buf b;

    skit_run(p->dir[0], 1, 2, 5, 6, 0);
    assert_int_equal(gather_with(p, NULL, &err), 0);
    snprintf(segment, sizeof(segment), "%s/journal/0001.ksj", p->dir[0]);
    read_file(segment, &b);
    flip(segment, (off_t)(b.len * 3 / 4), 0x01); /* in a record */
    c = checked(p->file);
    assert_true(c.n_findings >= 2); /* the place, and the row that is missing now */
    assert_non_null(strstr(ks_buf_text(&c.findings), "are damaged"));
    assert_non_null(strstr(ks_buf_text(&c.findings), "/measurements"));
    release(&c);
    assert_int_equal(truncate(segment, (off_t)b.len - 5), 0);
    flip(segment, (off_t)(b.len * 3 / 4), 0x01);
    c = checked(p->dir[0]); /* no results.h5 in there */
    assert_int_equal(c.n_findings, 0);
    assert_non_null(strstr(ks_buf_text(&c.notes), "incomplete end"));
    release(&c);
    ks_buf_release(&b);
}

/* The rows of a file must be those of this very journal. */
static void check_finds_the_wrong_journal(void **state)
{
    const struct place *p = *state;
    struct ks_store_check c;
    struct ks_err err;
    char journal[2][128];

    skit_run(p->dir[0], 1, 2, 5, 6, 0);
    skit_run(p->dir[1], 3, 2, 5, 6, 0);
    assert_int_equal(gather_with(p, NULL, &err), 0);
    for (int i = 0; i < 2; i++)
        snprintf(journal[i], sizeof(journal[i]), "%s/journal", p->dir[i]);
    assert_int_equal(ks_remove_tree(journal[0], &err), 0);
    assert_int_equal(rename(journal[1], journal[0]), 0);
    c = checked(p->file);
    assert_true(c.n_findings > 10);
    assert_non_null(strstr(ks_buf_text(&c.findings), "'/runs' row 0: column 'run_id'"));
    assert_non_null(strstr(ks_buf_text(&c.findings), "'/measurements' row 0: column"));
    release(&c);
}

/* In a child, so that limits and leaks of a library that gave up stay there. */
static int gather_in_child(const struct place *p, rlim_t most_bytes, bool use_named_file)
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        struct ks_store_options o = { .use_named_file = use_named_file };
        struct rlimit limit = { most_bytes, most_bytes };
        struct ks_err err;

        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(-gather_with(p, &o, &err));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return -WEXITSTATUS(status);
}

static void a_full_disk_leaves_the_old_file(void **state)
{
    const struct place *p = *state;
    struct ks_buf before, after;
    struct ks_err err;
    int n_failed = 0;

    skit_run(p->dir[0], 1, 2, 9, 6, 0);
    assert_int_equal(gather_with(p, NULL, &err), 0);
    read_file(p->file, &before);
    skit_run(p->dir[0], 1, 4, 9, 200, 0);
    for (rlim_t most = 0; most <= 200000; most += 1 + most / LIMITS) {
        int rc = gather_in_child(p, most, n_failed % 2);

        assert_int_equal(count_entries(p->root), 3);
        if (rc == 0)
            break;
        n_failed++;
        assert_int_equal(rc, KS_ENOSPC);
        read_file(p->file, &after);
        assert_int_equal(before.len, after.len);
        assert_memory_equal(before.data, after.data, before.len);
        ks_buf_release(&after);
    }
    assert_true(n_failed > 10);
    assert_int_equal(gather_with(p, NULL, &err), 0);
    assert_clean(p->file);
    ks_buf_release(&before);
}

static void a_kill_leaves_the_old_file_or_the_new_one(void **state)
{
    const struct place *p = *state;
    uint64_t seed = 1, t0, whole_ns;
    struct ks_err err;

    skit_run(p->dir[0], 1, 10, 40, 30, 0);
    t0 = ks_now_ns();
    assert_int_equal(gather_with(p, NULL, &err), 0);
    whole_ns = ks_now_ns() - t0;
    for (int i = 0; i < N_KILLS; i++) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
            _exit(-gather_with(p, NULL, &err));
        ks_sleep_ns(ks_rng_below(&seed, whole_ns));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(count_entries(p->root), 3);
    }
    assert_clean(p->file);
}

static void no_memory(void **state)
{
    const struct place *p = *state;
    struct ks_err err;
    struct ks_buf before, after;
    unsigned n = 0, step = 1;

    skit_run(p->dir[0], 1, 2, 3, 4, 0);
    assert_int_equal(gather_with(p, NULL, &err), 0);
    read_file(p->file, &before);
    for (;; n += step, step = 1 + n / 12) {
        int rc;

        fault_arm(n);
        rc = gather_with(p, NULL, &err);
        if (!fault_disarm()) {
            assert_int_equal(rc, 0);
            break;
        }
        /* A call whose caller does without (a cache, a message) may still succeed. */
        if (rc < 0 && rc != KS_ENOMEM && rc != KS_EIO)
            fail_msg("allocation %u: %s", n, err.text);
        assert_int_equal(count_entries(p->root), 3);
        read_file(p->file, &after);
        assert_int_equal(before.len, after.len);
        ks_buf_release(&after);
    }
    assert_true(n > 30);
    ks_buf_release(&before);
}

static void no_memory_to_check(void **state)
{
    const struct place *p = *state;
    struct ks_err err;
    unsigned n = 0, step = 1;

    skit_run(p->dir[0], 1, 2, 3, 4, 0);
    assert_int_equal(gather_with(p, NULL, &err), 0);
    for (;; n += step, step = 1 + n / 12) {
        struct ks_store_check c;
        int rc;

        fault_arm(n);
        rc = ks_store_check(p->file, &c, &err);
        if (rc == 0) {
            bool said = c.n_findings || c.n_notes;

            release(&c);
            if (!fault_disarm()) {
                assert_false(said);
                break;
            }
            continue;
        }
        fault_disarm();
        assert_int_equal(rc, KS_ENOMEM);
    }
    assert_true(n > 30);
}

static uint64_t rows_of(const char *path)
{
    struct ks_store_file *f;
    struct ks_err err = { 0 };
    uint64_t n;

    if (ks_store_open(path, &f, &err) < 0)
        fail_msg("%s", err.text);
    n = ks_store_info(f)->n_measurements;
    ks_store_close(f);
    return n;
}

/* Gathers from a journal that has lost records: the old file gets the name "results.h5.<n>". */
static void assert_kept(const struct place *p, int n)
{
    struct ks_store_totals t;
    char kept[160];

    snprintf(kept, sizeof(kept), "%s.%d", p->file, n);
    place_gather(p, 1, &t);
    assert_string_equal(t.kept_as, kept);
    assert_int_equal(rows_of(kept), 31);
    assert_true(rows_of(p->file) < 31);
}

static void a_journal_cut_back_keeps_the_old_file(void **state)
{
    const struct place *p = *state;
    struct ks_store_totals t;
    char journal[160], kept[160];
    struct ks_buf whole;
    struct skit k;

    skit_run(p->dir[0], 1, 4, 9, 20, 5);
    place_gather(p, 1, &t);
    assert_string_equal(t.kept_as, "");
    assert_int_equal(rows_of(p->file), 31);
    snprintf(journal, sizeof(journal), "%s/journal/0001.ksj", p->dir[0]);
    read_file(journal, &whole);
    assert_int_equal(truncate(journal, (off_t)whole.len / 2), 0);
    skit_open(&k, p->dir[0], 1, 4, 9); /* it is resumed */
    skit_close(&k);
    assert_kept(p, 1);
    place_gather(p, 1, &t); /* from the same journal again */
    assert_string_equal(t.kept_as, "");
    snprintf(kept, sizeof(kept), "%s.1", p->file);
    assert_int_equal(rename(kept, p->file), 0);
    assert_int_equal(symlink(p->root, kept), 0); /* the name is taken */
    assert_kept(p, 2);
    ks_buf_release(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)
        TEST(the_same_journal_gives_the_same_bytes),
        TEST(chunks_of_any_size),
        TEST(check_of_a_growing_run),
        TEST(check_after_a_move),
        TEST(a_flipped_byte_of_the_file_is_found),
        TEST(a_flipped_byte_of_the_journal_is_found),
        TEST(check_finds_the_wrong_journal),
        TEST(a_journal_cut_back_keeps_the_old_file),
        TEST(a_full_disk_leaves_the_old_file),
        TEST(a_kill_leaves_the_old_file_or_the_new_one),
        TEST(no_memory),
        TEST(no_memory_to_check),
#undef TEST
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store_robust", tests, NULL, NULL);
}
