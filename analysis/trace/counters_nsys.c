/* SPDX-License-Identifier: MIT */
/* counters_nsys.c - reads Nsight Systems' GPU trace and kernel summary */
/* Both are of `nsys stats --format csv`: cuda_gpu_trace and cuda_gpu_kern_sum. They hold times, no
 * counters; units are in the header: "Duration (ns)". */
#include "analysis/trace/counter_read.h"
#include "analysis/trace/counter_value.h"

#include <stdio.h>
#include <string.h>

/* ns per unit of a column "Duration (us)"; 0: the unit is no time. */
static double column_scale(const struct ks_csv_header *h, size_t column)
{
    const char *open = strchr(h->name[column], '('), *end = open ? strchr(open, ')') : NULL;
    char unit[KS_UNIT_MAX], base[KS_UNIT_MAX];
    double scale;

    if (!end)
        return 0;
    snprintf(unit, sizeof(unit), "%.*s", (int)(end - open - 1), open + 1);
    scale = ks_unit_base(unit, base);
    return strcmp(base, "ns") == 0 ? scale : 0;
}

static int find_time(const struct ks_counter_file *f, const char *prefix, size_t *column_out,
                     double *scale_out, struct ks_err *err)
{
    *column_out = ks_csv_header_prefix(f->header, prefix);
    *scale_out = column_scale(f->header, *column_out);
    return *scale_out > 0
               ? 0
               : ks_fail(err, KS_EFORMAT, "%s: the unit of column '%s' is not a unit of time",
                         f->path, f->header->name[*column_out]);
}

static int take(struct ks_counter_file *f, int64_t number, const char *kernel, double time_ns,
                int64_t launches, struct ks_err *err)
{
    uint32_t row;
    int rc = ks_counter_file_row(f, number, kernel, &row, err);

    if (rc < 0)
        return rc;
    f->table->rows[row].has_time = true;
    f->table->rows[row].time_ns = time_ns;
    f->table->rows[row].launches = launches;
    f->table->rows[row].device = ks_counter_whole(f, ks_csv_header_find(f->header, "Device"), -1);
    f->table->rows[row].stream = ks_counter_whole(f, ks_csv_header_find(f->header, "Strm"), -1);
    return 0;
}

/* ---- cuda_gpu_trace: a line per kernel or copy ---- */

static bool is_trace(const struct ks_csv_header *h)
{
    return ks_csv_header_prefix(h, "Start (") != KS_CSV_NONE &&
           ks_csv_header_prefix(h, "Duration (") != KS_CSV_NONE &&
           ks_csv_header_find(h, "GrdX") != KS_CSV_NONE &&
           ks_csv_header_find(h, "Name") != KS_CSV_NONE;
}

static int read_trace(struct ks_counter_file *f, struct ks_err *err)
{
    const size_t grid = ks_csv_header_find(f->header, "GrdX");
    const size_t name = ks_csv_header_find(f->header, "Name");
    size_t duration;
    double scale, value;
    int64_t number = 0;
    int rc = find_time(f, "Duration (", &duration, &scale, err);

    while (rc >= 0 && (rc = ks_csv_rows_next(f->rows, err)) > 0) {
        if (!ks_number_read(ks_csv_field(f->rows, duration), KS_STYLE_POINT, &value))
            f->table->n_other++;
        else if (ks_counter_whole(f, grid, -1) < 0)
            f->table->n_copies++;
        else
            rc = take(f, number++, ks_csv_field(f->rows, name), scale * value, 1, err);
    }
    return rc;
}

const struct ks_counter_reader ks_counters_nsys_trace = { .name = "Nsight Systems, GPU trace",
                                                          .matches = is_trace,
                                                          .read = read_trace };

/* ---- cuda_gpu_kern_sum: a line per kernel ---- */

static bool is_summary(const struct ks_csv_header *h)
{
    return ks_csv_header_prefix(h, "Total Time (") != KS_CSV_NONE &&
           ks_csv_header_find(h, "Instances") != KS_CSV_NONE &&
           ks_csv_header_find(h, "Name") != KS_CSV_NONE;
}

static int read_summary(struct ks_counter_file *f, struct ks_err *err)
{
    const size_t instances = ks_csv_header_find(f->header, "Instances");
    const size_t name = ks_csv_header_find(f->header, "Name");
    size_t total;
    double scale, value;
    int64_t number = 0;
    int rc = find_time(f, "Total Time (", &total, &scale, err);

    while (rc >= 0 && (rc = ks_csv_rows_next(f->rows, err)) > 0) {
        const int64_t launches = ks_counter_whole(f, instances, -1);

        if (launches < 1 || !ks_number_read(ks_csv_field(f->rows, total), KS_STYLE_POINT, &value))
            f->table->n_other++;
        else
            rc = take(f, number++, ks_csv_field(f->rows, name), scale * value, launches, err);
    }
    return rc;
}

const struct ks_counter_reader ks_counters_nsys_summary = {
    .name = "Nsight Systems, kernel summary", .matches = is_summary, .read = read_summary
};
