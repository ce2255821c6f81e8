/* SPDX-License-Identifier: MIT */
/* First pass: frames that are not records. Their rows are few, so they are kept whole. */
#include "race/race.h"
#include "record/rounds.h"
#include "store/index.h"
#include "store/text.h"
#include "json/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_COPY(to, from) snprintf((to), sizeof(to), "%.*s", (int)sizeof(to) - 1, (from))

static struct ks_run_row *run_row(struct ks_index *x, uint32_t run)
{
    return ks_list_at(&x->runs, run);
}

void ks_index_seen(struct ks_index *x, uint32_t run, uint64_t realtime_ns)
{
    struct ks_run_row *r = run_row(x, run);

    if (realtime_ns > r->last_ns)
        r->last_ns = realtime_ns;
}

/* ---- segment, job ---- */

/* The directory that gave this run already; NULL: none. */
static const char *taken_by(const struct ks_index *x, uint32_t run, const char *run_id)
{
    for (uint32_t i = 0; i < run; i++) {
        const struct ks_run_row *r = ks_list_at(&x->runs, i);

        if (strcmp(r->run_id, run_id) == 0)
            return r->path;
    }
    return NULL;
}

static int on_segment(struct ks_index *x, uint32_t run, const struct ks_journal_frame *f,
                      struct ks_err *err)
{
    struct ks_run_row *r = run_row(x, run);
    struct ks_segment s;
    const char *other;
    char id[33];
    int rc = ks_segment_decode(f->body, f->n, &s, err);

    if (rc < 0)
        return rc;
    ks_hex128(s.run_id, id);
    if (r->run_id[0] && strcmp(r->run_id, id) != 0)
        return ks_fail(err, KS_EOWNER, "'%s': segment %u belongs to run %s, earlier ones to %s",
                       r->dir, f->segment, id, r->run_id);
    other = taken_by(x, run, id);
    if (other)
        return ks_fail(err, KS_EEXIST,
                       "'%s' and '%s' contain the same run %s: give only the one with more records",
                       other, r->path, id);
    TEXT_COPY(r->run_id, id);
    TEXT_COPY(r->version, s.version);
    ks_text_clean(r->version);
    if (r->n_segments == 0)
        r->started_ns = s.realtime_ns;
    r->n_segments++;
    ks_index_seen(x, run, s.realtime_ns);
    return 0;
}

/* "" when the text has none: it was written by the coordinator, but may be of a later version. */
static void job_name(const char *text, char *out, size_t cap)
{
    struct ks_json *doc = NULL;
    const struct ks_node *name;
    const char *value;

    if (ks_json_parse(text, strlen(text), "job", &doc, NULL) < 0)
        return;
    name = ks_node_at(ks_json_root(doc), "name");
    if (name && ks_node_str(doc, name, &value, NULL) == 0)
        snprintf(out, cap, "%s", value);
    ks_text_clean(out);
    ks_json_close(doc);
}

static int on_job(struct ks_index *x, uint32_t run, const struct ks_journal_frame *f,
                  struct ks_err *err)
{
    struct ks_run_row *r = run_row(x, run);
    struct ks_job_rec job;
    char *text = NULL;
    int rc = ks_job_rec_decode(f->body, f->n, &job, &text, err);

    if (rc < 0)
        return rc;
    ks_text_clean(text);
    free((void *)(uintptr_t)r->job);
    r->job = text;
    job_name(text, r->job_name, sizeof(r->job_name));
    r->grid_digest = job.grid_digest;
    r->condition_id = job.condition;
    r->n_problems = job.n_problems;
    r->n_instances = job.n_instances;
    r->n_cells = ks_job_rec_n_cells(&job);
    return 0;
}

/* ---- hosts, devices, blocks, events ---- */

static int add_host_value(struct ks_index *x, const struct ks_host_row *row, struct ks_err *err)
{
    char text[sizeof(row->key) + sizeof(row->value)];
    int n = snprintf(text, sizeof(text), "%s=%s", row->key, row->value);
    struct ks_key key = { { row->run, row->mpi_rank, ks_id64(text, (size_t)n),
                            ks_id64(row->host, strlen(row->host)) } };
    struct ks_host_row *added;
    uint32_t i;
    bool is_new;
    int rc = ks_keys_add(&x->host_keys, &key, &i, &is_new, err);

    if (rc == 0 && is_new)
        rc = ks_list_add(&x->hosts, &added, err);
    if (rc == 0 && is_new)
        *added = *row;
    return rc;
}

