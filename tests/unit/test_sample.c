/* SPDX-License-Identifier: MIT */
/* test_sample.c - shape classes, samples by class, what is left out, where problems come from */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "fault.h"
#include "grid/problem_class.h"
#include "grid/problems.h"
#include "op/conv.h"
#include "same_problems.h"

#include <string.h>

/* ndim n g c k hi wi y x stride dilation pad */
struct shape {
    int64_t ndim, n, g, c, k, hi, wi, y, x, stride, dilation, pad;
};

static struct ks_problem make(const struct shape *s)
{
    struct ks_problem p = ks_problem_blank(0);
    struct ks_err err = { 0 };
    int64_t *d = p.dim;

    d[KS_CONV_NDIM] = s->ndim;
    d[KS_CONV_N] = s->n;
    d[KS_CONV_G] = s->g;
    d[KS_CONV_C_TOTAL] = s->c;
    d[KS_CONV_K_TOTAL] = s->k;
    d[KS_CONV_DI] = d[KS_CONV_Z] = s->ndim == 3 ? 3 : 1;
    d[KS_CONV_HI] = s->hi;
    d[KS_CONV_WI] = s->wi;
    d[KS_CONV_Y] = s->y;
    d[KS_CONV_X] = s->x;
    d[KS_CONV_STRIDE_W] = s->stride;
    d[KS_CONV_STRIDE_H] = s->ndim > 1 ? s->stride : 1;
    d[KS_CONV_DILATION_W] = s->dilation;
    d[KS_CONV_DILATION_H] = s->ndim > 1 ? s->dilation : 1;
    d[KS_CONV_PAD_W_LO] = d[KS_CONV_PAD_W_HI] = s->pad;
    d[KS_CONV_PAD_H_LO] = d[KS_CONV_PAD_H_HI] = s->ndim > 1 ? s->pad : 0;
    if (ks_problem_finish(&p, &err) < 0)
        fail_msg("%s", err.text);
    return p;
}

