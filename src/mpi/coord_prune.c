/* SPDX-License-Identifier: MIT */
/* coord_prune.c - cells that nobody measures because their kernels spill, where the job wants that.
 *
 * As with aliases the hosts' word counts that was heard before measuring began: an instance is left
 * out when it spills in every build that was told of. A share of the cells is measured all the
 * same; these controls bear a flag, so that it can be seen what the rest would have been worth. */
#include "mpi/coord_impl.h"

#include <stdlib.h>
#include <string.h>

int ks_coord_prune_open(struct ks_coord *c, struct ks_err *err)
{
    uint32_t n = c->c.grid->n_instances;
    struct prune_books *p = &c->prune;
    p->why = calloc(n + 1u, sizeof(*p->why));
    p->is_told = calloc(n + 1u, sizeof(*p->is_told));
    return p->why && p->is_told ? 0 : ks_fail(err, KS_ENOMEM, "coordinator: out of memory");
}

void ks_coord_prune_close(struct ks_coord *c)
{
    free(c->prune.why);
    free(c->prune.is_told);
}

void ks_coord_prune_told(struct ks_coord *c, uint32_t ii, const struct ks_code_rec *code)
{
    struct prune_books *p = &c->prune;
    char why[KS_PRUNE_WHY];
    bool spills = ks_prune_spills(code->vgpr_spills, code->scratch_bytes, why);
    if (!spills)
        p->why[ii][0] = '\0';
    else if (!p->is_told[ii])
        memcpy(p->why[ii], why, sizeof(why));
    p->is_told[ii] = true;
}

static bool is_left_out(const struct ks_coord *c, uint32_t ii)
{
    return c->c.grid->job.prune.by == KS_PRUNE_SPILL && c->prune.why[ii][0];
}

static bool is_control(const struct ks_coord *c, uint64_t problem, uint64_t instance)
{
    return ks_prune_is_control(problem, instance, c->c.grid->job.prune.control);
}

const char *ks_coord_pruned(const struct ks_coord *c, uint32_t ip, uint32_t ii)
{
    const struct ks_grid *g = c->c.grid;
    if (!is_left_out(c, ii) ||
        is_control(c, ks_problem_table_id(&g->problems, ip), g->instances[ii].id))
        return NULL;
    return c->prune.why[ii];
}

bool ks_coord_is_prune_control(const struct ks_coord *c, const struct ks_cell *cell)
{
    int64_t ii = ks_grid_instance(c->c.grid, cell->instance);
    return ii >= 0 && is_left_out(c, (uint32_t)ii) && is_control(c, cell->problem, cell->instance);
}
