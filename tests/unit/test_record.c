/* SPDX-License-Identifier: MIT */
/* test_record.c - records: bytes, checks, outcomes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "record/frame.h"
#include "record/record.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill_record(struct ks_record *r)
{
    ks_record_init(r);
    r->cell = (struct ks_cell){ 0x1111222233334444, 0xffffffffffffffff, 7 };
    r->attempt = 3;
    r->round_index = 2;
    r->role = KS_ROLE_CONTROL;
    r->outcome = KS_O_CRASHED;
    r->status_code = -11;
    r->outcome_flags = KS_FL_SUSPECT | KS_FL_VOID;
    r->phase = KS_PH_TIMING;
    r->stop_reason = KS_STOP_FAILED;
    snprintf(r->reason, sizeof(r->reason), "heap_corruption");
    r->representative_id = UINT64_MAX - 2;
    r->lease_id = 9;
    r->block_id = UINT64_MAX;
    r->position = 4;
    r->mpi_rank = 5;
    r->device_id = 6;
    r->worker = (struct ks_id128){ 1, 2 };
    r->seq = 10;
    r->pid = 4242;
    r->cpu = 0;
    r->started_ns = 1767225600000000000;
    r->build_id = (struct ks_id128){ 3, 4 };
    r->code_id = (struct ks_id128){ 0, 5 };
    r->n_samples = KS_SAMPLES_MAX;
    r->calls_per_sample = 8;
    for (uint32_t i = 0; i < KS_SAMPLES_MAX; i++)
        r->sample_ns[i] = 1000.5 + i / 3.0;
    r->verified_sample_ns = 1001;
    r->n_checked_launches = 59;
    r->verified_over_timed = 1.25;
    r->floor_ns = 0;
    r->disturbance = 0.5;
    r->max_error = (double)INFINITY;
    r->exact_check = 1;
    r->tolerance_check = 2;
    r->n_mismatches = KS_MISMATCH_MAX;
    for (int i = 0; i < (int)KS_MISMATCH_MAX; i++)
        r->mismatch[i] = (struct ks_mismatch){ -i, i * 0.1, -0.0, 1e-300 };
    r->n_box = 6;
    for (int i = 0; i < 6; i++) {
        r->box_lo[i] = -i;
        r->box_hi[i] = (int64_t)i << 40;
    }
    r->before = (struct ks_reading){ 1980, 2619, 412.5, 41, 0 };
    r->after = (struct ks_reading){ 1755, KS_UNKNOWN, 699.75, -40, 1 };
    r->clock_min_mhz = 1740;
    r->power_max_w = 700;
    r->throttle_reasons = INT64_MAX;
    r->denied_call = 0;
    r->n_tail = KS_TAIL_MAX;
    for (uint32_t i = 0; i < KS_TAIL_MAX; i++)
        r->tail[i] = (char)i;
    r->workspace_bytes = -1;
}

static struct ks_record *new_record(void)
{
    struct ks_record *r = malloc(sizeof(*r));

    assert_non_null(r);
    memset(r, 0x5a, sizeof(*r));
    return r;
}

static void a_full_record_comes_back(void **state)
{
    struct ks_record *in = new_record(), *out = new_record();
    uint32_t n_unknown = 99;
    struct ks_err err;
    struct ks_buf b;

    (void)state;
    fill_record(in);
    ks_buf_init(&b);
    ks_record_encode(in, &b);
    assert_true(ks_buf_ok(&b));
    assert_true(b.len <= KS_FRAME_BODY_MAX);
    assert_int_equal(ks_record_decode(b.data, b.len, out, &n_unknown, &err), 0);
    assert_int_equal(n_unknown, 0);
    assert_memory_equal(in, out, sizeof(*in)); /* padding is zero in both */
    struct ks_record_head head;
    ks_record_set_disturbance(&b, 1.25);
    assert_int_equal(ks_record_peek(b.data, b.len, &head, &err), 0);
    assert_true(head.disturbance == 1.25 && head.n_printed == in->n_printed);
    assert_int_equal(ks_record_decode(b.data, b.len, out, NULL, &err), 0);
    assert_true(out->disturbance == 1.25);
    ks_buf_release(&b);
    free(in);
    free(out);
}

