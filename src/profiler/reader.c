/* SPDX-License-Identifier: MIT */
/* reader.c - from a program's output to rows; what lines mean is the adapter's business */
#include "base/array.h"
#include "base/hash.h"
#include "profiler/profiler_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How often a name was seen with a split-k; an entry of a hash table. */
struct seen {
    uint64_t key; /* never 0 in a used slot */
    uint32_t n;
};

struct ks_profiler_reader {
    const struct ks_profiler *adapter;
    const void *options;
    void *state;
    ks_profiler_row_fn on_row;
    void *context;
    struct ks_profiler_summary summary;
    struct ks_buf line, running, reason, best;
    bool is_cut, was_return, is_started; /* of the line; the last byte was CR; a line is begun */
    bool is_running, is_chosen;
    int rc; /* the first failure */
    struct ks_profiler_draft held;
    bool has_held;
    struct ks_profiler_trait *traits; /* of the row that is given */
    size_t cap_traits;
    struct seen *seen; /* [n_slots], a power of two */
    size_t n_slots, n_seen;
};

/* ---- what adapters use ---- */

const void *ks_reader_options(const struct ks_profiler_reader *r)
{
    return r->options;
}

void *ks_reader_state(const struct ks_profiler_reader *r)
{
    return r->state;
}

struct ks_profiler_summary *ks_reader_summary(struct ks_profiler_reader *r)
{
    return &r->summary;
}

static void put_text(struct ks_buf *b, const char *text, size_t n)
{
    ks_buf_clear(b);
    ks_buf_put(b, text, n);
}

void ks_reader_set_running(struct ks_profiler_reader *r, const char *name, size_t n)
{
    r->is_running = name != NULL;
    if (name)
        put_text(&r->running, name, n);
}

void ks_reader_set_reason(struct ks_profiler_reader *r, const char *text, size_t n)
{
    put_text(&r->reason, text, n);
    r->summary.reason = ks_buf_text(&r->reason);
}

void ks_reader_set_best(struct ks_profiler_reader *r, const char *name, size_t n)
{
    put_text(&r->best, name, n);
    r->summary.best = ks_buf_text(&r->best);
}

void ks_reader_count_other(struct ks_profiler_reader *r)
{
    r->summary.n_other_lines++;
}

void ks_draft_name(struct ks_profiler_draft *d, const char *text, size_t n)
{
    put_text(&d->name, text, n);
}

void ks_draft_reason(struct ks_profiler_draft *d, const char *text, size_t n)
{
    put_text(&d->reason, text, n);
}

void ks_draft_rest(struct ks_profiler_draft *d, const char *text, size_t n)
{
    put_text(&d->rest, text, n);
}

void ks_draft_trait(struct ks_profiler_draft *d, const char *key, const char *value, size_t n)
{
    ks_buf_put(&d->traits, key, strlen(key) + 1);
    ks_buf_put(&d->traits, value, n);
    ks_buf_u8(&d->traits, 0);
    d->n_traits++;
}

static void clear_draft(struct ks_profiler_draft *d)
{
    ks_buf_clear(&d->name);
    ks_buf_clear(&d->reason);
    ks_buf_clear(&d->rest);
    ks_buf_clear(&d->traits);
    d->n_traits = 0;
    d->row = (struct ks_profiler_row){ .split_k_requested = KS_PROFILER_UNTOLD,
                                       .split_k_used = KS_PROFILER_UNTOLD,
                                       .index = KS_PROFILER_UNTOLD };
}

/* ---- ordinals of equal names ---- */

static struct seen *find_slot(struct seen *slots, size_t n_slots, uint64_t key)
{
    size_t i = (size_t)ks_mix64(key) & (n_slots - 1);

    while (slots[i].key && slots[i].key != key)
        i = (i + 1) & (n_slots - 1);
    return &slots[i];
}

static int grow_seen(struct ks_profiler_reader *r, struct ks_err *err)
{
    size_t n = r->n_slots ? 2 * r->n_slots : 64;
    struct seen *slots = calloc(n, sizeof *slots);

    if (!slots)
        return ks_fail(err, KS_ENOMEM, "out of memory counting instances");
    for (size_t i = 0; i < r->n_slots; i++)
        if (r->seen[i].key)
            *find_slot(slots, n, r->seen[i].key) = r->seen[i];
    free(r->seen);
    r->seen = slots;
    r->n_slots = n;
    return 0;
}

static uint64_t key_of(const char *name, size_t n, int64_t split_k, bool is_listed)
{
    const uint64_t key = ks_id64(name, n) ^ ks_mix64((uint64_t)split_k + is_listed);

    return key + (key == 0);
}

