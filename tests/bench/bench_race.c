/* SPDX-License-Identifier: MIT */
/* bench_race.c [RACES [SAMPLES.csv]] - races with planted noise, and with recorded samples: one
 * instance per line, its samples in the order they were taken. Prints a table. */
#include "base/hash.h"
#include "base/order.h"
#include "record/stats.h"
#include "tests/bench/race_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSTANCES   47
#define SAMPLES_MAX 64

static int race_planted(const struct race_noise *z, uint32_t n, struct race_table_row *row,
                        struct ks_err *err)
{
    struct race_problem *p = malloc(sizeof(*p));
    struct ks_race_spread pool = { .paired = { .freedom = 0 } };
    struct ks_race_config c;
    uint64_t rng = 14;
    int rc = p ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    ks_race_config_init(&c);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        struct race_result r;

        if (i % RACES_A_DEVICE == 0)
            pool = (struct ks_race_spread){ .paired = { .freedom = 0 } };
        c.n_pilots = i % RACES_A_DEVICE == 0 ? 8 : 0;
        race_sim_problem(&rng, INSTANCES, p);
        rc = race_sim_run(p, z, &c, &rng, &pool, &r, err);
        if (rc == 0)
            race_table_count(row, &r);
    }
    free(p);
    return rc;
}

/* Lines of numbers; truth is the median of all of an instance's samples. */
static int read_samples(const char *path, struct race_problem *p, double *samples,
                        struct ks_err *err)
{
    FILE *f = fopen(path, "r");
    char line[4096];

    if (!f)
        return ks_fail_path(err, "opening '%s'", path);
    *p = (struct race_problem){ .samples = samples };
    while (p->n < RACE_SIM_MAX && fgets(line, sizeof(line), f)) {
        double x[SAMPLES_MAX], *to = &samples[(size_t)p->n * p->n_samples];
        uint32_t n = 0;
        char *at = line, *end;

        for (; n < SAMPLES_MAX && (x[n] = strtod(at, &end), end != at); at = *end ? end + 1 : end)
            n++;
        if (p->n == 0)
            p->n_samples = n;
        if (n != p->n_samples || n < 9)
            break;
        memcpy(to, x, n * sizeof(*x));
        ks_stats_sort(x, n);
        p->log_ns[p->n++] = log((x[n / 2] + x[(n - 1) / 2]) / 2);
    }
    fclose(f);
    return p->n ? 0 : ks_fail(err, KS_EFORMAT, "'%s' holds no lines of samples", path);
}

/* Problems of 47 of the recording's n_from fastest instances, three samples per round. */
static int race_recorded(const struct race_problem *all, uint32_t n_from, uint32_t n,
                         struct race_table_row *row, struct ks_err *err)
{
    static const struct race_noise none = { .name = "recorded" };
    struct race_problem *p = malloc(sizeof(*p));
    double *x = malloc(sizeof(*x) * INSTANCES * SAMPLES_MAX);
    struct ks_race_spread pool = { .paired = { .freedom = 0 } };
    struct ks_race_config c;
    uint64_t rng = 4;
    int rc = p && x ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    ks_race_config_init(&c);
    c.passes = 1;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        struct race_result r;

        c.n_pilots = i == 0 ? 8 : 0;
        *p = (struct race_problem){
            .n = INSTANCES, .samples = x, .n_samples = all->n_samples, .per_round = 3
        };
        c.max_rounds = all->n_samples / p->per_round;
        for (uint32_t k = 0; k < INSTANCES; k++) {
            uint32_t from = (uint32_t)ks_rng_below(&rng, n_from);

            p->log_ns[k] = all->log_ns[from];
            memcpy(&x[(size_t)k * all->n_samples], &all->samples[(size_t)from * all->n_samples],
                   all->n_samples * sizeof(*x));
        }
        rc = race_sim_run(p, &none, &c, &rng, &pool, &r, err);
        if (rc == 0)
            race_table_count(row, &r);
    }
    free(p);
    free(x);
    return rc;
}

static int by_speed(const void *a, const void *b)
{
    return ks_compare_f64(**(const double *const *)a, **(const double *const *)b);
}

/* The instances by ascending truth, in new storage. */
static void sort_problem(struct race_problem *p, double *sorted)
{
    static const struct race_problem none = { .n = 0 };
    const double **at = malloc(sizeof(*at) * p->n);
    struct race_problem *q = malloc(sizeof(*q));

    if (at && q) {
        *q = none;
        for (uint32_t i = 0; i < p->n; i++)
            at[i] = &p->log_ns[i];
        qsort(at, p->n, sizeof(*at), by_speed);
        for (uint32_t i = 0; i < p->n; i++) {
            q->log_ns[i] = *at[i];
            memcpy(&sorted[(size_t)i * p->n_samples],
                   &p->samples[(size_t)(at[i] - p->log_ns) * p->n_samples],
                   p->n_samples * sizeof(double));
        }
        memcpy(p->log_ns, q->log_ns, sizeof(q->log_ns));
        p->samples = sorted;
    }
    free(at);
    free(q);
}

static int race_file(const char *path, uint32_t n, struct race_table_row *row, struct ks_err *err)
{
    struct race_problem *all = malloc(sizeof(*all));
    double *samples = malloc(sizeof(*samples) * 2 * RACE_SIM_MAX * SAMPLES_MAX);
    int rc = all && samples ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = read_samples(path, all, samples, err);
    for (uint32_t hard = 0; hard < 2 && rc == 0; hard++) {
        struct race_table_row one = *row;

        if (hard)
            sort_problem(all, &samples[RACE_SIM_MAX * SAMPLES_MAX]);
        rc = race_recorded(all, hard && all->n > 100 ? 100 : all->n, n, &one, err);
        if (rc == 0)
            race_table_print(hard ? "recorded_top" : "recorded", &one);
    }
    free(all);
    free(samples);
    return rc;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10000;
    double *regret = calloc(n ? n : 1, sizeof(*regret)), *over = calloc(n ? n : 1, sizeof(*over));
    double *plain = calloc(n ? n : 1, sizeof(*plain));
    struct ks_err err = { .code = 0 };
    int rc = n && regret && over && plain
                 ? 0
                 : ks_fail(&err, KS_EINVAL, "bench_race [RACES [SAMPLES.csv]]");

    race_table_head();
    for (size_t i = 0; i < race_n_noises && rc == 0; i++) {
        struct race_table_row row = { .regret = regret, .over = over, .plain = plain };

        rc = race_planted(&race_noises[i], n, &row, &err);
        if (rc == 0)
            race_table_print(race_noises[i].name, &row);
    }
    if (rc == 0 && argc > 2) {
        struct race_table_row row = { .regret = regret, .over = over };

        rc = race_file(argv[2], n, &row, &err);
    }
    free(regret);
    free(over);
    free(plain);
    if (rc < 0)
        fprintf(stderr, "bench_race: %s\n", err.text);
    return rc < 0;
}
