/* SPDX-License-Identifier: MIT */
/* test_analysis_alias.c - aliases in tables and reports: whose times they have, their controls */
#include "analysis_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How instance j of the kit ended: o ok, x crashed, a alias of instance 0, A of 2, c control of
 * instance 0, d a control that crashed. */
static void put_cell(struct skit *k, uint32_t i, uint32_t j, char how, double ns)
{
    struct ks_record *r = akit_timed(k, i, j, ns > 0 ? ns : 1);

    if (how == 'x' || how == 'd' || how == 'a' || how == 'A') {
        r->outcome = how == 'x' || how == 'd' ? KS_O_CRASHED : KS_O_ALIASED;
        r->n_samples = 0;
        r->exact_check = r->tolerance_check = 0;
        r->verified_sample_ns = -1;
    }
    if (r->outcome == KS_O_ALIASED)
        r->device_id = r->block_id = 0;
    if (how != 'o' && how != 'x')
        r->representative_id = k->instances[how == 'A' ? 2 : 0];
    r->outcome_flags = how == 'c' || how == 'd' ? KS_FL_ALIASED : 0;
    skit_put(k, r);
}

/* One run; hows[problem] one letter per instance, ns[problem][instance]. */
static void put_run(const char *dir, uint64_t seed, uint32_t n_problems, uint32_t n,
                    const char *const *hows, const double *ns)
{
    struct skit k;

    skit_open(&k, dir, seed, n_problems, n);
    skit_names(&k);
    for (uint32_t i = 0; i < n_problems; i++) {
        skit_block(&k, i + 1, i, 1000, 1000);
        for (uint32_t j = 0; j < n; j++)
            put_cell(&k, i, j, hows[i][j], ns[i * n + j]);
    }
    skit_close(&k);
}

static void check_csv(const char *csv, int line, const char *const *want)
{
    static const char *const columns[] = {
        "outcome",      "time_median_ns",      "representative_id",
        "code_outcome", "code_time_median_ns", "code_time_over_anchor"
    };
    char got[128];

    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        akit_cell(csv, line, columns[i], got, sizeof(got));
        if (strcmp(columns[i], "representative_id") == 0 && got[0])
            snprintf(got, sizeof(got), "yes");
        if (strcmp(got, want[i]) != 0)
            fail_msg("line %d: %s is '%s', not '%s'", line, columns[i], got, want[i]);
    }
}

/* The time over rounds of line `line` is that of the code of lines from..to; 0: there is none. */
static void check_rounds(const char *csv, int line, int from, int to)
{
    char want[128] = "", median[128], got[128];

    if (line) {
        akit_cell(csv, line, "rounds_time_ns", want, sizeof(want));
        akit_cell(csv, line, "time_median_ns", median, sizeof(median));
        assert_true(want[0] && strcmp(want, median) != 0);
    }
    for (int i = from; i <= to; i++) {
        akit_cell(csv, i, "code_rounds_time_ns", got, sizeof(got));
        assert_string_equal(got, want);
        if (i != line)
            akit_cell(csv, i, "rounds_time_ns", got, sizeof(got));
        assert_true(i == line || !got[0]);
    }
}

