/* SPDX-License-Identifier: MIT */
/* dispatch.c MANIFEST NETWORK.csv... - runs the convolutions of networks with kernels that `ksweep
 * build --manifest` names, chosen three ways, and prints the total time of each network:
 *
 *   fixed     the one instance that can run every layer and has the least total
 *   selector  what selector.c picks, told which instances there are
 *   oracle    the fastest instance of each layer, by timing them all
 *
 * Instances are chosen by a first set of timings; what is printed is a second set, of the chosen
 * ones only, interleaved: the least of noisy times would flatter the oracle. The output of the
 * selector's pick is held against that of the fixed instance. */
#include "selector.h"

#include "kernels/abi.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LAYERS = 512, ROUNDS = 7, CHOICES = 3 };
enum { FIXED, SELECTOR, ORACLE };

struct layer {
    struct selector_problem p;
    struct ks_abi_problem abi;
    double count;
    int network;
    int pick[CHOICES], rule;
    double ns[SELECTOR_CANDIDATES]; /* INFINITY: does not apply */
    double again_ns[CHOICES];
    double difference; /* of outputs, relative */
};
struct buffers {
    float *a, *b, *c;
    void *workspace;
    size_t n_c;
};

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "dispatch: %s '%s'\n", what, name);
    exit(2);
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* ---- kernels ---- */

static const struct ks_abi_entry *find_entry(const char *object, const char *name)
{
    void *lib = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    const struct ks_abi_table *t = lib ? dlsym(lib, KS_ABI_SYMBOL) : NULL;

    if (!t || t->abi_major != KS_ABI_MAJOR)
        fail("no table of kernels in", object);
    for (uint32_t i = 0; i < t->n_entries; i++)
        if (strcmp(t->entries[i].name, name) == 0)
            return &t->entries[i];
    return NULL;
}

static int candidate_of(const char *name)
{
    for (int i = 0; i < SELECTOR_CANDIDATES; i++)
        if (strcmp(selector_instance_name(i), name) == 0)
            return i;
    return -1;
}

/* Rows of the manifest: id,name,...,state,...,path. */
static int load_kernels(const char *manifest, const struct ks_abi_entry *entries[])
{
    FILE *f = fopen(manifest, "r");
    char line[8192];
    int n = 0;

    if (!f)
        fail("cannot read", manifest);
    while (fgets(line, sizeof(line), f)) {
        char *name = strchr(line, ','), *end = name ? strchr(name + 1, ',') : NULL;
        char *path = strrchr(line, ',');
        int i;

        line[strcspn(line, "\n")] = '\0';
        if (!end || !strstr(end, ",ready,"))
            continue;
        *end = '\0';
        i = candidate_of(name + 1);
        if (i >= 0 && (entries[i] = find_entry(path + 1, name + 1)))
            n++;
    }
    fclose(f);
    return n;
}

/* ---- problems ---- */

static void to_abi(struct layer *l)
{
    const int64_t *d = l->p.dim;
    struct ks_abi_problem *q = &l->abi;

    *q = (struct ks_abi_problem){ .bytes = sizeof(*q), .op = KS_ABI_GROUPED_CONV };
    q->n = d[SELECTOR_DIM_N];
    q->g = d[SELECTOR_DIM_G];
    q->c = d[SELECTOR_DIM_C_TOTAL] / q->g;
    q->k = d[SELECTOR_DIM_K_TOTAL] / q->g;
    for (int i = 0; i < 3; i++) {
        q->in[i] = d[SELECTOR_DIM_DI + i];
        q->filter[i] = d[SELECTOR_DIM_Z + i];
        q->stride[i] = d[SELECTOR_DIM_STRIDE_D + i];
        q->dilation[i] = d[SELECTOR_DIM_DILATION_D + i];
        q->pad_lo[i] = d[SELECTOR_DIM_PAD_D_LO + i];
        q->pad_hi[i] = d[SELECTOR_DIM_PAD_D_HI + i];
        q->out[i] =
            (q->in[i] + q->pad_lo[i] + q->pad_hi[i] - q->dilation[i] * (q->filter[i] - 1) - 1) /
                q->stride[i] +
            1;
    }
}

