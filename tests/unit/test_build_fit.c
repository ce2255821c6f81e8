/* SPDX-License-Identifier: MIT */
/* test_build_fit.c - limits of a block by target: what is at a limit fits, one more does not */
#include "build/fit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct ks_code_object code(const char *target, int64_t lds, int32_t wave, int32_t threads,
                                  int32_t vgprs)
{
    struct ks_code_object c;
    ks_code_object_init(&c);
    snprintf(c.target, sizeof(c.target), "%s", target);
    c.lds_bytes = lds;
    c.wave = wave;
    c.max_threads = threads;
    c.vgprs = vgprs;
    return c;
}

static void test_shared_memory(void **state)
{
    static const struct {
        const char *target;
        int64_t kib;
    } rows[] = {
        { "gfx908", 64 },  { "gfx90a", 64 },  { "gfx942", 64 },  { "gfx950", 160 },
        { "gfx1100", 64 }, { "gfx1102", 64 }, { "sm_80", 163 },  { "sm_86", 99 },
        { "sm_89", 99 },   { "sm_90", 227 },  { "sm_90a", 227 }, { "sm_120", 99 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct ks_code_object c = code(rows[i].target, rows[i].kib * 1024, 32, 32, 32);
        assert_null(ks_code_object_unfit(&c));
        c.lds_bytes++;
        const char *why = ks_code_object_unfit(&c);
        assert_true(why && strstr(why, "LDS"));
    }
}

static void test_registers(void **state)
{
    static const struct {
        const char *target;
        int32_t wave, threads, most; /* registers of a lane */
    } rows[] = {
        { "gfx908", 64, 256, 256 },   { "gfx908", 64, 512, 128 },  { "gfx942", 64, 256, 512 },
        { "gfx942", 64, 257, 256 },   { "gfx942", 64, 1024, 128 }, { "gfx1100", 32, 1024, 192 },
        { "gfx1102", 32, 1024, 128 }, { "gfx1100", 32, 64, 256 },  { "sm_90", 32, 256, 255 },
        { "sm_90", 32, 1024, 64 },    { "sm_80", 32, 384, 168 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct ks_code_object c =
            code(rows[i].target, 0, rows[i].wave, rows[i].threads, rows[i].most);
        assert_null(ks_code_object_unfit(&c));
        c.vgprs++;
        const char *why = ks_code_object_unfit(&c);
        assert_true(why && strstr(why, "registers"));
    }
}

static void test_what_is_not_known_refuses_nothing(void **state)
{
    struct ks_code_object c;
    (void)state;
    ks_code_object_init(&c);
    assert_null(ks_code_object_unfit(&c));
    c = code("emu", INT64_MAX, 64, 1024, INT32_MAX);
    assert_null(ks_code_object_unfit(&c));
    c = code("gfx942", -1, -1, -1, -1);
    assert_null(ks_code_object_unfit(&c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_registers),
        cmocka_unit_test(test_what_is_not_known_refuses_nothing),
    };
    return cmocka_run_group_tests_name("build_fit", tests, NULL, NULL);
}
