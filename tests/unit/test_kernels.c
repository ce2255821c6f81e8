/* SPDX-License-Identifier: MIT */
/* Every instance of the host family, built as in a job, against a naive reference on small ragged
 * problems. Inputs lie between NaNs, output and workspace between marks; data are small integers,
 * so the result must be exact. */
#include "build_util.h"

#include <dlfcn.h>
#include <math.h>
#include <sys/stat.h>

#define GUARD 64 /* floats before and after a buffer */
#define MARK  -12345.75f

#ifdef KSWEEP_SANITIZED
/* Guards of inputs are poisoned too: a read that changes nothing is seen. */
void __asan_poison_memory_region(void const volatile *at, size_t n);
void __asan_unpoison_memory_region(void const volatile *at, size_t n);
#define POISON(at, n)   __asan_poison_memory_region(at, n)
#define UNPOISON(at, n) __asan_unpoison_memory_region(at, n)
#define IS_SANITIZED    true
#else
#define POISON(at, n)   ((void)(at), (void)(n))
#define UNPOISON(at, n) ((void)(at), (void)(n))
#define IS_SANITIZED    false
#endif

struct row {
    const char *name;
    int64_t n, g, c, k, in[3], filter[3], stride[3], dilation[3], lo[3], hi[3];
};
#define ONES                                                                                       \
    {                                                                                              \
        1, 1, 1                                                                                    \
    }
#define ZEROS                                                                                      \
    {                                                                                              \
        0, 0, 0                                                                                    \
    }
static const struct row rows[] = {
    { "3x3 ragged", 1, 1, 5, 7, { 1, 6, 5 }, { 1, 3, 3 }, ONES, ONES, { 0, 1, 1 }, { 0, 1, 1 } },
    { "asymmetric pads, stride 2",
      2,
      3,
      4,
      6,
      { 1, 7, 9 },
      { 1, 3, 2 },
      { 1, 2, 2 },
      ONES,
      { 0, 1, 0 },
      { 0, 2, 3 } },
    { "depthwise", 1, 37, 1, 1, { 1, 5, 17 }, { 1, 3, 3 }, ONES, ONES, { 0, 1, 1 }, { 0, 1, 1 } },
    { "depthwise dilated stride 2",
      2,
      64,
      1,
      1,
      { 1, 9, 18 },
      { 1, 3, 3 },
      { 1, 2, 2 },
      { 1, 2, 2 },
      { 0, 2, 2 },
      { 0, 2, 2 } },
    { "depthwise 1x5, few columns",
      1,
      70,
      1,
      1,
      { 1, 3, 6 },
      { 1, 1, 5 },
      ONES,
      ONES,
      { 0, 0, 2 },
      { 0, 0, 1 } },
    { "depthwise 3d",
      1,
      96,
      1,
      1,
      { 3, 4, 11 },
      { 2, 3, 3 },
      ONES,
      ONES,
      { 1, 1, 0 },
      { 0, 1, 2 } },
    { "stem", 1, 1, 3, 10, { 1, 11, 9 }, { 1, 5, 5 }, { 1, 2, 2 }, ONES, { 0, 2, 2 }, { 0, 2, 2 } },
    { "1d dilated",
      2,
      1,
      16,
      17,
      { 1, 1, 33 },
      { 1, 1, 5 },
      ONES,
      { 1, 1, 2 },
      { 0, 0, 4 },
      { 0, 0, 4 } },
    { "3d", 1, 1, 8, 9, { 4, 5, 6 }, { 3, 2, 3 }, ONES, ONES, { 1, 0, 1 }, { 1, 0, 1 } },
    { "1x1", 1, 1, 32, 40, { 1, 7, 7 }, ONES, ONES, ONES, ZEROS, ZEROS },
    { "1x1 stride 2", 2, 1, 20, 70, { 1, 7, 6 }, ONES, { 1, 2, 2 }, ONES, ZEROS, ZEROS },
    { "fully connected", 1, 1, 144, 50, ONES, ONES, ONES, ONES, ZEROS, ZEROS },
    { "32 groups of 4",
      1,
      32,
      4,
      4,
      { 1, 6, 7 },
      { 1, 3, 3 },
      ONES,
      ONES,
      { 0, 1, 1 },
      { 0, 1, 1 } },
    { "9 groups of 4", 1, 9, 4, 4, { 1, 5, 5 }, { 1, 3, 3 }, ONES, ONES, { 0, 1, 1 }, { 0, 1, 1 } },
    { "8 groups of 8, stride 2",
      2,
      8,
      8,
      8,
      { 1, 7, 5 },
      { 1, 3, 3 },
      { 1, 2, 2 },
      ONES,
      { 0, 1, 1 },
      { 0, 1, 1 } },
    { "5 groups of 8", 1, 5, 8, 8, { 1, 4, 9 }, { 1, 2, 3 }, ONES, ONES, { 0, 1, 1 }, { 0, 0, 1 } },
    { "2 groups of 16, 1d",
      3,
      2,
      16,
      16,
      { 1, 1, 13 },
      { 1, 1, 3 },
      ONES,
      { 1, 1, 3 },
      { 0, 0, 3 },
      { 0, 0, 3 } },
    { "3 groups of 16",
      1,
      3,
      16,
      16,
      { 1, 6, 5 },
      { 1, 3, 3 },
      ONES,
      ONES,
      { 0, 1, 1 },
      { 0, 1, 1 } },
    { "more padding than image",
      1,
      1,
      16,
      6,
      { 1, 2, 2 },
      { 1, 3, 3 },
      ONES,
      ONES,
      { 0, 4, 4 },
      { 0, 3, 5 } },
    { "depthwise, more padding than image",
      1,
      64,
      1,
      1,
      { 1, 2, 2 },
      { 1, 3, 3 },
      ONES,
      ONES,
      { 0, 4, 4 },
      { 0, 3, 9 } },
    { "no padding, two images", 2, 1, 64, 33, { 1, 6, 6 }, { 1, 3, 3 }, ONES, ONES, ZEROS, ZEROS },
    { "5 groups, stride 3",
      1,
      5,
      12,
      5,
      { 1, 10, 8 },
      { 1, 2, 3 },
      { 1, 3, 3 },
      ONES,
      { 0, 0, 1 },
      { 0, 1, 1 } },
};
#define N_ROWS (sizeof(rows) / sizeof(*rows))

