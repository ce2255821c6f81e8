/* SPDX-License-Identifier: MIT */
/* agent_worker.c - the worker process of a session: its descriptors, requests and records. */
#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "mpi/agent_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20, REQUEST_BYTES = 512 }; /* at most; of a cell, about */
#define SETUP_LIMIT_NS 120000000000ull              /* until the worker sets its own deadline */
/* NVIDIA's driver lets go of a GPU that nobody has open, unless its persistence daemon runs; AMD's
 * never does. */
#define GPU_FILES           "/dev/nvidia"
#define PROGRAM_SPARE_BYTES (256ull << 20)

int ks_agent_find_worker(char *out, size_t cap, struct ks_err *err)
{
    const char *named = getenv("KSWEEP_WORKER");
    char dir[900];
    int rc =
        named ? ks_path_join(out, cap, ".", named, err) : ks_program_dir(dir, sizeof(dir), err);
    if (rc == 0 && !named)
        rc = ks_path_join(out, cap, dir, "ksweep-worker", err);
    if (rc == 0 && access(out, X_OK) < 0)
        rc = ks_fail_path(err, "worker program '%s'", out);
    return rc;
}

static int make_pipe(int p[2], int nonblocking_end, struct ks_err *err)
{
    if (pipe2(p, O_CLOEXEC) < 0)
        return ks_fail_errno(err, "pipe");
    if (fcntl(p[nonblocking_end], F_SETFL, O_NONBLOCK) < 0)
        return ks_fail_errno(err, "pipe");
    return 0;
}

/* Linux lets the pipes of an unprivileged user hold 64 MiB in all and gives new ones beyond that
 * two pages: on a host with many ranks no pipe may be larger than it has to be. */
static void size_pipes(const struct worker *w, uint32_t batch)
{
    const uint64_t bytes = (uint64_t)batch * REQUEST_BYTES;
    (void)fcntl(w->record_fd, F_SETPIPE_SZ, PIPE_BYTES); /* smaller ones only cost wake-ups */
    if (bytes > 1 << 16)                                 /* more than it holds anyway */
        (void)fcntl(w->request_fd, F_SETPIPE_SZ, bytes < PIPE_BYTES ? (int)bytes : PIPE_BYTES);
}

