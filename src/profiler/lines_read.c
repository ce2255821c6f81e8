/* SPDX-License-Identifier: MIT */
/* lines_read.c - reads rows from the output of other programs: JSON lines, CSV or patterns */
#include "profiler/lines_impl.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 256 };

struct ks_lines_state {
    bool has_header;                 /* of CSV */
    size_t columns[KS_LINES_FIELDS]; /* of field i */
    char *cells[MOST_COLUMNS];       /* of the line that is read */
};

void *ks_lines_state_new(const void *options, const struct ks_problem *p,
                         const struct ks_profiler_choice *choice)
{
    (void)options;
    (void)p;
    (void)choice;
    return calloc(1, sizeof(struct ks_lines_state));
}

void ks_lines_state_free(void *state)
{
    free(state);
}

/* ---- fields of a row ---- */

static double number_of(const char *text, double unit, const char *what,
                        struct ks_profiler_draft *d)
{
    char *end, why[96];
    double v = strtod(text, &end);

    if (end != text && end[strspn(end, " \t")] == 0 && isfinite(v) && v >= 0 && isfinite(v * unit))
        return v * unit;
    snprintf(why, sizeof why, "%s '%.40s' is not a number of 0 or more", what, text);
    ks_draft_reason(d, why, strlen(why));
    return 0;
}

static int64_t whole_of(const char *text)
{
    char *end;
    long long v = strtoll(text, &end, 10);

    return end != text && end[strspn(end, " \t")] == 0 ? (int64_t)v : KS_PROFILER_UNTOLD;
}

static void set_outcome(const struct ks_lines_options *o, const char *text,
                        struct ks_profiler_draft *d)
{
    const struct ks_node *map = ks_node_at(o->root, "outcomes");
    const struct ks_node *to = map ? ks_node_at(map, text) : NULL;
    const char *name = text;
    char why[128];

    if (to)
        (void)ks_node_str(o->doc, to, &name, NULL);
    d->row.outcome = ks_outcome_from(name);
    if (d->row.outcome == KS_O_OK || d->row.outcome == KS_O_UNSUPPORTED ||
        d->row.outcome == KS_O_WRONG_RESULT)
        return;
    snprintf(why, sizeof why, "the program printed '%.60s'%s", text,
             d->row.outcome == KS_O_UNTRUSTED ? "" : ", which options.outcomes does not list");
    d->row.outcome = KS_O_UNTRUSTED;
    ks_draft_reason(d, why, strlen(why));
}

static void set_field(const struct ks_lines_options *o, const char *key, const char *text,
                      struct ks_profiler_draft *d)
{
    size_t n = strlen(text);

    if (strcmp(key, "instance") == 0)
        ks_draft_name(d, text, n);
    else if (strcmp(key, "time") == 0)
        d->row.time_ns = number_of(text, o->time_ns, key, d);
    else if (strcmp(key, "rate") == 0)
        d->row.flops_per_s = number_of(text, o->rate, key, d);
    else if (strcmp(key, "bandwidth") == 0)
        d->row.bytes_per_s = number_of(text, o->bandwidth, key, d);
    else if (strcmp(key, "split_k") == 0)
        d->row.split_k_requested = whole_of(text);
    else if (strcmp(key, "split_k_used") == 0)
        d->row.split_k_used = whole_of(text);
    else if (strcmp(key, "index") == 0)
        d->row.index = whole_of(text);
    else if (strcmp(key, "reason") == 0)
        ks_draft_reason(d, text, n);
    else if (strcmp(key, "outcome") == 0)
        set_outcome(o, text, d);
    else
        ks_draft_trait(d, key, text, n);
}

/* A row whose instance has a name; a blank one is no row. */
static int begin_row(struct ks_profiler_reader *r, const char *name, struct ks_profiler_draft **out,
                     struct ks_err *err)
{
    *out = NULL;
    if (!name[0]) {
        ks_reader_count_other(r);
        return 0;
    }
    *out = ks_reader_begin(r, err);
    if (!*out)
        return err ? (int)err->code : KS_ENOMEM;
    (*out)->row.outcome = KS_O_OK;
    return 0;
}

/* ---- JSON lines ---- */

/* A scalar as text; "" for others. */
static const char *scalar_of(const struct ks_node *n, char *number, size_t cap)
{
    const char *text = "";

    if (!n)
        return NULL;
    if (ks_node_kind(n) == KS_JSON_STRING)
        return ks_node_str(NULL, n, &text, NULL) == 0 ? text : "";
    return ks_node_text(NULL, n, number, cap, NULL) == 0 ? number : "";
}

/* "perf.time": a member of a member. */
static const struct ks_node *follow(const struct ks_node *n, const char *path)
{
    char key[128];

    while (n && *path) {
        size_t len = strcspn(path, ".");

        if (len >= sizeof key || ks_node_kind(n) != KS_JSON_OBJECT)
            return NULL;
        memcpy(key, path, len);
        key[len] = 0;
        n = ks_node_at(n, key);
        path += len + (path[len] == '.');
    }
    return n;
}

