/* SPDX-License-Identifier: MIT */
/* test_gpu_faults.c - a GPU's device over a runtime whose every call can fail, once or for good */
#include "tests/unit/fault.h"
#include "tests/unit/gpu_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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
    const struct gpu_fixture *f = *state;

    for (size_t i = 0; i < sizeof(fault_rows) / sizeof(fault_rows[0]); i++) {
        double ns[8] = { 0 };
        struct gpu_bench b;
        int rc;

        gpu_bench_open(f, 0, f->kernels, "one", &b);
        b.stub->fail_name = fault_rows[i].name;
        b.stub->fail_nth = fault_rows[i].nth;
        b.stub->fail_code = fault_rows[i].code;
        rc = gpu_sample(&b, 1, 8, false, ns);
        b.stub->fail_name = NULL;
        assert_int_equal(rc, fault_rows[i].want);
        if (rc < 0) {
            assert_non_null(strstr(b.err.text, fault_rows[i].text));
            assert_true(ns[0] == 0 && ns[7] == 0);
            assert_true(b.stub->n_pending == 0 || rc == KS_EDEVLOST); /* nothing runs on */
        }
        rc = gpu_sample(&b, 1, 8, false, ns);
        assert_int_equal(rc, fault_rows[i].want == KS_EDEVLOST ? KS_EDEVLOST : 0);
        gpu_bench_close(&b);
        assert_int_equal(b.stub->n_blocks == 0, fault_rows[i].want != KS_EDEVLOST);
    }
}

/* After a sticky error nothing asks the dead runtime again, which might never answer. */
static void test_lost(void **state)
{
    const struct gpu_fixture *f = *state;
    uint32_t word = 0;
    void *p = NULL;
    struct gpu_bench b;
    double ns[1];

    gpu_bench_open(f, 1, f->kernels, "one", &b);
    b.stub->sticky = 719;
    assert_int_equal(b.dev->ops->upload(b.dev, b.c, &word, 4, &b.err), KS_EDEVLOST);
    assert_non_null(strstr(b.err.text, "CUDA_ERROR_LAUNCH_FAILED (719)"));
    b.stub->sticky = 0;
    assert_int_equal(b.dev->ops->upload(b.dev, b.c, &word, 4, &b.err), KS_EDEVLOST);
    assert_non_null(
        strstr(b.err.text, "the device is unusable since CUDA_ERROR_LAUNCH_FAILED (719)"));
    assert_int_equal(b.dev->ops->download(b.dev, &word, b.c, 4, &b.err), KS_EDEVLOST);
    assert_int_equal(b.dev->ops->fill(b.dev, b.c, 1, 4, &b.err), KS_EDEVLOST);
    assert_int_equal(b.dev->ops->alloc(b.dev, 4, &p, &b.err), KS_EDEVLOST);
    assert_int_equal(b.dev->ops->self_test(b.dev, &b.err), KS_EDEVLOST);
    assert_int_equal(b.dev->ops->canary(b.dev, ns, &b.err), KS_EDEVLOST);
    assert_int_equal(b.dev->ops->flush(b.dev, &b.err), KS_EDEVLOST);
    assert_int_equal(b.dev->ops->touch(b.dev, b.c, 4, &b.err), KS_EDEVLOST);
    assert_int_equal(gpu_sample(&b, 1, 1, false, ns), KS_EDEVLOST);
    assert_int_equal(b.dev->ops->module_entry(b.dev, b.mod, "two", &b.entry, &b.err), KS_EDEVLOST);
    gpu_bench_close(&b);
}

/* Opening fails at every call of it in turn; nothing is left behind. */
static void test_open_fails(void **state)
{
    static const char *const calls[] = { "hipGetDeviceCount", "hipSetDevice", "cuCtxSetCurrent",
                                         "StreamCreateWithFlags", "StreamSynchronize" };
    const struct gpu_fixture *f = *state;

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

/* Everything but the canary, which is long, once; the first error ends it, and whatever was made is
 * given back. */
static int whole_way(const struct gpu_fixture *f, const struct ks_device_ops *ops,
                     struct ks_err *err)
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
    const struct gpu_fixture *f = *state;
    struct stub *s = f->stubs[1];
    bool armed = true;
    int rc = -1, n = 0, n_without = 0;

    for (n = 0; rc < 0; n++) {
        struct ks_err err = { 0 };

        stub_reset(s);
        s->memory = (size_t)32 << 20; /* a sweep of 2 MiB is soon done */
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
        s->memory = (size_t)32 << 20;
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
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_open_fails),
        cmocka_unit_test(test_every_call_fails),
    };

    return cmocka_run_group_tests(tests, gpu_setup, gpu_teardown);
}
