/* SPDX-License-Identifier: MIT */
/* coord_bench.c - a coordinator with a real journal, and ranks simulated in virtual time */
#include "coord_bench.h"

#include "base/clock.h"
#include "record/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t __wrap_ks_now_ns(void);

static uint64_t *clock_now(void)
{
    static uint64_t now = 1000 * SIM_MS;
    return &now;
}

uint64_t __wrap_ks_now_ns(void)
{
    return *clock_now();
}

uint64_t sim_now(void)
{
    return *clock_now();
}

/* ---- the coordinator's side of the net ---- */

uint32_t ks_net_size(const struct ks_net *n)
{
    return n->size;
}

void ks_net_forget(struct ks_net *n, uint32_t rank)
{
    n->is_forgotten[rank] = true;
}

bool ks_net_recall(struct ks_net *n, uint32_t rank)
{
    const bool was_forgotten = n->is_forgotten[rank];
    n->is_forgotten[rank] = false;
    return was_forgotten;
}

static bool host_compiles(const struct sim *m, uint32_t host)
{
    for (uint32_t i = 0; i < m->plan.n_ranks; i++) {
        const struct sim_rank *r = &m->ranks[i];
        if (r->state == SIM_HERE && !m->net.is_forgotten[i] && r->host == host && r->is_building &&
            r->to_build)
            return true;
    }
    return false;
}

/* The rank has this cell still before it, as far as the coordinator can know. */
static bool holds(const struct sim *m, uint32_t i, uint32_t i_problem, uint32_t i_instance)
{
    const struct sim_rank *r = &m->ranks[i];
    for (uint32_t k = 0; k < r->n_leases; k++)
        for (uint32_t c = k ? 0 : r->at; c < r->leases[k].n && !r->leases[k].n_visit; c++)
            if (r->leases[k].i_problem == i_problem &&
                r->leases[k].cells[c].i_instance == i_instance)
                return !m->net.is_forgotten[i] && !r->is_broken && !r->is_late && !r->is_sent_off;
    return false;
}

static void check_lease(struct sim *m, uint32_t to, const struct ks_msg_lease *l)
{
    const struct ks_grid *g = m->grid;
    assert_false(host_compiles(m, m->ranks[to].host));
    if (l->n_visit) {
        sim_check_visit(m, l);
        return;
    }
    for (uint32_t k = 0; k < l->n; k++) {
        struct ks_cell c = { ks_problem_table_id(&g->problems, l->i_problem),
                             g->instances[l->cells[k].i_instance].id, g->condition };
        const struct ks_ledger_cell *known = ks_ledger_find(m->ledger, &c);
        assert_non_null(known); /* it was announced */
        assert_int_equal(known->max_started, l->cells[k].attempt);
        assert_false(ks_ledger_has(m->ledger, known, l->cells[k].attempt, 0));
        for (uint32_t i = 0; i < m->plan.n_ranks; i++)
            assert_false(holds(m, i, l->i_problem, l->cells[k].i_instance));
    }
}

static void take_lease(struct sim *m, uint32_t to, const void *body, size_t len)
{
    struct sim_rank *r = &m->ranks[to];
    struct ks_msg_lease l;
    assert_int_equal(ks_msg_lease_get(body, len, &l, NULL), 0);
    check_lease(m, to, &l);
    if (l.n_visit)
        ks_buf_printf(&m->told, "visit %u %u %u %u %llu\n", to, l.i_problem, l.cells[0].round,
                      l.n_visit, (unsigned long long)(sim_now() / SIM_MS));
    else
        ks_buf_printf(&m->told, "lease %u\n", to);
    if (r->is_broken || r->state != SIM_HERE)
        return;
    assert_true(r->n_leases < KS_AGENT_LEASES);
    r->leases[r->n_leases++] = l;
    r->n_leases_got++;
    if (r->n_leases == 1)
        r->ready_at = sim_now() + 5 * SIM_MS;
}

