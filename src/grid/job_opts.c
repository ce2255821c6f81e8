/* SPDX-License-Identifier: MIT */
/* job_opts.c - the sections of a job file as option tables, and defaults that depend on the job */
#include "grid/arch.h"
#include "grid/job_section.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ks_job_release(struct ks_job *job)
{
    for (uint32_t i = 0; job->problems && i < job->n_problems; i++)
        free(job->problems[i].exclude);
    free(job->problems);
    for (uint32_t i = 0; job->kernels && i < job->n_kernels; i++)
        free(job->kernels[i].program);
    free(job->kernels);
    *job = (struct ks_job){ .n_kernels = 0 };
}

const struct ks_backend *ks_job_backend(const struct ks_job *job)
{
    return &ks_backends[job->device.backend];
}

bool ks_job_is(const struct ks_job *job, uint32_t flags)
{
    return ks_backend_is(ks_job_backend(job), flags);
}

bool ks_job_is_gpu(const struct ks_job *job)
{
    return ks_job_is(job, KS_BACKEND_GPU);
}

bool ks_job_runs_programs(const struct ks_job *job)
{
    return job->n_kernels > 0 && job->kernels[0].program;
}

bool ks_job_compiles(const struct ks_job *job)
{
    return ks_job_is(job, KS_BACKEND_COMPILES) && !ks_job_runs_programs(job);
}

int ks_job_repeat(struct ks_job *job, uint32_t n, struct ks_err *err)
{
    if (!ks_job_runs_programs(job))
        return ks_fail(err, KS_EINVAL,
                       "--repeat is only for programs that time kernels themselves; the kernels of "
                       "this job are measured until measure.target_rse is reached");
    for (uint32_t i = 0; i < job->n_kernels; i++)
        job->kernels[i].program->repeat = n;
    return 0;
}

/* A worker's death makes suspects of all that it has measured, each of which runs again in a worker
 * of its own: that speaks for few. On a GPU a start costs as much as ten cells (runtime, context,
 * inputs and references on the device), and what kernels do wrong there is mostly the device's
 * fault, which makes nobody a suspect: more are right as long as less than one cell in a thousand
 * kills its worker and does not do so again when it is alone. */
enum { BATCH = 20, BATCH_GPU = 100 };

uint32_t ks_job_batch(const struct ks_job *job)
{
    if (ks_job_runs_programs(job))
        return 1; /* a process of its own per run */
    if (job->isolate.batch)
        return job->isolate.batch;
    return ks_job_is_gpu(job) ? BATCH_GPU : BATCH;
}

/* On an idle H100 one canary in twenty is 3 % slower than its baseline, one in a thousand 6 %. */
static const double canary_limit = 0.03, canary_limit_gpu = 0.10;

double ks_job_canary_limit(const struct ks_job *job)
{
    if (job->contention.canary > 0)
        return job->contention.canary;
    return ks_job_is_gpu(job) ? canary_limit_gpu : canary_limit;
}

/* The error names the option, not the key of a job file. */
static int choose_backend(struct ks_job_device *d, const char *backend, struct ks_err *err)
{
    char text[sizeof(err->text)];
    const int rc = ks_opt_set(ks_job_device_opts, d, "backend", backend, err);

    if (rc >= 0 || !err)
        return rc;
    memcpy(text, err->text, sizeof(text));
    return ks_fail(err, rc, "--%.500s", text);
}

int ks_job_choose(struct ks_job *job, const char *backend, const char *arch, struct ks_err *err)
{
    struct ks_job_device d = { .backend = job->device.backend };
    int rc = 0;

    snprintf(d.arch_text, sizeof d.arch_text, "%s", job->device.arch_text);
    if (backend)
        rc = choose_backend(&d, backend, err);
    if (rc == 0 && d.backend != job->device.backend)
        snprintf(d.arch_text, sizeof d.arch_text, KS_ARCH_NATIVE);
    if (rc == 0 && arch && strlen(arch) >= sizeof d.arch_text)
        rc =
            ks_fail(err, KS_EINVAL, "--arch is longer than %zu characters", sizeof d.arch_text - 1);
    if (rc == 0 && arch)
        snprintf(d.arch_text, sizeof d.arch_text, "%s", arch);
    if (rc < 0)
        return rc;
    job->device = d;
    job->device.arch = job->device.arch_text;
    return 0;
}

static const char *const caches[] = { "warm", "cold", NULL };

