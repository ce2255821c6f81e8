/* SPDX-License-Identifier: MIT */
/* coord.c - frames in, journal, acknowledgements out. Nothing is acknowledged before it is on disk.
 */
#include "mpi/coord.h"

#include "base/clock.h"
#include "base/file.h"
#include "mpi/agent.h"
#include "mpi/coord_impl.h"
#include "mpi/share.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMIT_NS    10000000ull /* between two commits: records that come meanwhile are one */
#define COMMIT_BYTES (256u << 10)
#define QUIET_BYTES  (8u << 20)  /* beside a timing worker */
#define LATE_NS      10000000ull /* for the end of a lease to arrive */

int ks_coord_create(const struct ks_coord_config *cfg, struct ks_coord **c_out, struct ks_err *err)
{
    struct ks_coord *c = calloc(1, sizeof(*c));
    if (!c)
        return ks_fail(err, KS_ENOMEM, "coordinator: out of memory");
    c->c = *cfg;
    c->n_ranks = ks_net_size(cfg->net);
    c->ranks = calloc(c->n_ranks, sizeof(*c->ranks));
    c->record = malloc(sizeof(*c->record));
    c->started_ns = ks_now_ns();
    ks_buf_init(&c->body);
    ks_buf_init(&c->acked);
    snprintf(c->reason, sizeof(c->reason), "complete");
    const struct ks_segment *seg = ks_journal_segment(cfg->journal);
    c->block_base = ks_mix64(seg->run_id.lo ^ seg->incarnation) << 24;
    int rc = c->ranks && c->record ? 0 : ks_fail(err, KS_ENOMEM, "coordinator: out of memory");
    for (uint32_t i = 0; rc == 0 && i < c->n_ranks; i++)
        c->ranks[i] = (struct rank){ .seen_ns = c->started_ns, .source = KS_SHARE_NOBODY };
    if (rc == 0)
        rc = ks_coord_alias_open(c, err);
    if (rc == 0)
        rc = ks_coord_prune_open(c, err);
    if (rc == 0)
        rc = ks_coord_open_sched(c, err);
    if (rc == 0)
        rc = ks_coord_race_open(c, err);
    if (rc < 0) {
        ks_coord_destroy(c);
        return rc;
    }
    *c_out = c;
    return 0;
}

void ks_coord_destroy(struct ks_coord *c)
{
    if (!c)
        return;
    ks_sched_destroy(c->sched);
    ks_coord_alias_close(c);
    ks_coord_prune_close(c);
    ks_coord_race_close(c);
    free(c->ranks);
    free(c->sites);
    free(c->families);
    ks_bad_release(&c->bad);
    free(c->record);
    ks_buf_release(&c->body);
    ks_buf_release(&c->acked);
    free(c);
}

int ks_coord_append_body(struct ks_coord *c, uint16_t type, const void *body, size_t n,
                         struct ks_err *err)
{
    if (!c->pending_since_ns)
        c->pending_since_ns = ks_now_ns();
    return ks_journal_append(c->c.journal, type, body, n, &c->position, err);
}

int ks_coord_append(struct ks_coord *c, uint16_t type, struct ks_err *err)
{
    if (!ks_buf_ok(&c->body))
        return ks_fail(err, KS_ENOMEM, "coordinator: out of memory");
    return ks_coord_append_body(c, type, c->body.data, c->body.len, err);
}

int ks_coord_event(struct ks_coord *c, uint32_t kind, uint32_t rank, struct ks_err *err,
                   const char *fmt, ...)
{
    struct ks_event_rec e = { .kind = kind, .rank = rank, .realtime_ns = ks_realtime_ns() };
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e.text, sizeof(e.text), fmt, ap);
    va_end(ap);
    if (rank < c->n_ranks)
        snprintf(e.host, sizeof(e.host), "%s", c->ranks[rank].host);
    ks_buf_clear(&c->body);
    ks_event_encode(&e, &c->body);
    return ks_coord_append(c, KS_F_EVENT, err);
}

int ks_coord_send(struct ks_coord *c, uint32_t to, uint16_t type, uint64_t a, uint64_t b,
                  struct ks_err *err)
{
    struct ks_buf body;
    ks_buf_init(&body);
    ks_msg_numbers_put(a, b, &body);
    int rc = ks_net_send(c->c.net, to, type, body.data, body.len, err);
    ks_buf_release(&body);
    return rc;
}

