/* SPDX-License-Identifier: MIT */
/* ck_csv.c - Composable Kernel's CSV of convolutions, from usable rows */
#include "analysis/out/ck_csv.h"
#include "analysis/out/number.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* Column of the format, dimension of the problem. */
static const struct {
    const char *column, *dim, *must_equal; /* must_equal: the other side of a padding */
} columns[] = {
    { "N", "n", NULL },
    { "C", "c_total", NULL },
    { "K", "k_total", NULL },
    { "G", "g", NULL },
    { "Di", "di", NULL },
    { "Hi", "hi", NULL },
    { "Wi", "wi", NULL },
    { "Z", "z", NULL },
    { "Y", "y", NULL },
    { "X", "x", NULL },
    { "stride_d", "stride_d", NULL },
    { "stride_h", "stride_h", NULL },
    { "stride_w", "stride_w", NULL },
    { "pad_d", "pad_d_lo", "pad_d_hi" },
    { "pad_h", "pad_h_lo", "pad_h_hi" },
    { "pad_w", "pad_w_lo", "pad_w_hi" },
    { "dilation_d", "dilation_d", NULL },
    { "dilation_h", "dilation_h", NULL },
    { "dilation_w", "dilation_w", NULL },
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

_Static_assert(N_COLUMNS == KS_CK_DIMS, "struct ks_ck_values holds them");

enum other {
    PROBLEM_ROW,
    PROBLEM_NAME,
    CANONICAL,
    OPERATOR,
    DIRECTION,
    DTYPE,
    LAYOUT,
    INSTANCE_NAME,
    FLOPS,
    N_ELEMENTS,
    N_ZERO,
    MEDIAN,
    CHECK,
    N_SPATIAL,
    ARCH,
    N_UNITS,
    N_OTHERS
};
static const char *const others[N_OTHERS] = {
    "problem",
    "problem_name",
    "/problems/canonical",
    "operator",
    "direction",
    "dtype",
    "layout",
    "instance_name",
    "flops",
    "n_elements",
    "n_zero",
    "time_median_ns",
    "tolerance_check",
    "n_spatial_dims",
    "arch",
    "/devices/n_compute_units",
};

/* The columns of a batch; a dimension that the file lacks is NULL. */
struct batch {
    const struct ks_df_column *other[N_OTHERS], *dim[N_COLUMNS], *equal[N_COLUMNS];
};

static bool has_dim(const struct ks_store_file *f, const char *name)
{
    for (uint32_t i = 0; i < ks_store_info(f)->n_dims; i++)
        if (strcmp(ks_store_dim_name(f, i), name) == 0)
            return true;
    return false;
}

int ks_ck_csv_need(const struct ks_store_file *f, struct ks_sources *sources, struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < N_OTHERS; i++)
        rc = ks_sources_need(sources, f, others[i], NULL, err);
    for (size_t i = 0; rc == 0 && i < N_COLUMNS; i++) {
        if (has_dim(f, columns[i].dim))
            rc = ks_sources_need(sources, f, columns[i].dim, NULL, err);
        if (rc == 0 && columns[i].must_equal && has_dim(f, columns[i].must_equal))
            rc = ks_sources_need(sources, f, columns[i].must_equal, NULL, err);
    }
    return rc;
}

void ks_ck_csv_header(struct ks_sink *to)
{
    ks_buf_printf(&to->text, "kernel,problem_idx");
    for (size_t i = 0; i < N_COLUMNS; i++)
        ks_buf_printf(&to->text, ",%s", columns[i].column);
    ks_buf_printf(&to->text, ",latency_ms,tflops,non_zero\n");
}

/* ---- cells ---- */

static int bind(const struct ks_df *f, struct batch *b, struct ks_err *err)
{
    for (size_t i = 0; i < N_OTHERS; i++) {
        b->other[i] = ks_df_find(f, others[i]);
        if (!b->other[i])
            return ks_fail(err, KS_EINVAL, "the frame has no column '%s'", others[i]);
    }
    for (size_t i = 0; i < N_COLUMNS; i++) {
        b->dim[i] = ks_df_find(f, columns[i].dim);
        b->equal[i] = columns[i].must_equal ? ks_df_find(f, columns[i].must_equal) : b->dim[i];
    }
    return 0;
}

static int64_t dim_of(const struct ks_df_column *c, uint32_t row)
{
    return ks_df_i64(c, row, 0);
}

static int64_t number(const struct batch *b, enum other which, uint32_t row)
{
    return ks_df_i64(b->other[which], row, 0);
}

static const char *text(const struct batch *b, enum other which, uint32_t row)
{
    const char *t = ks_df_text(b->other[which], row);

    return t ? t : "";
}

static const char *name_of(const struct batch *b, uint32_t row)
{
    const char *name = text(b, PROBLEM_NAME, row);

    return name[0] ? name : text(b, CANONICAL, row);
}

/* ---- problems ---- */

static bool has_dims(const struct batch *b, uint32_t row)
{
    bool has_all = true;

    for (size_t i = 0; i < N_COLUMNS; i++)
        has_all = has_all && b->dim[i] && b->equal[i] && ks_df_has(b->dim[i], row) &&
                  ks_df_has(b->equal[i], row);
    return has_all;
}

