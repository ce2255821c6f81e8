/* SPDX-License-Identifier: MIT */
/* A GPU's device over a runtime whose clock is virtual: launches, samples, refusals, deaths. */
#include "base/clock.h"
#include "device/backends.h"
#include "tests/unit/fault.h"
#include "tests/unit/gpu_stub.h"
#include "tests/unit/so.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two entries over one image. "one" launches its kernel, and its helper for n == 2; n == 3 asks for
 * a kernel that the image lacks, n == 4 fills memory first; n == 5 fails by itself. */
static const char source[] =
    "#include \"kernels/abi.h\"\n"
    "static const char *un(const struct ks_abi_problem *p) { (void)p; return 0; }\n"
    "static int64_t ws(const struct ks_abi_problem *p) { (void)p; return 0; }\n"
    "static int run(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)\n"
    "{ void *c = b->c, *args[] = { &c };\n"
    "  struct ks_abi_launch l = { 0, { 3, 2, 1 }, (unsigned)p->c, (unsigned)p->k, args };\n"
    "  int rc = !b->stream || !b->gpu ? 77 : p->n == 5 ? 55 : 0;\n"
    "  if (!rc && p->n == 4) rc = b->gpu->fill(b->gpu, c, 0x40000000u, 4);\n"
    "  if (!rc && p->n == 6) rc = b->gpu->fill(b->gpu, c, 0, 3);\n"
    "  if (!rc) rc = b->gpu->launch(b->gpu, &l);\n"
    "  l.kernel = p->n == 3 ? 7 : 1;\n"
    "  if (!rc && (p->n == 2 || p->n == 3)) rc = b->gpu->launch(b->gpu, &l);\n"
    "  return rc; }\n"
    "static const struct ks_abi_entry e[] = { { \"one\", un, ws, run }, { \"two\", un, ws, run },\n"
    "  { \"gone\", un, ws, run } };\n"
    "const struct ks_abi_table ks_kernel_table = { KS_ABI_MAJOR, 3, e };\n"
    "static const char *const names[] = { \"k0\", \"k0\", \"k9\" };\n"
    "static const char image[] = \"k0_kernel0 k0_kernel1\";\n"
    "const struct ks_abi_image ks_kernel_image = { image, sizeof image, names };\n";

static const char plugin[] =
    "#include \"kernels/abi.h\"\n"
    "static const char *un(const struct ks_abi_problem *p) { (void)p; return 0; }\n"
    "static int64_t ws(const struct ks_abi_problem *p) { (void)p; return 0; }\n"
    "static int run(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)\n"
    "{ return !b->stream || b->gpu ? 77 : (int)p->n; }\n"
    "static const struct ks_abi_entry e = { \"own\", un, ws, run };\n"
    "const struct ks_abi_table ks_kernel_table = { KS_ABI_MAJOR, 1, &e };\n";

struct fixture {
    char dir[256], kernels[512], plugin[512], library[2][512];
    struct stub *stubs[2]; /* HIP's, CUDA's */
};

/* One open device with its kernels. */
struct bench {
    struct stub *stub;
    struct ks_device *dev;
    struct ks_module *mod;
    const struct ks_abi_entry *entry;
    struct ks_abi_problem p;
    struct ks_abi_buffers buf;
    struct ks_err err;
    int kernel_rc;
    float *c; /* where buf.c really is: the stub's memory is the host's */
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    so_dir_make(f->dir, sizeof(f->dir));
    so_build(f->dir, "kernels", source, f->kernels, sizeof(f->kernels));
    so_build(f->dir, "plugin", plugin, f->plugin, sizeof(f->plugin));
    for (int i = 0; i < 2; i++) {
        f->stubs[i] =
            stub_build(f->dir, i ? "cuda" : "hip", i, "", f->library[i], sizeof(f->library[i]));
        setenv(i ? "KSWEEP_CUDA_LIBRARY" : "KSWEEP_HIP_LIBRARY", f->library[i], 1);
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    so_dir_remove(f->dir);
    free(f);
    return 0;
}

static void bench_open(const struct fixture *f, int is_cuda, const char *path, const char *name,
                       struct bench *b)
{
    const struct ks_device_ops *ops = is_cuda ? &ks_device_cuda : &ks_device_hip;

