/* SPDX-License-Identifier: MIT */
/* dispatch_worker.c - the worker of the bench `dispatch`: answers every cell, measures nothing */
/* It speaks the protocol of record/request.h and answers every cell with a record of 30 samples.
 * The job's device.arch says how long a cell takes: "us=N"; with 0 the answers go out in large
 * writes. */
#include "base/clock.h"
#include "base/file.h"
#include "record/frame.h"
#include "record/request.h"
#include "record/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SAMPLES = 30, WRITE_BYTES = 1 << 16 };

struct dispatch {
    struct ks_status *status;
    struct ks_record r;
    struct ks_buf body, out;
    uint64_t cell_us, seq, due_ns;
    uint64_t n_waiting; /* records in `out` */
};

static void flush_records(struct dispatch *d)
{
    if (ks_write_all(KS_FD_RECORD, d->out.data, d->out.len, NULL) < 0)
        _exit(KS_WORKER_EXIT_PIPE);
    atomic_fetch_add(&d->status->n_done, d->n_waiting);
    d->n_waiting = 0;
    ks_buf_clear(&d->out);
}

static int on_setup(struct dispatch *d, const struct ks_frame *f, struct ks_err *err)
{
    struct ks_req_setup s;
    int rc = ks_req_setup_decode(f->body, f->n, &s, err);
    const char *us = rc < 0 ? NULL : strstr(s.device, "us=");

    if (rc < 0)
        return rc;
    ks_record_init(&d->r);
    d->cell_us = us ? strtoull(us + 3, NULL, 10) : 0;
    d->r.worker = s.nonce;
    d->r.mpi_rank = s.rank;
    d->r.device_id = s.device_id;
    d->r.pid = (int32_t)getpid();
    d->r.outcome = KS_O_OK;
    d->r.calls_per_sample = 1;
    d->r.n_samples = SAMPLES;
    d->r.clock_resolution_ns = 20;
    for (int i = 0; i < SAMPLES; i++)
        d->r.sample_ns[i] = 50000 + 7 * i;
    d->r.exact_check = d->r.tolerance_check = 1;
    d->r.n_elements = 4096;
    d->due_ns = ks_now_ns();
    return 0;
}

/* A cell begins when the one before it has ended, or when it was asked for. */
static void take_time(struct dispatch *d)
{
    uint64_t now = ks_now_ns();

    if (!d->cell_us)
        return;
    d->due_ns = (d->due_ns > now ? d->due_ns : now) + d->cell_us * 1000;
    while (ks_now_ns() < d->due_ns)
        ks_sleep_ns(d->due_ns - ks_now_ns());
}

static int on_cell(struct dispatch *d, const struct ks_frame *f, struct ks_err *err)
{
    struct ks_req_cell q;
    struct ks_record *r = &d->r;
    int rc = ks_req_cell_decode(f->body, f->n, &q, err);

    if (rc < 0)
        return rc;
    r->started_ns = ks_realtime_ns();
    take_time(d);
    r->cell = q.cell;
    r->attempt = q.attempt;
    r->round_index = q.round;
    r->role = q.role;
    r->position = q.position;
    r->lease_id = q.lease_id;
    r->block_id = q.block_id;
    r->seq = ++d->seq;
    r->wall_ns = r->span_ns = r->timing_ns = r->cpu_ns = d->cell_us * 1000 + 1000;
    ks_buf_clear(&d->body);
    ks_record_encode(r, &d->body);
    ks_frame_put(&d->out, KS_F_DONE, d->body.data, d->body.len);
    d->n_waiting++;
    if (d->cell_us || d->out.len >= WRITE_BYTES)
        flush_records(d);
    return ks_buf_ok(&d->out) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
}

/* 1 go on, 0 the end. */
static int serve(struct dispatch *d, const struct ks_frame *f, struct ks_err *err)
{
    int rc = f->type == KS_F_REQ_SETUP  ? on_setup(d, f, err)
             : f->type == KS_F_REQ_CELL ? on_cell(d, f, err)
                                        : 0;
    return rc < 0 ? rc : f->type != KS_F_REQ_END;
}

static int serve_all(struct dispatch *d, struct ks_err *err)
{
    static char bytes[WRITE_BYTES];
    struct ks_frame_reader in;
    struct ks_frame f;
    int rc = 1;

    ks_frame_reader_init(&in);
    while (rc > 0) {
        ssize_t n = read(KS_FD_REQUEST, bytes, sizeof(bytes));

        if (n <= 0)
            break;
        rc = ks_frame_feed(&in, bytes, (size_t)n, err) < 0 ? -1 : 1;
        while (rc > 0 && ks_frame_next(&in, &f) == 1)
            rc = serve(d, &f, err);
        if (d->out.len)
            flush_records(d);
    }
    ks_frame_reader_release(&in);
    return rc;
}

int main(void)
{
    static struct dispatch d;
    struct ks_err err;

    d.status = mmap(NULL, sizeof(*d.status), PROT_READ | PROT_WRITE, MAP_SHARED, KS_FD_STATUS, 0);
    if (d.status == MAP_FAILED)
        return KS_WORKER_EXIT_SETUP;
    atomic_store(&d.status->deadline_ns, 0);
    atomic_store(&d.status->i_cell, UINT64_MAX);
    ks_buf_init(&d.body);
    ks_buf_init(&d.out);
    return serve_all(&d, &err) < 0 ? KS_WORKER_EXIT_PROTOCOL : KS_WORKER_EXIT_OK;
}
