/* SPDX-License-Identifier: MIT */
/* store_kit.c - makes journals with made-up problems, instances, builds, records and events */
#include "tests/tools/store_kit.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T0 1760000000000000000ull /* realtime of the first record */

static void must(int rc, const struct ks_err *err)
{
    if (rc < 0) {
        fprintf(stderr, "store_kit: %s\n", err->text);
        abort();
    }
}

static double noise(uint64_t *state) /* in [0, 1) */
{
    return (double)(ks_rng_next(state) >> 11) * 0x1p-53;
}

/* ---- the grid ---- */

static struct ks_problem make_problem(uint64_t seed, uint32_t i)
{
    static const int64_t channels[] = { 16, 32, 64, 128, 256, 96, 24 };
    static const int64_t extents[] = { 7, 14, 28, 56, 112 };
    static const struct {
        const char *name;
        int64_t of[3];
    } dims[] = {
        { "y", { 1, 3, 5 } },        { "x", { 1, 3, 5 } },        { "pad_h_lo", { 0, 1, 2 } },
        { "pad_w_lo", { 0, 1, 2 } }, { "pad_h_hi", { 0, 1, 2 } }, { "pad_w_hi", { 0, 1, 2 } },
    };
    struct ks_problem p;
    struct ks_err err;
    uint32_t op;

    must(ks_operator_find("grouped_conv", &op, &err), &err);
    p = ks_problem_blank(op);
    p.dim[ks_problem_dim(op, "ndim")] = 2;
    p.dim[ks_problem_dim(op, "n")] = 1 + i / 105;
    p.dim[ks_problem_dim(op, "g")] = 1;
    p.dim[ks_problem_dim(op, "c_total")] = channels[i % 7];
    p.dim[ks_problem_dim(op, "k_total")] = channels[(i + seed) % 7];
    p.dim[ks_problem_dim(op, "hi")] = extents[i % 5];
    p.dim[ks_problem_dim(op, "wi")] = extents[i % 5];
    for (size_t d = 0; d < sizeof(dims) / sizeof(dims[0]); d++)
        p.dim[ks_problem_dim(op, dims[d].name)] = dims[d].of[i % 3];
    p.count = 1 + i % 4;
    snprintf(p.name, sizeof(p.name), "conv_%" PRIu32 "%s", i, i == 1 ? " ä × 3" : "");
    must(ks_problem_finish(&p, &err), &err);
    return p;
}

static void instance_text(uint32_t i, char *name, char *canonical, size_t cap)
{
    static const char *const pipelines[] = { "indirect", "packed", "dot" };
    const char *family = i % 4 == 3 ? "host_depthwise" : "host_gconv";

    snprintf(name, cap, "%s_%" PRIu32 "x%" PRIu32 "_%s", family, 4 + i % 8, 16u << (i % 3),
             pipelines[i / 8 % 3]);
    if (i >= 24)
        snprintf(name + strlen(name), cap - strlen(name), "_u%" PRIu32, i / 24);
    snprintf(canonical, cap,
             "family=%s abi=1 tile_m=%" PRIu32 " tile_n=%" PRIu32 " pipeline=%s unroll=%" PRIu32,
             family, 4 + i % 8, 16u << (i % 3), pipelines[i / 8 % 3], i / 24);
}

struct ks_id128 skit_build_id(uint32_t i_instance)
{
    char text[32];

    return ks_id128(text, (size_t)snprintf(text, sizeof(text), "build %" PRIu32, i_instance));
}

struct ks_id128 skit_code_id(uint32_t i_instance)
{
    char text[32];
    uint32_t i = i_instance == 3 ? 2 : i_instance;

    return ks_id128(text, (size_t)snprintf(text, sizeof(text), "code %" PRIu32, i));
}

/* ---- frames ---- */

void skit_open(struct skit *k, const char *dir, uint64_t run_seed, uint32_t n_problems,
               uint32_t n_instances)
{
    char journal[1200], name[192], canonical[512];
    struct ks_journal_open how = { .dir = journal, .take_over = true };
    struct ks_err err;

    *k = (struct skit){ .seed = run_seed,
                        .realtime_ns = T0,
                        .condition = SKIT_CONDITION,
                        .n_problems = n_problems,
                        .n_instances = n_instances };
    snprintf(journal, sizeof(journal), "%s/journal", dir);
    how.run_id = (struct ks_id128){ ks_mix64(run_seed), ks_mix64(run_seed + 1) };
    must(ks_journal_create(&how, &k->j, &err), &err);
    ks_buf_init(&k->body);
    k->problems = calloc(n_problems + 1, sizeof(*k->problems));
    k->instances = calloc(n_instances + 1, sizeof(*k->instances));
    k->rec = malloc(sizeof(*k->rec));
    if (!k->problems || !k->instances || !k->rec)
        abort();
    for (uint32_t i = 0; i < n_problems; i++)
        k->problems[i] = make_problem(run_seed, i);
    for (uint32_t i = 0; i < n_instances; i++) {
        instance_text(i, name, canonical, sizeof(name));
        k->instances[i] = ks_id64(canonical, strlen(canonical));
    }
}

