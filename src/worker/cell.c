/* SPDX-License-Identifier: MIT */
/* cell.c - one cell through its phases: load, applicable, exact, warm-up, timing, verify. */
#include "base/clock.h"
#include "record/stats.h"
#include "worker/cage.h"
#include "worker/cell_impl.h"
#include "worker/floor.h"
#include "worker/measure.h"
#include "worker/sentinel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ALLOWANCE_NS 10000000000ull /* loading, verification, everything that is no call */
/* Passes over all operands for verification: V1, the warm-up, what every round has, two pairs of an
 * inquiry; and the most that one costs per byte, on a GPU without a judge. */
#define N_PASSES     (16u + KS_PLACES + 2u * KS_SINGLES)
#define PASS_BYTE_NS 5u
/* Exact twice, warm-up's overshoot, checks that are missing when the time is over. */
#define CALLS_EXTRA (6u + KS_LEAST_CHECKED + KS_PLACES)
#define N_ROUNDS    2u /* warm-up and samples: once more where the clock changed meanwhile */

uint64_t ks_cell_budget_ns(const struct ks_measure *m, uint64_t bytes)
{
    uint64_t call = 1000000ull * m->kernel_timeout_ms;

    if (call == 0)
        return 0;
    return call * (m->min_samples + CALLS_EXTRA) +
           N_ROUNDS * 1000000ull * (m->warmup_ms + KS_WARM_FLAT_MAX_MS + m->max_ms) + ALLOWANCE_NS +
           N_PASSES * PASS_BYTE_NS * bytes;
}

/* The kernel's own code is over; each check will poison this much workspace, too. */
static void allow_workspace(struct ks_worker *w, size_t bytes)
{
    if (w->cell_deadline_ns != 0)
        w->cell_deadline_ns += N_PASSES * PASS_BYTE_NS * (uint64_t)bytes;
    ks_worker_enter(w, KS_PH_APPLICABLE, w->cell_deadline_ns);
}

/* Constructors and the kernel's own test are its code, too; other steps run it in launches. */
static bool is_its_code(enum ks_phase phase)
{
    return phase == KS_PH_LOAD || phase == KS_PH_APPLICABLE;
}

/* Its code is bounded like one launch of it. */
static uint64_t step_deadline(const struct ks_worker *w, enum ks_phase phase)
{
    uint64_t call = 1000000ull * w->setup.measure.kernel_timeout_ms, until = ks_now_ns() + call;

    return call > 0 && is_its_code(phase) && until < w->cell_deadline_ns ? until
                                                                         : w->cell_deadline_ns;
}

/* Hooks of every launch: the kernel's own deadline stands before it starts. */
static void before_call(void *ctx, double expected_ns)
{
    struct ks_worker *w = ctx;
    uint64_t call = 1000000ull * w->setup.measure.kernel_timeout_ms;
    uint64_t until = ks_now_ns() + call + (uint64_t)(10.0 * expected_ns);

    ks_cage_before_kernel(&w->cage);
    if (call == 0)
        return;
    if (until > w->cell_deadline_ns)
        until = w->cell_deadline_ns;
    atomic_store_explicit(&w->status->deadline_ns, until, memory_order_release);
}

static void after_call(void *ctx)
{
    struct ks_worker *w = ctx;

    if (ks_cage_after_kernel(&w->cage))
        w->rec.outcome_flags |= KS_FL_FP_ENV_CHANGED;
    atomic_store_explicit(&w->status->deadline_ns, w->cell_deadline_ns, memory_order_release);
}

int ks_cell_end_as(struct cell *c, enum ks_outcome outcome, int32_t code, const char *reason)
{
    struct ks_record *r = &c->w->rec;

    r->outcome = outcome;
    r->status_code = code;
    snprintf(r->reason, sizeof(r->reason), "%.*s", (int)sizeof(r->reason) - 1, reason);
    return 1;
}

