/* SPDX-License-Identifier: MIT */
/* test_device.c - the contract of device.h, held against every backend; what is special to one */
#include "base/clock.h"
#include "base/cpu_level.h"
#include "device/backends.h"
#include "device/cold.h"
#include "device/device.h"
#include "device/device_fault.h"
#include "device/host_info.h"
#include "tests/unit/gpu_stub.h"
#include "tests/unit/so.h"
#include "tests/unit/temp_dir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One good table, compiled once; every backend can open it (sim ignores the file). */
static const char good_source[] =
    "#include \"kernels/abi.h\"\n"
    "static const char *un(const struct ks_abi_problem *p) { return p->c % 2 ? \"odd\" : 0; }\n"
    "static int64_t ws(const struct ks_abi_problem *p) { return p->c; }\n"
    "static int run(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)\n"
    "{ float *c = b->c; c[0] = c[0] + 1.0f; return (int)p->n == 7 ? 42 : 0; }\n"
    "static const struct ks_abi_entry e[] = { { \"one\", un, ws, run }, { \"two\", un, ws, run } "
    "};\n"
    "const struct ks_abi_table ks_kernel_table = { KS_ABI_MAJOR, 2, e };\n";

static int time_calls(struct ks_device *dev, const struct ks_abi_entry *e,
                      const struct ks_abi_problem *p, const struct ks_abi_buffers *buf,
                      uint32_t calls, double *ns_out, int *kernel_rc_out, struct ks_err *err)
{
    const struct ks_timing t = {
        .entry = e, .problem = p, .buf = buf, .calls = calls, .n_samples = 1
    };

    return dev->ops->time_samples(dev, &t, ns_out, kernel_rc_out, err);
}

struct fixture {
    char dir[256], good[512];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    temp_dir_make(f->dir, sizeof(f->dir));
    so_build(f->dir, "good", good_source, f->good, sizeof(f->good));
    for (int is_cuda = 0; is_cuda < 2; is_cuda++) {
        char path[512];

        (void)stub_build(f->dir, is_cuda ? "cuda" : "hip", is_cuda, "", path, sizeof(path));
        setenv(is_cuda ? "KSWEEP_CUDA_LIBRARY" : "KSWEEP_HIP_LIBRARY", path, 1);
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    temp_dir_remove(f->dir);
    free(f);
    return 0;
}

static struct ks_device *open_device(const struct ks_device_ops *ops)
{
    struct ks_device *dev = NULL;
    struct ks_err err = { 0 };

    assert_int_equal(ops->open("", &dev, &err), 0);
    assert_non_null(dev);
    assert_ptr_equal(dev->ops, ops);
    return dev;
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; ks_device_backends[i] != NULL; i++) {
        struct ks_err err = { 0 };

        assert_int_equal(ks_device_check(ks_device_backends[i], &err), 0);
        assert_ptr_equal(ks_device_find(ks_device_backends[i]->name), ks_device_backends[i]);
        assert_string_equal(ks_device_backends[i]->name, ks_backends[i].name);
        assert_int_equal(ks_device_backends[i]->is_virtual,
                         ks_backend_is(&ks_backends[i], KS_BACKEND_VIRTUAL));
    }
    assert_null(ks_device_find("abacus"));
}

static void test_check_names_the_slot(void **state)
{
    struct ks_device_ops ops = ks_device_host;
    struct ks_err err = { 0 };

    (void)state;
    ops.touch = NULL;
    assert_int_equal(ks_device_check(&ops, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "touch"));
    ops = ks_device_host;
    ops.abi = KS_DEVICE_ABI + 1;
    assert_int_equal(ks_device_check(&ops, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "ABI"));
}

