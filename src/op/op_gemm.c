/* SPDX-License-Identifier: MIT */
/* op_gemm.c - the operator gemm: dims, checks, reference and its proofs */
#include "op/dims.h"
#include "op/freivalds.h"
#include "op/gemm.h"
#include "op/sample.h"
#include "op/signs.h"
#include "op/sums.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LANE_BLOCK 64 /* columns of C at a time */

/* One row per dim: its column, what it is when nothing is said, its least and most value. */
#define DIM_LIST(X)                                                                                \
    X(KS_GEMM_BATCH, "batch", 1, 1, KS_DIM_MAX)                                                    \
    X(KS_GEMM_M, "m", KS_DIM_REQUIRED, 1, KS_DIM_MAX)                                              \
    X(KS_GEMM_N, "n", KS_DIM_REQUIRED, 1, KS_DIM_MAX)                                              \
    X(KS_GEMM_K, "k", KS_DIM_REQUIRED, 1, KS_DIM_MAX)                                              \
    X(KS_GEMM_TRANS_A, "trans_a", 0, 0, 1)                                                         \
    X(KS_GEMM_TRANS_B, "trans_b", 0, 0, 1)

#define X(dim, name, otherwise, least, most) [dim] = name,
static const char *const dim_names[KS_GEMM_N_DIMS + 1] = { DIM_LIST(X) };
#undef X
#define X(dim, name, otherwise, least, most) [dim] = otherwise,
static const int64_t dim_defaults[KS_GEMM_N_DIMS] = { DIM_LIST(X) };
#undef X
#define X(dim, name, otherwise, least, most) [dim] = least,
static const int64_t dim_least[KS_GEMM_N_DIMS] = { DIM_LIST(X) };
#undef X
#define X(dim, name, otherwise, least, most) [dim] = most,
static const int64_t dim_most[KS_GEMM_N_DIMS] = { DIM_LIST(X) };
#undef X

static int gemm_check(struct ks_problem *p, struct ks_err *err)
{
    static const char *const operands[3] = { "A", "B", "C" };
    int rc;

    if (p->direction != KS_FORWARD)
        return ks_fail(err, KS_EINVAL, "gemm does not have direction %s",
                       ks_direction_name(p->direction));
    if (p->layout != KS_NHWGC)
        return ks_fail(err, KS_EINVAL,
                       "gemm does not have layout %s: the layout column must be nhwgc, trans_a and "
                       "trans_b give the layout of the operands",
                       ks_layout_name(p->layout));
    rc = ks_dims_check(p, dim_least, dim_most, err);
    return rc < 0 ? rc : ks_dims_check_elements(p, operands, err);
}

static struct ks_extents gemm_extents(const struct ks_problem *p)
{
    const int64_t *d = p->dim;
    const int64_t a[] = { d[KS_GEMM_BATCH], d[KS_GEMM_M], d[KS_GEMM_K] };
    const int64_t b[] = { d[KS_GEMM_BATCH], d[KS_GEMM_K], d[KS_GEMM_N] };
    const int64_t c[] = { d[KS_GEMM_BATCH], d[KS_GEMM_M], d[KS_GEMM_N] };

    return (struct ks_extents){ ks_dims_product(a, 3), ks_dims_product(b, 3),
                                ks_dims_product(c, 3) };
}

static int64_t gemm_reduction(const struct ks_problem *p)
{
    return p->dim[KS_GEMM_K];
}

static double gemm_flops(const struct ks_problem *p)
{
    const int64_t *d = p->dim;

    return 2.0 * (double)d[KS_GEMM_BATCH] * (double)d[KS_GEMM_M] * (double)d[KS_GEMM_N] *
           (double)d[KS_GEMM_K];
}

static struct ks_work gemm_work(const struct ks_problem *p)
{
    struct ks_extents e = gemm_extents(p);

    return (struct ks_work){
        .flops = gemm_flops(p), .a = (double)e.a, .b = (double)e.b, .c = (double)e.c
    };
}

static void gemm_to_abi(const struct ks_problem *p, struct ks_abi_problem *out)
{
    const int64_t *d = p->dim;

    *out = (struct ks_abi_problem){ .bytes = sizeof(*out),
                                    .op = KS_ABI_GEMM,
                                    .direction = p->direction,
                                    .dtype = p->dtype,
                                    .layout = p->layout,
                                    .flags = (d[KS_GEMM_TRANS_A] ? KS_ABI_TRANS_A : 0u) |
                                             (d[KS_GEMM_TRANS_B] ? KS_ABI_TRANS_B : 0u),
                                    .n = d[KS_GEMM_BATCH],
                                    .g = 1,
                                    .c = d[KS_GEMM_K],
                                    .k = d[KS_GEMM_N],
                                    .in = { 1, 1, 1 },
                                    .filter = { 1, 1, 1 },
                                    .out = { 1, d[KS_GEMM_M], 1 },
                                    .stride = { 1, 1, 1 },
                                    .dilation = { 1, 1, 1 } };
}

