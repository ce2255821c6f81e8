/* SPDX-License-Identifier: MIT */
/* counters_rocprof.c - reads CSV of rocprofv3 and rocprof-compute */
/* rocprofv3 writes counter_collection.csv (a line per launch and counter) and kernel_trace.csv (the
 * times of launches), rocprof-compute pmc_perf.csv (a line per launch). Columns moved and came
 * between releases; they are found by name. */
#include "analysis/trace/counter_read.h"
#include "analysis/trace/counter_value.h"
#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The time of the current record, where it has both stamps and they are in order. */
static void take_time(struct ks_counter_file *f, uint32_t row)
{
    const int64_t start = ks_counter_whole(f, ks_csv_header_find(f->header, "Start_Timestamp"), -1);
    const int64_t end = ks_counter_whole(f, ks_csv_header_find(f->header, "End_Timestamp"), -1);
    struct ks_counter_row *r = &f->table->rows[row];

    if (start < 0 || end < start || r->has_time)
        return;
    r->has_time = true;
    r->start_ns = start;
    r->time_ns = (double)(end - start);
}

static void take_place(struct ks_counter_file *f, uint32_t row, const char *device,
                       const char *queue)
{
    struct ks_counter_row *r = &f->table->rows[row];

    r->device = ks_counter_whole(f, ks_csv_header_find(f->header, device), r->device);
    r->stream = ks_counter_whole(f, ks_csv_header_find(f->header, queue), r->stream);
}

/* ---- counter_collection.csv ---- */

static bool is_counters(const struct ks_csv_header *h)
{
    return ks_csv_header_find(h, "Dispatch_Id") != KS_CSV_NONE &&
           ks_csv_header_find(h, "Kernel_Name") != KS_CSV_NONE &&
           ks_csv_header_find(h, "Counter_Name") != KS_CSV_NONE &&
           ks_csv_header_find(h, "Counter_Value") != KS_CSV_NONE;
}

static int take_counter(struct ks_counter_file *f, struct ks_err *err)
{
    const struct ks_csv_header *h = f->header;
    const int64_t dispatch = ks_counter_whole(f, ks_csv_header_find(h, "Dispatch_Id"), -1);
    const char *kernel = ks_csv_field(f->rows, ks_csv_header_find(h, "Kernel_Name"));
    const char *name = ks_csv_field(f->rows, ks_csv_header_find(h, "Counter_Name"));
    uint32_t row, column;
    double value;
    int rc;

    if (dispatch < 0 || !*name ||
        !ks_number_read(ks_csv_field(f->rows, ks_csv_header_find(h, "Counter_Value")),
                        KS_STYLE_POINT, &value)) {
        f->table->n_other++;
        return 0;
    }
    rc = ks_counter_file_row(f, dispatch, kernel, &row, err);
    if (rc == 0)
        rc = ks_counter_column(f->table, name, "", &column, err);
    if (rc == 0)
        rc = ks_counter_put(f->table, row, column, value, err);
    if (rc == 0) {
        take_time(f, row);
        take_place(f, row, "Agent_Id", "Queue_Id");
    }
    return rc;
}

static int read_counters(struct ks_counter_file *f, struct ks_err *err)
{
    int rc;

    while ((rc = ks_csv_rows_next(f->rows, err)) > 0) {
        rc = take_counter(f, err);
        if (rc < 0)
            break;
    }
    return rc;
}

const struct ks_counter_reader ks_counters_rocprof_counters = { .name = "rocprofv3, counters",
                                                                .matches = is_counters,
                                                                .read = read_counters };

/* ---- kernel_trace.csv ---- */

static bool is_kernels(const struct ks_csv_header *h)
{
    return ks_csv_header_find(h, "Dispatch_Id") != KS_CSV_NONE &&
           ks_csv_header_find(h, "Kernel_Name") != KS_CSV_NONE &&
           ks_csv_header_find(h, "Start_Timestamp") != KS_CSV_NONE &&
           ks_csv_header_find(h, "Counter_Name") == KS_CSV_NONE;
}

/* Launches that have counters get their times. Where the process has none at all, its launches
 * become rows with nothing but a time. */
static int read_kernels(struct ks_counter_file *f, struct ks_err *err)
{
    const size_t id = ks_csv_header_find(f->header, "Dispatch_Id");
    const size_t kernel = ks_csv_header_find(f->header, "Kernel_Name");
    const bool is_alone = !ks_counter_has_process(f->table, f->process);
    int rc;

    while ((rc = ks_csv_rows_next(f->rows, err)) > 0) {
        const int64_t dispatch = ks_counter_whole(f, id, -1);
        const char *name = ks_csv_field(f->rows, kernel);
        uint32_t row;

        if (dispatch < 0) {
            f->table->n_other++;
            continue;
        }
        if (!is_alone && !ks_counter_has_row(f->table, f->process, dispatch, name)) {
            f->table->n_unjoined++;
            continue;
        }
        rc = ks_counter_file_row(f, dispatch, name, &row, err);
        if (rc < 0)
            break;
        take_time(f, row);
        take_place(f, row, "Agent_Id", "Queue_Id");
    }
    return rc;
}

const struct ks_counter_reader ks_counters_rocprof_kernels = { .name = "rocprofv3, kernel trace",
                                                               .matches = is_kernels,
                                                               .read = read_kernels };

