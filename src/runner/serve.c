/* SPDX-License-Identifier: MIT */
/* serve.c - requests in, frames out. */
#include "base/clock.h"
#include "base/file.h"
#include "record/frame.h"
#include "runner/runner.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define S_NS     1000000000ull
#define EXTRA_NS (60 * S_NS) /* beyond the program's own deadline: to end it and report */

static void enter(struct ks_runner *r, enum ks_phase phase, uint64_t deadline_ns)
{
    atomic_store(&r->status->deadline_ns, deadline_ns);
    atomic_store(&r->status->is_measuring, phase == KS_PH_TIMING ? 1u : 0u);
    atomic_store(&r->status->phase, (uint32_t)phase);
}

int ks_runner_send(struct ks_runner *r, uint16_t type, struct ks_err *err)
{
    ks_buf_clear(&r->frame);
    if (ks_buf_ok(&r->body))
        ks_frame_put(&r->frame, type, r->body.data, r->body.len);
    if (!ks_buf_ok(&r->body) || !ks_buf_ok(&r->frame))
        return ks_fail(err, KS_ENOMEM, "out of memory");
    return ks_write_all(r->fd_out, r->frame.data, r->frame.len, err);
}

static int send_done(struct ks_runner *r, struct ks_err *err)
{
    struct ks_record *d = &r->done;

    d->mpi_rank = r->setup.rank;
    d->device_id = r->setup.device_id;
    d->worker = r->setup.nonce;
    d->seq = ++r->seq;
    d->pid = (int32_t)getpid();
    d->cpu = sched_getcpu();
    ks_buf_clear(&r->body);
    ks_record_encode(d, &r->body);
    return ks_runner_send(r, KS_F_DONE, err);
}

static int on_setup(struct ks_runner *r, const struct ks_frame *f, struct ks_err *err)
{
    struct ks_ready ready = { .pid = (int32_t)getpid(), .cpu = sched_getcpu() };
    int rc = ks_req_setup_decode(f->body, f->n, &r->setup, err);

    if (rc < 0)
        return rc;
    r->is_set_up = true;
    ready.nonce = r->setup.nonce;
    ks_buf_clear(&r->body);
    ks_ready_encode(&ready, &r->body);
    rc = ks_runner_send(r, KS_F_READY, err);
    enter(r, KS_PH_IDLE, 0);
    return rc;
}

static int on_problem(struct ks_runner *r, const struct ks_frame *f, struct ks_err *err)
{
    struct ks_req_problem req;
    int rc = ks_req_problem_decode(f->body, f->n, &req, err);

    if (rc == 0)
        rc = ks_problem_parse(req.canonical, &r->problem, err);
    r->has_problem = rc == 0;
    return rc;
}

static int on_program(struct ks_runner *r, const struct ks_frame *f, struct ks_err *err)
{
    const struct ks_profiler *adapter = NULL;
    int rc = ks_req_program_decode(f->body, f->n, &r->program, err);

    ks_profiler_setup_destroy(r->profiler);
    r->profiler = NULL;
    if (rc == 0)
        rc = ks_profiler_find(r->program.adapter, &adapter, err);
    return rc < 0 ? rc : ks_profiler_setup_parse(adapter, r->program.options, &r->profiler, err);
}

static int on_cell(struct ks_runner *r, const struct ks_frame *f, struct ks_err *err)
{
    struct ks_record *d = &r->done;
    struct ks_req_cell req;
    int rc = ks_req_cell_decode(f->body, f->n, &req, err);

    if (rc < 0)
        return rc;
    if (!r->is_set_up || !r->has_problem || !r->profiler || req.cell.problem != r->problem.id)
        return ks_fail(err, KS_EPROTO, "cell request before its problem or program");
    ks_record_init(d);
    d->cell = req.cell;
    d->attempt = req.attempt;
    d->round_index = req.round;
    d->role = req.role;
    d->position = req.position;
    d->block_id = req.block_id;
    d->lease_id = req.lease_id;
    d->started_ns = ks_realtime_ns();
    atomic_store(&r->status->i_cell, req.i_cell);
    enter(r, KS_PH_TIMING, ks_now_ns() + r->program.timeout_s * S_NS + EXTRA_NS);
    rc = ks_runner_run(r, &req, err);
    enter(r, KS_PH_REPORT, ks_now_ns() + EXTRA_NS);
    d->phase = KS_PH_TIMING;
    if (rc == 0)
        rc = send_done(r, err);
    atomic_fetch_add(&r->status->n_done, 1u);
    enter(r, KS_PH_IDLE, 0);
    atomic_store(&r->status->i_cell, UINT64_MAX);
    return rc;
}

