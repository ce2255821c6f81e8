/* SPDX-License-Identifier: MIT */
/* cmd_status.c - ksweep status: counts, remaining time and owner of a run, from its journal */
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd/cmd_util.h"
#include "cmd/program_results.h"
#include "cmd/status_file.h"
#include "cmd/status_watch.h"
#include "grid/job.h"
#include "journal/ledger.h"
#include "mpi/progress.h"
#include "sched/cost.h"
#include "json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config {
    bool json, exit_code, programs, watch;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "json", .type = KS_OPT_BOOL, .offset = AT(json), .def = "no", .help = "print JSON" },
    { .name = "exit-code",
      .type = KS_OPT_BOOL,
      .offset = AT(exit_code),
      .def = "no",
      .help = "exit with the run's exit status; 3 if status.json is missing or older than the "
              "journal" },
    { .name = "programs",
      .type = KS_OPT_BOOL,
      .offset = AT(programs),
      .def = "no",
      .help = "print the runs of programs as JSON: command, exit status, time, file of the output, "
              "and the success rate" },
    { .name = "watch",
      .letter = 'w',
      .type = KS_OPT_BOOL,
      .offset = AT(watch),
      .def = "no",
      .help = "follow a running sweep, with its devices and last failures, until it ends; on a "
              "terminal rewritten in place, else one line every 10 s" },
    KS_OPT_END
};
#undef AT

struct view {
    const char *dir;
    struct ks_ledger_counts n;
    uint64_t n_cells, n_pending;
    bool has_rounds;          /* the job asks for visits */
    uint64_t n_race_problems; /* whose visits have not ended */
    uint64_t n_remaining;     /* measurements: pending cells, and visits that are expected */
    uint32_t n_complete, n_partial, n_untouched;
    struct ks_journal_totals totals;
    struct ks_journal_owner owner;
    double rate;                 /* < 0: unknown */
    struct ks_progress progress; /* as rank 0 told last; left_s < 0: not known */
    bool has_progress;
    struct ks_run_result ended; /* what status.json says */
    const char *state, *lost_hosts;
};

static void count_problems(const struct ks_ledger *l, const struct ks_job_rec *job, struct view *v)
{
    for (size_t i = 0; i < ks_ledger_n_problems(l); i++) {
        const struct ks_ledger_problem *p = ks_ledger_problem(l, i);
        if ((uint64_t)p->n_final + p->n_absent >= job->n_instances)
            v->n_complete++;
        else if (p->n_touched)
            v->n_partial++;
    }
    uint64_t seen = v->n_complete + v->n_partial;
    v->n_untouched = job->n_problems > seen ? (uint32_t)(job->n_problems - seen) : 0;
}

/* Measurements in the visits of a problem before anything is known; 0: the job asks for none. As
 * the resolved job says; an older one says nothing. */
static double guess_visited(const char *text, uint32_t n_instances)
{
    struct ks_job *job = calloc(1, sizeof(*job));
    struct ks_err err;
    double n = 0;
    if (job && ks_job_parse_resolved(text, strlen(text), "job", job, &err) == 0)
        n = ks_cost_n_visited(job, n_instances);
    if (job)
        ks_job_release(job);
    free(job);
    return n;
}

static bool has_ended(const struct ks_ledger_problem *p)
{
    return p->race_stop && p->race_stop != KS_RACE_REC_CUT;
}

/* Measurements in the visits of a problem: what rank 0 expects, which has seen the times of round
 * 0; without that the mean of those whose visits have ended. */
static double mean_visited(const struct ks_ledger *l, const struct view *v, double guess)
{
    uint64_t n = 0, n_ended = 0;
    for (size_t i = 0; i < ks_ledger_n_problems(l); i++) {
        const struct ks_ledger_problem *p = ks_ledger_problem(l, i);
        n += has_ended(p) ? p->n_visit_records : 0;
        n_ended += has_ended(p);
    }
    if (v->has_progress && v->progress.visited_each >= 0)
        return v->progress.visited_each;
    return n_ended ? (double)n / (double)n_ended : guess;
}

