/* SPDX-License-Identifier: MIT */
/* fuzz_intake.c - any bytes as another tool's file or as a table: refused by name, or sound rows */
/* Counts of rows add up, and values of frames can be read. The first byte chooses the format. */
#include "analysis/import/intake.h"
#include "analysis/import/made.h"
#include "grid/ck_rows.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
    struct ks_text_in in = { 0 };
    struct ks_err err = { 0 };
    int rc = ks_stage_create(&stage, &err);

    demand(rc == 0 && ks_text_in_bytes(&in, bytes, n, "f", &err) == 0);
    rc = ks_intake_read(stage, &in, "f", format, &options, &counts, &err);
    demand(rc == 0 || (err.text[0] == 'f' && ks_code_exit(err.code) == 2));
    demand(rc < 0 || counts.n_rows == counts.n_stored + counts.n_repeated);
    demand(rc < 0 || counts.n_rows > 0);
    ks_text_in_close(&in);
    ks_stage_destroy(stage);
}

static void look(const struct ks_df *f)
{
    for (size_t i = 0; i < f->n_columns; i++) {
        const struct ks_df_column *c = &f->columns[i];

        for (size_t row = 0; row < f->n_rows; row++) {
            demand(!c->code || c->code[row] == KS_DF_NONE || c->code[row] < c->n_values);
            demand(c->type != KS_DF_TEXT || !ks_df_has(c, row) || ks_df_text(c, row)[0]);
        }
    }
}

/* A table that was written before. */
static void try_made(const uint8_t *bytes, size_t n)
{
    int fd = memfd_create("table", MFD_CLOEXEC), rc;
    struct ks_made *m = NULL;
    struct ks_err err = { 0 };
    struct ks_df *f;
    char path[64];

    demand(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    rc = ks_made_open(path, &m, &err);
    while (rc >= 0 && m && (rc = ks_made_next(m, &f, &err)) > 0)
        look(f);
    demand(rc == 0 || (strstr(err.text, path) && ks_code_exit(err.code) == 2));
    ks_made_close(m);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const struct ks_intake_format *const formats[] = { &ks_intake_fdb, &ks_intake_t4,
                                                              &ks_intake_kernel_tuner,
                                                              &ks_intake_ktt };

    if (n == 0)
        return 0;
    if (bytes[0] >= 0x80)
        try_format(bytes[0] & 1 ? &ks_intake_profiler_results : &ks_intake_profiler_log, bytes + 1,
                   n - 1);
    else if (bytes[0] % 6 == 5)
        try_made(bytes + 1, n - 1);
    else if (bytes[0] % 6 == 4)
        try_ck((const char *)bytes + 1, n - 1);
    else
        try_format(formats[bytes[0] % 6], bytes + 1, n - 1);
    return 0;
}
