/* SPDX-License-Identifier: MIT */
/* bench_onednn.c JOB CACHE [MS] - the best instance of a job beside oneDNN, problem by problem, on
 * one thread: CSV rows on stdout, then "# " lines with geometric means. The job's instances must
 * lie in the cache (`ksweep build JOB --cache CACHE`). All applicable instances are tried, the
 * FINALISTS fastest then alternate with oneDNN for MS milliseconds a problem (default 400); speeds
 * are medians. A result that is not oneDNN's ends the bench with status 3. */
#include "tests/bench/onednn.h"

#include "base/clock.h"
#include "base/order.h"
#include "build/build.h"
#include "grid/problem_class.h"
#include "record/stats.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINALISTS  3u
#define ROUNDS     200u
#define ROUNDS_MIN 15u
#define SAMPLE_NS  500000.0 /* short calls are repeated to that */

struct runner {                       /* one side of the comparison: oneDNN, or an instance */
    const struct ks_abi_entry *entry; /* NULL: oneDNN */
    uint32_t i_instance;
    uint32_t calls, n;
    double best_ns;
    double sample_ns[ROUNDS]; /* [n] of one call */
};

struct contest { /* one problem */
    struct ks_problem p;
    struct ks_abi_problem q;
    struct ks_abi_buffers buf;
    struct ks_extents extents;
    struct peer *peer;
    struct runner *runners; /* [n_runners] */
    uint32_t n_runners;
};

struct class_mean {
    double sum_log, least;
    uint32_t n;
};

struct bench {
    struct ks_grid grid;
    struct ks_build *build;
    const struct ks_abi_entry **entries; /* [n_instances]; NULL: not built */
    double ms;
    struct class_mean classes[KS_N_PROBLEM_CLASSES], all;
    uint32_t n_without_peer, n_without_instance;
};

static int load_entries(struct bench *b, struct ks_err *err)
{
    b->entries = calloc(b->grid.n_instances, sizeof(struct ks_abi_entry *));
    if (!b->entries)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < b->grid.n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(b->build, i);
        const struct ks_abi_table *table;
        void *so;

        if (a->state == KS_ART_UNSUPPORTED)
            continue;
        if (a->state != KS_ART_READY)
            return ks_fail(err, KS_ENOENT, "'%s' is not in the cache: ksweep build first",
                           b->grid.instances[i].name);
        so = dlopen(a->path, RTLD_NOW | RTLD_LOCAL);
        table = so ? dlsym(so, KS_ABI_SYMBOL) : NULL;
        if (!table)
            return ks_fail(err, KS_EIO, "'%s': %s", a->path, dlerror());
        for (uint32_t k = 0; k < table->n_entries; k++)
            if (strcmp(table->entries[k].name, a->entry) == 0)
                b->entries[i] = &table->entries[k];
    }
    return 0;
}

static int allocate(size_t bytes, void **out, struct ks_err *err)
{
    *out = aligned_alloc(4096, (bytes + 4096) / 4096 * 4096);
    return *out ? 0 : ks_fail(err, KS_ENOMEM, "no memory for %zu bytes", bytes);
}

static int add_runner(struct contest *c, const struct ks_abi_entry *e, uint32_t i_instance,
                      struct ks_err *err)
{
    struct runner *more = realloc(c->runners, (c->n_runners + 1) * sizeof(*more));

    if (!more)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    c->runners = more;
    more[c->n_runners++] =
        (struct runner){ .entry = e, .i_instance = i_instance, .calls = 1, .best_ns = INFINITY };
    return 0;
}

/* The peer first, then every applicable instance; workspace for the largest. */
static int enter(struct bench *b, uint32_t i_problem, struct contest *c, struct ks_err *err)
{
    int64_t workspace = 0;
    int rc = add_runner(c, NULL, 0, err);

    for (uint32_t i = 0; rc == 0 && i < b->grid.n_instances; i++) {
        const struct ks_abi_entry *e = b->entries[i];

        if (!e || ks_grid_unsupported(&b->grid, i_problem, i) || e->unsupported(&c->q))
            continue;
        if (e->workspace_bytes(&c->q) > workspace)
            workspace = e->workspace_bytes(&c->q);
        rc = add_runner(c, e, i, err);
    }
    return rc < 0 ? rc : allocate((size_t)workspace, &c->buf.workspace, err);
}

