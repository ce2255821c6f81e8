/* SPDX-License-Identifier: MIT */
/* agent_lease.c - leases and blocks: which cell comes next, what becomes of its record. */
#include "base/clock.h"
#include "mpi/agent_impl.h"

#include <stdio.h>
#include <string.h>

static int emit_block(struct ks_agent *a, struct ks_err *err)
{
    ks_buf_clear(&a->body);
    ks_block_encode(&a->block.rec, &a->body);
    return ks_agent_emit(a, KS_F_BLOCK, err);
}
int ks_agent_lease(struct ks_agent *a, const struct ks_msg_lease *lease, struct ks_err *err)
{
    for (uint32_t i = 0; i < KS_AGENT_LEASES; i++) {
        if (a->leases[i].is_held)
            continue;
        if (!a->n_leases && a->idle_since_ns)
            a->totals.wait_ns += ks_now_ns() - a->idle_since_ns;
        a->leases[i] = (struct lease){ .is_held = true, .m = *lease };
        a->leases[i].stage = lease->opens ? STAGE_OPEN : STAGE_CELLS;
        a->order[a->n_leases++] = i;
        return 0;
    }
    return ks_fail(err, KS_EINVAL, "agent: already has %u leases", KS_AGENT_LEASES);
}

uint32_t ks_agent_n_leases(const struct ks_agent *a)
{
    return a->n_leases;
}

int ks_agent_end_lease(struct ks_agent *a, uint32_t i, struct ks_err *err)
{
    uint64_t id = a->leases[i].m.lease;
    a->leases[i].is_held = false;
    for (uint32_t k = 0; k < a->n_leases; k++)
        if (a->order[k] == i) {
            memmove(&a->order[k], &a->order[k + 1], (a->n_leases - k - 1) * sizeof(*a->order));
            a->n_leases--;
            break;
        }
    if (!a->n_leases)
        a->idle_since_ns = ks_now_ns();
    ks_buf_clear(&a->body);
    ks_msg_numbers_put(id, 0, &a->body);
    return ks_agent_emit(a, KS_F_MSG_LEASE_END, err);
}

void ks_agent_settle(struct ks_agent *a, const struct work *w)
{
    a->totals.n_cells++;
    if (w->i_lease != NO_LEASE && a->leases[w->i_lease].is_held && a->leases[w->i_lease].n_open)
        a->leases[w->i_lease].n_open--;
}

void ks_agent_mark_alias(const struct ks_agent *a, const struct work *w, struct ks_record *r)
{
    if (!w->alias)
        return;
    uint32_t i_first = w->alias - 1;
    if (a->c.build && /* the compiler of this host may see a difference */
        !ks_id128_eq(ks_build_artefact(a->c.build, i_first)->code_id,
                     ks_build_artefact(a->c.build, w->i_instance)->code_id))
        return;
    r->outcome_flags |= KS_FL_ALIASED;
    r->representative_id = a->c.grid->instances[i_first].id;
}

/* Blocks ----------------------------------------------------------------------------------------
 */

static void open_block(struct ks_agent *a, const struct ks_msg_lease *m)
{
    a->block =
        (struct block){ .rec = {
                            .block_id = m->block_id,
                            .problem = ks_problem_table_id(&a->c.grid->problems, m->i_problem),
                            .device_id = a->c.device_id,
                            .rank = a->c.rank,
                            .opened_ns = ks_realtime_ns(),
                        } };
}

static bool is_runnable(const struct ks_agent *a, uint32_t i_problem, uint32_t i_instance)
{
    if (ks_grid_unsupported(a->c.grid, i_problem, i_instance))
        return false;
    const struct ks_artefact *art = a->c.build ? ks_build_artefact(a->c.build, i_instance) : NULL;
    return !art || art->state == KS_ART_READY;
}

static void anchor_stats(const struct ks_record *r, double *median, double *lo, double *hi)
{
    double scratch[KS_SAMPLES_MAX];
    struct ks_stats s;
    if (r->outcome != KS_O_OK || !r->n_samples)
        return;
    ks_stats(r->sample_ns, r->n_samples, r->clock_resolution_ns,
             r->calls_per_sample ? r->calls_per_sample : 1, scratch, &s);
    *median = s.median;
    *lo = s.lo95;
    *hi = s.hi95;
}

/* The anchor is the first instance, in the config's order, that the problem accepts: the same on
 * every device. */
