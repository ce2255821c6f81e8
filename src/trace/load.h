/* SPDX-License-Identifier: MIT */
/* load.h - steps of ks_trace_read(); for src/trace only. */
#ifndef KS_TRACE_LOAD_H
#define KS_TRACE_LOAD_H

#include "trace/model.h"

/* Room for one more row; false: no memory. */
bool ks_trace_room_gpu(struct ks_trace *t);
bool ks_trace_room_call(struct ks_trace *t);
bool ks_trace_room_op(struct ks_trace *t);
bool ks_trace_room_note(struct ks_trace *t);
bool ks_trace_room_wait(struct ks_trace *t);

/* Fills the tables from the source. KS_EFORMAT, KS_EIO, KS_ENOMEM. */
int ks_trace_load_rows(struct ks_trace *t, struct ks_trace_source *source, struct ks_err *err);

/* deviceProperties, or computeProperties of 2021. false: no memory. */
bool ks_trace_load_devices(struct ks_trace *t, struct ks_span value);
/* The row of a device, which is added when it is new; KS_TRACE_NONE: no memory. */
uint32_t ks_trace_device_row(struct ks_trace *t, int64_t id);
/* Devices that only events name get the properties of the described ones where those agree. */
void ks_trace_finish_devices(struct ks_trace *t);

/* Fills ops.parent, calls.op, gpu.call, gpu.op and links. KS_ENOMEM. */
int ks_trace_link(struct ks_trace *t, struct ks_err *err);

#endif