static int open_contest(struct bench *b, uint32_t i_problem, struct contest *c, struct ks_err *err)
{
    const struct ks_problem p = ks_problem_table_get(&b->grid.problems, i_problem);
    size_t bytes = ks_dtype_bytes(p.dtype);
    void *x = NULL, *y = NULL;
    int rc;

    *c = (struct contest){ .p = p, .extents = ks_operators[p.op]->extents(&p) };
    ks_operators[p.op]->to_abi(&p, &c->q);
    rc = allocate((size_t)c->extents.a * bytes, &x, err);
    if (rc == 0)
        rc = allocate((size_t)c->extents.b * bytes, &y, err);
    if (rc == 0)
        rc = allocate((size_t)c->extents.c * bytes, &c->buf.c, err);
    c->buf.a = x;
    c->buf.b = y;
    if (rc < 0)
        return rc;
    ks_problem_inputs(&p, KS_DATA_RANDOM, 'a', x);
    ks_problem_inputs(&p, KS_DATA_RANDOM, 'b', y);
    rc = peer_create(&p, x, y, &c->peer, err);
    return rc < 0 ? rc : enter(b, i_problem, c, err);
}

static void close_contest(struct contest *c)
{
    peer_destroy(c->peer);
    free((void *)c->buf.a);
    free((void *)c->buf.b);
    free(c->buf.c);
    free(c->buf.workspace);
    free(c->runners);
}

static int call(struct contest *c, const struct runner *r, struct ks_err *err)
{
    int rc;

    if (!r->entry)
        return peer_run(c->peer, err);
    rc = r->entry->run(&c->q, &c->buf);
    return rc ? ks_fail(err, KS_EDEVICE, "%s returned %d", r->entry->name, rc) : 0;
}

/* Time of one call, of as many as the runner makes in a sample. */
static int sample(struct contest *c, const struct runner *r, double *ns_out, struct ks_err *err)
{
    uint64_t from = ks_now_ns();
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < r->calls; i++)
        rc = call(c, r, err);
    *ns_out = (double)(ks_now_ns() - from) / r->calls;
    return rc;
}

static int by_best(const void *a, const void *b)
{
    return ks_compare_f64(((const struct runner *)a)->best_ns, ((const struct runner *)b)->best_ns);
}

/* Tries everyone, keeps the fastest instances, settles how many calls make a sample. */
static int screen(struct contest *c, struct ks_err *err)
{
    for (uint32_t i = 0; i < c->n_runners; i++) {
        struct runner *r = &c->runners[i];

        for (int turn = 0; turn < 4; turn++) {
            double ns;
            int rc = sample(c, r, &ns, err);

            if (rc < 0)
                return rc;
            if (turn && ns < r->best_ns)
                r->best_ns = ns;
        }
    }
    qsort(c->runners + 1, c->n_runners - 1, sizeof(*c->runners), by_best);
    if (c->n_runners > 1 + FINALISTS)
        c->n_runners = 1 + FINALISTS;
    for (uint32_t i = 0; i < c->n_runners; i++)
        c->runners[i].calls = 1 + (uint32_t)(SAMPLE_NS / c->runners[i].best_ns);
    return 0;
}