/* An alias has no times of its own, and those of its code in columns of their own. */
static void tables_tell_code_from_instance(void **state)
{
    static const char *const hows[] = { "oaoAc", "xaoox" };
    static const double ns[] = { 2000, 0, 3000, 0, 2020, 0, 0, 500, 600, 0 };
    static const char *const want[][6] = {
        { "ok", "2000", "", "ok", "2000", "2" },       { "aliased", "", "yes", "ok", "2000", "2" },
        { "ok", "3000", "", "ok", "3000", "3" },       { "aliased", "", "yes", "ok", "3000", "3" },
        { "ok", "2020", "yes", "ok", "2020", "2.02" }, /* a control: its own */
        { "crashed", "", "", "crashed", "", "" },      { "aliased", "", "yes", "crashed", "", "" },
        { "ok", "500", "", "ok", "500", "0.5" },       { "ok", "600", "", "ok", "600", "0.6" },
        { "crashed", "", "", "crashed", "", "" },
    };
    const struct place *p = *state;
    struct ks_buf csv;
    char id[32], alias[32];

    put_run(p->dir[0], 1, 2, 5, hows, ns);
    place_gather(p, 1, NULL);
    akit_csv(p, KS_COLUMNS_V2, &csv);
    for (int i = 0; i < 10; i++)
        check_csv(ks_buf_text(&csv), i + 1, want[i]);
    check_rounds(ks_buf_text(&csv), 1, 1, 2);
    check_rounds(ks_buf_text(&csv), 3, 3, 4);
    check_rounds(ks_buf_text(&csv), 5, 5, 5);
    check_rounds(ks_buf_text(&csv), 0, 6, 7);
    akit_cell(ks_buf_text(&csv), 1, "instance_id", id, sizeof(id));
    akit_cell(ks_buf_text(&csv), 2, "representative_id", alias, sizeof(alias));
    assert_string_equal(id, alias);
    akit_cell(ks_buf_text(&csv), 5, "representative_id", alias, sizeof(alias));
    assert_string_equal(id, alias);
    ks_buf_release(&csv);
}

/* What an alias points to has no row (it is open again): nothing is known. */
static void nothing_to_point_to(void **state)
{
    static const char *const want[] = { "aliased", "", "yes", "", "", "" };
    const struct place *p = *state;
    struct ks_buf csv;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 1, 3);
    skit_names(&k);
    put_cell(&k, 0, 1, 'a', 0);
    put_cell(&k, 0, 2, 'o', 10);
    skit_close(&k);
    place_gather(p, 1, NULL);
    akit_csv(p, KS_COLUMNS_V2, &csv);
    check_csv(ks_buf_text(&csv), 1, want);
    ks_buf_release(&csv);
}

/* Each run's aliases have the times of that run; where merging left one row, those of that one. */
static void runs_are_joined_apart(void **state)
{
    static const char *const hows[] = { "oa" };
    static const double ns[] = { 1000, 0, 3000, 0 };
    const struct place *p = *state;
    struct ks_join join = { 0 };
    struct akit_rows r;
    const struct ks_obs *rows;
    size_t n;

    put_run(p->dir[0], 1, 1, 2, hows, ns);
    put_run(p->dir[1], 8, 1, 2, hows, ns + 2); /* the same problems */
    place_gather(p, 2, NULL);
    for (enum ks_merge how = KS_MERGE_ALL; how <= KS_MERGE_MEDIAN; how++) {
        struct ks_view *v = akit_view(p, how);

        akit_rows_open(&r, v);
        assert_true(akit_rows_next(&r, &rows, &n));
        assert_int_equal(n, how == KS_MERGE_ALL ? 4 : 2);
        assert_int_equal(ks_join_problem(&join, rows, n, NULL), 0);
        for (size_t i = 0; i < n; i++) {
            const struct ks_obs *code = ks_join_code(&join, &rows[i]);
            bool is_first_run = how == KS_MERGE_MEDIAN || rows[i].run == 0;

            assert_non_null(code);
            assert_int_equal(code->outcome, KS_O_OK);
            same_f32(code->median_ns, is_first_run ? 1000 : 3000);
        }
        akit_rows_close(&r);
        ks_view_close(v);
    }
    ks_join_release(&join);
}

static const char *name_of(const struct ks_view *v, uint32_t i)
{
    return ks_store_kernel(ks_view_file(v), i)->instance_name;
}

/* Codes compete, not names: a control does not tie with what it repeats, and an alias is as good.
 */
static void aliases_do_not_compete(void **state)
{
    static const char *const hows[] = { "oaoc", "oxoa" };
    static const double ns[] = { 1000, 0, 2000, 1001, 3000, 0, 1500, 0 };
    const struct place *p = *state;
    struct ks_summary s;
    struct akit_held held;
    struct ks_view *v;

    put_run(p->dir[0], 1, 2, 4, hows, ns);
    place_gather(p, 1, NULL);
    akit_summarise(p, &v, &s, &held);
    assert_int_equal(s.problems[0].n_ok, 3);
    assert_int_equal(s.problems[0].n_codes, 2);
    assert_int_equal(s.problems[0].n_tied, 0);
    assert_string_equal(s.problems[0].kernel->name, name_of(v, 0));
    assert_true(akit_near(s.problems[0].worst_over_best, 2));
    assert_int_equal(s.n_winners, 2);
    /* 0 and its aliases 1 and 3: sqrt(1 * 1500/3000), but 1 crashed once; 2: sqrt(1000/2000 * 1) */
    assert_true(akit_near(s.fixed_share, sqrt(0.5)));
    assert_int_equal(s.outcome[KS_O_ALIASED], 2);
    akit_release(&s, &held);
    ks_view_close(v);
}

