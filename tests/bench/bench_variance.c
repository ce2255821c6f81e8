/* SPDX-License-Identifier: MIT */
/* bench_variance.c - measures sweeps for components of variance, and prints a table of them */
/* bench_variance measure JOB CACHE FILE SWEEP WORKERS BUFFERS SECONDS - appends one sweep to FILE:
 *   each problem of the job in WORKERS workers, each with BUFFERS sets of buffers after one
 *   another, for SECONDS each. In that time its first six instances that run are measured in turn,
 *   each twice in a row: 19 samples (fewer beyond 400 ms), no checks. A line "# done SWEEP PROBLEM"
 *   ends a problem; a problem that FILE has is skipped, so that the bench can be cut and started
 *   again.
 * bench_variance table FILE - standard deviations by what is between two values.
 *
 * The job's instances must lie in the cache (`ksweep build JOB --cache CACHE`). The first word of a
 * problem's name is its class. */
#include "analysis/learn/spans.h"
#include "build/build.h"
#include "record/statistic.h"
#include "tests/unit/worker_child.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_SAMPLES   19
#define N_INSTANCES 6
#define PAIRS_MAX   20000

static const struct ks_measure measure = { .warmup_ms = 2,
                                           .min_samples = 5,
                                           .max_samples = N_SAMPLES,
                                           .max_ms = 400,
                                           .cache = KS_CACHE_WARM,
                                           .kernel_timeout_ms = 20000 };

/* ---- measuring ---- */

struct bench {
    struct ks_grid grid;
    struct ks_build *build;
    struct child child;
    struct ks_record rec;
    FILE *out;
    uint32_t sweep, buffer;
    uint64_t worker_id;
};

static bool send_and_wait(struct bench *b, const struct ks_problem *p, uint32_t i_instance)
{
    const struct ks_artefact *a = ks_build_artefact(b->build, i_instance);
    struct ks_req_cell q = { .cell = { p->id, 1, 2 }, .attempt = 1 };
    struct ks_buf body = { 0 };

    snprintf(q.artefact, sizeof(q.artefact), "%s", a->path);
    snprintf(q.entry, sizeof(q.entry), "%s", a->entry);
    memcpy(q.digest, a->digest, sizeof(q.digest));
    ks_req_cell_encode(&q, &body);
    child_send(&b->child, KS_F_REQ_CELL, &body);
    ks_buf_release(&body);
    return child_record(&b->child, &b->rec) && b->rec.outcome == KS_O_OK;
}

static void put_value(struct bench *b, const struct ks_problem *p, uint32_t i_instance)
{
    double scratch[KS_SAMPLES_MAX];
    const struct ks_record *r = &b->rec;

    fprintf(b->out, "%.*s,%016llx.%u,%u,%llu,%u,%.4f", (int)strcspn(p->name, " "), p->name,
            (unsigned long long)p->id, i_instance, b->sweep, (unsigned long long)b->worker_id,
            b->buffer, (double)(r->started_ns / 1000000) / 1000);
    for (unsigned k = 0; k < KS_N_STATISTICS; k++)
        fprintf(b->out, ",%.3f", ks_statistic(r->sample_ns, r->n_samples, k, scratch));
    fprintf(b->out, "\n");
}

/* The first instances that run this problem, tried in a worker of their own. */
static uint32_t choose(struct bench *b, const struct ks_problem *p, uint32_t i_problem,
                       uint32_t *chosen)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->grid.n_instances && n < N_INSTANCES; i++)
        if (ks_build_artefact(b->build, i)->state == KS_ART_READY &&
            ks_grid_unsupported(&b->grid, i_problem, i) == NULL && send_and_wait(b, p, i))
            chosen[n++] = i;
    return n;
}

static void start(struct bench *b, const struct ks_problem *p)
{
    struct ks_req_setup s = { .backend = "host", .measure = measure };
    struct ks_ready ready;

    child_start(&b->child, -1);
    child_setup(&b->child, &s, &ready);
    child_problem(&b->child, p, 0);
}

