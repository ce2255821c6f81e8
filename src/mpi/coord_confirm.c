/* SPDX-License-Identifier: MIT */
/* coord_confirm.c - failures: whose fault they are, the kernel's or the device's.
 *
 * A failure is asked for once more on another device. Failed there in the same way, it is the
 * kernel's: the flag `unconfirmed` is taken off that record. If it went well there, that attempt is
 * the label and the first device is refuted. A device that fails several cells in a row is doubted:
 * it gets nothing more until others have said whose fault that was. One that was refuted
 * repeatedly, with nothing confirmed in between, is quarantined: its failures since its last good
 * canary are void. docs/architecture.md. */
#include "base/clock.h"
#include "mpi/coord_impl.h"

#define ROW_DOUBTED 3u /* failures in a row */
#define REFUTED_MOST                                                                               \
    3u /* so many refuted failures are too many, if they are more than a quarter ... */
#define REFUTED_PART                                                                               \
    4u /* ... of what it measured: kernels that fail at times must not take it along */
#define MOST_ASKED 2u /* other devices per failure, when they do not agree */

/* It is never void, and nobody is to say more of it. */
static bool is_settled(const struct ks_bad_cell *b)
{
    return b->is_vouched && !b->is_asked && !b->is_due;
}

void ks_coord_canary_passed(struct ks_coord *c, uint32_t from)
{
    for (uint32_t k = 0; k < c->bad.n; k++) {
        struct ks_bad_cell *b = &c->bad.v[k];
        b->is_vouched |= b->rank == from;
        if (is_settled(b)) {
            ks_bad_drop(&c->bad, b);
            k--;
        }
    }
}

bool ks_coord_is_confirmable(uint32_t outcome, uint32_t flags)
{
    return ks_outcome_needs_look(outcome) && outcome != KS_O_BUILD_FAILED &&
           outcome != KS_O_BUILD_TIMEOUT && (flags & KS_FL_UNCONFIRMED) &&
           !(flags & KS_FL_INTERMITTENT);
}

uint32_t ks_coord_rank_of(const struct ks_coord *c, uint64_t device)
{
    for (uint32_t i = 0; device && i < c->n_ranks; i++)
        if (c->ranks[i].device_id == device)
            return i;
    return KS_NO_DEVICE;
}

static bool is_trusted(void *ctx, uint64_t device)
{
    const struct ks_coord *c = ctx;
    uint32_t i = ks_coord_rank_of(c, device);
    return i == KS_NO_DEVICE || !c->ranks[i].is_quarantined;
}

bool ks_coord_is_reproduced(struct ks_coord *c, const struct ks_ledger_cell *known,
                            const struct ks_record_head *r)
{
    return ks_coord_is_confirmable(r->outcome, r->outcome_flags) &&
           ks_ledger_failed_elsewhere(c->c.ledger, known, r->outcome, r->device_id, is_trusted, c);
}

/* Doubts, quarantine ----------------------------------------------------------------------------
 */

static int doubt(struct ks_coord *c, uint32_t i, bool is_doubted, struct ks_err *err)
{
    struct rank *r = &c->ranks[i];
    if (r->is_doubted == is_doubted || r->is_quarantined)
        return 0;
    r->is_doubted = is_doubted;
    r->n_row = 0;
    c->may_ask = true;
    ks_sched_device_pause(c->sched, i, is_doubted);
    return ks_coord_event(
        c, KS_EV_INFO, i, err,
        is_doubted
            ? "rank %u failed %u cells in a row: it is paused until other devices have run them"
            : "rank %u is no longer paused",
        i, ROW_DOUBTED);
}

/* Of a device that is not to be trusted: open again, with a further attempt. What is asked for
 * already gets its outcome from there. */
int ks_coord_void_failures(struct ks_coord *c, uint32_t rank, struct ks_err *err)
{
    int rc = 0;
    for (uint32_t k = 0; k < c->bad.n && rc == 0;) {
        struct ks_bad_cell b = c->bad.v[k];
        if (b.rank != rank || b.is_asked || b.is_vouched) {
            k++;
            continue;
        }
        ks_bad_drop(&c->bad, &c->bad.v[k]);
        rc = ks_coord_announce(c, b.i_problem, b.i_instance, b.attempt + 1, rank, KS_WHY_BAD_DEVICE,
                               err);
        if (rc == 0)
            rc = ks_sched_reopen(c->sched, b.i_problem, b.i_instance, err);
    }
    return rc;
}

