/* SPDX-License-Identifier: MIT */
/* test_store.c - gather: every value of a journal, read back through the store's readers */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "record/stats.h"
#include "store_place.h"
#include "tests/tools/store_kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ending {
    uint32_t outcome, flags;
    int32_t code, want_code;
    const char *reason;
    uint32_t n_samples;
} endings[] = {
    { KS_O_OK, KS_FL_CONTAMINATED | KS_FL_POISON_EFFECT, 0, KS_MISSING_CODE, "", 30 },
    { KS_O_WRONG_RESULT, 0, 0, KS_MISSING_CODE, "3 elements differ", 5 },
    { KS_O_OUT_OF_BOUNDS, 0, 0, KS_MISSING_CODE, "wrote before c", 0 },
    { KS_O_NONDETERMINISTIC, 0, 0, KS_MISSING_CODE, "", 0 },
    { KS_O_UNSUPPORTED, 0, 0, KS_MISSING_CODE, "needs avx512f, this CPU lacks it", 0 },
    { KS_O_ALIASED, 0, 0, KS_MISSING_CODE, "same code as another", 0 },
    { KS_O_BUILD_FAILED, 0, 0, KS_MISSING_CODE, "x.c:3: error: 'ä' undeclared", 0 },
    { KS_O_BUILD_TIMEOUT, 0, 0, KS_MISSING_CODE, "", 0 },
    { KS_O_LOAD_FAILED, 0, 0, KS_MISSING_CODE, "", 0 },
    { KS_O_LAUNCH_FAILED, 0, -7, -7, "", 0 },
    { KS_O_OUT_OF_MEMORY, 0, 0, KS_MISSING_CODE, "", 0 },
    { KS_O_TIMEOUT, KS_FL_DENIED_CALLS | KS_FL_ALIASED, 0, KS_MISSING_CODE, "", 0 },
    { KS_O_CRASHED, KS_FL_SUSPECT, 11, 11, "heap_corruption", 0 },
    { KS_O_EXITED, 0, 0, 0, "", 0 },
    { KS_O_DEVICE_LOST, 0, 0, KS_MISSING_CODE, "", 0 },
    { KS_O_WORKER_LOST, KS_FL_UNCONFIRMED, 0, KS_MISSING_CODE, "", 0 },
    { KS_O_SKIPPED, 0, 0, KS_MISSING_CODE, "not asked for", 0 },
};
#define N_ENDINGS (uint32_t)(sizeof(endings) / sizeof(endings[0]))

/* What points to another instance: an alias, and one that is measured all the same. */
static uint64_t alias_of(uint32_t i)
{
    bool has_other = endings[i].outcome == KS_O_ALIASED || (endings[i].flags & KS_FL_ALIASED);

    return has_other ? 0xfedcba9876543210 + i : 0;
}

static void put_endings(const struct place *p)
{
    struct skit k;

    skit_open(&k, p->dir[0], 1, 2, N_ENDINGS);
    skit_names(&k);
    skit_block(&k, 2, 1, 1000, 0);
    for (uint32_t i = 0; i < N_ENDINGS; i++) {
        struct ks_record *r = skit_record(&k, 1, i, endings[i].n_samples);

        r->outcome = endings[i].outcome;
        r->outcome_flags = endings[i].flags;
        r->status_code = endings[i].code;
        r->representative_id = alias_of(i);
        snprintf(r->reason, sizeof(r->reason), "%s", endings[i].reason);
        if (endings[i].n_samples == 0)
            r->verified_sample_ns = -1;
        skit_put(&k, r);
    }
    skit_block(&k, 2, 1, 1000, 1100);
    skit_close(&k);
}

