/* SPDX-License-Identifier: MIT */
/* test_eta.c - the time left: recorded sweeps in virtual time, through the shared formula */
/* The sweeps are tests/data/progress (tests/tools/record_progress.py); they go through the
 * scheduler's cost model and the formula that log, status and plan share. */
#include "sched/cost.h"
#include "sched/eta.h"
#include "sched/sched_impl.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEMS = 256, EVENTS = 4096, RANKS = 8, TENTHS = 9 };

struct event {
    double at_s, wall_s;
    uint32_t rank, problem, n, n_timed;
    bool is_visit;
};
struct trace {
    const char *name;
    uint32_t n_problems, n_instances, n_devices, n_events;
    struct ks_job job;
    uint32_t n_settled[PROBLEMS]; /* cells of it that are refused before a worker has them */
    double cost_s[PROBLEMS], end_s, visits_end_s[PROBLEMS]; /* of a problem's last visit; 0: none */
    double first_s[PROBLEMS]; /* of its first visit, as round 0 lets expect; 0: it has none */
    struct event event[EVENTS];
};
struct replay {
    const struct trace *t;
    struct ks_sched *s;
    struct ks_eta eta;
    double last_s[RANKS], spent_s[PROBLEMS], done_s[PROBLEMS], guess_s;
    uint32_t next[PROBLEMS], n_raced, n_visits[PROBLEMS];
    double ratio[TENTHS];
    bool is_within[TENTHS]; /* the interval */
};

/* --- traces --- */

static bool take_measure(const char *line, struct ks_job *j)
{
    struct ks_job_measure *m = &j->measure;

    return sscanf(line, "measure %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %lf %" SCNu32,
                  &m->warmup_ms, &m->min_samples, &m->max_samples, &m->max_ms, &m->target_rse,
                  &m->min_sample_us) == 6;
}

static bool take_backend(const char *line, struct ks_job *j)
{
    char backend[16], arch[32];

    return sscanf(line, "backend %15s %31s", backend, arch) == 2 &&
           ks_job_choose(j, backend, arch, NULL) == 0;
}

static bool take_problem(const char *line, struct trace *t)
{
    double flops, bytes, width;

    if (sscanf(line, "problem %lf %lf %lf %" SCNu32, &flops, &bytes, &width,
               &t->n_settled[t->n_problems]) < 3)
        return false;
    assert_true(t->n_problems + 1 < PROBLEMS);
    t->cost_s[t->n_problems++] =
        ks_cost_work_s(&t->job, flops, bytes, width > 0 ? width : INFINITY);
    return true;
}

static bool take_contenders(const char *line, struct trace *t)
{
    uint32_t problem, n;
    double timing_ms;

    if (sscanf(line, "contenders %" SCNu32 " %" SCNu32 " %lf", &problem, &n, &timing_ms) != 3)
        return false;
    assert_true(problem < t->n_problems);
    t->first_s[problem] = ks_cost_visit_s(&t->job.measure, 2 * n, 2 * timing_ms * 1e-3);
    return true;
}

static bool take_event(const char *line, struct trace *t)
{
    struct event e = { .n = 0 };
    double at_ms = 0, wall_ms = 0;
    int n = sscanf(line, "cells %lf %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %lf", &at_ms,
                   &e.rank, &e.problem, &e.n, &e.n_timed, &wall_ms);

    if (n != 6) {
        e.is_visit = true;
        n = sscanf(line, "visit %lf %" SCNu32 " %" SCNu32 " %" SCNu32 " %lf", &at_ms, &e.rank,
                   &e.problem, &e.n, &wall_ms);
        if (n != 5)
            return false;
    }
    assert_true(t->n_events < EVENTS && e.rank < RANKS && e.problem < t->n_problems);
    e.at_s = at_ms * 1e-3;
    e.wall_s = wall_ms * 1e-3;
    if (e.is_visit && t->first_s[e.problem] <= 0) /* recorded without them */
        t->first_s[e.problem] = e.wall_s;
    if (e.is_visit)
        t->visits_end_s[e.problem] = e.at_s;
    t->event[t->n_events++] = e;
    return true;
}

