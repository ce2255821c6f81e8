/* SPDX-License-Identifier: MIT */
/* problems.c - sets of distinct problems: adds, merges, finds, excludes, reads files by format */
#include "grid/problems.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/opt.h"
#include "grid/find.h"
#include "grid/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of sniffing. */
const struct ks_importer *const ks_importers[] = { &ks_import_csv,       &ks_import_ck,
                                                   &ks_import_generator, &ks_import_ck_config,
                                                   &ks_import_miopen,    &ks_import_ckprofiler,
                                                   &ks_import_fdb,       &ks_import_pytorch,
                                                   &ks_import_trace,     NULL };

void ks_problem_set_init(struct ks_problem_set *s)
{
    *s = (struct ks_problem_set){ 0 };
}

void ks_problem_set_release(struct ks_problem_set *s)
{
    for (uint32_t i = 0; i < s->n_files; i++)
        free(s->files[i]);
    free(s->files);
    ks_problem_table_release(&s->problems);
    free(s->origins);
    free(s->refusals);
    free(s->slots);
    *s = (struct ks_problem_set){ 0 };
}

static uint32_t tag_of(uint64_t id)
{
    return (uint32_t)(ks_mix64(id) >> 32);
}

/* By the highest bits of the tag: a larger table has its entries in the same order. */
static uint32_t first_slot(const struct ks_problem_set *s, uint32_t tag)
{
    return (uint32_t)((uint64_t)tag * s->n_slots >> 32);
}

static bool is_slot_of(const struct ks_problem_set *s, const struct ks_problem_slot *slot,
                       uint32_t tag, uint64_t id)
{
    return slot->tag == tag && ks_problem_table_id(&s->problems, slot->row - 1) == id;
}

/* The slot of an id: where it is, or where it would go. The table is never full. Rows are far apart
 * in memory: tags spare most looks at them. */
static uint32_t find_slot(const struct ks_problem_set *s, uint64_t id)
{
    const uint32_t tag = tag_of(id), mask = s->n_slots - 1;
    uint32_t at = first_slot(s, tag);

    while (s->slots[at].row && !is_slot_of(s, &s->slots[at], tag, id))
        at = (at + 1) & mask;
    return at;
}

/* Of an id that is not there. */
static void put_slot(struct ks_problem_set *s, struct ks_problem_slot slot)
{
    uint32_t at = first_slot(s, slot.tag);

    while (s->slots[at].row)
        at = (at + 1) & (s->n_slots - 1);
    s->slots[at] = slot;
}

static int rebuild_slots(struct ks_problem_set *s, uint32_t n_slots, struct ks_err *err)
{
    struct ks_problem_slot *was = s->slots, *slots = calloc(n_slots, sizeof *slots);
    const uint32_t n_was = s->n_slots;

    if (!slots)
        return ks_fail(err, KS_ENOMEM, "no memory for %u problems", n_slots);
    s->slots = slots;
    s->n_slots = n_slots;
    for (uint32_t i = 0; i < n_was; i++)
        if (was[i].row)
            put_slot(s, was[i]);
    free(was);
    return 0;
}

/* Rows have been left out: the others have moved. */
static void renumber_slots(struct ks_problem_set *s)
{
    memset(s->slots, 0, s->n_slots * sizeof *s->slots);
    for (uint32_t i = 0; i < s->n; i++)
        put_slot(s, (struct ks_problem_slot){
                        .row = i + 1, .tag = tag_of(ks_problem_table_id(&s->problems, i)) });
}

static int grow_origins(struct ks_problem_set *s, struct ks_err *err)
{
    uint32_t cap = s->cap_origins ? 2 * s->cap_origins : 64;
    struct ks_origin *origins = realloc(s->origins, cap * sizeof *origins);

    if (!origins)
        return ks_fail(err, KS_ENOMEM, "no memory for %u problems", cap);
    s->origins = origins;
    s->cap_origins = cap;
    return 0;
}

static int reserve(struct ks_problem_set *s, struct ks_err *err)
{
    int rc = s->n == s->cap_origins ? grow_origins(s, err) : 0;

    if (rc < 0)
        return rc;
    return 2 * (s->n + 1) > s->n_slots ? rebuild_slots(s, s->n_slots ? 2 * s->n_slots : 256, err)
                                       : 0;
}

/* Files come one after the other: only the last can be the one. */
static int intern_file(struct ks_problem_set *s, const char *file, uint32_t *out,
                       struct ks_err *err)
{
    char **more;