static struct ks_abi_problem to_problem(const struct row *r)
{
    struct ks_abi_problem p = { .bytes = sizeof(p), .op = KS_ABI_GROUPED_CONV };
    p.n = r->n, p.g = r->g, p.c = r->c, p.k = r->k;
    for (int i = 0; i < 3; i++) {
        p.in[i] = r->in[i], p.filter[i] = r->filter[i];
        p.stride[i] = r->stride[i], p.dilation[i] = r->dilation[i];
        p.pad_lo[i] = r->lo[i], p.pad_hi[i] = r->hi[i];
        p.out[i] = (r->in[i] + r->lo[i] + r->hi[i] - (r->filter[i] - 1) * r->dilation[i] - 1) /
                       r->stride[i] +
                   1;
        assert_true(p.out[i] > 0);
    }
    return p;
}

/* A buffer between guards. */
struct buffer {
    float *all, *data;
    size_t n;
};

static struct buffer make_buffer(size_t n, float guard, float fill)
{
    struct buffer b = { .n = n };
    const size_t total = n + 2 * GUARD;
    b.all = aligned_alloc(4096, (total * sizeof(float) + 4095) / 4096 * 4096);
    assert_non_null(b.all);
    b.data = b.all + GUARD;
    for (size_t i = 0; i < total; i++)
        b.all[i] = i < GUARD || i >= GUARD + n ? guard : fill;
    return b;
}

static void check_guards(const struct buffer *b, const char *what, const char *who)
{
    for (size_t i = 0; i < GUARD; i++)
        if (b->all[i] != MARK || b->data[b->n + i] != MARK)
            fail_msg("%s: wrote outside the %s", who, what);
}

/* Non-zero integers +-1..+-3. */
static void fill_integers(struct buffer *b, uint64_t seed)
{
    for (size_t i = 0; i < b->n; i++) {
        const uint64_t r = ks_rng_next(&seed);
        b->data[i] = (float)(r % 3 + 1) * (r & 64 ? -1.0f : 1.0f);
    }
}

static void poison_guards(const struct buffer *b)
{
    POISON(b->all, GUARD * sizeof(float));
    POISON(b->data + b->n, GUARD * sizeof(float));
}

static void free_buffer(struct buffer *b)
{
    if (b->all)
        UNPOISON(b->all, (b->n + 2 * GUARD) * sizeof(float));
    free(b->all);
    *b = (struct buffer){ .n = 0 };
}

