/* SPDX-License-Identifier: MIT */
/* timeline.c - writes a sweep as a trace: ranks, leases, workers, cells, samples, builds */
#include "analysis/report/timeline.h"
#include "analysis/data/view.h"
#include "base/array.h"
#include "base/order.h"
#include "trace/output.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tracks of a rank's process; process numbers leave room for every rank of a run. */
enum { TRACK_LEASES = 1, TRACK_BLOCKS, TRACK_WORKERS, TRACK_CELLS };
#define RUN_STRIDE 1000000u

enum { INPUT, REFERENCE, LOAD, EXACT, WARMUP, TIMING, TOLERANCE, N_PHASES };
static const char *const phase_names[N_PHASES] = { "inputs",         "references", "load",
                                                   "exact check",    "warm-up",    "timing",
                                                   "tolerance check" };

struct entry { /* a record that a worker made */
    uint64_t began_ns, ended_ns, lease, block, worker, sample_offset;
    uint64_t phase_ns[N_PHASES];
    uint32_t run, rank, problem, kernel, n_samples, calls, attempt, round, flags;
    int32_t pid;
    uint8_t role, outcome;
};

struct timeline {
    struct ks_store_file *file;
    struct ks_trace_output *out;
    struct ks_buf text;
    struct ks_timeline_counts *counts;
    struct entry *entries; /* [n] by run, rank, began_ns */
    size_t n, cap;
    uint64_t origin_ns;
    bool has_samples, has_event;
    float *ns; /* [cap_ns] samples of one record */
    size_t cap_ns;
};

/* ---- writing events ---- */

static int step(struct timeline *t, struct ks_err *err)
{
    int rc = 0;

    if (!ks_buf_ok(&t->text))
        return ks_fail(err, KS_ENOMEM, "out of memory for the trace");
    if (t->text.len >= (size_t)64 << 10) {
        rc = ks_trace_output_put(t->out, t->text.data, t->text.len, err);
        ks_buf_clear(&t->text);
    }
    return rc;
}

static void put_string(struct timeline *t, const char *text)
{
    struct ks_jw w;

    ks_jw_init(&w, &t->text, false);
    ks_jw_str(&w, NULL, text);
}

/* {"ph":"X","cat":"...","name":"...","pid":1,"tid":1 */
static void begin_event(struct timeline *t, char phase, const char *category, const char *name,
                        uint32_t pid, uint32_t tid)
{
    ks_buf_printf(&t->text,
                  "%s{\"ph\":\"%c\",\"cat\":\"%s\",\"name\":", t->has_event ? ",\n" : "\n", phase,
                  category);
    put_string(t, name);
    ks_buf_printf(&t->text, ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, pid, tid);
    t->has_event = true;
}

static void put_us(struct timeline *t, const char *key, uint64_t ns)
{
    ks_buf_printf(&t->text, ",\"%s\":%" PRIu64 ".%03" PRIu64, key, ns / 1000, ns % 1000);
}

static uint64_t since_origin(const struct timeline *t, uint64_t ns)
{
    return ns > t->origin_ns ? ns - t->origin_ns : 0;
}

/* A slice without its args and the closing bracket. */
static void begin_slice(struct timeline *t, const char *category, const char *name, uint32_t pid,
                        uint32_t tid, uint64_t began_ns, uint64_t ended_ns)
{
    begin_event(t, 'X', category, name, pid, tid);
    put_us(t, "ts", since_origin(t, began_ns));
    put_us(t, "dur", ended_ns > began_ns ? ended_ns - began_ns : 0);
}

static void name_track(struct timeline *t, const char *what, uint32_t pid, uint32_t tid,
                       const char *name)
{
    begin_event(t, 'M', "__metadata", what, pid, tid);
    ks_buf_printf(&t->text, ",\"args\":{\"name\":");
    put_string(t, name);
    ks_buf_printf(&t->text, "}}");
}

/* ---- names ---- */

static const char *problem_of(const struct timeline *t, const struct entry *e)
{
    const struct ks_problem_row *row;

    if (e->problem >= ks_store_info(t->file)->n_problems)
        return "(name lost)";
    row = ks_store_problem(t->file, e->problem);
    return row->problem_name[0] ? row->problem_name : row->canonical;
}