    if (s->n_files == 0 || strcmp(s->files[s->n_files - 1], file) != 0) {
        more = realloc(s->files, (s->n_files + 1) * sizeof *more);
        if (!more)
            return ks_fail(err, KS_ENOMEM, "no memory for a file's name");
        s->files = more;
        s->files[s->n_files] = strdup(file);
        if (!s->files[s->n_files])
            return ks_fail(err, KS_ENOMEM, "no memory for a file's name");
        s->n_files++;
    }
    *out = s->n_files;
    return 0;
}

static int merge(struct ks_problem_table *t, uint32_t into, const struct ks_problem *p,
                 struct ks_err *err)
{
    int64_t sum;

    if (!ks_problem_table_is(t, into, p))
        return ks_fail(err, KS_EFORMAT,
                       "problems '%s' and '%s' differ but have the same id %016llx: leave one out",
                       ks_problem_table_name(t, into), p->name, (unsigned long long)p->id);
    if (__builtin_add_overflow(t->rows[into].count, p->count, &sum))
        return ks_fail(err, KS_EINVAL, "counts of problem '%s' add up to too much", p->name);
    t->rows[into].count = sum;
    return 0;
}

int ks_problem_set_add_from(struct ks_problem_set *s, const struct ks_problem *p, const char *file,
                            uint64_t line, struct ks_err *err)
{
    struct ks_origin origin = { .line = line };
    uint32_t at;
    int rc = reserve(s, err);

    if (rc == 0 && file)
        rc = intern_file(s, file, &origin.file, err);
    if (rc < 0)
        return rc;
    at = find_slot(s, p->id);
    if (s->slots[at].row) {
        rc = merge(&s->problems, s->slots[at].row - 1, p, err);
    } else {
        rc = ks_problem_table_add(&s->problems, p, err);
        if (rc == 0) {
            s->origins[s->n++] = origin;
            s->slots[at] = (struct ks_problem_slot){ .row = s->n, .tag = tag_of(p->id) };
        }
    }
    if (rc < 0)
        return rc;
    s->n_problems_raw++;
    return 0;
}

int ks_problem_set_add(struct ks_problem_set *s, const struct ks_problem *p, struct ks_err *err)
{
    return ks_problem_set_add_from(s, p, NULL, 0, err);
}

static int add_from_set(struct ks_problem_set *s, const struct ks_problem_set *from, uint32_t i,
                        struct ks_err *err)
{
    const struct ks_problem p = ks_problem_table_get(&from->problems, i);
    const int rc = ks_problem_set_add(s, &p, err);

    if (rc == 0)
        ks_problem_set_add_time(s, p.id, from->origins[i].time_ns);
    if (rc == 0)
        ks_problem_set_add_rank(s, p.id, from->origins[i].rank);
    return rc;
}

int ks_problem_set_take(struct ks_problem_set *s, struct ks_problem_set *from, struct ks_err *err)
{
    int rc = 0;

    if (s->n == 0) {
        struct ks_problem_set none = *s;

        s->problems = from->problems;
        s->origins = from->origins;
        s->slots = from->slots;
        s->files = from->files;
        s->n = from->n;
        s->cap_origins = from->cap_origins;
        s->n_slots = from->n_slots;
        s->n_files = from->n_files;
        s->n_problems_raw += from->n;
        from->problems = none.problems;
        from->origins = none.origins;
        from->slots = none.slots;
        from->files = none.files;
        from->n_files = none.n_files;
    } else {
        for (uint32_t i = 0; rc == 0 && i < from->n; i++)
            rc = add_from_set(s, from, i, err);
    }
    ks_problem_set_release(from);
    return rc;
}

const char *ks_problem_set_origin(const struct ks_problem_set *s, uint32_t i, uint64_t *line_out)
{
    const struct ks_origin *o = &s->origins[i];

    *line_out = o->line;
    return o->file ? s->files[o->file - 1] : "";
}

int64_t ks_problem_set_find(const struct ks_problem_set *s, uint64_t id)
{
    return s->n_slots ? (int64_t)s->slots[find_slot(s, id)].row - 1 : -1;
}

void ks_problem_set_add_time(struct ks_problem_set *s, uint64_t id, int64_t time_ns)
{
    int64_t *sum = &s->origins[ks_problem_set_find(s, id)].time_ns;

    if (__builtin_add_overflow(*sum, time_ns, sum))
        *sum = INT64_MAX;
}

void ks_problem_set_add_rank(struct ks_problem_set *s, uint64_t id, uint32_t rank)
{
    uint32_t *best = &s->origins[ks_problem_set_find(s, id)].rank;

    if (rank > 0 && (*best == 0 || rank < *best))
        *best = rank;
}

