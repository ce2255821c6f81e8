/* SPDX-License-Identifier: MIT */
/* bench_sched.c COSTS [--quick] - how near the scheduler comes to what is possible, in virtual
 * time. Cells take what MIOpen's find-db says of real kernels; the scheduler knows a roofline guess
 * only. Prints a table, and lines `key value` for tests/bench/run.sh. */
#include "record/stats.h"
#include "sched_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INSTANCES = 1024, FEW_INSTANCES = 256 };

struct row {
    uint32_t n_devices, per_device, n_instances;
    bool has_faults;
};
/* 20 problems a device of few instances are listed beside the goals: there the longest cell alone
 * is a tenth of all. */
static const struct {
    uint32_t per_device, n_instances;
    bool has_goal;
} sizes[] = {
    { 1, INSTANCES, false },      { 4, INSTANCES, false },      { 20, INSTANCES, true },
    { 20, FEW_INSTANCES, false }, { 100, FEW_INSTANCES, true },
};
struct worst {
    double plain, faulty; /* makespan over bound, from 20 problems a device on */
    double few;           /* the same, of few instances */
    double split;         /* share of problems, from 100 a device on */
    double anchors;       /* share of the device time, likewise */
    double next_small_ns, next_large_ns;
};

static double ratio(const struct work *w, const struct result *r)
{
    return r->makespan_s / work_bound_s(w, r->lost_s);
}

static void note(const struct row *row, bool has_goal, const struct work *w, const struct result *r,
                 struct worst *worst)
{
    double *most = !has_goal ? &worst->few : row->has_faults ? &worst->faulty : &worst->plain;
    if (row->per_device >= 20)
        *most = fmax(*most, ratio(w, r));
    if (row->per_device >= 100) {
        worst->split = fmax(worst->split, (double)r->n_split / w->n_problems);
        worst->anchors = fmax(worst->anchors, r->anchors_s / (r->anchors_s + r->cells_s));
    }
    if (row->per_device == 100 && row->n_devices == 8)
        worst->next_small_ns = r->next_ns;
    if (row->per_device == 100 && row->n_devices == 1024)
        worst->next_large_ns = r->next_ns;
}

static void measure(const struct row *row, bool has_goal, const struct costs *costs,
                    struct worst *worst)
{
    struct work w =
        work_usual(row->n_devices, row->per_device, row->n_instances, row->has_faults, costs);
    struct result sched = run_sched(&w), fixed = run_static(&w), fifo = run_fifo(&w);
    note(row, has_goal, &w, &sched, worst);
    printf("# %7u %8u %9u %-6s %9.0f %8.3f %7.1f%% %8.1f%% %7.0f %8.3f %8.3f %8.1f%%\n",
           row->n_devices, row->per_device, row->n_instances, row->has_faults ? "yes" : "no",
           work_bound_s(&w, sched.lost_s), ratio(&w, &sched), 100.0 * sched.n_split / w.n_problems,
           100 * sched.anchors_s / (sched.anchors_s + sched.cells_s), sched.next_ns,
           ratio(&w, &fixed), ratio(&w, &fifo),
           100 * fifo.anchors_s / (fifo.anchors_s + fifo.cells_s));
    fflush(stdout);
    work_free(&w);
}

/* How uneven the cells are. */
static void print_cells(const struct costs *costs)
{
    enum { PROBLEMS = 2000 };
    struct work w = work_usual(1, PROBLEMS, FEW_INSTANCES, false, costs);
    double *cell = malloc(sizeof(*cell) * PROBLEMS * FEW_INSTANCES);
    double *problem = calloc(PROBLEMS, sizeof(*problem));
    for (uint32_t i = 0; cell && problem && i < PROBLEMS * FEW_INSTANCES; i++) {
        cell[i] = work_cell_s(&w, i / FEW_INSTANCES, i % FEW_INSTANCES);
        problem[i / FEW_INSTANCES] += cell[i];
    }
    if (cell && problem) {
        ks_stats_sort(cell, (size_t)PROBLEMS * FEW_INSTANCES);
        ks_stats_sort(problem, PROBLEMS);
        printf("# a cell: median %.3f s, mean %.3f s, 99 %% under %.2f s, longest %.0f s; a "
               "problem of "
               "%u: median %.0f s, mean %.0f s, longest %.0f s\n",
               cell[PROBLEMS * FEW_INSTANCES / 2], w.total_s / PROBLEMS / FEW_INSTANCES,
               cell[PROBLEMS * FEW_INSTANCES / 100 * 99], w.longest_s, (unsigned)FEW_INSTANCES,
               problem[PROBLEMS / 2], w.total_s / PROBLEMS, problem[PROBLEMS - 1]);
    }
    free(cell);
    free(problem);
    work_free(&w);
}

int main(int argc, char **argv)
{
    static const uint32_t devices[] = { 8, 64, 256, 1024 };
    struct costs *costs = malloc(sizeof(*costs));
    struct worst worst = { 0 };
    bool is_quick = argc == 3 && strcmp(argv[2], "--quick") == 0;
    if (!costs || argc < 2 || argc > 3 || (argc == 3 && !is_quick)) {
        fprintf(stderr, "usage: bench_sched COSTS [--quick]\n");
        return 2;
    }
    costs_read(argv[1], costs);
    print_cells(costs);
    printf("# devices problems instances faults   bound,s    sched   split   anchors next,ns   "
           "static     fifo  "
           "its anchors\n# problems: of a device; sched, static, fifo: makespan over the bound\n");
    for (size_t p = 0; p < sizeof(sizes) / sizeof(sizes[0]); p++)
        for (size_t d = 0; d < (is_quick ? 2 : 4); d++)
            for (int faults = 0; faults < 2; faults++)
                measure(
                    &(struct row){ devices[d], sizes[p].per_device, sizes[p].n_instances, faults },
                    sizes[p].has_goal, costs, &worst);
    printf("plain %.4f\nfaulty %.4f\nfew %.4f\nsplit %.4f\nanchors %.4f\nnext_small_ns "
           "%.0f\nnext_large_ns "
           "%.0f\n",
           worst.plain, worst.faulty, worst.few, worst.split, worst.anchors, worst.next_small_ns,
           worst.next_large_ns);
    free(costs);
    return 0;
}
