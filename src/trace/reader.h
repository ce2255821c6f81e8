/* SPDX-License-Identifier: MIT */
/* reader.h - the events of a trace as they come. Neither the text nor a tree of it is ever held:
 * memory is one window of the input, which grows to the longest event and never beyond
 * KS_TRACE_EVENT_MAX. Damage is skipped, counted and placed (struct ks_trace_dirt); an error is
 * returned only where nothing at all can be said.
 *
 * Read are an object with a "traceEvents" array and the bare array of older versions. */
#ifndef KS_TRACE_READER_H
#define KS_TRACE_READER_H

#include "trace/source.h"

/* A piece of the input. p NULL: absent. */
struct ks_span {
    const char *p;
    size_t n;
};

/* What an event is, by its phase and category (both spellings of the schema's generations). An
 * event without a category is an operator when its phase is X, and a kernel when its process is
 * "CUDA functions", as the exporter before Kineto wrote them. */
enum ks_trace_kind {
    KS_TRACE_OTHER,
    KS_TRACE_OP,         /* X cpu_op, Operator */
    KS_TRACE_KERNEL,     /* X kernel, Kernel */
    KS_TRACE_MEMCPY,     /* X gpu_memcpy, Memcpy */
    KS_TRACE_MEMSET,     /* X gpu_memset, Memset */
    KS_TRACE_CALL,       /* X cuda_runtime, cuda_driver, Runtime, xpu_runtime, ... */
    KS_TRACE_NOTE,       /* X user_annotation */
    KS_TRACE_GPU_NOTE,   /* X gpu_user_annotation */
    KS_TRACE_PYTHON,     /* X python_function */
    KS_TRACE_SYNC,       /* X cuda_sync */
    KS_TRACE_RANGE,      /* X cuda_profiler_range: args are counters */
    KS_TRACE_FLOW_BEGIN, /* s */
    KS_TRACE_FLOW_END,   /* f, t */
    KS_TRACE_META,       /* M: process_name, thread_name, ... */
    KS_TRACE_COUNTER,    /* C */
    KS_TRACE_INSTANT,    /* i, I */
    KS_TRACE_N_KINDS
};

/* Args that the reader finds by name. X(identifier, key) */
#define KS_TRACE_ARG_LIST(X)                                                                       \
    X(EXTERNAL_ID, "External id")                                                                  \
    X(CORRELATION, "correlation")                                                                  \
    X(DEVICE, "device")                                                                            \
    X(STREAM, "stream")                                                                            \
    X(CONTEXT, "context")                                                                          \
    X(INPUT_DIMS, "Input Dims")                                                                    \
    X(INPUT_TYPE, "Input type")                                                                    \
    X(INPUT_STRIDES, "Input Strides")                                                              \
    X(CONCRETE, "Concrete Inputs")                                                                 \
    X(SEQUENCE, "Sequence number")                                                                 \
    X(FWD_THREAD, "Fwd thread id")                                                                 \
    X(RECORD_FUNCTION, "Record function id")                                                       \
    X(EV_IDX, "Ev Idx")                                                                            \
    X(BYTES, "bytes")                                                                              \
    X(BANDWIDTH, "memory bandwidth (GB/s)")                                                        \
    X(KERNEL_FLOP, "kernel_flop")                                                                  \
    X(KERNEL_GB, "kernel_num_gb")                                                                  \
    X(GRID, "grid")                                                                                \
    X(BLOCK, "block")                                                                              \
    X(GRAPH_NODE, "graph node id")                                                                 \
    X(KERNEL_FILE, "kernel_file")                                                                  \
    X(NAME, "name")                                                                                \
    X(LABELS, "labels")                                                                            \
    X(WAIT_STREAM, "wait_on_stream")                                                               \
    X(WAIT_CORRELATION, "wait_on_cuda_event_record_corr_id")                                       \
    X(SYNC_KIND, "cuda_sync_kind")                                                                 \
    X(OPERATOR, "operator")                                                                        \
    X(KERNELS, "kernels")

enum ks_trace_arg {
#define X(id, key) KS_TRACE_ARG_##id,
    KS_TRACE_ARG_LIST(X)
#undef X
        KS_TRACE_N_ARGS
};

/* One event. Every span points into the reader's window and is valid until the next call; strings
 * are as they are written, without their quotes (ks_trace_unescape). The place of a span in the
 * decompressed input is ev->at + (span.p - ev->raw.p). */
