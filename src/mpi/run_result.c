/* SPDX-License-Identifier: MIT */
/* run_result.c - what the counts of a run say of it. */
#include "base/command.h"
#include "mpi/run.h"

bool ks_run_result_needs_look(const struct ks_run_result *r)
{
    bool needs_look = r->n_contaminated > 0 || r->n_found_need_look > 0;

    for (uint32_t o = 1; o < KS_O_LIMIT; o++)
        needs_look = needs_look || (r->outcome[o] && ks_outcome_needs_look(o));
    return needs_look;
}

int ks_run_result_exit(const struct ks_run_result *r)
{
    if (r->n_pending || r->n_again)
        return KS_EXIT_INCOMPLETE;
    return ks_run_result_needs_look(r) || r->gather_error[0] ? KS_EXIT_LOOK : KS_EXIT_OK;
}
