/* SPDX-License-Identifier: MIT */
/* test_worker_judge.c - cells that are verified on the device: the same verdicts as the host's */
/* Memory that any kernel can reach, several workers, no judge. */
#include "tests/unit/op_cases.h"
#include "tests/unit/worker_rig.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static const struct ks_fault_plan no_fault = { .slot = KS_FAULT_NONE };

/* ---- the same as the host ---- */

static const struct {
    const char *entry;
    uint32_t numerics;
} same_rows[] = {
    { "good", KS_NUMERICS_FP32 },
    { "good", KS_NUMERICS_V2_ONLY },
    { "uses_workspace", KS_NUMERICS_FP32 },
    { "one_wrong", KS_NUMERICS_FP32 },
    { "one_wrong", KS_NUMERICS_V2_ONLY },
    { "coarse", KS_NUMERICS_FP32 },
    { "unwritten", KS_NUMERICS_FP32 },
    { "unwritten", KS_NUMERICS_V2_ONLY },
    { "nothing", KS_NUMERICS_FP32 },
    { "nothing", KS_NUMERICS_V2_ONLY },
    { "inexact", KS_NUMERICS_FP32 },
    { "inexact", KS_NUMERICS_V2_ONLY },
    { "truncating", KS_NUMERICS_FP32 },
    { "truncating", KS_NUMERICS_TRUNCATING },
    { "accumulate", KS_NUMERICS_FP32 },
    { "write_before", KS_NUMERICS_FP32 },
    { "write_after", KS_NUMERICS_FP32 },
    { "write_after_workspace", KS_NUMERICS_FP32 },
    { "write_and_wrong", KS_NUMERICS_FP32 },
    { "read_before", KS_NUMERICS_FP32 },
    { "read_after", KS_NUMERICS_FP32 },
    { "write_input", KS_NUMERICS_FP32 },
    { "spoils_quietly", KS_NUMERICS_FP32 },
    { "write_before_input", KS_NUMERICS_FP32 },
    { "different", KS_NUMERICS_FP32 },
    { "always_different", KS_NUMERICS_FP32 },
    { "fails", KS_NUMERICS_FP32 },
    { "writes_and_fails", KS_NUMERICS_FP32 },
    { "rounds_down", KS_NUMERICS_FP32 },
    { "unsupported", KS_NUMERICS_FP32 },
    { "huge_workspace", KS_NUMERICS_FP32 },
    { "no_such_entry", KS_NUMERICS_FP32 },
};

static void check_same(const struct ks_record *a, const struct ks_record *b)
{
    assert_int_equal(a->outcome, b->outcome);
    assert_string_equal(a->reason, b->reason);
    assert_int_equal(a->phase, b->phase);
    assert_int_equal(a->status_code, b->status_code);
    assert_int_equal(a->outcome_flags & ~(uint32_t)KS_FL_POISON_EFFECT,
                     b->outcome_flags & ~(uint32_t)KS_FL_POISON_EFFECT);
    assert_int_equal(a->exact_check, b->exact_check);
    assert_int_equal(a->tolerance_check, b->tolerance_check);
    assert_int_equal(a->n_wrong, b->n_wrong);
    assert_int_equal(a->n_zero, b->n_zero);
    assert_int_equal(a->n_elements, b->n_elements);
    /* The error of what rounds to one side depends on the signs of the inputs. */
    assert_true(a->max_error == b->max_error || (a->outcome_flags & KS_FL_FP_ENV_CHANGED) != 0);
    assert_int_equal(a->bitwise_reproducible, b->bitwise_reproducible);
    assert_int_equal(a->n_mismatches, b->n_mismatches);
    for (uint32_t i = 0; i < a->n_mismatches; i++) {
        assert_int_equal(a->mismatch[i].index, b->mismatch[i].index);
        assert_memory_equal(&a->mismatch[i].got, &b->mismatch[i].got, sizeof(double));
        assert_true(a->mismatch[i].want == b->mismatch[i].want);
        assert_true(a->mismatch[i].tolerance == b->mismatch[i].tolerance);
    }
    assert_int_equal(a->n_box, b->n_box);
    assert_memory_equal(a->box_lo, b->box_lo, a->n_box * sizeof(a->box_lo[0]));
    assert_memory_equal(a->box_hi, b->box_hi, a->n_box * sizeof(a->box_hi[0]));
}

/* As few launches as a measurement has, and always as many. */
static void measure_least(struct rig *r)
{
    r->w->setup.measure.max_samples = r->w->setup.measure.min_samples;
    r->w->setup.measure.min_sample_us = 1;
}