bool ks_problem_set_has_ranks(const struct ks_problem_set *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->origins[i].rank > 0)
            return true;
    return false;
}

bool ks_problem_set_has_times(const struct ks_problem_set *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->origins[i].time_ns > 0)
            return true;
    return false;
}

int ks_problem_set_refuse(struct ks_problem_set *s, const char *file, uint64_t line,
                          const char *reason, struct ks_err *err)
{
    struct ks_refusal *r;

    if (s->n_refusals == s->cap_refusals) {
        uint32_t cap = s->cap_refusals ? 2 * s->cap_refusals : 16;
        struct ks_refusal *more = realloc(s->refusals, cap * sizeof *more);

        if (!more)
            return ks_fail(err, KS_ENOMEM, "no memory for %u refusals", cap);
        s->refusals = more;
        s->cap_refusals = cap;
    }
    r = &s->refusals[s->n_refusals++];
    *r = (struct ks_refusal){ .line = line };
    snprintf(r->file, sizeof r->file, "%s", file);
    snprintf(r->reason, sizeof r->reason, "%s", reason);
    s->n_refused++;
    return 0;
}

static void list_importers(char *out, size_t cap, const char **names_out)
{
    size_t used = 0, n = 0;

    for (; ks_importers[n]; n++) {
        used +=
            (size_t)snprintf(out + used, cap - used, "%s%s", n ? ", " : "", ks_importers[n]->name);
        names_out[n] = ks_importers[n]->name;
    }
    names_out[n] = NULL;
}

static int choose_importer(const char *from, const char *text, size_t len, const char *path,
                           const struct ks_importer **out, struct ks_err *err)
{
    const char *names[16], *near;
    char known[128];
    bool is_auto = strcmp(from, "auto") == 0;

    for (size_t i = 0; ks_importers[i]; i++)
        if (is_auto ? ks_importers[i]->sniff(text, len)
                    : strcmp(from, ks_importers[i]->name) == 0) {
            *out = ks_importers[i];
            return 0;
        }
    list_importers(known, sizeof known, names);
    if (is_auto)
        return ks_fail(err, KS_EFORMAT,
                       "'%.300s' looks like no known problem list (%s): name its kind with --from",
                       path, known);
    near = ks_nearest(from, names);
    return ks_fail(err, KS_EINVAL, "no importer '%.32s'%s%s%s; available: auto, %s", from,
                   near ? ", did you mean '" : "", near ? near : "", near ? "'" : "", known);
}

int ks_problem_set_read(struct ks_problem_set *s, const char *path, const char *from, bool strict,
                        struct ks_err *err)
{
    const struct ks_importer *importer = NULL;
    struct ks_buf text;
    char room[1024];
    int rc = ks_find_input(&path, room, sizeof room, err);

    ks_buf_init(&text);
    if (rc == 0 && ks_path_is_dir(path))
        rc = ks_fail(err, KS_EINVAL, "'%s' is a directory; name a problem list", path);
    else if (rc == 0)
        rc = ks_file_read(path, &text, err);
    if (rc == 0)
        rc = choose_importer(from, ks_buf_text(&text), text.len, path, &importer, err);
    if (rc == 0)
        rc = importer->read(s, ks_buf_text(&text), text.len, path, strict, err);
    ks_buf_release(&text);
    return rc;
}

int ks_problem_set_keep(struct ks_problem_set *s, const bool *is_kept, struct ks_err *err)
{
    uint32_t n = 0;
    int rc = ks_problem_table_keep(&s->problems, is_kept, err);

    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < s->n; i++)
        if (is_kept[i])
            s->origins[n++] = s->origins[i];
    s->n = n;
    if (s->n_slots)
        renumber_slots(s);
    return 0;
}

int ks_problem_set_exclude(struct ks_problem_set *s, const struct ks_problem_set *other,
                           uint32_t *n_removed_out, struct ks_err *err)
{
    bool *is_kept = calloc((size_t)s->n + 1, sizeof *is_kept);
    uint32_t n_removed = 0;
    int rc;

    if (!is_kept)
        return ks_fail(err, KS_ENOMEM, "no memory for %u problems", s->n);
    for (uint32_t i = 0; i < s->n; i++) {
        is_kept[i] = ks_problem_set_find(other, ks_problem_table_id(&s->problems, i)) < 0;
        n_removed += !is_kept[i];
    }
    rc = ks_problem_set_keep(s, is_kept, err);
    free(is_kept);
    if (rc == 0 && n_removed_out)
        *n_removed_out = n_removed;
    return rc;
}
