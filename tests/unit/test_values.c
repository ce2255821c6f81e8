/* SPDX-License-Identifier: MIT */
/* test_values.c - the values beside the record, and the requests: every member travels both ways */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "record/frame.h"
#include "record/record.h"
#include "record/request.h"

#include <stdlib.h>
#include <string.h>

/* ---- every member has a row in its table ---- */

struct range {
    size_t at, n;
};
#define COUNT_AT(S, m)                                                                             \
    {                                                                                              \
        offsetof(struct S, m), sizeof(uint32_t)                                                    \
    }

typedef void (*encode_fn)(const void *v, struct ks_buf *body_out);
#define ENCODER(S, f)                                                                              \
    static void enc_##S(const void *v, struct ks_buf *b)                                           \
    {                                                                                              \
        const struct S *s = v;                                                                     \
                                                                                                   \
        f(s, b);                                                                                   \
    }
ENCODER(ks_record, ks_record_encode)
ENCODER(ks_segment, ks_segment_encode)
ENCODER(ks_device_rec, ks_device_rec_encode)
ENCODER(ks_build_rec, ks_build_rec_encode)
ENCODER(ks_start, ks_start_encode)
ENCODER(ks_block, ks_block_encode)
ENCODER(ks_race_rec, ks_race_rec_encode)
ENCODER(ks_event_rec, ks_event_encode)
ENCODER(ks_name_rec, ks_name_rec_encode)
ENCODER(ks_req_setup, ks_req_setup_encode)
ENCODER(ks_req_problem, ks_req_problem_encode)
ENCODER(ks_req_cell, ks_req_cell_encode)
ENCODER(ks_ready, ks_ready_encode)

static void enc_ks_job_rec(const void *v, struct ks_buf *b)
{
    ks_job_rec_encode(v, "text", b);
}

static void enc_ks_output(const void *v, struct ks_buf *b)
{
    ks_output_encode(v, "bytes", 5, b);
}

/* Bytes of v whose change does not change the encoding: padding, and the last byte of each text. A
 * member without a row in its table would add to them. */
static size_t n_ignored(encode_fn encode, void *v, size_t size, const struct range *counts,
                        size_t n_counts)
{
    struct ks_buf want, got;
    size_t ignored = 0;

    ks_buf_init(&want);
    ks_buf_init(&got);
    encode(v, &want);
    for (size_t i = 0; i < size; i++) {
        bool is_count = false;

        for (size_t k = 0; k < n_counts; k++)
            is_count |= i >= counts[k].at && i < counts[k].at + counts[k].n;
        if (is_count)
            continue;
        ((uint8_t *)v)[i] ^= 1;
        ks_buf_clear(&got);
        encode(v, &got);
        ((uint8_t *)v)[i] ^= 1;
        ignored += got.len == want.len && memcmp(got.data, want.data, want.len) == 0;
    }
    assert_true(ks_buf_ok(&got));
    ks_buf_release(&want);
    ks_buf_release(&got);
    return ignored;
}

#define N_COUNTS 4u

