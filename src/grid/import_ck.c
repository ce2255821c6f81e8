/* SPDX-License-Identifier: MIT */
/* import_ck.c - imports CSV of Composable Kernel: problem sets, hold-outs, benchmark results */
/* Sources, all of ROCm/rocm-libraries and ROCm/composable_kernel: tile_engine/ops/grouped_conv
 * (columns; C and K count all groups; a problem is 3-D when Di > 1, Z > 1 or pad_d > 0; padding is
 * symmetric; layout is always NHWGC), dispatcher/codegen (kernel names). */
#include "base/opt.h"
#include "base/text.h"
#include "grid/ck_rows.h"
#include "grid/import.h"
#include "op/conv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 64 };
#define ABSENT INT64_MIN

/* What a column fills; below KS_CONV_N_DIMS: that dim. */
enum column {
    COL_PAD = KS_CONV_N_DIMS, /* + axis: both sides */
    COL_OUT = COL_PAD + 3,    /* + axis: output extent, only checked */
    COL_DIRECTION = COL_OUT + 3,
    COL_DTYPE,
    COL_KERNEL,
    COL_OTHER /* says nothing of the problem */
};

struct known_column {
    const char *name;
    int column;
    bool is_required;
};
static const struct known_column known_columns[] = {
    { "N", KS_CONV_N, true },
    { "C", KS_CONV_C_TOTAL, true },
    { "K", KS_CONV_K_TOTAL, true },
    { "G", KS_CONV_G, true },
    { "Di", KS_CONV_DI, false },
    { "Hi", KS_CONV_HI, true },
    { "Wi", KS_CONV_WI, true },
    { "Z", KS_CONV_Z, false },
    { "Y", KS_CONV_Y, true },
    { "X", KS_CONV_X, true },
    { "Do", COL_OUT, false },
    { "Ho", COL_OUT + 1, false },
    { "Wo", COL_OUT + 2, false },
    { "stride_d", KS_CONV_STRIDE_D, false },
    { "stride_h", KS_CONV_STRIDE_H, true },
    { "stride_w", KS_CONV_STRIDE_W, true },
    { "pad_d", COL_PAD, false },
    { "pad_h", COL_PAD + 1, true },
    { "pad_w", COL_PAD + 2, true },
    { "dilation_d", KS_CONV_DILATION_D, false },
    { "dilation_h", KS_CONV_DILATION_H, false },
    { "dilation_w", KS_CONV_DILATION_W, false },
    { "ndim_spatial", KS_CONV_NDIM, false },
    { "direction", COL_DIRECTION, false },
    { "variant", COL_DIRECTION, false },
    { "dtype", COL_DTYPE, false },
    { "kernel", COL_KERNEL, false },
    { "kernel_name", COL_KERNEL, false },
    { "problem_idx", COL_OTHER, false },
    { "latency_ms", COL_OTHER, false },
    { "latency_us", COL_OTHER, false },
    { "tflops", COL_OTHER, false },
    { "non_zero", COL_OTHER, false },
    { "in_training_grid", COL_OTHER, false },
    { "predicted_tflops", COL_OTHER, false },
    { "rank", COL_OTHER, false },
    { "tile_m", COL_OTHER, false },
    { "tile_n", COL_OTHER, false },
    { "tile_k", COL_OTHER, false },
    { "pipeline", COL_OTHER, false },
    { "op_type", COL_OTHER, false },
    { "arch", COL_OTHER, false },
};
enum { N_KNOWN = sizeof known_columns / sizeof known_columns[0] };

struct reader {
    struct ks_import im;
    const struct known_column *column[MOST_COLUMNS]; /* of the header, in the file's order */
    size_t n_columns;
    const char *header[MOST_COLUMNS]; /* into header_text */
    struct ks_buf header_text;
    uint64_t header_line;
    const char *field[MOST_COLUMNS];
    ks_ck_row_fn on_row; /* NULL: problems go to the set */
    void *ctx;
};

/* What a row said. */
struct row {
    struct ks_problem p;
    int direction, dtype;         /* -1: nothing */
    int64_t ndim, pad[3], out[3]; /* ndim, out: or ABSENT */
};

static const struct known_column *find_known(const char *name, size_t n)
{
    for (int i = 0; i < N_KNOWN; i++)
        if (strlen(known_columns[i].name) == n && memcmp(known_columns[i].name, name, n) == 0)
            return &known_columns[i];
    return NULL;
}

