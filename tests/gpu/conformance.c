/* SPDX-License-Identifier: MIT */
#include "tests/gpu/job.h"

#include "base/clock.h"
#include "device/device.h"
#include "record/stats.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIG_BYTES ((size_t)64 << 20)
#define N_SAMPLES 64u
#define N_CALLS   10u
#define MODULES   3u         /* instances whose kernels are launched */
#define WAKE_NS   500000000u /* an idle device takes its time until its clocks are up */

struct bench {
    const struct ks_device_ops *ops;
    struct ks_device *dev;
    struct ks_device_props props;
    unsigned n, n_bad;
};

__attribute__((format(printf, 3, 4))) static bool check(struct bench *b, bool is_good,
                                                        const char *fmt, ...)
{
    va_list ap;

    b->n++;
    b->n_bad += is_good ? 0 : 1;
    printf("%s %u - ", is_good ? "ok" : "not ok", b->n);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    return is_good;
}

static void check_identity(struct bench *b, const char *arch)
{
    struct ks_device_id ids[KS_DEVICES_MAX];
    struct ks_device_limits limits;
    struct ks_err err = { 0 };
    uint32_t n = 0;
    int rc = b->ops->list("", ids, &n, &err);

    check(b, rc == 0 && n > 0, "list: %u devices %s", n, rc < 0 ? err.text : "");
    rc = b->ops->props(b->dev, &b->props, &err);
    check(b, rc == 0, "props: %s", rc < 0 ? err.text : b->props.name);
    check(b, strcmp(b->props.arch, arch) == 0, "arch %s, asked for %s", b->props.arch, arch);
    check(b, b->props.unique[0] != '\0' && b->props.locator[0] != '\0', "identity %s at %s",
          b->props.unique, b->props.locator);
    check(b, b->props.memory_bytes > 0 && b->props.n_units > 0,
          "%.1f GiB, %u units, cache %.1f MiB", (double)b->props.memory_bytes / 0x1p30,
          b->props.n_units, (double)b->props.cache_bytes / 0x1p20);
    check(b, b->props.shared_bytes >= 32768 && b->props.wave > 0,
          "shared memory %.0f KiB, wave %u, driver %s", (double)b->props.shared_bytes / 1024,
          b->props.wave, b->props.driver);
    check(b, b->props.clock_ns > 0 && b->props.clock_ns < 1e5, "clock resolution %.1f ns",
          b->props.clock_ns);
    b->ops->limits(b->dev, &limits);
    check(b, limits.flops_per_s >= 0.0 && limits.n_levels <= KS_MEMORY_LEVELS,
          "at most %.0f TFLOP/s%s", 1e-12 * limits.flops_per_s,
          limits.n_levels == 0 ? ": not known of this architecture" : "");
}

static bool round_trip(struct bench *b, void *mem, size_t bytes)
{
    uint8_t *in = malloc(bytes), *out = malloc(bytes);
    bool is_good = in != NULL && out != NULL;

    for (size_t i = 0; is_good && i < bytes; i++)
        in[i] = (uint8_t)(i * 31 + (i >> 12) + bytes);
    is_good = is_good && b->ops->upload(b->dev, mem, in, bytes, NULL) == 0 &&
              b->ops->touch(b->dev, mem, bytes, NULL) == 0 &&
              b->ops->download(b->dev, out, mem, bytes, NULL) == 0 && memcmp(in, out, bytes) == 0;
    free(in);
    free(out);
    return is_good;
}

static bool fills(struct bench *b, void *mem, size_t words)
{
    uint32_t *out = calloc(words + 2, sizeof(*out));
    bool is_good = out != NULL;
    uint8_t *from = (uint8_t *)mem + sizeof(*out);

    is_good = is_good && b->ops->fill(b->dev, mem, 1u, (words + 2) * 4, NULL) == 0 &&
              b->ops->fill(b->dev, from, 0x04030201u, words * 4, NULL) == 0 &&
              b->ops->download(b->dev, out, mem, (words + 2) * 4, NULL) == 0;
    is_good = is_good && out[0] == 1 && out[words + 1] == 1;
    for (size_t i = 1; is_good && i <= words; i++)
        is_good = out[i] == 0x04030201u;
    free(out);
    return is_good;
}