/* "grouped_conv,forward,fp32,nhwgc," and the dimensions in their order, count, name. */
static int read_network(const char *path, int network, struct layer *layers, int n)
{
    static const char begin[] = "grouped_conv,forward,fp32,nhwgc,";
    FILE *f = fopen(path, "r");
    char line[4096];

    if (!f)
        fail("cannot read", path);
    while (fgets(line, sizeof(line), f)) {
        struct layer *l = &layers[n];
        char *at = line + strlen(begin);

        if (strncmp(line, begin, strlen(begin)) != 0)
            continue;
        if (n == LAYERS)
            fail("too many layers up to", path);
        *l = (struct layer){ .network = network };
        l->p.op = SELECTOR_OPERATOR;
        for (int i = 0; i <= SELECTOR_DIM_PAD_W_HI; i++, at++)
            l->p.dim[i] = strtoll(at, &at, 10);
        l->count = (double)strtoll(at, &at, 10);
        to_abi(l);
        n++;
    }
    fclose(f);
    return n;
}

/* ---- timing ---- */

static float *floats(int64_t n)
{
    float *x = aligned_alloc(64, ((size_t)n * sizeof(*x) + 127) / 64 * 64);
    uint32_t state = 1;

    for (int64_t i = 0; x && i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) / (float)(1 << 24) - 0.5f;
    }
    if (!x)
        fail("out of memory for", "operands");
    return x;
}

static struct buffers make_buffers(const struct ks_abi_problem *q,
                                   const struct ks_abi_entry *const entries[])
{
    int64_t in = q->n * q->g * q->c, out = q->n * q->g * q->k, w = q->g * q->k * q->c, bytes = 0;
    struct buffers b;

    for (int i = 0; i < 3; i++) {
        in *= q->in[i];
        out *= q->out[i];
        w *= q->filter[i];
    }
    for (int i = 0; i < SELECTOR_CANDIDATES; i++)
        if (entries[i] && !entries[i]->unsupported(q) && entries[i]->workspace_bytes(q) > bytes)
            bytes = entries[i]->workspace_bytes(q);
    b.a = floats(in);
    b.b = floats(w);
    b.c = floats(out);
    b.n_c = (size_t)out;
    b.workspace = aligned_alloc(4096, ((size_t)bytes + 8191) / 4096 * 4096);
    if (!b.workspace)
        fail("out of memory for", "a workspace");
    return b;
}

static void free_buffers(struct buffers *b)
{
    free(b->a);
    free(b->b);
    free(b->c);
    free(b->workspace);
}

