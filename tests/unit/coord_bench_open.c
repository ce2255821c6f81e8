/* SPDX-License-Identifier: MIT */
/* coord_bench_open.c - a bench begins, is resumed, ends. */
#include "coord_bench.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_sync(void *ctx, int fd)
{
    (void)ctx;
    (void)fd;
    return 0;
}

/* Thousands of group commits: the disk itself is not what is tested here. */
static struct ks_journal *open_journal(const char *dir)
{
    static struct ks_journal_sys sys;
    /* the owner before it may have been cut off: it was this very process */
    struct ks_journal_open how = { .dir = dir, .sys = &sys, .take_over = true };
    struct ks_journal *j = NULL;
    struct ks_err err;
    sys = ks_journal_sys_default;
    sys.fdatasync = no_sync;
    if (ks_journal_create(&how, &j, &err) < 0)
        fail_msg("%s", err.text);
    return j;
}

static void place_ranks(struct sim *m)
{
    uint32_t n_local[SIM_HOSTS] = { 0 };
    memset(m->ranks, 0, sizeof(m->ranks));
    memset(m->net.is_forgotten, 0, sizeof(m->net.is_forgotten));
    for (uint32_t i = 0; i < m->plan.n_ranks; i++) {
        struct sim_rank *r = &m->ranks[i];
        r->host = (uint32_t)ks_rng_below(&m->rng, m->plan.n_hosts);
        r->local = n_local[r->host]++;
        r->measures = r->local > 0 || i > 0;
        r->has_own_cache = m->plan.has_own_caches;
        r->hello_at = sim_now() + (1 + ks_rng_below(&m->rng, 400)) * SIM_MS;
    }
    for (uint32_t i = 0; i < m->plan.n_ranks; i++)
        m->ranks[i].n_local = n_local[m->ranks[i].host];
    if (m->plan.n_ranks == 1)
        m->ranks[0].measures = true;
}

void sim_coordinate(struct sim *m, const struct ks_coord_config *extra)
{
    struct ks_coord_config c = extra ? *extra : (struct ks_coord_config){ 0 };
    struct ks_err err;
    c.grid = m->grid;
    c.net = &m->net;
    c.journal = m->journal;
    c.ledger = m->ledger;
    c.log = &m->log;
    c.dir = m->dir.root;
    c.lost_after_ns = c.lost_after_ns ? c.lost_after_ns : SIM_LOST_NS;
    if (ks_coord_create(&c, &m->coord, &err) < 0)
        fail_msg("%s", err.text);
}

struct sim *sim_allocate(void **state)
{
    *state = calloc(1, sizeof(struct sim));
    return *state;
}

int sim_free(void **state)
{
    free(*state);
    return 0;
}

void sim_open(struct sim *m, const struct sim_plan *plan, const char *names, uint32_t n_problems,
              uint64_t seed)
{
    memset(m, 0, sizeof(*m));
    m->plan = *plan;
    m->rng = seed;
    m->grid = kit_grid(names, n_problems);
    m->net = (struct ks_net){ .sim = m, .size = plan->n_ranks };
    m->log = (struct ks_log){ .to = fopen("/dev/null", "w") };
    assert_non_null(m->log.to);
    ks_buf_init(&m->told);
    kit_dir_make(&m->dir);
    m->journal = open_journal(m->dir.journal);
    assert_int_equal(ks_ledger_create(&m->ledger, NULL), 0);
    place_ranks(m);
}

void sim_open_by_hand(struct sim *m, const char *names, uint32_t n_problems, uint32_t n_ranks)
{
    struct sim_plan p = { .n_ranks = n_ranks, .n_hosts = 1 };
    sim_open(m, &p, names, n_problems, 1);
    m->cache[0] = UINT32_MAX;
    sim_coordinate(m, NULL);
    for (uint32_t i = 0; i < n_ranks; i++) {
        m->ranks[i].measures = true;
        m->ranks[i].hello_at = UINT64_MAX;
        assert_int_equal(sim_hello(m, i, m->grid->digest, NULL), 0);
    }
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < n_ranks; i++)
            assert_int_equal(sim_send(m, i, KS_F_MSG_BUILD_END, 0, 0, NULL), 0);
    for (uint32_t i = 0; i < n_ranks; i++) {
        m->ranks[i].state = SIM_SILENT; /* takes leases, does nothing */
        m->ranks[i].wake_at = UINT64_MAX;
    }
}

static void end_coordinator(struct sim *m)
{
    for (uint32_t i = 0; i < SIM_RANKS; i++) {
        ks_share_in_release(&m->ranks[i].fetch.in);
        ks_share_out_release(&m->ranks[i].packs);
    }
    ks_coord_destroy(m->coord);
    m->coord = NULL;
    assert_int_equal(ks_journal_close(m->journal, NULL), 0);
    ks_ledger_destroy(m->ledger);
}

void sim_resume(struct sim *m, uint32_t retry)
{
    struct ks_coord_config c = { .retry = retry };
    struct ks_err err;
    end_coordinator(m);
    m->journal = open_journal(m->dir.journal);
    if (ks_ledger_read(m->dir.journal, &m->ledger, NULL, NULL, NULL, NULL, &err) < 0)
        fail_msg("%s", err.text);
    ks_buf_clear(&m->told);
    place_ranks(m);
    sim_coordinate(m, &c);
}

void sim_close(struct sim *m)
{
    end_coordinator(m);
    kit_dir_remove(&m->dir);
    kit_grid_free(m->grid);
    ks_buf_release(&m->told);
    fclose(m->log.to);
}