/* Lines "key=value". */
static int on_host(struct ks_index *x, uint32_t run, const struct ks_journal_frame *f,
                   struct ks_err *err)
{
    struct ks_host_row row = { .run = run, .segment = f->segment };
    struct ks_name_rec n;
    int rc = ks_name_rec_decode(f->body, f->n, &n, err);

    if (rc < 0)
        return rc;
    ks_text_clean(n.name);
    ks_text_clean(n.text);
    row.mpi_rank = (uint32_t)n.id;
    TEXT_COPY(row.host, n.name);
    for (const char *p = n.text; rc == 0 && *p;) {
        size_t len = strcspn(p, "\n");
        const char *eq = memchr(p, '=', len);

        if (eq) {
            snprintf(row.key, sizeof(row.key), "%.*s", (int)(eq - p), p);
            snprintf(row.value, sizeof(row.value), "%.*s", (int)(p + len - eq - 1), eq + 1);
            ks_text_clean(row.value); /* it may have been cut */
            rc = add_host_value(x, &row, err);
        }
        p += len + (p[len] == '\n');
    }
    return rc;
}

static void clean_texts(const struct ks_table_def *def, void *row)
{
    for (size_t k = 0; k < def->n_columns; k++)
        if (def->columns[k].type == KS_COL_TEXT)
            ks_text_clean((char *)row + def->columns[k].offset);
}

/* The same device is another row in another launch: of another domain, beside other ranks. */
static struct ks_key device_key(uint32_t run, const struct ks_device_rec *d)
{
    char launch[96];
    int n = snprintf(launch, sizeof(launch), "%s %" PRIx64 " %u %u", d->boot_id, d->device_class,
                     d->n_neighbours, d->n_memory_neighbours);

    return (struct ks_key){ { run, d->device_id, d->rank, ks_id64(launch, (size_t)n) } };
}

static int on_device(struct ks_index *x, uint32_t run, const struct ks_journal_frame *f,
                     struct ks_err *err)
{
    struct ks_device_rec d;
    struct ks_device_row *row;
    struct ks_key key;
    uint32_t i;
    bool is_new;
    int rc = ks_device_rec_decode(f->body, f->n, &d, err);

    if (rc < 0)
        return rc;
    key = device_key(run, &d);
    rc = ks_keys_add(&x->device_keys, &key, &i, &is_new, err);
    if (rc == 0 && is_new)
        rc = ks_list_add(&x->devices, &row, err);
    if (rc < 0)
        return rc;
    row = ks_list_at(&x->devices, i);
    row->run = run;
    row->rec = d;
    clean_texts(&ks_table_defs[KS_T_DEVICES], row);
    if (d.idle_switches_per_s < 0)
        row->rec.idle_switches_per_s = KS_MISSING;
    if (d.idle_stolen < 0)
        row->rec.idle_stolen = KS_MISSING;
    return 0;
}

/* Written when it opens and again when it closes: the last one counts. */
static int on_block(struct ks_index *x, uint32_t run, const struct ks_journal_frame *f,
                    struct ks_err *err)
{
    struct ks_block b;
    struct ks_block_row *row;
    struct ks_key key = { { run } };
    uint32_t i;
    bool is_new;
    int rc = ks_block_decode(f->body, f->n, &b, err);

    if (rc < 0)
        return rc;
    key.part[1] = b.block_id;
    rc = ks_keys_add(&x->block_keys, &key, &i, &is_new, err);
    if (rc == 0 && is_new)
        rc = ks_list_add(&x->blocks, &row, err);
    if (rc < 0)
        return rc;
    row = ks_list_at(&x->blocks, i);
    row->run = run;
    row->rec = b;
    return 0;
}

static int on_event(struct ks_index *x, uint32_t run, const struct ks_journal_frame *f,
                    struct ks_err *err)
{
    struct ks_event_rec e;
    struct ks_event_row *row;
    int rc = ks_event_decode(f->body, f->n, &e, err);

