/* SPDX-License-Identifier: MIT */
/* kernel_case.c - holds kernels of the host families to references of one problem, with guards */
#include "kernel_case.h"

#include "base/cpu_level.h"
#include "grid/cpu_flags.h"
#include "grid/domains.h"
#include "sanitized.h"

#include <dlfcn.h>
#include <sys/stat.h>

#define GUARD     256  /* bytes before and after a buffer */
#define MARK      0xa5 /* what a guard of an output holds */
#define NAN_BYTES 0xff /* a NaN of every type */

#define SANITIZED_SAMPLE 4 /* instances of a program's configs */

#ifdef KSWEEP_SANITIZED
/* Guards of inputs are poisoned too: a read that changes nothing is seen. */
void __asan_poison_memory_region(void const volatile *at, size_t n);
void __asan_unpoison_memory_region(void const volatile *at, size_t n);
#define POISON(at, n)   __asan_poison_memory_region(at, n)
#define UNPOISON(at, n) __asan_unpoison_memory_region(at, n)
#define SANITIZE        " -O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
#else
#define POISON(at, n)   ((void)(at), (void)(n))
#define UNPOISON(at, n) ((void)(at), (void)(n))
#define SANITIZE        ""
#endif

/* The data begin on a page. */
static struct guarded open_guarded(size_t n, uint8_t guard)
{
    struct guarded g = { .n = n, .guard = guard };
    g.all = aligned_alloc(4096, (4096 + n + GUARD + 4095) / 4096 * 4096);
    assert_non_null(g.all);
    g.data = g.all + 4096;
    memset(g.data - GUARD, guard, GUARD);
    memset(g.data + n, guard, GUARD);
    memset(g.data, NAN_BYTES, n);
    return g;
}

static void close_guarded(struct guarded *g)
{
    if (g->all) {
        UNPOISON(g->data - GUARD, GUARD);
        UNPOISON(g->data + g->n, GUARD);
    }
    free(g->all);
    *g = (struct guarded){ .n = 0 };
}

static bool is_intact(const struct guarded *g)
{
    for (size_t i = 0; i < GUARD; i++)
        if (g->data[i - GUARD] != g->guard || g->data[g->n + i] != g->guard)
            return false;
    return true;
}

static struct guarded open_input(const struct ks_problem *p, enum ks_data data, char operand,
                                 int64_t n)
{
    struct guarded g = open_guarded((size_t)n * ks_dtype_bytes(p->dtype), NAN_BYTES);
    ks_problem_inputs(p, data, operand, g.data);
    POISON(g.data - GUARD, GUARD);
    POISON(g.data + g.n, GUARD);
    return g;
}

void kernel_case_open(struct kernel_case *c, const struct ks_problem *p)
{
    const struct ks_operator *op = ks_operators[p->op];
    struct ks_err err;
    *c = (struct kernel_case){ .p = *p, .n = op->extents(p) };
    const size_t n = (size_t)c->n.c;
    op->to_abi(p, &c->abi);
    for (int d = 0; d < 2; d++) {
        c->a[d] = open_input(p, (enum ks_data)d, 'a', c->n.a);
        c->b[d] = open_input(p, (enum ks_data)d, 'b', c->n.b);
    }
    c->want = malloc(n * ks_dtype_bytes(p->dtype));
    c->real = malloc(n * sizeof(*c->real));
    c->abs = malloc(n * sizeof(*c->abs));
    assert_true(c->want && c->real && c->abs);
    must(op->reference(p, c->a[KS_DATA_EXACT].data, c->b[KS_DATA_EXACT].data, c->real, NULL, &err),
         &err);
    for (size_t i = 0; i < n; i++)
        ks_element_set(c->want, (int64_t)i, p->dtype, c->real[i]);
    must(op->reference(p, c->a[KS_DATA_RANDOM].data, c->b[KS_DATA_RANDOM].data, c->real, c->abs,
                       &err),
         &err);
}

void kernel_case_close(struct kernel_case *c)
{
    for (int d = 0; d < 2; d++) {
        close_guarded(&c->a[d]);
        close_guarded(&c->b[d]);
    }
    free(c->want);
    free(c->real);
    free(c->abs);
}

void kernel_case_fail(const struct kernel_case *c, const struct ks_abi_entry *e, const char *what)
{
    struct ks_buf text;
    ks_buf_init(&text);
    ks_problem_canonical(&c->p, &text);
    fail_msg("%s: %s on %s", e->name, what, ks_buf_text(&text));
}