/* As Composable Kernel spells them: as we do, or "bwdd" and "bwdw"; -1: none of them. */
static int direction_from(const char *text, size_t n)
{
    char word[32] = "";

    if (n >= sizeof word)
        return -1;
    memcpy(word, text, n);
    if (strcmp(word, "bwdd") == 0)
        return KS_BACKWARD_DATA;
    return strcmp(word, "bwdw") == 0 ? KS_BACKWARD_WEIGHT : ks_direction_from(word);
}

/* The next field of a header, without blanks and quotes around it; *line moves behind it. */
static const struct known_column *next_column(const char **line, size_t *n)
{
    const char *comma = memchr(*line, ',', *n), *field = *line;
    size_t n_field = comma ? (size_t)(comma - field) : *n;

    *line += n_field + (comma != NULL);
    *n -= n_field + (comma != NULL);
    while (n_field > 0 && strchr(" \t\"", *field)) {
        field++;
        n_field--;
    }
    while (n_field > 0 && strchr(" \t\r\"", field[n_field - 1]))
        n_field--;
    return find_known(field, n_field);
}

static bool is_sign(const struct known_column *k)
{
    return k && k->is_required && strlen(k->name) <= 2;
}

/* A header of Composable Kernel has N, C, K, G, Hi, Wi, Y and X, wherever they stand. */
static bool ck_sniff(const char *text, size_t len)
{
    size_t n = 0, n_wanted = 0, n_met = 0;
    const char *line = ks_import_first_line(text, len, &n);

    for (int i = 0; i < N_KNOWN; i++)
        n_wanted += is_sign(&known_columns[i]);
    while (line && n > 0)
        n_met += is_sign(next_column(&line, &n));
    return n_met >= n_wanted;
}

static int fail_header(struct reader *r, const char *fmt, const char *word, const char *hint)
{
    char what[200];

    snprintf(what, sizeof what, fmt, word, hint);
    return ks_fail(r->im.err, KS_EFORMAT, "%s:%" PRIu64 ": %s", r->im.name, r->header_line, what);
}

static int unknown_column(struct reader *r, size_t i)
{
    const char *names[N_KNOWN + 1] = { NULL }, *near;
    char hint[64] = "";

    for (int k = 0; k < N_KNOWN; k++)
        names[k] = known_columns[k].name;
    near = ks_nearest(r->header[i], names);
    if (near)
        snprintf(hint, sizeof hint, ", did you mean '%s'", near);
    return fail_header(r, "unknown column '%s'%s", r->header[i], hint);
}

static bool has_column(const struct reader *r, int column)
{
    for (size_t i = 0; i < r->n_columns; i++)
        if (r->column[i]->column == column)
            return true;
    return false;
}

/* Its C++ successor measures fp16 forward only, and says neither. */
static bool is_successor(const struct reader *r)
{
    const char *const names[] = { "tile_m", "pipeline", "latency_us" };
    size_t n_met = 0;

    for (size_t i = 0; r->on_row && i < r->n_columns; i++)
        for (size_t k = 0; k < 3; k++)
            n_met += strcmp(r->header[i], names[k]) == 0;
    return n_met == 3;
}

static int check_columns(struct reader *r)
{
    for (int i = 0; i < N_KNOWN; i++)
        if (known_columns[i].is_required && !has_column(r, known_columns[i].column))
            return fail_header(r, "column '%s' is missing, so the geometry is unknown%s",
                               known_columns[i].name, "");
    if (!has_column(r, COL_DIRECTION) && !has_column(r, COL_KERNEL) && !is_successor(r))
        return fail_header(r, "no column gives the direction (%s%s)", "direction, variant, kernel",
                           "");
    return 0;
}

static int read_header(struct reader *r)
{
    const char *wrong;

    r->header_line = r->im.line;
    ks_buf_put(&r->header_text, ks_buf_text(&r->im.text), r->im.text.len);
    if (!ks_buf_ok(&r->header_text) || !r->header_text.data)
        return ks_fail(r->im.err, KS_ENOMEM, "no memory for a header");
    wrong = ks_csv_split((char *)r->header_text.data, true, r->header, MOST_COLUMNS, &r->n_columns);
    if (wrong)
        return fail_header(r, "%s%s", wrong, "");
    for (size_t i = 0; i < r->n_columns; i++) {
        r->column[i] = find_known(r->header[i], strlen(r->header[i]));
        if (!r->column[i])
            return unknown_column(r, i);
        for (size_t k = 0; k < i; k++)
            if (r->column[k] == r->column[i])
                return fail_header(r, "duplicate column '%s'%s", r->header[i], "");
    }
    return check_columns(r);
}