static void every_outcome_reads_back(void **state)
{
    const struct place *p = *state;
    struct ks_store_totals t;
    struct ks_store_file *f;

    put_endings(p);
    place_gather(p, 1, &t);
    assert_int_equal(t.n_cells, 2 * N_ENDINGS);
    assert_int_equal(t.n_pending, N_ENDINGS);
    assert_int_equal(t.n_done, N_ENDINGS);
    assert_int_equal(t.n_contaminated, 1);
    assert_int_equal(t.n_found_need_look, 0); /* no program has printed a row */
    f = place_open(p);
    assert_int_equal(ks_store_info(f)->n_pending, N_ENDINGS);
    assert_int_equal(ks_store_info(f)->n_cells, 2 * N_ENDINGS);
    assert_int_equal(ks_store_info(f)->n_measurements, N_ENDINGS);
    for (uint32_t i = 0; i < N_ENDINGS; i++) {
        struct ks_row row = measurement(f, i);

        assert_int_equal(t.n_outcome[endings[i].outcome], 1);
        assert_int_equal(row.outcome, endings[i].outcome);
        assert_string_equal(row.outcome_text, ks_outcome_text(endings[i].outcome));
        assert_int_equal(row.outcome_flags, endings[i].flags);
        assert_int_equal(row.is_confirmed, !(endings[i].flags & KS_FL_UNCONFIRMED));
        assert_int_equal(row.status_code, endings[i].want_code);
        assert_int_equal(row.representative_id, alias_of(i));
        assert_string_equal(row.reason, endings[i].reason);
        assert_int_equal(row.n_samples, endings[i].n_samples);
        if (endings[i].n_samples == 0)
            assert_true(row.time_median_ns == KS_MISSING && row.time_over_anchor == KS_MISSING);
    }
    ks_store_close(f);
}

/* Two records, the second with 31 samples; *want_out is what was written of it. */
static void put_two(const struct place *p, struct ks_record *want_out)
{
    struct skit k;

    skit_open(&k, p->dir[0], 1, 2, 4);
    skit_names(&k);
    skit_put(&k, skit_record(&k, 0, 0, 7));
    skit_block(&k, 2, 1, 40000, 42000);
    *want_out = *skit_record(&k, 1, 3, 31);
    want_out->n_zero = 12;
    want_out->n_checked_launches = 59;
    want_out->verified_over_timed = 1.0625;
    want_out->floor_ns = 2500.5;
    want_out->disturbance = 0;
    want_out->involuntary_switches = 3;
    skit_put(&k, want_out);
    skit_close(&k);
    place_gather(p, 1, NULL);
}

static void times_read_back(void **state)
{
    const struct place *p = *state;
    struct ks_store_file *f;
    struct ks_record want;
    struct ks_row row;
    double sorted[31];
    float samples[31];

    put_two(p, &want);
    f = place_open(p);
    row = measurement(f, 1);
    memcpy(sorted, want.sample_ns, sizeof(sorted));
    ks_stats_sort(sorted, 31);
    same_f32(row.time_median_ns, sorted[15]);
    same_f32(row.time_min_ns, sorted[0]);
    same_f32(row.time_max_ns, sorted[30]);
    same_f32(row.time_p10_ns, sorted[3]);
    same_f32(row.time_p90_ns, sorted[27]);
    assert_true(row.time_ci95_lo_ns <= row.time_median_ns &&
                row.time_median_ns <= row.time_ci95_hi_ns);
    assert_true(row.time_se_ns > 0 && row.time_mad_ns > 0);
    same_f32(row.anchor_open_ns, 40000);
    same_f32(row.anchor_close_ns, 42000);
    same_f32(row.time_over_anchor, sorted[15] / 41000);
    same_f32(row.verified_sample_ns, want.verified_sample_ns);
    assert_int_equal(row.n_checked_launches, 59);
    assert_true(fabs(row.wrong_launch_share_ucb95 - 0.04951) < 1e-4); /* the rule of three: 3 / n */
    same_f32(row.verified_over_timed, want.verified_over_timed);
    same_f32(row.floor_ns, want.floor_ns);
    same_f32(row.disturbance, want.disturbance);
    same_f32(row.clock_resolution_ns, 20);
    assert_int_equal(row.calls_per_sample, want.calls_per_sample);
    assert_int_equal(attempt(f, 1).sample_offset, 7);
    assert_int_equal(ks_store_samples(f, 7, 31, samples, NULL), 0);
    for (int i = 0; i < 31; i++)
        assert_true(samples[i] == (float)want.sample_ns[i]);
    assert_int_equal(ks_store_samples(f, 8, 31, samples, NULL), KS_EINVAL);
    ks_store_close(f);
}

