/* SPDX-License-Identifier: MIT */
/* test_share.c - a pack from one rank to another: whole, within its window, whatever arrives */
#include "mpi/share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

enum { SOURCE = 5, ME = 2, MOST = 64 };

struct bench { /* one sender, one receiver, and what is under way from one to the other */
    struct ks_share_in in;
    struct ks_share_out out;
    struct ks_buf queue[MOST]; /* bodies of pieces */
    uint32_t n_queue, n_gets;
    uint64_t size;
    uint8_t salt;
};

static const struct ks_id128 what = { 1, 2 };

static int get(void *ctx, struct ks_id128 of, struct ks_buf *pack_out, struct ks_err *err)
{
    struct bench *b = ctx;
    b->n_gets++;
    if (of.hi != what.hi)
        return ks_fail(err, KS_ENOENT, "none");
    uint64_t some[512]; /* a byte at a time takes seconds */
    for (uint64_t at = 0; at < b->size; at += sizeof(some)) {
        const uint64_t rest = b->size - at;
        for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
            some[i] = ks_mix64(at + i + of.lo) + b->salt;
        ks_buf_put(pack_out, some, rest < sizeof(some) ? rest : sizeof(some));
    }
    return 0;
}

static int enqueue(void *ctx, const struct ks_buf *body, struct ks_err *err)
{
    struct bench *b = ctx;
    (void)err;
    assert_true(b->n_queue < MOST);
    ks_buf_init(&b->queue[b->n_queue]);
    ks_buf_put(&b->queue[b->n_queue++], body->data, body->len);
    return 0;
}

/* As it comes out of rank 0: through bytes, with the peers exchanged. */
static void answer(struct bench *b, const struct ks_share_ask *a)
{
    const struct ks_share_source s = { .get = get, .send = enqueue, .ctx = b };
    struct ks_share_ask got, there = *a;
    struct ks_buf body;
    assert_int_equal(a->peer, SOURCE);
    there.peer = ME;
    ks_buf_init(&body);
    ks_share_ask_put(&there, &body);
    assert_int_equal(ks_share_ask_get(body.data, body.len, &got, NULL), 0);
    ks_buf_release(&body);
    assert_int_equal(ks_share_answer(&b->out, &s, &got, NULL), 0);
}

static void ask_all(struct bench *b)
{
    struct ks_share_ask a;
    while (ks_share_next(&b->in, &a))
        answer(b, &a);
}

static struct ks_share_piece read_piece(struct bench *b, uint32_t i)
{
    struct ks_share_piece p;
    assert_int_equal(ks_share_piece_get(b->queue[i].data, b->queue[i].len, &p, NULL), 0);
    assert_int_equal(p.peer, ME);
    p.peer = SOURCE;
    return p;
}

static void drop_first(struct bench *b)
{
    ks_buf_release(&b->queue[0]);
    memmove(b->queue, b->queue + 1, (MOST - 1) * sizeof(b->queue[0]));
    b->n_queue--;
}

static int take_first(struct bench *b, struct ks_err *err)
{
    const struct ks_share_piece p = read_piece(b, 0);
    const int rc = ks_share_take(&b->in, &p, 1000, err);
    drop_first(b);
    return rc;
}

static uint64_t under_way(const struct bench *b)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < b->n_queue; i++)
        n += b->queue[i].len;
    return n;
}

static int run(struct bench *b, struct ks_err *err)
{
    int rc = 0;
    ask_all(b);
    while (rc == 0 && b->n_queue) {
        assert_true(under_way(b) <= KS_SHARE_WINDOW + MOST * 64);
        rc = take_first(b, err);
        ask_all(b);
    }
    return rc;
}

static void end(struct bench *b)
{
    while (b->n_queue)
        drop_first(b);
    ks_share_in_release(&b->in);
    ks_share_out_release(&b->out);
}

