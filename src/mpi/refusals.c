/* SPDX-License-Identifier: MIT */
/* refusals.c - asks a worker which built instances reject which problems */
#include "mpi/refusals.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/lines.h"
#include "mpi/agent.h"
#include "mpi/probe.h"
#include "record/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEADLINE_NS 60000000000ull

static uint32_t n_asked(const struct ks_grid *g, const struct ks_refusals *r)
{
    return (g->n_problems + r->stride - 1) / r->stride;
}

static void put_kernels(const struct ks_grid *g, const struct ks_build *b, struct ks_refusals *r,
                        struct ks_buf *to)
{
    for (uint32_t i = 0; i < g->n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(b, i);

        r->place[i] = -1;
        if (a->state != KS_ART_READY)
            continue;
        r->place[i] = (int32_t)r->n_kernels++;
        ks_lines_key(to, "kernel");
        ks_lines_word(to, a->path);
        ks_lines_word(to, a->entry);
        ks_lines_end_line(to);
    }
}

static int put_question(const struct ks_grid *g, const struct ks_build *b, struct ks_refusals *r,
                        struct ks_buf *to, struct ks_err *err)
{
    struct ks_buf text;

    ks_lines_begin(to, KS_REFUSALS_KIND, KS_REFUSALS_VERSION);
    put_kernels(g, b, r, to);
    uint64_t pairs = (uint64_t)g->n_problems * r->n_kernels / KS_REFUSALS_PAIRS;
    uint64_t problems = g->n_problems / KS_REFUSALS_PROBLEMS;
    r->stride = 1 + (uint32_t)(pairs > problems ? pairs : problems);
    ks_buf_init(&text);
    for (uint32_t i = 0; i < g->n_problems; i += r->stride) {
        const struct ks_problem p = ks_problem_table_get(&g->problems, i);

        ks_buf_clear(&text);
        ks_problem_canonical(&p, &text);
        ks_lines_put(to, "problem", ks_buf_text(&text));
    }
    ks_buf_release(&text);
    ks_lines_finish(to);
    return ks_buf_ok(to) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
}

/* Anonymous memory with these bytes, read from their start. */
static int open_memory(const struct ks_buf *bytes, int *fd_out, struct ks_err *err)
{
    int fd = memfd_create("ksweep-refusals", MFD_CLOEXEC);
    int rc = fd < 0 ? ks_fail_errno(err, "memfd for a question") : 0;

    if (rc == 0 && bytes)
        rc = ks_write_all(fd, bytes->data, bytes->len, err);
    if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
        rc = ks_fail_errno(err, "memfd for a question");
    *fd_out = fd;
    return rc;
}

static int run_worker(struct ks_warden *warden, int question, int answer, struct ks_err *err)
{
    char worker[1024];
    struct ks_child_end end = { .code = 0 };
    uint32_t child;
    int rc = ks_agent_find_worker(worker, sizeof(worker), err);
    const char *argv[] = { worker, "--refusals", NULL };
    struct ks_spawn what = { .argv = argv,
                             .fds = { question, answer, -1, -1 },
                             .status_fd = -1,
                             .deadline_ns = ks_now_ns() + DEADLINE_NS };

    if (rc == 0)
        rc = ks_warden_spawn(warden, &what, &child, err);
    if (rc == 0)
        rc = ks_probe_await(warden, child, &end, err);
    if (rc == 0 && (end.how != KS_END_EXITED || end.code != 0))
        rc = ks_fail(err, KS_EDEVICE, "a worker %s %d: %.*s", ks_end_text(end.how), end.code,
                     (int)strcspn(end.tail, "\n"), end.tail);
    return rc;
}

static int read_answer(const struct ks_grid *g, int fd, struct ks_refusals *r, struct ks_err *err)
{
    size_t n = (size_t)n_asked(g, r) * r->n_kernels;
    struct stat st;

    if (fstat(fd, &st) < 0 || (size_t)st.st_size != n)
        return ks_fail(err, KS_EPROTO, "a worker answered only some of the questions");
    r->answer = malloc(n + 1);
    if (!r->answer)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    return pread(fd, r->answer, n, 0) == (ssize_t)n ? 0 : ks_fail_errno(err, "answer of a worker");
}

static int ask(const struct ks_grid *g, const struct ks_build *b, struct ks_warden *warden,
               struct ks_refusals *r, struct ks_err *err)
{
    int question = -1, answer = -1, rc;
    struct ks_buf text;

    ks_buf_init(&text);
    rc = put_question(g, b, r, &text, err);
    if (rc == 0 && r->n_kernels) {
        rc = open_memory(&text, &question, err);
        if (rc == 0)
            rc = open_memory(NULL, &answer, err);
        if (rc == 0)
            rc = run_worker(warden, question, answer, err);
        if (rc == 0)
            rc = read_answer(g, answer, r, err);
    }
    ks_fd_close(&question);
    ks_fd_close(&answer);
    ks_buf_release(&text);
    return rc;
}

int ks_refusals_ask(const struct ks_grid *g, const struct ks_build *b, struct ks_warden *warden,
                    struct ks_refusals *out, struct ks_err *err)
{
    struct ks_refusals r = { .place = calloc(g->n_instances + 1u, sizeof(*r.place)) };
    int rc = r.place ? ask(g, b, warden, &r, err) : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc < 0) {
        ks_refusals_release(&r);
        return rc;
    }
    *out = r;
    return 0;
}

void ks_refusals_release(struct ks_refusals *r)
{
    free(r->answer);
    free(r->place);
    *r = (struct ks_refusals){ .answer = NULL };
}

bool ks_refusals_has(const struct ks_refusals *r, uint32_t i_problem, uint32_t i_instance)
{
    int32_t k = r->answer ? r->place[i_instance] : -1;

    return k >= 0 && r->answer[(size_t)(i_problem / r->stride) * r->n_kernels + (uint32_t)k] == '1';
}
