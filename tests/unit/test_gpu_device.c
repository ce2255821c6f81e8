/* SPDX-License-Identifier: MIT */
/* test_gpu_device.c - a GPU's device over a runtime of virtual time: launches, samples, refusals */
#include "base/clock.h"
#include "device/gpu_device.h"
#include "tests/unit/gpu_kit.h"
#include "tests/unit/so.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_props(void **state)
{
    const struct gpu_fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        struct ks_device_props p;
        struct gpu_bench b;

        gpu_bench_open(f, i, f->kernels, "one", &b);
        assert_int_equal(b.dev->ops->props(b.dev, &p, &b.err), 0);
        assert_string_equal(p.name, "Stub 0");
        assert_string_equal(p.arch, i ? "sm_90" : "gfx90a");
        assert_string_equal(p.locator, "0000:c1:00.0");
        assert_string_equal(p.driver, i ? "CUDA 13.1" : "HIP 5.2.21153");
        assert_int_equal(p.shared_bytes, i ? 227 << 10 : 64 << 10);
        assert_int_equal(p.wave, i ? 32 : 64);
        assert_int_equal(p.n_units, 104);
        assert_int_equal(p.clock_mhz, 1700);
        assert_int_equal(p.memory_clock_mhz, 1600);
        assert_int_equal(p.cache_bytes, 8 << 20);
        assert_null(b.dev->ops->host_view(b.dev, b.buf.c));
        gpu_bench_close(&b);
        assert_int_equal(b.stub->n_blocks, 0);
        assert_int_equal(b.stub->n_loaded, 0);
    }
}

/* A device that another process holds alone is asked once more, not for ever. */
static void test_exclusive_device(void **state)
{
    const struct gpu_fixture *f = *state;
    struct stub *s = f->stubs[1];

    for (int n_busy = 1; n_busy <= 2; n_busy++) {
        struct ks_device *dev = NULL;
        struct ks_err err = { 0 };
        int rc;

        stub_reset(s);
        s->n_busy = n_busy;
        rc = ks_device_cuda.open("", &dev, &err);
        assert_int_equal(rc, n_busy == 1 ? 0 : KS_EDEVICE);
        assert_int_equal(s->n_retained, 2);
        if (rc == 0)
            dev->ops->close(dev);
        else
            assert_non_null(strstr(err.text, "making a context: CUDA_ERROR_OTHER (46)"));
    }
}

/* The cache beside the memory, of which no runtime tells, has to be swept too. */
static void test_hidden_cache(void **state)
{
    const struct gpu_fixture *f = *state;
    struct ks_device_props p;
    struct ks_device *dev = NULL;
    struct ks_err err = { 0 };

    stub_reset(f->stubs[0]);
    f->stubs[0]->arch = "gfx942:sramecc+:xnack-";
    assert_int_equal(ks_device_hip.open("0000:c2:00.0", &dev, &err), 0);
    assert_int_equal(dev->ops->props(dev, &p, &err), 0);
    assert_int_equal(p.cache_bytes, 256 << 20);
    assert_string_equal(p.locator, "0000:c2:00.0");
    assert_string_equal(p.name, "Stub 1");
    assert_int_equal(dev->ops->flush(dev, &err), 0); /* twice that is more than it has room for */
    assert_int_equal(f->stubs[0]->used, (size_t)64 << 20);
    dev->ops->close(dev);
}

static void test_samples(void **state)
{
    const struct gpu_fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        double ns[200];
        struct gpu_bench b;

        gpu_bench_open(f, i, f->kernels, "one", &b);
        assert_int_equal(gpu_sample(&b, 1, 1, false, ns), 0);
        assert_memory_equal(b.stub->log, "ggrrlr", 6); /* the gates of open(); none before */
        b.c[0] = 0;
        b.stub->n_log = 0;
        assert_int_equal(gpu_sample(&b, 3, 2, false, ns), 0);
        assert_memory_equal(b.stub->log, "grlllrrlllr", 11);
        assert_int_equal(b.stub->n_log, 11);
        for (int k = 0; k < 2; k++)
            assert_true(ns[k] > 3 * 2000 + 4 && ns[k] < 3 * 2000 + 6);
        assert_true(b.c[0] == 6.0f);
        assert_int_equal(b.stub->last_grid[0], 3);
        assert_int_equal(b.stub->last_grid[1], 2);
        assert_int_equal(b.stub->last_block, 256);
        /* More samples than events: all come, and the queue never ran empty. */
        b.stub->max_pending = 0;
        assert_int_equal(gpu_sample(&b, 1, 200, false, ns), 0);
        assert_true(b.c[0] == 206.0f);
        for (int k = 0; k < 200; k++)
            assert_true(ns[k] > 2004 && ns[k] < 2006);
        assert_true(b.stub->max_pending >= 3 * b.dev->ops->queue);
        assert_int_equal(b.stub->n_pending, 0);
        gpu_bench_close(&b);
    }
}