int ks_coord_take_event(struct ks_coord *c, const struct ks_frame *f, struct ks_err *err)
{
    struct ks_event_rec e;
    int rc = ks_event_decode(f->body, f->n, &e, err);
    if (rc < 0)
        return rc;
    enum ks_level level = e.kind == KS_EV_RANK_SUMMARY ? KS_DEBUG
                          : e.kind == KS_EV_INFO       ? KS_INFO
                                                       : KS_WARN;
    if (e.kind != KS_EV_WORKER_DEATH || ks_log_often(c->c.log, &c->deaths, "worker deaths"))
        ks_logf(c->c.log, level, "rank %u on %s: %s", e.rank, e.host, e.text);
    return ks_coord_append_body(c, f->type, f->body, f->n, err);
}

/* A rank that announces a further attempt of a cell which another one has finished meanwhile is
 * late with a lease that was given again: nothing is opened for it. But a rank that visits a
 * problem repeats what failed there or is suspected, whoever has measured round 0. */
static int take_start(struct ks_coord *c, uint32_t from, const struct ks_frame *f,
                      struct ks_err *err)
{
    struct ks_start s;
    int rc = ks_start_decode(f->body, f->n, &s, err);
    if (rc == 0 && s.n_cells && !s.cells[0].round &&
        ks_coord_is_anothers(c, from, &s.cells[0].cell) &&
        !ks_coord_is_visited_by(c, from, &s.cells[0].cell))
        return 0;
    if (rc == 0)
        rc = ks_ledger_start(c->c.ledger, &s, err);
    return rc < 0 ? rc : ks_coord_append_body(c, f->type, f->body, f->n, err);
}

static int take_device(struct ks_coord *c, uint32_t from, const struct ks_frame *f,
                       struct ks_err *err)
{
    struct ks_device_rec d;
    int rc = ks_device_rec_decode(f->body, f->n, &d, err);
    if (rc < 0)
        return rc;
    c->ranks[from].device_id = d.device_id;
    ks_coord_warn_busy(c, from, &d);
    return ks_coord_append_body(c, f->type, f->body, f->n, err);
}

static int take_build(struct ks_coord *c, uint32_t from, const struct ks_frame *f,
                      struct ks_err *err)
{
    int rc = ks_coord_alias_told(c, from, f, err);
    return rc < 0 ? rc : ks_coord_append_body(c, f->type, f->body, f->n, err);
}

static int take_lease_end(struct ks_coord *c, uint32_t from, const struct ks_frame *f,
                          struct ks_err *err)
{
    uint64_t lease = 0;
    int rc = ks_msg_numbers_get(f->body, f->n, &lease, NULL, err);
    if (rc < 0)
        return rc;
    bool is_given_again = !ks_sched_lease_end(c->sched, lease);
    if (c->ranks[from].n_leases)
        c->ranks[from].n_leases--;
    if (!c->ranks[from].n_leases)
        c->ranks[from].n_held = 0;
    return ks_coord_visit_end(c, lease, is_given_again, ks_now_ns(), err);
}

static int take_numbers(struct ks_coord *c, uint32_t from, const struct ks_frame *f,
                        struct ks_err *err)
{
    uint64_t a = 0, b = 0;
    int rc = ks_msg_numbers_get(f->body, f->n, &a, &b, err);
    if (rc < 0)
        return rc;
    if (f->type == KS_F_MSG_BUILD_END)
        return ks_coord_build_end(c, from, (uint32_t)a, err);
    if (f->type == KS_F_MSG_BYE)
        return ks_coord_bye(c, from, a != 0, b != 0, err);
    if (a) /* a beat with good news */
        ks_coord_canary_passed(c, from);
    return 0;
}

