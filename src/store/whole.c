/* SPDX-License-Identifier: MIT */
/* whole.c - writes all tables, reads them back, compares digests, then publishes the file */
#include "store/whole.h"
#include "store/families.h"
#include "store/fd_driver.h"
#include "store/table.h"
#include "store/temp.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SAMPLE_CHUNK 65536u

struct whole {
    const struct ks_whole_plan *plan;
    const struct ks_store_options *options;
    struct ks_temp temp;
    hid_t file;
    struct ks_table_writer tables[KS_T_COUNT];
    struct ks_appender samples;
    struct ks_list digests; /* struct ks_digest: everything that must read back */
    struct ks_store_totals totals;
};

/* ---- the sink ---- */

static void count_outcome(struct ks_store_totals *t, const struct ks_row *row)
{
    t->n_done += row->run_instance == 0;
    t->n_outcome[row->outcome < KS_O_LIMIT ? row->outcome : 0]++;
    t->n_contaminated += (row->outcome_flags & KS_FL_CONTAMINATED) != 0;
    t->n_found_need_look += row->run_instance != 0 && ks_outcome_needs_look(row->outcome);
}

static int put_row(void *ctx, enum ks_table_id table, const void *row, struct ks_err *err)
{
    struct whole *g = ctx;

    if (table == KS_T_MEASUREMENTS)
        count_outcome(&g->totals, row);
    return ks_table_put(&g->tables[table], row, err);
}

static int put_samples(void *ctx, const float *ns, size_t n, struct ks_err *err)
{
    struct whole *g = ctx;

    return ks_appender_put(&g->samples, ns, n, err);
}

/* ---- what the numbers in columns mean, as attributes ---- */

static void names_of(struct ks_buf *b, const char *(*text)(uint32_t), uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        ks_buf_printf(b, "%s%u=%s", b->len ? "," : "", i, text(i));
}

static const char *flag_name(uint32_t bit)
{
    static const char *const names[] = {
#define X(name, bit_, text) [bit_] = (text),
        KS_FLAG_LIST(X)
#undef X
    };

    return bit < sizeof(names) / sizeof(names[0]) ? names[bit] : NULL;
}

static void flag_names(struct ks_buf *b)
{
    for (uint32_t bit = 0; flag_name(bit); bit++)
        ks_buf_printf(b, "%s%u=%s", b->len ? "," : "", 1u << bit, flag_name(bit));
}

static int put_names(hid_t dataset, const char *name, struct ks_buf *b, struct ks_err *err)
{
    int rc = ks_buf_ok(b) ? ks_h5_put_text(dataset, name, ks_buf_text(b), err)
                          : ks_fail(err, KS_ENOMEM, "out of memory");

    ks_buf_clear(b);
    return rc;
}

#define CHECK_VALUES "0=not run,1=passed,2=failed"

static int describe_values(hid_t dataset, struct ks_err *err)
{
    struct ks_buf b;
    int rc;

    ks_buf_init(&b);
    names_of(&b, ks_outcome_text, 1, KS_O_LIMIT);
    rc = put_names(dataset, "outcome_values", &b, err);
    names_of(&b, ks_phase_text, KS_PH_IDLE, KS_PH_EXIT + 1);
    if (rc == 0)
        rc = put_names(dataset, "phase_values", &b, err);
    names_of(&b, ks_stop_text, KS_STOP_NONE, KS_STOP_FAILED + 1);
    if (rc == 0)
        rc = put_names(dataset, "stop_reason_values", &b, err);
    flag_names(&b);
    if (rc == 0)
        rc = put_names(dataset, "outcome_flags_bits", &b, err);
    if (rc == 0)
        rc = ks_h5_put_text(dataset, "exact_check_values", CHECK_VALUES, err);
    if (rc == 0)
        rc = ks_h5_put_text(dataset, "tolerance_check_values", CHECK_VALUES, err);
    if (rc == 0)
        rc = ks_h5_put_text(dataset, "bitwise_reproducible_values", "0=not known,1=yes,2=no", err);
    ks_buf_release(&b);
    return rc;
}

/* ---- opening ---- */

