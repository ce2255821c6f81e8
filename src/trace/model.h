/* SPDX-License-Identifier: MIT */
/* model.h - a trace in memory: interned names, int64 nanoseconds, columns. What it takes is
 * proportional to the operators, calls and kernels; Python functions, flows and call stacks are not
 * held.
 *
 * Rows are in the order of the file. Every column of a table has n entries. */
#ifndef KS_TRACE_MODEL_H
#define KS_TRACE_MODEL_H

#include "trace/names.h"
#include "trace/reader.h"

#define KS_TRACE_NONE  UINT32_MAX /* no row */
#define KS_TRACE_NO_ID INT64_MIN  /* no correlation or External id */

/* What a file says of a device. Numbers that it does not give are 0. */
struct ks_trace_device {
    int64_t id;    /* as the events name it */
    char name[96]; /* may be empty: ROCm under vLLM gives none */
    int64_t memory_bytes;
    int32_t major, minor, n_sms, warp_size;
    int32_t regs_per_block, threads_per_sm;
    int32_t clock_khz; /* only newer files */
    bool is_described; /* stands in deviceProperties; else only events name it */
};

struct ks_trace_stream {
    uint32_t device; /* row of devices */
    int64_t id;      /* -1: not given */
};

/* A thread of the host, or what an event's pid and tid name. */
struct ks_trace_track {
    uint32_t pid, tid;              /* names, as written */
    int64_t pid_number, tid_number; /* INT64_MIN: not numbers */
};

/* Where bytes can be inserted into the args of an event: before the '}' at `at`. */
struct ks_trace_place {
    uint64_t at;      /* place of the '}' that ends the args, or the event when it has none */
    uint8_t has_args; /* 0: the event has no args; 1: {}; 2: with members */
};
struct ks_trace_place ks_trace_place_of(const struct ks_trace_event *ev);

/* Work of a device: kernels, copies, fills. */
struct ks_trace_gpu {
    uint32_t n, cap;
    int64_t *ts_ns, *dur_ns;
    uint32_t *name;
    uint8_t *kind;    /* KS_TRACE_KERNEL, KS_TRACE_MEMCPY, KS_TRACE_MEMSET */
    uint32_t *stream; /* row of streams */
    int64_t *correlation, *external;
    int64_t *bytes;    /* of copies and fills; -1: not given */
    float *gb_per_s;   /* likewise as the file gives it; NaN: not given */
    double *flop, *gb; /* kernel_flop, kernel_num_gb that stand in the file; NaN: none */
    uint32_t *call;    /* row of calls that launched it; KS_TRACE_NONE */
    uint32_t *op;      /* row of ops: the innermost that launched it; KS_TRACE_NONE */
    struct ks_trace_place *place;
};

/* Calls of the runtime or the driver. */
struct ks_trace_calls {
    uint32_t n, cap;
    int64_t *ts_ns, *dur_ns;
    uint32_t *name, *track;
    int64_t *correlation, *external;
    uint32_t *op; /* innermost operator around its start; KS_TRACE_NONE */
};

struct ks_trace_ops {
    uint32_t n, cap;
    int64_t *ts_ns, *dur_ns;
    uint32_t *name, *track;
    int64_t *external;
    int64_t *sequence; /* Sequence number; KS_TRACE_NO_ID */
    uint32_t *shape;   /* of ks_trace.shapes; KS_TRACE_NONE without any of the four args */
    uint32_t *parent;  /* innermost operator around it on its thread; KS_TRACE_NONE */
    double *flop, *gb; /* as of kernels */
    struct ks_trace_place *place;
};

/* user_annotation and gpu_user_annotation. */
struct ks_trace_notes {
    uint32_t n, cap;
    int64_t *ts_ns, *dur_ns;
    uint32_t *name, *track;
    uint8_t *is_gpu;
};

/* cuda_sync "Stream Wait Event": later work of `stream` waits for what stood in `on` at the record.
 * Calls are named by their correlations. */
struct ks_trace_waits {
    uint32_t n, cap;
    uint32_t *stream, *on; /* rows of streams */
    int64_t *correlation, *record;
};

/* How kernels found their operators. Counts of kernels. */
struct ks_trace_links {
    uint32_t n_kernels;
    uint32_t n_by_call;        /* correlation, then the operator around the call */
    uint32_t n_by_external;    /* the fallback */
    uint32_t n_no_op;          /* neither */
    uint32_t n_no_call;        /* no call has their correlation */
    uint32_t n_external_wrong; /* the External id names another operator */
};

struct ks_trace {
    char *path; /* owned; for messages */
    struct ks_names names;
    /* Four lines per entry: Input Dims, Input type, Input Strides, Concrete Inputs, as JSON without
     * blanks, empty when absent (operators.h reads them). */
    struct ks_names shapes;
    struct ks_trace_device *devices;
    uint32_t n_devices;
    struct ks_trace_stream *streams;
    uint32_t n_streams;
    struct ks_trace_track *tracks;
    uint32_t n_tracks;
    struct ks_trace_gpu gpu;
    struct ks_trace_calls calls;
    struct ks_trace_ops ops;
    struct ks_trace_notes notes;
    struct ks_trace_waits waits;
    struct ks_trace_links links;
    struct ks_trace_dirt dirt;
    int64_t rank;              /* distributedInfo.rank; -1: not given */
    int64_t base_ns;           /* baseTimeNanoseconds; 0: not given */
    int64_t first_ns, last_ns; /* of all timed events; first > last: none */
    uint64_t n_of_kind[KS_TRACE_N_KINDS];
    uint64_t n_negative; /* events with a negative duration: skipped */
    bool has_shapes;     /* some operator has Input Dims */
    bool is_augmented;   /* some kernel or operator has args that `trace augment` inserts */
    uint64_t events_end; /* place of the ']' of the events */
};

/* Reads `source` from its present position to the end and links kernels to operators.
 * KS_EFORMAT: not a trace, or without any event (the message says what was skipped); KS_EIO;
 * KS_ENOMEM. Owns: caller releases with ks_trace_release(). */
int ks_trace_read(struct ks_trace_source *source, struct ks_trace **out, struct ks_err *err);
/* Opens, reads and closes. path: as ks_trace_source_open. */
int ks_trace_load(const char *path, struct ks_trace **out, struct ks_err *err);
void ks_trace_release(struct ks_trace *t); /* NULL is fine */

static inline const char *ks_trace_name(const struct ks_trace *t, uint32_t name)
{
    return ks_names_text(&t->names, name);
}

/* Rows of a table sorted by start, then longest first, then row. @order [out] [n]. KS_ENOMEM. */
int ks_trace_sort(const int64_t *ts_ns, const int64_t *dur_ns, uint32_t n, uint32_t *order,
                  struct ks_err *err);

#endif
