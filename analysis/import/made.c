/* SPDX-License-Identifier: MIT */
/* made.c - reads tables that ksweep-analyze wrote, CSV or HDF5, back as frames */
#include "analysis/import/made.h"
#include "analysis/data/catalogue.h"
#include "analysis/data/words.h"
#include "analysis/import/text_in.h"
#include "base/hash.h"
#include "base/opt.h"
#include "base/text.h"
#include "store/flat.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_ROWS   ((size_t)8192)
#define MOST_COLUMNS 4096

struct column {
    struct ks_words words;
    double *f64; /* [BATCH_ROWS] numbers: one of the two */
    int64_t *i64;
    uint8_t *missing;
    uint32_t *code; /* of texts */
};

struct ks_made {
    const char *path; /* borrowed */
    struct ks_df frame;
    struct column *columns; /* [n_columns] */
    struct ks_sources all;  /* the columns there are */
    struct ks_text_in in;   /* CSV; in.name NULL: it is none */
    struct ks_flat_reader *flat;
    const struct ks_flat_column *flat_columns; /* [n_columns] borrowed */
    uint64_t n_flat, next_flat;
    char *header;        /* names point into it */
    const char **fields; /* [n_columns] of a line */
};

/* ---- columns ---- */

static const struct ks_source *find_source(const struct ks_made *m, const char *name)
{
    for (size_t i = 0; i < m->all.n; i++)
        if (strcmp(m->all.at[i].name, name) == 0)
            return &m->all.at[i];
    return NULL;
}

static int unknown(const struct ks_made *m, const char *name, struct ks_err *err)
{
    const char **names = calloc(m->all.n + 1, sizeof(*names)), *near = NULL;
    int rc;

    for (size_t i = 0; names && i < m->all.n; i++)
        names[i] = m->all.at[i].name;
    if (names)
        near = ks_nearest(name, names);
    rc = ks_fail(err, KS_EFORMAT,
                 "'%s': column '%.60s' is not a column of a table of ksweep-analyze%s%s%s", m->path,
                 name, near ? ", did you mean '" : "", near ? near : "", near ? "'" : "");
    free(names);
    return rc;
}

static bool begins_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0 && name[strlen(prefix)] != '\0';
}

/* Whether a trait is a number only its values say: it stays a text, unless the file has a type. A
 * feature is a number; its unit is that of the file. flat NULL: a CSV */
static struct ks_df_column describe(const struct ks_source *s, const char *name,
                                    const struct ks_flat_column *flat)
{
    struct ks_df_column c = { .name = name,
                              .unit = flat ? flat->unit : "",
                              .role = KS_CR_FEATURE,
                              .type = KS_DF_TEXT,
                              .show = KS_AS_NUMBER };

    if (s) {
        c.unit = s->def.units;
        c.role = s->def.role;
        c.type = ks_source_type(s);
        c.show = ks_source_show(s);
    } else if (begins_with(name, KS_FEATURE_PREFIX)) {
        c.type = KS_DF_F64;
        c.show = KS_AS_F32;
    } else if (flat && flat->type == KS_COL_I64) {
        c.type = KS_DF_I64;
    }
    return c;
}

static int add_column(struct ks_made *m, size_t i, const char *name,
                      const struct ks_flat_column *flat, struct ks_err *err)
{
    bool is_free = begins_with(name, KS_TRAIT_PREFIX) || begins_with(name, KS_FEATURE_PREFIX);
    const struct ks_source *s = is_free ? NULL : find_source(m, name);
    struct ks_df_column *c = &m->frame.columns[i];
    struct column *held = &m->columns[i];

    if (!s && !is_free)
        return unknown(m, name, err);
    for (size_t k = 0; k < i; k++)
        if (strcmp(m->frame.columns[k].name, name) == 0)
            return ks_fail(err, KS_EFORMAT, "'%s': duplicate column '%.60s'", m->path, name);
    *c = describe(s, name, flat);
    if (c->type == KS_DF_TEXT)
        held->code = malloc(BATCH_ROWS * sizeof(*held->code));
    else if (c->type == KS_DF_F64)
        held->f64 = malloc(BATCH_ROWS * sizeof(*held->f64));
    else
        held->i64 = malloc(BATCH_ROWS * sizeof(*held->i64));
    held->missing = malloc(BATCH_ROWS);
    return held->missing && (held->code || held->f64 || held->i64)
               ? 0
               : ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", BATCH_ROWS);
}

static int allocate(struct ks_made *m, size_t n, struct ks_err *err)
{
    m->frame.n_columns = n;
    m->frame.columns = calloc(n + 1, sizeof(*m->frame.columns));
    m->columns = calloc(n + 1, sizeof(*m->columns));
    m->fields = calloc(n + 1, sizeof(*m->fields));
    return m->frame.columns && m->columns && m->fields ? 0
                                                       : ks_fail(err, KS_ENOMEM, "out of memory");
}

/* ---- values ---- */