static void a_measurement_reads_back(void **state)
{
    const struct place *p = *state;
    struct ks_store_file *f;
    struct ks_record want;
    struct ks_row row;

    put_two(p, &want);
    f = place_open(p);
    row = measurement(f, 1);
    same_f32(row.max_error, want.max_error);
    same_f32(row.canary_ratio, want.canary_ratio);
    assert_int_equal(row.problem_id, want.cell.problem);
    assert_int_equal(row.instance_id, want.cell.instance);
    assert_int_equal(row.condition_id, SKIT_CONDITION);
    assert_int_equal(row.problem, 1);
    assert_int_equal(row.kernel, 3);
    assert_int_equal(row.device, 0);
    assert_int_equal(row.block, 0);
    assert_int_equal(row.block_id, 2);
    assert_int_equal(row.position, want.position);
    assert_int_equal(row.mpi_rank, 1);
    assert_int_equal(row.pid, want.pid);
    assert_int_equal(row.started_ns, want.started_ns);
    assert_int_equal(row.exact_check, 1);
    assert_int_equal(row.tolerance_check, 1);
    assert_int_equal(row.n_zero, 12);
    assert_int_equal(row.n_elements, want.n_elements);
    assert_int_equal(row.stop_reason, KS_STOP_TARGET);
    assert_int_equal(row.warmup_ns, want.warmup_ns);
    assert_int_equal(row.wall_ns, want.wall_ns);
    assert_int_equal(row.timing_ns, want.timing_ns);
    assert_int_equal(row.peak_bytes, want.peak_bytes);
    assert_int_equal(row.workspace_bytes, want.workspace_bytes);
    assert_int_equal(row.involuntary_switches, 3);
    assert_int_equal(row.attempt_row, 1);
    same_f32(row.clock_before_mhz, 1900);
    same_f32(row.clock_after_mhz, 1800);
    same_f32(row.clock_min_mhz, 1700);
    same_f32(row.power_max_w, 400);
    same_f32(row.temperature_after_c, 61);
    same_f32(row.busy_before, 0.25);
    assert_int_equal(row.throttle_reasons, 5);
    assert_int_equal(measurement(f, 0).throttle_reasons, -1);
    same_f32(measurement(f, 0).clock_min_mhz, KS_MISSING);
    ks_store_close(f);
}

static void an_attempt_reads_back(void **state)
{
    const struct place *p = *state;
    struct ks_store_file *f;
    struct ks_record want;
    struct ks_row row;

    put_two(p, &want);
    f = place_open(p);
    row = attempt(f, 1);
    assert_int_equal(row.is_final, 1);
    assert_int_equal(row.cpu, 2);
    assert_int_equal(row.lease_id, want.lease_id);
    assert_int_equal(row.worker_id, want.worker.hi);
    assert_int_equal(row.seq, want.seq);
    assert_int_equal(row.tolerance_check_ns, want.tolerance_check_ns);
    assert_int_equal(row.exact_check_ns, want.exact_check_ns);
    assert_int_equal(row.load_ns, want.load_ns);
    same_f32(row.clock_before_mhz, 1900);
    same_f32(row.memory_clock_before_mhz, 2600);
    same_f32(row.power_before_w, 300);
    same_f32(row.temperature_before_c, 40);
    same_f32(row.busy_before, 0.25);
    same_f32(row.memory_clock_after_mhz, 2500);
    same_f32(row.power_after_w, 350);
    same_f32(row.busy_after, 1);
    ks_store_close(f);
}

static void put_names(const struct place *p)
{
    struct skit k;

    skit_open(&k, p->dir[0], 1, 2, 5);
    k.n_absent = 2;
    skit_names(&k);
    skit_build(&k, 4, KS_O_BUILD_FAILED, "x.c:1: error: no");
    skit_put(&k, skit_record(&k, 1, 0, 3));
    skit_event(&k, KS_EV_QUARANTINE, "device 1");
    place_gather(p, 1, NULL); /* while it is open: nothing was written yet but the header */
    skit_close(&k);
    place_gather(p, 1, NULL);
}