static int create_tables(struct whole *g, struct ks_err *err)
{
    int rc = 0;

    for (unsigned t = 0; rc == 0 && t < KS_T_COUNT; t++)
        rc = ks_table_create(&g->tables[t], g->file, &g->plan->index->defs[t],
                             g->plan->index->text_len[t], g->plan->n_rows[t],
                             g->options->chunk_rows, err);
    if (rc == 0)
        rc = describe_values(g->tables[KS_T_MEASUREMENTS].rows.dataset, err);
    if (rc == 0)
        rc = describe_values(g->tables[KS_T_ATTEMPTS].rows.dataset, err);
    if (rc == 0)
        rc = ks_h5_put_text(g->tables[KS_T_ATTEMPTS].rows.dataset, "role_values",
                            "0=cell,1=anchor,2=canary,3=control", err);
    return rc;
}

static int create_samples(struct whole *g, struct ks_err *err)
{
    uint64_t n = g->plan->n_samples;
    size_t chunk = n < SAMPLE_CHUNK ? (size_t)n : SAMPLE_CHUNK;
    int rc = ks_appender_create(&g->samples, g->file, KS_SAMPLES_PATH, H5Tcopy(H5T_IEEE_F32LE),
                                chunk ? chunk : 1, err);

    if (rc == 0)
        rc = ks_h5_put_text(g->samples.dataset, "units", "ns", err);
    if (rc == 0)
        rc = ks_h5_put_text(g->samples.dataset, "TITLE", "every sample: time of one call", err);
    return rc;
}

static int create_file(struct whole *g, struct ks_err *err)
{
    const char *program = g->options->program ? g->options->program : "ksweep";
    int rc;

    g->file = ks_fd_create(g->temp.fd);
    if (g->file < 0)
        return ks_h5_fail(err, "creating the file");
    rc = ks_h5_put_u64(g->file, "schema_major", KS_SCHEMA_MAJOR, err);
    if (rc == 0)
        rc = ks_h5_put_u64(g->file, "schema_minor", KS_SCHEMA_MINOR, err);
    if (rc == 0)
        rc = ks_h5_put_text(g->file, "program", program, err);
    if (rc == 0)
        rc = create_tables(g, err);
    if (rc == 0)
        rc = create_samples(g, err);
    return rc;
}

/* ---- finishing ---- */

static int add_digest(struct whole *g, const char *path, uint64_t n, uint32_t crc,
                      struct ks_err *err)
{
    struct ks_digest *d;
    void *added;
    int rc = ks_list_add(&g->digests, &added, err);

    if (rc < 0)
        return rc;
    d = added;
    *d = (struct ks_digest){ .n = n, .crc = crc };
    snprintf(d->path, sizeof(d->path), "%s", path);
    return 0;
}

static int finish_samples(struct whole *g, struct ks_err *err)
{
    int rc = ks_appender_finish(&g->samples, err);

    if (rc == 0)
        rc = add_digest(g, KS_SAMPLES_PATH, g->samples.n_rows, g->samples.crc, err);
    ks_appender_drop(&g->samples);
    return rc;
}

static int finish_tables(struct whole *g, struct ks_err *err)
{
    hid_t view = g->tables[KS_T_MEASUREMENTS].rows.dataset;
    int rc = ks_h5_put_u64(view, "n_cells", g->totals.n_cells, err);

    if (rc == 0)
        rc = ks_h5_put_u64(view, "n_pending", g->totals.n_pending, err);
    for (unsigned t = 0; rc == 0 && t < KS_T_COUNT; t++) {
        struct ks_table_writer *w = &g->tables[t];

        rc = ks_table_finish(w, err);
        if (rc == 0)
            rc = add_digest(g, w->rows.path, w->rows.n_rows, w->rows.crc, err);
        ks_table_drop(w);
    }
    return rc;
}

/* H5Fclose writes what is still held in memory: it must be asked, or a full disk goes unnoticed. */
static int close_file(struct whole *g, struct ks_err *err)
{
    hid_t file = g->file;

    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)
        return ks_h5_fail(err, "writing the file");
    g->file = KS_H5_NONE;
    return H5Fclose(file) < 0 ? ks_h5_fail(err, "closing the file") : 0;
}