static int take_object(struct ks_profiler_reader *r, const struct ks_lines_options *o,
                       const struct ks_node *root, struct ks_err *err)
{
    struct ks_profiler_draft *d = NULL;
    char number[64];
    const char *name = NULL;
    int rc;

    for (size_t i = 0; i < o->n_fields; i++)
        if (strcmp(o->keys[i], "instance") == 0)
            name = scalar_of(follow(root, o->sources[i]), number, sizeof number);
    rc = begin_row(r, name ? name : "", &d, err);
    for (size_t i = 0; d && i < o->n_fields; i++) {
        const char *text = scalar_of(follow(root, o->sources[i]), number, sizeof number);

        if (text)
            set_field(o, o->keys[i], text, d);
    }
    return rc;
}

static int json_line(struct ks_profiler_reader *r, const char *text, size_t n, struct ks_err *err)
{
    const struct ks_lines_options *o = ks_reader_options(r);
    struct ks_json *doc = NULL;
    struct ks_err why;
    int rc;

    if (text[strspn(text, " \t")] != '{' || ks_json_parse(text, n, "", &doc, &why) < 0) {
        ks_reader_count_other(r);
        return 0;
    }
    rc = take_object(r, o, ks_json_root(doc), err);
    ks_json_close(doc);
    return rc;
}

/* ---- CSV ---- */

/* One field in place, without quotes; returns what follows it, NULL at the end. */
static char *cut_cell(char *at, char separator, char **cell_out)
{
    char *to = at, *from = at;
    bool is_quoted = *at == '"';

    *cell_out = at;
    for (from += is_quoted; *from && (is_quoted || *from != separator); from++) {
        if (is_quoted && *from == '"' && from[1] != '"') {
            is_quoted = false;
            continue;
        }
        from += is_quoted && *from == '"';
        *to++ = *from;
    }
    at = *from ? from + 1 : NULL;
    *to = 0;
    return at;
}

static size_t cut_line(struct ks_lines_state *s, char *text, char separator)
{
    size_t n = 0;
    char *at = text;

    while (at && n < MOST_COLUMNS)
        at = cut_cell(at, separator, &s->cells[n++]);
    return at ? 0 : n;
}

/* The header is the first line that has a column for each field. */
static bool take_header(const struct ks_lines_options *o, struct ks_lines_state *s, size_t n)
{
    for (size_t i = 0; i < o->n_fields; i++) {
        size_t c = 0;

        while (c < n && strcmp(s->cells[c], o->sources[i]) != 0)
            c++;
        if (c == n)
            return false;
        s->columns[i] = c;
    }
    return true;
}

static int csv_line(struct ks_profiler_reader *r, char *text, struct ks_err *err)
{
    const struct ks_lines_options *o = ks_reader_options(r);
    struct ks_lines_state *s = ks_reader_state(r);
    size_t n = cut_line(s, text, o->separator), most = 0;
    struct ks_profiler_draft *d = NULL;
    const char *name = "";
    int rc;

    if (take_header(o, s, n)) {
        s->has_header = true;
        return 0;
    }
    for (size_t i = 0; i < o->n_fields; i++)
        most = s->columns[i] > most ? s->columns[i] : most;
    if (!s->has_header || n <= most) {
        ks_reader_count_other(r);
        return 0;
    }
    for (size_t i = 0; i < o->n_fields; i++)
        if (strcmp(o->keys[i], "instance") == 0)
            name = s->cells[s->columns[i]];
    rc = begin_row(r, name, &d, err);
    for (size_t i = 0; d && i < o->n_fields; i++)
        if (s->cells[s->columns[i]][0])
            set_field(o, o->keys[i], s->cells[s->columns[i]], d);
    return rc;
}

/* ---- patterns ---- */

/* The part of a group, NUL-terminated until restore() puts the byte back. */
static char *part_of(char *text, const regmatch_t *g, char *saved)
{
    *saved = text[g->rm_eo];
    text[g->rm_eo] = 0;
    return text + g->rm_so;
}

static void take_groups(const struct ks_lines_options *o, const struct ks_pattern *p, char *text,
                        const regmatch_t *groups, struct ks_profiler_draft *d)
{
    for (size_t i = 0; i < p->n_groups; i++) {
        char saved;

        if (!p->names[i] || groups[i].rm_so < 0)
            continue;
        set_field(o, p->names[i], part_of(text, &groups[i], &saved), d);
        text[groups[i].rm_eo] = saved;
    }
}