static void nothing_known_takes_no_room(void **state)
{
    struct ks_record *r = new_record(), *out = new_record();
    struct ks_err err;
    struct ks_buf b;

    (void)state;
    ks_record_init(r);
    assert_int_equal(r->attempt, 1);
    assert_int_equal(r->denied_call, -1);
    assert_int_equal(r->cpu, -1);
    assert_true(r->verified_sample_ns < 0);
    assert_true(r->before.clock_mhz == KS_UNKNOWN && r->before.memory_clock_mhz == KS_UNKNOWN);
    assert_true(r->after.power_w == KS_UNKNOWN && r->after.temperature_c == KS_UNKNOWN);
    assert_true(r->after.busy == KS_UNKNOWN);
    assert_true(r->clock_min_mhz == KS_UNKNOWN && r->power_max_w == KS_UNKNOWN);
    assert_int_equal(r->throttle_reasons, -1);
    assert_int_equal(r->outcome, KS_O_NONE);
    ks_buf_init(&b);
    r->outcome = KS_O_OK;
    ks_record_encode(r, &b);
    assert_int_equal(b.len, 4 * 7); /* problem, instance, attempt, outcome */
    assert_int_equal(ks_record_decode(b.data, b.len, out, NULL, &err), 0);
    assert_memory_equal(r, out, sizeof(*r));
    ks_buf_release(&b);
    free(r);
    free(out);
}

/* The bytes of version 1 for ever. */
static void golden_bytes(void **state)
{
    static const uint8_t want[] = {
        1,  0, 2,  0, 0, 0, 0x02, 0x01,                      /* problem */
        2,  0, 8,  0, 0, 0, 1,    2,    3, 4, 5, 6, 7,    8, /* instance */
        4,  0, 1,  0, 0, 0, 2,                               /* attempt */
        7,  0, 1,  0, 0, 0, 13,                              /* outcome */
        8,  0, 1,  0, 0, 0, 11,                              /* code */
        12, 0, 2,  0, 0, 0, 'h',  'i',                       /* reason */
        13, 0, 1,  0, 0, 0, 77,                              /* alias */
        25, 0, 16, 0, 0, 0, 1,    0,    0, 0, 0, 0, 0,    0,    2, 0, 0, 0, 0, 0, 0, 0, /* worker */
        41, 0, 8,  0, 0, 0, 0,    0,    0, 0, 0, 0, 0xf0, 0x3f, /* samples */
        61, 0, 7,  0, 0, 0, 1,    0,    1, 0, 0, 0, 9,          /* mismatch */
        83, 0, 1,  0, 0, 0, 57,                                 /* denied_call */
    };
    struct ks_record *r = new_record();
    struct ks_buf b;

    (void)state;
    ks_record_init(r);
    r->cell = (struct ks_cell){ 0x0102, 0x0807060504030201, 0 };
    r->attempt = 2;
    r->outcome = KS_O_CRASHED;
    r->status_code = 11;
    snprintf(r->reason, sizeof(r->reason), "hi");
    r->representative_id = 77;
    r->worker = (struct ks_id128){ 1, 2 };
    r->n_samples = 1;
    r->sample_ns[0] = 1;
    r->n_mismatches = 1;
    r->mismatch[0].index = 9;
    r->denied_call = 57;
    ks_buf_init(&b);
    ks_record_encode(r, &b);
    assert_int_equal(b.len, sizeof(want));
    assert_memory_equal(b.data, want, sizeof(want));
    ks_buf_release(&b);
    free(r);
}

/* A body that decodes, small enough to append to. */
static void put_valid(struct ks_buf *b)
{
    struct ks_record *r = new_record();

    ks_record_init(r);
    r->outcome = KS_O_OK;
    ks_record_encode(r, b);
    free(r);
}

static const char zeros[KS_SAMPLES_MAX * 8 + 8] = "";
static const uint8_t nan_and_inf[] = { 0, 0, 0,    0,    0, 0, 0xf8, 0x7f, 0, 0, 0,    0,
                                       0, 0, 0xf0, 0x7f, 0, 0, 0,    0,    0, 0, 0xf0, 0xbf };