int ks_coord_frame(struct ks_coord *c, uint32_t from, const struct ks_frame *f, struct ks_err *err)
{
    c->ranks[from].seen_ns = ks_now_ns();
    if (c->ranks[from].state == RANK_LOST || c->ranks[from].is_quarantined)
        return ks_coord_late_frame(c, from, f, err);
    switch (f->type) {
    case KS_F_DONE:
        return ks_coord_take_record(c, from, f, err);
    case KS_F_START:
        return take_start(c, from, f, err);
    case KS_F_EVENT:
        return ks_coord_take_event(c, f, err);
    case KS_F_BUILD:
        return take_build(c, from, f, err);
    case KS_F_DEVICE:
        return take_device(c, from, f, err);
    case KS_F_MSG_OUTPUT:
        return ks_coord_take_output(c, f, err);
    case KS_F_HOST:
    case KS_F_OUTPUT:
    case KS_F_BLOCK:
    case KS_F_FOUND:
    case KS_F_PROGRAM:
        return ks_coord_append_body(c, f->type, f->body, f->n, err);
    case KS_F_MSG_HELLO:
        return ks_coord_hello(c, from, f, err);
    case KS_F_MSG_FETCH:
        return ks_coord_fetch(c, from, f, err);
    case KS_F_MSG_SENT:
        return ks_coord_sent(c, from, f, err);
    case KS_F_MSG_LEASE_END:
        return take_lease_end(c, from, f, err);
    case KS_F_MSG_BEAT:
    case KS_F_MSG_BUILD_END:
    case KS_F_MSG_BYE:
        return take_numbers(c, from, f, err);
    default:
        return ks_fail(err, KS_EPROTO, "rank %u sent a message of unexpected type %u", from,
                       f->type);
    }
}

static int write_ack_log(struct ks_coord *c, struct ks_err *err)
{
    if (!c->c.ack_log || !c->acked.len)
        return 0;
    int fd = open(c->c.ack_log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return ks_fail_errno(err, "%s", c->c.ack_log);
    int rc = ks_write_all(fd, c->acked.data, c->acked.len, err);
    close(fd);
    ks_buf_clear(&c->acked);
    return rc;
}

int ks_coord_sync(struct ks_coord *c, struct ks_err *err)
{
    ks_chaos(&c->chaos, KS_CHAOS_BEFORE_FSYNC);
    int rc = ks_journal_sync(c->c.journal, &c->durable, err);
    if (rc < 0)
        return ks_err_context(err, rc, "journal of '%s'", c->c.dir);
    c->pending_since_ns = 0;
    c->is_pressed = false;
    c->synced_ns = ks_now_ns();
    ks_chaos(&c->chaos, KS_CHAOS_BEFORE_ACK);
    rc = write_ack_log(c, err);
    for (uint32_t i = 0; i < c->n_ranks && rc == 0; i++) {
        struct rank *r = &c->ranks[i];
        if (r->n_acked == r->n_records)
            continue;
        r->n_acked = r->n_records;
        rc = ks_coord_send(c, i, KS_F_MSG_ACK, r->n_acked, 0, err);
    }
    return rc;
}

static int beat(struct ks_coord *c, uint64_t now_ns, struct ks_err *err)
{
    int rc = ks_journal_beat(c->c.journal, ks_realtime_ns(), err);
    if (rc == 0 && ks_journal_pending(c->c.journal) && !c->pending_since_ns)
        c->pending_since_ns = now_ns;
    if (now_ns - c->last_beat_ns < ks_msg_beat_ns(c->c.lost_after_ns))
        return rc;
    c->last_beat_ns = now_ns;
    for (uint32_t i = 1; i < c->n_ranks && rc == 0; i++) {
        bool is_near = strcmp(c->ranks[i].host, c->ranks[0].host) == 0;
        rc = ks_coord_send(c, i, KS_F_MSG_BEAT, c->is_measuring,
                           is_near ? (uint64_t)c->ranks[0].pid : 0, err);
    }
    return rc;
}

void ks_coord_be_quiet(struct ks_coord *c, bool is_quiet, uint64_t between_ns)
{
    c->is_quiet = is_quiet;
    c->between_ns = between_ns;
}

/* When what is pending is to be on disk. Usually at once, but not sooner than COMMIT_NS after the
 * last time: then it is a group. */
static uint64_t commit_due_ns(const struct ks_coord *c)
{
    if (!c->is_quiet || c->is_pressed)
        return c->synced_ns + COMMIT_NS;
    return c->pending_since_ns +
           (c->between_ns < KS_COORD_QUIET_NS ? KS_COORD_QUIET_NS - c->between_ns : 0);
}

/* Of several leases one should have ended when half of the work is done. The end of a single one is
 * expected: the rank will wait for the next. */
static uint64_t need_ns(const struct rank *r, uint64_t now_ns)
{
    uint64_t left = r->busy_until_ns > now_ns ? r->busy_until_ns - now_ns : 0;
    return r->n_leases > 1 ? left / 2 : left + left / 16 + LATE_NS;
}

void ks_coord_load(const struct ks_coord *c, uint64_t now_ns, struct ks_coord_load *out)
{
    struct ks_coord_load l = { .need_ns = UINT64_MAX,
                               .due_ns = c->last_beat_ns + ks_msg_beat_ns(c->c.lost_after_ns) };
    if (c->pending_since_ns && commit_due_ns(c) < l.due_ns)
        l.due_ns = commit_due_ns(c);
    bool is_known = true;
    for (uint32_t i = 1; i < c->n_ranks; i++) {
        const struct rank *r = &c->ranks[i];
        const uint64_t cell_ns = (uint64_t)(r->cell_s * 1e9);
        if (!r->n_leases)
            continue;
        l.is_awaiting = true;
        if (need_ns(r, now_ns) < l.need_ns)
            l.need_ns = need_ns(r, now_ns);
        if (cell_ns > l.cell_ns)
            l.cell_ns = cell_ns;
        is_known &= cell_ns > 0;
    }
    if (!is_known)
        l.cell_ns = 0;
    *out = l;
}

int ks_coord_drain(struct ks_coord *c, const char *why, struct ks_err *err)
{
    int rc = 0;
    if (c->is_draining)
        return 0;
    c->is_draining = true;
    snprintf(c->reason, sizeof(c->reason), "%s", why);
    for (uint32_t i = 0; i < c->n_ranks && rc == 0; i++)
        if (c->ranks[i].state < RANK_LEAVING)
            rc = ks_coord_send(c, i, KS_F_MSG_DRAIN, 0, 0, err);
    if (rc == 0)
        rc = ks_coord_event(c, KS_EV_SIGNAL, 0, err, "drained: %s", why);
    return rc < 0 ? rc : ks_coord_sync(c, err);
}

int ks_coord_hurry(struct ks_coord *c, struct ks_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < c->n_ranks && rc == 0; i++)
        if (c->ranks[i].state < RANK_LEAVING)
            rc = ks_coord_send(c, i, KS_F_MSG_DRAIN, 0, 1, err);
    return rc;
}