static void check_output(const struct kernel_case *c, const struct ks_abi_entry *e,
                         enum ks_data data, const void *got)
{
    static const struct ks_shape no_shape = { .n_dims = 0 };
    const size_t n = (size_t)c->n.c;
    struct ks_verdict v;
    char what[160];
    if (data == KS_DATA_EXACT) {
        ks_verify_exact(got, c->want, n, c->p.dtype, &no_shape, &v);
    } else {
        const struct ks_tolerance t = ks_tolerance_of(
            c->p.dtype, ks_operators[c->p.op]->reduction(&c->p), ks_u_acc(KS_NUMERICS_FP32));
        ks_verify_real(got, c->real, c->abs, n, c->p.dtype, &t, &no_shape, &v);
    }
    if (v.n_wrong == 0)
        return;
    snprintf(what, sizeof(what), "%s data: %llu of %zu wrong, element %lld is %g, not %g",
             data == KS_DATA_EXACT ? "exact" : "random", (unsigned long long)v.n_wrong, n,
             (long long)v.mismatch[0].index, v.mismatch[0].got, v.mismatch[0].want);
    kernel_case_fail(c, e, what);
}

void kernel_case_run_on(const struct kernel_case *c, const struct ks_abi_entry *e,
                        const struct ks_abi_gpu *gpu, enum ks_data data, void *got_out)
{
    const int64_t bytes = e->workspace_bytes(&c->abi);
    assert_true(bytes >= 0);
    struct guarded out = open_guarded((size_t)c->n.c * ks_dtype_bytes(c->p.dtype), MARK);
    struct guarded ws = open_guarded((size_t)bytes, MARK);
    const struct ks_abi_buffers buf = {
        c->a[data].data, c->b[data].data, out.data, bytes ? ws.data : NULL, NULL, gpu
    };
    const int rc = e->run(&c->abi, &buf);
    if (rc != 0) {
        char what[60];
        snprintf(what, sizeof(what), "run() returned %d", rc);
        kernel_case_fail(c, e, what);
    }
    if (!is_intact(&out))
        kernel_case_fail(c, e, "wrote outside the output");
    if (!is_intact(&ws))
        kernel_case_fail(c, e, "wrote outside the workspace");
    check_output(c, e, data, out.data);
    if (got_out)
        memcpy(got_out, out.data, out.n);
    close_guarded(&ws);
    close_guarded(&out);
}

void kernel_case_run(const struct kernel_case *c, const struct ks_abi_entry *e)
{
    kernel_case_run_on(c, e, NULL, KS_DATA_EXACT, NULL);
    kernel_case_run_on(c, e, NULL, KS_DATA_RANDOM, NULL);
}

/* Compilers that add the sanitizers; -O1, because -O3 takes minutes then. One compiler for all:
 * two run-time libraries do not live in one process. */
static void sanitize(const struct place *p)
{
    char path[600];
    if (!IS_SANITIZED)
        return;
    put_file(p, "sanitizing-cc", "#!/bin/sh\nexec gcc \"$@\"" SANITIZE "\n");
    snprintf(path, sizeof(path), "%s/sanitizing-cc", p->dir);
    assert_int_equal(chmod(path, 0700), 0);
    assert_int_equal(setenv("KSWEEP_CC", path, 1), 0);
    assert_int_equal(setenv("KSWEEP_CC_CLANG", path, 1), 0);
}

static void put_job(const struct place *p, const struct ks_problem *problem,
                    const char *const *configs)
{
    struct ks_buf job, csv;
    ks_buf_init(&job);
    ks_buf_init(&csv);
    ks_problem_csv_header(problem->op, &csv);
    ks_problem_csv_row(problem, &csv);
    put_file(p, "one.csv", ks_buf_text(&csv));
    ks_buf_printf(&job, "{\"name\": \"t\", \"operator\": \"%s\", \"kernels\": [",
                  ks_operators[problem->op]->name);
    for (int i = 0; configs[i]; i++)
        ks_buf_printf(&job, "%s{\"config\": \"%s/kernels/configs/%s\"}", i ? ", " : "",
                      KS_SOURCE_DIR, configs[i]);
    ks_buf_printf(&job, "], \"problems\": [{\"file\": \"one.csv\"}], "
                        "\"device\": {\"backend\": \"host\"}}");
    put_file(p, "job.json", ks_buf_text(&job));
    ks_buf_release(&job);
    ks_buf_release(&csv);
}

bool kernel_tests_are_whole(void)
{
    const char *sample = getenv("KSWEEP_KERNEL_SAMPLE");
    return sample && strcmp(sample, "all") == 0;
}

bool kernel_build_is_complete(void)
{
    return kernel_tests_are_whole() && !IS_SANITIZED;
}

/* What kernels are written for separately. */
static bool is_form(const struct ks_trait *t)
{
    static const char *const names[] = { "pipeline", "dtype", "layout", "ndim" };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(t->name, names[i]) == 0)
            return true;
    return false;
}

/* Whether one of the first n instances has the values of `one` for traits t and u. */
static bool is_known(const struct ks_grid *g, const struct ks_instance *one, uint32_t n, uint32_t t,
                     uint32_t u)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct ks_instance *other = &g->instances[i];
        if (other->i_family == one->i_family && other->value[t] == one->value[t] &&
            other->value[u] == one->value[u])
            return true;
    }
    return false;
}