static bool take_number(const char *line, struct trace *t)
{
    double end_ms;

    if (sscanf(line, "end %lf", &end_ms) == 1) {
        t->end_s = end_ms * 1e-3;
        return true;
    }
    return sscanf(line, "instances %" SCNu32, &t->n_instances) == 1 ||
           sscanf(line, "devices %" SCNu32, &t->n_devices) == 1 ||
           sscanf(line, "rounds %" SCNu32, &t->job.rounds.max) == 1;
}

static struct trace *read_trace(const char *name)
{
    struct trace *t = calloc(1, sizeof(*t));
    char path[1024], line[256];
    FILE *f;

    assert_non_null(t);
    t->name = name;
    snprintf(path, sizeof(path), KS_SOURCE_DIR "/tests/data/progress/%s.txt", name);
    f = fopen(path, "r");
    if (!f)
        fail_msg("%s", path);
    while (fgets(line, sizeof(line), f))
        if (line[0] != '#' && !take_event(line, t) && !take_problem(line, t) &&
            !take_contenders(line, t) && !take_measure(line, &t->job) &&
            !take_backend(line, &t->job) && !take_number(line, t))
            fail_msg("%s: %s", path, line);
    fclose(f);
    assert_true(t->n_events > 50 && t->end_s > 30);
    return t;
}

/* --- replay --- */

static enum ks_cell_state state_of(void *ctx, uint32_t i_problem, uint32_t i_instance)
{
    const struct replay *r = ctx;

    return i_instance < r->t->n_settled[i_problem] ? KS_CELL_SETTLED : KS_CELL_RUN;
}

static void begin(struct replay *r, const struct trace *t)
{
    uint64_t seed[PROBLEMS] = { 0 };
    struct ks_sched_config c = { .n_problems = t->n_problems,
                                 .n_instances = t->n_instances,
                                 .cost_s = t->cost_s,
                                 .seed = seed,
                                 .batch = 20,
                                 .cell_state = state_of,
                                 .ctx = r };

    *r = (struct replay){ .t = t };
    memcpy(r->next, t->n_settled, sizeof(r->next));
    assert_int_equal(ks_sched_create(&c, &r->s, NULL), 0);
    for (uint32_t i = 0; i < t->n_problems; i++)
        r->guess_s += ks_cost_visits_s(&t->job, t->cost_s[i]) / t->n_problems;
}

static void take_cells(struct replay *r, const struct event *e)
{
    r->done_s[e->problem] += e->wall_s;
    if (!ks_sched_is_begun(r->s, e->problem))
        assert_int_equal(ks_sched_open_problem(r->s, e->problem, NULL), 0);
    for (uint32_t k = 0; k < e->n && r->next[e->problem] < r->t->n_instances; k++)
        ks_sched_done(r->s, e->problem, r->next[e->problem]++, KS_NO_DEVICE,
                      k < e->n_timed ? e->wall_s / e->n_timed : 0);
}

static void take(struct replay *r, const struct event *e)
{
    ks_eta_took(&r->eta, e->at_s - r->last_s[e->rank], e->wall_s);
    r->last_s[e->rank] = e->at_s;
    if (!e->is_visit) {
        take_cells(r, e);
        return;
    }
    r->spent_s[e->problem] += e->wall_s;
    r->n_visits[e->problem]++;
    r->n_raced += e->at_s >= r->t->visits_end_s[e->problem];
}

/* Cells done of problems that are not complete. */
static double begun_s(const struct replay *r)
{
    double sum = 0;

    for (uint32_t i = 0; i < r->t->n_problems; i++)
        sum += ks_sched_is_complete(r->s, i) ? 0 : r->done_s[i];
    return sum;
}

/* What the coordinator knows of visits at that time. */
static struct ks_eta_visits visits_at(const struct replay *r, double now_s)
{
    const struct trace *t = r->t;
    struct ks_eta_visits v = { .guess = r->guess_s, .n_guess = ks_cost_n_visits(&t->job) };
    struct ks_sched_left left;

