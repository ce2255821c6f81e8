/* SPDX-License-Identifier: MIT */
/* measure.h - warm up, sample, stop. Time comes from the device only, so that a simulated device or
 * prescribed times drive every rule. */
#ifndef KS_WORKER_MEASURE_H
#define KS_WORKER_MEASURE_H

#include "device/device.h"
#include "record/record.h"
#include "record/request.h"

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
/* It is steady when so many chunks of the warm-up agree to within so much, and its clock after the
 * last two of them does. */
#define KS_STEADY_CHUNKS 3u
#define KS_STEADY        0.01
#define KS_LOOK_NS       100000000ull /* between two looks at the telemetry while timing */

/* One instance on one problem, ready to be launched. Everything is borrowed. */
struct ks_run {
    struct ks_device *dev;
    const struct ks_abi_entry *entry;
    const struct ks_abi_problem *problem;
    struct ks_abi_buffers buf;
    size_t bytes_a, bytes_b, bytes_c;
    double clock_ns;
    double call_ns; /* shortest call of the warm-up; 0 = not known */
    /* Called around every chunk, outside the timed spans; expected_ns of all of it, 0 = not known.
     */
    void (*before)(void *ctx, double expected_ns);
    void (*after)(void *ctx);
    void *ctx;
    int kernel_rc; /* what run() returned when a launch failed with KS_EDEVICE; 0 = never */
};

/* ks_run_calls() - one timed launch of `calls` calls, with the hooks around it.
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
 * device with a queue is warm as soon as its clock and its times are steady, after warmup_ms at the
 * latest. Sets r->call_ns. Cold cache: *calls_out is 1. */
int ks_measure_warm(struct ks_run *r, const struct ks_measure *m, uint32_t *calls_out,
                    struct ks_err *err);

/* The stop rule, pure. n counts samples, a reserved one included. */
struct ks_progress {
    uint32_t n;
    double sum_ns;     /* time spent inside samples */
    double elapsed_ns; /* since the first began, flushes included */
    double rse;        /* standard error of the median over the median; infinite = not known */
};
enum ks_stop ks_stop_rule(const struct ks_measure *m, const struct ks_progress *p);

/* ks_measure_samples() - one round. Leaves room for a poisoned sample when has_poisoned (it counts
 * for min_samples and max_samples). Fills sample_ns, n_samples, calls, clock_ns, stop, the noise
 * counters and the telemetry of *rec; on failure they hold what was measured until then, stop is
 * KS_STOP_FAILED. */
int ks_measure_samples(struct ks_run *r, const struct ks_measure *m, uint32_t calls,
                       bool has_poisoned, struct ks_record *rec, struct ks_err *err);

/* ks_measure_poisoned() - the last sample, whose output is verified. The caller has poisoned the
 * output; the condition is restored, then the sample goes through the same path as the others. It
 * is appended, and sets KS_FL_POISON_EFFECT when ks_is_poison_effect says so. A time <= 0 is
 * dropped: the output is valid all the same. */
int ks_measure_poisoned(struct ks_run *r, const struct ks_measure *m, struct ks_record *rec,
                        struct ks_err *err);

/* Whether a sample differs from the median of n others by more than 3 MAD, where a MAD below 1 % of
 * the median or below the clock's resolution per call is not believed. */
bool ks_is_poison_effect(const double *others, size_t n, double sample_ns, double clock_ns,
                         uint32_t calls);

#endif
