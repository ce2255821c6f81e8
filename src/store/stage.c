/* SPDX-License-Identifier: MIT */
/* stage.c - collects what an import found, then makes rows of it for the writer */
#include "store/stage.h"
#include "store/h5.h"
#include "store/text.h"
#include "store/whole.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_COPY(to, from) snprintf((to), sizeof(to), "%.*s", (int)sizeof(to) - 1, (from))

struct attempt {
    double time_ns;
    uint64_t started_ns, n_elements, n_non_zero, first_sample;
    int64_t workspace_bytes;
    uint32_t run, problem, kernel, device, cell, number, n_samples, flags;
    uint32_t reason; /* offset in `reasons` */
    uint8_t outcome;
};

struct cell {
    uint32_t first, n_attempts;
};

struct ks_stage {
    struct ks_index index; /* the small tables */
    struct ks_keys cell_keys;
    struct ks_list cells, attempts;
    struct ks_list samples; /* double, ns */
    struct ks_keys texts;   /* digest of a reason -> number */
    struct ks_list text_at; /* [texts] uint32_t: offset in `reasons` */
    struct ks_buf reasons;  /* each NUL-terminated; the first is "" */
    struct ks_row blank;    /* of which nothing is known */
    uint32_t most_samples;  /* of one attempt */
    double *scratch;
};

int ks_stage_create(struct ks_stage **stage_out, struct ks_err *err)
{
    struct ks_stage *s = calloc(1, sizeof(*s));
    int rc = s ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc < 0)
        return rc;
    s->cells.size = sizeof(struct cell);
    s->attempts.size = sizeof(struct attempt);
    s->samples.size = sizeof(double);
    s->text_at.size = sizeof(uint32_t);
    ks_buf_init(&s->reasons);
    ks_buf_u8(&s->reasons, 0);
    rc = ks_index_init(&s->index, err);
    if (rc == 0)
        rc = ks_row_init(&s->blank, err);
    if (rc < 0) {
        ks_stage_destroy(s);
        return rc;
    }
    *stage_out = s;
    return 0;
}

void ks_stage_destroy(struct ks_stage *s)
{
    if (!s)
        return;
    if (s->index.runs.size)
        ks_index_release(&s->index);
    ks_keys_release(&s->cell_keys);
    ks_keys_release(&s->texts);
    ks_list_release(&s->cells);
    ks_list_release(&s->attempts);
    ks_list_release(&s->samples);
    ks_list_release(&s->text_at);
    ks_buf_release(&s->reasons);
    free(s->scratch);
    free(s);
}

/* ---- small tables ---- */

int ks_stage_add_run(struct ks_stage *s, struct ks_run_row **row_out, uint32_t *run_out,
                     struct ks_err *err)
{
    int rc = ks_list_add(&s->index.runs, row_out, err);

    *run_out = (uint32_t)(s->index.runs.n - (rc == 0));
    return rc;
}

struct ks_run_row *ks_stage_run(struct ks_stage *s, uint32_t run)
{
    return ks_list_at(&s->index.runs, run);
}

int ks_stage_note(struct ks_stage *s, uint32_t run, const char *key, const char *value,
                  struct ks_err *err)
{
    struct ks_host_row *row;
    int rc = ks_list_add(&s->index.hosts, &row, err);

    if (rc < 0)
        return rc;
    row->run = run;
    TEXT_COPY(row->key, key);
    TEXT_COPY(row->value, value);
    ks_text_clean(row->value);
    return 0;
}

int ks_stage_add_device(struct ks_stage *s, uint32_t run, const struct ks_device_rec *rec,
                        uint32_t *row_out, struct ks_err *err)
{
    struct ks_device_row *row;
    int rc = ks_list_add(&s->index.devices, &row, err);

    if (rc < 0)
        return rc;
    row->run = run;
    row->rec = *rec;
    ks_text_clean(row->rec.text);
    ks_text_clean(row->rec.arch);
    ks_text_clean(row->rec.model);
    *row_out = (uint32_t)(s->index.devices.n - 1);
    return 0;
}

int ks_stage_add_problem(struct ks_stage *s, const struct ks_problem *p, uint32_t *row_out,
                         struct ks_err *err)
{
    struct ks_buf text;
    int rc = 0;