/* The outcome a failed operation stands for. */
static int end_failed(struct cell *c, int rc, const struct ks_err *err)
{
    c->w->rec.peak_bytes = ks_cage_peak().bytes; /* a kernel without memory may say anything */
    switch (rc) {
    case KS_ELOAD:
        return ks_cell_end_as(c, KS_O_LOAD_FAILED, 0, err->text);
    case KS_ENOMEM:
    case KS_EDEVMEM:
        return ks_cell_end_as(c, KS_O_OUT_OF_MEMORY, 0, err->text);
    case KS_EUNSUPPORTED:
        return ks_cell_end_as(c, KS_O_SKIPPED, 0, err->text);
    case KS_EDEVLOST: /* to this process: the next worker finds out whether to all */
        c->w->is_lost = true;
        return ks_cell_end_as(c, KS_O_LAUNCH_FAILED, c->run.kernel_rc, err->text);
    case KS_EDEVICE:
        if (c->run.kernel_rc != 0)
            return ks_cell_end_as(c, KS_O_LAUNCH_FAILED, c->run.kernel_rc, err->text);
        /* A GPU that fails without a launch that did has an error that stays and
         * that we do not know: the next cells must not bear it. */
        c->w->is_lost = ks_workset_is_hidden(&c->w->set);
        return ks_cell_end_as(c, c->w->is_lost ? KS_O_LAUNCH_FAILED : KS_O_DEVICE_LOST, 0,
                              err->text);
    default:
        return ks_cell_end_as(c, KS_O_LAUNCH_FAILED, 0, err->text);
    }
}

static int step_load(struct cell *c, struct ks_err *err)
{
    struct ks_artefacts *a = &c->w->artefacts;
    int rc = ks_artefacts_entry(a, c->req->artefact, c->req->digest, c->req->entry, &c->entry, err);

    if (rc < 0 && a->is_damaged)
        c->w->rec.outcome_flags |= KS_FL_DAMAGED;
    return rc;
}

static int step_applicable(struct cell *c, struct ks_err *err)
{
    struct ks_worker *w = c->w;
    const char *why = c->entry->unsupported(&w->set.abi);
    struct ks_zone *ws = &w->set.zone[KS_Z_WORKSPACE];
    int64_t bytes;
    int rc;

    if (why != NULL)
        return ks_cell_end_as(c, KS_O_UNSUPPORTED, 0, why);
    bytes = c->entry->workspace_bytes(&w->set.abi);
    if (bytes < 0)
        return ks_cell_end_as(c, KS_O_LAUNCH_FAILED, 0, "workspace_bytes() is negative");
    w->rec.workspace_bytes = bytes;
    if (w->dev->ops->is_virtual)
        return 0;
    rc = ks_zone_resize(w->dev, ws, (size_t)bytes, KS_PATTERN_EDGE, err);
    if (rc == 0) {
        allow_workspace(w, (size_t)bytes);
        rc = ks_zone_fill(w->dev, ws, KS_PATTERN_NAN, err);
    }
    return rc < 0 ? ks_err_context(err, rc, "workspace") : 0;
}

void ks_cell_prepare_run(struct cell *c, enum ks_data data)
{
    struct ks_worker *w = c->w;

    c->run = (struct ks_run){ .dev = w->dev,
                              .entry = c->entry,
                              .problem = &w->set.abi,
                              .buf = ks_workset_buffers(&w->set, data),
                              .clock_ns = w->props.clock_ns,
                              .before = before_call,
                              .after = after_call,
                              .ctx = w,
                              .meter = w->meter.dev != NULL ? &w->meter : NULL };
    c->has_run = true;
}

int ks_cell_check_guards(struct cell *c, struct ks_err *err)
{
    char reason[160] = "";
    int rc = 0;

    if (c->w->inspector->guards(c->w, reason, sizeof(reason), &rc, err))
        return 0;
    return rc < 0 ? rc : ks_cell_end_as(c, KS_O_OUT_OF_BOUNDS, 0, reason);
}

/* One launch into a poisoned output. */
static int launch_exact(struct cell *c, struct ks_err *err)
{
    double ns = 0.0;
    int rc = ks_zone_fill(c->w->dev, &c->w->set.zone[KS_Z_C], KS_PATTERN_NAN, err);

    if (rc == 0)
        rc = ks_run_calls(&c->run, 1, 0.0, &ns, err);
    return rc == 0 ? ks_cell_check_guards(c, err) : rc;
}

static int compare_exact(const struct cell *c, struct ks_verdict *v, struct ks_err *err)
{
    const struct ks_inspector *i = c->w->inspector;

    if (c->req->numerics == KS_NUMERICS_V2_ONLY)
        return i->written(c->w, v, err);
    return i->exact(c->w, v, err);
}

static int end_nondeterministic(struct cell *c, const struct ks_verdict *v)
{
    ks_verdict_record(v, &c->w->shape, &c->w->rec);
    return ks_cell_end_as(c, KS_O_NONDETERMINISTIC, 0, "two launches on exact data differ");
}

/* V1, but not in visits. Two launches that differ are nondeterministic, whichever of them is right;
 * two that agree on something wrong are wrong. */