static void give_all_back(struct sim *m, uint32_t i)
{
    struct sim_rank *r = &m->ranks[i];
    for (uint32_t k = 0; k < r->n_leases; k++)
        assert_int_equal(sim_send(m, i, KS_F_MSG_LEASE_END, r->leases[k].lease, 0, NULL), 0);
    r->n_leases = r->at = 0;
}

static uint32_t *cache_of(struct sim *m, struct sim_rank *r)
{
    return r->has_own_cache ? &r->own_cache : &m->cache[r->host];
}

static uint32_t missing(struct sim *m, struct sim_rank *r)
{
    return ((1u << SIM_UNITS) - 1) & ~*cache_of(m, r);
}

static void begin_build(struct sim *m, struct sim_rank *r, uint32_t units)
{
    r->to_build = units & missing(m, r);
    r->is_building = true;
    r->built_at = sim_now() + (r->to_build ? 300 * SIM_MS : SIM_MS);
}

static void take_order(struct sim *m, uint32_t to, uint64_t what, uint64_t with)
{
    struct sim_rank *r = &m->ranks[to];
    ks_buf_printf(&m->told, "build %u %u\n", to, (unsigned)what);
    if ((r->state != SIM_HERE && r->state != SIM_SILENT) || r->is_broken)
        return;
    r->n_owed++;
    begin_build(m, r, what == KS_ORDER_BUILD ? UINT32_MAX : 0);
    r->fetch.is_on = what == KS_ORDER_FETCH && with != KS_SHARE_NOBODY;
    r->fetch.in.is_open = false;
    r->fetch.source = (uint32_t)with;
    r->fetch.u = 0;
}

/* ---- from rank to rank ---- */

static struct ks_id128 pack_id(uint32_t u)
{
    return (struct ks_id128){ 99, u };
}

static void put_pack(uint32_t u, struct ks_buf *out)
{
    for (uint32_t i = 0; i < 50 * u + 1; i++)
        ks_buf_u64(out, ks_mix64(u * 1000u + i));
}

static int get_pack(void *ctx, struct ks_id128 what, struct ks_buf *pack_out, struct ks_err *err)
{
    const struct ks_net *n = ctx; /* the answering rank is in "size" */
    struct sim *m = n->sim;
    struct sim_rank *r = &m->ranks[n->size];
    if (r->cannot_send || !(*cache_of(m, r) & 1u << what.lo))
        return ks_fail(err, KS_ENOENT, "not here");
    put_pack((uint32_t)what.lo, pack_out);
    return 0;
}

static int put_piece(void *ctx, const struct ks_buf *body, struct ks_err *err)
{
    const struct ks_net *n = ctx;
    const struct ks_frame f = { .type = KS_F_MSG_SENT, .body = body->data, .n = body->len };
    return ks_coord_frame(n->sim->coord, n->size, &f, err);
}

static void answer_asks(struct sim *m, uint32_t i)
{
    struct sim_rank *r = &m->ranks[i];
    struct ks_net from = { .sim = m, .size = i };
    const struct ks_share_source s = { .get = get_pack, .send = put_piece, .ctx = &from };
    for (uint32_t k = 0; k < r->n_asks; k++)
        assert_int_equal(ks_share_answer(&r->packs, &s, &r->asks[k], NULL), 0);
    r->n_asks = 0;
}

static void take_ask(struct sim *m, uint32_t to, const void *body, size_t len)
{
    struct sim_rank *r = &m->ranks[to];
    struct ks_share_ask a;
    assert_int_equal(ks_share_ask_get(body, len, &a, NULL), 0);
    assert_false(r->is_broken);
    assert_false(r->measures && r->n_leases); /* who hands out does not measure meanwhile */
    assert_true(r->n_asks < SIM_ASKS);
    r->asks[r->n_asks++] = a;
}

static void take_piece(struct sim *m, uint32_t to, const void *body, size_t len)
{
    struct sim_rank *r = &m->ranks[to];
    struct sim_fetch *f = &r->fetch;
    struct ks_share_piece p;
    struct ks_buf was;
    assert_int_equal(ks_share_piece_get(body, len, &p, NULL), 0);
    if (!f->is_on || ks_share_take(&f->in, &p, sim_now(), NULL) != 1)
        return;
    const uint32_t u = (uint32_t)f->in.what.lo;
    ks_buf_init(&was);
    put_pack(u, &was);
    assert_int_equal(f->in.pack.len, was.len);
    assert_memory_equal(f->in.pack.data, was.data, was.len);
    ks_buf_release(&was);
    *cache_of(m, r) |= 1u << u;
    m->n_fetched[u]++;
}

