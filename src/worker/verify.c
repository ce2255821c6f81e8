/* SPDX-License-Identifier: MIT */
#include "worker/verify.h"

#include "op/clones.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Elements looked at together: they and their references stay in the first-level cache, so that a
 * chunk with a wrong element can be walked again one by one. */
#define CHUNK 1024u
#define LANES 8u

typedef double lanes_f __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t lanes_i __attribute__((vector_size(64), aligned(8), may_alias));

static void add_to_box(const struct ks_shape *shape, int64_t index, struct ks_verdict *v)
{
    for (int d = shape->n_dims - 1; d >= 0; d--) {
        int64_t at = index % shape->dim[d];

        index /= shape->dim[d];
        v->box_lo[d] = at < v->box_lo[d] ? at : v->box_lo[d];
        v->box_hi[d] = at > v->box_hi[d] ? at : v->box_hi[d];
    }
}

static void add_wrong(const struct ks_shape *shape, const struct ks_mismatch *m,
                      struct ks_verdict *v)
{
    v->n_wrong++;
    if (v->n_mismatches < KS_MISMATCH_MAX)
        v->mismatch[v->n_mismatches++] = *m;
    add_to_box(shape, m->index, v);
}

static void verdict_init(const struct ks_shape *shape, struct ks_verdict *v)
{
    memset(v, 0, sizeof(*v));
    for (int d = 0; d < shape->n_dims; d++) {
        v->box_lo[d] = shape->dim[d] - 1;
        v->box_hi[d] = 0;
    }
}

/* Whether all of n 4-byte (2-byte) elements are equal or zeros of either sign. */
KS_CLONES static bool same_32(const uint32_t *got, const uint32_t *want, size_t n)
{
    uint32_t wrong = 0;

    for (size_t i = 0; i < n; i++)
        wrong |= (uint32_t)(got[i] != want[i]) & (uint32_t)(((got[i] | want[i]) << 1) != 0);
    return wrong == 0;
}

KS_CLONES static bool same_16(const uint16_t *got, const uint16_t *want, size_t n)
{
    uint32_t wrong = 0;

    for (size_t i = 0; i < n; i++)
        wrong |= (uint32_t)(got[i] != want[i]) & (uint32_t)(((got[i] | want[i]) & 0x7fffu) != 0);
    return wrong == 0;
}

static bool same_chunk(const uint8_t *got, const uint8_t *want, size_t n, size_t bytes)
{
    if (bytes == sizeof(uint32_t))
        return same_32((const uint32_t *)(const void *)got, (const uint32_t *)(const void *)want,
                       n);
    return same_16((const uint16_t *)(const void *)got, (const uint16_t *)(const void *)want, n);
}

void ks_verify_exact(const void *got, const void *want, size_t n, uint32_t dtype,
                     const struct ks_shape *shape, struct ks_verdict *out)
{
    size_t bytes = ks_dtype_bytes(dtype);
    const uint8_t *g = got, *w = want;

    verdict_init(shape, out);
    for (size_t from = 0; from < n; from += CHUNK) {
        size_t end = from + CHUNK < n ? from + CHUNK : n;

        if (same_chunk(g + from * bytes, w + from * bytes, end - from, bytes))
            continue;
        for (size_t i = from; i < end; i++) {
            struct ks_mismatch m = { .index = (int64_t)i };

            if (same_chunk(g + i * bytes, w + i * bytes, 1, bytes))
                continue;
            m.got = ks_element_get(got, m.index, dtype);
            m.want = ks_element_get(want, m.index, dtype);
            add_wrong(shape, &m, out);
        }
    }
}

struct ks_tolerance ks_tolerance_of(uint32_t dtype, int64_t reduction, double u_acc)
{
    static const double u_out[KS_N_DTYPES] = {
        [KS_FP32] = 0x1p-24, [KS_FP16] = 0x1p-11, [KS_BF16] = 0x1p-8
    };
    static const double tiny[KS_N_DTYPES] = {
        [KS_FP32] = 0x1p-149, [KS_FP16] = 0x1p-24, [KS_BF16] = 0x1p-133
    };
    double lu = (double)reduction * u_acc;
    double g = lu < 1.0 ? lu / (1.0 - lu) : (double)INFINITY;

    return (struct ks_tolerance){ .u_out = u_out[dtype],
                                  .scale_a = (1.0 + u_out[dtype]) * g,
                                  .tiny = tiny[dtype] };
}

double ks_tolerance_at(const struct ks_tolerance *t, double r, double abs)
{
    return fabs(r) * t->u_out + abs * t->scale_a + t->tiny;
}