static const uint8_t one[8] = { 1 };
static const uint8_t pair[16] = { 1 };
static const struct {
    uint16_t tag;
    const void *bytes;
    size_t n;
    const char *say;
} bad_fields[] = {
    { 4, zeros, 1, "attempt" },
    { 4, zeros, 3, "attempt is not a number" },
    { 5, "\0\0\0\0\1\0\0\0", 8, "32 bits" },
    { 6, "\4", 1, "role is out of range" },
    { 7, zeros, 1, "outcome is out of range" },
    { 7, "\x13", 1, "outcome is out of range" },
    { 8, "\0\0\0\x80\0\0\0\0", 8, "32 bits" },
    { 10, "\x0c", 1, "phase" },
    { 11, "\5", 1, "stop" },
    { 12, zeros + 1, 160, "reason is longer than fits" },
    { 12, "a\0b", 3, "NUL" },
    { 25, one, 8, "128 bits" },
    { 41, nan_and_inf, 8, "sample_ns is not finite" },
    { 41, nan_and_inf + 8, 8, "sample_ns is not finite" },
    { 41, nan_and_inf + 16, 8, "sample_ns is not positive" },
    { 41, zeros, 8, "sample_ns is not positive" },
    { 41, one, 7, "row of numbers" },
    { 41, zeros, KS_SAMPLES_MAX * 8 + 8, "more values than fit" },
    { 42, nan_and_inf, 8, "verified_sample_ns is not finite" },
    { 42, one, 4, "not a number" },
    { 55, "\3", 1, "exact_check" },
    { 56, "\3", 1, "tolerance_check" },
    { 61, "\1\0\1\0\0", 5, "fields do not fill" },
    { 61, "\1\0\3\0\0\0abc", 9, "mismatch" },
    { 62, pair, 16, "differ in length" },
    { 62, zeros, 56, "more values than fit" },
    { 64, "\3", 1, "bitwise_reproducible" },
    { 67, nan_and_inf, 8, "floor_ns is not finite" },
    { 84, zeros, KS_TAIL_MAX + 1, "tail is longer than fits" },
    { 90, nan_and_inf, 8, "before.clock_mhz is not finite" },
    { 99, one, 4, "after.busy is not a number" },
    { 100, nan_and_inf + 8, 8, "clock_min_mhz is not finite" },
};

static void a_bad_field_is_refused_and_out_untouched(void **state)
{
    struct ks_record *out = new_record(), *before = new_record();

    (void)state;
    for (size_t i = 0; i < sizeof(bad_fields) / sizeof(bad_fields[0]); i++) {
        struct ks_err err = { 0 };
        uint32_t n_unknown = 77;
        struct ks_buf b;

        ks_buf_init(&b);
        put_valid(&b);
        ks_tag_bytes(&b, bad_fields[i].tag, bad_fields[i].bytes, bad_fields[i].n);
        assert_int_equal(ks_record_decode(b.data, b.len, out, &n_unknown, &err), KS_EFORMAT);
        assert_int_equal(n_unknown, 77);
        if (!strstr(err.text, bad_fields[i].say))
            fail_msg("row %zu: '%s' does not say '%s'", i, err.text, bad_fields[i].say);
        assert_memory_equal(out, before, sizeof(*out));
        ks_buf_release(&b);
    }
    free(out);
    free(before);
}

static void too_many_mismatches_are_refused(void **state)
{
    struct ks_record *out = new_record();
    struct ks_err err;
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    put_valid(&b);
    for (uint32_t i = 0; i < KS_MISMATCH_MAX; i++)
        ks_tag_bytes(&b, 61, NULL, 0);
    assert_int_equal(ks_record_decode(b.data, b.len, out, NULL, &err), 0);
    assert_int_equal(out->n_mismatches, KS_MISMATCH_MAX);
    ks_tag_bytes(&b, 61, NULL, 0);
    assert_int_equal(ks_record_decode(b.data, b.len, out, NULL, &err), KS_EFORMAT);
    ks_buf_release(&b);
    free(out);
}

