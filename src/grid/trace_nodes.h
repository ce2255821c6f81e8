/* SPDX-License-Identifier: MIT */
/* trace_nodes.h - the operators of an execution trace (PyTorch's ExecutionTraceObserver, schemas
 * 1.0.1 to 1.1.0 and Chakra's): names, nesting and shapes, without times and without strides. */
#ifndef KS_GRID_TRACE_NODES_H
#define KS_GRID_TRACE_NODES_H

#include "trace/model.h"

/* Is this the beginning of one? */
bool ks_trace_nodes_sniff(const char *text, size_t len);
/* A trace of which only ops.{n, name, shape, parent, external} (the node's id) and shapes are
 * filled. Reads `source` from its present position. KS_EFORMAT: no nodes; KS_ENOMEM. */
int ks_trace_nodes_read(struct ks_trace_source *source, struct ks_trace **out, struct ks_err *err);

#endif
