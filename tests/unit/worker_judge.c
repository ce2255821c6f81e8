/* SPDX-License-Identifier: MIT */
/* worker_judge.c - a judge on the CPU (kernels/judge.h), and many that lie, for
 * test_worker_judge.c; compiled by it into one shared object. Forward fp32 NHWGC, 2-D, no dilation,
 * as worker_kernels.c. */
#include "kernels/judge.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void (*part_fn)(const struct ks_judge_call *c, const struct ks_abi_buffers *b,
                        uint64_t from, uint64_t end, struct ks_judge_part *out);

/* ---- the mask of judge.h ---- */

static uint64_t word(const struct ks_judge_call *c, uint64_t i)
{
    uint64_t x = c->mask[0] + i * 0x9e3779b97f4a7c15u;

    if (c->mask[0] == 0 && c->mask[1] == 0)
        return 0;
    x = ((x ^ x >> 32) * 0xbf58476d1ce4e5b9u) ^ c->mask[1];
    x = (x ^ x >> 29) * 0x94d049bb133111ebu;
    return x ^ x >> 32;
}

static double turn(const struct ks_judge_call *c, uint64_t base, double v, uint64_t i)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    bits ^= word(c, base + i);
    memcpy(&v, &bits, sizeof(v));
    return v;
}

static double get_r(const struct ks_judge_call *c, uint64_t i)
{
    return turn(c, KS_JUDGE_MASK_R, c->r[i], i);
}

static double get_abs(const struct ks_judge_call *c, uint64_t i)
{
    return turn(c, KS_JUDGE_MASK_ABS, c->abs[i], i);
}

static void put_r(const struct ks_judge_call *c, uint64_t i, double v)
{
    c->r[i] = turn(c, KS_JUDGE_MASK_R, v, i);
}

static void put_abs(const struct ks_judge_call *c, uint64_t i, double v)
{
    c->abs[i] = turn(c, KS_JUDGE_MASK_ABS, v, i);
}

static uint32_t mask_of(const struct ks_judge_call *c, uint64_t i)
{
    return (uint32_t)(word(c, i / 2) >> (i % 2 * 32));
}

/* ---- the judge ---- */

static const char *any(const struct ks_abi_problem *p)
{
    return p->dtype == KS_ABI_FP32 && p->direction == KS_ABI_FORWARD ? NULL : "forward fp32 only";
}

static const char *never(const struct ks_abi_problem *p)
{
    (void)p;
    return "has no reference for it";
}

static int64_t answers(const struct ks_abi_problem *p)
{
    (void)p;
    return KS_JUDGE_PARTS * sizeof(struct ks_judge_part);
}

static int64_t too_much(const struct ks_abi_problem *p)
{
    return answers(p) + 1;
}

static void sum(const struct ks_abi_problem *p, const float *x, const float *w, const int64_t *at,
                double *r, double *abs)
{
    *r = *abs = 0.0;
    for (int64_t i = 0; i < p->filter[1] * p->filter[2]; i++) {
        int64_t ih = at[1] * p->stride[1] - p->pad_lo[1] + i / p->filter[2];
        int64_t iw = at[2] * p->stride[2] - p->pad_lo[2] + i % p->filter[2];
        int64_t pixel = ((at[0] * p->in[1] + ih) * p->in[2] + iw) * p->g + at[3];

        for (int64_t c = 0; ih >= 0 && iw >= 0 && ih < p->in[1] && iw < p->in[2] && c < p->c; c++) {
            double product = (double)x[pixel * p->c + c] * (double)w[i * p->c + c];

            *r += product;
            *abs += fabs(product);
        }
    }
}

static void references(const struct ks_judge_call *c, const struct ks_abi_buffers *b)
{
    const struct ks_abi_problem *p = &c->problem;
    int64_t taps = p->filter[1] * p->filter[2] * p->c;

    for (int64_t i = 0; i < (int64_t)c->n; i++) {
        int64_t gk = i % (p->g * p->k), pixel = i / (p->g * p->k);
        int64_t at[4] = { pixel / (p->out[1] * p->out[2]), pixel / p->out[2] % p->out[1],
                          pixel % p->out[2], gk / p->k };
        double r, abs;

        sum(p, b->a, (const float *)b->b + gk * taps, at, &r, &abs);
        put_r(c, (uint64_t)i, r);
        if (c->abs)
            put_abs(c, (uint64_t)i, abs);
    }
}

static void exact(const struct ks_judge_call *c, const struct ks_abi_buffers *b, uint64_t from,
                  uint64_t end, struct ks_judge_part *out)
{
    const uint32_t *got = b->a, *masked = b->b;

    for (uint64_t i = from; i < end; i++) {
        uint32_t want = masked[i] ^ mask_of(c, i);

        if (got[i] != want && ((got[i] | want) << 1) != 0 && out->n_wrong++ == 0)
            out->first = i;
    }
}