static void check_memory(struct ks_device *dev)
{
    uint8_t in[5000], out[5000];
    struct ks_err err = { 0 };
    void *p = NULL, *q = NULL;

    for (size_t i = 0; i < sizeof(in); i++)
        in[i] = (uint8_t)(i * 31 + 7);
    memset(out, 0, sizeof(out));
    assert_int_equal(dev->ops->alloc(dev, sizeof(in), &p, &err), 0);
    assert_int_equal((uintptr_t)p % 4096, 0);
    assert_int_equal(dev->ops->alloc(dev, 1, &q, &err), 0);
    assert_ptr_not_equal(p, q);
    assert_int_equal(dev->ops->upload(dev, p, in, sizeof(in), &err), 0);
    assert_int_equal(dev->ops->touch(dev, p, sizeof(in), &err), 0);
    assert_int_equal(dev->ops->flush(dev, &err), 0);
    assert_int_equal(dev->ops->download(dev, out, p, sizeof(out), &err), 0);
    assert_memory_equal(in, out, sizeof(in));
    if (dev->ops->host_view(dev, p) != NULL)
        assert_memory_equal(dev->ops->host_view(dev, p), in, sizeof(in));
    for (size_t i = 0; i < 8; i++)
        in[100 + i] = (uint8_t)(i % 4 + 1);
    assert_int_equal(dev->ops->fill(dev, (uint8_t *)p + 100, 0x04030201u, 8, &err), 0);
    assert_int_equal(dev->ops->download(dev, out, p, sizeof(out), &err), 0);
    assert_memory_equal(in, out, sizeof(in));
    dev->ops->free(dev, p);
    dev->ops->free(dev, q);
    dev->ops->free(dev, NULL);
    p = &err;
    assert_int_equal(dev->ops->alloc(dev, SIZE_MAX - 64, &p, &err), KS_EINVAL);
    assert_int_equal(dev->ops->alloc(dev, 0, &p, &err), KS_EINVAL);
    assert_ptr_equal(p, &err);
}

static void check_kernels(struct ks_device *dev, const char *path)
{
    struct ks_abi_problem prob = { .bytes = sizeof(prob), .n = 1, .c = 2 };
    const struct ks_abi_entry *one = NULL, *two = NULL;
    struct ks_abi_buffers buf = { 0 };
    struct ks_module *mod = NULL;
    struct ks_err err = { 0 };
    double ns = 0;
    int krc = 0;

    assert_int_equal(dev->ops->module_open(dev, path, &mod, &err), 0);
    assert_int_equal(dev->ops->module_entry(dev, mod, "one", &one, &err), 0);
    assert_int_equal(dev->ops->module_entry(dev, mod, "two", &two, &err), 0);
    assert_string_equal(one->name, "one");
    assert_string_equal(two->name, "two");
    assert_int_equal(dev->ops->module_entry(dev, mod, "", &two, &err), KS_ELOAD);
    assert_string_equal(two->name, "two");
    assert_null(one->unsupported(&prob));
    assert_int_equal(dev->ops->alloc(dev, 4096, &buf.c, &err), 0);
    assert_int_equal(time_calls(dev, one, &prob, &buf, 1000, &ns, &krc, &err), 0);
    assert_true(ns > 0 && ns < 1e10);
    assert_int_equal(krc, 0);
    dev->ops->free(dev, buf.c);
    dev->ops->module_close(dev, mod);
    dev->ops->module_close(dev, NULL);
}

static void check_backend(struct ks_device *dev, const struct fixture *f)
{
    struct ks_device_props p;
    struct ks_err err = { 0 };
    double ns = 0;

    assert_int_equal(dev->ops->props(dev, &p, &err), 0);
    assert_true(p.name[0] != '\0' && p.arch[0] != '\0' && p.unique[0] != '\0');
    assert_true(p.clock_ns > 0 && p.clock_ns < 1e6);
    assert_true(p.memory_bytes > 0 && p.n_units > 0);
    assert_int_equal(dev->ops->canary(dev, &ns, &err), 0);
    assert_true(ns > 1e3 && ns < 1e9);
    assert_int_equal(dev->ops->self_test(dev, &err), 0);
    check_memory(dev);
    check_kernels(dev, f->good);
}

