/* SPDX-License-Identifier: MIT */
/* cell_find.c - the cell that a text means: ids, names, parts of names, or the best of a problem.
 */
#include "cmd/cell_find.h"
#include "base/hash.h"
#include "record/rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 5 /* of several that fit */ };

/* Things with ids and names: problems or instances of the grid. */
struct list {
    const char *what; /* "problem" */
    uint32_t n;
    uint64_t (*id)(const struct ks_grid *g, uint32_t i);
    const char *(*name)(const struct ks_grid *g, uint32_t i);
    const struct ks_grid *g;
};

static uint64_t problem_id(const struct ks_grid *g, uint32_t i)
{
    return ks_problem_table_id(&g->problems, i);
}

static const char *problem_name(const struct ks_grid *g, uint32_t i)
{
    return ks_problem_table_name(&g->problems, i);
}

static uint64_t instance_id(const struct ks_grid *g, uint32_t i)
{
    return g->instances[i].id;
}

static const char *instance_name(const struct ks_grid *g, uint32_t i)
{
    return g->instances[i].name;
}

/* --- ways in which a text means a thing, the strictest first --- */

static bool is_name(const struct list *l, uint32_t i, const char *text)
{
    return strcmp(l->name(l->g, i), text) == 0;
}

static bool begins_id(const struct list *l, uint32_t i, const char *text)
{
    char hex[17];

    ks_hex64(l->id(l->g, i), hex);
    return strlen(text) <= 16 && strncmp(hex, text, strlen(text)) == 0;
}

/* The parts between "..." stand in the name in this order; the first at its start and the last at
 * its end, unless dots stand there. */
static bool has_parts(const struct list *l, uint32_t i, const char *text)
{
    const char *at = l->name(l->g, i), *dots;
    bool is_first = true;

    if (!strstr(text, "..."))
        return false;
    for (; (dots = strstr(text, "...")); text = dots + 3, is_first = false) {
        char part[KS_INSTANCE_NAME];
        const char *found;

        snprintf(part, sizeof(part), "%.*s", (int)(dots - text), text);
        found = strstr(at, part);
        if (!found || (is_first && found != at))
            return false;
        at = found + strlen(part);
    }
    return strlen(at) >= strlen(text) && strcmp(at + strlen(at) - strlen(text), text) == 0;
}

static bool has_part(const struct list *l, uint32_t i, const char *text)
{
    return strstr(l->name(l->g, i), text) != NULL;
}

typedef bool (*fits_fn)(const struct list *l, uint32_t i, const char *text);
static const fits_fn ways[] = { is_name, begins_id, has_parts, has_part };

static int say_several(const struct list *l, fits_fn fits, const char *text, uint32_t n_hits,
                       struct ks_err *err)
{
    struct ks_buf names;
    uint32_t n = 0;
    int rc;

    ks_buf_init(&names);
    for (uint32_t i = 0; i < l->n && n < SHOWN; i++)
        if (fits(l, i, text))
            ks_buf_printf(&names, "%s%.60s", n++ ? ", " : "", l->name(l->g, i));
    rc = ks_fail(err, KS_EINVAL, "%s '%.100s' is ambiguous, it matches %u: %s%s", l->what, text,
                 n_hits, ks_buf_text(&names), n_hits > n ? ", ..." : "");
    ks_buf_release(&names);
    return rc;
}

