/* SPDX-License-Identifier: MIT */
/* code_place.c - a folder for a test of real compilers' code objects, and damage to them */
#include "tests/unit/code_place.h"

#include "base/file.h"
#include "base/hash.h"
#include "tests/unit/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A kernel that needs nothing much and one that must spill, as HIP and as CUDA. */
static const char source[] =
    "#ifdef __HIP__\n"
    "#define GLOBAL extern \"C\" __attribute__((global))\n"
    "#define SHARED __attribute__((shared))\n"
    "#define THREADS(n, b) __attribute__((amdgpu_flat_work_group_size(1, n), SPILL))\n"
    "#define TID __builtin_amdgcn_workitem_id_x()\n"
    "#define SYNC __builtin_amdgcn_s_barrier()\n"
    "#else\n"
    "#define GLOBAL extern \"C\" __global__\n"
    "#define SHARED __shared__\n"
    "#define THREADS(n, b) __launch_bounds__(n, b)\n"
    "#define TID threadIdx.x\n"
    "#define SYNC __syncthreads()\n"
    "#endif\n"
    "GLOBAL void THREADS(256, 1) k0_kernel0(float *p, int n)\n"
    "{\n"
    "    static SHARED float lds[512];\n"
    "    unsigned t = TID;\n"
    "    lds[t] = p[t];\n"
    "    SYNC;\n"
    "    p[t] = lds[(t + (unsigned)n) & 255];\n"
    "}\n"
    "GLOBAL void THREADS(64, 24) k0_kernel1(float *p)\n"
    "{\n"
    "    float a[96];\n"
    "    p += TID * 1000;\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 96; i++) a[i] = p[i];\n"
    "    for (int k = 0; k < 50; k++) {\n"
    "#pragma unroll\n"
    "        for (int i = 0; i < 96; i++) a[i] += a[(i + 31) % 96] * a[(i + 5) % 96];\n"
    "    }\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 96; i++) p[i] = a[i];\n"
    "}\n";

int code_place_open(void **state)
{
    struct code_place *p = calloc(1, sizeof(*p));
    struct ks_err err;
    char path[200];
    temp_dir_make(p->dir, sizeof(p->dir));
    snprintf(path, sizeof(path), "%s/k.cu", p->dir);
    *state = p;
    return ks_file_replace(path, source, strlen(source), &err);
}

int code_place_close(void **state)
{
    struct code_place *p = *state;
    char command[200];
    snprintf(command, sizeof(command), "rm -rf '%s'", p->dir);
    int rc = system(command);
    free(p);
    return rc;
}

bool code_can_run(const char *program)
{
    char command[300];
    snprintf(command, sizeof(command), "%s --version >/dev/null 2>&1", program);
    return system(command) == 0;
}

void code_read_file(const struct code_place *p, const char *name, struct ks_buf *out)
{
    struct ks_err err;
    char path[200];
    snprintf(path, sizeof(path), "%s/%s", p->dir, name);
    ks_buf_init(out);
    if (ks_file_read(path, out, &err) < 0)
        fail_msg("%s", err.text);
}

struct ks_code_object code_read(const struct ks_buf *image, const char *kernel)
{
    struct ks_code_object c = { .vgprs = 0 };
    struct ks_err err;
    if (ks_code_object_read(image->data, image->len, kernel, &c, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

/* The number after `key` in the part [at, end) of a text; -1: the key is not there. */
int64_t code_number_after(const char *at, const char *end, const char *key)
{
    const char *found = memmem(at, (size_t)(end - at), key, strlen(key));
    return found ? strtoll(found + strlen(key), NULL, 10) : -1;
}

/* A real image with random bytes of it changed: no more than what the reader promises. */
void code_damage(const struct ks_buf *image, uint64_t seed)
{
    uint8_t *copy = malloc(image->len);
    assert_non_null(copy);
    for (uint32_t i = 0; i < 300; i++) {
        struct ks_code_object c;
        memcpy(copy, image->data, image->len);
        for (uint32_t k = 0; k < 1 + i % 8; k++)
            copy[ks_rng_below(&seed, image->len)] = (uint8_t)ks_rng_next(&seed);
        int rc = ks_code_object_read(copy, image->len, NULL, &c, NULL);
        assert_true(rc == 0 || rc == KS_EFORMAT || rc == KS_ENOENT);
    }
    free(copy);
}