#define AT(member) offsetof(struct ks_job_measure, member)
const struct ks_opt ks_job_measure_opts[] = {
    { .name = "warmup_ms",
      .type = KS_OPT_U32,
      .offset = AT(warmup_ms),
      .def = "20",
      .min = 0,
      .max = 60000,
      .arg = "MS",
      .help = "run the kernel untimed for this long before its first sample; on a GPU until clock "
              "and times are flat, 2000 at most; 0: never" },
    { .name = "min_samples",
      .type = KS_OPT_U32,
      .offset = AT(min_samples),
      .def = "5",
      .min = 1,
      .max = 1000,
      .arg = "N",
      .help = "never stop a round before this many samples" },
    { .name = "max_samples",
      .type = KS_OPT_U32,
      .offset = AT(max_samples),
      .def = "200",
      .min = 1,
      .max = 1000,
      .arg = "N",
      .help = "stop a round at this many samples" },
    { .name = "target_rse",
      .type = KS_OPT_F64,
      .offset = AT(target_rse),
      .def = "0.005",
      .min = 0,
      .max = 1,
      .arg = "X",
      .help = "stop when the median's standard error is at most this part of it" },
    { .name = "max_ms",
      .type = KS_OPT_U32,
      .offset = AT(max_ms),
      .def = "500",
      .min = 1,
      .max = 3600000,
      .arg = "MS",
      .help = "stop a round when its samples took this long" },
    { .name = "cache",
      .type = KS_OPT_ENUM,
      .offset = AT(cache),
      .def = "warm",
      .choices = caches,
      .arg = "MODE",
      .help = "state of the caches before a sample: warm (operands touched) or cold (flushed)" },
    { .name = "racing",
      .type = KS_OPT_BOOL,
      .offset = AT(racing),
      .def = "no",
      .help = "of earlier versions: use rounds.max" },
    { .name = "min_sample_us",
      .type = KS_OPT_U32,
      .offset = AT(min_sample_us),
      .def = "0",
      .min = 0,
      .max = 1000000,
      .arg = "US",
      .help = "call the kernel several times per sample until it takes this long; 0 = what the "
              "clock needs" },
    { .name = "alias_control",
      .type = KS_OPT_F64,
      .offset = AT(alias_control),
      .def = "0.01",
      .min = 0,
      .max = 1,
      .arg = "X",
      .help = "share of the instances with another one's machine code that are measured all the "
              "same, to be compared with it; 1 = all" },
    KS_OPT_END
};
#undef AT

/* Rounds of a problem where the job does not say: 1 = off. */
#define ROUNDS_MAX "1"

#define AT(member) offsetof(struct ks_job_rounds, member)
const struct ks_opt ks_job_rounds_opts[] = {
    { .name = "max",
      .type = KS_OPT_U32,
      .offset = AT(max),
      .def = ROUNDS_MAX,
      .min = 1,
      .max = 64,
      .arg = "N",
      .help = "measure the instances that may be the best in at most this many rounds; 1 = only "
              "the first round, which has all instances" },
    { .name = "gap_s",
      .type = KS_OPT_U32,
      .offset = AT(gap_s),
      .def = "10",
      .min = 0,
      .max = 86400,
      .arg = "S",
      .help = "visit a problem again after this long at the earliest, while there is other work" },
    { .name = "alpha",
      .type = KS_OPT_F64,
      .offset = AT(alpha),
      .def = "0.05",
      .min = 0.000001,
      .max = 0.5,
      .arg = "X",
      .help = "probability per problem of dropping the best instance, at most" },
    { .name = "margin",
      .type = KS_OPT_F64,
      .offset = AT(margin),
      .def = "0.005",
      .min = 0,
      .max = 1,
      .arg = "X",
      .help = "instances within this part of the best one's time are tied" },
    { .name = "max_ms",
      .type = KS_OPT_U32,
      .offset = AT(max_ms),
      .def = "0",
      .min = 0,
      .max = 3600000,
      .arg = "MS",
      .help = "stop visiting a problem when its visits took this much kernel time; 0 = no limit" },
    KS_OPT_END
};
#undef AT

#define AT(member) offsetof(struct ks_job_contention, member)
const struct ks_opt ks_job_contention_opts[] = {
    { .name = "retries",
      .type = KS_OPT_U32,
      .offset = AT(retries),
      .def = "2",
      .min = 0,
      .max = 100,
      .arg = "N",
      .help = "measure a contaminated cell again at most this often" },
    { .name = "switches_per_s",
      .type = KS_OPT_F64,
      .offset = AT(switches_per_s),
      .def = "50",
      .min = 0,
      .max = 1e9,
      .arg = "X",
      .help = "involuntary context switches per second above the idle baseline" },
    { .name = "stolen",
      .type = KS_OPT_F64,
      .offset = AT(stolen),
      .def = "0.02",
      .min = 0,
      .max = 1,
      .arg = "X",
      .help = "part of the wall time during which the kernel did not run" },
    { .name = "canary",
      .type = KS_OPT_F64,
      .offset = AT(canary),
      .def = "0",
      .min = 0,
      .max = 100,
      .arg = "X",
      .help = "deviation of the canary loop from its baseline; 0 = 0.03 on the host, 0.10 on "
              "a GPU" },
    KS_OPT_END
};
#undef AT