static int say_none(const struct list *l, const char *text, struct ks_err *err)
{
    const char **names = calloc(l->n + 1u, sizeof(*names)), *near = NULL;
    int rc;

    for (uint32_t i = 0; names && i < l->n; i++)
        names[i] = l->name(l->g, i);
    if (names)
        near = ks_nearest(text, names);
    rc = ks_fail(err, KS_EINVAL,
                 "%s '%.100s' is not in this run%s%.100s%s; give a name, a unique part of one, or "
                 "an id from training.csv",
                 l->what, text, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    free(names);
    return rc;
}

static int find(const struct list *l, const char *text, uint32_t *i_out, struct ks_err *err)
{
    for (size_t k = 0; *text && k < sizeof(ways) / sizeof(ways[0]); k++) {
        uint32_t n = 0, hit = 0;

        for (uint32_t i = 0; i < l->n; i++)
            if (ways[k](l, i, text)) {
                hit = n++ ? hit : i;
            }
        if (n > 1)
            return say_several(l, ways[k], text, n, err);
        if (n == 1) {
            *i_out = hit;
            return 0;
        }
    }
    return say_none(l, text, err);
}

/* --- the best --- */

struct best {
    const struct ks_cell_view *v;
    const struct ks_ledger *ledger;
    struct ks_record *r; /* scratch */
    uint64_t instance, label;
    double time_ns;
    bool is_clean;
};

/* Of attempts that count, in round 0; what was disturbed counts only where nothing is clean. */
static void weigh(struct best *b)
{
    const struct ks_record *r = b->r;
    const struct ks_ledger_cell *c = ks_ledger_find(b->ledger, &r->cell);
    double time_ns =
        ks_rounds_statistic(r, ks_label_statistic(ks_job_backend(&b->v->grid.job)->name));
    bool is_clean = !(r->outcome_flags & (KS_FL_CONTAMINATED | KS_FL_SUSPECT));

    if (!c || r->cell.problem != b->v->problem || r->role != KS_ROLE_CELL || r->round_index ||
        r->outcome != KS_O_OK || !ks_ledger_is_final(c) || c->attempt != r->attempt || time_ns <= 0)
        return;
    if (b->instance &&
        (b->is_clean > is_clean || (b->is_clean == is_clean && b->time_ns <= time_ns)))
        return;
    b->instance = r->cell.instance;
    b->time_ns = time_ns;
    b->is_clean = is_clean;
}

static int on_frame(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct best *b = ctx;
    struct ks_race_rec race;
    int rc;

    if (f->type == KS_F_RACE && ks_race_rec_decode(f->body, f->n, &race, NULL) == 0 &&
        race.problem == b->v->problem)
        b->label = race.label;
    if (f->type != KS_F_DONE)
        return 0;
    rc = ks_record_decode(f->body, f->n, b->r, NULL, err);
    if (rc < 0)
        return rc == KS_EFORMAT ? 0 : rc;
    weigh(b);
    return 0;
}

/* What visits have settled, else the shortest time of round 0. */
static int find_best(struct ks_cell_view *v, const struct ks_ledger *l, const char *journal,
                     uint32_t *i_out, struct ks_err *err)
{
    struct best b = { .v = v, .ledger = l, .r = malloc(sizeof(*b.r)) };
    struct ks_journal_totals totals;
    int64_t i;
    int rc = b.r ? ks_journal_read(journal, on_frame, NULL, &b, &totals, err)
                 : ks_fail(err, KS_ENOMEM, "out of memory");

    free(b.r);
    if (rc < 0)
        return rc;
    i = ks_grid_instance(&v->grid, b.label ? b.label : b.instance);
    if (i < 0)
        return ks_fail(err, KS_EINVAL, "no instance was measured on problem '%s' yet",
                       problem_name(&v->grid, v->i_problem));
    *i_out = (uint32_t)i;
    return 0;
}

int ks_cell_find(struct ks_cell_view *v, const struct ks_ledger *l, const char *journal,
                 const char *name, struct ks_err *err)
{
    const struct ks_grid *g = &v->grid;
    const struct list problems = { "problem", g->n_problems, problem_id, problem_name, g };
    const struct list instances = { "instance", g->n_instances, instance_id, instance_name, g };
    const char *colon = strrchr(name, ':');
    char problem[256];
    int rc;

    if (!colon || (size_t)(colon - name) >= sizeof(problem))
        return ks_fail(err, KS_EINVAL,
                       "cell '%.200s': write PROBLEM:INSTANCE, or PROBLEM:best for the fastest",
                       name);
    snprintf(problem, sizeof(problem), "%.*s", (int)(colon - name), name);
    rc = find(&problems, problem, &v->i_problem, err);
    if (rc < 0)
        return rc;
    v->problem = problem_id(g, v->i_problem);
    rc = strcmp(colon + 1, "best") == 0 ? find_best(v, l, journal, &v->i_instance, err)
                                        : find(&instances, colon + 1, &v->i_instance, err);
    if (rc < 0)
        return rc;
    v->instance = instance_id(g, v->i_instance);
    v->cell = (struct ks_cell){ v->problem, v->instance, g->condition };
    return 0;
}
