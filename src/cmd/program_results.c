/* SPDX-License-Identifier: MIT */
/* program_results.c - runs of programs from the journal as JSON: command, status, time */
#include "cmd/program_results.h"

#include "base/array.h"
#include "base/file.h"
#include "journal/journal.h"
#include "record/found.h"
#include "store/keys.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct run {
    struct ks_cell cell;
    struct ks_program_run end;   /* if `attempt` */
    struct ks_program_run *next; /* owned: of an attempt whose record was not read yet; NULL none */
    uint32_t attempt;            /* of the last record; 0: there is none */
    char reason[160];
};
struct problem {
    uint64_t id;
    char name[96], operation[48];
};
struct results {
    struct ks_keys run_keys, problem_keys; /* a cell, an id: their places in the arrays below */
    struct run *runs;
    struct problem *problems;
    size_t cap_runs, cap_problems;
    uint64_t last_ns;
    struct ks_record *record; /* scratch */
};

static struct ks_key key_of(const struct ks_cell *cell)
{
    return (struct ks_key){ { cell->problem, cell->instance, cell->condition } };
}

static int add_run(struct results *r, const struct ks_cell *cell, struct run **out,
                   struct ks_err *err)
{
    const struct ks_key key = key_of(cell);
    uint32_t i = 0;
    bool is_new = false;
    int rc =
        ks_reserve(&r->runs, r->run_keys.n + (size_t)1, &r->cap_runs, sizeof *r->runs, "runs", err);

    if (rc == 0)
        rc = ks_keys_add(&r->run_keys, &key, &i, &is_new, err);
    if (rc == 0 && is_new)
        r->runs[i] = (struct run){ .cell = *cell };
    if (rc == 0)
        *out = &r->runs[i];
    return rc;
}

static int on_program(struct results *r, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_program_run end;
    struct run *run = NULL;
    int rc;

    if (ks_program_run_decode(f->body, f->n, &end, NULL) < 0)
        return 0;
    rc = add_run(r, &end.cell, &run, err);
    if (rc < 0)
        return rc;
    if (!run->next)
        run->next = malloc(sizeof *run->next);
    if (!run->next)
        return ks_fail(err, KS_ENOMEM, "out of memory for runs");
    *run->next = end;
    return 0;
}

static struct run *find_run(const struct results *r, const struct ks_cell *cell)
{
    const struct ks_key key = key_of(cell);
    const uint32_t i = ks_keys_find(&r->run_keys, &key);

    return i == KS_NO_ROW ? NULL : &r->runs[i];
}

/* The record of a run follows its KS_F_PROGRAM. */
static void on_done(struct results *r, const struct ks_journal_frame *f)
{
    struct ks_record *d = r->record;
    struct run *run =
        ks_record_decode(f->body, f->n, d, NULL, NULL) < 0 ? NULL : find_run(r, &d->cell);

    if (!run || !run->next || run->next->attempt != d->attempt ||
        run->next->worker.hi != d->worker.hi)
        return;
    run->end = *run->next;
    run->attempt = d->attempt;
    free(run->next);
    run->next = NULL;
    snprintf(run->reason, sizeof run->reason, "%s", d->reason);
    if (d->started_ns + d->wall_ns > r->last_ns)
        r->last_ns = d->started_ns + d->wall_ns;
}

static int on_problem(struct results *r, const struct ks_journal_frame *f, struct ks_err *err)
{
    static const char *const ends[][2] = { { "direction=forward ", "fwd" },
                                           { "direction=backward_data ", "bwd_data" },
                                           { "direction=backward_weight ", "bwd_weight" } };
    struct ks_name_rec n;
    struct problem *p;
    const char *op;
    uint32_t i = 0;
    bool is_new = false;
    int rc = ks_reserve(&r->problems, r->problem_keys.n + (size_t)1, &r->cap_problems,
                        sizeof *r->problems, "problems", err);

    if (rc < 0 || ks_name_rec_decode(f->body, f->n, &n, NULL) < 0)
        return rc;
    rc = ks_keys_add(&r->problem_keys, &(struct ks_key){ { n.id } }, &i, &is_new, err);
    if (rc < 0)
        return rc;
    p = &r->problems[i];
    *p = (struct problem){ .id = n.id };
    snprintf(p->name, sizeof p->name, "%.95s", n.name);
    op = strstr(n.text, "operator=");
    for (size_t k = 0; op && k < 3; k++)
        if (strstr(n.text, ends[k][0]))
            snprintf(p->operation, sizeof p->operation, "%.*s_%s", (int)strcspn(op + 9, " "),
                     op + 9, ends[k][1]);
    return 0;
}