static int take_anchor(struct ks_agent *a, const struct work *w, struct ks_record *r,
                       struct ks_err *err)
{
    struct block *b = &a->block;
    struct lease *l = &a->leases[w->i_lease];
    b->is_waiting = false;
    bool is_dirty =
        ks_agent_flag_noise(a, r) || r->outcome == KS_O_UNTRUSTED; /* both may be noise */
    int rc = ks_agent_emit_record(a, r, err);
    if (rc < 0)
        return rc;
    if (is_dirty && b->n_dirty < a->c.grid->job.contention.retries && !a->is_draining) {
        b->n_dirty++; /* once more: the whole block is compared with it */
        if (l->stage == STAGE_OPEN)
            b->i_candidate = w->i_instance;
        return 0;
    }
    b->n_dirty = 0;
    if (l->stage == STAGE_CLOSE) {
        anchor_stats(r, &b->rec.close_ns, &b->rec.close_lo_ns, &b->rec.close_hi_ns);
        l->stage = STAGE_END;
        return 0;
    }
    if (r->outcome == KS_O_OK) {
        b->has_anchor = true;
        b->i_anchor = w->i_instance;
        b->rec.anchor = r->cell.instance;
        anchor_stats(r, &b->rec.open_ns, &b->rec.open_lo_ns, &b->rec.open_hi_ns);
        l->stage = STAGE_CELLS;
        return emit_block(a, err);
    }
    b->n_failed += r->outcome != KS_O_UNSUPPORTED;
    return 0;
}

static bool next_candidate(struct ks_agent *a, const struct ks_msg_lease *m, uint32_t *i_out)
{
    struct block *b = &a->block;
    if (ks_job_runs_programs(&a->c.grid->job)) /* their times are not ours to compare */
        return false;
    while (b->n_failed < MAX_ANCHORS && b->i_candidate < a->c.grid->n_instances) {
        uint32_t i = b->i_candidate++;
        if (is_runnable(a, m->i_problem, i)) {
            *i_out = i;
            return true;
        }
    }
    return false;
}

static int close_block(struct ks_agent *a, struct ks_err *err)
{
    a->block.rec.is_closed = 1;
    a->block.rec.closed_ns = ks_realtime_ns();
    int rc = emit_block(a, err);
    a->block = (struct block){ 0 };
    return rc;
}

/* Records ---------------------------------------------------------------------------------------
 */

static int queue_again(struct ks_agent *a, const struct work *w, struct ks_err *err)
{
    if (a->n_again == MAX_AGAIN)
        return ks_fail(err, KS_ENOMEM, "agent: more than %u cells to repeat", MAX_AGAIN);
    a->again[a->n_again++] = *w;
    return 0;
}

double ks_agent_disturbance(const struct ks_agent *a, const struct ks_record_head *r,
                            const char **why_out)
{
    const struct ks_noise n = {
        .involuntary_switches = r->involuntary_switches,
        .cpu_ns = r->cpu_ns,
        .span_ns = r->span_ns,
        .canary_ratio = r->canary_ratio,
    };
    return ks_noise_disturbance(&n, &a->c.noise, why_out);
}

bool ks_agent_flag_noise(const struct ks_agent *a, struct ks_record *r)
{
    struct ks_record_head h;
    const char *why = NULL;
    ks_record_head_of(r, &h);
    if (ks_outcome_needs_look(r->outcome)) /* a second device has not seen it (yet) */
        r->outcome_flags |= KS_FL_UNCONFIRMED;
    if (r->outcome != KS_O_OK)
        return false;
    r->disturbance = ks_agent_disturbance(a, &h, &why);
    if (!why)
        return false;
    r->outcome_flags |= KS_FL_CONTAMINATED;
    if (!r->reason[0])
        snprintf(r->reason, sizeof(r->reason), "contaminated: %s", why);
    return true;
}

int ks_agent_pass(struct ks_agent *a, const struct work *w, const struct ks_frame *f,
                  double disturbance, struct ks_err *err)
{
    a->block.rec.n_cells++;
    ks_agent_settle(a, w);
    ks_buf_clear(&a->body);
    ks_buf_put(&a->body, f->body, f->n);
    ks_record_set_disturbance(&a->body, disturbance);
    if (!ks_buf_ok(&a->body))
        return ks_fail(err, KS_ENOMEM, "agent: out of memory");
    return ks_agent_emit_body(a, a->body.data, a->body.len, err);
}

