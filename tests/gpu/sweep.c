/* SPDX-License-Identifier: MIT */
/* sweep.c - sweeps all problems of a grid on one device, one worker after another */
#include "tests/gpu/sweep.h"

#include "base/clock.h"
#include "base/text.h"
#include "tests/gpu/link.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH      512u /* cells of a worker: each costs a start of the runtime, a second or two */
#define FRUITLESS  3u   /* workers in a row that end without having begun a cell */
#define WAIT_MS    100
#define TAIL_BYTES 1000u

struct sweep {
    const struct ks_grid *grid;
    const struct ks_build *build;
    struct ks_warden *warden;
    const struct sweep_options *opt;
    struct row *rows;
    struct totals *totals;
    struct ks_measure measure;
    struct ks_record rec;

    /* of the problem in hand */
    uint32_t i_problem;
    int reference_fd; /* owned: its first worker fills it; -1 none */
    struct ks_id128 reference_key;
    uint32_t *left; /* instances still to be measured, the next one last */
    uint32_t n_left;

    /* the worker in hand */
    struct link link;
    uint32_t sent[BATCH], n_sent, n_done;
};

static struct row *row_of(struct sweep *s, uint32_t i_instance)
{
    return &s->rows[(uint64_t)s->i_problem * s->grid->n_instances + i_instance];
}

static void end_row(struct sweep *s, uint32_t i_instance, uint32_t outcome, const char *reason)
{
    row_end(row_of(s, i_instance), s->grid, s->i_problem * s->grid->n_instances + i_instance,
            outcome, reason);
}

/* ---- one worker ---- */

static int send_cell(struct sweep *s, uint32_t i_instance, struct ks_err *err)
{
    const struct ks_artefact *a = ks_build_artefact(s->build, i_instance);
    const struct ks_instance *inst = &s->grid->instances[i_instance];
    struct ks_req_cell r = { .cell = { ks_problem_table_id(&s->grid->problems, s->i_problem),
                                       inst->id, s->grid->condition },
                             .i_cell = s->n_sent,
                             .attempt = 1,
                             .numerics =
                                 ks_instance_numerics(&s->grid->families[inst->i_family], inst),
                             .build_id = a->build_id,
                             .code_id = a->code_id };

    memcpy(r.digest, a->digest, sizeof(r.digest));
    snprintf(r.artefact, sizeof(r.artefact), "%s", a->path);
    snprintf(r.entry, sizeof(r.entry), "%s", a->entry);
    s->sent[s->n_sent++] = i_instance;
    return link_cell(&s->link, &r, err);
}

static int start_worker(struct sweep *s, struct ks_err *err)
{
    const struct ks_problem p = ks_problem_table_get(&s->grid->problems, s->i_problem);
    const char *backend = ks_job_backend(&s->grid->job)->name;
    int rc = link_start(&s->link, s->warden, s->opt->program, backend, &s->measure, s->reference_fd,
                        err);
    uint32_t n;

    s->n_sent = s->n_done = 0;
    n = s->link.n_cells_max < BATCH ? s->link.n_cells_max : BATCH;
    if (rc == 0)
        rc = link_problem(&s->link, &p, ks_build_judge(s->build, p.dtype), s->reference_key, err);
    for (uint32_t i = 0; rc == 0 && i < n && s->n_left > 0; i++)
        rc = send_cell(s, s->left[--s->n_left], err);
    s->totals->n_workers++;
    return rc == 0 ? link_finish(&s->link, err) : rc;
}

static int take_record(struct sweep *s, const struct ks_frame *f, struct ks_err *err)
{
    const struct ks_instance *inst;
    int rc = ks_record_decode(f->body, f->n, &s->rec, NULL, err);

    if (rc < 0)
        return rc;
    inst = &s->grid->instances[s->sent[s->n_done < s->n_sent ? s->n_done : 0]];
    if (s->n_done >= s->n_sent || s->rec.cell.instance != inst->id ||
        !ks_id128_eq(s->rec.worker, s->link.nonce))
        return ks_fail(err, KS_EPROTO, "a record that nobody asked for");
    row_take(row_of(s, s->sent[s->n_done++]), &s->rec);
    return 0;
}