/* One output element: n, output pixel o, group, channel. */
static double reference(const struct ks_abi_problem *p, const float *in, const float *w, int64_t n,
                        const int64_t o[3], int64_t g, int64_t k)
{
    double sum = 0;
    for (int64_t t = 0; t < p->filter[0] * p->filter[1] * p->filter[2]; t++) {
        const int64_t tap[3] = { t / p->filter[2] / p->filter[1], t / p->filter[2] % p->filter[1],
                                 t % p->filter[2] };
        int64_t at = n, is_in = 1;
        for (int i = 0; i < 3; i++) {
            const int64_t x = o[i] * p->stride[i] - p->pad_lo[i] + tap[i] * p->dilation[i];
            is_in &= x >= 0 && x < p->in[i];
            at = at * p->in[i] + x;
        }
        for (int64_t c = 0; c < p->c && is_in; c++)
            sum +=
                (double)in[(at * p->g + g) * p->c + c] *
                (double)
                    w[((g * p->k + k) * p->filter[0] * p->filter[1] * p->filter[2] + t) * p->c + c];
    }
    return sum;
}

static void fill_reference(const struct ks_abi_problem *p, const float *in, const float *w,
                           struct buffer *want)
{
    for (size_t i = 0; i < want->n; i++) {
        int64_t rest = (int64_t)i / (p->g * p->k), o[3];
        const int64_t k = (int64_t)i % p->k, g = (int64_t)i / p->k % p->g;
        for (int a = 2; a >= 0; a--) {
            o[a] = rest % p->out[a];
            rest /= p->out[a];
        }
        want->data[i] = (float)reference(p, in, w, rest, o, g, k);
    }
}

/* One problem with its data. */
struct case_data {
    struct ks_abi_problem p;
    struct buffer a, b, want;
};

static struct case_data make_case(const struct row *r)
{
    struct case_data d = { .p = to_problem(r) };
    const struct ks_abi_problem *p = &d.p;
    const int64_t taps = p->filter[0] * p->filter[1] * p->filter[2];
    d.a = make_buffer((size_t)(p->n * p->in[0] * p->in[1] * p->in[2] * p->g * p->c), NAN, 0);
    d.b = make_buffer((size_t)(p->g * p->k * taps * p->c), NAN, 0);
    d.want = make_buffer((size_t)(p->n * p->out[0] * p->out[1] * p->out[2] * p->g * p->k), 0, 0);
    fill_integers(&d.a, 11);
    fill_integers(&d.b, 22);
    fill_reference(p, d.a.data, d.b.data, &d.want);
    poison_guards(&d.a);
    poison_guards(&d.b);
    return d;
}

static void run_case(const struct ks_abi_entry *e, const struct case_data *d, const char *problem)
{
    char who[400];
    const int64_t bytes = e->workspace_bytes(&d->p);
    assert_true(bytes >= 0 && bytes % 4 == 0);
    struct buffer out = make_buffer(d->want.n, MARK, NAN);
    struct buffer ws = make_buffer((size_t)bytes / 4 + 1024 - GUARD, MARK, NAN);
    /* The workspace begins on a page and ends where it was said to. */
    char *begin = (char *)ws.all + 4096;
    const struct ks_abi_buffers buf = { d->a.data, d->b.data, out.data, bytes ? begin : NULL,
                                        NULL };
    snprintf(who, sizeof(who), "%s on '%s'", e->name, problem);
    for (size_t i = 0; i < GUARD; i++) {
        ((float *)(void *)begin)[-1 - (int)i] = MARK;
        ((float *)(void *)(begin + bytes))[i] = MARK;
    }
    if (e->run(&d->p, &buf) != 0)
        fail_msg("%s: run() failed", who);
    check_guards(&out, "output", who);
    for (size_t i = 0; i < GUARD; i++)
        if (((float *)(void *)begin)[-1 - (int)i] != MARK ||
            ((float *)(void *)(begin + bytes))[i] != MARK)
            fail_msg("%s: wrote outside the workspace", who);
    for (size_t i = 0; i < out.n; i++)
        if (out.data[i] != d->want.data[i])
            fail_msg("%s: element %zu is %g, not %g", who, i, (double)out.data[i],
                     (double)d->want.data[i]);
    free_buffer(&ws);
    free_buffer(&out);
}

static const struct ks_abi_entry *find_entry(const struct ks_abi_table *t, const char *name)
{
    for (uint32_t i = 0; i < t->n_entries; i++)
        if (strcmp(t->entries[i].name, name) == 0)
            return &t->entries[i];
    fail_msg("no entry '%s'", name);
    return NULL;
}

static const struct ks_abi_table *load_table(const struct ks_artefact *a)
{
    void *so = dlopen(a->path, RTLD_NOW | RTLD_LOCAL); /* counted; kept until the end */
    if (!so)
        fail_msg("%s", dlerror());
    const struct ks_abi_table *t = dlsym(so, KS_ABI_SYMBOL);
    assert_non_null(t);
    return t;
}

