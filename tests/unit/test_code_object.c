/* SPDX-License-Identifier: MIT */
/* What a kernel needs: of images made by hand, of what compilers make here, and of damaged ones. */
#include "base/file.h"
#include "base/hash.h"
#include "build/code_object.h"
#include "tests/unit/code_image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CLANG   "clang-19"
#define READELF "llvm-readelf-19"

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

static int read_made(enum code_image kind, const char *name, struct ks_code_object *out,
                     struct ks_err *err)
{
    struct ks_buf b;
    ks_buf_init(&b);
    code_image_make(kind, &b);
    assert_true(ks_buf_ok(&b));
    int rc = ks_code_object_read(b.data, b.len, name, out, err);
    ks_buf_release(&b);
    return rc;
}

static void must(int rc, const struct ks_err *err)
{
    if (rc < 0)
        fail_msg("%s: %s", ks_code_name(rc), err->text);
}

static void assert_code(const struct ks_code_object *got, const struct ks_code_object *want)
{
    assert_string_equal(got->name, want->name);
    assert_string_equal(got->target, want->target);
    assert_int_equal(got->vgprs, want->vgprs);
    assert_int_equal(got->agprs, want->agprs);
    assert_int_equal(got->sgprs, want->sgprs);
    assert_int_equal(got->vgpr_spills, want->vgpr_spills);
    assert_int_equal(got->sgpr_spills, want->sgpr_spills);
    assert_int_equal(got->lds_bytes, want->lds_bytes);
    assert_int_equal(got->scratch_bytes, want->scratch_bytes);
    assert_int_equal(got->kernarg_bytes, want->kernarg_bytes);
    assert_int_equal(got->wave, want->wave);
    assert_int_equal(got->max_threads, want->max_threads);
    assert_int_equal(got->code_bytes, want->code_bytes);
}

/* In the order of the struct. */
static const struct {
    enum code_image kind;
    const char *name;
    struct ks_code_object want;
} made[] = {
    { CODE_AMD, NULL, { "plain", "gfx90a", 24, -1, 300, -1, -1, 70000, 0, 88, 32, 1024, 16 } },
    { CODE_AMD, "spills", { "spills", "gfx90a", 256, 128, -1, 288, 2, -1, 420, -1, -1, -1, -1 } },
    { CODE_BUNDLE,
      "plain",
      { "plain", "gfx90a", 24, -1, 300, -1, -1, 70000, 0, 88, 32, 1024, 16 } },
    { CODE_CUDA, NULL, { "one", "sm_90", 40, -1, -1, -1, -1, 256, 16, 28, 32, 256, 128 } },
    { CODE_CUDA, "two", { "two", "sm_90", 255, -1, -1, -1, -1, 49152, 0, -1, 32, -1, 16 } },
    { CODE_CUDA_OLD, "one", { "one", "sm_80", 40, -1, -1, -1, -1, 256, 16, 28, 32, 256, 128 } },
    { CODE_EMULATOR, NULL, { "k0_kernel0", "emu", -1, -1, -1, -1, -1, 4096, -1, -1, 64, 128, -1 } },
    { CODE_EMULATOR,
      "k0_kernel1",
      { "k0_kernel1", "emu", -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 } },
};

static void test_made(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
        struct ks_code_object c;
        struct ks_err err;
        must(read_made(made[i].kind, made[i].name, &c, &err), &err);
        assert_code(&c, &made[i].want);
    }
}