/* Mean of as many calls as take half a millisecond. */
static double time_once(const struct ks_abi_entry *e, const struct ks_abi_problem *q,
                        const struct buffers *b)
{
    const struct ks_abi_buffers buf = { b->a, b->b, b->c, b->workspace, NULL, NULL };
    const double begin = now_ns();
    double end;
    int n = 0;

    do {
        if (e->run(q, &buf))
            fail("a launch failed:", e->name);
        n++;
        end = now_ns();
    } while (end - begin < 5e5);
    return (end - begin) / n;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median times of n entries, interleaved; NULL: INFINITY. */
static void time_all(const struct ks_abi_entry *const entries[], int n,
                     const struct ks_abi_problem *q, const struct buffers *b, double *ns_out)
{
    double sample[SELECTOR_CANDIDATES + CHOICES][ROUNDS];

    for (int round = -1; round < ROUNDS; round++) /* the first one warms up */
        for (int i = 0; i < n; i++)
            if (entries[i])
                sample[i][round < 0 ? 0 : round] = time_once(entries[i], q, b);
    for (int i = 0; i < n; i++) {
        ns_out[i] = INFINITY;
        if (!entries[i])
            continue;
        qsort(sample[i], ROUNDS, sizeof(double), by_value);
        ns_out[i] = sample[i][ROUNDS / 2];
    }
}

/* ---- choices ---- */

static void measure(struct layer *l, const struct ks_abi_entry *const entries[])
{
    const struct ks_abi_entry *apply[SELECTOR_CANDIDATES];
    struct buffers b = make_buffers(&l->abi, entries);
    uint8_t mask[SELECTOR_CANDIDATES];
    struct selector_pick pick;

    for (int i = 0; i < SELECTOR_CANDIDATES; i++) {
        apply[i] = entries[i] && !entries[i]->unsupported(&l->abi) ? entries[i] : NULL;
        mask[i] = apply[i] != NULL;
    }
    time_all(apply, SELECTOR_CANDIDATES, &l->abi, &b, l->ns);
    l->pick[ORACLE] = 0;
    for (int i = 1; i < SELECTOR_CANDIDATES; i++)
        if (l->ns[i] < l->ns[l->pick[ORACLE]])
            l->pick[ORACLE] = i;
    if (!selector_select(&l->p, mask, &pick, 1, &l->rule))
        fail("no instance runs a layer of", "the network");
    l->pick[SELECTOR] = pick.instance;
    free_buffers(&b);
}

static int best_fixed(const struct layer *layers, int n)
{
    double least = INFINITY;
    int best = -1;

    for (int i = 0; i < SELECTOR_CANDIDATES; i++) {
        double sum = 0;

        for (int l = 0; l < n; l++)
            sum += layers[l].count * layers[l].ns[i];
        if (sum < least) {
            least = sum;
            best = i;
        }
    }
    return best;
}

/* Into an output of NaN, so that what it does not write is seen. */
static void run_afresh(const struct ks_abi_entry *e, const struct ks_abi_problem *q,
                       const struct buffers *b)
{
    for (size_t i = 0; i < b->n_c; i++)
        b->c[i] = NAN;
    (void)time_once(e, q, b);
}

static void measure_again(struct layer *l, const struct ks_abi_entry *const entries[])
{
    const struct ks_abi_entry *chosen[CHOICES];
    struct buffers b = make_buffers(&l->abi, entries);
    float *want = floats((int64_t)b.n_c);
    double most = 0, apart = 0;

    for (int k = 0; k < CHOICES; k++)
        chosen[k] = entries[l->pick[k]];
    time_all(chosen, CHOICES, &l->abi, &b, l->again_ns);
    run_afresh(chosen[FIXED], &l->abi, &b);
    memcpy(want, b.c, b.n_c * sizeof(*want));
    run_afresh(chosen[SELECTOR], &l->abi, &b);
    for (size_t i = 0; i < b.n_c; i++) {
        const double d = fabs((double)want[i] - (double)b.c[i]);

        most = fmax(most, fabs((double)want[i]));
        apart = d <= apart ? apart : d; /* a NaN stays */
        if (isnan(d))
            break;
    }
    l->difference = apart <= most && most > 0 ? apart / most : INFINITY;
    free(want);
    free_buffers(&b);
}

/* ---- result ---- */

static void print_network(const char *name, const struct layer *layers, int n, int network)
{
    double ms[CHOICES] = { 0 };
    int n_layers = 0;

    for (int l = 0; l < n; l++) {
        if (network >= 0 && layers[l].network != network)
            continue;
        n_layers += (int)layers[l].count;
        for (int k = 0; k < CHOICES; k++)
            ms[k] += layers[l].count * layers[l].again_ns[k] / 1e6;
    }
    printf("%-28s %6d  %9.2f %9.2f %9.2f   %6.3f  %6.3f\n", name, n_layers, ms[FIXED], ms[SELECTOR],
           ms[ORACLE], ms[ORACLE] / ms[SELECTOR], ms[ORACLE] / ms[FIXED]);
}

static void print_rules(const struct layer *layers, int n)
{
    double worst = 0;

    printf("\npicked by:");
    for (int rule = 0; strcmp(selector_rule_name(rule), "?") != 0; rule++) {
        int count = 0;

        for (int l = 0; l < n; l++)
            count += layers[l].rule == rule;
        if (count)
            printf(" %s %d", selector_rule_name(rule), count);
    }
    for (int l = 0; l < n; l++)
        worst = fmax(worst, layers[l].difference);
    printf("\nfixed: %s\n", selector_instance_name(layers[0].pick[FIXED]));
    printf("outputs of selector and fixed differ by at most %.1e of the largest value\n", worst);
    if (!(worst < 1e-4))
        fail("the outputs differ:", "a kernel is wrong");
}

int main(int argc, char **argv)
{
    static struct layer layers[LAYERS];
    const struct ks_abi_entry *entries[SELECTOR_CANDIDATES] = { NULL };
    int n = 0, fixed;

    if (argc < 3) {
        fprintf(stderr, "usage: dispatch MANIFEST NETWORK.csv...\n");
        return 2;
    }
    if (load_kernels(argv[1], entries) == 0)
        fail("no instance of the selector is ready in", argv[1]);
    for (int i = 2; i < argc; i++)
        n = read_network(argv[i], i, layers, n);
    for (int l = 0; l < n; l++)
        measure(&layers[l], entries);
    fixed = n ? best_fixed(layers, n) : -1;
    if (fixed < 0)
        fail("no layer, or no instance that runs all layers of", argv[2]);
    for (int l = 0; l < n; l++) {
        layers[l].pick[FIXED] = fixed;
        measure_again(&layers[l], entries);
    }
    printf("%-28s %6s  %9s %9s %9s   oracle's speed reached by\n", "", "",
           "ms per pass of all layers", "", "");
    printf("%-28s %6s  %9s %9s %9s   select   fixed\n", "network", "layers", "fixed", "selector",
           "oracle");
    for (int i = 2; i < argc; i++) {
        const char *base = strrchr(argv[i], '/');

        print_network(base ? base + 1 : argv[i], layers, n, i);
    }
    print_network("all", layers, n, -1);
    print_rules(layers, n);
    return 0;
}