static void check_memory(struct bench *b)
{
    static const size_t sizes[] = { 1, 5, 4096, 5001, BIG_BYTES };
    struct ks_err err = { 0 };
    void *mem = NULL, *none = NULL;

    if (!check(b, b->ops->alloc(b->dev, BIG_BYTES, &mem, &err) == 0, "alloc of %zu MiB %s",
               BIG_BYTES >> 20, err.text))
        return;
    check(b, (uintptr_t)mem % 4096 == 0, "its address is a multiple of 4096");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        check(b, round_trip(b, mem, sizes[i]), "%zu bytes there and back", sizes[i]);
    check(b, fills(b, mem, 1) && fills(b, mem, 100000), "fill stays within its bounds");
    check(b, b->ops->flush(b->dev, &err) == 0, "flush %s", err.text);
    b->ops->free(b->dev, mem);
    check(b,
          b->ops->alloc(b->dev, (size_t)b->props.memory_bytes * 2, &none, &err) == KS_EDEVMEM &&
              none == NULL,
          "twice its memory is refused: %s", err.text);
    check(b, b->ops->self_test(b->dev, &err) == 0, "it works on: self test %s",
          err.code == KS_EDEVMEM ? "" : err.text);
}

static int wake(struct bench *b)
{
    uint64_t until = ks_now_ns() + WAKE_NS;
    double ns;
    int rc = 0;

    while (rc == 0 && ks_now_ns() < until)
        rc = b->ops->canary(b->dev, &ns, NULL);
    return rc;
}

static void check_canary(struct bench *b)
{
    double ns[20], scratch[20];
    struct ks_telemetry t;
    struct ks_stats s;
    int rc = wake(b);

    for (int i = 0; rc == 0 && i < 20; i++)
        rc = b->ops->canary(b->dev, &ns[i], NULL);
    if (!check(b, rc == 0, "canary runs"))
        return;
    ks_stats(ns, 20, b->props.clock_ns, 1, scratch, &s);
    check(b, s.min > 0 && s.p90 < 3 * s.median, "canary: median %.1f us, p90 %.1f us",
          1e-3 * s.median, 1e-3 * s.p90);
    b->ops->telemetry(b->dev, &t);
    printf("# telemetry: clock %.0f MHz, memory %.0f MHz, %.0f W, %.0f C, throttle %lld, busy %.2f "
           "(-1: not told)\n",
           t.now.clock_mhz, t.now.memory_clock_mhz, t.now.power_w, t.now.temperature_c,
           (long long)t.throttle, t.now.busy);
}

/* ---- kernels ---- */

struct launch {
    const struct ks_abi_entry *entry;
    struct ks_abi_problem problem;
    struct ks_abi_buffers buf;
    void *mem[4]; /* a, b, c, workspace */
};

static bool open_launch(struct bench *b, const struct ks_problem *p, struct launch *l)
{
    struct ks_extents e = ks_operators[p->op]->extents(p);
    size_t element = ks_dtype_bytes(p->dtype);
    int64_t workspace;
    size_t bytes[4] = { (size_t)e.a * element, (size_t)e.b * element, (size_t)e.c * element, 0 };
    int rc = 0;

    ks_operators[p->op]->to_abi(p, &l->problem);
    if (l->entry->unsupported(&l->problem) != NULL)
        return false;
    workspace = l->entry->workspace_bytes(&l->problem);
    bytes[3] = workspace > 0 ? (size_t)workspace : 0;
    for (int i = 0; rc == 0 && i < 4; i++) {
        if (bytes[i] == 0)
            continue;
        bytes[i] = (bytes[i] + 3) / 4 * 4;
        rc = b->ops->alloc(b->dev, bytes[i], &l->mem[i], NULL);
        rc = rc == 0 ? b->ops->fill(b->dev, l->mem[i], 0x3c3c3c3cu, bytes[i], NULL) : rc;
    }
    l->buf = (struct ks_abi_buffers){
        .a = l->mem[0], .b = l->mem[1], .c = l->mem[2], .workspace = l->mem[3]
    };
    return check(b, rc == 0, "operands of %s", p->name);
}

static void close_launch(struct bench *b, struct launch *l)
{
    for (int i = 0; i < 4; i++)
        b->ops->free(b->dev, l->mem[i]);
}

/* Median of n samples, per call; infinite when one of them is no time. */
static double median_of(struct bench *b, const struct launch *l, uint32_t n, uint32_t calls,
                        bool is_cold, struct ks_err *err)
{
    struct ks_timing t = { .entry = l->entry,
                           .problem = &l->problem,
                           .buf = &l->buf,
                           .calls = calls,
                           .n_samples = n,
                           .is_cold = is_cold };
    double ns[N_SAMPLES], scratch[N_SAMPLES];
    struct ks_stats s;
    int kernel_rc = 0;

    if (b->ops->time_samples(b->dev, &t, ns, &kernel_rc, err) < 0)
        return INFINITY;
    for (uint32_t i = 0; i < n; i++)
        if (!(ns[i] > 0) || !isfinite(ns[i]))
            return INFINITY;
    ks_stats(ns, n, b->props.clock_ns, calls, scratch, &s);
    return s.median / calls;
}

