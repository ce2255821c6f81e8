/* SPDX-License-Identifier: MIT */
/* index.c - first pass: notes where each record lies and what decides whether it counts */
#include "store/index.h"
#include "base/file.h"
#include "record/rounds.h"
#include "store/produce.h"
#include "store/table.h"
#include "store/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    size_t list, size;
} lists[] = {
    { offsetof(struct ks_index, runs), sizeof(struct ks_run_row) },
    { offsetof(struct ks_index, hosts), sizeof(struct ks_host_row) },
    { offsetof(struct ks_index, devices), sizeof(struct ks_device_row) },
    { offsetof(struct ks_index, problems), sizeof(struct ks_problem_row) },
    { offsetof(struct ks_index, kernels), sizeof(struct ks_kernel_row) },
    { offsetof(struct ks_index, traits), sizeof(struct ks_trait_row) },
    { offsetof(struct ks_index, blocks), sizeof(struct ks_block_row) },
    { offsetof(struct ks_index, events), sizeof(struct ks_event_row) },
    { offsetof(struct ks_index, instance_row), sizeof(uint32_t) },
    { offsetof(struct ks_index, build_row), sizeof(uint32_t) },
    { offsetof(struct ks_index, first_record), sizeof(uint32_t) },
    { offsetof(struct ks_index, cells), sizeof(struct ks_cell_info) },
    { offsetof(struct ks_index, races), sizeof(struct ks_race_info) },
    { offsetof(struct ks_index, records), sizeof(struct ks_record_ref) },
};

int ks_index_init(struct ks_index *x, struct ks_err *err)
{
    const struct ks_table_def *problems = &ks_table_defs[KS_T_PROBLEMS];

    memset(x, 0, sizeof(*x));
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        ((struct ks_list *)(void *)((char *)x + lists[i].list))->size = lists[i].size;
    memcpy(x->defs, ks_table_defs, sizeof(x->defs));
    memcpy(x->problem_columns, problems->columns, problems->n_columns * sizeof(struct ks_column));
    x->defs[KS_T_PROBLEMS].columns = x->problem_columns;
    ks_buf_init(&x->texts);
    x->scratch = malloc(sizeof(*x->scratch));
    return x->scratch ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
}

void ks_index_release(struct ks_index *x)
{
    struct ks_keys *keys[] = { &x->host_keys,  &x->device_keys, &x->problem_keys, &x->instance_keys,
                               &x->build_keys, &x->trait_keys,  &x->code_keys,    &x->block_keys,
                               &x->cell_keys,  &x->race_keys };

    for (size_t i = 0; i < x->runs.n; i++)
        free((void *)(uintptr_t)((struct ks_run_row *)ks_list_at(&x->runs, i))->job);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        ks_list_release((struct ks_list *)(void *)((char *)x + lists[i].list));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        ks_keys_release(keys[i]);
    free(x->scratch);
    ks_buf_release(&x->texts);
    x->scratch = NULL;
}

/* ---- records ---- */

struct reading {
    struct ks_index *x;
    struct ks_index_limit limit;
    uint32_t run;
    ks_journal_damage_fn on_damage;
    void *damage_ctx;
};

static void on_damage(void *ctx, const struct ks_journal_damage *d)
{
    const struct reading *rd = ctx;

    if (rd->on_damage)
        rd->on_damage(rd->damage_ctx, d);
}

int ks_index_race(struct ks_index *x, uint32_t run, uint64_t problem, uint32_t *i_out,
                  struct ks_err *err)
{
    struct ks_key key = { { run, problem } };
    void *added;
    bool is_new;
    int rc = ks_keys_add(&x->race_keys, &key, i_out, &is_new, err);

    return rc == 0 && is_new ? ks_list_add(&x->races, &added, err) : rc;
}

static int cell_of(struct ks_index *x, uint32_t run, const struct ks_cell *c, uint32_t *cell_out,
                   struct ks_err *err)
{
    struct ks_key key = { { run, c->problem, c->instance, c->condition } };
    struct ks_cell_info *info;
    void *added;
    bool is_new;
    int rc = ks_keys_add(&x->cell_keys, &key, cell_out, &is_new, err);

    if (rc == 0 && is_new)
        rc = ks_list_add(&x->cells, &added, err);
    if (rc < 0 || !is_new)
        return rc;
    info = added;
    info->first = info->last = info->final = KS_NO_ROW;
    return ks_index_race(x, run, c->problem, &info->i_race, err);
}

