/* SPDX-License-Identifier: MIT */
/* test_gpu_judge_look.c - rounding, comparisons, digests of the emulated judge are the host's */
/* quick: no */
#include "base/hash.h"
#include "gpu_judge_kit.h"
#include "op/signs.h"
#include "op_cases.h"
#include "worker/mask.h"

#include <float.h>
#include <math.h>

static const struct ks_mask mask = { { 0x1234567, 0x89abcdef01234567 } };

/* --- rounding */

static double random_double(uint64_t *rng, int least, int most)
{
    const double m = 1.0 + (double)(ks_rng_next(rng) >> 12) * 0x1p-52;

    return ldexp(ks_rng_below(rng, 2) ? m : -m,
                 least + (int)ks_rng_below(rng, (uint64_t)(most - least + 1)));
}

/* Halves between neighbours, the ends of each type's range, what is below it, and random ones. */
static size_t fill_doubles(double *v, size_t n)
{
    static const double ends[] = { 0x1p-24,    0x1p-14,        0x1p-126,       0x1p-133,
                                   0x1p-149,   65504,          65520,          0x1.fep127,
                                   0x1.ffp127, 0x1.fffffep127, 0x1.ffffffp127, DBL_MAX,
                                   DBL_MIN,    0x1p-1074,      INFINITY,       0 };
    uint64_t rng = 3;
    size_t at = 0;

    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        for (int k = -3; k <= 3; k++) {
            const double x = k > 0   ? nextafter(ends[i] * k, INFINITY)
                             : k < 0 ? nextafter(ends[i] / -k / 2, 0)
                                     : ends[i];
            v[at++] = x;
            v[at++] = -x;
            v[at++] = ends[i] * k / 2;
        }
    for (int i = 0; i < 1000; i++) {
        const int bits = i % 2 ? 11 : i % 4 ? 8 : 24; /* a tie of that type: one bit more */
        v[at++] = ldexp((double)(2 * (int64_t)ks_rng_below(&rng, 1u << bits) + 1),
                        (int)ks_rng_below(&rng, 60) - 40);
    }
    v[at++] = NAN;
    while (at < n)
        v[at++] = random_double(&rng, -160, 140);
    return at;
}

static void test_rounding(void **state)
{
    enum { N = 3001 };
    double v[N];

    assert_int_equal(fill_doubles(v, N), N);
    for (uint32_t dtype = 0; dtype < KS_N_DTYPES; dtype++)
        for (size_t n = 1; n <= N; n += n < 3 ? 1 : N - 3) {
            const size_t bytes = n * ks_dtype_bytes(dtype);
            char *got = array(bytes, 1), *want = array(bytes, 1);
            struct ask q = ask_of(KS_JUDGE_ROUND, dtype, n, 0);

            q.call.r = array(n, sizeof(double));
            memcpy(q.call.r, v, n * sizeof(double));
            q.c = got;
            ask(*state, &q);
            for (size_t i = 0; i < n; i++) /* NaN and all */
                ks_element_set(want, (int64_t)i, dtype, v[i]);
            assert_memory_equal(got, want, bytes);
            ks_elements_round(v, (int64_t)n, dtype, want);
            assert_memory_equal(got, want, bytes);
            memcpy(q.call.mask, mask.key, sizeof(mask.key));
            ks_mask_apply(&mask, KS_JUDGE_MASK_R, q.call.r, q.call.r, n * sizeof(double));
            ask(*state, &q);
            assert_memory_equal(got, want, bytes);
            q.call.is_c_masked = 1;
            ask(*state, &q);
            ks_mask_apply(&mask, KS_JUDGE_MASK_EXACT, got, got, bytes);
            assert_memory_equal(got, want, bytes);
            free(q.call.r);
            free(got);
            free(want);
        }
}

/* --- comparisons */

static const struct ks_shape no_box;
static const size_t lengths[] = { 1, 3, 16, 257, 5003 };

/* Elements from `offset` elements behind the start of the memory on. */
struct outputs {
    char *all[2], *got, *want;
    double *r, *abs;
    size_t n;
};

