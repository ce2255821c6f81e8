/* SPDX-License-Identifier: MIT */
/* bench_repeat.c [--statistics] [--odd] FILE|DIR... - whether sweeps of the same thing name the
 * same winners: the yardstick (analysis/learn/yardstick.h), coverage of intervals, calibration of
 * the oracle. Lines "key value", and lines for people behind "# ". With --statistics every
 * statistic of the label, over rounds by median and minimum, and with two sweeps as two rounds.
 * With --odd only the problems of odd numbers, counted from 0: a method was chosen on the others.
 * */
#include "analysis/learn/held_out.h"
#include "record/rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN     0.005
#define MOST_TRAIN 3u /* sweeps that a label is made of */

struct label {
    unsigned statistic, over;
};

static void print_quantiles(const char *what, const char *which, const struct ks_quantiles *q)
{
    printf("# %-9s %-9s P50 %6.2f %%  P90 %6.2f %% [%.2f, %.2f]  P99 %6.2f %%  mean %6.3f %%\n",
           what, which, 100 * q->p50, 100 * q->p90, 100 * q->p90_lo, 100 * q->p90_hi, 100 * q->p99,
           100 * q->mean);
    printf("%s.%s.p90 %.6f\n%s.%s.p90_lo %.6f\n%s.%s.p90_hi %.6f\n%s.%s.p99 %.6f\n", which, what,
           q->p90, which, what, q->p90_lo, which, what, q->p90_hi, which, what, q->p99);
}

static int print_regret(const struct ks_sweeps *s, struct label l, struct ks_err *err)
{
    struct ks_yardstick_options o = {
        .statistic = l.statistic, .over = l.over, .n_a = 1, .n_c1 = s->n_sweeps > 3 ? 2 : 1
    };
    struct ks_yardstick y;
    int rc = 0;

    for (int m = 0; rc == 0 && m < 2; m++) {
        o.is_minimum = m == 1;
        rc = ks_yardstick_regret(s, &o, &y, err);
        if (rc < 0)
            break;
        if (m == 0)
            printf("# %zu problems: A %u, C1 %u, C2 %u sweeps; %zu regrets\n", y.n_problems, o.n_a,
                   o.n_c1, s->n_sweeps - o.n_a - o.n_c1, y.n_regrets);
        print_quantiles("regret", m ? "minimum" : "median", &y.regret);
        print_quantiles("floor", m ? "minimum" : "median", &y.floor);
    }
    return rc;
}

static int print_sweeps(const struct ks_sweeps *s, struct label l, struct ks_err *err)
{
    struct ks_agreement g;
    struct ks_cost cost;
    int rc = ks_yardstick_agreement(s, l.statistic, l.over, MARGIN, &g, err);

    if (rc == 0)
        rc = ks_yardstick_cost(s, &cost, err);
    if (rc < 0)
        return rc;
    printf(
        "# winners of two sweeps: the same in %.1f %%, or tied in one %.1f %%, in both %.1f %%\n",
        100 * g.same, 100 * g.tied, 100 * g.tied_both);
    printf("same %.4f\ntied %.4f\ntied_both %.4f\n", g.same, g.tied, g.tied_both);
    printf("# kernel time %.3f of round 0, %.3f of ten rounds; the label has %.2f rounds\n",
           cost.over_first, cost.over_ten, cost.rounds_of_label);
    printf("over_first %.4f\nover_ten %.4f\nlabel_rounds %.3f\n", cost.over_first, cost.over_ten,
           cost.rounds_of_label);
    return 0;
}

static void print_covered(const char *what, const char *key, const struct ks_coverage *c)
{
    if (c->n == 0)
        return;
    printf("# labels %s: %zu, the next sweep's within the 95 %% interval %.3f, promised %.3f; "
           "half-width %.2f %%\n",
           what, c->n, c->seen, c->promised, 100 * c->half_width);
    printf("coverage.%s.n %zu\ncoverage.%s.seen %.4f\ncoverage.%s.promised %.4f\n"
           "coverage.%s.half_width %.6f\n",
           key, c->n, key, c->seen, key, c->promised, key, c->half_width);
}

