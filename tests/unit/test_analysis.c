/* SPDX-License-Identifier: MIT */
/* test_analysis.c - what ksweep-analyze makes of a results file: order, merging, ties, tables */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/out/report.h"
#include "analysis_kit.h"
#include "base/file.h"
#include "store_place.h"
#include "tests/tools/store_kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One run with one block per problem; ns[problem][instance], 0 = the instance crashed. */
static void put_run(const char *dir, uint64_t seed, uint32_t n_problems, uint32_t n_instances,
                    const double *ns)
{
    struct skit k;

    skit_open(&k, dir, seed, n_problems, n_instances);
    skit_names(&k);
    for (uint32_t i = 0; i < n_problems; i++) {
        skit_block(&k, i + 1, i, 1000, 1000);
        for (uint32_t j = 0; j < n_instances; j++) {
            double t = ns[i * n_instances + j];
            struct ks_record *r = akit_timed(&k, i, j, t > 0 ? t : 1);

            if (t <= 0) {
                r->outcome = KS_O_CRASHED;
                r->status_code = 11;
                r->n_samples = 0;
                r->exact_check = r->tolerance_check = 0;
            }
            skit_put(&k, r);
        }
    }
    skit_close(&k);
}

static void rows_come_in_order(void **state)
{
    const struct place *p = *state;
    const struct ks_obs *rows;
    struct akit_rows r;
    struct ks_view *v;
    struct skit k;
    uint32_t n_groups = 0;
    size_t n;

    skit_open(&k, p->dir[0], 1, 3, 4);
    skit_names(&k);
    for (uint32_t i = 0; i < 12; i++) /* measured in some other order */
        skit_put(&k, akit_timed(&k, (i * 5 % 12) / 4, (i * 5 % 12) % 4, 1000 + i));
    skit_close(&k);
    place_gather(p, 1, NULL);
    v = akit_view(p, KS_MERGE_ALL);
    assert_int_equal(ks_view_n_rows(v), 12);
    akit_rows_open(&r, v);
    while (akit_rows_next(&r, &rows, &n)) {
        assert_int_equal(n, 4);
        for (uint32_t j = 0; j < 4; j++) {
            assert_int_equal(rows[j].problem, n_groups);
            assert_int_equal(rows[j].kernel, j);
        }
        n_groups++;
    }
    assert_int_equal(n_groups, 3);
    akit_rows_close(&r);
    ks_view_close(v);
}

/* Times of one cell in five runs; 0 = crashed. The newest run is the last. */
static void merging_chooses_whole_rows(void **state)
{
    static const struct {
        double ns[5], newest, median;
    } rows[] = {
        { { 10, 50, 30, 20, 40 }, 40, 30 },
        { { 10, 50, 0, 20, 40 }, 40, 20 }, /* four are ok: the lower middle one */
        { { 10, 50, 30, 20, 0 }, 0, 20 },
        { { 0, 0, 0, 0, 0 }, 0, 0 },
        { { 0, 0, 7, 0, 0 }, 0, 7 },
        { { 5, 5, 5, 5, 5 }, 5, 5 },
    };
    const struct place *p = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static const enum ks_merge how[] = { KS_MERGE_ALL, KS_MERGE_NEWEST, KS_MERGE_MEDIAN };
        char dirs[5][128];
        const char *list[5];
        struct ks_err err = { 0 };

        for (int r = 0; r < 5; r++) {
            snprintf(dirs[r], sizeof(dirs[r]), "%s/%zu-%d", p->root, i, r);
            list[r] = dirs[r];
            assert_int_equal(ks_mkdirs(dirs[r], 0777, &err), 0);
            put_run(dirs[r], 1 + 7 * (uint64_t)r, 1, 1, &rows[i].ns[r]);
        }
        if (ks_store_gather(list, 5, p->file, NULL, NULL, &err) < 0)
            fail_msg("%s", err.text);
        for (int h = 0; h < 3; h++) {
            double want = how[h] == KS_MERGE_NEWEST ? rows[i].newest : rows[i].median;
            struct ks_view *v = akit_view(p, how[h]);
            const struct ks_obs *got;
            struct akit_rows r;
            size_t n;

            akit_rows_open(&r, v);
            assert_true(akit_rows_next(&r, &got, &n));
            assert_int_equal(n, how[h] == KS_MERGE_ALL ? 5 : 1);
            assert_int_equal(ks_view_n_dropped(v), 5 - n);
            if (how[h] != KS_MERGE_ALL)
                same_f32(got[0].median_ns, want > 0 ? want : KS_NOT_KNOWN);
            akit_rows_close(&r);
            ks_view_close(v);
        }
    }
}