static void test_refusals(void **state)
{
    static const struct {
        enum code_image kind;
        const char *name, *say;
        size_t at; /* a byte that is changed, 0: none */
        uint8_t to;
        int rc;
    } rows[] = {
        { CODE_AMD, "other", "no kernel 'other'", 0, 0, KS_ENOENT },
        { CODE_AMD, "plai", "no kernel 'plai'", 0, 0, KS_ENOENT },
        { CODE_CUDA, "three", "no kernel 'three'", 0, 0, KS_ENOENT },
        { CODE_EMULATOR, "some", "no kernel 'some'", 0, 0, KS_ENOENT },
        { CODE_EMULATOR, "k0_kernel", "no kernel", 0, 0, KS_ENOENT },
        { CODE_AMD, NULL, "ELF", 4, 1, KS_EFORMAT },            /* 32 bits */
        { CODE_AMD, NULL, "machine 40", 18, 40, KS_EFORMAT },   /* Arm's */
        { CODE_BUNDLE, NULL, "bundle", 24, 1, KS_EFORMAT },     /* only the host's entry */
        { CODE_EMULATOR, NULL, "machine", 18, 22, KS_EFORMAT }, /* another host's */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct ks_code_object c, before;
        struct ks_err err = { 0 };
        struct ks_buf b;
        ks_buf_init(&b);
        code_image_make(rows[i].kind, &b);
        if (rows[i].at)
            b.data[rows[i].at] = rows[i].to;
        memset(&c, 0x5a, sizeof(c));
        before = c;
        assert_int_equal(ks_code_object_read(b.data, b.len, rows[i].name, &c, &err), rows[i].rc);
        if (!strstr(err.text, rows[i].say))
            fail_msg("row %zu: '%s' does not say '%s'", i, err.text, rows[i].say);
        assert_memory_equal(&c, &before, sizeof(c));
        ks_buf_release(&b);
    }
    struct ks_code_object c;
    assert_int_equal(ks_code_object_read("", 0, NULL, &c, NULL), KS_EFORMAT);
    assert_int_equal(ks_code_object_read("CCOB....", 8, NULL, &c, NULL), KS_EFORMAT);
}

static void test_negative_number(void **state)
{
    static const char key[] = ".vgpr_count";
    struct ks_code_object c;
    struct ks_err err = { 0 };
    struct ks_buf b;
    (void)state;
    ks_buf_init(&b);
    code_image_make(CODE_AMD, &b);
    uint8_t *at = memmem(b.data, b.len, key, strlen(key));
    assert_non_null(at);
    memcpy(at + strlen(key), "\xd0\x80", 2); /* -128 */
    assert_int_equal(ks_code_object_read(b.data, b.len, NULL, &c, &err), KS_EFORMAT);
    assert_non_null(strstr(err.text, key));
    ks_buf_release(&b);
}

/* Every prefix of an image is refused or read, never read beyond: each in a block of its size. */
static void test_torn(void **state)
{
    (void)state;
    for (int kind = 0; kind < CODE_IMAGES; kind++) {
        struct ks_buf b;
        size_t n_whole = 0;
        ks_buf_init(&b);
        code_image_make((enum code_image)kind, &b);
        for (size_t n = 0; n <= b.len; n++) {
            struct ks_code_object c;
            uint8_t *part = malloc(n ? n : 1);
            assert_non_null(part);
            memcpy(part, b.data, n);
            n_whole += ks_code_object_read(part, n, NULL, &c, NULL) == 0;
            free(part);
        }
        assert_int_equal(n_whole, 1); /* the table of sections comes last */
        ks_buf_release(&b);
    }
}

/* What compilers make --------------------------------------------------------------------------*/

struct place {
    char dir[128];
};