static int number_row(struct ks_profiler_reader *r, struct ks_profiler_row *row, struct ks_err *err)
{
    const uint64_t key =
        key_of(row->instance, row->n_instance, row->split_k_requested, row->outcome == KS_O_NONE);
    struct seen *slot;

    if (2 * (r->n_seen + 1) > r->n_slots && grow_seen(r, err) < 0)
        return KS_ENOMEM;
    slot = find_slot(r->seen, r->n_slots, key);
    r->n_seen += slot->key == 0;
    slot->key = key;
    row->ordinal = slot->n++;
    return 0;
}

/* ---- rows ---- */

static void count_row(struct ks_profiler_summary *s, uint32_t outcome)
{
    s->n_rows++;
    s->n_ok += outcome == KS_O_OK;
    s->n_unsupported += outcome == KS_O_UNSUPPORTED;
    s->n_wrong += outcome == KS_O_WRONG_RESULT;
    s->n_untrusted += outcome == KS_O_UNTRUSTED;
    s->n_listed += outcome == KS_O_NONE;
}

static int set_traits(struct ks_profiler_reader *r, struct ks_profiler_draft *d, struct ks_err *err)
{
    const char *at = ks_buf_text(&d->traits);

    if (ks_reserve(&r->traits, d->n_traits, &r->cap_traits, sizeof *r->traits, "traits", err) < 0)
        return KS_ENOMEM;
    for (size_t i = 0; i < d->n_traits; i++) {
        r->traits[i].key = at;
        at += strlen(at) + 1;
        r->traits[i].value = at;
        at += strlen(at) + 1;
    }
    d->row.traits = r->traits;
    d->row.n_traits = d->n_traits;
    return 0;
}

/* What went well has a time. */
static void check_time(struct ks_profiler_draft *d)
{
    static const char why[] = "no time was printed";

    if (d->row.outcome != KS_O_OK || (isfinite(d->row.time_ns) && d->row.time_ns > 0))
        return;
    d->row.outcome = KS_O_UNTRUSTED;
    if (d->reason.len == 0)
        ks_draft_reason(d, why, sizeof why - 1);
}

int ks_reader_flush(struct ks_profiler_reader *r, struct ks_err *err)
{
    struct ks_profiler_draft *d = &r->held;
    int rc;

    if (!r->has_held)
        return 0;
    r->has_held = false;
    if (r->adapter->traits)
        r->adapter->traits(d);
    check_time(d);
    if (!ks_buf_ok(&d->name) || !ks_buf_ok(&d->reason) || !ks_buf_ok(&d->rest) ||
        !ks_buf_ok(&d->traits))
        return ks_fail(err, KS_ENOMEM, "out of memory reading an instance's line");
    if (set_traits(r, d, err) < 0)
        return KS_ENOMEM;
    d->row.instance = ks_buf_text(&d->name);
    d->row.n_instance = strlen(d->row.instance);
    d->row.reason = ks_buf_text(&d->reason);
    d->row.rest = ks_buf_text(&d->rest);
    rc = number_row(r, &d->row, err);
    if (rc < 0)
        return rc;
    count_row(&r->summary, d->row.outcome);
    return r->on_row(r->context, &d->row, err);
}

struct ks_profiler_draft *ks_reader_begin(struct ks_profiler_reader *r, struct ks_err *err)
{
    if (ks_reader_flush(r, err) < 0)
        return NULL;
    clear_draft(&r->held);
    r->held.row.line = r->summary.n_lines;
    r->has_held = true;
    r->is_running = false;
    return &r->held;
}

struct ks_profiler_draft *ks_reader_held(struct ks_profiler_reader *r)
{
    return r->has_held ? &r->held : NULL;
}

/* ---- lines ---- */

/* Behind an escape sequence that begins at `at` (ECMA-48: CSI, OSC, others of two bytes). */
static size_t skip_escape(const char *text, size_t n, size_t at)
{
    if (++at == n)
        return n;
    if (text[at] == '[') {
        for (at++; at < n && (text[at] < 0x40 || text[at] > 0x7e); at++)
            if ((unsigned char)text[at] >= 0x80 || (text[at] >= 0 && text[at] < 0x20))
                return at;
        return at < n ? at + 1 : n;
    }
    if (text[at] == ']') {
        while (at < n && text[at] != '\a' && text[at] != 27)
            at++;
        return at < n && text[at] == 27 ? (at + 2 < n ? at + 2 : n) : (at < n ? at + 1 : n);
    }
    return at + 1;
}

static size_t drop_escapes(char *text, size_t n)
{
    size_t to = 0;

    for (size_t at = 0; at < n;) {
        if (text[at] == 27)
            at = skip_escape(text, n, at);
        else if (text[at] == 0)
            at++;
        else
            text[to++] = text[at++];
    }
    text[to] = 0;
    return to;
}

