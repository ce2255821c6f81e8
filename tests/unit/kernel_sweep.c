/* SPDX-License-Identifier: MIT */
/* kernel_sweep.c - holds instances of some configs of a direction to references, in all forms */
#include "kernel_sweep.h"
#include "kernel_needs.h"
#include "op/conv.h"
#include "op_cases.h"
#include "problem_list.h"
#include "sanitized.h"

#define N_RANDOM   (IS_SANITIZED ? 50 : 250) /* sanitized, the special ones reach all paths */
#define N_LEAST    (IS_SANITIZED ? 1 : 2)    /* problems that each instance must run */
#define N_KINDS    6                         /* types times layouts */
#define NO_PADDING "pad_h_lo=0 pad_w_lo=0 pad_h_hi=0 pad_w_hi=0"

/* Problems that are easily got wrong. */
static const char *const special[] = {
    /* pixels that no tap reaches */
    "hi=9 wi=7 c_total=20 k_total=33 stride_h=4 stride_w=3 y=2 x=2",
    "hi=7 wi=7 y=1 x=1 stride_h=2 stride_w=2 c_total=140 k_total=16 " NO_PADDING,
    /* filters larger than the image, more padding than image, nothing but padding */
    "hi=2 wi=3 y=5 x=7 pad_h_lo=2 pad_h_hi=3 pad_w_lo=4 pad_w_hi=2 c_total=17 k_total=18",
    "hi=2 wi=2 pad_h_lo=4 pad_w_lo=4 pad_h_hi=3 pad_w_hi=5 c_total=16 k_total=32",
    "hi=1 wi=1 y=1 x=1 stride_h=3 stride_w=3 pad_h_lo=2 pad_w_lo=5 pad_h_hi=0 pad_w_hi=0",
    /* fully connected; stems */
    "n=3 hi=1 wi=1 y=1 x=1 c_total=300 k_total=70 " NO_PADDING,
    "n=2 hi=1 wi=1 y=1 x=1 c_total=192 k_total=37 " NO_PADDING,
    "n=4 hi=1 wi=1 y=1 x=1 c_total=64 k_total=5 " NO_PADDING,
    "ndim=3 di=1 z=1 hi=1 wi=1 y=1 x=1 c_total=64 k_total=40 " NO_PADDING,
    "ndim=3 di=1 z=1 hi=1 wi=1 y=1 x=1 c_total=160 k_total=9 " NO_PADDING,
    "hi=21 wi=19 y=7 x=7 stride_h=2 stride_w=2 pad_h_lo=3 pad_w_lo=3 pad_h_hi=3 pad_w_hi=3 "
    "c_total=3 k_total=64",
    "ndim=3 di=3 hi=9 wi=17 z=3 y=5 x=5 stride_h=2 stride_w=2 pad_d_lo=1 pad_d_hi=1 pad_h_lo=2 "
    "pad_w_lo=2 c_total=3 k_total=33",
    /* depthwise, also in 1 and 3 dims */
    "g=96 c_total=96 k_total=96 hi=12 wi=11 stride_h=2 stride_w=2",
    "g=70 c_total=70 k_total=70 hi=9 wi=13 y=5 x=5 dilation_h=2 dilation_w=2 pad_h_lo=4 pad_w_lo=4",
    "g=130 c_total=130 k_total=130 hi=3 wi=4 stride_h=3 stride_w=4 y=2 x=3",
    "ndim=1 g=64 c_total=64 k_total=64 hi=1 y=1 wi=30 pad_h_lo=0 pad_h_hi=0 x=4 stride_w=3",
    "ndim=3 g=80 c_total=80 k_total=80 di=3 z=2 pad_d_lo=1",
    /* groups that fit into vectors */
    "g=32 c_total=128 k_total=128 hi=8 wi=9",
    "n=2 g=24 c_total=96 k_total=96 hi=5 wi=7 stride_h=2 pad_w_lo=2",
    "g=16 c_total=32 k_total=32 hi=8 wi=9 stride_w=2 dilation_h=2",
    "g=8 c_total=128 k_total=128 hi=8 wi=9 stride_h=2 stride_w=2",
    "g=6 c_total=48 k_total=48 hi=6 wi=10 y=2 stride_w=2",
    "g=5 c_total=80 k_total=80 hi=6 wi=5 dilation_h=2",
    "g=20 c_total=160 k_total=160 hi=5 wi=6 dilation_w=2 pad_w_hi=4",
    "ndim=1 g=16 c_total=64 k_total=64 hi=1 y=1 wi=30 pad_h_lo=0 pad_h_hi=0 stride_w=2",
    "ndim=3 g=16 c_total=64 k_total=64 di=4 z=3 stride_d=2",
    "g=3 c_total=48 k_total=72 hi=10 wi=6 stride_h=3",
    /* wide channels, several blocks of pixels, a long line, 3 dims */
    "hi=7 wi=7 c_total=140 k_total=64",
    "hi=30 wi=40 c_total=40 k_total=24",
    "ndim=1 hi=1 wi=400 y=1 x=9 pad_h_lo=0 pad_h_hi=0 dilation_w=5 c_total=64 k_total=20",
    "ndim=3 di=4 hi=5 wi=6 z=3 pad_d_lo=1 pad_d_hi=1 c_total=64 k_total=16",
};
#define N_SPECIAL (sizeof(special) / sizeof(*special))