/* Partial results of LANES interleaved elements. */
struct partial {
    lanes_f max_error;
    lanes_i n_wrong, n_zero;
};

KS_CLONES static void check_lanes(const double *o, const double *r, const double *a, size_t n,
                                  const struct ks_tolerance *t, struct partial *sum)
{
    const lanes_i sign_off = { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
                               INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX };
    struct partial s = *sum;

    for (size_t i = 0; i < n; i += LANES) {
        lanes_f vo = *(const lanes_f *)(o + i), vr = *(const lanes_f *)(r + i);
        lanes_f off = (lanes_f)((lanes_i)(vo - vr) & sign_off);
        lanes_f tol = (lanes_f)((lanes_i)vr & sign_off) * t->u_out +
                      *(const lanes_f *)(a + i) * t->scale_a + t->tiny;
        lanes_f error = off / tol;
        lanes_i take = (error > s.max_error) & (off <= DBL_MAX);

        s.n_wrong += 1 + (off <= tol); /* a true comparison is -1; NaN compares false */
        s.n_zero -= vo == 0.0;
        s.max_error = (lanes_f)(((lanes_i)error & take) | ((lanes_i)s.max_error & ~take));
    }
    *sum = s;
}

KS_CLONES static void widen(const float *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (double)from[i];
}

static void load_chunk(const void *got, size_t from, size_t n, uint32_t dtype, double *to)
{
    if (dtype == KS_FP32) {
        widen((const float *)got + from, n, to);
        return;
    }
    for (size_t i = 0; i < n; i++)
        to[i] = ks_element_get(got, (int64_t)(from + i), dtype);
}

/* The elements of a chunk with something wrong, one by one. */
static void walk_chunk(const double *o, const double *r, const double *a, size_t from, size_t n,
                       const struct ks_tolerance *t, const struct ks_shape *shape,
                       struct ks_verdict *v)
{
    for (size_t i = 0; i < n; i++) {
        struct ks_mismatch m = { .index = (int64_t)(from + i),
                                 .got = o[i],
                                 .want = r[i],
                                 .tolerance = ks_tolerance_at(t, r[i], a[i]) };

        if (!(fabs(o[i] - r[i]) <= m.tolerance))
            add_wrong(shape, &m, v);
    }
}

static void check_chunk(const double *o, const double *r, const double *a, size_t from, size_t n,
                        const struct ks_tolerance *t, const struct ks_shape *shape,
                        struct ks_verdict *v)
{
    double pad_o[LANES], pad_r[LANES], pad_a[LANES];
    size_t whole = n / LANES * LANES, rest = n - whole;
    struct partial s = { 0 };
    int64_t n_wrong = 0, n_zero = 0;

    check_lanes(o, r, a, whole, t, &s);
    for (size_t i = 0; i < LANES; i++) { /* the tail, filled up with elements without error */
        pad_o[i] = i < rest ? o[whole + i] : 1.0;
        pad_r[i] = i < rest ? r[whole + i] : 1.0;
        pad_a[i] = i < rest ? a[whole + i] : 1.0;
    }
    check_lanes(pad_o, pad_r, pad_a, LANES, t, &s);
    for (size_t i = 0; i < LANES; i++) {
        n_wrong += s.n_wrong[i];
        n_zero += s.n_zero[i];
        v->max_error = s.max_error[i] > v->max_error ? s.max_error[i] : v->max_error;
    }
    v->n_zero += (uint64_t)n_zero;
    if (n_wrong > 0)
        walk_chunk(o, r, a, from, n, t, shape, v);
}

void ks_verify_real(const void *got, const double *r, const double *abs, size_t n, uint32_t dtype,
                    const struct ks_tolerance *t, const struct ks_shape *shape,
                    struct ks_verdict *out)
{
    double o[CHUNK];

    verdict_init(shape, out);
    for (size_t from = 0; from < n; from += CHUNK) {
        size_t m = n - from < CHUNK ? n - from : CHUNK;

        load_chunk(got, from, m, dtype, o);
        check_chunk(o, r + from, abs + from, from, m, t, shape, out);
    }
}

void ks_verdict_record(const struct ks_verdict *v, const struct ks_shape *shape,
                       struct ks_record *r)
{
    r->n_wrong = v->n_wrong;
    r->n_mismatches = v->n_mismatches;
    memcpy(r->mismatch, v->mismatch, sizeof(r->mismatch));
    r->n_box = v->n_wrong > 0 ? (uint32_t)shape->n_dims : 0;
    memcpy(r->box_lo, v->box_lo, sizeof(r->box_lo));
    memcpy(r->box_hi, v->box_hi, sizeof(r->box_hi));
}
