/* SPDX-License-Identifier: MIT */
/* fuzz_trace_counters.c - any bytes as a profiler's CSV, alone and as the times of others */
#include "analysis/trace/counter_lines.h"
#include "analysis/trace/counter_read.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void check_lines(const struct ks_counter_table *t, enum ks_counter_by by)
{
    struct ks_counter_frame *f = NULL;
    struct ks_counter_lines l;
    struct ks_err err;
    int64_t launches = 0;

    demand(ks_counter_lines_make(t, by, &l, &err) == 0);
    demand(l.n <= t->n_rows && (l.n > 0) == (t->n_rows > 0));
    for (size_t i = 0; i < l.n; i++)
        launches += l.at[i].row.launches > 0;
    demand(launches == (int64_t)l.n);
    demand(ks_counter_frame_create(t, &l, &f, &err) == 0);
    demand(ks_counter_frame_df(f)->n_rows == l.n);
    ks_counter_frame_destroy(f);
    ks_counter_lines_release(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const struct ks_counter_csv csv = {
        .text = (const char *)bytes, .len = n, .path = "f", .process = "f", .rank = -1
    };
    struct ks_counter_table t = { 0 };
    struct ks_err err;
    int rc = ks_counter_csv_read(&t, &csv, KS_COUNTERS_ALL_BUT_TIMES, &err);

    demand(rc >= 0 || err.text[0]);
    if (rc >= 0)
        (void)ks_counter_csv_read(&t, &csv, KS_COUNTERS_TIMES, &err);
    check_lines(&t, KS_LINES_BY_LAUNCH);
    check_lines(&t, KS_LINES_BY_KERNEL);
    ks_counter_table_release(&t);
    return 0;
}