static void written(const struct ks_judge_call *c, const struct ks_abi_buffers *b, uint64_t from,
                    uint64_t end, struct ks_judge_part *out)
{
    const float *got = b->a;

    (void)c;
    for (uint64_t i = from; i < end; i++)
        if (isnan(got[i]) && out->n_wrong++ == 0)
            out->first = i;
}

static void real(const struct ks_judge_call *c, const struct ks_abi_buffers *b, uint64_t from,
                 uint64_t end, struct ks_judge_part *out)
{
    const float *got = b->a;

    for (uint64_t i = from; i < end; i++) {
        double r = get_r(c, i), off = fabs((double)got[i] - r);
        double tolerance = fabs(r) * c->u_out + get_abs(c, i) * c->scale_a + c->tiny;

        tolerance = fmin(tolerance, DBL_MAX);
        if (isfinite(off))
            out->max_error = fmax(out->max_error, off / tolerance);
        out->n_zero += got[i] == 0.0f;
        if (!(off <= tolerance) && out->n_wrong++ == 0)
            out->first = i;
    }
}

static void digest(const struct ks_judge_call *c, const struct ks_abi_buffers *b, uint64_t from,
                   uint64_t end, struct ks_judge_part *out)
{
    for (uint64_t i = (from + 3) / 4; i < (end + 3) / 4; i++) {
        uint64_t left = c->n - 4 * i, x;
        uint32_t word = 0;

        memcpy(&word, (const char *)b->a + 4 * i, left < 4 ? left : 4);
        x = (i << 32 | word) + 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        out->digest += x ^ (x >> 31);
    }
}

static void rounded(const struct ks_judge_call *c, uint32_t *to)
{
    for (uint64_t i = 0; i < c->n; i++) {
        float v = (float)get_r(c, i);

        memcpy(&to[i], &v, sizeof(v));
        to[i] ^= c->is_c_masked ? mask_of(c, i) : 0;
    }
}

static void flip(const struct ks_judge_call *c, const struct ks_abi_buffers *b, uint64_t from,
                 uint64_t end, struct ks_judge_part *out)
{
    const struct ks_judge_signs *s = &c->signs;
    uint32_t *words = b->c;

    for (uint64_t i = from; i < end; i++) {
        int64_t rest = (int64_t)i, at[KS_JUDGE_CLASSES] = { 0 };
        uint8_t sign = 0;

        for (int k = KS_JUDGE_AXES - 1; k >= 0; rest /= s->extent[k--])
            for (int j = 0; j < KS_JUDGE_CLASSES; j++)
                at[j] += rest % s->extent[k] * s->step[k][j];
        for (int j = 0; j < KS_JUDGE_CLASSES; j++)
            sign ^= s->byte[j] != NULL ? s->byte[j][at[j]] : 0;
        words[i] ^= (uint32_t)(sign & 0x80u) << 24;
        out->digest += sign >> 7;
    }
}

static struct ks_judge_part *parts_of(const struct ks_abi_buffers *b)
{
    return b->workspace;
}

static int judge(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    static const part_fn tasks[KS_JUDGE_N_TASKS] = { [KS_JUDGE_EXACT] = exact,
                                                     [KS_JUDGE_REAL] = real,
                                                     [KS_JUDGE_WRITTEN] = written,
                                                     [KS_JUDGE_DIGEST] = digest,
                                                     [KS_JUDGE_FLIP] = flip };
    const struct ks_judge_call *c = (const struct ks_judge_call *)p;

    if (p->bytes != sizeof(*c) || c->task >= KS_JUDGE_N_TASKS)
        return 1;
    if (c->task == KS_JUDGE_REFERENCE)
        references(c, b);
    if (c->task == KS_JUDGE_ROUND)
        rounded(c, b->c);
    if (tasks[c->task] == NULL)
        return 0;
    for (uint32_t i = 0; i < c->n_parts; i++) {
        struct ks_judge_part part = { .first = KS_JUDGE_NONE };

        tasks[c->task](c, b, c->n * i / c->n_parts, c->n * (i + 1) / c->n_parts, &part);
        parts_of(b)[i] = part;
    }
    return 0;
}

/* ---- liars ---- */

