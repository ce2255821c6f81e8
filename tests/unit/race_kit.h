/* SPDX-License-Identifier: MIT */
/* race_kit.h - small races for tests: instances 1 to n on device 1. */
#ifndef KS_TEST_RACE_KIT_H
#define KS_TEST_RACE_KIT_H

#include "race/race.h"

void race_kit_near(double got, double want, double relative);
/* As many degrees of freedom as give normal intervals; spreads of 1 %. */
struct ks_race_config race_kit_config(void);
struct ks_race *race_kit_create(const struct ks_race_config *c);
struct ks_race_seen race_kit_seen(uint64_t instance, uint32_t round, uint32_t position, double ns);
void race_kit_add(struct ks_race *race, struct ks_race_seen s);
/* Round 0, instances 1 to n. */
void race_kit_add_first(struct ks_race *race, const double *ns, uint32_t n);
/* A visit of the instances with ns > 0, forwards and backwards. */
void race_kit_add_visit(struct ks_race *race, uint32_t round, const double *ns, uint32_t n);
struct ks_race_verdict race_kit_judge(struct ks_race *race);
struct ks_race_member race_kit_member(const struct ks_race *race, uint64_t instance);

#endif