/* Read before the first sample and after the last, of however many batches, outside their times. */
static void test_clock_is_read(void **state)
{
    const struct gpu_fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        struct gpu_bench b;
        struct ks_clock_probe probe;
        struct ks_timing t = { .calls = 3, .n_samples = 2, .clock = &probe };
        double ns[200];

        gpu_bench_open(f, i, f->kernels, "one", &b);
        t.entry = b.entry;
        t.problem = &b.p;
        t.buf = &b.buf;
        probe = (struct ks_clock_probe){ b.entry, &b.p, { b.buf, b.buf } };
        assert_int_equal(gpu_sample(&b, 1, 1, false, ns), 0);
        b.stub->n_log = 0;
        assert_int_equal(b.dev->ops->time_samples(b.dev, &t, ns, &b.kernel_rc, &b.err), 0);
        assert_memory_equal(b.stub->log, "glrlllrrlllrl", 13);
        assert_int_equal(b.stub->n_log, 13);
        for (int k = 0; k < 2; k++)
            assert_true(ns[k] > 3 * 2000 + 4 && ns[k] < 3 * 2000 + 6);
        t.calls = 1;
        t.n_samples = 200;
        b.stub->n_launches = 0;
        assert_int_equal(b.dev->ops->time_samples(b.dev, &t, ns, &b.kernel_rc, &b.err), 0);
        assert_int_equal(b.stub->n_launches, 202);
        b.stub->fail_name = "LaunchKernel";
        b.stub->fail_nth = 0;
        b.stub->fail_code = 701;
        assert_int_equal(b.dev->ops->time_samples(b.dev, &t, ns, &b.kernel_rc, &b.err), KS_EDEVICE);
        b.stub->fail_name = NULL;
        gpu_bench_close(&b);
    }
}

/* Events without a system fence where HIP knows them; a runtime that rejects a flag gets the next
 * weaker one, once and for all. CUDA has no such flags. */
static void test_event_flags(void **state)
{
    static const struct {
        int is_cuda;
        unsigned known, want;
    } rows[] = {
        { 0, 0x60000000u, 0x20000000u },
        { 0, 0x40000000u, 0x40000000u },
        { 0, 0, 0 },
        { 1, 0, 0 },
    };
    const struct gpu_fixture *f = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stub *s = f->stubs[rows[i].is_cuda];
        struct ks_device *dev = NULL;
        struct ks_err err = { 0 };
        double ns = 0;

        stub_reset(s);
        s->event_flags = 7;
        s->event_flags_known = rows[i].known;
        assert_int_equal((rows[i].is_cuda ? &ks_device_cuda : &ks_device_hip)->open("", &dev, &err),
                         0);
        assert_int_equal(dev->ops->canary(dev, &ns, &err), 0);
        assert_true(ns > 0);
        assert_int_equal(s->event_flags, rows[i].want);
        dev->ops->close(dev);
    }
}

/* The stream is held back until the work stands behind it, but never for long: a runtime that waits
 * for the device before it takes the work would wait for ever. */
static void test_gate_gives_up(void **state)
{
    const struct gpu_fixture *f = *state;
    uint64_t start, took;
    struct gpu_bench b;
    double ns[1];

    gpu_bench_open(f, 0, f->kernels, "one", &b);
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), 0);
    b.stub->is_eager = 1;
    start = ks_now_ns();
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), 0);
    took = ks_now_ns() - start;
    assert_true(took > 4000000 && took < 10000000000);
    gpu_bench_close(&b);
}

/* A launch whose time nobody reads does not wait behind the gate. */
static void test_untimed_is_not_held(void **state)
{
    const struct gpu_fixture *f = *state;
    struct ks_timing t = { .calls = 1, .n_samples = 2 };
    struct gpu_bench b;
    double ns[2];

    gpu_bench_open(f, 0, f->kernels, "one", &b);
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), 0); /* loaded: the gate may be used */
    t.entry = b.entry, t.problem = &b.p, t.buf = &b.buf;
    for (int i = 0; i < 2; i++) {
        t.is_untimed = i == 1;
        b.stub->n_gates = 0;
        b.c[0] = 0;
        assert_int_equal(b.dev->ops->time_samples(b.dev, &t, ns, &b.kernel_rc, &b.err), 0);
        assert_int_equal(b.stub->n_gates, t.is_untimed ? 0 : 1);
        assert_true(b.c[0] == 2.0f);
    }
    gpu_bench_close(&b);
}