static struct outputs outputs_open(uint32_t dtype, size_t n, size_t offset, uint64_t *rng)
{
    const size_t bytes = ks_dtype_bytes(dtype);
    struct outputs o = { .all = { array(n + offset, bytes), array(n + offset, bytes) },
                         .r = array(n, sizeof(double)),
                         .abs = array(n, sizeof(double)),
                         .n = n };

    o.got = o.all[0] + offset * bytes;
    o.want = o.all[1] + offset * bytes;
    for (size_t i = 0; i < n; i++) {
        o.r[i] = random_double(rng, -20, 12);
        o.abs[i] = fabs(o.r[i]) + fabs(random_double(rng, -24, 8));
        if (ks_rng_below(rng, 20) == 0)
            o.r[i] = o.abs[i] = 0;
        ks_element_set(o.got, (int64_t)i, dtype, o.r[i]);
    }
    memcpy(o.want, o.got, n * bytes);
    return o;
}

static void outputs_close(struct outputs *o)
{
    free(o->all[0]);
    free(o->all[1]);
    free(o->r);
    free(o->abs);
}

/* Plants a fault, or what only looks like one. */
static void plant(const struct outputs *o, uint32_t dtype, size_t i, int what)
{
    const double zero = what % 2 ? -0.0 : 0.0;
    uint8_t *byte = (uint8_t *)o->got + i * ks_dtype_bytes(dtype);

    if (what < 2)
        ks_element_set(o->got, (int64_t)i, dtype, what ? -INFINITY : NAN);
    else if (what == 2)
        byte[0] ^= 1; /* one unit in the last place */
    else if (what == 3)
        byte[ks_dtype_bytes(dtype) - 1] ^= 0x80;
    else if (what < 6)
        ks_element_set(o->got, (int64_t)i, dtype, zero);
    else if (what == 6)
        ks_element_set(o->got, (int64_t)i, dtype, 2.5 * o->r[i]);
    if (what == 5) { /* zeros of unlike sign are equal */
        ks_element_set(o->want, (int64_t)i, dtype, 0.0);
        o->r[i] = o->abs[i] = 0;
    }
}

static void check_part(const struct ks_judge_part *got, const struct ks_verdict *want)
{
    assert_int_equal(got->n_wrong, want->n_wrong);
    assert_int_equal(got->first, want->n_wrong ? (uint64_t)want->mismatch[0].index : KS_JUDGE_NONE);
    assert_int_equal(got->n_zero, want->n_zero);
    assert_memory_equal(&got->max_error, &want->max_error, sizeof(double));
    assert_int_equal(got->digest, 0);
}

/* References as they are, or masked where they lie, however they are aligned. */
static void turn_mask(const struct outputs *o, uint32_t dtype)
{
    const size_t bytes = o->n * sizeof(double);

    ks_mask_apply(&mask, KS_JUDGE_MASK_EXACT, o->want, o->want, o->n * ks_dtype_bytes(dtype));
    ks_mask_apply(&mask, KS_JUDGE_MASK_R, o->r, o->r, bytes);
    ks_mask_apply(&mask, KS_JUDGE_MASK_ABS, o->abs, o->abs, bytes);
}

static struct ks_judge_part ask_masked(const struct judges *j, const struct outputs *o,
                                       const struct ask *q)
{
    struct ask masked = *q;
    struct ks_judge_part part;

    memcpy(masked.call.mask, mask.key, sizeof(mask.key));
    turn_mask(o, q->call.problem.dtype);
    part = ask(j, &masked);
    turn_mask(o, q->call.problem.dtype);
    return part;
}

