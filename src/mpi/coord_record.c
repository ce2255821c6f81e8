/* SPDX-License-Identifier: MIT */
/* coord_record.c - records in: what becomes of a cell. */
#include "base/clock.h"
#include "base/text.h"
#include "mpi/agent.h"
#include "mpi/coord_impl.h"

#include <stdio.h>

static int append_record(struct ks_coord *c, const struct ks_record_head *r, const void *body,
                         size_t n, struct ks_err *err)
{
    if (!c->pending_since_ns)
        c->pending_since_ns = ks_now_ns();
    int rc = ks_journal_append(c->c.journal, KS_F_DONE, body, n, &c->position, err);
    if (rc < 0)
        return rc;
    return ks_ledger_done(c->c.ledger, r, ks_journal_segment(c->c.journal)->incarnation,
                          c->position - KS_FRAME_HEADER - n, err);
}

static void note_acked(struct ks_coord *c, const struct ks_record_head *r)
{
    char p[17], i[17], d[17];
    if (!c->c.ack_log)
        return;
    ks_hex64(r->cell.problem, p);
    ks_hex64(r->cell.instance, i);
    ks_hex64(r->cell.condition, d);
    ks_buf_printf(&c->acked, "%s %s %s %u %u\n", p, i, d, r->attempt, r->round_index);
}

int ks_coord_write_record(struct ks_coord *c, struct ks_record *r, struct ks_err *err)
{
    r->attempt = ks_ledger_next_attempt(ks_ledger_find(c->c.ledger, &r->cell));
    r->started_ns = ks_realtime_ns();
    ks_buf_clear(&c->body);
    ks_record_encode(r, &c->body);
    if (!ks_buf_ok(&c->body))
        return ks_fail(err, KS_ENOMEM, "coordinator: out of memory");
    struct ks_record_head h;
    ks_record_head_of(r, &h);
    int rc = append_record(c, &h, c->body.data, c->body.len, err);
    if (rc == 0)
        note_acked(c, &h);
    return rc;
}

int ks_coord_write_outcome(struct ks_coord *c, uint32_t i_problem, uint32_t i_instance,
                           uint32_t outcome, const char *reason, struct ks_err *err)
{
    struct ks_record *r = c->record;
    ks_record_init(r);
    r->cell = ks_coord_cell(c, i_problem, i_instance);
    r->outcome = outcome;
    snprintf(r->reason, sizeof(r->reason), "%.159s", reason);
    return ks_coord_write_record(c, r, err);
}

void ks_coord_log_failure(struct ks_coord *c, const struct ks_record *r)
{
    char p[17], i[17], code[24] = "";
    if (!ks_outcome_needs_look(r->outcome) || r->role != KS_ROLE_CELL)
        return;
    ks_coord_note_failure(c, r);
    if (!ks_log_often(c->c.log, &c->failures, "failures"))
        return;
    ks_hex64(r->cell.problem, p);
    ks_hex64(r->cell.instance, i);
    if (r->outcome == KS_O_CRASHED || r->outcome == KS_O_EXITED)
        snprintf(code, sizeof(code), "(%d)", r->status_code);
    struct ks_buf dir;
    ks_buf_init(&dir);
    ks_shell_put(&dir, c->c.dir);
    ks_logf(c->c.log, KS_WARN, "%s%s in %s: %s; attempt %u; ksweep cell %s %s:%s --run",
            ks_outcome_text(r->outcome), code, ks_phase_text(r->phase),
            r->reason[0] ? r->reason : "no reason recorded", r->attempt, ks_buf_text(&dir), p, i);
    ks_buf_release(&dir);
}

bool ks_coord_is_anothers(const struct ks_coord *c, uint32_t from, const struct ks_cell *cell)
{
    const struct ks_ledger_cell *known = ks_ledger_find(c->c.ledger, cell);
    return ks_ledger_is_final(known) && known->device && known->device != c->ranks[from].device_id;
}

