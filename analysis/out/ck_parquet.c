/* SPDX-License-Identifier: MIT */
/* ck_parquet.c - Composable Kernel's Parquet columns, with what kernel names say of tiles */
#include "analysis/out/ck_parquet.h"
#include "analysis/data/words.h"
#include "analysis/out/writer.h"
#include "record/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns in their order: the five of a result, the dimensions, then these. */
enum { KERNEL, LATENCY, TFLOPS, NON_ZERO, PROBLEM, DIMS };
enum {
    OP_TYPE = DIMS + KS_CK_DIMS,
    VARIANT,
    DTYPE,
    NDIM,
    TILE_M,
    TILE_N,
    TILE_K,
    PIPELINE,
    WAVE_MODE,
    HAS_DSB,
    HAS_SI,
    ARCH,
    HW,
    N_HW = 11,
    IS_VALID = HW + N_HW,
    RUN_ID,
    N_COLUMNS
};

static const char *const names[N_COLUMNS] = {
    [KERNEL] = "kernel_name",
    [LATENCY] = "latency_ms",
    [TFLOPS] = "tflops",
    [NON_ZERO] = "non_zero",
    [PROBLEM] = "problem_idx",
    [OP_TYPE] = "op_type",
    [VARIANT] = "variant",
    [DTYPE] = "dtype",
    [NDIM] = "ndim_spatial",
    [TILE_M] = "block_size",
    [TILE_N] = "gemm_m_per_block",
    [TILE_K] = "gemm_n_per_block",
    [PIPELINE] = "pipeline",
    [WAVE_MODE] = "wave_mode",
    [HAS_DSB] = "has_dsb",
    [HAS_SI] = "has_si",
    [ARCH] = "arch",
    [HW] = "hw_num_cus",
    [HW + 1] = "hw_simds_per_cu",
    [HW + 2] = "hw_total_simds",
    [HW + 3] = "hw_shader_engines",
    [HW + 4] = "hw_max_clock_mhz",
    [HW + 5] = "hw_max_waves_per_cu",
    [HW + 6] = "hw_wavefront_size",
    [HW + 7] = "hw_lds_capacity",
    [HW + 8] = "hw_l1_cache_kb",
    [HW + 9] = "hw_l2_cache_kb",
    [HW + 10] = "hw_l3_cache_kb",
    [IS_VALID] = "is_valid",
    [RUN_ID] = "run_id",
};

static uint8_t type_of(size_t i)
{
    static const int texts[] = { KERNEL, OP_TYPE, VARIANT, DTYPE, PIPELINE, WAVE_MODE, ARCH };

    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
        if (texts[k] == (int)i)
            return KS_DF_TEXT;
    return i == LATENCY || i == TFLOPS ? KS_DF_F64 : KS_DF_I64;
}

/* One column of a batch. */
struct column {
    struct ks_words words;
    union {
        double *f64;
        int64_t *i64;
    } values; /* [cap] */
    uint8_t *missing;
    uint32_t *code;
};

struct ks_ck_parquet {
    struct column columns[N_COLUMNS];
    struct ks_df_column shown[N_COLUMNS];
    struct ks_df frame;
    size_t cap;
    void *state; /* of ks_format_parquet */
    struct ks_sink *to;
};

int ks_ck_parquet_create(struct ks_ck_parquet **p_out, struct ks_sink *to, struct ks_err *err)
{
    struct ks_ck_parquet *p = calloc(1, sizeof(*p));
    int rc;

    if (p)
        p->state = calloc(1, ks_format_parquet.state_size);
    if (!p || !p->state) {
        free(p);
        return ks_fail(err, KS_ENOMEM, "out of memory");
    }
    p->to = to;
    for (size_t i = 0; i < N_COLUMNS; i++)
        p->shown[i] =
            (struct ks_df_column){ .name = i >= DIMS && i < OP_TYPE ? ks_ck_dim_name(i - DIMS)
                                                                    : names[i],
                                   .unit = i == LATENCY  ? "ms"
                                           : i == TFLOPS ? "Tflop/s"
                                                         : "",
                                   .role = i == LATENCY || i == TFLOPS ? KS_CR_LABEL
                                           : i == NON_ZERO             ? KS_CR_NEVER
                                                                       : KS_CR_FEATURE,
                                   .type = type_of(i) };
    p->frame = (struct ks_df){ .columns = p->shown, .n_columns = N_COLUMNS };
    rc = ks_format_parquet.begin(p->state, &p->frame, N_COLUMNS, to, err);
    if (rc < 0) {
        ks_ck_parquet_destroy(p);
        return rc;
    }
    *p_out = p;
    return 0;
}

