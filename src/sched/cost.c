/* SPDX-License-Identifier: MIT */
#include "sched/cost.h"

#include "grid/arch.h"

#include <math.h>

#define LEAST_TIMING_S   0.010 /* no cell stops sampling before */
#define USUAL_CALLS      30    /* after so many the interval is usually narrow enough */
#define USUAL_SAMPLE_S   20e-6
#define VERIFY_CALLS     4 /* exact data twice, the poisoned sample, the pass that restores */
#define HANDLING_S       0.002
#define USUAL_VISITS     3 /* of a problem, and the instances in one */
#define USUAL_CONTENDERS 4
#define PASSES           2
#define ANCHORS          2
#define CALLS_EXTRA      6  /* beside the samples, as the worker's own deadline has them */
#define ALLOWANCE_S      10 /* likewise, for everything that is no call */

struct ks_cost_rates ks_cost_rates(const struct ks_job *job)
{
    if (ks_job_is_gpu(job) && ks_arch_is_emulator(job->device.arch_text))
        return (struct ks_cost_rates){ 0.2e9, 1e9, 1e-3 };
    if (ks_job_is_gpu(job))
        return (struct ks_cost_rates){ 10e12, 500e9, 10e-6 };
    return (struct ks_cost_rates){ 10e9, 10e9, 1e-6 };
}

double ks_cost_call_s(const struct ks_cost_rates *r, double flops, double bytes)
{
    return fmax(flops / r->flops_per_s, bytes / r->bytes_per_s) + r->call_s;
}

double ks_cost_cell_s(const struct ks_job_measure *m, double call_s)
{
    double sample_s = m->min_sample_us > 0 ? m->min_sample_us * 1e-6 : USUAL_SAMPLE_S;
    double timing =
        fmin(call_s * USUAL_CALLS + LEAST_TIMING_S, m->max_ms * 1e-3 + call_s * m->min_samples);
    timing = fmin(timing, fmax(call_s, sample_s) * m->max_samples);
    return m->warmup_ms * 1e-3 + timing + VERIFY_CALLS * call_s + HANDLING_S;
}

double ks_cost_visit_s(const struct ks_job_measure *m, uint32_t n_cells, double kernel_s)
{
    return n_cells * (m->warmup_ms * 1e-3 + HANDLING_S) + kernel_s;
}

double ks_cost_visits_s(const struct ks_job *job, double cell_s)
{
    const struct ks_job_rounds *r = &job->rounds;
    double n_visits = r->max > 1 ? fmin(r->max - 1, USUAL_VISITS) : 0;
    double visits_s = n_visits * (USUAL_CONTENDERS * PASSES + ANCHORS) * cell_s;

    return r->max_ms > 0 ? fmin(visits_s, r->max_ms * 1e-3 + n_visits * ANCHORS * cell_s)
                         : visits_s;
}

double ks_cost_silence_s(const struct ks_job_measure *m, const struct ks_job_isolate *isolate)
{
    double calls_s = (double)isolate->kernel_timeout_s * (m->min_samples + CALLS_EXTRA);
    double cell_s = calls_s + (m->warmup_ms + KS_WARM_FLAT_MAX_MS + m->max_ms) * 1e-3 + ALLOWANCE_S;
    return (isolate->retries + 1) * cell_s;
}
