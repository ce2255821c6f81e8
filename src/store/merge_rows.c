/* SPDX-License-Identifier: MIT */
#include "store/merge_impl.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW 65536u /* samples read at once */

/* ---- big tables: what must be known before they are written ---- */

static size_t text_length(const struct ks_table_reader *r, const char *column)
{
    const struct ks_column *c = ks_table_column(r->layout.def, column);
    size_t k = (size_t)(c - r->layout.def->columns);

    return r->layout.at[k] == KS_NO_COLUMN ? 0 : r->layout.len[k];
}

static void longer(size_t *longest_io, size_t n)
{
    *longest_io = n > *longest_io ? n : *longest_io;
}

/* Rows of one table of the open file, one after the other. */
static int each_row(const struct ks_merge_state *m, enum ks_table_id table, void *row,
                    int (*fn)(void *ctx, uint64_t i, void *row, struct ks_err *err), void *ctx,
                    struct ks_err *err)
{
    struct ks_table_reader r = { 0 };
    const uint8_t *packed;
    int rc = ks_table_open(&r, m->file, &ks_table_defs[table], err);

    for (uint64_t i = 0; rc == 0 && i < r.n_rows; i++) {
        rc = ks_table_row(&r, i, &packed, err);
        if (rc == 0)
            rc = ks_packing_unpack(&r.layout, packed, row, err);
        if (rc == 0)
            rc = fn(ctx, i, row, err);
    }
    ks_table_close(&r);
    return rc;
}

struct visit {
    struct ks_merge_state *m;
    struct ks_merge_source *s;
    const struct ks_sink *sink;
};

static int on_event(void *ctx, uint64_t i, void *row, struct ks_err *err)
{
    const struct visit *v = ctx;
    struct ks_event_row *e = row;
    void *added;
    int rc;

    (void)i;
    if (e->run >= v->s->n_runs || v->s->run[e->run] == KS_NO_ROW)
        return 0;
    rc = ks_list_add(&v->m->index.events, &added, err);
    if (rc < 0)
        return rc;
    e->run = v->s->run[e->run];
    memcpy(added, e, sizeof(*e));
    return 0;
}

static int measure_big(struct ks_merge_state *m, struct ks_merge_source *s, struct ks_err *err)
{
    static const enum ks_table_id big[] = { KS_T_MEASUREMENTS, KS_T_ATTEMPTS, KS_T_FAILURES,
                                            KS_T_MISMATCHES };
    struct ks_event_row event;
    struct visit v = { m, s, NULL };
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(big) / sizeof(big[0]); i++) {
        struct ks_table_reader r = { 0 };

        rc = ks_table_open(&r, m->file, &ks_table_defs[big[i]], err);
        if (rc == 0 && i < 2) {
            longer(&m->index.longest_reason, text_length(&r, "reason"));
            longer(&m->index.longest_outcome, text_length(&r, "outcome_text"));
        }
        if (rc == 0 && big[i] == KS_T_ATTEMPTS)
            s->n_attempts = r.n_rows;
        if (rc == 0 && big[i] == KS_T_FAILURES) {
            longer(&m->index.longest_tail, text_length(&r, "output_tail"));
            longer(&m->index.longest_box, text_length(&r, "wrong_box"));
        }
        if (rc == 0 && i >= 2)
            m->n_rows[big[i]] += r.n_rows;
        ks_table_close(&r);
    }
    return rc == 0 ? each_row(m, KS_T_EVENTS, &event, on_event, &v, err) : rc;
}

/* ---- rows ---- */

static bool map_row(const uint32_t *map, uint32_t n, uint32_t *row_io)
{
    if (*row_io == KS_NO_ROW)
        return true;
    if (*row_io >= n)
        return false;
    *row_io = map[*row_io];
    return true;
}

/* 1; 0: of a run that is left out; KS_EFORMAT: it refers to rows that are not there. */
static int remap(const struct ks_merge_source *s, struct ks_row *row, struct ks_err *err)
{
    if (row->run >= s->n_runs || !map_row(s->problem, s->n_problems, &row->problem) ||
        !map_row(s->kernel, s->n_kernels, &row->kernel) ||
        !map_row(s->device, s->n_devices, &row->device) ||
        !map_row(s->block, s->n_blocks, &row->block))
        return ks_fail(err, KS_EFORMAT, "a measurement refers to a row that does not exist");
    row->run = s->run[row->run];
    return row->run != KS_NO_ROW;
}

static int read_window(struct ks_merge_state *m, uint64_t at, struct ks_err *err)
{
    uint64_t n = m->n_file_samples - at;

    m->n_window = n < WINDOW ? n : WINDOW;
    m->window_at = at;
    return ks_h5_read(m->samples, H5T_IEEE_F32LE, at, (size_t)m->n_window, m->window, err);
}

static int put_samples(const struct visit *v, uint64_t at, uint64_t n, struct ks_err *err)
{
    struct ks_merge_state *m = v->m;
    int rc = 0;

    if (at > m->n_file_samples || n > m->n_file_samples - at)
        return ks_fail(err, KS_EFORMAT, "'%s': a row refers to samples beyond the last one",
                       v->s->path);
    m->next_sample += n;
    while (rc == 0 && n > 0) {
        uint64_t here;

        if (at < m->window_at || at >= m->window_at + m->n_window)
            rc = read_window(m, at, err);
        if (rc < 0)
            return rc;
        here = m->window_at + m->n_window - at;
        here = here < n ? here : n;
        rc = v->sink->samples(v->sink->ctx, m->window + (at - m->window_at), (size_t)here, err);
        at += here;
        n -= here;
    }
    return rc;
}

