/* SPDX-License-Identifier: MIT */
/* test_code_object.c - what a kernel needs: of images made by hand, and of damaged ones */
#include "build/code_object.h"
#include "tests/unit/code_image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_negative_number),
        cmocka_unit_test(test_torn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
