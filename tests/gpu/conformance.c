/* SPDX-License-Identifier: MIT */
/* conformance.c - ksweep-gpu conformance: a device, its costs and its kernels, by contract */
#include "tests/gpu/job.h"
#include "tests/gpu/launch.h"

#include "base/clock.h"
#include "device/device.h"
#include "record/stats.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIG_BYTES     ((size_t)64 << 20)
#define N_SAMPLES     64u
#define N_CALLS       10u
#define COST_BYTES    ((size_t)48 << 10)
#define COST_N        21u
#define STATIC_SHARED (48 << 10) /* bytes; what needs more is asked for at run time on NVIDIA */
#define WAKE_NS       500000000u /* an idle device takes its time until its clocks are up */

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

enum cost { TELEMETRY, ENERGY, CANARY, FILL, UPLOAD, DOWNLOAD, TOUCH, N_COSTS };

static int spend(const struct bench *b, enum cost what, void *mem, void *copy)
{
    struct ks_telemetry t;
    double ns;

    switch (what) {
    case TELEMETRY:
    case ENERGY:
        b->ops->telemetry(b->dev, what == ENERGY, &t);
        return 0;
    case CANARY:
        return b->ops->canary(b->dev, &ns, NULL);
    case FILL:
        return b->ops->fill(b->dev, mem, 0, COST_BYTES, NULL);
    case UPLOAD:
        return b->ops->upload(b->dev, mem, copy, COST_BYTES, NULL);
    case DOWNLOAD:
        return b->ops->download(b->dev, copy, mem, COST_BYTES, NULL);
    default:
        return b->ops->touch(b->dev, mem, COST_BYTES, NULL);
    }
}

static double cost_us(const struct bench *b, enum cost what, void *mem, void *copy)
{
    double ns[COST_N], scratch[COST_N];
    struct ks_stats s;

    for (uint32_t i = 0; i < COST_N; i++) {
        uint64_t from = ks_now_ns();

        if (spend(b, what, mem, copy) < 0)
            return NAN;
        ns[i] = (double)(ks_now_ns() - from);
    }
    ks_stats(ns, COST_N, 1, 1, scratch, &s);
    return 1e-3 * s.median;
}

/* What a cell's bookkeeping costs the host. */
static void print_costs(const struct bench *b)
{
    static const char *const names[N_COSTS] = { "telemetry", "with energy", "canary", "fill",
                                                "upload",    "download",    "touch" };
    void *mem = NULL, *copy = calloc(1, COST_BYTES);

    if (copy == NULL || b->ops->alloc(b->dev, COST_BYTES, &mem, NULL) < 0) {
        free(copy);
        return;
    }
    printf("# costs, us on the host, of 48 KiB:");
    for (int i = 0; i < N_COSTS; i++)
        printf("%s %s %.1f", i > 0 ? "," : "", names[i], cost_us(b, (enum cost)i, mem, copy));
    printf("\n");
    b->ops->free(b->dev, mem);
    free(copy);
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
    b->ops->telemetry(b->dev, false, &t);
    printf("# telemetry: clock %.0f MHz, memory %.0f MHz, %.0f W, %.0f C, throttle %lld, busy %.2f "
           "(-1: not told)\n",
           t.now.clock_mhz, t.now.memory_clock_mhz, t.now.power_w, t.now.temperature_c,
           (long long)t.throttle, t.now.busy);
    print_costs(b);
}

/* ---- kernels ---- */

