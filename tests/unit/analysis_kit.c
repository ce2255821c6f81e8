/* SPDX-License-Identifier: MIT */
/* analysis_kit.c - made-up times for tests of analysis/, and their tables as they come out */
#include "analysis_kit.h"

#include "analysis/learn/derive.h"
#include "analysis/out/ck_csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ks_view *akit_view(const struct place *p, enum ks_merge how)
{
    struct ks_view *v = NULL;
    struct ks_err err = { 0 };

    if (ks_view_open(p->file, how, &v, &err) < 0)
        fail_msg("%s", err.text);
    return v;
}

struct ks_record *akit_timed(struct skit *k, uint32_t i_problem, uint32_t i_instance, double ns)
{
    struct ks_record *r = skit_record(k, i_problem, i_instance, 3);

    r->calls_per_sample = 1;
    r->clock_resolution_ns = 0;
    r->sample_ns[0] = ns * 0.99;
    r->sample_ns[1] = ns;
    r->sample_ns[2] = ns * 1.01;
    return r;
}

/* ---- frames ---- */

void akit_rows_open(struct akit_rows *r, struct ks_view *v)
{
    struct ks_err err = { 0 };

    *r = (struct akit_rows){ 0 };
    if (ks_obs_need(&r->sources, ks_view_file(v), &err) < 0 ||
        ks_reader_open(v, &r->sources, 1, &r->reader, &err) < 0)
        fail_msg("%s", err.text);
}

bool akit_rows_next(struct akit_rows *r, const struct ks_obs **rows_out, size_t *n_out)
{
    struct ks_obs_reader columns;
    struct ks_df *f;
    struct ks_err err = { 0 };
    int rc = ks_reader_next(r->reader, &f, &err);

    if (rc <= 0) {
        assert_int_equal(rc, 0);
        return false;
    }
    assert_int_equal(ks_obs_bind(f, &columns, &err), 0);
    r->rows = realloc(r->rows, f->n_rows * sizeof(*r->rows));
    for (size_t i = 0; i < f->n_rows; i++)
        ks_obs_read(&columns, i, &r->rows[i]);
    *rows_out = r->rows;
    *n_out = f->n_rows;
    return true;
}

void akit_rows_close(struct akit_rows *r)
{
    ks_reader_close(r->reader);
    ks_sources_release(&r->sources);
    free(r->rows);
}

static const struct ks_df *open_joined(const struct ks_view *v, enum ks_table_id from,
                                       const char *const *columns, struct ks_joined **out)
{
    struct ks_err err = { 0 };
    size_t n = 0;

    while (columns[n])
        n++;
    if (ks_joined_open(ks_view_file(v), from, columns, n, out, &err) < 0)
        fail_msg("%s", err.text);
    return ks_joined_df(*out);
}

void akit_summarise(const struct place *p, struct ks_view **v_out, struct ks_summary *s,
                    struct akit_held *held)
{
    struct ks_sources sources = { 0 };
    struct ks_summarizer *c;
    struct ks_reader *r;
    struct ks_df *f;
    struct ks_view *v = akit_view(p, KS_MERGE_NEWEST);
    const struct ks_df *problems =
        open_joined(v, KS_T_PROBLEMS, ks_tables_problems, &held->joined[0]);
    const struct ks_df *instances =
        open_joined(v, KS_T_KERNELS, ks_tables_instances, &held->joined[1]);
    const struct ks_df *devices = open_joined(v, KS_T_DEVICES, ks_tables_devices, &held->joined[2]);

    *v_out = v;
    assert_int_equal(ks_tables_init(&held->tables, problems, instances, devices, NULL), 0);
    assert_int_equal(ks_summarizer_create(&held->tables, &c, NULL), 0);
    assert_int_equal(ks_obs_need(&sources, ks_view_file(v), NULL), 0);
    assert_int_equal(ks_reader_open(v, &sources, 0, &r, NULL), 0);
    while (ks_reader_next(r, &f, NULL) > 0)
        assert_int_equal(ks_summarizer_add(c, f, NULL), 0);
    assert_int_equal(ks_summarizer_end(c, s, NULL), 0);
    ks_summarizer_destroy(c);
    ks_reader_close(r);
    ks_sources_release(&sources);
}