static void problems_and_kernels_read_back(void **state)
{
    const struct place *p = *state;
    struct ks_store_file *f;
    const struct ks_problem_row *problem;
    const struct ks_kernel_row *kernel;

    put_names(p);
    f = place_open(p);
    problem = ks_store_problem(f, 1);
    assert_string_equal(problem->problem_name, "conv_1 ä × 3");
    assert_string_equal(problem->operator, "grouped_conv");
    assert_int_equal(problem->has_problem, 1);
    assert_int_equal(problem->problem_id, problem->problem.id);
    assert_true(problem->flops == ks_problem_flops(&problem->problem));
    assert_int_equal(problem->n_uses, 2);
    assert_int_equal(problem->out_h, 14);
    assert_int_equal(ks_store_info(f)->n_dims, 23);
    for (uint32_t i = 0; i < ks_store_info(f)->n_dims; i++) {
        const char *dim = ks_column_old_name("/problems", ks_store_dim_name(f, i));

        assert_int_equal(problem->dim[i], problem->problem.dim[ks_problem_dim(0, dim)]);
    }
    kernel = ks_store_kernel(f, 3);
    assert_string_equal(kernel->family, "host_depthwise");
    assert_int_equal(kernel->code_group, ks_store_kernel(f, 2)->code_group);
    assert_int_not_equal(kernel->code_group, ks_store_kernel(f, 1)->code_group);
    assert_int_equal(kernel->compile_ns, 4000000);
    assert_string_equal(kernel->code.target, "gfx942");
    assert_int_equal(kernel->code.vgprs, 103);
    assert_int_equal(kernel->code.agprs, 8);
    assert_int_equal(kernel->code.sgprs, 40);
    assert_int_equal(kernel->code.vgpr_spills, 3);
    assert_int_equal(kernel->code.sgpr_spills, 0);
    assert_int_equal(kernel->code.wave, 64);
    assert_int_equal(kernel->code.max_threads, 256);
    assert_int_equal(kernel->code.lds_bytes, 65536);
    assert_int_equal(kernel->code.scratch_bytes, 420);
    assert_int_equal(kernel->code.kernarg_bytes, 88);
    assert_int_equal(kernel->code.code_bytes, 5000000000);
    assert_string_equal(ks_store_kernel(f, 2)->code.target, "");
    assert_int_equal(ks_store_kernel(f, 2)->code.vgprs, -1);
    assert_int_equal(ks_store_kernel(f, 2)->code.code_bytes, -1);
    assert_string_equal(ks_store_trait_value(f, kernel->instance_id, "tile_m"), "7");
    assert_string_equal(ks_store_trait_value(f, kernel->instance_id, "pipeline"), "indirect");
    assert_null(ks_store_trait_value(f, kernel->instance_id, "family"));
    assert_null(ks_store_trait_value(f, 99, "tile_m"));
    assert_string_equal(ks_store_kernel(f, 4)->outcome_text, "build_failed");
    assert_string_equal(ks_store_kernel(f, 4)->reason, "x.c:1: error: no");
    ks_store_close(f);
}

/* What a value stands for is a column of its family and no part of what is hashed. */
static void attributes_are_columns(void **state)
{
    const struct place *p = *state;
    struct ks_store_file *f;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 2, 2);
    skit_names(&k);
    skit_name(&k, KS_F_INSTANCE, 77, 0, "ck_16x64",
              "family=ck abi=1 tile=16x64 | tile_m=16 wave=a");
    skit_name(&k, KS_F_INSTANCE, 78, 0, "ck_plain", "family=ck abi=1 tile=32x64");
    skit_close(&k);
    place_gather(p, 1, NULL);
    f = place_open(p);
    assert_string_equal(ks_store_kernel(f, 2)->canonical, "family=ck abi=1 tile=16x64");
    assert_string_equal(ks_store_kernel(f, 3)->canonical, "family=ck abi=1 tile=32x64");
    assert_string_equal(ks_store_trait_value(f, 77, "tile"), "16x64");
    assert_string_equal(ks_store_trait_value(f, 77, "tile_m"), "16");
    assert_string_equal(ks_store_trait_value(f, 77, "wave"), "a");
    assert_null(ks_store_trait_value(f, 77, "|"));
    assert_string_equal(ks_store_trait_value(f, 78, "tile"), "32x64");
    assert_null(ks_store_trait_value(f, 78, "tile_m"));
    ks_store_close(f);
}