/* How many values of a trait, and pairs of values of two traits of form, the instance has that none
 * of the first n has. */
static uint32_t count_news(const struct ks_grid *g, const struct ks_instance *one, uint32_t n)
{
    const struct ks_family *f = &g->families[one->i_family];
    uint32_t news = 0;
    for (uint32_t t = 0; t < f->n_traits; t++)
        for (uint32_t u = 0; u <= t; u++)
            if (t == u || (is_form(&f->traits[t]) && is_form(&f->traits[u])))
                news += !is_known(g, one, n, t, u);
    return news;
}

/* All instances take minutes. The one with the most that is new comes next, so that few are enough.
 */
static void keep_every_value(struct ks_grid *g)
{
    uint32_t n = 0;
    for (;;) {
        uint32_t best = 0, most = 0;
        for (uint32_t i = n; i < g->n_instances; i++) {
            const uint32_t news = count_news(g, &g->instances[i], n);
            if (news > most)
                best = i, most = news;
        }
        if (most == 0)
            break;
        const struct ks_instance kept = g->instances[best];
        g->instances[best] = g->instances[n];
        g->instances[n++] = kept;
    }
    g->n_instances = n;
}

/* At most `most` of those that this CPU runs, evenly spread. */
static void keep_some(struct ks_grid *g, uint32_t most)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < g->n_instances; i++)
        if (!*g->instances[i].missing)
            g->instances[all++] = g->instances[i];
    g->n_instances = all < most ? all : most;
    for (uint32_t i = 0; i < g->n_instances; i++)
        g->instances[i] = g->instances[i * all / g->n_instances];
}

/* What sanitizers find depends on the source more than on its traits. */
static void thin_out(struct ks_grid *g)
{
    const uint32_t all = g->n_instances;
    if (kernel_build_is_complete())
        return;
    keep_every_value(g);
    if (IS_SANITIZED && !kernel_tests_are_whole())
        keep_some(g, SANITIZED_SAMPLE);
    print_message("# %u of %u instances; tests/kernels.sh host runs all\n", g->n_instances, all);
}

void kernel_build(struct place *p, const struct ks_problem *problem, const char *const *configs)
{
    char path[600];
    struct ks_err err;
    const struct ks_build_options opt = { .unit_size = 20 };
    put_job(p, problem, configs);
    must(ks_path_join(path, sizeof(path), p->dir, "job.json", &err), &err);
    must(ks_grid_load(path, &p->grid, &err), &err);
    p->has_grid = true;
    ks_domains_free(p->grid.domains); /* every instance is built, whatever the job's problem */
    p->grid.domains = NULL;
    thin_out(&p->grid);
    sanitize(p);
    plan(p, &opt);
    (void)build_all(p);
}

bool kernel_cpu_has_choice(const char *what)
{
    struct ks_buf level, here;
    struct ks_err err;
    bool has_all = true;
    ks_buf_init(&level);
    ks_buf_init(&here);
    must(ks_cpu_flags_read("x86-64-v3", &level, &err), &err);
    must(ks_cpu_flags_read("native", &here, &err), &err);
    for (char *rest = (char *)level.data, *word; (word = strsep(&rest, " "));)
        has_all = has_all && ks_cpu_flags_has(ks_buf_text(&here), word);
    if (!has_all)
        print_message("# this CPU is no x86-64-v3: not checked: %s\n", what);
    ks_buf_release(&here);
    ks_buf_release(&level);
    return has_all;
}

const struct ks_abi_entry *kernel_entry(const struct place *p, uint32_t i)
{
    const struct ks_artefact *a = ks_build_artefact(p->build, i);
    if (a->state == KS_ART_UNSUPPORTED)
        return NULL;
    if (a->state != KS_ART_READY)
        fail_msg("%s: %s", p->grid.instances[i].name, a->reason);
    void *so = dlopen(a->path, RTLD_NOW | RTLD_LOCAL);
    if (!so)
        fail_msg("%s", dlerror());
    const struct ks_abi_table *t = dlsym(so, KS_ABI_SYMBOL);
    assert_non_null(t);
    for (uint32_t k = 0; k < t->n_entries; k++)
        if (strcmp(t->entries[k].name, a->entry) == 0)
            return &t->entries[k];
    fail_msg("no entry '%s'", a->entry);
    return NULL;
}

static int setup(void **state)
{
    *state = open_place(*state);
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    *state = p->warden;
    close_place(p);
    return 0;
}

int kernel_tests_run(const char *name, CMUnitTestFunction test)
{
    struct ks_warden *warden = NULL;
    struct ks_err err;
    if (ks_warden_start(&warden, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(test, setup, teardown, warden),
    };
    const int rc = cmocka_run_group_tests_name(name, tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
