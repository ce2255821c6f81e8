/* SPDX-License-Identifier: MIT */
/* cell_run.c - one cell again, alone: through the agent, or as files for a bare worker. */
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "cmd/cell.h"
#include "mpi/agent.h"
#include "mpi/provenance.h"
#include "record/request.h"
#include "record/status.h"
#include "topo/topo.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct taken {
    struct ks_buf *to;
    bool is_over, needs_look;
    uint32_t n;
};

static int on_emit(void *ctx, uint16_t type, const void *body, size_t n, struct ks_err *err)
{
    struct taken *t = ctx;
    if (type == KS_F_MSG_LEASE_END)
        t->is_over = true;
    if (type != KS_F_DONE)
        return 0;
    struct ks_record *r = malloc(sizeof(*r));
    if (!r)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    int rc = ks_record_decode(body, n, r, NULL, err);
    if (rc == 0) {
        ks_cell_print(r, t->to);
        t->needs_look = ks_outcome_needs_look(r->outcome);
        t->n++;
    }
    free(r);
    return rc;
}

/* The instance itself, and who verifies it on a GPU. */
static bool is_needed(const struct ks_cell_view *v, uint32_t i)
{
    return i == v->i_instance || i >= v->grid.n_instances;
}

/* The artefact must be the cache's: built now when it is not there any more. */
static int open_build(struct ks_cell_view *v, const struct ks_cell_options *o,
                      struct ks_warden *warden, struct ks_build **b_out, struct ks_err *err)
{
    char worker[1024];
    struct ks_build_options bo = { .cache_dir = o->cache_dir,
                                   .trust_cache = o->trust_cache,
                                   .try_compilers = true,
                                   .worker = worker };
    struct ks_build *b = NULL;
    int rc = ks_agent_find_worker(worker, sizeof(worker), err);
    if (rc == 0)
        rc = ks_build_create(&v->grid, &bo, warden, &b, err);
    for (uint32_t u = 0; rc == 0 && u < ks_build_n_units(b); u++) {
        const uint32_t *members;
        uint32_t n = ks_build_unit(b, u, &members);
        for (uint32_t k = 0; k < n && rc == 0; k++)
            if (is_needed(v, members[k]) && ks_build_unit_is_missing(b, u))
                rc = ks_build_start(b, u, err);
    }
    while (rc == 0 && ks_build_n_running(b)) {
        struct pollfd p = { .fd = ks_warden_fd(warden), .events = POLLIN };
        struct ks_child_end end;
        rc = ks_build_step(b, 1, err);
        if (rc == 0 && poll(&p, 1, 100) > 0)
            while ((rc = ks_warden_next(warden, &end, err)) == 1)
                (void)ks_build_child_ended(b, &end);
    }
    if (rc < 0) {
        ks_build_destroy(b);
        return rc;
    }
    *b_out = b;
    return 0;
}

static int drive(struct ks_agent *a, struct ks_warden *warden, struct taken *t, struct ks_err *err)
{
    int rc = 0;
    while (rc >= 0 && !(t->is_over && ks_agent_is_idle(a)) && !ks_agent_is_broken(a, NULL)) {
        struct pollfd p = { .fd = ks_warden_fd(warden), .events = POLLIN };
        struct ks_child_end end;
        ks_agent_acked(a, t->n);
        rc = ks_agent_step(a, err);
        if (rc == 0)
            (void)poll(&p, 1, 5);
        while (rc >= 0 && (rc = ks_warden_next(warden, &end, err)) == 1)
            rc = ks_agent_child_ended(a, &end, err);
        if (t->is_over)
            ks_agent_drain(a);
    }
    return rc;
}

/* That of the record that counts; 0: nothing was run, or its device is not known. */
static uint64_t device_of(const struct ks_cell_view *v)
{
    uint64_t id = 0;
    for (uint32_t i = 0; i < v->n_records; i++)
        id = v->records[i].device_id ? v->records[i].device_id : id;
    return id;
}