void kernel_sweep_open(struct place *p, uint32_t direction, const char *const *configs)
{
    struct ks_problem one;
    struct ks_err err;
    must(op_case("", &one, &err), &err);
    one.direction = direction;
    must(ks_problem_finish(&one, &err), &err);
    kernel_build(p, &one, configs);
}

bool kernel_sweep_is_of_domain(const struct place *p, uint32_t i, const struct ks_problem *problem)
{
    const struct ks_instance *inst = &p->grid.instances[i];
    struct ks_domain d;
    ks_instance_domain(&p->grid.families[inst->i_family], inst, &d);
    return d.dtype == problem->dtype && d.layout == problem->layout &&
           d.ndim == problem->dim[KS_CONV_NDIM];
}

void kernel_sweep_refusals(const struct place *place)
{
    const uint32_t direction = ks_problem_table_get(&place->grid.problems, 0).direction;
    struct ks_problem p;
    struct ks_err err;
    must(op_case("c_total=64 k_total=64", &p, &err), &err);
    p.direction = direction;
    must(ks_problem_finish(&p, &err), &err);
    for (uint32_t i = 0; i < place->grid.n_instances; i++) {
        const struct ks_abi_entry *e = kernel_entry(place, i);
        for (int what = 0; what < 6 && e; what++) {
            struct ks_abi_problem q;
            ks_operators[p.op]->to_abi(&p, &q);
            q.op = what == 0 ? KS_ABI_GEMM : q.op;
            q.direction = what == 1 ? (direction + 1) % KS_N_DIRECTIONS : q.direction;
            q.direction = what == 2 ? (direction + 2) % KS_N_DIRECTIONS : q.direction;
            q.dtype = what == 3 ? 3 : q.dtype;
            q.layout = what == 4 ? 2 : q.layout;
            q.bytes = what == 5 ? 16 : q.bytes;
            const char *why = e->unsupported(&q);
            if (!why || strlen(why) < 10)
                fail_msg("%s accepts what it cannot compute (%d)", e->name, what);
        }
    }
}

/* What an x86-64-v3 has of the instances, also where this CPU can do more. */
struct choice {
    const struct place *place;
    bool is_v3[1024]; /* of the grid's instances */
};

/* False, and said, where this CPU cannot run them. */
static bool open_choice(const struct place *place, const char *const *configs, struct choice *c_out)
{
    struct ks_kernel_set set = { .n_families = 0 };
    struct ks_buf flags;
    struct ks_err err;
    if (!kernel_build_is_complete() || !kernel_cpu_has_choice("how many instances a problem has"))
        return false;
    *c_out = (struct choice){ .place = place };
    ks_buf_init(&flags);
    must(ks_kernel_set_arch(&set, "x86-64-v3", &flags, &err), &err);
    for (; *configs; configs++) {
        char path[600];
        snprintf(path, sizeof(path), "%s/kernels/configs/%s", KS_SOURCE_DIR, *configs);
        must(ks_kernel_set_add(&set, path, "", NULL, &err), &err);
    }
    assert_int_equal(set.n_instances, place->grid.n_instances);
    assert_true(set.n_instances <= 1024);
    for (uint32_t i = 0; i < set.n_instances; i++) {
        assert_true(set.instances[i].id == place->grid.instances[i].id);
        c_out->is_v3[i] = !set.instances[i].missing[0];
    }
    ks_kernel_set_release(&set);
    ks_buf_release(&flags);
    return true;
}

/* Kinds are types times layouts. */
static void must_have(const struct choice *c, struct ks_problem p, uint32_t kind, uint32_t least)
{
    const struct ks_grid *g = &c->place->grid;
    struct ks_abi_problem abi;
    struct ks_err err;
    uint32_t n = 0;
    p.dtype = kind % 3;
    p.layout = kind / 3;
    p.direction = ks_problem_table_get(&g->problems, 0).direction;
    must(ks_problem_finish(&p, &err), &err);
    ks_operators[p.op]->to_abi(&p, &abi);
    for (uint32_t i = 0; i < g->n_instances; i++) {
        if (!c->is_v3[i] || !kernel_sweep_is_of_domain(c->place, i, &p))
            continue;
        const struct ks_abi_entry *e = kernel_entry(c->place, i);
        n += e && !e->unsupported(&abi);
    }
    if (n < least)
        fail_msg("%s, type %u, layout %u, %lld dims: %u instances, not %u", p.name, p.dtype,
                 p.layout, (long long)p.dim[KS_CONV_NDIM], n, least);
}