void ks_ck_parquet_destroy(struct ks_ck_parquet *p)
{
    if (!p)
        return;
    ks_format_parquet.release(p->state);
    free(p->state);
    for (size_t i = 0; i < N_COLUMNS; i++) {
        ks_words_release(&p->columns[i].words);
        free(p->columns[i].values.i64);
        free(p->columns[i].missing);
        free(p->columns[i].code);
    }
    free(p);
}

static int reserve(struct ks_ck_parquet *p, size_t n, struct ks_err *err)
{
    if (n <= p->cap)
        return 0;
    for (size_t i = 0; i < N_COLUMNS; i++) {
        struct column *c = &p->columns[i];

        free(c->values.i64);
        free(c->missing);
        free(c->code);
        c->values.i64 = malloc(n * sizeof(*c->values.i64));
        c->missing = malloc(n);
        c->code = malloc(n * sizeof(*c->code));
        if (!c->values.i64 || !c->missing || !c->code) {
            p->cap = 0;
            return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", n);
        }
    }
    p->cap = n;
    return 0;
}

/* ---- values ---- */

static void put_real(struct ks_ck_parquet *p, size_t i, double v)
{
    p->columns[i].values.f64[p->frame.n_rows] = v;
    p->columns[i].missing[p->frame.n_rows] = 0;
}

static void put_whole(struct ks_ck_parquet *p, size_t i, int64_t v, bool has)
{
    p->columns[i].values.i64[p->frame.n_rows] = has ? v : 0;
    p->columns[i].missing[p->frame.n_rows] = !has;
}

static int put_text(struct ks_ck_parquet *p, size_t i, const char *text, size_t n,
                    struct ks_err *err)
{
    struct column *c = &p->columns[i];

    c->code[p->frame.n_rows] = KS_DF_NONE;
    return n ? ks_words_add(&c->words, text, n, &c->code[p->frame.n_rows], err) : 0;
}

/* What follows "_2d_" or "_3d_" in a kernel's name: 128x64x64_compv3_intrawave_dsb_si. */
struct parts {
    long long tile[3];
    const char *pipeline, *wave_mode;
    size_t n_pipeline, n_wave_mode;
    bool has_tile, has_dsb, has_si;
};

static const char *behind_ndim(const char *name)
{
    for (const char *at = strchr(name, '_'); at; at = strchr(at + 1, '_'))
        if (at[1] >= '1' && at[1] <= '3' && at[2] == 'd' && at[3] == '_')
            return at + 4;
    return NULL;
}

static void split_name(const char *name, struct parts *out)
{
    const char *at = behind_ndim(name), *wave;
    int used = 0;

    memset(out, 0, sizeof(*out));
    out->has_tile = at &&
                    sscanf(at, "%9lldx%9lldx%9lld_%n", &out->tile[0], &out->tile[1], &out->tile[2],
                           &used) == 3 &&
                    used > 0;
    if (!out->has_tile)
        return;
    out->pipeline = at + used;
    wave = strstr(out->pipeline, "_intra");
    wave = wave ? wave : strstr(out->pipeline, "_inter");
    out->n_pipeline = wave ? (size_t)(wave - out->pipeline) : strlen(out->pipeline);
    if (!wave)
        return;
    out->wave_mode = wave + 1;
    out->n_wave_mode = strcspn(out->wave_mode, "_");
    out->has_dsb = strstr(wave, "_dsb") != NULL;
    out->has_si = strstr(wave, "_si") != NULL;
}

