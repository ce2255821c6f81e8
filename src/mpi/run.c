/* SPDX-License-Identifier: MIT */
/* run.c - ksweep run on one rank: opens everything, runs the loop, and ends it in order */
#include "mpi/run.h"

#include "base/clock.h"
#include "base/text.h"
#include "grid/programs.h"
#include "mpi/agent.h"
#include "mpi/bell.h"
#include "mpi/coord.h"
#include "mpi/directory.h"
#include "mpi/farewell.h"
#include "mpi/launch.h"
#include "mpi/msg.h"
#include "mpi/net.h"
#include "mpi/preflight.h"
#include "mpi/pulse.h"
#include "mpi/rank.h"
#include "mpi/seat.h"
#include "mpi/show.h"
#include "spawn/parent_link.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define DEAD_NAP_NS  5000000ull
#define AWAY_NS      1000000000ull /* twice as long as the loop ever sleeps (pace.h) */
#define FLUSH_NS     1000000000ull
#define TOLD_NS      5000000000ull
#define VERDICT_NS   5000000000ull /* rank 0 meets what the others meet */
#define START_LOSSES 4u /* MPI may take so many times --lost-after to start on all nodes */
#define PULSE_PART   4u /* of --lost-after: the loop is away for so long before its thread beats */

struct run {
    const struct ks_run_options *o;
    struct ks_log *log;
    struct ks_warden *warden;
    struct ks_grid grid;
    struct ks_bind_card card;
    struct ks_net *net;
    struct ks_pulse *pulse;
    struct ks_directory *dir; /* rank 0 */
    struct ks_coord *coord;   /* rank 0 */
    struct ks_rank *rank;
    struct ks_rank_seat seat;
    bool is_loaded;  /* grid */
    bool is_refused; /* by all ranks: nobody waits for anybody */
    int signal_fd, bell_fd;
    uint64_t bell_free_ns; /* see bell.h */
    uint32_t n_signals;
    bool by_signal;
    bool is_orphan;      /* the parent of `ksweep run -n` is gone */
    struct ks_show show; /* rank 0 */
    uint64_t drained_ns, alive_ns, turned_ns, over_ns;
};

/* Signals are read in the loop, never handled: block them before MPI starts its threads. */
static int block_signals(int *fd_out, struct ks_err *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return ks_fail_errno(err, "signals");
    signal(SIGPIPE, SIG_IGN);
    *fd_out = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return *fd_out < 0 ? ks_fail_errno(err, "signals") : 0;
}

static void tell_status(struct run *r)
{
    struct ks_run_result s = { 0 };
    ks_directory_result(r->dir, r->coord, &s);
    s.exit = 3;
    s.by_signal = r->by_signal;
    if (r->o->on_status)
        r->o->on_status(r->o->ctx, &s);
}

/* The command that goes on with this run; the caller releases it. */
static void put_resume(const struct run *r, struct ks_buf *command_out)
{
    ks_buf_init(command_out);
    if (r->o->go_on) {
        ks_buf_printf(command_out, "%s", r->o->go_on);
        return;
    }
    ks_shell_words(command_out, (const char *[]){ "ksweep", "run", r->o->job, "--resume", "--out",
                                                  ks_directory_path(r->dir), NULL });
}

static int on_signal(struct run *r, int signo, struct ks_err *err)
{
    char name[32];
    if (!r->coord) /* rank 0 decides for all */
        return 0;
    snprintf(name, sizeof(name), "SIG%s", sigabbrev_np(signo));
    r->n_signals++;
    if (ks_coord_is_drained(r->coord))
        return signo == SIGINT || r->n_signals > 2 ? ks_coord_hurry(r->coord, err) : 0;
    r->by_signal = signo != SIGINT;
    struct ks_buf command;
    put_resume(r, &command);
    ks_logf(r->log, KS_WARN, "%s received: finishing the cells in flight; resume with: %s", name,
            ks_buf_text(&command));
    ks_buf_release(&command);
    int rc = ks_coord_drain(r->coord, name, err);
    r->drained_ns = ks_now_ns();
    if (rc == 0)
        tell_status(r);
    return rc;
}

