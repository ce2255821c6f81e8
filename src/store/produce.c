/* SPDX-License-Identifier: MIT */
#include "store/produce.h"
#include "store/text.h"
#include "store/whole.h"

#include "race/race.h"
#include "record/rounds.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cell of which several records count waits here until all were seen. */
struct open_cell {
    uint32_t cell, n_left;
    struct ks_row row; /* of the record that counts */
    double *sample_ns;
    size_t n_samples, cap;
    struct ks_round_time *rounds; /* [cap_rounds] one place per record is enough */
    size_t n_rounds;
};

/* What is held while the journals are read once more. */
struct pass {
    const struct ks_index *x;
    const struct ks_sink *sink;
    uint32_t run, i_record, end_record; /* next record expected, end of the run's */
    enum ks_statistic statistic;        /* of the run's labels */
    uint64_t n_attempt_rows, sample_offset;
    struct ks_list device_now; /* uint32_t: rows of /devices seen last in this run */
    struct ks_list open;       /* struct open_cell */
    uint32_t *open_of_cell;    /* [cells] number in open; NULL when no cell has rounds */
    struct ks_record *rec;
    float *sample_f32; /* [KS_SAMPLES_MAX] */
    double *sorted;    /* scratch of ks_stats */
    size_t sorted_cap;
};

bool ks_has_failure(const struct ks_record *r)
{
    return r->n_tail > 0 || r->n_box > 0 || r->fault_address || r->n_denied > 0 || r->n_wrong > 0;
}

size_t ks_box_text(const struct ks_record *r, char *out)
{
    size_t at = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < r->n_box && i < 6; i++)
        at += (size_t)snprintf(out + at, KS_BOX_TEXT - at, "%s%" PRId64 "..%" PRId64, i ? "," : "",
                               r->box_lo[i], r->box_hi[i]);
    return at;
}

/* ---- one record -> one row ---- */

#define TYPE_U8  uint8_t
#define TYPE_U32 uint32_t
#define TYPE_U64 uint64_t
#define TYPE_I32 int32_t
#define TYPE_I64 int64_t
#define TYPE_F32 double
static void copy_recorded(const struct ks_record *r, struct ks_row *row)
{
#define RECORDED(tag, rtype, type, name, ...)  row->name = (TYPE_##type)r->name;
#define PATH(tag, kind, path, type, name, ...) row->name = (TYPE_##type)r->path;
#define TEXT(tag, bytes, name, ...)            memcpy(row->name, r->name, bytes);
    KS_MEASURED(RECORDED, TEXT, PATH, KS_NOTHING, KS_NOTHING, KS_NOTHING)
#undef RECORDED
#undef PATH
#undef TEXT
    ks_text_clean(row->reason);
    ks_text_clean(row->protocol);
}

static double positive(double v)
{
    return v > 0 ? v : KS_MISSING;
}

/* Errors in tolerances are >= 0; an output with NaN or infinity has the largest float. */
static double max_error_of(const struct ks_record *r)
{
    if (r->tolerance_check == 0)
        return KS_MISSING;
    return isfinite(r->max_error) ? r->max_error : (double)FLT_MAX;
}

static bool has_status(uint32_t outcome)
{
    return outcome == KS_O_CRASHED || outcome == KS_O_EXITED || outcome == KS_O_LAUNCH_FAILED;
}

/* What the record holds as "nothing known" becomes the column's missing value. */
static void set_missing(const struct ks_record *r, struct ks_row *row)
{
    if (!has_status(r->outcome))
        row->status_code = KS_MISSING_CODE;
    if (r->device_id == 0) /* no worker touched the cell (unsupported, build_failed) */
        row->position = KS_NO_ROW;
    row->max_error = max_error_of(r);
    row->canary_ratio = positive(r->canary_ratio);
    row->verified_sample_ns = positive(r->verified_sample_ns);
    row->clock_resolution_ns = positive(r->clock_resolution_ns);
    row->verified_over_timed = positive(r->verified_over_timed);
    row->floor_ns = positive(r->floor_ns);
    row->disturbance = r->disturbance >= 0 ? r->disturbance : KS_MISSING;
}

/* The device as it was described last before this record. */
static uint32_t device_of(const struct pass *p, const struct ks_record *r)
{
    for (size_t i = p->device_now.n; i-- > 0;) {
        uint32_t k = *(uint32_t *)ks_list_at(&p->device_now, i);
        const struct ks_device_row *d = ks_list_at(&p->x->devices, k);

        if (d->rec.device_id == r->device_id && d->rec.rank == r->mpi_rank)
            return k;
    }
    return KS_NO_ROW;
}