/* Right or wrong in whatever way: the record does not tell who verified. Each in a worker of its
 * own, so that what a kernel keeps from call to call is the same. */
static void check_row(const struct shared *s, size_t i, const struct ks_problem *p)
{
    static const char *const judges[2] = { NULL, "judge" };
    struct ks_record *rec[2] = { &s->f->rec, &s->f->rec2 };

    for (size_t k = 0; k < 2; k++) {
        struct rig r;

        open_rig(&r, s, &no_fault);
        measure_least(&r);
        r.w->next_check_seed = 1000 + i;
        take(&r, p, judges[k]);
        *rec[k] = *run_as(&r, same_rows[i].entry, same_rows[i].numerics);
        assert_false(r.w->is_lost);
        close_rig(&r);
    }
    if (rec[0]->outcome != rec[1]->outcome)
        print_error("%s, numerics %u: %u (%s), %u (%s)\n", same_rows[i].entry,
                    same_rows[i].numerics, rec[0]->outcome, rec[0]->reason, rec[1]->outcome,
                    rec[1]->reason);
    check_same(rec[0], rec[1]);
}

static void test_same_as_the_host(void **state)
{
    const struct shared *s = *state;
    struct ks_problem large;

    large_problem(&large);
    for (size_t i = 0; i < sizeof(same_rows) / sizeof(same_rows[0]); i++) {
        check_row(s, i, &s->f->problem);
        check_row(s, i, &large);
    }
}

/* A bad kernel costs its own cell only; times are where they belong, deadlines stand. */
static void test_cells(void **state)
{
    const struct shared *s = *state;
    struct rig r;

    open_rig(&r, s, &no_fault);
    take(&r, &s->f->problem, "judge");
    for (size_t i = 0; i < sizeof(same_rows) / sizeof(same_rows[0]); i++) {
        struct ks_record *rec = run_as(&r, same_rows[i].entry, same_rows[i].numerics);

        assert_int_equal(rec->input_ns > 0, i == 0);
        assert_int_equal(rec->reference_ns > 0, i == 0);
        rec = run(&r, "good");
        check_good(rec, &quick);
        assert_true(rec->exact_check_ns > 0 && rec->tolerance_check_ns > 0);
    }
    assert_false(r.has_no_deadline);
    assert_false(r.has_timed_judge);
    for (uint32_t i = 0; i < KS_JUDGE_N_TASKS; i++) { /* the key goes where references do */
        bool is_needed = i < KS_JUDGE_WRITTEN;

        assert_true(r.n_tasks[i] > 0);
        assert_int_equal(r.n_keys[i], is_needed ? r.n_tasks[i] : 0);
    }
    close_rig(&r);
}

static uint64_t n_signs(const struct ks_signs *s)
{
    return (uint64_t)(s->n[KS_SIGN_ROW] + s->n[KS_SIGN_COLUMN] + s->n[KS_SIGN_SUM]);
}

/* Of an output that is right nothing but its guards is brought to the host. */
static void test_a_right_output_stays(void **state)
{
    const uint64_t answer = KS_JUDGE_PARTS * sizeof(struct ks_judge_part) + 2 * KS_GUARD_BYTES;
    const struct shared *s = *state;
    struct ks_problem p;
    uint32_t n_asked = 0, n_looks;
    struct rig r;

    large_problem(&p);
    open_rig(&r, s, &no_fault);
    take(&r, &p, "judge");
    run(&r, "good");
    memset(r.n_tasks, 0, sizeof(r.n_tasks));
    r.n_output_down = 0;
    r.bytes_down = r.bytes_up = 0;
    assert_int_equal(run(&r, "good")->outcome, KS_O_OK);
    assert_int_equal(r.n_output_down, 0);
    for (uint32_t i = KS_JUDGE_EXACT; i < KS_JUDGE_N_TASKS; i++)
        n_asked += r.n_tasks[i];
    assert_int_equal(r.n_tasks[KS_JUDGE_REFERENCE] + r.n_tasks[KS_JUDGE_ROUND], 0);
    assert_int_equal(r.n_tasks[KS_JUDGE_EXACT], 1);
    assert_true(r.n_tasks[KS_JUDGE_REAL] >= 3); /* verified samples */
    /* Exact outputs, inputs, references; the others are of outputs between the samples, */
    assert_true(r.n_tasks[KS_JUDGE_DIGEST] > 2 + 4 + 3);
    n_looks = r.n_tasks[KS_JUDGE_DIGEST] - (4 + 3);
    assert_int_equal(n_looks, 2 + r.w->rec.n_checked_launches);
    /* and of each of these launches the guards of the output came, and at the end. */
    assert_int_equal(r.bytes_down, n_asked * answer + (n_looks + 1) * 2 * KS_GUARD_BYTES);
    /* Signs go up once for two flips: of both inputs, or there and back of the output. */
    assert_int_equal(r.bytes_up, r.n_tasks[KS_JUDGE_FLIP] / 2 * n_signs(&r.w->set.signs));
    assert_int_equal(run(&r, "one_wrong")->outcome, KS_O_WRONG_RESULT);
    assert_int_equal(r.n_output_down, 1);
    close_rig(&r);
}

