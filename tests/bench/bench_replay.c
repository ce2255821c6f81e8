/* SPDX-License-Identifier: MIT */
/* bench_replay.c RACES FILE|DIR... - races over recorded sweeps: round r of a race is what another
 * sweep has measured, so that nothing about noise is assumed. Each problem races again and again
 * with the sweeps in another order. Round 0 has all samples of its sweep; the two passes of a visit
 * have the first and the second half of theirs. The truth is the median of all samples of all
 * sweeps, those of the race included, so that the regret is a lower bound. Prints a table. */
#include "analysis/data/sweeps.h"
#include "base/hash.h"
#include "record/outcome.h"
#include "record/rounds.h"
#include "tests/bench/race_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASSES 2u

struct contest {                      /* instances of a problem that have a time in every sweep */
    const struct ks_sweep_round **at; /* [n][n_sweeps] */
    double *log_ns;                   /* [n] truth */
    uint32_t n;
};

struct replay {
    const struct ks_sweeps *s;
    struct contest *contests;
    size_t n_contests;
    double *x, *scratch;         /* samples of one instance */
    enum ks_statistic statistic; /* of the label */
};

static double statistic(struct replay *w, const float *ns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        w->x[i] = ns[i];
    return ks_statistic(w->x, n, w->statistic, w->scratch);
}

static double truth_of(struct replay *w, const struct ks_sweep_round *const *at)
{
    size_t n = 0;

    for (uint32_t k = 0; k < w->s->n_sweeps; k++)
        for (uint32_t i = 0; i < at[k]->n_samples; i++)
            w->x[n++] = w->s->ns[at[k]->first_sample + i];
    return log(ks_statistic(w->x, n, KS_STATISTIC_MEDIAN, w->scratch));
}

/* The rounds of one domain and problem. */
static int add_contest(struct replay *w, const struct ks_sweep_round *r, size_t n,
                       struct ks_err *err)
{
    struct contest *c = &w->contests[w->n_contests];
    uint32_t n_sweeps = w->s->n_sweeps;

    c->at = calloc(n + n_sweeps, sizeof(*c->at));
    c->log_ns = calloc(n, sizeof(*c->log_ns));
    if (!c->at || !c->log_ns)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rounds", n);
    for (size_t i = 0, end; i < n; i = end) {
        const struct ks_sweep_round **at = &c->at[(size_t)c->n * n_sweeps];
        uint32_t n_found = 0;

        for (end = i; end < n && r[end].instance == r[i].instance; end++)
            if (r[end].round == 0 && r[end].outcome == KS_O_OK && n_found < n_sweeps &&
                r[end].sweep == n_found)
                at[n_found++] = &r[end];
        if (n_found == n_sweeps && c->n < RACE_SIM_MAX)
            c->log_ns[c->n++] = truth_of(w, at);
    }
    w->n_contests += c->n > 1;
    if (c->n < 2) {
        free(c->at);
        free(c->log_ns);
        *c = (struct contest){ .n = 0 };
    }
    return 0;
}

static int replay_init(struct replay *w, const struct ks_sweeps *s, struct ks_err *err)
{
    int rc = 0;

    *w = (struct replay){ .s = s };
    w->contests = calloc(s->n_rounds + 1, sizeof(*w->contests));
    w->x = calloc(s->n_ns + 1, sizeof(*w->x));
    w->scratch = calloc(s->n_ns + 1, sizeof(*w->scratch));
    if (!w->contests || !w->x || !w->scratch)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rounds", s->n_rounds);
    rc = ks_sweeps_statistic(s, &w->statistic, err);
    for (size_t i = 0, end; rc == 0 && i < s->n_rounds; i = end) {
        for (end = i + 1; end < s->n_rounds && s->rounds[end].domain == s->rounds[i].domain &&
                          s->rounds[end].problem == s->rounds[i].problem;)
            end++;
        rc = add_contest(w, &s->rounds[i], end - i, err);
    }
    if (rc == 0 && (!w->n_contests || s->n_sweeps < 3))
        rc = ks_fail(err, KS_EINVAL,
                     "%u sweeps and %zu problems whose instances have times in all of them: give "
                     "three sweeps or more of the same job",
                     s->n_sweeps, w->n_contests);
    return rc;
}

static void replay_release(struct replay *w)
{
    for (size_t i = 0; w->contests && i < w->n_contests; i++) {
        free(w->contests[i].at);
        free(w->contests[i].log_ns);
    }
    free(w->contests);
    free(w->x);
    free(w->scratch);
}

