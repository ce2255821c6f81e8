/* SPDX-License-Identifier: MIT */
/* fuzz_journal.c - any bytes as two segments: they are read, and every byte is accounted for */
/* Two segments are made of the input: each step is kind, type, length and then that many bytes.
 * Kinds: a whole frame, a frame with a damaged bit, raw bytes, a frame cut short, a fence, next
 * segment. Reading and asking for the owner must succeed, and every byte must be in a frame,
 * damage, a copied segment or beyond a fence. */
#include "base/file.h"
#include "base/hash.h"
#include "journal/journal.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void put_fence(struct ks_buf *to, const uint8_t *bytes, size_t n)
{
    struct ks_segment s = { .run_id = { 1, 2 }, .incarnation = 2, .n_fences = 1 };
    struct ks_buf body;

    s.fences[0] = (struct ks_fence){ 1, n ? bytes[0] : 0 };
    ks_buf_init(&body);
    ks_segment_encode(&s, &body);
    ks_frame_put(to, KS_F_SEGMENT, body.data, body.len);
    ks_buf_release(&body);
}

static void put_damaged(struct ks_buf *to, uint8_t type, const uint8_t *bytes, size_t n, bool cut)
{
    struct ks_buf f;

    ks_buf_init(&f);
    ks_frame_put(&f, type, bytes, n);
    if (cut)
        f.len -= 1 + n % f.len;
    else
        f.data[n * 7 % f.len] ^= (uint8_t)(1u << type % 8);
    ks_buf_put(to, f.data, f.len);
    ks_buf_release(&f);
}

static void build(const uint8_t *in, size_t n, struct ks_buf segment[2])
{
    unsigned k = 0;

    while (n >= 3) {
        uint8_t kind = in[0] % 8, type = in[1];
        size_t take = in[2] < n - 3 ? in[2] : n - 3;

        if (kind <= 2)
            ks_frame_put(&segment[k], type % 18, in + 3, take);
        else if (kind <= 4)
            put_damaged(&segment[k], type, in + 3, take, kind == 4);
        else if (kind == 5)
            ks_buf_put(&segment[k], in + 3, take);
        else if (kind == 6)
            put_fence(&segment[k], in + 3, take);
        else
            k = 1;
        in += 3 + take;
        n -= 3 + take;
    }
}

struct sum {
    uint64_t in_frames, in_damage, in_copies;
    uint32_t n_copies;
};

static int add_frame(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct sum *s = ctx;
    uint8_t last = 0;

    (void)err;
    for (size_t i = 0; i < f->n; i++)
        last ^= f->body[i]; /* every byte can be read */
    s->in_frames += KS_FRAME_HEADER + f->n + (last & 0);
    return 0;
}

static void add_damage(void *ctx, const struct ks_journal_damage *d)
{
    struct sum *s = ctx;

    if (d->copy_of) {
        s->n_copies++;
        s->in_copies += d->n_bytes;
    } else {
        s->in_damage += d->n_bytes;
    }
}

static void check(const char *dir, uint64_t n_written)
{
    struct sum sum = { .n_copies = 0 };
    struct ks_journal_totals t;
    struct ks_journal_owner o;
    struct ks_err err;

    demand(ks_journal_read(dir, add_frame, add_damage, &sum, &t, &err) == 0);
    demand(t.n_segments + sum.n_copies == 2 && sum.n_copies <= 1);
    demand(t.n_bytes + t.n_late_bytes + sum.in_copies == n_written);
    demand(sum.in_frames + sum.in_damage <= t.n_bytes);
    demand(t.n_unknown_types || sum.in_frames + sum.in_damage == t.n_bytes);
    demand(ks_journal_owner(dir, &o, &err) == 0);
    demand(o.segment.incarnation > 0);
}

static void write_file(const char *dir, int number, const struct ks_buf *b)
{
    char path[300];
    FILE *f;

    snprintf(path, sizeof(path), "%s/000%d.ksj", dir, number);
    f = fopen(path, "wb");
    demand(f != NULL);
    if (b->len)
        demand(fwrite(b->data, b->len, 1, f) == 1);
    demand(fclose(f) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_buf segment[2];
    char dir[256];
    struct ks_err err;

    ks_buf_init(&segment[0]);
    ks_buf_init(&segment[1]);
    build(bytes, n, segment);
    snprintf(dir, sizeof(dir), "%s/fuzz.XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    demand(mkdtemp(dir) != NULL);
    write_file(dir, 1, &segment[0]);
    write_file(dir, 2, &segment[1]);
    check(dir, segment[0].len + segment[1].len);
    demand(ks_remove_tree(dir, &err) == 0);
    ks_buf_release(&segment[0]);
    ks_buf_release(&segment[1]);
    return 0;
}