/* Sanitized: one of the wrong entries, and of pairs of a call and an entry each call and each entry
 * once. */
#ifdef KSWEEP_SANITIZED
#define STEP 4
#else
#define STEP 1
#endif

static const char *const wrong_entries[] = { "nothing", "coarse", "unwritten" };

/* Nor are the references of one that is wrong ever on the host as a whole: a worker that the cap on
 * its memory ends has said nothing of the kernel. */
static void test_references_come_in_pieces(void **state)
{
    const struct shared *s = *state;
    struct ks_err err = { 0 };
    struct ks_problem p;

    assert_int_equal(op_case("hi=550 wi=960 y=1 x=1 pad_h_lo=0 pad_w_lo=0 pad_h_hi=0 pad_w_hi=0 "
                             "c_total=1 k_total=1",
                             &p, &err),
                     0);
    for (size_t i = 0; i < sizeof(wrong_entries) / sizeof(wrong_entries[0]); i += STEP) {
        struct rig r;

        open_rig(&r, s, &no_fault);
        take(&r, &p, NULL);
        s->f->rec = *run(&r, wrong_entries[i]);
        close_rig(&r);
        open_rig(&r, s, &no_fault);
        take(&r, &p, "judge");
        r.largest_down = 0;
        run(&r, wrong_entries[i]);
        assert_int_equal(r.w->rec.outcome, KS_O_WRONG_RESULT);
        check_same(&s->f->rec, &r.w->rec);
        assert_in_range(r.largest_down, 1, r.w->judge.n * sizeof(double) / 2);
        close_rig(&r);
    }
}

/* ---- what a wild kernel reaches ---- */

/* One byte of whatever kernels share, changed by somebody: that cell is out of bounds, and all is
 * as it was for the next. */
static void check_scribble(struct rig *r, uint8_t *at, const char *what)
{
    struct ks_record *rec;

    r->scribble = at;
    rec = run(r, "good");
    if (rec->outcome != KS_O_OUT_OF_BOUNDS)
        print_error("%s: %u (%s)\n", what, rec->outcome, rec->reason);
    assert_int_equal(rec->outcome, KS_O_OUT_OF_BOUNDS);
    assert_int_equal(rec->phase, KS_PH_VERIFY);
    assert_non_null(strstr(rec->reason, what));
    assert_false(r->w->is_lost);
    check_good(run(r, "good"), &quick);
}

static void check_scribble_sign(struct rig *r, uint8_t *at)
{
    r->scribble = at;
    r->scribble_bits = 0x80;
    assert_int_equal(run(r, "good")->outcome, KS_O_OUT_OF_BOUNDS);
    assert_false(r->w->is_lost);
    r->scribble_bits = 0;
    check_good(run(r, "good"), &quick);
}

static void test_what_a_wild_kernel_reaches(void **state)
{
    const struct shared *s = *state;
    struct rig r;

    open_rig(&r, s, &no_fault);
    take(&r, &s->f->problem, "judge");
    for (size_t i = 0; i < KS_Z_INPUTS; i++) {
        struct ks_zone *z = &r.w->set.zone[i];
        const char *what = i % 2 == 0 ? "its input a" : "its input b";

        check_scribble(&r, z->mem, what);
        check_scribble(&r, z->mem + KS_GUARD_BYTES + 9, what);
        check_scribble(&r, z->mem + KS_GUARD_BYTES + z->bytes + KS_GUARD_BYTES - 1, what);
    }
    check_scribble(&r, r.w->judge.exact, "the exact reference");
    check_scribble(&r, (uint8_t *)r.w->judge.r + 8 * r.w->judge.n - 1, "the reference");
    check_scribble(&r, (uint8_t *)r.w->judge.abs + 77, "bound");
    /* What answers are written to holds nothing between two launches. */
    for (size_t at = 0; at <= KS_GUARD_BYTES; at += KS_GUARD_BYTES) {
        r.scribble = r.w->judge.answers.mem + at;
        check_good(run(&r, "good"), &quick);
    }
    /* A bound below zero refuses everything, and that is no judge's fault. */
    check_scribble_sign(&r, (uint8_t *)r.w->judge.abs + 7);
    assert_false(r.has_no_deadline);
    close_rig(&r);
}

