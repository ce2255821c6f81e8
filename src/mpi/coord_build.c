/* SPDX-License-Identifier: MIT */
/* coord_build.c - who compiles what before anything is measured, and who gets it from whom.
 *
 * Ranks that share a cache and build the same are a site; sites that build the same are a family.
 * Of a family one site compiles, all its ranks together; each other site gets from it what it
 * lacks, through its first rank, and compiles only what it could not get. Nobody measures on a host
 * where compilers run, or whose family still hands out what it has.
 *
 * There is no plan that could be spoilt by a loss: after each answer, greeting and loss it is
 * looked who has what and who is busy, and whoever can do something next is told so. */
#include "base/clock.h"
#include "mpi/coord_impl.h"
#include "mpi/share.h"

#include <stdlib.h>
#include <string.h>

#define BUILD_TRIES 2u /* builds of a site: what it still misses then, it misses for ever */

/* Of a site, as it stands now. */
struct ks_site {
    uint32_t n, n_busy, n_lacking; /* ranks: all that can build; that owe an answer; that miss */
    uint32_t first, n_jobs;        /* compilers at a time, of all */
    uint32_t n_tries;
    uint32_t least; /* units that the rank misses which misses the fewest */
    bool is_whole;  /* a rank of it misses nothing, so the cache has everything */
    bool is_compiling, is_fetching, has_fetched;
    bool is_settled;
};
/* Of a family. */
struct ks_kin {
    uint32_t source; /* a rank that has everything; KS_SHARE_NOBODY: none */
    uint32_t least;  /* of its sites: the one that has most compiles the rest */
    bool is_compiling;
    bool is_hopeless;    /* one of its sites could not build everything: none waits for another */
    bool is_handing_out; /* or will: its ranks have no time to measure */
};

static bool can_build(const struct rank *r)
{
    return ks_coord_is_alive(r) && !r->is_broken;
}

/* Labels of one sweep come from one build of each instance. */
static int check_builds(struct ks_coord *c, struct ks_err *err)
{
    const struct ks_grid *g = c->c.grid;
    for (uint32_t i = 0; c->c.build && i < g->n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(c->c.build, i);
        struct ks_id128 was = ks_ledger_build(c->c.ledger, g->instances[i].id);
        if (a->state != KS_ART_READY || ks_id128_is_zero(was) || ks_id128_eq(was, a->build_id))
            continue;
        if (!c->c.accept_rebuild)
            return ks_fail(err, KS_EINVAL,
                           "instance '%s' was measured with another build (source, compiler or "
                           "flags changed): resume with --accept-rebuild, or measure into a new "
                           "directory with --out",
                           g->instances[i].name);
        return ks_coord_event(c, KS_EV_CHANGED_KEY, 0, err,
                              "resumed with rebuilt kernels (--accept-rebuild), the first is '%s'",
                              g->instances[i].name);
    }
    return 0;
}

static int start_measuring(struct ks_coord *c, uint32_t i, struct ks_err *err)
{
    struct rank *r = &c->ranks[i];
    r->state = RANK_READY;
    if (!r->measures)
        return 0;
    int rc = c->is_measuring ? 0 : check_builds(c, err);
    if (rc == 0 && !c->is_measuring)
        rc = ks_coord_alias_begin(c, err);
    if (!c->is_measuring)
        c->measuring_ns = ks_now_ns();
    c->is_measuring = c->may_ask = true;
    c->last_beat_ns = 0; /* all are told at once */
    return rc < 0 ? rc : ks_sched_device_add(c->sched, i, err);
}

/* Who is where
 * -------------------------------------------------------------------------------------- */

/* A rank that has not said what it has might be of any host and site. */
static bool all_are_known(const struct ks_coord *c)
{
    for (uint32_t i = 0; i < c->n_ranks; i++) {
        const struct rank *r = &c->ranks[i];
        if (can_build(r) && (r->state == RANK_AWAITED || !r->has_told))
            return false;
    }
    return true;
}

static bool is_same_family(const struct rank *a, const struct rank *b)
{
    return ks_id128_eq(a->target, b->target);
}

static bool is_same_site(const struct rank *a, const struct rank *b)
{
    return is_same_family(a, b) && ks_id128_eq(a->cache, b->cache);
}

static bool is_same_host(const struct rank *a, const struct rank *b)
{
    return strcmp(a->host, b->host) == 0;
}

static uint32_t first_like(const struct ks_coord *c, uint32_t i,
                           bool (*is_like)(const struct rank *, const struct rank *))
{
    for (uint32_t k = 0; k < i; k++)
        if (is_like(&c->ranks[k], &c->ranks[i]))
            return k;
    return i;
}

/* Sites, families and hosts are called by the first rank that was ever in them. */
static int place_ranks(struct ks_coord *c, struct ks_err *err)
{
    c->sites = calloc(2u * c->n_ranks, sizeof(*c->sites));
    c->families = calloc(c->n_ranks, sizeof(*c->families));
    if (!c->sites || !c->families)
        return ks_fail(err, KS_ENOMEM, "coordinator: out of memory");
    for (uint32_t i = 0; i < c->n_ranks; i++) {
        struct rank *r = &c->ranks[i];
        r->i_site = first_like(c, i, is_same_site);
        r->i_family = first_like(c, i, is_same_family);
        r->i_host = first_like(c, i, is_same_host);
    }
    return 0;
}