/* SECONDS in one set of buffers. */
static void measure_buffer(struct bench *b, const struct ks_problem *p, const uint32_t *chosen,
                           uint32_t n, double seconds)
{
    uint64_t first = 0;

    do {
        for (uint32_t i = 0; i < 2 * n; i++) {
            if (!send_and_wait(b, p, chosen[i / 2]))
                continue;
            put_value(b, p, chosen[i / 2]);
            first = first ? first : b->rec.started_ns;
        }
    } while (first && (double)(b->rec.started_ns - first) < 1e9 * seconds);
}

static void measure_problem(struct bench *b, uint32_t i_problem, uint32_t n_workers,
                            uint32_t n_buffers, double seconds)
{
    const struct ks_problem p = ks_problem_table_get(&b->grid.problems, i_problem);
    uint32_t chosen[N_INSTANCES], n;

    start(b, &p);
    n = choose(b, &p, i_problem, chosen);
    child_end(&b->child, KS_WORKER_EXIT_OK);
    for (uint32_t w = 0; n > 0 && w < n_workers; w++) {
        start(b, &p);
        for (b->buffer = 0; b->buffer < n_buffers; b->buffer++) {
            if (b->buffer)
                child_problem(&b->child, &p, 0);
            b->worker_id = (uint64_t)b->child.pid << 32 | b->child.nonce.lo >> 32;
            measure_buffer(b, &p, chosen, n, seconds);
        }
        child_end(&b->child, KS_WORKER_EXIT_OK);
    }
    fprintf(b->out, "# done %u %016llx\n", b->sweep, (unsigned long long)p.id);
    fflush(b->out);
    fprintf(stderr, "bench_variance: sweep %u, '%s': %u instances\n", b->sweep, p.name, n);
}

static bool is_done(const char *path, uint32_t sweep, uint64_t problem)
{
    FILE *f = fopen(path, "r");
    char line[256], want[64];
    bool is_it = false;

    snprintf(want, sizeof(want), "# done %u %016llx\n", sweep, (unsigned long long)problem);
    while (f && !is_it && fgets(line, sizeof(line), f))
        is_it = strcmp(line, want) == 0;
    if (f)
        fclose(f);
    return is_it;
}

static int measure_all(char **argv, struct ks_err *err)
{
    static struct bench b;
    const struct ks_build_options o = { .cache_dir = argv[3] };
    struct ks_warden *w = NULL;
    int rc = ks_warden_start(&w, err);

    if (rc == 0)
        rc = ks_grid_load(argv[2], &b.grid, err);
    if (rc == 0)
        rc = ks_build_create(&b.grid, &o, w, &b.build, err);
    ks_warden_stop(w);
    if (rc < 0)
        return rc;
    b.sweep = (uint32_t)strtoul(argv[5], NULL, 0);
    b.out = fopen(argv[4], "a");
    if (!b.out)
        return ks_fail_path(err, "opening '%s'", argv[4]);
    for (uint32_t i = 0; i < b.grid.n_problems; i++)
        if (!is_done(argv[4], b.sweep, ks_problem_table_get(&b.grid.problems, i).id))
            measure_problem(&b, i, (uint32_t)strtoul(argv[6], NULL, 0),
                            (uint32_t)strtoul(argv[7], NULL, 0), strtod(argv[8], NULL));
    if (fclose(b.out) != 0)
        return ks_fail_path(err, "writing '%s'", argv[4]);
    return 0;
}

/* ---- the table ---- */

struct values {
    struct ks_moment *m;
    size_t n, cap;
    char (*cells)[64]; /* [n_cells] */
    uint32_t n_cells;
    uint64_t *workers; /* [n_workers] */
    uint32_t n_workers;
};

static uint32_t number_of_cell(struct values *v, const char *name)
{
    for (uint32_t i = 0; i < v->n_cells; i++)
        if (strcmp(v->cells[i], name) == 0)
            return i;
    v->cells = realloc(v->cells, (v->n_cells + 1) * sizeof(*v->cells));
    if (!v->cells)
        exit(1);
    snprintf(v->cells[v->n_cells], sizeof(v->cells[0]), "%s", name);
    return v->n_cells++;
}

