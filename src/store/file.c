/* SPDX-License-Identifier: MIT */
/* file.c - opens results.h5: small tables in memory, rows of large ones on request */
#include "store/file.h"
#include "base/file.h"
#include "record/rounds.h"
#include "store/keys.h"
#include "store/store.h"
#include "store/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ks_store_file {
    hid_t file, samples;
    struct ks_store_info info;
    struct ks_list small[KS_T_COUNT]; /* the tables held whole */
    struct ks_table_reader measurements, attempts, events;
    struct ks_column problem_columns[KS_STORE_DIMS + 32];
    struct ks_table_def problems;
    char dim_names[KS_STORE_DIMS][48];
    struct ks_keys traits; /* instance -> number; its traits begin at first_trait[number] */
    struct ks_list first_trait;
};

static const enum ks_table_id small_tables[] = { KS_T_RUNS,     KS_T_HOSTS,   KS_T_DEVICES,
                                                 KS_T_PROBLEMS, KS_T_KERNELS, KS_T_TRAITS,
                                                 KS_T_BLOCKS };
#define N_SMALL (sizeof(small_tables) / sizeof(small_tables[0]))

/* ---- /problems: dimensions are the 64-bit integer columns that the schema does not list ---- */

static void add_dim(struct ks_store_file *f, const char *name)
{
    uint32_t i = f->info.n_dims;

    if (i == KS_STORE_DIMS || strlen(name) >= sizeof(f->dim_names[0]))
        return;
    snprintf(f->dim_names[i], sizeof(f->dim_names[i]), "%s", name);
    f->problem_columns[f->problems.n_columns++] = ks_dim_column_def(f->dim_names[i], i);
    f->info.n_dims++;
}

static int find_dims(struct ks_store_file *f, struct ks_err *err)
{
    const struct ks_table_def *def = &ks_table_defs[KS_T_PROBLEMS];
    hid_t dataset = H5Dopen2(f->file, def->path, H5P_DEFAULT), type = KS_H5_NONE;
    bool is_old = ks_table_has_old_names(f->file);
    int n;

    if (dataset < 0)
        return ks_fail(err, KS_EFORMAT, "table '%s' is missing", def->path);
    f->problems = *def;
    f->problems.columns = f->problem_columns;
    memcpy(f->problem_columns, def->columns, def->n_columns * sizeof(*def->columns));
    type = H5Dget_type(dataset);
    n = type >= 0 && H5Tget_class(type) == H5T_COMPOUND ? H5Tget_nmembers(type) : 0;
    for (int i = 0; i < n; i++) {
        char *in_file = H5Tget_member_name(type, (unsigned)i);
        const char *name = in_file && is_old ? ks_column_new_name(def->path, in_file) : in_file;

        if (name && H5Tget_member_class(type, (unsigned)i) == H5T_INTEGER &&
            !ks_table_column(def, name))
            add_dim(f, name);
        H5free_memory(in_file);
    }
    ks_h5_close(type);
    ks_h5_close(dataset);
    return 0;
}

/* ---- small tables ---- */

static int load_rows(struct ks_store_file *f, enum ks_table_id t, const struct ks_table_def *def,
                     struct ks_err *err)
{
    struct ks_table_reader r = { 0 };
    struct ks_list *rows = &f->small[t];
    const uint8_t *packed;
    void *added;
    int rc;

    rows->size = def->row_size;
    rc = ks_table_open(&r, f->file, def, err);
    for (uint64_t i = 0; rc == 0 && i < r.n_rows; i++) {
        rc = ks_table_row(&r, i, &packed, err);
        if (rc == 0)
            rc = ks_list_add(rows, &added, err);
        if (rc == 0)
            rc = ks_packing_unpack(&r.layout, packed, added, err);
    }
    ks_table_close(&r);
    return rc;
}