static void provenance_reads_back(void **state)
{
    const struct place *p = *state;
    struct ks_store_file *f;
    const struct ks_run_row *run;

    put_names(p);
    f = place_open(p);
    run = ks_store_run(f, 0);
    assert_string_equal(run->job_name, "made_up");
    assert_non_null(strstr(run->job, "\"operator\""));
    assert_int_equal(run->n_instances, 5);
    assert_int_equal(run->n_cells, 8); /* two pairs are no cells */
    assert_int_equal(run->n_done, 1);
    assert_int_equal(run->n_pending, 7);
    assert_int_equal(ks_store_info(f)->n_hosts, 3);
    assert_string_equal(ks_store_host(f, 0)->key, "cpu_model");
    assert_string_equal(ks_store_host(f, 0)->value, "Made Up 9000");
    assert_string_equal(ks_store_device(f, 0)->rec.core_set, "2-3");
    assert_true(ks_store_device(f, 0)->rec.idle_stolen == KS_MISSING);
    assert_true(ks_store_device(f, 0)->rec.idle_switches_per_s == 1.5);
    ks_store_close(f);
}

static void put_launch(struct skit *k, const char *domain, uint64_t class, uint32_t neighbours)
{
    struct ks_device_rec d = { .device_id = SKIT_DEVICE,
                               .device_class = class,
                               .rank = 1,
                               .boot_id = "boot",
                               .n_neighbours = neighbours,
                               .n_memory_neighbours = 4 };

    snprintf(d.host_domain, sizeof(d.host_domain), "%s", domain);
    ks_buf_clear(&k->body);
    ks_device_rec_encode(&d, &k->body);
    skit_frame(k, KS_F_DEVICE);
}

/* The same core: first beside another rank, then with a cache of its own. */
static void each_launch_has_its_device(void **state)
{
    const struct place *p = *state;
    struct ks_store_file *f;
    struct skit k;
    const struct {
        const char *domain;
        uint64_t class;
        uint32_t neighbours;
    } want[] = { { "core", 7, 2 }, { "core", 7, 1 }, { "l3\xff", 8, 1 } };

    skit_open(&k, p->dir[0], 1, 1, 3);
    for (uint32_t i = 0; i < 3; i++) {
        put_launch(&k, want[i].domain, want[i].class, want[i].neighbours);
        skit_put(&k, skit_record(&k, 0, i, 3));
    }
    skit_close(&k);
    place_gather(p, 1, NULL);
    f = place_open(p);
    for (uint32_t i = 0; i < 3; i++) {
        struct ks_row row = measurement(f, i);
        const struct ks_device_rec *d = &ks_store_device(f, row.device)->rec;

        assert_string_equal(d->host_domain, i < 2 ? want[i].domain : "l3?");
        assert_int_equal(d->device_class, want[i].class);
        assert_int_equal(d->n_neighbours, want[i].neighbours);
        assert_int_equal(d->n_memory_neighbours, 4);
    }
    ks_store_close(f);
}

/* As long as the flags of a large CPU are. */
static void long_provenance_is_not_cut(void **state)
{
    const struct place *p = *state;
    struct ks_store_file *f;
    struct skit k;
    char text[2700];

    memset(text, 'f', sizeof(text));
    memcpy(text, "cpu_flags=", 10);
    text[sizeof(text) - 1] = '\0';
    skit_open(&k, p->dir[0], 1, 1, 1);
    skit_name(&k, KS_F_HOST, 1, 0, "node1", text);
    skit_close(&k);
    place_gather(p, 1, NULL);
    f = place_open(p);
    assert_int_equal(ks_store_info(f)->n_hosts, 1);
    assert_string_equal(ks_store_host(f, 0)->value, text + 10);
    ks_store_close(f);
}

