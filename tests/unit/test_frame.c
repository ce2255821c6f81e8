/* SPDX-License-Identifier: MIT */
/* test_frame.c - frames and body fields: layout, streaming, and what damage costs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/hash.h"
#include "record/frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define N_FRAMES 50u

/* Frame i has type 1 + i % 14 and a body of i % 40 bytes that only it has. */
static size_t body_of(uint32_t i, uint8_t body[64])
{
    size_t n = i % 40;

    for (size_t k = 0; k < n; k++)
        body[k] = (uint8_t)ks_mix64(i * 64 + k);
    return n;
}

static void put_frames(struct ks_buf *b, size_t start[N_FRAMES + 1])
{
    uint8_t body[64];

    for (uint32_t i = 0; i < N_FRAMES; i++) {
        size_t n = body_of(i, body);

        start[i] = b->len;
        ks_frame_put(b, (uint16_t)(1 + i % 14), body, n);
    }
    start[N_FRAMES] = b->len;
    assert_true(ks_buf_ok(b));
}

/* Bit i of the result is set when frame i came, unhurt and in order; anything else fails. */
static uint64_t take_frames(struct ks_frame_reader *r, const size_t start[N_FRAMES + 1],
                            uint64_t came)
{
    struct ks_frame f;

    while (ks_frame_next(r, &f)) {
        uint8_t body[64];
        uint32_t i = 0;

        while (i < N_FRAMES && start[i] != f.offset)
            i++;
        assert_true(i < N_FRAMES);
        assert_int_equal(came >> i, 0);
        assert_int_equal(f.type, 1 + i % 14);
        assert_int_equal(f.version, KS_FRAME_VERSION);
        assert_int_equal(f.n, body_of(i, body));
        assert_memory_equal(f.body, body, f.n);
        came |= 1ull << i;
    }
    return came;
}

#define ALL_FRAMES ((1ull << N_FRAMES) - 1)

static void layout_is_fixed(void **state)
{
    static const uint8_t want[] = { 0x89, 'K', 'S', 'W', 'E', 'E', 'P', '\n', /* sync */
                                    10,   0,   1,   0, /* type done, version 1 */
                                    3,    0,   0,   0 };
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_frame_put(&b, KS_F_DONE, "abc", 3);
    assert_int_equal(b.len, KS_FRAME_HEADER + 3);
    assert_memory_equal(b.data, want, sizeof(want));
    assert_memory_equal(b.data + 24, "abc", 3);
    struct ks_cur c = ks_cur(b.data + 16, 8);
    assert_int_equal(ks_cur_u32(&c), ks_crc32c_portable(0, b.data, 16));
    assert_int_equal(ks_cur_u32(&c), 0x364b3fb7); /* CRC-32C of "abc" */
    ks_buf_release(&b);
}

static void types_have_names(void **state)
{
    (void)state;
    assert_string_equal(ks_frame_type_name(KS_F_DONE), "done");
    assert_string_equal(ks_frame_type_name(KS_F_MSG_LEASE_END), "msg_lease_end");
    assert_string_equal(ks_frame_type_name(0), "?");
    assert_string_equal(ks_frame_type_name(99), "?");
#define X(name, value) assert_int_equal(strcasecmp(#name + 5, ks_frame_type_name(value)), 0);
    KS_FRAME_LIST(X)
#undef X
}

static void pieces_of_any_size_give_the_same_frames(void **state)
{
    static const size_t pieces[] = { 1, 2, 3, 7, 23, 24, 25, 64, 1000, 100000 };
    struct ks_err err;

    (void)state;
    for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++) {
        struct ks_frame_reader r;
        size_t start[N_FRAMES + 1];
        struct ks_buf b;
        uint64_t came = 0;

        ks_buf_init(&b);
        put_frames(&b, start);
        ks_frame_reader_init(&r);
        for (size_t at = 0; at < b.len; at += pieces[p]) {
            size_t n = b.len - at < pieces[p] ? b.len - at : pieces[p];

            assert_int_equal(ks_frame_feed(&r, b.data + at, n, &err), 0);
            came = take_frames(&r, start, came);
        }
        assert_true(came == ALL_FRAMES);
        assert_int_equal(r.n_frames, N_FRAMES);
        assert_int_equal(r.n_damaged_bytes, 0);
        assert_int_equal(r.n_damaged_places, 0);
        assert_int_equal(ks_frame_left(&r), 0);
        ks_frame_reader_release(&r);
        ks_buf_release(&b);
    }
}

/* The whole stream at once; the reader is left for the caller to look at and release. */
static uint64_t read_stream(struct ks_frame_reader *r, const uint8_t *bytes, size_t n,
                            const size_t start[N_FRAMES + 1])
{
    struct ks_err err;
    uint64_t came;

    ks_frame_reader_init(r);
    assert_int_equal(ks_frame_feed(r, bytes, n, &err), 0);
    came = take_frames(r, start, 0);
    ks_frame_finish(r);
    came = take_frames(r, start, came);
    assert_int_equal(ks_frame_left(r), 0);
    return came;
}