static void a_tag_that_stands_twice_replaces_all_of_the_first(void **state)
{
    static const double samples[] = { 1, 2, 3 };
    struct ks_record *out = new_record(), *want = new_record();
    struct ks_err err;
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    put_valid(&b);
    ks_tag_text(&b, 12, "longer than the second");
    ks_tag_text(&b, 12, "short");
    ks_tag_bytes(&b, 41, samples, sizeof(samples));
    ks_tag_bytes(&b, 41, samples, sizeof(samples[0]));
    ks_tag_text(&b, 84, "tail");
    ks_tag_text(&b, 84, "t");
    ks_tag_u64(&b, 5, UINT32_MAX);
    ks_tag_u64(&b, 5, 2);
    ks_record_init(want);
    want->outcome = KS_O_OK;
    snprintf(want->reason, sizeof(want->reason), "short");
    want->n_samples = 1;
    want->sample_ns[0] = 1;
    want->n_tail = 1;
    want->tail[0] = 't';
    want->round_index = 2;
    assert_int_equal(ks_record_decode(b.data, b.len, out, NULL, &err), 0);
    assert_memory_equal(out, want, sizeof(*out));
    ks_buf_release(&b);
    free(out);
    free(want);
}

static void unknown_tags_are_counted_and_skipped(void **state)
{
    struct ks_record *out = new_record();
    uint32_t n_unknown = 0;
    struct ks_err err;
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_tag_text(&b, 60000, "from a later version");
    put_valid(&b);
    ks_tag_u64(&b, 14, 1);
    ks_tag_bytes(&b, 61, "\x77\0\1\0\0\0x", 7); /* unknown inside an element: not counted */
    assert_int_equal(ks_record_decode(b.data, b.len, out, &n_unknown, &err), 0);
    assert_int_equal(n_unknown, 2);
    assert_int_equal(out->outcome, KS_O_OK);
    assert_int_equal(out->n_mismatches, 1);
    ks_buf_release(&b);
    free(out);
}

/* Cut off anywhere a body never decodes into something it was not: the cut is in a field (refused)
 * or between two (a shorter record, or a required field is gone). */
static void cut_bodies_are_safe(void **state)
{
    struct ks_record *r = new_record(), *out = new_record();
    unsigned n_refused = 0, n_short = 0;
    struct ks_err err;
    struct ks_buf b;

    (void)state;
    fill_record(r);
    r->n_samples = 3;
    r->n_tail = 20;
    ks_buf_init(&b);
    ks_record_encode(r, &b);
    for (size_t cut = 0; cut < b.len; cut++) {
        uint8_t *exact = malloc(cut + 1); /* so that a read beyond is seen */

        memcpy(exact, b.data, cut);
        int rc = ks_record_decode(exact, cut, out, NULL, &err);
        n_refused += rc == KS_EFORMAT;
        n_short += rc == 0;
        assert_true(rc == 0 || rc == KS_EFORMAT);
        free(exact);
    }
    assert_true(n_short > 20);
    assert_true(n_refused > 10 * n_short);
    ks_buf_release(&b);
    free(r);
    free(out);
}

/* ---- outcomes, flags, the final attempt ---- */

/* The same bytes, whatever order they stand in and however they are damaged. */
static void assert_peek_agrees(const uint8_t *body, size_t n, struct ks_record *scratch)
{
    struct ks_record_head peeked = { .seq = 77 }, whole = { .seq = 77 };
    int rc = ks_record_decode(body, n, scratch, NULL, NULL);

    assert_int_equal(ks_record_peek(body, n, &peeked, NULL), rc);
    if (rc < 0) {
        assert_int_equal(peeked.seq, 77);
        return;
    }
    ks_record_head_of(scratch, &whole);
    assert_memory_equal(&peeked, &whole, sizeof(whole));
}

static void a_peek_sees_what_decoding_does(void **state)
{
    struct ks_record *r = new_record(), *scratch = new_record();
    struct ks_buf b, back;
    struct ks_field f;
    struct ks_cur cur;
    bool bad = false;

    (void)state;
    fill_record(r);
    ks_buf_init(&b);
    ks_buf_init(&back);
    ks_record_encode(r, &b);
    assert_peek_agrees(b.data, b.len, scratch);
    for (size_t k = 0; k < b.len; k += 3) {
        b.data[k] ^= 0x41;
        assert_peek_agrees(b.data, b.len, scratch);
        b.data[k] ^= 0x41;
    }
    for (cur = ks_cur(b.data, b.len); ks_body_next(&cur, &f, &bad);) { /* the other way round */
        struct ks_buf more;

        ks_buf_init(&more);
        ks_tag_bytes(&more, f.tag, f.bytes, f.n);
        ks_buf_put(&more, back.data, back.len);
        ks_buf_release(&back);
        back = more;
    }
    assert_peek_agrees(back.data, back.len, scratch);
    assert_peek_agrees(b.data, b.len / 2, scratch);
    ks_buf_release(&b);
    ks_buf_release(&back);
    free(r);
    free(scratch);
}