static void release(struct skit *k)
{
    ks_buf_release(&k->body);
    free(k->problems);
    free(k->instances);
    free(k->rec);
}

void skit_close(struct skit *k)
{
    struct ks_err err;

    must(ks_journal_close(k->j, &err), &err);
    release(k);
}

void skit_abandon(struct skit *k)
{
    struct ks_err err;
    uint64_t durable;

    must(ks_journal_sync(k->j, &durable, &err), &err);
    ks_journal_abandon(k->j);
    release(k);
}

void skit_frame(struct skit *k, uint16_t type)
{
    struct ks_err err;
    uint64_t position, durable;

    must(ks_journal_append(k->j, type, k->body.data, k->body.len, &position, &err), &err);
    if (ks_journal_pending(k->j) > 8u << 20)
        must(ks_journal_sync(k->j, &durable, &err), &err);
    ks_buf_clear(&k->body);
}

void skit_name(struct skit *k, uint16_t type, uint64_t id, int64_t count, const char *name,
               const char *text)
{
    struct ks_name_rec n = { .id = id, .count = count };

    snprintf(n.name, sizeof(n.name), "%s", name);
    snprintf(n.text, sizeof(n.text), "%s", text);
    ks_name_rec_encode(&n, &k->body);
    skit_frame(k, type);
}

void skit_build(struct skit *k, uint32_t i_instance, uint32_t outcome, const char *reason)
{
    struct ks_build_rec b;

    ks_build_rec_init(&b);
    b.instance = k->instances[i_instance];
    b.outcome = outcome;
    b.compile_ns = 1000000u * (i_instance + 1);
    b.object_bytes = 4096;
    b.build_id = skit_build_id(i_instance);
    if (outcome == KS_O_OK)
        b.code_id = skit_code_id(i_instance);
    if (outcome == KS_O_OK && i_instance % 2) /* of the others nothing is known */
        b.code = (struct ks_code_rec){ .target = "gfx942",
                                       .vgprs = 100 + (int32_t)i_instance,
                                       .agprs = 8,
                                       .sgprs = 40,
                                       .vgpr_spills = 3,
                                       .sgpr_spills = 0,
                                       .wave = 64,
                                       .max_threads = 256,
                                       .lds_bytes = 65536,
                                       .scratch_bytes = 420,
                                       .kernarg_bytes = 88,
                                       .code_bytes = 5000000000 };
    snprintf(b.reason, sizeof(b.reason), "%s", reason);
    snprintf(b.compiler, sizeof(b.compiler), "cc 12.2.0");
    ks_build_rec_encode(&b, &k->body);
    skit_frame(k, KS_F_BUILD);
}

static void put_job(struct skit *k)
{
    struct ks_job_rec job = { .grid_digest = 0x1234567890abcdefull ^ k->seed,
                              .condition = k->condition,
                              .n_problems = k->n_problems,
                              .n_instances = k->n_instances,
                              .n_absent = k->n_absent };

    ks_job_rec_encode(&job, "{ \"name\": \"made_up\", \"operator\": \"grouped_conv\" }", &k->body);
    skit_frame(k, KS_F_JOB);
}

static void put_device(struct skit *k)
{
    struct ks_device_rec d = { .device_id = SKIT_DEVICE,
                               .device_class = 7,
                               .rank = 1,
                               .local_rank = 1,
                               .host = "node1",
                               .text = "machine 1, cores 2-3",
                               .arch = "x86_64-avx512",
                               .model = "Made Up 9000",
                               .core_set = "2-3",
                               .boot_id = "boot",
                               .idle_switches_per_s = 1.5,
                               .idle_stolen = -1 };

    snprintf(d.backend, sizeof(d.backend), "%s", k->backend ? k->backend : "host");
    if (k->slower > 0)
        snprintf(d.model, sizeof(d.model), "Made Up 8000");
    ks_device_rec_encode(&d, &k->body);
    skit_frame(k, KS_F_DEVICE);
}

