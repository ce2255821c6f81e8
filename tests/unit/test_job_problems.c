/* SPDX-License-Identifier: MIT */
/* test_job_problems.c - an entry of a job's problems: overridden, left out of, sampled */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "grid/job_problems.h"
#include "grid/problem_class.h"
#include "op/conv.h"
#include "tests/unit/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "operator,direction,dtype,layout,n,c_total,k_total,di,hi,wi,z,y,x\n"
#define ROW  "grouped_conv,forward,fp32,nhwgc,"

struct place {
    char dir[TEMP_DIR_MAX];
    struct ks_job job;
    struct ks_job_problems list; /* its only one */
    char excludes[1][KS_PATH_MAX];
};

static void put(const struct place *w, const char *name, const char *text)
{
    struct ks_err err = { 0 };
    char path[KS_PATH_MAX];

    assert_int_equal(ks_path_join(path, sizeof path, w->dir, name, &err), 0);
    if (ks_file_replace(path, text, strlen(text), &err) < 0)
        fail_msg("%s", err.text);
}

/* all.csv: six 1x1 and two 3x3; held.csv: one of each, and one that is not in all.csv. */
static int open_place(void **state)
{
    struct place *w = calloc(1, sizeof *w);

    assert_non_null(w);
    temp_dir_make(w->dir, sizeof(w->dir));
    put(w, "all.csv",
        HEAD ROW "1,8,8,1,9,9,1,1,1\n" ROW "2,8,8,1,9,9,1,1,1\n" ROW "3,8,8,1,9,9,1,1,1\n" ROW
                 "4,8,8,1,9,9,1,1,1\n" ROW "5,8,8,1,9,9,1,1,1\n" ROW "6,8,8,1,9,9,1,1,1\n" ROW
                 "7,8,8,1,9,9,1,3,3\n" ROW "8,8,8,1,9,9,1,3,3\n");
    put(w, "held.csv",
        HEAD ROW "2,8,8,1,9,9,1,1,1\n" ROW "8,8,8,1,9,9,1,3,3\n" ROW "9,8,8,1,9,9,1,3,3\n");
    put(w, "bad.csv", HEAD ROW "0,8,8,1,9,9,1,1,1\n");
    *state = w;
    return 0;
}

static int close_place(void **state)
{
    struct place *w = *state;

    temp_dir_remove(w->dir);
    free(w);
    return 0;
}

static struct ks_job_problems *entry(struct place *w, const char *file, const char *exclude)
{
    struct ks_job_problems *list = &w->list;

    memset(&w->job, 0, sizeof w->job);
    memset(list, 0, sizeof *list);
    w->job.problems = list;
    list->exclude = w->excludes;
    snprintf(w->job.op, sizeof w->job.op, "grouped_conv");
    w->job.n_problems = 1;
    list->layout = list->dtype = -1;
    snprintf(list->file, sizeof list->file, "%s/%s", w->dir, file);
    if (exclude) {
        snprintf(list->exclude[0], sizeof list->exclude[0], "%s/%s", w->dir, exclude);
        list->n_exclude = 1;
    }
    return list;
}

static int read_entry(const struct place *w, struct ks_problem_set *set, uint32_t *n_left_out,
                      struct ks_err *err)
{
    ks_problem_set_init(set);
    return ks_job_problems_read(&w->job, 0, set, n_left_out, err);
}

