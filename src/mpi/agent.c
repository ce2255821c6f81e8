/* SPDX-License-Identifier: MIT */
/* agent.c - life of an agent: sessions, draining, what it emits. */
#include "mpi/agent.h"

#include "base/clock.h"
#include "mpi/agent_impl.h"

#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS            1000000ull
#define SOON_NS       (50 * MS)
#define LEAST_RECORDS 4 /* that a pipe should hold */

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
    ks_references_init(&a->references);
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
    ks_references_release(&a->references);
    ks_recover_forget(a);
    ks_buf_release(&a->body);
    free(a->record);
    free(a);
}

struct ks_cell ks_agent_cell(const struct ks_agent *a, uint32_t i_problem, uint32_t i_instance)
{
    return (struct ks_cell){ ks_problem_table_id(&a->c.grid->problems, i_problem),
                             a->c.grid->instances[i_instance].id, a->c.grid->condition };
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

int ks_agent_emit(struct ks_agent *a, uint16_t type, struct ks_err *err)
{
    if (!ks_buf_ok(&a->body))
        return ks_fail(err, KS_ENOMEM, "agent: out of memory");
    return a->c.emit(a->c.ctx, type, a->body.data, a->body.len, err);
}

int ks_agent_emit_record(struct ks_agent *a, const struct ks_record *r, struct ks_err *err)
{
    ks_buf_clear(&a->body);
    ks_record_encode(r, &a->body);
    if (!ks_buf_ok(&a->body))
        return ks_fail(err, KS_ENOMEM, "agent: out of memory");
    return ks_agent_emit_body(a, a->body.data, a->body.len, err);
}

int ks_agent_emit_body(struct ks_agent *a, const void *body, size_t n, struct ks_err *err)
{
    ks_acks_note(&a->acks);
    a->totals.n_records++;
    return a->c.emit(a->c.ctx, KS_F_DONE, body, n, err);
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
    return ks_agent_emit(a, KS_F_START, err);
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
    return ks_agent_emit(a, KS_F_EVENT, err);
}

/* Sessions ---------------------------------------------------------------------------------------
 */

static bool may_start_cells(const struct ks_agent *a)
{
    return !a->is_draining && !a->is_broken && ks_acks_may_go_on(&a->acks);
}

/* Anchors do not count: the one that closes a block should not need a worker of its own. */
static bool is_full(const struct ks_agent *a)
{
    const struct session *s = &a->session;
    if (s->n_sent == MAX_SENT)
        return true;
    return !s->is_visit && s->n_cells >= a->c.grid->job.isolate.batch && !ks_agent_is_closing(a);
}

static int feed(struct ks_agent *a, struct ks_err *err)
{
    struct session *s = &a->session;
    enum ks_pick pick = PICK_BLOCKED;
    int rc = 0;
    while (rc == 0 && may_start_cells(a) && !s->is_ended && !is_full(a)) {
        struct work w = { 0 };
        rc = ks_agent_pick(a, s->i_problem, &w, &pick, err);
        if (rc < 0 || pick != PICK_WORK)
            break;
        if (w.role == KS_ROLE_ANCHOR || a->block.rec.block_id)
            s->block_id = a->block.rec.block_id;
        rc = ks_worker_send_cell(a, &w, err);
    }
    if (rc == 0 && !s->is_ended && (is_full(a) || pick == PICK_OTHER))
        rc = ks_worker_send_end(a, err);
    return rc < 0 ? rc : ks_worker_flush(a, err);
}

static int begin_normal(struct ks_agent *a, struct ks_err *err)
{
    struct work w = { 0 };
    enum ks_pick pick = PICK_NONE;
    int rc = ks_agent_pick(a, UINT32_MAX, &w, &pick, err);
    if (rc < 0 || pick != PICK_WORK)
        return rc;
    a->session = (struct session){ .kind = SESSION_NORMAL,
                                   .i_problem = a->leases[w.i_lease].m.i_problem,
                                   .is_visit = a->leases[w.i_lease].m.n_visit > 0,
                                   .block_id = a->block.rec.block_id };
    rc = ks_worker_start(a, err);
    if (rc == 0)
        rc = ks_worker_send_cell(a, &w, err);
    /* All it can have at once: this process may be kept from coming back by a slow disk. */
    return rc < 0 ? rc : feed(a, err);
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
    if (rc == 0)
        rc = ks_worker_send_end(a, err);
    return rc < 0 ? rc : ks_worker_flush(a, err);
}

static int give_back(struct ks_agent *a, struct ks_err *err)
{
    int rc = 0;
    a->n_again = 0;
    ks_recover_forget(a);
    a->block = (struct block){ 0 };
    while (rc == 0 && a->n_leases)
        rc = ks_agent_end_lease(a, a->order[0], err);
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

/* Between two cells a worker has no deadline of its own. One that leaves its requests alone for as
 * long as a kernel may take (it was stopped, say, by a thread that a kernel left behind) gets one.
 */
static void watch_silence(struct ks_agent *a)
{
    struct worker *w = &a->worker;
    const struct session *s = &a->session;
    uint64_t now = ks_now_ns(), limit = a->c.grid->job.isolate.kernel_timeout_s * 1000000000ull;
    uint64_t none = 0;
    if (!w->status || s->n_done >= s->n_sent || w->status->deadline_ns)
        w->silent_since_ns = 0;
    else if (!w->silent_since_ns || w->silent_at != s->n_done)
        w->silent_since_ns = now;
    else if (now - w->silent_since_ns > limit) /* unless it begins a cell this very moment */
        (void)atomic_compare_exchange_strong(&w->status->deadline_ns, &none, now);
    w->silent_at = s->n_done;
}

int ks_agent_step(struct ks_agent *a, struct ks_err *err)
{
    int rc = 0;
    if (a->worker.is_alive) {
        rc = ks_worker_flush(a, err);
        if (rc == 0)
            rc = ks_worker_read(a, err);
        watch_silence(a);
        if (rc == 0 && a->is_draining)
            return drain_worker(a, err);
        if (rc == 0 && a->session.kind == SESSION_NORMAL && !a->worker.is_lying &&
            !a->worker.is_retired)
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
    ks_acks_take(&a->acks, n_durable);
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

/* A pipe that holds few records would stop the worker at each of them. */
static bool is_tight(const struct ks_agent *a)
{
    return a->worker.pipe_bytes < LEAST_RECORDS * a->record_bytes;
}

int ks_agent_wait_fd(const struct ks_agent *a, bool takes_each)
{
    const struct worker *w = &a->worker;
    bool is_last = a->session.n_sent - a->session.n_done <= 1;
    bool may_speak = w->is_alive && !w->is_lying && !w->is_retired && !w->is_mute;
    bool takes_next = is_last || takes_each || a->is_draining || is_tight(a);
    return may_speak && takes_next ? w->record_fd : -1;
}

uint64_t ks_agent_nap_ns(const struct ks_agent *a, uint64_t most_ns)
{
    const struct session *s = &a->session;
    uint32_t n_left = s->n_sent - s->n_done;
    if (!a->n_leases && !a->is_draining && !n_left && a->idle_since_ns &&
        ks_now_ns() - a->idle_since_ns < SOON_NS)
        return MS; /* nothing is timed here, and the next lease is on its way */
    if (!a->worker.is_alive || s->is_ended || !s->n_done || n_left < 2)
        return most_ns; /* of the last one the descriptor tells */
    double left_ns = a->cell_ns * (n_left - 1);
    return left_ns < MS ? MS : left_ns < (double)most_ns ? (uint64_t)left_ns : most_ns;
}

/* Half of the pipe is for what a slow turn of the loop adds. */
static double pipe_room_ns(const struct ks_agent *a)
{
    const struct worker *w = &a->worker;
    return a->record_bytes > 0 && w->is_alive ? w->pipe_bytes / 2 / a->record_bytes * a->cell_ns
                                              : 1e18;
}

static uint64_t supply_ns(const struct ks_agent *a)
{
    uint64_t n = 0;
    for (uint32_t k = 0; k < a->n_leases; k++) {
        const struct lease *l = &a->leases[a->order[k]];
        n += l->m.n - l->i_next + l->n_open;
    }
    if (n && a->worker.out.len) /* requests wait for room in their pipe: soon there is some */
        n = 1;
    double ns = fmin(a->cell_ns * (double)n, pipe_room_ns(a));
    return a->n_leases ? (uint64_t)fmax(0, fmin(ns, 1e18)) : UINT64_MAX;
}

void ks_agent_load(const struct ks_agent *a, struct ks_agent_load *out)
{
    const struct worker *w = &a->worker;
    bool is_alive = w->is_alive && w->status;
    *out = (struct ks_agent_load){
        .has_worker = w->is_alive,
        .has_cells = w->is_alive && a->session.n_done < a->session.n_sent,
        .is_measuring = is_alive && w->status->is_measuring,
        .is_timing = is_alive && w->status->phase == KS_PH_TIMING,
        .n_unacked = a->acks.n_emitted - a->acks.n_acked,
        .cell_ns = (uint64_t)fmin(a->cell_ns, 1e18),
        .waited_ns = w->is_alive && w->heard_ns ? ks_now_ns() - w->heard_ns : 0,
        .supply_ns = supply_ns(a),
    };
}

void ks_agent_totals(const struct ks_agent *a, struct ks_agent_totals *out)
{
    *out = a->totals;
    out->ack_p99_us = ks_acks_p99_us(&a->acks);
    if (!a->n_leases && a->idle_since_ns)
        out->tail_ns = ks_now_ns() - a->idle_since_ns;
}