void akit_release(struct ks_summary *s, struct akit_held *held)
{
    ks_summary_release(s);
    ks_tables_release(&held->tables);
    for (size_t i = 0; i < 3; i++)
        ks_joined_close(held->joined[i]);
}

bool akit_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b);
}

void akit_write(struct ks_view *v, const struct ks_format *w, enum ks_columns_version version,
                size_t batch_rows, struct ks_buf *b)
{
    struct ks_sources sources = { 0 };
    struct ks_derive *d;
    struct ks_reader *r;
    struct ks_df *f;
    struct ks_sink to;
    void *state = calloc(1, w->state_size);
    size_t n;

    ks_sink_init(&to, -1, "nowhere");
    assert_int_equal(ks_sources_training(&sources, ks_view_file(v), version, NULL), 0);
    n = sources.n;
    assert_int_equal(ks_derive_need(&sources, ks_view_file(v), NULL), 0);
    assert_int_equal(ks_derive_create(&d, NULL), 0);
    assert_int_equal(ks_reader_open(v, &sources, batch_rows, &r, NULL), 0);
    assert_int_equal(w->begin(state, ks_reader_df(r), n, &to, NULL), 0);
    while (ks_reader_next(r, &f, NULL) > 0) {
        assert_int_equal(ks_derive(d, f, NULL), 0);
        assert_int_equal(w->put(state, f, n, &to, NULL), 0);
    }
    assert_int_equal(w->end(state, &to, NULL), 0);
    w->release(state);
    free(state);
    ks_derive_destroy(d);
    ks_reader_close(r);
    ks_sources_release(&sources);
    *b = to.text;
}

void akit_csv(const struct place *p, enum ks_columns_version version, struct ks_buf *b)
{
    struct ks_view *v = akit_view(p, KS_MERGE_ALL);

    akit_write(v, &ks_format_csv, version, 0, b);
    ks_view_close(v);
}

int akit_ck(struct ks_view *v, struct ks_buf *b, struct ks_err *err)
{
    struct ks_sources sources = { 0 };
    struct ks_ck_csv c = { 0 };
    struct ks_reader *r;
    struct ks_df *f;
    struct ks_sink to;
    int rc = 0;

    ks_sink_init(&to, -1, "nowhere");
    assert_int_equal(ks_ck_csv_need(ks_view_file(v), &sources, NULL), 0);
    assert_int_equal(ks_obs_need(&sources, ks_view_file(v), NULL), 0);
    assert_int_equal(ks_reader_open(v, &sources, 0, &r, NULL), 0);
    while (rc == 0 && ks_reader_next(r, &f, NULL) > 0) {
        uint32_t rows[64];
        size_t n;

        assert_true(f->n_rows <= 64);
        assert_int_equal(ks_usable_rows(f, rows, &n, NULL), 0);
        rc = ks_ck_csv_put(&c, f, rows, n, &to, err);
    }
    ks_reader_close(r);
    ks_sources_release(&sources);
    *b = to.text;
    return rc;
}

const char *akit_behind(const char *p)
{
    bool is_quoted = *p == '"';

    if (!is_quoted)
        return p + strcspn(p, ",\n");
    for (p++; *p != '"' || p[1] == '"'; p++)
        p += *p == '"';
    return p + 1;
}

void akit_cell(const char *csv, int line, const char *column, char *out, size_t cap)
{
    const char *p = csv;
    int at = 0;

    while (akit_behind(p) - p != (long)strlen(column) || strncmp(p, column, strlen(column)) != 0) {
        p = akit_behind(p);
        if (*p++ == '\n')
            fail_msg("no column '%s'", column);
        at++;
    }
    for (p = csv; line > 0; line--)
        p = strchr(p, '\n') + 1;
    for (; at > 0; at--)
        p = akit_behind(p) + 1;
    snprintf(out, cap, "%.*s", (int)(akit_behind(p) - p), p);
}