int ks_net_send(struct ks_net *n, uint32_t to, uint16_t type, const void *body, size_t len,
                struct ks_err *err)
{
    struct sim *m = n->sim;
    struct sim_rank *r = &m->ranks[to];
    uint64_t a = 0, b = 0;
    (void)err;
    assert_true(to < n->size);
    if (n->is_forgotten[to])
        return 0;
    if (r->state == SIM_HERE)
        r->heard_at = sim_now();
    r->n_told++;
    if (type == KS_F_MSG_LEASE)
        take_lease(m, to, body, len);
    else if (type == KS_F_MSG_SEND)
        take_ask(m, to, body, len);
    else if (type == KS_F_MSG_PIECE)
        take_piece(m, to, body, len);
    if (type == KS_F_MSG_LEASE || type == KS_F_MSG_SEND || type == KS_F_MSG_PIECE)
        return 0;
    assert_int_equal(ks_msg_numbers_get(body, len, &a, &b, NULL), 0);
    if (type == KS_F_MSG_ACK) {
        assert_int_equal(ks_journal_pending(m->journal), 0); /* all of it is on disk */
        assert_true(a <= r->n_sent && a > r->n_acked);
        r->n_acked = a;
    } else if (type == KS_F_MSG_BUILD) {
        take_order(m, to, a, b);
    } else if (type == KS_F_MSG_DRAIN) {
        ks_buf_printf(&m->told, "drain %u %u %u\n", to, (unsigned)a, (unsigned)b);
        r->is_over |= a != 0;
        assert_true(a == 0 || (a == 1 && b == 0)); /* it dismisses; farewell.c releases */
        r->is_sent_off |= !a && b;
        r->ready_at = a ? r->ready_at : sim_now();
    } else {
        assert_int_equal(type, KS_F_MSG_BEAT);
        r->n_beats++;
    }
    return 0;
}

/* ---- ranks ---- */

static int put_frame(struct sim *m, uint32_t rank, uint16_t type, struct ks_buf *b,
                     struct ks_err *err)
{
    struct ks_frame f = { .type = type, .body = b->data, .n = b->len };
    assert_true(ks_buf_ok(b));
    int rc = ks_coord_frame(m->coord, rank, &f, err);
    ks_buf_release(b);
    return rc;
}

int sim_send(struct sim *m, uint32_t rank, uint16_t type, uint64_t a, uint64_t b,
             struct ks_err *err)
{
    struct ks_buf body;
    ks_buf_init(&body);
    ks_msg_numbers_put(a, b, &body);
    return put_frame(m, rank, type, &body, err);
}

int sim_hello(struct sim *m, uint32_t rank, uint64_t digest, struct ks_err *err)
{
    const struct sim_rank *r = &m->ranks[rank];
    const uint32_t n_targets = m->plan.n_targets ? m->plan.n_targets : 1;
    struct ks_msg_hello h = { .rank = rank,
                              .local_rank = r->local,
                              .n_local = r->n_local,
                              .measures = r->measures,
                              .grid_digest = digest,
                              .target = { 7, rank % n_targets },
                              .cache = { r->has_own_cache, r->has_own_cache ? rank : r->host },
                              .n_jobs = 1 };
    struct ks_buf body;
    if (r->seems_shared)
        h.cache = (struct ks_id128){ 2, 2 };
    snprintf(h.host, sizeof(h.host), "host%u", r->host);
    ks_buf_init(&body);
    ks_msg_hello_put(&h, &body);
    return put_frame(m, rank, KS_F_MSG_HELLO, &body, err);
}