static int end_line(struct ks_profiler_reader *r, struct ks_err *err)
{
    size_t n;
    int rc;

    r->is_started = false;
    r->summary.n_lines++;
    r->summary.n_cut_lines += r->is_cut;
    r->is_cut = false;
    if (!ks_buf_ok(&r->line))
        return ks_fail(err, KS_ENOMEM, "out of memory reading a line");
    if (r->line.len == 0)
        return 0;
    n = drop_escapes((char *)r->line.data, r->line.len);
    rc = r->adapter->line(r, (char *)r->line.data, n, err);
    ks_buf_clear(&r->line);
    return rc;
}

static void put_bytes(struct ks_profiler_reader *r, const char *bytes, size_t n)
{
    size_t room = KS_PROFILER_LINE_MAX - r->line.len;

    r->is_started = true;
    r->is_cut = r->is_cut || n > room;
    ks_buf_put(&r->line, bytes, n < room ? n : room);
}

/* The bytes up to a line's end, or all; a carriage return ends a line, too, but CR LF is one end.
 */
static int feed_some(struct ks_profiler_reader *r, const char *p, size_t left, size_t *used_out,
                     struct ks_err *err)
{
    size_t n = 0;

    if (r->was_return) {
        r->was_return = false;
        *used_out = p[0] == '\n';
        return end_line(r, err);
    }
    while (n < left && p[n] != '\n' && p[n] != '\r')
        n++;
    if (n > 0)
        put_bytes(r, p, n);
    *used_out = n < left ? n + 1 : n;
    if (n == left)
        return 0;
    r->was_return = p[n] == '\r';
    return r->was_return ? 0 : end_line(r, err);
}

int ks_profiler_reader_feed(struct ks_profiler_reader *r, const void *bytes, size_t n,
                            struct ks_err *err)
{
    const char *p = bytes;

    if (r->rc < 0)
        return ks_fail(err, (enum ks_code)r->rc, "reading the output failed before");
    r->summary.n_bytes += n;
    while (n > 0 && r->rc == 0) {
        size_t used = 0;

        r->rc = feed_some(r, p, n, &used, err);
        p += used;
        n -= used;
    }
    return r->rc;
}

int ks_profiler_reader_end(struct ks_profiler_reader *r, struct ks_err *err)
{
    if (r->rc < 0)
        return ks_fail(err, (enum ks_code)r->rc, "reading the output failed before");
    if (r->is_started || r->was_return)
        r->rc = end_line(r, err);
    r->was_return = false;
    if (r->rc == 0)
        r->rc = ks_reader_flush(r, err);
    if (r->rc == 0 && (!ks_buf_ok(&r->reason) || !ks_buf_ok(&r->best) || !ks_buf_ok(&r->running)))
        r->rc = ks_fail(err, KS_ENOMEM, "out of memory reading an output");
    return r->rc;
}

/* ---- life ---- */

int ks_profiler_reader_open(const struct ks_profiler_setup *s, const struct ks_problem *p,
                            const struct ks_profiler_choice *choice, ks_profiler_row_fn on_row,
                            void *context, struct ks_profiler_reader **out, struct ks_err *err)
{
    struct ks_profiler_reader *r = calloc(1, sizeof *r);

    if (!r)
        return ks_fail(err, KS_ENOMEM, "out of memory opening a reader");
    r->adapter = s->adapter;
    r->options = s->options;
    r->on_row = on_row;
    r->context = context;
    r->summary.n_found = r->summary.n_valid = -1;
    r->summary.reason = r->summary.best = "";
    if (s->adapter->state_new) {
        r->state = s->adapter->state_new(s->options, p, choice);
        if (!r->state) {
            free(r);
            return ks_fail(err, KS_ENOMEM, "out of memory opening a reader");
        }
    }
    if (choice && choice->name)
        ks_reader_set_running(r, choice->name, strlen(choice->name));
    *out = r;
    return 0;
}

const struct ks_profiler_summary *ks_profiler_reader_summary(const struct ks_profiler_reader *r)
{
    return &r->summary;
}

const char *ks_profiler_reader_running(const struct ks_profiler_reader *r)
{
    return r->is_running ? ks_buf_text(&r->running) : NULL;
}

uint32_t ks_profiler_reader_running_ordinal(const struct ks_profiler_reader *r)
{
    const char *name = ks_profiler_reader_running(r);

    if (!name || r->n_slots == 0)
        return 0;
    return find_slot(r->seen, r->n_slots, key_of(name, strlen(name), KS_PROFILER_UNTOLD, false))->n;
}

void ks_profiler_reader_close(struct ks_profiler_reader *r)
{
    if (!r)
        return;
    if (r->adapter->state_free && r->state)
        r->adapter->state_free(r->state);
    ks_buf_release(&r->line);
    ks_buf_release(&r->running);
    ks_buf_release(&r->reason);
    ks_buf_release(&r->best);
    ks_buf_release(&r->held.name);
    ks_buf_release(&r->held.reason);
    ks_buf_release(&r->held.rest);
    ks_buf_release(&r->held.traits);
    free(r->traits);
    free(r->seen);
    free(r);
}
