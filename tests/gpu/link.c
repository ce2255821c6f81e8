/* SPDX-License-Identifier: MIT */
/* link.c - one ksweep-worker of ksweep-gpu: started, asked over pipes, read without waiting */
#include "tests/gpu/link.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIPE_BYTES     (1 << 20)
#define CELL_BYTES     2048u /* of a request, at most: a path, an entry's name and numbers */
#define CELLS_MIN      32u   /* where the kernel does not tell a pipe's size: 64 KiB */
#define SETUP_LIMIT_NS 120000000000ull

int link_references(int *fd_out, struct ks_err *err)
{
    int fd = memfd_create("ksweep-reference", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return ks_fail_errno(err, "memory for references");
    if (fcntl(fd, F_ADD_SEALS, 0) < 0) /* each worker makes its own */
        ks_fd_close(&fd);
    *fd_out = fd;
    return 0;
}

void link_drop_references(int *fd)
{
    ks_fd_close(fd);
}

static bool is_sealed(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0;
}

static int make_status(struct link *l, struct ks_err *err)
{
    void *p;

    l->status_fd = memfd_create("ksweep-status", MFD_CLOEXEC);
    if (l->status_fd < 0 || ftruncate(l->status_fd, sizeof(*l->status)) < 0)
        return ks_fail_errno(err, "status page");
    p = mmap(NULL, sizeof(*l->status), PROT_READ | PROT_WRITE, MAP_SHARED, l->status_fd, 0);
    if (p == MAP_FAILED)
        return ks_fail_errno(err, "status page");
    l->status = p;
    l->status->magic = KS_STATUS_MAGIC;
    l->status->version = 1;
    l->status->i_cell = UINT64_MAX;
    l->status->denied_call = -1;
    l->status->deadline_ns = ks_now_ns() + SETUP_LIMIT_NS;
    return 0;
}

static int send_frame(struct link *l, uint16_t type, const struct ks_buf *body, struct ks_err *err)
{
    ks_buf_clear(&l->out);
    ks_frame_put(&l->out, type, body != NULL ? body->data : NULL, body != NULL ? body->len : 0);
    if (!ks_buf_ok(&l->out) || (body != NULL && !ks_buf_ok(body)))
        return ks_fail(err, KS_ENOMEM, "a request");
    if (ks_write_all(l->to, l->out.data, l->out.len, NULL) < 0 && errno != EPIPE)
        return ks_fail_errno(err, "a request"); /* a dead worker shows when its end is reported */
    return 0;
}

static int send_setup(struct link *l, const char *backend, const struct ks_measure *m,
                      struct ks_err *err)
{
    struct ks_req_setup s = { .nonce = l->nonce, .measure = *m };
    struct ks_buf body = { 0 };
    int rc;

    snprintf(s.backend, sizeof(s.backend), "%s", backend);
    ks_req_setup_encode(&s, &body);
    rc = send_frame(l, KS_F_REQ_SETUP, &body, err);
    ks_buf_release(&body);
    return rc;
}

static int spawn(struct link *l, const char *program, const int request[2], const int record[2],
                 int reference_fd, struct ks_err *err)
{
    const char *argv[] = { program, NULL };
    struct ks_spawn what = { .argv = argv,
                             .fds = { request[0], record[1], l->status_fd, reference_fd },
                             .status_fd = l->status_fd };
    int rc = ks_warden_spawn(l->warden, &what, &l->child, err);

    l->is_alive = rc == 0;
    return rc;
}

static uint32_t cells_of_pipe(int bytes)
{
    return bytes > 0 ? (uint32_t)bytes / CELL_BYTES : CELLS_MIN;
}

int link_start(struct link *l, struct ks_warden *warden, const char *program, const char *backend,
               const struct ks_measure *m, int reference_fd, struct ks_err *err)
{
    int request[2] = { -1, -1 }, record[2] = { -1, -1 }, rc;

    *l = (struct link){ .warden = warden, .to = -1, .from = -1, .status_fd = -1 };
    l->nonce = ks_id128_random();
    l->references = reference_fd < 0 ? 0 : is_sealed(reference_fd) ? 2 : 1;
    ks_buf_init(&l->out);
    ks_frame_reader_init(&l->in);
    rc = make_status(l, err);
    if (rc == 0 && (pipe2(request, O_CLOEXEC) < 0 || pipe2(record, O_CLOEXEC) < 0))
        rc = ks_fail_errno(err, "pipes of a worker");
    l->to = request[1];
    l->from = record[0];
    if (rc == 0)
        rc = spawn(l, program, request, record, reference_fd, err);
    ks_fd_close(&request[0]);
    ks_fd_close(&record[1]);
    if (rc == 0) {
        l->n_cells_max = cells_of_pipe(fcntl(l->to, F_SETPIPE_SZ, PIPE_BYTES));
        (void)fcntl(l->from, F_SETFL, O_NONBLOCK);
        rc = send_setup(l, backend, m, err);
    }
    if (rc < 0)
        link_release(l);
    return rc;
}

int link_problem(struct link *l, const struct ks_problem *p, const struct ks_artefact *judge,
                 struct ks_id128 key, struct ks_err *err)
{
    struct ks_req_problem req = { .problem = p->id, .references = l->references, .key = key };
    struct ks_buf text = { 0 }, body = { 0 };
    int rc;

    if (judge != NULL) {
        memcpy(req.judge_digest, judge->digest, sizeof(req.judge_digest));
        snprintf(req.judge_artefact, sizeof(req.judge_artefact), "%s", judge->path);
        snprintf(req.judge_entry, sizeof(req.judge_entry), "%s", judge->entry);
    }
    ks_problem_canonical(p, &text);
    snprintf(req.canonical, sizeof(req.canonical), "%s", ks_buf_text(&text));
    ks_req_problem_encode(&req, &body);
    rc = send_frame(l, KS_F_REQ_PROBLEM, &body, err);
    ks_buf_release(&text);
    ks_buf_release(&body);
    return rc;
}

int link_cell(struct link *l, const struct ks_req_cell *req, struct ks_err *err)
{
    struct ks_buf body = { 0 };
    int rc;

    ks_req_cell_encode(req, &body);
    rc = send_frame(l, KS_F_REQ_CELL, &body, err);
    ks_buf_release(&body);
    return rc;
}

int link_finish(struct link *l, struct ks_err *err)
{
    return send_frame(l, KS_F_REQ_END, NULL, err);
}

int link_read(struct link *l, struct ks_err *err)
{
    uint8_t bytes[65536];

    for (;;) {
        ssize_t n = read(l->from, bytes, sizeof(bytes));
        int rc;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 1;
        if (n < 0)
            return ks_fail_errno(err, "records");
        if (n == 0)
            return 0;
        rc = ks_frame_feed(&l->in, bytes, (size_t)n, err);
        if (rc < 0)
            return rc;
    }
}

void link_release(struct link *l)
{
    if (l->is_alive)
        (void)ks_warden_kill(l->warden, l->child, NULL);
    ks_fd_close(&l->to);
    ks_fd_close(&l->from);
    ks_fd_close(&l->status_fd);
    if (l->status != NULL)
        munmap(l->status, sizeof(*l->status));
    ks_buf_release(&l->out);
    ks_frame_reader_release(&l->in);
    *l = (struct link){ .to = -1, .from = -1, .status_fd = -1 };
}