/* Recorded before, as by a journal that was copied into itself. What takes an attempt back is none.
 */
static bool is_repeat(const struct ks_index *x, const struct ks_cell_info *cell,
                      const struct ks_record *r)
{
    if (r->role != KS_ROLE_CELL || (r->outcome_flags & KS_FL_VOID))
        return false;
    for (uint32_t i = cell->first; i != KS_NO_ROW;) {
        const struct ks_record_ref *ref = ks_list_at(&x->records, i);

        if (ref->key.attempt == r->attempt && ref->key.round == r->round_index &&
            ref->key.role == KS_ROLE_CELL &&
            (r->round_index == 0 ||
             (ref->block == r->block_id && ref->position == (r->position & INT32_MAX))))
            return true;
        i = ref->next;
    }
    return false;
}

static int add_record(struct ks_index *x, uint32_t i_cell, const struct ks_journal_frame *f,
                      const struct ks_record *r, struct ks_err *err)
{
    struct ks_record_ref *ref;
    struct ks_cell_info *cell;
    uint32_t at;
    void *added;
    int rc = ks_list_add(&x->records, &added, err);
    if (rc < 0)
        return rc;
    if (x->records.n >= KS_NO_ROW)
        return ks_fail(err, KS_EUNSUPPORTED, "more than %u records", KS_NO_ROW - 1);
    ref = added;
    *ref = (struct ks_record_ref){ .offset = f->offset,
                                   .block = r->block_id,
                                   .device = r->device_id,
                                   .position = r->position & INT32_MAX,
                                   .segment = f->segment,
                                   .cell = i_cell,
                                   .next = KS_NO_ROW,
                                   .run_cell = KS_NO_ROW,
                                   .n_visit = r->n_visit,
                                   .worker = r->worker.hi,
                                   .key = { .attempt = r->attempt,
                                            .round = r->round_index,
                                            .role = r->role,
                                            .outcome = r->outcome,
                                            .flags = r->outcome_flags,
                                            .disturbance = r->disturbance } };
    at = (uint32_t)(x->records.n - 1);
    cell = ks_list_at(&x->cells, i_cell);
    if (r->role == KS_ROLE_CELL && r->attempt > cell->max_done)
        cell->max_done = r->attempt;
    if (r->role == KS_ROLE_CELL) {
        cell->timing_ns += (double)r->timing_ns;
        ((struct ks_race_info *)ks_list_at(&x->races, cell->i_race))->timing_ns +=
            (double)r->timing_ns;
    }
    if (cell->last == KS_NO_ROW)
        cell->first = at;
    else
        ((struct ks_record_ref *)ks_list_at(&x->records, cell->last))->next = at;
    cell->last = at;
    return 0;
}

/* Cells a device was about to measure: an attempt without its record was lost. */
static int on_start(struct reading *rd, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_start *s = &rd->x->start;

    if (ks_start_decode(f->body, f->n, s, NULL) < 0) {
        ((struct ks_run_row *)ks_list_at(&rd->x->runs, rd->run))->n_unreadable++;
        return 0;
    }
    for (uint32_t i = 0; i < s->n_cells; i++) {
        struct ks_cell_info *cell;
        uint32_t i_cell;
        int rc = cell_of(rd->x, rd->run, &s->cells[i].cell, &i_cell, err);

        if (rc < 0)
            return rc;
        cell = ks_list_at(&rd->x->cells, i_cell);
        if (s->cells[i].attempt > cell->max_started)
            cell->max_started = s->cells[i].attempt;
    }
    return 0;
}

static void longest(size_t *longest_io, size_t n)
{
    if (n > *longest_io)
        *longest_io = n;
}

static void note_record(struct reading *rd, const struct ks_record *r)
{
    struct ks_index *x = rd->x;
    char box[KS_BOX_TEXT];

    x->n_samples += r->n_samples;
    x->n_mismatches += r->n_mismatches;
    x->n_failures += ks_has_failure(r);
    longest(&x->longest_reason, strlen(r->reason));
    longest(&x->longest_protocol, strlen(r->protocol));
    longest(&x->longest_outcome, strlen(ks_outcome_text(r->outcome)));
    longest(&x->longest_tail, r->n_tail);
    longest(&x->longest_box, ks_box_text(r, box));
}