/* An instance that is an alias here and the one that was measured there is good everywhere. */
static void an_alias_may_be_the_best_fixed(void **state)
{
    static const char *const hows[] = { "xooA", "xxoo" };
    static const double ns[] = { 0, 9000, 1000, 0, 0, 0, 4000, 1000 };
    const struct place *p = *state;
    struct ks_summary s;
    struct akit_held held;
    struct ks_view *v;

    put_run(p->dir[0], 1, 2, 4, hows, ns);
    place_gather(p, 1, NULL);
    akit_summarise(p, &v, &s, &held);
    assert_string_equal(s.fixed->name, name_of(v, 3));
    assert_true(akit_near(s.fixed_share, 1));
    akit_release(&s, &held);
    ks_view_close(v);
}

static void groups_are_listed(void **state)
{
    static const char *const hows[] = { "oooAo", "oooAo", "ooooo" };
    static const double ns[15] = { 1, 2, 3, 0, 5, 1, 2, 3, 0, 5, 1, 2, 3, 4, 5 };
    const struct place *p = *state;
    struct ks_summary s;
    struct akit_held held;
    struct ks_view *v;

    put_run(p->dir[0], 1, 3, 5, hows, ns); /* the kit gives 2 and 3 the same code */
    put_run(p->dir[1], 8, 3, 5, hows, ns);
    place_gather(p, 2, NULL);
    akit_summarise(p, &v, &s, &held);
    assert_int_equal(s.aliases.n_groups, 1);
    assert_int_equal(s.aliases.groups[0].n, 2); /* though each was built in two runs */
    assert_string_equal(s.aliases.groups[0].members[0]->name, name_of(v, 2));
    assert_string_equal(s.aliases.groups[0].members[1]->name, name_of(v, 3));
    assert_int_equal(s.aliases.n_aliased, 2);
    assert_int_equal(s.aliases.groups[0].n_aliased, 2);
    assert_int_equal(s.aliases.n_controls, 0);
    akit_release(&s, &held);
    ks_view_close(v);
}

/* Samples are +-1 %, so noise explains about 2 %. */
static void controls_are_compared(void **state)
{
    static const char *const hows[] = { "occ", "oca", "ocd", "xcd" };
    static const double ns[] = { 1000, 1010, 985, 1000, 1100, 0, 1000, 1000, 0, 0, 1000, 0 };
    const struct place *p = *state;
    struct ks_summary s;
    struct akit_held held;
    struct ks_view *v;

    put_run(p->dir[0], 1, 4, 3, hows, ns);
    place_gather(p, 1, NULL);
    akit_summarise(p, &v, &s, &held);
    assert_int_equal(s.aliases.n_controls, 7);
    assert_int_equal(s.aliases.n_other_outcome, 2); /* d of problem 2, c of problem 3 */
    assert_int_equal(s.aliases.n_compared, 4);
    assert_int_equal(s.aliases.n_apart, 1);
    assert_true(akit_near(s.aliases.difference, 0.1));
    assert_true(akit_near(s.aliases.noise, 0.01 + 0.011));
    assert_string_equal(s.aliases.problem->name,
                        ks_store_problem(ks_view_file(v), 1)->problem_name);
    assert_string_equal(s.aliases.control->name, name_of(v, 1));
    assert_string_equal(s.aliases.first->name, name_of(v, 0));
    akit_release(&s, &held);
    ks_view_close(v);
}

