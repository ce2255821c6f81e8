/* SPDX-License-Identifier: MIT */
/* read.c - reads all segments in order, each up to the fences that later owners have set */
#include "journal/journal.h"
#include "journal/segment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    ks_journal_frame_fn on_frame;
    ks_journal_damage_fn on_damage;
    void *ctx;
    char path[4096]; /* of the segment being read */
    uint32_t segment;
    struct ks_journal_totals totals;
};

static bool is_journal_frame(const struct ks_frame *f)
{
    return f->type < KS_F_REQ_SETUP && f->version <= KS_FRAME_VERSION &&
           strcmp(ks_frame_type_name(f->type), "?") != 0;
}

static int on_frame(void *ctx, const struct ks_frame *f, struct ks_err *err)
{
    struct reading *r = ctx;
    struct ks_journal_frame jf = {
        .segment = r->segment, .offset = f->offset, .type = f->type, .body = f->body, .n = f->n
    };

    r->totals.n_frames++;
    r->totals.is_closed = f->type == KS_F_CLOSE;
    if (!is_journal_frame(f)) {
        r->totals.n_unknown_types++;
        return 0;
    }
    return r->on_frame(r->ctx, &jf, err);
}

static void on_gap(void *ctx, uint64_t offset, uint64_t n_bytes, bool is_tail)
{
    struct reading *r = ctx;
    struct ks_journal_damage d = { .offset = offset, .n_bytes = n_bytes, .is_tail = is_tail };

    if (is_tail)
        r->totals.n_torn_tails++;
    else
        r->totals.n_damaged_places++;
    if (!r->on_damage)
        return;
    snprintf(d.path, sizeof(d.path), "%.*s", (int)sizeof(d.path) - 1, r->path);
    r->on_damage(r->ctx, &d);
}

/* How much of a segment counts. */
struct extent {
    uint64_t limit;         /* bytes: the lowest fence that any later segment put on it */
    uint32_t incarnation;   /* as its header says; 0: it has none */
    struct ks_id128 run_id; /* likewise */
    uint64_t created_ns;    /* likewise */
    bool is_copy;           /* of segment `incarnation`: nothing counts */
};

static void put_fences(const struct ks_segment *s, const struct ks_segment_list *l, size_t i,
                       struct extent *of)
{
    for (uint32_t k = 0; k < s->n_fences; k++)
        for (size_t j = 0; j < i; j++)
            if (l->number[j] == s->fences[k].segment && s->fences[k].n_bytes < of[j].limit)
                of[j].limit = s->fences[k].n_bytes;
}

static bool is_same_header(const struct extent *a, const struct extent *b)
{
    return a->incarnation == b->incarnation && a->created_ns == b->created_ns &&
           ks_id128_eq(a->run_id, b->run_id);
}

/* Its header is that of another one, which is there. A segment of the same number that was written
 * elsewhere, in a copy of the directory, has a header and records of its own. */
static bool is_copy(const struct ks_segment_list *l, size_t i, const struct extent *of)
{
    for (size_t j = 0; j < l->n; j++)
        if (j != i && l->number[j] == of[i].incarnation && is_same_header(&of[i], &of[j]))
            return true;
    return false;
}

static int read_header(const char *dir, uint32_t number, struct ks_segment *out, struct ks_err *err)
{
    char path[4096];
    int rc = ks_segment_path(path, sizeof(path), dir, number, err);

    return rc < 0 ? rc : ks_segment_header(path, out, err);
}

static int find_extents(const char *dir, const struct ks_segment_list *l, struct extent *of,
                        struct ks_err *err)
{
    struct ks_segment s;
    int rc = 0;