static void count_rank(struct ks_coord *c, uint32_t k)
{
    const struct rank *r = &c->ranks[k];
    struct ks_site *s = &c->sites[r->i_site];
    if (!s->n++)
        *s = (struct ks_site){ .n = 1, .first = k, .least = UINT32_MAX };
    s->n_busy += r->n_orders > 0;
    s->n_jobs += r->n_jobs;
    s->n_lacking += r->n_missing > 0;
    s->least = r->n_missing < s->least ? r->n_missing : s->least;
    s->is_whole = s->least == 0;
    s->is_compiling |= r->n_orders && r->is_compiling;
    s->is_fetching |= r->n_orders && r->source != KS_SHARE_NOBODY;
    s->has_fetched |= r->has_fetched;
    s->n_tries = r->n_tries > s->n_tries ? r->n_tries : s->n_tries;
}

/* Who measures may hand out only when nobody else can. */
static void count_family(struct ks_coord *c, uint32_t k)
{
    const struct rank *r = &c->ranks[k];
    struct ks_kin *f = &c->families[r->i_family];
    const struct ks_site *s = &c->sites[r->i_site];
    f->least = s->least < f->least ? s->least : f->least;
    f->is_compiling |= s->is_compiling;
    f->is_hopeless |= !s->is_whole && !s->n_busy && s->n_tries >= BUILD_TRIES;
    if (!r->n_missing &&
        (f->source == KS_SHARE_NOBODY || (c->ranks[f->source].measures && !r->measures)))
        f->source = k;
}

static bool wants_to_fetch(const struct ks_site *s, const struct ks_kin *f)
{
    return s->is_fetching ||
           (!s->is_whole && !s->n_busy && !s->has_fetched && f->source != KS_SHARE_NOBODY);
}

static void count_all(struct ks_coord *c)
{
    memset(c->sites, 0, 2u * c->n_ranks * sizeof(*c->sites));
    for (uint32_t k = 0; k < c->n_ranks; k++)
        c->families[k] = (struct ks_kin){ .source = KS_SHARE_NOBODY, .least = UINT32_MAX };
    for (uint32_t k = 0; k < c->n_ranks; k++)
        if (can_build(&c->ranks[k]))
            count_rank(c, k);
    for (uint32_t k = 0; k < c->n_ranks; k++)
        if (can_build(&c->ranks[k]))
            count_family(c, k);
    for (uint32_t k = 0; k < c->n_ranks; k++) {
        const struct rank *r = &c->ranks[k];
        if (can_build(r) && wants_to_fetch(&c->sites[r->i_site], &c->families[r->i_family]))
            c->families[r->i_family].is_handing_out = true;
    }
}

/* Orders
 * -------------------------------------------------------------------------------------------- */

static int order(struct ks_coord *c, uint32_t k, enum ks_build_order what, uint64_t with,
                 struct ks_err *err)
{
    struct rank *r = &c->ranks[k];
    r->n_orders++;
    r->is_compiling = what == KS_ORDER_BUILD;
    r->source = what == KS_ORDER_FETCH ? (uint32_t)with : KS_SHARE_NOBODY;
    return ks_coord_send(c, k, KS_F_MSG_BUILD, what, with, err);
}

static int order_build(struct ks_coord *c, uint32_t i_site, struct ks_err *err)
{
    struct ks_site *s = &c->sites[i_site];
    int rc = 0;
    s->is_compiling = c->families[c->ranks[s->first].i_family].is_compiling = true;
    for (uint32_t k = s->first; k < c->n_ranks && rc == 0; k++)
        if (can_build(&c->ranks[k]) && c->ranks[k].i_site == i_site) {
            c->ranks[k].n_tries++;
            rc = order(c, k, KS_ORDER_BUILD, s->n_jobs, err);
        }
    return rc;
}

/* The cache has everything: whoever has not seen it looks again. Who then still misses something
 * has another cache, of which it only seemed to be the same. */
static int order_look(struct ks_coord *c, uint32_t i_site, struct ks_err *err)
{
    int rc = 0;
    for (uint32_t k = 0; k < c->n_ranks && rc == 0; k++) {
        struct rank *r = &c->ranks[k];
        if (!can_build(r) || r->i_site != i_site || !r->n_missing || r->n_orders)
            continue;
        if (r->has_looked)
            r->i_site = c->n_ranks + k;
        r->has_looked = true;
        rc = order(c, k, KS_ORDER_LOOK, 0, err);
    }
    return rc;
}

/* It lacks what another one compiles, or will. */
static bool waits_for_another(const struct ks_site *s, const struct ks_kin *f)
{
    return (f->is_compiling || s->least > f->least) && !f->is_hopeless && !s->has_fetched &&
           !s->n_tries;
}