static void parse_problems(struct ks_store_file *f)
{
    for (size_t i = 0; i < f->small[KS_T_PROBLEMS].n; i++) {
        struct ks_problem_row *row = ks_list_at(&f->small[KS_T_PROBLEMS], i);

        if (ks_problem_parse(row->canonical, &row->problem, NULL) < 0)
            continue;
        row->has_problem = 1;
        row->problem.count = row->n_uses;
        snprintf(row->problem.name, sizeof(row->problem.name), "%.*s",
                 (int)sizeof(row->problem.name) - 1, row->problem_name);
    }
}

static int find_traits(struct ks_store_file *f, struct ks_err *err)
{
    const struct ks_list *rows = &f->small[KS_T_TRAITS];

    f->first_trait.size = sizeof(uint32_t);
    for (uint32_t i = 0; i < rows->n; i++) {
        const struct ks_trait_row *t = ks_list_at(rows, i);
        struct ks_key key = { { t->instance_id } };
        uint32_t number;
        bool is_new;
        void *added;
        int rc = ks_keys_add(&f->traits, &key, &number, &is_new, err);

        if (rc == 0 && is_new) {
            rc = ks_list_add(&f->first_trait, &added, err);
            if (rc == 0)
                *(uint32_t *)added = i;
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int load_small(struct ks_store_file *f, struct ks_err *err)
{
    int rc = find_dims(f, err);

    for (size_t i = 0; rc == 0 && i < N_SMALL; i++) {
        enum ks_table_id t = small_tables[i];

        rc = load_rows(f, t, t == KS_T_PROBLEMS ? &f->problems : &ks_table_defs[t], err);
    }
    if (rc < 0)
        return rc;
    f->info.n_runs = (uint32_t)f->small[KS_T_RUNS].n;
    f->info.n_hosts = (uint32_t)f->small[KS_T_HOSTS].n;
    f->info.n_devices = (uint32_t)f->small[KS_T_DEVICES].n;
    f->info.n_problems = (uint32_t)f->small[KS_T_PROBLEMS].n;
    f->info.n_kernels = (uint32_t)f->small[KS_T_KERNELS].n;
    f->info.n_traits = (uint32_t)f->small[KS_T_TRAITS].n;
    f->info.n_blocks = (uint32_t)f->small[KS_T_BLOCKS].n;
    parse_problems(f);
    return find_traits(f, err);
}

/* ---- open ---- */

static int check_version(struct ks_store_file *f, struct ks_err *err)
{
    int rc = ks_h5_get_u64(f->file, "schema_major", &f->info.schema_major, err);

    if (rc == 0)
        rc = ks_h5_get_u64(f->file, "schema_minor", &f->info.schema_minor, err);
    if (rc < 0)
        return ks_err_context(err, rc, "is not a results file of ksweep");
    if (f->info.schema_major != KS_SCHEMA_MAJOR)
        return ks_fail(err, KS_EUNSUPPORTED, "schema %llu.%llu, but this version reads %d.x: %s",
                       (unsigned long long)f->info.schema_major,
                       (unsigned long long)f->info.schema_minor, KS_SCHEMA_MAJOR,
                       f->info.schema_major > KS_SCHEMA_MAJOR
                           ? "use the version of ksweep that wrote it, or a newer one"
                           : "gather the run's journals again with this version");
    ks_h5_get_text(f->file, "program", f->info.program, sizeof(f->info.program));
    return 0;
}

static int open_big(struct ks_store_file *f, struct ks_err *err)
{
    int rc = ks_table_open(&f->measurements, f->file, &ks_table_defs[KS_T_MEASUREMENTS], err);

    if (rc == 0)
        rc = ks_table_open(&f->attempts, f->file, &ks_table_defs[KS_T_ATTEMPTS], err);
    if (rc == 0)
        rc = ks_table_open(&f->events, f->file, &ks_table_defs[KS_T_EVENTS], err);
    if (rc == 0)
        rc = ks_h5_get_u64(f->measurements.dataset, "n_cells", &f->info.n_cells, err);
    if (rc == 0)
        rc = ks_h5_get_u64(f->measurements.dataset, "n_pending", &f->info.n_pending, err);
    if (rc < 0)
        return rc;
    f->info.n_measurements = f->measurements.n_rows;
    f->info.n_attempts = f->attempts.n_rows;
    f->info.n_events = f->events.n_rows;
    f->samples = H5Dopen2(f->file, KS_SAMPLES_PATH, H5P_DEFAULT);
    if (f->samples < 0)
        return ks_fail(err, KS_EFORMAT, "'%s' is missing", KS_SAMPLES_PATH);
    return ks_h5_extent(f->samples, &f->info.n_samples, err);
}

int ks_store_open(const char *path, struct ks_store_file **out, struct ks_err *err)
{
    struct ks_store_file *f;
    int rc = ks_file_check(path, err);

    if (rc < 0)
        return ks_err_context(err, rc, "results file");
    ks_h5_start();
    f = calloc(1, sizeof(*f));
    if (!f)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    f->file = f->samples = KS_H5_NONE;
    if (access(path, R_OK) < 0)
        rc = ks_fail_path(err, "results file");
    if (rc == 0) {
        f->file = ks_h5_open(path);
        if (f->file < 0)
            rc = ks_fail(err, KS_EFORMAT, "is not an HDF5 file, or is damaged");
    }
    if (rc == 0)
        rc = check_version(f, err);
    if (rc == 0)
        rc = load_small(f, err);
    if (rc == 0)
        rc = open_big(f, err);
    if (rc < 0) {
        ks_store_close(f);
        return ks_err_context(err, rc, "'%s'", path);
    }
    *out = f;
    return 0;
}

void ks_store_close(struct ks_store_file *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->small[KS_T_RUNS].n; i++)
        free((void *)(uintptr_t)((struct ks_run_row *)ks_list_at(&f->small[KS_T_RUNS], i))->job);
    for (size_t t = 0; t < KS_T_COUNT; t++)
        ks_list_release(&f->small[t]);
    ks_table_close(&f->measurements);
    ks_table_close(&f->attempts);
    ks_table_close(&f->events);
    ks_keys_release(&f->traits);
    ks_list_release(&f->first_trait);
    ks_h5_close(f->samples);
    ks_h5_close(f->file);
    free(f);
}

/* ---- access ---- */

const struct ks_table_reader *ks_store_measurements(const struct ks_store_file *f)
{
    return &f->measurements;
}

const struct ks_store_info *ks_store_info(const struct ks_store_file *f)
{
    return &f->info;
}

const struct ks_run_row *ks_store_run(const struct ks_store_file *f, uint32_t i)
{
    return ks_list_at(&f->small[KS_T_RUNS], i);
}

const struct ks_host_row *ks_store_host(const struct ks_store_file *f, uint32_t i)
{
    return ks_list_at(&f->small[KS_T_HOSTS], i);
}

const struct ks_device_row *ks_store_device(const struct ks_store_file *f, uint32_t i)
{
    return ks_list_at(&f->small[KS_T_DEVICES], i);
}

const struct ks_problem_row *ks_store_problem(const struct ks_store_file *f, uint32_t i)
{
    return ks_list_at(&f->small[KS_T_PROBLEMS], i);
}

const struct ks_kernel_row *ks_store_kernel(const struct ks_store_file *f, uint32_t i)
{
    return ks_list_at(&f->small[KS_T_KERNELS], i);
}

const struct ks_trait_row *ks_store_trait(const struct ks_store_file *f, uint32_t i)
{
    return ks_list_at(&f->small[KS_T_TRAITS], i);
}

const struct ks_block_row *ks_store_block(const struct ks_store_file *f, uint32_t i)
{
    return ks_list_at(&f->small[KS_T_BLOCKS], i);
}

const char *ks_store_dim_name(const struct ks_store_file *f, uint32_t i)
{
    return f->dim_names[i];
}

const char *ks_store_trait_value(const struct ks_store_file *f, uint64_t instance,
                                 const char *trait)
{
    const struct ks_list *rows = &f->small[KS_T_TRAITS];
    uint32_t number = ks_keys_find(&f->traits, &(struct ks_key){ { instance } });

    if (number == KS_NO_ROW)
        return NULL;
    for (size_t i = *(uint32_t *)ks_list_at(&f->first_trait, number); i < rows->n; i++) {
        const struct ks_trait_row *t = ks_list_at(rows, i);

        if (t->instance_id != instance)
            break;
        if (strcmp(t->key, trait) == 0)
            return t->value;
    }
    return NULL;
}

static int read_row(struct ks_table_reader *r, uint64_t i, struct ks_row *out, struct ks_err *err)
{
    const uint8_t *packed;
    int rc = ks_table_row(r, i, &packed, err);

    return rc < 0 ? rc : ks_packing_unpack(&r->layout, packed, out, err);
}

int ks_store_measurement(struct ks_store_file *f, uint64_t i, struct ks_row *out,
                         struct ks_err *err)
{
    return read_row(&f->measurements, i, out, err);
}

static int find_statistic(const char *name, enum ks_statistic *out, struct ks_err *err)
{
    for (unsigned k = 0; k < KS_N_STATISTICS; k++)
        if (strcmp(ks_statistic_names[k], name) == 0) {
            *out = (enum ks_statistic)k;
            return 0;
        }
    return ks_fail(err, KS_EFORMAT,
                   "column rounds_statistic of /measurements has the unknown value '%s' (known are "
                   "median, low, groups, minimum): the file is damaged or from a later version",
                   name);
}

int ks_store_statistics(struct ks_store_file *f, enum ks_statistic *out, struct ks_err *err)
{
    bool *is_known = calloc(f->info.n_runs + 1u, sizeof(*is_known));
    uint32_t n_left = f->info.n_runs;
    struct ks_row row;
    int rc = is_known ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %u runs", n_left);

    for (uint32_t i = 0; i < n_left; i++)
        out[i] = ks_label_statistic("");
    for (uint32_t i = f->info.n_devices; i-- > 0;)
        if (ks_store_device(f, i)->run < f->info.n_runs)
            out[ks_store_device(f, i)->run] =
                ks_label_statistic(ks_store_device(f, i)->rec.backend);
    for (uint64_t i = 0; rc == 0 && n_left > 0 && i < f->info.n_measurements; i++) {
        rc = ks_store_measurement(f, i, &row, err);
        if (rc < 0 || !row.rounds_statistic[0] || row.run >= f->info.n_runs || is_known[row.run])
            continue;
        rc = find_statistic(row.rounds_statistic, &out[row.run], err);
        is_known[row.run] = true;
        n_left--;
    }
    free(is_known);
    return rc;
}

int ks_store_attempt(struct ks_store_file *f, uint64_t i, struct ks_row *out, struct ks_err *err)
{
    return read_row(&f->attempts, i, out, err);
}

int ks_store_event(struct ks_store_file *f, uint64_t i, struct ks_event_row *out,
                   struct ks_err *err)
{
    const uint8_t *packed;
    int rc = ks_table_row(&f->events, i, &packed, err);

    return rc < 0 ? rc : ks_packing_unpack(&f->events.layout, packed, out, err);
}

int ks_store_samples(struct ks_store_file *f, uint64_t offset, size_t n, float *ns_out,
                     struct ks_err *err)
{
    if (offset > f->info.n_samples || n > f->info.n_samples - offset)
        return ks_fail(err, KS_EINVAL, "samples %llu to %llu do not exist: the file has %llu",
                       (unsigned long long)offset, (unsigned long long)(offset + n),
                       (unsigned long long)f->info.n_samples);
    return ks_h5_read(f->samples, H5T_IEEE_F32LE, offset, n, ns_out, err);
}
