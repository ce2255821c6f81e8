/* SPDX-License-Identifier: MIT */
/* quality.c - names and meanings of the choosers, from one list; releases a scorecard */
#include "analysis/data/quality.h"

#include <stdlib.h>

const uint32_t ks_top[KS_N_TOP] = { 1, 3, 5 };
const uint32_t ks_best_k[KS_N_BEST_K] = { 1, 2, 4 };

static const char *const names[] = {
#define X(constant, name, meaning) name,
    KS_CHOOSER_LIST(X)
#undef X
};
static const char *const meanings[] = {
#define X(constant, name, meaning) meaning,
    KS_CHOOSER_LIST(X)
#undef X
};

const char *ks_chooser_name(uint32_t chooser)
{
    return chooser < KS_N_CHOOSERS ? names[chooser] : "?";
}

const char *ks_chooser_meaning(uint32_t chooser)
{
    return chooser < KS_N_CHOOSERS ? meanings[chooser] : "?";
}

void ks_scorecard_release(struct ks_scorecard *s)
{
    free(s->classes);
    *s = (struct ks_scorecard){ 0 };
}
