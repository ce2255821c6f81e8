/* SPDX-License-Identifier: MIT */
/* fuzz_job.c - any bytes as a job: refused with a place, or a text that resolves to itself */
/* Paths of the seeds name /proc/self/exe, which exists everywhere. */
#include "grid/job.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_job *j = calloc(1, sizeof *j), *again = calloc(1, sizeof *again);
    struct ks_err err = { 0 };
    struct ks_buf a, b;

    demand(j && again);
    ks_buf_init(&a);
    ks_buf_init(&b);
    if (ks_job_parse((const char *)bytes, n, "/proc/self/f", j, &err) == 0) {
        ks_job_print(j, &a);
        demand(ks_job_parse(ks_buf_text(&a), a.len, "/f", again, &err) == 0);
        ks_job_print(again, &b);
        demand(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
        ks_buf_clear(&a);
        ks_buf_clear(&b);
        demand(ks_job_diff(j, again, &a, &b) == 0 && a.len + b.len == 0);
    } else {
        demand(strncmp(err.text, "/proc/self/f:", 13) == 0);
    }
    ks_buf_release(&a);
    ks_buf_release(&b);
    ks_job_release(j);
    ks_job_release(again);
    free(j);
    free(again);
    return 0;
}
