/* SPDX-License-Identifier: MIT */
/* ledger.c - applies a journal's frames to what is known of cells, problems and instances */
#include "journal/ledger.h"

#include "base/array.h"
#include "base/hash.h"
#include "journal/slots.h"
#include "record/attempt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_NEAR 64u
#define NONE   UINT32_MAX

/* Attempts of a cell: a chain through one array. */
struct node {
    struct ks_attempt a;
    uint32_t next;
    uint32_t segment;
    uint32_t position;
    bool is_from_worker;
    uint64_t device, offset, block;
};

struct instance {
    uint64_t id;
    struct ks_id128 build_id;
    char name[192];
};

struct ks_ledger {
    struct ks_ledger_cell *cells;
    uint32_t n_cells, cap_cells;
    struct ks_slots by_cell;
    uint32_t *near; /* [N_NEAR] by problem: the cell that was found last */
    struct node *nodes;
    uint32_t n_nodes, cap_nodes;
    struct ks_ledger_problem *problems;
    uint32_t n_problems, cap_problems;
    struct ks_slots by_problem;
    struct instance *instances;
    uint32_t n_instances, cap_instances;
    struct ks_slots by_instance;
    struct ks_ledger_counts counts;
    struct ks_job_rec job;
    char *job_text;
    char lost_hosts[512];
};

bool ks_ledger_is_final(const struct ks_ledger_cell *c)
{
    return c && c->max_done && c->max_done >= c->max_started && c->outcome != KS_O_NONE;
}

uint32_t ks_ledger_next_attempt(const struct ks_ledger_cell *c)
{
    if (!c)
        return 1;
    if (c->max_started > c->max_done)
        return c->max_started;
    return c->max_done + 1;
}

int ks_ledger_create(struct ks_ledger **l_out, struct ks_err *err)
{
    struct ks_ledger *l = calloc(1, sizeof(*l));
    uint32_t *near = calloc(N_NEAR, sizeof(*near));
    if (!l || !near) {
        free(near);
        free(l);
        return ks_fail(err, KS_ENOMEM, "ledger: out of memory");
    }
    l->near = near;
    *l_out = l;
    return 0;
}

void ks_ledger_destroy(struct ks_ledger *l)
{
    if (!l)
        return;
    free(l->cells);
    free(l->by_cell.slot);
    free(l->near);
    free(l->nodes);
    free(l->problems);
    free(l->by_problem.slot);
    free(l->instances);
    free(l->by_instance.slot);
    free(l->job_text);
    free(l);
}

static uint64_t cell_hash(const struct ks_cell *c)
{
    return ks_mix64(c->problem ^ ks_mix64(c->instance ^ ks_mix64(c->condition)));
}

static bool is_same(const struct ks_cell *a, const struct ks_cell *b)
{
    return a->problem == b->problem && a->instance == b->instance && a->condition == b->condition;
}

static struct ks_ledger_problem *find_problem(const struct ks_ledger *l, uint64_t id)
{
    if (!l->by_problem.n)
        return NULL;
    const uint64_t hash = ks_mix64(id);
    uint64_t k = hash;
    for (uint32_t p; (p = ks_slots_next(&l->by_problem, hash, &k));)
        if (l->problems[p - 1].id == id)
            return &l->problems[p - 1];
    return NULL;
}

static bool is_at(const struct ks_ledger *l, uint32_t i, const struct ks_cell *c)
{
    return i < l->n_cells && is_same(&l->cells[i].cell, c);
}

/* Each slot is a cache miss in a large ledger, as is its cell. Cells are looked for several times
 * in a row, and their records come in the order in which they were announced. */
static struct ks_ledger_cell *find_cell(const struct ks_ledger *l, const struct ks_cell *c)
{
    uint32_t *near = &l->near[ks_mix64(c->problem) % N_NEAR];
    if (is_at(l, *near, c) || is_at(l, *near + 1, c)) {
        *near += !is_at(l, *near, c);
        return &l->cells[*near];
    }
    const struct ks_ledger_problem *p = find_problem(l, c->problem);
    if (!p || !p->n_touched) /* all cells of a problem are looked for when it is begun */
        return NULL;
    const uint64_t hash = cell_hash(c);
    uint64_t k = hash;
    for (uint32_t i; (i = ks_slots_next(&l->by_cell, hash, &k));)
        if (is_at(l, i - 1, c))
            return &l->cells[*near = i - 1];
    return NULL;
}

