/* SPDX-License-Identifier: MIT */
/* test_buffers.c - guard zones and operands, on memory the host sees and on memory it does not */
#include "device/backends.h"
#include "device/device_fault.h"
#include "tests/unit/op_cases.h"
#include "worker/buffers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The host device behind a plan; hidden = as a GPU's memory. */
struct rig {
    struct ks_device *host, *dev;
};

static void open_rig(struct rig *r, const struct ks_fault_plan *plan)
{
    struct ks_err err = { 0 };

    assert_int_equal(ks_device_host.open("", &r->host, &err), 0);
    assert_int_equal(ks_fault_wrap(r->host, plan, &r->dev, &err), 0);
}

static void close_rig(struct rig *r)
{
    r->dev->ops->close(r->dev);
    r->host->ops->close(r->host);
}

static struct ks_problem make_problem(uint32_t dtype)
{
    struct ks_problem p;
    struct ks_err err = { 0 };

    assert_int_equal(op_case("n=1 g=1 c_total=5 k_total=3", &p, &err), 0);
    p.dtype = dtype;
    assert_int_equal(ks_problem_finish(&p, &err), 0);
    return p;
}

/* Write to device memory as a kernel would. */
static void poke(struct rig *r, const struct ks_zone *z, int64_t offset, uint8_t value)
{
    uint8_t *at = (uint8_t *)ks_zone_device(z) + offset;

    (void)r;
    assert_int_not_equal(*at, value);
    *at = value;
}

static void test_zone(void **state)
{
    static const size_t sizes[] = { 1, 2, 6, 63, 64, 4096, 5000 };

    (void)state;
    for (int hidden = 0; hidden < 2; hidden++) {
        struct ks_fault_plan plan = { .is_hidden = hidden };
        struct ks_zone z = { 0 };
        struct ks_err err = { 0 };
        struct rig r;

        open_rig(&r, &plan);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            int64_t at = 12345;

            assert_int_equal(ks_zone_resize(r.dev, &z, sizes[i], KS_PATTERN_EDGE, &err), 0);
            assert_int_equal((uintptr_t)ks_zone_device(&z) % 64, 0);
            assert_int_equal(ks_zone_device(&z) != ks_zone_host(&z), hidden);
            assert_int_equal(ks_zone_fill(r.dev, &z, KS_PATTERN_NAN, &err), 0);
            assert_int_equal(ks_zone_pull(r.dev, &z, &err), 0);
            for (size_t j = 0; j < sizes[i]; j++)
                assert_int_equal(((const uint8_t *)ks_zone_host(&z))[j], j % 2 == 0 ? 0xff : 0x7f);
            assert_true(ks_zone_is_intact(&z, &at));
            assert_int_equal(at, 12345);
            poke(&r, &z, (int64_t)sizes[i], 0); /* the byte right behind the payload */
            assert_int_equal(ks_zone_pull(r.dev, &z, &err), 0);
            assert_false(ks_zone_is_intact(&z, &at));
            assert_int_equal(at, sizes[i]);
            ks_zone_mend(&z);
            assert_true(ks_zone_is_intact(&z, &at));
            assert_int_equal(ks_zone_push(r.dev, &z, &err), 0);
            poke(&r, &z, -1, 0);
            assert_int_equal(ks_zone_pull(r.dev, &z, &err), 0);
            assert_false(ks_zone_is_intact(&z, &at));
            assert_int_equal(at, -1);
        }
        ks_zone_release(r.dev, &z);
        assert_null(ks_zone_device(&z));
        close_rig(&r);
    }
}