static int take_frames(struct sweep *s, struct ks_err *err)
{
    struct ks_frame f;
    int rc = link_read(&s->link, err);

    while (rc >= 0 && ks_frame_next(&s->link.in, &f) > 0) {
        if (f.type != KS_F_READY)
            rc = take_record(s, &f, err);
    }
    return rc < 0 ? rc : 0;
}

/* Until something happens: ends of children, records. */
static int step(struct sweep *s, struct ks_err *err)
{
    struct pollfd fd[2] = { { .fd = ks_warden_fd(s->warden), .events = POLLIN },
                            { .fd = s->link.is_alive ? s->link.from : -1, .events = POLLIN } };
    struct ks_child_end end;
    int rc = 0;

    if (poll(fd, 2, WAIT_MS) < 0 && errno != EINTR)
        return ks_fail_errno(err, "waiting for workers");
    if (s->link.is_alive)
        rc = take_frames(s, err);
    while (rc == 0 && (rc = ks_warden_next(s->warden, &end, err)) == 1) {
        rc = 0;
        if (!s->link.is_alive || s->link.child != end.child)
            continue;
        s->link.is_alive = false;
        s->link.end = end;
        rc = take_frames(s, err);
    }
    return rc;
}

static uint32_t outcome_of(const struct ks_child_end *end)
{
    return end->how == KS_END_EXITED      ? KS_O_EXITED
           : end->how == KS_END_SIGNALED  ? KS_O_CRASHED
           : end->how == KS_END_DEADLINE  ? KS_O_TIMEOUT
           : end->how == KS_END_ABANDONED ? KS_O_DEVICE_LOST
                                          : KS_O_WORKER_LOST;
}

/* The end of what it printed. */
static void print_tail(const struct ks_status *status)
{
    uint64_t end = status->ring_bytes, from = end > TAIL_BYTES ? end - TAIL_BYTES : 0;
    char tail[TAIL_BYTES];

    for (uint64_t i = from; i < end; i++)
        tail[i - from] = (char)status->ring[i % KS_STATUS_RING];
    (void)ks_text_write(stderr, tail, (size_t)(end - from), KS_LINES_KEEP);
}

/* The cell in flight when a worker died; others that it was sent are left for the next. */
static void take_death(struct sweep *s)
{
    const struct ks_child_end *end = &s->link.end;
    uint64_t i_cell = s->link.status->i_cell;
    bool is_in_cell = i_cell != UINT64_MAX && i_cell >= s->n_done && s->n_done < s->n_sent;
    char reason[160];

    s->totals->n_deaths++;
    fprintf(stderr, "ksweep-gpu: worker %d: %s, code %d, after %" PRIu32 " of %" PRIu32 " cells\n",
            end->pid, ks_end_text(end->how), end->code, s->n_done, s->n_sent);
    print_tail(s->link.status);
    if (!is_in_cell)
        return;
    snprintf(reason, sizeof(reason), "%s, code %d, in phase %s", ks_end_text(end->how), end->code,
             ks_phase_text(s->link.status->phase));
    end_row(s, s->sent[s->n_done++], outcome_of(end), reason);
}

static int run_worker(struct sweep *s, struct ks_err *err)
{
    int rc = start_worker(s, err);

    while (rc == 0 && s->link.is_alive)
        rc = step(s, err);
    if (rc == 0) {
        s->totals->device_ns += s->link.end.wall_ns;
        if (s->link.end.how != KS_END_EXITED || s->link.end.code != KS_WORKER_EXIT_OK)
            take_death(s);
        while (s->n_sent > s->n_done)
            s->left[s->n_left++] = s->sent[--s->n_sent];
    }
    link_release(&s->link);
    return rc;
}

/* ---- one problem ---- */

static uint32_t outcome_of_build(enum ks_artefact_state state)
{
    return state == KS_ART_FAILED    ? KS_O_BUILD_FAILED
           : state == KS_ART_TIMEOUT ? KS_O_BUILD_TIMEOUT
                                     : KS_O_UNSUPPORTED;
}

static void swap(uint32_t *v, uint32_t i, uint32_t k)
{
    uint32_t other = v[i];

    v[i] = v[k];
    v[k] = other;
}

