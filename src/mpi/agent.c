/* SPDX-License-Identifier: MIT */
/* agent.c - leases and blocks: which cell comes next, what becomes of its record. */
#include "mpi/agent.h"

#include "base/clock.h"
#include "mpi/agent_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int ks_agent_create(const struct ks_agent_config *c, struct ks_agent **a_out, struct ks_err *err)
{
    struct ks_agent *a = calloc(1, sizeof(*a));
    struct ks_record *r = malloc(sizeof(*r));
    if (!a || !r) {
        free(a);
        free(r);
        return ks_fail(err, KS_ENOMEM, "agent: out of memory");
    }
    a->c = *c;
    a->record = r;
    a->reference_fd = -1;
    a->worker = (struct worker){ .request_fd = -1, .record_fd = -1, .status_fd = -1 };
    ks_buf_init(&a->worker.out);
    ks_frame_reader_init(&a->worker.in);
    ks_buf_init(&a->body);
    *a_out = a;
    return 0;
}

void ks_agent_destroy(struct ks_agent *a)
{
    if (!a)
        return;
    if (a->worker.is_alive)
        (void)ks_warden_kill(a->c.warden, a->worker.child, NULL);
    ks_worker_release(a);
    if (a->reference_fd >= 0)
        close(a->reference_fd);
    ks_recover_forget(a);
    ks_buf_release(&a->body);
    free(a->record);
    free(a);
}

struct ks_cell ks_agent_cell(const struct ks_agent *a, uint32_t i_problem, uint32_t i_instance)
{
    return (struct ks_cell){ a->c.grid->problems[i_problem].id, a->c.grid->instances[i_instance].id,
                             a->c.grid->condition };
}

void ks_agent_break(struct ks_agent *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(a->why, sizeof(a->why), fmt, ap);
    va_end(ap);
    a->is_broken = true;
    a->recovery.is_on = false;
}

static int emit(struct ks_agent *a, uint16_t type, struct ks_err *err)
{
    if (!ks_buf_ok(&a->body))
        return ks_fail(err, KS_ENOMEM, "agent: out of memory");
    return a->c.emit(a->c.ctx, type, a->body.data, a->body.len, err);
}

int ks_agent_emit_record(struct ks_agent *a, const struct ks_record *r, struct ks_err *err)
{
    ks_buf_clear(&a->body);
    ks_record_encode(r, &a->body);
    a->n_emitted++;
    a->totals.n_records++;
    return emit(a, KS_F_DONE, err);
}

int ks_agent_emit_start(struct ks_agent *a, const struct work *w, uint32_t i_problem, uint32_t why,
                        struct ks_err *err)
{
    struct ks_start s = {
        .lease_id = w->i_lease == NO_LEASE ? 0 : a->leases[w->i_lease].m.lease,
        .block_id = a->block.rec.block_id,
        .device_id = a->c.device_id,
        .rank = a->c.rank,
        .why = why,
        .n_cells = 1,
        .cells = { { .cell = ks_agent_cell(a, i_problem, w->i_instance),
                     .attempt = w->attempt,
                     .round = w->round } },
    };
    ks_buf_clear(&a->body);
    ks_start_encode(&s, &a->body);
    return emit(a, KS_F_START, err);
}

int ks_agent_emit_event(struct ks_agent *a, uint32_t kind, struct ks_err *err, const char *fmt, ...)
{
    struct ks_event_rec e = { .kind = kind, .rank = a->c.rank, .realtime_ns = ks_realtime_ns() };
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e.text, sizeof(e.text), fmt, ap);
    va_end(ap);
    gethostname(e.host, sizeof(e.host) - 1);
    ks_buf_clear(&a->body);
    ks_event_encode(&e, &a->body);
    return emit(a, KS_F_EVENT, err);
}

static int emit_block(struct ks_agent *a, struct ks_err *err)
{
    ks_buf_clear(&a->body);
    ks_block_encode(&a->block.rec, &a->body);
    return emit(a, KS_F_BLOCK, err);
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
    return ks_fail(err, KS_EINVAL, "agent: holds %u leases already", KS_AGENT_LEASES);
}

uint32_t ks_agent_n_leases(const struct ks_agent *a)
{
    return a->n_leases;
}

