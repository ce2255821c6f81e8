/* SPDX-License-Identifier: MIT */
/* bench_checks.c JOB CACHE [RESTARTS [CELLS]] - whether the checks between samples change the times
 * they stand between: every cell of a job is measured in two workers, one that checks and one that
 * does not, in turn. The job's instances must lie in the cache (`ksweep build JOB --cache CACHE`).
 *
 * Pages lie elsewhere in each process, which moves times of kernels that fill a cache by up to 30
 * %, and noise makes times longer only: so each side's figure is the shortest median (and the
 * shortest sample) of CELLS cells (default 3) in each of RESTARTS pairs of processes (default 8).
 * CSV rows on stdout, then a "# " line with quantiles of the ratios. */
#include "build/build.h"
#include "record/stats.h"
#include "tests/unit/worker_child.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ks_measure measure = { .warmup_ms = 5,
                                           .min_samples = 5,
                                           .max_samples = 500,
                                           .max_ms = 50,
                                           .target_rse = 0.002,
                                           .cache = KS_CACHE_WARM,
                                           .verify_exact = 1,
                                           .kernel_timeout_ms = 20000 };

struct side {
    struct child child;
    double *median_ns, *min_ns; /* [n_instances]; infinite: none */
    double verify_ns, wall_ns;
};

struct bench {
    struct ks_grid grid;
    struct ks_build *build;
    struct side side[2]; /* without checks, with */
    struct ks_record rec;
    double *ratio[2]; /* [n_ratios] of medians, of shortest samples */
    uint32_t n_ratios, n_untrusted;
};

static void start(struct bench *b, int k, const struct ks_problem *p)
{
    struct ks_req_setup s = { .backend = "host", .measure = measure };
    struct ks_ready ready;

    s.measure.verify_elementwise = (uint32_t)k;
    child_start(&b->side[k].child, -1);
    child_setup(&b->side[k].child, &s, &ready);
    child_problem(&b->side[k].child, p, 0);
}

static void send_cell(struct bench *b, int k, const struct ks_problem *p, uint32_t i_instance)
{
    const struct ks_artefact *a = ks_build_artefact(b->build, i_instance);
    struct ks_req_cell q = { .cell = { p->id, 1, 2 }, .attempt = 1 };
    struct ks_buf body = { 0 };

    snprintf(q.artefact, sizeof(q.artefact), "%s", a->path);
    snprintf(q.entry, sizeof(q.entry), "%s", a->entry);
    memcpy(q.digest, a->digest, sizeof(q.digest));
    ks_req_cell_encode(&q, &body);
    child_send(&b->side[k].child, KS_F_REQ_CELL, &body);
    ks_buf_release(&body);
}

/* false: the instance does not run this problem. */
static bool measure_one(struct bench *b, int k, const struct ks_problem *p, uint32_t i_instance)
{
    double scratch[KS_SAMPLES_MAX];
    struct side *s = &b->side[k];
    struct ks_record *r = &b->rec;
    struct ks_stats t;

    send_cell(b, k, p, i_instance);
    if (!child_record(&s->child, r)) {
        fprintf(stderr, "bench_checks: a worker died\n");
        exit(1);
    }
    b->n_untrusted += r->outcome == KS_O_UNTRUSTED;
    if (r->outcome != KS_O_OK)
        return r->outcome == KS_O_UNTRUSTED;
    ks_stats(r->sample_ns, r->n_samples, r->clock_resolution_ns, r->calls_per_sample, scratch, &t);
    s->median_ns[i_instance] = fmin(s->median_ns[i_instance], t.median);
    s->min_ns[i_instance] = fmin(s->min_ns[i_instance], t.min);
    s->verify_ns += (double)(r->exact_check_ns + r->tolerance_check_ns);
    s->wall_ns += (double)r->wall_ns;
    return true;
}