static int alternate(const struct bench *b, struct contest *c, struct ks_err *err)
{
    uint64_t from = ks_now_ns();

    for (uint32_t n = 0; n < ROUNDS; n++) {
        if (n >= ROUNDS_MIN && (double)(ks_now_ns() - from) > b->ms * 1e6)
            break;
        for (uint32_t i = 0; i < c->n_runners; i++) {
            struct runner *r = &c->runners[i];
            int rc = sample(c, r, &r->sample_ns[r->n++], err);

            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

static double median(struct runner *r)
{
    ks_stats_sort(r->sample_ns, r->n);
    return r->sample_ns[r->n / 2];
}

/* Both computed the same: the difference is a small part of the result, in the 2-norm. */
static int compare(struct contest *c, const struct runner *r, struct ks_err *err)
{
    double diff = 0, norm = 0, limit = c->p.dtype == KS_FP32 ? 1e-5 : 1e-2;
    void *theirs;
    int rc = allocate((size_t)c->extents.c * ks_dtype_bytes(c->p.dtype), &theirs, err);

    if (rc < 0)
        return rc;
    rc = call(c, r, err);
    if (rc == 0)
        rc = peer_result(c->peer, theirs, err);
    for (int64_t i = 0; rc == 0 && i < c->extents.c; i++) {
        double x = ks_element_get(c->buf.c, i, c->p.dtype);
        double y = ks_element_get(theirs, i, c->p.dtype);

        diff += (x - y) * (x - y);
        norm += y * y;
    }
    free(theirs);
    if (rc == 0 && !(sqrt(diff) <= limit * sqrt(norm)))
        rc = ks_fail(err, KS_EDEVICE, "%s and oneDNN differ by %g of the result", r->entry->name,
                     sqrt(diff / norm));
    return rc;
}

static void add_to(struct class_mean *m, double ratio)
{
    m->sum_log += log(ratio);
    m->least = m->n == 0 || ratio < m->least ? ratio : m->least;
    m->n++;
}

static int finish(struct bench *b, struct contest *c, struct ks_err *err)
{
    double theirs = median(&c->runners[0]), ours = INFINITY, flops = ks_problem_flops(&c->p);
    struct runner *best = NULL;
    int rc;

    for (uint32_t i = 1; i < c->n_runners; i++) {
        double ns = median(&c->runners[i]);

        if (ns < ours)
            best = &c->runners[i], ours = ns;
    }
    if (!best) {
        printf("%s,%s,%.1f,,,,%s\n", ks_problem_class_name(ks_problem_class(&c->p)), c->p.name,
               flops / theirs, peer_implementation(c->peer));
        b->n_without_instance++;
        return 0;
    }
    rc = compare(c, best, err);
    if (rc < 0)
        return rc;
    printf("%s,%s,%.1f,%.1f,%.3f,%s,%s\n", ks_problem_class_name(ks_problem_class(&c->p)),
           c->p.name, flops / theirs, flops / ours, theirs / ours, best->entry->name,
           peer_implementation(c->peer));
    fflush(stdout);
    add_to(&b->classes[ks_problem_class(&c->p)], theirs / ours);
    add_to(&b->all, theirs / ours);
    return 0;
}

static int one_problem(struct bench *b, uint32_t i, struct ks_err *err)
{
    struct contest c;
    int rc = open_contest(b, i, &c, err);

    if (rc == KS_EUNSUPPORTED) {
        b->n_without_peer++;
        close_contest(&c);
        return 0;
    }
    if (rc == 0)
        rc = screen(&c, err);
    if (rc == 0)
        rc = alternate(b, &c, err);
    if (rc == 0)
        rc = finish(b, &c, err);
    close_contest(&c);
    return rc < 0 ? ks_err_context(err, rc, "%s", ks_problem_table_name(&b->grid.problems, i)) : 0;
}

static int run(struct bench *b, const char *job, const char *cache, struct ks_warden *w,
               struct ks_err *err)
{
    struct ks_build_options opt = { .cache_dir = cache };
    int rc = ks_grid_load(job, &b->grid, err);

    if (rc == 0)
        rc = ks_build_create(&b->grid, &opt, w, &b->build, err);
    if (rc == 0)
        rc = load_entries(b, err);
    if (rc == 0)
        printf("class,problem,onednn_gflops,ksweep_gflops,ratio,instance,implementation\n");
    for (uint32_t i = 0; rc == 0 && i < b->grid.n_problems; i++)
        rc = one_problem(b, i, err);
    return rc;
}

static void put_mean(const char *name, const struct class_mean *m)
{
    if (m->n)
        printf("# %s problems %u ratio %.3f least %.3f\n", name, m->n, exp(m->sum_log / m->n),
               m->least);
}

int main(int argc, char **argv)
{
    struct bench b = { .ms = argc > 3 ? strtod(argv[3], NULL) : 400 };
    struct ks_warden *w = NULL;
    struct ks_err err;
    const char *threads = getenv("OMP_NUM_THREADS");
    int rc;

    if (argc < 3 || !threads || strcmp(threads, "1") != 0) {
        fprintf(stderr, "usage: OMP_NUM_THREADS=1 bench_onednn JOB CACHE [MS]\n");
        return 2;
    }
    rc = ks_warden_start(&w, &err);
    if (rc == 0)
        rc = run(&b, argv[1], argv[2], w, &err);
    ks_warden_stop(w);
    if (rc < 0) {
        fprintf(stderr, "bench_onednn: %s\n", err.text);
        return 3;
    }
    for (uint32_t i = 0; i < KS_N_PROBLEM_CLASSES; i++)
        put_mean(ks_problem_class_name(i), &b.classes[i]);
    put_mean("all", &b.all);
    printf("# without_instance %u without_peer %u\n", b.n_without_instance, b.n_without_peer);
    ks_build_destroy(b.build);
    ks_grid_release(&b.grid);
    free(b.entries);
    return 0;
}