static int step_exact(struct cell *c, struct ks_err *err)
{
    struct ks_worker *w = c->w;
    struct ks_verdict v;
    uint64_t first = 0, second = 0;
    int rc;

    if (!w->setup.measure.verify_exact || w->dev->ops->is_virtual || c->req->n_visit > 0)
        return 0;
    ks_cell_prepare_run(c, KS_DATA_EXACT);
    rc = launch_exact(c, err);
    if (rc == 0)
        rc = compare_exact(c, &v, err);
    if (rc == 0)
        rc = w->inspector->hash(w, &first, err);
    if (rc == 0)
        rc = launch_exact(c, err);
    if (rc == 0)
        rc = w->inspector->hash(w, &second, err);
    if (rc != 0)
        return rc;
    w->rec.n_elements = (uint64_t)w->set.extents.c;
    w->rec.exact_check = v.n_wrong == 0 && first == second ? 1 : 2;
    if (w->rec.exact_check == 1)
        return 0;
    if (first != second && v.n_wrong == 0)
        rc = compare_exact(c, &v, err);
    if (rc == 0 && first != second)
        return end_nondeterministic(c, &v);
    if (rc < 0)
        return rc;
    ks_verdict_record(&v, &w->shape, &w->rec);
    return ks_cell_end_as(c, KS_O_WRONG_RESULT, 0, "wrong on exact data");
}

/* Timing must not be disturbed from the moment the caches are warmed to the last sample. */
static bool is_quiet_phase(enum ks_phase phase)
{
    return phase == KS_PH_WARMUP || phase == KS_PH_TIMING || phase == KS_PH_VERIFY;
}

static const struct step {
    enum ks_phase phase;
    int (*run)(struct cell *c, struct ks_err *err); /* 0 go on, 1 the cell has ended, KS_E* */
    size_t ns_at;                                   /* field of the record its time is added to */
} steps[] = {
    { KS_PH_LOAD, step_load, offsetof(struct ks_record, load_ns) },
    { KS_PH_APPLICABLE, step_applicable, offsetof(struct ks_record, load_ns) },
    { KS_PH_EXACT, step_exact, offsetof(struct ks_record, exact_check_ns) },
    { KS_PH_WARMUP, ks_cell_warm, offsetof(struct ks_record, warmup_ns) },
    { KS_PH_TIMING, ks_cell_timing, offsetof(struct ks_record, timing_ns) },
    { KS_PH_VERIFY, ks_cell_verify, offsetof(struct ks_record, tolerance_check_ns) },
};

static void add_ns(struct ks_record *r, size_t at, uint64_t from)
{
    uint64_t v;

    memcpy(&v, (char *)r + at, sizeof(v));
    v += ks_now_ns() - from;
    memcpy((char *)r + at, &v, sizeof(v));
}

static void run_steps(struct cell *c)
{
    struct ks_worker *w = c->w;

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        uint64_t from = ks_now_ns();
        struct ks_err err = { 0 };
        int rc;

        atomic_store(&w->status->is_measuring, is_quiet_phase(steps[i].phase) ? 1u : 0u);
        ks_worker_enter(w, steps[i].phase, step_deadline(w, steps[i].phase));
        ks_cage_before_kernel(&w->cage);
        rc = steps[i].run(c, &err);
        if (ks_cage_after_kernel(&w->cage) && is_its_code(steps[i].phase))
            w->rec.outcome_flags |= KS_FL_FP_ENV_CHANGED;
        add_ns(&w->rec, steps[i].ns_at, from);
        if (rc < 0)
            rc = end_failed(c, rc, &err);
        if (rc != 0) {
            /* A check is verification, whatever it stood in. */
            w->rec.phase = c->checks.outcome != KS_O_NONE ? KS_PH_VERIFY : steps[i].phase;
            break;
        }
    }
    atomic_store(&w->status->is_measuring, 0u);
}

static bool has_run_to_the_end(uint32_t outcome)
{
    return outcome == KS_O_NONE || outcome == KS_O_WRONG_RESULT ||
           outcome == KS_O_NONDETERMINISTIC || outcome == KS_O_UNTRUSTED;
}

/* Guards of output and workspace are looked at after the launches of a cell, but for one that
 * failed. */
static bool is_as_made(struct cell *c, char *reason_out, size_t cap, int *rc_out,
                       struct ks_err *err)
{
    struct ks_worker *w = c->w;