static struct ks_id128 code_of(const struct sim *m, uint32_t rank, uint64_t instance)
{
    int64_t i = ks_grid_instance(m->grid, instance);
    bool is_own = i < 0 || !m->code[i];
    return (struct ks_id128){ m->ranks[rank].has_other_code + 1u,
                              is_own ? 1000000 + instance : m->code[i] };
}

void sim_tell_builds(struct sim *m, uint32_t rank)
{
    for (uint32_t i = 0; i < m->grid->n_instances; i++) {
        struct ks_build_rec b;
        struct ks_buf body;
        ks_build_rec_init(&b);
        b.instance = m->grid->instances[i].id;
        b.outcome = KS_O_OK;
        b.build_id = (struct ks_id128){ 1, b.instance };
        b.code_id = code_of(m, rank, b.instance);
        b.code.vgpr_spills = m->spills[i];
        b.code.scratch_bytes = 4 * m->spills[i];
        ks_buf_init(&body);
        ks_build_rec_encode(&b, &body);
        assert_int_equal(put_frame(m, rank, KS_F_BUILD, &body, NULL), 0);
    }
}

/* What the lease in hand says of the cell in hand. */
static void put_alias(const struct sim *m, uint32_t rank, struct ks_record *r)
{
    const struct ks_msg_lease *l = &m->ranks[rank].leases[0];
    uint32_t at = m->ranks[rank].at;
    if (!m->ranks[rank].n_leases || at >= l->n || !l->cells[at].alias ||
        m->grid->instances[l->cells[at].i_instance].id != r->cell.instance)
        return;
    r->outcome_flags |= KS_FL_ALIASED;
    r->representative_id = m->grid->instances[l->cells[at].alias - 1].id;
}

int sim_done(struct sim *m, uint32_t rank, uint64_t problem, uint64_t instance, uint32_t attempt,
             uint32_t outcome, uint32_t flags, struct ks_err *err)
{
    static struct ks_record r;
    struct ks_buf body;
    ks_record_init(&r);
    r.cell = (struct ks_cell){ problem, instance, m->grid->condition };
    r.code_id = code_of(m, rank, instance);
    put_alias(m, rank, &r);
    r.attempt = attempt;
    r.outcome = outcome;
    r.outcome_flags |= flags;
    r.mpi_rank = rank;
    r.device_id = rank + 1;
    r.worker = (struct ks_id128){ 1, rank + 1 };
    r.wall_ns = 5 * SIM_MS;
    r.started_ns = sim_now();
    sim_put_place(m, rank, &r);
    ks_buf_init(&body);
    ks_record_encode(&r, &body);
    m->ranks[rank].n_sent++;
    return put_frame(m, rank, KS_F_DONE, &body, err);
}

static uint32_t dice(struct sim *m)
{
    return (uint32_t)ks_rng_below(&m->rng, 1000);
}

void sim_announce(struct sim *m, uint32_t i, uint64_t problem, uint64_t instance, uint32_t attempt)
{
    struct ks_start s = { .rank = i, .why = KS_WHY_SUSPECT, .n_cells = 1 };
    struct ks_buf body;
    s.cells[0] = (struct ks_start_cell){ .cell = { problem, instance, m->grid->condition },
                                         .attempt = attempt };
    ks_buf_init(&body);
    ks_start_encode(&s, &body);
    assert_int_equal(put_frame(m, i, KS_F_START, &body, NULL), 0);
}

