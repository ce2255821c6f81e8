/* SPDX-License-Identifier: MIT */
/* import_trace.c - imports convolutions and matrix products of a profiler's trace */
/* See docs/traces.md. Each distinct operator and set of shapes becomes a problem per direction,
 * with how often it ran and how long its kernels took. Of nested operators that compute the same
 * only the innermost counts. */
#include "base/buf.h"
#include "grid/import.h"
#include "grid/trace_nodes.h"
#include "grid/trace_problems.h"
#include "trace/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 256 }; /* levels of operators that are looked at: made ones must not cost more */

/* A distinct operator and shapes. */
struct group {
    struct ks_trace_problem what; /* kind NONE: not ours */
    uint32_t name, shape;
    uint64_t n_calls;
    int64_t first_external;
    struct ks_trace_times times;
};
struct groups {
    struct ks_names keys; /* name and shape, 8 bytes */
    struct group *at;     /* [keys.n] */
    uint32_t cap;
    uint32_t *of_op; /* [ops.n] */
    bool *has_inner; /* [ops.n] an operator within is ours */
};

static void groups_release(struct groups *g)
{
    ks_names_release(&g->keys);
    free(g->at);
    free(g->of_op);
    free(g->has_inner);
}

static int group_of(struct groups *g, const struct ks_trace *t, uint32_t op, struct ks_err *err)
{
    const uint32_t key[2] = { t->ops.name[op], t->ops.shape[op] }, n = g->keys.n;

    if (n == g->cap) {
        const uint32_t cap = n ? 2 * n : 64;
        struct group *at = realloc(g->at, cap * sizeof(*at));

        if (!at)
            return ks_fail(err, KS_ENOMEM, "no memory for %u operators", cap);
        g->at = at;
        g->cap = cap;
    }
    g->of_op[op] = ks_names_put(&g->keys, (const char *)key, sizeof(key));
    if (g->of_op[op] == KS_NAME_NONE)
        return ks_fail(err, KS_ENOMEM, "no memory for %u operators", n + 1);
    if (g->of_op[op] == n) {
        g->at[n] = (struct group){ .name = key[0], .shape = key[1] };
        ks_trace_problem_of(ks_trace_name(t, key[0]),
                            key[1] == KS_TRACE_NONE ? "" : ks_names_text(&t->shapes, key[1]),
                            &g->at[n].what);
    }
    return 0;
}

static bool is_ours(const struct groups *g, uint32_t op)
{
    return g->at[g->of_op[op]].what.kind != KS_TRACE_PROBLEM_NONE;
}

/* Marks every operator around one that is ours, up to a mark that is there already. */
static void mark_outer(struct groups *g, const struct ks_trace *t, uint32_t op)
{
    uint32_t outer = t->ops.parent[op];

    for (; outer != KS_TRACE_NONE && !g->has_inner[outer]; outer = t->ops.parent[outer])
        g->has_inner[outer] = true;
}

static int find_groups(struct groups *g, const struct ks_trace *t, struct ks_err *err)
{
    int rc = 0;

    ks_names_init(&g->keys);
    g->of_op = calloc(t->ops.n + 1, sizeof(*g->of_op));
    g->has_inner = calloc(t->ops.n + 1, sizeof(*g->has_inner));
    if (!g->of_op || !g->has_inner)
        return ks_fail(err, KS_ENOMEM, "no memory for %u operators", t->ops.n);
    for (uint32_t op = 0; rc == 0 && op < t->ops.n; op++)
        rc = group_of(g, t, op, err);
    for (uint32_t op = 0; rc == 0 && op < t->ops.n; op++)
        if (is_ours(g, op))
            mark_outer(g, t, op);
    for (uint32_t op = 0; rc == 0 && op < t->ops.n; op++) {
        struct group *of = &g->at[g->of_op[op]];

        if (g->has_inner[op])
            continue;
        if (of->n_calls++ == 0)
            of->first_external = t->ops.external[op];
    }
    return rc;
}

/* A kernel's time goes to the nearest operator around it that is ours, if that is an innermost one.
 */
static void add_times(struct groups *g, const struct ks_trace *t)
{
    for (uint32_t i = 0; i < t->gpu.n; i++) {
        uint32_t op = t->gpu.op[i];

        if (t->gpu.kind[i] != KS_TRACE_KERNEL)
            continue;
        for (int depth = 0; op != KS_TRACE_NONE && !is_ours(g, op); depth++)
            op = depth < DEPTH_MAX ? t->ops.parent[op] : KS_TRACE_NONE;
        if (op != KS_TRACE_NONE && !g->has_inner[op])
            ks_trace_times_add(&g->at[g->of_op[op]].times, ks_trace_name(t, t->gpu.name[i]),
                               t->gpu.dur_ns[i]);
    }
}

/* ---- groups to problems ---- */