static int check_kind(const struct ks_ck_csv *c, const struct batch *b, uint32_t row,
                      struct ks_err *err)
{
    const char *direction = text(b, DIRECTION, row), *dtype = text(b, DTYPE, row),
               *layout = text(b, LAYOUT, row);

    if (!has_dims(b, row) || strcmp(text(b, OPERATOR, row), "grouped_conv") != 0)
        return ks_fail(err, KS_EUNSUPPORTED, "problem '%s': this format is for convolutions only",
                       name_of(b, row));
    if (!c->direction || (strcmp(direction, c->direction) == 0 && strcmp(dtype, c->dtype) == 0 &&
                          strcmp(layout, c->layout) == 0))
        return 0;
    return ks_fail(err, KS_EUNSUPPORTED,
                   "problem '%s' is %s %s %s, earlier ones %s %s %s: the format has no columns for "
                   "that; use separate files",
                   name_of(b, row), direction, dtype, layout, c->direction, c->dtype, c->layout);
}

static int check_problem(struct ks_ck_csv *c, const struct batch *b, uint32_t row,
                         struct ks_err *err)
{
    int rc = check_kind(c, b, row, err);

    for (size_t i = 0; rc == 0 && i < N_COLUMNS; i++) {
        int64_t lo = dim_of(b->dim[i], row), hi = dim_of(b->equal[i], row);

        if (lo != hi)
            rc = ks_fail(err, KS_EUNSUPPORTED,
                         "problem '%s' is padded %" PRId64 " before and %" PRId64
                         " after (%s): the format has one column for both",
                         name_of(b, row), lo, hi, columns[i].column);
    }
    if (rc < 0)
        return rc;
    c->direction = text(b, DIRECTION, row);
    c->dtype = text(b, DTYPE, row);
    c->layout = text(b, LAYOUT, row);
    return 0;
}

/* ---- rows ---- */

static int read_row(const struct ks_ck_csv *c, const struct batch *b, uint32_t row,
                    struct ks_ck_values *out, struct ks_err *err)
{
    double median_ns = ks_df_f64(b->other[MEDIAN], row, -1);
    int64_t n_elements = number(b, N_ELEMENTS, row);

    if (!ks_df_has(b->other[CHECK], row) || n_elements == 0)
        return ks_fail(err, KS_EUNSUPPORTED,
                       "problem '%s': the output was not verified element by element, so its "
                       "non-zero elements are not known",
                       text(b, PROBLEM_NAME, row));
    out->kernel = text(b, INSTANCE_NAME, row);
    out->problem_idx = c->n_problems - 1;
    for (size_t i = 0; i < N_COLUMNS; i++)
        out->dim[i] = dim_of(b->dim[i], row);
    out->latency_ms = median_ns / 1e6;
    out->tflops = ks_df_f64(b->other[FLOPS], row, -1) / median_ns / 1e3;
    out->non_zero = n_elements - number(b, N_ZERO, row);
    out->direction = c->direction;
    out->dtype = c->dtype;
    out->n_spatial = number(b, N_SPATIAL, row);
    out->arch = text(b, ARCH, row);
    out->n_units = number(b, N_UNITS, row);
    return 0;
}

static int put_row(void *ctx, const struct ks_ck_values *v, struct ks_err *err)
{
    struct ks_sink *to = ctx;
    char latency[KS_NUMBER_TEXT], tflops[KS_NUMBER_TEXT];

    ks_csv_put(&to->text, v->kernel);
    ks_buf_printf(&to->text, ",%" PRIu32, v->problem_idx);
    for (size_t i = 0; i < N_COLUMNS; i++)
        ks_buf_printf(&to->text, ",%" PRId64, v->dim[i]);
    ks_real_text(v->latency_ms, latency);
    ks_real_text(v->tflops, tflops);
    ks_buf_printf(&to->text, ",%s,%s,%" PRId64 "\n", latency, tflops, v->non_zero);
    return ks_sink_step(to, err);
}

int ks_ck_each(struct ks_ck_csv *c, const struct ks_df *f, const uint32_t *rows, size_t n,
               ks_ck_values_fn fn, void *ctx, struct ks_err *err)
{
    struct ks_ck_values v;
    struct batch b;
    int rc = bind(f, &b, err);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        int64_t problem = number(&b, PROBLEM_ROW, rows[i]);

        if (c->n_problems == 0 || problem != c->problem) {
            rc = check_problem(c, &b, rows[i], err);
            c->problem = problem;
            c->n_problems++;
        }
        if (rc == 0)
            rc = read_row(c, &b, rows[i], &v, err);
        if (rc == 0)
            rc = fn(ctx, &v, err);
    }
    return rc;
}

int ks_ck_csv_put(struct ks_ck_csv *c, const struct ks_df *f, const uint32_t *rows, size_t n,
                  struct ks_sink *to, struct ks_err *err)
{
    return ks_ck_each(c, f, rows, n, put_row, to, err);
}

const char *ks_ck_dim_name(size_t i)
{
    return columns[i].column;
}
