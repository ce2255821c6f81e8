/* SPDX-License-Identifier: MIT */
/* domains.c - which instances compute which problems: operator, direction, dtype, layout, ndim */
#include "grid/domains.h"

#include "base/hash.h"
#include "grid/family.h"
#include "op/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct domain {
    uint64_t key;
    char text[96];
    uint32_t first, n; /* the first position that has it, and how many have it */
};

/* The distinct domains of the problems, or of the instances. */
struct side {
    struct domain *list; /* [n] */
    uint32_t n;
    uint32_t *of; /* [positions] */
};

struct ks_domains {
    struct side problems, instances;
    bool *fits;       /* [problems.n * instances.n] */
    uint32_t *n_fits; /* [problems.n] instances, not domains */
    uint64_t n_all;
};

static uint32_t ndim_of(const struct ks_problem *p)
{
    int k = ks_problem_dim(p->op, "ndim");

    return k < 0 ? 0 : (uint32_t)p->dim[k];
}

static bool compare(const struct ks_grid *g, uint32_t i_problem, uint32_t i_instance)
{
    const struct ks_problem p = ks_problem_table_get(&g->problems, i_problem);
    const struct ks_instance *i = &g->instances[i_instance];
    const struct ks_family *f = &g->families[i->i_family];
    struct ks_domain d;
    uint32_t ndim;

    if (p.op != f->i_op)
        return false;
    if (f->is_program)
        return true;
    ks_instance_domain(f, i, &d);
    if (d.direction != p.direction || d.dtype != p.dtype || d.layout != p.layout)
        return false;
    ndim = d.ndim ? ndim_of(&p) : 0;
    return ndim == 0 || ndim == d.ndim;
}

static void problem_text(const struct ks_grid *g, uint32_t at, struct ks_buf *b)
{
    const struct ks_problem p = ks_problem_table_get(&g->problems, at);
    uint32_t ndim = ndim_of(&p);

    ks_buf_printf(b, "%s %s %s ", ks_operators[p.op]->name, ks_direction_name(p.direction),
                  ks_dtype_name(p.dtype));
    if (ndim)
        ks_buf_printf(b, "%ud ", ndim);
    ks_buf_printf(b, "%s", ks_layout_name(p.layout));
}

/* A T1 family has no operator, and so nothing else of these. */
static void instance_text(const struct ks_grid *g, uint32_t at, struct ks_buf *b)
{
    const struct ks_instance *i = &g->instances[at];
    const struct ks_family *f = &g->families[i->i_family];

    if (f->i_op == UINT32_MAX) {
        ks_buf_printf(b, "of family %s (T1: no operator)", f->name);
        return;
    }
    if (f->is_program) {
        ks_buf_printf(b, "%s, a program for %s", f->name, f->op);
        return;
    }
    ks_buf_printf(b, "%s ", f->op);
    ks_instance_domain_text(f, i, b);
}

/* One number per domain. Of a problem without its text: there may be a million. */
static int problem_key(const struct ks_grid *g, uint32_t at, uint64_t *key_out)
{
    const struct ks_problem p = ks_problem_table_get(&g->problems, at);

    *key_out =
        (uint64_t)p.op << 32 | p.direction << 24 | p.dtype << 16 | p.layout << 8 | ndim_of(&p);
    return 0;
}

static int instance_key(const struct ks_grid *g, uint32_t at, uint64_t *key_out)
{
    struct ks_buf b;
    int rc;

    ks_buf_init(&b);
    instance_text(g, at, &b);
    rc = ks_buf_ok(&b) ? 0 : KS_ENOMEM;
    *key_out = ks_id64(b.data, b.len);
    ks_buf_release(&b);
    return rc;
}

typedef int (*key_fn)(const struct ks_grid *, uint32_t, uint64_t *);
typedef void (*text_fn)(const struct ks_grid *, uint32_t, struct ks_buf *);

static int add(struct side *s, uint64_t key, const struct ks_grid *g, uint32_t at, text_fn text_of)
{
    struct domain *more = realloc(s->list, (s->n + 1) * sizeof *more);
    struct ks_buf b;
    int rc;

    if (!more)
        return KS_ENOMEM;
    s->list = more;
    ks_buf_init(&b);
    text_of(g, at, &b);
    rc = ks_buf_ok(&b) ? 0 : KS_ENOMEM;
    more[s->n] = (struct domain){ .key = key, .first = at };
    snprintf(more[s->n++].text, sizeof more->text, "%.95s", ks_buf_text(&b));
    ks_buf_release(&b);
    return rc;
}