    *b = (struct bench){ .stub = f->stubs[is_cuda] };
    stub_reset(b->stub);
    b->p = (struct ks_abi_problem){ .bytes = sizeof(b->p), .n = 1, .c = 256 };
    assert_int_equal(ops->open("", &b->dev, &b->err), 0);
    assert_int_equal(ops->module_open(b->dev, path, &b->mod, &b->err), 0);
    assert_int_equal(ops->module_entry(b->dev, b->mod, name, &b->entry, &b->err), 0);
    assert_int_equal(ops->alloc(b->dev, 4096, &b->buf.c, &b->err), 0);
    b->c = b->buf.c;
    memset(b->c, 0, 4096);
}

static void bench_close(struct bench *b)
{
    b->dev->ops->module_close(b->dev, b->mod);
    b->dev->ops->free(b->dev, b->buf.c);
    b->dev->ops->close(b->dev);
}

static int sample(struct bench *b, uint32_t calls, uint32_t n, bool is_cold, double *ns)
{
    const struct ks_timing t = { .entry = b->entry,
                                 .problem = &b->p,
                                 .buf = &b->buf,
                                 .calls = calls,
                                 .n_samples = n,
                                 .is_cold = is_cold };

    b->kernel_rc = 0;
    return b->dev->ops->time_samples(b->dev, &t, ns, &b->kernel_rc, &b->err);
}

static void test_props(void **state)
{
    const struct fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        struct ks_device_props p;
        struct bench b;

        bench_open(f, i, f->kernels, "one", &b);
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
        bench_close(&b);
        assert_int_equal(b.stub->n_blocks, 0);
        assert_int_equal(b.stub->n_loaded, 0);
    }
}

/* The cache beside the memory, of which no runtime tells, has to be swept too. */
static void test_hidden_cache(void **state)
{
    const struct fixture *f = *state;
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
    const struct fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        double ns[200];
        struct bench b;

        bench_open(f, i, f->kernels, "one", &b);
        assert_int_equal(sample(&b, 1, 1, false, ns), 0);
        assert_memory_equal(b.stub->log, "grlr", 4); /* the gate of open(); none before */
        b.c[0] = 0;
        b.stub->n_log = 0;
        assert_int_equal(sample(&b, 3, 2, false, ns), 0);
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
        assert_int_equal(sample(&b, 1, 200, false, ns), 0);
        assert_true(b.c[0] == 206.0f);
        for (int k = 0; k < 200; k++)
            assert_true(ns[k] > 2004 && ns[k] < 2006);
        assert_true(b.stub->max_pending >= 3 * b.dev->ops->queue);
        assert_int_equal(b.stub->n_pending, 0);
        bench_close(&b);
    }
}

/* The stream is held back until the work stands behind it, but never for long: a runtime that waits
 * for the device before it takes the work would wait for ever. */
static void test_gate_gives_up(void **state)
{
    const struct fixture *f = *state;
    uint64_t start, took;
    struct bench b;
    double ns[1];

    bench_open(f, 0, f->kernels, "one", &b);
    assert_int_equal(sample(&b, 1, 1, false, ns), 0);
    b.stub->is_eager = 1;
    start = ks_now_ns();
    assert_int_equal(sample(&b, 1, 1, false, ns), 0);
    took = ks_now_ns() - start;
    assert_true(took > 4000000 && took < 10000000000);
    bench_close(&b);
}

/* A clock that stands still or runs backwards is the caller's business. */
static void test_odd_times_pass(void **state)
{
    const struct fixture *f = *state;
    struct bench b;
    double ns[3];

    bench_open(f, 0, f->kernels, "one", &b);
    b.stub->ns_launch = -5;
    assert_int_equal(sample(&b, 1, 3, false, ns), 0);
    assert_true(ns[0] == 0 && ns[2] == 0);
    b.stub->ns_launch = -2005;
    assert_int_equal(sample(&b, 1, 3, false, ns), 0);
    assert_true(ns[0] < -1999 && ns[2] > -2001);
    bench_close(&b);
}