/* A line of a shell's comment. */
static void put_remark(struct ks_buf *to, const char *what, const char *why)
{
    ks_buf_printf(to, "# %s: ", what);
    ks_text_put(to, why, strcspn(why, "\n"), KS_LINES_NONE);
    ks_buf_u8(to, '\n');
}

/* On the device it ran on, else on another one; then a line of a shell's comment says so. */
static int find_seat(const struct ks_cell_view *v, struct ks_warden *warden,
                     struct ks_rank_seat *out, struct ks_buf *to, struct ks_err *err)
{
    struct ks_err why;
    int rc =
        ks_seat_alone(&v->grid.job, device_of(v), ks_grid_has_threads(&v->grid), warden, out, &why);
    if (rc == KS_ENODEVICE && device_of(v)) {
        put_remark(to, "not the GPU it ran on", why.text);
        rc = ks_seat_alone(&v->grid.job, 0, ks_grid_has_threads(&v->grid), warden, out, &why);
    }
    return rc < 0 ? ks_fail(err, rc, "%s", why.text) : 0;
}

static int run_leased(struct ks_cell_view *v, struct ks_build *b, struct ks_warden *warden,
                      struct taken *t, struct ks_err *err)
{
    char worker[1024];
    struct ks_agent *a = NULL;
    struct ks_device_rec device;
    struct ks_agent_config c = { .grid = &v->grid,
                                 .build = b,
                                 .warden = warden,
                                 .worker_path = worker,
                                 .emit = on_emit,
                                 .ctx = t };
    struct ks_rank_seat seat;
    struct ks_msg_lease lease = { .lease = 1, .i_problem = v->i_problem, .is_alone = 1, .n = 1 };
    lease.cells[0].i_instance = v->i_instance;
    lease.cells[0].attempt = 1;
    bool is_program = ks_job_runs_programs(&v->grid.job), is_sim = !b && !is_program;
    int rc = is_program ? ks_agent_find_profiler(worker, sizeof(worker), err)
                        : ks_agent_find_worker(worker, sizeof(worker), err);
    if (rc == 0)
        rc = find_seat(v, warden, &seat, t->to, err);
    if (rc < 0)
        return rc;
    c.is_pinned = seat.is_pinned;
    c.cpus = ks_seat_cpus(&seat, ks_job_is_gpu(&v->grid.job));
    c.memory_nodes = seat.bind.nodes;
    c.visible = seat.visible;
    memcpy(c.unique, seat.device.unique, sizeof(c.unique));
    memcpy(c.pci, seat.device.pci, sizeof(c.pci));
    c.noise = (struct ks_noise_limits){ .switches_per_s = 1e9, .stolen = 1, .canary = 1e9 };
    ks_provenance_device(&v->grid.job, 0, 0, &seat, &device);
    c.device_id = device.device_id;
    snprintf(c.device, sizeof(c.device), "%s", is_sim ? v->grid.job.device.arch_text : "");
    rc = ks_agent_create(&c, &a, err);
    if (rc == 0)
        rc = ks_agent_lease(a, &lease, err);
    if (rc == 0)
        rc = drive(a, warden, t, err);
    const char *why;
    if (rc >= 0 && ks_agent_is_broken(a, &why))
        rc = ks_fail(err, KS_EDEVICE, "%s", why);
    ks_agent_destroy(a);
    return rc;
}

int ks_cell_run(struct ks_cell_view *v, const struct ks_cell_options *o, struct ks_warden *warden,
                struct ks_buf *to, struct ks_err *err)
{
    struct ks_build *b = NULL;
    struct taken t = { .to = to };
    bool is_built = ks_job_compiles(&v->grid.job);
    signal(SIGPIPE, SIG_IGN); /* a dead worker is reported by the warden */
    int rc = ks_agent_check_limits(&v->grid.job, err);
    if (rc == 0 && is_built)
        rc = open_build(v, o, warden, &b, err);
    if (rc == 0)
        rc = run_leased(v, b, warden, &t, err);
    ks_build_destroy(b);
    return rc < 0 ? rc : t.needs_look;
}

static void put_frame(struct ks_buf *to, uint16_t type, const struct ks_buf *body)
{
    ks_frame_put(to, type, body->data, body->len);
}