/* The cell in hand is done: its record, perhaps with the announcement of another attempt. */
static void finish_cell(struct sim *m, uint32_t i)
{
    struct sim_rank *r = &m->ranks[i];
    struct ks_msg_lease *l = &r->leases[0];
    uint64_t p = ks_problem_table_id(&m->grid->problems, l->i_problem);
    uint64_t k = m->grid->instances[l->cells[r->at].i_instance].id;
    uint32_t attempt = l->cells[r->at].attempt + r->is_again;
    const uint32_t round = l->cells[r->at].round;
    if (sim_dies(m, i))
        return;
    if (round && dice(m) < m->plan.dirty) {
        assert_int_equal(sim_done(m, i, p, k, attempt, KS_O_OK, KS_FL_CONTAMINATED, NULL), 0);
        r->at++;
        return;
    }
    if (!r->is_again && dice(m) < m->plan.dirty) {
        sim_announce(m, i, p, k, attempt + 1);
        assert_int_equal(sim_done(m, i, p, k, attempt, KS_O_OK, KS_FL_CONTAMINATED, NULL), 0);
        r->is_again = true;
        return;
    }
    uint32_t ii = l->cells[r->at].i_instance, flags = 0;
    uint32_t outcome = dice(m) < m->plan.bad || m->crashes[ii] ? KS_O_CRASHED : KS_O_OK;
    if (round && m->fails_later[ii] == round && attempt == 1)
        outcome = KS_O_CRASHED;
    if (m->refuses[ii])
        outcome = KS_O_UNSUPPORTED;
    if (m->fails_as[ii])
        outcome = m->fails_as[ii];
    if (r->fails)
        outcome = KS_O_DEVICE_LOST;
    if (ks_outcome_needs_look(outcome))
        flags = KS_FL_UNCONFIRMED | (uint32_t)m->flags[ii] << 8;
    assert_int_equal(sim_done(m, i, p, k, attempt, outcome, flags, NULL), 0);
    r->is_again = false;
    r->n_cells++;
    r->at++;
}

static void measure(struct sim *m, uint32_t i)
{
    struct sim_rank *r = &m->ranks[i];
    if (ks_coord_is_drained(m->coord) || r->is_sent_off)
        give_all_back(m, i);
    r->is_late = r->n_leases && (r->is_late || r->hangs); /* they may be given again */
    if (!r->n_leases || sim_now() < r->ready_at || r->hangs)
        return;
    if (r->at < r->leases[0].n)
        finish_cell(m, i);
    r->ready_at = sim_now() + (r->fails ? 0 : 5 * SIM_MS);
    if (r->at < r->leases[0].n)
        return;
    assert_int_equal(sim_send(m, i, KS_F_MSG_LEASE_END, r->leases[0].lease, 0, NULL), 0);
    memmove(r->leases, r->leases + 1, (KS_AGENT_LEASES - 1) * sizeof(r->leases[0]));
    r->n_leases--;
    r->at = 0;
}

static void finish_build(struct sim *m, uint32_t i)
{
    struct sim_rank *r = &m->ranks[i];
    uint32_t *cache = cache_of(m, r);
    for (uint32_t u = 0; u < SIM_UNITS; u++) /* what others have built meanwhile, it has not */
        m->n_compiled[u] += (r->to_build & ~*cache) >> u & 1;
    *cache |= r->to_build;
    r->to_build = 0;
    r->is_building = false;
    uint32_t n = (uint32_t)__builtin_popcount(missing(m, r));
    if (!n && !r->local && !r->told_builds) {
        r->told_builds = true;
        sim_tell_builds(m, i);
    }
    const uint32_t n_owed = r->n_owed;
    r->n_owed = 0; /* the next order may come as the answer */
    for (uint32_t k = 0; k < n_owed; k++)
        assert_int_equal(sim_send(m, i, KS_F_MSG_BUILD_END, n, 0, NULL), 0);
}

static void fetch(struct sim *m, uint32_t i)
{
    struct sim_fetch *f = &m->ranks[i].fetch;
    struct ks_share_ask a;
    while (!f->in.is_open && f->u < SIM_UNITS && !(missing(m, &m->ranks[i]) & 1u << f->u))
        f->u++;
    if (!f->in.is_open && f->u == SIM_UNITS) {
        f->is_on = false;
        return;
    }
    assert_false(ks_share_is_silent(&f->in, sim_now()));
    if (!f->in.is_open)
        ks_share_open(&f->in, f->source, pack_id(f->u++), sim_now());
    while (ks_share_next(&f->in, &a)) {
        struct ks_buf body;
        ks_buf_init(&body);
        ks_share_ask_put(&a, &body);
        assert_int_equal(put_frame(m, i, KS_F_MSG_FETCH, &body, NULL), 0);
    }
}