static void put_rows(const struct pass *p, const struct ks_record *r, struct ks_row *row)
{
    row->run = p->run;
    row->problem = ks_index_problem(p->x, r->cell.problem);
    row->kernel = ks_index_kernel(p->x, p->run, r->cell.instance, r->build_id);
    row->block = r->block_id ? ks_index_block(p->x, p->run, r->block_id) : KS_NO_ROW;
    row->device = r->device_id ? device_of(p, r) : KS_NO_ROW;
}

static void put_derived(const struct ks_record *r, struct ks_row *row)
{
    snprintf(row->outcome_text, sizeof(row->outcome_text), "%s", ks_outcome_text(r->outcome));
    row->is_confirmed = !(r->outcome_flags & KS_FL_UNCONFIRMED);
    row->worker_id = r->worker.hi;
    row->wrong_launch_share_ucb95 =
        r->n_checked_launches > 0 ? ks_wrong_launch_share_ucb95(r->n_checked_launches) : KS_MISSING;
}

static void clear_stats(struct ks_row *row)
{
    double *out[] = { &row->time_median_ns,  &row->time_mad_ns,     &row->time_se_ns,
                      &row->time_ci95_lo_ns, &row->time_ci95_hi_ns, &row->time_min_ns,
                      &row->time_max_ns,     &row->time_p10_ns,     &row->time_p90_ns,
                      &row->time_mean_ns };

    for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++)
        *out[i] = KS_MISSING;
    row->n_samples = 0;
}

void ks_row_stats(struct ks_row *row, const double *ns, size_t n, double clock_ns, double *scratch)
{
    struct ks_stats s;

    clear_stats(row);
    row->n_samples = (uint32_t)n;
    if (n == 0)
        return;
    ks_stats(ns, n, clock_ns, row->calls_per_sample ? row->calls_per_sample : 1, scratch, &s);
    row->time_median_ns = s.median;
    row->time_mad_ns = s.mad;
    row->time_se_ns = s.se;
    row->time_ci95_lo_ns = s.lo95;
    row->time_ci95_hi_ns = s.hi95;
    row->time_min_ns = s.min;
    row->time_max_ns = s.max;
    row->time_p10_ns = s.p10;
    row->time_p90_ns = s.p90;
    row->time_mean_ns = s.mean;
}

static int put_stats(struct pass *p, struct ks_row *row, const double *ns, size_t n,
                     double clock_ns, struct ks_err *err)
{
    if (n > p->sorted_cap) {
        double *sorted = realloc(p->sorted, n * sizeof(*sorted));

        if (!sorted)
            return ks_fail(err, KS_ENOMEM, "out of memory for %zu samples", n);
        p->sorted = sorted;
        p->sorted_cap = n;
    }
    ks_row_stats(row, ns, n, clock_ns, p->sorted);
    return 0;
}

static void put_anchor(const struct ks_index *x, struct ks_row *row)
{
    row->anchor_open_ns = row->anchor_close_ns = row->time_over_anchor = KS_MISSING;
    if (row->block == KS_NO_ROW)
        return;
    const struct ks_block_row *b = ks_list_at(&x->blocks, row->block);

    row->anchor_open_ns = b->rec.open_ns;
    row->anchor_close_ns = b->rec.close_ns;
    if (row->time_median_ns > 0 && b->anchor_ns > 0)
        row->time_over_anchor = row->time_median_ns / b->anchor_ns;
}

static int make_row(struct pass *p, const struct ks_record_ref *ref, struct ks_row *row,
                    struct ks_err *err)
{
    const struct ks_record *r = p->rec;
    int rc;

    memset(row, 0, sizeof(*row));
    copy_recorded(r, row);
    set_missing(r, row);
    put_rows(p, r, row);
    put_derived(r, row);
    row->journal_segment = ref->segment;
    row->journal_offset = ref->offset;
    row->sample_offset = p->sample_offset;
    row->attempt_row = p->n_attempt_rows;
    rc = put_stats(p, row, r->sample_ns, r->n_samples, r->clock_resolution_ns, err);
    put_anchor(p->x, row);
    return rc;
}

