/* SPDX-License-Identifier: MIT */
/* bench_gather.c DIR [PROBLEMS INSTANCES SAMPLES] - a made-up journal (PROBLEMS x INSTANCES cells
 * of SAMPLES samples, default 200 x 300 x 30) becomes DIR/run/results.h5, with every CRC checked
 * and the file read back; beside it H5Dwrite alone: the same datasets with the same types, chunks
 * and filters, from memory, in one call each. Five times each, in turn; one line "key value..." a
 * figure. */
#include "tests/tools/store_kit.h"

#include "base/clock.h"
#include "base/file.h"
#include "record/stats.h"
#include "store/store.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_RUNS   5u
#define MAX_SETS 64u

struct set { /* one dataset, held in memory */
    char path[200];
    hid_t type, space, plist;
    void *bytes;
    size_t n_bytes;
};

struct sets {
    struct set at[MAX_SETS];
    size_t n;
};

static _Noreturn void stop(const char *what)
{
    fprintf(stderr, "bench_gather: %s\n", what);
    exit(3);
}

static void hold_dataset(hid_t file, const char *path, struct sets *s)
{
    struct set *one = &s->at[s->n];
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    hssize_t n;

    if (s->n == MAX_SETS || dataset < 0 || strlen(path) >= sizeof(one->path) - 1)
        stop("cannot open a dataset");
    s->n++;
    snprintf(one->path, sizeof(one->path), "/%s", path);
    one->type = H5Dget_type(dataset);
    one->space = H5Dget_space(dataset);
    one->plist = H5Dget_create_plist(dataset);
    n = H5Sget_simple_extent_npoints(one->space);
    one->n_bytes = H5Tget_size(one->type) * (size_t)n;
    one->bytes = malloc(one->n_bytes + 1);
    if (one->bytes == NULL ||
        (n > 0 && H5Dread(dataset, one->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, one->bytes) < 0))
        stop("cannot read a dataset");
    H5Dclose(dataset);
}

static herr_t visit(hid_t file, const char *name, const H5O_info_t *info, void *ctx)
{
    if (info->type == H5O_TYPE_DATASET)
        hold_dataset(file, name, ctx);
    return 0;
}

static void hold_all(const char *path, struct sets *s)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);

    s->n = 0;
    if (file < 0 || H5Ovisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, visit, s) < 0)
        stop("cannot read results.h5");
    H5Fclose(file);
}

static double write_raw(const char *path, const struct sets *s)
{
    uint64_t t0 = ks_now_ns();
    hid_t link = H5Pcreate(H5P_LINK_CREATE), file;

    H5Pset_create_intermediate_group(link, 1);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (size_t i = 0; i < s->n; i++) {
        const struct set *one = &s->at[i];
        hid_t dataset =
            H5Dcreate2(file, one->path, one->type, one->space, link, one->plist, H5P_DEFAULT);

        if (dataset < 0 || (one->n_bytes && H5Dwrite(dataset, one->type, H5S_ALL, H5S_ALL,
                                                     H5P_DEFAULT, one->bytes) < 0))
            stop("H5Dwrite fails");
        H5Dclose(dataset);
    }
    if (H5Fclose(file) < 0)
        stop("H5Fclose fails");
    H5Pclose(link);
    return (double)(ks_now_ns() - t0) * 1e-9;
}

static double gather(const char *run, const char *path, struct ks_store_totals *totals)
{
    uint64_t t0 = ks_now_ns();
    struct ks_err err;

    if (ks_store_gather(&run, 1, path, NULL, totals, &err) < 0)
        stop(err.text);
    return (double)(ks_now_ns() - t0) * 1e-9;
}

static double median(const double *v)
{
    double scratch[N_RUNS];
    struct ks_stats s;

    ks_stats(v, N_RUNS, 0, 1, scratch, &s);
    return s.median;
}

static void print_all(const double *whole, const double *raw, const struct ks_store_totals *t,
                      size_t n_bytes)
{
    for (size_t i = 0; i < N_RUNS; i++)
        printf("# run %zu: gather %.3f s, H5Dwrite alone %.3f s\n", i, whole[i], raw[i]);
    printf("cells %llu\nrecords %llu\nsamples %llu\njournal_mb %.1f\nfile_mb %.1f\n"
           "unpacked_mb %.1f\n",
           (unsigned long long)t->n_cells, (unsigned long long)t->n_attempts,
           (unsigned long long)t->n_samples, (double)t->n_journal_bytes * 1e-6,
           (double)t->n_file_bytes * 1e-6, (double)n_bytes * 1e-6);
    printf("gather_s %.3f\nraw_s %.3f\ncells_per_s %.0f\nof_raw %.3f\njournal_mb_per_s %.1f\n",
           median(whole), median(raw), (double)t->n_cells / median(whole),
           median(raw) / median(whole), (double)t->n_journal_bytes * 1e-6 / median(whole));
}

static uint32_t argument(int argc, char **argv, int i, uint32_t otherwise)
{
    return argc > i ? (uint32_t)strtoul(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    double whole[N_RUNS], raw[N_RUNS];
    char run[900], h5[1000], plain[1000];
    struct ks_store_totals totals;
    struct sets *sets = calloc(1, sizeof(*sets));
    struct ks_err err;
    size_t n_bytes = 0;

    if (argc < 2 || sets == NULL) {
        fprintf(stderr, "usage: bench_gather DIR [PROBLEMS INSTANCES SAMPLES]\n");
        return 2;
    }
    snprintf(run, sizeof(run), "%s/run", argv[1]);
    snprintf(h5, sizeof(h5), "%s/results.h5", run);
    snprintf(plain, sizeof(plain), "%s/plain.h5", argv[1]);
    if (ks_mkdirs(run, 0777, &err) < 0)
        stop(err.text);
    skit_run(run, 1, argument(argc, argv, 2, 200), argument(argc, argv, 3, 300),
             argument(argc, argv, 4, 30), 0);
    gather(run, h5, &totals); /* not counted: both find the same caches */
    hold_all(h5, sets);
    for (size_t i = 0; i < sets->n; i++)
        n_bytes += sets->at[i].n_bytes;
    for (size_t i = 0; i < N_RUNS; i++) {
        whole[i] = gather(run, h5, &totals);
        raw[i] = write_raw(plain, sets);
    }
    print_all(whole, raw, &totals, n_bytes);
    for (size_t i = 0; i < sets->n; i++)
        free(sets->at[i].bytes);
    free(sets);
    return 0;
}
