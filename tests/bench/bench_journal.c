/* SPDX-License-Identifier: MIT */
/* bench_journal.c DIR [RECORDS] - records of 30 samples through the journal with group commit,
 * beside plain write + fdatasync of the same bytes in the same pieces, and the readers. One line a
 * row; median of 5. Run it with DIR on the disk that matters. */
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "journal/journal.h"
#include "record/stats.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMIT_NS 10000000u /* group commit: DESIGN section 8 says 5 to 20 ms */
#define N_RUNS    5u

static _Noreturn void stop(const struct ks_err *err)
{
    fprintf(stderr, "bench_journal: %s\n", err->text);
    exit(3);
}

/* What a convolution's record holds: 30 samples, times, ids, provenance. */
static void make_record(uint64_t i, struct ks_record *r)
{
    uint64_t rng = i + 1;

    ks_record_init(r);
    r->cell = (struct ks_cell){ ks_mix64(i / 300), ks_mix64(i % 300), ks_mix64(7) };
    r->outcome = KS_O_OK;
    r->lease_id = i / 64;
    r->block_id = i / 300;
    r->position = (uint32_t)(i % 300);
    r->mpi_rank = 3;
    r->device_id = ks_mix64(1);
    r->worker = (struct ks_id128){ ks_mix64(i / 20), ks_mix64(i / 20 + 1) };
    r->seq = i % 20 + 1;
    r->pid = 12345;
    r->cpu = 1;
    r->started_ns = 1767225600000000000 + i * 50000;
    r->build_id = (struct ks_id128){ ks_mix64(2), ks_mix64(3) };
    r->code_id = (struct ks_id128){ ks_mix64(4 + i % 300), ks_mix64(5) };
    r->calls_per_sample = 1;
    r->n_samples = 30;
    for (uint32_t k = 0; k < r->n_samples; k++)
        r->sample_ns[k] = 50000 + (double)(ks_rng_next(&rng) % 4096) / 16;
    r->verified_sample_ns = r->sample_ns[29];
    r->clock_resolution_ns = 25;
    r->stop_reason = KS_STOP_TARGET;
    r->wall_ns = 25000000;
    r->warmup_ns = 20000000;
    r->timing_ns = 1500000;
    r->tolerance_check_ns = 800000;
    r->exact_check = r->tolerance_check = 1;
    r->max_error = 0.03125;
    r->n_elements = 401408;
    r->n_zero = 3;
    r->cpu_ns = 1499000;
    r->span_ns = 1500000;
    r->canary_ratio = 1.002;
}

/* The sizes of the pieces that were synced, so that the plain writer makes the same. */
struct pieces {
    uint64_t *n_bytes;
    size_t n, cap;
};

static void add_piece(struct pieces *p, uint64_t n_bytes)
{
    if (p->n == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 64;
        p->n_bytes = realloc(p->n_bytes, p->cap * sizeof(*p->n_bytes));
        if (!p->n_bytes)
            exit(3);
    }
    p->n_bytes[p->n++] = n_bytes;
}

static void commit(struct ks_journal *j, struct pieces *p)
{
    uint64_t n_bytes = ks_journal_pending(j), durable;
    struct ks_err err;

    if (ks_journal_sync(j, &durable, &err) < 0)
        stop(&err);
    add_piece(p, n_bytes);
}

/* Seconds for n records. encoded: NULL = encode each here; else frames as they come from a pipe. */
static double write_journal(const char *dir, size_t n, const struct ks_record *r,
                            const struct ks_buf *encoded, struct pieces *p)
{
    struct ks_journal *j = NULL;
    struct ks_buf body;
    struct ks_err err;
    uint64_t t0, last;
    int rc = 0;

    ks_buf_init(&body);
    if (ks_journal_create(&(struct ks_journal_open){ .dir = dir }, &j, &err) < 0)
        stop(&err);
    p->n = 0;
    t0 = last = ks_now_ns();
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (encoded) {
            rc = ks_journal_append_raw(j, encoded[i % 64].data, encoded[i % 64].len, NULL, &err);
        } else {
            ks_buf_clear(&body);
            ks_record_encode(&r[i % 64], &body);
            rc = ks_journal_append(j, KS_F_DONE, body.data, body.len, NULL, &err);
        }
        if (i % 16 == 0 && ks_now_ns() - last >= COMMIT_NS) {
            commit(j, p);
            last = ks_now_ns();
        }
    }
    if (rc < 0)
        stop(&err);
    commit(j, p);
    last = ks_now_ns() - t0;
    if (ks_journal_close(j, &err) < 0)
        stop(&err);
    ks_buf_release(&body);
    return (double)last / 1e9;
}

/* The same bytes, the same pieces, nothing else. */
static double write_plain(const char *path, const struct ks_buf *bytes, const struct pieces *p)
{
    uint64_t t0, at = 0;
    struct ks_err err;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    if (fd < 0)
        exit(3);
    t0 = ks_now_ns();
    for (size_t i = 0; i < p->n; i++) {
        if (ks_write_all(fd, bytes->data + at, (size_t)p->n_bytes[i], &err) < 0)
            stop(&err);
        if (fdatasync(fd) < 0)
            exit(3);
        at += p->n_bytes[i];
    }
    t0 = ks_now_ns() - t0;
    close(fd);
    return (double)t0 / 1e9;
}

