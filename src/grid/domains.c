/* SPDX-License-Identifier: MIT */
#include "grid/domains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The distinct texts of one side, and which of them each position has. */
struct side {
    char (*texts)[64]; /* [n] */
    uint32_t n;
    uint32_t *of; /* [positions] */
};

struct ks_domains {
    struct side problems, instances;
    char (*texts)[160]; /* [problems.n * instances.n] */
};

static uint32_t ndim_of(const struct ks_problem *p)
{
    int k = ks_problem_dim(p->op, "ndim");

    return k < 0 ? 0 : (uint32_t)p->dim[k];
}

bool ks_domain_fits(const struct ks_family *f, const struct ks_instance *i,
                    const struct ks_problem *p)
{
    struct ks_domain d;
    uint32_t ndim;

    ks_instance_domain(f, i, &d);
    if (d.direction != p->direction || d.dtype != p->dtype || d.layout != p->layout)
        return false;
    ndim = d.ndim ? ndim_of(p) : 0;
    return ndim == 0 || ndim == d.ndim;
}

static void problem_text(const struct ks_grid *g, uint32_t at, struct ks_buf *b)
{
    const struct ks_problem *p = &g->problems[at];
    uint32_t ndim = ndim_of(p);

    ks_buf_printf(b, "%s %s ", ks_direction_name(p->direction), ks_dtype_name(p->dtype));
    if (ndim)
        ks_buf_printf(b, "%ud ", ndim);
    ks_buf_printf(b, "%s", ks_layout_name(p->layout));
}

static void instance_text(const struct ks_grid *g, uint32_t at, struct ks_buf *b)
{
    const struct ks_instance *i = &g->instances[at];

    ks_instance_domain_text(&g->families[i->i_family], i, b);
}

/* The text's place in the list; it is put there when it is new. */
static int place(struct side *s, const char *text, uint32_t *out)
{
    char(*more)[64];

    for (*out = 0; *out < s->n; ++*out)
        if (strcmp(s->texts[*out], text) == 0)
            return 0;
    more = realloc(s->texts, (s->n + 1) * sizeof *more);
    if (!more)
        return KS_ENOMEM;
    s->texts = more;
    snprintf(more[s->n++], sizeof *more, "%.63s", text);
    return 0;
}

static int fill(struct side *s, const struct ks_grid *g, uint32_t n,
                void (*text_of)(const struct ks_grid *, uint32_t, struct ks_buf *))
{
    struct ks_buf b;
    int rc;

    s->of = calloc((size_t)n + 1, sizeof *s->of);
    rc = s->of ? 0 : KS_ENOMEM;
    ks_buf_init(&b);
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        ks_buf_clear(&b);
        text_of(g, i, &b);
        rc = ks_buf_ok(&b) ? place(s, ks_buf_text(&b), &s->of[i]) : KS_ENOMEM;
    }
    ks_buf_release(&b);
    return rc;
}

static int join(struct ks_domains *d)
{
    uint32_t n = d->instances.n;

    d->texts = calloc((size_t)d->problems.n * n + 1, sizeof *d->texts);
    if (!d->texts)
        return KS_ENOMEM;
    for (uint32_t p = 0; p < d->problems.n; p++)
        for (uint32_t i = 0; i < n; i++)
            snprintf(d->texts[(size_t)p * n + i], sizeof *d->texts, "instance is %s, problem is %s",
                     d->instances.texts[i], d->problems.texts[p]);
    return 0;
}

int ks_domains_create(const struct ks_grid *g, struct ks_domains **out, struct ks_err *err)
{
    struct ks_domains *d = calloc(1, sizeof *d);
    int rc = d ? fill(&d->problems, g, g->n_problems, problem_text) : KS_ENOMEM;

    if (rc == 0)
        rc = fill(&d->instances, g, g->n_instances, instance_text);
    if (rc == 0)
        rc = join(d);
    if (rc < 0) {
        ks_domains_free(d);
        return ks_fail(err, KS_ENOMEM, "no memory for the domains of a grid");
    }
    *out = d;
    return 0;
}

const char *ks_domains_text(const struct ks_domains *d, uint32_t i_problem, uint32_t i_instance)
{
    return d
        ->texts[(size_t)d->problems.of[i_problem] * d->instances.n + d->instances.of[i_instance]];
}

void ks_domains_free(struct ks_domains *d)
{
    if (!d)
        return;
    free(d->problems.texts);
    free(d->problems.of);
    free(d->instances.texts);
    free(d->instances.of);
    free(d->texts);
    free(d);
}