    if (!has_run_to_the_end(w->rec.outcome) &&
        !w->inspector->guards(w, reason_out, cap, rc_out, err) && *rc_out < 0)
        return false;
    *rc_out = ks_checks_end(&c->checks, err);
    if (*rc_out < 0)
        return false;
    return w->inspector->inputs(w, reason_out, cap, rc_out, err);
}

/* A result may be right and its time still not that of the work. */
static void check_time(struct cell *c)
{
    struct ks_worker *w = c->w;
    struct ks_record *r = &w->rec;
    struct ks_floor f = ks_floor_of(&w->work, w->set.element_bytes, c->req->numerics, &w->limits);
    double scratch[KS_SAMPLES_MAX];
    char reason[160];
    struct ks_stats s;

    if (r->n_samples == 0)
        return;
    r->floor_ns = f.ns;
    ks_stats(r->sample_ns, r->n_samples, r->clock_resolution_ns, r->calls_per_sample, scratch, &s);
    if (r->outcome != KS_O_NONE || !ks_floor_is_broken(&f, s.median))
        return;
    ks_floor_reason(&f, s.median, reason, sizeof(reason));
    ks_cell_end_as(c, KS_O_UNTRUSTED, 0, reason);
    r->phase = KS_PH_VERIFY;
}

/* Further words behind the reason of a cell that has one. */
static void add_reason(struct ks_record *r, const char *text)
{
    size_t at = strlen(r->reason);

    snprintf(r->reason + at, sizeof(r->reason) - at, "%s%s", at > 0 ? "; " : "", text);
}

/* What is found after the launches: rc 0, memory that the kernel must not write was changed, or the
 * device failed. A launch that failed keeps its own outcome and reason, which are the cause. */
static void end_late(struct cell *c, int rc, const char *changed, const struct ks_err *err)
{
    struct ks_worker *w = c->w;

    w->is_lost |= rc < 0;
    if (!has_run_to_the_end(w->rec.outcome)) {
        if (rc < 0)
            add_reason(&w->rec, err->text);
        return;
    }
    if (rc < 0)
        end_failed(c, rc, err);
    else
        ks_cell_end_as(c, KS_O_OUT_OF_BOUNDS, 0, changed);
    w->rec.phase = KS_PH_VERIFY;
}

/* Whatever else a kernel did, its neighbours must find what they share as it was made: where that
 * cannot be said, this worker has none. */
static void check_shared(struct cell *c)
{
    struct ks_worker *w = c->w;
    uint64_t from = ks_now_ns();
    struct ks_err err = { 0 };
    char reason[160] = "";
    int rc = 0;

    ks_worker_enter(w, KS_PH_VERIFY, w->cell_deadline_ns);
    if (!is_as_made(c, reason, sizeof(reason), &rc, &err))
        end_late(c, rc, reason, &err);
    add_ns(&w->rec, offsetof(struct ks_record, tolerance_check_ns), from);
}

/* Nor may they find its results, before they have any of their own. */
static void poison_results(struct cell *c)
{
    struct ks_worker *w = c->w;
    uint64_t from = ks_now_ns();
    struct ks_err err = { 0 };
    int rc = ks_workset_poison(&w->set, &err);

    if (rc < 0)
        end_late(c, rc, "", &err);
    add_ns(&w->rec, offsetof(struct ks_record, tolerance_check_ns), from);
}

static void end_as_corrupter(struct cell *c, const struct ks_sentinel_hit *hit)
{
    char reason[160];

    if (hit->offset < 0)
        snprintf(reason, sizeof(reason),
                 "heap_corruption: wrote beyond a chunk, into the allocator's word before the next "
                 "one, of %zu bytes",
                 hit->chunk_bytes);
    else
        snprintf(reason, sizeof(reason),
                 "heap_corruption: wrote beyond a chunk, first at byte %td of another chunk of %zu "
                 "bytes",
                 hit->offset, hit->chunk_bytes);
    ks_cell_end_as(c, KS_O_CRASHED, 0, reason);
}

/* Without sentinels nothing is learnt of a suspect. */
static void stay_suspect(struct cell *c)
{
    struct ks_record *r = &c->w->rec;

    r->outcome_flags |= KS_FL_SUSPECT;
    if (r->reason[0] == '\0')
        snprintf(r->reason, sizeof(r->reason), "suspect: no memory for sentinels in the heap");
}