/* "grouped_conv_forward_bf16_2d_128x128x64_compv3": direction, dtype and ndim; what is wrong with
 * it, or NULL. The long form has a layout between dtype and ndim. */
static const char *read_kernel_name(const char *name, struct row *row)
{
    static const char prefix[] = "grouped_conv_";
    char dtype[16];
    size_t n;

    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return "is not the name of a grouped convolution";
    name += sizeof prefix - 1;
    n = strcspn(name, "_");
    while (name[n] && direction_from(name, n) < 0)
        n += 1 + strcspn(name + n + 1, "_");
    if (!name[n] || (row->direction >= 0 && row->direction != direction_from(name, n)))
        return name[n] ? "names another direction than its row" : "names no direction";
    row->direction = direction_from(name, n);
    name += n + 1;
    snprintf(dtype, sizeof dtype, "%.*s", (int)strcspn(name, "_"), name);
    if (row->dtype >= 0 && row->dtype != ks_dtype_from(dtype))
        return "names another dtype than its row";
    row->dtype = ks_dtype_from(dtype);
    if (row->dtype < 0)
        return "names a dtype that is not supported";
    name += strcspn(name, "_");
    if (strncmp(name, "_nhwgc", 6) == 0)
        name += 6;
    if (name[0] == '_' && name[1] >= '1' && name[1] <= '3' && name[2] == 'd')
        row->ndim = name[1] - '0';
    return NULL;
}

/* What is wrong with a number's field, or NULL. */
static const char *read_number(const char *text, int column, struct row *row)
{
    int64_t *to = &row->ndim;

    if (!text[0])
        return "is empty";
    if (text[0] == '-' || text[0] == '+')
        return "has a sign";
    if (column >= COL_OUT)
        to = &row->out[column - COL_OUT];
    else if (column >= COL_PAD)
        to = &row->pad[column - COL_PAD];
    else if (column != KS_CONV_NDIM)
        to = &row->p.dim[column];
    return ks_import_number(text, to);
}

static const char *read_direction(const char *text, struct row *row)
{
    int direction = direction_from(text, strlen(text));

    if (direction < 0)
        return "is not a known direction";
    if (row->direction >= 0 && row->direction != direction)
        return "contradicts another column";
    row->direction = direction;
    return NULL;
}

static const char *read_field(const char *text, int column, struct row *row)
{
    switch (column) {
    case COL_OTHER:
    case COL_KERNEL: /* read last: it must agree with the others */
        return NULL;
    case COL_DIRECTION:
        return read_direction(text, row);
    case COL_DTYPE:
        row->dtype = ks_dtype_from(text);
        return row->dtype < 0 ? "is not a known dtype" : NULL;
    default:
        return read_number(text, column, row);
    }
}

/* 2-D rows carry steps of the depth, too: they mean nothing there. */
static void settle(struct row *row)
{
    int64_t *d = row->p.dim;

    if (row->ndim == ABSENT)
        row->ndim = d[KS_CONV_DI] > 1 || d[KS_CONV_Z] > 1 || row->pad[0] > 0 ? 3 : 2;
    d[KS_CONV_NDIM] = row->ndim;
    if (row->ndim < 3)
        d[KS_CONV_STRIDE_D] = d[KS_CONV_DILATION_D] = 1;
    for (int axis = 0; axis < 3; axis++)
        d[KS_CONV_PAD_D_LO + axis] = d[KS_CONV_PAD_D_HI + axis] = row->pad[axis];
    row->p.direction = (uint32_t)row->direction;
    row->p.dtype = row->dtype < 0 ? KS_BF16 : (uint32_t)row->dtype;
    row->p.layout = KS_NHWGC;
}

static int hand_on(struct reader *r, const struct ks_problem *p)
{
    static const char *const names[KS_CK_FIELDS] = { "kernel", "latency_ms", "latency_us",
                                                     "tflops", "non_zero",   "tile_m",
                                                     "tile_n", "tile_k",     "pipeline" };
    struct ks_ck_row row = { .p = p, .line = r->im.line };

    for (size_t i = 0; i < r->n_columns; i++)
        for (size_t k = 0; k < KS_CK_FIELDS; k++)
            if (strcmp(r->header[i], names[k]) == 0 ||
                (k == KS_CK_KERNEL && r->column[i]->column == COL_KERNEL))
                row.field[k] = r->field[i];
    return r->on_row(r->ctx, &row, r->im.err);
}

