/* SPDX-License-Identifier: MIT */
/* bench_reference.c - rates of input generation, reference and proofs, one thread */
/* bench_reference [-v] - over the shipped problem lists in all directions and layouts; -v: one line
 * for each problem. GFLOP/s count 2 per multiply-add, R and A together once. */
#include "tests/unit/problem_list.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum phase { INPUTS_EXACT, REF_EXACT, PROVE_EXACT, INPUTS_REAL, REF_REAL, PROVE_REAL, N_PHASES };

struct times {
    double s[N_PHASES];
};

static const struct ks_operator *op_of(const struct ks_problem *p)
{
    return ks_operators[p->op];
}

static int run_phase(enum phase phase, const struct ks_problem *p, void *a, void *b, double *r,
                     double *magnitude, struct ks_err *err)
{
    switch (phase) {
    case INPUTS_EXACT:
    case INPUTS_REAL:
        ks_problem_inputs(p, phase == INPUTS_REAL ? KS_DATA_RANDOM : KS_DATA_EXACT, 'a', a);
        ks_problem_inputs(p, phase == INPUTS_REAL ? KS_DATA_RANDOM : KS_DATA_EXACT, 'b', b);
        return 0;
    case REF_EXACT:
        return op_of(p)->reference(p, a, b, r, NULL, err);
    case REF_REAL:
        return op_of(p)->reference(p, a, b, r, magnitude, err);
    case PROVE_EXACT:
        return op_of(p)->prove_exact(p, a, b, r, 1, err);
    default:
        return op_of(p)->prove_real(p, a, b, r, magnitude, 1, 64, err);
    }
}

static int time_problem(const struct ks_problem *p, struct times *t, struct ks_err *err)
{
    struct ks_extents e = op_of(p)->extents(p);
    float *a = malloc((size_t)e.a * 4), *b = malloc((size_t)e.b * 4);
    double *r = malloc((size_t)e.c * 8), *magnitude = malloc((size_t)e.c * 8);
    int rc = a && b && r && magnitude ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    /* First touch costs page faults; they are not what is measured. */
    if (rc == 0) {
        memset(a, 0, (size_t)e.a * 4);
        memset(b, 0, (size_t)e.b * 4);
        memset(r, 0, (size_t)e.c * 8);
        memset(magnitude, 0, (size_t)e.c * 8);
    }
    for (int i = 0; rc == 0 && i < N_PHASES; i++) {
        uint64_t start = ks_now_ns();

        rc = run_phase((enum phase)i, p, a, b, r, magnitude, err);
        t->s[i] = (double)(ks_now_ns() - start) * 1e-9;
    }
    free(a);
    free(b);
    free(r);
    free(magnitude);
    return rc;
}

static void print_line(const char *what, double flops, double elements, const struct times *t)
{
    printf("%-36s %9.1f %9.0f %9.1f %9.2f %9.2f %9.1f %9.3f\n", what, flops * 1e-6,
           2 * elements / (t->s[INPUTS_EXACT] + t->s[INPUTS_REAL]) * 1e-6,
           flops / t->s[REF_EXACT] * 1e-9, flops / t->s[REF_REAL] * 1e-9,
           t->s[PROVE_EXACT] / t->s[REF_REAL] * 100, t->s[PROVE_REAL] / t->s[REF_REAL] * 100,
           t->s[INPUTS_EXACT] + t->s[INPUTS_REAL] + t->s[REF_EXACT] + t->s[REF_REAL] +
               t->s[PROVE_EXACT] + t->s[PROVE_REAL]);
}

static int bench_list(const struct problem_list *list, const char *name, uint32_t direction,
                      uint32_t layout, bool verbose, struct ks_err *err)
{
    struct times total = { { 0 } };
    double flops = 0, elements = 0;
    char what[64];
    int rc = 0;

    for (int i = 0; rc == 0 && i < list->n; i++) {
        struct ks_problem p = list->problems[i];
        struct ks_extents e;
        struct times t = { { 0 } };

        p.direction = direction;
        p.layout = layout;
        rc = ks_problem_finish(&p, err);
        if (rc == 0)
            rc = time_problem(&p, &t, err);
        if (rc < 0)
            break;
        e = op_of(&p)->extents(&p);
        for (int k = 0; k < N_PHASES; k++)
            total.s[k] += t.s[k];
        flops += ks_problem_flops(&p);
        elements += (double)(e.a + e.b);
        if (verbose)
            print_line(p.name, ks_problem_flops(&p), (double)(e.a + e.b), &t);
    }
    snprintf(what, sizeof(what), "%.10s %s %s", name, ks_direction_name(direction),
             ks_layout_name(layout));
    if (rc == 0)
        print_line(what, flops, elements, &total);
    return rc;
}

static int bench_all(const char *name, bool verbose, struct ks_err *err)
{
    struct problem_list list;
    int rc = problem_list_read(name, &list, err);

    for (uint32_t i = 0; rc == 0 && i < KS_N_DIRECTIONS * KS_N_LAYOUTS; i++)
        rc = bench_list(&list, name, i % KS_N_DIRECTIONS, i / KS_N_DIRECTIONS, verbose, err);
    return rc;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "resnet50", "resnext50_32x4d", "mobilenet_v2", "r3d18" };
    bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    struct ks_err err;

    printf("%-36s %9s %9s %9s %9s %9s %9s %9s\n", "", "MFLOP", "inputs", "R exact", "R and A",
           "proof V1", "proof V2", "total");
    printf("%-36s %9s %9s %9s %9s %9s %9s %9s\n", "", "", "M/s", "GFLOP/s", "GFLOP/s", "% of R,A",
           "% of R,A", "s");
    for (int i = 0; i < 4; i++)
        if (bench_all(names[i], verbose, &err) < 0) {
            fprintf(stderr, "bench_reference: %s\n", err.text);
            return 1;
        }
    return 0;
}
