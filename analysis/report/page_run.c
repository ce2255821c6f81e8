/* SPDX-License-Identifier: MIT */
/* page_run.c - where, when and how a page's run was measured, and how its cells ended */
#include "analysis/report/page_impl.h"
#include "base/file.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { HOSTS = 64, FACT_VALUES = 4 };
enum { RUNS = 200, JOBS = 16 }; /* runs listed, and those with their job */

static double ms_of(uint64_t ns)
{
    return (double)(ns / 1000000);
}

/* Takes the bytes out of the room; false when they do not fit. */
static bool take(size_t *room, size_t bytes)
{
    if (bytes > *room)
        return false;
    *room -= bytes;
    return true;
}

/* "text": false where the job is left out. */
static void put_runs(struct ks_jw *w, const struct ks_store_file *f)
{
    size_t room = KS_PAGE_RUN_BYTES;

    ks_jw_open(w, "runs", '[');
    for (uint32_t i = 0; i < ks_store_info(f)->n_runs && i < RUNS; i++) {
        const struct ks_run_row *r = ks_store_run(f, i);

        if (!take(&room, 300 + ks_page_bytes(r->job_name) + ks_page_bytes(r->dir)))
            break;

        ks_jw_open(w, NULL, '{');
        ks_jw_str(w, "id", r->run_id);
        ks_jw_str(w, "job", r->job_name);
        ks_jw_str(w, "dir", r->dir);
        ks_jw_str(w, "version", r->version);
        ks_jw_real(w, "began", ms_of(r->started_ns));
        ks_jw_real(w, "ended", ms_of(r->last_ns));
        ks_jw_u64(w, "cells", r->n_cells);
        ks_jw_u64(w, "pending", r->n_pending);
        ks_jw_u64(w, "segments", r->n_segments);
        if (r->job && (i >= JOBS || !take(&room, ks_page_bytes(r->job))))
            ks_jw_bool(w, "text", false);
        else
            ks_jw_str(w, "text", r->job);
        ks_jw_close(w, '}');
    }
    ks_jw_close(w, ']');
    ks_jw_u64(w, "n_runs", ks_store_info(f)->n_runs);
}

static void put_devices(struct ks_jw *w, const struct ks_page *p)
{
    const struct ks_store_file *f = ks_view_file(p->view);
    size_t room = KS_PAGE_RUN_BYTES;

    ks_jw_open(w, "devices", '[');
    for (size_t i = 0; i < p->summary.n_ranks && i < HOSTS * 8; i++) {
        const struct ks_device_ref *ref = p->summary.ranks[i].device;
        const struct ks_device_row *d = ks_store_device(f, (uint32_t)(ref - p->tables.devices));

        if (!take(&room, 300 + ks_page_bytes(d->rec.host) + ks_page_bytes(d->rec.model) +
                             ks_page_bytes(d->rec.core_set) + ks_page_bytes(d->rec.pci) +
                             ks_page_bytes(d->rec.driver)))
            break;
        ks_jw_open(w, NULL, '{');
        ks_jw_u64(w, "rank", d->rec.rank);
        ks_jw_str(w, "host", d->rec.host);
        ks_jw_str(w, "model", d->rec.model);
        ks_jw_str(w, "backend", d->rec.backend);
        ks_jw_str(w, "arch", d->rec.arch);
        ks_jw_str(w, "place", d->rec.core_set[0] ? d->rec.core_set : d->rec.pci);
        ks_jw_str(w, "driver", d->rec.driver);
        ks_jw_u64(w, "cells", p->summary.ranks[i].n_cells);
        ks_page_real(w, "switches", d->rec.idle_switches_per_s);
        ks_page_real(w, "stolen", d->rec.idle_stolen);
        ks_jw_close(w, '}');
    }
    ks_jw_close(w, ']');
    ks_jw_u64(w, "n_devices", p->summary.n_ranks);
}

/* Values that a key has on any host of the first run, the first few. */
static void put_fact(struct ks_jw *w, const struct ks_store_file *f, uint32_t first, size_t *room)
{
    const struct ks_host_row *key = ks_store_host(f, first);
    const char *shown[FACT_VALUES];
    char more[80];
    size_t n = 0, n_more = 0;

    ks_jw_open(w, NULL, '[');
    ks_jw_str(w, NULL, key->key);
    for (uint32_t i = first; i < ks_store_info(f)->n_hosts; i++) {
        const struct ks_host_row *h = ks_store_host(f, i);
        bool is_new = strcmp(h->key, key->key) == 0;

        for (size_t k = 0; k < n && is_new; k++)
            is_new = strcmp(shown[k], h->value) != 0;
        if (is_new && n < FACT_VALUES && take(room, 8 + ks_page_bytes(h->value))) {
            ks_jw_str(w, NULL, h->value);
            shown[n++] = h->value;
        } else {
            n_more += is_new;
        }
    }
    if (n_more) {
        snprintf(more, sizeof(more), "and more (%zu rows in /hosts of results.h5)", n_more);
        ks_jw_str(w, NULL, more);
    }
    ks_jw_close(w, ']');
}