static void a_flipped_bit_costs_one_frame_and_is_located(void **state)
{
    size_t start[N_FRAMES + 1];
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    put_frames(&b, start);
    for (uint32_t i = 0, at = 0; at < b.len; at++) {
        if (at == start[i + 1])
            i++;
        for (unsigned bit = 0; bit < 8; bit++) {
            struct ks_frame_reader r;

            b.data[at] ^= (uint8_t)(1u << bit);
            assert_true(read_stream(&r, b.data, b.len, start) == (ALL_FRAMES & ~(1ull << i)));
            assert_int_equal(r.n_damaged_places, 1);
            assert_int_equal(r.damage_offset, start[i]);
            assert_int_equal(r.n_damaged_bytes, start[i + 1] - start[i]);
            assert_int_equal(r.damage_end, start[i + 1]);
            ks_frame_reader_release(&r);
            b.data[at] ^= (uint8_t)(1u << bit);
        }
    }
    ks_buf_release(&b);
}

/* A length damaged so that its CRC matches as well: the reader waits for bytes that never come, and
 * the end of the stream gives the later frames back. */
static void a_huge_length_does_not_swallow_later_frames(void **state)
{
    static const uint32_t lengths[] = { 1000, 60000, KS_FRAME_BODY_MAX, KS_FRAME_BODY_MAX + 1,
                                        UINT32_MAX };
    size_t start[N_FRAMES + 1];
    struct ks_buf b, h;

    (void)state;
    ks_buf_init(&b);
    ks_buf_init(&h);
    put_frames(&b, start);
    for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
        struct ks_frame_reader r;

        ks_buf_clear(&h);
        ks_buf_put(&h, b.data + start[20], 12);
        ks_buf_u32(&h, lengths[k]);
        ks_buf_u32(&h, ks_crc32c(0, h.data, 16));
        memcpy(b.data + start[20], h.data, h.len);
        assert_true(read_stream(&r, b.data, b.len, start) == (ALL_FRAMES & ~(1ull << 20)));
        assert_int_equal(r.n_damaged_bytes, start[21] - start[20]);
        ks_frame_reader_release(&r);
    }
    ks_buf_release(&h);
    ks_buf_release(&b);
}

/* Bytes that vanish or appear, unlike flipped ones, move all that follows. */
static void lost_and_foreign_bytes_are_skipped(void **state)
{
    static const char junk[] = "\x89KSWEEP\n\x89KSW\x89\x89KSWEEP";
    size_t start[N_FRAMES + 1], moved[N_FRAMES + 1];
    struct ks_frame_reader r;
    struct ks_buf b, m;

    (void)state;
    ks_buf_init(&b);
    put_frames(&b, start);
    for (size_t n = 1; n < start[31] - start[30]; n++) {
        ks_buf_init(&m);
        ks_buf_put(&m, b.data, start[30]);
        ks_buf_put(&m, b.data + start[30] + n, b.len - start[30] - n);
        for (uint32_t i = 0; i <= N_FRAMES; i++)
            moved[i] = i > 30 ? start[i] - n : start[i];
        assert_true(read_stream(&r, m.data, m.len, moved) == (ALL_FRAMES & ~(1ull << 30)));
        assert_int_equal(r.n_damaged_places, 1);
        assert_int_equal(r.n_damaged_bytes, start[31] - start[30] - n);
        ks_frame_reader_release(&r);
        ks_buf_release(&m);
    }
    ks_buf_init(&m);
    ks_buf_put(&m, junk, sizeof(junk) - 1);
    ks_buf_put(&m, b.data, start[10]);
    ks_buf_put(&m, junk, sizeof(junk) - 1);
    ks_buf_put(&m, b.data + start[10], b.len - start[10]);
    for (uint32_t i = 0; i <= N_FRAMES; i++)
        moved[i] = start[i] + (i < 10 ? 1 : 2) * (sizeof(junk) - 1);
    assert_true(read_stream(&r, m.data, m.len, moved) == ALL_FRAMES);
    assert_int_equal(r.n_damaged_places, 2);
    assert_int_equal(r.n_damaged_bytes, 2 * (sizeof(junk) - 1));
    assert_int_equal(r.damage_offset, 0);
    ks_frame_reader_release(&r);
    ks_buf_release(&m);
    ks_buf_release(&b);
}

static void a_torn_tail_is_left_over_and_then_damage(void **state)
{
    size_t start[N_FRAMES + 1];
    struct ks_buf b;
    struct ks_err err;

    (void)state;
    ks_buf_init(&b);
    put_frames(&b, start);
    for (size_t cut = start[N_FRAMES - 1] + 1; cut < b.len; cut++) {
        struct ks_frame_reader r;

        ks_frame_reader_init(&r);
        assert_int_equal(ks_frame_feed(&r, b.data, cut, &err), 0);
        assert_true(take_frames(&r, start, 0) == ALL_FRAMES >> 1);
        assert_int_equal(ks_frame_left(&r), cut - start[N_FRAMES - 1]);
        assert_int_equal(r.n_damaged_places, 0);
        ks_frame_finish(&r);
        take_frames(&r, start, ALL_FRAMES);
        assert_int_equal(r.n_damaged_places, 1);
        assert_int_equal(r.damage_offset, start[N_FRAMES - 1]);
        assert_int_equal(r.n_damaged_bytes, cut - start[N_FRAMES - 1]);
        ks_frame_reader_release(&r);
    }
    ks_buf_release(&b);
}

