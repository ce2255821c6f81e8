/* SPDX-License-Identifier: MIT */
/* fuzz_record.c - any bytes as a record, values or a request: what decodes encodes the same */
/* The first byte chooses the decoder, the rest is the body. The whole input also goes through the
 * frame reader, in two pieces. */
#include "record/frame.h"
#include "record/record.h"
#include "record/request.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* One trip for a value of type S; *out is zero before, so padding is equal. */
#define TRIP(S, encode, decode)                                                                    \
    static void trip_##S(const void *body, size_t n)                                               \
    {                                                                                              \
        static struct S first, again;                                                              \
        struct ks_err err;                                                                         \
        struct ks_buf b;                                                                           \
                                                                                                   \
        if (decode(body, n, &first, &err) < 0)                                                     \
            return;                                                                                \
        ks_buf_init(&b);                                                                           \
        encode(&first, &b);                                                                        \
        if (decode(b.data, b.len, &again, &err) < 0 || memcmp(&first, &again, sizeof(first)) != 0) \
            abort();                                                                               \
        ks_buf_release(&b);                                                                        \
    }

static int record_decode(const void *body, size_t n, struct ks_record *r, struct ks_err *err)
{
    uint32_t n_unknown;

    return ks_record_decode(body, n, r, &n_unknown, err);
}

static int job_decode(const void *body, size_t n, struct ks_job_rec *out, struct ks_err *err)
{
    char *text;
    int rc = ks_job_rec_decode(body, n, out, &text, err);

    if (rc == 0)
        free(text);
    return rc;
}

static void job_encode(const struct ks_job_rec *v, struct ks_buf *b)
{
    ks_job_rec_encode(v, "{}", b);
}

static int output_decode(const void *body, size_t n, struct ks_output *out, struct ks_err *err)
{
    const void *bytes;
    size_t n_bytes;

    return ks_output_decode(body, n, out, &bytes, &n_bytes, err);
}

static void output_encode(const struct ks_output *v, struct ks_buf *b)
{
    ks_output_encode(v, "printed", 7, b);
}

TRIP(ks_record, ks_record_encode, record_decode)
TRIP(ks_segment, ks_segment_encode, ks_segment_decode)
TRIP(ks_job_rec, job_encode, job_decode)
TRIP(ks_device_rec, ks_device_rec_encode, ks_device_rec_decode)
TRIP(ks_build_rec, ks_build_rec_encode, ks_build_rec_decode)
TRIP(ks_start, ks_start_encode, ks_start_decode)
TRIP(ks_output, output_encode, output_decode)
TRIP(ks_block, ks_block_encode, ks_block_decode)
TRIP(ks_event_rec, ks_event_encode, ks_event_decode)
TRIP(ks_name_rec, ks_name_rec_encode, ks_name_rec_decode)
TRIP(ks_req_setup, ks_req_setup_encode, ks_req_setup_decode)
TRIP(ks_req_problem, ks_req_problem_encode, ks_req_problem_decode)
TRIP(ks_req_cell, ks_req_cell_encode, ks_req_cell_decode)
TRIP(ks_ready, ks_ready_encode, ks_ready_decode)

static void read_frames(const uint8_t *bytes, size_t n)
{
    struct ks_frame_reader r;
    struct ks_frame f;
    struct ks_err err;
    uint64_t in_frames = 0;

    ks_frame_reader_init(&r);
    if (ks_frame_feed(&r, bytes, n / 2, &err) < 0)
        abort();
    while (ks_frame_next(&r, &f))
        in_frames += KS_FRAME_HEADER + f.n;
    if (ks_frame_feed(&r, bytes + n / 2, n - n / 2, &err) < 0)
        abort();
    ks_frame_finish(&r);
    while (ks_frame_next(&r, &f))
        in_frames += KS_FRAME_HEADER + f.n;
    if (in_frames + r.n_damaged_bytes != n || ks_frame_left(&r) != 0)
        abort(); /* every byte is in a frame or counted as damaged */
    ks_frame_reader_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static void (*const trips[])(const void *, size_t) = {
        trip_ks_record,    trip_ks_segment,  trip_ks_job_rec,   trip_ks_device_rec,
        trip_ks_build_rec, trip_ks_start,    trip_ks_output,    trip_ks_block,
        trip_ks_event_rec, trip_ks_name_rec, trip_ks_req_setup, trip_ks_req_problem,
        trip_ks_req_cell,  trip_ks_ready,
    };

    if (n > 0)
        trips[bytes[0] % (sizeof(trips) / sizeof(trips[0]))](bytes + 1, n - 1);
    read_frames(bytes, n);
    return 0;
}