static void test_zone_keeps_its_memory(void **state)
{
    struct ks_fault_plan plan = { .slot = KS_FAULT_NONE };
    struct ks_zone z = { 0 };
    struct ks_err err = { 0 };
    struct rig r;

    (void)state;
    open_rig(&r, &plan);
    assert_int_equal(ks_zone_resize(r.dev, &z, 1000, KS_PATTERN_EDGE, &err), 0);
    assert_int_equal(ks_zone_resize(r.dev, &z, 10, KS_PATTERN_EDGE, &err), 0);
    assert_int_equal(ks_zone_resize(r.dev, &z, 1000, KS_PATTERN_EDGE, &err), 0);
    assert_int_equal(ks_fault_calls(r.dev, KS_FAULT_ALLOC), 1);
    assert_int_equal(ks_zone_resize(r.dev, &z, 1001, KS_PATTERN_EDGE, &err), 0);
    assert_int_equal(ks_fault_calls(r.dev, KS_FAULT_ALLOC), 2);
    assert_int_equal(ks_zone_resize(r.dev, &z, 0, KS_PATTERN_EDGE, &err), 0);
    assert_null(ks_zone_device(&z));
    assert_int_equal(ks_zone_resize(r.dev, &z, SIZE_MAX - 100, KS_PATTERN_EDGE, &err), KS_ENOMEM);
    assert_null(ks_zone_device(&z));
    close_rig(&r);
}

static void test_patterns(void **state)
{
    static const uint32_t dtypes[] = { KS_FP32, KS_FP16, KS_BF16 };
    uint32_t nan2[2] = { KS_PATTERN_NAN, KS_PATTERN_NAN };
    uint32_t edge2[2] = { KS_PATTERN_EDGE, KS_PATTERN_EDGE };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        double edge = ks_element_get(edge2, 1, dtypes[i]);

        assert_true(isnan(ks_element_get(nan2, 1, dtypes[i])));
        assert_true(isfinite(edge) && edge != 0.0 && fabs(edge) < 0.03);
    }
}

static void test_hash_sees_every_byte(void **state)
{
    uint8_t bytes[200];
    uint64_t h;

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 13);
    h = ks_quick_hash(bytes, sizeof(bytes));
    assert_true(h == ks_quick_hash(bytes, sizeof(bytes)));
    assert_true(h != ks_quick_hash(bytes, sizeof(bytes) - 1));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (uint8_t)(1 << bit);
            assert_true(h != ks_quick_hash(bytes, sizeof(bytes)));
            bytes[i] ^= (uint8_t)(1 << bit);
        }
    }
    /* Equal words that change places. */
    memset(bytes, 0, sizeof(bytes));
    bytes[0] = 1;
    h = ks_quick_hash(bytes, sizeof(bytes));
    bytes[0] = 0;
    bytes[64] = 1;
    assert_true(h != ks_quick_hash(bytes, sizeof(bytes)));
}

static void test_workset(void **state)
{
    (void)state;
    for (int hidden = 0; hidden < 2; hidden++) {
        struct ks_fault_plan plan = { .is_hidden = hidden };
        struct ks_problem p = make_problem(KS_FP32);
        struct ks_abi_buffers exact, real;
        struct ks_err err = { 0 };
        struct ks_workset s;
        char reason[160];
        struct rig r;
        int rc = -1;

        open_rig(&r, &plan);
        assert_int_equal(ks_workset_create(r.dev, &p, true, &s, &err), 0);
        exact = ks_workset_buffers(&s, KS_DATA_EXACT);
        real = ks_workset_buffers(&s, KS_DATA_RANDOM);
        assert_true(exact.c == real.c && exact.a != real.a && exact.b != real.b);
        assert_null(exact.workspace);
        for (int64_t i = 0; i < s.extents.a; i++) {
            float e = ((const float *)exact.a)[i], v = ((const float *)real.a)[i];

            assert_true(e == rintf(e) && fabsf(e) >= 1 && fabsf(e) <= 3);
            assert_true(fabsf(v) >= 0.5f && fabsf(v) < 1.5f);
        }
        assert_true(isnan(((const float *)exact.a)[-1]));
        assert_true(isnan(((const float *)exact.a)[s.extents.a]));
        assert_true(isnan(((float *)exact.c)[0]));
        assert_true(ks_workset_check_guards(&s, true, reason, sizeof(reason), &rc, &err));
        assert_true(ks_workset_check_inputs(&s, reason, sizeof(reason), &rc, &err));
        assert_int_equal(rc, 0);
        ks_workset_release(&s);
        ks_workset_release(&s);
        close_rig(&r);
    }
}