/* Those that have cells to be measured, or times and no verdict. What a problem has had of its
 * visits no longer remains; one that has had more than others will need one more, at least. */
static void expect_visits(const struct ks_ledger *l, const struct ks_job_rec *job, double guess,
                          struct view *v)
{
    const double each = mean_visited(l, v, guess);
    double n = each * v->n_untouched;
    v->n_race_problems = v->n_untouched;
    for (size_t i = 0; i < ks_ledger_n_problems(l); i++) {
        const struct ks_ledger_problem *p = ks_ledger_problem(l, i);
        bool is_complete = (uint64_t)p->n_final + p->n_absent >= job->n_instances;
        if (is_complete ? p->n_ok == 0 || has_ended(p) : p->n_touched == 0)
            continue;
        v->n_race_problems++;
        n += fmax(each - (double)p->n_visit_records, 1);
    }
    v->n_remaining += (uint64_t)n;
}

static bool is_running(const struct view *v)
{
    return v->owner.is_alive && !v->owner.is_closed;
}

/* Of all records: pauses between the lives of the run count as time. */
static double rate_of_all(const struct ks_ledger_counts *n)
{
    double seconds = n->last_ns > n->first_ns ? (double)(n->last_ns - n->first_ns) * 1e-9 : 0;
    return seconds > 0 ? (double)n->n_final / seconds : -1;
}

/* What rank 0 told last. Older releases left nothing, and a run that has just been resumed has what
 * the life before it left. */
static void read_progress(struct view *v)
{
    v->has_progress = ks_progress_read(v->dir, &v->progress, NULL) == 0 &&
                      (!is_running(v) || v->progress.pid == v->owner.segment.pid);
}

/* Rank 0's own estimate and rate, the former less its age while it goes on. */
static void estimate(struct view *v)
{
    v->rate = v->has_progress && v->progress.rate > 0 ? v->progress.rate : rate_of_all(&v->n);
    if (!v->has_progress || !v->n_remaining)
        v->progress.left_s = -1;
    else if (is_running(v))
        ks_progress_age(&v->progress, ks_realtime_ns());
}

static int look(const char *dir, struct ks_ledger *l, struct view *v, struct ks_err *err)
{
    const char *text;
    const struct ks_job_rec *job = ks_ledger_job(l, &text);
    if (!job)
        return ks_fail(err, KS_EFORMAT, "'%s': the journal does not contain the job yet", dir);
    ks_ledger_counts(l, &v->n);
    v->n_cells = ks_job_rec_n_cells(job);
    v->n_pending = v->n_cells > v->n.n_final ? v->n_cells - v->n.n_final : 0;
    v->n_remaining = v->n_pending;
    count_problems(l, job, v);
    read_progress(v);
    const double guess = guess_visited(text, (uint32_t)job->n_instances);
    v->has_rounds = guess > 0;
    if (v->has_rounds)
        expect_visits(l, job, guess, v);
    estimate(v);
    ks_status_read(dir, &v->ended);
    v->lost_hosts = ks_ledger_lost_hosts(l);
    v->state =
        v->n_pending || v->ended.n_again || v->n_race_problems ? "stopped, resumable" : "complete";
    if (is_running(v))
        v->state = "running";
    return 0;
}

static void print_left(const struct view *v)
{
    struct ks_buf left;
    ks_buf_init(&left);
    ks_progress_put_left(&v->progress, &left);
    if (left.len && !is_running(v))
        ks_buf_printf(&left, " after a resume on %u device%s", v->progress.n_devices,
                      v->progress.n_devices == 1 ? "" : "s");
    ks_cmd_printf("%s", ks_buf_text(&left));
    ks_buf_release(&left);
}

static void print_state(const struct view *v)
{
    const struct ks_run_result *r = &v->ended;
    ks_cmd_printf("%s: %s", v->dir, v->state);
    if (!is_running(v)) { /* else it has no exit code yet */
        if (r->exit == KS_EXIT_LOOK && (ks_run_result_needs_look(r) || !r->gather_error[0]))
            ks_cmd_printf(", some cells need a look");
        if (r->gather_error[0])
            ks_cmd_printf(", gathering failed");
        ks_cmd_printf(" (exit %d)", r->exit);
    }
    ks_cmd_printf("\n");
}

