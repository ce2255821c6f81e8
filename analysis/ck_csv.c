/* SPDX-License-Identifier: MIT */
#include "analysis/ck_csv.h"

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

static int64_t dim_of(const struct ks_problem *p, const char *name)
{
    return p->dim[ks_problem_dim(p->op, name)];
}

static int check_problem(const struct ks_problem_row *row, const struct ks_problem *first,
                         struct ks_err *err)
{
    const struct ks_problem *p = &row->problem;
    const char *name = row->problem_name[0] ? row->problem_name : row->canonical;

    if (!row->has_problem || strcmp(ks_operators[p->op]->name, "grouped_conv") != 0)
        return ks_fail(err, KS_EUNSUPPORTED, "problem '%s': the format holds convolutions only",
                       name);
    if (p->direction != first->direction || p->dtype != first->dtype || p->layout != first->layout)
        return ks_fail(err, KS_EUNSUPPORTED,
                       "problem '%s' is %s %s %s, earlier ones %s %s %s: the format has no columns "
                       "for that; gather them apart",
                       name, ks_direction_name(p->direction), ks_dtype_name(p->dtype),
                       ks_layout_name(p->layout), ks_direction_name(first->direction),
                       ks_dtype_name(first->dtype), ks_layout_name(first->layout));
    for (size_t i = 0; i < N_COLUMNS; i++) {
        if (columns[i].must_equal && dim_of(p, columns[i].dim) != dim_of(p, columns[i].must_equal))
            return ks_fail(err, KS_EUNSUPPORTED,
                           "problem '%s' is padded %" PRId64 " before and %" PRId64
                           " after (%s): the format has one column for both",
                           name, dim_of(p, columns[i].dim), dim_of(p, columns[i].must_equal),
                           columns[i].column);
    }
    return 0;
}

static int put_row(const struct ks_store_file *f, const struct ks_row *row, uint32_t i_problem,
                   struct ks_buf *out, struct ks_err *err)
{
    const struct ks_problem_row *p = ks_store_problem(f, row->problem);
    char latency[32], tflops[32];

    if (row->tolerance_check == 0 || row->n_elements == 0)
        return ks_fail(err, KS_EUNSUPPORTED,
                       "problem '%s': the output was not verified element by element, so its "
                       "non-zero elements were not counted",
                       p->problem_name);
    ks_csv_put(out, ks_store_kernel(f, row->kernel)->instance_name);
    ks_buf_printf(out, ",%" PRIu32, i_problem);
    for (size_t i = 0; i < N_COLUMNS; i++)
        ks_buf_printf(out, ",%" PRId64, dim_of(&p->problem, columns[i].dim));
    ks_f64_text(row->time_median_ns / 1e6, latency);
    ks_f64_text(p->flops / row->time_median_ns / 1e3, tflops);
    ks_buf_printf(out, ",%s,%s,%" PRIu64 "\n", latency, tflops, row->n_elements - row->n_zero);
    return 0;
}

static bool is_wanted(const struct ks_store_file *f, const struct ks_row *row)
{
    const struct ks_store_info *n = ks_store_info(f);

    return row->outcome == KS_O_OK && row->time_median_ns > 0 && row->problem < n->n_problems &&
           row->kernel < n->n_kernels;
}

int ks_ck_csv(struct ks_view *v, struct ks_buf *out, struct ks_err *err)
{
    const struct ks_store_file *f = ks_view_file(v);
    const struct ks_problem *first = NULL;
    const struct ks_row *rows;
    uint32_t n_problems = 0;
    size_t n;
    int rc;

    ks_buf_printf(out, "kernel,problem_idx");
    for (size_t i = 0; i < N_COLUMNS; i++)
        ks_buf_printf(out, ",%s", columns[i].column);
    ks_buf_printf(out, ",latency_ms,tflops,non_zero\n");
    while ((rc = ks_view_next(v, &rows, &n, err)) > 0) {
        size_t n_written = 0;

        for (size_t i = 0; i < n; i++) {
            if (!is_wanted(f, &rows[i]))
                continue;
            const struct ks_problem_row *p = ks_store_problem(f, rows[i].problem);

            if (!first)
                first = &p->problem;
            rc = n_written ? 0 : check_problem(p, first, err);
            if (rc == 0)
                rc = put_row(f, &rows[i], n_problems, out, err);
            if (rc < 0)
                return rc;
            n_written++;
        }
        n_problems += n_written > 0;
    }
    return rc;
}