/* The compiler as it is, or one that adds the sanitizers; -O1, because -O3 takes minutes then. */
static void put_compiler(const struct place *p, char *path_out, size_t cap)
{
    put_file(p, "sanitizing-cc",
             "#!/bin/sh\n"
             "exec cc \"$@\" -O1 -fsanitize=address,undefined -fno-sanitize-recover=all\n");
    snprintf(path_out, cap, "%s/sanitizing-cc", p->dir);
    assert_int_equal(chmod(path_out, 0700), 0);
}

static void build_config(struct place *p, const char *config, bool is_sanitized)
{
    char path[600], compiler[600];
    struct ks_build_options opt = { .unit_size = 20 };
    if (is_sanitized) {
        put_compiler(p, compiler, sizeof(compiler));
        opt.compiler = compiler;
    }
    snprintf(path, sizeof(path), "%s/kernels/configs/%s", KS_SOURCE_DIR, config);
    load_grid(p, path, "host");
    plan(p, &opt);
    (void)build_all(p);
    for (uint32_t i = 0; i < p->grid.n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(p->build, i);
        if (a->state != KS_ART_READY && a->state != KS_ART_UNSUPPORTED)
            fail_msg("%s: %s", p->grid.instances[i].name, a->reason);
    }
}

static void test_every_instance_is_exact(void **state)
{
    struct place *p = *state;
    struct case_data cases[N_ROWS];
    for (size_t r = 0; r < N_ROWS; r++)
        cases[r] = make_case(&rows[r]);
    for (uint32_t i = 0; i < p->grid.n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(p->build, i);
        uint32_t n_run = 0;
        if (a->state != KS_ART_READY)
            continue;
        const struct ks_abi_entry *e = find_entry(load_table(a), a->entry);
        for (size_t r = 0; r < N_ROWS; r++) {
            const char *why = e->unsupported(&cases[r].p);
            if (why) {
                assert_true(strlen(why) > 10);
                continue;
            }
            run_case(e, &cases[r], rows[r].name);
            n_run++;
        }
        if (n_run < 2)
            fail_msg("%s ran %u of %zu problems only", e->name, n_run, N_ROWS);
    }
    for (size_t r = 0; r < N_ROWS; r++) {
        free_buffer(&cases[r].a);
        free_buffer(&cases[r].b);
        free_buffer(&cases[r].want);
    }
}

/* What no instance of the family computes is refused with a reason, before anything runs. */
static void test_foreign_problems_are_refused(void **state)
{
    struct place *p = *state;
    for (uint32_t i = 0; i < p->grid.n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(p->build, i);
        if (a->state != KS_ART_READY)
            continue;
        const struct ks_abi_entry *e = find_entry(load_table(a), a->entry);
        for (int what = 0; what < 5; what++) {
            struct ks_abi_problem q = to_problem(&rows[9]);
            q.op = what == 0 ? KS_ABI_GEMM : q.op;
            q.direction = what == 1 ? KS_ABI_BACKWARD_DATA : q.direction;
            q.dtype = what == 2 ? KS_ABI_BF16 : q.dtype;
            q.layout = what == 3 ? KS_ABI_NGCHW : q.layout;
            q.bytes = what == 4 ? 16 : q.bytes;
            const char *why = e->unsupported(&q);
            if (!why || strlen(why) < 10)
                fail_msg("%s accepts what it cannot compute (%d)", e->name, what);
        }
    }
}

/* Every instance is code of its own, and all of it has an identity. */
static void test_code_ids(void **state)
{
    struct place *p = *state;
    uint32_t n_ready = 0;
    for (uint32_t i = 0; i < p->grid.n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(p->build, i);
        if (a->state != KS_ART_READY)
            continue;
        n_ready++;
        assert_false(ks_id128_is_zero(a->code_id));
        for (uint32_t k = 0; k < i; k++)
            assert_false(ks_id128_eq(a->code_id, ks_build_artefact(p->build, k)->code_id));
    }
    assert_true(n_ready >= 1); /* plain vectors run everywhere */
}

static int setup_all(void **state)
{
    struct place *p = open_place(*state);
    build_config(p, "host_forward.json", IS_SANITIZED);
    *state = p;
    return 0;
}

static int setup_quick(void **state)
{
    struct place *p = open_place(*state);
    build_config(p, "host_forward_quick.json", false);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    *state = p->warden;
    close_place(p);
    return 0;
}

int main(void)
{
    struct ks_warden *warden = NULL;
    struct ks_err err;
    if (ks_warden_start(&warden, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
#define T(f, up) cmocka_unit_test_prestate_setup_teardown(f, up, teardown, warden)
    const struct CMUnitTest tests[] = {
        T(test_every_instance_is_exact, setup_all),
        T(test_foreign_problems_are_refused, setup_quick),
        T(test_code_ids, setup_quick),
    };
    const int rc = cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