static void test_conformance(void **state)
{
    for (size_t i = 0; ks_device_backends[i] != NULL; i++) {
        const struct ks_device_ops *ops = ks_device_backends[i];
        struct ks_device *dev = open_device(ops), *wrapped = NULL;
        struct ks_device *bad = (struct ks_device *)&i;
        struct ks_fault_plan plan = { .slot = KS_FAULT_NONE };
        struct ks_err err = { 0 };
        struct ks_device_id ids[KS_DEVICES_MAX];
        uint32_t n = 0;

        assert_int_equal(ops->list("", ids, &n, &err), 0);
        assert_true(n > 0 && ids[0].unique[0] != '\0');
        assert_int_equal(ops->open("no such=device", &bad, &err), KS_ENODEVICE);
        assert_ptr_equal(bad, &i);
        check_backend(dev, *state);
        assert_int_equal(ks_fault_wrap(dev, &plan, &wrapped, &err), 0);
        assert_int_equal(ks_device_check(wrapped->ops, &err), 0);
        check_backend(wrapped, *state);
        wrapped->ops->close(wrapped);
        ops->close(dev);
        ops->close(NULL);
    }
}

static void test_host_runs_every_call(void **state)
{
    const struct fixture *f = *state;
    struct ks_abi_problem prob = { .bytes = sizeof(prob), .n = 1 };
    struct ks_device *dev = open_device(&ks_device_host);
    const struct ks_abi_entry *e = NULL;
    struct ks_module *mod = NULL;
    struct ks_err err = { 0 };
    float c[1] = { 0 };
    struct ks_abi_buffers buf = { .c = c };
    double ns = -1;
    int krc = 0;

    assert_int_equal(dev->ops->module_open(dev, f->good, &mod, &err), 0);
    assert_int_equal(dev->ops->module_entry(dev, mod, "two", &e, &err), 0);
    assert_int_equal(time_calls(dev, e, &prob, &buf, 1000, &ns, &krc, &err), 0);
    assert_true(c[0] == 1000.0f);
    prob.n = 7; /* its first call fails: the others are not made */
    ns = -1;
    assert_int_equal(time_calls(dev, e, &prob, &buf, 10, &ns, &krc, &err), KS_EDEVICE);
    assert_int_equal(krc, 42);
    assert_true(c[0] == 1001.0f && ns == -1);
    dev->ops->module_close(dev, mod);
    dev->ops->close(dev);
}

#define TABLE_OF_ONE                                                                               \
    "#include \"kernels/abi.h\"\n"                                                                 \
    "static const char *un(const struct ks_abi_problem *p) { (void)p; return 0; }\n"               \
    "static int64_t ws(const struct ks_abi_problem *p) { return p->c; }\n"                         \
    "static int run(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)\n"             \
    "{ (void)p; (void)b; return 0; }\n"                                                            \
    "static const struct ks_abi_entry e = { \"x\", un, ws, run };\n"                               \
    "const struct ks_abi_table ks_kernel_table = { 1, 1, &e };\n"

static const struct bad_artefact {
    const char *name, *source, *want;
} bad_artefacts[] = {
    { "no_table", "int nothing;", "does not export ks_kernel_table" },
    { "other_abi",
      "#include \"kernels/abi.h\"\nconst struct ks_abi_table ks_kernel_table = { 99, 1, 0 };",
      "has ABI 99" },
    { "empty",
      "#include \"kernels/abi.h\"\nconst struct ks_abi_table ks_kernel_table = { 1, 0, 0 };",
      "empty" },
    { "no_run",
      "#include \"kernels/abi.h\"\nstatic const struct ks_abi_entry e = { \"x\" };\n"
      "const struct ks_abi_table ks_kernel_table = { 1, 1, &e };",
      "entry 0" },
    { "image_for_a_gpu",
      TABLE_OF_ONE "static const char *const k[] = { \"k0\" };\n"
                   "const struct ks_abi_image ks_kernel_image = { \"image\", 5, k };",
      "contains kernels for a GPU" },
    { "image_empty",
      TABLE_OF_ONE "static const char *const k[] = { \"k0\" };\n"
                   "const struct ks_abi_image ks_kernel_image = { \"image\", 0, k };",
      "empty ks_kernel_image" },
    { "image_nameless",
      TABLE_OF_ONE "static const char *const k[] = { 0 };\n"
                   "const struct ks_abi_image ks_kernel_image = { \"image\", 5, k };",
      "names no kernel 0" },
    { "undefined", "extern int not_there(void); int x(void) { return not_there(); }", "not_there" },
};