    *row_out = ks_index_problem(&s->index, p->id);
    if (*row_out != KS_NO_ROW)
        return 0;
    ks_buf_init(&text);
    ks_problem_canonical(p, &text);
    if (!ks_buf_ok(&text))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for a problem");
    if (rc == 0)
        rc = ks_index_put_problem(&s->index, p->id, p->name, ks_buf_text(&text), p->count, p, err);
    ks_buf_release(&text);
    *row_out = ks_index_problem(&s->index, p->id);
    return rc;
}

int ks_stage_add_foreign(struct ks_stage *s, const char *text, const char *name, uint32_t *row_out,
                         struct ks_err *err)
{
    char clean[KS_CANONICAL], clean_name[192];
    uint64_t id;
    int rc;

    TEXT_COPY(clean, text);
    TEXT_COPY(clean_name, name);
    ks_text_clean(clean);
    ks_text_clean(clean_name);
    id = ks_id64(text, strlen(text));
    rc = ks_index_put_problem(&s->index, id, clean_name, clean, 1, NULL, err);
    *row_out = ks_index_problem(&s->index, id);
    return rc;
}

int ks_stage_add_instance(struct ks_stage *s, uint32_t run, const char *name, const char *text,
                          uint32_t *row_out, struct ks_err *err)
{
    const char *bar = strstr(text, " | ");
    uint64_t id = ks_id64(text, bar ? (size_t)(bar - text) : strlen(text));

    *row_out = ks_index_kernel(&s->index, run, id, (struct ks_id128){ 0 });
    if (*row_out != KS_NO_ROW)
        return 0;
    return ks_index_put_instance(&s->index, run, id, name, text, row_out, err);
}

void ks_stage_built(struct ks_stage *s, uint32_t kernel, uint32_t outcome, uint64_t compile_ns)
{
    struct ks_kernel_row *row = ks_list_at(&s->index.kernels, kernel);

    row->outcome = (uint8_t)outcome;
    TEXT_COPY(row->outcome_text, outcome ? ks_outcome_text(outcome) : "");
    row->compile_ns = compile_ns;
}

struct ks_code_rec *ks_stage_code(struct ks_stage *s, uint32_t kernel)
{
    return &((struct ks_kernel_row *)ks_list_at(&s->index.kernels, kernel))->code;
}

/* ---- attempts ---- */

static struct attempt *attempt_at(const struct ks_stage *s, uint32_t i)
{
    return ks_list_at(&s->attempts, i);
}

static struct ks_key cell_key(const struct ks_stage *s, uint32_t run, uint32_t problem,
                              uint32_t kernel)
{
    const struct ks_kernel_row *k = ks_list_at(&s->index.kernels, kernel);

    return (struct ks_key){ { run, problem, k->instance_id } };
}

uint32_t ks_stage_find(const struct ks_stage *s, uint32_t run, uint32_t problem, uint32_t kernel)
{
    struct ks_key key = cell_key(s, run, problem, kernel);
    uint32_t cell = ks_keys_find(&s->cell_keys, &key);

    return cell == KS_NO_ROW ? cell : ((struct cell *)ks_list_at(&s->cells, cell))->first;
}

/* Equal reasons are held once. */
static int put_reason(struct ks_stage *s, const char *reason, uint32_t *at_out, struct ks_err *err)
{
    char clean[sizeof(((struct ks_row *)0)->reason)];
    uint32_t number, *at;
    bool is_new;
    int rc;

    *at_out = 0;
    if (!reason || !reason[0])
        return 0;
    TEXT_COPY(clean, reason);
    ks_text_clean(clean);
    rc = ks_keys_add(&s->texts, &(struct ks_key){ { ks_id64(clean, strlen(clean)) } }, &number,
                     &is_new, err);
    if (rc == 0 && is_new) {
        rc = ks_list_add(&s->text_at, &at, err);
        if (rc < 0)
            return rc;
        *at = (uint32_t)s->reasons.len;
        ks_buf_put(&s->reasons, clean, strlen(clean) + 1);
        if (strlen(clean) > s->index.longest_reason)
            s->index.longest_reason = strlen(clean);
    }
    if (rc < 0 || !ks_buf_ok(&s->reasons))
        return rc < 0 ? rc : ks_fail(err, KS_ENOMEM, "out of memory for a reason");
    *at_out = *(uint32_t *)ks_list_at(&s->text_at, number);
    return 0;
}