int ks_agent_take(struct ks_agent *a, const struct work *w, struct ks_record *r, struct ks_err *err)
{
    uint32_t i_problem = a->session.i_problem;
    if (w->role == KS_ROLE_ANCHOR)
        return take_anchor(a, w, r, err);
    a->block.rec.n_cells++;
    if (ks_recover_is_doubtful(a, w, r))
        return ks_recover_doubt(a, w, r, err);
    bool is_dirty = ks_agent_flag_noise(a, r);
    const uint32_t retries =
        w->n_visit ? 0 : a->c.grid->job.contention.retries; /* or a visit more */
    if (is_dirty && w->n_dirty < retries && !a->is_draining) {
        struct work more = *w;
        more.attempt++;
        more.n_dirty++;
        int rc = ks_agent_emit_start(a, &more, i_problem, KS_WHY_CONTAMINATED, err);
        if (rc == 0)
            rc = ks_agent_emit_record(a, r, err);
        return rc < 0 ? rc : queue_again(a, &more, err);
    }
    int rc = ks_agent_emit_record(a, r, err);
    if (rc == 0)
        ks_agent_settle(a, w);
    return rc;
}

/* A cell whose artefact is not there: its record without a worker. */
static int refuse_cell(struct ks_agent *a, const struct work *w, uint32_t i_problem,
                       struct ks_err *err)
{
    const struct ks_artefact *art =
        a->c.build ? ks_build_artefact(a->c.build, w->i_instance) : NULL;
    const char *why = ks_grid_unsupported(a->c.grid, i_problem, w->i_instance);
    struct ks_record *r = a->record;
    ks_record_init(r);
    r->cell = ks_agent_cell(a, i_problem, w->i_instance);
    r->attempt = w->attempt;
    r->round_index = w->round;
    r->mpi_rank = a->c.rank;
    r->device_id = a->c.device_id;
    r->lease_id = a->leases[w->i_lease].m.lease;
    r->started_ns = ks_realtime_ns();
    r->outcome = why ? KS_O_UNSUPPORTED : ks_artefact_outcome(art ? art->state : KS_ART_MISSING);
    snprintf(r->reason, sizeof(r->reason), "%.150s",
             why                     ? why
             : art && art->reason[0] ? art->reason
                                     : "its object is missing from the build cache");
    int rc = ks_agent_emit_record(a, r, err);
    if (rc == 0)
        ks_agent_settle(a, w);
    return rc;
}

struct work ks_agent_anew(const struct work *w, uint32_t attempt)
{
    struct work more = *w;
    more.attempt = attempt;
    more.round = more.n_visit = 0;
    more.is_again = false;
    return more;
}

/* The next cell ----------------------------------------------------------------------------------
 */

void ks_agent_drop_passes(struct ks_agent *a, const struct work *w)
{
    struct ks_msg_lease *m = &a->leases[w->i_lease].m;
    for (uint32_t k = 0; w->n_visit && k < m->n; k++)
        if (m->cells[k].i_instance == w->i_instance)
            m->cells[k].attempt = 0;
}

/* A pass of an instance that failed before in this visit. */
static bool is_dropped(const struct ks_msg_lease *m, const struct work *w)
{
    for (uint32_t k = 0; w->n_visit && k < m->n; k++)
        if (m->cells[k].i_instance == w->i_instance)
            return m->cells[k].attempt == 0;
    return false;
}

static bool take_again(struct ks_agent *a, uint32_t i_lease, struct work *out)
{
    struct lease *l = &a->leases[i_lease];
    for (uint32_t k = 0; k < a->n_again; k++) {
        if (a->again[k].i_lease != i_lease)
            continue;
        *out = a->again[k];
        memmove(&a->again[k], &a->again[k + 1], (a->n_again - k - 1) * sizeof(*a->again));
        a->n_again--;
        if (!is_dropped(&l->m, out))
            return true;
        l->n_open--;
        k--;
    }
    return false;
}

static uint32_t count_runnable(const struct ks_agent *a, const struct ks_msg_lease *m)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < m->n_visit; k++)
        n += is_runnable(a, m->i_problem, m->cells[k].i_instance);
    return n;
}

static int pick_cell(struct ks_agent *a, uint32_t i, struct work *out, bool *is_found,
                     struct ks_err *err)
{
    struct lease *l = &a->leases[i];
    *is_found = false;
    if (l->i_next == 0)
        l->n_visit = count_runnable(a, &l->m);
    while (l->i_next < l->m.n) {
        uint32_t k = l->i_next++;
        *out = (struct work){ .i_instance = l->m.cells[k].i_instance,
                              .attempt = l->m.cells[k].attempt,
                              .round = l->m.cells[k].round,
                              .i_lease = i,
                              .n_visit = l->n_visit,
                              .is_again = k >= l->m.n_visit,
                              .alias = l->m.cells[k].alias };
        if (out->n_visit && !out->attempt)
            continue;
        l->n_open++;
        if (is_runnable(a, l->m.i_problem, out->i_instance)) {
            *is_found = true;
            return 0;
        }
        if (l->m.n_visit) { /* it has a label from elsewhere, and no time here */
            l->n_open--;
            continue;
        }
        int rc = refuse_cell(a, out, l->m.i_problem, err);
        if (rc < 0)
            return rc;
    }
    *is_found = take_again(a, i, out);
    return 0;
}