/* Where there is no GPU to be seen, the command is for another place, and its reader is told. */
static void choose_device(const struct ks_cell_view *v, struct ks_warden *warden,
                          struct ks_cell_launch *l, struct ks_buf *remarks)
{
    struct ks_rank_seat seat;
    struct ks_err err;
    if (!ks_job_is_gpu(&v->grid.job))
        return;
    if (find_seat(v, warden, &seat, remarks, &err) < 0)
        put_remark(remarks, "for a host with its GPU, which is not visible here", err.text);
    else
        l->visible = seat.visible;
}

/* Set-up, problem, the cell and the end, as a worker reads them on descriptor 3. */
static void put_requests(const struct ks_cell_view *v, const struct ks_build *b, struct ks_buf *to)
{
    const struct ks_artefact *art = ks_build_artefact(b, v->i_instance);
    const struct ks_problem p = ks_problem_table_get(&v->grid.problems, v->i_problem);
    struct ks_req_setup s = { .nonce = ks_id128_random(), .device_id = device_of(v) };
    struct ks_req_problem q = { .problem = p.id };
    const struct ks_instance *instance = &v->grid.instances[v->i_instance];
    const struct ks_family *family = &v->grid.families[instance->i_family];
    struct ks_req_cell c = {
        .cell = v->cell,
        .attempt = 1,
        .numerics = ks_instance_numerics(family, instance),
        .threads = ks_instance_threads(family, instance),
        .build_id = art->build_id,
        .code_id = art->code_id,
    };
    struct ks_buf body;
    ks_buf_init(&body);
    ks_agent_name_judge(b, &p, &q);
    snprintf(s.backend, sizeof(s.backend), "%s", ks_job_backend(&v->grid.job)->name);
    ks_agent_measure(&v->grid.job, &s.measure);
    ks_req_setup_encode(&s, &body);
    put_frame(to, KS_F_REQ_SETUP, &body);
    ks_buf_clear(&body);
    ks_problem_canonical(&p, &body);
    snprintf(q.canonical, sizeof(q.canonical), "%s", ks_buf_text(&body));
    ks_buf_clear(&body);
    ks_req_problem_encode(&q, &body);
    put_frame(to, KS_F_REQ_PROBLEM, &body);
    memcpy(c.digest, art->digest, sizeof(c.digest));
    snprintf(c.artefact, sizeof(c.artefact), "%s", art->path);
    snprintf(c.entry, sizeof(c.entry), "%s", art->entry);
    ks_buf_clear(&body);
    ks_req_cell_encode(&c, &body);
    put_frame(to, KS_F_REQ_CELL, &body);
    ks_frame_put(to, KS_F_REQ_END, NULL, 0);
    ks_buf_release(&body);
}

static int write_files(const char *place, const struct ks_buf *requests, struct ks_err *err)
{
    char path[1300];
    struct ks_status *zero = calloc(1, sizeof(*zero));
    if (!zero)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    zero->magic = KS_STATUS_MAGIC;
    zero->version = 1;
    int rc = ks_mkdirs(place, 0777, err);
    snprintf(path, sizeof(path), "%.1200s/requests", place);
    if (rc == 0)
        rc = ks_file_replace(path, requests->data, requests->len, err);
    snprintf(path, sizeof(path), "%.1200s/status", place);
    if (rc == 0)
        rc = ks_file_replace(path, zero, sizeof(*zero), err);
    free(zero);
    return rc;
}