    ks_sched_left(r->s, &left);
    v.cells_s = left.done_s - begun_s(r);
    v.usual_cells_s = (left.cells_s + left.done_s) / t->n_problems;
    for (uint32_t i = 0; i < t->n_problems; i++) {
        const bool is_over = t->visits_end_s[i] <= now_s;

        if (!ks_sched_is_complete(r->s, i))
            continue;
        v.first += t->first_s[i];
        *(is_over ? &v.ended : &v.open) += r->spent_s[i];
        if (r->n_visits[i])
            *(is_over ? &v.ended_first : &v.open_first) += t->first_s[i];
    }
    return v;
}

static double visits_left_s(const struct replay *r, double now_s)
{
    const struct trace *t = r->t;
    const struct ks_eta_visits v = visits_at(r, now_s);
    struct ks_sched_left left;
    double sum;

    ks_sched_left(r->s, &left);
    sum = ks_eta_visits_of(&v, left.cells_s + begun_s(r));
    for (uint32_t i = 0; t->job.rounds.max > 1 && i < t->n_problems; i++) {
        const uint32_t n = r->n_visits[i];
        const double next_s = n ? r->spent_s[i] / n : t->first_s[i];

        if (ks_sched_is_complete(r->s, i) && t->visits_end_s[i] > now_s)
            sum += ks_eta_visits_left(&v, t->first_s[i], r->spent_s[i], next_s);
    }
    return sum;
}

static struct ks_eta_time left_at(const struct replay *r, double now_s)
{
    struct ks_eta_work w = { .n_devices = r->t->n_devices, .n_raced = r->n_raced };
    struct ks_sched_left left;

    ks_sched_left(r->s, &left);
    w.cells_s = left.cells_s;
    w.error = left.error;
    w.visits_s = visits_left_s(r, now_s);
    for (uint32_t i = 0; i < w.n_devices; i++)
        w.since_s += now_s - r->last_s[i];
    return ks_eta_left(&r->eta, &w);
}

static void run(struct replay *r, const struct trace *t)
{
    uint32_t k = 0;

    begin(r, t);
    for (int i = 0; i < TENTHS; i++) {
        double now_s = t->end_s * (i + 1) / (TENTHS + 1), true_s = t->end_s - now_s;
        struct ks_eta_time left;

        for (; k < t->n_events && t->event[k].at_s <= now_s; k++)
            take(r, &t->event[k]);
        left = left_at(r, now_s);
        r->ratio[i] = left.left_s / true_s;
        r->is_within[i] = left.low_s <= true_s && true_s <= left.high_s;
    }
    ks_sched_destroy(r->s);
}

static void test_recorded_sweeps(void **state)
{
    static const char *const names[] = { "one_rank", "two_ranks", "busy",      "visits",   "layers",
                                         "layers_2", "h100",      "h100_fast", "h100_last" };
    uint32_t n = 0, n_good = 0, n_within = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct trace *t = read_trace(names[i]);
        struct replay r;

        run(&r, t);
        for (int k = 0; k < TENTHS; k++, n++) {
            n_good += r.ratio[k] > 1 / 1.5 && r.ratio[k] < 1.5;
            n_within += r.is_within[k];
            print_message("%s %d0 %%: %.2f of the true time left%s\n", names[i], k + 1, r.ratio[k],
                          r.is_within[k] ? "" : ", outside its interval");
        }
        free(t);
    }
    print_message("%u of %u within a factor of 1.5, %u within their interval\n", n_good, n,
                  n_within);
    assert_true(n_good * 10 >= n * 9);
    assert_true(n_within * 10 >= n * 8);
}

/* --- the formula itself --- */