static const struct {
    enum ks_zone_name zone;
    bool behind; /* offset counts from the payload's end */
    int64_t offset;
    const char *want;
} damage_rows[] = {
    { KS_Z_C, false, -1, "byte -1 of the output" },
    { KS_Z_C, false, -4096, "byte -4096 of the output" },
    { KS_Z_C, true, 0, "byte 360 of the output of 360" },
    { KS_Z_C, true, 4095, "of the output" },
    { KS_Z_WORKSPACE, true, 0, "byte 40 of the workspace" },
    { KS_Z_EXACT_A, false, 0, "wrote its input a" },
    { KS_Z_EXACT_B, true, -1, "wrote its input b" },
    { KS_Z_REAL_A, true, 0, "byte 600 of its input a" },
    { KS_Z_REAL_B, false, -3, "byte -3 of its input b" },
};

/* Whatever byte is changed: it is named, and everything is as before afterwards. */
static void test_damage_is_found_and_repaired(void **state)
{
    (void)state;
    for (int hidden = 0; hidden < 2; hidden++) {
        struct ks_fault_plan plan = { .is_hidden = hidden };
        struct ks_problem p = make_problem(KS_FP32);
        struct ks_err err = { 0 };
        struct ks_workset s;
        struct rig r;

        open_rig(&r, &plan);
        assert_int_equal(ks_workset_create(r.dev, &p, true, &s, &err), 0);
        assert_int_equal(ks_zone_resize(r.dev, &s.zone[KS_Z_WORKSPACE], 40, KS_PATTERN_EDGE, &err),
                         0);
        assert_int_equal(ks_zone_push(r.dev, &s.zone[KS_Z_WORKSPACE], &err), 0);
        for (size_t i = 0; i < sizeof(damage_rows) / sizeof(damage_rows[0]); i++) {
            struct ks_zone *z = &s.zone[damage_rows[i].zone];
            int64_t at = damage_rows[i].offset + (damage_rows[i].behind ? (int64_t)z->bytes : 0);
            bool is_input = damage_rows[i].zone < KS_Z_INPUTS;
            char reason[160] = "";
            int rc = -1;

            poke(&r, z, at, 0x5a);
            assert_int_equal(ks_workset_check_guards(&s, true, reason, sizeof(reason), &rc, &err),
                             is_input);
            assert_int_equal(rc, 0);
            assert_int_equal(ks_workset_check_inputs(&s, reason, sizeof(reason), &rc, &err),
                             !is_input);
            assert_int_equal(rc, 0);
            assert_non_null(strstr(reason, damage_rows[i].want));
            assert_true(ks_workset_check_guards(&s, true, reason, sizeof(reason), &rc, &err));
            assert_true(ks_workset_check_inputs(&s, reason, sizeof(reason), &rc, &err));
        }
        ks_workset_release(&s);
        close_rig(&r);
    }
}

/* Fail every call of every slot in turn: the code comes through, nothing leaks, *set is untouched.
 */
static void test_failures(void **state)
{
    static const struct {
        enum ks_fault_slot slot;
        uint32_t n; /* of four inputs and the output */
    } rows[] = { { KS_FAULT_ALLOC, 5 },
                 { KS_FAULT_UPLOAD, 4 * (2 + 1) + 2 },
                 { KS_FAULT_FILL, 1 } };

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        uint32_t n = 0;
        int rc;

        do {
            struct ks_fault_plan plan = {
                .slot = rows[k].slot, .nth = n, .code = KS_EDEVMEM, .is_hidden = true
            };
            struct ks_problem p = make_problem(KS_FP16);
            struct ks_workset s, untouched;
            struct ks_err err = { 0 };
            struct rig r;

            memset(&s, 0x77, sizeof(s));
            memset(&untouched, 0x77, sizeof(untouched));
            open_rig(&r, &plan);
            rc = ks_workset_create(r.dev, &p, true, &s, &err);
            if (rc < 0) {
                assert_int_equal(rc, KS_EDEVMEM);
                assert_int_equal(err.code, KS_EDEVMEM);
                assert_memory_equal(&s, &untouched, sizeof(s));
            } else {
                ks_workset_release(&s);
            }
            close_rig(&r);
            n++;
        } while (rc < 0);
        assert_int_equal(n, rows[k].n + 1); /* then success */
    }
}