/* A runtime that takes nothing behind the gate until it is open would hold back the host as well,
 * in every batch. */
static void test_gate_that_blocks(void **state)
{
    const struct gpu_fixture *f = *state;
    struct stub *s = f->stubs[0];
    struct ks_device *dev = NULL;
    struct ks_err err = { 0 };
    double ns;

    stub_reset(s);
    s->is_eager = 1;
    assert_int_equal(ks_device_hip.open("", &dev, &err), 0);
    s->n_gates = 0;
    assert_int_equal(dev->ops->canary(dev, &ns, &err), 0);
    assert_int_equal(s->n_gates, 0);
    dev->ops->close(dev);
}

/* A device that is done sooner than the host would wait for it between launches: as many calls as
 * the gate holds back are timed together. One that is slower never waits. */
static void test_fast_kernels(void **state)
{
    const struct gpu_fixture *f = *state;
    struct gpu_bench b;
    double ns[10];

    gpu_bench_open(f, 1, f->kernels, "one", &b);
    b.stub->ns_launch = 1;
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), 0);
    b.stub->n_gates = b.stub->max_pending = 0;
    assert_int_equal(gpu_sample(&b, 100, 10, false, ns), 0);
    assert_int_equal(b.stub->n_gates, 5);
    assert_int_equal(b.stub->max_pending, 1 + 2 * 102);
    for (int k = 0; k < 10; k++)
        assert_true(ns[k] > 104 && ns[k] < 106);
    assert_int_equal(gpu_sample(&b, 300, 3, false, ns), 0); /* more than it holds */
    assert_int_equal(b.stub->n_gates, 8);
    b.stub->ns_launch = 1e9;
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), 0);
    b.stub->n_gates = 0;
    assert_int_equal(gpu_sample(&b, 100, 10, false, ns), 0);
    assert_int_equal(b.stub->n_gates, 1);
    gpu_bench_close(&b);
}