/* ---- failures ---- */

/* Whatever call fails, whenever: the cell ends as what that stands for, or the host verifies. */
static void test_any_call_may_fail(void **state)
{
    static const enum ks_fault_slot slots[] = { KS_FAULT_UPLOAD, KS_FAULT_DOWNLOAD, KS_FAULT_FILL,
                                                KS_FAULT_ALLOC };
    const struct shared *s = *state;

    for (size_t k = 0; k < sizeof(slots) / sizeof(slots[0]); k++) {
        uint32_t outcome = KS_O_NONE, n_by_host = 0;

        for (uint32_t n = 0; outcome != KS_O_OK || n_by_host == n; n++) {
            struct ks_fault_plan plan = { .slot = slots[k], .nth = n, .code = KS_EDEVMEM };
            struct ks_err err = { 0 };
            bool is_judged;
            struct rig r;

            open_rig(&r, s, &plan);
            measure_least(&r);
            assert_int_equal(take_problem(&r, &s->f->problem, "judge", 0, &err), 0);
            is_judged = r.w->inspector == &ks_inspector_judge;
            outcome = run(&r, "uses_workspace")->outcome;
            assert_true(outcome == KS_O_OK || outcome == KS_O_OUT_OF_MEMORY);
            n_by_host += is_judged ? 0 : 1;
            if (!is_judged && outcome == KS_O_OK)
                assert_non_null(strstr(r.w->no_judge, "planned"));
            close_rig(&r);
            if (is_judged && outcome == KS_O_OK)
                break;
        }
        assert_true(n_by_host > 0);
    }
}

/* And whatever its kernel wrote where it must not, the next cell finds all as it was made, or is
 * another worker's. */
static void test_any_repair_may_fail(void **state)
{
    static const enum ks_fault_slot slots[] = { KS_FAULT_UPLOAD, KS_FAULT_DOWNLOAD, KS_FAULT_FILL };
    static const char *const entries[] = { "spoils_quietly", "write_after", "writes_and_fails" };
    const struct shared *s = *state;

    for (size_t k = 0; k < 9; k += STEP) {
        uint32_t n_failed = 0, n_lost = 0;

        for (uint32_t n = 0, is_over = 0; is_over == 0; n++) {
            struct ks_fault_plan plan = { .slot = slots[k / 3], .nth = n, .code = KS_EDEVMEM };
            struct rig r;

            open_rig(&r, s, &plan);
            measure_least(&r);
            assert_int_equal(take_problem(&r, &s->f->problem, "judge", 0, NULL), 0);
            if (r.w->inspector == &ks_inspector_judge) {
                run(&r, entries[k % 3]);
                is_over = strstr(r.w->rec.reason, "planned") == NULL;
                n_failed += is_over == 0;
                n_lost += r.w->is_lost;
                r.w->setup.measure = quick;
                if (is_over == 0 && !r.w->is_lost)
                    check_good(run(&r, "good"), &quick);
            }
            close_rig(&r);
        }
        assert_true(n_failed > 0);
        assert_true(n_lost > 0 || entries[k % 3] != entries[0]);
    }
}

static const struct {
    const char *entry, *why;
} absent_rows[] = {
    { "refuses", "has no reference for it" },
    { "greedy", "bytes for results" },
    { "no_such_judge", "no_such_judge" },
};