static int put_samples(struct ks_stage *s, const struct ks_stage_attempt *a, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < a->n_samples; i++) {
        double *sample;

        rc = ks_list_add(&s->samples, &sample, err);
        if (rc == 0)
            *sample = a->sample_ns[i];
    }
    if (a->n_samples > s->most_samples)
        s->most_samples = a->n_samples;
    return rc;
}

static int cell_of(struct ks_stage *s, const struct ks_stage_attempt *a, uint32_t *cell_out,
                   struct ks_err *err)
{
    struct ks_key key = cell_key(s, a->run, a->problem, a->kernel);
    struct cell *cell;
    bool is_new;
    int rc = ks_keys_add(&s->cell_keys, &key, cell_out, &is_new, err);

    if (rc == 0 && is_new)
        rc = ks_list_add(&s->cells, &cell, err);
    if (rc == 0 && is_new)
        cell->first = (uint32_t)s->attempts.n;
    return rc;
}

int ks_stage_add(struct ks_stage *s, const struct ks_stage_attempt *a, struct ks_err *err)
{
    uint64_t first_sample = s->samples.n;
    uint32_t cell = 0, reason = 0;
    struct attempt *held;
    int rc = s->attempts.n < KS_NO_ROW - 1
                 ? 0
                 : ks_fail(err, KS_EUNSUPPORTED, "more than %u rows", KS_NO_ROW - 1);

    if (rc == 0)
        rc = put_reason(s, a->reason, &reason, err);
    if (rc == 0)
        rc = put_samples(s, a, err);
    if (rc == 0)
        rc = cell_of(s, a, &cell, err);
    if (rc == 0)
        rc = ks_list_add(&s->attempts, &held, err);
    if (rc < 0)
        return rc;
    *held = (struct attempt){ .time_ns = a->time_ns,
                              .started_ns = a->started_ns,
                              .n_elements = a->n_elements,
                              .n_non_zero = a->n_non_zero,
                              .first_sample = first_sample,
                              .workspace_bytes = a->workspace_bytes,
                              .run = a->run,
                              .problem = a->problem,
                              .kernel = a->kernel,
                              .device = a->device,
                              .cell = cell,
                              .n_samples = a->n_samples,
                              .flags = a->flags,
                              .reason = reason,
                              .outcome = (uint8_t)a->outcome };
    held->number = ++((struct cell *)ks_list_at(&s->cells, cell))->n_attempts;
    return 0;
}

double ks_stage_time(const struct ks_stage *s, uint32_t attempt)
{
    return attempt_at(s, attempt)->time_ns;
}

uint32_t ks_stage_flags(const struct ks_stage *s, uint32_t attempt)
{
    return attempt_at(s, attempt)->flags;
}

int ks_stage_mark(struct ks_stage *s, uint32_t attempt, uint32_t outcome, uint32_t flags,
                  const char *reason, struct ks_err *err)
{
    struct attempt *a = attempt_at(s, attempt);

    a->outcome = (uint8_t)outcome;
    a->flags |= flags;
    return put_reason(s, reason, &a->reason, err);
}

/* ---- writing ---- */

static void make_row(const struct ks_stage *s, const struct attempt *a, struct ks_row *row)
{
    const struct ks_problem_row *p = ks_list_at(&s->index.problems, a->problem);
    const struct ks_kernel_row *k = ks_list_at(&s->index.kernels, a->kernel);

    *row = s->blank;
    row->run = a->run;
    row->problem = a->problem;
    row->kernel = a->kernel;
    row->device = a->device;
    row->problem_id = p->problem_id;
    row->instance_id = k->instance_id;
    row->condition_id = ((struct ks_run_row *)ks_list_at(&s->index.runs, a->run))->condition_id;
    if (a->device != KS_NO_ROW)
        row->device_id =
            ((struct ks_device_row *)ks_list_at(&s->index.devices, a->device))->rec.device_id;
    row->attempt = a->number;
    row->n_attempts = ((struct cell *)ks_list_at(&s->cells, a->cell))->n_attempts;
    row->outcome = a->outcome;
    TEXT_COPY(row->outcome_text, ks_outcome_text(a->outcome));
    row->outcome_flags = a->flags;
    row->is_confirmed = !(a->flags & KS_FL_UNCONFIRMED);
    TEXT_COPY(row->reason, (const char *)s->reasons.data + a->reason);
    row->started_ns = a->started_ns;
    row->workspace_bytes = a->workspace_bytes;
    row->n_elements = a->n_elements;
    row->n_zero = a->n_elements > a->n_non_zero ? a->n_elements - a->n_non_zero : 0;
    row->sample_offset = a->first_sample;
    if (a->n_samples)
        ks_row_stats(row, (const double *)s->samples.at + a->first_sample, a->n_samples, 0,
                     s->scratch);
    else
        row->time_median_ns = a->time_ns;
    row->is_final = a->number == 1;
}