static int on_attempt(void *ctx, uint64_t i, void *at, struct ks_err *err)
{
    struct visit *v = ctx;
    struct ks_row *row = at;
    uint64_t from = row->sample_offset;
    int rc = remap(v->s, row, err);

    v->s->attempt[i] = UINT64_MAX;
    if (rc <= 0)
        return rc;
    v->s->attempt[i] = v->m->next_attempt++;
    row->sample_offset = v->m->next_sample;
    rc = v->sink->row(v->sink->ctx, KS_T_ATTEMPTS, row, err);
    return rc == 0 && row->n_samples ? put_samples(v, from, row->n_samples, err) : rc;
}

static int on_measurement(void *ctx, uint64_t i, void *at, struct ks_err *err)
{
    const struct visit *v = ctx;
    struct ks_row *row = at;
    int rc = remap(v->s, row, err);

    (void)i;
    if (rc <= 0)
        return rc;
    if (row->attempt_row >= v->s->n_attempts)
        return ks_fail(err, KS_EFORMAT, "a measurement belongs to no attempt");
    row->attempt_row = v->s->attempt[row->attempt_row];
    if (row->attempt_row == UINT64_MAX)
        return ks_fail(err, KS_EFORMAT, "a measurement belongs to an attempt of another run");
    return v->sink->row(v->sink->ctx, KS_T_MEASUREMENTS, row, err);
}

/* Rows of /failures and /mismatches begin with the row of /attempts. */
static int put_detail(const struct visit *v, enum ks_table_id table, uint64_t *attempt_row,
                      const void *row, struct ks_err *err)
{
    if (*attempt_row >= v->s->n_attempts)
        return ks_fail(err, KS_EFORMAT, "'%s': a row of '%s' belongs to no attempt", v->s->path,
                       ks_table_defs[table].path);
    *attempt_row = v->s->attempt[*attempt_row];
    return *attempt_row == UINT64_MAX ? 0 : v->sink->row(v->sink->ctx, table, row, err);
}

static int on_failure(void *ctx, uint64_t i, void *row, struct ks_err *err)
{
    (void)i;
    return put_detail(ctx, KS_T_FAILURES, &((struct ks_failure_row *)row)->attempt_row, row, err);
}

static int on_mismatch(void *ctx, uint64_t i, void *row, struct ks_err *err)
{
    (void)i;
    return put_detail(ctx, KS_T_MISMATCHES, &((struct ks_mismatch_row *)row)->attempt_row, row,
                      err);
}

static int open_file(struct ks_merge_state *m, const struct ks_merge_source *s, struct ks_err *err)
{
    m->file = ks_h5_open(s->path);
    if (m->file < 0)
        return ks_fail(err, KS_EFORMAT, "'%s' is not an HDF5 file, or is damaged", s->path);
    m->samples = H5Dopen2(m->file, KS_SAMPLES_PATH, H5P_DEFAULT);
    if (m->samples < 0)
        return ks_fail(err, KS_EFORMAT, "'%s': '%s' is missing", s->path, KS_SAMPLES_PATH);
    m->n_window = m->window_at = 0;
    return ks_h5_extent(m->samples, &m->n_file_samples, err);
}

static void close_file(struct ks_merge_state *m)
{
    ks_h5_close(m->samples);
    ks_h5_close(m->file);
    m->samples = m->file = KS_H5_NONE;
}

static int put_file(struct visit *v, struct ks_err *err)
{
    struct ks_failure_row *failure = malloc(sizeof(*failure));
    struct ks_mismatch_row mismatch;
    struct ks_row row;
    int rc = failure ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    v->s->attempt = malloc((size_t)(v->s->n_attempts + 1) * sizeof(*v->s->attempt));
    if (rc == 0 && !v->s->attempt)
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %llu rows",
                     (unsigned long long)v->s->n_attempts);
    if (rc == 0)
        rc = each_row(v->m, KS_T_ATTEMPTS, &row, on_attempt, v, err);
    if (rc == 0)
        rc = each_row(v->m, KS_T_MEASUREMENTS, &row, on_measurement, v, err);
    if (rc == 0)
        rc = each_row(v->m, KS_T_FAILURES, failure, on_failure, v, err);
    if (rc == 0)
        rc = each_row(v->m, KS_T_MISMATCHES, &mismatch, on_mismatch, v, err);
    free(failure);
    free(v->s->attempt);
    v->s->attempt = NULL;
    return rc;
}

int ks_merge_produce(void *ctx, const struct ks_sink *sink, struct ks_err *err)
{
    struct ks_merge_state *m = ctx;
    int rc = ks_produce_small(&m->index, sink, err);

    m->window = malloc(WINDOW * sizeof(*m->window));
    if (rc == 0 && !m->window)
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < m->n_sources; i++) {
        struct visit v = { m, &m->sources[i], sink };

        rc = open_file(m, v.s, err);
        if (rc == 0)
            rc = put_file(&v, err);
        if (rc < 0)
            rc = ks_err_context(err, rc, "'%s'", v.s->path);
        close_file(m);
    }
    free(m->window);
    m->window = NULL;
    return rc;
}

int ks_merge_plan_rows(struct ks_merge_state *m, struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < m->n_sources; i++) {
        rc = open_file(m, &m->sources[i], err);
        if (rc == 0)
            rc = measure_big(m, &m->sources[i], err);
        close_file(m);
    }
    return rc;
}
