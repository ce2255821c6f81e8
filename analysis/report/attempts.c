/* SPDX-License-Identifier: MIT */
/* attempts.c - where the time of a page's run went, and quantiles of the best instances' samples */
#include "analysis/report/page.h"
#include "base/order.h"
#include "record/stats.h"

#include <stdlib.h>
#include <string.h>

/* Times whose samples are kept: of so many problems, evenly chosen, so many of the fastest. */
enum { SAMPLED_PROBLEMS = 500, SAMPLED_TIMES = 3 };

const char *const ks_page_phases[] = {
    [KS_PP_INPUT] = "making inputs",       [KS_PP_REFERENCE] = "references",
    [KS_PP_LOAD] = "loading kernels",      [KS_PP_EXACT] = "exact check",
    [KS_PP_WARMUP] = "warming up",         [KS_PP_TIMING] = "taking samples",
    [KS_PP_TOLERANCE] = "tolerance check", [KS_PP_OTHER] = "other work of a cell",
};

static void add_attempt(struct ks_page *p, const struct ks_row *row)
{
    const uint64_t ns[] = { [KS_PP_INPUT] = row->input_ns,
                            [KS_PP_REFERENCE] = row->reference_ns,
                            [KS_PP_LOAD] = row->load_ns,
                            [KS_PP_EXACT] = row->exact_check_ns,
                            [KS_PP_WARMUP] = row->warmup_ns,
                            [KS_PP_TIMING] = row->timing_ns,
                            [KS_PP_TOLERANCE] = row->tolerance_check_ns };
    double wall_s = (double)row->wall_ns / 1e9, known_s = 0;

    p->n_attempts++;
    for (size_t i = 0; i < KS_PP_OTHER; i++) {
        p->phase_s[i] += (double)ns[i] / 1e9;
        known_s += (double)ns[i] / 1e9;
    }
    p->phase_s[KS_PP_OTHER] += wall_s > known_s ? wall_s - known_s : 0;
    if (row->role < sizeof(p->role_s) / sizeof(p->role_s[0]))
        p->role_s[row->role] += wall_s;
    if (row->role == KS_ROLE_CELL && row->round_index == 0 && !row->is_final)
        p->retried_s += wall_s;
}

static int add_attempts(struct ks_page *p, struct ks_err *err)
{
    struct ks_store_file *f = ks_view_file(p->view);
    uint64_t n = ks_store_info(f)->n_attempts;
    struct ks_row *row = malloc(sizeof(*row));
    int rc = row ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    for (uint64_t i = 0; rc == 0 && i < n; i++) {
        rc = ks_store_attempt(f, i, row, err);
        if (rc == 0)
            add_attempt(p, row);
    }
    free(row);
    return rc;
}

static void add_builds(struct ks_page *p)
{
    const struct ks_store_file *f = ks_view_file(p->view);

    for (uint32_t i = 0; i < ks_store_info(f)->n_kernels; i++) {
        const struct ks_kernel_row *k = ks_store_kernel(f, i);

        p->compile_s += k->is_cached ? 0 : (double)k->compile_ns / 1e9;
        p->n_cached += k->is_cached;
        p->n_compiled += !k->is_cached && k->compile_ns > 0;
    }
}

/* ---- samples ---- */

struct keep {
    struct ks_page_time **times; /* [n] by attempt_row */
    size_t n;
    float *ns;
    double *sorted;
    size_t cap;
};

static int by_row(const void *x, const void *y)
{
    const struct ks_page_time *const *a = x, *const *b = y;

    return ks_compare_u64((*a)->attempt_row, (*b)->attempt_row);
}

static int choose(struct ks_page *p, struct keep *k, struct ks_err *err)
{
    size_t step = p->n_problems / SAMPLED_PROBLEMS + 1;

    k->times = calloc(p->n_problems / step * SAMPLED_TIMES + SAMPLED_TIMES, sizeof(*k->times));
    if (!k->times)
        return ks_fail(err, KS_ENOMEM, "out of memory for samples");
    for (size_t i = 0; i < p->n_problems; i += step) {
        const struct ks_page_problem *q = &p->problems[i];

        for (size_t t = 0; t < q->n_times && t < SAMPLED_TIMES; t++)
            if (p->times[q->first_time + t].attempt_row <
                ks_store_info(ks_view_file(p->view))->n_attempts)
                k->times[k->n++] = &p->times[q->first_time + t];
    }
    qsort(k->times, k->n, sizeof(*k->times), by_row);
    p->samples = calloc(k->n + 1, KS_PAGE_SAMPLES * sizeof(*p->samples));
    return p->samples ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for samples");
}

static int reserve(struct keep *k, size_t n, struct ks_err *err)
{
    if (n <= k->cap)
        return 0;
    free(k->ns);
    free(k->sorted);
    k->ns = malloc(n * sizeof(*k->ns));
    k->sorted = malloc(n * sizeof(*k->sorted));
    k->cap = k->ns && k->sorted ? n : 0;
    return k->cap ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu samples", n);
}

/* All samples, or evenly spaced order statistics of them. */
static void keep_quantiles(struct ks_page *p, struct ks_page_time *t, const double *sorted,
                           size_t n)
{
    size_t kept = n < KS_PAGE_SAMPLES ? n : KS_PAGE_SAMPLES;

    t->first_sample = p->n_samples;
    t->n_samples = kept;
    for (size_t i = 0; i < kept; i++)
        p->samples[p->n_samples++] = (float)sorted[kept > 1 ? i * (n - 1) / (kept - 1) : 0];
}

static int read_samples(struct ks_page *p, struct keep *k, struct ks_err *err)
{
    struct ks_store_file *f = ks_view_file(p->view);
    struct ks_row *row = malloc(sizeof(*row));
    int rc = row ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    for (size_t i = 0; rc == 0 && i < k->n; i++) {
        rc = ks_store_attempt(f, k->times[i]->attempt_row, row, err);
        if (rc < 0 || row->n_samples == 0 || row->n_samples > ks_store_info(f)->n_samples)
            continue;
        rc = reserve(k, row->n_samples, err);
        if (rc == 0)
            rc = ks_store_samples(f, row->sample_offset, row->n_samples, k->ns, err);
        for (uint32_t s = 0; rc == 0 && s < row->n_samples; s++)
            k->sorted[s] = (double)k->ns[s];
        if (rc < 0)
            break;
        ks_stats_sort(k->sorted, row->n_samples);
        keep_quantiles(p, k->times[i], k->sorted, row->n_samples);
    }
    free(row);
    return rc;
}

int ks_page_attempts(struct ks_page *p, struct ks_err *err)
{
    struct keep k = { .n = 0 };
    int rc = add_attempts(p, err);

    add_builds(p);
    if (rc == 0)
        rc = choose(p, &k, err);
    if (rc == 0)
        rc = read_samples(p, &k, err);
    free(k.times);
    free(k.ns);
    free(k.sorted);
    return rc;
}