static void reverse(uint32_t *v, uint32_t n)
{
    for (uint32_t i = 0; i < n / 2; i++)
        swap(v, i, n - 1 - i);
}

static void shuffle(uint32_t *v, uint32_t n, uint64_t x)
{
    for (uint32_t i = n; i > 1; i--)
        swap(v, (uint32_t)((x = ks_mix64(x + i)) % i), i - 1);
}

/* In a seeded order or the grid's; what cannot be run has its row already. */
static void list_instances(struct sweep *s)
{
    s->n_left = 0;
    for (uint32_t i = 0; i < s->grid->n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(s->build, i);
        const char *why = ks_grid_unsupported(s->grid, s->i_problem, i);

        if (!ks_grid_has_cell(s->grid, s->i_problem, i))
            continue;
        if (why != NULL)
            end_row(s, i, KS_O_UNSUPPORTED, why);
        else if (a->state != KS_ART_READY)
            end_row(s, i, outcome_of_build(a->state), a->reason);
        else
            s->left[s->n_left++] = i;
    }
    if (s->opt->in_order)
        reverse(s->left, s->n_left);
    else
        shuffle(s->left, s->n_left,
                s->opt->seed ^ ks_problem_table_id(&s->grid->problems, s->i_problem));
}

static bool has_time(const struct sweep *s)
{
    return s->opt->until_ns == 0 || ks_now_ns() < s->opt->until_ns;
}

static int run_problem(struct sweep *s, struct ks_err *err)
{
    uint32_t n_fruitless = 0;
    int rc = 0;

    list_instances(s);
    s->reference_key = ks_id128_random();
    if (s->n_left > 0)
        rc = link_references(&s->reference_fd, err);
    while (rc == 0 && s->n_left > 0 && has_time(s)) {
        uint32_t before = s->n_left;

        rc = run_worker(s, err);
        n_fruitless = s->n_left == before ? n_fruitless + 1 : 0;
        if (rc == 0 && n_fruitless == FRUITLESS)
            rc = ks_fail(err, KS_ECHILD, "%u workers ended before their first cell", FRUITLESS);
    }
    for (; rc == 0 && s->n_left > 0; s->totals->n_left++)
        end_row(s, s->left[--s->n_left], KS_O_SKIPPED, "no time was left");
    link_drop_references(&s->reference_fd);
    return rc;
}

static struct ks_measure measure_of(const struct ks_job *job)
{
    return (struct ks_measure){ .sampling = job->measure.sampling,
                                .verify_exact = job->verify.exact,
                                .verify_elementwise = job->verify.elementwise,
                                .kernel_timeout_ms = job->isolate.kernel_timeout_s * 1000u };
}

static int run_problems(struct sweep *s, struct ks_err *err)
{
    int rc = 0;

    for (s->i_problem = 0; rc == 0 && s->i_problem < s->grid->n_problems; s->i_problem++)
        rc = run_problem(s, err);
    return rc;
}

int sweep_run(const struct ks_grid *g, const struct ks_build *b, struct ks_warden *warden,
              const struct sweep_options *opt, struct row *rows_out, struct totals *totals_out,
              struct ks_err *err)
{
    struct sweep *s = calloc(1, sizeof(*s));
    uint32_t *left = calloc(g->n_instances + 1u, sizeof(*left));
    int rc = s != NULL && left != NULL ? 0 : ks_fail(err, KS_ENOMEM, "a sweep");

    if (rc == 0) {
        *totals_out =
            (struct totals){ .warmup_cap_ns = rows_warmup_cap_ns(&g->job.measure.sampling) };
        *s = (struct sweep){ .grid = g,
                             .build = b,
                             .warden = warden,
                             .opt = opt,
                             .rows = rows_out,
                             .totals = totals_out,
                             .measure = measure_of(&g->job),
                             .left = left,
                             .reference_fd = -1,
                             .link = { .to = -1, .from = -1, .status_fd = -1 } };
        signal(SIGPIPE, SIG_IGN); /* a dead worker shows in its end */
        rc = run_problems(s, err);
    }
    free(left);
    free(s);
    return rc;
}
