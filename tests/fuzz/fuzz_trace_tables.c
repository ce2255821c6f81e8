/* SPDX-License-Identifier: MIT */
/* fuzz_trace_tables.c - any bytes as a trace: its critical path has no gaps, its tables end */
#include "analysis/trace/compat.h"
#include "analysis/trace/critical.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void check_path(struct ks_trace *t)
{
    const struct ks_trace_view v = { .t = t, .begin_ns = INT64_MIN, .end_ns = INT64_MAX };
    struct ks_path path;
    struct ks_err err = { 0 };

    demand(ks_path_of(&v, &path, &err) == 0);
    for (size_t i = 0; i < path.n; i++) {
        const struct ks_path_part *p = &path.parts[i];

        demand(p->begin_ns < p->end_ns && p->by < KS_N_PATHS);
        demand(p->name == KS_NAME_NONE || p->name < t->names.n);
        demand(i + 1 == path.n || path.parts[i + 1].end_ns == p->begin_ns);
        demand(p->begin_ns >= t->first_ns && p->end_ns <= t->last_ns);
    }
    ks_path_release(&path);
}

static void check_compat(struct ks_trace_source *source, struct ks_err *err)
{
    const struct ks_compat_options o = { .dtype = "float", .name_limit = -3 };
    const char *const names[] = { "a", "b" };
    struct ks_buf notes, text;
    struct ks_compat t;

    ks_buf_init(&notes);
    ks_buf_init(&text);
    demand(ks_trace_source_rewind(source, err) == 0);
    demand(ks_compat_read(source, &t, &notes, err) == 0);
    demand(ks_compat_report(&t, &t, names, &o, &text, err) == 0);
    ks_compat_release(&t);
    ks_buf_release(&notes);
    ks_buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_trace_source *source = NULL;
    struct ks_trace *t = NULL;
    struct ks_err err = { 0 };

    demand(ks_trace_source_memory(bytes, n, "f", &source, &err) == 0);
    if (ks_trace_read(source, &t, &err) == 0) {
        check_path(t);
        check_compat(source, &err);
    }
    ks_trace_release(t);
    ks_trace_source_close(source);
    return 0;
}