static void test_host_refuses_artefacts(void **state)
{
    const struct fixture *f = *state;
    struct ks_device *dev = open_device(&ks_device_host);
    struct ks_module *mod = NULL;
    struct ks_err err = { 0 };

    for (size_t i = 0; i < sizeof(bad_artefacts) / sizeof(bad_artefacts[0]); i++) {
        const struct bad_artefact *b = &bad_artefacts[i];
        char path[512];

        so_build(f->dir, b->name, b->source, path, sizeof(path));
        assert_int_equal(dev->ops->module_open(dev, path, &mod, &err), KS_ELOAD);
        assert_non_null(strstr(err.text, b->want));
        assert_null(mod);
    }
    assert_int_equal(dev->ops->module_open(dev, "/nowhere/at/all.so", &mod, &err), KS_ELOAD);
    assert_non_null(strstr(err.text, "/nowhere/at/all.so"));
    dev->ops->close(dev);
}

static void test_host_guards_its_blocks(void **state)
{
    struct ks_device *dev = open_device(&ks_device_host);
    struct ks_err err = { 0 };
    void *p[3] = { NULL, NULL, NULL };

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(dev->ops->alloc(dev, 8192, &p[i], &err), 0);
    /* Never side by side: at least a page without rights between any two. */
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            uintptr_t a = (uintptr_t)p[i], b = (uintptr_t)p[j];

            assert_true(i == j || a >= b + 8192 + 4096 || b >= a + 8192 + 4096);
        }
    }
    dev->ops->free(dev, p[1]);
    dev->ops->free(dev, p[0]);
    dev->ops->close(dev); /* frees the rest: the leak check tells */
}

static const struct {
    const char *locator;
    int rc_run, rc_self;
} sim_fail_rows[] = {
    { "fail=none", 0, 0 },
    { "fail=run", KS_EDEVICE, 0 },
    { "fail=self_test", 0, KS_EDEVICE },
    { "seed=3,fail=all,ns=5", KS_EDEVICE, KS_EDEVICE },
};

static void test_sim_fails_on_demand(void **state)
{
    static const char *const bad[] = {
        "seed=", "seed=x", "ns=0", "fail=maybe", "speed=3", "seed=1;"
    };
    struct ks_abi_problem prob = { .bytes = sizeof(prob) };
    struct ks_err err = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(sim_fail_rows) / sizeof(sim_fail_rows[0]); i++) {
        const struct ks_abi_entry *e = NULL;
        struct ks_device *dev = NULL;
        struct ks_module *mod = NULL;
        double ns = 0;
        int krc = 0;

        assert_int_equal(ks_device_sim.open(sim_fail_rows[i].locator, &dev, &err), 0);
        assert_int_equal(dev->ops->module_open(dev, "", &mod, &err), 0);
        assert_int_equal(dev->ops->module_entry(dev, mod, "a", &e, &err), 0);
        assert_int_equal(time_calls(dev, e, &prob, NULL, 1, &ns, &krc, &err),
                         sim_fail_rows[i].rc_run);
        assert_int_equal(krc, 0);
        assert_int_equal(dev->ops->self_test(dev, &err), sim_fail_rows[i].rc_self);
        dev->ops->module_close(dev, mod);
        dev->ops->close(dev);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ks_device *dev = NULL;

        assert_int_equal(ks_device_sim.open(bad[i], &dev, &err), KS_ENODEVICE);
        assert_null(dev);
    }
}