static int bad_value(const struct ks_made *m, size_t i, const char *text, struct ks_err *err)
{
    return ks_fail(err, KS_EFORMAT, "%s:%llu: column '%s': '%.60s' is not a valid value", m->path,
                   (unsigned long long)m->in.line, m->frame.columns[i].name, text);
}

static bool is_utf8(const char *text, size_t n)
{
    for (size_t at = 0, len; at < n; at += len) {
        len = ks_utf8_next((const unsigned char *)text + at, n - at);
        if (len == 0)
            return false;
    }
    return true;
}

static int put_text(struct ks_made *m, size_t i, size_t row, const char *text, size_t n,
                    struct ks_err *err)
{
    struct column *held = &m->columns[i];
    const uint32_t n_before = held->words.n;
    int rc;

    held->code[row] = KS_DF_NONE;
    if (n == 0)
        return 0;
    rc = ks_words_add(&held->words, text, n, &held->code[row], err);
    if (rc == 0 && held->words.n > n_before && !is_utf8(text, n))
        return ks_fail(err, KS_EFORMAT, "%s:%llu: column '%s': the value is not UTF-8", m->path,
                       (unsigned long long)m->in.line, m->frame.columns[i].name);
    return rc;
}

/* The number of a field that is not empty. */
static bool parse(const struct ks_df_column *c, struct column *held, size_t row, const char *text)
{
    uint64_t id = 0;
    char *end;

    if (c->type == KS_DF_I64 && c->show == KS_AS_HEX) {
        if (!ks_unhex64(text, &id))
            return false;
        held->i64[row] = (int64_t)id;
        return true;
    }
    if (strspn(text, " \t\v\f\r\n") || (c->show == KS_AS_UNSIGNED && text[0] == '-'))
        return false;
    errno = 0;
    if (c->type == KS_DF_F64 && c->show == KS_AS_F32)
        held->f64[row] = (double)strtof(text, &end);
    else if (c->type == KS_DF_F64)
        held->f64[row] = strtod(text, &end);
    else if (c->show == KS_AS_UNSIGNED)
        held->i64[row] = (int64_t)strtoull(text, &end, 10);
    else
        held->i64[row] = strtoll(text, &end, 10);
    return *end == '\0' && (errno == 0 || c->type == KS_DF_F64) &&
           (c->type != KS_DF_F64 || isfinite(held->f64[row]));
}

static int put_field(struct ks_made *m, size_t i, size_t row, const char *text, struct ks_err *err)
{
    const struct ks_df_column *c = &m->frame.columns[i];
    struct column *held = &m->columns[i];

    if (c->type == KS_DF_TEXT)
        return put_text(m, i, row, text, strlen(text), err);
    held->missing[row] = text[0] == '\0';
    if (held->missing[row]) {
        if (held->f64)
            held->f64[row] = 0;
        else
            held->i64[row] = 0;
        return 0;
    }
    return parse(c, held, row, text) ? 0 : bad_value(m, i, text, err);
}

/* Below 0 where the column's missing value is the usual one: then it has no such numbers. */
static bool is_no_real(const struct ks_flat_column *c, double v)
{
    return c->no_real < KS_FLAT_NO_REAL ? v <= c->no_real : v < 0;
}

/* Of an HDF5 table; ids are texts there. */
static int put_flat(struct ks_made *m, size_t i, size_t row, struct ks_err *err)
{
    const struct ks_df_column *c = &m->frame.columns[i];
    const void *at = ks_flat_value(m->flat, i);
    struct column *held = &m->columns[i];

    if (c->type == KS_DF_TEXT || c->show == KS_AS_HEX)
        return put_field(m, i, row, at, err);
    if (c->type == KS_DF_I64) {
        memcpy(&held->i64[row], at, sizeof(held->i64[row]));
        held->missing[row] = held->i64[row] == KS_FLAT_NO_I64;
    } else {
        memcpy(&held->f64[row], at, sizeof(held->f64[row]));
        if (!isfinite(held->f64[row]))
            return ks_fail(err, KS_EFORMAT, "'%s': row %zu: column '%s': not a finite number",
                           m->path, (size_t)m->next_flat, c->name);
        held->missing[row] = is_no_real(&m->flat_columns[i], held->f64[row]);
    }
    return 0;
}

static void show(struct ks_made *m, size_t n)
{
    for (size_t i = 0; i < m->frame.n_columns; i++) {
        struct ks_df_column *c = &m->frame.columns[i];
        struct column *held = &m->columns[i];

        c->code = held->code;
        c->missing = held->code ? NULL : held->missing;
        c->n_values = held->code ? held->words.n : n;
        if (held->code)
            c->values.text = (const char *const *)held->words.text;
        else if (held->f64)
            c->values.f64 = held->f64;
        else
            c->values.i64 = held->i64;
    }
}

/* ---- CSV ---- */

