/* SPDX-License-Identifier: MIT */
/* critical_table.c - tables of the critical path, by what bounds it and by name */
#include "analysis/trace/critical.h"

#include "base/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const struct ks_table_column ks_critical_columns[] = {
    { "trace", KS_DF_TEXT },  { "bound_by", KS_DF_TEXT }, { "parts", KS_DF_F64 },
    { "time_us", KS_DF_F64 }, { "percent", KS_DF_F64 },   { NULL, KS_DF_F64 }
};
const struct ks_table_column ks_part_columns[] = {
    { "trace", KS_DF_TEXT }, { "bound_by", KS_DF_TEXT }, { "name", KS_DF_TEXT },
    { "parts", KS_DF_F64 },  { "time_us", KS_DF_F64 },   { "percent", KS_DF_F64 },
    { NULL, KS_DF_F64 }
};
static const char *const words[KS_N_PATHS] = {
    [KS_PATH_COMPUTE] = "compute",    [KS_PATH_COMMUNICATION] = "communication",
    [KS_PATH_MEMORY] = "memory",      [KS_PATH_LAUNCH] = "launch",
    [KS_PATH_QUEUE] = "queue",        [KS_PATH_HOST] = "host",
    [KS_PATH_HOST_IDLE] = "host_idle"
};

struct sum {
    uint32_t name;
    enum ks_bound_by by;
    uint64_t n;
    int64_t ns;
};

static void put_sum(const struct ks_trace_view *v, const char *word, const char *name,
                    bool has_name, const struct sum *s, int64_t whole_ns, struct ks_table *to)
{
    ks_table_text(to, ks_path_base(v->t->path));
    ks_table_text(to, word);
    if (has_name)
        ks_table_text(to, name);
    ks_table_number(to, (double)s->n);
    ks_table_number(to, (double)s->ns / 1e3);
    ks_table_number(to, whole_ns > 0 ? 100 * (double)s->ns / (double)whole_ns : (double)NAN);
}

static int64_t whole_of(const struct ks_path *p)
{
    return p->n ? p->parts[0].end_ns - p->parts[p->n - 1].begin_ns : 0;
}

void ks_put_critical(const struct ks_trace_view *v, const struct ks_path *p, struct ks_table *to)
{
    struct sum sums[KS_N_PATHS + 1] = { { 0 } }, *all = &sums[KS_N_PATHS];

    for (size_t i = 0; i < p->n; i++) {
        struct sum *s = &sums[p->parts[i].by];

        s->n++;
        s->ns += p->parts[i].end_ns - p->parts[i].begin_ns;
    }
    for (int by = 0; by < KS_N_PATHS; by++) {
        all->n += sums[by].n;
        all->ns += sums[by].ns;
        if (sums[by].n)
            put_sum(v, words[by], NULL, false, &sums[by], whole_of(p), to);
    }
    if (p->n)
        put_sum(v, "(total)", NULL, false, all, whole_of(p), to);
}

static int compare(const void *x, const void *y)
{
    const struct sum *a = x, *b = y;

    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    if (a->by != b->by)
        return a->by < b->by ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

/* The first n_top; the rest as one line. */
static void put_sums(const struct ks_trace_view *v, const struct sum *sums, size_t n,
                     uint32_t n_top, int64_t whole_ns, struct ks_table *to)
{
    const size_t n_shown = n_top && n_top < n ? n_top : n;
    struct sum rest = { 0 };
    char text[32];

    for (size_t i = 0; i < n_shown; i++)
        put_sum(v, words[sums[i].by],
                sums[i].name == KS_NAME_NONE ? NULL : ks_trace_name(v->t, sums[i].name), true,
                &sums[i], whole_ns, to);
    for (size_t i = n_shown; i < n; i++) {
        rest.n += sums[i].n;
        rest.ns += sums[i].ns;
    }
    snprintf(text, sizeof(text), "(%zu others)", n - n_shown);
    if (n_shown < n)
        put_sum(v, "mixed", text, true, &rest, whole_ns, to);
}

int ks_put_parts(const struct ks_trace_view *v, const struct ks_path *p, uint32_t n_top,
                 struct ks_table *to, struct ks_err *err)
{
    /* KS_N_PATHS per name; the last are those without one. */
    const size_t n_names = v->t->names.n, n_sums = (n_names + 1) * KS_N_PATHS;
    struct sum *sums = calloc(n_sums, sizeof(*sums));
    size_t n = 0;

    if (!sums)
        return ks_fail(err, KS_ENOMEM, "out of memory for a table");
    for (size_t i = 0; i < p->n; i++) {
        const struct ks_path_part *part = &p->parts[i];
        const size_t name = part->name == KS_NAME_NONE ? n_names : part->name;
        struct sum *s = &sums[name * KS_N_PATHS + part->by];

        s->name = part->name;
        s->by = part->by;
        s->n++;
        s->ns += part->end_ns - part->begin_ns;
    }
    for (size_t i = 0; i < n_sums; i++)
        if (sums[i].n)
            sums[n++] = sums[i];
    if (n)
        qsort(sums, n, sizeof(*sums), compare);
    put_sums(v, sums, n, n_top, whole_of(p), to);
    free(sums);
    return 0;
}
