/* SPDX-License-Identifier: MIT */
/* serve.c - requests in, records out. */
#include "base/backend.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "record/frame.h"
#include "worker/cage.h"
#include "worker/leave.h"
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CANARY_RUNS 5
#define EXIT_NS     30000000000ull /* for destructors of kernels when the worker ends */
#define SETUP_NS    60000000000ull
#define DRAIN_NS    500000000ull /* for what a kernel printed to reach the warden */
#define SETTLE_NS   200000ull
#define CHUNK       16384u
/* Of requests in memory: never moved, since it holds all of a chunk, what was there before it and a
 * frame that is not whole (ks_frame_erase). */
#define READER_BYTES (4 * CHUNK)

void ks_worker_enter(struct ks_worker *w, enum ks_phase phase, uint64_t deadline_ns)
{
    struct ks_status *s = w->status;

    /* A stale deadline must not kill the new phase, nor a missing one let it hang. */
    atomic_store_explicit(&s->deadline_ns, deadline_ns, memory_order_release);
    atomic_store_explicit(&s->phase, (uint32_t)phase, memory_order_release);
}

/* Send the frame in w->body; a worker that cannot report has no reason to live. */
static void send_frame(struct ks_worker *w, uint16_t type)
{
    ks_buf_clear(&w->frame);
    ks_frame_put(&w->frame, type, w->body.data, w->body.len);
    if (!ks_buf_ok(&w->body) || !ks_buf_ok(&w->frame) ||
        ks_write_all(w->fd_out, w->frame.data, w->frame.len, NULL) < 0) {
        atomic_store(&w->status->pipe_broken, 1u);
        ks_worker_leave(KS_WORKER_EXIT_PIPE);
    }
}

/* Bytes printed since the last record. They are with the warden before the record goes out, so that
 * they can be told from those of the next cell. A drain that takes longer is not waited for. */
static uint64_t take_printed(struct ks_worker *w)
{
    uint64_t until = ks_now_ns() + DRAIN_NS, from = w->printed, seen;
    int n = 0;

    while (ioctl(STDOUT_FILENO, FIONREAD, &n) == 0 && n > 0 && ks_now_ns() < until)
        ks_sleep_ns(SETTLE_NS);
    do { /* it may have read them, but not counted them yet */
        seen = atomic_load(&w->status->ring_bytes);
        if (seen != w->printed)
            ks_sleep_ns(SETTLE_NS);
        w->printed = seen;
    } while (seen != atomic_load(&w->status->ring_bytes) && ks_now_ns() < until);
    return seen > from ? seen - from : 0;
}

static void send_record(struct ks_worker *w)
{
    struct ks_record *r = &w->rec;

    ks_worker_enter(w, KS_PH_REPORT, 0);
    r->n_printed = take_printed(w);
    r->mpi_rank = w->setup.rank;
    r->device_id = w->setup.device_id;
    r->worker = w->setup.nonce;
    r->seq = ++w->seq;
    r->pid = (int32_t)getpid();
    r->cpu = sched_getcpu();
    ks_buf_clear(&w->body);
    ks_record_encode(r, &w->body);
    send_frame(w, KS_F_DONE);
}

/* Idle baseline of the canary loop: the shortest of a few, none of them disturbed by a kernel. */
static int measure_canary(struct ks_worker *w, struct ks_err *err)
{
    double best = w->setup.canary_baseline_ns;
    int rc = 0;

    for (int i = 0; rc == 0 && w->setup.canary_baseline_ns <= 0 && i < CANARY_RUNS; i++) {
        double ns = 0.0;

        rc = w->dev->ops->canary(w->dev, &ns, err);
        best = i == 0 || ns < best ? ns : best;
    }
    w->canary_ns = best;
    return rc;
}

/* The warden asked for it before exec; whether it may be had is seen here. */
static uint64_t bound_nodes(void)
{
    unsigned long nodes[16] = { 0 };
    int policy = 0;

    if (syscall(SYS_get_mempolicy, &policy, nodes, sizeof(nodes) * 8, NULL, 0ul) < 0)
        return 0;
    return policy == MPOL_BIND ? nodes[0] : 0;
}

