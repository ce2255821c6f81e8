/* SPDX-License-Identifier: MIT */
/* fuzz_trace_merge.c - any bytes as device times, and as both a host trace and device times */
#include "analysis/trace/merge_write.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

/* The merged text holds the kernels of the plan, and reads back. */
static void check_merged(const struct ks_trace *host, struct ks_merge_kernels *k, const char *text,
                         const struct ks_merge_ids *ids)
{
    const struct ks_merge_rules rules = { .latency_ns = 5 };
    struct ks_trace_source *source = NULL;
    struct ks_trace *again = NULL;
    struct ks_merge_plan plan;
    struct ks_buf b;
    struct ks_err err;

    demand(ks_merge_plan_make(host, k, &rules, &plan, &err) == 0);
    ks_buf_init(&b);
    ks_buf_put(&b, text, ids->events_end);
    ks_merge_events_put(host, k, &plan, ids, &b);
    ks_buf_printf(&b, "%s", text + ids->events_end);
    demand(ks_trace_source_memory(b.data, b.len, "m", &source, &err) == 0);
    demand(ks_trace_read(source, &again, &err) == 0 && again->gpu.n >= host->gpu.n);
    ks_trace_release(again);
    ks_trace_source_close(source);
    ks_buf_release(&b);
    ks_merge_plan_release(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char host[] =
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":9,"
        "\"args\":{\"External id\":1}},{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":1,"
        "\"tid\":1,\"ts\":2,\"dur\":3,\"args\":{\"External id\":2}}]";
    struct ks_merge_kernels k = { 0 };
    struct ks_trace_source *source = NULL;
    struct ks_trace *trace = NULL;
    struct ks_merge_ids ids;
    struct ks_err err;

    demand(ks_trace_source_memory(host, strlen(host), "h", &source, &err) == 0);
    demand(ks_merge_ids_find(source, &ids, &err) == 0);
    demand(ks_trace_source_rewind(source, &err) == 0);
    demand(ks_trace_read(source, &trace, &err) == 0);
    if (ks_merge_kernels_parse((const char *)bytes, n, "k", &k, &err) == 0)
        check_merged(trace, &k, host, &ids);
    else
        demand(err.text[0]);
    ks_merge_kernels_release(&k);
    ks_trace_release(trace);
    ks_trace_source_close(source);
    return 0;
}
