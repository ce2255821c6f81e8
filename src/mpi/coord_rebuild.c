/* SPDX-License-Identifier: MIT */
/* coord_rebuild.c - races from their records, in any order. Of races that ended in earlier lives
 * only their part of the pools is taken; a problem that still has cells to be measured, or whose
 * label has failed since, races again, with all its records. So does a race of this life that was
 * refuted after it had ended. */
#include "base/clock.h"
#include "mpi/coord_impl.h"

#include <stdio.h>
#include <stdlib.h>

struct rebuild {
    struct ks_coord *c;
    struct ks_race_rec *past; /* [n_past] ended races: their parts of the pools */
    uint32_t *i_past;         /* [n_problems] UINT32_MAX: none */
    bool *is_again;           /* [n_problems] refuted; NULL: races of earlier lives are read */
    uint32_t n_past, cap_past;
};

/* Not by limits, which may be others now, nor by the end of a sweep. */
static bool is_settled(uint32_t stop)
{
    return stop == KS_RACE_ALONE || stop == KS_RACE_TIED || stop == KS_RACE_REGRET;
}

/* A life may end between a failure and the frame that withdraws the verdict. */
static bool has_label(const struct ks_coord *c, const struct ks_ledger_problem *p)
{
    const struct ks_cell cell = { p->id, p->race_label, c->c.grid->condition };
    const struct ks_ledger_cell *known = ks_ledger_find(c->c.ledger, &cell);

    return !p->race_label || (ks_ledger_is_final(known) && known->outcome == KS_O_OK);
}

/* All cells had their outcome when the race ended. */
static bool is_over(const struct ks_coord *c, uint32_t i_problem)
{
    const struct ks_grid *g = c->c.grid;
    const struct ks_ledger_problem *p =
        ks_ledger_problem_find(c->c.ledger, ks_problem_table_id(&g->problems, i_problem));

    return p && is_settled(p->race_stop) && has_label(c, p) &&
           p->n_final >= ks_grid_n_cells_of(g, i_problem);
}

static int need_past(struct rebuild *b, uint32_t i_problem, struct ks_race_rec **out,
                     struct ks_err *err)
{
    if (b->i_past[i_problem] == UINT32_MAX) {
        if (b->n_past == b->cap_past) {
            uint32_t want = b->cap_past ? 2 * b->cap_past : 64;
            struct ks_race_rec *more = realloc(b->past, want * sizeof(*more));

            if (!more)
                return ks_fail(err, KS_ENOMEM, "out of memory for %u races", want);
            b->past = more;
            b->cap_past = want;
        }
        b->past[b->n_past] = (struct ks_race_rec){ .stop = 0 };
        b->i_past[i_problem] = b->n_past++;
    }
    *out = &b->past[b->i_past[i_problem]];
    return 0;
}

static int take_race(struct rebuild *b, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_race_rec r, *past;
    int64_t i_problem;
    int rc;

    if (ks_race_rec_decode(f->body, f->n, &r, NULL) < 0)
        return 0; /* the ledger has counted it */
    i_problem = ks_grid_problem(b->c->c.grid, r.problem);
    if (i_problem < 0 || (b->is_again ? !b->is_again[i_problem] || r.stop == KS_RACE_CUT
                                      : b->c->races.state[i_problem] != RACE_ENDED))
        return 0;
    rc = need_past(b, (uint32_t)i_problem, &past, err);
    if (rc == 0 && (!past->stop || ks_race_rec_is_newer(&r, past)))
        *past = r;
    return rc;
}

static bool is_wanted(const struct rebuild *b, const struct ks_record_head *r)
{
    return ks_coord_race_wants(b->c, r) &&
           (!b->is_again || b->is_again[ks_grid_problem(b->c->c.grid, r->cell.problem)]);
}

