/* SPDX-License-Identifier: MIT */
/* match.c - assigns guests to chairs by augmenting paths, or lets them share */
#include "topo/match.h"

#include <stdlib.h>
#include <string.h>

int ks_match_init(struct ks_match *m, uint32_t n_guests, uint32_t n_chairs, struct ks_err *err)
{
    size_t g = n_guests + 1u, c = n_chairs + 1u;

    *m = (struct ks_match){ .n_guests = n_guests, .n_chairs = n_chairs };
    m->may = calloc(g * c, sizeof(*m->may));
    m->chair = calloc(g, sizeof(*m->chair));
    m->guest = calloc(c, sizeof(*m->guest));
    m->n_on = calloc(c, sizeof(*m->n_on));
    m->seen = calloc(c, sizeof(*m->seen));
    if (!m->may || !m->chair || !m->guest || !m->n_on || !m->seen) {
        ks_match_release(m);
        return ks_fail(err, KS_ENOMEM, "out of memory");
    }
    ks_match_clear(m);
    return 0;
}

void ks_match_release(struct ks_match *m)
{
    free(m->may);
    free(m->chair);
    free(m->guest);
    free(m->n_on);
    free(m->seen);
    *m = (struct ks_match){ .n_guests = 0 };
}

void ks_match_clear(struct ks_match *m)
{
    for (uint32_t i = 0; i < m->n_guests; i++)
        m->chair[i] = -1;
    for (uint32_t i = 0; i < m->n_chairs; i++)
        m->guest[i] = -1;
    memset(m->n_on, 0, m->n_chairs * sizeof(*m->n_on));
    memset(m->may, 0, (size_t)m->n_guests * m->n_chairs * sizeof(*m->may));
}

void ks_match_allow(struct ks_match *m, uint32_t guest, uint32_t chair)
{
    m->may[(size_t)guest * m->n_chairs + chair] = true;
}

static bool may_take(const struct ks_match *m, uint32_t guest, uint32_t chair)
{
    return m->may[(size_t)guest * m->n_chairs + chair];
}

static void sit(struct ks_match *m, uint32_t guest, uint32_t chair)
{
    m->chair[guest] = (int32_t)chair;
    m->guest[chair] = (int32_t)guest;
}

static bool find_chair(struct ks_match *m, uint32_t guest)
{
    for (uint32_t c = 0; c < m->n_chairs; c++) {
        if (!may_take(m, guest, c) || m->guest[c] >= 0)
            continue;
        m->n_on[c] = 1;
        sit(m, guest, c);
        return true;
    }
    for (uint32_t c = 0; c < m->n_chairs; c++) {
        if (!may_take(m, guest, c) || m->seen[c])
            continue;
        m->seen[c] = true;
        if (!find_chair(m, (uint32_t)m->guest[c]))
            continue;
        sit(m, guest, c);
        return true;
    }
    return false;
}

bool ks_match_seat(struct ks_match *m, uint32_t guest)
{
    memset(m->seen, 0, m->n_chairs * sizeof(*m->seen));
    return m->chair[guest] >= 0 || find_chair(m, guest);
}

bool ks_match_share(struct ks_match *m, uint32_t guest)
{
    int32_t best = -1;

    for (uint32_t c = 0; c < m->n_chairs; c++)
        if (may_take(m, guest, c) && (best < 0 || m->n_on[c] < m->n_on[best]))
            best = (int32_t)c;
    if (best < 0)
        return false;
    m->chair[guest] = best;
    m->n_on[best]++;
    return true;
}
