/* SPDX-License-Identifier: MIT */
/* worker_child.c - the other end of ksweep-worker's pipes, for tests */
#include "tests/unit/worker_child.h"

#include "base/clock.h"
#include "base/file.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_MS 30000

static int high(int fd)
{
    int dup_fd = fcntl(fd, F_DUPFD_CLOEXEC, 20);

    assert_true(dup_fd >= 20);
    close(fd);
    return dup_fd;
}

static void spawn_worker(struct child *c, int fd_in, int fd_out, int fd_status, int fd_reference)
{
    static const char path[] = KS_BINARY_DIR "/bin/ksweep-worker";
    const char *argv[] = { path, NULL };
    posix_spawn_file_actions_t fa;

    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, c->out, 1);
    posix_spawn_file_actions_adddup2(&fa, c->out, 2);
    posix_spawn_file_actions_adddup2(&fa, fd_in, KS_FD_REQUEST);
    posix_spawn_file_actions_adddup2(&fa, fd_out, KS_FD_RECORD);
    posix_spawn_file_actions_adddup2(&fa, fd_status, KS_FD_STATUS);
    if (fd_reference >= 0)
        posix_spawn_file_actions_adddup2(&fa, fd_reference, KS_FD_REFERENCE);
    assert_int_equal(posix_spawn(&c->pid, path, &fa, NULL, (char *const *)(uintptr_t)argv, environ),
                     0);
    posix_spawn_file_actions_destroy(&fa);
}

void child_start(struct child *c, int fd_reference)
{
    int req[2], rec[2], fd_status;

    memset(c, 0, sizeof(*c));
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe2(req, O_CLOEXEC), 0);
    assert_int_equal(pipe2(rec, O_CLOEXEC), 0);
    c->to = high(req[1]);
    c->from = high(rec[0]);
    req[0] = high(req[0]);
    rec[1] = high(rec[1]);
    c->out = high(memfd_create("output", MFD_CLOEXEC));
    assert_true(fcntl(c->out, F_SETFL, O_APPEND) == 0);
    fd_status = high(memfd_create("status", MFD_CLOEXEC));
    assert_int_equal(ftruncate(fd_status, (off_t)sizeof(struct ks_status)), 0);
    c->status =
        mmap(NULL, sizeof(struct ks_status), PROT_READ | PROT_WRITE, MAP_SHARED, fd_status, 0);
    assert_true(c->status != MAP_FAILED);
    if (fd_reference >= 0)
        fd_reference = fcntl(fd_reference, F_DUPFD_CLOEXEC, 20);
    spawn_worker(c, req[0], rec[1], fd_status, fd_reference);
    if (fd_reference >= 0)
        close(fd_reference);
    close(req[0]);
    close(rec[1]);
    close(fd_status);
    ks_frame_reader_init(&c->in);
}

void child_send(struct child *c, uint16_t type, const struct ks_buf *body)
{
    struct ks_buf frame = { 0 };

    ks_frame_put(&frame, type, body != NULL ? body->data : NULL, body != NULL ? body->len : 0);
    assert_true(ks_buf_ok(&frame));
    ks_write_all(c->to, frame.data, frame.len, NULL); /* a dead worker shows when reading */
    ks_buf_release(&frame);
}

/* The next frame; false at the end of the pipe. */
static bool next_frame(struct child *c, struct ks_frame *f)
{
    uint64_t until = ks_now_ns() + PATIENCE_MS * 1000000ull;

    while (ks_frame_next(&c->in, f) == 0) {
        struct pollfd p = { .fd = c->from, .events = POLLIN };
        char chunk[8192];
        ssize_t n;

        assert_true(ks_now_ns() < until);
        assert_true(poll(&p, 1, PATIENCE_MS) == 1);
        n = read(c->from, chunk, sizeof(chunk));
        assert_true(n >= 0);
        if (n == 0)
            return false;
        assert_int_equal(ks_frame_feed(&c->in, chunk, (size_t)n, NULL), 0);
    }
    return true;
}

void child_setup(struct child *c, const struct ks_req_setup *setup, struct ks_ready *ready_out)
{
    struct ks_req_setup s = *setup;
    struct ks_err err = { 0 };
    struct ks_buf body = { 0 };
    struct ks_frame f;

    s.nonce = c->nonce = ks_id128_random();
    ks_req_setup_encode(&s, &body);
    child_send(c, KS_F_REQ_SETUP, &body);
    ks_buf_release(&body);
    assert_true(next_frame(c, &f));
    assert_int_equal(f.type, KS_F_READY);
    assert_int_equal(ks_ready_decode(f.body, f.n, ready_out, &err), 0);
    assert_true(ks_id128_eq(ready_out->nonce, c->nonce));
    assert_int_equal(ready_out->pid, c->pid);
}

void child_problem(struct child *c, const struct ks_problem *p, uint32_t references)
{
    struct ks_req_problem req = { .problem = p->id, .references = references, .key = CHILD_KEY };
    struct ks_buf text = { 0 }, body = { 0 };

    ks_problem_canonical(p, &text);
    assert_true(text.len < sizeof(req.canonical));
    memcpy(req.canonical, ks_buf_text(&text), text.len);
    ks_req_problem_encode(&req, &body);
    child_send(c, KS_F_REQ_PROBLEM, &body);
    ks_buf_release(&body);
    ks_buf_release(&text);
}

bool child_record(struct child *c, struct ks_record *r_out)
{
    struct ks_err err = { 0 };
    uint32_t n_unknown = 0;
    struct ks_frame f;

    if (!next_frame(c, &f))
        return false;
    assert_int_equal(f.type, KS_F_DONE);
    assert_int_equal(ks_record_decode(f.body, f.n, r_out, &n_unknown, &err), 0);
    assert_int_equal(n_unknown, 0);
    assert_int_equal(c->in.n_damaged_places, 0);
    assert_true(ks_id128_eq(r_out->worker, c->nonce));
    assert_int_equal(r_out->seq, ++c->seq);
    assert_int_equal(r_out->pid, c->pid);
    return true;
}

int child_wait(struct child *c)
{
    uint64_t until = ks_now_ns() + PATIENCE_MS * 1000000ull;
    int status = 0;

    while (waitpid(c->pid, &status, WNOHANG) == 0) {
        assert_true(ks_now_ns() < until);
        ks_sleep_ns(50000);
    }
    c->pid = 0;
    return status;
}

void child_end(struct child *c, int want)
{
    int status;

    child_send(c, KS_F_REQ_END, NULL);
    status = child_wait(c);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), want);
    child_release(c);
}

void child_release(struct child *c)
{
    if (c->pid > 0) {
        kill(c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
    }
    ks_frame_reader_release(&c->in);
    munmap(c->status, sizeof(*c->status));
    close(c->to);
    close(c->from);
    close(c->out);
    memset(c, 0, sizeof(*c));
}

void child_output(const struct child *c, char *out, size_t cap)
{
    ssize_t n = pread(c->out, out, cap - 1, 0);

    assert_true(n >= 0);
    out[n] = '\0';
}