static int put_floats(const struct ks_stage *s, const struct attempt *a, float *ns,
                      const struct ks_sink *sink, struct ks_err *err)
{
    if (a->n_samples == 0)
        return 0;
    for (uint32_t i = 0; i < a->n_samples; i++)
        ns[i] = (float)*(double *)ks_list_at(&s->samples, a->first_sample + i);
    return sink->samples(sink->ctx, ns, a->n_samples, err);
}

static int produce(void *ctx, const struct ks_sink *sink, struct ks_err *err)
{
    const struct ks_stage *s = ctx;
    float *ns = malloc((s->most_samples + 1) * sizeof(*ns));
    struct ks_row row;
    int rc = ns ? ks_produce_small(&s->index, sink, err)
                : ks_fail(err, KS_ENOMEM, "out of memory for samples");

    for (uint32_t i = 0; rc == 0 && i < s->attempts.n; i++) {
        const struct attempt *a = attempt_at(s, i);

        make_row(s, a, &row);
        row.attempt_row = i;
        rc = sink->row(sink->ctx, KS_T_ATTEMPTS, &row, err);
        if (rc == 0)
            rc = put_floats(s, a, ns, sink, err);
        if (rc == 0 && row.is_final)
            rc = sink->row(sink->ctx, KS_T_MEASUREMENTS, &row, err);
    }
    free(ns);
    return rc;
}

/* What is only known now: counts of the runs, and lengths of texts. */
static void finish(struct ks_stage *s)
{
    struct ks_list *runs = &s->index.runs;

    for (size_t i = 0; i < s->attempts.n; i++) {
        const struct attempt *a = attempt_at(s, (uint32_t)i);
        struct ks_run_row *run = ks_list_at(runs, a->run);

        run->n_records++;
        run->n_cells += a->number == 1;
        if (a->started_ns && (run->started_ns == 0 || a->started_ns < run->started_ns))
            run->started_ns = a->started_ns;
        if (a->started_ns > run->last_ns)
            run->last_ns = a->started_ns;
        if (strlen(ks_outcome_text(a->outcome)) > s->index.longest_outcome)
            s->index.longest_outcome = strlen(ks_outcome_text(a->outcome));
    }
    for (size_t i = 0; i < runs->n; i++) {
        struct ks_run_row *run = ks_list_at(runs, i);

        run->n_done = run->n_cells;
    }
    ks_index_measure(&s->index);
}

int ks_stage_write(struct ks_stage *s, const char *out_path, const struct ks_store_options *options,
                   struct ks_store_totals *totals_out, struct ks_err *err)
{
    struct ks_whole_plan plan = {
        .index = &s->index, .n_samples = s->samples.n, .produce = produce, .ctx = s
    };
    struct ks_store_totals totals = { .n_runs = (uint32_t)s->index.runs.n,
                                      .n_cells = s->cells.n,
                                      .n_attempts = s->attempts.n,
                                      .n_samples = s->samples.n };
    int rc = 0;

    ks_h5_start();
    free(s->scratch);
    s->scratch = malloc((s->most_samples + 1) * sizeof(*s->scratch));
    if (!s->scratch)
        rc = ks_fail(err, KS_ENOMEM, "out of memory for samples");
    if (rc == 0) {
        finish(s);
        ks_whole_count(&s->index, plan.n_rows);
        plan.n_rows[KS_T_MEASUREMENTS] = s->cells.n;
        plan.n_rows[KS_T_ATTEMPTS] = s->attempts.n;
        rc = ks_whole_write(out_path, &plan, options, &totals, err);
    }
    if (rc == 0 && totals_out)
        *totals_out = totals;
    return rc < 0 ? ks_err_context(err, rc, "writing '%s'", out_path) : 0;
}