static void lists_are_left_out(void **state)
{
    struct place *w = *state;
    struct ks_problem_set set;
    struct ks_err err = { 0 };
    uint32_t n_left_out = 77;

    entry(w, "all.csv", "held.csv");
    if (read_entry(w, &set, &n_left_out, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(n_left_out, 2);
    assert_int_equal(set.n, 6);
    for (uint32_t i = 0; i < set.n; i++)
        assert_true(ks_problem_table_get(&set.problems, i).dim[KS_CONV_N] != 2 &&
                    ks_problem_table_get(&set.problems, i).dim[KS_CONV_N] != 8);
    ks_problem_set_release(&set);
}

/* The entry's layout, dtype and directions hold for what is left out, too. */
static void what_is_left_out_is_overridden_alike(void **state)
{
    struct place *w = *state;
    struct ks_job_problems *list = entry(w, "all.csv", "held.csv");
    struct ks_problem_set set;
    struct ks_err err = { 0 };
    uint32_t n_left_out = 77;

    list->layout = KS_NGCHW;
    list->dtype = KS_BF16;
    list->directions = 1 << KS_FORWARD | 1 << KS_BACKWARD_DATA;
    assert_int_equal(read_entry(w, &set, &n_left_out, &err), 0);
    assert_int_equal(n_left_out, 4);
    assert_int_equal(set.n, 12);
    for (uint32_t i = 0; i < set.n; i++) {
        assert_int_equal(ks_problem_table_get(&set.problems, i).layout, KS_NGCHW);
        assert_int_equal(ks_problem_table_get(&set.problems, i).dtype, KS_BF16);
    }
    ks_problem_set_release(&set);
}

/* Leaving out comes before the sample: a sample of 3 has 3, of both classes when it is stratified.
 */
static void the_sample_comes_last(void **state)
{
    struct place *w = *state;
    struct ks_job_problems *list = entry(w, "all.csv", "held.csv");

    list->sample = 3;
    list->is_stratified = true;
    for (list->seed = 0; list->seed < 20; list->seed++) {
        struct ks_problem_set set;
        struct ks_err err = { 0 };
        uint32_t n_left_out, n_3x3 = 0;

        assert_int_equal(read_entry(w, &set, &n_left_out, &err), 0);
        assert_int_equal(n_left_out, 2);
        assert_int_equal(set.n, 3);
        for (uint32_t i = 0; i < set.n; i++) {
            const struct ks_problem p = ks_problem_table_get(&set.problems, i);

            n_3x3 += ks_problem_class(&p) == KS_CLASS_3X3;
        }
        assert_int_equal(n_3x3, 1);
        ks_problem_set_release(&set);
    }
}

static void mistakes_are_errors(void **state)
{
    static const struct {
        const char *file, *exclude, *op, *says;
        int64_t sample;
        int rc;
    } rows[] = {
        { "bad.csv", NULL, "grouped_conv", "bad.csv:2: n = 0", 0, KS_EFORMAT },
        { "all.csv", "bad.csv", "grouped_conv", "bad.csv:2: n = 0", 0, KS_EFORMAT },
        { "all.csv", "absent.csv", "grouped_conv", "absent.csv", 0, KS_ENOENT },
        { "all.csv", NULL, "gemm", "holds problems of operator grouped_conv, the job's is gemm", 0,
          KS_EINVAL },
        { "all.csv", NULL, "grouped_conv", "cannot hold one of each", 1, KS_EINVAL },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct place *w = *state;
        struct ks_job_problems *list = entry(w, rows[i].file, rows[i].exclude);
        struct ks_problem_set set;
        struct ks_err err = { 0 };
        uint32_t n_left_out;
        int rc;

        snprintf(w->job.op, sizeof w->job.op, "%s", rows[i].op);
        list->sample = rows[i].sample;
        list->is_stratified = list->sample > 0;
        rc = read_entry(w, &set, &n_left_out, &err);
        if (rc != rows[i].rc || !strstr(err.text, rows[i].says))
            fail_msg("row %zu: %d '%s'", i, rc, err.text);
        ks_problem_set_release(&set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_left_out),
        cmocka_unit_test(what_is_left_out_is_overridden_alike),
        cmocka_unit_test(the_sample_comes_last),
        cmocka_unit_test(mistakes_are_errors),
    };

    return cmocka_run_group_tests_name("job_problems", tests, open_place, close_place);
}