/* That of a visit is measured like the visit. */
static struct work anchor_work(const struct ks_agent *a, uint32_t i_instance, uint32_t i_lease)
{
    const struct ks_msg_lease *m = &a->leases[i_lease].m;
    return (struct work){ .i_instance = i_instance,
                          .attempt = 1 + a->block.n_dirty,
                          .round = m->n_visit ? m->cells[0].round : 0,
                          .n_visit = m->n_visit,
                          .role = KS_ROLE_ANCHOR,
                          .i_lease = i_lease };
}

/* One step of one lease: work to do, or a stage further (PICK_NONE), or PICK_BLOCKED until a record
 * comes, or PICK_OTHER until the worker has ended. Only the oldest lease goes beyond its cells. */
static int pick_in_lease(struct ks_agent *a, uint32_t i, struct work *out, enum ks_pick *pick,
                         struct ks_err *err)
{
    struct lease *l = &a->leases[i];
    bool is_found = false;
    int rc = 0;
    *pick = PICK_BLOCKED;
    switch (l->stage) {
    case STAGE_OPEN:
        if (a->block.is_waiting)
            return 0;
        if (a->block.rec.block_id != l->m.block_id)
            open_block(a, &l->m);
        if (next_candidate(a, &l->m, &out->i_instance)) {
            *out = anchor_work(a, out->i_instance, i);
            a->block.is_waiting = true;
            *pick = PICK_WORK;
            return 0;
        }
        l->stage = STAGE_CELLS; /* no instance can be the anchor: the block does without */
        *pick = PICK_NONE;
        return emit_block(a, err);
    case STAGE_CELLS:
        rc = pick_cell(a, i, out, &is_found, err);
        if (is_found)
            *pick = PICK_WORK;
        if (is_found || rc < 0 || l->n_open || i != a->order[0])
            return rc;
        l->stage = l->m.closes ? STAGE_CLOSE : STAGE_END;
        *pick = PICK_NONE;
        return 0;
    case STAGE_CLOSE:
        if (a->block.is_waiting)
            return 0;
        if (a->block.has_anchor && a->block.rec.close_ns <= 0) {
            *out = anchor_work(a, a->block.i_anchor, i);
            a->block.is_waiting = true;
            *pick = PICK_WORK;
            return 0;
        }
        l->stage = STAGE_END;
        *pick = PICK_NONE;
        return 0;
    case STAGE_END:
        if (l->m.closes && a->worker.is_alive) { /* it may still die at its exit */
            *pick = PICK_OTHER;
            return 0;
        }
        *pick = PICK_NONE;
        rc = l->m.closes && a->block.rec.block_id == l->m.block_id ? close_block(a, err) : 0;
        return rc < 0 ? rc : ks_agent_end_lease(a, i, err);
    }
    return rc;
}

bool ks_agent_is_closing(const struct ks_agent *a)
{
    for (uint32_t k = 0; k < a->n_leases; k++) {
        const struct lease *l = &a->leases[a->order[k]];
        if (l->m.block_id != a->block.rec.block_id || l->i_next < l->m.n)
            return false;
        if (l->m.closes)
            return a->block.has_anchor && !a->n_again;
    }
    return false;
}

/* i_problem: of the present session, or UINT32_MAX when there is none. */
int ks_agent_pick(struct ks_agent *a, uint32_t i_problem, struct work *out, enum ks_pick *pick,
                  struct ks_err *err)
{
    uint32_t at = 0;
    *pick = PICK_NONE;
    while (at < a->n_leases) {
        uint32_t i = a->order[at];
        const struct lease *l = &a->leases[i];
        uint64_t id = l->m.lease;
        if (i_problem != UINT32_MAX && l->m.i_problem != i_problem) {
            *pick = at ? PICK_BLOCKED : PICK_OTHER;
            return 0;
        }
        if (at && (l->m.opens || l->m.block_id != a->block.rec.block_id ||
                   a->leases[a->order[0]].stage == STAGE_OPEN)) {
            *pick = PICK_BLOCKED; /* the block must have its anchor, the one before it be closed */
            return 0;
        }
        int rc = pick_in_lease(a, i, out, pick, err);
        if (rc < 0 || *pick == PICK_WORK || *pick == PICK_OTHER)
            return rc;
        if (*pick == PICK_BLOCKED)
            at++;
        else if (a->leases[i].is_held && a->leases[i].m.lease == id)
            continue; /* a stage further */
    }
    if (a->n_leases)
        *pick = PICK_BLOCKED;
    return 0;
}