static void every_member_is_encoded(void **state)
{
    static const struct {
        const char *name;
        encode_fn encode;
        size_t size, n_texts, n_padding;
        struct range count[N_COUNTS];
        uint32_t max[N_COUNTS];
    } rows[] = {
#define ROW(S, texts, padding)                                                                     \
    .name = #S, .encode = enc_##S, .size = sizeof(struct S), .n_texts = texts, .n_padding = padding
        { ROW(ks_record, 2, 28),
          .count = { COUNT_AT(ks_record, n_samples), COUNT_AT(ks_record, n_mismatches),
                     COUNT_AT(ks_record, n_box), COUNT_AT(ks_record, n_tail) },
          .max = { KS_SAMPLES_MAX, KS_MISMATCH_MAX, 6, KS_TAIL_MAX } },
        { ROW(ks_segment, 3, 4 + 4 * KS_FENCES_MAX), .count = { COUNT_AT(ks_segment, n_fences) },
          .max = { KS_FENCES_MAX } },
        { ROW(ks_job_rec, 0, 0) },
        { ROW(ks_device_rec, 15, 0) },
        { ROW(ks_build_rec, 3, 4) },
        { ROW(ks_start, 0, 4 + 4 * KS_START_MAX), .count = { COUNT_AT(ks_start, n_cells) },
          .max = { KS_START_MAX } },
        { ROW(ks_output, 0, 0) },
        { ROW(ks_block, 0, 4) },
        { ROW(ks_race_rec, 0, 0) },
        { ROW(ks_event_rec, 2, 0) },
        { ROW(ks_name_rec, 2, 4) },
        { ROW(ks_req_setup, 2, 16) },
        { ROW(ks_req_problem, 3, 4) },
        { ROW(ks_req_cell, 6, 0) },
        { ROW(ks_ready, 2, 4) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t *v = malloc(rows[i].size);
        size_t n, n_counts = 0;

        assert_non_null(v);
        memset(v, 'x', rows[i].size);
        while (n_counts < N_COUNTS && rows[i].max[n_counts]) {
            memcpy(v + rows[i].count[n_counts].at, &rows[i].max[n_counts], sizeof(uint32_t));
            n_counts++;
        }
        n = n_ignored(rows[i].encode, v, rows[i].size, rows[i].count, n_counts);
        if (n != rows[i].n_texts + rows[i].n_padding)
            fail_msg("%s: %zu bytes are not encoded, %zu expected", rows[i].name, n,
                     rows[i].n_texts + rows[i].n_padding);
        free(v);
    }
}

/* ---- the other values ---- */

/* Encodes *in, decodes into *out, and both must hold the same bytes; S has zero padding. */
#define ROUND_TRIP(S, encode, decode, ...)                                                         \
    static void trip_##S(void **state)                                                             \
    {                                                                                              \
        static struct S in, out;                                                                   \
        struct ks_err err;                                                                         \
        struct ks_buf b;                                                                           \
                                                                                                   \
        (void)state;                                                                               \
        in = (struct S){ __VA_ARGS__ };                                                            \
        ks_buf_init(&b);                                                                           \
        encode(&in, &b);                                                                           \
        assert_int_equal(decode(b.data, b.len, &out, &err), 0);                                    \
        assert_memory_equal(&in, &out, sizeof(in));                                                \
        memset(&out, 1, sizeof(out));                                                              \
        assert_int_equal(decode(b.data, b.len - 1, &out, &err), KS_EFORMAT);                       \
        assert_int_equal(((char *)&out)[0], 1);                                                    \
        ks_buf_release(&b);                                                                        \
    }

ROUND_TRIP(ks_segment, ks_segment_encode, ks_segment_decode, .run_id = { 1, 2 }, .incarnation = 3,
           .pid = 4, .pid_start = 5, .host = "h", .boot_id = "b", .version = "0.1",
           .realtime_ns = 6, .n_fences = 2, .fences = { { 1, 100 }, { 2, 0 } })
ROUND_TRIP(ks_device_rec, ks_device_rec_encode, ks_device_rec_decode, .device_id = 1,
           .device_class = 2, .rank = 3, .local_rank = 4, .host = "h", .text = "t",
           .backend = "host", .arch = "a", .model = "m", .core_set = "0-1", .boot_id = "b",
           .idle_switches_per_s = -1, .idle_stolen = 0.5, .pci = "0000:c1:00.0", .numa = "0,4",
           .host_domain = "l3", .n_neighbours = 6, .n_units = 304, .memory_bytes = 206141652992,
           .driver = "7.0.1", .n_memory_neighbours = 8)
ROUND_TRIP(ks_build_rec, ks_build_rec_encode, ks_build_rec_decode, .instance = 1,
           .outcome = KS_O_BUILD_FAILED, .is_cached = 1, .build_id = { 1, 2 }, .code_id = { 3, 4 },
           .compile_ns = 5, .object_bytes = 6, .reason = "error: x", .compiler = "gcc 12",
           .code = { "gfx942", 128, 0, 40, -1, 3, 64, 256, 65536, 420, 88, INT64_MAX })
ROUND_TRIP(ks_start, ks_start_encode, ks_start_decode, .lease_id = 1, .block_id = 2, .device_id = 3,
           .rank = 4, .why = 4, .n_cells = 2,
           .cells = { { { 1, 2, 3 }, 4, 5 }, { { 6, 7, 8 }, 1, 0, KS_ROLE_ANCHOR } })
ROUND_TRIP(ks_block, ks_block_encode, ks_block_decode, .block_id = 1, .problem = 2, .device_id = 3,
           .anchor = 4, .rank = 5, .n_cells = 6, .is_closed = 1, .open_ns = 7, .close_ns = -1,
           .open_lo_ns = 8, .open_hi_ns = 9, .close_lo_ns = 10, .close_hi_ns = 11, .opened_ns = 12,
           .closed_ns = 13)
ROUND_TRIP(ks_event_rec, ks_event_encode, ks_event_decode, .kind = KS_EV_SIGNAL, .rank = 1,
           .realtime_ns = 2, .host = "h", .text = "SIGTERM")
ROUND_TRIP(ks_name_rec, ks_name_rec_encode, ks_name_rec_decode, .id = 1, .count = -2, .name = "n",
           .text = "operator=grouped_conv", .n_absent = 3)
ROUND_TRIP(ks_req_setup, ks_req_setup_encode, ks_req_setup_decode, .nonce = { 1, 2 },
           .backend = "host", .device = "d", .device_id = 3, .memory_bytes = 4, .rank = 5,
           .measure.sampling = { 20, 5, 200, 500, 0.005, KS_CACHE_COLD, 50 },
           .measure.verify_exact = 1, .measure.verify_elementwise = 1,
           .measure.kernel_timeout_ms = 30000, .is_sentinel = 1, .canary_baseline_ns = 123.5,
           .limits = { 1e12, 2, { { 32768, 5e11 }, { UINT64_MAX, 8e10 } } })
ROUND_TRIP(ks_req_problem, ks_req_problem_encode, ks_req_problem_decode, .problem = 1,
           .canonical = "operator=grouped_conv", .references = 2, .key = { 5, 6 },
           .judge_digest = { 1, 2, 3 }, .judge_artefact = "/cache/j.so",
           .judge_entry = "judge_bf16")
ROUND_TRIP(ks_req_cell, ks_req_cell_encode, ks_req_cell_decode, .cell = { 1, 2, 3 }, .i_cell = 4,
           .attempt = 5, .round = 6, .role = KS_ROLE_ANCHOR, .position = 7, .lease_id = 8,
           .numerics = 2, .threads = 16, .block_id = 9, .build_id = { 1, 2 }, .code_id = { 3, 4 },
           .digest = { 1, 2, 3 }, .artefact = "/cache/x.so", .entry = "packed_8x6")
ROUND_TRIP(ks_ready, ks_ready_encode, ks_ready_decode, .nonce = { 1, 2 }, .pid = 3, .cpu = -1,
           .device = "GPU-1", .clock_ns = 25, .canary_ns = 1000, .memory_nodes = 3,
           .locator = "0000:c1:00.0",
           .limits = { 1, 5, { { 2, 3 }, { 4, 5 }, { 6, 7 }, { 8, 9 }, { 10, 11 } } })

static void a_job_keeps_its_text(void **state)
{
    const struct ks_job_rec in = {
        .grid_digest = 1, .condition = 2, .n_problems = 3, .n_instances = 4, .n_absent = 5
    };
    const struct ks_job_rec damaged = { .n_problems = 3, .n_instances = 4, .n_absent = 13 };
    struct ks_job_rec out = { 0 };
    char *text = NULL;
    struct ks_err err;
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_job_rec_encode(&in, "{ \"name\": \"x\" }", &b);
    assert_int_equal(ks_job_rec_decode(b.data, b.len, &out, &text, &err), 0);
    assert_memory_equal(&in, &out, sizeof(in));
    assert_int_equal(ks_job_rec_n_cells(&out), 7);
    assert_int_equal(ks_job_rec_n_cells(&damaged), 0);
    assert_string_equal(text, "{ \"name\": \"x\" }");
    free(text);
    text = NULL;
    ks_tag_bytes(&b, 15, "a\0b", 3);
    assert_int_equal(ks_job_rec_decode(b.data, b.len, &out, &text, &err), KS_EFORMAT);
    ks_buf_clear(&b);
    assert_int_equal(ks_job_rec_decode(b.data, b.len, &out, &text, &err), KS_EFORMAT);
    assert_null(text);
    ks_buf_release(&b);
}

static void output_keeps_the_last_bytes(void **state)
{
    static char printed[KS_OUTPUT_MAX + 3];
    const struct ks_output in = { { 1, 2, 3 }, 4, 5, sizeof(printed) };
    struct ks_output out;
    const void *bytes;
    struct ks_err err;
    struct ks_buf b;
    size_t n;

    (void)state;
    memcpy(printed, "abcd", 4);
    ks_buf_init(&b);
    ks_output_encode(&in, printed, sizeof(printed), &b);
    assert_int_equal(ks_output_decode(b.data, b.len, &out, &bytes, &n, &err), 0);
    assert_memory_equal(&in, &out, sizeof(in));
    assert_int_equal(n, KS_OUTPUT_MAX);
    assert_int_equal(*(const char *)bytes, 'd');
    ks_tag_bytes(&b, 15, printed, sizeof(printed));
    assert_int_equal(ks_output_decode(b.data, b.len, &out, &bytes, &n, &err), KS_EFORMAT);
    ks_buf_clear(&b);
    ks_output_encode(&in, NULL, 0, &b);
    assert_int_equal(ks_output_decode(b.data, b.len, &out, &bytes, &n, &err), 0);
    assert_int_equal(n, 0);
    assert_int_equal(ks_output_decode(b.data, b.len - 6, &out, &bytes, &n, &err), KS_EFORMAT);
    ks_buf_release(&b);
}

static void a_required_field_must_say_something(void **state)
{
    static const struct ks_req_problem no_text = { .problem = 1 };
    static const struct ks_ready no_nonce = { .pid = 1 };
    struct ks_req_problem problem;
    struct ks_ready ready;
    struct ks_err err = { 0 };
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_req_problem_encode(&no_text, &b);
    assert_int_equal(ks_req_problem_decode(b.data, b.len, &problem, &err), KS_EFORMAT);
    assert_string_equal(err.text, "problem request without its canonical");
    ks_tag_text(&b, 2, "");
    assert_int_equal(ks_req_problem_decode(b.data, b.len, &problem, &err), KS_EFORMAT);
    assert_non_null(strstr(err.text, "canonical is empty"));
    ks_buf_clear(&b);
    ks_ready_encode(&no_nonce, &b);
    ks_tag_bytes(&b, 1, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    assert_int_equal(ks_ready_decode(b.data, b.len, &ready, &err), KS_EFORMAT);
    assert_non_null(strstr(err.text, "nonce is zero"));
    ks_buf_release(&b);
}

/* Of several verdicts on a race the one counts that knows most, whatever was read first. */
static void the_newer_verdict(void **state)
{
    static const struct ks_race_rec rows[] = {
        { .n_members = 3, .spent_ns = 5, .stop = KS_RACE_REC_CUT },
        { .n_members = 3, .spent_ns = 5, .stop = 2 },
        { .n_members = 3, .spent_ns = 6, .stop = KS_RACE_REC_CUT },
        { .n_members = 4, .spent_ns = 1, .stop = KS_RACE_REC_CUT },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
            assert_int_equal(ks_race_rec_is_newer(&rows[i], &rows[k]), i > k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_is_encoded),
        cmocka_unit_test(the_newer_verdict),
        cmocka_unit_test(trip_ks_segment),
        cmocka_unit_test(trip_ks_device_rec),
        cmocka_unit_test(trip_ks_build_rec),
        cmocka_unit_test(trip_ks_start),
        cmocka_unit_test(trip_ks_block),
        cmocka_unit_test(trip_ks_event_rec),
        cmocka_unit_test(trip_ks_name_rec),
        cmocka_unit_test(trip_ks_req_setup),
        cmocka_unit_test(trip_ks_req_problem),
        cmocka_unit_test(trip_ks_req_cell),
        cmocka_unit_test(trip_ks_ready),
        cmocka_unit_test(a_job_keeps_its_text),
        cmocka_unit_test(output_keeps_the_last_bytes),
        cmocka_unit_test(a_required_field_must_say_something),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