static struct instance *find_instance(const struct ks_ledger *l, uint64_t id)
{
    if (!l->by_instance.n)
        return NULL;
    const uint64_t hash = ks_mix64(id);
    uint64_t k = hash;
    for (uint32_t p; (p = ks_slots_next(&l->by_instance, hash, &k));)
        if (l->instances[p - 1].id == id)
            return &l->instances[p - 1];
    return NULL;
}

static int need_problem(struct ks_ledger *l, uint64_t id, struct ks_ledger_problem **out,
                        struct ks_err *err)
{
    bool is_new = false;
    if ((*out = find_problem(l, id)))
        return 0;
    int rc = ks_reserve32(&l->problems, l->n_problems + 1ul, &l->cap_problems, sizeof(*l->problems),
                          "problems of the ledger", err);
    if (rc == 0)
        rc = ks_slots_widen(&l->by_problem, l->n_problems, &is_new, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; is_new && i < l->n_problems; i++)
        ks_slots_put(&l->by_problem, ks_mix64(l->problems[i].id), i);
    ks_slots_put(&l->by_problem, ks_mix64(id), l->n_problems);
    *out = &l->problems[l->n_problems++];
    **out = (struct ks_ledger_problem){ .id = id };
    return 0;
}

static int need_instance(struct ks_ledger *l, uint64_t id, struct instance **out,
                         struct ks_err *err)
{
    bool is_new = false;
    if ((*out = find_instance(l, id)))
        return 0;
    int rc = ks_reserve32(&l->instances, l->n_instances + 1ul, &l->cap_instances,
                          sizeof(*l->instances), "instances of the ledger", err);
    if (rc == 0)
        rc = ks_slots_widen(&l->by_instance, l->n_instances, &is_new, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; is_new && i < l->n_instances; i++)
        ks_slots_put(&l->by_instance, ks_mix64(l->instances[i].id), i);
    ks_slots_put(&l->by_instance, ks_mix64(id), l->n_instances);
    *out = &l->instances[l->n_instances++];
    **out = (struct instance){ .id = id };
    return 0;
}

static int need_cell(struct ks_ledger *l, const struct ks_cell *c, struct ks_ledger_cell **out,
                     struct ks_err *err)
{
    struct ks_ledger_problem *p;
    bool is_new = false;
    if ((*out = find_cell(l, c)))
        return 0;
    int rc = need_problem(l, c->problem, &p, err);
    if (rc == 0)
        rc = ks_reserve32(&l->cells, l->n_cells + 1ul, &l->cap_cells, sizeof(*l->cells),
                          "cells of the ledger", err);
    if (rc == 0) /* last: it may empty the slots */
        rc = ks_slots_widen(&l->by_cell, l->n_cells, &is_new, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; is_new && i < l->n_cells; i++)
        ks_slots_put(&l->by_cell, cell_hash(&l->cells[i].cell), i);
    ks_slots_put(&l->by_cell, cell_hash(c), l->n_cells);
    *out = &l->cells[l->n_cells++];
    **out = (struct ks_ledger_cell){ .cell = *c, .first = NONE };
    p->n_touched++;
    return 0;
}

/* Takes the cell out of the totals (sign -1) or puts it in (+1). */
static void count(struct ks_ledger *l, const struct ks_ledger_cell *c, int sign)
{
    if (!ks_ledger_is_final(c))
        return;
    uint64_t one = (uint64_t)(int64_t)sign;
    l->counts.outcome[c->outcome] += one;
    l->counts.n_final += one;
    if (c->flags & KS_FL_CONTAMINATED)
        l->counts.n_contaminated += one;
    if (c->flags & KS_FL_ALIASED)
        l->counts.n_controls += one;
    if (c->flags & KS_FL_PRUNED)
        l->counts.n_prune_controls += one;
    struct ks_ledger_problem *p = find_problem(l, c->cell.problem);
    p->n_final += (uint32_t)sign;
    if (c->outcome == KS_O_OK)
        p->n_ok += (uint32_t)sign;
}