int ks_row_init(struct ks_row *row, struct ks_err *err)
{
    struct ks_record *r = malloc(sizeof(*r));

    if (!r)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    ks_record_init(r);
    memset(row, 0, sizeof(*row));
    copy_recorded(r, row);
    set_missing(r, row);
    row->run = 0;
    row->problem = row->kernel = row->device = row->block = KS_NO_ROW;
    row->n_attempts = row->n_rounds = row->is_confirmed = 1;
    row->wrong_launch_share_ucb95 = KS_MISSING;
    free(r);
    clear_stats(row);
    row->anchor_open_ns = row->anchor_close_ns = row->time_over_anchor = KS_MISSING;
    return 0;
}

/* ---- the tables a record goes to ---- */

bool ks_counts_denied(const struct ks_record *r)
{
    return r->denied_call != KS_DENIED_UNCOUNTED;
}

static int put_failure(struct pass *p, struct ks_err *err)
{
    const struct ks_record *r = p->rec;
    struct ks_failure_row row = { .attempt_row = p->n_attempt_rows,
                                  .fault_address = r->fault_address,
                                  .n_denied = r->n_denied,
                                  .is_denied_counted = ks_counts_denied(r),
                                  .denied_call = r->denied_call < 0 ? -1 : r->denied_call,
                                  .n_wrong = r->n_wrong };
    int rc = 0;

    if (ks_has_failure(r)) {
        ks_box_text(r, row.wrong_box);
        ks_text_clean_bytes(r->tail, r->n_tail, row.output_tail);
        rc = p->sink->row(p->sink->ctx, KS_T_FAILURES, &row, err);
    }
    for (uint32_t i = 0; rc == 0 && i < r->n_mismatches; i++) {
        struct ks_mismatch_row m = { .attempt_row = p->n_attempt_rows,
                                     .i_mismatch = i,
                                     .element = r->mismatch[i].index,
                                     .got = r->mismatch[i].got,
                                     .want = r->mismatch[i].want,
                                     .tolerance = r->mismatch[i].tolerance };

        rc = p->sink->row(p->sink->ctx, KS_T_MISMATCHES, &m, err);
    }
    return rc;
}

static int put_samples(struct pass *p, struct ks_err *err)
{
    const struct ks_record *r = p->rec;

    if (r->n_samples == 0)
        return 0;
    for (uint32_t i = 0; i < r->n_samples; i++)
        p->sample_f32[i] = (float)r->sample_ns[i];
    p->sample_offset += r->n_samples;
    return p->sink->samples(p->sink->ctx, p->sample_f32, r->n_samples, err);
}

static int hold_samples(struct open_cell *o, const struct ks_record *r, struct ks_err *err)
{
    size_t n = o->n_samples + r->n_samples;

    if (r->n_samples == 0)
        return 0;
    if (n > o->cap) {
        double *held = realloc(o->sample_ns, n * 2 * sizeof(*held));

        if (!held)
            return ks_fail(err, KS_ENOMEM, "out of memory for %zu samples", n);
        o->sample_ns = held;
        o->cap = n * 2;
    }
    memcpy(o->sample_ns + o->n_samples, r->sample_ns, r->n_samples * sizeof(double));
    o->n_samples = n;
    return 0;
}

static int need_open(struct pass *p, uint32_t cell, uint32_t n_kept, struct open_cell **o_out,
                     struct ks_err *err)
{
    struct open_cell *o;
    void *added;
    int rc;

    if (p->open_of_cell[cell] == KS_NO_ROW) {
        rc = ks_list_add(&p->open, &added, err);
        if (rc < 0)
            return rc;
        p->open_of_cell[cell] = (uint32_t)(p->open.n - 1);
        o = added;
        o->cell = cell;
        o->n_left = n_kept;
        o->rounds = calloc(n_kept, sizeof(*o->rounds));
        if (!o->rounds)
            return ks_fail(err, KS_ENOMEM, "out of memory for %u rounds", n_kept);
    }
    *o_out = ks_list_at(&p->open, p->open_of_cell[cell]);
    return 0;
}

/* The last one takes its place. */
static void close_open(struct pass *p, struct open_cell *o)
{
    uint32_t at = p->open_of_cell[o->cell];

    free(o->sample_ns);
    free(o->rounds);
    p->open_of_cell[o->cell] = KS_NO_ROW;
    *o = *(struct open_cell *)ks_list_at(&p->open, p->open.n - 1);
    if (at != p->open.n - 1)
        p->open_of_cell[o->cell] = at;
    p->open.n--;
}