/* Many wrong ones in three orders of threads. */
static void compare(const struct judges *j, const struct outputs *o, uint32_t dtype,
                    uint32_t n_parts, bool is_many)
{
    struct ask q = ask_of(KS_JUDGE_EXACT, dtype, o->n, n_parts);
    const struct ks_tolerance t = ks_tolerance_of(dtype, 1000, ks_u_acc(KS_NUMERICS_FP32));
    struct ks_judge_part got;
    struct ks_verdict want;

    q.a = o->got;
    q.b = o->want;
    got = ask(j, &q);
    ks_verify_exact(o->got, o->want, o->n, dtype, &no_box, &want);
    check_part(&got, &want);
    got = ask_masked(j, o, &q);
    check_part(&got, &want);
    q.call.task = KS_JUDGE_WRITTEN;
    q.b = NULL;
    got = ask(j, &q);
    ks_verify_written(o->got, o->n, dtype, &no_box, &want);
    check_part(&got, &want);
    q.call.task = KS_JUDGE_REAL;
    q.call.r = o->r;
    q.call.abs = o->abs;
    q.call.u_out = t.u_out;
    q.call.scale_a = t.scale_a;
    q.call.tiny = t.tiny;
    ks_verify_real(o->got, o->r, o->abs, o->n, dtype, &t, &no_box, &want);
    for (q.order = 0; q.order < (is_many ? KS_SIMT_N_ORDERS : 1); q.order++) {
        got = q.order == 0 ? ask_masked(j, o, &q) : ask(j, &q);
        check_part(&got, &want);
    }
}

/* Nothing wrong; one of each kind at the first, the last or some element; then many. */
static void compare_planted(const struct judges *j, uint32_t dtype, size_t n, uint32_t n_parts,
                            uint64_t *rng)
{
    for (int what = -1; what < 8; what++) {
        struct outputs o = outputs_open(dtype, n, ks_rng_below(rng, 2), rng);
        const size_t at[] = { 0, n - 1, ks_rng_below(rng, n) };

        if (what >= 0 && what < 7)
            plant(&o, dtype, at[ks_rng_below(rng, 3)], what);
        for (size_t i = 0; what == 7 && i < n / 3 + 1; i++)
            plant(&o, dtype, ks_rng_below(rng, n), (int)ks_rng_below(rng, 7));
        compare(j, &o, dtype, n_parts, what == 7);
        outputs_close(&o);
    }
}

static void test_comparisons(void **state)
{
    uint64_t rng = 11;

    for (uint32_t dtype = 0; dtype < KS_N_DTYPES; dtype++)
        for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
            compare_planted(*state, dtype, lengths[i], lengths[i] < 4000 ? 1 + (uint32_t)i % 3 : 9,
                            &rng);
}

/* One element at a time, so that each must have the host's bits: tolerances whose two products are
 * of one size, whose sum shows a fused one. */
static void test_real_bits(void **state)
{
    uint64_t rng = 5;

    for (int i = 0; i < 450; i++) {
        const uint32_t dtype = (uint32_t)i % KS_N_DTYPES;
        struct ask q = ask_of(KS_JUDGE_REAL, dtype, 1, 1);
        struct ks_tolerance t = ks_tolerance_of(dtype, 1 + i * 37, ks_u_acc((uint32_t)i % 2));
        double r = random_double(&rng, -130, 15), abs = fabs(random_double(&rng, -20, 20));
        float got = 0;
        struct ks_verdict want;
        struct ks_judge_part part;

        t.u_out *= 1.0 + (double)(ks_rng_next(&rng) >> 12) * 0x1p-52;
        if (i % 5 == 0)
            r = i % 2 ? INFINITY : NAN;
        if (i % 7 == 0)
            abs = INFINITY;
        if (i % 11 == 0)
            t.scale_a = DBL_MAX / 2;
        ks_element_set(&got, 0, dtype, isfinite(r) ? r + random_double(&rng, -40, 15) : 1.0);
        q.a = &got;
        q.call.r = &r;
        q.call.abs = &abs;
        q.call.u_out = t.u_out;
        q.call.scale_a = t.scale_a;
        q.call.tiny = t.tiny;
        part = ask(*state, &q);
        ks_verify_real(&got, &r, &abs, 1, dtype, &t, &no_box, &want);
        check_part(&part, &want);
    }
}

/* --- digests */

/* By the definition of judge.h. */
static uint64_t digest_of(const uint8_t *bytes, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i += 4) {
        uint64_t word = 0;

        for (size_t k = 0; k < 4 && i + k < n; k++)
            word |= (uint64_t)bytes[i + k] << 8 * k;
        sum += ks_mix64((uint64_t)(i / 4) << 32 | word);
    }
    return sum;
}

