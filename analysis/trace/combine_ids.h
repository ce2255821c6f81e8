/* SPDX-License-Identifier: MIT */
/* combine_ids.h - the numbers of one of several traces that would be among those of another:
 * processes, ids of flows, asynchronous events and objects and the references to them (id, bind_id,
 * id2, id_ref), stack frames, correlations and External ids. Between the combine*.c files.
 *
 * Numbers from 0 to step - 1 of file i are moved up by i x step. Any other id becomes a text that
 * ends in the number of its file; texts of the first file stay. Correlations and External ids are
 * always numbers: those of step and more are moved up as well, and may then equal one of a later
 * file; negative ones, which refer to nothing, and values that are no integer stay as they are. */
#ifndef KS_ANALYSIS_TRACE_COMBINE_IDS_H
#define KS_ANALYSIS_TRACE_COMBINE_IDS_H

#include "base/buf.h"
#include "trace/reader.h"

struct ks_id_edit;

/* Zeroed before, but for file and id_step. */
struct ks_ids {
    int64_t file;             /* number of the trace, from 0 */
    int64_t id_step;          /* between ids of one file and the next */
    struct ks_id_edit *edits; /* [n] of the text that is looked at */
    size_t n, cap;
    bool is_full; /* no memory */
};
void ks_ids_release(struct ks_ids *ids);

/* Notes the edits of a text: an event, or the top-level values "stackFrames" (an object of frames
 * by id) and "samples" (an array). Spans must stay valid until ks_ids_put(). */
void ks_ids_of_event(struct ks_ids *ids, const struct ks_trace_event *ev);
void ks_ids_of_frames(struct ks_ids *ids, struct ks_span frames);
void ks_ids_of_samples(struct ks_ids *ids, struct ks_span samples);
/* Notes one more: this number becomes `id`. */
void ks_ids_set(struct ks_ids *ids, struct ks_span number, int64_t id);

/* Appends the text with its edits, and forgets them. Out of memory: to->failed. */
void ks_ids_put(struct ks_ids *ids, struct ks_span text, struct ks_buf *to);

#endif