static int refuse(struct ks_import *im, const struct ks_trace *t, const struct group *g,
                  const char *why)
{
    return ks_import_refuse(im, "%.60s: %.60s (%" PRIu64 " call%s)", ks_trace_name(t, g->name), why,
                            g->n_calls, g->n_calls == 1 ? "" : "s");
}

static int take_group(struct ks_import *im, const struct ks_trace *t, const struct group *g)
{
    struct ks_problem p[KS_TRACE_PROBLEMS_MAX];
    int64_t time_ns[KS_TRACE_PROBLEMS_MAX];
    struct ks_err why;
    int rc = 0, n;

    if (g->what.kind == KS_TRACE_PROBLEM_REFUSED)
        return refuse(im, t, g, g->what.why);
    n = ks_trace_problem_make(&g->what, p, &why);
    for (int i = 0; n >= 0 && i < n; i++) {
        p[i].count = g->n_calls < INT32_MAX ? (int64_t)g->n_calls : INT32_MAX;
        snprintf(p[i].name, sizeof(p[i].name), "%.70s%s", ks_trace_name(t, g->name),
                 g->what.is_ambiguous ? " (layout assumed)" : "");
        if (ks_problem_finish(&p[i], &why) < 0)
            n = -1;
    }
    if (n < 0)
        return why.code == KS_ENOMEM ? ks_fail(im->err, KS_ENOMEM, "%s", why.text)
                                     : refuse(im, t, g, why.text);
    ks_trace_times_share(&g->times, p, n, time_ns);
    rc = ks_import_take(im, p, (size_t)n);
    for (int i = 0; rc == 0 && i < n; i++)
        ks_problem_set_add_time(im->set, p[i].id, time_ns[i]);
    return rc;
}

/* The "line" of a problem is the External id of its first call. */
static int take_groups(struct ks_import *im, const struct ks_trace *t, const struct groups *g)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < g->keys.n; i++) {
        const struct group *group = &g->at[i];

        if (group->n_calls == 0 || group->what.kind == KS_TRACE_PROBLEM_NONE)
            continue;
        im->line = group->first_external > 0 ? (uint64_t)group->first_external : i + 1u;
        rc = take_group(im, t, group);
    }
    return rc;
}

/* Operators that were not read make counts too low: that is a refusal, too. */
static int refuse_damage(struct ks_import *im, const struct ks_trace_dirt *d)
{
    struct ks_buf what;
    int rc;

    if (!d->damage && !d->is_cut && d->n_bad == 0 && d->n_long == 0)
        return 0;
    ks_buf_init(&what);
    ks_trace_dirt_put(d, &what);
    im->line = 1;
    rc = ks_import_refuse(im, "%.100s", ks_buf_text(&what));
    ks_buf_release(&what);
    return rc;
}

/* Operators of a profile, or of an execution trace. */
static int read_operators(struct ks_trace_source *source, struct ks_trace **out, struct ks_err *err)
{
    char text[4096];
    size_t n = 0;
    int rc = ks_trace_source_read(source, text, sizeof(text), &n, err);

    if (rc == 0)
        rc = ks_trace_source_rewind(source, err);
    if (rc < 0)
        return rc;
    return ks_trace_nodes_sniff(text, n) ? ks_trace_nodes_read(source, out, err)
                                         : ks_trace_read(source, out, err);
}

static int trace_read(struct ks_problem_set *set, const char *text, size_t len, const char *name,
                      bool strict, struct ks_err *err)
{
    struct ks_trace_source *source = NULL;
    struct ks_trace *t = NULL;
    struct groups g = { 0 };
    struct ks_import im;
    int rc = ks_trace_source_memory(text, len, name, &source, err);

    ks_import_start(&im, set, "", 0, name, strict, err);
    if (rc == 0)
        rc = read_operators(source, &t, err);
    if (rc == 0)
        rc = find_groups(&g, t, err);
    if (rc == 0) {
        add_times(&g, t);
        rc = take_groups(&im, t, &g);
    }
    if (rc == 0)
        rc = refuse_damage(&im, &t->dirt);
    groups_release(&g);
    ks_import_stop(&im);
    ks_trace_release(t);
    ks_trace_source_close(source);
    return rc;
}

/* Gzip, or JSON whose beginning has what traces begin with: an array of events or their key among
 * the first keys. Lists of problems in JSON have neither. */
static bool trace_sniff(const char *text, size_t len)
{
    static const char *const keys[] = { "\"traceEvents\"", "\"schemaVersion\"",
                                        "\"deviceProperties\"", "\"ph\"" };
    const size_t n = len < 65536 ? len : 65536;
    size_t at = 0;

    if (len >= 2 && memcmp(text, "\x1f\x8b", 2) == 0)
        return true;
    while (at < n && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t'))
        at++;
    if (at == n || (text[at] != '{' && text[at] != '['))
        return false;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (memmem(text, n, keys[i], strlen(keys[i])))
            return true;
    return ks_trace_nodes_sniff(text, n);
}

const struct ks_importer ks_import_trace = { .name = "trace",
                                             .sniff = trace_sniff,
                                             .read = trace_read };