static void test_sizes(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 1,
                                      KS_SHARE_PIECE - 1,
                                      KS_SHARE_PIECE,
                                      KS_SHARE_PIECE + 1,
                                      KS_SHARE_WINDOW - 1,
                                      KS_SHARE_WINDOW,
                                      KS_SHARE_WINDOW + 1,
                                      KS_SHARE_WINDOW + KS_SHARE_WINDOW / 2,
                                      5 * KS_SHARE_WINDOW + 12345 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct bench b = { .size = sizes[i] };
        struct ks_buf pack;
        struct ks_err err;
        ks_share_open(&b.in, SOURCE, what, 0);
        if (run(&b, &err) != 1)
            fail_msg("%llu bytes", (unsigned long long)sizes[i]);
        assert_false(b.in.is_open);
        ks_buf_init(&pack);
        assert_int_equal(get(&b, what, &pack, NULL), 0);
        assert_int_equal(b.in.pack.len, sizes[i]);
        assert_memory_equal(b.in.pack.data, pack.data, pack.len);
        ks_buf_release(&pack);
        assert_int_equal(b.n_gets, 2); /* read once, however many pieces; the other was ours */
        end(&b);
    }
}

/* Nobody asks for more than a window beyond what has come. */
static void test_window(void **state)
{
    (void)state;
    struct bench b = { .size = 4 * KS_SHARE_WINDOW };
    struct ks_err err;
    struct ks_share_ask a;
    ks_share_open(&b.in, SOURCE, what, 0);
    ask_all(&b);
    assert_int_equal(b.n_queue, KS_SHARE_WINDOW / KS_SHARE_PIECE);
    assert_false(ks_share_next(&b.in, &a));
    for (uint32_t i = 0; i < KS_SHARE_WINDOW / KS_SHARE_PIECE / 2; i++) {
        assert_false(ks_share_next(&b.in, &a));
        assert_int_equal(take_first(&b, &err), 0);
    }
    assert_true(ks_share_next(&b.in, &a)); /* half of it is used up */
    assert_int_equal(a.offset, KS_SHARE_WINDOW);
    assert_int_equal(a.n, KS_SHARE_WINDOW / 2);
    assert_false(ks_share_next(&b.in, &a));
    end(&b);
}

static void test_there_is_none(void **state)
{
    (void)state;
    struct bench b = { .size = 100 };
    struct ks_err err;
    ks_share_open(&b.in, SOURCE, (struct ks_id128){ 77, 2 }, 0);
    assert_int_equal(run(&b, &err), KS_ENOENT);
    assert_non_null(strstr(err.text, "rank 5"));
    assert_false(b.in.is_open);
    b.size = 0; /* an empty one is none */
    ks_share_open(&b.in, SOURCE, what, 0);
    assert_int_equal(run(&b, &err), KS_ENOENT);
    b.size = 100;
    ks_share_open(&b.in, SOURCE, what, 0);
    assert_int_equal(run(&b, &err), 1);
    end(&b);
}

/* Pieces of the transfer before, or of the rank that was asked before, are not of this one. */
static void test_late_pieces(void **state)
{
    (void)state;
    struct bench b = { .size = 2 * KS_SHARE_WINDOW };
    struct ks_err err;
    ks_share_open(&b.in, SOURCE, what, 0);
    ask_all(&b);
    ks_share_open(&b.in, SOURCE, what, 0);
    const uint32_t n_late = b.n_queue;
    ask_all(&b);
    for (uint32_t i = 0; i < n_late; i++)
        assert_int_equal(take_first(&b, &err), 0);
    assert_int_equal(b.in.pack.len, 0);
    struct ks_share_piece p = read_piece(&b, 0);
    p.peer = SOURCE + 1;
    assert_int_equal(ks_share_take(&b.in, &p, 0, &err), 0);
    assert_int_equal(b.in.pack.len, 0);
    assert_int_equal(run(&b, &err), 1);
    p.serial = b.in.serial;
    assert_int_equal(ks_share_take(&b.in, &p, 0, &err), 0); /* closed */
    end(&b);
}

/* What a sender must not do, each in a fresh transfer after two pieces. */
static void test_wrong_pieces(void **state)
{
    (void)state;
    for (int how = 0; how < 8; how++) {
        static const int expected[] = { 0, -1, -1, -1, -1, -1, -1, KS_EFORMAT };
        struct bench b = { .size = KS_SHARE_WINDOW };
        struct ks_err err = { 0 };
        ks_share_open(&b.in, SOURCE, what, 0);
        ask_all(&b);
        assert_int_equal(take_first(&b, &err), 0);
        assert_int_equal(take_first(&b, &err), 0);
        struct ks_share_piece p = read_piece(&b, 0);
        uint8_t *bytes = b.queue[0].data + (b.queue[0].len - p.n);
        p.offset += how == 1;                      /* a gap */
        p.offset -= how == 2 ? KS_SHARE_PIECE : 0; /* again */
        p.total += how == 3;                       /* another pack */
        p.digest[31] ^= how == 4;
        p.total = how == 5 ? 0 : p.total; /* lost meanwhile */
        if (how == 6)
            b.in.asked = p.offset + 5; /* more than was asked for */
        bytes[7] ^= how == 7;          /* noticed at the end */
        int rc = ks_share_take(&b.in, &p, 0, &err);
        drop_first(&b);
        if (how == 0 || how == 7) {
            assert_int_equal(rc, 0);
            assert_int_equal(run(&b, &err), how ? expected[how] : 1);
        } else {
            assert_int_equal(rc, how == 5 ? KS_ENOENT : KS_EPROTO);
            assert_false(b.in.is_open);
        }
        end(&b);
    }
}