static const char *instance_of(const struct timeline *t, const struct entry *e)
{
    return e->kernel < ks_store_info(t->file)->n_kernels
               ? ks_store_kernel(t->file, e->kernel)->instance_name
               : "(name lost)";
}

static uint32_t pid_of(const struct entry *e)
{
    return e->run * RUN_STRIDE + e->rank + 2;
}

/* ---- records ---- */

static int by_time(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    int d = ks_compare_u64(a->run, b->run);

    if (d == 0)
        d = ks_compare_u64(a->rank, b->rank);
    return d ? d : ks_compare_u64(a->began_ns, b->began_ns);
}

static void fill_entry(const struct ks_row *row, struct entry *e)
{
    *e = (struct entry){
        .began_ns = row->started_ns,
        .ended_ns = row->started_ns + row->wall_ns,
        .lease = row->lease_id,
        .block = row->block_id,
        .worker = row->worker_id,
        .sample_offset = row->sample_offset,
        .phase_ns = { row->input_ns, row->reference_ns, row->load_ns, row->exact_check_ns,
                      row->warmup_ns, row->timing_ns, row->tolerance_check_ns },
        .run = row->run,
        .rank = row->mpi_rank,
        .problem = row->problem,
        .kernel = row->kernel,
        .n_samples = row->n_samples,
        .calls = row->calls_per_sample ? row->calls_per_sample : 1,
        .attempt = row->attempt,
        .round = row->round_index,
        .flags = row->outcome_flags,
        .pid = row->pid,
        .role = row->role,
        .outcome = row->outcome,
    };
}

/* Records of one rank follow one another: a clock that was set back does not make them overlap. */
static void straighten(struct timeline *t)
{
    for (size_t i = 1; i < t->n; i++) {
        const struct entry *before = &t->entries[i - 1];
        struct entry *e = &t->entries[i];

        if (e->run != before->run || e->rank != before->rank || e->began_ns >= before->ended_ns)
            continue;
        e->began_ns = before->ended_ns;
        e->ended_ns = e->ended_ns > e->began_ns ? e->ended_ns : e->began_ns;
    }
}

static int read_entries(struct timeline *t, struct ks_err *err)
{
    const struct ks_store_info *info = ks_store_info(t->file);
    struct ks_row *row = malloc(sizeof(*row));
    uint64_t n_samples = 0;
    int rc = row ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    for (uint64_t i = 0; rc == 0 && i < info->n_attempts; i++) {
        rc = ks_store_attempt(t->file, i, row, err);
        if (rc == 0 &&
            (row->wall_ns == 0 || row->started_ns == 0 || row->mpi_rank >= RUN_STRIDE / 2))
            t->counts->n_not_run++;
        else if (rc == 0)
            rc = ks_reserve(&t->entries, t->n + 1, &t->cap, sizeof(*t->entries), "records", err);
        if (rc < 0 || row->wall_ns == 0 || row->started_ns == 0 || row->mpi_rank >= RUN_STRIDE / 2)
            continue;
        fill_entry(row, &t->entries[t->n++]);
        n_samples += row->n_samples;
    }
    free(row);
    if (t->n)
        qsort(t->entries, t->n, sizeof(*t->entries), by_time);
    straighten(t);
    t->counts->n_samples_left_out = n_samples;
    return rc;
}

static void find_origin(struct timeline *t)
{
    t->origin_ns = UINT64_MAX;
    for (uint32_t i = 0; i < ks_store_info(t->file)->n_runs; i++)
        if (ks_store_run(t->file, i)->started_ns < t->origin_ns)
            t->origin_ns = ks_store_run(t->file, i)->started_ns;
    for (size_t i = 0; i < t->n; i++)
        if (t->entries[i].began_ns < t->origin_ns)
            t->origin_ns = t->entries[i].began_ns;
}

/* ---- cells, with their phases and samples ---- */