static int open_csv(struct ks_made *m, struct ks_err *err)
{
    const char **names = calloc(MOST_COLUMNS, sizeof(*names)), *wrong;
    size_t n = 0, n_line;
    char *line;
    int rc =
        names ? ks_text_in_open(&m->in, m->path, err) : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = ks_text_in_line(&m->in, &line, &n_line, err);
    if (rc == 0)
        rc = ks_fail(err, KS_EFORMAT, "'%s' is empty: no header", m->path);
    if (rc > 0) {
        m->header = strdup(line);
        rc = m->header ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
    }
    if (rc == 0) {
        wrong = ks_csv_split(m->header, false, names, MOST_COLUMNS, &n);
        rc = wrong ? ks_fail(err, KS_EFORMAT, "%s:1: %s", m->path, wrong) : allocate(m, n, err);
    }
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = add_column(m, i, names[i], NULL, err);
    free(names);
    return rc;
}

static int next_line(struct ks_made *m, size_t row, struct ks_err *err)
{
    const char *wrong;
    char *line;
    size_t n;
    int rc = ks_text_in_line(&m->in, &line, &n, err);

    if (rc <= 0)
        return rc;
    wrong = ks_csv_split(line, false, m->fields, m->frame.n_columns, &n);
    if (!wrong && n < m->frame.n_columns)
        wrong = "fewer fields than columns";
    if (wrong)
        return ks_fail(err, KS_EFORMAT, "%s:%llu: %s", m->path, (unsigned long long)m->in.line,
                       wrong);
    rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = put_field(m, i, row, m->fields[i], err);
    return rc < 0 ? rc : 1;
}

/* ---- HDF5 ---- */

static int open_flat(struct ks_made *m, struct ks_err *err)
{
    const struct ks_flat_column *columns;
    size_t n;
    int rc = ks_flat_open(m->path, &m->flat, &columns, &n, &m->n_flat, err);

    if (rc == 0) {
        m->flat_columns = columns;
        rc = allocate(m, n, err);
    }
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = add_column(m, i, columns[i].name, &columns[i], err);
        if (rc == 0) {
            const struct ks_df_column *c = &m->frame.columns[i];
            bool is_text = c->type == KS_DF_TEXT || c->show == KS_AS_HEX;
            bool is_whole = c->type == KS_DF_I64 && !is_text;

            if (is_text != (columns[i].type == KS_COL_TEXT) ||
                is_whole != (columns[i].type == KS_COL_I64))
                rc = ks_fail(err, KS_EFORMAT, "'%s': column '%s' has another type", m->path,
                             columns[i].name);
        }
    }
    return rc;
}

static int next_flat(struct ks_made *m, size_t row, struct ks_err *err)
{
    int rc;

    if (m->next_flat == m->n_flat)
        return 0;
    rc = ks_flat_read(m->flat, m->next_flat++, err);
    for (size_t i = 0; rc == 0 && i < m->frame.n_columns; i++)
        rc = put_flat(m, i, row, err);
    return rc < 0 ? rc : 1;
}

/* ---- both ---- */

static bool is_hdf5(const char *path)
{
    bool is_one = false;

    return ks_text_in_is_hdf5(path, &is_one, NULL) == 0 && is_one;
}

bool ks_made_is_hdf5_table(const char *path)
{
    const struct ks_flat_column *columns;
    struct ks_flat_reader *r = NULL;
    uint64_t n_rows;
    size_t n;
    bool is_one = is_hdf5(path) && ks_flat_open(path, &r, &columns, &n, &n_rows, NULL) == 0;

    ks_flat_reader_close(r);
    return is_one;
}

int ks_made_open(const char *path, struct ks_made **made_out, struct ks_err *err)
{
    struct ks_made *m = calloc(1, sizeof(*m));
    int rc = m ? ks_sources_training(&m->all, NULL, KS_COLUMNS_V2, err)
               : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = ks_sources_oracle(&m->all, err);
    if (rc == 0) {
        m->path = path;
        rc = is_hdf5(path) ? open_flat(m, err) : open_csv(m, err);
    }
    if (rc < 0) {
        ks_made_close(m);
        return rc;
    }
    *made_out = m;
    return 0;
}

void ks_made_close(struct ks_made *m)
{
    if (!m)
        return;
    for (size_t i = 0; m->columns && i < m->frame.n_columns; i++) {
        struct column *held = &m->columns[i];

        ks_words_release(&held->words);
        free(held->f64);
        free(held->i64);
        free(held->missing);
        free(held->code);
    }
    ks_text_in_close(&m->in);
    ks_flat_reader_close(m->flat);
    ks_sources_release(&m->all);
    free(m->frame.columns);
    free(m->columns);
    free(m->fields);
    free(m->header);
    free(m);
}

const struct ks_df *ks_made_df(const struct ks_made *m)
{
    return &m->frame;
}

int ks_made_next(struct ks_made *m, struct ks_df **frame_out, struct ks_err *err)
{
    size_t n = 0;
    int rc = 1;

    while (rc > 0 && n < BATCH_ROWS) {
        rc = m->flat ? next_flat(m, n, err) : next_line(m, n, err);
        n += rc > 0;
    }
    if (rc < 0 || n == 0)
        return rc;
    m->frame.first_row += m->frame.n_rows;
    m->frame.n_rows = n;
    show(m, n);
    *frame_out = &m->frame;
    return 1;
}