static void print_coverages(uint32_t n_train, const struct ks_coverages *c)
{
    static const char *const rounds[] = { "1", "2", "3-5", "6+" };
    static const char *const classes[] = { "near the best", "10 to 35 % slower", "slower" };
    static const char *const class_keys[] = { "near", "middle", "far" };
    static const char *const times[] = { "the shortest third", "the middle third",
                                         "the longest third" };
    static const char *const time_keys[] = { "short", "medium", "long" };
    char what[96], key[48], prefix[32] = "", of[32] = "";

    if (n_train > 1) {
        snprintf(prefix, sizeof(prefix), "sweeps%u.", n_train);
        snprintf(of, sizeof(of), "of %u sweeps, ", n_train);
    }
    for (uint32_t i = 0; i < KS_HELD_ROUNDS; i++) {
        snprintf(what, sizeof(what), "%sof %s rounds", of, rounds[i]);
        snprintf(key, sizeof(key), "%s%s", prefix, rounds[i]);
        print_covered(what, key, &c->rounds[i]);
    }
    for (uint32_t i = 0; i < KS_LABEL_CLASSES; i++) {
        snprintf(what, sizeof(what), "%s%s", of, classes[i]);
        snprintf(key, sizeof(key), "%s%s", prefix, class_keys[i]);
        print_covered(what, key, &c->class[i]);
    }
    for (uint32_t i = 0; i < KS_HELD_TIMES; i++) {
        snprintf(what, sizeof(what), "%s%s", of, times[i]);
        snprintf(key, sizeof(key), "%s%s", prefix, time_keys[i]);
        print_covered(what, key, &c->time[i]);
    }
}

static int print_coverage(const struct ks_sweeps *s, struct label l, struct ks_err *err)
{
    struct ks_coverages c;
    int rc = 0;

    for (uint32_t n = 1; rc == 0 && n <= MOST_TRAIN && n < s->n_sweeps; n++) {
        rc = ks_held_coverage(s, l.statistic, l.over, n, &c, err);
        if (rc == 0)
            print_coverages(n, &c);
    }
    return rc;
}

static void print_reliability(const char *what, const struct ks_reliability *r)
{
    for (uint32_t b = 0; b < KS_HELD_BINS; b++)
        if (r->n[b])
            printf("# chance %-5s <= %3.0f %%: %6zu, predicted %.3f, seen %.3f\n", what,
                   100 * ks_held_bin(b), r->n[b], r->predicted[b], r->seen[b]);
    printf("# Brier score of %s %.5f [%.5f, %.5f]\nbrier.%s %.6f\n", what, r->brier.mean,
           r->brier.mean_lo, r->brier.mean_hi, what, r->brier.mean);
}

static void print_regrets(const struct ks_calibration *c)
{
    static const char *const whats[KS_HELD_REGRETS] = {
        [KS_HELD_EXPECTED] = "expected",
        [KS_HELD_LEAST] = "seen, at least",
        [KS_HELD_MOST] = "seen, at most",
    };
    static const char *const keys[KS_HELD_REGRETS] = { [KS_HELD_EXPECTED] = "expected_regret",
                                                       [KS_HELD_LEAST] = "least_regret",
                                                       [KS_HELD_MOST] = "most_regret" };

    printf("# regret of %zu labels (%zu others have no time in one of the sweeps)\n", c->n_labels,
           c->n_not_held);
    for (unsigned k = 0; k < KS_HELD_REGRETS; k++) {
        const struct ks_quantiles *q = &c->regret[k];

        printf("# regret %-14s  mean %.3f %% [%.3f, %.3f]\n%s %.6f\n%s_lo %.6f\n%s_hi %.6f\n",
               whats[k], 100 * q->mean, 100 * q->mean_lo, 100 * q->mean_hi, keys[k], q->mean,
               keys[k], q->mean_lo, keys[k], q->mean_hi);
    }
}

static int print_calibration(const struct ks_sweeps *s, struct label l, struct ks_err *err)
{
    struct ks_calibration c;
    int rc = ks_held_calibration(s, l.statistic, l.over, 1, MARGIN, &c, err);

    if (rc < 0)
        return rc;
    printf("# oracle of %u sweep against %u held out\n", c.n_train, c.n_held);
    print_reliability("best", &c.best);
    print_reliability("near", &c.near);
    print_regrets(&c);
    return 0;
}

struct rank {
    struct label label;
    struct ks_yardstick y[2]; /* by medians, by minima */
};

static double worst_p90(const struct rank *r)
{
    return r->y[0].regret.p90 > r->y[1].regret.p90 ? r->y[0].regret.p90 : r->y[1].regret.p90;
}

static int by_regret(const void *x, const void *y)
{
    double a = worst_p90(x), b = worst_p90(y);

    return (a > b) - (a < b);
}