static int put_samples(struct timeline *t, const struct entry *e, uint64_t began_ns,
                       uint64_t ended_ns, struct ks_err *err)
{
    int rc = 0;

    if (!t->has_samples || e->n_samples > ks_store_info(t->file)->n_samples)
        return 0;
    rc = ks_reserve(&t->ns, e->n_samples, &t->cap_ns, sizeof(*t->ns), "samples", err);
    if (rc == 0)
        rc = ks_store_samples(t->file, e->sample_offset, e->n_samples, t->ns, err);
    for (uint32_t i = 0; rc == 0 && i < e->n_samples; i++) {
        uint64_t end = began_ns + (uint64_t)((double)t->ns[i] * e->calls);

        end = end < ended_ns ? end : ended_ns;
        begin_slice(t, "sample", "sample", pid_of(e), TRACK_CELLS, began_ns, end);
        ks_buf_printf(&t->text, ",\"args\":{\"call_ns\":%.9g,\"calls\":%" PRIu32 "}}",
                      (double)t->ns[i], e->calls);
        began_ns = end;
        t->counts->n_samples++;
        t->counts->n_samples_left_out--;
        rc = step(t, err);
    }
    return rc;
}

static int put_phases(struct timeline *t, const struct entry *e, struct ks_err *err)
{
    uint64_t at = e->began_ns;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < N_PHASES; i++) {
        uint64_t end = at + e->phase_ns[i];

        if (e->phase_ns[i] == 0)
            continue;
        end = end < e->ended_ns ? end : e->ended_ns;
        begin_slice(t, "phase", phase_names[i], pid_of(e), TRACK_CELLS, at, end);
        ks_buf_printf(&t->text, "}");
        if (i == TIMING)
            rc = put_samples(t, e, at, end, err);
        at = end;
    }
    return rc;
}

static int put_cell(struct timeline *t, const struct entry *e, struct ks_err *err)
{
    static const char *const roles[] = { "cell", "anchor", "canary", "control" };
    int rc;

    begin_slice(t, e->role < 4 ? roles[e->role] : "cell", instance_of(t, e), pid_of(e), TRACK_CELLS,
                e->began_ns, e->ended_ns);
    ks_buf_printf(&t->text, ",\"args\":{\"problem\":");
    put_string(t, problem_of(t, e));
    ks_buf_printf(&t->text,
                  ",\"outcome\":\"%s\",\"attempt\":%" PRIu32 ",\"round\":%" PRIu32
                  ",\"samples\":%" PRIu32 ",\"contaminated\":%s}}",
                  ks_outcome_text(e->outcome), e->attempt, e->round, e->n_samples,
                  e->flags & KS_FL_CONTAMINATED ? "true" : "false");
    t->counts->n_cells++;
    rc = put_phases(t, e, err);
    return rc == 0 ? step(t, err) : rc;
}

/* ---- leases, blocks, workers: records in a row with the same key ---- */

static uint64_t key_of(const struct entry *e, int track)
{
    return track == TRACK_LEASES ? e->lease : track == TRACK_BLOCKS ? e->block : e->worker;
}

static void put_span(struct timeline *t, const struct entry *e, size_t n, int track)
{
    const struct entry *last = &e[n - 1];
    char name[48];

    if (track == TRACK_LEASES) {
        snprintf(name, sizeof(name), "lease %" PRIx64, e->lease);
        begin_slice(t, "lease", name, pid_of(e), TRACK_LEASES, e->began_ns, last->ended_ns);
        t->counts->n_leases++;
    } else if (track == TRACK_BLOCKS) {
        begin_slice(t, "block", problem_of(t, e), pid_of(e), TRACK_BLOCKS, e->began_ns,
                    last->ended_ns);
        t->counts->n_blocks++;
    } else {
        snprintf(name, sizeof(name), "worker %" PRId32, e->pid);
        begin_slice(t, "worker", name, pid_of(e), TRACK_WORKERS, e->began_ns, last->ended_ns);
        t->counts->n_workers++;
    }
    ks_buf_printf(&t->text, ",\"args\":{\"records\":%zu}}", n);
}

