/* SPDX-License-Identifier: MIT */
/* import_csv.c - imports ksweep's own CSV, whose header may change from one operator to the next */
#include "base/opt.h"
#include "base/text.h"
#include "grid/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_FIELDS = KS_MAX_DIMS + 8 };

/* What a column fills. */
enum column {
    COL_OPERATOR,
    COL_DIRECTION,
    COL_DTYPE,
    COL_LAYOUT,
    COL_COUNT,
    COL_NAME,
    COL_TIME,
    COL_RANK,
    COL_DIM /* COL_DIM + i: dim i */
};
static const char *const fixed_names[] = {
    "operator", "direction", "dtype", "layout", "count", "name", "total_time_ns", "priority_rank"
};

struct reader {
    struct ks_import im;
    uint32_t op;
    int column[MOST_FIELDS]; /* of the header, in the file's order */
    size_t n_columns;
    const char *header[MOST_FIELDS]; /* into header_text */
    struct ks_buf header_text;
    uint64_t header_line;
    bool has_header, has_operator; /* the first row below a header says which */
    const char *field[MOST_FIELDS];
    size_t n_fields;
    bool has_blanks[MOST_FIELDS]; /* around the field, outside of quotes */
    bool is_empty[MOST_FIELDS];   /* dims of this row */
    int64_t time_ns, rank;        /* of this row; 0: not told */
};

/* A header: its first field is "operator". */
static bool is_header(const char *line, size_t n)
{
    static const char first[] = "operator";
    size_t at = n > 0 && line[0] == '"';

    if (n - at < sizeof first - 1 || memcmp(line + at, first, sizeof first - 1) != 0)
        return false;
    at += sizeof first - 1;
    return at == n || strchr("\", \t\r", line[at]) != NULL;
}

static bool csv_sniff(const char *text, size_t len)
{
    size_t n = 0;
    const char *line = ks_import_first_line(text, len, &n);

    return line && is_header(line, n);
}

static int fail_header(struct reader *r, size_t i, const char *fmt, const char *hint)
{
    char what[200];

    snprintf(what, sizeof what, fmt, r->header[i], hint);
    return ks_fail(r->im.err, KS_EFORMAT, "%s:%" PRIu64 ": column %zu: %s", r->im.name,
                   r->header_line, i + 1, what);
}

static int keep_header(struct reader *r)
{
    const char *wrong;

    r->header_line = r->im.line;
    r->has_operator = false;
    ks_buf_clear(&r->header_text);
    ks_buf_put(&r->header_text, ks_buf_text(&r->im.text), r->im.text.len);
    if (!ks_buf_ok(&r->header_text) || !r->header_text.data)
        return ks_fail(r->im.err, KS_ENOMEM, "no memory for a header");
    wrong = ks_csv_split((char *)r->header_text.data, true, r->header, MOST_FIELDS, &r->n_columns);
    if (wrong)
        return ks_fail(r->im.err, KS_EFORMAT, "%s:%" PRIu64 ": %s", r->im.name, r->header_line,
                       wrong);
    if (strcmp(r->header[0], "operator") != 0)
        return fail_header(r, 0, "the first column must be 'operator', not '%s'%s", "");
    r->has_header = true;
    return 0;
}

static int find_column(struct reader *r, size_t i)
{
    const char *known[MOST_FIELDS + 8], *near;
    char hint[64] = "";
    size_t n = 0;
    int dim = ks_problem_dim(r->op, r->header[i]);

    r->column[i] = dim < 0 ? -1 : COL_DIM + dim;
    for (int k = 0; k < COL_DIM; k++) {
        known[n++] = fixed_names[k];
        if (strcmp(fixed_names[k], r->header[i]) == 0)
            r->column[i] = k;
    }
    if (r->column[i] < 0) {
        for (int k = 0; ks_operators[r->op]->dim_names[k]; k++)
            known[n++] = ks_operators[r->op]->dim_names[k];
        known[n] = NULL;
        near = ks_nearest(r->header[i], known);
        if (near)
            snprintf(hint, sizeof hint, ", did you mean '%s'", near);
        return fail_header(r, i, "unknown column '%s'%s", hint);
    }
    for (size_t k = 0; k < i; k++)
        if (r->column[k] == r->column[i])
            return fail_header(r, i, "duplicate '%s'%s", "");
    return 0;
}

static bool has_column(const struct reader *r, int column)
{
    for (size_t i = 0; i < r->n_columns; i++)
        if (r->column[i] == column)
            return true;
    return false;
}

