/* SPDX-License-Identifier: MIT */
/* test_gemm.c - the operator gemm: geometry, refusals, texts, reference and proofs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "tests/unit/fault.h"
#include "tests/unit/op_bench.h"
#include "tests/unit/op_cases.h"

#include "base/hash.h"
#include "op/gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static struct ks_problem good(const char *fields)
{
    struct ks_problem p;
    struct ks_err err;

    if (op_case_gemm(fields, &p, &err) < 0)
        fail_msg("'%s': %s", fields, err.text);
    return p;
}

/* Worked out by hand. */
static void geometry(void **state)
{
    static const struct {
        const char *fields;
        int64_t a, b, c, reduction, shape[3];
        double flops, min_bytes;
    } rows[] = {
        { "", 15, 20, 12, 5, { 1, 3, 4 }, 120, 188 },
        { "trans_a=1 trans_b=1", 15, 20, 12, 5, { 1, 3, 4 }, 120, 188 },
        { "batch=7 m=2 n=3 k=11 dtype=bf16", 154, 231, 42, 11, { 7, 2, 3 }, 924, 854 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ks_problem p = good(rows[i].fields);
        const struct ks_operator *op = ks_operators[p.op];
        struct ks_extents e = op->extents(&p);
        int64_t shape[6];

        assert_ptr_equal(op, &ks_operator_gemm);
        assert_true(e.a == rows[i].a && e.b == rows[i].b && e.c == rows[i].c);
        assert_int_equal(op->reduction(&p), rows[i].reduction);
        assert_true(ks_problem_flops(&p) == rows[i].flops);
        assert_true(ks_problem_min_bytes(&p) == rows[i].min_bytes);
        assert_int_equal(op->shape_c(&p, shape), 3);
        assert_memory_equal(shape, rows[i].shape, sizeof(rows[i].shape));
    }
}

static void abi_fields(void **state)
{
    const struct ks_abi_problem want = { .bytes = sizeof(want),
                                         .op = KS_ABI_GEMM,
                                         .direction = KS_ABI_FORWARD,
                                         .dtype = KS_ABI_FP16,
                                         .layout = KS_ABI_NHWGC,
                                         .flags = KS_ABI_TRANS_B,
                                         .n = 7,
                                         .g = 1,
                                         .c = 5,
                                         .k = 4,
                                         .in = { 1, 1, 1 },
                                         .filter = { 1, 1, 1 },
                                         .out = { 1, 3, 1 },
                                         .stride = { 1, 1, 1 },
                                         .dilation = { 1, 1, 1 } };
    struct ks_problem p = good("batch=7 dtype=fp16 trans_b=1");
    struct ks_abi_problem q;

    (void)state;
    ks_operator_gemm.to_abi(&p, &q);
    assert_memory_equal(&q, &want, sizeof(q));
    p = good("trans_a=1");
    ks_operator_gemm.to_abi(&p, &q);
    assert_int_equal(q.flags, KS_ABI_TRANS_A);
}

static void refuses_with_a_reason(void **state)
{
    static const struct {
        const char *fields, *reason;
    } rows[] = {
        { "m=0", "m = 0, must be between 1 and 2147483647" },
        { "k=-1", "k = -1, must be" },
        { "batch=0", "batch = 0, must be" },
        { "trans_a=2", "trans_a = 2, must be between 0 and 1" },
        { "trans_b=-1", "trans_b = -1, must be between 0 and 1" },
        { "n=-9223372036854775808", "n is missing" },
        { "m=2000000 k=2000000", "A: more than 2^40 elements" },
        { "n=2000000 k=2000000", "B: more than 2^40 elements" },
        { "n=2000000 m=2000000", "C: more than 2^40 elements" },
        { "direction=backward_data", "gemm does not have direction backward_data" },
        { "layout=ngchw", "gemm does not have layout ngchw" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ks_problem p = { .id = 42 };
        struct ks_err err = { 0 };

        assert_int_equal(op_case_gemm(rows[i].fields, &p, &err), KS_EINVAL);
        if (!strstr(err.text, rows[i].reason))
            fail_msg("'%s' gave '%s'", rows[i].fields, err.text);
        assert_int_equal(p.id, 42);
    }
}

/* The id is the first 8 bytes of sha256sum(1) over the canonical text. */
static void texts(void **state)
{
    struct ks_problem p = good("batch=2 trans_b=1"), again;
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_problem_canonical(&p, &b);
    assert_string_equal(ks_buf_text(&b), "operator=gemm direction=forward dtype=fp32 layout=nhwgc "
                                         "batch=2 m=3 n=4 k=5 trans_a=0 trans_b=1");
    assert_int_equal(p.id, 0x53c6c378c6712c7a);
    assert_int_equal(ks_problem_parse(ks_buf_text(&b), &again, NULL), 0);
    assert_memory_equal(&p, &again, sizeof(p));
    ks_buf_release(&b);
    ks_buf_init(&b);
    snprintf(p.name, sizeof(p.name), "fc");
    ks_problem_csv_header(p.op, &b);
    ks_problem_csv_row(&p, &b);
    assert_string_equal(ks_buf_text(&b),
                        "operator,direction,dtype,layout,batch,m,n,k,trans_a,trans_b,count,name\n"
                        "gemm,forward,fp32,nhwgc,2,3,4,5,0,1,1,fc\n");
    ks_buf_release(&b);
}

/* All four transpositions and all types go by. */
static struct ks_problem random_case(uint64_t *rng, uint32_t i)
{
    struct ks_problem p = good("");

    p.dtype = i / 4 % KS_N_DTYPES;
    p.dim[KS_GEMM_TRANS_A] = i & 1;
    p.dim[KS_GEMM_TRANS_B] = i >> 1 & 1;
    p.dim[KS_GEMM_BATCH] = 1 + (int64_t)ks_rng_below(rng, 3);
    p.dim[KS_GEMM_M] = 1 + (int64_t)ks_rng_below(rng, 20);
    p.dim[KS_GEMM_N] = 1 + (int64_t)ks_rng_below(rng, i % 5 == 0 ? 140 : 20);
    p.dim[KS_GEMM_K] = 1 + (int64_t)ks_rng_below(rng, i % 7 == 0 ? 300 : 20);
    assert_int_equal(ks_problem_finish(&p, NULL), 0);
    return p;
}

static void reference_and_proofs(void **state)
{
    uint64_t rng = 1;

    (void)state;
    for (uint32_t i = 0; i < 300; i++) {
        struct ks_problem p = random_case(&rng, i);

        bench_check(&p);
    }
}

static void exact_proof_sees_every_element(void **state)
{
    static const double errors[] = { 1, -1, 0.5, 0x1p-20, 0x1p25, 0x1p61, NAN };
    uint64_t rng = 2;

    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        struct ks_problem p = random_case(&rng, i);
        struct bench t = bench_of(&p, KS_DATA_EXACT);

        assert_int_equal(bench_compute(&t, false, NULL), 0);
        for (size_t k = 0; k < 3 * ARRAY_LEN(errors); k++) {
            int64_t at = (int64_t)ks_rng_below(&rng, (uint64_t)t.e.c), n = p.dim[KS_GEMM_N];
            double right = t.r[at];
            char where[64];
            struct ks_err err;

            t.r[at] += errors[k % ARRAY_LEN(errors)];
            assert_int_equal(bench_prove_exact(&t, ks_rng_next(&rng), &err), KS_EDEVICE);
            snprintf(where, sizeof(where), "is wrong at batch %ld, row %ld",
                     (long)(at / n / p.dim[KS_GEMM_M]), (long)(at / n % p.dim[KS_GEMM_M]));
            assert_non_null(strstr(err.text, where));
            t.r[at] = right;
        }
        assert_int_equal(bench_prove_exact(&t, 1, NULL), 0);
        bench_release(&t);
    }
}

static void exact_proof_refuses_other_data(void **state)
{
    struct ks_problem p = good("");
    struct bench t = bench_of(&p, KS_DATA_EXACT);
    struct ks_err err;

    (void)state;
    assert_int_equal(bench_compute(&t, false, NULL), 0);
    for (int i = 0; i < 2; i++) {
        float *operand = i ? t.a : t.b, right = operand[11];

        operand[11] = 4;
        assert_int_equal(bench_prove_exact(&t, 1, &err), KS_EINVAL);
        assert_non_null(strstr(err.text, "not exact data"));
        operand[11] = -right;
        assert_int_equal(bench_prove_exact(&t, 1, &err), KS_EDEVICE);
        operand[11] = right;
    }
    bench_release(&t);
}

static void real_proof_sees_sampled_elements(void **state)
{
    uint64_t rng = 3;

    (void)state;
    for (uint32_t i = 0; i < 120; i++) {
        struct ks_problem p = random_case(&rng, i);
        struct bench t = bench_of(&p, KS_DATA_RANDOM);
        double *broken = i % 8 < 4 ? t.r : t.abs;
        int64_t at = (int64_t)ks_rng_below(&rng, (uint64_t)t.e.c);
        int n_sample = 30 * (int)t.e.c;

        assert_int_equal(bench_compute(&t, true, NULL), 0);
        broken[at] = i % 3 ? broken[at] + 1e-9 : NAN; /* tolerance below 1e-11 */
        assert_int_equal(bench_prove_real(&t, n_sample, NULL), KS_EDEVICE);
        bench_release(&t);
    }
}

/* Every allocation fails once: the code, the outputs, and under the sanitizer no leak. */
static void survives_no_memory(void **state)
{
    struct ks_problem p = good("dtype=bf16");
    struct bench t = bench_of(&p, KS_DATA_EXACT);

    (void)state;
    for (int is_proof = 0; is_proof < 2; is_proof++) {
        bool is_done = false;
        unsigned n;

        for (n = 0; !is_done; n++) {
            int rc;

            fault_arm(n);
            rc = is_proof ? bench_prove_exact(&t, 1, NULL) : bench_compute(&t, true, NULL);
            is_done = !fault_disarm();
            assert_int_equal(rc, is_done ? 0 : KS_ENOMEM);
            if (!is_proof)
                assert_true((t.r[0] == BENCH_GUARD) == !is_done);
        }
        assert_in_range(n, 5, 15);
    }
    bench_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(geometry),
        cmocka_unit_test(abi_fields),
        cmocka_unit_test(refuses_with_a_reason),
        cmocka_unit_test(texts),
        cmocka_unit_test(reference_and_proofs),
        cmocka_unit_test(exact_proof_sees_every_element),
        cmocka_unit_test(exact_proof_refuses_other_data),
        cmocka_unit_test(real_proof_sees_sampled_elements),
        cmocka_unit_test(survives_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