static int take_row(struct reader *r, struct row *row)
{
    struct ks_err why;

    if (row->direction < 0) { /* is_successor() */
        row->direction = KS_FORWARD;
        row->dtype = KS_FP16;
    }
    settle(row);
    if (ks_problem_finish(&row->p, &why) < 0)
        return ks_import_refuse_err(&r->im, &why);
    for (int axis = 0; axis < 3; axis++)
        if (row->out[axis] != ABSENT && row->out[axis] != ks_conv_out(&row->p, axis))
            return ks_import_refuse(&r->im, "%co = %" PRId64 ", but the geometry gives %" PRId64,
                                    "DHW"[axis], row -> out[axis], ks_conv_out(&row->p, axis));
    return r->on_row ? hand_on(r, &row->p) : ks_import_take(&r->im, &row->p, 1);
}

static int refuse_field(struct reader *r, size_t i, const char *why)
{
    return ks_import_refuse(&r->im, "column %zu (%s): '%.60s' %s", i + 1, r->header[i], r->field[i],
                            why);
}

static int read_row(struct reader *r)
{
    struct row row = {
        .direction = -1, .dtype = -1, .ndim = ABSENT, .out = { ABSENT, ABSENT, ABSENT }
    };
    const char *wrong;
    size_t n = 0;
    int rc = ks_import_blank_conv(&r->im, &row.p);

    if (rc < 0)
        return rc;
    row.p.dim[KS_CONV_DI] = row.p.dim[KS_CONV_Z] = 1;
    wrong = ks_csv_split((char *)r->im.text.data, true, r->field, MOST_COLUMNS, &n);
    if (wrong)
        return ks_import_refuse(&r->im, "%s", wrong);
    if (n != r->n_columns)
        return ks_import_refuse(&r->im, "%zu fields, the header has %zu columns", n, r->n_columns);
    for (size_t i = 0; i < n; i++) {
        wrong = read_field(r->field[i], r->column[i]->column, &row);
        if (wrong)
            return refuse_field(r, i, wrong);
    }
    for (size_t i = 0; i < n; i++) {
        wrong = r->column[i]->column == COL_KERNEL ? read_kernel_name(r->field[i], &row) : NULL;
        if (wrong)
            return refuse_field(r, i, wrong);
    }
    return take_row(r, &row);
}

static int read_lines(struct reader *r)
{
    bool has_header = false;
    int rc;

    while ((rc = ks_import_text_line(&r->im)) > 0) {
        bool is_blank = rc == 1 && ks_import_is_blank(ks_buf_text(&r->im.text));

        if (rc == 2 && !has_header)
            return ks_fail(r->im.err, KS_EFORMAT, "%s:%" PRIu64 ": the header is not text",
                           r->im.name, r->im.line);
        if (rc == 2)
            continue;
        r->im.set->n_other += is_blank || !has_header;
        if (is_blank)
            continue;
        rc = has_header ? read_row(r) : read_header(r);
        if (rc < 0)
            return rc;
        has_header = true;
    }
    if (rc == 0 && !has_header)
        return ks_fail(r->im.err, KS_EFORMAT, "%s: no header (columns N, C, K, G, ..)", r->im.name);
    return rc;
}

int ks_ck_rows(const char *text, size_t len, const char *name, ks_ck_row_fn fn, void *ctx,
               struct ks_err *err)
{
    struct reader r = { .on_row = fn, .ctx = ctx };
    struct ks_problem_set none; /* counts lines */
    int rc;

    ks_problem_set_init(&none);
    ks_import_start(&r.im, &none, text, len, name, true, err);
    ks_buf_init(&r.header_text);
    rc = read_lines(&r);
    ks_buf_release(&r.header_text);
    ks_import_stop(&r.im);
    ks_problem_set_release(&none);
    return rc;
}

bool ks_ck_rows_sniff(const char *text, size_t len)
{
    size_t n = 0;
    const char *line = ks_import_first_line(text, len, &n);
    bool has_time = false;

    for (size_t i = 0; line && i + 10 <= n; i++)
        has_time = has_time || memcmp(line + i, "latency_ms", 10) == 0 ||
                   memcmp(line + i, "latency_us", 10) == 0;
    return has_time && ck_sniff(text, len);
}

static int ck_read(struct ks_problem_set *set, const char *text, size_t len, const char *name,
                   bool strict, struct ks_err *err)
{
    struct reader r = { 0 };
    int rc;

    ks_import_start(&r.im, set, text, len, name, strict, err);
    ks_buf_init(&r.header_text);
    rc = read_lines(&r);
    ks_buf_release(&r.header_text);
    ks_import_stop(&r.im);
    return rc;
}

const struct ks_importer ks_import_ck = { .name = "ck", .sniff = ck_sniff, .read = ck_read };
