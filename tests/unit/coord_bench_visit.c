/* SPDX-License-Identifier: MIT */
/* coord_bench_visit.c - what visits need of the bench: leases that are checked, times. */
#include "coord_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

static bool holds_visit(const struct sim *m, uint32_t i, uint32_t i_problem)
{
    const struct sim_rank *r = &m->ranks[i];
    for (uint32_t k = 0; k < r->n_leases; k++)
        if (r->leases[k].n_visit && r->leases[k].i_problem == i_problem)
            return !m->net.is_forgotten[i] && !r->is_broken && !r->is_late && !r->is_sent_off;
    return false;
}

/* All passes over the same instances, forwards and backwards; all of them have an outcome. */
void sim_check_visit(const struct sim *m, const struct ks_msg_lease *l)
{
    assert_true(l->opens && l->closes && l->n == 2 * l->n_visit);
    for (uint32_t k = 0; k < l->n; k++) {
        struct ks_cell c = { ks_problem_table_id(&m->grid->problems, l->i_problem),
                             m->grid->instances[l->cells[k].i_instance].id, m->grid->condition };
        const struct ks_ledger_cell *known = ks_ledger_find(m->ledger, &c);
        assert_non_null(known);
        assert_int_equal(known->max_done, l->cells[k].attempt);
        assert_int_equal(l->cells[k].i_instance, l->cells[l->n - 1 - k].i_instance);
        assert_true(l->cells[k].round > 0 && l->cells[k].round == l->cells[0].round);
    }
    for (uint32_t i = 0; i < m->plan.n_ranks; i++)
        assert_false(holds_visit(m, i, l->i_problem));
}

/* Roughly normal, a function of two numbers. */
static double scatter(uint64_t a, uint64_t b)
{
    double sum = -6;
    for (uint64_t k = 0; k < 12; k++)
        sum += (double)(ks_mix64(ks_mix64(a + k) ^ b) >> 11) * 0x1p-53;
    return sum;
}

/* moment: a number of the lease, the same whenever the test runs. */
static void put_samples(const struct sim *m, uint64_t moment, struct ks_record *r)
{
    double ns = m->time_ns[ks_grid_instance(m->grid, r->cell.instance)];
    ns *= exp(m->noise * (scatter(moment, 1) + scatter(moment, r->cell.instance)));
    if (r->outcome != KS_O_OK || ns <= 0)
        return;
    for (r->n_samples = 0; r->n_samples < 3; r->n_samples++)
        r->sample_ns[r->n_samples] = r->n_samples ? ns : ns * (1 - m->lucky);
    r->timing_ns = (uint64_t)(3 * ns);
}

/* Where the cell stands in the lease in hand. */
static void put_place(const struct sim *m, uint32_t rank, struct ks_record *r)
{
    const struct sim_rank *s = &m->ranks[rank];
    const struct ks_msg_lease *l = &s->leases[0];
    if (!s->n_leases || s->at >= l->n ||
        m->grid->instances[l->cells[s->at].i_instance].id != r->cell.instance)
        return;
    r->block_id = l->block_id;
    r->position = s->at + 1;
    if (r->attempt != l->cells[s->at].attempt)
        return;
    r->round_index = l->cells[s->at].round;
    r->n_visit = l->n_visit;
}

void sim_put_place(const struct sim *m, uint32_t rank, struct ks_record *r)
{
    const uint64_t life = ks_journal_segment(m->journal)->incarnation;
    const uint64_t lease = m->ranks[rank].n_leases ? m->ranks[rank].leases[0].lease : 0;
    put_place(m, rank, r);
    put_samples(m, ks_mix64(life << 32 ^ lease), r);
}

/* What its agent says: the failure, its leases, that its canary failed. */
static void break_device(struct sim *m, uint32_t rank, const struct ks_msg_lease *l, uint32_t at)
{
    struct sim_rank *r = &m->ranks[rank];
    const uint64_t problem = ks_problem_table_id(&m->grid->problems, l->i_problem);
    assert_int_equal(sim_done(m, rank, problem, m->grid->instances[l->cells[at].i_instance].id,
                              l->cells[at].attempt, KS_O_CRASHED, KS_FL_UNCONFIRMED, NULL),
                     0);
    r->is_broken = true;
    for (uint32_t k = 0; k < r->n_leases; k++)
        assert_int_equal(sim_send(m, rank, KS_F_MSG_LEASE_END, r->leases[k].lease, 0, NULL), 0);
    r->n_leases = r->at = 0;
    assert_int_equal(sim_send(m, rank, KS_F_MSG_BYE, 1, 1, NULL), 0);
}

bool sim_dies(struct sim *m, uint32_t rank)
{
    struct sim_rank *r = &m->ranks[rank];
    const struct ks_msg_lease l = r->leases[0];
    const uint32_t how = m->deadly[l.cells[r->at].i_instance];
    const bool is_again = l.n_visit || (how == SIM_KILLS && l.cells[r->at].attempt > 1);
    if (how == SIM_HARMLESS || !is_again)
        return false;
    if (how == SIM_BREAKS_VISITS)
        break_device(m, rank, &l, r->at);
    else
        r->state = SIM_DEAD;
    return true;
}