static int on_frame(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct rebuild *b = ctx;
    struct ks_coord *c = b->c;
    struct ks_record_head head;
    int rc;

    if (f->type == KS_F_RACE)
        return take_race(b, f, err);
    if (f->type != KS_F_DONE || ks_record_peek(f->body, f->n, &head, NULL) < 0)
        return 0;
    if (!b->is_again)
        ks_coord_expect_past(c, &head);
    rc = ks_coord_race_first(c, &head, err);
    if (rc < 0 || !is_wanted(b, &head) ||
        ks_record_decode(f->body, f->n, c->record, NULL, NULL) < 0)
        return rc;
    return ks_coord_race_take(c, c->record, err);
}

/* What ended races have in the pools is added, or taken out again. */
static int move_past(struct rebuild *b, struct ks_err *err)
{
    for (uint32_t i = 0; i < b->n_past; i++) {
        const struct ks_race_rec *p = &b->past[i];
        const struct ks_race_spread own = { .paired = { p->paired.squares, p->paired.freedom },
                                            .first = { p->first.squares, p->first.freedom },
                                            .level = { p->level.squares, p->level.freedom } };
        struct ks_race_spread *pool = ks_coord_race_pool(b->c, p->device_id, p->i_class, err);

        if (!pool)
            return KS_ENOMEM;
        if (b->is_again)
            ks_race_spread_sub(pool, &own);
        else
            ks_race_spread_add(pool, &own);
    }
    return 0;
}

static int rebuild_init(struct rebuild *b, struct ks_coord *c, struct ks_err *err)
{
    uint32_t n = c->c.grid->n_problems;

    *b = (struct rebuild){ .c = c, .i_past = malloc((n + 1u) * sizeof(*b->i_past)) };
    for (uint32_t i = 0; b->i_past && i < n; i++)
        b->i_past[i] = UINT32_MAX;
    return b->i_past ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %u races", n);
}

static void rebuild_release(struct rebuild *b)
{
    free(b->past);
    free(b->i_past);
    free(b->is_again);
}

static int read_journal(struct rebuild *b, struct ks_err *err)
{
    char journal[1100];
    int rc;

    snprintf(journal, sizeof(journal), "%s/journal", b->c->c.dir);
    rc = ks_journal_read(journal, on_frame, NULL, b, NULL, err);
    return rc < 0 ? rc : move_past(b, err);
}

int ks_coord_race_rebuild(struct ks_coord *c, struct ks_err *err)
{
    struct rebuild b;
    int rc = rebuild_init(&b, c, err);

    for (uint32_t i = 0; rc == 0 && i < c->c.grid->n_problems; i++) {
        c->races.state[i] = is_over(c, i) ? RACE_ENDED : RACE_NONE;
        c->races.n_ended += c->races.state[i] == RACE_ENDED;
    }
    if (rc == 0 && ks_ledger_n_cells(c->c.ledger))
        rc = read_journal(&b, err);
    rebuild_release(&b);
    return rc;
}

int ks_coord_race_again(struct ks_coord *c, struct ks_err *err)
{
    struct race_books *r = &c->races;
    uint64_t since = ks_now_ns();
    struct rebuild b;
    int rc;

    if (!r->n_refuted)
        return 0;
    rc = rebuild_init(&b, c, err);
    b.is_again = rc == 0 ? calloc(c->c.grid->n_problems + 1u, sizeof(*b.is_again)) : NULL;
    if (rc == 0 && !b.is_again)
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %u races", c->c.grid->n_problems);
    for (uint32_t i = 0; rc == 0 && i < c->c.grid->n_problems; i++)
        if (r->state[i] == RACE_REFUTED) {
            b.is_again[i] = true;
            r->state[i] = RACE_NONE;
        }
    if (rc == 0) /* what is read must be on disk */
        rc = ks_coord_sync(c, err);
    if (rc == 0)
        rc = read_journal(&b, err);
    r->n_refuted = 0;
    rebuild_release(&b);
    ks_coord_was_away(c, ks_now_ns() - since);
    return rc;
}