static int quarantine(struct ks_coord *c, uint32_t i, struct ks_err *err)
{
    struct rank *r = &c->ranks[i];
    ks_logf(c->c.log, KS_WARN,
            "rank %u on %s is quarantined: %u of its failures did not happen on other devices", i,
            r->host, r->n_refuted);
    r->is_quarantined = r->is_broken = true;
    int rc = ks_coord_event(c, KS_EV_QUARANTINE, i, err,
                            "rank %u quarantined: %u of its failures were refuted, none confirmed",
                            i, r->n_refuted);
    if (rc == 0)
        rc = ks_coord_release_device(c, i, false, err);
    if (rc == 0)
        rc = ks_coord_void_failures(c, i, err);
    if (rc == 0 && r->state < RANK_LEAVING)
        rc = ks_coord_send(c, i, KS_F_MSG_DRAIN, 0, 1, err);
    return rc < 0 ? rc : ks_coord_advance_builds(c, err);
}

/* One failure of this rank is no longer pending. */
static int settle_doubt(struct ks_coord *c, uint32_t i, struct ks_err *err)
{
    struct rank *r = i == KS_NO_DEVICE ? NULL : &c->ranks[i];
    if (!r || r->is_quarantined)
        return 0;
    if (r->n_refuted >= REFUTED_MOST && r->n_refuted * REFUTED_PART > r->n_measured)
        return quarantine(c, i, err);
    return r->n_asked ? 0 : doubt(c, i, false, err);
}

static int settle_outcome(struct ks_coord *c, const struct ks_bad_cell *b, uint32_t outcome,
                          bool is_confirmed, struct ks_err *err)
{
    struct rank *r = b->rank == KS_NO_DEVICE ? NULL : &c->ranks[b->rank];
    if (!r)
        return 0;
    r->n_asked -= b->is_asked;
    if (is_confirmed) {
        r->n_refuted = r->n_measured = 0;
        return r->is_quarantined ? 0 : doubt(c, b->rank, false, err);
    }
    r->n_refuted += b->is_asked && outcome == KS_O_OK;
    return settle_doubt(c, b->rank, err);
}

/* Asking ----------------------------------------------------------------------------------------
 */

/* It may be paused or compile, but it will measure. */
static bool has_other_rank(const struct ks_coord *c, uint32_t rank)
{
    for (uint32_t i = 0; i < c->n_ranks; i++)
        if (i != rank && ks_coord_can_measure(&c->ranks[i]))
            return true;
    return false;
}

static int ask(struct ks_coord *c, struct ks_bad_cell *b, struct ks_err *err)
{
    if (b->n_asked >= MOST_ASKED || c->is_complete || c->is_draining)
        return 0;
    int rc = ks_sched_confirm(c->sched, b->i_problem, b->i_instance, b->rank, err);
    /* what is open again is measured anyway, and that record decides */
    if (rc == 0 && has_other_rank(c, b->rank) &&
        ks_sched_is_done(c->sched, b->i_problem, b->i_instance))
        b->is_due = c->has_due = true;
    if (rc != 1)
        return rc;
    b->n_asked++;
    b->is_asked = true;
    if (b->rank != KS_NO_DEVICE)
        c->ranks[b->rank].n_asked++;
    return 0;
}

static int note_failure(struct ks_coord *c, uint32_t from, uint32_t ip, uint32_t ii,
                        const struct ks_record_head *r, struct ks_err *err)
{
    struct ks_bad_cell *b = ks_bad_find(&c->bad, ip, ii);
    int rc = 0;
    if (!b)
        b = ks_bad_add(&c->bad, ip, ii, err);
    if (!b)
        return KS_ENOMEM;
    b->rank = from;
    b->attempt = r->attempt;
    b->is_asked = b->is_due = b->is_vouched = false;
    if (ks_coord_is_confirmable(r->outcome, r->outcome_flags)) {
        c->ranks[from].n_row++;
        rc = ask(c, b, err);
    }
    if (rc == 0 && b->is_asked && c->ranks[from].n_row >= ROW_DOUBTED)
        rc = doubt(c, from, true, err);
    return rc;
}

void ks_coord_went_well(struct ks_coord *c, uint32_t from)
{
    c->ranks[from].n_measured++;
    c->ranks[from].n_row = 0;
}