/* A slow device is let go early, and never waits later: the host is faster. */
static void test_ahead(void **state)
{
    static const struct {
        double device_ns, host_ns;
        uint32_t want;
    } rows[] = {
        { 0, 0, 256 },      { 2000, 2500, 256 }, { 3000, 2500, 256 }, { 4000, 2500, 125 },
        { 20e3, 2500, 25 }, { 20e3, 15e3, 256 }, { 1e6, 2500, 8 },    { 1e9, 2500, 8 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(ks_gpu_ahead(rows[i].device_ns, rows[i].host_ns), rows[i].want);
}

/* A clock that stands still or runs backwards is the caller's business. */
static void test_odd_times_pass(void **state)
{
    const struct gpu_fixture *f = *state;
    struct gpu_bench b;
    double ns[3];

    gpu_bench_open(f, 0, f->kernels, "one", &b);
    b.stub->ns_launch = -5;
    assert_int_equal(gpu_sample(&b, 1, 3, false, ns), 0);
    assert_true(ns[0] == 0 && ns[2] == 0);
    b.stub->ns_launch = -2005;
    assert_int_equal(gpu_sample(&b, 1, 3, false, ns), 0);
    assert_true(ns[0] < -1999 && ns[2] > -2001);
    gpu_bench_close(&b);
}

/* Before every sample twice the last-level cache is written, outside of its time. */
static void test_cold(void **state)
{
    const struct gpu_fixture *f = *state;
    struct gpu_bench b;
    double ns[2];

    gpu_bench_open(f, 1, f->kernels, "one", &b);
    b.stub->n_log = 0;
    assert_int_equal(gpu_sample(&b, 2, 2, true, ns), 0);
    assert_memory_equal(b.stub->log, "frllrfrllr", 10);
    assert_int_equal(b.stub->n_sweeps, 2);
    assert_true(ns[0] > 4004 && ns[1] < 4006);
    assert_int_equal(b.dev->ops->flush(b.dev, &b.err), 0);
    assert_int_equal(b.stub->n_sweeps, 3);
    gpu_bench_close(&b);
}

/* Reads all of a buffer and changes none of it. */
static void test_touch(void **state)
{
    const struct gpu_fixture *f = *state;
    size_t bytes = ((size_t)5 << 20) + 4;
    struct gpu_bench b;
    uint8_t *p;
    void *mem = NULL;

    gpu_bench_open(f, 0, f->kernels, "one", &b);
    assert_int_equal(b.dev->ops->alloc(b.dev, bytes, &mem, &b.err), 0);
    memset(mem, 0x5a, bytes);
    b.stub->n_log = 0;
    assert_int_equal(b.dev->ops->touch(b.dev, mem, bytes, &b.err), 0);
    assert_memory_equal(b.stub->log, "ccc", 3);
    assert_int_equal(b.stub->n_log, 3);
    p = mem;
    for (size_t i = 0; i < bytes; i += 1021)
        assert_int_equal(p[i], 0x5a);
    b.dev->ops->free(b.dev, mem);
    gpu_bench_close(&b);
}

/* Half the clock and twice the time is what a power cap does; twice the time alone is not. */
static void test_canary_by_the_clock(void **state)
{
    static const char nvml[] = "unsigned mhz;\n"
                               "int nvmlInit_v2(void) { return 0; }\n"
                               "int nvmlShutdown(void) { return 0; }\n"
                               "int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **d)\n"
                               "{ *d = &mhz; return pci ? 0 : 6; }\n"
                               "int nvmlDeviceGetClockInfo(void *d, int type, unsigned *out)\n"
                               "{ *out = mhz; return d == &mhz && type && mhz ? 0 : 2; }\n";
    static const struct {
        unsigned mhz;
        double slower, want;
    } rows[] = { { 1700, 1, 1 }, { 850, 2, 1 }, { 1700, 2, 2 }, { 0, 1, 1 }, { 0, 2, 2 } };
    const struct gpu_fixture *f = *state;
    struct ks_gpu_device *g;
    struct gpu_bench b;
    double first = 0, ns;
    unsigned *mhz;
    char path[512];
    void *lib;

    so_build(f->dir, "clock_nvml", nvml, path, sizeof(path));
    lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(lib);
    mhz = dlsym(lib, "mhz");
    gpu_bench_open(f, 1, f->kernels, "one", &b);
    g = ks_gpu_of(b.dev);
    ks_nvml_close(g->nvml);
    g->nvml = ks_nvml_open(path, "0000:c1:00.0");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        *mhz = rows[i].mhz;
        b.stub->ns_per_byte = 0.01 * rows[i].slower;
        assert_int_equal(b.dev->ops->canary(b.dev, &ns, &b.err), 0);
        first = i == 0 ? ns : first;
        assert_true(ns > first * rows[i].want * 0.99 && ns < first * rows[i].want * 1.01);
    }
    gpu_bench_close(&b);
    dlclose(lib);
}

static void test_gateless_runtime(void **state)
{
    const struct gpu_fixture *f = *state;
    struct ks_device *dev = NULL;
    struct ks_err err = { 0 };
    char path[512];
    struct stub *s =
        stub_build(f->dir, "gateless", 0, "#define STUB_LACKS_GATE", path, sizeof(path));
    double ns = 0;

    setenv("KSWEEP_HIP_LIBRARY", path, 1);
    assert_int_equal(ks_device_hip.open("", &dev, &err), 0);
    assert_int_equal(dev->ops->canary(dev, &ns, &err), 0);
    assert_true(ns > 2.6e6 && ns < 2.7e6 && s->n_gates == 0); /* longer fills than behind a gate */
    s->ns_per_byte = -1; /* the clock stands still: no baseline to compare with */
    assert_int_equal(dev->ops->canary(dev, &ns, &err), KS_EDEVICE);
    assert_true(ns > 6.7e5);
    dev->ops->close(dev);
    setenv("KSWEEP_HIP_LIBRARY", f->library[0], 1);
}

static void test_kernels_of_an_entry(void **state)
{
    const struct gpu_fixture *f = *state;
    struct gpu_bench b;
    double ns[1] = { -1 };

    gpu_bench_open(f, 0, f->kernels, "two", &b);
    b.p.n = 2; /* main kernel and helper */
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), 0);
    assert_true(b.c[0] == 2.0f);
    b.p.n = 4; /* fills with 2.0f, then adds */
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), 0);
    assert_true(b.c[0] == 3.0f);
    ns[0] = -1;
    b.p.n = 3;
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), KS_ELOAD);
    assert_non_null(strstr(b.err.text, "k0_kernel7: hipErrorOther (500)"));
    b.p.n = 6; /* three bytes are no whole word */
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), KS_EDEVICE);
    assert_non_null(strstr(b.err.text, "filling memory"));
    b.p.n = 5;
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), KS_EDEVICE);
    assert_int_equal(b.kernel_rc, 55);
    assert_true(ns[0] == -1);
    b.p.n = 1; /* none of this has broken anything */
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), 0);
    assert_int_equal(b.dev->ops->module_entry(b.dev, b.mod, "gone", &b.entry, &b.err), KS_ELOAD);
    assert_non_null(strstr(b.err.text, "k9_kernel0"));
    gpu_bench_close(&b);
}