static void print_rank(const struct rank *r, uint32_t n_a)
{
    const char *statistic = ks_statistic_names[r->label.statistic];
    const char *over = ks_over_names[r->label.over];

    printf("# %u sweep%s  %-8s over rounds: %-8s", n_a, n_a > 1 ? "s" : " ", statistic, over);
    for (int m = 0; m < 2; m++) {
        const struct ks_quantiles *q = &r->y[m].regret;

        printf("  by %s P90 %5.2f %% [%.2f, %.2f] mean %6.3f %%", m ? "minima" : "medians",
               100 * q->p90, 100 * q->p90_lo, 100 * q->p90_hi, 100 * q->mean);
    }
    printf("\nstatistic.%u.%s.%s.p90 %.6f\n", n_a, statistic, over, worst_p90(r));
}

/* The statistics by the larger of their two P90; n_a sweeps stand for so many rounds. */
static int print_statistics(const struct ks_sweeps *s, uint32_t n_a, struct ks_err *err)
{
    struct rank ranks[KS_N_STATISTICS * KS_N_OVER];
    int rc = 0;

    for (unsigned k = 0; rc == 0 && k < KS_N_STATISTICS * KS_N_OVER; k++) {
        ranks[k].label = (struct label){ k / KS_N_OVER, k % KS_N_OVER };
        for (int m = 0; rc == 0 && m < 2; m++) {
            struct ks_yardstick_options o = { .statistic = ranks[k].label.statistic,
                                              .over = ranks[k].label.over,
                                              .n_a = n_a,
                                              .n_c1 = s->n_sweeps - n_a > 2 ? 2 : 1,
                                              .is_minimum = m == 1 };

            rc = ks_yardstick_regret(s, &o, &ranks[k].y[m], err);
        }
    }
    if (rc < 0)
        return rc;
    qsort(ranks, KS_N_STATISTICS * KS_N_OVER, sizeof(ranks[0]), by_regret);
    for (unsigned k = 0; k < KS_N_STATISTICS * KS_N_OVER; k++)
        print_rank(&ranks[k], n_a);
    return 0;
}

static int choice_of(const char *const *names, const char *variable, int usual)
{
    const char *text = getenv(variable);

    for (int i = 0; text && names[i]; i++)
        if (strcmp(names[i], text) == 0)
            return i;
    return usual;
}

static int report(const struct ks_sweeps *s, bool with_statistics, struct ks_err *err)
{
    struct label l = { (unsigned)choice_of(ks_statistic_names, "KSWEEP_REPEAT_STATISTIC", -1),
                       (unsigned)choice_of(ks_over_names, "KSWEEP_REPEAT_OVER", KS_LABEL_OVER) };
    enum ks_statistic usual;
    int rc = 0;

    if (l.statistic >= KS_N_STATISTICS) {
        rc = ks_sweeps_statistic(s, &usual, err);
        if (rc < 0)
            return ks_err_context(err, rc, "KSWEEP_REPEAT_STATISTIC is not set");
        l.statistic = usual;
    }
    printf("# label: %s of rounds, over rounds %s\nproblems %u\nsweeps %u\n",
           ks_statistic_names[l.statistic], ks_over_names[l.over], s->n_problems, s->n_sweeps);
    if (s->n_sweeps > 2)
        rc = print_regret(s, l, err);
    if (rc == 0)
        rc = print_sweeps(s, l, err);
    if (rc == 0)
        rc = print_coverage(s, l, err);
    if (rc == 0)
        rc = print_calibration(s, l, err);
    if (rc == 0 && with_statistics)
        rc = print_statistics(s, 1, err);
    if (rc == 0 && with_statistics && s->n_sweeps > 3)
        rc = print_statistics(s, 2, err);
    return rc;
}

static void keep_odd(struct ks_sweeps *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_rounds; i++)
        if (s->rounds[i].problem % 2 == 1)
            s->rounds[n++] = s->rounds[i];
    s->n_rounds = n;
}

int main(int argc, char **argv)
{
    struct ks_sweeps s = { .keeps_samples = true };
    struct ks_err err = { 0 };
    bool with_statistics = argc > 1 && strcmp(argv[1], "--statistics") == 0, is_odd;
    int rc = 0, first = 1 + with_statistics;

    is_odd = argc > first && strcmp(argv[first], "--odd") == 0;
    first += is_odd;
    if (argc <= first) {
        fprintf(stderr, "usage: bench_repeat [--statistics] [--odd] FILE|DIR...\n");
        return 2;
    }
    for (int i = first; rc == 0 && i < argc; i++)
        rc = ks_sweeps_load(&s, argv[i], &err);
    if (rc == 0) {
        ks_sweeps_sort(&s);
        if (is_odd)
            keep_odd(&s);
        rc = report(&s, with_statistics, &err);
    }
    ks_sweeps_release(&s);
    if (rc < 0)
        fprintf(stderr, "bench_repeat: %s\n", err.text);
    return rc < 0;
}