/* A judge that cannot be had is no failure: the host verifies, and that is known. */
static void test_no_judge(void **state)
{
    const struct shared *s = *state;
    struct shared changed = *s;
    struct ks_err err = { 0 };
    struct rig r;

    for (size_t i = 0; i < sizeof(absent_rows) / sizeof(absent_rows[0]); i++) {
        open_rig(&r, s, &no_fault);
        assert_int_equal(take_problem(&r, &s->f->problem, absent_rows[i].entry, 0, &err), 0);
        assert_ptr_equal(r.w->inspector, &ks_inspector_host);
        assert_non_null(strstr(r.w->no_judge, absent_rows[i].why));
        check_good(run(&r, "good"), &quick);
        assert_int_equal(run(&r, "spoils_quietly")->outcome, KS_O_OUT_OF_BOUNDS);
        take(&r, &s->f->other, "judge"); /* the next problem may have one */
        assert_string_equal(r.w->no_judge, "");
        close_rig(&r);
    }
    changed.judge_digest[3] ^= 1;
    open_rig(&r, &changed, &no_fault);
    assert_int_equal(take_problem(&r, &s->f->problem, "judge", 0, &err), 0);
    assert_non_null(strstr(r.w->no_judge, "SHA-256"));
    close_rig(&r);
}

/* What is not verified is not computed; inputs are looked at all the same. */
static void test_parts(void **state)
{
    const struct shared *s = *state;

    for (uint32_t wanted = 0; wanted < 4; wanted++) {
        struct rig r;

        open_rig(&r, s, &no_fault);
        r.w->setup.measure.verify_exact = wanted & 1u;
        r.w->setup.measure.verify_elementwise = wanted >> 1;
        take(&r, &s->f->problem, "judge");
        assert_int_equal(r.w->judge.exact != NULL, wanted & 1u);
        assert_int_equal(r.w->judge.r != NULL, wanted != 0);
        assert_int_equal(run(&r, "good")->outcome, KS_O_OK);
        assert_int_equal(r.w->rec.exact_check, wanted & 1u);
        assert_int_equal(r.w->rec.tolerance_check, wanted >> 1);
        assert_int_equal(run(&r, "spoils_quietly")->outcome, KS_O_OUT_OF_BOUNDS);
        assert_int_equal(run(&r, "one_wrong")->outcome, wanted != 0 ? KS_O_WRONG_RESULT : KS_O_OK);
        close_rig(&r);
    }
}

/* A suspect is looked at in the same way. */
static void test_suspects(void **state)
{
    const struct shared *s = *state;
    struct rig r;

    open_rig(&r, s, &no_fault);
    r.w->setup.is_sentinel = 1;
    take(&r, &s->f->problem, "judge");
    check_good(run(&r, "good"), &quick);
    assert_int_equal(run(&r, "spoils_quietly")->outcome, KS_O_OUT_OF_BOUNDS);
    assert_int_equal(run(&r, "one_wrong")->outcome, KS_O_WRONG_RESULT);
    close_rig(&r);
}

/* ---- several workers of one problem ---- */