/* In another block its times are scaled by the anchors, whose drift is noise, too. */
static void controls_of_other_blocks(void **state)
{
    static const struct {
        double close_ns, want_difference, want_noise;
        uint32_t n_apart;
    } rows[] = { { 2000, 0.05, 0.01 + 0.0105, 1 }, { 2120, 0.05 * 0.4, 0.06, 0 } };
    const struct place *p = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_summary s;
        struct akit_held held;
        struct ks_view *v;
        struct skit k;

        skit_open(&k, p->dir[i], 1 + i, 1, 2);
        skit_names(&k);
        skit_block(&k, 1, 0, 1000, 1000);
        skit_block(&k, 2, 0, 2000, rows[i].close_ns);
        put_cell(&k, 0, 0, 'o', 1000);
        struct ks_record *r = akit_timed(&k, 0, 1, 2100);
        r->outcome_flags = KS_FL_ALIASED;
        r->representative_id = k.instances[0];
        r->block_id = 2;
        skit_put(&k, r);
        skit_close(&k);
        struct place only = *p;
        snprintf(only.dir[0], sizeof(only.dir[0]), "%s", p->dir[i]);
        place_gather(&only, 1, NULL);
        akit_summarise(&only, &v, &s, &held);
        assert_int_equal(s.aliases.n_compared, 1);
        double anchor = (2000 + rows[i].close_ns) / 2000;
        assert_true(akit_near(s.aliases.difference, fabs(2100 / anchor / 1000 - 1)));
        if (i == 0)
            assert_true(akit_near(s.aliases.difference, rows[i].want_difference));
        assert_true(akit_near(s.aliases.noise, rows[i].want_noise));
        assert_int_equal(s.aliases.n_apart, rows[i].n_apart);
        akit_release(&s, &held);
        ks_view_close(v);
    }
}

/* ---- what pruning left out ---- */

/* p: left out; C: a control of that; o: kept. */
static void put_pruned(struct skit *k, uint32_t i, uint32_t j, char how, double ns)
{
    struct ks_record *r = akit_timed(k, i, j, ns > 0 ? ns : 1);

    if (how == 'p') {
        r->outcome = KS_O_SKIPPED;
        r->n_samples = 0;
        r->device_id = r->block_id = 0;
        snprintf(r->reason, sizeof(r->reason), "spills 9 vector registers");
    }
    r->outcome_flags = how == 'C' ? KS_FL_PRUNED : 0;
    skit_put(k, r);
}

static void controls_of_pruning(void **state)
{
    static const char *const hows[] = { "opp", "oCp", "oCC", "pCp" };
    static const double ns[] = { 1000, 0, 0, 1000, 1250, 0, 1000, 1008, 500, 0, 10, 0 };
    const struct place *p = *state;
    struct ks_summary s;
    struct akit_held held;
    struct ks_view *v;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 4, 3);
    skit_names(&k);
    for (uint32_t i = 0; i < 4; i++) {
        skit_block(&k, i + 1, i, 1000, 1000);
        for (uint32_t j = 0; j < 3; j++)
            put_pruned(&k, i, j, hows[i][j], ns[3 * i + j]);
    }
    skit_close(&k);
    place_gather(p, 1, NULL);
    akit_summarise(p, &v, &s, &held);
    assert_int_equal(s.pruned.n_left_out, 5);
    assert_int_equal(s.pruned.n_controls, 4);
    assert_int_equal(s.pruned.n_compared, 3); /* of the last problem nothing was kept */
    assert_int_equal(s.pruned.n_better, 1);
    assert_true(akit_near(s.pruned.ratio, 2));
    assert_string_equal(s.pruned.problem->name, ks_store_problem(ks_view_file(v), 2)->problem_name);
    assert_string_equal(s.pruned.control->name, name_of(v, 2));
    akit_release(&s, &held);
    ks_view_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)
        TEST(tables_tell_code_from_instance),
        TEST(nothing_to_point_to),
        TEST(runs_are_joined_apart),
        TEST(aliases_do_not_compete),
        TEST(an_alias_may_be_the_best_fixed),
        TEST(groups_are_listed),
        TEST(controls_are_compared),
        TEST(controls_of_other_blocks),
        TEST(controls_of_pruning),
#undef TEST
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("analysis_alias", tests, NULL, NULL);
}