/* The operator that the first row below a header names decides what its columns are. */
static int read_columns(struct reader *r)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < r->n_columns; i++)
        rc = find_column(r, i);
    if (rc < 0)
        return rc;
    for (int k = COL_DIRECTION; k <= COL_LAYOUT; k++)
        if (!has_column(r, k))
            return ks_fail(r->im.err, KS_EFORMAT, "%s:%" PRIu64 ": column '%s' is missing",
                           r->im.name, r->header_line, fixed_names[k]);
    r->has_operator = true;
    return 0;
}

/* The error of a field, as a refusal of its line. */
static int refuse_field(struct reader *r, size_t i, const char *why)
{
    return ks_import_refuse(&r->im, "column %zu (%s): '%.40s' %s", i + 1, r->header[i], r->field[i],
                            why);
}

/* 1: a choice was read; 0 refused; < 0 error. */
static int set_choice(struct reader *r, size_t i, int index, uint32_t *out)
{
    struct ks_buf why;
    int rc;

    if (index >= 0) {
        *out = (uint32_t)index;
        return 1;
    }
    ks_buf_init(&why);
    ks_buf_printf(&why, "is not a known %s", r->header[i]);
    ks_word_put_known(r->header[i], r->field[i], &why);
    rc = refuse_field(r, i, ks_buf_text(&why));
    ks_buf_release(&why);
    return rc < 0 ? rc : 0;
}

/* No number of a problem is negative, and what would be trimmed may be a slip. */
static const char *read_number(const struct reader *r, size_t i, int64_t *out)
{
    const char *text = r->field[i];

    if (r->has_blanks[i])
        return "has blanks around it";
    if (text[0] == '-' || text[0] == '+')
        return "has a sign";
    return text[0] ? ks_import_number(text, out)
                   : "is empty: write a number, or leave the column out";
}

static int set_number(struct reader *r, size_t i, int64_t *out)
{
    const char *wrong = read_number(r, i, out);
    int rc;

    if (!wrong)
        return 1;
    rc = refuse_field(r, i, wrong);
    return rc < 0 ? rc : 0;
}

/* Of an axis that may not be there: how many dims a problem needs at least to have it. 0: all do.
 */
static int64_t axis_of(const char *name)
{
    static const char *const names[][3] = { { "di", "z", "_d" }, { "hi", "y", "_h" } };

    for (int i = 0; i < 2; i++) {
        const char *at = strstr(name, names[i][2]);

        if (strcmp(name, names[i][0]) == 0 || strcmp(name, names[i][1]) == 0 ||
            (at && (at[2] == '\0' || at[2] == '_')))
            return 3 - i;
    }
    return 0;
}

/* What is empty may be so only where the problem has no such axis. */
static int check_empty(struct reader *r, const struct ks_problem *p)
{
    const int ndim = ks_problem_dim(r->op, "ndim");

    for (size_t i = 0; i < r->n_columns; i++)
        if (r->is_empty[i] && (ndim < 0 || axis_of(r->header[i]) <= p->dim[ndim]))
            return set_number(r, i, NULL);
    return 1;
}

static int set_name(struct reader *r, size_t i, struct ks_problem *p)
{
    int rc;

    if (strlen(r->field[i]) < sizeof p->name) {
        memcpy(p->name, r->field[i], strlen(r->field[i]) + 1);
        return 1;
    }
    rc = refuse_field(r, i, "is too long");
    return rc < 0 ? rc : 0;
}

static int set_time(struct reader *r, size_t i)
{
    int rc = r->field[i][0] ? set_number(r, i, &r->time_ns) : 1;

    if (rc == 1 && r->time_ns < 0) {
        rc = refuse_field(r, i, "is negative");
        return rc < 0 ? rc : 0;
    }
    return rc;
}

static int set_rank(struct reader *r, size_t i)
{
    int rc = r->field[i][0] ? set_number(r, i, &r->rank) : 1;

    if (rc == 1 && (r->rank < 0 || r->rank > UINT32_MAX)) {
        rc = refuse_field(r, i, "is out of range");
        return rc < 0 ? rc : 0;
    }
    return rc;
}

static int set_dim(struct reader *r, size_t i, int64_t *out)
{
    r->is_empty[i] = !r->field[i][0] && !r->has_blanks[i];
    return r->is_empty[i] ? 1 : set_number(r, i, out);
}