static void check_digest(const struct judges *j, size_t n, size_t offset, uint32_t n_parts,
                         uint64_t *rng)
{
    uint8_t *all = array(n + offset, 1);
    struct ask q = ask_of(KS_JUDGE_DIGEST, (uint32_t)n % KS_N_DTYPES, n, n_parts);

    for (size_t i = 0; i < n + offset; i++)
        all[i] = (uint8_t)ks_rng_next(rng);
    q.a = all + offset;
    for (q.order = 0; q.order < KS_SIMT_N_ORDERS; q.order++)
        assert_int_equal(ask(j, &q).digest, digest_of(all + offset, n));
    for (int i = 0; n > 0 && i < 3; i++) {
        all[offset + ks_rng_below(rng, n)] ^= (uint8_t)(1u << ks_rng_below(rng, 8));
        assert_int_equal(ask(j, &(struct ask){ .call = q.call, .a = q.a }).digest,
                         digest_of(all + offset, n));
    }
    free(all);
}

/* The largest size takes the paths of the one before, which is all that matters to sanitizers. */
#ifdef KSWEEP_SANITIZED
#define LARGEST
#else
#define LARGEST , 100003
#endif

static void test_digests(void **state)
{
    static const size_t many[] = { 4095, 4096, 16384, 32770 LARGEST };
    uint64_t rng = 2;

    for (size_t n = 0; n < 40; n++)
        check_digest(*state, n, n % 4 * 4, 1 + (uint32_t)n % 3, &rng);
    for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++) {
        check_digest(*state, many[i], 0, 2, &rng);
        check_digest(*state, many[i], 8, 7, &rng);
    }
    check_digest(*state, 5000, 0, KS_JUDGE_PARTS, &rng);
}

/* --- signs */

static void put_signs(const struct ks_signs *s, char operand, struct ks_judge_call *call)
{
    const struct ks_sign_map *map = &s->map[operand - 'a'];

    for (int k = 0; k < KS_SIGN_AXES; k++) {
        call->signs.extent[k] = map->axis[k].extent;
        memcpy(call->signs.step[k], map->axis[k].step, sizeof(call->signs.step[k]));
    }
    for (int c = 0; c < KS_SIGN_CLASSES; c++)
        call->signs.byte[c] = map->has[c] ? s->byte[c] : NULL;
}

static void check_flip(const struct judges *j, const struct ks_problem *p, uint64_t seed,
                       char operand)
{
    const struct ks_extents e = ks_operators[p->op]->extents(p);
    const int64_t n = operand == 'a' ? e.a : operand == 'b' ? e.b : e.c;
    const size_t bytes = (size_t)n * ks_dtype_bytes(p->dtype);
    struct ask q = ask_of(KS_JUDGE_FLIP, p->dtype, (uint64_t)n, 1 + (uint32_t)seed % 5);
    uint8_t *got = array(bytes, 1), *want = array(bytes, 1);
    uint64_t n_changed = 0;
    struct ks_signs s;

    assert_int_equal(ks_signs_create(p, &s, NULL), 0);
    ks_signs_between(&s, 0, seed);
    for (size_t i = 0; i < bytes; i++)
        got[i] = want[i] = (uint8_t)(i * 37 + seed);
    put_signs(&s, operand, &q.call);
    q.c = got;
    ks_signs_flip(&s, operand, p->dtype, want);
    for (int64_t i = 0; i < n; i++)
        n_changed += ks_signs_has(&s, operand, i);
    assert_int_equal(ask(j, &q).digest, n_changed);
    assert_memory_equal(got, want, bytes);
    ks_signs_release(&s);
    free(got);
    free(want);
}

/* The host's function, element for element. */
static void test_flips(void **state)
{
    uint64_t rng = 21;

    for (uint32_t i = 0; i < 54; i++) {
        struct ks_problem p = op_case_random(&rng, i % KS_N_DTYPES);
        struct ks_err err;

        p.direction = i / 3 % KS_N_DIRECTIONS;
        p.layout = i / 9 % KS_N_LAYOUTS;
        must(ks_problem_finish(&p, &err), &err);
        check_flip(*state, &p, ks_rng_next(&rng), "abc"[i / 18]);
        must(op_case_gemm(i % 2 ? "batch=3 m=5 n=7 k=9 trans_a=1" : "m=70 n=3 k=4 trans_b=1", &p,
                          &err),
             &err);
        check_flip(*state, &p, ks_rng_next(&rng), "abc"[i / 18]);
    }
}

