/* SPDX-License-Identifier: MIT */
/* race_kit.c - small races for tests: instances 1 to n on device 1 */
#include "race_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include <math.h>

void race_kit_near(double got, double want, double relative)
{
    if (!(fabs(got - want) <= relative * (fabs(want) + 1e-300)))
        fail_msg("got %.17g, want %.17g", got, want);
}

struct ks_race_config race_kit_config(void)
{
    struct ks_race_config c;

    ks_race_config_init(&c);
    c.device_id = 1;
    c.prior = (struct ks_race_prior){ 0.01, 0.01, 0.02, 1e6, 1e6 };
    return c;
}

struct ks_race *race_kit_create(const struct ks_race_config *c)
{
    struct ks_race *race = NULL;
    struct ks_err err;

    if (ks_race_create(c, &race, &err) < 0)
        fail_msg("%s", err.text);
    return race;
}

struct ks_race_seen race_kit_seen(uint64_t instance, uint32_t round, uint32_t position, double ns)
{
    return (struct ks_race_seen){ .instance = instance,
                                  .device_id = 1,
                                  .lease_id = 100 + round,
                                  .attempt = 1,
                                  .round = round,
                                  .position = position,
                                  .n_visit = 1,
                                  .outcome = KS_O_OK,
                                  .n_samples = 10,
                                  .time_ns = ns };
}

void race_kit_add(struct ks_race *race, struct ks_race_seen s)
{
    struct ks_err err;

    if (ks_race_add(race, &s, &err) < 0)
        fail_msg("%s", err.text);
}

void race_kit_add_first(struct ks_race *race, const double *ns, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        race_kit_add(race, race_kit_seen(i + 1, 0, i, ns[i]));
}

void race_kit_add_visit(struct ks_race *race, uint32_t round, const double *ns, uint32_t n)
{
    uint32_t n_visit = 0;

    for (uint32_t i = 0; i < n; i++)
        n_visit += ns[i] > 0;
    for (uint32_t i = 0, k = 0; i < n; i++) {
        struct ks_race_seen s = race_kit_seen(i + 1, round, k, ns[i]);

        if (ns[i] <= 0)
            continue;
        s.n_visit = n_visit;
        race_kit_add(race, s);
        s.position = 2 * n_visit - 1 - k++;
        race_kit_add(race, s);
    }
}

struct ks_race_verdict race_kit_judge(struct ks_race *race)
{
    struct ks_race_verdict v;
    struct ks_err err;

    if (ks_race_decide(race, NULL, &v, &err) < 0)
        fail_msg("%s", err.text);
    return v;
}

struct ks_race_member race_kit_member(const struct ks_race *race, uint64_t instance)
{
    struct ks_race_member m = { 0 };

    for (size_t i = 0; i < ks_race_n_members(race) && m.instance != instance; i++)
        ks_race_member_at(race, i, &m);
    assert_int_equal(m.instance, instance);
    return m;
}