int ks_ledger_start(struct ks_ledger *l, const struct ks_start *s, struct ks_err *err)
{
    l->counts.n_starts++;
    for (uint32_t i = 0; i < s->n_cells; i++) {
        struct ks_ledger_cell *c;
        if (s->cells[i].role != KS_ROLE_CELL)
            continue;
        int rc = need_cell(l, &s->cells[i].cell, &c, err);
        if (rc < 0)
            return rc;
        count(l, c, -1);
        if (s->cells[i].attempt > c->max_started)
            c->max_started = s->cells[i].attempt;
        count(l, c, +1);
    }
    return 0;
}

enum { MOST_RECORDS = 256 };

/* Records of visits that went well change no outcome; a cell may have hundreds. */
static bool is_idle(const struct ks_attempt *a)
{
    return a->round > 0 && a->outcome == KS_O_OK && !(a->flags & KS_FL_VOID);
}

static void choose(struct ks_ledger *l, struct ks_ledger_cell *c)
{
    struct ks_attempt a[MOST_RECORDS];
    uint32_t node[MOST_RECORDS];
    size_t n = 0;
    for (uint32_t k = c->first; k != NONE && n < MOST_RECORDS; k = l->nodes[k].next) {
        if (is_idle(&l->nodes[k].a))
            continue;
        a[n] = l->nodes[k].a;
        node[n++] = k;
    }
    int best = ks_record_final(a, n);
    c->outcome = c->flags = c->attempt = 0;
    c->device = 0;
    if (best < 0)
        return;
    c->outcome = a[best].outcome;
    c->flags = a[best].flags;
    c->attempt = a[best].attempt;
    c->device = l->nodes[node[best]].device;
    c->segment = l->nodes[node[best]].segment;
    c->offset = l->nodes[node[best]].offset;
}

static void note_time(struct ks_ledger *l, const struct ks_record_head *r)
{
    uint64_t end = r->started_ns + r->wall_ns;
    if (!r->started_ns)
        return;
    if (!l->counts.first_ns || r->started_ns < l->counts.first_ns)
        l->counts.first_ns = r->started_ns;
    if (end > l->counts.last_ns)
        l->counts.last_ns = end;
}

int ks_ledger_done(struct ks_ledger *l, const struct ks_record_head *r, uint32_t segment,
                   uint64_t offset, struct ks_err *err)
{
    struct ks_ledger_cell *c;
    l->counts.n_records++;
    note_time(l, r);
    if (r->role != KS_ROLE_CELL)
        return 0;
    int rc = ks_reserve32(&l->nodes, l->n_nodes + 1ul, &l->cap_nodes, sizeof(*l->nodes),
                          "nodes of the ledger", err);
    if (rc == 0)
        rc = need_cell(l, &r->cell, &c, err);
    if (rc < 0)
        return rc;
    if (!(r->outcome_flags & KS_FL_VOID) && ks_ledger_has_record(l, c, r))
        return 0; /* a copy: the first counts, as in the store */
    if (r->round_index > 0) {
        l->counts.n_visit_records++;
        find_problem(l, r->cell.problem)->n_visit_records++;
    }
    count(l, c, -1);
    l->nodes[l->n_nodes] = (struct node){
        .a = { r->attempt, r->round_index, r->role, r->outcome, r->outcome_flags, r->disturbance },
        .next = c->first,
        .segment = segment,
        .position = r->position,
        .block = r->block_id,
        .is_from_worker = !ks_id128_is_zero(r->worker),
        .device = r->device_id,
        .offset = offset,
    };
    c->first = l->n_nodes++;
    c->n_attempts += r->round_index == 0;
    if (r->attempt > c->max_done)
        c->max_done = r->attempt;
    choose(l, c);
    count(l, c, +1);
    return 0;
}

static bool is_ended(uint32_t race_stop)
{
    return race_stop && race_stop != KS_RACE_REC_CUT;
}

bool ks_ledger_has(const struct ks_ledger *l, const struct ks_ledger_cell *c, uint32_t attempt,
                   uint32_t round)
{
    for (uint32_t k = c ? c->first : NONE; k != NONE; k = l->nodes[k].next)
        if (l->nodes[k].a.attempt == attempt && l->nodes[k].a.round == round)
            return true;
    return false;
}