static void print_gather_error(const struct view *v)
{
    struct ks_buf command;
    if (is_running(v) || !v->ended.gather_error[0])
        return;
    ks_buf_init(&command);
    ks_shell_words(&command, (const char *[]){ "ksweep", "gather", v->dir, NULL });
    ks_cmd_printf("results   %s; try again with: %s\n", v->ended.gather_error,
                  ks_buf_text(&command));
    ks_buf_release(&command);
}

static void print_text(const struct view *v)
{
    print_state(v);
    ks_cmd_printf("cells     %llu of %llu", (unsigned long long)v->n.n_final,
                  (unsigned long long)v->n_cells);
    if (v->rate > 0)
        ks_cmd_printf(", %.1f/s", v->rate);
    print_left(v);
    ks_cmd_printf("\nproblems  %u complete, %u partial, %u untouched\n", v->n_complete,
                  v->n_partial, v->n_untouched);
    if (v->has_rounds)
        ks_cmd_printf("visits    %llu problems settled, %llu cut short, %llu measurements; about "
                      "%llu measurements remain, cells included\n",
                      (unsigned long long)v->n.n_races, (unsigned long long)v->n.n_cut,
                      (unsigned long long)v->n.n_visit_records, (unsigned long long)v->n_remaining);
    for (uint32_t o = 1; o < KS_O_LIMIT; o++)
        if (v->n.outcome[o])
            ks_cmd_printf("  %-16s %llu\n", ks_outcome_text(o),
                          (unsigned long long)v->n.outcome[o]);
    if (v->n_pending)
        ks_cmd_printf("  %-16s %llu\n", "pending", (unsigned long long)v->n_pending);
    if (v->ended.n_again)
        ks_cmd_printf("again     %llu of these are still to be measured again\n",
                      (unsigned long long)v->ended.n_again);
    if (v->n.n_contaminated)
        ks_cmd_printf("contaminated %llu\n", (unsigned long long)v->n.n_contaminated);
    if (v->n.n_controls)
        ks_cmd_printf("controls  %llu aliases were measured for comparison\n",
                      (unsigned long long)v->n.n_controls);
    if (v->n.n_prune_controls)
        ks_cmd_printf("controls  %llu pruned cells were measured for comparison\n",
                      (unsigned long long)v->n.n_prune_controls);
    if (v->lost_hosts[0])
        ks_cmd_printf("lost      %s\n", v->lost_hosts);
    print_gather_error(v);
    ks_cmd_printf("journal   %u segments, %llu frames, %u damaged places, %u incomplete ends\n",
                  v->totals.n_segments, (unsigned long long)v->totals.n_frames,
                  v->totals.n_damaged_places, v->totals.n_torn_tails);
    if (!v->owner.is_closed)
        ks_cmd_printf("owner     pid %d on %s, %s\n", v->owner.segment.pid, v->owner.segment.host,
                      v->owner.is_alive ? "alive" : "gone");
}