static int make_status(struct worker *w, struct ks_err *err)
{
    w->status_fd = memfd_create("ksweep-status", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (w->status_fd < 0 || ftruncate(w->status_fd, sizeof(*w->status)) < 0)
        return ks_fail_errno(err, "status page");
    void *p = mmap(NULL, sizeof(*w->status), PROT_READ | PROT_WRITE, MAP_SHARED, w->status_fd, 0);
    if (p == MAP_FAILED)
        return ks_fail_errno(err, "status page");
    /* So that no kernel can cut it off below those who read it. */
    (void)fcntl(w->status_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    w->status = p;
    w->status->magic = KS_STATUS_MAGIC;
    w->status->version = 1;
    w->status->i_cell = UINT64_MAX;
    w->status->denied_call = -1;
    w->status->deadline_ns = ks_now_ns() + SETUP_LIMIT_NS;
    return 0;
}

int ks_worker_put_request(struct ks_agent *a, uint16_t type, struct ks_err *err)
{
    ks_frame_put(&a->worker.out, type, a->body.data, a->body.len);
    return ks_buf_ok(&a->body) && ks_buf_ok(&a->worker.out)
               ? 0
               : ks_fail(err, KS_ENOMEM, "requests: out of memory");
}

_Static_assert(KS_CACHE_WARM == 0 && KS_CACHE_COLD == 1, "choices of the job's measure.cache");

void ks_agent_measure(const struct ks_job *job, struct ks_measure *m)
{
    *m = (struct ks_measure){
        .sampling = job->measure.sampling,
        .verify_exact = job->verify.exact,
        .verify_elementwise = job->verify.elementwise,
        .kernel_timeout_ms = job->isolate.kernel_timeout_s * 1000u,
    };
}

void ks_agent_name_judge(const struct ks_build *b, const struct ks_problem *p,
                         struct ks_req_problem *req)
{
    const struct ks_artefact *judge = b ? ks_build_judge(b, p->dtype) : NULL;
    if (!judge)
        return;
    memcpy(req->judge_digest, judge->digest, sizeof(req->judge_digest));
    snprintf(req->judge_artefact, sizeof(req->judge_artefact), "%s", judge->path);
    snprintf(req->judge_entry, sizeof(req->judge_entry), "%s", judge->entry);
}

static int put_setup(struct ks_agent *a, struct ks_err *err)
{
    const struct ks_job *job = &a->c.grid->job;
    struct ks_req_setup s = {
        .nonce = a->worker.nonce,
        .device_id = a->c.device_id,
        .memory_bytes = (uint64_t)job->isolate.memory_mib << 20,
        .rank = a->c.rank,
        .is_sentinel = a->session.kind == SESSION_SUSPECT,
        .limits = a->limits,
    };
    snprintf(s.backend, sizeof(s.backend), "%s", ks_job_backend(job)->name);
    snprintf(s.device, sizeof(s.device), "%s", a->c.device);
    ks_agent_measure(job, &s.measure);
    ks_buf_clear(&a->body);
    ks_req_setup_encode(&s, &a->body);
    int rc = ks_worker_put_request(a, KS_F_REQ_SETUP, err);

    const struct kept *kept = &a->references.kept[0];
    struct ks_req_problem p = { .references = ks_references_are_sealed(kept->fd) ? 2 : 1,
                                .key = kept->key };
    struct ks_buf text;
    ks_buf_init(&text);
    const struct ks_problem problem =
        ks_problem_table_get(&a->c.grid->problems, a->session.i_problem);
    ks_problem_canonical(&problem, &text);
    p.problem = problem.id;
    ks_agent_name_judge(a->c.build, &problem, &p);
    snprintf(p.canonical, sizeof(p.canonical), "%s", ks_buf_text(&text));
    ks_buf_release(&text);
    ks_buf_clear(&a->body);
    ks_req_problem_encode(&p, &a->body);
    return rc < 0 ? rc : ks_worker_put_request(a, KS_F_REQ_PROBLEM, err);
}

#if defined(KSWEEP_SANITIZED)
static const bool is_sanitized = true;
#else
static const bool is_sanitized = false;
#endif

/* The runtime of a GPU reserves terabytes of address space, a sanitizer too, and programs of others
 * what they like: what is resident counts there. */
bool ks_worker_caps_address_space(const struct ks_job *job)
{
    return !is_sanitized && !ks_job_is_gpu(job) && !ks_job_runs_programs(job);
}

int ks_agent_check_limits(const struct ks_job *job, struct ks_err *err)
{
    if (!ks_worker_caps_address_space(job))
        return 0;
    return ks_limits_address_space((uint64_t)job->isolate.memory_mib << 20, "isolate.memory_mib",
                                   err);
}

/* Of ksweep-profiler with the program, which it ends itself at the cap: only a program that grows
 * faster than it looks gets here. */
static uint64_t resident_limit(const struct ks_job *job)
{
    const uint64_t cap = (uint64_t)job->isolate.memory_mib << 20;
    if (ks_worker_caps_address_space(job))
        return 0;
    return cap && ks_job_runs_programs(job) ? cap + cap / 2 + PROGRAM_SPARE_BYTES : cap;
}

static int spawn(struct ks_agent *a, const int request[2], const int record[2], struct ks_err *err)
{
    const struct ks_job *job = &a->c.grid->job;
    struct worker *w = &a->worker;
    const char *argv[] = { a->c.worker_path, NULL }, *env[KS_VISIBLE_N + 2] = { NULL };
    uint64_t cap = (uint64_t)job->isolate.memory_mib << 20;
    char scratch[1024];
    struct ks_spawn what = {
        .argv = argv,
        .env = env,
        .scratch = ks_agent_scratch(a, scratch, sizeof(scratch)),
        .fds = { request[0], record[1], w->status_fd, a->references.kept[0].fd },
        .status_fd = w->status_fd,
        .memory_bytes = ks_worker_caps_address_space(job) ? cap : 0,
        .rss_bytes = resident_limit(job),
        .n_processes = ks_warden_task_limit(),
        .is_pinned = a->c.is_pinned,
        .memory_nodes = a->c.memory_nodes,
        .hold_prefix = ks_job_is_gpu(job) ? GPU_FILES : NULL,
    };
    for (uint32_t i = 0; i < a->c.visible.n; i++)
        env[i] = a->c.visible.text[i];
    /* What the allocator says before it aborts goes to stderr, in older C libraries too. */
    env[a->c.visible.n] = "LIBC_FATAL_STDERR_=1";
    if (a->c.is_pinned)
        what.cpus = a->c.cpus;
    return ks_warden_spawn(a->c.warden, &what, &w->child, err);
}

int ks_worker_start(struct ks_agent *a, struct ks_err *err)
{
    struct worker *w = &a->worker;
    int request[2] = { -1, -1 }, record[2] = { -1, -1 };
    *w = (struct worker){ .request_fd = -1, .record_fd = -1, .status_fd = -1 };
    w->nonce = ks_id128_random();
    w->started_ns = ks_now_ns();
    ks_buf_init(&w->out);
    ks_frame_reader_init(&w->in);
    int rc = ks_references_need(&a->references, a->session.i_problem, err);
    if (rc == 0)
        rc = make_status(w, err);
    if (rc == 0)
        rc = make_pipe(request, 1, err);
    if (rc == 0)
        rc = make_pipe(record, 0, err);
    if (rc == 0)
        rc = put_setup(a, err);
    if (rc == 0)
        rc = spawn(a, request, record, err);
    ks_fd_close(&request[0]);
    ks_fd_close(&record[1]);
    w->request_fd = request[1];
    w->record_fd = record[0];
    size_pipes(w, a->c.grid->job.isolate.batch);
    w->pipe_bytes = (double)fcntl(record[0], F_GETPIPE_SZ);
    if (rc < 0) {
        ks_worker_release(a);
        return ks_err_context(err, rc, "starting a worker");
    }
    w->is_alive = true;
    a->totals.n_workers++;
    return ks_worker_flush(a, err);
}

void ks_worker_release(struct ks_agent *a)
{
    struct worker *w = &a->worker;
    ks_fd_close(&w->request_fd);
    ks_fd_close(&w->record_fd);
    ks_fd_close(&w->status_fd);
    if (w->status)
        munmap(w->status, sizeof(*w->status));
    w->status = NULL;
    ks_buf_release(&w->out);
    ks_frame_reader_release(&w->in);
    w->is_alive = false;
}

int ks_worker_flush(struct ks_agent *a, struct ks_err *err)
{
    struct worker *w = &a->worker;
    if (!ks_buf_ok(&w->out))
        return ks_fail(err, KS_ENOMEM, "requests: out of memory");
    while (w->request_fd >= 0 && w->out.len) {
        ssize_t n = write(w->request_fd, w->out.data, w->out.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) /* full: later; broken: the worker's end will be reported */
            break;
        ks_buf_drop(&w->out, (size_t)n);
    }
    return 0;
}

int ks_worker_send_cell(struct ks_agent *a, const struct work *w, struct ks_err *err)
{
    struct session *s = &a->session;
    const struct ks_artefact *art =
        a->c.build ? ks_build_artefact(a->c.build, w->i_instance) : NULL;
    const struct ks_instance *instance = &a->c.grid->instances[w->i_instance];
    const struct ks_family *family = &a->c.grid->families[instance->i_family];
    struct ks_req_cell r = {
        .cell = ks_agent_cell(a, s->i_problem, w->i_instance),
        .i_cell = s->n_sent,
        .attempt = w->attempt,
        .round = w->round,
        .role = w->role,
        .position = a->block.position,
        .numerics = ks_instance_numerics(family, instance),
        .threads = ks_instance_threads(family, instance),
        .n_visit = w->n_visit,
        .is_again = w->is_again,
        .block_id = s->block_id,
        .lease_id = w->i_lease == NO_LEASE ? 0 : a->leases[w->i_lease].m.lease,
    };
    snprintf(r.entry, sizeof(r.entry), "%s", instance->name);
    if (art) {
        r.build_id = art->build_id;
        r.code_id = art->code_id;
        memcpy(r.digest, art->digest, sizeof(r.digest));
        snprintf(r.artefact, sizeof(r.artefact), "%s", art->path);
        snprintf(r.entry, sizeof(r.entry), "%s", art->entry);
    }
    int rc = ks_agent_put_program(a, w->i_instance, err);
    ks_buf_clear(&a->body);
    ks_req_cell_encode(&r, &a->body);
    if (rc == 0)
        rc = ks_worker_put_request(a, KS_F_REQ_CELL, err);
    if (s->n_sent == s->n_done)
        a->worker.heard_ns = ks_now_ns();
    s->sent[s->n_sent] = *w;
    s->sent[s->n_sent++].position = a->block.position++;
    s->n_cells += w->role == KS_ROLE_CELL;
    return rc;
}

int ks_worker_send_canary(struct ks_agent *a, struct ks_err *err)
{
    ks_buf_clear(&a->body);
    int rc = ks_worker_put_request(a, KS_F_REQ_CANARY, err);
    a->session.canary_sent = true;
    return rc;
}

int ks_worker_send_end(struct ks_agent *a, struct ks_err *err)
{
    if (a->session.is_ended)
        return 0;
    ks_buf_clear(&a->body);
    int rc = ks_worker_put_request(a, KS_F_REQ_END, err);
    a->session.is_ended = true;
    return rc;
}

int ks_worker_emit_output(struct ks_agent *a, const struct ks_cell *cell, const struct work *wk,
                          uint64_t end, struct ks_err *err)
{
    struct worker *w = &a->worker;
    uint64_t total = w->status->ring_bytes, from = w->printed;
    uint64_t fresh = end - from;
    if (end <= from || end > total)
        return 0;
    w->printed = end;
    if (total - from > KS_STATUS_RING) /* overwritten */
        from = total - KS_STATUS_RING;
    uint64_t n = from < end ? end - from : 0;
    uint8_t *copy = malloc(n + 1);
    if (!copy)
        return ks_fail(err, KS_ENOMEM, "output: out of memory");
    for (uint64_t i = 0; i < n; i++)
        copy[i] = w->status->ring[(from + i) % KS_STATUS_RING];
    struct ks_output o = {
        .cell = *cell, .attempt = wk->attempt, .round = wk->round, .n_total = fresh
    };
    ks_buf_clear(&a->body);
    ks_output_encode(&o, copy, n, &a->body);
    free(copy);
    return a->c.emit(a->c.ctx, KS_F_OUTPUT, a->body.data, a->body.len, err);
}

static bool is_expected(const struct ks_agent *a, const struct ks_record_head *r)
{
    const struct session *s = &a->session;
    if (!ks_id128_eq(r->worker, a->worker.nonce) || r->seq != a->worker.seq + 1)
        return false;
    if (r->role == KS_ROLE_CANARY)
        return s->canary_sent;
    if (s->n_done >= s->n_sent)
        return false;
    const struct work *w = &s->sent[s->n_done];
    struct ks_cell cell = ks_agent_cell(a, s->i_problem, w->i_instance);
    return !ks_cell_compare(&cell, &r->cell) && r->attempt == w->attempt &&
           r->round_index == w->round && r->role == w->role;
}

/* Nothing is to be added to what the worker said: it goes on as it is. */
static bool is_plain(const struct ks_agent *a, const struct work *w, const struct ks_record_head *r)
{
    return a->session.kind == SESSION_NORMAL && r->role == KS_ROLE_CELL && r->outcome == KS_O_OK &&
           !w->alias && !a->c.is_oversubscribed && r->mpi_rank == a->c.rank &&
           r->device_id == a->c.device_id && !r->n_printed && !r->n_denied;
}

static void note_cell(struct ks_agent *a, const struct ks_record_head *h, size_t n_bytes)
{
    double share = a->worker.seq < 8 ? (double)a->worker.seq : 8;
    a->cell_ns += ((double)h->wall_ns - a->cell_ns) / share;
    a->record_bytes += ((double)n_bytes - a->record_bytes) / share;
    a->totals.timing_ns += h->timing_ns;
    a->totals.n_timed += h->timing_ns > 0;
}

static int take_record(struct ks_agent *a, const struct ks_frame *f, struct ks_err *err)
{
    struct ks_record_head h;
    struct ks_record *r = a->record;
    if (ks_record_peek(f->body, f->n, &h, NULL) < 0 || !is_expected(a, &h)) {
        a->worker.is_lying = true;
        return 0;
    }
    a->worker.seq++;
    a->worker.heard_ns = ks_now_ns();
    if (h.role != KS_ROLE_CANARY)
        note_cell(a, &h, f->n);
    const char *why = NULL;
    double disturbance = ks_agent_disturbance(a, &h, &why);
    if (!why && h.role == KS_ROLE_CELL && is_plain(a, &a->session.sent[a->session.n_done], &h))
        return ks_agent_pass(a, &a->session.sent[a->session.n_done++], f, disturbance, err);
    int rc = ks_record_decode(f->body, f->n, r, NULL, err);
    if (rc < 0)
        return rc;
    a->worker.n_denied += r->n_denied;
    r->mpi_rank = a->c.rank;
    r->device_id = a->c.device_id;
    if (a->c.is_oversubscribed)
        r->outcome_flags |= KS_FL_OVERSUBSCRIBED;
    if (r->role == KS_ROLE_CANARY)
        return ks_recover_canary(a, r, err);
    struct work w = a->session.sent[a->session.n_done++];
    ks_agent_mark_alias(a, &w, r);
    rc = ks_worker_emit_output(a, &r->cell, &w, a->worker.printed + r->n_printed, err);
    if (rc < 0)
        return rc;
    return a->session.kind == SESSION_NORMAL ? ks_agent_take(a, &w, r, err)
                                             : ks_recover_record(a, &w, r, err);
}

static bool is_own_device(const struct ks_agent *a, const struct ks_ready *r)
{
    return !a->c.unique[0] || (strcmp(r->device, a->c.unique) == 0 &&
                               (!a->c.pci[0] || strcmp(r->locator, a->c.pci) == 0));
}

/* What the worker got must be what this rank was given: two ranks on one device would time each
 * other. */
static int take_ready(struct ks_agent *a, const struct ks_frame *f, struct ks_err *err)
{
    struct ks_ready ready;
    if (ks_ready_decode(f->body, f->n, &ready, NULL) < 0) {
        a->worker.is_lying = true;
        return 0;
    }
    if (ks_job_runs_programs(&a->c.grid->job)) /* it opens no device */
        return 0;
    if (!is_own_device(a, &ready)) {
        ks_agent_break(a, "the worker got device %.60s at %.15s, expected %.60s at %.15s",
                       ready.device, ready.locator, a->c.unique, a->c.pci);
        return ks_warden_kill(a->c.warden, a->worker.child, err);
    }
    /* Only of the first worker, which wrote it before its first kernel ran: what kernels write into
     * this pipe afterwards changes nothing. */
    if (!a->has_limits)
        a->limits = ready.limits;
    a->has_limits = true;
    if (ready.memory_nodes == a->c.memory_nodes || a->said_memory)
        return 0;
    a->said_memory = true;
    return ks_agent_emit_event(a, KS_EV_INFO, err,
                               "the worker's memory is not bound to the nearest NUMA nodes");
}

/* The pipe belongs to the worker alone: one byte that is not its own and nothing after it counts.
 */
static int take_frames(struct ks_agent *a, struct ks_err *err)
{
    struct worker *w = &a->worker;
    struct ks_frame f;
    while (!w->is_lying && !w->is_retired && ks_frame_next(&w->in, &f) == 1) {
        if (w->in.n_damaged_places)
            break;
        if (f.type == KS_F_READY) {
            int rc = take_ready(a, &f, err);
            if (rc < 0)
                return rc;
            continue;
        }
        const bool passes_on = ks_agent_passes_on(a, f.type);
        if (f.type != KS_F_DONE && !passes_on) {
            w->is_lying = true;
            break;
        }
        int rc =
            passes_on ? a->c.emit(a->c.ctx, f.type, f.body, f.n, err) : take_record(a, &f, err);
        if (rc < 0)
            return rc;
    }
    if (w->in.n_damaged_places)
        w->is_lying = true;
    return 0;
}

int ks_worker_read(struct ks_agent *a, struct ks_err *err)
{
    struct worker *w = &a->worker;
    uint8_t bytes[65536];
    uint64_t n_reported = w->status ? w->status->n_done : 0; /* their records are in the pipe */
    while (w->record_fd >= 0 && !w->is_lying && !w->is_retired) {
        ssize_t n = read(w->record_fd, bytes, sizeof(bytes));
        if (n < 0 && errno == EINTR)
            continue;
        w->is_mute = n == 0;
        if (n <= 0)
            break;
        int rc = ks_frame_feed(&w->in, bytes, (size_t)n, err);
        if (rc == 0)
            rc = take_frames(a, err);
        if (rc < 0)
            return rc;
    }
    /* A count of more cells than were sent is a kernel's scribble on the page, not the worker's. */
    if (!w->is_lying && !w->is_retired && n_reported > a->session.n_done &&
        n_reported <= a->session.n_sent)
        w->is_lying = w->has_lost_record = true;
    if (w->is_lying && w->is_alive)
        return ks_warden_kill(a->c.warden, w->child, err);
    return 0;
}
