/* SPDX-License-Identifier: MIT */
/* kind.c - what an event is: operator, call, kernel, flow, metadata */
#include "trace/event.h"
#include "trace/text.h"

#include <string.h>

struct category {
    const char *name;
    enum ks_trace_kind kind;
};
/* In the order of their frequency; those of 2021 begin with a capital. */
static const struct category categories[] = {
    { "python_function", KS_TRACE_PYTHON },
    { "cpu_op", KS_TRACE_OP },
    { "cuda_runtime", KS_TRACE_CALL },
    { "kernel", KS_TRACE_KERNEL },
    { "gpu_memcpy", KS_TRACE_MEMCPY },
    { "gpu_memset", KS_TRACE_MEMSET },
    { "cuda_driver", KS_TRACE_CALL },
    { "user_annotation", KS_TRACE_NOTE },
    { "gpu_user_annotation", KS_TRACE_GPU_NOTE },
    { "cuda_sync", KS_TRACE_SYNC },
    { "cuda_profiler_range", KS_TRACE_RANGE },
    { "Operator", KS_TRACE_OP },
    { "Runtime", KS_TRACE_CALL },
    { "Kernel", KS_TRACE_KERNEL },
    { "Memcpy", KS_TRACE_MEMCPY },
    { "Memset", KS_TRACE_MEMSET },
    { "xpu_runtime", KS_TRACE_CALL },
    { "xpu_driver", KS_TRACE_CALL },
    { "mtia_runtime", KS_TRACE_CALL },
    { "mtia_ccp_events", KS_TRACE_KERNEL },
    { "privateuse1_runtime", KS_TRACE_CALL },
    { "privateuse1_driver", KS_TRACE_CALL },
    { "device_kernel", KS_TRACE_KERNEL }, /* written by ksweep-analyze trace merge */
};

static enum ks_trace_kind complete_kind(const struct ks_trace_event *ev)
{
    if (!ev->cat.p)
        return ks_span_is(ev->pid, "CUDA functions") ? KS_TRACE_KERNEL : KS_TRACE_OP;
    for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++)
        if (ks_span_is(ev->cat, categories[i].name))
            return categories[i].kind;
    return KS_TRACE_OTHER;
}

enum ks_trace_kind ks_trace_kind_of(const struct ks_trace_event *ev)
{
    switch (ev->ph) {
    case 'X':
        return complete_kind(ev);
    case 's':
        return KS_TRACE_FLOW_BEGIN;
    case 'f':
    case 't':
        return KS_TRACE_FLOW_END;
    case 'M':
        return KS_TRACE_META;
    case 'C':
        return KS_TRACE_COUNTER;
    case 'i':
    case 'I':
        return KS_TRACE_INSTANT;
    default:
        return KS_TRACE_OTHER;
    }
}
