/* SPDX-License-Identifier: MIT */
/* rank.c - a rank: greets, takes leases and builds, runs its agent, says goodbye */
#include "mpi/rank.h"

#include "base/clock.h"
#include "base/file.h"
#include "mpi/agent.h"
#include "mpi/msg.h"
#include "mpi/provenance.h"
#include "mpi/rank_impl.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int ks_rank_send_body(struct ks_rank *r, uint16_t type, struct ks_err *err)
{
    if (!ks_buf_ok(&r->body))
        return ks_fail(err, KS_ENOMEM, "rank: out of memory");
    return ks_net_send(r->c.net, 0, type, r->body.data, r->body.len, err);
}

int ks_rank_send_numbers(struct ks_rank *r, uint16_t type, uint64_t a, uint64_t b,
                         struct ks_err *err)
{
    ks_buf_clear(&r->body);
    ks_msg_numbers_put(a, b, &r->body);
    return ks_rank_send_body(r, type, err);
}

static int emit(void *ctx, uint16_t type, const void *body, size_t n, struct ks_err *err)
{
    struct ks_rank *r = ctx;
    r->has_room |= type == KS_F_MSG_LEASE_END;
    return ks_net_send(r->c.net, 0, type, body, n, err);
}

static bool measures(const struct ks_rank *r)
{
    return r->c.seat->bind.seat != KS_SEAT_NONE;
}

/* A host that was busy while its baseline was taken must not excuse noise beyond the limits. A GPU
 * times itself, and its worker sleeps meanwhile: what becomes of the core says nothing of it. */
static struct ks_noise_limits limits_of(const struct ks_job *job, const struct ks_device_rec *d)
{
    const struct ks_job_contention *c = &job->contention;
    if (ks_job_is_gpu(job))
        return (struct ks_noise_limits){ .switches_per_s = INFINITY,
                                         .stolen = INFINITY,
                                         .canary = ks_job_canary_limit(job) };
    return (struct ks_noise_limits){
        .switches_per_s = c->switches_per_s,
        .stolen = c->stolen,
        .canary = ks_job_canary_limit(job),
        .idle_switches_per_s = fmin(d->idle_switches_per_s, c->switches_per_s),
        .idle_stolen = fmin(d->idle_stolen, c->stolen),
    };
}

static int open_agent(struct ks_rank *r, struct ks_err *err)
{
    const struct ks_job *job = &r->c.grid->job;
    struct ks_device_rec *d = &r->device;
    const struct ks_rank_seat *seat = r->c.seat;
    /* who shares its core would measure the others' baseline, one after another */
    if (seat->is_pinned && seat->bind.seat != KS_SEAT_SHARED && !ks_job_is_gpu(job))
        ks_provenance_idle(seat->bind.cores.cpu, &d->idle_switches_per_s, &d->idle_stolen);
    struct ks_agent_config ac = {
        .grid = r->c.grid,
        .build = r->build,
        .warden = r->c.warden,
        .worker_path = r->worker_path,
        .rank = r->rank,
        .is_oversubscribed = seat->bind.seat == KS_SEAT_SHARED,
        .is_pinned = seat->is_pinned,
        .cpus = ks_seat_cpus(seat, ks_job_is_gpu(job)),
        .memory_nodes = seat->bind.nodes,
        .visible = seat->visible,
        .device_id = d->device_id,
        .noise = limits_of(job, d),
        .emit = emit,
        .ctx = r,
    };
    memcpy(ac.unique, seat->device.unique, sizeof(ac.unique));
    memcpy(ac.pci, seat->device.pci, sizeof(ac.pci));
    if (r->is_sim) { /* which rank it is matters to only=RANK */
        size_t n = strlen(job->device.arch_text);
        snprintf(ac.device, sizeof(ac.device), "%s", job->device.arch_text);
        if (strstr(ac.device, "only=") && n < sizeof(ac.device))
            snprintf(ac.device + n, sizeof(ac.device) - n, ",rank=%u", r->rank);
    }
    return ks_agent_create(&ac, &r->agent, err);
}

