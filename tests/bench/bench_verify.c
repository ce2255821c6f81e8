/* SPDX-License-Identifier: MIT */
/* bench_verify [N_SUBJECTS [SEED]] - what the verification sees. Each subject is a random small
 * problem (all operators, directions, dtypes, layouts); its output is computed in N_WAYS legitimate
 * ways, which must all pass, and broken in N_FAULTS ways, each on exact and on random data. Status
 * 1: a correct output was refused, or a fault that is there was not seen. */
#include "tests/unit/power.h"

#include <stdio.h>
#include <stdlib.h>

static double share(uint32_t part, uint32_t of)
{
    return of ? 100.0 * part / of : 0;
}

static void put_row(const char *name, const struct fault_row *r)
{
    printf("| %-27s | %5u | %6u | %5.1f %% | %5u | %6u | %5.1f %% | %5.1f %% | %5.1f %% | %5.1f %% "
           "|\n",
           name, r->n1, r->caught1, share(r->identical1, r->n1), r->n2, r->caught2,
           share(r->same2, r->n2), share(r->below2, r->n2), share(r->nonzero, r->n2),
           share(r->any, r->n2));
}

static void add(struct fault_row *sum, const struct fault_row *r)
{
    sum->n1 += r->n1;
    sum->caught1 += r->caught1;
    sum->identical1 += r->identical1;
    sum->n2 += r->n2;
    sum->caught2 += r->caught2;
    sum->same2 += r->same2;
    sum->below2 += r->below2;
    sum->nonzero += r->nonzero;
    sum->any += r->any;
}

static void put(const struct power *p, uint32_t n_subjects)
{
    struct fault_row sum = { 0 };

    printf("subjects %u: forward %u, backward_data %u, backward_weight %u, gemm %u; fp32 %u, fp16 "
           "%u, bf16 %u; ngchw %u\n",
           n_subjects, p->by_direction[0], p->by_direction[1], p->by_direction[2], p->n_gemm,
           p->by_dtype[KS_FP32], p->by_dtype[KS_FP16], p->by_dtype[KS_BF16], p->n_ngchw);
    printf("correct cells %u: refused by V1 %u, by V2 %u; largest error / tolerance %.3f\n\n",
           p->n_correct, p->n_false_1, p->n_false_2, p->worst_correct);
    printf(
        "| fault                       |    V1 | caught | identical |    V2 | caught | identical "
        "| below tolerance | non-zeros as before | any non-zero |\n");
    printf("|---|---|---|---|---|---|---|---|---|---|\n");
    for (int k = 0; k < N_FAULTS; k++) {
        put_row(fault_name((enum fault_kind)k), &p->fault[k]);
        add(&sum, &p->fault[k]);
    }
    put_row("all", &sum);
    printf("\nmissed by V1 %u, missed by V2 %u, refused within the tolerance %u\n", p->n_missed_1,
           p->n_missed_2, p->n_wrongly_2);
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1300;
    uint64_t rng = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct power p = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        struct subject s;

        subject_make(&rng, &s);
        power_add(&p, &s, &rng);
        subject_release(&s);
    }
    put(&p, n);
    return p.n_false_1 || p.n_false_2 || p.n_missed_1 || p.n_missed_2 || p.n_wrongly_2;
}