static int gemm_shape_c(const struct ks_problem *p, int64_t shape_out[6])
{
    shape_out[0] = p->dim[KS_GEMM_BATCH];
    shape_out[1] = p->dim[KS_GEMM_M];
    shape_out[2] = p->dim[KS_GEMM_N];
    return 3;
}

/* A matrix of [batch][m or k][k or n], or transposed. */
void ks_gemm_signs(const struct ks_problem *p, char operand, struct ks_sign_map *out)
{
    const int64_t *d = p->dim;
    const enum ks_sign_class across = operand == 'b' ? KS_SIGN_COLUMN : KS_SIGN_ROW;
    const enum ks_sign_class along = operand == 'c' ? KS_SIGN_COLUMN : KS_SIGN_SUM;
    const int64_t extents[KS_SIGN_CLASSES] = { d[KS_GEMM_M], d[KS_GEMM_N], d[KS_GEMM_K] };
    const bool is_turned =
        (operand == 'a' && d[KS_GEMM_TRANS_A] != 0) || (operand == 'b' && d[KS_GEMM_TRANS_B] == 0);
    const enum ks_sign_class slow = is_turned ? along : across, fast = is_turned ? across : along;
    struct ks_sign_map m = { .axis = { { .extent = 1 },
                                       { .extent = d[KS_GEMM_BATCH] },
                                       { .extent = extents[slow] },
                                       { .extent = extents[fast] } } };

    m.axis[1].step[slow] = extents[slow];
    m.axis[1].step[fast] = extents[fast];
    m.axis[2].step[slow] = 1;
    m.axis[3].step[fast] = 1;
    m.has[slow] = m.has[fast] = true;
    *out = m;
}

/* The reference: LANE_BLOCK columns of op(B) lie ready while the rows of op(A) pass by. */
struct product {
    int64_t m, n, k;
    const float *a, *b;                /* of one batch */
    int64_t a_row, a_k, b_k, b_column; /* strides of op(A) and op(B) */
    double *r, *abs;                   /* of one batch; abs NULL: not wanted */
    double *panel;                     /* [columns / 8][k][8] */
    double *rows;                      /* [KS_SUM_ROWS][k] */
    double *sums;                      /* [2][KS_SUM_ROWS][columns] */
};

static void load_columns(const struct product *v, int64_t first, int64_t n)
{
    struct ks_widen m = {
        .pitch = KS_SUM_LANES, .from_row = v->b_k, .from_column = v->b_column, .n_rows = v->k
    };

    if (n % KS_SUM_LANES)
        memset(v->panel, 0, (size_t)(ks_sum_lanes(n) * v->k) * sizeof(double));
    for (int64_t i = 0; i < n; i += KS_SUM_LANES) {
        m.to = v->panel + i * v->k;
        m.from = v->b + (first + i) * v->b_column;
        m.n_columns = ks_min64(KS_SUM_LANES, n - i);
        ks_widen(&m);
    }
}

/* The block of C from (row, column). */
static void do_rows(const struct product *v, int64_t row, int64_t column, int64_t n_columns)
{
    int64_t n_rows = ks_min64(KS_SUM_ROWS, v->m - row), lanes = ks_sum_lanes(n_columns);
    const struct ks_widen m = { .to = v->rows,
                                .pitch = v->k,
                                .from = v->a + row * v->a_row,
                                .from_row = v->a_row,
                                .from_column = v->a_k,
                                .n_rows = n_rows,
                                .n_columns = v->k };
    const struct ks_sums sums = { .r = v->sums,
                                  .s = v->abs ? v->sums + KS_SUM_ROWS * lanes : NULL,
                                  .x = v->rows,
                                  .x_row = v->k,
                                  .x_step = 1,
                                  .w = v->panel,
                                  .w_block = v->k * KS_SUM_LANES,
                                  .n_rows = n_rows,
                                  .n_steps = v->k,
                                  .n_lanes = lanes,
                                  .is_first = true };

    ks_widen(&m);
    ks_sums_add(&sums);
    for (int64_t i = 0; i < n_rows; i++) {
        int64_t at = (row + i) * v->n + column;
        size_t bytes = (size_t)n_columns * sizeof(double);

        memcpy(v->r + at, sums.r + i * lanes, bytes);
        if (v->abs)
            memcpy(v->abs + at, sums.s + i * lanes, bytes);
    }
}

static void do_batch(const struct product *v)
{
    for (int64_t column = 0; column < v->n; column += LANE_BLOCK) {
        int64_t n = ks_min64(LANE_BLOCK, v->n - column);

        load_columns(v, column, n);
        for (int64_t row = 0; row < v->m; row += KS_SUM_ROWS)
            do_rows(v, row, column, n);
    }
}