/* Before every sample twice the last-level cache is written, outside of its time. */
static void test_cold(void **state)
{
    const struct fixture *f = *state;
    struct bench b;
    double ns[2];

    bench_open(f, 1, f->kernels, "one", &b);
    b.stub->n_log = 0;
    assert_int_equal(sample(&b, 2, 2, true, ns), 0);
    assert_memory_equal(b.stub->log, "frllrfrllr", 10);
    assert_int_equal(b.stub->n_sweeps, 2);
    assert_true(ns[0] > 4004 && ns[1] < 4006);
    assert_int_equal(b.dev->ops->flush(b.dev, &b.err), 0);
    assert_int_equal(b.stub->n_sweeps, 3);
    bench_close(&b);
}

/* Reads all of a buffer and changes none of it. */
static void test_touch(void **state)
{
    const struct fixture *f = *state;
    size_t bytes = ((size_t)5 << 20) + 4;
    struct bench b;
    uint8_t *p;
    void *mem = NULL;

    bench_open(f, 0, f->kernels, "one", &b);
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
    bench_close(&b);
}

static void test_gateless_runtime(void **state)
{
    const struct fixture *f = *state;
    struct ks_device *dev = NULL;
    struct ks_err err = { 0 };
    char path[512];
    struct stub *s =
        stub_build(f->dir, "gateless", 0, "#define STUB_LACKS_GATE", path, sizeof(path));
    double ns = 0;

    setenv("KSWEEP_HIP_LIBRARY", path, 1);
    assert_int_equal(ks_device_hip.open("", &dev, &err), 0);
    assert_int_equal(dev->ops->canary(dev, &ns, &err), 0);
    assert_true(ns > 8e4 && ns < 9e4 && s->n_gates == 0);
    s->ns_per_byte = -1; /* the clock stands still: no baseline to compare with */
    assert_int_equal(dev->ops->canary(dev, &ns, &err), KS_EDEVICE);
    assert_true(ns > 8e4);
    dev->ops->close(dev);
    setenv("KSWEEP_HIP_LIBRARY", f->library[0], 1);
}

static void test_kernels_of_an_entry(void **state)
{
    const struct fixture *f = *state;
    struct bench b;
    double ns[1] = { -1 };

    bench_open(f, 0, f->kernels, "two", &b);
    b.p.n = 2; /* main kernel and helper */
    assert_int_equal(sample(&b, 1, 1, false, ns), 0);
    assert_true(b.c[0] == 2.0f);
    b.p.n = 4; /* fills with 2.0f, then adds */
    assert_int_equal(sample(&b, 1, 1, false, ns), 0);
    assert_true(b.c[0] == 3.0f);
    ns[0] = -1;
    b.p.n = 3;
    assert_int_equal(sample(&b, 1, 1, false, ns), KS_ELOAD);
    assert_non_null(strstr(b.err.text, "k0_kernel7: hipErrorOther (500)"));
    b.p.n = 6; /* three bytes are no whole word */
    assert_int_equal(sample(&b, 1, 1, false, ns), KS_EDEVICE);
    assert_non_null(strstr(b.err.text, "filling memory"));
    b.p.n = 5;
    assert_int_equal(sample(&b, 1, 1, false, ns), KS_EDEVICE);
    assert_int_equal(b.kernel_rc, 55);
    assert_true(ns[0] == -1);
    b.p.n = 1; /* none of this has broken anything */
    assert_int_equal(sample(&b, 1, 1, false, ns), 0);
    assert_int_equal(b.dev->ops->module_entry(b.dev, b.mod, "gone", &b.entry, &b.err), KS_ELOAD);
    assert_non_null(strstr(b.err.text, "k9_kernel0"));
    bench_close(&b);
}

