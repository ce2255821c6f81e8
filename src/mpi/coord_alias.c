/* SPDX-License-Identifier: MIT */
/* coord_alias.c - instances that are the same machine code are measured once per problem.
 *
 * Which are the same follows from what the first ranks to be ready told of their builds; it is
 * settled when measuring begins and stays so for this life of the coordinator. For each problem the
 * most senior instance of a group that can run it is measured. The others wait, unknown to the
 * scheduler, until its outcome is final; then they get theirs, `aliased`, without running.
 * Seniority is the order of the journal's names, so a grid that grows changes no choice. */
#include "mpi/coord_impl.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

#define NO_PROBLEM UINT32_MAX

int ks_coord_alias_open(struct ks_coord *c, struct ks_err *err)
{
    uint32_t n = c->c.grid->n_instances;
    struct alias_books *a = &c->alias;
    a->code = calloc(n + 1u, sizeof(*a->code));
    a->build = calloc(n + 1u, sizeof(*a->build));
    a->is_disputed = calloc(n + 1u, sizeof(*a->is_disputed));
    return a->code && a->build && a->is_disputed
               ? 0
               : ks_fail(err, KS_ENOMEM, "coordinator: out of memory");
}

void ks_coord_alias_close(struct ks_coord *c)
{
    struct alias_books *a = &c->alias;
    ks_aliases_release(&a->groups);
    free(a->code);
    free(a->build);
    free(a->is_disputed);
    free(a->chosen);
}

/* Labels of these would depend on who is given them. */
static void note_lacking(struct ks_coord *c, uint32_t from, uint32_t i, const char *why)
{
    const struct ks_artefact *a = c->c.build ? ks_build_artefact(c->c.build, i) : NULL;
    if (!a || a->state == KS_ART_UNSUPPORTED || c->ranks[from].n_lacking++)
        return;
    ks_logf(c->c.log, KS_WARN,
            "%s: '%s' cannot be built on this host but on that of rank 0: %s; cells of such "
            "instances are unsupported if this host measures them",
            c->ranks[from].host, c->c.grid->instances[i].name, why);
}

int ks_coord_alias_told(struct ks_coord *c, uint32_t from, const struct ks_frame *f,
                        struct ks_err *err)
{
    struct alias_books *a = &c->alias;
    struct ks_build_rec b;
    int rc = c->is_measuring ? 0 : ks_build_rec_decode(f->body, f->n, &b, err);
    int64_t i = rc < 0 || c->is_measuring ? -1 : ks_grid_instance(c->c.grid, b.instance);
    if (i >= 0 && b.outcome == KS_O_UNSUPPORTED)
        note_lacking(c, from, (uint32_t)i, b.reason);
    if (i < 0 || b.outcome != KS_O_OK)
        return rc;
    if (!ks_id128_is_zero(a->build[i]) && !ks_id128_eq(a->code[i], b.code_id))
        a->is_disputed[i] = true; /* hosts whose compilers differ */
    a->code[i] = b.code_id;
    a->build[i] = b.build_id;
    ks_coord_prune_told(c, (uint32_t)i, &b.code);
    return 0;
}

/* Instances in the order in which the journal named them first; new ones come last. */
static void fill_seniority(const struct ks_coord *c, uint32_t *seniority)
{
    uint32_t n_known = (uint32_t)ks_ledger_n_instances(c->c.ledger);
    for (uint32_t i = 0; i < c->c.grid->n_instances; i++)
        seniority[i] = n_known + i;
    for (uint32_t k = 0; k < n_known; k++) {
        int64_t i = ks_grid_instance(c->c.grid, ks_ledger_instance(c->c.ledger, k));
        if (i >= 0)
            seniority[i] = k;
    }
}

int ks_coord_alias_begin(struct ks_coord *c, struct ks_err *err)
{
    struct alias_books *a = &c->alias;
    uint32_t n = c->c.grid->n_instances;
    uint32_t *seniority = malloc((n + 1u) * sizeof(*seniority));
    if (!seniority)
        return ks_fail(err, KS_ENOMEM, "coordinator: out of memory");
    fill_seniority(c, seniority);
    for (uint32_t i = 0; i < n; i++)
        if (a->is_disputed[i])
            a->code[i] = (struct ks_id128){ 0, 0 };
    int rc = ks_aliases_make(a->code, seniority, n, &a->groups, err);
    free(seniority);
    if (rc < 0)
        return rc;
    a->chosen = malloc((a->groups.n_groups + 1u) * sizeof(*a->chosen));
    if (!a->chosen)
        return ks_fail(err, KS_ENOMEM, "coordinator: out of memory");
    for (uint32_t g = 0; g < a->groups.n_groups; g++)
        a->chosen[g].i_problem = NO_PROBLEM;
    return 0;
}

static bool is_group(const struct ks_coord *c, uint32_t ii)
{
    return c->alias.groups.group && c->alias.groups.group[ii] != KS_NO_ALIAS;
}

/* What cannot run a problem stands for nobody, whether that was known before or its own test said
 * so. */
static bool can_run(const struct ks_coord *c, uint32_t ip, uint32_t ii)
{
    const char *why;
    const struct ks_ledger_cell *known = ks_coord_known(c, ip, ii);
    bool is_refused = ks_ledger_is_final(known) && known->outcome == KS_O_UNSUPPORTED;
    return !is_refused && ks_coord_settled(c, ip, ii, &why) == KS_O_NONE;
}