void kernel_sweep_choice(const struct place *place, const char *const *configs,
                         const char *const *lists, uint32_t least)
{
    struct choice c;
    if (!open_choice(place, configs, &c))
        return;
    for (; *lists; lists++) {
        struct problem_list list;
        struct ks_err err;
        must(problem_list_read(*lists, &list, &err), &err);
        for (int k = 0; k < list.n * N_KINDS; k++)
            must_have(&c, list.problems[k / N_KINDS], (uint32_t)(k % N_KINDS), least);
    }
}

void kernel_sweep_matrix(const struct place *place, const char *const *configs)
{
    static const char *const shapes[] = { "ndim=1 hi=1 y=1 pad_h_lo=0 pad_h_hi=0", "",
                                          "ndim=3 di=3 z=2" };
    struct choice c;
    if (!open_choice(place, configs, &c))
        return;
    for (uint32_t k = 0; k < 3 * N_KINDS; k++) {
        struct ks_problem p;
        struct ks_err err;
        must(op_case(shapes[k / N_KINDS], &p, &err), &err);
        must(op_case_set(&p, "g=3 c_total=21 k_total=15 stride_w=2 dilation_w=2") ? 0 : KS_EINVAL,
             &err);
        snprintf(p.name, sizeof(p.name), "groups and odd channels");
        must_have(&c, p, k % N_KINDS, 1);
    }
}

static void pick_channels(uint64_t *rng, struct ks_problem *p)
{
    const int64_t kind = (int64_t)ks_rng_below(rng, 7), one = (int64_t)ks_rng_below(rng, 90) + 1;
    int64_t g = 1, c = one, k = (int64_t)ks_rng_below(rng, 90) + 1;
    if (kind == 0)
        g = one + 16, c = k = 1;
    else if (kind <= 2)
        c = k = 1 << (ks_rng_below(rng, 4) + 1), g = one % 24 + 5;
    else if (kind == 3)
        c = one % 4 + 1, k += 16;
    else if (kind == 4)
        c = 16 * (one % 5 + 1), k = 16 * (k % 5 + 1);
    else if (kind == 5)
        g = one % 4 + 2, c = one % 30 + 1, k = k % 30 + 1;
    p->dim[KS_CONV_G] = g;
    p->dim[KS_CONV_C_TOTAL] = g * c;
    p->dim[KS_CONV_K_TOTAL] = g * k;
}

/* Problem i of a direction: the special ones in all types and layouts, then random ones, every
 * other of them in fp32 nhwgc. */
static struct ks_problem make_problem(uint32_t direction, uint32_t i, uint64_t *rng)
{
    struct ks_problem p;
    struct ks_err err;
    uint32_t kind = i % N_KINDS;
    if (i < N_SPECIAL * N_KINDS) {
        must(op_case(special[i / N_KINDS], &p, &err), &err);
    } else {
        kind = i % 2 ? 0 : i / 2 % N_KINDS;
        p = op_case_random(rng, KS_FP32);
        pick_channels(rng, &p);
    }
    p.dtype = kind % 3;
    p.layout = kind / 3;
    p.direction = direction;
    must(ks_problem_finish(&p, &err), &err);
    return p;
}

/* One problem on all instances of its domain. */
static void run_problem(struct place *place, const struct ks_abi_entry *const *entries,
                        const struct ks_problem *p, uint32_t *n_run)
{
    struct kernel_case c;
    kernel_case_open(&c, p);
    for (uint32_t i = 0; i < place->grid.n_instances; i++) {
        if (!entries[i] || !kernel_sweep_is_of_domain(place, i, p) ||
            entries[i]->unsupported(&c.abi))
            continue;
        kernel_case_run(&c, entries[i]);
        n_run[i]++;
    }
    kernel_case_close(&c);
}

void kernel_sweep_run(struct place *place, uint32_t direction)
{
    const uint32_t n = place->grid.n_instances;
    const struct ks_abi_entry **entries = calloc(n, sizeof(*entries));
    uint32_t *n_run = calloc(n, sizeof(*n_run));
    uint64_t rng = 20 + direction;
    assert_true(entries && n_run);
    for (uint32_t i = 0; i < n; i++)
        entries[i] = kernel_entry(place, i);
    for (uint32_t k = 0; k < N_SPECIAL * N_KINDS + N_RANDOM; k++) {
        const struct ks_problem p = make_problem(direction, k, &rng);
        run_problem(place, entries, &p, n_run);
    }
    for (uint32_t i = 0; i < n; i++)
        if (entries[i] && n_run[i] < N_LEAST)
            fail_msg("%s ran %u problems only", entries[i]->name, n_run[i]);
    free(entries);
    free(n_run);
}

void kernel_sweep_all(struct place *p, uint32_t direction, const char *const *configs)
{
    static const char *const lists[] = { "resnet50", "resnext50_32x4d", "mobilenet_v2", "r3d18",
                                         NULL };
    kernel_sweep_open(p, direction, configs);
    kernel_sweep_refusals(p);
    kernel_needs_agree(p, direction);
    kernel_sweep_choice(p, configs, lists, 3);
    kernel_sweep_matrix(p, configs);
    kernel_sweep_run(p, direction);
}