/* The output travels once, or but for its guards not at all; so do poison and a workspace. */
static void test_hidden_memory_travels_little(void **state)
{
    struct ks_fault_plan plan = { .is_hidden = true };
    struct ks_problem p = make_problem(KS_FP16); /* an odd number of elements */
    struct ks_err err = { 0 };
    struct ks_workset s;
    uint32_t up, down;
    char reason[160];
    struct rig r;
    int rc = -1;

    (void)state;
    open_rig(&r, &plan);
    assert_int_equal(ks_workset_create(r.dev, &p, true, &s, &err), 0);
    assert_int_equal(ks_zone_resize(r.dev, &s.zone[KS_Z_WORKSPACE], 4096, KS_PATTERN_EDGE, &err),
                     0);
    up = ks_fault_calls(r.dev, KS_FAULT_UPLOAD);
    down = ks_fault_calls(r.dev, KS_FAULT_DOWNLOAD);
    assert_int_equal(ks_zone_fill(r.dev, &s.zone[KS_Z_C], KS_PATTERN_NAN, &err), 0);
    assert_int_equal(ks_zone_fill(r.dev, &s.zone[KS_Z_WORKSPACE], KS_PATTERN_NAN, &err), 0);
    assert_int_equal(ks_fault_calls(r.dev, KS_FAULT_UPLOAD) - up, s.zone[KS_Z_C].bytes % 4 != 0);
    assert_true(ks_workset_check_guards(&s, true, reason, sizeof(reason), &rc, &err));
    assert_int_equal(ks_fault_calls(r.dev, KS_FAULT_DOWNLOAD) - down, 1 + 2);
    for (int64_t i = 0; i < s.extents.c; i++)
        assert_true(isnan(ks_element_get(ks_zone_host(&s.zone[KS_Z_C]), i, KS_FP16)));
    memset(ks_zone_host(&s.zone[KS_Z_C]), 0, s.zone[KS_Z_C].bytes);
    assert_true(ks_workset_check_guards(&s, false, reason, sizeof(reason), &rc, &err));
    assert_int_equal(ks_fault_calls(r.dev, KS_FAULT_DOWNLOAD) - down, 1 + 2 + 2 + 2);
    for (int64_t i = 0; i < s.extents.c; i++)
        assert_true(ks_element_get(ks_zone_host(&s.zone[KS_Z_C]), i, KS_FP16) == 0.0);
    ks_workset_release(&s);
    close_rig(&r);
}

static void test_virtual_has_no_operands(void **state)
{
    struct ks_problem p = make_problem(KS_FP32);
    struct ks_device *dev = NULL;
    struct ks_err err = { 0 };
    struct ks_workset s;

    (void)state;
    assert_int_equal(ks_device_sim.open("", &dev, &err), 0);
    assert_int_equal(ks_workset_create(dev, &p, true, &s, &err), 0);
    assert_null(ks_workset_buffers(&s, KS_DATA_RANDOM).a);
    assert_null(ks_workset_buffers(&s, KS_DATA_RANDOM).c);
    assert_int_equal(s.abi.c, 5);
    ks_workset_release(&s);
    dev->ops->close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zone),
        cmocka_unit_test(test_zone_keeps_its_memory),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_hash_sees_every_byte),
        cmocka_unit_test(test_workset),
        cmocka_unit_test(test_damage_is_found_and_repaired),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_virtual_has_no_operands),
        cmocka_unit_test(test_hidden_memory_travels_little),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