/* Of a lease that was given again the first durable record wins; and a further attempt that was not
 * announced, because the cell was over or its rank lost by then, is none. */
static bool is_too_late(const struct ks_coord *c, uint32_t from, const struct ks_ledger_cell *known,
                        const struct ks_record_head *r)
{
    const struct rank *rank = &c->ranks[from];
    if (rank->is_quarantined)
        return true;
    if (r->role != KS_ROLE_CELL)
        return false;
    if (ks_ledger_has_record(c->c.ledger, known, r))
        return true;
    bool is_announced = known && r->attempt <= known->max_started;
    return !is_announced && !r->round_index &&
           (rank->state == RANK_LOST || ks_coord_is_anothers(c, from, &r->cell));
}

/* The record as it came, or with what the rank could not know: that somebody else has seen its
 * failure, too, or that the cell is a control. */
static int append_cell(struct ks_coord *c, const struct ks_frame *f, struct ks_record_head *r,
                       bool is_confirmed, struct ks_err *err)
{
    const bool is_control = r->role == KS_ROLE_CELL && ks_coord_is_prune_control(c, &r->cell);
    if (!is_confirmed && !is_control)
        return append_record(c, r, f->body, f->n, err);
    int rc = ks_record_decode(f->body, f->n, c->record, NULL, err);
    if (rc < 0)
        return rc;
    if (is_confirmed)
        c->record->outcome_flags &= ~(uint32_t)KS_FL_UNCONFIRMED;
    if (is_control)
        c->record->outcome_flags |= KS_FL_PRUNED;
    r->outcome_flags = c->record->outcome_flags;
    ks_buf_clear(&c->body);
    ks_record_encode(c->record, &c->body);
    if (!ks_buf_ok(&c->body))
        return ks_fail(err, KS_ENOMEM, "coordinator: out of memory");
    return append_record(c, r, c->body.data, c->body.len, err);
}

/* One of the cells that it holds is over. Its contaminated attempts are part of it: else rank 0
 * would expect the end of leases too early, and look for it again and again. */
static void note_cell(struct rank *rank, uint64_t wall_ns)
{
    rank->n_cells++;
    rank->cell_s +=
        ((double)wall_ns * 1e-9 - rank->cell_s) / (rank->n_cells < 16 ? (double)rank->n_cells : 16);
    if (rank->n_held)
        rank->n_held--;
    rank->busy_until_ns = ks_now_ns() + (uint64_t)(rank->cell_s * 1e9 * rank->n_held);
}

/* The record is in the journal. */
static int settle_cell(struct ks_coord *c, uint32_t from, const struct ks_record_head *r,
                       bool is_confirmed, struct ks_err *err)
{
    int64_t ip = ks_grid_problem(c->c.grid, r->cell.problem);
    int64_t ii = ks_grid_instance(c->c.grid, r->cell.instance);
    if (ip < 0 || ii < 0)
        return ks_fail(err, KS_EPROTO, "rank %u measured a cell that is not in the grid", from);
    const struct ks_ledger_cell *known = ks_ledger_find(c->c.ledger, &r->cell);
    if (!ks_ledger_is_final(known)) { /* a further attempt was announced */
        c->ranks[from].repeated_ns += r->wall_ns;
        return 0;
    }
    /* before the outcomes of its aliases grow the ledger */
    const bool is_ok = r->outcome == KS_O_OK, is_plain = is_ok && known->n_attempts == 1;
    uint64_t wall_ns = r->wall_ns;
    c->n_done_here++;
    if (is_ok) { /* what repeats took is a cost of cells: else problems are not split for it */
        wall_ns += c->ranks[from].repeated_ns;
        c->ranks[from].repeated_ns = 0;
    }
    double elapsed_s = is_ok ? (double)wall_ns * 1e-9 : 0;
    note_cell(&c->ranks[from], wall_ns);
    ks_coord_note_time(c, from, elapsed_s);
    int rc = ks_coord_alias_settle(c, (uint32_t)ip, (uint32_t)ii, r->code_id, err);
    ks_sched_done(c->sched, (uint32_t)ip, (uint32_t)ii, from, elapsed_s);
    if (is_plain)
        ks_coord_went_well(c, from);
    return rc < 0 || is_plain
               ? rc
               : ks_coord_weigh(c, from, (uint32_t)ip, (uint32_t)ii, r, is_confirmed, err);
}

