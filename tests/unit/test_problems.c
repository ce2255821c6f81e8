/* SPDX-License-Identifier: MIT */
/* test_problems.c - problem sets and the CSV importer */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "grid/problems.h"
#include "op/conv.h"
#include "same_problems.h"

#include <stdio.h>
#include <string.h>

#define DATA KS_SOURCE_DIR "/tests/data/grid/"
#define HEAD "operator,direction,dtype,layout,c_total,k_total,di,hi,wi,z,y,x\n"
#define ROW  "grouped_conv,forward,fp32,nhwgc,4,8,1,9,9,1,3,3\n"

static int read_text(struct ks_problem_set *set, const char *text, bool strict, struct ks_err *err)
{
    ks_problem_set_init(set);
    assert_string_equal(ks_importers[0]->name, "csv");
    return ks_importers[0]->read(set, text, strlen(text), "f.csv", strict, err);
}

static void put_row(const struct ks_problem_set *set, uint32_t i, struct ks_buf *b)
{
    const struct ks_problem p = ks_problem_table_get(&set->problems, i);

    ks_problem_csv_row(&p, b);
}

static void columns_by_name_in_any_order(void **state)
{
    struct ks_problem_set set;
    struct ks_problem p;
    struct ks_err err = { 0 };
    const int64_t *d;

    (void)state;
    ks_problem_set_init(&set);
    if (ks_problem_set_read(&set, DATA "good.csv", "auto", true, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(set.n_lines, 7);
    assert_int_equal(set.n_other, 4);
    assert_int_equal(set.n_commands, 3);
    assert_int_equal(set.n_taken, 3);
    assert_int_equal(set.n, 2);
    p = ks_problem_table_get(&set.problems, 0);
    d = p.dim;
    assert_string_equal(ks_problem_table_name(&set.problems, 0), "a \"quoted\", name");
    assert_int_equal(ks_problem_table_get(&set.problems, 0).count,
                     4); /* 3 + the default 1 of its double */
    assert_int_equal(d[KS_CONV_N], 2);
    assert_int_equal(d[KS_CONV_C_TOTAL], 4);
    assert_int_equal(d[KS_CONV_K_TOTAL], 8);
    assert_int_equal(d[KS_CONV_PAD_H_LO], 1);
    assert_int_equal(d[KS_CONV_PAD_H_HI], 1);
    assert_int_equal(d[KS_CONV_PAD_W_HI], 0);
    assert_int_equal(d[KS_CONV_STRIDE_H], 1);
    assert_string_equal(ks_problem_table_name(&set.problems, 1), "spaced");
    assert_int_equal(ks_problem_table_get(&set.problems, 1).direction, KS_BACKWARD_WEIGHT);
    assert_int_equal(ks_problem_table_get(&set.problems, 1).dtype, KS_BF16);
    assert_int_equal(ks_problem_table_get(&set.problems, 1).layout, KS_NGCHW);
    ks_problem_set_release(&set);
}

#define GEMM_HEAD "operator,direction,dtype,layout,batch,m,n,k,trans_a,trans_b\n"
#define GEMM_ROW  "gemm,forward,fp32,nhwgc,2,8,16,32,0,1\n"

static const struct {
    const char *text, *says;
} mistakes[] = {
    { HEAD "grouped_conv,forward,fp32,nhwgc,4,8,1,9,12x,1,3,3\n",
      "f.csv:2: column 9 (wi): '12x' is not a whole number" },
    { HEAD "grouped_conv,forward,fp32,nhwgc,4,8,1,9,,1,3,3\n",
      "f.csv:2: column 9 (wi): '' is empty" },
    { "operator,direction,dtype,layout,c_total,k_total,di,hi,z,y,x\n"
      "grouped_conv,forward,fp32,nhwgc,4,8,1,9,1,3,3\n",
      "f.csv:2: wi is missing" },
    { "operator,direction,dtype,layout,n,g,c_total\ngrouped_conv,forward,fp32,nhwgc,,1,4\n",
      "f.csv:2: column 5 (n): '' is empty: write a number, or leave the column out" },
    { "operator,direction,dtype,layout,ndim,stride_h,stride_d\n"
      "grouped_conv,forward,fp32,nhwgc,3,1,\n",
      "f.csv:2: column 7 (stride_d): '' is empty" },
    { "operator,direction,dtype,layout,ndim,stride_h,pad_h_lo\n"
      "grouped_conv,forward,fp32,nhwgc,2,,0\n",
      "f.csv:2: column 6 (stride_h): '' is empty" },
    { HEAD "grouped_conv,forward,fp32,nhwgc,4, 8,1,9,9,1,3,3\n",
      "f.csv:2: column 6 (k_total): '8' has blanks around it" },
    { HEAD "grouped_conv,forward,fp32,nhwgc,4,8\t,1,9,9,1,3,3\n", "column 6 (k_total): '8' has" },
    { HEAD "grouped_conv,forward,fp32,nhwgc,4,\" 8\",1,9,9,1,3,3\n",
      "column 6 (k_total): ' 8' is not a whole number" },
    { HEAD "grouped_conv,forward,fp32,nhwgc,4,1 8,1,9,9,1,3,3\n", "column 6 (k_total): '1 8'" },
    { HEAD "grouped_conv,forward,fp32,nhwgc,4,+8,1,9,9,1,3,3\n",
      "f.csv:2: column 6 (k_total): '+8' has a sign" },
    { HEAD ROW "grouped_conv,forward,fp32,nhwgc,4,8,1,9,\xff,1,3,3\n",
      "f.csv:3: column 41: byte 0xff is not UTF-8" },
    { HEAD "# \xc3\n" ROW, "f.csv:2: column 3: byte 0xc3 is not UTF-8" },
    { HEAD "grouped_conv,forward,fp32,nhwgc,4,8,1,9,9,1,3,3\x1b\n",
      "f.csv:2: column 48: control character 0x1b" },
    { HEAD "grouped_conv,forward,fp32,nhwgc,4,8\r,1,9,9,1,3,3\r\n",
      "f.csv:2: column 36: control character 0x0d" },

    { HEAD "grouped_conv,upward,fp32,nhwgc,4,8,1,9,9,1,3,3\n",
      "f.csv:2: column 2 (direction): 'upward' is not a known direction" },
    { HEAD "grouped_conv,forward,fp31,nhwgc,4,8,1,9,9,1,3,3\n", "column 3 (dtype): 'fp31'" },
    { HEAD "grouped_conv,forward,float32,nhwgc,4,8,1,9,9,1,3,3\n",
      "'float32' is not a known dtype; did you mean 'fp32'? Known are fp32, fp16, bf16" },
    { HEAD "grouped_conv,forward,fp32,nchw,4,8,1,9,9,1,3,3\n",
      "'nchw' is not a known layout; did you mean 'ngchw'?" },
    { HEAD "grouped_conv,forward,fp32,nhwgc,4,8,1,9,9,1,3\n",
      "f.csv:2: 11 fields, the header has 12 columns" },
    { HEAD "#\n\ngrouped_conv,forward,fp32,nhwgc,0,8,1,9,9,1,3,3\n", "f.csv:4: c_total = 0" },
    { HEAD "gruoped_conv,forward,fp32,nhwgc,4,8,1,9,9,1,3,3\n",
      "f.csv:2: column 1: unknown operator 'gruoped_conv'; known are grouped_conv" },
    { HEAD ROW "gemm,forward,fp32,nhwgc,4,8,1,9,9,1,3,3\n",
      "f.csv:3: column 1 (operator): 'gemm' is not grouped_conv, the operator below the header "
      "in "
      "line 1: another operator needs" },
    { HEAD ROW GEMM_HEAD ROW, "f.csv:3: column 5: unknown column 'batch'" },
    { HEAD "grouped_conv,forward,fp32,nhwgc,4,8,1,9,99999999999999999999,1,3,3\n",
      "'99999999999999999999' is out of range" },
    { HEAD "grouped_conv,forward,fp32,nhwgc,4,8,1,nan,9,1,3,3\n", "'nan' is not a whole number" },
    { HEAD "grouped_conv,forward,fp32,nhwgc,4,-8,1,9,9,1,3,3\n",
      "column 6 (k_total): '-8' has a sign" },
    { HEAD "grouped_conv,forward,fp32,nhwgc,4,8,1,9,9,1,10,3\n", "no output: y = 10" },
    { HEAD "grouped_conv,forward,fp32,nhwgc,2097152,8,1,1024,1024,1,3,3\n",
      "input: more than 2^40 elements" },
    { "operator,direction,dtype,layout,g,c_total,k_total,di,hi,wi,z,y,x\n"
      "grouped_conv,forward,fp32,nhwgc,4,8,6,1,9,9,1,3,3\n",
      "k_total = 6 is not divisible by g = 4" },
    { "operator,direction,dtype,layout,c_totl\n" ROW,
      "f.csv:1: column 5: unknown column 'c_totl', did you mean 'c_total'" },
    { "operator,direction,dtype,layout,hi,hi\n" ROW, "f.csv:1: column 6: duplicate 'hi'" },
    { "operator,direction,dtype,c_total\n" ROW, "f.csv:1: column 'layout' is missing" },
    { "direction,operator\n" ROW,
      "f.csv:1: column 1: the first column must be 'operator', not 'direction'" },
    { "# nothing\n", "f.csv: no header" },
    { "", "f.csv: no header" },
    { HEAD "\"grouped_conv,forward\n", "f.csv:2: closing quote is missing" },
    { HEAD "\"grouped_conv\"x,forward\n", "f.csv:2: text after a closing quote" },
    { "operator,direction,dtype,layout,hi,name\n"
      "grouped_conv,forward,fp32,nhwgc,9,"
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
      "aaaaaaaaaaaaaaa\n",
      "f.csv:2: column 6 (name): 'aaaa" },
    { "operator,direction,dtype,layout,count\ngrouped_conv,forward,fp32,nhwgc,0\n",
      "f.csv:2: count = 0" },
    { "operator,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,"
      "a,a,a,a\n",
      "f.csv:1: too many columns" },
};

static void errors_name_file_line_and_column(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct ks_problem_set set;
        struct ks_err err = { 0 };
        int rc = read_text(&set, mistakes[i].text, true, &err);

        if (rc != KS_EFORMAT || !strstr(err.text, mistakes[i].says))
            fail_msg("row %zu: %d '%s', want '%s'", i, rc, err.text, mistakes[i].says);
        ks_problem_set_release(&set);
    }
}

/* Would end a line in the middle, and hide the rest. */
static void a_nul_byte_is_an_error(void **state)
{
    static const char text[] = HEAD "grouped_conv,forward,fp32,nhwgc,4,8\0,1,9,9,1,3,3\n" ROW;
    struct ks_problem_set set;
    struct ks_err err = { 0 };

    (void)state;
    ks_problem_set_init(&set);
    assert_int_equal(ks_importers[0]->read(&set, text, sizeof text - 1, "f.csv", true, &err),
                     KS_EFORMAT);
    assert_string_equal(err.text, "f.csv:2: column 36: control character 0x00");
    ks_problem_set_release(&set);
    ks_problem_set_init(&set);
    assert_int_equal(ks_importers[0]->read(&set, text, sizeof text - 1, "f.csv", false, &err), 0);
    assert_int_equal(set.n_taken, 1);
    assert_int_equal(set.n_refused, 1);
    assert_int_equal(set.refusals[0].line, 2);
    ks_problem_set_release(&set);
}

/* Rows below a header that cannot be read are not read by the columns of the one above. */
static void a_bad_header_ends_the_list(void **state)
{
    static const char text[] =
        HEAD ROW "operator,direction,dtype,layout,k_total,c_total,\xff\n" ROW;
    struct ks_problem_set set;
    struct ks_err err = { 0 };

    (void)state;
    ks_problem_set_init(&set);
    assert_int_equal(ks_importers[0]->read(&set, text, sizeof text - 1, "f.csv", false, &err),
                     KS_EFORMAT);
    assert_string_equal(err.text, "f.csv:3: the header is not text");
    ks_problem_set_release(&set);
}

/* Axes that a problem does not have need no values. */
static void fields_of_absent_axes_may_be_empty(void **state)
{
    static const char text[] = "operator,direction,dtype,layout,ndim,c_total,k_total,di,hi,wi,z,y,"
                               "x,stride_d,stride_h,pad_d_lo\n"
                               "grouped_conv,forward,fp32,nhwgc,2,4,8,,9,9,,3,3,,2,\n";
    struct ks_problem_set set;
    struct ks_err err = { 0 };

    (void)state;
    if (read_text(&set, text, true, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(set.n, 1);
    assert_int_equal(ks_problem_table_get(&set.problems, 0).dim[KS_CONV_STRIDE_H], 2);
    ks_problem_set_release(&set);
}

static void bad_rows_are_refused_one_by_one(void **state)
{
    struct ks_problem_set set;
    struct ks_err err = { 0 };

    (void)state;
    assert_int_equal(read_text(&set,
                               HEAD ROW "grouped_conv,forward,fp32,nhwgc,4,8,1,9,9,1,99,3\n" ROW
                                        "grouped_conv,forward\n",
                               false, &err),
                     0);
    assert_int_equal(set.n_commands, 4);
    assert_int_equal(set.n_taken, 2);
    assert_int_equal(set.n_refused, 2);
    assert_int_equal(set.n, 1);
    assert_int_equal(ks_problem_table_get(&set.problems, 0).count, 2);
    assert_int_equal(set.refusals[0].line, 3);
    assert_int_equal(set.refusals[1].line, 5);
    ks_problem_set_release(&set);
}

static void what_is_printed_reads_back(void **state)
{
    struct ks_problem_set set, again;
    struct ks_err err = { 0 };
    struct ks_buf b;

    (void)state;
    ks_problem_set_init(&set);
    assert_int_equal(ks_problem_set_read(&set, DATA "good.csv", "csv", true, &err), 0);
    ks_buf_init(&b);
    ks_problem_csv_header(ks_problem_table_get(&set.problems, 0).op, &b);
    for (uint32_t i = 0; i < set.n; i++)
        put_row(&set, i, &b);
    assert_int_equal(read_text(&again, ks_buf_text(&b), true, &err), 0);
    assert_int_equal(again.n, set.n);
    expect_same(&again.problems, &set.problems, set.n);
    ks_buf_release(&b);
    ks_problem_set_release(&set);
    ks_problem_set_release(&again);
}

/* Each operator below a header of its own; the columns of one mean nothing to the other. */
static void several_operators_in_one_list(void **state)
{
    struct ks_problem_set set, again;
    struct ks_err err = { 0 };
    struct ks_buf b;

    (void)state;
    if (read_text(&set, HEAD ROW "# gemms\n" GEMM_HEAD GEMM_ROW GEMM_HEAD GEMM_ROW HEAD ROW, true,
                  &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(set.n_lines, 9);
    assert_int_equal(set.n_other, 5);
    assert_int_equal(set.n_taken, 4);
    assert_int_equal(set.n, 2);
    assert_string_equal(ks_operators[ks_problem_table_get(&set.problems, 1).op]->name, "gemm");
    assert_int_equal(ks_problem_table_get(&set.problems, 1)
                         .dim[ks_problem_dim(ks_problem_table_get(&set.problems, 1).op, "k")],
                     32);
    ks_buf_init(&b);
    for (uint32_t i = 0; i < set.n; i++) {
        ks_problem_csv_header(ks_problem_table_get(&set.problems, i).op, &b);
        put_row(&set, i, &b);
    }
    assert_int_equal(read_text(&again, ks_buf_text(&b), true, &err), 0);
    assert_int_equal(again.n, 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(ks_problem_table_id(&again.problems, i),
                         ks_problem_table_id(&set.problems, i));
    ks_buf_release(&b);
    ks_problem_set_release(&set);
    ks_problem_set_release(&again);
}

static struct ks_problem a_problem(int64_t n)
{
    struct ks_problem p = ks_problem_blank(0);
    struct ks_err err = { 0 };

    p.dim[KS_CONV_N] = n;
    p.dim[KS_CONV_C_TOTAL] = p.dim[KS_CONV_K_TOTAL] = 4;
    p.dim[KS_CONV_HI] = p.dim[KS_CONV_WI] = 5;
    p.dim[KS_CONV_Y] = p.dim[KS_CONV_X] = 1;
    if (ks_problem_finish(&p, &err) < 0)
        fail_msg("%s", err.text);
    return p;
}

static void collisions_and_overflow_are_refused(void **state)
{
    struct ks_problem_set set;
    struct ks_problem p = a_problem(1), q = a_problem(2);
    struct ks_err err = { 0 };

    (void)state;
    ks_problem_set_init(&set);
    assert_int_equal(ks_problem_set_add(&set, &p, &err), 0);
    q.id = p.id;
    assert_int_equal(ks_problem_set_add(&set, &q, &err), KS_EFORMAT);
    assert_non_null(strstr(err.text, "have the same id"));
    p.count = INT64_MAX;
    assert_int_equal(ks_problem_set_add(&set, &p, &err), KS_EINVAL);
    assert_int_equal(set.n, 1);
    assert_int_equal(ks_problem_table_get(&set.problems, 0).count, 1);
    ks_problem_set_release(&set);
}

static void many_are_found_again(void **state)
{
    enum { N = 3000 };
    struct ks_problem_set set;
    struct ks_err err = { 0 };

    (void)state;
    ks_problem_set_init(&set);
    for (int turn = 0; turn < 2; turn++)
        for (int64_t i = 0; i < N; i++) {
            struct ks_problem p = a_problem(i + 1);

            assert_int_equal(ks_problem_set_add(&set, &p, &err), 0);
        }
    assert_int_equal(set.n, N);
    assert_int_equal(set.n_problems_raw, 2 * N);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(ks_problem_table_get(&set.problems, i).dim[KS_CONV_N], i + 1);
        assert_int_equal(ks_problem_table_get(&set.problems, i).count, 2);
    }
    ks_problem_set_release(&set);
}

/* A set without any takes over the other's memory: of millions there is one copy. */
static void a_set_is_taken_over(void **state)
{
    static const char list[] = HEAD ROW "grouped_conv,forward,fp32,nhwgc,4,8,1,9,7,1,3,3\n";
    struct ks_problem_set to, from;
    struct ks_err err;
    uint64_t line = 0;
    (void)state;
    ks_problem_set_init(&to);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(read_text(&from, list, true, &err), 0);
        const struct ks_packed_problem *were = from.problems.rows;
        assert_int_equal(ks_problem_set_take(&to, &from, &err), 0);
        assert_int_equal(to.problems.rows == were, round == 0);
        assert_null(from.problems.rows);
        assert_int_equal(from.n + from.n_files, 0);
        assert_int_equal(to.n, 2);
        assert_int_equal(to.n_problems_raw, 2 + 2 * round);
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(ks_problem_set_find(&to, ks_problem_table_id(&to.problems, i)), i);
            assert_int_equal(ks_problem_table_get(&to.problems, i).count, 1 + round);
            assert_string_equal(ks_problem_set_origin(&to, i, &line), "f.csv");
            assert_int_equal(line, 2 + i);
        }
    }
    ks_problem_set_release(&to);
}

/* What a million problems need is this times a million; a struct ks_problem has 400 bytes. */
static void a_problem_takes_few_bytes(void **state)
{
    enum { N = 10000 };
    struct ks_problem_set set;
    struct ks_problem_table t;
    static uint32_t order[N];
    struct ks_err err;

    (void)state;
    ks_problem_set_init(&set);
    for (uint32_t i = 0; i < N; i++) {
        struct ks_problem p = a_problem(i + 1);

        snprintf(p.name, sizeof p.name, "resnet50.layer%u", i);
        assert_int_equal(ks_problem_set_add(&set, &p, &err), 0);
        order[i] = N - 1 - i;
    }
    t = set.problems;
    assert_true(ks_problem_table_size(&t) <= 2 * 160 * N); /* grows by doubling */
    assert_true(ks_problem_table_reorder(&t, order));
    set.problems = t;
    assert_true(ks_problem_table_size(&t) <= 100 * N);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(ks_problem_table_get(&t, i).dim[KS_CONV_N], N - i);
    ks_problem_set_release(&set);
}

/* Whatever fits a struct ks_problem comes back as it was, behind keep and reorder, too. */
static void a_table_gives_back_what_was_added(void **state)
{
    static const int64_t dims[] = { 0, 1, 127, 128, 16383, 16384, INT32_MAX, INT64_MAX, INT64_MIN };
    enum { N = sizeof dims / sizeof dims[0] };
    const bool is_kept[N] = { [2] = true, [4] = true, [8] = true };
    const uint32_t order[] = { 2, 0, 1 }, want[] = { 8, 2, 4 };
    struct ks_problem_table t = { 0 };
    struct ks_problem all[N], p;

    (void)state;
    for (uint32_t i = 0; i < N; i++) {
        all[i] = a_problem(i + 1);
        all[i].dim[KS_CONV_WI] = all[i].dim[KS_CONV_NDIM] = dims[i];
        all[i].count = INT64_MAX - i;
        memset(all[i].name, 'a', i * (sizeof all[i].name - 1) / (N - 1));
        assert_int_equal(ks_problem_table_add(&t, &all[i], NULL), 0);
    }
    for (uint32_t i = 0; i < N; i++) {
        p = ks_problem_table_get(&t, i);
        assert_memory_equal(&p, &all[i], sizeof p);
        assert_string_equal(ks_problem_table_name(&t, i), all[i].name);
        assert_true(ks_problem_table_is(&t, i, &p));
        p.dim[KS_CONV_WI] ^= 1;
        assert_false(ks_problem_table_is(&t, i, &p));
    }
    assert_int_equal(ks_problem_table_keep(&t, is_kept, NULL), 0);
    assert_true(ks_problem_table_reorder(&t, order));
    assert_int_equal(t.n, 3);
    for (uint32_t i = 0; i < 3; i++) {
        p = ks_problem_table_get(&t, i);
        assert_memory_equal(&p, &all[want[i]], sizeof p);
    }
    ks_problem_table_release(&t);
}

static void sample(struct ks_problem_set *set, uint32_t n, uint64_t seed)
{
    struct ks_err err = { 0 };

    ks_problem_set_init(set);
    for (int64_t i = 1; i <= 100; i++) {
        struct ks_problem p = a_problem(i);

        assert_int_equal(ks_problem_set_add(set, &p, &err), 0);
    }
    assert_int_equal(ks_problem_set_sample(set, n, seed, &err), 0);
}

static void a_sample_is_seeded_and_ordered(void **state)
{
    struct ks_problem_set a, b, c, all;
    int n_same = 0, hits[101] = { 0 };
    struct ks_problem p;
    struct ks_err err = { 0 };

    (void)state;
    sample(&a, 30, 1);
    sample(&b, 30, 1);
    sample(&c, 30, 2);
    sample(&all, 100, 3);
    assert_int_equal(a.n, 30);
    assert_int_equal(all.n, 100);
    expect_same(&a.problems, &b.problems, 30);
    for (uint32_t i = 0; i < 30; i++)
        n_same += ks_problem_table_id(&a.problems, i) == ks_problem_table_id(&c.problems, i);
    assert_true(n_same < 30);
    for (uint32_t i = 1; i < 30; i++)
        assert_true(ks_problem_table_get(&a.problems, i - 1).dim[KS_CONV_N] <
                    ks_problem_table_get(&a.problems, i).dim[KS_CONV_N]);
    /* the set still merges what it kept */
    p = ks_problem_table_get(&a.problems, 29);
    assert_int_equal(ks_problem_set_add(&a, &p, &err), 0);
    assert_int_equal(a.n, 30);
    ks_problem_set_release(&a);
    ks_problem_set_release(&b);
    ks_problem_set_release(&c);
    ks_problem_set_release(&all);
    /* every problem is chosen about as often: 400 x 30 / 100 = 120, sigma 9 */
    for (uint64_t seed = 0; seed < 400; seed++) {
        sample(&a, 30, seed);
        for (uint32_t i = 0; i < a.n; i++)
            hits[ks_problem_table_get(&a.problems, i).dim[KS_CONV_N]]++;
        ks_problem_set_release(&a);
    }
    for (int i = 1; i <= 100; i++)
        assert_in_range(hits[i], 120 - 5 * 9, 120 + 5 * 9);
}

static void files_that_cannot_be_read(void **state)
{
    static const struct {
        const char *path, *from, *says;
        int rc;
    } rows[] = {
        { DATA "absent.csv", "auto", "absent.csv", KS_ENOENT },
        { DATA, "auto", "is a directory", KS_EINVAL },
        { DATA "tiny.k", "auto",
          "looks like no known problem list (csv, ck, generator, ck-config, miopen, ckprofiler, "
          "fdb, pytorch, trace)",
          KS_EFORMAT },
        { DATA "good.csv", "cvs", "no importer 'cvs', did you mean 'csv'; available: auto, csv",
          KS_EINVAL },
        { DATA "good.csv", "tensorflow", "no importer 'tensorflow'", KS_EINVAL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_problem_set set;
        struct ks_err err = { 0 };
        int rc;

        ks_problem_set_init(&set);
        rc = ks_problem_set_read(&set, rows[i].path, rows[i].from, false, &err);
        if (rc != rows[i].rc || !strstr(err.text, rows[i].says))
            fail_msg("%s: %d '%s'", rows[i].path, rc, err.text);
        ks_problem_set_release(&set);
    }
}

static void files_are_told_apart(void **state)
{
    static const struct {
        const char *text;
        const char *want; /* NULL: none */
    } rows[] = {
        { "operator,direction\n", "csv" },
        { "\xef\xbb\xbf# x\r\n\r\n  \"operator\",direction\n", "csv" },
        { "# operator\nMIOpenDriver conv\n", "miopen" },
        { "x MIOpenDriver", "miopen" },
        { "", NULL },
        { "#", NULL },
        { "n,c,h\n1,2,3\n", NULL },
        { "operators,direction\n", NULL },
        { "# x\nN,C,K,G,Hi,Wi,Y,X,direction\n", "ck" },
        { "\xef\xbb\xbf\"X\",\"Y\",\"Wi\", Hi ,G,K,C,N\r\n", "ck" },
        { "N,C,K,G,Hi,Wi,Y\n", NULL },
        { " \n{ \"operator\": \"gemm\", \"sets\": [] }", "generator" },
        { "{ \"name\": \"a job\" }", NULL },
        { "[ \"sets\" ]", NULL },
        { "$ ./bin/ckProfiler conv_fwd 1\n", "ckprofiler" },
        { "1-2-3-3x3-4-5-6-7-0x0-1x1-1x1-0-NCHW-FP32-F=x\n", "fdb" },
        { "1-2-3-3x3-4-5-6-7-0x0-1x1-1x1-0-NCHW-FP32-F\n", NULL },
        { "1-2-3-3x3-4-5-6=x\n", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *got = NULL;

        for (size_t k = 0; !got && ks_importers[k]; k++)
            if (ks_importers[k]->sniff(rows[i].text, strlen(rows[i].text)))
                got = ks_importers[k]->name;
        if ((got == NULL) != (rows[i].want == NULL) || (got && strcmp(got, rows[i].want) != 0))
            fail_msg("'%s': %s", rows[i].text, got ? got : "none");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_by_name_in_any_order),
        cmocka_unit_test(errors_name_file_line_and_column),
        cmocka_unit_test(a_nul_byte_is_an_error),
        cmocka_unit_test(a_bad_header_ends_the_list),
        cmocka_unit_test(fields_of_absent_axes_may_be_empty),
        cmocka_unit_test(bad_rows_are_refused_one_by_one),
        cmocka_unit_test(what_is_printed_reads_back),
        cmocka_unit_test(several_operators_in_one_list),
        cmocka_unit_test(collisions_and_overflow_are_refused),
        cmocka_unit_test(many_are_found_again),
        cmocka_unit_test(a_set_is_taken_over),
        cmocka_unit_test(a_problem_takes_few_bytes),
        cmocka_unit_test(a_table_gives_back_what_was_added),
        cmocka_unit_test(a_sample_is_seeded_and_ordered),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(files_are_told_apart),
    };

    return cmocka_run_group_tests_name("problems", tests, NULL, NULL);
}