static void test_plugin(void **state)
{
    const struct fixture *f = *state;
    struct bench b;
    double ns[1];

    bench_open(f, 0, f->plugin, "own", &b);
    b.p.n = 0;
    assert_int_equal(sample(&b, 2, 1, false, ns), 0);
    b.p.n = 9;
    assert_int_equal(sample(&b, 1, 1, false, ns), KS_EDEVICE);
    assert_int_equal(b.kernel_rc, 9);
    b.stub->fail_name = "StreamSynchronize"; /* it broke the device without saying so */
    b.stub->fail_code = 700;
    assert_int_equal(sample(&b, 1, 1, false, ns), KS_EDEVLOST);
    bench_close(&b);
}

/* What a device can never run is told with its numbers, at the entry or at the first launch. */
static void test_refusals(void **state)
{
    const struct fixture *f = *state;
    struct bench b;
    double ns[1];

    bench_open(f, 1, f->kernels, "one", &b);
    b.stub->dynamic_shared = 0;
    b.p.k = 40 << 10;
    assert_int_equal(sample(&b, 1, 1, false, ns), 0);
    assert_int_equal(b.stub->dynamic_shared, 0); /* so much it may have anyway */
    b.p.k = 200 << 10;
    assert_int_equal(sample(&b, 1, 1, false, ns), 0);
    assert_int_equal(b.stub->dynamic_shared, 200 << 10);
    assert_int_equal(b.stub->last_shared, 200 << 10);
    b.p.k = 228 << 10;
    assert_int_equal(sample(&b, 1, 1, false, ns), KS_EUNSUPPORTED);
    assert_non_null(strstr(b.err.text, "needs 233472 bytes of shared memory, a block has 232448"));
    b.p.k = 0;
    b.p.c = 2048;
    assert_int_equal(sample(&b, 1, 1, false, ns), KS_EUNSUPPORTED);
    assert_non_null(strstr(b.err.text, "needs 2048 threads of 32 registers"));
    b.p.c = 128;
    b.stub->occupancy = 0;
    assert_int_equal(sample(&b, 1, 1, false, ns), KS_EUNSUPPORTED);
    assert_non_null(strstr(b.err.text, "not one block"));
    b.entry = NULL;
    assert_int_equal(b.dev->ops->module_entry(b.dev, b.mod, "two", &b.entry, &b.err),
                     KS_EUNSUPPORTED);
    b.stub->occupancy = 1;
    b.stub->static_shared = 300 << 10;
    assert_int_equal(b.dev->ops->module_entry(b.dev, b.mod, "two", &b.entry, &b.err), 0);
    bench_close(&b);
    bench_open(f, 0, f->plugin, "own", &b);
    b.stub->static_shared = 65537;
    b.dev->ops->module_close(b.dev, b.mod);
    assert_int_equal(b.dev->ops->module_open(b.dev, f->kernels, &b.mod, &b.err), 0);
    assert_int_equal(b.dev->ops->module_entry(b.dev, b.mod, "one", &b.entry, &b.err),
                     KS_EUNSUPPORTED);
    assert_non_null(strstr(b.err.text, "65537"));
    bench_close(&b);
}

/* Which call fails with which code, and what becomes of it. */
static const struct {
    const char *name;
    int nth, code, want;
    const char *text;
} fault_rows[] = {
    { "LaunchKernel", 0, 701, KS_EDEVICE, "launching 'k0_kernel0' with 3 x 2 x 1 blocks of 256" },
    { "LaunchKernel", 5, 701, KS_EDEVICE, "hipErrorOther (701)" },
    { "LaunchKernel", 3, 719, KS_EDEVLOST, "hipErrorLaunchFailure (719)" },
    { "EventRecord", 2, 1, KS_EDEVICE, "recording an event" },
    { "EventSynchronize", 0, 719, KS_EDEVLOST, "waiting for the kernel: hipErrorLaunchFailure" },
    { "EventSynchronize", 4, 700, KS_EDEVLOST, "(700)" },
    { "EventElapsedTime", 1, 400, KS_EDEVICE, "reading the events' clock" },
    { "EventCreateWithFlags", 1, 2, KS_EDEVMEM, "hipErrorOutOfMemory" },
    { "EventCreateWithFlags", 4, 2, KS_EDEVMEM, "making an event" },
    { "LaunchHostFunc", 0, 801, 0, "" }, /* does without */
};