static const struct ks_race_info *race_of(const struct pass *p, uint32_t i_cell)
{
    const struct ks_cell_info *cell = ks_list_at(&p->x->cells, i_cell);

    return ks_list_at(&p->x->races, cell->i_race);
}

/* What the visits of its problem say of a cell, beside its time over rounds. */
static int put_view(struct pass *p, uint32_t i_cell, struct ks_row *row, struct ks_err *err)
{
    const struct ks_cell_info *cell = ks_list_at(&p->x->cells, i_cell);
    const struct ks_race_info *race = race_of(p, i_cell);
    const bool is_label = race->rec.stop && race->rec.label == row->instance_id &&
                          race->rec.statistic == p->statistic && row->rounds_time_ns > 0 &&
                          race->rec.time_ns > 0;

    if (is_label) /* an interval and the time that it is about are of the same visits */
        row->rounds_time_ns = race->rec.time_ns;
    row->rounds_ci95_lo_ns = is_label ? race->rec.lo_ns : KS_MISSING;
    row->rounds_ci95_hi_ns = is_label ? race->rec.hi_ns : KS_MISSING;
    row->time_share = race->timing_ns > 0 ? cell->timing_ns / race->timing_ns : KS_MISSING;
    if (row->rounds_time_ns > 0)
        snprintf(row->rounds_statistic, sizeof(row->rounds_statistic), "%s",
                 ks_statistic_names[p->statistic]);
    snprintf(row->rounds_stop, sizeof(row->rounds_stop), "%s",
             race->rec.stop ? ks_race_stop_text(race->rec.stop) : "");
    return p->sink->row(p->sink->ctx, KS_T_MEASUREMENTS, row, err);
}

/* On the device whose visits counted, else on that of the record that counts. */
static int put_rounds(struct pass *p, struct open_cell *o, struct ks_err *err)
{
    double *scratch = malloc((2 * o->n_rounds + 1) * sizeof(*scratch));
    const struct ks_race_rec *race = &race_of(p, o->cell)->rec;
    double ns = -1;

    if (!scratch)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rounds", o->n_rounds);
    if (race->stop)
        ns = ks_rounds_time(o->rounds, o->n_rounds, race->device_id, scratch);
    if (ns <= 0)
        ns = ks_rounds_time(o->rounds, o->n_rounds, o->row.device_id, scratch);
    o->row.rounds_time_ns = ns > 0 ? ns : KS_MISSING;
    free(scratch);
    return 0;
}

/* One more record of a cell with several; the cell's row comes with the last one. */
static int put_round(struct pass *p, const struct ks_record_ref *ref,
                     const struct ks_cell_info *cell, const struct ks_row *row, struct ks_err *err)
{
    struct open_cell *o;
    int rc = need_open(p, ref->cell, cell->n_kept, &o, err);

    if (rc < 0)
        return rc;
    rc = hold_samples(o, p->rec, err);
    if (rc < 0)
        return rc;
    if (row->rounds_time_ns > 0)
        ks_rounds_add(o->rounds, &o->n_rounds, p->rec, row->rounds_time_ns);
    if (p->i_record == cell->final)
        o->row = *row;
    if (--o->n_left > 0)
        return 0;
    if (o->row.outcome == KS_O_OK) { /* a failure has no times of other rounds */
        rc = put_stats(p, &o->row, o->sample_ns, o->n_samples, o->row.clock_resolution_ns, err);
        put_anchor(p->x, &o->row);
    }
    if (rc == 0 && o->row.outcome == KS_O_OK)
        rc = put_rounds(p, o, err);
    if (rc == 0)
        rc = put_view(p, o->cell, &o->row, err);
    close_open(p, o);
    return rc;
}

static int put_record(struct pass *p, const struct ks_record_ref *ref, struct ks_err *err)
{
    const struct ks_cell_info *cell = ks_list_at(&p->x->cells, ref->cell);
    const bool counts = cell->final != KS_NO_ROW && ref->counts;
    struct ks_row row;
    int rc = make_row(p, ref, &row, err);

    if (rc < 0)
        return rc;
    row.n_attempts = cell->n_attempts;
    row.n_rounds = cell->n_rounds;
    row.is_final = p->i_record == cell->final;
    row.rounds_time_ns = positive(ks_rounds_statistic(p->rec, p->statistic));
    rc = p->sink->row(p->sink->ctx, KS_T_ATTEMPTS, &row, err);
    if (rc == 0)
        rc = put_samples(p, err);
    if (rc == 0)
        rc = put_failure(p, err);
    if (rc == 0 && counts && cell->n_kept > 1)
        rc = put_round(p, ref, cell, &row, err);
    else if (rc == 0 && row.is_final && !cell->is_hidden)
        rc = put_view(p, ref->cell, &row, err);
    p->n_attempt_rows++;
    return rc;
}