static void the_largest_body_passes(void **state)
{
    static uint8_t big[KS_FRAME_BODY_MAX];
    struct ks_frame_reader r;
    struct ks_frame f;
    struct ks_buf b;
    struct ks_err err;

    (void)state;
    memset(big, 0x89, sizeof(big));
    ks_buf_init(&b);
    ks_frame_put(&b, KS_F_OUTPUT, big, sizeof(big));
    ks_frame_put(&b, KS_F_CLOSE, NULL, 0);
    ks_frame_reader_init(&r);
    assert_int_equal(ks_frame_feed(&r, b.data, b.len, &err), 0);
    assert_int_equal(ks_frame_next(&r, &f), 1);
    assert_int_equal(f.n, sizeof(big));
    assert_memory_equal(f.body, big, sizeof(big));
    assert_int_equal(ks_frame_next(&r, &f), 1);
    assert_int_equal(f.n, 0);
    ks_frame_reader_release(&r);
    ks_buf_release(&b);
}

static void numbers_take_the_least_room_and_come_back(void **state)
{
    static const struct {
        uint64_t v;
        size_t width;
    } rows[] = { { 0, 1 },          { 255, 1 },        { 256, 2 },
                 { 65535, 2 },      { 65536, 4 },      { 0xffffffff, 4 },
                 { 1ull << 32, 8 }, { UINT64_MAX, 8 }, { (uint64_t)-1, 8 } };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_field f;
        struct ks_buf b;
        bool bad = false;

        ks_buf_init(&b);
        ks_tag_u64(&b, 300, rows[i].v);
        struct ks_cur c = ks_cur(b.data, b.len);
        assert_true(ks_body_next(&c, &f, &bad));
        assert_int_equal(f.tag, 300);
        assert_int_equal(f.n, rows[i].width);
        assert_true(ks_field_u64(&f) == rows[i].v);
        assert_false(ks_body_next(&c, &f, &bad));
        assert_false(bad);
        ks_buf_release(&b);
    }
}

static void reals_and_texts_come_back(void **state)
{
    static const uint8_t half[] = { 0, 0, 0, 0x3f }; /* 0.5f */
    struct ks_field f, narrow = { .bytes = half, .n = 4 }, nine = { .bytes = half, .n = 9 };
    struct ks_buf b;
    char text[8];
    bool bad = false;

    (void)state;
    ks_buf_init(&b);
    ks_tag_f64(&b, 1, -0.1);
    ks_tag_f64(&b, 2, (double)NAN);
    ks_tag_text(&b, 3, "longer than seven");
    ks_tag_bytes(&b, 4, NULL, 0);
    struct ks_cur c = ks_cur(b.data, b.len);
    assert_true(ks_body_next(&c, &f, &bad));
    assert_true(ks_field_f64(&f) == -0.1);
    assert_true(ks_body_next(&c, &f, &bad));
    assert_true(isnan(ks_field_f64(&f)));
    assert_true(ks_body_next(&c, &f, &bad));
    ks_field_text(&f, text, sizeof(text));
    assert_string_equal(text, "longer ");
    assert_true(ks_body_next(&c, &f, &bad));
    assert_int_equal(f.n, 0);
    assert_false(ks_body_next(&c, &f, &bad));
    assert_false(bad);
    assert_true(ks_field_f64(&narrow) == 0.5);
    assert_int_equal(ks_field_u64(&nine), 0);
    ks_buf_release(&b);
}

static void a_field_beyond_its_body_is_bad(void **state)
{
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_tag_text(&b, 3, "abcdef");
    for (size_t cut = 1; cut < b.len; cut++) {
        struct ks_cur c = ks_cur(b.data, cut);
        struct ks_field f;
        bool bad = false;

        assert_false(ks_body_next(&c, &f, &bad));
        assert_true(bad);
    }
    ks_buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_is_fixed),
        cmocka_unit_test(types_have_names),
        cmocka_unit_test(pieces_of_any_size_give_the_same_frames),
        cmocka_unit_test(a_flipped_bit_costs_one_frame_and_is_located),
        cmocka_unit_test(a_huge_length_does_not_swallow_later_frames),
        cmocka_unit_test(lost_and_foreign_bytes_are_skipped),
        cmocka_unit_test(a_torn_tail_is_left_over_and_then_damage),
        cmocka_unit_test(the_largest_body_passes),
        cmocka_unit_test(numbers_take_the_least_room_and_come_back),
        cmocka_unit_test(reals_and_texts_come_back),
        cmocka_unit_test(a_field_beyond_its_body_is_bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
