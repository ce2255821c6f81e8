/* SPDX-License-Identifier: MIT */
/* coord_ranks.c - who is there: greetings, goodbyes, losses. */
#include "base/clock.h"
#include "mpi/coord_impl.h"

#include <stdio.h>
#include <string.h>

bool ks_coord_is_alive(const struct rank *r)
{
    return r->state != RANK_GONE && r->state != RANK_LOST;
}

bool ks_coord_can_measure(const struct rank *r)
{
    return r->state == RANK_AWAITED || (r->state < RANK_LEAVING && r->measures && !r->is_broken);
}

uint32_t ks_coord_n_working(const struct ks_coord *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_ranks; i++)
        n += ks_coord_can_measure(&c->ranks[i]);
    return n;
}

/* Once all are known: the ranks without a seat, in one line. Rank 0 without one is by design. */
static int name_idle_ranks(struct ks_coord *c, struct ks_err *err)
{
    char list[256] = "";
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_ranks; i++) {
        if (c->ranks[i].state == RANK_AWAITED)
            return 0;
        if (i == 0 || c->ranks[i].measures)
            continue;
        size_t at = strlen(list);
        snprintf(list + at, sizeof(list) - at, "%s%u", n++ ? ", " : "", i);
    }
    if (!n)
        return 0;
    ks_logf(c->c.log, KS_WARN,
            "more ranks than core sets: rank%s %s only help%s building (use --oversubscribe to let "
            "them measure)",
            n == 1 ? "" : "s", list, n == 1 ? "s" : "");
    return ks_coord_event(c, KS_EV_IDLE_RANK, 0, err, "without a core set: %s", list);
}

int ks_coord_hello(struct ks_coord *c, uint32_t from, const struct ks_frame *f, struct ks_err *err)
{
    struct ks_msg_hello m;
    struct rank *r = &c->ranks[from];
    int rc = ks_msg_hello_get(f->body, f->n, &m, err);
    if (rc < 0)
        return rc;
    if (m.grid_digest != c->c.grid->digest)
        return ks_fail(err, KS_EINVAL,
                       "rank %u on %s read a different job: every node must see the same job file, "
                       "problem lists and kernel configs",
                       from, m.host);
    if (r->state == RANK_AWAITED)
        r->state = RANK_BUILDING;
    r->measures = m.measures;
    r->target = m.target;
    r->cache = m.cache;
    r->n_jobs = m.n_jobs;
    r->pid = m.pid;
    memcpy(r->host, m.host, sizeof(r->host));
    rc = name_idle_ranks(c, err);
    return rc < 0 ? rc : ks_coord_advance_builds(c, err);
}

int ks_coord_release_device(struct ks_coord *c, uint32_t i, bool is_loss, struct ks_err *err)
{
    uint32_t condemned[KS_LEASE_CELLS][2];
    const struct ks_lease *visit = is_loss ? ks_sched_visited(c->sched, i) : NULL;
    const int64_t visited = visit ? (int64_t)visit->i_problem : -1;
    uint32_t n = ks_sched_device_lost(c->sched, i, is_loss, condemned, KS_LEASE_CELLS);
    int rc = visited < 0 ? 0 : ks_coord_visit_lost(c, (uint32_t)visited, err);
    c->ranks[i].n_leases = c->ranks[i].n_held = 0;
    c->may_ask = true;
    for (uint32_t k = 0; k < n && rc == 0; k++) {
        rc = ks_coord_write_outcome(c, condemned[k][0], condemned[k][1], KS_O_WORKER_LOST,
                                    "its rank was lost each time the cell ran", err);
        if (rc == 0)
            ks_coord_log_failure(c, c->record);
        if (rc == 0)
            rc = ks_coord_race_heard(c, c->record, err);
        if (rc == 0)
            rc = ks_coord_alias_settle(c, condemned[k][0], condemned[k][1],
                                       (struct ks_id128){ 0, 0 }, err);
        ks_sched_done(c->sched, condemned[k][0], condemned[k][1], KS_NO_DEVICE, 0);
        if (rc == 0)
            rc = ks_coord_was_condemned(c, condemned[k][0], condemned[k][1], err);
    }
    return rc;
}

int ks_coord_bye(struct ks_coord *c, uint32_t from, bool is_broken, bool is_quarantined,
                 struct ks_err *err)
{
    struct rank *r = &c->ranks[from];
    if (!is_broken) {
        r->state = RANK_GONE;
        return 0;
    }
    r->is_broken = true;
    int rc = ks_coord_release_device(c, from, false, err);
    if (rc == 0 && is_quarantined)
        rc = ks_coord_void_failures(c, from, err);
    return rc < 0 ? rc : ks_coord_advance_builds(c, err);
}

