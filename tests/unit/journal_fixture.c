/* SPDX-License-Identifier: MIT */
/* journal_fixture.c - writes a segment with every frame type, and checks what is read of it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "journal/journal.h"
#include "journal_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* These values are those of the file in tests/data/journal-v1 and never change: what a later
 * version adds to a struct is at its initial value here. */
static const struct ks_segment segment = {
    .run_id = { 0x0123456789abcdef, 0xfedcba9876543210 },
    .incarnation = 1,
    .pid = 4321,
    .pid_start = 987654,
    .host = "fixture-host",
    .boot_id = "00000000-1111-2222-3333-444444444444",
    .version = "0.1.0",
    .realtime_ns = 1767225600000000000,
};
static const struct ks_job_rec job = {
    .grid_digest = 0xaaaabbbbccccdddd, .condition = 7, .n_problems = 20, .n_instances = 300
};
static const char job_text[] = "{ \"name\": \"fixture\" }";
static const struct ks_name_rec problem = {
    .id = 0x1111, .count = 3, .name = "conv1", .text = "grouped_conv,fwd,fp32,nhwgc"
};
static const struct ks_name_rec instance = { .id = 0x2222,
                                             .name = "packed_8x6",
                                             .text = "family=packed,tile=8x6" };
static const struct ks_name_rec host = { .id = 2,
                                         .name = "node1",
                                         .text = "cpu=Zen4\nkernel=6.1\n" };
static const struct ks_device_rec device = {
    .device_id = 0x3333,
    .device_class = 0x4444,
    .rank = 2,
    .local_rank = 1,
    .host = "node1",
    .text = "machine-id + cores 0-1",
    .backend = "host",
    .arch = "znver4",
    .model = "EPYC",
    .core_set = "0-1",
    .boot_id = "00000000-1111-2222-3333-444444444444",
    .idle_switches_per_s = 3.5,
    .idle_stolen = -1,
};
static const struct ks_build_rec build = {
    .instance = 0x2222,
    .outcome = KS_O_BUILD_FAILED,
    .is_cached = 1,
    .build_id = { 5, 6 },
    .code_id = { 7, 8 },
    .compile_ns = 1500000000,
    .object_bytes = 65536,
    .reason = "error: 'x' undeclared",
    .compiler = "gcc 12.2.0",
    .code = { "", -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 }, /* version 1 knew nothing of it */
};
static const struct ks_start start = {
    .lease_id = 9,
    .block_id = 10,
    .device_id = 0x3333,
    .rank = 2,
    .why = 2,
    .n_cells = 2,
    .cells = { { { 0x1111, 0x2222, 7 }, 1, 0, KS_ROLE_CELL },
               { { 0x1111, 0x5555, 7 }, 2, 1, KS_ROLE_ANCHOR } },
};
static const struct ks_output output = { { 0x1111, 0x2222, 7 }, 2, 0, 100000 };
static const char output_bytes[] = "printed by a kernel\n";
static const struct ks_block block = {
    .block_id = 10,
    .problem = 0x1111,
    .device_id = 0x3333,
    .anchor = 0x2222,
    .rank = 2,
    .n_cells = 24,
    .is_closed = 1,
    .open_ns = 1000.5,
    .close_ns = -1,
    .open_lo_ns = 990,
    .open_hi_ns = 1010,
    .opened_ns = 1767225601000000000,
    .closed_ns = 1767225602000000000,
};
static const struct ks_event_rec event = { KS_EV_WORKER_DEATH, 2, 1767225603000000000, "node1",
                                           "worker 77 died of signal 11" };
#define BEAT_NS 1767225605000000000ull

static void set_samples(struct ks_record *r)
{
    r->n_samples = 30;
    r->calls_per_sample = 4;
    for (uint32_t i = 0; i < r->n_samples; i++)
        r->sample_ns[i] = 50000 + 0.25 * i;
    r->verified_sample_ns = 50007.25;
    r->clock_resolution_ns = 25;
    r->stop_reason = KS_STOP_TARGET;
}

static void set_spent(struct ks_record *r)
{
    r->wall_ns = 30000000;
    r->input_ns = 1;
    r->reference_ns = 2;
    r->load_ns = 3;
    r->exact_check_ns = 4;
    r->warmup_ns = 5;
    r->timing_ns = 6;
    r->tolerance_check_ns = 7;
    r->involuntary_switches = 8;
    r->cpu_ns = 9;
    r->span_ns = 10;
    r->canary_ratio = 1.01;
}