int ks_coord_weigh(struct ks_coord *c, uint32_t from, uint32_t ip, uint32_t ii,
                   const struct ks_record_head *r, bool is_confirmed, struct ks_err *err)
{
    bool is_failure = ks_outcome_needs_look(r->outcome);
    struct ks_bad_cell *was = ks_bad_find(&c->bad, ip, ii);
    int rc = 0;
    if (!is_failure || is_confirmed)
        ks_coord_went_well(c, from);
    else
        c->ranks[from].n_measured++;
    if (was && was->rank != from) {
        struct ks_bad_cell b = *was;
        was->is_asked = false;
        rc = settle_outcome(c, &b, r->outcome, is_confirmed, err);
    } else if (was && was->is_asked && was->rank != KS_NO_DEVICE) {
        c->ranks[from].n_asked--; /* its own further attempt was first, of a suspect, say */
        was->is_asked = false;
        rc = settle_doubt(c, from, err);
    }
    if (rc == 0 && is_failure && !is_confirmed)
        return note_failure(c, from, ip, ii, r, err);
    was = ks_bad_find(&c->bad, ip, ii);
    if (rc == 0 && was)
        ks_bad_drop(&c->bad, was);
    return rc;
}

int ks_coord_was_condemned(struct ks_coord *c, uint32_t ip, uint32_t ii, struct ks_err *err)
{
    struct ks_bad_cell *was = ks_bad_find(&c->bad, ip, ii);
    if (!was)
        return 0;
    struct ks_bad_cell b = *was;
    ks_bad_drop(&c->bad, was);
    return settle_outcome(c, &b, KS_O_WORKER_LOST, false, err);
}

int ks_coord_ask_again(struct ks_coord *c, uint32_t ip, uint32_t ii,
                       const struct ks_ledger_cell *known, struct ks_err *err)
{
    if (ks_bad_find(&c->bad, ip, ii))
        return 0;
    struct ks_bad_cell *b = ks_bad_add(&c->bad, ip, ii, err);
    if (!b)
        return KS_ENOMEM;
    b->rank = ks_coord_rank_of(c, known->device);
    b->attempt = known->attempt;
    b->is_vouched = true; /* of an earlier life: it is not taken back */
    b->is_due = c->has_due = c->may_ask = true;
    return 0;
}

/* Those that were found while a problem was opened, and those that nobody could be asked for. */
static int ask_due(struct ks_coord *c, struct ks_err *err)
{
    int rc = 0;
    if (!c->has_due || !c->may_ask)
        return 0;
    c->has_due = c->may_ask = false;
    for (uint32_t k = 0; k < c->bad.n && rc == 0; k++) {
        struct ks_bad_cell *b = &c->bad.v[k];
        if (!b->is_due)
            continue;
        b->is_due = false;
        rc = ask(c, b, err);
        if (is_settled(b)) {
            ks_bad_drop(&c->bad, b);
            k--;
        }
    }
    return rc;
}

/* Nobody is left to ask: the failure stays as it is, unless an attempt was begun or its device has
 * been quarantined since. */
static int give_up(struct ks_coord *c, uint32_t ip, uint32_t ii, struct ks_err *err)
{
    struct ks_cell cell = ks_coord_cell(c, ip, ii);
    struct ks_bad_cell *b = ks_bad_find(&c->bad, ip, ii);
    uint32_t rank = b ? b->rank : KS_NO_DEVICE;
    int rc = 0;
    if (b && b->is_asked) {
        b->is_asked = false;
        b->n_asked--;
        if (rank != KS_NO_DEVICE)
            c->ranks[rank].n_asked--;
        b->is_due = has_other_rank(c, rank);
        c->has_due |= b->is_due;
        c->may_ask = true;
    }
    if (!ks_ledger_is_final(ks_ledger_find(c->c.ledger, &cell)))
        rc = ks_sched_reopen(c->sched, ip, ii, err);
    else if (rank != KS_NO_DEVICE && c->ranks[rank].is_quarantined)
        rc = ks_coord_void_failures(c, rank, err);
    return rc < 0 ? rc : settle_doubt(c, rank, err);
}

int ks_coord_step_confirm(struct ks_coord *c, struct ks_err *err)
{
    uint32_t cells[KS_LEASE_CELLS][2];
    int rc = ask_due(c, err);
    uint32_t n = 0;
    do {
        n = rc < 0 ? 0 : ks_sched_unconfirmable(c->sched, cells, KS_LEASE_CELLS);
        for (uint32_t k = 0; k < n && rc == 0; k++)
            rc = give_up(c, cells[k][0], cells[k][1], err);
    } while (rc == 0 && n == KS_LEASE_CELLS);
    return rc;
}
