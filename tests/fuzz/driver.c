/* SPDX-License-Identifier: MIT */
/* driver.c - a small mutation driver for the parsers' fuzz targets, for compilers without
 * libFuzzer.
 *
 *     fuzz_NAME [-n ITERATIONS] [-t SECONDS] [-s SEED] [-m MAX_BYTES] [-o DIR] [FILE|DIR]...
 *
 * First every corpus file is run as it is, then ITERATIONS mutations of them (of the empty input,
 * where there is none), or fewer where SECONDS (0.4, say) of CPU time are over before, which a busy
 * machine does not make fewer. The same seed and corpus give the same inputs. With -o every input
 * is written to DIR/input before it runs, so that the one that killed the program is found there;
 * `fuzz_NAME DIR/input -n 0` runs it again.
 *
 * A new target is one file, tests/fuzz/fuzz_NAME.c, with LLVMFuzzerTestOneInput(), and one line
 * ks_fuzz(NAME DEPS ks_NAME) in the module's CMakeLists.txt. The target calls abort() when a
 * property does not hold; memory errors are the sanitizers' business. With clang the same file
 * links with -fsanitize=fuzzer and without this driver. By hand:
 *
 *     gcc -g -fsanitize=address,undefined -Isrc tests/fuzz/fuzz_json.c tests/fuzz/driver.c \
 *         src/json/(all).c src/base/(all).c -lm
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct corpus {
    struct ks_buf *at; /* owned */
    size_t n;
};

struct plan {
    uint64_t n_iterations, seed;
    uint64_t limit_ns; /* 0: none */
    size_t max_bytes;
    const char *out_dir; /* NULL: inputs are not kept */
};

static _Noreturn void stop(const char *what)
{
    fprintf(stderr, "fuzz: %s\n", what);
    exit(2);
}

static void add_file(struct corpus *c, const char *path)
{
    struct ks_err err;
    struct ks_buf *more = realloc(c->at, (c->n + 1) * sizeof(*more));

    if (!more)
        stop("out of memory");
    c->at = more;
    ks_buf_init(&c->at[c->n]);
    if (ks_file_read(path, &c->at[c->n], &err) < 0)
        stop(err.text);
    c->n++;
}

static int is_visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* A directory in the order of its names: the order is part of what a seed reproduces. */
static void add_path(struct corpus *c, const char *path)
{
    struct dirent **names = NULL;
    struct ks_err err;
    int n;

    if (!ks_path_is_dir(path)) {
        add_file(c, path);
        return;
    }
    n = scandir(path, &names, is_visible, alphasort);
    for (int i = 0; i < n; i++) {
        char file[4096];

        if (ks_path_join(file, sizeof(file), path, names[i]->d_name, &err) < 0)
            stop(err.text);
        if (!ks_path_is_dir(file))
            add_file(c, file);
        free(names[i]);
    }
    free(names);
}

static void insert(struct ks_buf *b, size_t at, const void *bytes, size_t n)
{
    struct ks_buf tail;

    ks_buf_init(&tail);
    ks_buf_put(&tail, b->data + at, b->len - at);
    b->len = at;
    ks_buf_put(b, bytes, n);
    ks_buf_put(b, tail.data, tail.len);
    ks_buf_release(&tail);
}

static void cut(struct ks_buf *b, size_t at, size_t n)
{
    memmove(b->data + at, b->data + at + n, b->len - at - n);
    b->len -= n;
}

/* Numbers on which parsers trip, little-endian. */
static uint64_t odd_number(uint64_t *rng)
{
    static const uint64_t odd[] = { 0,         1,          0x7f,       0x80,       0xff,
                                    0x7fff,    0xffff,     0x7fffffff, 0x80000000, 0xffffffff,
                                    INT64_MAX, UINT64_MAX, 1ull << 63, 1ull << 32, 4096 };
    return odd[ks_rng_below(rng, sizeof(odd) / sizeof(odd[0]))];
}

/* A part of another input at a random place: how structures of several kinds meet. */
static void splice(struct ks_buf *b, const struct corpus *c, size_t at, uint64_t *rng)
{
    const struct ks_buf *from;
    size_t start, n;

    if (!c->n)
        return;
    from = &c->at[ks_rng_below(rng, c->n)];
    if (!from->len)
        return;
    start = ks_rng_below(rng, from->len);
    n = 1 + ks_rng_below(rng, from->len - start);
    insert(b, at, from->data + start, n);
}