static void test_formula(void **state)
{
    static const struct {
        const char *what;
        struct ks_eta eta;
        struct ks_eta_work w;
        double want_s;
    } rows[] = {
        { "nothing to do", { 0, 0 }, { .n_devices = 2 }, 0 },
        { "before anything is known", { 0, 0 }, { .cells_s = 100, .n_devices = 1 }, 115 },
        { "twice what records say", { 2000, 1000 }, { .cells_s = 100, .n_devices = 1 }, 200 },
        { "on four devices", { 2000, 1000 }, { .cells_s = 100, .n_devices = 4 }, 50 },
        { "visits, too", { 1000, 1000 }, { .cells_s = 60, .visits_s = 40, .n_devices = 1 }, 100 },
        { "a part is in work",
          { 1000, 1000 },
          { .cells_s = 100, .since_s = 30, .n_devices = 1 },
          70 },
        { "silence is no work",
          { 1000, 1000 },
          { .cells_s = 100, .since_s = 1e9, .n_devices = 1 },
          25 },
        { "builds before",
          { 1000, 1000 },
          { .cells_s = 100, .builds_s = 50, .n_devices = 2 },
          100 },
        { "no device", { 1000, 1000 }, { .cells_s = 100 }, 100 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_eta_time t = ks_eta_left(&rows[i].eta, &rows[i].w);

        if (fabs(t.left_s - rows[i].want_s) > 0.01 * rows[i].want_s)
            fail_msg("%s: %g s", rows[i].what, t.left_s);
        assert_true(t.low_s <= t.left_s && t.left_s <= t.high_s);
    }
}

/* The more is known, the narrower. */
static void test_interval(void **state)
{
    struct ks_eta_work w = { .cells_s = 100, .error = 0.8, .n_devices = 1 };
    struct ks_eta_time first = ks_eta_left(&(struct ks_eta){ 0, 0 }, &w), late;

    (void)state;
    w.error = 0.05;
    late = ks_eta_left(&(struct ks_eta){ 1150, 1000 }, &w);
    assert_true(first.high_s / first.low_s > 4);
    assert_true(late.high_s / late.low_s < 1.5);
}

static void test_visits(void **state)
{
    /* a guess of 4 visits of 10 s each in problems of 20 s; 8 problems needed 30 s of visits each,
     * of which 15 were the first; of 10 others each needs one of 5 s at first, half have had two */
    struct ks_eta_visits v = { .guess = 40, .n_guess = 4, .usual_cells_s = 20 };
    const double eps = 1e-9;

    (void)state;
    assert_true(fabs(ks_eta_visits_of(&v, 20) - 40) < eps);
    assert_true(fabs(ks_eta_visits_of(&v, 5) - 10) < eps); /* a quarter of the cells */
    assert_true(fabs(ks_eta_visits_left(&v, 10, 0, 10) - 40) < eps);
    assert_true(fabs(ks_eta_visits_left(&v, 10, 35, 8) - 8) < eps); /* the next one at least */
    assert_true(fabs(ks_eta_visits_left(&v, 0, 1e9, 0)) < eps);     /* never negative */
    v.cells_s = 18 * 20;
    v.first = 8 * 15 + 10 * 5;
    v.ended = 8 * 30;
    v.ended_first = 8 * 15;
    v.open = 5 * 10;
    v.open_first = 5 * 5;
    /* (2 x 40 + 240 + 50) / (2 x 10 + 120 + 12.5) first visits, of (20 + 170) / 20 each */
    assert_true(fabs(ks_eta_visits_of(&v, 20) - 370 / 152.5 * 9.5) < eps);
    assert_true(fabs(ks_eta_visits_left(&v, 5, 0, 5) - 370 / 152.5 * 5) < eps);
    v = (struct ks_eta_visits){ .cells_s = 3 }; /* none asked for */
    assert_true(ks_eta_visits_of(&v, 9) <= 0 && ks_eta_visits_left(&v, 0, 0, 0) <= 0);
}

static void test_builds(void **state)
{
    (void)state;
    assert_true(ks_eta_builds_s(0, 0, 10, 4) <= 0);
    assert_true(ks_eta_builds_s(33, 33, 10, 4) <= 0);
    assert_true(fabs(ks_eta_builds_s(33, 11, 10, 4) - 20) < 1e-9); /* as fast as so far */
    assert_true(ks_eta_builds_s(33, 0, 0, 1) > 2 * ks_eta_builds_s(33, 0, 0, 4));
    assert_true(ks_eta_builds_s(33, 0, 1e6, 4) > 0); /* it has not ended yet */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_sweeps), cmocka_unit_test(test_formula),
        cmocka_unit_test(test_interval),        cmocka_unit_test(test_visits),
        cmocka_unit_test(test_builds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