/* A liar does its task, then changes what came out: of a task, of the sums or of the answer. */
#define LIAR(name_, task_, ...)                                                                    \
    static int name_(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)               \
    {                                                                                              \
        const struct ks_judge_call *c = (const struct ks_judge_call *)p;                           \
        struct ks_judge_part *const part = parts_of(b);                                            \
        int rc = judge(p, b);                                                                      \
                                                                                                   \
        (void)part;                                                                                \
        if (c->task == (task_)) {                                                                  \
            __VA_ARGS__                                                                            \
        }                                                                                          \
        return rc;                                                                                 \
    }

static int is_exact_data(const struct ks_abi_buffers *b)
{
    return *(const float *)b->a == floorf(*(const float *)b->a);
}

LIAR(lies_sum, KS_JUDGE_REFERENCE,
     if (is_exact_data(b)) put_r(c, c->n / 2, get_r(c, c->n / 2) + 1.0);)
LIAR(lies_real, KS_JUDGE_REFERENCE,
     for (uint64_t i = 0; !is_exact_data(b) && i < c->n; i++)
         put_r(c, i, get_r(c, i) * (1.0 + 0x1p-30));)
LIAR(lies_abs, KS_JUDGE_REFERENCE,
     for (uint64_t i = 0; i < c->n; i++) put_abs(c, i, get_abs(c, i) * (1.0 + 0x1p-30));)
LIAR(lies_flip_input, KS_JUDGE_FLIP,
     if (c->n == (uint64_t)(c->problem.n * c->problem.g * c->problem.c * c->problem.in[1] *
                            c->problem.in[2]))((uint32_t *)b->c)[1] ^= 0x80000000u;)
LIAR(lies_flip_output, KS_JUDGE_FLIP,
     if (c->n == (uint64_t)(c->problem.n * c->problem.g * c->problem.k * c->problem.out[1] *
                            c->problem.out[2]))((uint32_t *)b->c)[c->n - 1] ^= 0x80000000u;)
LIAR(lies_round, KS_JUDGE_ROUND, ((uint32_t *)b->c)[c->n - 1] ^= 1u << 23;)
LIAR(lies_digest, KS_JUDGE_DIGEST, part[0].digest++;)
LIAR(counts_digest, KS_JUDGE_DIGEST, part[0].n_zero = 1;)

LIAR(exact_blind, KS_JUDGE_EXACT,
     for (uint32_t i = 0; i < c->n_parts; i++)
         part[i] = (struct ks_judge_part){ .first = KS_JUDGE_NONE };)
LIAR(exact_afraid, KS_JUDGE_EXACT,
     if (part[0].n_wrong == 0) part[0] = (struct ks_judge_part){ .n_wrong = 1, .first = 3 };)
LIAR(exact_elsewhere, KS_JUDGE_EXACT, if (part[0].n_wrong == 1) part[0].first ^= 1;)
LIAR(exact_twice, KS_JUDGE_EXACT, if (part[0].n_wrong == 1) part[0].n_wrong = 2;)
LIAR(written_blind, KS_JUDGE_WRITTEN,
     for (uint32_t i = 0; i < c->n_parts; i++)
         part[i] = (struct ks_judge_part){ .first = KS_JUDGE_NONE };)
LIAR(real_zeros, KS_JUDGE_REAL, part[0].n_zero = 0;)
LIAR(real_error, KS_JUDGE_REAL, part[0].max_error *= 0.999;)

/* Leaves out elements of one end. */
static int all_but(const struct ks_abi_problem *p, const struct ks_abi_buffers *b, uint64_t skip,
                   uint64_t cut)
{
    struct ks_judge_call c = *(const struct ks_judge_call *)p;
    struct ks_abi_buffers at = *b;
    uint32_t *want;

    if (c.task != KS_JUDGE_EXACT)
        return judge(p, b);
    want = malloc(c.n * sizeof(*want));
    if (want == NULL)
        return 1;
    for (uint64_t i = 0; i < c.n; i++)
        want[i] = ((const uint32_t *)b->b)[i] ^ mask_of(&c, i);
    memset(c.mask, 0, sizeof(c.mask));
    c.n -= skip + cut;
    at.a = (const float *)b->a + skip;
    at.b = want + skip;
    judge(&c.problem, &at);
    free(want);
    for (uint32_t i = 0; i < c.n_parts; i++)
        parts_of(b)[i].first += parts_of(b)[i].n_wrong > 0 ? skip : 0;
    return 0;
}

static int without_first(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    return all_but(p, b, 1, 0);
}

static int without_last(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    return all_but(p, b, 0, 1);
}

/* Allows a tenth more. */
static int real_lenient(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    struct ks_judge_call c = *(const struct ks_judge_call *)p;

    c.u_out *= 1.1;
    c.scale_a *= 1.1;
    c.tiny *= 1.1;
    return judge(&c.problem, b);
}

/* ---- broken ones: what they answer is no answer ---- */