static int open_device(struct ks_worker *w, struct ks_err *err)
{
    const struct ks_device_ops *ops = ks_device_find(w->setup.backend);
    int rc;

    w->memory_nodes = bound_nodes();
    if (ops == NULL)
        return ks_fail(err, KS_ENODEVICE, "unknown device backend '%s'", w->setup.backend);
    rc = ops->open(w->setup.device, &w->dev, err);
    if (rc == 0)
        rc = ops->props(w->dev, &w->props, err);
    if (rc == 0)
        rc = measure_canary(w, err);
    w->limits = w->setup.limits;
    if (rc == 0 && w->limits.flops_per_s <= 0)
        w->dev->ops->limits(w->dev, &w->limits);
    w->artefacts.dev = w->dev;
    return rc;
}

/* A vendor's runtime opens sockets and files of its own. */
static bool is_gpu(const struct ks_worker *w)
{
    const struct ks_backend *b = ks_backend_find(w->setup.backend);

    return b && ks_backend_is(b, KS_BACKEND_GPU);
}

static void send_ready(struct ks_worker *w)
{
    struct ks_ready ready = { .nonce = w->setup.nonce,
                              .pid = (int32_t)getpid(),
                              .cpu = sched_getcpu(),
                              .clock_ns = w->props.clock_ns,
                              .canary_ns = w->canary_ns,
                              .memory_nodes = w->memory_nodes,
                              .limits = w->limits };

    snprintf(ready.device, sizeof(ready.device), "%.*s", (int)sizeof(ready.device) - 1,
             w->props.unique);
    snprintf(ready.locator, sizeof(ready.locator), "%s", w->props.locator);
    ks_buf_clear(&w->body);
    ks_ready_encode(&ready, &w->body);
    send_frame(w, KS_F_READY);
}

static int on_setup(struct ks_worker *w, const struct ks_frame *f, struct ks_err *err)
{
    int rc = ks_req_setup_decode(f->body, f->n, &w->setup, err);

    if (rc < 0)
        return rc;
    if (w->is_set_up)
        return ks_fail(err, KS_EPROTO, "duplicate set-up request");
    ks_worker_enter(w, KS_PH_SETUP, ks_now_ns() + SETUP_NS);
    rc = open_device(w, err);
    if (rc == 0 && is_gpu(w))
        w->cage.list = KS_CAGE_GPU;
    /* After the device, whose runtime may need what the filter denies; before the first kernel. */
    if (rc == 0)
        rc = ks_cage_close(&w->cage, err);
    if (rc == KS_EUNSUPPORTED && ks_process_is_bare())
        rc = 0;
    if (rc < 0)
        return rc;
    if (!is_gpu(w))
        ks_remains_note(&w->remains);
    w->is_set_up = true;
    send_ready(w);
    ks_worker_enter(w, KS_PH_IDLE, 0);
    return 0;
}

/* It is the worker's own word and no cell's. */
static void say_who_verifies(struct ks_worker *w)
{
    char text[256];

    if (w->no_judge[0] == '\0' || w->has_said_so)
        return;
    snprintf(text, sizeof(text), "the host verifies the device's results: %s", w->no_judge);
    w->say(text);
    w->has_said_so = true;
    (void)take_printed(w);
}

static int on_problem(struct ks_worker *w, const struct ks_frame *f, struct ks_err *err)
{
    struct ks_req_problem req;
    int rc = ks_req_problem_decode(f->body, f->n, &req, err);

    if (rc == 0)
        rc = ks_worker_prepare(w, &req, err);
    ks_vault_scrub(); /* decoding left copies of the key */
    if (rc == 0)
        say_who_verifies(w);
    return rc;
}