static void the_best_and_its_ties(void **state)
{
    /* 1000 +- 10 and 1015 +- 10.15 overlap; 2000 does not */
    static const double ns[] = { 2000, 1000, 1015, 4000, 0, 900, 1800, 1200, 3600, 0 };
    const struct place *p = *state;
    struct ks_summary s;
    struct akit_held held;
    struct ks_view *v;
    double flops;

    put_run(p->dir[0], 1, 2, 5, ns);
    place_gather(p, 1, NULL);
    akit_summarise(p, &v, &s, &held);
    assert_int_equal(s.n_problems, 2);
    assert_int_equal(s.problems[0].n_ok, 4);
    assert_int_equal(s.problems[0].n_rows, 5);
    assert_int_equal(s.problems[0].n_tied, 1);
    assert_true(akit_near(s.problems[0].worst_over_best, 4));
    assert_string_equal(s.problems[0].kernel->name,
                        ks_store_kernel(ks_view_file(v), 1)->instance_name);
    flops = s.problems[0].problem->flops;
    assert_true(akit_near(s.problems[0].gflops, flops / 1000));
    assert_true(akit_near(s.problems[0].gflops_lo95, flops / 1010));
    assert_true(akit_near(s.problems[0].gflops_hi95, flops / 990));
    assert_int_equal(s.problems[1].n_tied, 0);
    assert_true(akit_near(s.problems[1].worst_over_best, 4));
    assert_true(akit_near(s.median_worst_over_best, 4));
    assert_int_equal(s.outcome[KS_O_OK], 8);
    assert_int_equal(s.outcome[KS_O_CRASHED], 2);
    assert_int_equal(s.n_winners, 1); /* of problem 0 the best is tied */
    assert_int_equal(s.n_codes, 3);   /* instances 2 and 3 have the same code */
    assert_int_equal(s.n_ranks, 1);
    assert_int_equal(s.ranks[0].n_cells, 10);
    /* instance 0: sqrt(1000/2000 * 1); 1: sqrt(1 * 900/1800); 2: sqrt(1000/1015 * 900/1200) */
    assert_string_equal(s.fixed->name, ks_store_kernel(ks_view_file(v), 2)->instance_name);
    assert_true(akit_near(s.fixed_share, sqrt(1000.0 / 1015 * 900 / 1200)));
    akit_release(&s, &held);
    ks_view_close(v);
}

static void put_in_block(struct skit *k, uint32_t instance, uint64_t block, double ns)
{
    struct ks_record *r = akit_timed(k, 0, instance, ns);

    r->block_id = block;
    skit_put(k, r);
}

/* The second block ran on a device half as fast, as its anchor says. */
static void blocks_are_compared_by_their_anchors(void **state)
{
    const struct place *p = *state;
    struct ks_summary s;
    struct akit_held held;
    struct ks_view *v;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 1, 4);
    skit_names(&k);
    skit_block(&k, 1, 0, 500, 500);
    skit_block(&k, 2, 0, 1000, 1000);
    put_in_block(&k, 0, 1, 1000);
    put_in_block(&k, 1, 1, 3000);
    put_in_block(&k, 2, 2, 1600);
    put_in_block(&k, 3, 2, 2030);
    skit_close(&k);
    place_gather(p, 1, NULL);
    akit_summarise(p, &v, &s, &held);
    assert_string_equal(s.problems[0].kernel->name,
                        ks_store_kernel(ks_view_file(v), 2)->instance_name);
    assert_true(akit_near(s.problems[0].worst_over_best, 3000.0 / 800));
    assert_true(akit_near(s.problems[0].median_ns, 1600)); /* as it was measured */
    assert_int_equal(s.problems[0].n_tied, 0);
    akit_release(&s, &held);
    ks_view_close(v);
}

/* Intervals that do not overlap are a tie all the same when the block drifted by more. */
static void drift_makes_ties(void **state)
{
    const struct place *p = *state;
    struct ks_summary s;
    struct akit_held held;
    struct ks_view *v;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 1, 3);
    skit_names(&k);
    skit_block(&k, 1, 0, 1000, 1100);
    put_in_block(&k, 0, 1, 1000);
    put_in_block(&k, 1, 1, 1090);
    put_in_block(&k, 2, 1, 1110);
    skit_close(&k);
    place_gather(p, 1, NULL);
    akit_summarise(p, &v, &s, &held);
    assert_int_equal(s.problems[0].n_tied, 1);
    akit_release(&s, &held);
    ks_view_close(v);
}

static void nothing_is_ok(void **state)
{
    static const double ns[] = { 0, 0 };
    const struct place *p = *state;
    struct ks_summary s;
    struct akit_held held;
    struct ks_view *v;

    put_run(p->dir[0], 1, 1, 2, ns);
    place_gather(p, 1, NULL);
    akit_summarise(p, &v, &s, &held);
    assert_null(s.problems[0].kernel);
    assert_null(s.fixed);
    assert_true(s.median_worst_over_best == KS_NOT_KNOWN);
    akit_release(&s, &held);
    ks_view_close(v);
}

