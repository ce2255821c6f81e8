/* SPDX-License-Identifier: MIT */
/* sched_work.c - what there is to do in bench_sched: problems and cells drawn from a table of real
 * times, devices, and the lower bound. */
#include "base/hash.h"
#include "sched/cost.h"
#include "sched_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 64 }; /* of a tenth, at most */

static void fail(const char *what, const char *path)
{
    fprintf(stderr, "bench_sched: %s %s\n", what, path);
    exit(2);
}

/* Between the quantiles by the logarithm. */
static void fill(double *out, const double *q, const double *v, int n)
{
    int row = 0;
    for (int i = 0; i < DRAWS; i++) {
        double at = (i + 0.5) / DRAWS;
        while (row + 2 < n && q[row + 1] <= at)
            row++;
        double part = (at - q[row]) / (q[row + 1] - q[row]);
        out[i] = v[row] * pow(v[row + 1] / v[row], part);
    }
}

void costs_read(const char *path, struct costs *out)
{
    double q[TENTHS][ROWS], v[3][TENTHS][ROWS], row[4];
    int n[TENTHS] = { 0 }, t;
    char line[256];
    FILE *f = fopen(path, "r");
    if (!f)
        fail("cannot read", path);
    while (fgets(line, sizeof(line), f)) {
        int got = sscanf(line, "%d,%lf,%lf,%lf,%lf", &t, &row[0], &row[1], &row[2], &row[3]);
        if (got != 5 || t < 0 || t >= TENTHS || n[t] == ROWS)
            continue;
        q[t][n[t]] = row[0];
        for (int k = 0; k < 3; k++)
            v[k][t][n[t]] = row[k + 1];
        n[t]++;
    }
    fclose(f);
    for (t = 0; t < TENTHS; t++) {
        if (n[t] < 3)
            fail("no table in", path);
        fill(out->call_s[t], q[t], v[0][t], n[t]);
        fill(out->spread[t], q[t], v[1][t], n[t]);
        fill(out->residual[t], q[t], v[2][t], n[t]);
    }
}

static double draw(const double *table, uint64_t number)
{
    return table[number % DRAWS];
}

static double cell_s(const struct work *w, double call_s)
{
    return call_s > w->timeout_s ? w->timeout_s : ks_cost_cell_s(&w->measure, call_s);
}

double work_cell_s(const struct work *w, uint32_t i_problem, uint32_t i_instance)
{
    uint64_t n = ks_mix64(w->seed ^ ((uint64_t)i_problem << 32 | i_instance));
    return cell_s(w, w->call_s[i_problem] * draw(w->costs->spread[w->tenth[i_problem]], n >> 20));
}

double work_anchor_s(const struct work *w, uint32_t i_problem)
{
    return cell_s(w, w->call_s[i_problem]);
}

void work_make(struct work *w)
{
    uint64_t rng = w->seed;
    w->call_s = calloc(w->n_problems, sizeof(*w->call_s));
    w->prior_s = calloc(w->n_problems, sizeof(*w->prior_s));
    w->tenth = calloc(w->n_problems, 1);
    w->device = calloc(w->n_devices, sizeof(*w->device));
    if (!w->call_s || !w->prior_s || !w->tenth || !w->device)
        fail("no memory for", "problems");
    w->total_s = w->longest_s = 0;
    for (uint32_t i = 0; i < w->n_problems; i++) {
        uint8_t t = w->tenth[i] = (uint8_t)ks_rng_below(&rng, TENTHS);
        w->call_s[i] = draw(w->costs->call_s[t], ks_rng_next(&rng));
        double guess = w->call_s[i] / draw(w->costs->residual[t], ks_rng_next(&rng));
        w->prior_s[i] = ks_cost_cell_s(&w->measure, guess);
        for (uint32_t k = 0; k < w->n_instances; k++) {
            double s = work_cell_s(w, i, k);
            w->total_s += s;
            w->longest_s = fmax(w->longest_s, s);
        }
    }
    for (uint32_t i = 0; i < w->n_devices; i++)
        w->device[i] = (struct device_plan){ 1, INFINITY };
}

/* The first of a shuffled deck are slow, the last are lost. */
void work_faults(struct work *w, double share_slow, double slowness, double share_lost,
                 double span_s)
{
    uint64_t rng = ks_mix64(w->seed);
    uint32_t n = w->n_devices;
    uint32_t n_slow = (uint32_t)ceil(share_slow * n), n_lost = (uint32_t)ceil(share_lost * n);
    uint32_t *deck = calloc(n, sizeof(*deck));
    if (!deck)
        fail("no memory for", "devices");
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = (uint32_t)ks_rng_below(&rng, i + 1);
        deck[i] = deck[j];
        deck[j] = i;
    }
    for (uint32_t i = 0; i < n_slow; i++)
        w->device[deck[i]].slowness = slowness;
    for (uint32_t i = 0; i < n_lost; i++)
        w->device[deck[n - 1 - i]].lost_at = span_s * (double)(ks_rng_next(&rng) >> 11) * 0x1p-53;
    free(deck);
}

struct work work_usual(uint32_t n_devices, uint32_t problems_per_device, uint32_t n_instances,
                       bool has_faults, const struct costs *costs)
{
    struct work w = {
        .n_problems = n_devices * problems_per_device,
        .n_instances = n_instances,
        .n_devices = n_devices,
        .batch = 20,
        .seed = 1,
        .costs = costs,
        .measure = { .warmup_ms = 20, .min_samples = 5, .max_samples = 200, .max_ms = 500 },
        .timeout_s = 30,
        .overhead_s = 0.020,
        .latency_s = 0.005,
        .detection_s = 15,
    };
    work_make(&w);
    if (has_faults)
        work_faults(&w, 0.10, 1.5, 0.01, w.total_s / w.n_devices);
    return w;
}

void work_free(struct work *w)
{
    free(w->call_s);
    free(w->prior_s);
    free(w->tenth);
    free(w->device);
}

static double done_by(const struct work *w, double t)
{
    double sum = 0;
    for (uint32_t i = 0; i < w->n_devices; i++)
        sum += fmin(t, w->device[i].lost_at) / w->device[i].slowness;
    return sum;
}

double work_bound_s(const struct work *w, double lost_s)
{
    double low = 0, high = 4 * (w->total_s + lost_s);
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        *(done_by(w, middle) < w->total_s + lost_s ? &low : &high) = middle;
    }
    return fmax(high, w->longest_s); /* most devices are usual ones */
}