static int do_batches(const struct ks_problem *p, const float *a, const float *b, double *r,
                      double *abs, struct ks_err *err)
{
    const int64_t *d = p->dim;
    struct product v = { .m = d[KS_GEMM_M], .n = d[KS_GEMM_N], .k = d[KS_GEMM_K] };
    int64_t lanes = ks_sum_lanes(ks_min64(LANE_BLOCK, v.n));
    int rc = 0;

    v.a_row = d[KS_GEMM_TRANS_A] ? 1 : v.k;
    v.a_k = d[KS_GEMM_TRANS_A] ? v.m : 1;
    v.b_k = d[KS_GEMM_TRANS_B] ? 1 : v.n;
    v.b_column = d[KS_GEMM_TRANS_B] ? v.k : 1;
    v.panel = calloc((size_t)(lanes * v.k), sizeof(double));
    v.rows = calloc((size_t)(KS_SUM_ROWS * v.k), sizeof(double));
    v.sums = calloc((size_t)(2 * KS_SUM_ROWS * lanes), sizeof(double));
    if (!v.panel || !v.rows || !v.sums)
        rc = ks_fail(err, KS_ENOMEM, "no memory for the reference's scratch");
    for (int64_t i = 0; rc == 0 && i < d[KS_GEMM_BATCH]; i++) {
        v.a = a + i * v.m * v.k;
        v.b = b + i * v.k * v.n;
        v.r = r + i * v.m * v.n;
        v.abs = abs ? abs + i * v.m * v.n : NULL;
        do_batch(&v);
    }
    free(v.panel);
    free(v.rows);
    ks_sums_free(v.sums);
    return rc;
}

static int gemm_reference(const struct ks_problem *p, const void *a, const void *b, double *r_out,
                          double *abs_out, struct ks_err *err)
{
    struct ks_extents e = gemm_extents(p);
    const float *a_floats, *b_floats;
    float *a_owned = NULL, *b_owned = NULL;
    int rc = ks_operand_floats(a, e.a, p->dtype, &a_owned, &a_floats, err);

    if (rc == 0)
        rc = ks_operand_floats(b, e.b, p->dtype, &b_owned, &b_floats, err);
    if (rc == 0)
        rc = do_batches(p, a_floats, b_floats, r_out, abs_out, err);
    free(a_owned);
    free(b_owned);
    return rc;
}

/* The exact proof: C v = op(A) (op(B) v) for each batch. */
struct proof {
    int64_t m, n, k;
    bool trans_a, trans_b;
    int32_t *matrix;              /* [largest operand of one batch] */
    struct ks_residues v, middle; /* [n], [k]: op(B) v */
    struct ks_residue_sums sums;  /* [m or k] */
    uint64_t *out;                /* [m or k] */
};

/* out[i] = sum_j M[i][j] x[j] of the matrix, stored with rows i or, turned, with rows j. */
static void apply(struct proof *f, int64_t n_i, int64_t n_j, bool is_turned,
                  const struct ks_residues *x)
{
    if (!is_turned) {
        for (int64_t i = 0; i < n_i; i++)
            f->out[i] = ks_modulo(ks_residue_dot(f->matrix + i * n_j, x, 0, n_j, KS_EXACT_MAX));
        return;
    }
    f->sums.n = n_i;
    ks_residue_sums_clear(&f->sums);
    for (int64_t j = 0; j < n_j; j++) {
        ks_residue_sums_reserve(&f->sums, KS_EXACT_MAX);
        ks_residue_sums_add(&f->sums, f->matrix + j * n_i, ks_residue_get(x, j));
    }
    for (int64_t i = 0; i < n_i; i++)
        f->out[i] = ks_residue_sums_get(&f->sums, i);
}

/* Operands and result of one batch. */
static int prove_batch(struct proof *f, int64_t batch, const float *a, const float *b,
                       const double *r, struct ks_err *err)
{
    int rc = ks_exact_data(b, f->k * f->n, f->matrix, err);

    if (rc < 0)
        return rc;
    apply(f, f->k, f->n, f->trans_b, &f->v);
    for (int64_t i = 0; i < f->k; i++)
        ks_residue_set(&f->middle, i, f->out[i]);
    rc = ks_exact_data(a, f->m * f->k, f->matrix, err);
    if (rc < 0)
        return rc;
    apply(f, f->m, f->k, f->trans_a, &f->middle);
    for (int64_t i = 0; i < f->m; i++)
        if (!ks_exact_results(r + i * f->n, f->n, f->matrix) ||
            ks_modulo(ks_residue_dot(f->matrix, &f->v, 0, f->n, KS_RESULT_MAX)) != f->out[i])
            return ks_fail(err, KS_EDEVICE,
                           "the exact reference is wrong at batch %" PRId64 ", row %" PRId64, batch,
                           i);
    return 0;
}