struct ks_trace_event {
    uint64_t at;         /* place of its '{' in the decompressed input */
    struct ks_span raw;  /* from '{' to '}', both included */
    struct ks_span args; /* likewise; absent without args */
    enum ks_trace_kind kind;
    char ph; /* 0: absent */
    struct ks_span cat, name;
    struct ks_span pid, tid; /* digits, or the text of a string */
    struct ks_span id;       /* of a flow or an asynchronous event: likewise */
    struct ks_span bind_id;  /* of the flow that an X event begins or ends: likewise */
    struct ks_span sf, esf;  /* stack frames where the event begins and ends: likewise */
    struct ks_span id2;      /* an object: "local" or "global", in place of id */
    bool has_ts, has_dur;    /* present, and numbers */
    int64_t ts_ns, dur_ns;
    uint32_t has; /* bit i: arg[i] is there */
    /* Raw values: a string without its quotes, else the JSON text of a number, word, array or
     * object. Only where `has` says so. */
    struct ks_span arg[KS_TRACE_N_ARGS];
};
_Static_assert(KS_TRACE_N_ARGS <= 32, "struct ks_trace_event.has is too narrow");

static inline bool ks_trace_has(const struct ks_trace_event *ev, enum ks_trace_arg a)
{
    return ev->has >> a & 1;
}

/* A member of the outermost object other than the events. */
struct ks_trace_top {
    struct ks_span key;
    uint64_t at, end;     /* places of the value's first byte and of the byte behind it */
    struct ks_span value; /* absent: longer than KS_TRACE_TOP_MAX, or a secret ("metadata") */
};

enum ks_trace_item_type {
    KS_TRACE_ITEM_EVENT,
    KS_TRACE_ITEM_TOP,
    KS_TRACE_ITEM_BEGIN, /* of the events: at = place behind the '[' */
    KS_TRACE_ITEM_END    /* of the events: at = place of the ']', or of the end of the input */
};

struct ks_trace_item {
    enum ks_trace_item_type type;
    uint64_t at;
    struct ks_trace_event event;
    struct ks_trace_top top;
};

#define KS_TRACE_EVENT_MAX ((size_t)32 << 20) /* bytes; a longer event is skipped and counted */
#define KS_TRACE_TOP_MAX   ((size_t)1 << 20)  /* bytes of a top-level value that is kept */

/* What was skipped, so that it can be said. */
struct ks_trace_dirt {
    uint64_t n_events;  /* that were delivered */
    uint64_t n_bad;     /* events that are not JSON */
    uint64_t n_long;    /* longer than KS_TRACE_EVENT_MAX */
    uint64_t n_numbers; /* times, durations or ids that are no finite int64 */
    uint64_t n_twice;   /* events with a key twice: the last one counts */
    uint64_t n_bytes;   /* of the decompressed input that was read */
    uint64_t first_bad; /* place of the first of n_bad + n_long; UINT64_MAX: none */
    const char *damage; /* of the compressed bytes (source.h), or NULL */
    bool is_cut;        /* the input ends inside the events or the outermost value */
    bool has_events;    /* an array of events was there */
    bool is_bare;       /* the outermost value is that array */
    bool has_rest;      /* something follows the outermost value; not read */
};

struct ks_trace_reader;

/* Takes nothing: `source` is borrowed and read from its present position, which must be its
 * beginning. KS_ENOMEM. */
int ks_trace_reader_create(struct ks_trace_source *source, struct ks_trace_reader **out,
                           struct ks_err *err);
void ks_trace_reader_destroy(struct ks_trace_reader *r);
/* Before the first ks_trace_reader_next(): deliver the elements of this top-level array (borrowed
 * text) instead of "traceEvents", such as the "nodes" of an execution trace. */
void ks_trace_reader_array(struct ks_trace_reader *r, const char *key);

/* Returns 1: an item; 0: the end; KS_EFORMAT "name: byte N: ...": not a trace (binary Perfetto, not
 * JSON, no events and cut, ...); KS_EIO, KS_ENOMEM. */
int ks_trace_reader_next(struct ks_trace_reader *r, struct ks_trace_item *item, struct ks_err *err);
const struct ks_trace_dirt *ks_trace_reader_dirt(const struct ks_trace_reader *r);

/* "skipped 3 events that are not JSON (first at byte 123), ..."; empty when there is nothing to
 * say. One line without an end. */
struct ks_buf;
void ks_trace_dirt_put(const struct ks_trace_dirt *d, struct ks_buf *to);

#endif