static int put_name(struct ks_ck_parquet *p, const struct ks_ck_values *v, struct ks_err *err)
{
    struct parts parts;
    int rc;

    split_name(v->kernel, &parts);
    for (size_t k = 0; k < 3; k++)
        put_whole(p, TILE_M + k, parts.tile[k], parts.has_tile);
    put_whole(p, HAS_DSB, parts.has_dsb, parts.has_tile);
    put_whole(p, HAS_SI, parts.has_si, parts.has_tile);
    rc = put_text(p, KERNEL, v->kernel, strlen(v->kernel), err);
    if (rc == 0)
        rc = put_text(p, PIPELINE, parts.pipeline, parts.n_pipeline, err);
    if (rc == 0)
        rc = put_text(p, WAVE_MODE, parts.wave_mode, parts.n_wave_mode, err);
    return rc;
}

/* "backward_data" to "bwd_data", as its kernels are called. */
static const char *variant_of(const char *direction)
{
    if (strcmp(direction, "backward_data") == 0)
        return "bwd_data";
    return strcmp(direction, "backward_weight") == 0 ? "bwd_weight" : direction;
}

static int put_row(void *ctx, const struct ks_ck_values *v, struct ks_err *err)
{
    struct ks_ck_parquet *p = ctx;
    const char *variant = variant_of(v->direction);
    int rc = put_name(p, v, err);

    if (rc == 0)
        rc = put_text(p, OP_TYPE, "grouped_conv", strlen("grouped_conv"), err);
    if (rc == 0)
        rc = put_text(p, VARIANT, variant, strlen(variant), err);
    if (rc == 0)
        rc = put_text(p, DTYPE, v->dtype, strlen(v->dtype), err);
    if (rc == 0)
        rc = put_text(p, ARCH, v->arch, strlen(v->arch), err);
    if (rc < 0)
        return rc;
    put_real(p, LATENCY, v->latency_ms);
    put_real(p, TFLOPS, v->tflops);
    put_whole(p, NON_ZERO, v->non_zero, true);
    put_whole(p, PROBLEM, v->problem_idx, true);
    put_whole(p, NDIM, v->n_spatial, true);
    for (size_t i = 0; i < KS_CK_DIMS; i++)
        put_whole(p, DIMS + i, v->dim[i], true);
    for (size_t i = 0; i < N_HW; i++)
        put_whole(p, HW + i, v->n_units, i == 0 && v->n_units > 0);
    put_whole(p, IS_VALID, 1, true);
    put_whole(p, RUN_ID, 0, true);
    p->frame.n_rows++;
    return 0;
}

static void show(struct ks_ck_parquet *p)
{
    for (size_t i = 0; i < N_COLUMNS; i++) {
        struct ks_df_column *to = &p->shown[i];
        struct column *c = &p->columns[i];
        bool is_text = to->type == KS_DF_TEXT;

        to->code = is_text ? c->code : NULL;
        to->missing = is_text ? NULL : c->missing;
        to->n_values = is_text ? c->words.n : p->frame.n_rows;
        if (is_text)
            to->values.text = (const char *const *)c->words.text;
        else
            to->values.i64 = c->values.i64;
    }
}

int ks_ck_parquet_put(struct ks_ck_parquet *p, struct ks_ck_csv *c, const struct ks_df *f,
                      const uint32_t *rows, size_t n, struct ks_err *err)
{
    int rc = reserve(p, n, err);

    p->frame.first_row += p->frame.n_rows;
    p->frame.n_rows = 0;
    if (rc == 0)
        rc = ks_ck_each(c, f, rows, n, put_row, p, err);
    if (rc < 0 || p->frame.n_rows == 0)
        return rc;
    show(p);
    return ks_format_parquet.put(p->state, &p->frame, N_COLUMNS, p->to, err);
}

int ks_ck_parquet_end(struct ks_ck_parquet *p, struct ks_err *err)
{
    return ks_format_parquet.end(p->state, p->to, err);
}