static int on_done(struct reading *rd, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_index *x = rd->x;
    struct ks_record *r = x->scratch;
    struct ks_run_row *run = ks_list_at(&x->runs, rd->run);
    uint32_t i_cell;
    int rc;

    if (ks_record_decode(f->body, f->n, r, NULL, NULL) < 0) {
        run->n_unreadable++;
        return 0;
    }
    rc = cell_of(x, rd->run, &r->cell, &i_cell, err);
    if (rc == 0 && is_repeat(x, ks_list_at(&x->cells, i_cell), r)) {
        x->n_repeats++;
        return 0;
    }
    run->n_records++;
    if (rc == 0)
        rc = ks_index_name_record(x, rd->run, r, err);
    if (rc == 0)
        rc = add_record(x, i_cell, f, r, err);
    note_record(rd, r);
    return rc;
}

/* Read before, as by a journal that was copied into itself. */
static bool is_found_again(const struct ks_index *x, const struct ks_cell_info *cell,
                           const struct ks_record *r)
{
    for (uint32_t i = cell->first; i != KS_NO_ROW;) {
        const struct ks_record_ref *ref = ks_list_at(&x->records, i);

        if (ref->worker == r->worker.hi && ref->position == (r->position & INT32_MAX))
            return true;
        i = ref->next;
    }
    return false;
}

/* A row that a program printed. Its run is of this sweep's condition, the row of the program's. */
static int on_found(struct reading *rd, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_index *x = rd->x;
    struct ks_record *r = x->scratch;
    struct ks_run_row *run = ks_list_at(&x->runs, rd->run);
    struct ks_found_texts texts;
    struct ks_cell of;
    uint32_t i_cell, i_run;
    int rc = ks_found_decode(f->body, f->n, r, &texts, &x->texts, err);

    if (rc == KS_EFORMAT) {
        run->n_unreadable++;
        return 0;
    }
    of = (struct ks_cell){ r->cell.problem, r->run_instance, run->condition_id };
    if (rc == 0)
        rc = cell_of(x, rd->run, &r->cell, &i_cell, err);
    if (rc == 0)
        rc = cell_of(x, rd->run, &of, &i_run, err);
    if (rc == 0 && is_found_again(x, ks_list_at(&x->cells, i_cell), r)) {
        x->n_repeats++;
        return 0;
    }
    run->n_records++;
    if (rc == 0)
        rc = ks_index_name_record(x, rd->run, r, err);
    if (rc == 0)
        rc = ks_index_put_found(x, rd->run, r->cell.instance, &texts, err);
    if (rc == 0)
        rc = add_record(x, i_cell, f, r, err);
    if (rc == 0)
        ((struct ks_record_ref *)ks_list_at(&x->records, x->records.n - 1))->run_cell = i_run;
    note_record(rd, r);
    return rc;
}

static int on_frame(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct reading *rd = ctx;
    const struct ks_index_limit *l = &rd->limit;
    struct ks_run_row *run = ks_list_at(&rd->x->runs, rd->run);

    if (l->segment &&
        (f->segment > l->segment || (f->segment == l->segment && f->offset > l->offset))) {
        rd->x->n_newer_frames++;
        return 0;
    }
    run->n_frames++;
    run->end_segment = f->segment;
    run->end_offset = f->offset;
    if (f->type == KS_F_DONE)
        return on_done(rd, f, err);
    if (f->type == KS_F_FOUND)
        return on_found(rd, f, err);
    if (f->type == KS_F_START)
        return on_start(rd, f, err);
    return ks_index_name_frame(rd->x, rd->run, f, err);
}

static int add_run(struct ks_index *x, const char *dir, struct ks_err *err)
{
    struct ks_run_row *run;
    void *added;
    char *real;
    int rc = ks_list_add(&x->first_record, &added, err);

    if (rc < 0)
        return rc;
    *(uint32_t *)added = (uint32_t)x->records.n;
    rc = ks_list_add(&x->runs, &added, err);
    if (rc < 0)
        return rc;
    run = added;
    if (snprintf(run->path, sizeof(run->path), "%s", dir) >= (int)sizeof(run->path))
        return ks_fail(err, KS_EINVAL, "the path of %zu bytes is too long", strlen(dir));
    real = realpath(dir, NULL);
    snprintf(run->dir, sizeof(run->dir), "%s", real ? real : dir);
    ks_text_clean(run->dir);
    free(real);
    return 0;
}