static int set_field(struct reader *r, size_t i, struct ks_problem *p)
{
    const char *text = r->field[i];

    switch (r->column[i]) {
    case COL_OPERATOR: /* read_row() has seen to it */
        return 1;
    case COL_DIRECTION:
        return set_choice(r, i, ks_direction_from(text), &p->direction);
    case COL_DTYPE:
        return set_choice(r, i, ks_dtype_from(text), &p->dtype);
    case COL_LAYOUT:
        return set_choice(r, i, ks_layout_from(text), &p->layout);
    case COL_COUNT:
        return text[0] ? set_number(r, i, &p->count) : 1;
    case COL_NAME:
        return set_name(r, i, p);
    case COL_TIME:
        return set_time(r, i);
    case COL_RANK:
        return set_rank(r, i);
    default:
        return set_dim(r, i, &p->dim[r->column[i] - COL_DIM]);
    }
}

static int take_fields(struct reader *r)
{
    struct ks_problem p = ks_problem_blank(r->op);
    struct ks_err why;
    int rc = 1;

    memset(r->is_empty, 0, sizeof r->is_empty);
    r->time_ns = r->rank = 0;
    for (size_t i = 0; rc == 1 && i < r->n_columns; i++)
        rc = set_field(r, i, &p);
    if (rc == 1)
        rc = check_empty(r, &p);
    if (rc <= 0)
        return rc;
    if (ks_problem_finish(&p, &why) < 0)
        return ks_import_refuse_err(&r->im, &why);
    rc = ks_import_take(&r->im, &p, 1);
    if (rc == 0 && r->time_ns)
        ks_problem_set_add_time(r->im.set, p.id, r->time_ns);
    if (rc == 0)
        ks_problem_set_add_rank(r->im.set, p.id, (uint32_t)r->rank);
    return rc;
}

/* Before the line is split, which trims its fields. */
static void look_for_blanks(struct reader *r)
{
    bool is_quoted = false;
    size_t i = 0;

    memset(r->has_blanks, 0, sizeof r->has_blanks);
    for (const char *c = ks_buf_text(&r->im.text); *c && i < MOST_FIELDS; c++) {
        if (*c == '"')
            is_quoted = !is_quoted;
        else if (*c == ',' && !is_quoted)
            i++;
        else if ((*c == ' ' || *c == '\t') && !is_quoted)
            r->has_blanks[i] = true;
    }
}

static const char *split_row(struct reader *r)
{
    look_for_blanks(r);
    return ks_csv_split((char *)r->im.text.data, true, r->field, MOST_FIELDS, &r->n_fields);
}

static int read_row(struct reader *r)
{
    const char *wrong = split_row(r);
    struct ks_err why;
    int rc;

    if (wrong)
        return ks_import_refuse(&r->im, "%s", wrong);
    if (!r->has_operator) {
        if (ks_operator_find(r->field[0], &r->op, &why) < 0)
            return ks_import_refuse(&r->im, "column 1: %s", why.text);
        rc = read_columns(r);
        if (rc < 0)
            return rc;
    }
    if (strcmp(r->field[0], ks_operators[r->op]->name) != 0)
        return ks_import_refuse(&r->im,
                                "column 1 (operator): '%.40s' is not %s, the operator below the "
                                "header in line %" PRIu64
                                ": another operator needs a header of its own",
                                r->field[0], ks_operators[r->op]->name, r->header_line);
    if (r->n_fields != r->n_columns)
        return ks_import_refuse(&r->im, "%zu fields, the header has %zu columns", r->n_fields,
                                r->n_columns);
    return take_fields(r);
}

static int read_lines(struct reader *r)
{
    int rc;

    while ((rc = ks_import_text_line(&r->im)) > 0) {
        const char *line = ks_buf_text(&r->im.text), *first = line + strspn(line, " \t");
        bool is_first = is_header(first, strlen(first)), is_row = r->has_header && !is_first;

        if (rc == 2 && is_first) /* the rows below it would be read by the one above */
            return ks_fail(r->im.err, KS_EFORMAT, "%s:%" PRIu64 ": the header is not text",
                           r->im.name, r->im.line);
        if (rc == 2)
            continue;
        if (ks_import_is_blank(line)) {
            r->im.set->n_other++;
            continue;
        }
        r->im.set->n_other += !is_row;
        rc = is_row ? read_row(r) : keep_header(r);
        if (rc < 0)
            return rc;
    }
    if (rc == 0 && !r->has_header)
        return ks_fail(r->im.err, KS_EFORMAT, "%s: no header (it begins with 'operator,')",
                       r->im.name);
    return rc;
}

static int csv_read(struct ks_problem_set *set, const char *text, size_t len, const char *name,
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

const struct ks_importer ks_import_csv = { .name = "csv", .sniff = csv_sniff, .read = csv_read };