static void build(struct sim *m, uint32_t i)
{
    struct sim_rank *r = &m->ranks[i];
    if (r->fetch.is_on)
        fetch(m, i);
    else if (r->is_building && sim_now() >= r->built_at)
        finish_build(m, i);
}

static void go_wrong(struct sim *m, uint32_t i)
{
    struct sim_rank *r = &m->ranks[i];
    const struct sim_plan *p = &m->plan;
    uint32_t d = (uint32_t)ks_rng_below(&m->rng, 1000000); /* a turn is a thousandth of a second */
    if (i >= p->first_safe)
        return;
    if (i > 0 && d < p->kill) {
        r->state = SIM_DEAD;
    } else if (i > 0 && d < p->kill + p->hang) {
        r->state = SIM_SILENT;
        r->is_late = true;
        r->wake_at = sim_now() + 3000 * SIM_MS + ks_rng_below(&m->rng, 6000) * SIM_MS;
    } else if (!r->is_broken && d < p->kill + p->hang + p->widow) {
        r->is_broken = true;
        r->is_building = false;
        r->n_leases = r->at = 0;
        assert_int_equal(sim_send(m, i, KS_F_MSG_BYE, 1, 0, NULL), 0);
    } else if (!r->is_broken && r->n_cells && d < p->kill + p->hang + p->widow + p->quarantine) {
        give_all_back(m, i);
        r->is_broken = true;
        assert_int_equal(sim_send(m, i, KS_F_MSG_BYE, 1, 1, NULL), 0);
    }
}

static void greet(struct sim *m, uint32_t i)
{
    struct sim_rank *r = &m->ranks[i];
    if (sim_now() < r->hello_at)
        return;
    r->state = SIM_HERE;
    r->heard_at = sim_now();
    assert_int_equal(sim_hello(m, i, m->grid->digest, NULL), 0);
    r->n_owed = 1;
    begin_build(m, r, 0);
}

static void live(struct sim *m, uint32_t i)
{
    struct sim_rank *r = &m->ranks[i];
    answer_asks(m, i);
    if (!r->is_broken)
        build(m, i);
    if (r->measures && !r->is_broken)
        measure(m, i);
    if (sim_now() >= r->beat_at) {
        r->beat_at = sim_now() + 1000 * SIM_MS;
        assert_int_equal(sim_send(m, i, KS_F_MSG_BEAT, dice(m) < 100, 0, NULL), 0);
    }
    if (r->is_over && !r->n_leases) {
        r->state = SIM_LEFT;
        assert_int_equal(sim_send(m, i, KS_F_MSG_BYE, 0, 0, NULL), 0);
    } else if (i > 0 && sim_now() - r->heard_at > SIM_LOST_NS) {
        r->state = SIM_DEAD; /* nobody speaks to it any more */
    } else {
        go_wrong(m, i);
    }
}

void sim_turn(struct sim *m)
{
    struct ks_err err = { 0 };
    *clock_now() += SIM_MS;
    for (uint32_t i = 0; i < m->plan.n_ranks; i++) {
        struct sim_rank *r = &m->ranks[i];
        if (r->state == SIM_ASLEEP)
            greet(m, i);
        else if (r->state == SIM_HERE)
            live(m, i);
        else if (r->state == SIM_SILENT && sim_now() >= r->wake_at)
            r->state = SIM_HERE;
    }
    if (ks_coord_step(m->coord, sim_now(), &err) < 0)
        fail_msg("%s", err.text);
}

void sim_hold_up(struct sim *m, uint64_t ns)
{
    *clock_now() += ns;
    for (uint32_t i = 0; i < m->plan.n_ranks; i++)
        m->ranks[i].heard_at += ns; /* rank 0's pulse */
    ks_coord_was_away(m->coord, ns);
}

void sim_run(struct sim *m, uint32_t n_s)
{
    uint64_t limit = sim_now() + n_s * 1000 * SIM_MS;
    while (!ks_coord_is_over(m->coord)) {
        if (sim_now() > limit)
            fail_msg("not over; it said\n%s", ks_buf_text(&m->told));
        sim_turn(m);
    }
}