static void test_silence(void **state)
{
    (void)state;
    struct bench b = { .size = 2 * KS_SHARE_PIECE };
    struct ks_err err;
    assert_false(ks_share_is_silent(&b.in, KS_SHARE_SILENT_NS * 2));
    ks_share_open(&b.in, SOURCE, what, 500);
    assert_false(ks_share_is_silent(&b.in, 500 + KS_SHARE_SILENT_NS));
    assert_true(ks_share_is_silent(&b.in, 501 + KS_SHARE_SILENT_NS));
    ask_all(&b);
    assert_int_equal(take_first(&b, &err), 0); /* at 1000 */
    assert_false(ks_share_is_silent(&b.in, 1000 + KS_SHARE_SILENT_NS));
    assert_true(ks_share_is_silent(&b.in, 1001 + KS_SHARE_SILENT_NS));
    end(&b);
}

/* The packs asked for last stay on the shelves. */
static void test_shelves(void **state)
{
    (void)state;
    struct bench b = { .size = 10 };
    struct ks_err err;
    for (uint32_t round = 0; round < 3; round++)
        for (uint64_t k = 0; k < KS_SHARE_SHELVES; k++) {
            ks_share_open(&b.in, SOURCE, (struct ks_id128){ what.hi, k }, 0);
            assert_int_equal(run(&b, &err), 1);
        }
    assert_int_equal(b.n_gets, KS_SHARE_SHELVES);
    ks_share_open(&b.in, SOURCE, (struct ks_id128){ what.hi, 100 }, 0);
    assert_int_equal(run(&b, &err), 1);
    ks_share_open(&b.in, SOURCE, (struct ks_id128){ what.hi, 1 }, 0); /* not the oldest */
    assert_int_equal(run(&b, &err), 1);
    assert_int_equal(b.n_gets, KS_SHARE_SHELVES + 1);
    ks_share_open(&b.in, SOURCE, (struct ks_id128){ what.hi, 0 }, 0);
    assert_int_equal(run(&b, &err), 1);
    assert_int_equal(b.n_gets, KS_SHARE_SHELVES + 2);
    end(&b);
}

/* A transfer goes on where the pack is asked for again after it has left its shelf. */
static void test_pack_changes_under_way(void **state)
{
    (void)state;
    struct bench b = { .size = 2 * KS_SHARE_WINDOW };
    struct ks_err err;
    ks_share_open(&b.in, SOURCE, what, 0);
    ask_all(&b);
    b.salt = 1;
    ks_share_out_release(&b.out);
    assert_int_equal(run(&b, &err), KS_EPROTO);
    end(&b);
}

/* ---- bodies ---- */

static void test_asks_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t offset;
        uint32_t n;
        bool is_good;
    } rows[] = { { 0, 1, true },
                 { KS_SHARE_MAX - 1, KS_SHARE_WINDOW, true },
                 { 0, 0, false },
                 { 0, KS_SHARE_WINDOW + 1, false },
                 { KS_SHARE_MAX, 1, false } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct ks_share_ask a = { 1, 2, what, rows[i].offset, rows[i].n }, got = { .serial = 99 };
        struct ks_buf b;
        ks_buf_init(&b);
        ks_share_ask_put(&a, &b);
        const int rc = ks_share_ask_get(b.data, b.len, &got, NULL);
        assert_int_equal(rc, rows[i].is_good ? 0 : KS_EPROTO);
        assert_int_equal(got.serial, rows[i].is_good ? 2 : 99);
        for (size_t n = 0; n < b.len; n++)
            assert_int_equal(ks_share_ask_get(b.data, n, &got, NULL), KS_EPROTO);
        ks_buf_u8(&b, 0);
        assert_int_equal(ks_share_ask_get(b.data, b.len, &got, NULL), KS_EPROTO);
        ks_buf_release(&b);
    }
}

