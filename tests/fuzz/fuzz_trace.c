/* SPDX-License-Identifier: MIT */
/* fuzz_trace.c - any bytes as a trace: refused with a message, or every place and row exists */
/* Every place lies at a closing brace of the input, and every row refers to rows that are there. */
#include "tests/fuzz/fuzz.h"
#include "trace/model.h"
#include "trace/operators.h"

#include <stdlib.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void check_place(const uint8_t *bytes, size_t n, struct ks_trace_place p, bool is_plain)
{
    demand(!is_plain || (p.at < n && bytes[p.at] == '}' && p.has_args <= 2));
}

static void check(const struct ks_trace *t, const uint8_t *bytes, size_t n)
{
    const bool is_plain = n < 2 || bytes[0] != 0x1f || bytes[1] != 0x8b;
    struct ks_shape shape;

    for (uint32_t i = 0; i < t->gpu.n; i++) {
        check_place(bytes, n, t->gpu.place[i], is_plain);
        demand(t->gpu.name[i] < t->names.n && t->gpu.stream[i] < t->n_streams);
        demand(t->gpu.op[i] == KS_TRACE_NONE || t->gpu.op[i] < t->ops.n);
        demand(t->gpu.call[i] == KS_TRACE_NONE || t->gpu.call[i] < t->calls.n);
        demand(t->gpu.dur_ns[i] >= 0);
    }
    for (uint32_t i = 0; i < t->ops.n; i++) {
        const uint32_t parent = t->ops.parent[i];

        check_place(bytes, n, t->ops.place[i], is_plain);
        demand(parent == KS_TRACE_NONE || (parent < t->ops.n && parent != i));
        demand(t->ops.shape[i] == KS_TRACE_NONE || t->ops.shape[i] < t->shapes.n);
    }
    for (uint32_t i = 0; i < t->shapes.n; i++)
        if (ks_shape_read(ks_names_text(&t->shapes, i), &shape))
            for (uint32_t k = 0; k < t->ops.n; k++) {
                const struct ks_trace_rules rules = { .halve_causal = true };
                struct ks_trace_cost cost;

                ks_trace_cost_of(ks_names_text(&t->names, t->ops.name[k]), &shape, &rules, &cost,
                                 NULL);
                demand(cost.flop >= 0 && cost.bytes >= 0);
            }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_trace_source *s = NULL;
    struct ks_trace *t = NULL;
    struct ks_err err = { 0 };
    int rc = ks_trace_source_memory(bytes, n, "f", &s, &err);

    if (rc == 0)
        rc = ks_trace_read(s, &t, &err);
    demand(rc == 0 || (rc == KS_EFORMAT && err.text[0] && !t));
    if (rc == 0)
        check(t, bytes, n);
    ks_trace_release(t);
    ks_trace_source_close(s);
    return 0;
}