static int put_spans(struct timeline *t, const struct entry *e, size_t n, int track,
                     struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0, end; rc == 0 && i < n; i = end) {
        for (end = i + 1; end < n && key_of(&e[end], track) == key_of(&e[i], track);)
            end++;
        if (key_of(&e[i], track))
            put_span(t, &e[i], end - i, track);
        rc = step(t, err);
    }
    return rc;
}

/* ---- a rank ---- */

static void name_rank(struct timeline *t, uint32_t run, uint32_t rank)
{
    const struct ks_store_info *info = ks_store_info(t->file);
    const uint32_t pid = run * RUN_STRIDE + rank + 2;
    const struct ks_device_row *d = NULL;
    char name[512];

    for (uint32_t i = 0; i < info->n_devices; i++)
        if (ks_store_device(t->file, i)->run == run &&
            ks_store_device(t->file, i)->rec.rank == rank)
            d = ks_store_device(t->file, i);
    snprintf(name, sizeof(name), "rank %" PRIu32 "%s%s%s%s%s%s", rank, d ? " on " : "",
             d ? d->rec.host : "", d && d->rec.model[0] ? ", " : "", d ? d->rec.model : "",
             info->n_runs > 1 ? ", run " : "",
             info->n_runs > 1 ? ks_store_run(t->file, run)->run_id : "");
    name_track(t, "process_name", pid, 0, name);
    name_track(t, "thread_name", pid, TRACK_LEASES, "leases");
    name_track(t, "thread_name", pid, TRACK_BLOCKS, "blocks");
    name_track(t, "thread_name", pid, TRACK_WORKERS, "workers");
    name_track(t, "thread_name", pid, TRACK_CELLS, "cells, phases, samples");
}

static int put_ranks(struct timeline *t, struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0, end; rc == 0 && i < t->n; i = end) {
        const struct entry *e = &t->entries[i];

        for (end = i + 1;
             end < t->n && t->entries[end].run == e->run && t->entries[end].rank == e->rank;)
            end++;
        if (e->run >= ks_store_info(t->file)->n_runs)
            continue;
        name_rank(t, e->run, e->rank);
        for (int track = TRACK_LEASES; rc == 0 && track <= TRACK_WORKERS; track++)
            rc = put_spans(t, e, end - i, track, err);
        for (size_t k = i; rc == 0 && k < end; k++)
            rc = put_cell(t, &t->entries[k], err);
    }
    return rc;
}

/* ---- builds ---- */

#define LANES 32

static uint64_t first_record(const struct timeline *t, uint32_t run)
{
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < t->n; i++)
        if (t->entries[i].run == run && t->entries[i].began_ns < first)
            first = t->entries[i].began_ns;
    return first == UINT64_MAX ? ks_store_run(t->file, run)->last_ns : first;
}

static bool is_built(const struct ks_kernel_row *k, uint32_t run)
{
    return k->run == run && !k->is_cached && k->compile_ns > 0;
}

/* As many lanes as compiled at once on average. */
static uint32_t n_lanes(const struct timeline *t, uint32_t run, uint64_t window_ns)
{
    uint64_t sum = 0, lanes;

    for (uint32_t i = 0; i < ks_store_info(t->file)->n_kernels; i++)
        if (is_built(ks_store_kernel(t->file, i), run))
            sum += ks_store_kernel(t->file, i)->compile_ns;
    lanes = window_ns ? sum / window_ns + 1 : 1;
    return lanes < LANES ? (uint32_t)lanes : LANES;
}