static void mutate_once(struct ks_buf *b, const struct corpus *c, uint64_t *rng)
{
    size_t at = b->len ? ks_rng_below(rng, b->len) : 0;
    size_t left = b->len - at;
    uint64_t number = odd_number(rng);
    uint8_t byte = (uint8_t)ks_rng_next(rng);
    size_t width = (size_t)1 << ks_rng_below(rng, 4);

    switch (left ? ks_rng_below(rng, 8) : 7) {
    case 0:
        b->data[at] ^= (uint8_t)(1u << ks_rng_below(rng, 8));
        break;
    case 1:
        b->data[at] = byte;
        break;
    case 2:
        memcpy(b->data + at, &number, left < width ? left : width);
        break;
    case 3:
        cut(b, at, 1 + ks_rng_below(rng, left < 16 ? left : 16));
        break;
    case 4:
        cut(b, at, left);
        break;
    case 5:
        splice(b, c, at, rng);
        break;
    case 6:
        insert(b, at, &b->data[ks_rng_below(rng, b->len)], 1);
        break;
    default:
        insert(b, at, &byte, 1);
        break;
    }
}

static void run_one(const struct plan *p, const struct ks_buf *b)
{
    /* A block of exactly this size, so that a read behind the end is seen. */
    uint8_t *exact = malloc(b->len ? b->len : 1);
    struct ks_err err;
    char path[4096];

    if (!exact)
        stop("out of memory");
    if (b->len)
        memcpy(exact, b->data, b->len);
    if (p->out_dir && (ks_path_join(path, sizeof(path), p->out_dir, "input", &err) < 0 ||
                       ks_file_replace(path, exact, b->len, &err) < 0))
        stop(err.text);
    LLVMFuzzerTestOneInput(exact, b->len);
    free(exact);
}

/* Returns how many were run. */
static uint64_t run_mutations(const struct plan *p, const struct corpus *c)
{
    uint64_t rng = p->seed, end_ns = ks_thread_cpu_ns() + p->limit_ns, i;
    struct ks_buf b;

    ks_buf_init(&b);
    for (i = 0; i < p->n_iterations && (!p->limit_ns || ks_thread_cpu_ns() < end_ns); i++) {
        uint64_t n_steps = 1 + ks_rng_below(&rng, 6);

        ks_buf_clear(&b);
        ks_buf_put(&b, "", 0);
        if (c->n) {
            const struct ks_buf *from = &c->at[ks_rng_below(&rng, c->n)];
            ks_buf_put(&b, from->data, from->len);
        }
        while (n_steps--)
            mutate_once(&b, c, &rng);
        if (b.len > p->max_bytes)
            b.len = p->max_bytes;
        if (!ks_buf_ok(&b))
            stop("out of memory");
        run_one(p, &b);
    }
    ks_buf_release(&b);
    return i;
}

static uint64_t seconds_after(int argc, char **argv, int *i) /* in ns */
{
    char *end;
    double v;

    if (++*i >= argc)
        stop("an option lacks its value");
    v = strtod(argv[*i], &end);
    if (*end || end == argv[*i] || !(v >= 0 && v < 1e9))
        stop("an option's value is no number of seconds");
    return (uint64_t)(v * 1e9);
}

static uint64_t number_after(int argc, char **argv, int *i)
{
    char *end;
    uint64_t v;

    if (++*i >= argc)
        stop("an option lacks its value");
    v = strtoull(argv[*i], &end, 0);
    if (*end || end == argv[*i])
        stop("an option's value is no number");
    return v;
}

int main(int argc, char **argv)
{
    struct plan p = { .n_iterations = 10000, .seed = 1, .max_bytes = 1 << 16 };
    struct corpus c = { 0 };
    uint64_t n_run;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-n"))
            p.n_iterations = number_after(argc, argv, &i);
        else if (!strcmp(argv[i], "-t"))
            p.limit_ns = seconds_after(argc, argv, &i);
        else if (!strcmp(argv[i], "-s"))
            p.seed = number_after(argc, argv, &i);
        else if (!strcmp(argv[i], "-m"))
            p.max_bytes = number_after(argc, argv, &i);
        else if (!strcmp(argv[i], "-o") && i + 1 < argc)
            p.out_dir = argv[++i];
        else
            add_path(&c, argv[i]);
    }
    for (size_t i = 0; i < c.n; i++)
        run_one(&p, &c.at[i]);
    n_run = run_mutations(&p, &c);
    printf("ok: %zu files, %llu mutations, seed %llu\n", c.n, (unsigned long long)n_run,
           (unsigned long long)p.seed);
    for (size_t i = 0; i < c.n; i++)
        ks_buf_release(&c.at[i]);
    free(c.at);
    return 0;
}