/* The named group's part; n_out 0: it has none. */
static const char *group_text(const struct ks_pattern *p, const char *name, const char *text,
                              const regmatch_t *groups, size_t *n_out)
{
    *n_out = 0;
    for (size_t i = 0; i < p->n_groups; i++)
        if (p->names[i] && strcmp(p->names[i], name) == 0 && groups[i].rm_so >= 0) {
            *n_out = (size_t)(groups[i].rm_eo - groups[i].rm_so);
            return text + groups[i].rm_so;
        }
    return "";
}

/* The row an event speaks of: the one that is held, where it has the same name or the event names
 * none; else a new one. NULL with *rc_out 0: the event names nothing and nothing is held. */
static struct ks_profiler_draft *event_row(struct ks_profiler_reader *r, const char *name, size_t n,
                                           int *rc_out, struct ks_err *err)
{
    struct ks_profiler_draft *d = ks_reader_held(r);

    *rc_out = 0;
    if (n == 0 || (d && d->name.len == n && memcmp(d->name.data, name, n) == 0))
        return d;
    d = ks_reader_begin(r, err);
    if (!d)
        *rc_out = err ? (int)err->code : KS_ENOMEM;
    else
        ks_draft_name(d, name, n);
    return d;
}

static int take_event(struct ks_profiler_reader *r, enum ks_lines_event event,
                      const struct ks_pattern *p, const char *text, const regmatch_t *groups,
                      struct ks_err *err)
{
    size_t n_name, n_why;
    const char *name = group_text(p, "instance", text, groups, &n_name);
    const char *why = group_text(p, "reason", text, groups, &n_why);
    struct ks_profiler_draft *d;
    int rc = 0;

    if (event == KS_LINES_END) {
        ks_reader_summary(r)->has_end = true;
        ks_reader_set_running(r, NULL, 0);
    } else if (event == KS_LINES_UNIMPLEMENTED) {
        ks_reader_summary(r)->is_unimplemented = true;
        ks_reader_set_reason(r, n_why ? why : text, n_why ? n_why : strlen(text));
    } else if (event == KS_LINES_START) {
        rc = ks_reader_flush(r, err);
        ks_reader_set_running(r, n_name ? name : NULL, n_name);
    } else if ((d = event_row(r, name, n_name, &rc, err)) != NULL) {
        d->row.outcome = event == KS_LINES_WRONG ? KS_O_WRONG_RESULT : KS_O_UNSUPPORTED;
        ks_draft_reason(d, n_why ? why : text, n_why ? n_why : strlen(text));
    }
    return rc;
}

/* A pattern that names an instance begins a row; others add to the row that is held. */
static int pattern_line(struct ks_profiler_reader *r, const struct ks_pattern *p, char *text,
                        const regmatch_t *groups, struct ks_err *err)
{
    const struct ks_lines_options *o = ks_reader_options(r);
    struct ks_profiler_draft *d = ks_reader_held(r);
    size_t n = 0;
    int rc = 0;

    if (ks_pattern_has(p, "instance")) {
        const char *name = group_text(p, "instance", text, groups, &n);

        rc = begin_row(r, n ? name : "", &d, err);
    }
    if (d)
        take_groups(o, p, text, groups, d);
    return rc;
}

static int match_line(struct ks_profiler_reader *r, char *text, bool *is_taken, struct ks_err *err)
{
    const struct ks_lines_options *o = ks_reader_options(r);
    regmatch_t groups[KS_PATTERN_GROUPS];
    int rc = 0;

    for (int i = 0; rc == 0 && !*is_taken && i < KS_LINES_N_EVENTS; i++)
        if (ks_pattern_match(&o->events[i], text, groups)) {
            *is_taken = true;
            rc = take_event(r, (enum ks_lines_event)i, &o->events[i], text, groups, err);
        }
    for (size_t i = 0; rc == 0 && !*is_taken && i < o->n_patterns; i++)
        if (ks_pattern_match(&o->patterns[i], text, groups)) {
            *is_taken = true;
            rc = pattern_line(r, &o->patterns[i], text, groups, err);
        }
    return rc;
}

int ks_lines_line(struct ks_profiler_reader *r, char *text, size_t n, struct ks_err *err)
{
    const struct ks_lines_options *o = ks_reader_options(r);
    bool is_taken = false;
    char saved = 0;
    int rc;

    if (n > KS_PATTERN_TEXT_MAX) {
        saved = text[KS_PATTERN_TEXT_MAX];
        text[KS_PATTERN_TEXT_MAX] = 0;
    }
    rc = match_line(r, text, &is_taken, err);
    if (n > KS_PATTERN_TEXT_MAX)
        text[KS_PATTERN_TEXT_MAX] = saved;
    if (rc < 0 || is_taken)
        return rc;
    if (o->output == KS_LINES_JSON)
        return json_line(r, text, n, err);
    if (o->output == KS_LINES_CSV)
        return csv_line(r, text, err);
    ks_reader_count_other(r);
    return 0;
}