static int greet(struct ks_rank *r, struct ks_err *err)
{
    const struct ks_net *n = r->c.net;
    struct ks_msg_hello m = {
        .rank = r->rank,
        .local_rank = ks_net_local_rank(n),
        .n_local = ks_net_n_local(n),
        .measures = measures(r),
        .n_jobs = r->n_jobs,
        .grid_digest = r->c.grid->digest,
        .pid = (int32_t)getpid(),
    };
    if (r->build) {
        m.target = ks_build_target(r->build);
        m.cache = ks_build_cache(r->build);
    }
    memcpy(m.host, r->device.host, sizeof(m.host));
    ks_buf_clear(&r->body);
    ks_msg_hello_put(&m, &r->body);
    int rc = ks_rank_send_body(r, KS_F_MSG_HELLO, err);
    if (rc == 0 && m.local_rank == 0) {
        struct ks_name_rec h = { .id = r->rank };
        struct ks_buf text;
        ks_buf_init(&text);
        ks_provenance_host(n, r->build ? ks_build_compiler(r->build) : NULL, &text);
        snprintf(h.name, sizeof(h.name), "%s", r->device.host);
        snprintf(h.text, sizeof(h.text), "%s", ks_buf_text(&text));
        ks_buf_release(&text);
        ks_buf_clear(&r->body);
        ks_name_rec_encode(&h, &r->body);
        rc = ks_rank_send_body(r, KS_F_HOST, err);
    }
    if (rc == 0 && measures(r)) {
        ks_buf_clear(&r->body);
        ks_device_rec_encode(&r->device, &r->body);
        rc = ks_rank_send_body(r, KS_F_DEVICE, err);
    }
    return rc;
}

/* Compilers at a time: its share of the host's CPUs, or of those it was bound to at the start. */
static uint32_t count_jobs(const struct ks_net *n)
{
    const long share = sysconf(_SC_NPROCESSORS_ONLN) / (long)ks_net_n_local(n);
    cpu_set_t mine;
    long jobs = share;
    if (sched_getaffinity(0, sizeof(mine), &mine) == 0 && CPU_COUNT(&mine) < share)
        jobs = CPU_COUNT(&mine);
    return jobs > 0 ? (uint32_t)jobs : 1;
}

int ks_rank_create(const struct ks_rank_config *c, struct ks_rank **r_out, struct ks_err *err)
{
    const struct ks_job *job = &c->grid->job;
    struct ks_rank *r = calloc(1, sizeof(*r));
    int rc = 0;
    if (!r)
        return ks_fail(err, KS_ENOMEM, "rank: out of memory");
    r->c = *c;
    r->rank = r->chaos.rank = ks_net_rank(c->net);
    r->is_sim = ks_job_is(job, KS_BACKEND_VIRTUAL);
    r->has_warden = true;
    r->n_owed = 1;
    r->heard_ns = ks_now_ns();
    ks_buf_init(&r->body);
    r->n_jobs = count_jobs(c->net);
    rc = ks_job_runs_programs(job)
             ? ks_agent_find_profiler(r->worker_path, sizeof(r->worker_path), err)
             : ks_agent_find_worker(r->worker_path, sizeof(r->worker_path), err);
    if (rc == 0)
        ks_provenance_device(job, r->rank, ks_net_local_rank(c->net), c->seat, &r->device);
    if (rc == 0)
        rc = ks_rank_open_build(r, err);
    if (rc == 0 && measures(r))
        rc = open_agent(r, err);
    if (rc == 0)
        rc = greet(r, err);
    if (rc < 0) {
        ks_rank_destroy(r);
        return rc;
    }
    if (!measures(r)) /* no lease will ever tell it to; its compilers may have all cores */
        ks_seat_settle(c->seat, NULL);
    *r_out = r;
    return 0;
}

void ks_rank_destroy(struct ks_rank *r)
{
    if (!r)
        return;
    ks_agent_destroy(r->agent);
    ks_rank_close_build(r);
    ks_buf_release(&r->body);
    free(r);
}