/* ---- reading ---- */

static int on_device(struct pass *p, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_device_rec d;
    uint32_t row;
    void *added;
    int rc;

    if (ks_device_rec_decode(f->body, f->n, &d, NULL) < 0)
        return 0; /* counted in the first pass */
    row = ks_index_device(p->x, p->run, &d);
    if (row == KS_NO_ROW)
        return 0; /* newer than the index */
    rc = ks_list_add(&p->device_now, &added, err);
    if (rc == 0)
        *(uint32_t *)added = row;
    return rc;
}

static int on_frame(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct pass *p = ctx;
    const struct ks_record_ref *ref;
    int rc;

    if (f->type == KS_F_DEVICE)
        return on_device(p, f, err);
    if ((f->type != KS_F_DONE && f->type != KS_F_FOUND) || p->i_record == p->end_record)
        return 0;
    ref = ks_list_at(&p->x->records, p->i_record);
    if (f->segment != ref->segment || f->offset != ref->offset)
        return 0; /* unreadable, or appended since the first pass */
    rc = ks_record_decode(f->body, f->n, p->rec, NULL, err);
    if (rc == 0)
        rc = put_record(p, ref, err);
    p->i_record++;
    return rc;
}

static int read_run(struct pass *p, uint32_t run, struct ks_err *err)
{
    const struct ks_index *x = p->x;
    const struct ks_run_row *r = ks_list_at(&x->runs, run);
    struct ks_journal_totals totals;
    char journal[1100];
    int rc;

    p->run = run;
    p->statistic = ks_index_statistic(x, run);
    p->device_now.n = 0;
    p->end_record = run + 1 < x->runs.n ? *(uint32_t *)ks_list_at(&x->first_record, run + 1)
                                        : (uint32_t)x->records.n;
    snprintf(journal, sizeof(journal), "%s/journal", r->path);
    rc = ks_journal_read(journal, on_frame, NULL, p, &totals, err);
    if (rc == 0 && p->i_record != p->end_record)
        rc = ks_fail(err, KS_EFORMAT, "'%s' changed while it was read: %u records are missing",
                     journal, p->end_record - p->i_record);
    return rc;
}

int ks_produce_small(const struct ks_index *x, const struct ks_sink *sink, struct ks_err *err)
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
    int rc = 0;

    for (size_t t = 0; t < sizeof(small) / sizeof(small[0]); t++)
        for (size_t i = 0; rc == 0 && i < small[t].rows->n; i++)
            rc = sink->row(sink->ctx, small[t].table, ks_list_at(small[t].rows, i), err);
    return rc;
}

static int make_open_map(struct pass *p, struct ks_err *err)
{
    size_t n = p->x->cells.n;

    p->open_of_cell = malloc(n * sizeof(*p->open_of_cell));
    if (!p->open_of_cell)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu cells", n);
    for (size_t i = 0; i < n; i++)
        p->open_of_cell[i] = KS_NO_ROW;
    return 0;
}

int ks_produce(const struct ks_index *x, const struct ks_sink *sink, struct ks_err *err)
{
    struct pass p = { .x = x,
                      .sink = sink,
                      .device_now = { .size = sizeof(uint32_t) },
                      .open = { .size = sizeof(struct open_cell) } };
    int rc = ks_produce_small(x, sink, err);

    p.rec = malloc(sizeof(*p.rec));
    p.sample_f32 = malloc(KS_SAMPLES_MAX * sizeof(*p.sample_f32));
    if (rc == 0 && (!p.rec || !p.sample_f32))
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    if (rc == 0 && x->has_rounds)
        rc = make_open_map(&p, err);
    for (uint32_t run = 0; rc == 0 && run < x->runs.n; run++)
        rc = read_run(&p, run, err);
    free(p.open_of_cell);
    for (size_t i = 0; i < p.open.n; i++) {
        free(((struct open_cell *)ks_list_at(&p.open, i))->sample_ns);
        free(((struct open_cell *)ks_list_at(&p.open, i))->rounds);
    }
    ks_list_release(&p.open);
    ks_list_release(&p.device_now);
    free(p.sorted);
    free(p.sample_f32);
    free(p.rec);
    return rc;
}
