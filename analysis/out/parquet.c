/* SPDX-License-Identifier: MIT */
/* parquet.c - writes Parquet by hand, a row group at a time */
/* Debian has no C library for it. A row group is gathered while the one before is encoded and
 * compressed by a thread. Every column is optional, so that a missing value is a null; ids are
 * texts of hex digits, as in CSV. */
#include "analysis/out/parquet_page.h"
#include "analysis/out/thrift.h"
#include "analysis/out/writer.h"
#include "record/columns.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_ROWS ((size_t)64 << 10)

struct state {
    struct ks_pq_group groups[2]; /* one is filled, the other may be in work */
    unsigned filling;             /* its number */
    struct ks_pq_writer writer;
    bool is_begun, has_thread;
    pthread_t thread;
    struct ks_pq_group *in_work;
    int rc; /* of the thread */
    struct ks_err err;
};

/* ---- a row group at a time ---- */

static void *work(void *arg)
{
    struct state *s = arg;

    s->rc = ks_pq_put_group(&s->writer, s->in_work, &s->err);
    return NULL;
}

/* The group in work is in the file. */
static int wait_for(struct state *s, struct ks_err *err)
{
    if (!s->has_thread)
        return 0;
    pthread_join(s->thread, NULL);
    s->has_thread = false;
    ks_pq_group_clear(s->in_work);
    if (s->rc < 0 && err)
        *err = s->err;
    return s->rc;
}

/* Signals are for the thread that handles them. Without a thread the caller does the work. */
static int hand_over(struct state *s, struct ks_err *err)
{
    sigset_t all, before;
    int rc = wait_for(s, err), failed;

    if (rc < 0)
        return rc;
    s->in_work = &s->groups[s->filling];
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&s->thread, NULL, work, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        rc = ks_pq_put_group(&s->writer, s->in_work, err);
        ks_pq_group_clear(s->in_work);
        return rc;
    }
    s->has_thread = true;
    s->filling = !s->filling;
    return 0;
}

/* ---- the format ---- */

static void release(void *state)
{
    struct state *s = state;

    (void)wait_for(s, NULL);
    ks_pq_group_release(&s->groups[0]);
    ks_pq_group_release(&s->groups[1]);
    if (s->is_begun)
        ks_pq_writer_release(&s->writer);
}

static int begin(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
                 struct ks_err *err)
{
    struct state *s = state;
    int rc = ks_pq_group_init(&s->groups[0], f, n_columns, err);

    if (rc == 0)
        rc = ks_pq_group_init(&s->groups[1], f, n_columns, err);
    if (rc < 0)
        return rc;
    s->is_begun = true;
    rc = ks_pq_writer_init(&s->writer, to, err);
    return rc == 0 ? ks_pq_emit(&s->writer, "PAR1", 4, err) : rc;
}

static int put(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
               struct ks_err *err)
{
    struct state *s = state;
    int rc = ks_pq_group_add(&s->groups[s->filling], f, err);

    (void)n_columns;
    (void)to;
    if (rc == 0 && s->groups[s->filling].n_rows >= GROUP_ROWS)
        rc = hand_over(s, err);
    return rc;
}

/* ---- the footer ---- */

/* Numbers of parquet.thrift. */
enum { OPTIONAL = 1, CONVERTED_UTF8 = 0, CONVERTED_UINT_64 = 14 };

static void put_logical(struct ks_thrift *t, uint8_t kind)
{
    if (kind > KS_PQ_HEX && kind != KS_PQ_UNSIGNED)
        return;
    ks_thrift_i32(t, 6, kind == KS_PQ_UNSIGNED ? CONVERTED_UINT_64 : CONVERTED_UTF8);
    ks_thrift_struct(t, 10);
    if (kind == KS_PQ_UNSIGNED) {
        ks_thrift_struct(t, 10); /* INTEGER */
        ks_thrift_i8(t, 1, 64);
        ks_thrift_bool(t, 2, 0);
    } else {
        ks_thrift_struct(t, 1); /* STRING */
    }
    ks_thrift_end(t);
    ks_thrift_end(t);
}