static int is_asked(const struct ks_judge_call *c)
{
    return c->task == KS_JUDGE_EXACT || c->task == KS_JUDGE_REAL || c->task == KS_JUDGE_WRITTEN;
}

static int no_answer(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    return is_asked((const struct ks_judge_call *)p) ? 0 : judge(p, b);
}

static int no_digest(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    return ((const struct ks_judge_call *)p)->task == KS_JUDGE_DIGEST ? 0 : judge(p, b);
}

static int no_sums(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    return ((const struct ks_judge_call *)p)->task == KS_JUDGE_REFERENCE ? 0 : judge(p, b);
}

static int no_rounding(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    return ((const struct ks_judge_call *)p)->task == KS_JUDGE_ROUND ? 0 : judge(p, b);
}

static int no_flip(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    return ((const struct ks_judge_call *)p)->task == KS_JUDGE_FLIP ? 0 : judge(p, b);
}

static int last_block_missing(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    const struct ks_judge_call *c = (const struct ks_judge_call *)p;
    struct ks_judge_part was = parts_of(b)[c->n_parts - 1];
    int rc = judge(p, b);

    if (is_asked(c))
        parts_of(b)[c->n_parts - 1] = was;
    return rc;
}

LIAR(one_block_more, KS_JUDGE_EXACT, part[c->n_parts] = part[0];)
LIAR(one_word_before, KS_JUDGE_EXACT, ((uint32_t *)part)[-1] = 0;)
LIAR(impossible_count, KS_JUDGE_EXACT, part[0].n_wrong = c->n + 1; part[0].first = 0;)
LIAR(impossible_sum, KS_JUDGE_EXACT,
     for (uint32_t i = 0; i < c->n_parts; i++)
         part[i] = (struct ks_judge_part){ .n_wrong = c->n, .first = 0 };)
LIAR(impossible_first, KS_JUDGE_EXACT, part[0].n_wrong = 1; part[0].first = c->n;)
LIAR(first_of_none, KS_JUDGE_EXACT, if (part[0].n_wrong == 0) part[0].first = 0;)
LIAR(impossible_error, KS_JUDGE_REAL, part[0].max_error = (double)NAN;)

static int fails(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    (void)p;
    (void)b;
    return 5;
}

/* Honest while it is tried, then not: sees a wrong element where there is none. */
static int turncoat(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    static int n_exact;
    const struct ks_judge_call *c = (const struct ks_judge_call *)p;
    int rc = judge(p, b);

    if (c->task == KS_JUDGE_EXACT && ++n_exact > 5) {
        parts_of(b)[0].n_wrong++;
        parts_of(b)[0].first = 0;
    }
    return rc;
}

/* Sums in another order from the third problem's data on: off by the last bit. */
static int drifts(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    static int n_sums;
    const struct ks_judge_call *c = (const struct ks_judge_call *)p;
    int rc = judge(p, b);

    if (c->task == KS_JUDGE_REFERENCE && ++n_sums > 2 && !is_exact_data(b))
        put_r(c, 0, nextafter(get_r(c, 0), DBL_MAX));
    return rc;
}

#define JUDGE(name_, run_)                                                                         \
    {                                                                                              \
        name_, any, answers, run_                                                                  \
    }
#define ALSO(run_) JUDGE(#run_, run_)

static const struct ks_abi_entry entries[] = {
    ALSO(judge),
    { "refuses", never, answers, judge },
    { "greedy", any, too_much, judge },
    ALSO(lies_sum),
    ALSO(lies_real),
    ALSO(lies_abs),
    ALSO(lies_flip_input),
    ALSO(lies_flip_output),
    ALSO(no_flip),
    ALSO(lies_round),
    ALSO(lies_digest),
    ALSO(counts_digest),
    ALSO(exact_blind),
    ALSO(exact_afraid),
    ALSO(exact_elsewhere),
    ALSO(exact_twice),
    ALSO(written_blind),
    ALSO(real_zeros),
    ALSO(real_error),
    ALSO(without_first),
    ALSO(without_last),
    ALSO(real_lenient),
    ALSO(no_answer),
    ALSO(no_digest),
    ALSO(no_sums),
    ALSO(no_rounding),
    ALSO(last_block_missing),
    ALSO(one_block_more),
    ALSO(one_word_before),
    ALSO(impossible_count),
    ALSO(impossible_sum),
    ALSO(impossible_first),
    ALSO(first_of_none),
    ALSO(impossible_error),
    ALSO(fails),
    ALSO(turncoat),
    ALSO(drifts),
};

const struct ks_abi_table ks_kernel_table = { KS_ABI_MAJOR, sizeof(entries) / sizeof(entries[0]),
                                              entries };