static void set_failure(struct ks_record *r)
{
    r->exact_check = 1;
    r->tolerance_check = 2;
    r->max_error = (double)INFINITY;
    r->n_wrong = 12;
    r->n_zero = 13;
    r->n_elements = 401408;
    r->n_mismatches = 2;
    r->mismatch[0] = (struct ks_mismatch){ 17, 1.5, 2.5, 1e-6 };
    r->mismatch[1] = (struct ks_mismatch){ 401407, -0.0, 3, 1e-6 };
    r->n_box = 4;
    for (int i = 0; i < 4; i++) {
        r->box_lo[i] = i;
        r->box_hi[i] = 10 + i;
    }
    r->bitwise_reproducible = 2;
    r->fault_address = 0xdeadbeef;
    r->peak_bytes = 1 << 30;
    r->n_denied = 2;
    r->denied_call = 57;
    r->n_tail = 8;
    memcpy(r->tail, "oh no\n\0x", 8);
    r->workspace_bytes = 4096;
}

static void make_record(struct ks_record *r)
{
    ks_record_init(r);
    r->cell = (struct ks_cell){ 0x1111, 0x2222, 7 };
    r->attempt = 2;
    r->round_index = 1;
    r->role = KS_ROLE_CELL;
    r->outcome = KS_O_WRONG_RESULT;
    r->status_code = -3;
    r->outcome_flags = KS_FL_SUSPECT | KS_FL_POISON_EFFECT;
    r->phase = KS_PH_VERIFY;
    snprintf(r->reason, sizeof(r->reason), "12 of 401408 elements are wrong");
    r->lease_id = 9;
    r->block_id = 10;
    r->position = 5;
    r->mpi_rank = 2;
    r->device_id = 0x3333;
    r->worker = (struct ks_id128){ 11, 12 };
    r->seq = 13;
    r->pid = 77;
    r->cpu = 1;
    r->started_ns = 1767225604000000000;
    r->build_id = (struct ks_id128){ 5, 6 };
    r->code_id = (struct ks_id128){ 7, 8 };
    set_samples(r);
    set_spent(r);
    set_failure(r);
}

static void put(struct ks_buf *file, uint16_t type, struct ks_buf *body)
{
    ks_frame_put(file, type, body->data, body->len);
    ks_buf_clear(body);
}

static void put_all(struct ks_buf *f)
{
    struct ks_record *r = calloc(1, sizeof(*r));
    struct ks_buf b;

    if (!r)
        abort();
    ks_buf_init(&b);
    ks_segment_encode(&segment, &b);
    put(f, KS_F_SEGMENT, &b);
    ks_job_rec_encode(&job, job_text, &b);
    put(f, KS_F_JOB, &b);
    ks_tag_u64(&b, 1, BEAT_NS);
    put(f, KS_F_HEARTBEAT, &b);
    ks_name_rec_encode(&problem, &b);
    put(f, KS_F_PROBLEM, &b);
    ks_name_rec_encode(&instance, &b);
    put(f, KS_F_INSTANCE, &b);
    ks_name_rec_encode(&host, &b);
    put(f, KS_F_HOST, &b);
    ks_device_rec_encode(&device, &b);
    put(f, KS_F_DEVICE, &b);
    ks_build_rec_encode(&build, &b);
    put(f, KS_F_BUILD, &b);
    ks_start_encode(&start, &b);
    put(f, KS_F_START, &b);
    make_record(r);
    ks_record_encode(r, &b);
    put(f, KS_F_DONE, &b);
    ks_output_encode(&output, output_bytes, sizeof(output_bytes) - 1, &b);
    put(f, KS_F_OUTPUT, &b);
    ks_block_encode(&block, &b);
    put(f, KS_F_BLOCK, &b);
    ks_event_encode(&event, &b);
    put(f, KS_F_EVENT, &b);
    put(f, KS_F_CLOSE, &b);
    ks_buf_release(&b);
    free(r);
}

