/* SPDX-License-Identifier: MIT */
/* roofs.c - reads the roofs that rocprof-compute measured (roofline.csv) */
#include "analysis/trace/roofs.h"
#include "analysis/trace/counter_value.h"
#include "analysis/trace/csv_rows.h"
#include "base/file.h"

#include <stdlib.h>

/* GB/s and GFLOP/s (GOP/s for int8). */
static const struct column {
    const char *column;
    const char *name;
    bool is_memory;
} columns[] = {
    { "HBMBw", "HBM", true },
    { "L2Bw", "L2", true },
    { "L1Bw", "L1", true },
    { "LDSBw", "LDS", true },
    { "MALLBw", "MALL", true },
    { "FP16Flops", "fp16", false },
    { "BF16Flops", "bf16", false },
    { "FP32Flops", "fp32", false },
    { "FP64Flops", "fp64", false },
    { "MFMABF16Flops", "MFMA bf16", false },
    { "MFMAF16Flops", "MFMA fp16", false },
    { "MFMAF32Flops", "MFMA fp32", false },
    { "MFMAF64Flops", "MFMA fp64", false },
    { "MFMAF8Flops", "MFMA fp8", false },
    { "MFMAI8Ops", "MFMA int8", false },
};
enum { N_COLUMNS = sizeof(columns) / sizeof(columns[0]) };
_Static_assert((int)N_COLUMNS <= (int)KS_ROOFS_MAX, "too many roofs");

static void take_record(const struct ks_csv_rows *r, const struct ks_csv_header *h,
                        struct ks_roofs *out)
{
    const char *id = ks_csv_field(r, ks_csv_header_find(h, "device"));
    double v;

    out->device = *id ? strtoll(id, NULL, 10) : -1;
    out->n = 0;
    for (size_t i = 0; i < N_COLUMNS; i++)
        if (ks_number_read(ks_csv_field(r, ks_csv_header_find(h, columns[i].column)),
                           KS_STYLE_POINT, &v) &&
            v > 0)
            out->at[out->n++] = (struct ks_roof){ .name = columns[i].name,
                                                  .value = v * 1e9,
                                                  .is_memory = columns[i].is_memory };
}

int ks_roofs_parse(const char *text, size_t len, const char *path, int64_t device,
                   struct ks_roofs *out, struct ks_err *err)
{
    struct ks_csv_header h = { 0 };
    struct ks_roofs found = { .n = 0 };
    struct ks_csv_rows r;
    bool is_own = false;
    int rc;

    ks_csv_rows_open(&r, text, len, path);
    rc = ks_csv_rows_next(&r, err);
    if (rc > 0)
        rc = ks_csv_header_take(&h, &r, err);
    while (rc >= 0 && !is_own && (rc = ks_csv_rows_next(&r, err)) > 0) {
        struct ks_roofs line = { .n = 0 };

        take_record(&r, &h, &line);
        is_own = line.device >= 0 && line.device == device;
        if (is_own || found.n == 0)
            found = line;
    }
    if (rc >= 0 && found.n == 0)
        rc = ks_fail(err, KS_EFORMAT,
                     "%s: no roofs found: expected columns such as HBMBw and FP32Flops of "
                     "rocprof-compute's roofline.csv",
                     path);
    ks_csv_header_release(&h);
    ks_csv_rows_close(&r);
    if (rc < 0)
        return rc;
    *out = found;
    return 0;
}

int ks_roofs_read(const char *path, int64_t device, struct ks_roofs *out, struct ks_err *err)
{
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    rc = ks_file_read(path, &text, err);
    if (rc == 0)
        rc = ks_roofs_parse(ks_buf_text(&text), text.len, path, device, out, err);
    ks_buf_release(&text);
    return rc;
}