/* Median of n samples, per call; infinite when one of them is no time. */
static double median_of(struct bench *b, const struct launch *l, uint32_t n, uint32_t calls,
                        bool is_cold, struct ks_err *err)
{
    double ns[N_SAMPLES], scratch[N_SAMPLES];
    struct ks_stats s;

    if (launch_time(l, calls, n, is_cold, ns, err) < 0)
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

/* The value of a trait as text, "" where the family has none of that name. */
static const char *trait_text(const struct ks_family *f, const struct ks_instance *inst,
                              const char *name)
{
    for (uint32_t i = 0; i < f->n_traits; i++)
        if (strcmp(f->traits[i].name, name) == 0)
            return f->traits[i].text[inst->value[i]];
    return "";
}

static int64_t trait_or(const struct ks_family *f, const struct ks_instance *inst, const char *name,
                        int64_t other)
{
    const int64_t v = ks_instance_trait(f, inst, name);

    return v == INT64_MIN ? other : v;
}

/* Shared memory of the tiles under way, as the rules of the families count it. */
static int64_t tile_bytes(const struct ks_grid *g, const struct ks_instance *inst)
{
    const struct ks_family *f = &g->families[inst->i_family];
    const char *pipeline = trait_text(f, inst, "pipeline");
    const int64_t element = strcmp(trait_text(f, inst, "dtype"), "fp32") == 0 ? 4 : 2;
    const int64_t buffers = strcmp(pipeline, "comp_async") == 0 ? trait_or(f, inst, "prefetch", 1)
                            : strcmp(pipeline, "compv4") == 0   ? 2
                                                                : 1;

    return (trait_or(f, inst, "tile_m", 0) + trait_or(f, inst, "tile_n", 0)) *
           (trait_or(f, inst, "tile_k", 0) * element + trait_or(f, inst, "lds_pad", 0)) * buffers;
}

static bool is_alike(const struct ks_grid *g, const struct ks_instance *x,
                     const struct ks_instance *y)
{
    const struct ks_family *f = &g->families[x->i_family];

    return x->i_family == y->i_family &&
           strcmp(trait_text(f, x, "pipeline"), trait_text(f, y, "pipeline")) == 0 &&
           strcmp(trait_text(f, x, "warp_tile"), trait_text(f, y, "warp_tile")) == 0;
}

/* -1: none can be launched. */
static int64_t problem_for(const struct ks_grid *g, const struct ks_build *build, uint32_t i)
{
    if (ks_build_artefact(build, i)->state != KS_ART_READY)
        return -1;
    for (uint32_t k = 0; k < g->n_problems; k++)
        if (ks_grid_has_cell(g, k, i) && ks_grid_unsupported(g, k, i) == NULL)
            return k;
    return -1;
}

/* Of a pipeline and a matrix unit the one with the most shared memory, the first of several. */
static bool is_chosen(const struct ks_grid *g, const struct ks_build *build, uint32_t i)
{
    const struct ks_instance *inst = &g->instances[i];
    const int64_t bytes = tile_bytes(g, inst);

    if (problem_for(g, build, i) < 0)
        return false;
    for (uint32_t k = 0; k < g->n_instances; k++) {
        const int64_t other = tile_bytes(g, &g->instances[k]);

        if (k != i && is_alike(g, inst, &g->instances[k]) &&
            (other > bytes || (other == bytes && k < i)) && problem_for(g, build, k) >= 0)
            return false;
    }
    return true;
}

static void check_output(struct bench *b, const struct launch *l, enum ks_numerics numerics)
{
    struct ks_err err = { 0 };
    double ns;
    int rc = launch_time(l, 1, 1, false, &ns, &err);

    if (rc == 0)
        rc = launch_check(l, numerics, &err);
    if (rc == KS_EUNSUPPORTED)
        printf("# output not compared: %s\n", err.text);
    else
        check(b, rc == 0, "output equal to the reference %s", rc < 0 ? err.text : "");
}

/* On the first problem that the entry takes. true: the instance was launched. */
static bool launch_first(struct bench *b, const struct ks_grid *g, uint32_t i,
                         const struct ks_abi_entry *entry)
{
    const struct ks_instance *inst = &g->instances[i];

    for (uint32_t k = 0; k < g->n_problems; k++) {
        const struct ks_problem p = ks_problem_table_get(&g->problems, k);
        struct ks_err err = { 0 };
        struct launch l;
        int rc;

        if (!ks_grid_has_cell(g, k, i) || ks_grid_unsupported(g, k, i) != NULL)
            continue;
        rc = launch_open(&l, b->ops, b->dev, entry, &p, &err);
        if (rc == KS_EUNSUPPORTED)
            continue;
        if (!check(b, rc == 0, "operands of %s %s", p.name, err.text))
            return false;
        check_output(b, &l, ks_instance_numerics(&g->families[inst->i_family], inst));
        check_times(b, &l);
        launch_close(&l);
        return true;
    }
    return false;
}

static bool check_instance(struct bench *b, const struct ks_grid *g, const struct ks_build *build,
                           uint32_t i)
{
    const struct ks_artefact *a = ks_build_artefact(build, i);
    const struct ks_abi_entry *entry = NULL;
    struct ks_module *mod = NULL;
    struct ks_err err = { 0 };
    bool is_run = false;
    int rc;

    if (!check(b, b->ops->module_open(b->dev, a->path, &mod, &err) == 0, "module of %s %s",
               g->instances[i].name, err.text))
        return false;
    check(b, b->ops->module_entry(b->dev, mod, "no such", &entry, &err) == KS_ELOAD,
          "an entry that is not there: %s", err.text);
    rc = b->ops->module_entry(b->dev, mod, a->entry, &entry, &err);
    check(b, rc == 0 || rc == KS_EUNSUPPORTED, "its entry %s", rc < 0 ? err.text : "");
    if (rc == 0)
        is_run = launch_first(b, g, i, entry);
    b->ops->module_close(b->dev, mod);
    return is_run;
}

static void check_instances(struct bench *b, const struct ks_grid *g, const struct ks_build *build)
{
    uint32_t n_run = 0, n_chosen = 0;
    int64_t most = 0;

    for (uint32_t i = 0; i < g->n_instances; i++) {
        if (!is_chosen(g, build, i))
            continue;
        n_chosen++;
        if (!check_instance(b, g, build, i))
            continue;
        n_run++;
        if (tile_bytes(g, &g->instances[i]) > most)
            most = tile_bytes(g, &g->instances[i]);
    }
    check(b, n_run > 0 && n_run == n_chosen,
          "%u instances were launched, one of each pipeline and matrix unit (%u)", n_run, n_chosen);
    check(b, most > STATIC_SHARED || b->props.shared_bytes <= 2 * STATIC_SHARED,
          "the most shared memory of their tiles: %.0f KiB", (double)most / 1024);
}

static int conformance(const struct ks_grid *g, const struct ks_build *b, struct ks_err *err)
{
    struct bench bench = { .ops = NULL };
    int rc = launch_device(g, &bench.ops, &bench.dev, err);

    if (rc < 0)
        return rc;
    check_identity(&bench, g->job.device.arch);
    check_memory(&bench);
    check_canary(&bench);
    check_instances(&bench, g, b);
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
    .summary =
        "The device's table itself, in this process: every slot, errors that must not hurt, a "
        "kernel of each pipeline and matrix unit, its output, times that make sense.",
    .usage = "conformance GRID [OPTIONS]",
    GPU_OPTIONS,
    .n_min = 1,
    .n_max = 1,
    .needs_warden = true,
    .run = run,
};