void skit_names(struct skit *k)
{
    char name[192], canonical[512];
    struct ks_buf text;

    put_job(k);
    skit_name(k, KS_F_HOST, 1, 0, "node1", "cpu_model=Made Up 9000\nkernel=6.1\nmicrocode=0x1\n");
    put_device(k);
    ks_buf_init(&text);
    for (uint32_t i = 0; i < k->n_problems; i++) {
        ks_buf_clear(&text);
        ks_problem_canonical(&k->problems[i], &text);
        skit_name(k, KS_F_PROBLEM, k->problems[i].id, k->problems[i].count, k->problems[i].name,
                  ks_buf_text(&text));
    }
    ks_buf_release(&text);
    for (uint32_t i = 0; i < k->n_instances; i++) {
        instance_text(i, name, canonical, sizeof(name));
        skit_name(k, KS_F_INSTANCE, k->instances[i], 0, name, canonical);
    }
    for (uint32_t i = 0; i < k->n_instances; i++)
        skit_build(k, i, KS_O_OK, "");
}

void skit_block(struct skit *k, uint64_t block_id, uint32_t i_problem, double open_ns,
                double close_ns)
{
    struct ks_block b = { .block_id = block_id,
                          .problem = k->problems[i_problem].id,
                          .device_id = SKIT_DEVICE,
                          .anchor = k->instances[0],
                          .rank = 1,
                          .n_cells = k->n_instances,
                          .is_closed = close_ns > 0,
                          .open_ns = open_ns,
                          .close_ns = close_ns,
                          .open_lo_ns = open_ns * 0.99,
                          .open_hi_ns = open_ns * 1.01,
                          .close_lo_ns = close_ns * 0.99,
                          .close_hi_ns = close_ns * 1.01,
                          .opened_ns = k->realtime_ns,
                          .closed_ns = close_ns > 0 ? k->realtime_ns + 1000 : 0 };

    ks_block_encode(&b, &k->body);
    skit_frame(k, KS_F_BLOCK);
}

void skit_event(struct skit *k, uint32_t kind, const char *text)
{
    struct ks_event_rec e = {
        .kind = kind, .rank = 1, .realtime_ns = k->realtime_ns, .host = "node1"
    };

    snprintf(e.text, sizeof(e.text), "%s", text);
    ks_event_encode(&e, &k->body);
    skit_frame(k, KS_F_EVENT);
}

/* ---- records ---- */

static void put_times(struct ks_record *r, uint64_t seed, uint32_t i_problem, uint32_t i_instance,
                      uint32_t n_samples)
{
    uint64_t state = seed ^ (uint64_t)i_problem << 32 ^ i_instance;
    double base;

    ks_rng_next(&state);
    base = 20000.0 * (1 + i_problem % 13) * (1 + 0.2 * noise(&state) + (i_instance * 7 % 11) * 0.3);
    r->n_samples = n_samples;
    r->calls_per_sample = 1 + i_problem % 3;
    r->clock_resolution_ns = 20;
    for (uint32_t i = 0; i < n_samples; i++)
        r->sample_ns[i] = base * (1 + 0.02 * noise(&state) + (noise(&state) > 0.95 ? 0.1 : 0));
    if (n_samples)
        r->verified_sample_ns = r->sample_ns[n_samples - 1];
    r->warmup_ns = 20000000;
    r->timing_ns = (uint64_t)(base * n_samples * r->calls_per_sample);
    r->exact_check_ns = 150000 + ks_rng_next(&state) % 50000;
    r->tolerance_check_ns = 250000 + ks_rng_next(&state) % 50000;
    r->load_ns = ks_rng_next(&state) % 90000;
    r->wall_ns =
        r->warmup_ns + r->timing_ns + r->exact_check_ns + r->tolerance_check_ns + r->load_ns;
    r->span_ns = r->timing_ns;
    r->cpu_ns = r->timing_ns - r->timing_ns / 1000;
    r->canary_ratio = 1 + 0.01 * noise(&state);
    r->max_error = noise(&state);
}

struct ks_record *skit_record(struct skit *k, uint32_t i_problem, uint32_t i_instance,
                              uint32_t n_samples)
{
    struct ks_record *r = k->rec;
    const struct ks_problem *p = &k->problems[i_problem];

    ks_record_init(r);
    r->cell = (struct ks_cell){ p->id, k->instances[i_instance], k->condition };
    r->attempt = 1;
    r->outcome = KS_O_OK;
    r->stop_reason = KS_STOP_TARGET;
    r->phase = KS_PH_REPORT;
    r->lease_id = 1 + i_problem * 8 + i_instance / 20;
    r->block_id = 1 + i_problem;
    r->position = 1 + i_instance;
    r->mpi_rank = 1;
    r->device_id = SKIT_DEVICE;
    r->worker = (struct ks_id128){ ks_mix64(r->lease_id), ks_mix64(r->lease_id + 1) };
    r->seq = 1 + i_instance % 20;
    r->pid = 4000 + (int32_t)(r->lease_id % 1000);
    r->cpu = 2;
    k->realtime_ns += 30000000;
    r->started_ns = k->realtime_ns;
    r->build_id = skit_build_id(i_instance);
    r->code_id = skit_code_id(i_instance);
    r->exact_check = r->tolerance_check = 1;
    r->bitwise_reproducible = 1;
    r->n_elements = (uint64_t)ks_operators[p->op]->extents(p).c;
    r->peak_bytes = 50u << 20;
    if (i_instance % 2) { /* the others are measured where a device says nothing */
        r->before = (struct ks_reading){ 1900, 2600, 300, 40, 0.25 };
        r->after = (struct ks_reading){ 1800, 2500, 350, 61, 1 };
        r->clock_min_mhz = 1700;
        r->power_max_w = 400;
        r->throttle_reasons = 5;
    }
    r->workspace_bytes = i_instance % 2 ? 65536 : 0;
    put_times(r, k->seed, i_problem, i_instance, n_samples);
    return r;
}