/* One value of round 0, PASSES of each visit; sweeps in the order given. */
static void put_values(struct replay *w, const struct ks_sweep_round *const *at,
                       const uint32_t *order, double *out, bool *is_dirty)
{
    size_t n = 0;

    for (uint32_t k = 0; k < w->s->n_sweeps; k++) {
        const struct ks_sweep_round *r = at[order[k]];
        const float *ns = &w->s->ns[r->first_sample];
        uint32_t half = r->n_samples / 2;
        const uint32_t from[PASSES] = { 0, half }, to[PASSES] = { half, r->n_samples };

        for (uint32_t pass = 0; pass < (k ? PASSES : 1); pass++) {
            bool is_whole = k == 0 || half == 0;

            is_dirty[n] = !r->is_clean;
            out[n++] = is_whole ? statistic(w, ns, r->n_samples)
                                : statistic(w, ns + from[pass], to[pass] - from[pass]);
        }
    }
}

static void shuffle(uint32_t *order, uint32_t n, uint64_t *rng)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = (uint32_t)ks_rng_below(rng, i), swap = order[k];

        order[k] = order[i - 1];
        order[i - 1] = swap;
    }
}

static int race_contest(struct replay *w, const struct contest *c, uint64_t *rng, bool has_pilots,
                        struct ks_race_spread *pool, struct race_result *out, struct ks_err *err)
{
    static const struct race_noise none = { .name = "sweeps" };
    uint32_t n_sweeps = w->s->n_sweeps, n_values = 1 + (n_sweeps - 1) * PASSES;
    struct race_problem *p = calloc(1, sizeof(*p));
    double *values = calloc((size_t)c->n * n_values, sizeof(*values));
    bool *is_dirty = calloc((size_t)c->n * n_values, sizeof(*is_dirty));
    uint32_t *order = calloc(n_sweeps, sizeof(*order));
    struct ks_race_config config;
    int rc = p && values && is_dirty && order ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    ks_race_config_init(&config);
    config.over = KS_LABEL_OVER;
    config.passes = PASSES;
    config.max_rounds = n_sweeps < KS_RACE_ROUNDS_MAX ? n_sweeps : KS_RACE_ROUNDS_MAX;
    config.n_pilots = has_pilots ? 8 : 0;
    if (rc == 0) {
        *p = (struct race_problem){ .n = c->n,
                                    .samples = values,
                                    .is_dirty = is_dirty,
                                    .n_samples = n_values,
                                    .per_round = 1 };
        shuffle(order, n_sweeps, rng);
        memcpy(p->log_ns, c->log_ns, c->n * sizeof(*c->log_ns));
        for (uint32_t i = 0; i < c->n; i++)
            put_values(w, &c->at[(size_t)i * n_sweeps], order, &values[(size_t)i * n_values],
                       &is_dirty[(size_t)i * n_values]);
        rc = race_sim_run(p, &none, &config, rng, pool, out, err);
    }
    free(p);
    free(values);
    free(is_dirty);
    free(order);
    return rc;
}

static int replay(const struct ks_sweeps *s, uint32_t n, struct ks_err *err)
{
    struct race_table_row row = { .regret = calloc(n, sizeof(double)),
                                  .over = calloc(n, sizeof(double)) };
    struct ks_race_spread pool = { .paired = { .freedom = 0 } };
    struct replay w = { .n_contests = 0 };
    uint64_t rng = 15;
    int rc = row.regret && row.over ? replay_init(&w, s, err)
                                    : ks_fail(err, KS_ENOMEM, "out of memory for %u races", n);

    for (uint32_t i = 0; i < n && rc == 0; i++) {
        const bool is_first = i % RACES_A_DEVICE == 0;
        struct race_result r;

        if (is_first)
            pool = (struct ks_race_spread){ .paired = { .freedom = 0 } };
        rc = race_contest(&w, &w.contests[i % w.n_contests], &rng, is_first, &pool, &r, err);
        if (rc == 0)
            race_table_count(&row, &r);
    }
    if (rc == 0) {
        printf("# %u sweeps, %zu problems\n", s->n_sweeps, w.n_contests);
        race_table_head();
        race_table_print("sweeps", &row);
    }
    replay_release(&w);
    free(row.regret);
    free(row.over);
    return rc;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    struct ks_sweeps s = { .keeps_samples = true };
    struct ks_err err = { 0 };
    int rc = 0;

    if (n == 0 || argc < 3) {
        fprintf(stderr, "usage: bench_replay RACES FILE|DIR...\n");
        return 2;
    }
    for (int i = 2; rc == 0 && i < argc; i++)
        rc = ks_sweeps_load(&s, argv[i], &err);
    if (rc == 0) {
        ks_sweeps_sort(&s);
        rc = replay(&s, n, &err);
    }
    ks_sweeps_release(&s);
    if (rc < 0)
        fprintf(stderr, "bench_replay: %s\n", err.text);
    return rc < 0;
}