struct ks_build *ks_rank_build(struct ks_rank *r)
{
    return r->build;
}

void ks_rank_settle(struct ks_rank *r)
{
    if (!r->is_settled)
        ks_seat_settle(r->c.seat, r->has_warden ? r->c.warden : NULL);
    r->is_settled = true;
}

static int take_lease(struct ks_rank *r, const struct ks_frame *f, struct ks_err *err)
{
    struct ks_msg_lease m;
    if (!r->has_warden) /* sent before rank 0 heard of it, and back in its pool */
        return 0;
    int rc = ks_msg_lease_get(f->body, f->n, &m, err);
    if (rc == 0 && !r->agent)
        rc = ks_fail(err, KS_EPROTO, "rank %u has no device but got a lease", r->rank);
    ks_rank_settle(r);
    return rc < 0 ? rc : ks_agent_lease(r->agent, &m, err);
}

int ks_rank_frame(struct ks_rank *r, const struct ks_frame *f, struct ks_err *err)
{
    uint64_t a = 0, b = 0;
    int rc = 0;
    r->heard_ns = ks_now_ns();
    switch (f->type) {
    case KS_F_MSG_LEASE:
        return take_lease(r, f, err);
    case KS_F_MSG_BUILD:
        return ks_rank_take_build(r, f, err);
    case KS_F_MSG_SEND:
        return ks_rank_send_pack(r, f, err);
    case KS_F_MSG_PIECE:
        return ks_rank_take_piece(r, f, err);
    case KS_F_MSG_ACK:
        rc = ks_msg_numbers_get(f->body, f->n, &a, NULL, err);
        if (rc == 0 && r->agent)
            ks_agent_acked(r->agent, a);
        return rc;
    case KS_F_MSG_DRAIN:
        rc = ks_msg_numbers_get(f->body, f->n, &a, &b, err);
        if (r->agent)
            ks_agent_drain(r->agent);
        if (r->agent && (a > 1 || (!a && b)))
            ks_agent_stop(r->agent);
        r->is_over |= a != 0;
        r->is_released |= a > 1;
        r->is_clean |= a > 1 && !b;
        return rc;
    case KS_F_MSG_BEAT:
        rc = ks_msg_numbers_get(f->body, f->n, &a, &b, err);
        if (rc == 0 && a) {
            ks_rank_settle(r);
            r->bell_pid = (pid_t)b;
        }
        return rc;
    default:
        return ks_fail(err, KS_EPROTO, "rank 0 sent a message of unexpected type %u", f->type);
    }
}

static int take_children(struct ks_rank *r, struct ks_err *err)
{
    struct ks_child_end end;
    int rc;
    while ((rc = ks_warden_next(r->c.warden, &end, err)) == 1) {
        int took = 0;
        if (r->build && ks_build_child_ended(r->build, &end))
            continue;
        if (r->agent)
            took = ks_agent_child_ended(r->agent, &end, err);
        if (took < 0)
            return took;
    }
    return rc;
}

int ks_rank_send_event(struct ks_rank *r, uint32_t kind, struct ks_err *err, const char *fmt, ...)
{
    struct ks_event_rec e = { .kind = kind, .rank = r->rank, .realtime_ns = ks_realtime_ns() };
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e.text, sizeof(e.text), fmt, ap);
    va_end(ap);
    memcpy(e.host, r->device.host, sizeof(e.host));
    ks_buf_clear(&r->body);
    ks_event_encode(&e, &r->body);
    return ks_rank_send_body(r, KS_F_EVENT, err);
}