static void measure_all(struct bench *b, const struct ks_problem *p, uint32_t i_problem,
                        uint32_t n_cells)
{
    for (int k = 0; k < 2; k++)
        start(b, k, p);
    for (uint32_t i = 0; i < b->grid.n_instances; i++) {
        bool runs = ks_build_artefact(b->build, i)->state == KS_ART_READY &&
                    ks_grid_unsupported(&b->grid, i_problem, i) == NULL;

        for (uint32_t n = 0; n < 2 * n_cells && runs; n++)
            runs = measure_one(b, (int)((n + n / 2) % 2), p, i); /* 0 1 1 0 .. */
    }
    for (int k = 0; k < 2; k++)
        child_end(&b->side[k].child, KS_WORKER_EXIT_OK);
}

static void forget(struct bench *b)
{
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < b->grid.n_instances; i++)
            b->side[k].median_ns[i] = b->side[k].min_ns[i] = INFINITY;
}

static void print_problem(struct bench *b, const struct ks_problem *p)
{
    const struct side *off = &b->side[0], *on = &b->side[1];

    for (uint32_t i = 0; i < b->grid.n_instances; i++) {
        if (isinf(off->median_ns[i]) || isinf(on->median_ns[i]))
            continue;
        b->ratio[0][b->n_ratios] = on->median_ns[i] / off->median_ns[i];
        b->ratio[1][b->n_ratios] = on->min_ns[i] / off->min_ns[i];
        printf("%016llx,%s,%.1f,%.4f,%.4f\n", (unsigned long long)p->id, b->grid.instances[i].name,
               off->median_ns[i], b->ratio[0][b->n_ratios], b->ratio[1][b->n_ratios]);
        b->n_ratios++;
    }
}

static void print_sum(struct bench *b)
{
    for (int k = 0; k < 2; k++)
        ks_stats_sort(b->ratio[k], b->n_ratios);
    printf("# checks cells %u median %.4f p10 %.4f p90 %.4f shortest %.4f untrusted %u "
           "verification %.4f\n",
           b->n_ratios, b->ratio[0][b->n_ratios / 2], b->ratio[0][b->n_ratios / 10],
           b->ratio[0][b->n_ratios * 9 / 10], b->ratio[1][b->n_ratios / 2], b->n_untrusted,
           b->side[1].verify_ns / b->side[1].wall_ns);
}

static int open_bench(struct bench *b, const char *job, const char *cache, struct ks_warden *w,
                      struct ks_err *err)
{
    const struct ks_build_options o = { .cache_dir = cache };
    int rc = ks_grid_load(job, &b->grid, err);
    size_t n;

    if (rc == 0)
        rc = ks_build_create(&b->grid, &o, w, &b->build, err);
    if (rc < 0)
        return rc;
    n = b->grid.n_instances;
    for (int k = 0; k < 2; k++) {
        b->side[k].median_ns = calloc(n, sizeof(double));
        b->side[k].min_ns = calloc(n, sizeof(double));
        b->ratio[k] = calloc(n * b->grid.n_problems + 1, sizeof(double));
        if (!b->side[k].median_ns || !b->side[k].min_ns || !b->ratio[k])
            return ks_fail(err, KS_ENOMEM, "out of memory");
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct ks_warden *w = NULL;
    struct ks_err err = { 0 };
    int rc;
    uint32_t n_restarts = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 8;
    uint32_t n_cells = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 3;

    if (argc < 3) {
        fprintf(stderr, "usage: bench_checks JOB CACHE [RESTARTS [CELLS]]\n");
        return 2;
    }
    rc = ks_warden_start(&w, &err);
    if (rc == 0)
        rc = open_bench(&b, argv[1], argv[2], w, &err);
    ks_warden_stop(w);
    if (rc < 0) {
        fprintf(stderr, "bench_checks: %s\n", err.text);
        return 1;
    }
    printf("problem,instance,median_ns,median_ratio,min_ratio\n");
    for (uint32_t i = 0; i < b.grid.n_problems; i++) {
        const struct ks_problem p = ks_problem_table_get(&b.grid.problems, i);

        forget(&b);
        for (uint32_t r = 0; r < n_restarts; r++)
            measure_all(&b, &p, i, n_cells);
        print_problem(&b, &p);
    }
    if (b.n_ratios > 0)
        print_sum(&b);
    return b.n_ratios > 0 ? 0 : 1;
}