int ks_cell_prepare(struct ks_cell_view *v, const struct ks_cell_options *o,
                    struct ks_warden *warden, struct ks_cell_launch *out, struct ks_buf *remarks,
                    struct ks_err *err)
{
    struct ks_build *b = NULL;
    struct ks_buf requests;
    struct ks_cell_launch l = { .place = "" };
    char p[17], i[17];
    ks_buf_init(&requests);
    ks_hex64(v->problem, p);
    ks_hex64(v->instance, i);
    snprintf(l.place, sizeof(l.place), "%.1023s/cells/%s-%s", v->dir, p, i);
    if (ks_job_runs_programs(&v->grid.job))
        return ks_fail(
            err, KS_EUNSUPPORTED,
            "runs of programs have no worker; `ksweep cell` without options shows the command");
    int rc = ks_agent_find_worker(l.worker, sizeof(l.worker), err);
    if (rc == 0)
        rc = open_build(v, o, warden, &b, err);
    if (rc == 0) {
        const struct ks_artefact *art = ks_build_artefact(b, v->i_instance);
        if (art->state != KS_ART_READY)
            rc = ks_fail(err, KS_EINVAL, "the instance has no object to run: %s", art->reason);
        else
            put_requests(v, b, &requests);
    }
    if (rc == 0)
        rc = write_files(l.place, &requests, err);
    if (rc == 0)
        choose_device(v, warden, &l, remarks);
    if (rc == 0)
        *out = l;
    ks_build_destroy(b);
    ks_buf_release(&requests);
    return rc;
}

/* What a bare worker has on its descriptors, beside 6, which nobody writes to. */
static const struct {
    const char *name, *redirection;
    int fd, flags;
} files[] = { { "requests", "3<", KS_FD_REQUEST, O_RDONLY },
              { "record", "4>", KS_FD_RECORD, O_WRONLY | O_CREAT | O_TRUNC },
              { "status", "5<>", KS_FD_STATUS, O_RDWR } };
enum { N_FILES = sizeof(files) / sizeof(files[0]), ABOVE_FDS = 10 };

static void path_of(const struct ks_cell_launch *l, size_t i, char out[1300])
{
    snprintf(out, 1300, "%s/%s", l->place, files[i].name);
}

void ks_cell_command(const struct ks_cell_launch *l, struct ks_buf *to)
{
    char path[1300];
    for (uint32_t i = 0; i < l->visible.n; i++) {
        const char *text = l->visible.text[i];
        const size_t n = strcspn(text, "=") + 1;
        ks_buf_put(to, text, n);
        ks_shell_put(to, text + n);
        ks_buf_u8(to, ' ');
    }
    ks_shell_put(to, l->worker);
    for (size_t i = 0; i < N_FILES; i++) {
        path_of(l, i, path);
        ks_buf_printf(to, " %s", files[i].redirection);
        ks_shell_put(to, path);
    }
    ks_buf_printf(to, " 6</dev/null\n");
}

/* Above the numbers that the worker wants: none is taken from another. */
static int open_above(const char *path, int flags, struct ks_err *err)
{
    const int fd = open(path, flags | O_CLOEXEC, 0666);
    const int above = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, ABOVE_FDS);
    if (fd >= 0)
        close(fd);
    return above < 0 ? ks_fail_path(err, "'%s'", path) : above;
}

static int open_files(const struct ks_cell_launch *l, struct ks_err *err)
{
    char path[1300];
    int fd[N_FILES + 1] = { 0 };
    for (size_t i = 0; i <= N_FILES; i++) {
        if (i < N_FILES)
            path_of(l, i, path);
        fd[i] = open_above(i < N_FILES ? path : "/dev/null",
                           i < N_FILES ? files[i].flags : O_RDONLY, err);
        if (fd[i] < 0)
            return fd[i];
    }
    for (size_t i = 0; i <= N_FILES; i++)
        if (dup2(fd[i], i < N_FILES ? files[i].fd : KS_FD_REFERENCE) < 0)
            return ks_fail_errno(err, "descriptors of the worker");
    return 0;
}

int ks_cell_debug(const struct ks_cell_launch *l, struct ks_err *err)
{
    char worker[sizeof(l->worker)], name[256];
    int rc = open_files(l, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < l->visible.n; i++) {
        const char *text = l->visible.text[i];
        const size_t n = strcspn(text, "=");
        snprintf(name, sizeof(name), "%.*s", (int)n, text);
        if (setenv(name, text + n + 1, 1) < 0)
            return ks_fail_errno(err, "environment of the worker");
    }
    memcpy(worker, l->worker, sizeof(worker));
    execvp("gdb", (char *[]){ "gdb", "--args", worker, NULL });
    return ks_fail_path(err, "gdb");
}
