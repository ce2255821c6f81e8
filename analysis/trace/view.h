/* SPDX-License-Identifier: MIT */
/* view.h - one trace made ready for the verbs: read, charged, with the peaks of its devices. */
#ifndef KS_ANALYSIS_TRACE_VIEW_H
#define KS_ANALYSIS_TRACE_VIEW_H

#include "analysis/trace/aggregate.h"
#include "analysis/trace/spans.h"

#include "base/buf.h"
#include "base/opt.h"

/* Options of several verbs; at: offset of the member. */
#define KS_OPT_HALVE_CAUSAL(at)                                                                    \
    {                                                                                              \
        .name = "halve-causal", .type = KS_OPT_BOOL, .offset = (at), .def = "no",                  \
        .help = "count only half of the FLOPs of attention with a causal mask"                     \
    }

#define KS_OPT_PEAKS(at)                                                                           \
    {                                                                                              \
        .name = "peaks", .type = KS_OPT_STR, .offset = (at), .arg = "FILE", .is_input = true,      \
        .help = "table of device peaks to use instead of the installed one (docs/traces.md)"       \
    }

struct ks_view_options {
    const char *peaks; /* file, NULL: the shipped table */
    const char *steps; /* "A..B" or "A", NULL: the whole trace */
    struct ks_trace_rules rules;
};

struct ks_trace_view {
    struct ks_trace *t;
    struct ks_charge charge;
    struct ks_peak *peak;     /* [t->n_devices] */
    struct ks_busy *busy;     /* [t->n_devices], NULL before ks_trace_view_busy() */
    uint8_t *keep;            /* [t->gpu.n], NULL: all (steps) */
    int64_t begin_ns, end_ns; /* of the steps; INT64_MIN and INT64_MAX without */
};

/* notes: lines for stderr: what was skipped, and what a reader of the numbers must know.
 * KS_ENOENT, KS_EFORMAT, KS_EINVAL (steps), KS_EIO, KS_ENOMEM. To be closed in any case. */
int ks_trace_view_open(const char *path, const struct ks_view_options *o, struct ks_trace_view *out,
                       struct ks_buf *notes, struct ks_err *err);
/* The same from a source at its beginning, which stays the caller's. */
int ks_trace_view_read(struct ks_trace_source *source, const struct ks_view_options *o,
                       struct ks_trace_view *out, struct ks_buf *notes, struct ks_err *err);
/* Fills busy. KS_ENOMEM. */
int ks_trace_view_busy(struct ks_trace_view *v, struct ks_err *err);
void ks_trace_view_close(struct ks_trace_view *v);

/* A line about what was skipped, where something was. */
void ks_trace_note_dirt(const char *path, const struct ks_trace_dirt *d, struct ks_buf *notes);

/* Does a file of this name hold a trace: .json, .json.gz? */
bool ks_is_trace_name(const char *path);

/* Files that operands name: of a folder its *.json and *.json.gz, by name. Owns: the list. */
struct ks_paths {
    char **path;
    size_t n;
};
int ks_paths_open(const char *const *operands, int n, struct ks_paths *out, struct ks_err *err);
void ks_paths_close(struct ks_paths *p);

#endif