static void dirty_texts_and_numbers(void **state)
{
    const struct place *p = *state;
    struct ks_store_file *f;
    struct ks_record *r;
    struct ks_row row;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 1, 1);
    skit_names(&k);
    r = skit_record(&k, 0, 0, 0);
    r->outcome = KS_O_WRONG_RESULT;
    r->tolerance_check = 2;
    r->max_error = (double)NAN;
    snprintf(r->reason, sizeof(r->reason), "bad \xff\xc3(\x01 ok \xc3\xa4");
    memcpy(r->tail, "x\0y\xff\n", 5);
    r->n_tail = 5;
    r->n_box = 2;
    r->box_lo[0] = 1;
    r->box_hi[0] = 2;
    r->box_hi[1] = INT64_MAX;
    r->n_mismatches = 1;
    r->mismatch[0] = (struct ks_mismatch){ 5, (double)INFINITY, 1.5, 0.25 };
    skit_put(&k, r);
    skit_name(&k, KS_F_INSTANCE, 77, 0, "no canonical text", "");
    skit_close(&k);
    place_gather(p, 1, NULL);
    f = place_open(p);
    row = measurement(f, 0);
    assert_string_equal(row.reason, "bad ?\?(? ok \xc3\xa4");
    assert_true(row.max_error > 3e38 && isfinite(row.max_error));
    assert_int_equal(row.n_samples, 0);
    assert_true(row.time_mean_ns == KS_MISSING);
    assert_string_equal(ks_store_kernel(f, 1)->family, "");
    ks_store_close(f);
}

static void names_that_were_lost(void **state)
{
    const struct place *p = *state;
    struct ks_store_file *f;
    struct ks_store_totals t;
    struct ks_row row;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 1, 1);
    skit_put(&k, skit_record(&k, 0, 0, 3)); /* neither job nor names before it */
    skit_close(&k);
    place_gather(p, 1, &t);
    assert_int_equal(t.n_cells, 1);
    assert_int_equal(t.n_pending, 0);
    f = place_open(p);
    row = measurement(f, 0);
    assert_int_equal(row.problem, 0);
    assert_int_equal(row.device, KS_NO_ROW);
    assert_int_equal(row.block, KS_NO_ROW);
    assert_true(row.time_over_anchor == KS_MISSING);
    assert_int_equal(ks_store_problem(f, 0)->has_problem, 0);
    assert_true(ks_store_problem(f, 0)->flops == KS_MISSING);
    assert_int_equal(ks_store_problem(f, 0)->out_h, KS_MISSING_DIM);
    assert_int_equal(ks_store_kernel(f, 0)->code.vgprs, -1);
    assert_int_equal(ks_store_kernel(f, 0)->code.scratch_bytes, -1);
    ks_store_close(f);
}

static void nothing_to_gather(void **state)
{
    const struct place *p = *state;
    const char *dirs[] = { p->dir[0] };
    struct ks_err err = { 0 };
    struct ks_store_file *f;

    assert_int_equal(ks_store_gather(dirs, 1, p->file, NULL, NULL, &err), KS_ENOENT);
    assert_non_null(strstr(err.text, p->dir[0]));
    assert_int_equal(ks_store_gather(dirs, 0, p->file, NULL, NULL, &err), KS_EINVAL);
    assert_false(ks_path_exists(p->file));
    assert_int_equal(ks_store_open(p->file, &f, &err), KS_ENOENT);
    assert_int_equal(ks_file_replace(p->file, "no HDF5", 7, &err), 0);
    assert_int_equal(ks_store_open(p->file, &f, &err), KS_EFORMAT);
    assert_int_equal(ks_store_journal_bytes(p->dir[0]), 0);
    assert_true(ks_store_predict_s(0) > 0);
    assert_true(ks_store_predict_s(1000000000) > ks_store_predict_s(1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)
        TEST(every_outcome_reads_back),       TEST(times_read_back),
        TEST(a_measurement_reads_back),       TEST(an_attempt_reads_back),
        TEST(problems_and_kernels_read_back), TEST(attributes_are_columns),
        TEST(provenance_reads_back),          TEST(each_launch_has_its_device),
        TEST(long_provenance_is_not_cut),     TEST(dirty_texts_and_numbers),
        TEST(names_that_were_lost),           TEST(nothing_to_gather),
#undef TEST
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