static int read_signals(struct run *r, struct ks_err *err)
{
    struct signalfd_siginfo s;
    int rc = 0;
    while (rc == 0 && read(r->signal_fd, &s, sizeof(s)) == (ssize_t)sizeof(s))
        rc = on_signal(r, (int)s.ssi_signo, err);
    return rc;
}

static bool is_for_rank(uint16_t type)
{
    return type == KS_F_MSG_LEASE || type == KS_F_MSG_ACK || type == KS_F_MSG_BUILD ||
           type == KS_F_MSG_DRAIN || type == KS_F_MSG_SEND || type == KS_F_MSG_PIECE;
}

/* On rank 0 both directions of the loop to itself meet: what only rank 0 sends is for the rank. */
static int take_frames(struct run *r, bool *any_out, struct ks_err *err)
{
    struct ks_frame f;
    uint32_t from;
    int rc = 0;
    while (rc == 0 && ks_net_next(r->net, &from, &f) == 1) {
        *any_out = true;
        if (r->coord && !is_for_rank(f.type))
            rc = ks_coord_frame(r->coord, from, &f, err);
        else
            rc = ks_rank_frame(r->rank, &f, err);
    }
    return rc;
}

static struct timespec until(uint64_t next_ns, uint64_t now_ns)
{
    uint64_t ns = next_ns > now_ns ? next_ns - now_ns : 0;
    return (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
}

static void pace_coord(const struct run *r, struct ks_pace *p)
{
    struct ks_coord_load l;
    ks_coord_load(r->coord, p->now_ns, &l);
    p->is_awaiting |= l.is_awaiting;
    if (l.need_ns < p->need_ns)
        p->need_ns = l.need_ns;
    if (l.due_ns < p->due_ns)
        p->due_ns = l.due_ns;
    if (r->seat.bind.seat == KS_SEAT_NONE) /* rank 0 disturbs the cells of others only */
        p->cell_ns = l.cell_ns;
}

/* has_sent: what this turn sent to itself waits to be taken; else it would wait a whole nap. */
static void nap(struct run *r, bool is_busy, bool has_sent, uint64_t woke_ns)
{
    struct ks_pace pace = { .now_ns = ks_now_ns(), .woke_ns = woke_ns };
    ks_rank_pace(r->rank, &pace);
    pace.is_busy = is_busy || (pace.is_quiet && has_sent);
    if (r->coord)
        pace_coord(r, &pace);
    bool hears = pace.is_quiet && ks_bell_may_be_heard(r->bell_free_ns, pace.now_ns);
    int warden_fd = ks_rank_has_warden(r->rank) ? ks_warden_fd(r->warden) : -1;
    struct pollfd p[5] = { { .fd = r->signal_fd, .events = POLLIN },
                           { .fd = warden_fd, .events = POLLIN },
                           { .fd = ks_rank_wait_fd(r->rank, &pace), .events = POLLIN },
                           { .fd = hears ? r->bell_fd : -1, .events = POLLIN },
                           { .fd = r->is_orphan ? -1 : r->o->parent_fd } };
    struct timespec t = until(ks_pace_next_ns(&pace), pace.now_ns);
    bool is_sleep = t.tv_sec || t.tv_nsec;
    if (ppoll(p, 5, &t, NULL) > 0 && (p[1].revents & (POLLHUP | POLLERR)))
        ks_sleep_ns(DEAD_NAP_NS); /* a dead warden must not make this loop spin */
    if (p[4].revents) {
        r->is_orphan = true;
        (void)kill(getpid(), SIGHUP); /* read in the next turn */
    }
    if (p[3].revents)
        ks_bell_was_heard(&r->bell_free_ns, ks_now_ns(), ks_pace_bell_ns(pace.cell_ns));
    ks_bell_clear(r->bell_fd);
    if (is_sleep)
        ks_rank_count_wake(r->rank);
}

/* After a signal everyone gets as long as one kernel call may take, then the workers are killed. */
static int hurry(struct run *r, uint64_t now, struct ks_err *err)
{
    uint64_t limit = (uint64_t)r->grid.job.isolate.kernel_timeout_s * 1000000000u;
    if (r->by_signal && limit > 1000000000u)
        limit = 1000000000u;
    if (!r->drained_ns || now < r->drained_ns + limit)
        return 0;
    r->drained_ns = 0;
    return ks_coord_hurry(r->coord, err);
}

static void notice_absence(struct run *r, uint64_t now)
{
    uint64_t away = r->turned_ns ? now - r->turned_ns : 0;
    r->turned_ns = now;
    if (away < AWAY_NS)
        return;
    ks_rank_was_away(r->rank, away);
    if (r->coord)
        ks_coord_was_away(r->coord, away);
    if (away >= TOLD_NS)
        ks_logf(r->log, KS_WARN,
                "this rank did not run for %.1f s: a disk stalled, or the process was stopped",
                (double)away * 1e-9);
}

/* Once all have said goodbye or are lost, nothing that still goes to them matters; to one that has
 * died since, it never leaves. */
static bool is_over(struct run *r, uint64_t now)
{
    if (!r->coord)
        return ks_rank_is_over(r->rank) || ks_rank_is_abandoned(r->rank);
    if (!ks_coord_is_over(r->coord))
        return false;
    if (!r->over_ns)
        r->over_ns = now;
    return ks_net_is_flushed(r->net) || now - r->over_ns > FLUSH_NS;
}

/* Nothing is committed ahead while more may come in this very moment. */
static int step_coord(struct run *r, bool is_busy, uint64_t now, struct ks_err *err)
{
    struct ks_pace pace = { .now_ns = now };
    if (ks_coord_is_measuring(r->coord))
        ks_rank_settle(r->rank);
    ks_rank_pace(r->rank, &pace);
    ks_coord_be_quiet(r->coord, pace.is_quiet, is_busy ? 0 : ks_rank_between_ns(r->rank));
    return ks_coord_step(r->coord, now, err);
}

static int loop(struct run *r, struct ks_err *err)
{
    int rc = 0;
    for (;;) {
        bool any = ks_net_progress(r->net);
        uint64_t now = ks_now_ns();
        notice_absence(r, now);
        rc = read_signals(r, err);
        if (rc == 0)
            rc = take_frames(r, &any, err);
        if (rc == 0)
            rc = ks_rank_step(r->rank, now, err);
        if (rc == 0 && r->coord)
            rc = step_coord(r, any, now, err);
        if (rc == 0)
            rc = hurry(r, now, err);
        if (rc < 0)
            return rc;
        if (r->coord)
            ks_show_step(&r->show, r->coord, now);
        bool has_sent = ks_net_progress(r->net);
        ks_rank_ring(r->rank);
        if (is_over(r, now))
            return 0;
        nap(r, any, has_sent, now);
    }
}

/* Open MPI's waits for ranks and daemons that are lost. */
static int guard_launcher(struct run *r, struct ks_err *err)
{
    static const char *const names[] = { "mpirun",          "mpiexec", "orterun", "mpirun.openmpi",
                                         "mpiexec.openmpi", "prterun", "prte",    NULL };
    return ks_launch_is_live() ? ks_warden_end_launcher(r->warden, names, err) : 0;
}

static uint64_t beat_ns(const struct ks_run_options *o)
{
    return ks_msg_beat_ns((uint64_t)o->lost_after_ms * 1000000u);
}

/* Rank 0 reads what was measured before, the others wait. */
static void say_alive(void *ctx)
{
    struct run *r = ctx;
    uint64_t now = ks_now_ns();
    if (now - r->alive_ns < beat_ns(r->o))
        return;
    r->alive_ns = now;
    for (uint32_t i = 1; i < ks_net_size(r->net); i++)
        (void)ks_net_send(r->net, i, KS_F_MSG_BEAT, (uint8_t[16]){ 0 }, 16, NULL);
    ks_net_progress(r->net);
}

/* Of the limit; 0 = there is none. MPI on many nodes and a long journal take their part of it. */
static uint64_t time_left_ns(const struct ks_run_options *o)
{
    uint64_t limit = (uint64_t)o->max_time_ms * 1000000u, used = ks_now_ns() - o->begun_ns;
    if (!limit)
        return 0;
    return used < limit ? limit - used : 1;
}

/* Every cell would be unsupported, and a compiler is soon installed or named. */
static int check_compilers(const struct run *r, struct ks_err *err)
{
    const struct ks_build *b = ks_rank_build(r->rank);
    const char *why = b ? ks_build_obstacle(b) : NULL;
    return why ? ks_fail(err, KS_EINVAL, "nothing can be measured: %s", why) : 0;
}

static void tell_driver(const struct run *r)
{
    const struct ks_build *b = ks_rank_build(r->rank);
    char text[256];
    if (b && ks_probe_driver_lags(r->seat.own.driver, ks_build_compiler(b), text, sizeof(text)))
        ks_logf(r->log, KS_WARN, "%s", text);
}

/* At the start and again at the end, when whoever started it looks. */
static void tell_lacking(const struct run *r, bool is_end)
{
    const struct ks_build *b = ks_rank_build(r->rank);
    struct ks_buf command;
    const char *why;
    int64_t n;
    put_resume(r, &command);
    for (uint32_t k = 0; b && (n = ks_build_lacking(b, k, &why)) >= 0; k++) {
        if (n && is_end)
            ks_logf(r->log, KS_WARN,
                    "%lld of %u instances were not built: %s; when that is fixed, measure their "
                    "cells with: %s",
                    (long long)n, r->grid.n_instances, why, ks_buf_text(&command));
        else if (n)
            ks_logf(r->log, KS_WARN,
                    "%lld of %u instances cannot be built: %s; their cells will be unsupported",
                    (long long)n, r->grid.n_instances, why);
    }
    ks_buf_release(&command);
}

/* At the end, with the command that measures contaminated cells again. */
static void tell_noise(const struct run *r)
{
    struct ks_buf command;
    put_resume(r, &command);
    ks_buf_printf(&command, " --retry contaminated");
    ks_coord_tell_noise(r->coord, ks_buf_text(&command));
    ks_buf_release(&command);
}

static int open_rank0(struct run *r, struct ks_err *err)
{
    int rc = check_compilers(r, err);
    if (rc == 0)
        rc = ks_directory_open(r->o, &r->grid, r->log, say_alive, r, &r->dir, err);
    if (rc < 0)
        return rc;
    struct ks_coord_config c = {
        .grid = &r->grid,
        .build = ks_rank_build(r->rank),
        .net = r->net,
        .journal = ks_directory_journal(r->dir),
        .ledger = ks_directory_ledger(r->dir),
        .log = r->log,
        .dir = ks_directory_path(r->dir),
        .retry = ks_directory_retry(r->dir),
        .accept_rebuild = r->o->accept_rebuild,
        .max_time_ns = time_left_ns(r->o),
        .lost_after_ns = (uint64_t)r->o->lost_after_ms * 1000000u,
        .ack_log = getenv("KSWEEP_ACK_LOG"),
    };
    tell_driver(r);
    tell_lacking(r, false);
    rc = ks_coord_create(&c, &r->coord, err);
    if (rc == 0)
        ks_show_open(&r->show, (enum ks_show_how)r->o->progress, r->log, ks_directory_path(r->dir),
                     ks_now_ns());
    return rc;
}

static void name_unused(const struct run *r)
{
    if (r->seat.map.n_unused && ks_net_local_rank(r->net) == 0)
        ks_logf(r->log, KS_WARN, "%u devices are not used, because no rank has them: %s",
                r->seat.map.n_unused, r->seat.map.unused);
}

struct arch_card {
    char host[64], pci[16], arch[64];
};

/* What a device says of itself may differ where every rank asks its own. */
static int check_archs(struct run *r, struct ks_err *err)
{
    struct arch_card mine = { .host = "" };
    void *cards = NULL;
    gethostname(mine.host, sizeof(mine.host) - 1);
    memcpy(mine.pci, r->seat.device.pci, sizeof(mine.pci));
    memcpy(mine.arch, r->grid.job.device.arch_text, sizeof(mine.arch));
    int rc = ks_net_gather(r->net, &mine, sizeof(mine), &cards, err);
    const struct arch_card *all = cards;
    for (uint32_t i = 1; all && rc == 0 && i < ks_net_size(r->net); i++)
        if (strcmp(all[i].arch, mine.arch) != 0)
            rc =
                ks_fail(err, KS_EINVAL,
                        "%s: the device at %s is %s, but that of rank 0 on %s is %s: a sweep "
                        "measures one arch, so choose it with --arch and leave out the other hosts",
                        all[i].host, all[i].pci, all[i].arch, mine.host, mine.arch);
    free(cards);
    return rc;
}

/* MPI starts, and every rank has a seat, and the device that belongs to it, or all of them leave.
 */
static int meet(struct run *r, struct ks_err *err)
{
    struct ks_seat_options o = { .domain = (enum ks_host_domain)r->o->host_domain,
                                 .oversubscribe = r->o->oversubscribe,
                                 .has_threads = ks_grid_has_threads(&r->grid) };
    struct ks_err other;
    int rc = ks_net_open(START_LOSSES * r->o->lost_after_ms, &r->card, &r->net, err);
    if (rc < 0)
        return rc;
    r->log->rank = (int)ks_net_rank(r->net);
    rc = ks_seat_take(&r->grid.job, r->net, &o, &r->seat, err);
    if (rc == 0)
        rc = ks_seat_check(&r->seat, err);
    if (rc == 0)
        rc = ks_seat_identify(&r->grid.job, r->warden, &r->seat, err);
    const int same = check_archs(r, rc == 0 ? err : &other);
    rc = ks_net_agree(r->net, rc == 0 ? same : rc, err);
    r->is_refused = rc < 0;
    if (rc == 0)
        name_unused(r);
    return rc;
}

static int open_all(struct run *r, struct ks_err *err)
{
    int rc = ks_run_load(r->o, r->warden, &r->card, &r->grid, err);
    r->is_loaded = rc == 0;
    if (rc == 0)
        rc = block_signals(&r->signal_fd, err);
    if (rc == 0)
        rc = ks_bell_open(&r->bell_fd, err);
    if (rc == 0)
        rc = meet(r, err);
    if (rc == 0)
        rc = ks_pulse_start(r->net, (uint64_t)r->o->lost_after_ms * 1000000u / PULSE_PART,
                            &r->pulse, err);
    if (rc < 0)
        return rc;
    struct ks_rank_config c = {
        .grid = &r->grid,
        .net = r->net,
        .warden = r->warden,
        .log = r->log,
        .seat = &r->seat,
        .trust_cache = r->o->trust_cache,
        .cache_dir = r->o->cache_dir,
        .lost_after_ns = (uint64_t)r->o->lost_after_ms * 1000000u,
    };
    rc = ks_rank_create(&c, &r->rank, err);
    if (rc == 0 && ks_net_rank(r->net) == 0)
        rc = guard_launcher(r, err);
    if (rc == 0 && ks_net_rank(r->net) == 0)
        rc = open_rank0(r, err);
    return rc;
}

/* The directory that a refused run would have gone on in, or has begun. Another one that is in the
 * way is not this run's. */
static void name_refused(const struct run *r, int rc, struct ks_run_result *out)
{
    if (ks_code_exit(rc) != 2)
        return;
    if (r->dir)
        snprintf(out->dir, sizeof(out->dir), "%s", ks_directory_path(r->dir));
    else if (r->is_loaded)
        ks_directory_resumed(r->o, &r->grid.job, out->dir, sizeof(out->dir));
}

static void finish(struct run *r, int rc, struct ks_run_result *out)
{
    if (r->coord)
        ks_show_close(&r->show, r->coord, ks_now_ns());
    if (r->coord && rc == 0) {
        tell_lacking(r, true);
        tell_noise(r);
        ks_directory_result(r->dir, r->coord, out);
        out->by_signal = r->by_signal;
        struct ks_err err;
        if (ks_directory_close(r->dir, &err) < 0)
            ks_logf(r->log, KS_ERROR, "%s", err.text);
    } else if (r->dir) {
        ks_directory_abandon(r->dir);
    }
    bool is_clean =
        rc == 0 && (r->coord ? !ks_coord_lost_anyone(r->coord) : ks_rank_is_clean(r->rank));
    is_clean |= r->is_refused;
    if (r->rank && rc == 0 && ks_rank_is_abandoned(r->rank)) {
        ks_logf(r->log, KS_ERROR, "no sign of life from rank 0 for %u ms: this rank exits",
                r->o->lost_after_ms);
        out->exit = 3;
    }
    const bool is_awaited = rc == 0 && r->coord;
    ks_rank_destroy(r->rank);
    ks_coord_destroy(r->coord);
    ks_directory_destroy(r->dir);
    if (is_awaited) {
        out->farewell =
            ks_farewell_hold(r->net, r->pulse, is_clean, (uint64_t)r->o->lost_after_ms * 1000000u);
    } else {
        ks_pulse_stop(r->pulse);
        out->is_clean = ks_net_close(r->net, is_clean, r->o->lost_after_ms);
    }
    ks_grid_release(&r->grid);
    if (r->signal_fd >= 0)
        close(r->signal_fd);
    if (r->bell_fd >= 0)
        close(r->bell_fd);
}

/* A rank that cannot begin, or not go on. Alone it just leaves, and says why: the others need not
 * have met the same. Where all leave, rank 0 tells; once it has begun it does so first, because the
 * others may be out of reach, and mpirun may end it while it tries to reach them. */
static void leave(struct run *r, bool is_begun, struct ks_run_result *out, const struct ks_err *err)
{
    const uint64_t patience = (uint64_t)r->o->lost_after_ms * 1000000u;
    char host[64] = "";
    if (r->net && ks_net_rank(r->net) == 0) {
        const bool is_anyone_lost = r->coord && ks_coord_lost_anyone(r->coord);
        if (is_begun)
            ks_logf(r->log, KS_ERROR, "%s", err->text);
        out->is_told = is_begun;
        r->is_refused =
            ks_farewell_send(r->net, is_anyone_lost, is_anyone_lost ? FLUSH_NS : patience);
        return;
    }
    if (r->net && !is_begun)
        r->is_refused = ks_farewell_await(r->net, patience < VERDICT_NS ? patience : VERDICT_NS);
    if (r->is_refused || (!r->net && !ks_launch_is_first_elsewhere()))
        return;
    gethostname(host, sizeof(host) - 1);
    ks_logf(r->log, KS_ERROR, "%s: %s; this rank exits", host, err->text);
}

int ks_run(const struct ks_run_options *o, struct ks_warden *warden, struct ks_log *log,
           struct ks_run_result *out, struct ks_err *err)
{
    struct run r = { .o = o, .log = log, .warden = warden, .signal_fd = -1, .bell_fd = -1 };
    *out = (struct ks_run_result){ 0 };
    int rc = open_all(&r, err);
    const bool is_begun = rc == 0;
    if (rc == 0) {
        ks_parent_link_ready(o->parent_fd);
        rc = loop(&r, err);
    }
    out->rank = r.net ? ks_net_rank(r.net) : (uint32_t)log->rank;
    if (rc < 0 && !r.is_refused)
        leave(&r, is_begun, out, err);
    if (rc < 0 && out->rank == 0)
        name_refused(&r, rc, out);
    finish(&r, rc, out);
    return rc;
}

#ifdef KSWEEP_COVERAGE
void __gcov_dump(void);
#endif

void ks_run_leave(void)
{
    fflush(NULL);
#ifdef KSWEEP_COVERAGE
    __gcov_dump();
#endif
    _exit(0);
}