/* --- what it does not do */

static void refuse(const struct judges *j, struct ask q)
{
    struct ks_judge_part part;

    assert_int_not_equal(try_ask(j, &q, &part), 0);
}

/* A call that is not as judge.h says launches nothing. */
static void test_bad_calls(void **state)
{
    float one = 1;
    double r = 1, abs = 1;
    struct ask q = ask_of(KS_JUDGE_REAL, KS_FP32, 1, 1), bad;

    q.a = &one;
    q.call.r = &r;
    q.call.abs = &abs;
    q.call.tiny = 1;
    assert_int_equal(ask(*state, &q).n_wrong, 0);
    for (int i = 0; i < 9; i++) {
        bad = q;
        bad.a = i == 0 ? NULL : bad.a;
        bad.call.r = i == 1 ? NULL : bad.call.r;
        bad.call.abs = i == 2 ? NULL : bad.call.abs;
        bad.call.tiny = i == 3 ? 0 : bad.call.tiny;
        bad.call.n_parts = i == 4 ? 0 : i == 5 ? KS_JUDGE_PARTS + 1 : 1;
        bad.call.task = i == 6 ? KS_JUDGE_N_TASKS : bad.call.task;
        bad.call.problem.bytes -= i == 7;
        bad.call.task = i == 8 ? KS_JUDGE_REFERENCE : bad.call.task; /* of 1 element: not so */
        bad.b = &one;
        refuse(*state, bad);
    }
    bad = ask_of(KS_JUDGE_DIGEST, KS_FP32, 1, 1);
    bad.a = (const char *)&one + 2;
    refuse(*state, bad);
    for (int i = 0; i < 4; i++) {
        bad = ask_of(KS_JUDGE_FLIP, KS_FP32, 4, 1);
        for (int k = 0; k < KS_JUDGE_AXES; k++)
            bad.call.signs.extent[k] = k < 2 ? 2 : 1;
        bad.c = i == 0 ? NULL : &one;
        bad.call.n = i == 1 ? 3 : 4;
        bad.call.signs.extent[3] = i == 2 ? 0 : 1;
        bad.call.n_parts = i == 3 ? 0 : 1;
        refuse(*state, bad);
    }
}

static void test_refusals(void **state)
{
    const struct judges *j = *state;
    const struct ks_abi_problem p = ask_of(0, KS_FP16, 0, 0).call.problem;

    for (int i = 0; i < 9; i++) {
        struct ks_abi_problem q = p;
        const char *why;

        q.bytes = i == 0 ? 16 : q.bytes;
        q.op = i == 1 ? 77 : i == 2 ? KS_ABI_GEMM : q.op;
        q.layout += i == 2;
        q.dtype = i == 3 ? KS_ABI_BF16 : q.dtype;
        q.direction = i == 4 ? 3 : q.direction;
        q.layout = i == 5 ? 2 : q.layout;
        q.n = i == 6 ? INT64_C(1) << 31 : q.n;
        q.dilation[1] = i == 7 ? 1 << 28 : q.dilation[1];
        q.c = i == 8 ? 1 << 26 : q.c; /* 2^46 products and more */
        q.k = i == 8 ? 1 << 20 : q.k;
        why = j->of[KS_FP16]->entry->unsupported(&q);
        if (!why || strlen(why) < 10)
            fail_msg("%d is not refused", i);
    }
    assert_null(j->of[KS_FP16]->entry->unsupported(&p));
    assert_int_equal(j->of[KS_FP16]->entry->workspace_bytes(&p),
                     KS_JUDGE_PARTS * sizeof(struct ks_judge_part));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounding),  cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_real_bits), cmocka_unit_test(test_digests),
        cmocka_unit_test(test_flips),     cmocka_unit_test(test_bad_calls),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("gpu_judge_look", tests, judges_open, judges_close);
}