static int on_cell(struct ks_worker *w, const struct ks_frame *f, struct ks_err *err)
{
    struct ks_req_cell req;
    int rc = ks_req_cell_decode(f->body, f->n, &req, err);

    if (rc < 0)
        return rc;
    if (!w->has_problem || req.cell.problem != w->set.problem.id)
        return ks_fail(err, KS_EPROTO, "cell of problem %016llx, which is not the current one",
                       (unsigned long long)req.cell.problem);
    ks_worker_cell(w, &req);
    send_record(w);
    atomic_fetch_add(&w->status->n_done, 1u);
    ks_worker_enter(w, KS_PH_IDLE, 0);
    atomic_store(&w->status->i_cell, UINT64_MAX);
    if (w->has_left)
        return ks_fail(err, KS_EINTR, "a kernel left threads or timers behind");
    return w->is_lost ? ks_fail(err, KS_EDEVLOST, "%s", w->rec.reason) : 0;
}

static int on_canary(struct ks_worker *w, const struct ks_frame *f, struct ks_err *err)
{
    uint64_t from = ks_now_ns();
    struct ks_record *r = &w->rec;
    struct ks_err cause = { 0 };
    double ns = 0.0;
    int rc;

    (void)f;
    (void)err;
    ks_worker_enter(w, KS_PH_CANARY, from + SETUP_NS);
    ks_record_init(r);
    r->role = KS_ROLE_CANARY;
    r->attempt = 1;
    r->started_ns = ks_realtime_ns();
    rc = w->dev->ops->self_test(w->dev, &cause);
    if (rc == 0)
        rc = w->dev->ops->canary(w->dev, &ns, &cause);
    if (rc == 0 && w->canary_ns > 0)
        r->canary_ratio = ns / w->canary_ns;
    r->outcome = rc == 0 ? KS_O_OK : KS_O_DEVICE_LOST;
    if (rc < 0)
        snprintf(r->reason, sizeof(r->reason), "%.*s", (int)sizeof(r->reason) - 1, cause.text);
    r->phase = rc < 0 ? KS_PH_CANARY : KS_PH_IDLE;
    r->wall_ns = ks_now_ns() - from;
    send_record(w);
    ks_worker_enter(w, KS_PH_IDLE, 0);
    return 0;
}

static const struct request {
    uint16_t type;
    bool needs_setup;
    int (*serve)(struct ks_worker *w, const struct ks_frame *f, struct ks_err *err);
} requests[] = {
    { KS_F_REQ_SETUP, false, on_setup },
    { KS_F_REQ_PROBLEM, true, on_problem },
    { KS_F_REQ_CELL, true, on_cell },
    { KS_F_REQ_CANARY, true, on_canary },
};

static int serve_one(struct ks_worker *w, const struct ks_frame *f, struct ks_err *err)
{
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        if (requests[i].type != f->type)
            continue;
        if (requests[i].needs_setup && !w->is_set_up)
            return ks_fail(err, KS_EPROTO, "request '%s' before the set-up",
                           ks_frame_type_name(f->type));
        return requests[i].serve(w, f, err);
    }
    return ks_fail(err, KS_EPROTO, "unexpected frame type %u on the request pipe", f->type);
}

/* More bytes of the request pipe: 1, 0 at its end. */
static int read_more(struct ks_worker *w, struct ks_frame_reader *in, struct ks_err *err)
{
    char chunk[CHUNK];
    ssize_t n;
    int rc;

    do {
        n = read(w->fd_in, chunk, sizeof(chunk));
    } while (n < 0 && errno == EINTR);
    if (n < 0) { /* a kernel closed the descriptor */
        atomic_store(&w->status->pipe_broken, 1u);
        return ks_fail_errno(err, "reading requests");
    }
    if (n == 0)
        return 0;
    rc = ks_frame_feed(in, chunk, (size_t)n, err);
    explicit_bzero(chunk, sizeof(chunk));
    return rc < 0 ? rc : 1;
}

