/* SPDX-License-Identifier: MIT */
/* power_count.c - counts which legitimate outputs passed and which faults were seen */
#include "power_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The bound of verify.h once more, from its source, in long double: u |R| + (1 + u) g A + tiny with
 * g = L 2^-24 / (1 - L 2^-24). */
static bool is_beyond(const struct subject *s, int64_t i, long double o, double *part_out)
{
    static const long double round_off[] = {
        [KS_FP32] = 0x1p-24L, [KS_FP16] = 0x1p-11L, [KS_BF16] = 0x1p-8L
    };
    static const long double tiny[] = {
        [KS_FP32] = 0x1p-149L, [KS_FP16] = 0x1p-24L, [KS_BF16] = 0x1p-133L
    };
    long double lu = (long double)ks_operators[s->p.op]->reduction(&s->p) * 0x1p-24L;
    long double u = round_off[s->p.dtype], r = s->r[KS_DATA_RANDOM][i];
    long double bound = u * fabsl(r) + (1 + u) * lu / (1 - lu) * s->magnitude[i] + tiny[s->p.dtype];

    *part_out = isfinite(o) ? (double)(fabsl(o - r) / bound) : 0;
    return !(fabsl(o - r) <= bound);
}

struct sight subject_look(const struct subject *s, enum ks_data data, const void *out)
{
    struct sight seen = { 0 };

    for (int64_t i = 0; i < s->products.n_elements; i++) {
        double o = ks_element_get(out, i, s->p.dtype), part = 0;

        seen.n_zero += o == 0;
        if (data == KS_DATA_EXACT) {
            seen.differs_exact |= !(o == ks_element_get(s->want, i, s->p.dtype));
            continue;
        }
        seen.is_above |= is_beyond(s, i, o, &part);
        seen.worst = part > seen.worst ? part : seen.worst;
    }
    return seen;
}

uint64_t subject_v1(const struct subject *s, const void *out)
{
    struct ks_verdict v;

    ks_verify_exact(out, s->want, (size_t)s->products.n_elements, s->p.dtype, &s->shape, &v);
    return v.n_wrong;
}

uint64_t subject_v2(const struct subject *s, const void *out)
{
    struct ks_verdict v;

    ks_verify_real(out, s->r[KS_DATA_RANDOM], s->magnitude, (size_t)s->products.n_elements,
                   s->p.dtype, &s->tolerance, &s->shape, &v);
    return v.n_wrong;
}

static void add_correct(struct power *t, const struct subject *s, enum way way, uint64_t *rng,
                        void *out)
{
    struct sight seen;

    subject_compute(s, KS_DATA_EXACT, way, rng, out);
    t->n_false_1 += subject_v1(s, out) != 0;
    subject_compute(s, KS_DATA_RANDOM, way, rng, out);
    t->n_false_2 += subject_v2(s, out) != 0;
    seen = subject_look(s, KS_DATA_RANDOM, out);
    t->worst_correct = seen.worst > t->worst_correct ? seen.worst : t->worst_correct;
    t->n_correct++;
}

static void count_v1(struct power *t, const struct subject *s, struct fault_row *row,
                     const void *out)
{
    bool is_to_be_seen = subject_look(s, KS_DATA_EXACT, out).differs_exact;
    bool is_seen = subject_v1(s, out) != 0;

    row->n1++;
    row->caught1 += is_seen;
    row->identical1 += !is_to_be_seen;
    t->n_missed_1 += is_to_be_seen && !is_seen;
    t->n_false_1 += is_seen && !is_to_be_seen;
}

static bool is_same(const struct subject *s, const void *x, const void *y)
{
    for (int64_t i = 0; i < s->products.n_elements; i++)
        if (!(ks_element_get(x, i, s->p.dtype) == ks_element_get(y, i, s->p.dtype)))
            return false;
    return true;
}

static void count_v2(struct power *t, const struct subject *s, struct fault_row *row,
                     const void *out, const void *correct)
{
    int64_t n_zero = subject_look(s, KS_DATA_RANDOM, correct).n_zero;
    struct sight seen = subject_look(s, KS_DATA_RANDOM, out);
    bool is_seen = subject_v2(s, out) != 0;

    row->n2++;
    row->caught2 += is_seen;
    if (is_same(s, out, correct))
        row->same2++;
    else
        row->below2 += !seen.is_above;
    row->nonzero += seen.n_zero <= n_zero;
    row->any += seen.n_zero < s->products.n_elements;
    t->n_missed_2 += seen.is_above && !is_seen;
    t->n_wrongly_2 += is_seen && !seen.is_above;
}

static void add_fault(struct power *t, const struct subject *s, enum fault_kind kind, uint64_t *rng,
                      void *out, void *correct)
{
    enum way way = (enum way)power_pick(rng, 0, N_WAYS - 1);

    for (int data = 0; data < 2; data++) {
        subject_compute(s, (enum ks_data)data, way, rng, correct);
        memcpy(out, correct, (size_t)s->products.n_elements * s->element);
        if (!subject_break(s, (enum ks_data)data, kind, rng, out))
            continue;
        if (data == KS_DATA_EXACT)
            count_v1(t, s, &t->fault[kind], out);
        else
            count_v2(t, s, &t->fault[kind], out, correct);
    }
}

void power_add(struct power *t, const struct subject *s, uint64_t *rng)
{
    void *out = power_array(s->products.n_elements, s->element);
    void *correct = power_array(s->products.n_elements, s->element);

    t->by_direction[s->p.direction] += s->products.q.op != KS_ABI_GEMM;
    t->by_dtype[s->p.dtype]++;
    t->n_gemm += s->products.q.op == KS_ABI_GEMM;
    t->n_ngchw += s->p.layout == KS_NGCHW;
    for (int way = 0; way < N_WAYS; way++)
        add_correct(t, s, (enum way)way, rng, out);
    for (int kind = 0; kind < N_FAULTS; kind++)
        add_fault(t, s, (enum fault_kind)kind, rng, out, correct);
    free(out);
    free(correct);
}
