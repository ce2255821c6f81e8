/* SPDX-License-Identifier: MIT */
/* cost.c - guesses a cell's time and disk space from a roofline and the job's limits */
#include "sched/cost.h"

#include "grid/arch.h"

#include <math.h>

#define LEAST_TIMING_S   0.005 /* no cell stops sampling before */
#define USUAL_SPREAD     0.045 /* of samples, relative: decides when the interval is narrow enough */
#define NARROWNESS       1.3 /* exponent: rate of groups with fewer channels than lanes (measured) */
#define USUAL_SAMPLE_S   20e-6
#define VERIFY_CALLS     4 /* exact data twice, the poisoned sample, the pass that restores */
#define HANDLING_S       0.002
#define EXTRA_GPU_S      0.05 /* warm-up, telemetry, more launches to verify (measured on an H100) */
#define USUAL_VISITS     4    /* of a problem, and the instances in one */
#define USUAL_CONTENDERS 5
#define PASSES           2
#define ANCHORS          2
#define SUSPECT          1     /* attempt after the death of a worker that measured others, too */
#define RECORD_BYTES     700.0 /* with the cell's row in results.h5 */
#define SAMPLE_BYTES     11.0  /* 8 in the journal, about 3 compressed in results.h5 */

struct ks_cost_rates ks_cost_rates(const struct ks_job *job)
{
    if (ks_job_is_gpu(job) && ks_arch_is_emulator(job->device.arch_text))
        return (struct ks_cost_rates){ 0.2e9, 1e9, 1e-3, 1, 1, 0 };
    if (ks_job_is_gpu(job))
        return (struct ks_cost_rates){ 100e12, 1e12, 10e-6, 16, 1, EXTRA_GPU_S };
    return (struct ks_cost_rates){ 10e9, 10e9, 1e-6, 16, 6, 0 };
}

double ks_cost_call_s(const struct ks_cost_rates *r, double flops, double bytes)
{
    return fmax(flops / r->flops_per_s, bytes / r->bytes_per_s) + r->call_s;
}

static double sample_s(const struct ks_job_measure *m, double call_s)
{
    return fmax(call_s, m->min_sample_us > 0 ? m->min_sample_us * 1e-6 : USUAL_SAMPLE_S);
}

/* Until the interval is narrow enough, but within the job's limits. */
static double timing_s(const struct ks_job_measure *m, double call_s)
{
    double one_s = sample_s(m, call_s);
    double root = m->target_rse > 0 ? USUAL_SPREAD / m->target_rse : INFINITY;
    double wanted_s = one_s * root * root + LEAST_TIMING_S;
    double most_s = fmin(m->max_ms * 1e-3, one_s * m->max_samples);

    return fmax(fmin(wanted_s, most_s), one_s * m->min_samples);
}

double ks_cost_cell_s(const struct ks_job_measure *m, double call_s)
{
    return fmax(m->warmup_ms * 1e-3, call_s) + timing_s(m, call_s) + VERIFY_CALLS * call_s +
           HANDLING_S;
}

static double call_s(const struct ks_job *job, double flops, double bytes, double width)
{
    struct ks_cost_rates r = ks_cost_rates(job);

    r.flops_per_s *= r.wide * pow(fmin(width / r.lanes, 1), NARROWNESS);
    return ks_cost_call_s(&r, flops, bytes);
}

double ks_cost_work_s(const struct ks_job *job, double flops, double bytes, double width)
{
    return ks_cost_cell_s(&job->measure, call_s(job, flops, bytes, width)) +
           ks_cost_rates(job).extra_s;
}

double ks_cost_problem_s(const struct ks_job *job, const struct ks_problem *p)
{
    return ks_cost_work_s(job, ks_problem_flops(p), ks_problem_min_bytes(p),
                          (double)ks_problem_group_width(p));
}

double ks_cost_attempt_bytes(const struct ks_job *job, const struct ks_problem *p)
{
    const struct ks_job_measure *m = &job->measure;
    const double call = call_s(job, ks_problem_flops(p), ks_problem_min_bytes(p),
                               (double)ks_problem_group_width(p));

    return RECORD_BYTES + SAMPLE_BYTES * timing_s(m, call) / sample_s(m, call);
}

double ks_cost_most_cell_bytes(const struct ks_job *job)
{
    const double n_first = 1.0 + job->isolate.retries + job->contention.retries + SUSPECT;
    const double n_visits = job->rounds.max > 1 ? job->rounds.max - 1 : 0;

    return (n_first + n_visits * PASSES) * (RECORD_BYTES + SAMPLE_BYTES * job->measure.max_samples);
}

double ks_cost_visit_s(const struct ks_job_measure *m, uint32_t n_cells, double kernel_s)
{
    return n_cells * (m->warmup_ms * 1e-3 + HANDLING_S) + kernel_s;
}

double ks_cost_n_visits(const struct ks_job *job)
{
    return job->rounds.max > 1 ? fmin(job->rounds.max - 1, USUAL_VISITS) : 0;
}

double ks_cost_n_visited(const struct ks_job *job, uint32_t n_instances)
{
    return ks_cost_n_visits(job) * fmin(USUAL_CONTENDERS, n_instances) * PASSES;
}

double ks_cost_visits_s(const struct ks_job *job, double cell_s)
{
    const struct ks_job_rounds *r = &job->rounds;
    double n_visits = ks_cost_n_visits(job);
    double visits_s = n_visits * (USUAL_CONTENDERS * PASSES + ANCHORS) * cell_s;

    return r->max_ms > 0 ? fmin(visits_s, r->max_ms * 1e-3 + n_visits * ANCHORS * cell_s)
                         : visits_s;
}

/* A run of a program is silent until its record. */
static double program_s(const struct ks_job *job)
{
    uint32_t most_s = 0;

    for (uint32_t i = 0; i < job->n_kernels; i++)
        if (job->kernels[i].program->timeout_s > most_s)
            most_s = job->kernels[i].program->timeout_s;
    return most_s + KS_ALLOWANCE_S;
}

double ks_cost_silence_s(const struct ks_job *job)
{
    const struct ks_job_isolate *isolate = &job->isolate;
    const uint64_t cell_ns =
        ks_sampling_budget_ns(&job->measure.sampling, isolate->kernel_timeout_s * 1000);

    return (isolate->retries + 1.0) *
           (ks_job_runs_programs(job) ? program_s(job) : (double)cell_ns * 1e-9);
}
