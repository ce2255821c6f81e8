/* SPDX-License-Identifier: MIT */
/* prune.c - which cells are left out because their kernels spill registers */
#include "mpi/prune.h"

#include "base/hash.h"
#include "mpi/alias.h"
#include "record/outcome.h"

#include <stdio.h>

const char *const ks_prune_choices[] = { "job", "none", "spill", NULL };

void ks_prune_choose(unsigned choice, unsigned *by_io)
{
    if (choice > 0)
        *by_io = choice - 1;
}

bool ks_prune_spills(int32_t vgpr_spills, int64_t scratch_bytes, char why_out[KS_PRUNE_WHY])
{
    if (vgpr_spills > 0)
        snprintf(why_out, KS_PRUNE_WHY,
                 KS_PRUNED_SPILLS " %d vector registers, %lld bytes of scratch", vgpr_spills,
                 (long long)scratch_bytes);
    else if (scratch_bytes > 0) /* a cubin does not say more */
        snprintf(why_out, KS_PRUNE_WHY, KS_PRUNED_SPILLS ": %lld bytes of scratch",
                 (long long)scratch_bytes);
    return vgpr_spills > 0 || scratch_bytes > 0;
}

bool ks_prune_is_control(uint64_t problem, uint64_t instance, double share)
{
    return ks_alias_is_control(ks_mix64(problem), instance, share);
}