static int put_builds(struct timeline *t, uint32_t run, struct ks_err *err)
{
    uint64_t began_ns = ks_store_run(t->file, run)->started_ns, first = first_record(t, run);
    uint32_t lanes = n_lanes(t, run, first > began_ns ? first - began_ns : 0);
    uint32_t pid = run * RUN_STRIDE + 1;
    uint64_t ends_ns[LANES];
    int rc = 0;

    for (uint32_t i = 0; i < lanes; i++)
        ends_ns[i] = began_ns;
    name_track(t, "process_name", pid, 0, "builds (their order is not recorded)");
    for (uint32_t i = 0; rc == 0 && i < ks_store_info(t->file)->n_kernels; i++) {
        const struct ks_kernel_row *k = ks_store_kernel(t->file, i);
        uint32_t lane = 0;

        if (!is_built(k, run))
            continue;
        for (uint32_t l = 1; l < lanes; l++)
            lane = ends_ns[l] < ends_ns[lane] ? l : lane;
        begin_slice(t, "build", k->instance_name, pid, lane + 1, ends_ns[lane],
                    ends_ns[lane] + k->compile_ns);
        ks_buf_printf(&t->text, ",\"args\":{\"outcome\":\"%s\",\"object_bytes\":%" PRIu64 "}}",
                      ks_outcome_text(k->outcome), k->object_bytes);
        ends_ns[lane] += k->compile_ns;
        t->counts->n_builds++;
        rc = step(t, err);
    }
    return rc;
}

/* ---- what happened to ranks and workers ---- */

static int put_events(struct timeline *t, struct ks_err *err)
{
    struct ks_event_row *e = malloc(sizeof(*e));
    int rc = e ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    for (uint64_t i = 0; rc == 0 && i < ks_store_info(t->file)->n_events; i++) {
        rc = ks_store_event(t->file, i, e, err);
        if (rc < 0 || e->run >= ks_store_info(t->file)->n_runs || e->rec.rank >= RUN_STRIDE / 2)
            continue;
        begin_event(t, 'i', "event", e->kind_text, e->run * RUN_STRIDE + e->rec.rank + 2,
                    TRACK_CELLS);
        put_us(t, "ts", since_origin(t, e->rec.realtime_ns));
        ks_buf_printf(&t->text, ",\"s\":\"p\",\"args\":{\"host\":");
        put_string(t, e->rec.host);
        ks_buf_printf(&t->text, ",\"text\":");
        put_string(t, e->rec.text);
        ks_buf_printf(&t->text, "}}");
        t->counts->n_events++;
        rc = step(t, err);
    }
    free(e);
    return rc;
}

/* ---- all of it ---- */

static int put_all(struct timeline *t, struct ks_err *err)
{
    int rc = 0;

    ks_buf_printf(&t->text, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"program\":");
    put_string(t, ks_store_info(t->file)->program);
    ks_buf_printf(&t->text, ",\"began_ns\":\"%" PRIu64 "\"},\"traceEvents\":[", t->origin_ns);
    for (uint32_t i = 0; rc == 0 && i < ks_store_info(t->file)->n_runs; i++)
        rc = put_builds(t, i, err);
    if (rc == 0)
        rc = put_ranks(t, err);
    if (rc == 0)
        rc = put_events(t, err);
    ks_buf_printf(&t->text, "\n]}\n");
    if (rc == 0 && !ks_buf_ok(&t->text))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for the trace");
    return rc == 0 ? ks_trace_output_put(t->out, t->text.data, t->text.len, err) : rc;
}

int ks_timeline_write(const char *path, const char *out_path, enum ks_timeline_samples samples,
                      struct ks_timeline_counts *counts_out, struct ks_err *err)
{
    struct timeline t = { .counts = counts_out };
    char file[KS_PATH_BYTES];
    const char *const inputs[] = { file };
    int rc = ks_results_path(path, file, sizeof(file), err);

    *counts_out = (struct ks_timeline_counts){ 0 };
    ks_buf_init(&t.text);
    if (rc == 0)
        rc = ks_store_open(file, &t.file, err);
    if (rc == 0)
        rc = read_entries(&t, err);
    if (rc == 0) {
        t.has_samples =
            samples == KS_SAMPLES_YES ||
            (samples == KS_SAMPLES_AUTO && counts_out->n_samples_left_out <= KS_TIMELINE_SAMPLES);
        find_origin(&t);
        rc = ks_trace_output_open(out_path, inputs, 1, &t.out, err);
    }
    if (rc == 0) {
        rc = put_all(&t, err);
        rc = ks_trace_output_close(t.out, rc, err);
    }
    ks_store_close(t.file);
    ks_buf_release(&t.text);
    free(t.entries);
    free(t.ns);
    return rc;
}