/* A host of 4 simulated devices, seen through the lists: which of them, in which order. */
static void test_sim_sees_what_is_visible(void **state)
{
    static const struct {
        const char *rocr, *hip, *cuda, *want;
    } rows[] = {
        { NULL, NULL, NULL, "0 1 2 3 " }, { "0,1", NULL, NULL, "0 1 " },
        { "3", NULL, NULL, "3 " },        { "2,0", "1", NULL, "0 " },
        { NULL, "3,1", NULL, "3 1 " },    { NULL, NULL, "1,2", "1 2 " },
        { NULL, "2", "1,2", "2 " },       { "0,7,1", NULL, NULL, "0 " },
        { "", NULL, NULL, "" },           { "2,3", NULL, "2,3", "" }, /* filtered twice */
        { "-1", NULL, NULL, "" },
    };
    static const char *const names[] = { "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                         "CUDA_VISIBLE_DEVICES" };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *values[] = { rows[i].rocr, rows[i].hip, rows[i].cuda };
        struct ks_device_id ids[KS_DEVICES_MAX];
        struct ks_device *dev = NULL;
        struct ks_device_props p;
        struct ks_err err = { 0 };
        char got[64] = "";
        uint32_t n = 99;

        for (size_t k = 0; k < 3; k++) {
            unsetenv(names[k]);
            if (values[k] != NULL)
                setenv(names[k], values[k], 1);
        }
        assert_int_equal(ks_device_sim.list("n_devices=4", ids, &n, &err), 0);
        for (uint32_t k = 0; k < n; k++) {
            size_t at = strlen(got);

            snprintf(got + at, sizeof(got) - at, "%ld ", strtol(ids[k].pci + 5, NULL, 16) - 16);
        }
        assert_string_equal(got, rows[i].want);
        assert_int_equal(ks_device_sim.open("n_devices=4", &dev, &err), n ? 0 : KS_ENODEVICE);
        if (n == 0)
            continue;
        assert_int_equal(dev->ops->props(dev, &p, &err), 0);
        assert_string_equal(p.unique, ids[0].unique);
        assert_string_equal(p.locator, ids[0].pci);
        dev->ops->close(dev);
    }
    for (size_t k = 0; k < 3; k++)
        unsetenv(names[k]);
}

static void test_fault_fails_once(void **state)
{
    struct ks_fault_plan plan = { .slot = KS_FAULT_ALLOC, .nth = 1, .code = KS_ENOMEM };
    struct ks_device *dev = open_device(&ks_device_host), *f = NULL;
    struct ks_err err = { 0 };
    void *p[3] = { NULL, NULL, NULL };

    (void)state;
    assert_int_equal(ks_fault_wrap(dev, &plan, &f, &err), 0);
    assert_int_equal(f->ops->alloc(f, 64, &p[0], &err), 0);
    assert_int_equal(f->ops->alloc(f, 64, &p[1], &err), KS_ENOMEM);
    assert_null(p[1]);
    assert_int_equal(f->ops->alloc(f, 64, &p[2], &err), 0);
    assert_int_equal(ks_fault_calls(f, KS_FAULT_ALLOC), 3);
    assert_int_equal(ks_fault_calls(f, KS_FAULT_TOUCH), 0);
    f->ops->close(f);
    dev->ops->close(dev);
}

static const struct {
    const char *flags, *want;
} level_rows[] = {
    { "fpu sse2", "x86-64" },
    { "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3", "x86-64-v2" },
    { "cx16 lahf_lm popcnt pni sse4_1 sse4_2", "x86-64" },
    { "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 f16c fma abm movbe xsave",
      "x86-64-v3" },
    { "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3 avx bmi1 bmi2 f16c fma abm movbe xsave avx2x",
      "x86-64-v2" },
    { "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 f16c fma abm movbe xsave "
      "avx512f avx512bw avx512cd avx512dq avx512vl",
      "x86-64-v4" },
};

static void test_host_info(void **state)
{
    static const char cpuinfo[] = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: Some CPU @ 2 GHz\n"
                                  "flags\t\t: fpu sse2\n\nprocessor\t: 1\n";
    char text[64];
    cpu_set_t set;

    (void)state;
    for (size_t i = 0; i < sizeof(level_rows) / sizeof(level_rows[0]); i++)
        assert_string_equal(ks_cpu_level_of(level_rows[i].flags), level_rows[i].want);
    ks_host_cpuinfo_value(cpuinfo, "model name", text, sizeof(text));
    assert_string_equal(text, "Some CPU @ 2 GHz");
    ks_host_cpuinfo_value(cpuinfo, "model", text, sizeof(text));
    assert_string_equal(text, "17");
    ks_host_cpuinfo_value(cpuinfo, "cache", text, sizeof(text));
    assert_string_equal(text, "");
    CPU_ZERO(&set);
    for (size_t i = 0; i < 12; i++) {
        if (i < 4 || i == 8 || i > 9)
            CPU_SET(i, &set);
    }
    ks_host_cpu_list(&set, text, sizeof(text));
    assert_string_equal(text, "0-3,8,10-11");
}