bool ks_ledger_has_record(const struct ks_ledger *l, const struct ks_ledger_cell *c,
                          const struct ks_record_head *r)
{
    for (uint32_t k = c ? c->first : NONE; k != NONE; k = l->nodes[k].next) {
        const struct node *n = &l->nodes[k];
        if (n->a.attempt == r->attempt && n->a.round == r->round_index &&
            (!r->round_index || (n->block == r->block_id && n->position == r->position)))
            return true;
    }
    return false;
}

int ks_ledger_race(struct ks_ledger *l, const struct ks_race_rec *r, struct ks_err *err)
{
    struct ks_ledger_problem *p;
    int rc = need_problem(l, r->problem, &p, err);
    if (rc < 0)
        return rc;
    const struct ks_race_rec was = { .stop = p->race_stop,
                                     .n_members = p->race_members,
                                     .n_seen = p->race_seen,
                                     .spent_ns = p->race_spent_ns,
                                     .label = p->race_label,
                                     .n_losses = p->race_losses,
                                     .n_unclosed = p->race_unclosed };
    if (p->race_stop && !ks_race_rec_is_newer(r, &was))
        return 0;
    l->counts.n_races -= is_ended(p->race_stop);
    l->counts.n_cut -= p->race_stop == KS_RACE_REC_CUT;
    p->race_stop = r->stop;
    p->race_members = r->n_members;
    p->race_spent_ns = r->spent_ns;
    p->race_seen = r->n_seen;
    p->race_label = r->label;
    p->race_losses = r->n_losses;
    p->race_unclosed = r->n_unclosed;
    l->counts.n_races += is_ended(p->race_stop);
    l->counts.n_cut += p->race_stop == KS_RACE_REC_CUT;
    return 0;
}

bool ks_ledger_is_from_worker(const struct ks_ledger *l, const struct ks_ledger_cell *c)
{
    for (uint32_t k = c->first; k != NONE; k = l->nodes[k].next)
        if (l->nodes[k].a.attempt == c->attempt && l->nodes[k].is_from_worker)
            return true;
    return false;
}

bool ks_ledger_was_ok(const struct ks_ledger *l, const struct ks_ledger_cell *c)
{
    for (uint32_t k = c ? c->first : NONE; k != NONE; k = l->nodes[k].next)
        if (l->nodes[k].a.outcome == KS_O_OK)
            return true;
    return false;
}

bool ks_ledger_failed_elsewhere(const struct ks_ledger *l, const struct ks_ledger_cell *c,
                                uint32_t outcome, uint64_t device,
                                bool (*is_trusted)(void *ctx, uint64_t device), void *ctx)
{
    for (uint32_t k = c && device ? c->first : NONE; k != NONE; k = l->nodes[k].next) {
        const struct node *n = &l->nodes[k];
        if (n->a.outcome == outcome && !(n->a.flags & KS_FL_VOID) && n->device &&
            n->device != device && is_trusted(ctx, n->device))
            return true;
    }
    return false;
}

static int apply_name(struct ks_ledger *l, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_name_rec v;
    struct ks_ledger_problem *p;
    struct instance *i;
    int rc = ks_name_rec_decode(f->body, f->n, &v, err);
    if (rc < 0)
        return rc;
    if (f->type == KS_F_INSTANCE) {
        rc = need_instance(l, v.id, &i, err);
        if (rc == 0)
            memcpy(i->name, v.name, sizeof(i->name));
        return rc;
    }
    rc = need_problem(l, v.id, &p, err);
    if (rc < 0)
        return rc;
    p->count = v.count;
    p->n_absent = v.n_absent;
    memcpy(p->name, v.name, sizeof(p->name) - 1);
    return 0;
}

static int apply_build(struct ks_ledger *l, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_build_rec v;
    struct instance *i;
    int rc = ks_build_rec_decode(f->body, f->n, &v, err);
    if (rc < 0)
        return rc;
    rc = need_instance(l, v.instance, &i, err);
    if (rc == 0 && v.outcome == KS_O_OK)
        i->build_id = v.build_id;
    return rc;
}