int ks_index_add(struct ks_index *x, const char *dir, struct ks_index_limit limit,
                 ks_journal_damage_fn damage, void *damage_ctx, struct ks_err *err)
{
    struct reading rd = { x, limit, (uint32_t)x->runs.n, damage, damage_ctx };
    struct ks_journal_totals totals;
    struct ks_run_row *run;
    char journal[1100];
    int rc = ks_path_is_dir(dir)
                 ? add_run(x, dir, err)
                 : ks_fail(err, KS_ENOENT,
                           "'%s' is not the directory of a run: results are gathered from journals",
                           dir);

    if (rc < 0)
        return rc;
    snprintf(journal, sizeof(journal), "%s/journal", dir);
    rc = ks_journal_read(journal, on_frame, on_damage, &rd, &totals, err);
    if (rc < 0)
        return ks_err_context(err, rc, "reading the journal of '%s'", dir);
    run = ks_list_at(&x->runs, rd.run);
    run->n_damaged_places = totals.n_damaged_places;
    run->n_torn_tails = totals.n_torn_tails;
    run->n_unknown_frames = totals.n_unknown_types; /* they are not handed on */
    x->n_journal_bytes += totals.n_bytes;
    return 0;
}

/* ---- after everything was read ---- */

/* The run a record belongs to: records lie run after run. */
static uint32_t run_of(const struct ks_index *x, uint32_t record)
{
    uint32_t run = 0;

    while (run + 1 < x->runs.n && *(uint32_t *)ks_list_at(&x->first_record, run + 1) <= record)
        run++;
    return run;
}

static void count_runs(struct ks_index *x)
{
    for (size_t i = 0; i < x->cells.n; i++) {
        const struct ks_cell_info *c = ks_list_at(&x->cells, i);

        if (c->final != KS_NO_ROW && !ks_index_is_found(x, c))
            ((struct ks_run_row *)ks_list_at(&x->runs, run_of(x, c->final)))->n_done++;
    }
    for (size_t i = 0; i < x->runs.n; i++) {
        struct ks_run_row *r = ks_list_at(&x->runs, i);

        /* Without its job a run is known by what was measured. */
        if (r->n_cells < r->n_done)
            r->n_cells = r->n_done;
        r->n_pending = r->n_cells - r->n_done;
    }
}

static void set_length(struct ks_index *x, enum ks_table_id table, const char *column, size_t n)
{
    const struct ks_table_def *def = &x->defs[table];
    const struct ks_column *c = ks_table_column(def, column);

    assert(c);
    x->text_len[table][c - def->columns] = (uint32_t)n;
}

void ks_index_measure(struct ks_index *x)
{
    const struct {
        enum ks_table_id table;
        const struct ks_list *rows;
    } small[] = {
        { KS_T_RUNS, &x->runs },       { KS_T_HOSTS, &x->hosts },
        { KS_T_DEVICES, &x->devices }, { KS_T_PROBLEMS, &x->problems },
        { KS_T_KERNELS, &x->kernels }, { KS_T_TRAITS, &x->traits },
        { KS_T_BLOCKS, &x->blocks },   { KS_T_EVENTS, &x->events },
    };

    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
        ks_table_lengths(&x->defs[small[i].table], small[i].rows->at, small[i].rows->n,
                         x->text_len[small[i].table]);
    set_length(x, KS_T_ATTEMPTS, "reason", x->longest_reason);
    set_length(x, KS_T_ATTEMPTS, "outcome_text", x->longest_outcome);
    set_length(x, KS_T_MEASUREMENTS, "reason", x->longest_reason);
    set_length(x, KS_T_MEASUREMENTS, "outcome_text", x->longest_outcome);
    set_length(x, KS_T_ATTEMPTS, "protocol", x->longest_protocol);
    set_length(x, KS_T_MEASUREMENTS, "protocol", x->longest_protocol);
    set_length(x, KS_T_MEASUREMENTS, "rounds_stop", x->longest_stop);
    set_length(x, KS_T_MEASUREMENTS, "rounds_statistic", KS_STATISTIC_NAME_LONGEST);
    set_length(x, KS_T_FAILURES, "output_tail", x->longest_tail);
    set_length(x, KS_T_FAILURES, "wrong_box", x->longest_box);
}

int ks_index_finish(struct ks_index *x, struct ks_err *err)
{
    int rc = ks_index_decide(x, err);

    if (rc == 0)
        rc = ks_index_group_codes(x, err);
    if (rc == 0)
        rc = ks_index_count_found(x, err);
    if (rc < 0)
        return rc;
    count_runs(x);
    ks_index_finish_blocks(x);
    ks_index_measure(x);
    return 0;
}