/* Each cache line names the next: the time per line is that of one load, which no prefetcher and no
 * instrumentation hides. */
static uint64_t walk_ns(void *const *ring, size_t n_lines)
{
    void *const volatile *at = ring;
    uint64_t start = ks_now_ns();

    for (size_t i = 0; i < n_lines; i++)
        at = *at;
    assert_ptr_equal(at, ring);
    return ks_now_ns() - start;
}

enum { LINES = 512, LINE = 64 }; /* few: a walk of every second line stays in a small cache */

/* A ring over one line of every `step` bytes, in an order that no prefetcher follows. */
static void **make_ring(uint8_t *first, size_t step)
{
    /* A multiplier of the form 4k + 1 and an odd increment visit all of a power of two. */
    for (size_t i = 0, at = 0; i < LINES; i++) {
        size_t next = (at * 1229 + 1811) % LINES;

        *(void **)(void *)(first + at * step) = first + next * step;
        at = next;
    }
    return (void **)(void *)first;
}

struct walked {
    uint64_t cold, warm; /* ns of the best rounds, so that whoever disturbs one does no harm */
};

static void walk_both(void *const *ring, struct walked *w)
{
    uint64_t cold = walk_ns(ring, LINES), warm = walk_ns(ring, LINES);

    w->cold = cold < w->cold ? cold : w->cold;
    w->warm = warm < w->warm ? warm : w->warm;
}

/* A line from memory takes ten times as long and more as one from a cache. */
static void assert_was_cold(const struct walked *w)
{
    print_message("# %.1f ns a line flushed, %.1f ns cached\n", (double)w->cold / LINES,
                  (double)w->warm / LINES);
    assert_true(w->cold > 2 * w->warm);
}

static void test_cold_evicts(void **state)
{
    struct ks_device *dev = open_device(&ks_device_host);
    struct walked best = { UINT64_MAX, UINT64_MAX };
    struct ks_err err = { 0 };
    void *p = NULL, **ring;

    (void)state;
    if (!ks_cold_can_evict()) {
        dev->ops->close(dev);
        skip();
    }
    assert_int_equal(dev->ops->alloc(dev, (size_t)LINES * LINE, &p, &err), 0);
    ring = make_ring(p, LINE);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(dev->ops->flush(dev, &err), 0);
        walk_both(ring, &best);
    }
    dev->ops->free(dev, p);
    dev->ops->close(dev);
    assert_was_cold(&best);
}

/* Blocks of 32 bytes over the end of a line: the line in which each of them ends. */
static void test_cold_evicts_the_last_line(void **state)
{
    enum { STEP = 2 * LINE, BEGIN = LINE - 16, BYTES = 32 };
    struct walked best = { UINT64_MAX, UINT64_MAX };
    uint8_t *p;
    void **ring;

    (void)state;
    if (!ks_cold_can_evict())
        skip();
    p = aligned_alloc(LINE, (size_t)LINES * STEP);
    assert_non_null(p);
    ring = make_ring(p + LINE, STEP);
    for (int i = 0; i < 40; i++) {
        for (size_t k = 0; k < LINES; k++)
            ks_cold_evict(p + k * STEP + BEGIN, BYTES);
        walk_both(ring, &best);
    }
    free(p);
    assert_was_cold(&best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_check_names_the_slot),
        cmocka_unit_test(test_conformance),
        cmocka_unit_test(test_host_runs_every_call),
        cmocka_unit_test(test_host_refuses_artefacts),
        cmocka_unit_test(test_host_guards_its_blocks),
        cmocka_unit_test(test_sim_fails_on_demand),
        cmocka_unit_test(test_sim_sees_what_is_visible),
        cmocka_unit_test(test_fault_fails_once),
        cmocka_unit_test(test_host_info),
        cmocka_unit_test(test_cold_evicts),
        cmocka_unit_test(test_cold_evicts_the_last_line),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