static uint32_t number_of_worker(struct values *v, uint64_t id)
{
    for (uint32_t i = 0; i < v->n_workers; i++)
        if (v->workers[i] == id)
            return i;
    v->workers = realloc(v->workers, (v->n_workers + 1) * sizeof(*v->workers));
    if (!v->workers)
        exit(1);
    v->workers[v->n_workers] = id;
    return v->n_workers++;
}

static void put_moment(struct values *v, const char *line, const char *class, unsigned statistic)
{
    char name[32], cell[64];
    unsigned long long worker;
    struct ks_moment m;
    double x[KS_N_STATISTICS];

    if (sscanf(line, "%31[^,],%63[^,],%u,%llu,%u,%lf,%lf,%lf,%lf,%lf", name, cell, &m.sweep,
               &worker, &m.buffer, &m.at_s, &x[0], &x[1], &x[2], &x[3]) != 10 ||
        strcmp(name, class) != 0)
        return;
    if (v->n == v->cap) {
        v->cap = v->cap ? 2 * v->cap : 4096;
        v->m = realloc(v->m, v->cap * sizeof(*v->m));
        if (!v->m)
            exit(1);
    }
    m.cell = number_of_cell(v, cell);
    m.worker = number_of_worker(v, worker);
    m.value = log(x[statistic]);
    v->m[v->n++] = m;
}

static int by_cell(const void *x, const void *y)
{
    const struct ks_moment *a = x, *b = y;

    return (a->cell > b->cell) - (a->cell < b->cell);
}

static int print_class(const char *path, const char *class, unsigned statistic, struct ks_err *err)
{
    struct values v = { 0 };
    struct ks_spread_at s[KS_N_SPANS];
    char line[512];
    FILE *f = fopen(path, "r");
    int rc;

    if (!f)
        return ks_fail_path(err, "opening '%s'", path);
    while (fgets(line, sizeof(line), f))
        put_moment(&v, line, class, statistic);
    fclose(f);
    if (v.n > 0)
        qsort(v.m, v.n, sizeof(*v.m), by_cell);
    rc = ks_spans(v.m, v.n, PAIRS_MAX, s, err);
    for (unsigned k = 0; rc == 0 && k < KS_N_SPANS; k++) {
        if (s[k].n_cells == 0)
            continue;
        printf(
            "# %-8s %-8s %-14s %3zu cells %8zu pairs  typical %.3f %%  all %.3f %% [%.3f, %.3f]\n",
            class, ks_statistic_names[statistic], ks_span_names[k], s[k].n_cells, s[k].n_pairs,
            100 * s[k].typical, 100 * s[k].all, 100 * s[k].lo, 100 * s[k].hi);
        printf("%s.%s.%u %.6f\n", class, ks_statistic_names[statistic], k, s[k].typical);
    }
    free(v.m);
    free(v.cells);
    free(v.workers);
    return rc;
}

static int print_table(const char *path, struct ks_err *err)
{
    static const char *const classes[] = { "compute", "memory" };
    int rc = 0;

    for (int c = 0; c < 2; c++)
        for (unsigned k = 0; rc == 0 && k < KS_N_STATISTICS; k++)
            rc = print_class(path, classes[c], k, err);
    return rc;
}

int main(int argc, char **argv)
{
    struct ks_err err = { 0 };
    int rc;

    if (argc == 9 && strcmp(argv[1], "measure") == 0)
        rc = measure_all(argv, &err);
    else if (argc == 3 && strcmp(argv[1], "table") == 0)
        rc = print_table(argv[2], &err);
    else {
        fprintf(stderr,
                "usage: bench_variance measure JOB CACHE FILE SWEEP WORKERS BUFFERS SECONDS\n"
                "       bench_variance table FILE\n");
        return 2;
    }
    if (rc < 0)
        fprintf(stderr, "bench_variance: %s\n", err.text);
    return rc < 0;
}
