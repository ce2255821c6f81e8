/* SPDX-License-Identifier: MIT */
/* event.h - one event's text to its fields. */
#ifndef KS_TRACE_EVENT_H
#define KS_TRACE_EVENT_H

#include "trace/reader.h"
#include "trace/scan.h"

/* A cursor over the window: text up to end, then KS_SCAN_PAD quotes. */
struct ks_cursor {
    const char *p, *end;
    const struct ks_scan *scan;
};

enum ks_parse {
    KS_PARSE_OK,
    KS_PARSE_MORE, /* the text ends first */
    KS_PARSE_BAD   /* no JSON; c->p is where */
};

/* Names of args to their numbers. */
struct ks_arg_table {
    uint8_t slot[128]; /* number + 1; 0: free */
};
void ks_arg_table_init(struct ks_arg_table *t);

/* c->p at any byte; blanks are skipped. c->p behind the value when OK.
 * @out [out] a string without its quotes, else its text; is_string_out may be NULL */
enum ks_parse ks_parse_value(struct ks_cursor *c, struct ks_span *out, bool *is_string_out);
/* c->p at '"'. */
enum ks_parse ks_parse_string(struct ks_cursor *c, struct ks_span *out);

/* c->p at '{'. Everything but ev->at is filled. is_twice_out: some key occurs twice. n_bad_out:
 * times that are no numbers. */
enum ks_parse ks_parse_event(struct ks_cursor *c, const struct ks_arg_table *args,
                             struct ks_trace_event *ev, bool *is_twice_out, unsigned *n_bad_out);

/* From phase, category and process. */
enum ks_trace_kind ks_trace_kind_of(const struct ks_trace_event *ev);

#endif