static void test_faults(void **state)
{
    const struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(fault_rows) / sizeof(fault_rows[0]); i++) {
        double ns[8] = { 0 };
        struct bench b;
        int rc;

        bench_open(f, 0, f->kernels, "one", &b);
        b.stub->fail_name = fault_rows[i].name;
        b.stub->fail_nth = fault_rows[i].nth;
        b.stub->fail_code = fault_rows[i].code;
        rc = sample(&b, 1, 8, false, ns);
        b.stub->fail_name = NULL;
        assert_int_equal(rc, fault_rows[i].want);
        if (rc < 0) {
            assert_non_null(strstr(b.err.text, fault_rows[i].text));
            assert_true(ns[0] == 0 && ns[7] == 0);
            assert_true(b.stub->n_pending == 0 || rc == KS_EDEVLOST); /* nothing runs on */
        }
        rc = sample(&b, 1, 8, false, ns);
        assert_int_equal(rc, fault_rows[i].want == KS_EDEVLOST ? KS_EDEVLOST : 0);
        bench_close(&b);
        assert_int_equal(b.stub->n_blocks == 0, fault_rows[i].want != KS_EDEVLOST);
    }
}

/* After a sticky error nothing asks the dead runtime again, which might never answer. */
static void test_lost(void **state)
{
    const struct fixture *f = *state;
    uint32_t word = 0;
    void *p = NULL;
    struct bench b;
    double ns[1];

    bench_open(f, 1, f->kernels, "one", &b);
    b.stub->sticky = 719;
    assert_int_equal(b.dev->ops->upload(b.dev, b.c, &word, 4, &b.err), KS_EDEVLOST);
    assert_non_null(strstr(b.err.text, "CUDA_ERROR_LAUNCH_FAILED (719)"));
    b.stub->sticky = 0;
    assert_int_equal(b.dev->ops->upload(b.dev, b.c, &word, 4, &b.err), KS_EDEVLOST);
    assert_non_null(strstr(b.err.text, "nothing runs after CUDA_ERROR_LAUNCH_FAILED (719)"));
    assert_int_equal(b.dev->ops->download(b.dev, &word, b.c, 4, &b.err), KS_EDEVLOST);
    assert_int_equal(b.dev->ops->fill(b.dev, b.c, 1, 4, &b.err), KS_EDEVLOST);
    assert_int_equal(b.dev->ops->alloc(b.dev, 4, &p, &b.err), KS_EDEVLOST);
    assert_int_equal(b.dev->ops->self_test(b.dev, &b.err), KS_EDEVLOST);
    assert_int_equal(b.dev->ops->canary(b.dev, ns, &b.err), KS_EDEVLOST);
    assert_int_equal(b.dev->ops->flush(b.dev, &b.err), KS_EDEVLOST);
    assert_int_equal(b.dev->ops->touch(b.dev, b.c, 4, &b.err), KS_EDEVLOST);
    assert_int_equal(sample(&b, 1, 1, false, ns), KS_EDEVLOST);
    assert_int_equal(b.dev->ops->module_entry(b.dev, b.mod, "two", &b.entry, &b.err), KS_EDEVLOST);
    bench_close(&b);
}

static void test_memory_runs_out(void **state)
{
    const struct fixture *f = *state;
    void *p = NULL;
    struct bench b;

    bench_open(f, 0, f->kernels, "one", &b);
    assert_int_equal(b.dev->ops->alloc(b.dev, (size_t)1 << 30, &p, &b.err), KS_EDEVMEM);
    assert_non_null(strstr(b.err.text, "allocating 1073741824 bytes, "));
    assert_non_null(strstr(b.err.text, "of 1073741824 free: hipErrorOutOfMemory (2)"));
    assert_null(p);
    bench_close(&b);
}