static int open_place(void **state)
{
    struct place *p = calloc(1, sizeof(*p));
    struct ks_err err;
    char path[200];
    snprintf(p->dir, sizeof(p->dir), "%s/ks-code-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(p->dir))
        return -1;
    snprintf(path, sizeof(path), "%s/k.cu", p->dir);
    *state = p;
    return ks_file_replace(path, source, strlen(source), &err);
}

static int close_place(void **state)
{
    struct place *p = *state;
    char command[200];
    snprintf(command, sizeof(command), "rm -rf '%s'", p->dir);
    int rc = system(command);
    free(p);
    return rc;
}

static bool can_run(const char *program)
{
    char command[300];
    snprintf(command, sizeof(command), "%s --version >/dev/null 2>&1", program);
    return system(command) == 0;
}

static void read_file(const struct place *p, const char *name, struct ks_buf *out)
{
    struct ks_err err;
    char path[200];
    snprintf(path, sizeof(path), "%s/%s", p->dir, name);
    ks_buf_init(out);
    must(ks_file_read(path, out, &err), &err);
}

/* The number after `key` in the part [at, end) of a text; -1: the key is not there. */
static int64_t number_after(const char *at, const char *end, const char *key)
{
    const char *found = memmem(at, (size_t)(end - at), key, strlen(key));
    return found ? strtoll(found + strlen(key), NULL, 10) : -1;
}

/* The lines of one kernel in what llvm-readelf prints of the notes. */
static const char *lines_of(const char *text, const char *kernel, const char **end_out)
{
    char name[200];
    const char *at = text, *named;
    snprintf(name, sizeof(name), " %s\n", kernel);
    named = strstr(text, name);
    assert_non_null(named);
    for (const char *next = text; (next = strstr(next, "\n  - ")) && next < named; next++)
        at = next;
    const char *other = strstr(named, "\n  - "), *rest = strstr(named, "\namdhsa");
    assert_non_null(rest);
    *end_out = other && other < rest ? other : rest;
    return at;
}

static void compare_notes(const char *notes, const struct ks_code_object *c)
{
    const char *end, *at = lines_of(notes, c->name, &end);
    assert_int_equal(c->vgprs, number_after(at, end, ".vgpr_count:"));
    assert_int_equal(c->agprs, number_after(at, end, ".agpr_count:"));
    assert_int_equal(c->sgprs, number_after(at, end, ".sgpr_count:"));
    assert_int_equal(c->vgpr_spills, number_after(at, end, ".vgpr_spill_count:"));
    assert_int_equal(c->sgpr_spills, number_after(at, end, ".sgpr_spill_count:"));
    assert_int_equal(c->lds_bytes, number_after(at, end, ".group_segment_fixed_size:"));
    assert_int_equal(c->scratch_bytes, number_after(at, end, ".private_segment_fixed_size:"));
    assert_int_equal(c->kernarg_bytes, number_after(at, end, ".kernarg_segment_size:"));
    assert_int_equal(c->wave, number_after(at, end, ".wavefront_size:"));
    assert_int_equal(c->max_threads, number_after(at, end, ".max_flat_workgroup_size:"));
}

/* A real image with random bytes of it changed: no more than what the reader promises. */
static void damage(const struct ks_buf *image, uint64_t seed)
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

static void check_amd(const struct place *p, const char *arch, int version)
{
    struct ks_code_object c, first;
    struct ks_buf image, notes;
    struct ks_err err;
    char command[1000];
    snprintf(command, sizeof(command),
             "cd '%s' && " CLANG " -x hip --cuda-device-only --offload-arch=%s -nogpulib -nogpuinc "
             "--no-gpu-bundle-output -mcode-object-version=%d -O2 '-DSPILL=amdgpu_num_vgpr(32)' "
             "-o k.hsaco k.cu && " READELF " --notes k.hsaco >notes",
             p->dir, arch, version);
    assert_int_equal(system(command), 0);
    read_file(p, "k.hsaco", &image);
    read_file(p, "notes", &notes);
    must(ks_code_object_read(image.data, image.len, NULL, &first, &err), &err);
    must(ks_code_object_read(image.data, image.len, "k0_kernel0", &c, &err), &err);
    assert_string_equal(first.name, "k0_kernel0");
    assert_string_equal(c.target, arch);
    assert_int_equal(c.lds_bytes, 2048);
    assert_int_equal(c.vgpr_spills, 0);
    assert_true(c.code_bytes > 16 && c.code_bytes < 1000);
    compare_notes(ks_buf_text(&notes), &c);
    must(ks_code_object_read(image.data, image.len, "k0_kernel1", &c, &err), &err);
    assert_true(c.vgpr_spills > 0 && c.scratch_bytes > 0 && c.code_bytes > 1000);
    compare_notes(ks_buf_text(&notes), &c);
    damage(&image, (uint64_t)version);
    ks_buf_release(&image);
    ks_buf_release(&notes);
}

static void test_amd(void **state)
{
    static const char *const archs[] = { "gfx908", "gfx90a", "gfx942", "gfx1100" };
    if (!can_run(CLANG) || !can_run(READELF))
        skip();
    for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++)
        check_amd(*state, archs[i], i % 2 ? 4 : 5);
}

