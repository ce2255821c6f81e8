/* SPDX-License-Identifier: MIT */
/* measure.h - warm up, sample, stop. Time comes from the device only, so that a simulated device or
 * prescribed times drive every rule. */
#ifndef KS_WORKER_MEASURE_H
#define KS_WORKER_MEASURE_H

#include "device/device.h"
#include "record/record.h"
#include "record/request.h"
#include "worker/check_plan.h"
#include "worker/meter.h"

#include <stddef.h>
#include <stdint.h>

#define KS_SAMPLE_MIN_NS  20e3  /* shortest sample when the job names none */
#define KS_SAMPLE_TICKS   200.0 /* and in units of the clock's resolution */
#define KS_TIMED_MIN_NS   10e6  /* target_rse never stops before so much was sampled */
#define KS_CALLS_MAX      1000000u
#define KS_SAMPLES_FAILED 16u /* samples without a positive time before the cell fails */
/* Where a device has a queue, samples are asked for in chunks of about this length, so that it
 * never runs dry, and the stop rule and the deadline still hold; at most KS_CHUNK_MAX at once. */
#define KS_CHUNK_NS  4e6
#define KS_CHUNK_MAX 256u
/* It is flat when the medians of both halves of so many ns of chunks, at least so many of them,
 * agree to within so much or to within their noise, and so do those of its clock (where it is not measured, what the driver
 * says at the ends). A power cap takes tens of milliseconds to lower a clock. Until then, for
 * KS_WARM_FLAT_MAX_MS (base/sampling.h) at most. */
#define KS_FLAT_NS     50e6
#define KS_FLAT_CHUNKS 8u
/* Where the clock is measured a brief window is enough: what changes it later shows in the samples,
 * which are then taken again after a warm-up with a whole window (ks_meter_is_steady). */
#define KS_FLAT_BRIEF_NS 5e6
#define KS_FLAT          0.01
#define KS_LOOK_NS       100000000ull /* between two looks at the telemetry while timing */

/* What is done around samples (checks.h), outside of the timed spans. before() may leave a check
 * out only by failing. Both return 0; 1: the cell has ended; KS_E*. */
struct ks_check_hooks {
    int (*before)(void *ctx, const struct ks_check *c, struct ks_err *err);
    int (*after)(void *ctx, const struct ks_check *c, struct ks_err *err);
    void *ctx;
};

/* One instance on one problem, ready to be launched. Everything is borrowed. */
struct ks_run {
    struct ks_device *dev;
    const struct ks_abi_entry *entry;
    const struct ks_abi_problem *problem;
    struct ks_abi_buffers buf;
    double clock_ns;
    double call_ns; /* shortest call of the warm-up; 0 = not known */
    enum ks_warm_end warm_end;
    bool must_settle; /* a brief warm-up was not enough */
    /* Called around every chunk, outside the timed spans; expected_ns of all of it, 0 = not known.
     */
    void (*before)(void *ctx, double expected_ns);
    void (*after)(void *ctx);
    void *ctx;
    int kernel_rc; /* of a failed launch: what run() returned; KS_EDEVLOST: the runtime's error */

    struct ks_meter *meter; /* NULL: the clock is not measured */
    struct ks_plan *plan;   /* NULL: nothing is checked, and the hooks are not called */
    struct ks_check_hooks hooks;
    double checks_ns; /* that all checks took so far */
};

/* What a round adds to its record: what was done before each sample, and the samples of one call.
 */
struct ks_round {
    uint8_t kind[KS_SAMPLES_MAX]; /* enum ks_check_kind */
    uint32_t n_singles[KS_CHECK_KINDS];
    double single_ns[KS_CHECK_KINDS][KS_SINGLES_MAX]; /* the last ones, in any order */
};

/* ks_run_calls() - one timed launch of `calls` calls, with the hooks around it, unchecked.
 * *ns_out: time of all of them; may be <= 0 where a device's clock is bad. */
int ks_run_calls(struct ks_run *r, uint32_t calls, double expected_ns, double *ns_out,
                 struct ks_err *err);

/* Length a sample should have at least, ns. */
double ks_sample_target_ns(const struct ks_measure *m, double clock_ns);
/* Calls that make such a sample from calls of call_ns (> 0); 1 .. KS_CALLS_MAX. */
uint32_t ks_calls_per_sample(double call_ns, double target_ns);

/* Samples to ask for at once, when `room` more are wanted and one takes sample_ns with all that is
 * around it (0: not known). 1 .. room. */
uint32_t ks_chunk_samples(uint32_t queue, double sample_ns, uint32_t room);

/* ks_measure_warm() - run for warmup_ms and find how many calls make a sample; at least one call. A
 * device with a queue is warm as soon as its clock and its times are flat, after
 * KS_WARM_FLAT_MAX_MS (warmup_ms if that is more) at the latest; not at all if warmup_ms is 0. What
 * checks take is not counted. Sets r->call_ns and r->warm_end. Cold cache: *calls_out is 1. Returns
 * 0, 1 (a check has ended the cell), KS_E*. */
int ks_measure_warm(struct ks_run *r, const struct ks_measure *m, uint32_t *calls_out,
                    struct ks_err *err);

/* The stop rule, pure. */
struct ks_progress {
    uint32_t n;
    double sum_ns;     /* time spent inside samples */
    double elapsed_ns; /* since the first began: flushes included, checks not */
    double rse;        /* standard error of the median over the median; infinite = not known */
};
enum ks_stop ks_stop_rule(const struct ks_measure *m, const struct ks_progress *p);

/* ks_measure_samples() - one round. With a plan it goes on until all checks that a round has are
 * done, and has KS_LEAST_CHECKED samples if max_samples allows. Fills sample_ns, n_samples, calls,
 * clock_resolution_ns, clock_timed_mhz, stop_reason, verified_sample_ns, the noise counters and the
 * telemetry of *rec; on failure they hold what was measured until then, stop is KS_STOP_FAILED. A
 * verified sample whose time is <= 0 is dropped: its output is valid all the same. Returns as
 * ks_measure_warm(). */
int ks_measure_samples(struct ks_run *r, const struct ks_measure *m, uint32_t calls,
                       struct ks_round *round, struct ks_record *rec, struct ks_err *err);

#endif