/* The instance of group g that is measured for a problem; KS_NO_ALIAS: none can run it. */
static uint32_t representative(struct ks_coord *c, uint32_t ip, uint32_t g)
{
    const struct ks_aliases *s = &c->alias.groups;
    struct alias_choice *chosen = &c->alias.chosen[g];
    if (chosen->i_problem == ip)
        return chosen->i_instance;
    *chosen = (struct alias_choice){ .i_problem = ip, .i_instance = KS_NO_ALIAS };
    for (uint32_t k = s->first[g]; k < s->first[g + 1]; k++)
        if (can_run(c, ip, s->member[k])) {
            chosen->i_instance = s->member[k];
            break;
        }
    return chosen->i_instance;
}

uint32_t ks_coord_alias_of(struct ks_coord *c, uint32_t ip, uint32_t ii)
{
    if (!is_group(c, ii))
        return KS_NO_ALIAS;
    uint32_t first = representative(c, ip, c->alias.groups.group[ii]);
    return first == ii ? KS_NO_ALIAS : first;
}

static int write_alias(struct ks_coord *c, uint32_t ip, uint32_t ii, uint32_t i_first,
                       struct ks_err *err)
{
    const struct ks_instance *first = &c->c.grid->instances[i_first];
    struct ks_record *r = c->record;
    ks_record_init(r);
    r->cell = ks_coord_cell(c, ip, ii);
    r->outcome = KS_O_ALIASED;
    r->representative_id = first->id;
    r->build_id = c->alias.build[ii];
    r->code_id = c->alias.code[ii];
    snprintf(r->reason, sizeof(r->reason), "same code as %.145s", first->name);
    return ks_coord_write_record(c, r, err);
}

enum ks_cell_state ks_coord_alias_state(struct ks_coord *c, uint32_t ip, uint32_t ii)
{
    const struct ks_grid *g = c->c.grid;
    uint32_t i_first = ks_coord_alias_of(c, ip, ii);
    /* what was begun is brought to its end */
    if (i_first == KS_NO_ALIAS || ks_coord_known(c, ip, ii))
        return KS_CELL_RUN;
    if (ks_alias_is_control(ks_problem_table_id(&g->problems, ip), g->instances[ii].id,
                            g->job.measure.alias_control))
        return KS_CELL_RUN;
    const struct ks_ledger_cell *first = ks_coord_known(c, ip, i_first);
    if (!ks_ledger_is_final(first) || ks_coord_is_asked_again(c, first))
        return KS_CELL_SETTLED; /* as soon as that is final */
    /* memory may fail: then it is measured */
    return write_alias(c, ip, ii, i_first, NULL) < 0 ? KS_CELL_RUN : KS_CELL_SETTLED;
}

/* A cell that the scheduler takes for done, but of which nothing was ever said. */
static bool waits(const struct ks_coord *c, uint32_t ip, uint32_t ii)
{
    return ks_grid_has_cell(c->c.grid, ip, ii) && ks_sched_is_done(c->sched, ip, ii) &&
           !ks_coord_known(c, ip, ii);
}

/* Measured on a host that made other code of it: what is true of the one need not be of the others.
 * The announcement tells a later life that they are to be measured. */
static int measure_after_all(struct ks_coord *c, uint32_t ip, uint32_t ii, struct ks_err *err)
{
    struct ks_cell cell = ks_coord_cell(c, ip, ii);
    uint32_t attempt = ks_ledger_next_attempt(ks_ledger_find(c->c.ledger, &cell));
    int rc = ks_coord_announce(c, ip, ii, attempt, 0, KS_WHY_OTHER_CODE, err);
    return rc < 0 ? rc : ks_sched_reopen(c->sched, ip, ii, err);
}

static int settle_group(struct ks_coord *c, uint32_t ip, uint32_t i_first, bool is_same_code,
                        struct ks_err *err)
{
    const struct ks_aliases *s = &c->alias.groups;
    uint32_t g = s->group[i_first];
    int rc = 0;
    for (uint32_t k = s->first[g]; k < s->first[g + 1] && rc == 0; k++) {
        uint32_t ii = s->member[k];
        if (ii == i_first || !waits(c, ip, ii))
            continue;
        rc =
            is_same_code ? write_alias(c, ip, ii, i_first, err) : measure_after_all(c, ip, ii, err);
    }
    return rc;
}

int ks_coord_alias_settle(struct ks_coord *c, uint32_t ip, uint32_t ii, struct ks_id128 code,
                          struct ks_err *err)
{
    if (!is_group(c, ii))
        return 0;
    uint32_t g = c->alias.groups.group[ii];
    const struct ks_ledger_cell *known = ks_coord_known(c, ip, ii);
    bool is_refused = known && known->outcome == KS_O_UNSUPPORTED;
    if (is_refused)
        c->alias.chosen[g].i_problem = NO_PROBLEM;
    uint32_t i_first = representative(c, ip, g);
    if (i_first == KS_NO_ALIAS || (i_first != ii && !is_refused))
        return 0;
    if (ks_ledger_is_final(ks_coord_known(c, ip, i_first))) {
        bool is_same = is_refused || ks_id128_is_zero(code) || ks_id128_eq(code, c->alias.code[ii]);
        return settle_group(c, ip, i_first, is_same, err);
    }
    return waits(c, ip, i_first) ? ks_sched_reopen(c->sched, ip, i_first, err) : 0;
}