static int on_frame(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    if (f->type == KS_F_PROGRAM)
        return on_program(ctx, f, err);
    if (f->type == KS_F_PROBLEM)
        return on_problem(ctx, f, err);
    if (f->type == KS_F_DONE)
        on_done(ctx, f);
    return 0;
}

static const struct problem *problem_of(const struct results *r, uint64_t id)
{
    static const struct problem unknown = { .id = 0 };

    const uint32_t i = ks_keys_find(&r->problem_keys, &(struct ks_key){ { id } });

    return i == KS_NO_ROW ? &unknown : &r->problems[i];
}

static void put_stats(const struct results *r, struct ks_jw *w)
{
    uint64_t n = 0, n_ok = 0, n_skipped = 0;
    char text[32] = "";
    const time_t at = (time_t)(r->last_ns / 1000000000u);
    struct tm tm;

    for (size_t i = 0; i < r->run_keys.n; i++) {
        if (!r->runs[i].attempt) /* interrupted */
            continue;
        n++;
        n_ok += r->runs[i].end.outcome == KS_O_OK;
        n_skipped += r->runs[i].end.outcome == KS_O_UNSUPPORTED;
    }
    if (gmtime_r(&at, &tm))
        (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    ks_jw_str(w, "timestamp", text);
    ks_jw_open(w, "stats", '{');
    ks_jw_u64(w, "total", n);
    ks_jw_u64(w, "success", n_ok);
    ks_jw_u64(w, "failed", n - n_ok - n_skipped);
    ks_jw_u64(w, "skipped", n_skipped);
    ks_jw_real(w, "success_rate", n ? (double)n_ok / (double)n : 0);
    ks_jw_close(w, '}');
}

static void put_run(const struct results *r, const char *dir, const struct run *run,
                    struct ks_jw *w)
{
    const struct ks_program_run *e = &run->end;
    const struct problem *p = problem_of(r, e->cell.problem);
    struct ks_buf path;

    ks_buf_init(&path);
    ks_buf_printf(&path, "%s/output/%s", dir, e->file);
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "operation", p->operation);
    ks_jw_str(w, "description", p->name);
    ks_jw_str(w, "priority_rank", NULL);
    ks_jw_bool(w, "success", e->outcome == KS_O_OK);
    ks_jw_int(w, "returncode", e->exit_status);
    ks_jw_real(w, "elapsed_time", (double)e->wall_ns * 1e-9);
    ks_jw_str(w, "command", e->command);
    ks_jw_str(w, "error", run->reason[0] ? run->reason : NULL);
    ks_jw_str(w, "stdout", NULL);
    ks_jw_str(w, "stdout_path", e->file[0] ? ks_buf_text(&path) : NULL);
    ks_jw_str(w, "outcome", ks_outcome_text(e->outcome));
    ks_jw_u64(w, "rows", e->n_rows);
    ks_jw_close(w, '}');
    ks_buf_release(&path);
}

static void put_all(const struct results *r, const char *dir, struct ks_buf *json_out)
{
    struct ks_jw w;

    ks_jw_init(&w, json_out, true);
    ks_jw_open(&w, NULL, '{');
    put_stats(r, &w);
    ks_jw_open(&w, "results", '[');
    for (size_t i = 0; i < r->run_keys.n; i++)
        if (r->runs[i].attempt)
            put_run(r, dir, &r->runs[i], &w);
    ks_jw_close(&w, ']');
    ks_jw_close(&w, '}');
    ks_buf_printf(json_out, "\n");
}

int ks_program_results(const char *dir, struct ks_buf *json_out, struct ks_err *err)
{
    struct results r = { .record = malloc(sizeof *r.record) };
    struct ks_journal_totals totals;
    char journal[1100], *whole = realpath(dir, NULL);
    int rc = r.record ? ks_path_join(journal, sizeof journal, dir, "journal", err)
                      : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = ks_journal_read(journal, on_frame, NULL, &r, &totals, err);
    if (rc == 0 && r.run_keys.n == 0)
        rc = ks_fail(err, KS_EINVAL, "'%s' has no run of a program", dir);
    if (rc == 0)
        put_all(&r, whole ? whole : dir, json_out);
    for (size_t i = 0; i < r.run_keys.n; i++)
        free(r.runs[i].next);
    ks_keys_release(&r.run_keys);
    ks_keys_release(&r.problem_keys);
    free(r.runs);
    free(r.problems);
    free(r.record);
    free(whole);
    return rc;
}