/* Opening fails at every call of it in turn; nothing is left behind. */
static void test_open_fails(void **state)
{
    static const char *const calls[] = { "hipGetDeviceCount", "hipSetDevice", "cuCtxSetCurrent",
                                         "StreamCreateWithFlags", "StreamSynchronize" };
    const struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        int is_cuda = strncmp(calls[i], "cu", 2) == 0;
        const struct ks_device_ops *ops = is_cuda ? &ks_device_cuda : &ks_device_hip;
        struct ks_device *dev = NULL;
        struct ks_err err = { 0 };

        stub_reset(f->stubs[is_cuda]);
        f->stubs[is_cuda]->fail_name = calls[i];
        f->stubs[is_cuda]->fail_code = 3;
        assert_int_equal(ops->open("", &dev, &err), KS_EDEVICE);
        assert_null(dev);
        assert_non_null(strstr(err.text, "(3)"));
    }
}

/* Everything once; the first error ends it, and whatever was made is given back. */
static int whole_way(const struct fixture *f, const struct ks_device_ops *ops, struct ks_err *err)
{
    struct ks_abi_problem p = { .bytes = sizeof(p), .n = 2, .c = 64 };
    struct ks_abi_buffers buf = { 0 };
    struct ks_timing t = {
        .problem = &p, .buf = &buf, .calls = 1, .n_samples = 3, .is_cold = true
    };
    struct ks_device *dev = NULL;
    struct ks_module *mod = NULL;
    double ns[3];
    int krc = 0;
    int rc = ops->open("", &dev, err);

    if (rc == 0)
        rc = ops->self_test(dev, err);
    if (rc == 0)
        rc = ops->canary(dev, ns, err);
    if (rc == 0)
        rc = ops->alloc(dev, 64, &buf.c, err);
    if (rc == 0)
        rc = ops->touch(dev, buf.c, 64, err);
    if (rc == 0)
        rc = ops->module_open(dev, f->kernels, &mod, err);
    if (rc == 0)
        rc = ops->module_entry(dev, mod, "one", &t.entry, err);
    if (rc == 0)
        rc = ops->time_samples(dev, &t, ns, &krc, err);
    if (dev != NULL)
        ops->module_close(dev, mod);
    ops->close(dev);
    return rc;
}

/* From the n-th on, all calls of the runtime fail; then the n-th allocation of our own. */
static void test_every_call_fails(void **state)
{
    const struct fixture *f = *state;
    struct stub *s = f->stubs[1];
    bool armed = true;
    int rc = -1, n = 0, n_without = 0;

    for (n = 0; rc < 0; n++) {
        struct ks_err err = { 0 };

        stub_reset(s);
        s->fail_name = "";
        s->fail_nth = n;
        s->fail_code = 1;
        rc = whole_way(f, &ks_device_cuda, &err);
        assert_true(rc == 0 || rc == KS_EDEVICE || rc == KS_ELOAD);
        assert_int_equal(err.code, rc);
        assert_int_equal(s->n_blocks, 0);
        assert_int_equal(s->n_loaded, 0);
        assert_true(n < 200);
    }
    assert_true(n > 40);
    for (n = 0; armed; n++) {
        struct ks_err err = { 0 };

        stub_reset(s);
        fault_arm((unsigned)n);
        rc = whole_way(f, &ks_device_cuda, &err);
        armed = fault_disarm();
        assert_true(rc == 0 || (rc == KS_ENOMEM && armed));
        n_without += armed && rc == 0;
        assert_int_equal(err.code, rc);
        assert_int_equal(s->n_blocks + s->n_loaded, 0);
    }
    assert_true(n > 5);
    assert_int_equal(n_without, 1); /* a monitor is not needed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_props),
        cmocka_unit_test(test_hidden_cache),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_odd_times_pass),
        cmocka_unit_test(test_gate_gives_up),
        cmocka_unit_test(test_cold),
        cmocka_unit_test(test_touch),
        cmocka_unit_test(test_gateless_runtime),
        cmocka_unit_test(test_kernels_of_an_entry),
        cmocka_unit_test(test_plugin),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_open_fails),
        cmocka_unit_test(test_every_call_fails),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