    for (size_t i = 0; i < l->n && rc >= 0; i++) {
        of[i] = (struct extent){ .limit = UINT64_MAX };
        rc = read_header(dir, l->number[i], &s, err);
        if (rc == 1) {
            of[i].incarnation = s.incarnation;
            of[i].run_id = s.run_id;
            of[i].created_ns = s.realtime_ns;
        }
    }
    for (size_t i = 0; i < l->n && rc >= 0; i++) {
        of[i].is_copy = is_copy(l, i, of);
        rc = of[i].is_copy || i == 0 ? 0 : read_header(dir, l->number[i], &s, err);
        if (rc == 1)
            put_fences(&s, l, i, of);
    }
    return rc < 0 ? rc : 0;
}

static int read_segment(struct reading *r, uint64_t limit, struct ks_err *err)
{
    struct ks_scan how = { .on_frame = on_frame, .on_gap = on_gap, .ctx = r, .limit = limit };
    uint64_t size, n = 0;
    int rc;

    r->totals.n_segments++;
    r->totals.is_closed = false;
    rc = ks_segment_scan(r->path, &how, &n, err);
    if (rc < 0)
        return rc;
    r->totals.n_bytes += n;
    if (limit == UINT64_MAX)
        return 0;
    rc = ks_segment_size(r->path, &size, err);
    if (rc == 0 && size > n)
        r->totals.n_late_bytes += size - n;
    if (rc == 0 && size < limit) /* it was longer when the fence was set */
        on_gap(r, size, limit - size, false);
    return rc;
}

static int tell_copy(struct reading *r, uint32_t copy_of, struct ks_err *err)
{
    struct ks_journal_damage d = { .copy_of = copy_of };
    int rc = ks_segment_size(r->path, &d.n_bytes, err);

    r->totals.n_damaged_places++;
    snprintf(d.path, sizeof(d.path), "%.*s", (int)sizeof(d.path) - 1, r->path);
    if (rc == 0 && r->on_damage)
        r->on_damage(r->ctx, &d);
    return rc;
}

static int read_all(const char *dir, const struct ks_segment_list *l, const struct extent *of,
                    struct reading *r, struct ks_err *err)
{
    uint32_t expected = 1;

    for (size_t i = 0; i < l->n; i++, expected++) {
        int rc;

        for (; expected < l->number[i]; expected++) {
            rc = ks_segment_path(r->path, sizeof(r->path), dir, expected, err);
            if (rc < 0)
                return rc;
            on_gap(r, 0, 0, false);
        }
        r->segment = expected;
        rc = ks_segment_path(r->path, sizeof(r->path), dir, expected, err);
        if (rc == 0)
            rc = of[i].is_copy ? tell_copy(r, of[i].incarnation, err)
                               : read_segment(r, of[i].limit, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int ks_journal_read(const char *dir, ks_journal_frame_fn frame_fn, ks_journal_damage_fn damage_fn,
                    void *ctx, struct ks_journal_totals *totals_out, struct ks_err *err)
{
    struct reading r = { .on_frame = frame_fn, .on_damage = damage_fn, .ctx = ctx };
    struct ks_segment_list l = { .n = 0 };
    struct extent *of = NULL;
    int rc;

    rc = ks_segment_list(dir, &l, err);
    if (rc < 0)
        goto out;
    if (l.n == 0) {
        rc = ks_fail(err, KS_ENOENT, "journal '%s' has no segment", dir);
        goto out;
    }
    of = calloc(l.n, sizeof(*of));
    if (!of) {
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu segments", l.n);
        goto out;
    }
    rc = find_extents(dir, &l, of, err);
    if (rc == 0)
        rc = read_all(dir, &l, of, &r, err);
    if (rc == 0 && totals_out)
        *totals_out = r.totals;
out:
    free(of);
    ks_segment_list_release(&l);
    return rc;
}

bool ks_journal_reaches(const char *dir, uint32_t segment, uint64_t offset)
{
    char path[4096];
    uint64_t size;

    return ks_segment_path(path, sizeof(path), dir, segment, NULL) == 0 &&
           ks_segment_size(path, &size, NULL) == 0 && size > offset;
}
