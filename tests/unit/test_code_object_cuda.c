/* SPDX-License-Identifier: MIT */
/* test_code_object_cuda.c - what a kernel needs, of what nvcc makes here: as ptxas says it */
/* group: nvcc */
#include "tests/unit/code_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
    assert_int_equal(c->vgprs, code_number_after(at, end, "Used "));
    const char *properties = strchr(strstr(at, "Function properties"), '\n');
    assert_int_equal(c->scratch_bytes, strtoll(properties, NULL, 10)); /* "16 bytes stack frame" */
    const char *shared = memmem(used, (size_t)(end - used), " bytes smem", 11);
    while (shared && shared > used && shared[-1] >= '0' && shared[-1] <= '9')
        shared--;
    assert_int_equal(c->lds_bytes, shared ? strtoll(shared, NULL, 10) : 0);
}

static const char *find_nvcc(void)
{
    return code_can_run("nvcc")                       ? "nvcc"
           : code_can_run("/usr/local/cuda/bin/nvcc") ? "/usr/local/cuda/bin/nvcc"
                                                      : NULL;
}

static void check_cuda(const struct code_place *p, const char *nvcc, const char *arch)
{
    struct ks_code_object c;
    struct ks_buf image, log;
    char command[1000];
    snprintf(command, sizeof(command),
             "cd '%s' && %s -arch=%s -cubin -Xptxas -v -o k.cubin k.cu >log 2>&1", p->dir, nvcc,
             arch);
    assert_int_equal(system(command), 0);
    code_read_file(p, "k.cubin", &image);
    code_read_file(p, "log", &log);
    c = code_read(&image, "k0_kernel0");
    assert_string_equal(c.target, arch);
    assert_int_equal(c.lds_bytes, 2048);
    assert_int_equal(c.scratch_bytes, 0);
    assert_int_equal(c.kernarg_bytes, 12);
    assert_int_equal(c.max_threads, 256);
    assert_int_equal(c.wave, 32);
    compare_ptxas(ks_buf_text(&log), &c);
    c = code_read(&image, "k0_kernel1");
    assert_true(c.scratch_bytes > 0 && c.code_bytes > 1000);
    compare_ptxas(ks_buf_text(&log), &c);
    code_damage(&image, 3);
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
        cmocka_unit_test_setup_teardown(test_cuda, code_place_open, code_place_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