const char *const ks_job_prunings[] = { "none", "spill", NULL };

#define AT(member) offsetof(struct ks_job_prune, member)
const struct ks_opt ks_job_prune_opts[] = {
    { .name = "by",
      .type = KS_OPT_ENUM,
      .offset = AT(by),
      .def = "none",
      .choices = ks_job_prunings,
      .arg = "WHAT",
      .help = "leave out instances whose code object says that they spill registers or use scratch "
              "memory (spill), or none" },
    { .name = "control",
      .type = KS_OPT_F64,
      .offset = AT(control),
      .def = "0.05",
      .min = 0,
      .max = 1,
      .arg = "X",
      .help = "share of the cells left out that are measured all the same; 1 = all" },
    KS_OPT_END
};
#undef AT

#define AT(member) offsetof(struct ks_job_isolate, member)
const struct ks_opt ks_job_isolate_opts[] = {
    { .name = "batch",
      .type = KS_OPT_U32,
      .offset = AT(batch),
      .def = "0",
      .min = 0,
      .max = 10000,
      .arg = "N",
      .help = "cells that one worker process measures before a fresh one takes over; 0 = 20, on a "
              "GPU 100" },
    { .name = "kernel_timeout_s",
      .type = KS_OPT_U32,
      .offset = AT(kernel_timeout_s),
      .def = "30",
      .min = 1,
      .max = 86400,
      .arg = "S",
      .help = "limit of one kernel call, of loading a kernel, and of its own test" },
    { .name = "retries",
      .type = KS_OPT_U32,
      .offset = AT(retries),
      .def = "1",
      .min = 0,
      .max = 100,
      .arg = "N",
      .help = "run a cell again after an abnormal end at most this often" },
    { .name = "memory_mib",
      .type = KS_OPT_U32,
      .offset = AT(memory_mib),
      .def = "4096",
      .min = 64,
      .max = 16777216,
      .arg = "MIB",
      .help = "address space of a worker" },
    KS_OPT_END
};
#undef AT

#define AT(member) offsetof(struct ks_job_verify, member)
const struct ks_opt ks_job_verify_opts[] = {
    { .name = "exact",
      .type = KS_OPT_BOOL,
      .offset = AT(exact),
      .def = "yes",
      .help = "compare one launch on exact data bit for bit" },
    { .name = "elementwise",
      .type = KS_OPT_BOOL,
      .offset = AT(elementwise),
      .def = "yes",
      .help = "compare every element of the last sample with the reference" },
    { .name = "judge",
      .type = KS_OPT_BOOL,
      .offset = AT(judge),
      .def = "yes",
      .help = "outputs of a GPU are compared where they are, by kernels that are proved first; no: "
              "by the host, which takes longer than most kernels" },
    KS_OPT_END
};
#undef AT

#define AT(member) offsetof(struct ks_job_device, member)
const struct ks_opt ks_job_device_opts[] = {
    { .name = "backend",
      .type = KS_OPT_ENUM,
      .offset = AT(backend),
      .def = "host",
      .choices = ks_backend_names,
      .arg = "NAME",
      .help = "what measures: host (this CPU), hip (AMD's GPUs, or the emulator), cuda (NVIDIA's "
              "GPUs), sim (virtual time, runs nothing)" },
    { .name = "arch",
      .type = KS_OPT_STR,
      .offset = AT(arch),
      .arg = "ARCH",
      .help =
          "what instances are built for and may need: native (default), for host x86-64, "
          "x86-64-v2, x86-64-v3, x86-64-v4, for hip gfx90a, gfx942, ... or emu, for cuda sm_80, "
          "sm_90, ..." },
    KS_OPT_END
};
#undef AT

const struct ks_job_section ks_job_sections[KS_JOB_N_SECTIONS] = {
    { "device", NULL, ks_job_device_opts, offsetof(struct ks_job, device), true },
    { "measure", NULL, ks_job_measure_opts, offsetof(struct ks_job, measure), true },
    { "rounds", "measure", ks_job_rounds_opts, offsetof(struct ks_job, rounds), false },
    { "contention", "measure", ks_job_contention_opts, offsetof(struct ks_job, contention), false },
    { "prune", NULL, ks_job_prune_opts, offsetof(struct ks_job, prune), false },
    { "isolate", NULL, ks_job_isolate_opts, offsetof(struct ks_job, isolate), false },
    { "verify", NULL, ks_job_verify_opts, offsetof(struct ks_job, verify), true },
};