/* What this rank spent beside what its records say: the workers' lives and its own idleness. */
static int send_summary(struct ks_rank *r, struct ks_err *err)
{
    struct ks_agent_totals t;
    if (!r->agent)
        return 0;
    ks_agent_totals(r->agent, &t);
    return ks_rank_send_event(r, KS_EV_RANK_SUMMARY, err,
                              "worker_ns=%" PRIu64 " wait_ns=%" PRIu64 " tail_ns=%" PRIu64
                              " workers=%" PRIu64 " deaths=%" PRIu64 " cells=%" PRIu64
                              " records=%" PRIu64 " ack_p99_us=%" PRIu64 " timing_ns=%" PRIu64
                              " timed=%" PRIu64 " wakes=%" PRIu64 " switches=%" PRIu64
                              " warden_wakes=%" PRIu64,
                              t.worker_ns, t.wait_ns, t.tail_ns, t.n_workers, t.n_deaths, t.n_cells,
                              t.n_records, t.ack_p99_us, t.timing_ns, t.n_timed, r->wakes.n,
                              r->wakes.n_switches, ks_rank_shares_core(r) ? t.n_warden_wakes : 0);
}

/* A device that cannot go on: the leases went back already, the reason goes to the journal. */
static int step_broken(struct ks_rank *r, struct ks_err *err)
{
    const char *why = "";
    if (!r->agent || r->said_broken || !ks_agent_is_broken(r->agent, &why) ||
        !ks_agent_is_idle(r->agent))
        return 0;
    r->said_broken = true;
    int rc = ks_rank_send_event(r, KS_EV_QUARANTINE, err, "stops measuring: %s", why);
    return rc < 0 ? rc
                  : ks_rank_send_numbers(r, KS_F_MSG_BYE, 1, strstr(why, "canary") != NULL, err);
}

/* The warden was killed, and all it had started with it: this rank only watches from now on. */
static int lose_warden(struct ks_rank *r, struct ks_err *err)
{
    r->has_warden = false;
    r->said_broken = true;
    ks_agent_destroy(r->agent);
    r->agent = NULL;
    int rc = ks_rank_send_event(r, KS_EV_WARDEN_LOST, err, "stops measuring: its warden is gone");
    return rc < 0 ? rc : ks_rank_send_numbers(r, KS_F_MSG_BYE, 1, 0, err);
}

static int step_work(struct ks_rank *r, uint64_t now_ns, struct ks_err *err)
{
    int rc = take_children(r, err);
    if (rc == 0)
        rc = ks_warden_watch(r->c.warden, now_ns, r->c.lost_after_ns, err);
    if (rc == 0)
        rc = ks_rank_step_build(r, err);
    if (rc == 0 && r->agent)
        rc = ks_agent_step(r->agent, err);
    return rc < 0 ? rc : step_broken(r, err);
}

int ks_rank_step(struct ks_rank *r, uint64_t now_ns, struct ks_err *err)
{
    int rc = r->has_warden ? step_work(r, now_ns, err) : 0;
    if (rc == KS_ECHILD) /* noticed by whoever wants a child started or killed, too */
        rc = lose_warden(r, err);
    if (rc == 0 && now_ns - r->last_beat_ns >= ks_msg_beat_ns(r->c.lost_after_ns)) {
        r->last_beat_ns = now_ns;
        rc = ks_rank_send_numbers(r, KS_F_MSG_BEAT, 0, 0, err);
    }
    bool is_idle = !r->agent || ks_agent_is_idle(r->agent);
    if (rc == 0 && r->is_over && is_idle && !r->said_bye) {
        r->said_bye = true;
        ks_chaos(&r->chaos, KS_CHAOS_BYE);
        rc = send_summary(r, err);
        if (rc == 0)
            rc = ks_rank_send_numbers(r, KS_F_MSG_BYE, 0, 0, err);
    }
    if (r->rank != 0 && now_ns > r->heard_ns && now_ns - r->heard_ns > r->c.lost_after_ns)
        r->is_silent = true;
    return rc;
}

void ks_rank_was_away(struct ks_rank *r, uint64_t ns)
{
    r->heard_ns += ns;
}

bool ks_rank_is_over(const struct ks_rank *r)
{
    return r->said_bye && (r->is_silent || (r->is_released && ks_net_is_flushed(r->c.net)));
}

bool ks_rank_is_clean(const struct ks_rank *r)
{
    return r->is_clean && !r->is_silent;
}

bool ks_rank_is_abandoned(const struct ks_rank *r)
{
    return r->is_silent && !r->said_bye;
}