static void check_times(struct bench *b, const struct launch *l)
{
    struct ks_err err = { 0 };
    double full, lone, many, cold;

    (void)median_of(b, l, 1, 1, false, &err); /* the first launch loads code */
    full = median_of(b, l, N_SAMPLES, 1, false, &err);
    if (!check(b, isfinite(full), "%u samples, median %.2f us %s", N_SAMPLES, 1e-3 * full,
               err.text))
        return;
    lone = median_of(b, l, 1, 1, false, &err);
    many = median_of(b, l, N_SAMPLES / 4, N_CALLS, false, &err);
    cold = median_of(b, l, N_SAMPLES / 4, 1, true, &err);
    check(b, isfinite(lone) && lone < 3 * full + 20 * b->props.clock_ns,
          "a sample alone %.2f us: comparable with those of a full queue", 1e-3 * lone);
    check(b, isfinite(many) && many < 2 * full + b->props.clock_ns,
          "%u calls a sample, per call %.2f us", N_CALLS, 1e-3 * many);
    check(b, isfinite(cold), "cold %.2f us", 1e-3 * cold);
}

/* true: the instance was launched. */
static bool check_instance(struct bench *b, const struct ks_grid *g, const struct ks_build *build,
                           uint32_t i)
{
    const struct ks_artefact *a = ks_build_artefact(build, i);
    struct launch l = { .entry = NULL };
    struct ks_module *mod = NULL;
    struct ks_err err = { 0 };
    bool is_run = false;
    int rc;

    if (a->state != KS_ART_READY)
        return false;
    if (!check(b, b->ops->module_open(b->dev, a->path, &mod, &err) == 0, "module of %s %s",
               g->instances[i].name, err.text))
        return false;
    check(b, b->ops->module_entry(b->dev, mod, "no such", &l.entry, &err) == KS_ELOAD,
          "an entry that is not there: %s", err.text);
    rc = b->ops->module_entry(b->dev, mod, a->entry, &l.entry, &err);
    check(b, rc == 0 || rc == KS_EUNSUPPORTED, "its entry %s", rc < 0 ? err.text : "");
    for (uint32_t k = 0; rc == 0 && k < g->n_problems && !is_run; k++) {
        const struct ks_problem p = ks_problem_table_get(&g->problems, k);

        if (ks_grid_unsupported(g, k, i) != NULL || !open_launch(b, &p, &l))
            continue;
        check_times(b, &l);
        close_launch(b, &l);
        is_run = true;
    }
    b->ops->module_close(b->dev, mod);
    return is_run;
}

static int conformance(const struct ks_grid *g, const struct ks_build *b, struct ks_err *err)
{
    const char *backend = ks_job_backend(&g->job)->name;
    struct bench bench = { .ops = ks_device_find(backend) };
    uint32_t n_run = 0;
    int rc;

    if (bench.ops == NULL)
        return ks_fail(err, KS_ENODEVICE, "no device backend is called '%s'", backend);
    rc = ks_device_check(bench.ops, err);
    if (rc == 0)
        rc = bench.ops->open("", &bench.dev, err);
    if (rc < 0)
        return rc;
    check_identity(&bench, g->job.device.arch);
    check_memory(&bench);
    check_canary(&bench);
    for (uint32_t i = 0; i < g->n_instances && n_run < MODULES; i++)
        n_run += check_instance(&bench, g, b, i) ? 1 : 0;
    check(&bench, n_run > 0, "%u instances were launched", n_run);
    bench.ops->close(bench.dev);
    printf("1..%u\n%u of %u bad\n", bench.n, bench.n_bad, bench.n);
    return bench.n_bad == 0 ? 0 : 1;
}

static int run(struct ks_call *call, struct ks_err *err)
{
    struct gpu_job job;
    int rc = gpu_job_open(call, &job, err);

    if (rc == 0) {
        rc = conformance(job.grid, job.build, err);
        gpu_job_close(&job);
    }
    return rc;
}

const struct ks_command gpu_conformance = {
    .name = "conformance",
    .summary = "The device's table itself, in this process: every slot, errors that must not hurt, "
               "times that make sense.",
    .usage = "conformance GRID [OPTIONS]",
    GPU_OPTIONS,
    .n_min = 1,
    .n_max = 1,
    .needs_warden = true,
    .run = run,
};
