/* SPDX-License-Identifier: MIT */
/* verify.c - compares an output with its reference, exactly or within the tolerance */
#include "worker/verify.h"

#include "op/clones.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Elements looked at together: they and their references stay in the first-level cache, so that a
 * chunk with a wrong element can be walked again one by one. */
#define CHUNK 1024u

#define INFINITY_BITS 0x7ff0000000000000 /* of a double; NaN has more */

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

void ks_verify_begin(const struct ks_shape *shape, struct ks_verdict *out)
{
    memset(out, 0, sizeof(*out));
    for (int d = 0; d < shape->n_dims; d++) {
        out->box_lo[d] = shape->dim[d] - 1;
        out->box_hi[d] = 0;
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

/* Room for the unmasked elements of a chunk, whatever their type. */
union chunk {
    uint32_t words[CHUNK];
    uint16_t halves[CHUNK];
    double doubles[CHUNK];
};

/* The elements of a chunk that differ, one by one. */
static void walk_exact(const void *got, const void *want, size_t first, size_t n, uint32_t dtype,
                       const struct ks_shape *shape, struct ks_verdict *sum)
{
    size_t bytes = ks_dtype_bytes(dtype);
    const uint8_t *g = got, *w = want;

    for (size_t i = 0; i < n; i++) {
        struct ks_mismatch m = { .index = (int64_t)(first + i) };

        if (same_chunk(g + i * bytes, w + i * bytes, 1, bytes))
            continue;
        m.got = ks_element_get(got, (int64_t)i, dtype);
        m.want = ks_element_get(want, (int64_t)i, dtype);
        add_wrong(shape, &m, sum);
    }
}

void ks_verify_exact_more(const void *got, const struct ks_masked *want, size_t first, size_t n,
                          uint32_t dtype, const struct ks_shape *shape, struct ks_verdict *sum)
{
    size_t bytes = ks_dtype_bytes(dtype);
    union chunk unmasked;

    for (size_t from = 0; from < n; from += CHUNK) {
        size_t m = n - from < CHUNK ? n - from : CHUNK;
        struct ks_masked piece = ks_masked_from(want, from * bytes);
        const uint8_t *g = (const uint8_t *)got + from * bytes;
        const void *w = ks_masked_read(&piece, m * bytes, &unmasked);

        if (!same_chunk(g, w, m, bytes))
            walk_exact(g, w, first + from, m, dtype, shape, sum);
    }
    if (want->mask != NULL)
        explicit_bzero(&unmasked, sizeof(unmasked));
}

void ks_verify_exact(const void *got, const void *want, size_t n, uint32_t dtype,
                     const struct ks_shape *shape, struct ks_verdict *out)
{
    const struct ks_masked plain = { .at = want };

    ks_verify_begin(shape, out);
    ks_verify_exact_more(got, &plain, 0, n, dtype, shape, out);
}

void ks_verify_written(const void *got, size_t n, uint32_t dtype, const struct ks_shape *shape,
                       struct ks_verdict *out)
{
    ks_verify_begin(shape, out);
    for (size_t i = 0; i < n; i++) {
        struct ks_mismatch m = { .index = (int64_t)i };

        m.got = ks_element_get(got, m.index, dtype);
        if (isnan(m.got))
            add_wrong(shape, &m, out);
    }
}

double ks_u_acc(uint32_t numerics)
{
    return numerics == KS_NUMERICS_TRUNCATING ? 0x1p-22 : 0x1p-24;
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
    /* Without a bound still a number, so that 0 A is 0. */
    double g = lu < 1.0 ? lu / (1.0 - lu) : DBL_MAX / 2;

    return (struct ks_tolerance){ .u_out = u_out[dtype],
                                  .scale_a = (1.0 + u_out[dtype]) * g,
                                  .tiny = tiny[dtype] };
}

/* A number, so that infinities are off by more. */
static double tolerance_of(double u_out, double scale_a, double tiny, double r, double abs)
{
    double tol = fabs(r) * u_out + abs * scale_a + tiny;

    return tol < DBL_MAX ? tol : DBL_MAX;
}

double ks_tolerance_at(const struct ks_tolerance *t, double r, double abs)
{
    return tolerance_of(t->u_out, t->scale_a, t->tiny, r, abs);
}

struct partial {
    int64_t n_wrong, n_zero;
    int64_t max_error; /* the bits of a double >= 0, which are ordered like the numbers */
};

static int64_t bits_of(double v)
{
    int64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

/* A reference as it lies in memory, and the state of the stream that masks its first number. */
struct numbers {
    const uint8_t *at;
    uint64_t state, key;
};

static struct numbers numbers_of(const struct ks_masked *d)
{
    struct numbers n = { .at = d->at };

    if (d->mask != NULL) {
        n.state = d->mask->key[0] + d->word * KS_MASK_STEP;
        n.key = d->mask->key[1];
    }
    return n;
}

/* Number i; the state is that of number i and becomes that of the next. */
static inline double number(struct numbers *n, size_t i, bool is_masked)
{
    uint64_t bits;
    double v;

    memcpy(&bits, n->at + i * sizeof(bits), sizeof(bits));
    if (is_masked)
        bits ^= ks_mask_mix(n->state, n->key);
    n->state += KS_MASK_STEP;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* Sums of integers and a maximum of integers: reductions the compiler may reorder. Unmasked numbers
 * are in registers only. */
static inline __attribute__((always_inline)) void check_loop(const double *o, struct numbers r,
                                                             struct numbers a, size_t n,
                                                             const struct ks_tolerance *t,
                                                             bool is_masked, struct partial *out)
{
    double u_out = t->u_out, scale_a = t->scale_a, tiny = t->tiny;
    int64_t n_wrong = 0, n_zero = 0, max_error = 0;

    for (size_t i = 0; i < n; i++) {
        double want = number(&r, i, is_masked), off = fabs(o[i] - want);
        double tol = tolerance_of(u_out, scale_a, tiny, want, number(&a, i, is_masked));
        int64_t error = bits_of(off / tol);

        error = bits_of(off) < INFINITY_BITS ? error : 0;
        max_error = error > max_error ? error : max_error;
        n_wrong += off <= tol ? 0 : 1; /* NaN compares false */
        n_zero += o[i] == 0.0 ? 1 : 0;
    }
    *out = (struct partial){ n_wrong, n_zero, max_error };
}

KS_CLONES static void check_plain(const double *o, struct numbers r, struct numbers a, size_t n,
                                  const struct ks_tolerance *t, struct partial *out)
{
    check_loop(o, r, a, n, t, false, out);
}

KS_CLONES static void check_masked(const double *o, struct numbers r, struct numbers a, size_t n,
                                   const struct ks_tolerance *t, struct partial *out)
{
    check_loop(o, r, a, n, t, true, out);
}

KS_CLONES static void widen(const float *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (double)from[i];
}

/* At most CHUNK elements. */
static void load_chunk(const void *got, size_t from, size_t n, uint32_t dtype, double *to)
{
    float floats[CHUNK];

    ks_elements_to_floats((const char *)got + from * ks_dtype_bytes(dtype), (int64_t)n, dtype,
                          floats);
    widen(floats, n, to);
}

/* The elements of a chunk with something wrong, one by one. */
static void walk_chunk(const double *o, const struct ks_masked *r, const struct ks_masked *abs,
                       size_t from, size_t n, const struct ks_tolerance *t,
                       const struct ks_shape *shape, struct ks_verdict *v)
{
    union chunk r_chunk, abs_chunk;
    const double *want = ks_masked_read(r, n * sizeof(*want), &r_chunk);
    const double *bound = ks_masked_read(abs, n * sizeof(*bound), &abs_chunk);

    for (size_t i = 0; i < n; i++) {
        struct ks_mismatch m = { .index = (int64_t)(from + i),
                                 .got = o[i],
                                 .want = want[i],
                                 .tolerance = ks_tolerance_at(t, want[i], bound[i]) };

        if (!(fabs(o[i] - want[i]) <= m.tolerance))
            add_wrong(shape, &m, v);
    }
    explicit_bzero(&r_chunk, sizeof(r_chunk));
    explicit_bzero(&abs_chunk, sizeof(abs_chunk));
}

static void check_chunk(const double *o, const struct ks_masked *r, const struct ks_masked *abs,
                        size_t from, size_t n, const struct ks_tolerance *t,
                        const struct ks_shape *shape, struct ks_verdict *v)
{
    struct partial s;
    double max_error;

    if (r->mask != NULL)
        check_masked(o, numbers_of(r), numbers_of(abs), n, t, &s);
    else
        check_plain(o, numbers_of(r), numbers_of(abs), n, t, &s);
    memcpy(&max_error, &s.max_error, sizeof(max_error));
    v->max_error = fmax(v->max_error, max_error);
    v->n_zero += (uint64_t)s.n_zero;
    if (s.n_wrong > 0)
        walk_chunk(o, r, abs, from, n, t, shape, v);
}

void ks_verify_real_more(const void *got, const struct ks_masked *r, const struct ks_masked *abs,
                         size_t first, size_t n, uint32_t dtype, const struct ks_tolerance *t,
                         const struct ks_shape *shape, struct ks_verdict *sum)
{
    double o[CHUNK];

    for (size_t from = 0; from < n; from += CHUNK) {
        size_t m = n - from < CHUNK ? n - from : CHUNK;
        struct ks_masked r_piece = ks_masked_from(r, from * sizeof(double));
        struct ks_masked abs_piece = ks_masked_from(abs, from * sizeof(double));

        load_chunk(got, from, m, dtype, o);
        check_chunk(o, &r_piece, &abs_piece, first + from, m, t, shape, sum);
    }
}

void ks_verify_real(const void *got, const double *r, const double *abs, size_t n, uint32_t dtype,
                    const struct ks_tolerance *t, const struct ks_shape *shape,
                    struct ks_verdict *out)
{
    const struct ks_masked plain_r = { .at = r }, plain_abs = { .at = abs };

    ks_verify_begin(shape, out);
    ks_verify_real_more(got, &plain_r, &plain_abs, 0, n, dtype, t, shape, out);
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