/* The lines of one kernel in what ptxas -v prints: up to the next one. */
static void compare_ptxas(const char *text, const struct ks_code_object *c)
{
    char name[200];
    snprintf(name, sizeof(name), "Compiling entry function '%s'", c->name);
    const char *at = strstr(text, name), *used, *next;
    assert_non_null(at);
    next = strstr(at + 1, "Compiling entry function");
    const char *end = next ? next : at + strlen(at);
    used = strstr(at, "Used ");
    assert_true(used && used < end);
    assert_int_equal(c->vgprs, number_after(at, end, "Used "));
    const char *properties = strchr(strstr(at, "Function properties"), '\n');
    assert_int_equal(c->scratch_bytes, strtoll(properties, NULL, 10)); /* "16 bytes stack frame" */
    const char *shared = memmem(used, (size_t)(end - used), " bytes smem", 11);
    while (shared && shared > used && shared[-1] >= '0' && shared[-1] <= '9')
        shared--;
    assert_int_equal(c->lds_bytes, shared ? strtoll(shared, NULL, 10) : 0);
}

static const char *find_nvcc(void)
{
    return can_run("nvcc")                       ? "nvcc"
           : can_run("/usr/local/cuda/bin/nvcc") ? "/usr/local/cuda/bin/nvcc"
                                                 : NULL;
}

static void check_cuda(const struct place *p, const char *nvcc, const char *arch)
{
    struct ks_code_object c;
    struct ks_buf image, log;
    struct ks_err err;
    char command[1000];
    snprintf(command, sizeof(command),
             "cd '%s' && %s -arch=%s -cubin -Xptxas -v -o k.cubin k.cu >log 2>&1", p->dir, nvcc,
             arch);
    assert_int_equal(system(command), 0);
    read_file(p, "k.cubin", &image);
    read_file(p, "log", &log);
    must(ks_code_object_read(image.data, image.len, "k0_kernel0", &c, &err), &err);
    assert_string_equal(c.target, arch);
    assert_int_equal(c.lds_bytes, 2048);
    assert_int_equal(c.scratch_bytes, 0);
    assert_int_equal(c.kernarg_bytes, 12);
    assert_int_equal(c.max_threads, 256);
    assert_int_equal(c.wave, 32);
    compare_ptxas(ks_buf_text(&log), &c);
    must(ks_code_object_read(image.data, image.len, "k0_kernel1", &c, &err), &err);
    assert_true(c.scratch_bytes > 0 && c.code_bytes > 1000);
    compare_ptxas(ks_buf_text(&log), &c);
    damage(&image, 3);
    ks_buf_release(&image);
    ks_buf_release(&log);
}

static void test_cuda(void **state)
{
    const char *nvcc = find_nvcc();
    if (!nvcc)
        skip();
    check_cuda(*state, nvcc, "sm_80");
    check_cuda(*state, nvcc, "sm_90");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_negative_number),
        cmocka_unit_test(test_torn),
        cmocka_unit_test_setup_teardown(test_amd, open_place, close_place),
        cmocka_unit_test_setup_teardown(test_cuda, open_place, close_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