static int read_back(const struct whole *g, struct ks_err *err)
{
    hid_t file = ks_fd_open(g->temp.fd);
    int rc = 0;

    if (file < 0)
        return ks_h5_fail(err, "opening the file just written");
    for (size_t i = 0; rc == 0 && i < g->digests.n; i++) {
        const struct ks_digest *d = ks_list_at(&g->digests, i);
        uint64_t n = 0;
        uint32_t crc = 0;

        rc = ks_dataset_digest(file, d->path, &n, &crc, err);
        if (rc == 0 && (n != d->n || crc != d->crc))
            rc = ks_fail(err, KS_EIO, "'%s' cannot be read back as it was written: check the disk",
                         d->path);
    }
    ks_h5_close(file);
    return rc;
}

static void release(struct whole *g)
{
    for (unsigned t = 0; t < KS_T_COUNT; t++)
        ks_table_drop(&g->tables[t]);
    ks_appender_drop(&g->samples);
    ks_h5_close(g->file);
    ks_temp_drop(&g->temp);
    ks_list_release(&g->digests);
}

/* Rows are made here while the writer compresses what was made before. */
static int write_rows(struct whole *g, struct ks_err *err)
{
    const struct ks_sink sink = { g, put_row, put_samples };
    struct ks_writer *writer = NULL;
    int rc = g->plan->reads_hdf5 ? 0 : ks_writer_start(&writer, err), stopped;

    if (rc < 0)
        return rc;
    for (unsigned t = 0; t < KS_T_COUNT; t++)
        g->tables[t].rows.writer = writer;
    g->samples.writer = writer;
    rc = g->plan->produce(g->plan->ctx, &sink, err);
    stopped = ks_writer_stop(writer, rc == 0 ? err : NULL);
    return rc < 0 ? rc : stopped;
}

static int write_file(struct whole *g, struct ks_err *err)
{
    struct stat st;
    int rc = create_file(g, err);

    if (rc == 0)
        rc = write_rows(g, err);
    if (rc == 0)
        rc = finish_samples(g, err);
    if (rc == 0)
        rc = finish_tables(g, err);
    if (rc == 0)
        rc = ks_families_write(g->plan->index, g->file, &g->digests, err);
    if (rc == 0)
        rc = close_file(g, err);
    if (rc == 0)
        rc = read_back(g, err);
    if (rc == 0 && fstat(g->temp.fd, &st) == 0)
        g->totals.n_file_bytes = (uint64_t)st.st_size;
    return rc;
}

void ks_whole_count(const struct ks_index *x, uint64_t n_rows_out[KS_T_COUNT])
{
    memset(n_rows_out, 0, KS_T_COUNT * sizeof(*n_rows_out));
    n_rows_out[KS_T_RUNS] = x->runs.n;
    n_rows_out[KS_T_HOSTS] = x->hosts.n;
    n_rows_out[KS_T_DEVICES] = x->devices.n;
    n_rows_out[KS_T_PROBLEMS] = x->problems.n;
    n_rows_out[KS_T_KERNELS] = x->kernels.n;
    n_rows_out[KS_T_TRAITS] = x->traits.n;
    n_rows_out[KS_T_BLOCKS] = x->blocks.n;
    n_rows_out[KS_T_EVENTS] = x->events.n;
}

/* The old file gets its other name as late as possible, and its own again if that was in vain. */
static int publish(struct whole *g, const char *out_path, struct ks_err *err)
{
    const char *keep_as = g->plan->keep_as;
    const bool is_kept = keep_as && keep_as[0];
    int rc;

    if (is_kept && rename(out_path, keep_as) < 0)
        return ks_fail_errno(err, "keeping '%s' as '%s'", out_path, keep_as);
    rc = ks_temp_publish(&g->temp, err);
    if (rc < 0 && is_kept)
        (void)rename(keep_as, out_path);
    return rc;
}

int ks_whole_write(const char *out_path, const struct ks_whole_plan *plan,
                   const struct ks_store_options *options, struct ks_store_totals *totals_io,
                   struct ks_err *err)
{
    static const struct ks_store_options defaults = { 0 };
    struct whole g = { .plan = plan,
                       .options = options ? options : &defaults,
                       .file = KS_H5_NONE,
                       .temp = { .fd = -1 },
                       .digests = { .size = sizeof(struct ks_digest) },
                       .totals = *totals_io };
    int rc = ks_temp_open(&g.temp, out_path, g.options->use_named_file, err);

    if (rc == 0)
        rc = write_file(&g, err);
    if (rc == 0)
        rc = publish(&g, out_path, err);
    if (rc == 0)
        *totals_io = g.totals;
    release(&g);
    return rc;
}