static bool is_quiet(const struct ks_coord *c)
{
    for (uint32_t i = 0; i < c->n_ranks; i++)
        if (c->ranks[i].state < RANK_LEAVING && c->ranks[i].n_leases)
            return false;
    return true;
}

int ks_coord_step(struct ks_coord *c, uint64_t now_ns, struct ks_err *err)
{
    int rc = ks_coord_watch(c, now_ns, err);
    if (rc == 0)
        rc = ks_coord_give_leases(c, now_ns, err);
    if (rc == 0)
        rc = beat(c, now_ns, err);
    if (rc < 0)
        return rc;
    bool is_ending = (c->is_complete || c->is_draining) && is_quiet(c);
    if (is_ending && !c->is_over_sent)
        rc = ks_coord_race_cut(c, err);
    if (rc < 0)
        return rc;
    bool is_much = ks_journal_pending(c->c.journal) >= (c->is_quiet ? QUIET_BYTES : COMMIT_BYTES);
    if (c->pending_since_ns && (is_ending || is_much || ks_now_ns() >= commit_due_ns(c))) {
        ks_chaos(&c->chaos, KS_CHAOS_BEFORE_WRITE);
        rc = ks_coord_sync(c, err);
    }
    if (rc == 0 && is_ending && !c->is_over_sent)
        rc = ks_coord_dismiss(c, err);
    return rc;
}

bool ks_coord_is_over(const struct ks_coord *c)
{
    if (!c->is_over_sent || c->pending_since_ns)
        return false;
    for (uint32_t i = 0; i < c->n_ranks; i++)
        if (c->ranks[i].state != RANK_GONE && c->ranks[i].state != RANK_LOST)
            return false;
    return true;
}

bool ks_coord_is_measuring(const struct ks_coord *c)
{
    return c->is_measuring;
}

bool ks_coord_is_drained(const struct ks_coord *c)
{
    return c->is_draining;
}

const char *ks_coord_reason(const struct ks_coord *c)
{
    return c->reason;
}

bool ks_coord_lost_anyone(const struct ks_coord *c)
{
    return c->n_lost > 0;
}

uint64_t ks_coord_n_pending(const struct ks_coord *c)
{
    struct ks_ledger_counts n;
    ks_ledger_counts(c->c.ledger, &n);
    uint64_t all = ks_grid_n_cells(c->c.grid);
    return n.n_final < all ? all - n.n_final : 0;
}
