/* SPDX-License-Identifier: MIT */
/* gpu_kit.c - an open GPU over a stub of its runtime, with kernels, for one test */
#include "tests/unit/gpu_kit.h"

#include "tests/unit/so.h"
#include "tests/unit/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
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

int gpu_setup(void **state)
{
    struct gpu_fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    temp_dir_make(f->dir, sizeof(f->dir));
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

int gpu_teardown(void **state)
{
    struct gpu_fixture *f = *state;

    temp_dir_remove(f->dir);
    free(f);
    return 0;
}

void gpu_bench_open(const struct gpu_fixture *f, int is_cuda, const char *path, const char *name,
                    struct gpu_bench *b)
{
    const struct ks_device_ops *ops = is_cuda ? &ks_device_cuda : &ks_device_hip;

    *b = (struct gpu_bench){ .stub = f->stubs[is_cuda] };
    stub_reset(b->stub);
    b->p = (struct ks_abi_problem){ .bytes = sizeof(b->p), .n = 1, .c = 256 };
    assert_int_equal(ops->open("", &b->dev, &b->err), 0);
    assert_int_equal(ops->module_open(b->dev, path, &b->mod, &b->err), 0);
    assert_int_equal(ops->module_entry(b->dev, b->mod, name, &b->entry, &b->err), 0);
    assert_int_equal(ops->alloc(b->dev, 4096, &b->buf.c, &b->err), 0);
    b->c = b->buf.c;
    memset(b->c, 0, 4096);
}

void gpu_bench_close(struct gpu_bench *b)
{
    b->dev->ops->module_close(b->dev, b->mod);
    b->dev->ops->free(b->dev, b->buf.c);
    b->dev->ops->close(b->dev);
}

int gpu_sample(struct gpu_bench *b, uint32_t calls, uint32_t n, bool is_cold, double *ns)
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