static void outcome_texts_go_both_ways(void **state)
{
    static const uint32_t abnormal[] = { KS_O_CRASHED,       KS_O_EXITED,      KS_O_TIMEOUT,
                                         KS_O_OUT_OF_MEMORY, KS_O_WORKER_LOST, KS_O_DEVICE_LOST };
    unsigned n_abnormal = 0;

    (void)state;
    for (uint32_t o = 1; o < KS_O_LIMIT; o++) {
        assert_int_equal(ks_outcome_from(ks_outcome_text(o)), o);
        n_abnormal += ks_outcome_is_abnormal(o);
    }
    for (size_t i = 0; i < 6; i++)
        assert_true(ks_outcome_is_abnormal(abnormal[i]));
    assert_int_equal(n_abnormal, 6);
    assert_string_equal(ks_outcome_text(KS_O_OUT_OF_BOUNDS), "out_of_bounds");
    assert_string_equal(ks_outcome_text(KS_O_NONE), "?");
    assert_string_equal(ks_outcome_text(KS_O_LIMIT), "?");
    assert_int_equal(ks_outcome_from("OK"), KS_O_NONE);
    assert_false(ks_outcome_needs_look(KS_O_OK));
    assert_false(ks_outcome_needs_look(KS_O_UNSUPPORTED));
    assert_true(ks_outcome_needs_look(KS_O_WRONG_RESULT));
    assert_false(ks_outcome_needs_look(1000));
}

static void small_texts(void **state)
{
    char text[200];

    (void)state;
    ks_flags_text(0, text, sizeof(text));
    assert_string_equal(text, "");
    ks_flags_text(KS_FL_CONTAMINATED | KS_FL_SUSPECT | KS_FL_VOID, text, sizeof(text));
    assert_string_equal(text, "contaminated|suspect|void");
    ks_flags_text(KS_FL_CONTAMINATED | KS_FL_SUSPECT, text, 8);
    assert_string_equal(text, "contami");
    text[0] = 'k';
    ks_flags_text(KS_FL_SUSPECT, text, 0);
    assert_int_equal(text[0], 'k');
    assert_string_equal(ks_phase_text(KS_PH_WARMUP), "warmup");
    assert_string_equal(ks_phase_text(12), "?");
    assert_string_equal(ks_stop_text(KS_STOP_MAX_TIME), "max_time");
    assert_string_equal(ks_stop_text(5), "?");
    assert_string_equal(ks_event_text(KS_EV_RANK_SUMMARY), "rank_summary");
    assert_string_equal(ks_event_text(KS_EV_OVERDUE), "overdue");
    assert_string_equal(ks_event_text(KS_EV_OVERDUE + 1), "?");
}

static void cells_have_a_total_order(void **state)
{
    static const struct ks_cell sorted[] = {
        { 1, 1, 1 }, { 1, 1, 2 }, { 1, 2, 0 }, { 2, 0, 0 }, { UINT64_MAX, 0, 0 }
    };

    (void)state;
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 5; k++) {
            int c = ks_cell_compare(&sorted[i], &sorted[k]);

            assert_int_equal((c > 0) - (c < 0), (i > k) - (i < k));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_record_comes_back),
        cmocka_unit_test(nothing_known_takes_no_room),
        cmocka_unit_test(golden_bytes),
        cmocka_unit_test(a_bad_field_is_refused_and_out_untouched),
        cmocka_unit_test(too_many_mismatches_are_refused),
        cmocka_unit_test(a_tag_that_stands_twice_replaces_all_of_the_first),
        cmocka_unit_test(unknown_tags_are_counted_and_skipped),
        cmocka_unit_test(cut_bodies_are_safe),
        cmocka_unit_test(a_peek_sees_what_decoding_does),
        cmocka_unit_test(outcome_texts_go_both_ways),
        cmocka_unit_test(small_texts),
        cmocka_unit_test(cells_have_a_total_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