/* The suspects' procedure: chunks around the kernel's own in the heap, looked at afterwards. */
static void check_sentinel(struct cell *c)
{
    struct ks_worker *w = c->w;
    struct ks_sentinel_hit hit;

    if (c->sentinel == NULL)
        return;
    ks_worker_enter(w, KS_PH_VERIFY, w->cell_deadline_ns);
    hit = ks_sentinel_find(c->sentinel);
    if (hit.chunk != NULL) {
        end_as_corrupter(c, &hit);
        w->rec.phase = KS_PH_VERIFY;
        return; /* the heap is no longer to be used more than needed */
    }
    ks_sentinel_churn(c->sentinel);
    ks_sentinel_destroy(c->sentinel);
}

/* Threads and timers that the cell left behind would disturb others: this worker has none. Those of
 * a runtime that the instance declares are no fault. */
static void check_left(struct cell *c)
{
    struct ks_worker *w = c->w;
    struct ks_record *r = &w->rec;
    const uint32_t n_own = c->req->threads > 1 ? c->req->threads - 1 : 0;
    struct ks_left left;
    char text[96];

    ks_remains_find(&w->remains, n_own, &left);
    if (!ks_left_anything(&left))
        return;
    w->has_left = true;
    if (left.n_timers == 0 && left.n_threads <= n_own)
        return;
    ks_left_text(&left, text, sizeof(text));
    if (r->outcome == KS_O_OK)
        ks_cell_end_as(c, KS_O_UNTRUSTED, 0, text);
    else
        add_reason(r, text);
}

static void begin_record(struct ks_worker *w, const struct ks_req_cell *req)
{
    struct ks_record *r = &w->rec;

    ks_record_init(r);
    r->cell = req->cell;
    r->attempt = req->attempt;
    r->round_index = req->round;
    r->n_visit = req->n_visit;
    r->role = req->role;
    r->lease_id = req->lease_id;
    r->block_id = req->block_id;
    r->position = req->position;
    r->build_id = req->build_id;
    r->code_id = req->code_id;
    r->started_ns = ks_realtime_ns();
    r->input_ns = w->input_ns;
    r->reference_ns = w->reference_ns;
    w->input_ns = w->reference_ns = 0;
}

static uint64_t operand_bytes(const struct ks_workset *s)
{
    return (uint64_t)(s->extents.a + s->extents.b + s->extents.c) * s->element_bytes;
}

/* i_cell, attempt and round stand before the first phase does. */
static void announce(struct ks_worker *w, const struct ks_req_cell *req, uint64_t from)
{
    uint64_t budget = ks_cell_budget_ns(&w->setup.measure, operand_bytes(&w->set));

    w->cell_deadline_ns = budget > 0 ? from + budget : 0;
    atomic_store(&w->status->attempt, req->attempt);
    atomic_store(&w->status->round, req->round);
    atomic_store(&w->status->i_cell, req->i_cell);
}

static void run_cell(struct cell *c)
{
    struct ks_worker *w = c->w;

    if (w->problem_outcome != KS_O_NONE) {
        ks_cell_end_as(c, (enum ks_outcome)w->problem_outcome, 0, w->problem_reason);
        w->rec.phase = KS_PH_REFERENCE;
        return;
    }
    if (w->setup.is_sentinel)
        c->sentinel = ks_sentinel_create();
    run_steps(c);
    if (c->has_run && !w->is_lost)
        check_shared(c);
    if (c->has_run && !w->is_lost)
        poison_results(c);
    check_sentinel(c);
    check_time(c);
    if (w->rec.outcome == KS_O_NONE)
        ks_cell_end_as(c, KS_O_OK, 0, "");
    if (w->setup.is_sentinel && c->sentinel == NULL)
        stay_suspect(c);
}

void ks_worker_cell(struct ks_worker *w, const struct ks_req_cell *req)
{
    struct cell c = { .w = w, .req = req };
    uint64_t from = ks_now_ns();
    uint32_t n_denied = atomic_load(&w->status->n_denied);

    announce(w, req, from);
    begin_record(w, req);
    run_cell(&c);
    check_left(&c);
    ks_cage_after_cell(&w->cage);
    fflush(NULL); /* what the kernel printed goes to its own cell */
    if (w->cage.list == KS_CAGE_GPU)
        w->rec.denied_call = KS_DENIED_UNCOUNTED;
    w->rec.n_denied = atomic_load(&w->status->n_denied) - n_denied;
    if (w->rec.n_denied > 0) {
        w->rec.denied_call = atomic_load(&w->status->denied_call);
        w->rec.outcome_flags |= KS_FL_DENIED_CALLS;
    }
    w->rec.wall_ns = ks_now_ns() - from + w->prepare_ns;
    w->prepare_ns = 0;
}