    if (rc == 0)
        rc = ks_list_add(&x->events, &row, err);
    if (rc < 0)
        return rc;
    row->run = run;
    row->kind = e.kind < UINT8_MAX ? (uint8_t)e.kind : UINT8_MAX;
    TEXT_COPY(row->kind_text, ks_event_text(e.kind));
    row->rec = e;
    clean_texts(&ks_table_defs[KS_T_EVENTS], row);
    ks_index_seen(x, run, e.realtime_ns);
    return 0;
}

static int on_race(struct ks_index *x, uint32_t run, const struct ks_journal_frame *f,
                   struct ks_err *err)
{
    struct ks_race_info *info;
    struct ks_race_rec r;
    uint32_t i;
    size_t n;
    int rc = ks_race_rec_decode(f->body, f->n, &r, err);

    if (rc == 0)
        rc = ks_index_race(x, run, r.problem, &i, err);
    if (rc < 0)
        return rc;
    info = ks_list_at(&x->races, i);
    if (!info->rec.stop || ks_race_rec_is_newer(&r, &info->rec))
        info->rec = r;
    n = strlen(ks_race_stop_text(r.stop));
    x->longest_stop = n > x->longest_stop ? n : x->longest_stop;
    return 0;
}

int ks_index_name_frame(struct ks_index *x, uint32_t run, const struct ks_journal_frame *f,
                        struct ks_err *err)
{
    static int (*const handlers[])(struct ks_index *, uint32_t, const struct ks_journal_frame *,
                                   struct ks_err *) = {
        [KS_F_SEGMENT] = on_segment,
        [KS_F_JOB] = on_job,
        [KS_F_PROBLEM] = ks_index_on_problem,
        [KS_F_INSTANCE] = ks_index_on_instance,
        [KS_F_HOST] = on_host,
        [KS_F_DEVICE] = on_device,
        [KS_F_BUILD] = ks_index_on_build,
        [KS_F_BLOCK] = on_block,
        [KS_F_EVENT] = on_event,
        [KS_F_CLOSE] = NULL,
        [KS_F_RACE] = on_race,
    };
    int rc = 0;

    if (f->type < sizeof(handlers) / sizeof(handlers[0]) && handlers[f->type])
        rc = handlers[f->type](x, run, f, err);
    /* Whole by its checksum, but not understood: written by a later version. */
    if (rc == KS_EFORMAT) {
        run_row(x, run)->n_unreadable++;
        rc = 0;
    }
    return rc;
}

/* ---- after everything was read ---- */

static double positive(double v)
{
    return isfinite(v) && v > 0 ? v : KS_MISSING;
}

static void finish_block(struct ks_block_row *b)
{
    double *ends[] = { &b->rec.open_ns,    &b->rec.close_ns,    &b->rec.open_lo_ns,
                       &b->rec.open_hi_ns, &b->rec.close_lo_ns, &b->rec.close_hi_ns };
    double open, close;

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        *ends[i] = positive(*ends[i]);
    open = b->rec.open_ns;
    close = b->rec.close_ns;
    b->anchor_ns = ks_block_anchor_ns(&b->rec);
    b->anchor_drift = open > 0 && close > 0 ? fabs(close / open - 1) : KS_MISSING;
}

void ks_index_finish_blocks(struct ks_index *x)
{
    for (size_t i = 0; i < x->blocks.n; i++)
        finish_block(ks_list_at(&x->blocks, i));
}

uint32_t ks_index_block(const struct ks_index *x, uint32_t run, uint64_t block)
{
    return ks_keys_find(&x->block_keys, &(struct ks_key){ { run, block } });
}

uint32_t ks_index_device(const struct ks_index *x, uint32_t run, const struct ks_device_rec *d)
{
    struct ks_key key = device_key(run, d);

    return ks_keys_find(&x->device_keys, &key);
}

enum ks_statistic ks_index_statistic(const struct ks_index *x, uint32_t run)
{
    if (x->statistics)
        return x->statistics[run];
    for (size_t i = 0; i < x->devices.n; i++) {
        const struct ks_device_row *d = ks_list_at(&x->devices, i);

        if (d->run == run)
            return ks_label_statistic(d->rec.backend);
    }
    return ks_label_statistic(""); /* nothing was measured */
}