static int advance_site(struct ks_coord *c, uint32_t i_site, struct ks_err *err)
{
    struct ks_site *s = &c->sites[i_site];
    const struct ks_kin *f = &c->families[c->ranks[s->first].i_family];
    if (s->is_whole) {
        s->is_settled = !s->n_lacking;
        return order_look(c, i_site, err);
    }
    if (s->n_busy)
        return 0;
    if (wants_to_fetch(s, f)) {
        if (c->n_fetching == KS_COORD_FETCHING)
            return 0;
        c->n_fetching++;
        return order(c, s->first, KS_ORDER_FETCH, f->source, err);
    }
    s->is_settled = s->n_tries >= BUILD_TRIES;
    if (s->is_settled || waits_for_another(s, f))
        return 0;
    return order_build(c, i_site, err);
}

/* Whose source is gone gets another, or is told that there is none: either way it answers. */
static int replace_sources(struct ks_coord *c, struct ks_err *err)
{
    int rc = 0;
    c->n_fetching = 0;
    for (uint32_t k = 0; k < c->n_ranks && rc == 0; k++) {
        const struct rank *r = &c->ranks[k];
        if (!can_build(r) || !r->n_orders || r->source == KS_SHARE_NOBODY)
            continue;
        c->n_fetching++;
        if (!can_build(&c->ranks[r->source]))
            rc = order(c, k, KS_ORDER_FETCH, c->families[r->i_family].source, err);
    }
    return rc;
}

/* On a host where everything is built, and nobody is handed anything. */
static int start_hosts(struct ks_coord *c, struct ks_err *err)
{
    int rc = 0;
    bool *is_held = calloc(c->n_ranks, sizeof(*is_held));
    if (!is_held)
        return ks_fail(err, KS_ENOMEM, "coordinator: out of memory");
    for (uint32_t k = 0; k < c->n_ranks; k++) {
        const struct rank *r = &c->ranks[k];
        is_held[r->i_host] |= can_build(r) && (!c->sites[r->i_site].is_settled ||
                                               c->families[r->i_family].is_handing_out);
    }
    for (uint32_t k = 0; k < c->n_ranks && rc == 0; k++) {
        const struct rank *r = &c->ranks[k];
        if (can_build(r) && r->state == RANK_BUILDING && !is_held[r->i_host])
            rc = start_measuring(c, k, err);
    }
    free(is_held);
    return rc;
}

int ks_coord_advance_builds(struct ks_coord *c, struct ks_err *err)
{
    int rc = 0;
    if (!all_are_known(c))
        return 0;
    if (!c->sites)
        rc = place_ranks(c, err);
    if (rc < 0)
        return rc;
    count_all(c);
    rc = replace_sources(c, err);
    for (uint32_t i = 0; i < 2 * c->n_ranks && rc == 0; i++)
        if (c->sites[i].n)
            rc = advance_site(c, i, err);
    return rc < 0 ? rc : start_hosts(c, err);
}

int ks_coord_build_end(struct ks_coord *c, uint32_t from, uint32_t n_missing, struct ks_err *err)
{
    struct rank *r = &c->ranks[from];
    r->n_missing = n_missing;
    r->has_told = true;
    r->n_orders -= r->n_orders > 0;
    if (!r->n_orders && r->source != KS_SHARE_NOBODY) {
        r->has_fetched |= n_missing > 0;
        r->source = KS_SHARE_NOBODY;
    }
    return ks_coord_advance_builds(c, err);
}

/* What the ranks hand each other. Who was lost may be back, and ask what nobody told it.
 * ------------------------------------------------------------------------------ */

static int send_body(struct ks_coord *c, uint32_t to, uint16_t type, struct ks_buf *body,
                     struct ks_err *err)
{
    int rc = ks_buf_ok(body) ? ks_net_send(c->c.net, to, type, body->data, body->len, err)
                             : ks_fail(err, KS_ENOMEM, "coordinator: out of memory");
    ks_buf_release(body);
    return rc;
}

int ks_coord_fetch(struct ks_coord *c, uint32_t from, const struct ks_frame *f, struct ks_err *err)
{
    struct ks_share_ask a;
    struct ks_buf body;
    int rc = ks_share_ask_get(f->body, f->n, &a, err);
    if (rc < 0 || !can_build(&c->ranks[from]) || a.peer != c->ranks[from].source)
        return rc;
    const uint32_t source = a.peer;
    ks_buf_init(&body);
    a.peer = from;
    ks_share_ask_put(&a, &body);
    return send_body(c, source, KS_F_MSG_SEND, &body, err);
}

int ks_coord_sent(struct ks_coord *c, uint32_t from, const struct ks_frame *f, struct ks_err *err)
{
    struct ks_share_piece p;
    struct ks_buf body;
    int rc = ks_share_piece_get(f->body, f->n, &p, err);
    if (rc < 0 || p.peer >= c->n_ranks || !can_build(&c->ranks[p.peer]) ||
        c->ranks[p.peer].source != from)
        return rc;
    const uint32_t to = p.peer;
    ks_buf_init(&body);
    p.peer = from;
    ks_share_piece_put(&p, &body);
    return send_body(c, to, KS_F_MSG_PIECE, &body, err);
}