/* Until END (0), the pipe's end (0) or a failure. */
static int serve_all(struct ks_worker *w, struct ks_frame_reader *in, struct ks_err *err)
{
    struct ks_frame f;
    int rc = 1;

    while (rc > 0) {
        while (ks_frame_next(in, &f) > 0) {
            if (f.type == KS_F_REQ_END)
                return 0;
            rc = serve_one(w, &f, err);
            if (f.type == KS_F_REQ_PROBLEM) /* it has a key */
                ks_frame_erase(in, &f);
            if (rc < 0)
                return rc;
        }
        if (in->n_damaged_places > 0)
            return ks_fail(err, KS_EPROTO, "damaged request at byte %llu",
                           (unsigned long long)in->damage_offset);
        rc = read_more(w, in, err);
    }
    if (rc == 0 && ks_frame_left(in) > 0)
        return ks_fail(err, KS_EPROTO, "the request pipe ended inside a frame");
    return rc;
}

static struct ks_status *map_status(int fd, struct ks_err *err)
{
    struct ks_status *s;
    struct stat st;

    if (fstat(fd, &st) < 0) {
        ks_fail_errno(err, "status page, descriptor %d", fd);
        return NULL;
    }
    if ((size_t)st.st_size < sizeof(*s)) {
        ks_fail(err, KS_EPROTO, "the status page has %lld bytes, not %zu", (long long)st.st_size,
                sizeof(*s));
        return NULL;
    }
    s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s == MAP_FAILED) {
        ks_fail_errno(err, "mapping the status page");
        return NULL;
    }
    s->magic = KS_STATUS_MAGIC;
    s->version = 1;
    atomic_store(&s->i_cell, UINT64_MAX);
    atomic_store(&s->denied_call, -1);
    return s;
}

static int exit_status(const struct ks_worker *w, int rc)
{
    if (rc == 0)
        return KS_WORKER_EXIT_OK;
    if (atomic_load(&w->status->pipe_broken) != 0)
        return KS_WORKER_EXIT_PIPE;
    if (rc == KS_EDEVLOST)
        return KS_WORKER_EXIT_DEVICE;
    if (w->has_left)
        return KS_WORKER_EXIT_REMAINS;
    return rc == KS_EPROTO || rc == KS_EFORMAT ? KS_WORKER_EXIT_PROTOCOL : KS_WORKER_EXIT_SETUP;
}

static void close_worker(struct ks_worker *w)
{
    ks_worker_drop_problem(w);
    if (w->dev != NULL) {
        ks_artefacts_release(&w->artefacts);
        w->dev->ops->close(w->dev);
    }
    ks_buf_release(&w->body);
    ks_buf_release(&w->frame);
    ks_vault_close(&w->vault);
    free(w);
}

int ks_worker_serve(int fd_in, int fd_out, int fd_status, int fd_reference,
                    void (*say)(const char *text), struct ks_err *err)
{
    struct ks_status *status = map_status(fd_status, err);
    struct ks_frame_reader in;
    struct ks_worker *w;
    int rc, exit;

    if (status == NULL)
        return KS_WORKER_EXIT_SETUP;
    w = calloc(1, sizeof(*w));
    if (w == NULL) {
        ks_fail(err, KS_ENOMEM, "out of memory for the state of the worker");
        return KS_WORKER_EXIT_SETUP;
    }
    w->fd_in = fd_in;
    w->fd_out = fd_out;
    w->fd_reference = fcntl(fd_reference, F_GET_SEALS) < 0 ? -1 : fd_reference; /* not a memfd */
    w->status = status;
    w->say = say;
    ks_frame_reader_init(&in);
    rc = ks_buf_reserve(&in.in, READER_BYTES)
             ? 0
             : ks_fail(err, KS_ENOMEM, "out of memory reading requests");
    if (rc == 0)
        rc = ks_vault_open(&w->vault, err);
    if (rc == 0)
        rc = ks_cage_open(&w->cage, status, err);
    if (rc == 0)
        rc = serve_all(w, &in, err);
    ks_worker_enter(w, KS_PH_EXIT, ks_now_ns() + EXIT_NS);
    ks_frame_reader_release(&in);
    exit = exit_status(w, rc);
    /* A lost device's runtime might wait for ever; threads that are left run what would be
     * unloaded.
     */
    if (exit != KS_WORKER_EXIT_DEVICE && exit != KS_WORKER_EXIT_REMAINS)
        close_worker(w);
    return exit;
}
