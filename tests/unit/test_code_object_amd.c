/* SPDX-License-Identifier: MIT */
/* test_code_object_amd.c - what a kernel needs, of clang's code for AMD: as llvm-readelf says */
/* group: clang19 */
#include "tests/unit/code_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CLANG   "clang-19"
#define READELF "llvm-readelf-19"

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
    assert_int_equal(c->vgprs, code_number_after(at, end, ".vgpr_count:"));
    assert_int_equal(c->agprs, code_number_after(at, end, ".agpr_count:"));
    assert_int_equal(c->sgprs, code_number_after(at, end, ".sgpr_count:"));
    assert_int_equal(c->vgpr_spills, code_number_after(at, end, ".vgpr_spill_count:"));
    assert_int_equal(c->sgpr_spills, code_number_after(at, end, ".sgpr_spill_count:"));
    assert_int_equal(c->lds_bytes, code_number_after(at, end, ".group_segment_fixed_size:"));
    assert_int_equal(c->scratch_bytes, code_number_after(at, end, ".private_segment_fixed_size:"));
    assert_int_equal(c->kernarg_bytes, code_number_after(at, end, ".kernarg_segment_size:"));
    assert_int_equal(c->wave, code_number_after(at, end, ".wavefront_size:"));
    assert_int_equal(c->max_threads, code_number_after(at, end, ".max_flat_workgroup_size:"));
}

static void check_amd(const struct code_place *p, const char *arch, int version)
{
    struct ks_code_object c, first;
    struct ks_buf image, notes;
    char command[1000];
    snprintf(command, sizeof(command),
             "cd '%s' && " CLANG " -x hip --cuda-device-only --offload-arch=%s -nogpulib -nogpuinc "
             "--no-gpu-bundle-output -mcode-object-version=%d -O2 '-DSPILL=amdgpu_num_vgpr(32)' "
             "-o k.hsaco k.cu && " READELF " --notes k.hsaco >notes",
             p->dir, arch, version);
    assert_int_equal(system(command), 0);
    code_read_file(p, "k.hsaco", &image);
    code_read_file(p, "notes", &notes);
    first = code_read(&image, NULL);
    c = code_read(&image, "k0_kernel0");
    assert_string_equal(first.name, "k0_kernel0");
    assert_string_equal(c.target, arch);
    assert_int_equal(c.lds_bytes, 2048);
    assert_int_equal(c.vgpr_spills, 0);
    assert_true(c.code_bytes > 16 && c.code_bytes < 1000);
    compare_notes(ks_buf_text(&notes), &c);
    c = code_read(&image, "k0_kernel1");
    assert_true(c.vgpr_spills > 0 && c.scratch_bytes > 0 && c.code_bytes > 1000);
    compare_notes(ks_buf_text(&notes), &c);
    code_damage(&image, (uint64_t)version);
    ks_buf_release(&image);
    ks_buf_release(&notes);
}

static void test_amd(void **state)
{
    static const char *const archs[] = { "gfx908", "gfx90a", "gfx942", "gfx1100" };
    if (!code_can_run(CLANG) || !code_can_run(READELF))
        skip();
    for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++)
        check_amd(*state, archs[i], i % 2 ? 4 : 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_amd, code_place_open, code_place_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