/* It was frozen, or its network was cut. What it has measured counts like everybody's, once, as far
 * as it was announced; but it measures no more: nobody knows whether it stays this time. It idles
 * until the end, because a launcher may end the others with the first process that leaves. */
static int take_back(struct ks_coord *c, uint32_t from, struct ks_err *err)
{
    struct rank *r = &c->ranks[from];
    r->has_returned = true;
    ks_logf(c->c.log, KS_WARN,
            "rank %u on %s is back; its pending records are accepted, but it gets no more cells",
            from, r->host);
    (void)ks_net_recall(c->c.net, from);
    int rc = ks_coord_send(c, from, KS_F_MSG_DRAIN, c->is_over_sent, 0, err);
    return rc < 0
               ? rc
               : ks_coord_event(
                     c, KS_EV_INFO, from, err,
                     "rank %u came back after it was declared lost; it gets no more cells", from);
}

int ks_coord_late_frame(struct ks_coord *c, uint32_t from, const struct ks_frame *f,
                        struct ks_err *err)
{
    struct rank *r = &c->ranks[from];
    bool is_lost = r->state == RANK_LOST;
    uint64_t is_broken = 0;
    int rc = is_lost && !r->has_returned ? take_back(c, from, err) : 0;
    if (rc < 0)
        return rc;
    if (f->type == KS_F_DONE)
        return ks_coord_take_record(c, from, f, err);
    if (f->type == KS_F_EVENT)
        return ks_coord_take_event(c, f, err);
    if (is_lost && f->type == KS_F_MSG_OUTPUT)
        return ks_coord_take_output(c, f, err);
    if (is_lost && (f->type == KS_F_OUTPUT || f->type == KS_F_BLOCK || f->type == KS_F_FOUND ||
                    f->type == KS_F_PROGRAM))
        return ks_coord_append_body(c, f->type, f->body, f->n, err);
    if (is_lost || f->type != KS_F_MSG_BYE)
        return 0;
    rc = ks_msg_numbers_get(f->body, f->n, &is_broken, NULL, err);
    if (rc == 0 && !is_broken) /* else it says that its device is bad, and stays */
        r->state = RANK_GONE;
    return rc;
}

static int lose(struct ks_coord *c, uint32_t i, struct ks_err *err)
{
    struct rank *r = &c->ranks[i];
    ks_logf(c->c.log, KS_WARN, "rank %u on %s is lost (silent for %llu s); its cells go to others",
            i, r->host[0] ? r->host : "an unknown host",
            (unsigned long long)(c->c.lost_after_ns / 1000000000u));
    r->state = RANK_LOST;
    c->n_lost++;
    ks_ledger_lost_host(c->c.ledger, r->host);
    ks_net_forget(c->c.net, i);
    int rc = ks_coord_release_device(c, i, true, err);
    if (rc == 0)
        rc = ks_coord_event(c, KS_EV_RANK_LOST, i, err, "rank %u lost", i);
    return rc < 0 ? rc : ks_coord_advance_builds(c, err);
}

void ks_coord_was_away(struct ks_coord *c, uint64_t ns)
{
    c->away_ns += ns;
    c->is_pressed = true;
    for (uint32_t i = 0; i < c->n_ranks; i++)
        c->ranks[i].seen_ns += ns;
}

int ks_coord_watch(struct ks_coord *c, uint64_t now_ns, struct ks_err *err)
{
    int rc = 0;
    for (uint32_t i = 1; i < c->n_ranks && rc == 0; i++) {
        struct rank *r = &c->ranks[i];
        /* nobody is lost before it has had time to start: MPI_Init has synchronised all of them */
        if (ks_coord_is_alive(r) && now_ns > r->seen_ns && now_ns - r->seen_ns > c->c.lost_after_ns)
            rc = lose(c, i, err);
    }
    return rc;
}

int ks_coord_dismiss(struct ks_coord *c, struct ks_err *err)
{
    int rc = 0;
    c->is_over_sent = true;
    for (uint32_t i = 0; i < c->n_ranks && rc == 0; i++) {
        struct rank *r = &c->ranks[i];
        if (!ks_coord_is_alive(r) && !r->has_returned)
            continue;
        if (ks_coord_is_alive(r)) /* nobody waits for one that was lost before */
            r->state = RANK_LEAVING;
        rc = ks_coord_send(c, i, KS_F_MSG_DRAIN, 1, 0, err);
    }
    return rc;
}