/* ---- pmc_perf.csv ---- */

static bool is_wide(const struct ks_csv_header *h)
{
    return ks_csv_header_find(h, "Dispatch_ID") != KS_CSV_NONE &&
           ks_csv_header_find(h, "Kernel_Name") != KS_CSV_NONE &&
           ks_csv_header_find(h, "GPU_ID") != KS_CSV_NONE;
}

/* Describes the launch rather than counting: the first ones of `obj`, `obj_1`, ... too. */
static bool is_description(const char *name)
{
    static const char *const names[] = {
        "Dispatch_ID",   "Kernel_Name",       "GPU_ID",
        "queue-id",      "queue-index",       "pid",
        "tid",           "Grid_Size",         "Workgroup_Size",
        "Kernel_ID",     "LDS_Per_Workgroup", "Scratch_Per_Workitem",
        "Arch_VGPR",     "Accum_VGPR",        "SGPR",
        "DispatchNs",    "Start_Timestamp",   "sig",
        "End_Timestamp", "CompleteNs"
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return strcmp(name, "wave_size") == 0 || strncmp(name, "wave_size_", 10) == 0 ||
           strcmp(name, "obj") == 0 || strncmp(name, "obj_", 4) == 0 || !*name;
}

/* Where each CSV column goes: nowhere, to a counter, or (NAME[i] of a channel) into a sum. */
struct wide {
    uint32_t *column; /* [header->n] or KS_TEXT_NONE */
    bool *is_channel;
    double *sum; /* [table->n_columns] of the channels of one launch */
    bool *has_sum;
};

static void wide_release(struct wide *w)
{
    free(w->column);
    free(w->is_channel);
    free(w->sum);
    free(w->has_sum);
}

static int wide_column(struct ks_counter_file *f, struct wide *w, size_t i, struct ks_err *err)
{
    const char *name = f->header->name[i], *bracket = strchr(name, '[');
    char total[256];

    w->column[i] = KS_TEXT_NONE;
    if (is_description(name))
        return 0;
    if (!bracket)
        return ks_counter_column(f->table, name, "", &w->column[i], err);
    snprintf(total, sizeof(total), "%.*s_sum", (int)(bracket - name), name);
    if (ks_csv_header_find(f->header, total) != KS_CSV_NONE)
        return 0; /* the sum is there already */
    w->is_channel[i] = true;
    return ks_counter_column(f->table, total, "", &w->column[i], err);
}

static int wide_init(struct ks_counter_file *f, struct wide *w, struct ks_err *err)
{
    const size_t n = f->header->n;
    int rc = 0;

    *w = (struct wide){ .column = calloc(n, sizeof(*w->column)),
                        .is_channel = calloc(n, sizeof(*w->is_channel)) };
    if (!w->column || !w->is_channel)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu columns", n);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = wide_column(f, w, i, err);
    if (rc < 0)
        return rc;
    w->sum = calloc(f->table->n_columns + 1, sizeof(*w->sum));
    w->has_sum = calloc(f->table->n_columns + 1, sizeof(*w->has_sum));
    return w->sum && w->has_sum ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu columns", n);
}

static int put_sums(struct ks_counter_file *f, struct wide *w, uint32_t row, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < f->table->n_columns; i++) {
        if (w->has_sum[i])
            rc = ks_counter_put(f->table, row, i, w->sum[i], err);
        w->sum[i] = 0;
        w->has_sum[i] = false;
    }
    return rc;
}

static int wide_record(struct ks_counter_file *f, struct wide *w, struct ks_err *err)
{
    const int64_t dispatch = ks_counter_whole(f, ks_csv_header_find(f->header, "Dispatch_ID"), -1);
    uint32_t row;
    double value;
    int rc;

    if (dispatch < 0) {
        f->table->n_other++;
        return 0;
    }
    rc = ks_counter_file_row(f, dispatch,
                             ks_csv_field(f->rows, ks_csv_header_find(f->header, "Kernel_Name")),
                             &row, err);
    if (rc < 0)
        return rc;
    take_time(f, row);
    take_place(f, row, "GPU_ID", "queue-id");
    for (size_t i = 0; rc == 0 && i < f->header->n; i++) {
        const uint32_t column = w->column[i];

        if (column == KS_TEXT_NONE ||
            !ks_number_read(ks_csv_field(f->rows, i), KS_STYLE_POINT, &value))
            continue;
        if (!w->is_channel[i]) {
            rc = ks_counter_put(f->table, row, column, value, err);
            continue;
        }
        w->sum[column] += value;
        w->has_sum[column] = true;
    }
    return rc == 0 ? put_sums(f, w, row, err) : rc;
}

static int read_wide(struct ks_counter_file *f, struct ks_err *err)
{
    char dir[4096];
    struct ks_counter_file of_dir = *f;
    struct wide w;
    int rc = wide_init(f, &w, err);

    ks_path_dir(dir, sizeof(dir), f->path); /* the files of a directory are one run */
    of_dir.process = dir;
    while (rc >= 0 && (rc = ks_csv_rows_next(f->rows, err)) > 0)
        rc = wide_record(&of_dir, &w, err);
    wide_release(&w);
    return rc;
}

const struct ks_counter_reader ks_counters_rocprof_wide = { .name = "rocprof-compute",
                                                            .matches = is_wide,
                                                            .read = read_wide };