/* ---- Composable Kernel's columns ---- */

static void set_dim(struct ks_problem *p, const char *name, int64_t value)
{
    struct ks_err err = { 0 };

    p->dim[ks_problem_dim(p->op, name)] = value;
    if (ks_problem_finish(p, &err) < 0)
        fail_msg("%s", err.text);
}

static void make_uneven(struct skit *k)
{
    set_dim(&k->problems[1], "pad_h_hi", 2);
}

static void make_half(struct skit *k)
{
    k->problems[1].dtype = KS_FP16;
    set_dim(&k->problems[1], "n", 1);
}

static void make_nothing(struct skit *k)
{
    (void)k;
}

static void what_ck_cannot_say_is_refused(void **state)
{
    static const struct {
        void (*make)(struct skit *);
        uint32_t v2;
        int want;
        const char *text;
    } rows[] = {
        { make_nothing, 1, 0, "" },
        { make_uneven, 1, KS_EUNSUPPORTED,
          "'conv_1 ä × 3' is padded 1 before and 2 after (pad_h)" },
        { make_half, 1, KS_EUNSUPPORTED, "'conv_1 ä × 3' is forward fp16 nhwgc" },
        { make_nothing, 0, KS_EUNSUPPORTED, "was not verified" },
    };
    const struct place *p = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *dirs[1];
        char dir[128];
        struct ks_record *r;
        struct ks_view *v;
        struct ks_buf b;
        struct ks_err err = { 0 };
        struct skit k;

        snprintf(dir, sizeof(dir), "%s/%zu", p->root, i);
        dirs[0] = dir;
        assert_int_equal(ks_mkdirs(dir, 0777, &err), 0);
        skit_open(&k, dir, 1, 2, 1);
        rows[i].make(&k);
        skit_names(&k);
        skit_put(&k, akit_timed(&k, 0, 0, 2e6));
        r = akit_timed(&k, 1, 0, 1e6);
        r->tolerance_check = rows[i].v2;
        r->n_zero = 3;
        skit_put(&k, r);
        skit_close(&k);
        assert_int_equal(ks_store_gather(dirs, 1, p->file, NULL, NULL, &err), 0);
        v = akit_view(p, KS_MERGE_ALL);
        assert_int_equal(akit_ck(v, &b, &err), rows[i].want);
        assert_non_null(strstr(err.text, rows[i].text));
        if (rows[i].want == 0)
            assert_non_null(strstr(ks_buf_text(&b),
                                   "host_gconv_4x16_indirect,1,1,32,64,1,1,14,14,1,"
                                   "3,3,1,1,1,0,1,1,1,1,1,1,0.0072253"));
        ks_buf_release(&b);
        ks_view_close(v);
    }
}

/* Names in a file may hold line ends: none of them begins a line of a report. */
static void names_forge_no_line(void **state)
{
    const struct place *p = *state;
    struct akit_held held;
    struct ks_summary s;
    struct ks_view *v;
    struct ks_buf b;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 1, 2);
    snprintf(k.problems[0].name, sizeof(k.problems[0].name), "p\nforged 1");
    skit_names(&k);
    skit_name(&k, KS_F_INSTANCE, k.instances[0], 0, "i\nforged 2", "family=f");
    skit_put(&k, akit_timed(&k, 0, 0, 1000));
    skit_put(&k, akit_timed(&k, 0, 1, 2000));
    skit_close(&k);
    place_gather(p, 1, NULL);
    akit_summarise(p, &v, &s, &held);
    ks_buf_init(&b);
    assert_int_equal(ks_report_text(&s, 0, &b, NULL), 0);
    assert_true(strncmp(strchr(ks_buf_text(&b), '\n') + 1, "p\\nforged 1 ", 12) == 0);
    assert_non_null(strstr(ks_buf_text(&b), "\n    i\\nforged 2\n"));
    assert_null(strstr(ks_buf_text(&b), "\nforged"));
    ks_buf_release(&b);
    akit_release(&s, &held);
    ks_view_close(v);
}

static void a_file_that_is_none(void **state)
{
    const struct place *p = *state;
    struct ks_view *v;
    struct ks_err err = { 0 };

    assert_int_equal(ks_view_open(p->file, KS_MERGE_ALL, &v, &err), KS_ENOENT);
    assert_non_null(strstr(err.text, p->file));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)
        TEST(rows_come_in_order),
        TEST(merging_chooses_whole_rows),
        TEST(the_best_and_its_ties),
        TEST(blocks_are_compared_by_their_anchors),
        TEST(drift_makes_ties),
        TEST(nothing_is_ok),
        TEST(what_ck_cannot_say_is_refused),
        TEST(names_forge_no_line),
        TEST(a_file_that_is_none),
#undef TEST
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("analysis", tests, NULL, NULL);
}