/* There is nothing of ours to check on a device that only the program uses. */
static int on_canary(struct ks_runner *r, struct ks_err *err)
{
    ks_record_init(&r->done);
    r->done.role = KS_ROLE_CANARY;
    r->done.attempt = 1;
    r->done.outcome = KS_O_OK;
    r->done.started_ns = ks_realtime_ns();
    return send_done(r, err);
}

static int on_frame(struct ks_runner *r, const struct ks_frame *f, bool *is_over,
                    struct ks_err *err)
{
    switch (f->type) {
    case KS_F_REQ_SETUP:
        return on_setup(r, f, err);
    case KS_F_REQ_PROBLEM:
        return on_problem(r, f, err);
    case KS_F_REQ_PROGRAM:
        return on_program(r, f, err);
    case KS_F_REQ_CELL:
        return on_cell(r, f, err);
    case KS_F_REQ_CANARY:
        return on_canary(r, err);
    case KS_F_REQ_END:
        *is_over = true;
        return 0;
    default:
        return ks_fail(err, KS_EPROTO, "unexpected frame type %u on the request pipe", f->type);
    }
}

static int take_all(struct ks_runner *r, struct ks_frame_reader *in, bool *is_over,
                    struct ks_err *err)
{
    struct ks_frame f;
    int rc = 0;

    while (rc == 0 && !*is_over && ks_frame_next(in, &f) == 1)
        rc = on_frame(r, &f, is_over, err);
    return rc;
}

static int serve(struct ks_runner *r, int fd_in, struct ks_err *err)
{
    struct ks_frame_reader in;
    uint8_t bytes[16384];
    bool is_over = false;
    int rc = 0;

    ks_frame_reader_init(&in);
    while (rc == 0 && !is_over) {
        const ssize_t n = read(fd_in, bytes, sizeof bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        rc = ks_frame_feed(&in, bytes, (size_t)n, err);
        if (rc == 0)
            rc = take_all(r, &in, &is_over, err);
        if (rc == 0 && in.n_damaged_places)
            rc = ks_fail(err, KS_EPROTO, "damaged data on the request pipe");
    }
    ks_frame_reader_release(&in);
    return rc;
}

static int exit_of(int rc)
{
    if (rc == 0)
        return KS_WORKER_EXIT_OK;
    return rc == KS_EIO ? KS_WORKER_EXIT_PIPE : KS_WORKER_EXIT_PROTOCOL;
}

int ks_runner_serve(int fd_in, int fd_out, int fd_status, struct ks_err *err)
{
    struct ks_runner *r = calloc(1, sizeof *r);
    void *page = mmap(NULL, sizeof *r->status, PROT_READ | PROT_WRITE, MAP_SHARED, fd_status, 0);
    int rc;

    if (!r || page == MAP_FAILED) {
        free(r);
        ks_fail(err, KS_EIO, "no requests on descriptor 3: this program is started by ksweep");
        return KS_WORKER_EXIT_SETUP;
    }
    r->fd_out = fd_out;
    r->status = page;
    ks_buf_init(&r->body);
    ks_buf_init(&r->frame);
    rc = serve(r, fd_in, err);
    ks_profiler_setup_destroy(r->profiler);
    ks_buf_release(&r->body);
    ks_buf_release(&r->frame);
    (void)munmap(page, sizeof *r->status);
    free(r);
    return exit_of(rc);
}