static int end_lease(struct ks_agent *a, uint32_t i, struct ks_err *err)
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
    return emit(a, KS_F_MSG_LEASE_END, err);
}

void ks_agent_settle(struct ks_agent *a, const struct work *w)
{
    a->totals.n_cells++;
    if (w->i_lease != NO_LEASE && a->leases[w->i_lease].is_held && a->leases[w->i_lease].n_open)
        a->leases[w->i_lease].n_open--;
}

/* Blocks ----------------------------------------------------------------------------------------
 */

static void open_block(struct ks_agent *a, const struct ks_msg_lease *m)
{
    a->block = (struct block){ .rec = {
                                   .block_id = m->block_id,
                                   .problem = a->c.grid->problems[m->i_problem].id,
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
    ks_stats(r->sample_ns, r->n_samples, r->clock_ns, r->calls ? r->calls : 1, scratch, &s);
    *median = s.median;
    *lo = s.lo95;
    *hi = s.hi95;
}

/* The anchor is the first instance, in the config's order, that the problem accepts: the same on
 * every device. */
static int take_anchor(struct ks_agent *a, const struct work *w, const struct ks_record *r,
                       struct ks_err *err)
{
    struct block *b = &a->block;
    struct lease *l = &a->leases[w->i_lease];
    b->is_waiting = false;
    int rc = ks_agent_emit_record(a, r, err);
    if (rc < 0)
        return rc;
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
    if (a->n_again == MAX_RECOVER)
        return ks_fail(err, KS_ENOMEM, "agent: more than %u cells to repeat", MAX_RECOVER);
    a->again[a->n_again++] = *w;
    return 0;
}

static bool judge_noise(const struct ks_agent *a, struct ks_record *r)
{
    const struct ks_noise n = {
        .involuntary_switches = r->involuntary_switches,
        .cpu_ns = r->cpu_ns,
        .span_ns = r->span_ns,
        .canary_ratio = r->canary_ratio,
    };
    const char *why = NULL;
    if (r->outcome != KS_O_OK || !ks_noise_is_contaminated(&n, &a->c.noise, &why))
        return false;
    r->flags |= KS_FL_CONTAMINATED;
    if (!r->reason[0])
        snprintf(r->reason, sizeof(r->reason), "contaminated: %s", why);
    return true;
}

/* One device has seen this failure; a second one has not (yet). */
static void mark_unconfirmed(struct ks_record *r)
{
    if (ks_outcome_needs_look(r->outcome))
        r->flags |= KS_FL_UNCONFIRMED;
}

int ks_agent_take(struct ks_agent *a, const struct work *w, struct ks_record *r, struct ks_err *err)
{
    uint32_t i_problem = a->session.i_problem;
    if (w->role == KS_ROLE_ANCHOR)
        return take_anchor(a, w, r, err);
    a->block.rec.n_cells++;
    mark_unconfirmed(r);
    bool is_dirty = judge_noise(a, r);
    if (is_dirty && w->n_dirty < a->c.grid->job.contention.retries && !a->is_draining) {
        struct work more = *w;
        more.attempt++;
        more.n_dirty++;
        int rc = ks_agent_emit_start(a, &more, i_problem, 3, err);
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
    r->round = w->round;
    r->rank = a->c.rank;
    r->device_id = a->c.device_id;
    r->outcome = KS_O_BUILD_FAILED;
    if (why || (art && art->state == KS_ART_UNSUPPORTED))
        r->outcome = KS_O_UNSUPPORTED;
    else if (art && art->state == KS_ART_TIMEOUT)
        r->outcome = KS_O_BUILD_TIMEOUT;
    snprintf(r->reason, sizeof(r->reason), "%.150s",
             why                     ? why
             : art && art->reason[0] ? art->reason
                                     : "its object is not in the cache");
    int rc = ks_agent_emit_record(a, r, err);
    if (rc == 0)
        ks_agent_settle(a, w);
    return rc;
}

/* The next cell ----------------------------------------------------------------------------------
 */

enum pick { PICK_WORK, PICK_BLOCKED, PICK_OTHER, PICK_NONE };

static bool take_again(struct ks_agent *a, uint32_t i_lease, struct work *out)
{
    for (uint32_t k = 0; k < a->n_again; k++)
        if (a->again[k].i_lease == i_lease) {
            *out = a->again[k];
            memmove(&a->again[k], &a->again[k + 1], (a->n_again - k - 1) * sizeof(*a->again));
            a->n_again--;
            return true;
        }
    return false;
}

static int pick_cell(struct ks_agent *a, uint32_t i, struct work *out, bool *is_found,
                     struct ks_err *err)
{
    struct lease *l = &a->leases[i];
    *is_found = false;
    while (l->i_next < l->m.n) {
        uint32_t k = l->i_next++;
        *out = (struct work){ .i_instance = l->m.cells[k].i_instance,
                              .attempt = l->m.cells[k].attempt,
                              .round = l->m.cells[k].round,
                              .i_lease = i };
        l->n_open++;
        if (is_runnable(a, l->m.i_problem, out->i_instance)) {
            *is_found = true;
            return 0;
        }
        int rc = refuse_cell(a, out, l->m.i_problem, err);
        if (rc < 0)
            return rc;
    }
    *is_found = take_again(a, i, out);
    return 0;
}

static struct work anchor_work(uint32_t i_instance, uint32_t i_lease)
{
    return (struct work){
        .i_instance = i_instance, .attempt = 1, .role = KS_ROLE_ANCHOR, .i_lease = i_lease
    };
}

/* One step of one lease: work to do, or a stage further (PICK_NONE with *is_over = the lease
 * ended), or PICK_BLOCKED until a record comes. */
static int pick_in_lease(struct ks_agent *a, uint32_t i, struct work *out, enum pick *pick,
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
            *out = anchor_work(out->i_instance, i);
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
        if (is_found || rc < 0 || l->n_open)
            return rc;
        l->stage = l->m.closes ? STAGE_CLOSE : STAGE_END;
        *pick = PICK_NONE;
        return 0;
    case STAGE_CLOSE:
        if (a->block.is_waiting)
            return 0;
        if (a->block.has_anchor && a->block.rec.close_ns <= 0) {
            *out = anchor_work(a->block.i_anchor, i);
            a->block.is_waiting = true;
            *pick = PICK_WORK;
            return 0;
        }
        l->stage = STAGE_END;
        *pick = PICK_NONE;
        return 0;
    case STAGE_END:
        *pick = PICK_NONE;
        rc = l->m.closes && a->block.rec.block_id == l->m.block_id ? close_block(a, err) : 0;
        return rc < 0 ? rc : end_lease(a, i, err);
    }
    return rc;
}

/* i_problem: of the present session, or UINT32_MAX when there is none. */
static int pick_work(struct ks_agent *a, uint32_t i_problem, struct work *out, enum pick *pick,
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
        if (at && (l->m.opens || l->m.block_id != a->block.rec.block_id)) {
            *pick = PICK_BLOCKED; /* the block before it must close first */
            return 0;
        }
        int rc = pick_in_lease(a, i, out, pick, err);
        if (rc < 0 || *pick == PICK_WORK)
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

/* Sessions ---------------------------------------------------------------------------------------
 */

static bool may_start_cells(const struct ks_agent *a)
{
    return !a->is_draining && !a->is_broken && a->n_emitted - a->n_acked < KS_AGENT_UNACKED;
}

static uint32_t batch_limit(const struct ks_agent *a)
{
    uint32_t n = a->c.grid->job.isolate.batch;
    return n < MAX_SENT ? n : MAX_SENT;
}

static int feed(struct ks_agent *a, struct ks_err *err)
{
    struct session *s = &a->session;
    enum pick pick = PICK_BLOCKED;
    int rc = 0;
    while (rc == 0 && may_start_cells(a) && !s->is_ended && s->n_sent < batch_limit(a)) {
        struct work w = { 0 };
        rc = pick_work(a, s->i_problem, &w, &pick, err);
        if (rc < 0 || pick != PICK_WORK)
            break;
        if (w.role == KS_ROLE_ANCHOR || a->block.rec.block_id)
            s->block_id = a->block.rec.block_id;
        rc = ks_worker_send_cell(a, &w, err);
    }
    if (rc == 0 && !s->is_ended && (s->n_sent >= batch_limit(a) || pick == PICK_OTHER))
        rc = ks_worker_send_end(a, err);
    return rc;
}

static int begin_normal(struct ks_agent *a, struct ks_err *err)
{
    struct work w = { 0 };
    enum pick pick = PICK_NONE;
    int rc = pick_work(a, UINT32_MAX, &w, &pick, err);
    if (rc < 0 || pick != PICK_WORK)
        return rc;
    a->session = (struct session){ .kind = SESSION_NORMAL,
                                   .i_problem = a->leases[w.i_lease].m.i_problem,
                                   .block_id = a->block.rec.block_id };
    rc = ks_worker_start(a, err);
    return rc < 0 ? rc : ks_worker_send_cell(a, &w, err);
}

static int begin_recovery(struct ks_agent *a, struct ks_err *err)
{
    bool is_ready = false;
    int rc = ks_recover_next(a, &is_ready, err);
    if (rc < 0 || !is_ready)
        return rc;
    rc = ks_worker_start(a, err);
    if (rc == 0 && a->session.needs_canary)
        rc = ks_worker_send_canary(a, err);
    struct work w = { .i_lease = NO_LEASE };
    bool has_cell = false;
    if (a->session.kind == SESSION_SUSPECT) {
        w = a->recovery.suspects[a->recovery.i_suspect];
        has_cell = true;
    } else if (a->recovery.retry_is_due) {
        w = a->recovery.culprit;
        has_cell = true;
    }
    if (rc == 0 && has_cell)
        rc = ks_worker_send_cell(a, &w, err);
    return rc < 0 ? rc : ks_worker_send_end(a, err);
}

static int give_back(struct ks_agent *a, struct ks_err *err)
{
    int rc = 0;
    a->n_again = 0;
    ks_recover_forget(a);
    a->block = (struct block){ 0 };
    while (rc == 0 && a->n_leases)
        rc = end_lease(a, a->order[0], err);
    return rc;
}

/* The cells behind the one in flight are in the worker's pipe already: it is killed as soon as the
 * one in flight has its record. */
static int drain_worker(struct ks_agent *a, struct ks_err *err)
{
    const struct session *s = &a->session;
    bool is_recovering = s->kind != SESSION_NORMAL;
    if (a->is_killed || (!is_recovering && s->n_done < a->drain_at && s->n_done < s->n_sent))
        return 0;
    a->is_killed = true;
    return ks_warden_kill(a->c.warden, a->worker.child, err);
}

int ks_agent_step(struct ks_agent *a, struct ks_err *err)
{
    int rc = 0;
    if (a->worker.is_alive) {
        rc = ks_worker_flush(a, err);
        if (rc == 0)
            rc = ks_worker_read(a, err);
        if (rc == 0 && a->is_draining)
            return drain_worker(a, err);
        if (rc == 0 && a->session.kind == SESSION_NORMAL && !a->worker.is_lying)
            rc = feed(a, err);
        return rc;
    }
    if (a->is_draining || a->is_broken)
        return give_back(a, err);
    if (a->recovery.is_on)
        rc = begin_recovery(a, err);
    if (rc == 0 && !a->worker.is_alive && !a->recovery.is_on && !a->is_broken && may_start_cells(a))
        rc = begin_normal(a, err);
    return rc;
}

void ks_agent_acked(struct ks_agent *a, uint64_t n_durable)
{
    if (n_durable > a->n_acked && n_durable <= a->n_emitted)
        a->n_acked = n_durable;
}

void ks_agent_drain(struct ks_agent *a)
{
    if (!a->is_draining)
        a->drain_at = a->session.n_done + 1;
    a->is_draining = true;
}

void ks_agent_stop(struct ks_agent *a)
{
    a->is_draining = true;
    if (a->worker.is_alive && !a->is_killed)
        (void)ks_warden_kill(a->c.warden, a->worker.child, NULL);
    a->is_killed = a->worker.is_alive;
}

bool ks_agent_is_idle(const struct ks_agent *a)
{
    return !a->worker.is_alive && !a->n_leases && !a->recovery.is_on;
}

bool ks_agent_is_broken(const struct ks_agent *a, const char **why_out)
{
    if (a->is_broken && why_out)
        *why_out = a->why;
    return a->is_broken;
}

bool ks_agent_is_measuring(const struct ks_agent *a)
{
    return a->worker.is_alive;
}

void ks_agent_totals(const struct ks_agent *a, struct ks_agent_totals *out)
{
    *out = a->totals;
}