static void test_plugin(void **state)
{
    const struct gpu_fixture *f = *state;
    struct gpu_bench b;
    double ns[1];

    gpu_bench_open(f, 0, f->plugin, "own", &b);
    b.p.n = 0;
    assert_int_equal(gpu_sample(&b, 2, 1, false, ns), 0);
    b.p.n = 9;
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), KS_EDEVICE);
    assert_int_equal(b.kernel_rc, 9);
    b.stub->fail_name = "StreamSynchronize"; /* it broke the device without saying so */
    b.stub->fail_code = 700;
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), KS_EDEVLOST);
    gpu_bench_close(&b);
}

/* What a device can never run is told with its numbers, at the entry or at the first launch. */
static void test_refusals(void **state)
{
    const struct gpu_fixture *f = *state;
    struct gpu_bench b;
    double ns[1];

    gpu_bench_open(f, 1, f->kernels, "one", &b);
    b.stub->dynamic_shared = 0;
    b.p.k = 40 << 10;
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), 0);
    assert_int_equal(b.stub->dynamic_shared, 0); /* so much it may have anyway */
    b.p.k = 200 << 10;
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), 0);
    assert_int_equal(b.stub->dynamic_shared, 200 << 10);
    assert_int_equal(b.stub->last_shared, 200 << 10);
    b.p.k = 228 << 10;
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), KS_EUNSUPPORTED);
    assert_non_null(strstr(b.err.text, "needs 233472 bytes of shared memory, a block has 232448"));
    b.p.k = 0;
    b.p.c = 2048;
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), KS_EUNSUPPORTED);
    assert_non_null(strstr(b.err.text, "needs 2048 threads of 32 registers"));
    b.p.c = 128;
    b.stub->occupancy = 0;
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), KS_EUNSUPPORTED);
    assert_non_null(strstr(b.err.text, "no block of"));
    b.entry = NULL;
    assert_int_equal(b.dev->ops->module_entry(b.dev, b.mod, "two", &b.entry, &b.err),
                     KS_EUNSUPPORTED);
    b.stub->occupancy = 1;
    b.stub->static_shared = 300 << 10;
    assert_int_equal(b.dev->ops->module_entry(b.dev, b.mod, "two", &b.entry, &b.err), 0);
    gpu_bench_close(&b);
    gpu_bench_open(f, 0, f->plugin, "own", &b);
    b.stub->static_shared = 65537;
    b.dev->ops->module_close(b.dev, b.mod);
    assert_int_equal(b.dev->ops->module_open(b.dev, f->kernels, &b.mod, &b.err), 0);
    assert_int_equal(b.dev->ops->module_entry(b.dev, b.mod, "one", &b.entry, &b.err),
                     KS_EUNSUPPORTED);
    assert_non_null(strstr(b.err.text, "65537"));
    gpu_bench_close(&b);
}

static void test_memory_runs_out(void **state)
{
    const struct gpu_fixture *f = *state;
    void *p = NULL;
    struct gpu_bench b;

    gpu_bench_open(f, 0, f->kernels, "one", &b);
    assert_int_equal(b.dev->ops->alloc(b.dev, (size_t)1 << 30, &p, &b.err), KS_EDEVMEM);
    assert_non_null(strstr(b.err.text, "allocating 1073741824 bytes, "));
    assert_non_null(strstr(b.err.text, "of 1073741824 free: hipErrorOutOfMemory (2)"));
    assert_null(p);
    gpu_bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_props),
        cmocka_unit_test(test_exclusive_device),
        cmocka_unit_test(test_hidden_cache),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_clock_is_read),
        cmocka_unit_test(test_event_flags),
        cmocka_unit_test(test_odd_times_pass),
        cmocka_unit_test(test_gate_gives_up),
        cmocka_unit_test(test_gate_that_blocks),
        cmocka_unit_test(test_untimed_is_not_held),
        cmocka_unit_test(test_fast_kernels),
        cmocka_unit_test(test_ahead),
        cmocka_unit_test(test_cold),
        cmocka_unit_test(test_touch),
        cmocka_unit_test(test_canary_by_the_clock),
        cmocka_unit_test(test_gateless_runtime),
        cmocka_unit_test(test_kernels_of_an_entry),
        cmocka_unit_test(test_plugin),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_memory_runs_out),
    };

    return cmocka_run_group_tests(tests, gpu_setup, gpu_teardown);
}