static void test_pieces_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t offset, total;
        uint32_t n;
        bool is_good;
    } rows[] = { { 0, 1, 1, true },
                 { 0, 0, 0, true }, /* there is none */
                 { 0, 1, 0, false },
                 { 1, 0, 0, false },
                 { 0, 0, 1, false },
                 { 1, 1, 1, false },
                 { UINT64_MAX, 2, 2, false },
                 { 0, KS_SHARE_MAX + 1, 1, false },
                 { KS_SHARE_MAX - 1, KS_SHARE_MAX, 1, true },
                 { 0, 2 * KS_SHARE_PIECE, KS_SHARE_PIECE, true },
                 { 0, 2 * KS_SHARE_PIECE, KS_SHARE_PIECE + 1, false } };
    static uint8_t bytes[KS_SHARE_PIECE + 1];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct ks_share_piece p = { .peer = 1,
                                    .serial = 2,
                                    .offset = rows[i].offset,
                                    .total = rows[i].total,
                                    .bytes = bytes,
                                    .n = rows[i].n };
        struct ks_share_piece got = { .serial = 99 };
        struct ks_buf b;
        ks_buf_init(&b);
        ks_share_piece_put(&p, &b);
        if (ks_share_piece_get(b.data, b.len, &got, NULL) != (rows[i].is_good ? 0 : KS_EPROTO))
            fail_msg("row %zu", i);
        assert_int_equal(got.serial, rows[i].is_good ? 2 : 99);
        for (size_t n = 0; n < 56; n++)
            assert_int_equal(ks_share_piece_get(b.data, n, &got, NULL), KS_EPROTO);
        ks_buf_release(&b);
    }
}

/* Whatever bytes come, in whatever order: no crash, and no pack that was not sent. */
static void test_noise(void **state)
{
    (void)state;
    struct bench b = { .size = 3 * KS_SHARE_PIECE };
    uint64_t rng = 1, n_whole = 0, n_failed = 0;
    for (uint32_t round = 0; round < 3000; round++) {
        int rc = 0;
        while (b.n_queue)
            drop_first(&b);
        ks_share_open(&b.in, SOURCE, what, 0);
        ask_all(&b);
        while (rc == 0 && b.n_queue) {
            const uint32_t i = (uint32_t)ks_rng_below(&rng, b.n_queue);
            struct ks_share_piece p;
            struct ks_buf *q = &b.queue[ks_rng_below(&rng, 4) ? 0 : i];
            for (uint64_t k = ks_rng_below(&rng, 8) ? 0 : 2; k; k--)
                q->data[ks_rng_below(&rng, q->len < 300 ? q->len : 300)] ^=
                    (uint8_t)ks_rng_next(&rng);
            const size_t cut = ks_rng_below(&rng, 16) ? 0 : ks_rng_below(&rng, q->len);
            if (ks_share_piece_get(q->data, q->len - cut, &p, NULL) == 0) {
                p.peer = p.peer == ME ? SOURCE : p.peer;
                rc = ks_share_take(&b.in, &p, 0, NULL);
            }
            if (q == &b.queue[0])
                drop_first(&b);
            ask_all(&b);
            if (b.n_queue == 0 && rc == 0)
                rc = KS_ETIMEOUT; /* what was lost never comes: silence ends it */
        }
        n_whole += rc == 1;
        n_failed += rc < 0;
        if (rc == 1) {
            struct ks_buf pack;
            ks_buf_init(&pack);
            assert_int_equal(get(&b, what, &pack, NULL), 0);
            assert_int_equal(b.in.pack.len, pack.len);
            assert_memory_equal(b.in.pack.data, pack.data, pack.len);
            ks_buf_release(&pack);
        }
    }
    assert_true(n_whole > 300 && n_failed > 300);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_there_is_none),
        cmocka_unit_test(test_late_pieces),
        cmocka_unit_test(test_wrong_pieces),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_shelves),
        cmocka_unit_test(test_pack_changes_under_way),
        cmocka_unit_test(test_asks_that_are_refused),
        cmocka_unit_test(test_pieces_that_are_refused),
        cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests_name("share", tests, NULL, NULL);
}