static void classes(void **state)
{
    static const struct {
        struct shape s;
        const char *want;
    } rows[] = {
        { { 3, 1, 1, 64, 64, 9, 9, 3, 3, 1, 1, 1 }, "3d" },
        { { 3, 1, 64, 64, 64, 9, 9, 3, 3, 1, 1, 1 }, "3d" },
        { { 1, 1, 1, 64, 64, 1, 9, 1, 3, 1, 1, 1 }, "1d" },
        { { 2, 8, 1, 2048, 1000, 1, 1, 1, 1, 1, 1, 0 }, "fully_connected" },
        { { 2, 8, 1, 512, 4096, 7, 7, 7, 7, 1, 1, 0 }, "fully_connected" },
        { { 2, 8, 1, 512, 4096, 7, 7, 7, 7, 1, 1, 1 }, "large_filter" },
        { { 2, 8, 2, 512, 4096, 7, 7, 7, 7, 1, 1, 0 }, "grouped" },
        { { 2, 1, 64, 64, 64, 9, 9, 3, 3, 2, 1, 1 }, "depthwise" },
        { { 2, 1, 64, 64, 128, 9, 9, 3, 3, 1, 1, 1 }, "depthwise" },
        { { 2, 1, 32, 64, 64, 9, 9, 3, 3, 1, 2, 2 }, "grouped" },
        { { 2, 1, 1, 3, 64, 224, 224, 7, 7, 2, 1, 3 }, "stem" },
        { { 2, 1, 1, 4, 64, 32, 32, 3, 3, 1, 1, 1 }, "stem" },
        { { 2, 1, 1, 5, 64, 32, 32, 3, 3, 1, 1, 1 }, "3x3" },
        { { 2, 1, 1, 64, 64, 14, 14, 3, 3, 2, 2, 2 }, "dilated" },
        { { 2, 1, 1, 64, 64, 14, 14, 1, 1, 1, 2, 0 }, "1x1" },
        { { 2, 1, 1, 64, 64, 14, 14, 1, 1, 2, 1, 0 }, "strided" },
        { { 2, 1, 1, 64, 64, 14, 14, 3, 3, 2, 1, 1 }, "strided" },
        { { 2, 1, 1, 64, 64, 14, 14, 1, 1, 1, 1, 0 }, "1x1" },
        { { 2, 1, 1, 64, 64, 14, 14, 3, 3, 1, 1, 1 }, "3x3" },
        { { 2, 1, 1, 64, 64, 14, 14, 1, 7, 1, 1, 0 }, "large_filter" },
        { { 2, 1, 1, 64, 64, 14, 14, 5, 5, 1, 1, 0 }, "large_filter" },
        { { 2, 1, 1, 64, 64, 14, 14, 3, 1, 1, 1, 0 }, "other" },
        { { 2, 1, 1, 64, 64, 14, 14, 2, 2, 1, 1, 0 }, "other" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_problem p = make(&rows[i].s);

        for (p.direction = 0; p.direction < KS_N_DIRECTIONS; p.direction++) {
            const char *got = ks_problem_class_name(ks_problem_class(&p));

            if (strcmp(got, rows[i].want) != 0)
                fail_msg("row %zu: %s, want %s", i, got, rows[i].want);
        }
    }
    assert_string_equal(ks_problem_class_name(KS_N_PROBLEM_CLASSES), "?");
    for (uint32_t c = 0; c < KS_N_PROBLEM_CLASSES; c++) {
        assert_true(strlen(ks_problem_class_rule(c)) > 5);
        for (uint32_t k = 0; k < c; k++)
            assert_string_not_equal(ks_problem_class_name(c), ks_problem_class_name(k));
    }
}

/* n1 of 1x1, n3 of 3x3 and one stem, mixed. */
static void fill(struct ks_problem_set *set, int n1, int n3)
{
    struct ks_err err = { 0 };

    ks_problem_set_init(set);
    for (int64_t i = 1; i <= n1 + n3 + 1; i++) {
        struct shape s = { 2, i, 1, 64, 64, 14, 14, 1, 1, 1, 1, 0 };
        struct ks_problem p;

        if (i > n1 + n3)
            s.c = 3;
        else if (i % (n1 + n3) < n3)
            s.y = s.x = 3;
        p = make(&s);
        assert_int_equal(
            ks_problem_set_add_from(set, &p, i % 2 ? "odd" : "even", (uint64_t)i, &err), 0);
    }
}

static void count(const struct ks_problem_set *set, uint32_t n[3])
{
    n[0] = n[1] = n[2] = 0;
    for (uint32_t i = 0; i < set->n; i++) {
        const struct ks_problem p = ks_problem_table_get(&set->problems, i);
        int c = (int)ks_problem_class(&p);

        n[c == KS_CLASS_POINTWISE ? 0 : c == KS_CLASS_3X3 ? 1 : 2]++;
    }
}

/* 1x1, 3x3, stem; the comments have the exact shares. */
static void shares_are_proportional_and_never_empty(void **state)
{
    static const struct {
        int n1, n3;
        uint32_t n, want[3];
    } rows[] = {
        { 60, 39, 10, { 6, 3, 1 } },                                /* 6.0 3.9 0.1 */
        { 60, 39, 20, { 12, 7, 1 } },                               /* 12.0 7.8 0.2 */
        { 60, 39, 50, { 30, 19, 1 } },                              /* 30 19.5 0.5 */
        { 60, 39, 99, { 59, 39, 1 } },                              /* 59.4 38.61 0.99 */
        { 60, 39, 3, { 1, 1, 1 } },     { 60, 39, 4, { 2, 1, 1 } }, /* 2.4 1.56 0.04 */
        { 90, 9, 10, { 8, 1, 1 } },                                 /* 9.0 0.9 0.1 */
        { 60, 39, 100, { 60, 39, 1 } }, { 60, 39, 1000, { 60, 39, 1 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_problem_set set;
        struct ks_err err = { 0 };
        uint32_t n[3];

        fill(&set, rows[i].n1, rows[i].n3);
        assert_int_equal(ks_problem_set_stratify(&set, rows[i].n, 7, &err), 0);
        count(&set, n);
        if (memcmp(n, rows[i].want, sizeof n) != 0)
            fail_msg("row %zu: %u %u %u", i, n[0], n[1], n[2]);
        ks_problem_set_release(&set);
    }
}

static void too_small_a_sample_is_refused(void **state)
{
    struct ks_problem_set set;
    struct ks_err err = { 0 };

    (void)state;
    fill(&set, 60, 39);
    assert_int_equal(ks_problem_set_stratify(&set, 2, 1, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "sample of 2 cannot hold one of each of the 3 shape classes"));
    assert_int_equal(set.n, 100);
    ks_problem_set_release(&set);
}

static void a_stratified_sample_is_seeded_and_ordered(void **state)
{
    struct ks_problem_set a, b, c;
    struct ks_err err = { 0 };
    int n_same = 0, hits[101] = { 0 };

    (void)state;
    fill(&a, 60, 39);
    fill(&b, 60, 39);
    fill(&c, 60, 39);
    assert_int_equal(ks_problem_set_stratify(&a, 30, 1, &err), 0);
    assert_int_equal(ks_problem_set_stratify(&b, 30, 1, &err), 0);
    assert_int_equal(ks_problem_set_stratify(&c, 30, 2, &err), 0);
    expect_same(&a.problems, &b.problems, 30);
    for (uint32_t i = 0; i < 30; i++)
        n_same += ks_problem_set_find(&c, ks_problem_table_id(&a.problems, i)) >= 0;
    assert_true(n_same < 25);
    for (uint32_t i = 1; i < 30; i++)
        assert_true(ks_problem_table_get(&a.problems, i - 1).dim[KS_CONV_N] <
                    ks_problem_table_get(&a.problems, i).dim[KS_CONV_N]);
    ks_problem_set_release(&a);
    ks_problem_set_release(&b);
    ks_problem_set_release(&c);
    /* within its class every problem is chosen about as often: 400 x 18 / 60 = 120, sigma 9 */
    for (uint64_t seed = 0; seed < 400; seed++) {
        fill(&a, 60, 39);
        assert_int_equal(ks_problem_set_stratify(&a, 30, seed, &err), 0);
        for (uint32_t i = 0; i < a.n; i++)
            hits[ks_problem_table_get(&a.problems, i).dim[KS_CONV_N]]++;
        ks_problem_set_release(&a);
    }
    for (int i = 39; i <= 98; i++)
        assert_in_range(hits[i], 120 - 5 * 9, 120 + 5 * 9);
    assert_int_equal(hits[100], 400);
}

/* Origins move with their problems. */
static void expect_origins(const struct ks_problem_set *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        uint64_t line = 0;
        const char *file = ks_problem_set_origin(set, i, &line);
        int64_t n = ks_problem_table_get(&set->problems, i).dim[KS_CONV_N];

        assert_int_equal(line, n);
        assert_string_equal(file, n % 2 ? "odd" : "even");
        assert_int_equal(ks_problem_set_find(set, ks_problem_table_id(&set->problems, i)), i);
    }
}

static void origins_follow(void **state)
{
    struct ks_problem_set set, other;
    struct ks_problem p;
    struct ks_err err = { 0 };
    uint32_t n_removed = 77;
    uint64_t line = 1;

    (void)state;
    fill(&set, 60, 39);
    expect_origins(&set);
    assert_int_equal(ks_problem_set_sample(&set, 70, 3, &err), 0);
    expect_origins(&set);
    assert_int_equal(ks_problem_set_stratify(&set, 40, 3, &err), 0);
    expect_origins(&set);
    ks_problem_set_init(&other);
    for (uint32_t i = 0; i < 5; i++) {
        p = ks_problem_table_get(&set.problems, 7 * i);
        assert_int_equal(ks_problem_set_add(&other, &p, &err), 0);
    }
    p = make(&(struct shape){ 2, 999, 1, 64, 64, 14, 14, 1, 1, 1, 1, 0 });
    assert_int_equal(ks_problem_set_add(&other, &p, &err), 0);
    assert_string_equal(ks_problem_set_origin(&other, 5, &line), "");
    assert_int_equal(line, 0);
    assert_int_equal(ks_problem_set_exclude(&set, &other, &n_removed, &err), 0);
    assert_int_equal(n_removed, 5);
    assert_int_equal(set.n, 35);
    expect_origins(&set);
    for (uint32_t i = 0; i < other.n; i++)
        assert_int_equal(ks_problem_set_find(&set, ks_problem_table_id(&other.problems, i)), -1);
    ks_problem_set_release(&set);
    ks_problem_set_release(&other);
}

/* The first place counts; merged doubles do not move it. */
static void doubles_keep_their_first_place(void **state)
{
    struct ks_problem p = make(&(struct shape){ 2, 1, 1, 64, 64, 14, 14, 1, 1, 1, 1, 0 });
    struct ks_problem_set set;
    struct ks_err err = { 0 };
    uint64_t line = 0;

    (void)state;
    ks_problem_set_init(&set);
    assert_int_equal(ks_problem_set_find(&set, p.id), -1);
    assert_int_equal(ks_problem_set_add_from(&set, &p, "a", 3, &err), 0);
    assert_int_equal(ks_problem_set_add_from(&set, &p, "b", 4, &err), 0);
    assert_int_equal(set.n, 1);
    assert_string_equal(ks_problem_set_origin(&set, 0, &line), "a");
    assert_int_equal(line, 3);
    ks_problem_set_release(&set);
}

static int work(struct ks_problem_set *set, const struct ks_problem_set *other, struct ks_err *err)
{
    int rc = ks_problem_set_stratify(set, 60, 1, err);

    if (rc == 0)
        rc = ks_problem_set_sample(set, 50, 1, err);
    return rc < 0 ? rc : ks_problem_set_exclude(set, other, NULL, err);
}

static void memory_may_run_out_anywhere(void **state)
{
    unsigned n = 0;
    bool was_hit = true;

    (void)state;
    for (; was_hit; n++) {
        struct ks_problem_set set, other;
        struct ks_err err = { 0 };
        int rc;

        fill(&set, 60, 39);
        fill(&other, 5, 5);
        fault_arm(n);
        rc = work(&set, &other, &err);
        was_hit = fault_disarm();
        assert_int_equal(rc, was_hit ? KS_ENOMEM : 0);
        ks_problem_set_release(&set);
        ks_problem_set_release(&other);
    }
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes),
        cmocka_unit_test(shares_are_proportional_and_never_empty),
        cmocka_unit_test(too_small_a_sample_is_refused),
        cmocka_unit_test(a_stratified_sample_is_seeded_and_ordered),
        cmocka_unit_test(origins_follow),
        cmocka_unit_test(doubles_keep_their_first_place),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests_name("sample", tests, NULL, NULL);
}