static int proof_allocate(struct proof *f, struct ks_err *err)
{
    size_t longest = (size_t)ks_max64(f->m, f->k);

    f->matrix = calloc((size_t)ks_max64(ks_max64(f->m * f->k, f->k * f->n), f->n), sizeof(int32_t));
    f->v.low = calloc((size_t)f->n, sizeof(int32_t));
    f->v.high = calloc((size_t)f->n, sizeof(int32_t));
    f->middle.low = calloc((size_t)f->k, sizeof(int32_t));
    f->middle.high = calloc((size_t)f->k, sizeof(int32_t));
    f->sums.low = calloc(longest, sizeof(int64_t));
    f->sums.high = calloc(longest, sizeof(int64_t));
    f->out = calloc(longest, sizeof(*f->out));
    if (!f->matrix || !f->v.low || !f->v.high || !f->middle.low || !f->middle.high ||
        !f->sums.low || !f->sums.high || !f->out)
        return ks_fail(err, KS_ENOMEM, "no memory to prove the reference");
    return 0;
}

static void proof_release(struct proof *f)
{
    free(f->matrix);
    free(f->v.low);
    free(f->v.high);
    free(f->middle.low);
    free(f->middle.high);
    free(f->sums.low);
    free(f->sums.high);
    free(f->out);
}

static int gemm_prove_exact(const struct ks_problem *p, const void *a, const void *b,
                            const double *r, uint64_t seed, struct ks_err *err)
{
    struct ks_extents e = gemm_extents(p);
    const int64_t *d = p->dim;
    struct proof f = { .m = d[KS_GEMM_M],
                       .n = d[KS_GEMM_N],
                       .k = d[KS_GEMM_K],
                       .trans_a = d[KS_GEMM_TRANS_A],
                       .trans_b = d[KS_GEMM_TRANS_B] };
    const float *a_floats, *b_floats;
    float *a_owned = NULL, *b_owned = NULL;
    int rc = proof_allocate(&f, err);

    if (rc == 0)
        rc = ks_operand_floats(a, e.a, p->dtype, &a_owned, &a_floats, err);
    if (rc == 0)
        rc = ks_operand_floats(b, e.b, p->dtype, &b_owned, &b_floats, err);
    if (rc == 0)
        ks_residues_draw(&f.v, f.n, &seed);
    for (int64_t i = 0; rc == 0 && i < d[KS_GEMM_BATCH]; i++)
        rc = prove_batch(&f, i, a_floats + i * f.m * f.k, b_floats + i * f.k * f.n,
                         r + i * f.m * f.n, err);
    proof_release(&f);
    free(a_owned);
    free(b_owned);
    return rc;
}

/* The proof by a sample. */
struct operands {
    const struct ks_problem *p;
    const void *a, *b;
};

static void sum_element(const void *ctx, int64_t element, struct ks_sample *out)
{
    const struct operands *o = ctx;
    const int64_t *d = o->p->dim;
    int64_t m = d[KS_GEMM_M], n = d[KS_GEMM_N], k = d[KS_GEMM_K];
    int64_t column = element % n, row = element / n % m, batch = element / n / m;
    struct ks_sample_run run = {
        .a = o->a,
        .b = o->b,
        .at_a = d[KS_GEMM_TRANS_A] ? batch * m * k + row : (batch * m + row) * k,
        .step_a = d[KS_GEMM_TRANS_A] ? m : 1,
        .at_b = d[KS_GEMM_TRANS_B] ? (batch * n + column) * k : batch * n * k + column,
        .step_b = d[KS_GEMM_TRANS_B] ? 1 : n,
        .n = k,
        .dtype = o->p->dtype,
    };

    ks_sample_add(out, &run);
}

static int gemm_prove_real(const struct ks_problem *p, const void *a, const void *b,
                           const double *r, const double *abs, uint64_t seed, int n_sample,
                           struct ks_err *err)
{
    const struct operands o = { p, a, b };

    return ks_sample_compare(p, r, abs, seed, n_sample, sum_element, &o, err);
}

const struct ks_operator ks_operator_gemm = {
    .name = "gemm",
    .abi = KS_ABI_GEMM,
    .dim_names = dim_names,
    .dim_defaults = dim_defaults,
    .check = gemm_check,
    .extents = gemm_extents,
    .reduction = gemm_reduction,
    .flops = gemm_flops,
    .work = gemm_work,
    .to_abi = gemm_to_abi,
    .shape_c = gemm_shape_c,
    .signs = ks_gemm_signs,
    .reference = gemm_reference,
    .prove_exact = gemm_prove_exact,
    .prove_real = gemm_prove_real,
};
