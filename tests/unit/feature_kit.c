/* SPDX-License-Identifier: MIT */
/* feature_kit.c - a small table of convolutions and CPU instances for tests of features */
#include "feature_kit.h"

#include "base/hash.h"
#include "op/conv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))

struct ks_problem fkit_conv(uint32_t direction, int64_t n, int64_t g, int64_t c, int64_t k,
                            int64_t size, int64_t filter, int64_t stride)
{
    struct ks_problem p = ks_problem_blank(0);
    struct ks_err err;

    p.direction = direction;
    p.dim[KS_CONV_N] = n;
    p.dim[KS_CONV_G] = g;
    p.dim[KS_CONV_C_TOTAL] = c;
    p.dim[KS_CONV_K_TOTAL] = k;
    p.dim[KS_CONV_DI] = p.dim[KS_CONV_Z] = 1;
    p.dim[KS_CONV_HI] = p.dim[KS_CONV_WI] = size;
    p.dim[KS_CONV_Y] = p.dim[KS_CONV_X] = filter;
    p.dim[KS_CONV_STRIDE_H] = p.dim[KS_CONV_STRIDE_W] = stride;
    for (int i = 0; i < 2; i++) {
        p.dim[KS_CONV_PAD_H_LO + i] = filter / 2;
        p.dim[KS_CONV_PAD_H_HI + i] = filter / 2;
    }
    if (ks_problem_finish(&p, &err) < 0)
        fail_msg("%s", err.text);
    return p;
}

struct ks_problem fkit_problem(size_t i)
{
    uint64_t state = i;
    const int64_t g = i % 5 == 0 ? (int64_t)4 << ks_rng_below(&state, 6) : 1;
    const int64_t c = i % 5 == 0 ? g * 4 : (int64_t)(3 + ks_rng_below(&state, 250));
    const int64_t k = i % 5 == 0 ? c : (int64_t)(8 + ks_rng_below(&state, 500));

    return fkit_conv(KS_FORWARD, (int64_t)1 << ks_rng_below(&state, 4), g, c, k,
                     (int64_t)(7 + ks_rng_below(&state, 60)),
                     (int64_t)(1 + 2 * ks_rng_below(&state, 3)),
                     (int64_t)(1 + ks_rng_below(&state, 2)));
}

/* ---- the frame ---- */

static const uint32_t code_instance[FKIT_ROWS] = { 0, 1, 2, 3, 0, 1, 2, 3 };
static const uint32_t code_problem[FKIT_ROWS] = { 0, 0, 0, 0, 1, 1, 1, 1 };
static const uint32_t code_family[FKIT_ROWS] = { 0 };
static const int64_t ids[] = { 11, 22, 33, 44 };
static const char *const names[] = { "indirect_6x4", "merged_4x2", "dot_4x6", "pixels_12x2" };
static const char *const families[] = { "host_forward" };
static const char *const pipelines[] = { "indirect", "merged", "dot", "pixels" };
static const int64_t tile_m[] = { 6, 4, 4, 12 }, tile_n[] = { 4, 2, 6, 2 };
static const int64_t vector_bytes[] = { 64, 64, 32, 64 }, merged[] = { 1, 4, 1, 1 };
static const int64_t code_bytes[] = { -1, 500, 600, 700 }, same[] = { 7, 7, 7, 7 };
static const uint8_t no_code[] = { 1, 0, 0, 0 };

static struct ks_df_column texts(const char *name, const uint32_t *code, const char *const *list,
                                 size_t n)
{
    return (struct ks_df_column){
        .name = name, .type = KS_DF_TEXT, .code = code, .n_values = n, .values.text = list
    };
}

static struct ks_df_column ints(const char *name, const int64_t *list, const uint8_t *missing)
{
    return (struct ks_df_column){ .name = name,
                                  .type = KS_DF_I64,
                                  .code = code_instance,
                                  .n_values = FKIT_INSTANCES,
                                  .values.i64 = list,
                                  .missing = missing };
}

static void put_problem(struct fkit *t, size_t i, struct ks_problem p)
{
    struct ks_buf b;

    ks_buf_init(&b);
    ks_problem_canonical(&p, &b);
    t->problems[i] = p;
    t->canonical[i] = strdup(ks_buf_text(&b));
    ks_buf_release(&b);
}

void fkit_make(struct fkit *t)
{
    const struct ks_df_column columns[] = {
        ints("instance_id", ids, NULL),
        texts("instance_name", code_instance, names, N(names)),
        texts("family", code_family, families, N(families)),
        texts("/problems/canonical", code_problem, (const char *const *)t->canonical, 2),
        texts("trait_pipeline", code_instance, pipelines, N(pipelines)),
        ints("trait_tile_m", tile_m, NULL),
        ints("trait_tile_n", tile_n, NULL),
        ints("trait_vector_bytes", vector_bytes, NULL),
        ints("trait_merged_groups", merged, NULL),
        ints("code_bytes", code_bytes, no_code),
        ints("trait_unroll_k", same, NULL),
    };

    *t = (struct fkit){ 0 };
    put_problem(t, 0, fkit_conv(KS_FORWARD, 2, 1, 64, 128, 56, 3, 2));
    put_problem(t, 1, fkit_conv(KS_FORWARD, 1, 32, 128, 128, 14, 3, 1));
    memcpy(t->columns, columns, sizeof(columns));
    t->f = (struct ks_df){ .columns = t->columns, .n_columns = N(columns), .n_rows = FKIT_ROWS };
    assert_int_equal(ks_traits_add(&t->traits, &t->f, NULL), 0);
}

void fkit_release(struct fkit *t)
{
    ks_traits_release(&t->traits);
    free(t->canonical[0]);
    free(t->canonical[1]);
}

void fkit_spec(struct fkit *t, size_t n_problems, struct ks_feature_spec *out)
{
    struct ks_problem *problems = calloc(n_problems, sizeof(*problems));
    struct ks_err err;

    for (size_t i = 0; i < n_problems; i++)
        problems[i] = fkit_problem(i);
    if (ks_feature_spec_create(problems, n_problems, &t->traits, NULL, out, &err) < 0)
        fail_msg("%s", err.text);
    free(problems);
}