static int new_memfd(void)
{
    int fd = memfd_create("references", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(fd >= 0);
    return fd;
}

/* A worker with that memfd, its problem taken up; what taking it up returned. */
static int open_with(struct rig *r, const struct shared *s, int fd, uint32_t mode,
                     const char *judge, struct ks_err *err)
{
    open_rig(r, s, &no_fault);
    r->w->fd_reference = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* it closes its own */
    return take_problem(r, &s->f->problem, judge, mode, err);
}

/* The first proves, the others must compute the same; those without a judge do it themselves. */
static void test_later_workers(void **state)
{
    const struct shared *s = *state;
    const uint32_t both = KS_PART_EXACT | KS_PART_REAL;
    struct ks_reference_digests d;
    struct ks_err err = { 0 };
    struct rig r;
    int fd = new_memfd();

    assert_int_equal(open_with(&r, s, fd, 1, "judge", &err), 0);
    assert_int_equal(ks_references_parts(fd), both | KS_PART_DIGESTS);
    check_good(run(&r, "good"), &quick);
    d = r.w->judge.references;
    close_rig(&r);
    for (uint32_t mode = 1; mode <= 2; mode++) { /* 1: the one before died after sealing */
        assert_int_equal(open_with(&r, s, fd, mode, "judge", &err), 0);
        assert_ptr_equal(r.w->inspector, &ks_inspector_judge);
        assert_memory_equal(&r.w->judge.references, &d, sizeof(d));
        check_good(run(&r, "good"), &quick);
        close_rig(&r);
        assert_int_equal(open_with(&r, s, fd, mode, NULL, &err), 0);
        assert_ptr_equal(r.w->inspector, &ks_inspector_host);
        check_good(run(&r, "good"), &quick);
        close_rig(&r);
    }
    close(fd);
}

/* Digests are no references, nor the reverse, nor those of another problem. */
static void test_damaged_memfds(void **state)
{
    const struct shared *s = *state;
    const struct ks_problem *p = &s->f->problem;
    const uint32_t both = KS_PART_EXACT | KS_PART_REAL;
    const struct ks_reference_digests d = { 1, 2, 3 };
    struct ks_reference_digests got = { 0 };
    struct ks_references refs = { 0 };
    struct ks_err err = { 0 };
    int fd = new_memfd();

    assert_int_equal(ks_references_parts(fd), 0);
    assert_int_equal(ftruncate(fd, 100000), 0); /* one before died while it wrote */
    assert_int_equal(ks_references_open_digests(p, both, fd, &got, &err), KS_EPROTO);
    assert_int_equal(ks_references_keep_digests(p, both, fd, &d, &err), 0);
    assert_int_equal(ks_references_open_digests(p, both, fd, &got, &err), 0);
    assert_memory_equal(&got, &d, sizeof(d));
    assert_int_equal(ks_references_open_digests(p, KS_PART_REAL, fd, &got, &err), 0);
    assert_true(got.exact == 0 && got.real == 2 && got.abs == 3);
    assert_int_equal(ks_references_open(p, both, fd, &refs, &err), KS_EPROTO);
    assert_int_equal(ks_references_open_digests(&s->f->other, both, fd, &got, &err), KS_EPROTO);
    close(fd);
    fd = new_memfd();
    assert_int_equal(ks_references_keep_digests(p, KS_PART_EXACT, fd, &d, &err), 0);
    assert_int_equal(ks_references_open_digests(p, both, fd, &got, &err), KS_EPROTO);
    close(fd);
}

/* The same reference, other bits of it: no device of ours. */
static void test_other_digests(void **state)
{
    const struct shared *s = *state;
    const uint32_t both = KS_PART_EXACT | KS_PART_REAL;
    struct ks_reference_digests good;
    struct ks_err err = { 0 };
    struct rig r;

    assert_int_equal(open_with(&r, s, -1, 0, "judge", &err), 0);
    good = r.w->judge.references;
    close_rig(&r);
    for (size_t i = 0; i < 3; i++) {
        struct ks_reference_digests d = good;
        int fd = new_memfd();

        *(i == 0 ? &d.exact : i == 1 ? &d.real : &d.abs) ^= 1;
        assert_int_equal(ks_references_keep_digests(&s->f->problem, both, fd, &d, &err), 0);
        assert_int_equal(open_with(&r, s, fd, 2, "judge", &err), KS_EDEVICE);
        assert_non_null(strstr(err.text, "digests differ"));
        close_rig(&r);
        close(fd);
    }
}

/* Where the host has made them for the first, it verifies for the others, too. */
static void test_references_of_the_host(void **state)
{
    const struct shared *s = *state;
    struct ks_err err = { 0 };
    struct rig r;
    int fd = new_memfd();

    assert_int_equal(open_with(&r, s, fd, 1, "refuses", &err), 0);
    assert_int_equal(ks_references_parts(fd), KS_PART_EXACT | KS_PART_REAL);
    close_rig(&r);
    assert_int_equal(open_with(&r, s, fd, 2, "judge", &err), 0);
    assert_ptr_equal(r.w->inspector, &ks_inspector_host);
    assert_non_null(strstr(r.w->no_judge, "previous worker"));
    check_good(run(&r, "good"), &quick);
    close_rig(&r);
    close(fd);
}

/* Memory that the host sees is looked at by the host, whoever else is named. */
static void test_visible_memory(void **state)
{
    const struct shared *s = *state;
    struct rig r;

    open_rig(&r, s, &no_fault);
    show_memory(&r);
    assert_int_equal(take_problem(&r, &s->f->problem, "judge", 0, NULL), 0);
    assert_ptr_equal(r.w->inspector, &ks_inspector_host);
    assert_string_equal(r.w->no_judge, "");
    check_good(run(&r, "good"), &quick);
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_the_host),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_a_right_output_stays),
        cmocka_unit_test(test_references_come_in_pieces),
        cmocka_unit_test(test_what_a_wild_kernel_reaches),
        cmocka_unit_test(test_any_call_may_fail),
        cmocka_unit_test(test_any_repair_may_fail),
        cmocka_unit_test(test_no_judge),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_suspects),
        cmocka_unit_test(test_damaged_memfds),
        cmocka_unit_test(test_later_workers),
        cmocka_unit_test(test_other_digests),
        cmocka_unit_test(test_references_of_the_host),
        cmocka_unit_test(test_visible_memory),
    };

    return cmocka_run_group_tests(tests, shared_setup, shared_teardown);
}
