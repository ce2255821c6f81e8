/* SPDX-License-Identifier: MIT */
/* text.h - small pieces of JSON text from a trace: numbers, strings, and the members of an object
 * or array that lies whole in memory. */
#ifndef KS_TRACE_TEXT_H
#define KS_TRACE_TEXT_H

#include "base/buf.h"
#include "trace/reader.h"

/* Microseconds with a fraction to whole nanoseconds, half away from zero. false: no finite number,
 * or beyond int64. */
bool ks_trace_ns(struct ks_span number, int64_t *ns_out);
/* An integer; "123" in quotes is one, too. false: anything else, or beyond int64. */
bool ks_trace_int(struct ks_span number, int64_t *out);
/* false: not a finite JSON number. */
bool ks_trace_f64(struct ks_span number, double *out);

/* Appends the string without its escapes; what is no escape or no UTF-8 stays as it is. */
void ks_trace_unescape(struct ks_span text, struct ks_buf *to);

bool ks_span_is(struct ks_span s, const char *text);
bool ks_span_begins(struct ks_span s, const char *text);
bool ks_span_has(struct ks_span s, const char *text); /* contains; text is not empty */

/* The members of an object or array: `struct ks_trace_walk w = ks_trace_walk(span)`, then
 * ks_trace_walk_next until it is false, at the end or where the text is wrong (is_bad). */
struct ks_trace_walk {
    const char *p, *end;
    bool is_object, is_bad;
};
struct ks_trace_member {
    struct ks_span key;   /* absent in an array */
    struct ks_span value; /* a string without its quotes, else its text */
    bool is_string;
};
struct ks_trace_walk ks_trace_walk(struct ks_span text);
bool ks_trace_walk_next(struct ks_trace_walk *w, struct ks_trace_member *out);

#endif