static int fill(struct side *s, const struct ks_grid *g, uint32_t n, key_fn key_of, text_fn text_of)
{
    int rc;

    s->of = calloc((size_t)n + 1, sizeof *s->of);
    rc = s->of ? 0 : KS_ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        uint64_t key = 0;
        uint32_t k = 0;

        rc = key_of(g, i, &key);
        while (k < s->n && s->list[k].key != key)
            k++;
        if (rc == 0 && k == s->n)
            rc = add(s, key, g, i, text_of);
        if (rc == 0) {
            s->list[k].n++;
            s->of[i] = k;
        }
    }
    return rc;
}

static int join(struct ks_domains *d, const struct ks_grid *g)
{
    const struct side *p = &d->problems, *i = &d->instances;

    d->fits = calloc((size_t)p->n * i->n + 1, sizeof *d->fits);
    d->n_fits = calloc((size_t)p->n + 1, sizeof *d->n_fits);
    if (!d->fits || !d->n_fits)
        return KS_ENOMEM;
    for (uint32_t a = 0; a < p->n; a++) {
        for (uint32_t b = 0; b < i->n; b++) {
            bool fits = compare(g, p->list[a].first, i->list[b].first);

            d->fits[(size_t)a * i->n + b] = fits;
            d->n_fits[a] += fits ? i->list[b].n : 0;
        }
        d->n_all += (uint64_t)d->n_fits[a] * p->list[a].n;
    }
    return 0;
}

int ks_domains_create(const struct ks_grid *g, struct ks_domains **out, struct ks_err *err)
{
    struct ks_domains *d = calloc(1, sizeof *d);
    int rc = d ? fill(&d->problems, g, g->n_problems, problem_key, problem_text) : KS_ENOMEM;

    if (rc == 0)
        rc = fill(&d->instances, g, g->n_instances, instance_key, instance_text);
    if (rc == 0)
        rc = join(d, g);
    if (rc < 0) {
        ks_domains_free(d);
        return ks_fail(err, KS_ENOMEM, "no memory for the domains of a grid");
    }
    *out = d;
    return 0;
}

bool ks_domains_fit(const struct ks_domains *d, uint32_t i_problem, uint32_t i_instance)
{
    return d
        ->fits[(size_t)d->problems.of[i_problem] * d->instances.n + d->instances.of[i_instance]];
}

bool ks_domains_fits_any(const struct ks_domains *d, uint32_t i_instance)
{
    for (uint32_t a = 0; a < d->problems.n; a++)
        if (d->fits[(size_t)a * d->instances.n + d->instances.of[i_instance]])
            return true;
    return false;
}

uint32_t ks_domains_of(const struct ks_domains *d, uint32_t i_problem)
{
    return d->problems.of[i_problem];
}

uint32_t ks_domains_n(const struct ks_domains *d)
{
    return d->problems.n;
}

uint32_t ks_domains_first(const struct ks_domains *d, uint32_t domain)
{
    return d->problems.list[domain].first;
}

uint64_t ks_domains_n_fits(const struct ks_domains *d)
{
    return d->n_all;
}

uint32_t ks_domains_n_fits_of(const struct ks_domains *d, uint32_t i_problem)
{
    return d->n_fits[d->problems.of[i_problem]];
}

uint32_t ks_domains_n_idle(const struct ks_domains *d)
{
    uint32_t n = 0;

    for (uint32_t b = 0; b < d->instances.n; b++) {
        bool fits = false;

        for (uint32_t a = 0; a < d->problems.n; a++)
            fits |= d->fits[(size_t)a * d->instances.n + b];
        n += fits ? 0 : d->instances.list[b].n;
    }
    return n;
}

void ks_domains_say(const struct ks_domains *d, uint32_t i_problem, uint32_t i_instance,
                    struct ks_buf *text_out)
{
    ks_buf_printf(text_out, "instance is %s, problem is %s",
                  d->instances.list[d->instances.of[i_instance]].text,
                  d->problems.list[d->problems.of[i_problem]].text);
}

void ks_domains_free(struct ks_domains *d)
{
    if (!d)
        return;
    free(d->problems.list);
    free(d->problems.of);
    free(d->instances.list);
    free(d->instances.of);
    free(d->fits);
    free(d->n_fits);
    free(d);
}