static void put_facts(struct ks_jw *w, const struct ks_store_file *f)
{
    size_t room = KS_PAGE_RUN_BYTES, n = 0;

    ks_jw_open(w, "facts", '[');
    for (uint32_t i = 0; i < ks_store_info(f)->n_hosts; i++) {
        bool is_first = true;

        for (uint32_t k = 0; k < i && is_first; k++)
            is_first = strcmp(ks_store_host(f, k)->key, ks_store_host(f, i)->key) != 0;
        n += is_first;
        if (is_first && take(&room, 16 + ks_page_bytes(ks_store_host(f, i)->key)))
            put_fact(w, f, i, &room);
    }
    ks_jw_close(w, ']');
    ks_jw_u64(w, "n_facts", n);
}

static void put_outcomes(struct ks_jw *w, const struct ks_summary *s)
{
    ks_jw_open(w, "outcomes", '[');
    for (uint32_t o = 0; o < KS_O_LIMIT; o++) {
        if (!s->outcome[o])
            continue;
        ks_jw_open(w, NULL, '[');
        ks_jw_str(w, NULL, ks_outcome_text(o));
        ks_jw_u64(w, NULL, s->outcome[o]);
        ks_jw_bool(w, NULL, ks_outcome_needs_look(o));
        ks_jw_close(w, ']');
    }
    ks_jw_close(w, ']');
    ks_jw_u64(w, "cells", s->n_cells);
    ks_jw_u64(w, "pending", s->n_pending);
    ks_jw_u64(w, "dropped", s->n_dropped);
    ks_jw_u64(w, "contaminated", s->n_contaminated);
    ks_jw_u64(w, "codes", s->n_codes);
    ks_jw_u64(w, "codes_unknown", s->n_codes_unknown);
    ks_jw_u64(w, "winners", s->n_winners);
    ks_page_real(w, "median_wb", s->median_worst_over_best);
    ks_jw_str(w, "fixed", s->fixed ? s->fixed->name : NULL);
    ks_page_real(w, "fixed_share", s->fixed ? s->fixed_share : KS_NOT_KNOWN);
    ks_jw_u64(w, "aliased", s->aliases.n_aliased);
}

static void put_time(struct ks_jw *w, const struct ks_page *p)
{
    static const char *const roles[] = { "cells", "anchors", "canaries", "controls of aliases" };

    ks_jw_open(w, "phases", '[');
    for (size_t i = 0; i < KS_PP_COUNT; i++) {
        ks_jw_open(w, NULL, '[');
        ks_jw_str(w, NULL, ks_page_phases[i]);
        ks_page_real(w, NULL, p->phase_s[i]);
        ks_jw_close(w, ']');
    }
    ks_jw_close(w, ']');
    ks_jw_open(w, "roles", '[');
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        ks_jw_open(w, NULL, '[');
        ks_jw_str(w, NULL, roles[i]);
        ks_page_real(w, NULL, p->role_s[i]);
        ks_jw_close(w, ']');
    }
    ks_jw_close(w, ']');
    ks_page_real(w, "retried_s", p->retried_s);
    ks_page_real(w, "compile_s", p->compile_s);
    ks_jw_u64(w, "compiled", p->n_compiled);
    ks_jw_u64(w, "cached", p->n_cached);
    ks_jw_u64(w, "attempts", p->n_attempts);
}

/* The directory as a shell wants it: what is given, else what the file remembers. */
static void put_dir(struct ks_jw *w, const struct ks_page *p)
{
    const struct ks_store_file *f = ks_view_file(p->view);
    struct ks_buf quoted;

    ks_buf_init(&quoted);
    if (ks_path_is_dir(p->path))
        ks_shell_put(&quoted, p->path);
    else if (ks_store_info(f)->n_runs == 1)
        ks_shell_put(&quoted, ks_store_run(f, 0)->dir);
    else
        ks_buf_printf(&quoted, "DIR");
    ks_jw_str(w, "dir", ks_buf_text(&quoted));
    ks_buf_release(&quoted);
}

void ks_page_put_run(const struct ks_page *p, const char *key, struct ks_buf *to)
{
    const struct ks_store_file *f = ks_view_file(p->view);
    struct ks_jw w;

    ks_page_key(to, key);
    ks_jw_init(&w, to, false);
    ks_jw_open(&w, NULL, '{');
    ks_jw_str(&w, "path", p->path);
    put_dir(&w, p);
    put_runs(&w, f);
    put_devices(&w, p);
    put_facts(&w, f);
    put_outcomes(&w, &p->summary);
    put_time(&w, p);
    ks_jw_u64(&w, "problems", p->n_problems);
    ks_jw_close(&w, '}');
}