static void put_schema(struct ks_thrift *t, const struct ks_pq_group *g)
{
    ks_thrift_list(t, 2, KS_THRIFT_STRUCT, (uint32_t)g->n_columns + 1);
    ks_thrift_element_struct(t);
    ks_thrift_text(t, 4, "table");
    ks_thrift_i32(t, 5, (int32_t)g->n_columns);
    ks_thrift_end(t);
    for (size_t i = 0; i < g->n_columns; i++) {
        const struct ks_pq_column *c = &g->columns[i];

        ks_thrift_element_struct(t);
        ks_thrift_i32(t, 1, ks_pq_physical(c->kind));
        ks_thrift_i32(t, 3, OPTIONAL);
        ks_thrift_text(t, 4, c->name);
        put_logical(t, c->kind);
        ks_thrift_end(t);
    }
}

static void put_pair(struct ks_thrift *t, const char *prefix, const char *name, const char *value)
{
    struct ks_buf key;

    ks_buf_init(&key);
    ks_buf_printf(&key, "%s%s", prefix, name);
    ks_thrift_element_struct(t);
    ks_thrift_text(t, 1, ks_buf_text(&key));
    ks_thrift_text(t, 2, value);
    ks_thrift_end(t);
    t->to->failed = t->to->failed || !ks_buf_ok(&key);
    ks_buf_release(&key);
}

/* "unit.time_median_ns" = "ns", "role.time_median_ns" = "label". */
static void put_metadata(struct ks_thrift *t, const struct ks_pq_group *g)
{
    uint32_t n = (uint32_t)g->n_columns;

    for (size_t i = 0; i < g->n_columns; i++)
        n += g->columns[i].unit[0] != '\0';
    ks_thrift_list(t, 5, KS_THRIFT_STRUCT, n);
    for (size_t i = 0; i < g->n_columns; i++) {
        const struct ks_pq_column *c = &g->columns[i];

        put_pair(t, "role.", c->name, ks_col_role_text(c->role));
        if (c->unit[0])
            put_pair(t, "unit.", c->name, c->unit);
    }
}

static void put_orders(struct ks_thrift *t, const struct ks_pq_group *g)
{
    ks_thrift_list(t, 7, KS_THRIFT_STRUCT, (uint32_t)g->n_columns);
    for (size_t i = 0; i < g->n_columns; i++) {
        ks_thrift_element_struct(t);
        ks_thrift_struct(t, 1); /* the order of the type */
        ks_thrift_end(t);
        ks_thrift_end(t);
    }
}

static int put_footer(struct state *s, struct ks_err *err)
{
    const struct ks_pq_group *g = &s->groups[0];
    struct ks_buf footer;
    struct ks_thrift t;
    size_t n;
    int rc = 0;

    ks_buf_init(&footer);
    ks_thrift_init(&t, &footer);
    ks_thrift_i32(&t, 1, 2);
    put_schema(&t, g);
    ks_thrift_i64(&t, 3, (int64_t)s->writer.n_rows);
    ks_thrift_list(&t, 4, KS_THRIFT_STRUCT, s->writer.n_groups);
    ks_buf_put(&footer, s->writer.groups.data, s->writer.groups.len);
    put_metadata(&t, g);
    ks_thrift_text(&t, 6, "ksweep-analyze");
    put_orders(&t, g);
    ks_thrift_end(&t);
    n = footer.len;
    ks_buf_u32(&footer, (uint32_t)n);
    ks_buf_put(&footer, "PAR1", 4);
    if (!ks_buf_ok(&footer))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for the footer");
    if (rc == 0)
        rc = ks_pq_emit(&s->writer, footer.data, footer.len, err);
    ks_buf_release(&footer);
    return rc;
}

static int end(void *state, struct ks_sink *to, struct ks_err *err)
{
    struct state *s = state;
    int rc = s->groups[s->filling].n_rows ? hand_over(s, err) : 0;

    if (rc == 0)
        rc = wait_for(s, err);
    if (rc == 0)
        rc = put_footer(s, err);
    return rc == 0 ? ks_sink_flush(to, err) : rc;
}

const struct ks_format ks_format_parquet = {
    .name = "parquet",
    .state_size = sizeof(struct state),
    .begin = begin,
    .put = put,
    .end = end,
    .release = release,
};
