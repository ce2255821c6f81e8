/* SPDX-License-Identifier: MIT */
/* Any bytes as a file of another tool: refused with its name, or rows whose counts add up. The
 * first byte chooses the format. */
#include "analysis/import/intake.h"
#include "grid/ck_rows.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static int on_row(void *ctx, const struct ks_ck_row *row, struct ks_err *err)
{
    (void)ctx;
    (void)err;
    demand(row->p->id != 0 && row->line > 0);
    return 0;
}

/* Its kernels' names come from a family file: rows are enough here. */
static void try_ck(const char *text, size_t n)
{
    struct ks_err err = { 0 };
    int rc = ks_ck_rows(text, n, "f.csv", on_row, NULL, &err);

    demand(rc == 0 || strncmp(err.text, "f.csv:", 6) == 0);
}

static void try_format(const struct ks_intake_format *format, const uint8_t *bytes, size_t n)
{
    static const struct ks_intake_options options = { .device = "gfx942130" };
    struct ks_intake_counts counts = { 0 };
    struct ks_stage *stage = NULL;
    struct ks_input in = { 0 };
    struct ks_err err = { 0 };
    int rc = ks_stage_create(&stage, &err);

    demand(rc == 0 && ks_input_bytes(&in, bytes, n, "f", &err) == 0);
    rc = ks_intake_read(stage, &in, "f", format, &options, &counts, &err);
    demand(rc == 0 || (err.text[0] == 'f' && ks_code_exit(err.code) == 2));
    demand(rc < 0 || counts.n_rows == counts.n_stored + counts.n_repeated);
    demand(rc < 0 || counts.n_rows > 0);
    ks_input_close(&in);
    ks_stage_destroy(stage);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const struct ks_intake_format *const formats[] = { &ks_intake_fdb, &ks_intake_t4,
                                                              &ks_intake_kernel_tuner,
                                                              &ks_intake_ktt };

    if (n == 0)
        return 0;
    if (bytes[0] % 5 == 4)
        try_ck((const char *)bytes + 1, n - 1);
    else
        try_format(formats[bytes[0] % 5], bytes + 1, n - 1);
    return 0;
}