int fixture_write(const char *dir)
{
    struct ks_err err = { 0 };
    struct ks_buf f;
    char path[4096];
    int rc;

    ks_buf_init(&f);
    put_all(&f);
    rc = ks_mkdirs(dir, 0777, &err);
    if (rc == 0)
        rc = ks_path_join(path, sizeof(path), dir, "0001.ksj", &err);
    if (rc == 0)
        rc = ks_file_replace(path, f.data, f.len, &err);
    ks_buf_release(&f);
    if (rc < 0)
        fprintf(stderr, "%s\n", err.text);
    return rc < 0;
}

/* Decodes the body into a value of the type of `want` and compares every byte. */
#define EXPECT(decode, want)                                                                       \
    do {                                                                                           \
        assert_int_equal(decode(f->body, f->n, (void *)got, err), 0);                              \
        assert_memory_equal(got, &(want), sizeof(want));                                           \
    } while (0)

static void check_job(const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_job_rec got;
    char *text = NULL;

    assert_int_equal(ks_job_rec_decode(f->body, f->n, &got, &text, err), 0);
    assert_memory_equal(&got, &job, sizeof(job));
    assert_string_equal(text, job_text);
    free(text);
}

static void check_output(const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_output got;
    const void *bytes;
    size_t n;

    assert_int_equal(ks_output_decode(f->body, f->n, &got, &bytes, &n, err), 0);
    assert_memory_equal(&got, &output, sizeof(output));
    assert_int_equal(n, sizeof(output_bytes) - 1);
    assert_memory_equal(bytes, output_bytes, n);
}

static void check_done(const struct ks_journal_frame *f, struct ks_err *err)
{
    static struct ks_record want, got;
    uint32_t n_unknown = 9;

    make_record(&want);
    assert_int_equal(ks_record_decode(f->body, f->n, &got, &n_unknown, err), 0);
    assert_int_equal(n_unknown, 0);
    assert_memory_equal(&got, &want, sizeof(want));
}

static void check_beat(const struct ks_journal_frame *f)
{
    struct ks_cur c = ks_cur(f->body, f->n);
    struct ks_field field;
    bool bad = false;

    assert_true(ks_body_next(&c, &field, &bad));
    assert_int_equal(field.tag, 1);
    assert_true(ks_field_u64(&field) == BEAT_NS);
}

static int check_frame(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    static uint64_t got[sizeof(struct ks_record) / 8 + 1];
    uint32_t *seen = ctx;

    assert_int_equal(f->segment, 1);
    assert_true(f->type <= KS_F_CLOSE);
    *seen |= 1u << f->type;
    switch (f->type) {
    case KS_F_SEGMENT:
        EXPECT(ks_segment_decode, segment);
        break;
    case KS_F_JOB:
        check_job(f, err);
        break;
    case KS_F_HEARTBEAT:
        check_beat(f);
        break;
    case KS_F_PROBLEM:
        EXPECT(ks_name_rec_decode, problem);
        break;
    case KS_F_INSTANCE:
        EXPECT(ks_name_rec_decode, instance);
        break;
    case KS_F_HOST:
        EXPECT(ks_name_rec_decode, host);
        break;
    case KS_F_DEVICE:
        EXPECT(ks_device_rec_decode, device);
        break;
    case KS_F_BUILD:
        EXPECT(ks_build_rec_decode, build);
        break;
    case KS_F_START:
        EXPECT(ks_start_decode, start);
        break;
    case KS_F_DONE:
        check_done(f, err);
        break;
    case KS_F_OUTPUT:
        check_output(f, err);
        break;
    case KS_F_BLOCK:
        EXPECT(ks_block_decode, block);
        break;
    case KS_F_EVENT:
        EXPECT(ks_event_decode, event);
        break;
    default:
        break;
    }
    return 0;
}

void fixture_check(const char *dir)
{
    struct ks_journal_totals t;
    struct ks_err err = { 0 };
    uint32_t seen = 0;

    if (ks_journal_read(dir, check_frame, NULL, &seen, &t, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(seen, 0x7ffe); /* types 1 to 14 */
    assert_int_equal(t.n_segments, 1);
    assert_int_equal(t.n_frames, 14);
    assert_int_equal(t.n_unknown_types, 0);
    assert_int_equal(t.n_damaged_places + t.n_torn_tails, 0);
    assert_true(t.is_closed);
}