static int count_frame(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    uint64_t *n = ctx;

    (void)err;
    *n += f->type == KS_F_DONE;
    return 0;
}

static int decode_frame(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    static struct ks_record r;
    uint64_t *n = ctx;

    if (f->type != KS_F_DONE)
        return 0;
    *n += 1;
    return ks_record_decode(f->body, f->n, &r, NULL, err);
}

static double read_journal(const char *dir, ks_journal_frame_fn fn, size_t want)
{
    uint64_t n = 0, t0 = ks_now_ns();
    struct ks_err err;

    if (ks_journal_read(dir, fn, NULL, &n, NULL, &err) < 0)
        stop(&err);
    if (n != want) {
        fprintf(stderr, "bench_journal: %llu records read, %zu written\n", (unsigned long long)n,
                want);
        exit(1);
    }
    return (double)(ks_now_ns() - t0) / 1e9;
}

/* Frames of 32 bytes of body through the stream reader. */
static double read_small_frames(size_t n)
{
    static const uint8_t body[32] = { 1 };
    struct ks_frame_reader r;
    struct ks_frame f;
    struct ks_err err;
    struct ks_buf b;
    size_t got = 0;
    uint64_t t0;

    ks_buf_init(&b);
    for (size_t i = 0; i < n; i++)
        ks_frame_put(&b, KS_F_EVENT, body, sizeof(body));
    ks_frame_reader_init(&r);
    t0 = ks_now_ns();
    for (size_t at = 0; at < b.len; at += 4096) {
        if (ks_frame_feed(&r, b.data + at, b.len - at < 4096 ? b.len - at : 4096, &err) < 0)
            stop(&err);
        while (ks_frame_next(&r, &f))
            got++;
    }
    t0 = ks_now_ns() - t0;
    if (got != n)
        exit(1);
    ks_frame_reader_release(&r);
    ks_buf_release(&b);
    return (double)t0 / 1e9;
}

struct times {
    double encode[N_RUNS], raw[N_RUNS], plain[N_RUNS], scan[N_RUNS], decode[N_RUNS], small[N_RUNS];
};

static void one_run(const char *dir, size_t n, const struct ks_record *r,
                    const struct ks_buf *encoded, size_t i, struct times *t)
{
    char journal[4096], plain[4096], segment[4200];
    struct pieces p = { .n = 0 };
    struct ks_buf bytes;
    struct ks_err err;

    snprintf(journal, sizeof(journal), "%s/bench_journal", dir);
    snprintf(plain, sizeof(plain), "%s/bench_plain", dir);
    snprintf(segment, sizeof(segment), "%s/0001.ksj", journal);
    ks_buf_init(&bytes);
    t->raw[i] = write_journal(journal, n, r, encoded, &p);
    ks_remove_tree(journal, &err);
    t->encode[i] = write_journal(journal, n, r, NULL, &p);
    t->scan[i] = read_journal(journal, count_frame, n);
    t->decode[i] = read_journal(journal, decode_frame, n);
    if (ks_file_read(segment, &bytes, &err) < 0)
        stop(&err);
    t->plain[i] = write_plain(plain, &bytes, &p);
    t->small[i] = read_small_frames(n);
    printf("# run %zu: %zu syncs of %.0f kB\n", i, p.n, (double)bytes.len / 1e3 / (double)p.n);
    ks_remove_tree(journal, &err);
    unlink(plain);
    ks_buf_release(&bytes);
    free(p.n_bytes);
}

static void row(const char *name, const double *seconds, size_t n, double plain)
{
    double scratch[N_RUNS];
    struct ks_stats s;

    ks_stats(seconds, N_RUNS, 0, 1, scratch, &s);
    printf("%-42s %12.0f /s  (min %.0f, max %.0f)", name, (double)n / s.median, (double)n / s.max,
           (double)n / s.min);
    if (plain > 0)
        printf("  %.2f of plain write", plain / s.median);
    printf("\n");
}

int main(int argc, char **argv)
{
    static struct ks_record r[64];
    static struct ks_buf encoded[64];
    static struct times t;
    double scratch[N_RUNS];
    struct ks_stats plain;
    size_t n = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 200000;
    struct ks_buf body;

    if (argc < 2 || n == 0) {
        fprintf(stderr, "usage: bench_journal DIR [RECORDS]\n");
        return 2;
    }
    ks_buf_init(&body);
    for (size_t i = 0; i < 64; i++) {
        make_record(i, &r[i]);
        ks_buf_clear(&body);
        ks_record_encode(&r[i], &body);
        ks_frame_put(&encoded[i], KS_F_DONE, body.data, body.len);
    }
    printf("# %zu records of 30 samples, %zu bytes each; group commit every %u ms\n", n,
           encoded[1].len, COMMIT_NS / 1000000);
    for (size_t i = 0; i < N_RUNS; i++)
        one_run(argv[1], n, r, encoded, i, &t);
    ks_stats(t.plain, N_RUNS, 0, 1, scratch, &plain);
    row("plain write + fdatasync of the same bytes", t.plain, n, 0);
    row("journal: encode, append, sync", t.encode, n, plain.median);
    row("journal: append raw frames, sync", t.raw, n, plain.median);
    row("read back, CRC checked", t.scan, n, 0);
    row("read back and decode", t.decode, n, 0);
    row("stream of frames with 32 bytes", t.small, n, 0);
    return 0;
}
