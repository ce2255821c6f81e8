/* SPDX-License-Identifier: MIT */
/* bench_harness.c - what a cell costs beside its warm-up, samples, verification and inputs */
/* bench_harness [N_CELLS] (default 10000): in workers of 20 cells each, a kernel that does nothing
 * (not verified) and a small correct one (verified). */
#include "base/clock.h"
#include "base/file.h"
#include "tests/unit/op_cases.h"
#include "tests/unit/so.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/worker_child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 20u

struct sums {
    uint64_t worker, cells, input, load, exact, warmup, timing, verify, samples;
};

struct bench {
    struct ks_problem problem;
    struct ks_req_cell cell;
    struct ks_measure measure;
    struct ks_device_limits limits; /* of the first worker */
    struct ks_record rec;
    struct sums sums;
};

static void add_record(struct sums *s, const struct ks_record *r)
{
    s->cells += r->wall_ns;
    s->input += r->input_ns + r->reference_ns;
    s->load += r->load_ns;
    s->exact += r->exact_check_ns;
    s->warmup += r->warmup_ns;
    s->timing += r->timing_ns;
    s->verify += r->tolerance_check_ns;
    for (uint32_t i = 0; i < r->n_samples; i++)
        s->samples += (uint64_t)(r->sample_ns[i] * r->calls_per_sample);
}

static void one_worker(struct bench *b, uint32_t n_cells)
{
    struct ks_req_setup setup = { .backend = "host", .measure = b->measure, .limits = b->limits };
    uint64_t from = ks_now_ns();
    struct ks_ready ready;
    struct ks_buf body = { 0 };
    struct child c;

    child_start(&c, -1);
    child_setup(&c, &setup, &ready);
    b->limits = ready.limits; /* as agents do */
    child_problem(&c, &b->problem, 0);
    for (uint32_t i = 0; i < n_cells; i++) {
        b->cell.i_cell = i;
        ks_buf_clear(&body);
        ks_req_cell_encode(&b->cell, &body);
        child_send(&c, KS_F_REQ_CELL, &body);
    }
    ks_buf_release(&body);
    for (uint32_t i = 0; i < n_cells; i++) {
        if (!child_record(&c, &b->rec) || b->rec.outcome != KS_O_OK) {
            fprintf(stderr, "bench_harness: %s\n", b->rec.reason);
            exit(1);
        }
        add_record(&b->sums, &b->rec);
    }
    child_end(&c, KS_WORKER_EXIT_OK);
    b->sums.worker += ks_now_ns() - from;
}

static void run(struct bench *b, const char *name, uint32_t n_cells)
{
    const struct sums *s = &b->sums;
    uint64_t known;

    memset(&b->sums, 0, sizeof(b->sums));
    for (uint32_t done = 0; done < n_cells; done += BATCH)
        one_worker(b, n_cells - done < BATCH ? n_cells - done : BATCH);
    known = s->input + s->exact + s->warmup + s->samples + s->verify;
    printf("%-16s cells %u  harness %.1f us/cell (target 200)  of it process start and pipe %.1f, "
           "load %.1f, sampling loop %.1f\n",
           name, n_cells, 1e-3 * (double)(s->worker - known) / n_cells,
           1e-3 * (double)(s->worker - s->cells) / n_cells, 1e-3 * (double)s->load / n_cells,
           1e-3 * (double)(s->timing > s->samples ? s->timing - s->samples : 0) / n_cells);
    printf(
        "%-16s us/cell: worker %.1f  inputs %.1f  exact %.1f  warm-up %.1f  samples %.1f  verify "
        "%.1f\n",
        "", 1e-3 * (double)s->worker / n_cells, 1e-3 * (double)s->input / n_cells,
        1e-3 * (double)s->exact / n_cells, 1e-3 * (double)s->warmup / n_cells,
        1e-3 * (double)s->samples / n_cells, 1e-3 * (double)s->verify / n_cells);
}

static int digest_file(const char *path, uint8_t digest_out[32], struct ks_err *err)
{
    struct ks_buf file = { 0 };
    struct ks_sha256 h;
    int rc = ks_file_read(path, &file, err);

    if (rc < 0)
        return rc;
    ks_sha256_init(&h);
    ks_sha256_add(&h, file.data, file.len);
    ks_sha256_end(&h, digest_out);
    ks_buf_release(&file);
    return 0;
}

static void choose(struct bench *b, const char *problem)
{
    struct ks_err err;

    if (op_case(problem, &b->problem, &err) < 0) {
        fprintf(stderr, "bench_harness: %s\n", err.text);
        exit(1);
    }
    b->cell.cell = (struct ks_cell){ b->problem.id, 1, 1 };
}

int main(int argc, char **argv)
{
    uint32_t n_cells = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10000;
    struct bench *b = calloc(1, sizeof(*b));
    struct ks_err err = { 0 };
    char dir[256];
    int rc;

    if (b == NULL || n_cells == 0)
        return 2;
    temp_dir_make(dir, sizeof(dir));
    so_build(dir, "kernels", "#include \"tests/unit/worker_kernels.c\"\n", b->cell.artefact,
             sizeof(b->cell.artefact));
    rc = digest_file(b->cell.artefact, b->cell.digest, &err);
    if (rc < 0) {
        fprintf(stderr, "bench_harness: %s\n", err.text);
        return 1;
    }
    /* so little that no time is too short for it (device/host_limits.h) */
    choose(b, "n=1 g=1 c_total=1 k_total=1 hi=1 wi=1");
    b->cell.attempt = 1;
    b->measure = (struct ks_measure){ .min_samples = 5,
                                      .max_samples = 7,
                                      .max_ms = 1,
                                      .target_rse = 0.01,
                                      .kernel_timeout_ms = 30000 };
    snprintf(b->cell.entry, sizeof(b->cell.entry), "nothing");
    run(b, "null kernel", n_cells);
    choose(b, "n=1 g=1 c_total=16 k_total=16 hi=8 wi=8");
    b->measure.verify_exact = b->measure.verify_elementwise = 1;
    snprintf(b->cell.entry, sizeof(b->cell.entry), "good");
    run(b, "verified kernel", n_cells / 10 > BATCH ? n_cells / 10 : BATCH);
    temp_dir_remove(dir);
    free(b);
    return 0;
}