void skit_put(struct skit *k, const struct ks_record *r)
{
    ks_record_encode(r, &k->body);
    skit_frame(k, KS_F_DONE);
}

/* Ends the record in one of the ways a cell can. */
static void spoil(struct ks_record *r, uint64_t how)
{
    static const struct {
        uint32_t outcome;
        int32_t code;
        const char *reason;
    } ends[] = {
        { KS_O_UNSUPPORTED, 0, "needs avx512f, this CPU lacks it" },
        { KS_O_CRASHED, SIGSEGV, "fault at 0x10" },
        { KS_O_WRONG_RESULT, 0, "3 elements differ" },
        { KS_O_TIMEOUT, 0, "no answer within 30 s" },
        { KS_O_ALIASED, 0, "same code as another instance" },
        { KS_O_EXITED, 3, "" },
    };
    size_t i = how % (sizeof(ends) / sizeof(ends[0]));

    r->outcome = ends[i].outcome;
    r->status_code = ends[i].code;
    snprintf(r->reason, sizeof(r->reason), "%s", ends[i].reason);
    r->n_samples = 0;
    r->verified_sample_ns = -1;
    r->stop_reason = KS_STOP_FAILED;
    r->exact_check = r->tolerance_check = 0;
    if (r->outcome == KS_O_UNSUPPORTED || r->outcome == KS_O_ALIASED) {
        r->device_id = r->block_id = 0;
        r->build_id = r->outcome == KS_O_ALIASED ? r->build_id : (struct ks_id128){ 0, 0 };
    }
    if (r->outcome == KS_O_CRASHED)
        r->n_tail = (uint32_t)snprintf(r->tail, sizeof(r->tail), "boom\n");
}

void skit_run(const char *dir, uint64_t run_seed, uint32_t n_problems, uint32_t n_instances,
              uint32_t n_samples, uint64_t n_pending)
{
    skit_run_under(dir, run_seed, n_problems, n_instances, n_samples, n_pending, SKIT_CONDITION);
}

void skit_run_under(const char *dir, uint64_t run_seed, uint32_t n_problems, uint32_t n_instances,
                    uint32_t n_samples, uint64_t n_pending, uint64_t condition)
{
    skit_run_slower(dir, run_seed, n_problems, n_instances, n_samples, n_pending, condition, 0);
}

void skit_run_slower(const char *dir, uint64_t run_seed, uint32_t n_problems, uint32_t n_instances,
                     uint32_t n_samples, uint64_t n_pending, uint64_t condition, double slower)
{
    uint64_t n_left = (uint64_t)n_problems * n_instances;
    struct skit k;

    n_left -= n_pending < n_left ? n_pending : n_left;
    skit_open(&k, dir, run_seed, n_problems, n_instances);
    k.condition = condition;
    k.slower = slower;
    skit_names(&k);
    for (uint32_t i = 0; i < n_problems && n_left > 0; i++) {
        double anchor = 20000.0 * (1 + i % 13);

        skit_block(&k, 1 + i, i, anchor, 0);
        for (uint32_t j = 0; j < n_instances && n_left > 0; j++, n_left--) {
            struct ks_record *r = skit_record(&k, i, j, n_samples);
            uint64_t how = ks_mix64(run_seed ^ (uint64_t)i << 20 ^ j);

            for (uint32_t n = 0; n < r->n_samples; n++)
                r->sample_ns[n] *= 1 + slower;
            if (how % 16 == 0)
                spoil(r, how >> 8);
            if (r->outcome == KS_O_ALIASED)
                r->representative_id = k.instances[j ? 0 : n_instances - 1];
            skit_put(&k, r);
        }
        skit_block(&k, 1 + i, i, anchor, anchor * 1.004);
    }
    skit_event(&k, KS_EV_INFO, "made up");
    skit_close(&k);
}