static int apply_job(struct ks_ledger *l, const struct ks_journal_frame *f, struct ks_err *err)
{
    char *text = NULL;
    int rc = ks_job_rec_decode(f->body, f->n, &l->job, &text, err);
    if (rc < 0)
        return rc;
    free(l->job_text);
    l->job_text = text;
    return 0;
}

void ks_ledger_lost_host(struct ks_ledger *l, const char *host)
{
    if (!*host)
        host = "?";
    const size_t at = strlen(l->lost_hosts), n = strlen(host);
    for (const char *p = l->lost_hosts; (p = strstr(p, host)); p += n)
        if ((p == l->lost_hosts || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
            return;
    if (at + 1 + n < sizeof(l->lost_hosts))
        snprintf(l->lost_hosts + at, sizeof(l->lost_hosts) - at, "%s%s", at ? " " : "", host);
}

static int apply_race(struct ks_ledger *l, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_race_rec r;
    int rc = ks_race_rec_decode(f->body, f->n, &r, err);
    return rc < 0 ? rc : ks_ledger_race(l, &r, err);
}

static int apply_event(struct ks_ledger *l, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_event_rec e;
    int rc = ks_event_decode(f->body, f->n, &e, err);
    if (rc == 0 && e.kind == KS_EV_RANK_LOST)
        ks_ledger_lost_host(l, e.host);
    return rc;
}

int ks_ledger_apply(struct ks_ledger *l, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_record_head r;
    struct ks_start s;
    int rc;
    switch (f->type) {
    case KS_F_DONE:
        rc = ks_record_peek(f->body, f->n, &r, err);
        return rc < 0 ? rc : ks_ledger_done(l, &r, f->segment, f->offset, err);
    case KS_F_START:
        rc = ks_start_decode(f->body, f->n, &s, err);
        return rc < 0 ? rc : ks_ledger_start(l, &s, err);
    case KS_F_PROBLEM:
    case KS_F_INSTANCE:
        return apply_name(l, f, err);
    case KS_F_BUILD:
        return apply_build(l, f, err);
    case KS_F_JOB:
        return apply_job(l, f, err);
    case KS_F_RACE:
        return apply_race(l, f, err);
    case KS_F_EVENT:
        return apply_event(l, f, err);
    default:
        return 0;
    }
}

const struct ks_ledger_cell *ks_ledger_find(const struct ks_ledger *l, const struct ks_cell *c)
{
    return find_cell(l, c);
}

size_t ks_ledger_n_cells(const struct ks_ledger *l)
{
    return l->n_cells;
}

const struct ks_ledger_cell *ks_ledger_cell(const struct ks_ledger *l, size_t i)
{
    return &l->cells[i];
}

size_t ks_ledger_n_problems(const struct ks_ledger *l)
{
    return l->n_problems;
}

const struct ks_ledger_problem *ks_ledger_problem(const struct ks_ledger *l, size_t i)
{
    return &l->problems[i];
}

const struct ks_ledger_problem *ks_ledger_problem_find(const struct ks_ledger *l, uint64_t id)
{
    return find_problem(l, id);
}

void ks_ledger_counts(const struct ks_ledger *l, struct ks_ledger_counts *out)
{
    *out = l->counts;
}

size_t ks_ledger_n_instances(const struct ks_ledger *l)
{
    return l->n_instances;
}

uint64_t ks_ledger_instance(const struct ks_ledger *l, size_t i)
{
    return l->instances[i].id;
}

const struct ks_job_rec *ks_ledger_job(const struct ks_ledger *l, const char **text_out)
{
    *text_out = l->job_text;
    return l->job_text ? &l->job : NULL;
}

struct ks_id128 ks_ledger_build(const struct ks_ledger *l, uint64_t instance)
{
    const struct instance *i = find_instance(l, instance);
    return i ? i->build_id : (struct ks_id128){ 0, 0 };
}

const char *ks_ledger_lost_hosts(const struct ks_ledger *l)
{
    return l->lost_hosts;
}

const char *ks_ledger_instance_name(const struct ks_ledger *l, uint64_t instance)
{
    const struct instance *i = find_instance(l, instance);
    return i && i->name[0] ? i->name : NULL;
}
