/* SPDX-License-Identifier: MIT */
/* gpu_stub.c - makes the stub of a GPU's runtime while a test runs, and resets it */
#include "tests/unit/gpu_stub.h"

#include "tests/unit/so.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct stub *stub_build(const char *dir, const char *name, int is_cuda, const char *defines,
                        char *out, size_t cap)
{
    char source[512];
    struct stub *s;
    void *lib;

    assert_true(snprintf(source, sizeof(source),
                         "#define STUB_CUDA %d\n%s\n#include \"tests/unit/gpu_stub_library.c\"\n",
                         is_cuda, defines) < (int)sizeof(source));
    so_build(dir, name, source, out, cap);
    lib = dlopen(out, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(lib);
    s = dlsym(lib, "stub");
    assert_non_null(s);
    stub_reset(s);
    return s;
}

void stub_reset(struct stub *s)
{
    *s = (struct stub){ .n_devices = 2,
                        .ns_launch = 2000,
                        .ns_per_byte = 0.01,
                        .memory = (size_t)1 << 30,
                        .max_threads = 1024,
                        .occupancy = 4,
                        .shared_limit = 227 << 10,
                        .shared_plain = 64 << 10,
                        .registers = 32,
                        .arch = "gfx90a:sramecc+:xnack-" };
}
