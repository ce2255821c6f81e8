/* SPDX-License-Identifier: MIT */
/* cell_find.c - the cell that a text means: ids, names, parts of names, or the best of a problem.
 */
#include "cmd/cell_find.h"
#include "base/array.h"
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

struct timed { /* an attempt that counts, in round 0 */
    uint64_t instance, block;
    double median_ns;
};
struct anchored {
    uint64_t block;
    double anchor_ns; /* <= 0: not known */
};
struct best {
    const struct ks_cell_view *v;
    const struct ks_ledger *ledger;
    struct ks_record *r; /* scratch */
    struct timed *times;
    struct anchored *blocks;
    size_t n_times, cap_times, n_blocks, cap_blocks;
    uint64_t label;
};

static int add_time(struct best *b, struct ks_err *err)
{
    const struct ks_record *r = b->r;
    const struct ks_ledger_cell *c = ks_ledger_find(b->ledger, &r->cell);
    const double median_ns = ks_rounds_statistic(r, KS_STATISTIC_MEDIAN);
    int rc;

    if (!c || r->cell.problem != b->v->problem || r->role != KS_ROLE_CELL || r->round_index ||
        r->outcome != KS_O_OK || !ks_ledger_is_final(c) || c->attempt != r->attempt ||
        median_ns <= 0)
        return 0;
    rc = ks_reserve(&b->times, b->n_times + 1, &b->cap_times, sizeof(*b->times), "times", err);
    if (rc == 0)
        b->times[b->n_times++] = (struct timed){ r->cell.instance, r->block_id, median_ns };
    return rc;
}

/* A block comes when it opens, and again when it closes. */
static int add_block(struct best *b, const struct ks_block *block, struct ks_err *err)
{
    size_t i = 0;

    if (block->problem != b->v->problem)
        return 0;
    while (i < b->n_blocks && b->blocks[i].block != block->block_id)
        i++;
    if (i == b->n_blocks) {
        int rc = ks_reserve(&b->blocks, b->n_blocks + 1, &b->cap_blocks, sizeof(*b->blocks),
                            "blocks", err);

        if (rc < 0)
            return rc;
        b->n_blocks++;
    }
    b->blocks[i] = (struct anchored){ block->block_id, ks_block_anchor_ns(block) };
    return 0;
}

static int on_frame(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct best *b = ctx;
    struct ks_race_rec race;
    struct ks_block block;
    int rc;

    if (f->type == KS_F_RACE && ks_race_rec_decode(f->body, f->n, &race, NULL) == 0 &&
        race.problem == b->v->problem)
        b->label = race.label;
    if (f->type == KS_F_BLOCK && ks_block_decode(f->body, f->n, &block, NULL) == 0)
        return add_block(b, &block, err);
    if (f->type != KS_F_DONE)
        return 0;
    rc = ks_record_decode(f->body, f->n, b->r, NULL, err);
    if (rc < 0)
        return rc == KS_EFORMAT ? 0 : rc;
    return add_time(b, err);
}

static double anchor_of(const struct best *b, const struct timed *t)
{
    for (size_t i = 0; i < b->n_blocks; i++)
        if (b->blocks[i].block == t->block)
            return b->blocks[i].anchor_ns;
    return -1;
}

/* By the definition of the report (analysis/learn/label.h): the shortest median, over the anchor's
 * time where the problem was measured in several blocks and all of them have one. 0: none. */
static uint64_t shortest(const struct best *b)
{
    bool is_scaled = false, has_anchors = true;
    uint64_t instance = 0;
    double least = 0;

    for (size_t i = 0; i < b->n_times; i++) {
        is_scaled |= b->times[i].block != b->times[0].block;
        has_anchors &= anchor_of(b, &b->times[i]) > 0;
    }
    for (size_t i = 0; i < b->n_times; i++) {
        const double anchor_ns = is_scaled && has_anchors ? anchor_of(b, &b->times[i]) : 1;
        const double time = b->times[i].median_ns / anchor_ns;

        if (i && least <= time)
            continue;
        least = time;
        instance = b->times[i].instance;
    }
    return instance;
}

/* What visits have settled, else what the report calls the best. */
static int find_best(struct ks_cell_view *v, const struct ks_ledger *l, const char *journal,
                     uint32_t *i_out, struct ks_err *err)
{
    struct best b = { .v = v, .ledger = l, .r = malloc(sizeof(*b.r)) };
    struct ks_journal_totals totals;
    int64_t i = -1;
    int rc = b.r ? ks_journal_read(journal, on_frame, NULL, &b, &totals, err)
                 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        i = ks_grid_instance(&v->grid, b.label ? b.label : shortest(&b));
    free(b.r);
    free(b.times);
    free(b.blocks);
    if (rc < 0)
        return rc;
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