static int print_json(const struct view *v, struct ks_err *err)
{
    struct ks_buf b;
    struct ks_jw w;
    ks_buf_init(&b);
    ks_jw_init(&w, &b, true);
    ks_jw_open(&w, NULL, '{');
    ks_jw_str(&w, "state", v->state);
    ks_jw_int(&w, "exit", v->ended.exit);
    ks_jw_u64(&w, "cells", v->n_cells);
    ks_jw_u64(&w, "done", v->n.n_final);
    ks_jw_u64(&w, "pending", v->n_pending);
    ks_jw_u64(&w, "again", v->ended.n_again);
    ks_jw_u64(&w, "remaining", v->n_remaining);
    if (v->has_rounds) {
        ks_jw_open(&w, "visits", '{');
        ks_jw_u64(&w, "settled", v->n.n_races);
        ks_jw_u64(&w, "cut", v->n.n_cut);
        ks_jw_u64(&w, "measurements", v->n.n_visit_records);
        ks_jw_close(&w, '}');
    }
    ks_jw_u64(&w, "contaminated", v->n.n_contaminated);
    ks_jw_u64(&w, "controls", v->n.n_controls);
    ks_jw_u64(&w, "prune_controls", v->n.n_prune_controls);
    ks_jw_open(&w, "problems", '{');
    ks_jw_u64(&w, "complete", v->n_complete);
    ks_jw_u64(&w, "partial", v->n_partial);
    ks_jw_u64(&w, "untouched", v->n_untouched);
    ks_jw_close(&w, '}');
    ks_jw_open(&w, "outcomes", '{');
    for (uint32_t o = 1; o < KS_O_LIMIT; o++)
        if (v->n.outcome[o])
            ks_jw_u64(&w, ks_outcome_text(o), v->n.outcome[o]);
    ks_jw_close(&w, '}');
    ks_jw_str(&w, "lost_hosts", v->lost_hosts);
    if (v->ended.gather_error[0])
        ks_jw_str(&w, "gather_error", v->ended.gather_error);
    ks_jw_u64(&w, "segments", v->totals.n_segments);
    ks_jw_u64(&w, "damaged_places", v->totals.n_damaged_places);
    ks_jw_u64(&w, "torn_tails", v->totals.n_torn_tails);
    if (v->rate > 0)
        ks_jw_real(&w, "cells_per_s", v->rate);
    if (v->progress.left_s >= 0) {
        ks_jw_real(&w, "eta_s", v->progress.left_s);
        ks_jw_real(&w, "eta_low_s", v->progress.low_s);
        ks_jw_real(&w, "eta_high_s", v->progress.high_s);
    }
    ks_jw_close(&w, '}');
    ks_buf_printf(&b, "\n");
    int rc = ks_emit(&b, NULL, err);
    ks_buf_release(&b);
    return rc;
}

static int show(const char *dir, bool is_json, struct ks_err *err)
{
    struct view v = { .dir = dir, .progress = { .left_s = -1 } };
    struct ks_ledger *l = NULL;
    char journal[1100];
    int rc = ks_path_is_dir(dir)
                 ? ks_path_join(journal, sizeof(journal), dir, "journal", err)
                 : ks_fail(err, KS_ENOENT, "'%s' is missing or not the directory of a run", dir);
    if (rc == 0)
        rc = ks_ledger_read(journal, &l, NULL, NULL, &v.totals, NULL, err);
    if (rc == 0)
        rc = ks_journal_owner(journal, &v.owner, err);
    if (rc == 0)
        rc = look(dir, l, &v, err);
    if (rc == 0 && is_json)
        rc = print_json(&v, err);
    else if (rc == 0)
        print_text(&v);
    ks_ledger_destroy(l);
    return rc;
}

static int show_programs(const char *dir, struct ks_err *err)
{
    struct ks_buf b;
    ks_buf_init(&b);
    int rc = ks_program_results(dir, &b, err);
    if (rc == 0)
        rc = ks_emit(&b, NULL, err);
    ks_buf_release(&b);
    return rc;
}

static int status(struct ks_call *call, struct ks_err *err)
{
    const struct config *c = call->cfg;
    const char *dir = call->operands[0];
    const int n_views = c->watch + c->json + c->programs;
    int rc = n_views > 1
                 ? ks_fail(err, KS_EINVAL, "give only one of --watch, --json and --programs")
                 : 0;

    if (rc == 0 && c->programs)
        rc = show_programs(dir, err);
    else if (rc == 0 && c->watch)
        rc = ks_status_watch(dir, err);
    if (rc == 0 && !c->programs && (c->watch || c->json || !c->exit_code))
        rc = show(dir, c->json, err);

    if (rc < 0)
        return rc;
    return c->exit_code ? ks_status_exit(dir) : KS_EXIT_OK;
}

const struct ks_command ks_cmd_status = {
    .name = "status",
    .summary = "Show the state of a run, live from its journal, or how it ended.",
    .usage = "status DIR [--watch | --json | --programs] [--exit-code]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 1,
    .run = status,
};