/* The same of a round beyond 0, whose cell has its outcome: only a failure changes that. */
static int settle_visit(struct ks_coord *c, uint32_t from, const struct ks_record_head *r,
                        bool is_confirmed, struct ks_err *err)
{
    int64_t ip = ks_grid_problem(c->c.grid, r->cell.problem);
    int64_t ii = ks_grid_instance(c->c.grid, r->cell.instance);
    if (ip < 0 || ii < 0)
        return ks_fail(err, KS_EPROTO, "rank %u measured a cell that is not in the grid", from);
    note_cell(&c->ranks[from], r->wall_ns);
    ks_coord_note_time(c, from, (double)r->wall_ns * 1e-9);
    if (r->outcome == KS_O_OK)
        ks_coord_went_well(c, from);
    if (r->outcome == KS_O_OK || !ks_ledger_is_final(ks_ledger_find(c->c.ledger, &r->cell)))
        return 0; /* or a further attempt was announced */
    return ks_coord_weigh(c, from, (uint32_t)ip, (uint32_t)ii, r, is_confirmed, err);
}

/* What else a record in the journal is used for. */
static int pass_on(struct ks_coord *c, const struct ks_frame *f, const struct ks_record_head *r,
                   struct ks_err *err)
{
    const bool is_failure = ks_outcome_needs_look(r->outcome);
    const bool is_raced = ks_coord_race_wants(c, r);
    const bool is_noisy = (r->outcome_flags & KS_FL_CONTAMINATED) != 0;
    int rc = ks_coord_race_refute(c, r, err);

    if (rc < 0 || (!is_failure && !is_raced && !is_noisy) ||
        ks_record_decode(f->body, f->n, c->record, NULL, NULL) < 0)
        return rc;
    if (is_failure)
        ks_coord_log_failure(c, c->record);
    ks_coord_note_noise(c, c->record);
    return is_raced ? ks_coord_race_take(c, c->record, err) : 0;
}

int ks_coord_take_record(struct ks_coord *c, uint32_t from, const struct ks_frame *f,
                         struct ks_err *err)
{
    struct rank *rank = &c->ranks[from];
    struct ks_record_head r;
    int rc = ks_record_peek(f->body, f->n, &r, err);
    if (rc < 0)
        return ks_err_context(err, rc, "a record of rank %u", from);
    rank->n_records++;
    c->is_pressed |= rank->n_records - rank->n_acked >= KS_COORD_MANY;
    bool is_cell = r.role == KS_ROLE_CELL;
    const struct ks_ledger_cell *known = is_cell ? ks_ledger_find(c->c.ledger, &r.cell) : NULL;
    if (is_too_late(c, from, known, &r)) {
        if (!c->pending_since_ns) /* it must be acknowledged all the same */
            c->pending_since_ns = ks_now_ns();
        return 0;
    }
    rank->is_proven |= r.outcome == KS_O_OK;
    rank->device_id = r.device_id;
    bool is_confirmed = is_cell && ks_coord_is_reproduced(c, known, &r);
    rc = append_cell(c, f, &r, is_confirmed, err);
    if (rc < 0 || !is_cell)
        return rc;
    note_acked(c, &r);
    rc = pass_on(c, f, &r, err);
    if (rc < 0)
        return rc;
    return r.round_index ? settle_visit(c, from, &r, is_confirmed, err)
                         : settle_cell(c, from, &r, is_confirmed, err);
}
