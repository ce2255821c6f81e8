/* SPDX-License-Identifier: MIT */
/* test_grid.c - the lazy grid: order, identity, what cannot run */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "fault.h"
#include "grid/grid.h"
#include "same_problems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA KS_SOURCE_DIR "/tests/data/grid/"
#define HEAD "{\"name\": \"g\", \"operator\": \"grouped_conv\", "
#define TINY "\"kernels\": [{\"config\": \"tiny.json\"}], "
#define WIDE "\"kernels\": [{\"config\": \"wide.json\"}], "

static int load(const char *text, struct ks_grid *g, struct ks_err *err)
{
    return ks_grid_load_text(text, DATA "g.json", g, err);
}

static void must_load(const char *text, struct ks_grid *g)
{
    struct ks_err err = { 0 };

    if (load(text, g, &err) < 0)
        fail_msg("%s", err.text);
}

static double work(const struct ks_problem *p)
{
    return (double)p->count * ks_problem_flops(p);
}

static void big_work_comes_first(void **state)
{
    struct ks_problem once[2];
    struct ks_grid g;

    (void)state;
    must_load(HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}]}", &g);
    assert_int_equal(g.n_problems, 5);
    assert_int_equal(g.n_instances, 9);
    assert_int_equal(g.n_excluded, 3);
    assert_int_equal(ks_grid_n_cells(&g), 45);
    for (uint32_t i = 1; i < g.n_problems; i++) {
        const struct ks_problem a = ks_problem_table_get(&g.problems, i - 1);
        const struct ks_problem b = ks_problem_table_get(&g.problems, i);

        assert_true(work(&a) > work(&b) || (work(&a) == work(&b) && a.id < b.id));
    }
    /* 9 x the work of "once" */
    assert_string_equal(ks_problem_table_name(&g.problems, 0), "often");
    assert_string_equal(ks_problem_table_name(&g.problems, 1), "large");
    assert_string_equal(ks_problem_table_name(&g.problems, 4), "small");
    once[0] = ks_problem_table_get(&g.problems, 2);
    once[1] = ks_problem_table_get(&g.problems, 3);
    assert_true(work(&once[0]) == work(&once[1])); /* "once" and its mirror image */
    ks_grid_release(&g);
}

static void ids_are_found(void **state)
{
    struct ks_grid g;

    (void)state;
    must_load(HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}]}", &g);
    for (uint32_t i = 0; i < g.n_problems; i++) {
        assert_int_equal(ks_grid_problem(&g, ks_problem_table_id(&g.problems, i)), i);
        assert_int_equal(ks_grid_problem(&g, ks_problem_table_id(&g.problems, i) + 1), -1);
    }
    for (uint32_t i = 0; i < g.n_instances; i++) {
        assert_int_equal(ks_grid_instance(&g, g.instances[i].id), i);
        assert_int_equal(ks_grid_instance(&g, g.instances[i].id - 1), -1);
    }
    assert_int_equal(ks_grid_problem(&g, 0), -1);
    assert_int_equal(ks_grid_instance(&g, UINT64_MAX), -1);
    ks_grid_release(&g);
}

static void the_digest_follows_the_content(void **state)
{
    static const struct {
        const char *text;
        bool is_same;
    } rows[] = {
        /* another order of lists, another limit: the same grid */
        { HEAD "\"kernels\": [{\"config\": \"tiny.json\", \"filter\": \"tile_m > 1\"}, "
               "{\"config\": \"tiny.json\", \"filter\": \"tile_m == 1\"}],"
               "\"problems\": [{\"file\": \"many.csv\"}], \"measure\": {\"max_ms\": 7}}",
          true },
        { HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}, {\"file\": \"many.csv\"}]}", true },
        { HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}], \"measure\": {\"cache\": "
                    "\"cold\"}}",
          false },
        { HEAD TINY "\"problems\": [{\"file\": \"many.csv\", \"sample\": 4}]}", false },
        { HEAD "\"kernels\": [{\"config\": \"tiny.json\", \"filter\": \"tile_m > 1\"}],"
               "\"problems\": [{\"file\": \"many.csv\"}]}",
          false },
    };
    struct ks_grid g;

    (void)state;
    must_load(HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}]}", &g);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_grid h;

        must_load(rows[i].text, &h);
        if ((h.digest == g.digest) != rows[i].is_same)
            fail_msg("%s", rows[i].text);
        ks_grid_release(&h);
    }
    ks_grid_release(&g);
}

static void lists_are_merged(void **state)
{
    struct ks_grid g;
    int64_t count = 0;

    (void)state;
    must_load(HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}, {\"file\": \"many.csv\"}]}", &g);
    for (uint32_t i = 0; i < g.n_problems; i++)
        count += ks_problem_table_get(&g.problems, i).count;
    assert_int_equal(g.n_problems, 5);
    assert_int_equal(count, 26); /* 2 x (9 + 1 + 1 + 1 + 1) */
    ks_grid_release(&g);
}

static void a_job_overrides_its_lists(void **state)
{
    struct ks_grid g;
    uint32_t seen = 0;

    (void)state;
    must_load(HEAD WIDE "\"problems\": [{\"file\": \"many.csv\", \"layout\": \"ngchw\", "
                        "\"dtype\": \"fp16\", \"directions\": [\"forward\", "
                        "\"backward_data\"], \"sample\": 7, \"seed\": 3}]}",
              &g);
    assert_int_equal(g.n_problems, 7); /* of 10 */
    for (uint32_t i = 0; i < g.n_problems; i++) {
        struct ks_problem p = ks_problem_table_get(&g.problems, i);
        struct ks_err err = { 0 };

        assert_int_equal(p.layout, KS_NGCHW);
        assert_int_equal(p.dtype, KS_FP16);
        seen |= 1u << p.direction;
        assert_int_equal(ks_problem_finish(&p, &err), 0);
        assert_true(p.id == ks_problem_table_id(&g.problems, i));
    }
    assert_int_equal(seen, 1 << KS_FORWARD | 1 << KS_BACKWARD_DATA);
    ks_grid_release(&g);
}

static void the_condition_is_fixed(void **state)
{
    struct ks_grid g;
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    must_load(HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}]}", &g);
    ks_condition_canonical(&g.job, &b);
    assert_string_equal(ks_buf_text(&b), "cache=warm data=exact+random clock=as_found protocol=2");
    assert_true(g.condition == ks_id64(b.data, b.len));
    assert_true(g.condition == 0x526be7c0e3356dce);
    ks_buf_release(&b);
    ks_grid_release(&g);
}

/* Every instance of `name` over every problem: the one reason, or none. */
static const char *reason(const struct ks_grid *g, const char *name, uint32_t i_problem)
{
    for (uint32_t i = 0; i < g->n_instances; i++)
        if (strcmp(g->instances[i].name, name) == 0)
            return ks_grid_unsupported(g, i_problem, i);
    fail_msg("no instance '%s'", name);
    return NULL;
}

static void what_cannot_run_says_why(void **state)
{
    struct ks_grid g;

    (void)state;
    assert_int_equal(setenv("KSWEEP_CPU_FLAGS", "fma", 1), 0);
    must_load(HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}]}", &g);
    assert_null(reason(&g, "t_slow_m1", 0));
    assert_null(reason(&g, "t_fast_m1", 0));
    assert_string_equal(reason(&g, "t_slow_m14", 0), "needs avx512f, this CPU lacks it");
    ks_grid_release(&g);

    must_load(HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}], \"device\": {\"arch\": "
                        "\"x86-64-v2\"}}",
              &g);
    assert_string_equal(reason(&g, "t_fast_m1", 0), "needs fma, x86-64-v2 lacks it");
    ks_grid_release(&g);

    must_load(HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}], \"device\": {\"backend\": "
                        "\"sim\"}}",
              &g);
    assert_null(reason(&g, "t_slow_m14", 0)); /* runs no code: lacks nothing */
    ks_grid_release(&g);
    assert_int_equal(unsetenv("KSWEEP_CPU_FLAGS"), 0);
}

static void check_reasons(const char *job, const char *const (*rows)[2], size_t n)
{
    struct ks_grid g;

    must_load(job, &g);
    for (size_t k = 0; k < n; k++) {
        const char *why = reason(&g, rows[k][0], 0);

        if (why ? !rows[k][1] || strcmp(why, rows[k][1]) != 0 : rows[k][1] != NULL)
            fail_msg("%s: '%s', want '%s'", rows[k][0], why ? why : "none",
                     rows[k][1] ? rows[k][1] : "none");
    }
    ks_grid_release(&g);
}

static uint32_t position(const struct ks_grid *g, const char *name)
{
    for (uint32_t i = 0; i < g->n_instances; i++)
        if (strcmp(g->instances[i].name, name) == 0)
            return i;
    fail_msg("no instance '%s'", name);
    return 0;
}

/* The cells of a problem are those of the named instances, and no others. */
static void check_cells(const struct ks_grid *g, uint32_t i_problem, const char *const names[2])
{
    uint32_t n = 0, n_named = 0;

    for (uint32_t i = 0; i < g->n_instances; i++)
        n += ks_grid_has_cell(g, i_problem, i);
    for (uint32_t k = 0; k < 2 && names[k]; k++, n_named++)
        if (!ks_grid_has_cell(g, i_problem, position(g, names[k])))
            fail_msg("%s has no cell of '%s'", ks_problem_table_name(&g->problems, i_problem),
                     names[k]);
    assert_int_equal(n, n_named);
    assert_int_equal(ks_grid_n_cells_of(g, i_problem), n);
}

/* Each of operator, direction, dtype, layout and ndim decides alone. */
static void a_cell_is_of_one_domain(void **state)
{
    static const struct {
        const char *name, *says; /* NULL: it is a cell */
    } rows[] = {
        { "w_forward_fp32_2d_8x8_False", NULL },
        { "w_forward_fp32_1d_8x8_False", "forward fp32 1d nhwgc" },
        { "w_forward_fp32_3d_8x8_False", "forward fp32 3d nhwgc" },
        { "w_bwd_data_fp32_2d_8x8_False", "backward_data fp32 2d nhwgc" },
        { "w_forward_bf16_2d_4x8_False", "forward bf16 2d nhwgc" },
        { "w_forward_fp8_2d_4x8_False", "forward fp8 2d nhwgc" },
        { "w_forward_fp32_2d_8x8_False_ngchw", "forward fp32 2d ngchw" },
    };
    struct ks_grid g;
    struct ks_buf b;
    char want[160];

    (void)state;
    ks_buf_init(&b);
    must_load(HEAD WIDE "\"problems\": [{\"file\": \"many.csv\"}]}", &g);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        uint32_t i = position(&g, rows[k].name);

        assert_int_equal(ks_grid_has_cell(&g, 0, i), rows[k].says == NULL);
        assert_int_equal(ks_grid_is_used(&g, i), rows[k].says == NULL);
        assert_int_equal(ks_grid_unsupported(&g, 0, i) != NULL, rows[k].says != NULL);
        if (!rows[k].says)
            continue;
        ks_buf_clear(&b);
        ks_grid_no_cell(&g, 0, i, &b);
        snprintf(want, sizeof want,
                 "instance is grouped_conv %s, problem is grouped_conv forward fp32 2d nhwgc",
                 rows[k].says);
        assert_string_equal(ks_buf_text(&b), want);
    }
    ks_buf_release(&b);
    ks_grid_release(&g);
}

/* A job of several directions and lists crosses each with its own instances only, on any device. */
static void other_pairs_are_no_cells(void **state)
{
    static const char *const names[2][2][2] = {
        { { "w_forward_fp32_2d_8x8_False" }, { "w_bwd_data_fp32_2d_8x8_False" } },
        { { "w_forward_bf16_2d_4x8_False" }, { NULL } },
    };
    static const char *const devices[] = { "{}", "{\"backend\": \"sim\"}" };

    (void)state;
    for (size_t d = 0; d < 2; d++) {
        struct ks_grid g;
        uint64_t n = 0;
        char job[512];

        snprintf(job, sizeof job,
                 HEAD WIDE "\"problems\": [{\"file\": \"many.csv\", \"directions\": [\"forward\", "
                           "\"backward_data\"]}, {\"file\": \"many.csv\", \"dtype\": \"bf16\", "
                           "\"directions\": [\"forward\", \"backward_data\"]}], \"device\": %s}",
                 devices[d]);
        must_load(job, &g);
        assert_int_equal(g.n_problems, 20);
        assert_int_equal(g.n_instances, 8);
        for (uint32_t p = 0; p < g.n_problems; p++) {
            check_cells(&g, p,
                        names[ks_problem_table_get(&g.problems, p).dtype == KS_BF16]
                             [ks_problem_table_get(&g.problems, p).direction == KS_BACKWARD_DATA]);
            n += ks_grid_n_cells_of(&g, p);
        }
        assert_int_equal(n, 15);
        assert_int_equal(ks_grid_n_cells(&g), 15); /* of 160 pairs */
        assert_int_equal(ks_grid_n_idle_instances(&g), 5);
        ks_grid_release(&g);
    }
}

/* One family for the GPUs of both makers, and for their emulator, which lacks nothing. */
static void a_family_of_gpus_serves_both(void **state)
{
#define GPU(backend, arch)                                                                         \
    HEAD "\"kernels\": [{\"config\": \"gpu.json\"}], \"problems\": [{\"file\": \"many.csv\"}], "   \
         "\"device\": {\"backend\": \"" backend "\", \"arch\": \"" arch "\"}}"
    static const struct {
        const char *job;
        const char *const want[3][2];
    } rows[] = {
        { GPU("hip", "gfx942"),
          { { "g_simt", NULL }, { "g_mfma", NULL }, { "g_mma", "matrix instruction of NVIDIA" } } },
        { GPU("cuda", "sm_90"),
          { { "g_simt", NULL }, { "g_mfma", "matrix instruction of AMD" }, { "g_mma", NULL } } },
        { GPU("hip", "emu"), { { "g_simt", NULL }, { "g_mfma", NULL }, { "g_mma", NULL } } },
        { GPU("hip", "gfx1100"),
          { { "g_simt", "family gpu does not support arch gfx1100" },
            { "g_mfma", "family gpu does not support arch gfx1100" },
            { "g_mma", "family gpu does not support arch gfx1100" } } },
        { GPU("host", "x86-64"),
          { { "g_simt", "family is for another backend than the job's device" },
            { "g_mfma", "family is for another backend than the job's device" },
            { "g_mma", "family is for another backend than the job's device" } } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_reasons(rows[i].job, rows[i].want, 3);
}

#define CK   "\"kernels\": [{\"config\": \"../ck_forward_2d.json\"}], "
#define BF16 "\"problems\": [{\"file\": \"many.csv\", \"dtype\": \"bf16\"}]"

/* Names and traits without code: every cell says why, but for the simulated device. */
static void a_family_may_have_no_kernel(void **state)
{
    static const char no_kernel[] =
        "family ck has no kernel of its own: name a plug-in that has it";
    static const char *const small[][2] = {
        { "grouped_conv_forward_bf16_2d_64x64x64_compv3_intrawave", no_kernel },
        { "grouped_conv_forward_bf16_2d_128x128x64_compv3_intrawave_gm2", no_kernel },
    };
    static const char *const simulated[][2] = {
        { "grouped_conv_forward_bf16_2d_64x64x64_compv3_intrawave", NULL },
        { "grouped_conv_forward_bf16_2d_128x128x64_compv3_intrawave_gm2", NULL },
    };
    struct ks_grid g;

    (void)state;
    check_reasons(HEAD CK BF16 "}", small, 2);
    check_reasons(HEAD CK BF16 ", \"device\": {\"backend\": \"sim\"}}", simulated, 2);
    must_load(HEAD CK BF16 "}", &g);
    assert_int_equal(g.n_instances, 1216);
    assert_int_equal(g.n_excluded, 4 * 16); /* compv4 on its four other tiles */
    for (uint32_t p = 0; p < g.n_problems; p++)
        for (uint32_t i = 0; i < g.n_instances; i++)
            assert_non_null(ks_grid_unsupported(&g, p, i));
    ks_grid_release(&g);
}

/* What verifies on a GPU is built with the instances, and no part of the grid. */
static void helpers_are_no_instances(void **state)
{
    static const char *const names[] = { "judge_fp32", "judge_fp16", "judge_bf16" };
    struct ks_grid host, g;

    (void)state;
    must_load(GPU("host", "x86-64"), &host);
    assert_int_equal(host.n_helpers, 0);
    assert_int_equal(host.job.isolate.batch, 20);
    must_load(GPU("hip", "emu"), &g);
    assert_int_equal(g.n_instances, 3);
    assert_int_equal(g.n_helpers, 3);
    assert_int_equal(ks_grid_n_built(&g), 6);
    assert_int_equal(ks_grid_n_cells(&g), 3 * g.n_problems);
    assert_true(g.digest == host.digest);
    assert_int_equal(g.job.isolate.batch, 100);
    snprintf(g.job.kernels[0].plugin, sizeof g.job.kernels[0].plugin, "/a/plug-in.so");
    assert_string_equal(ks_grid_plugin(&g, 0), "/a/plug-in.so");
    for (uint32_t i = 0; i < 3; i++) {
        const struct ks_instance *helper = &g.instances[g.n_instances + i];

        assert_string_equal(helper->name, names[i]);
        assert_string_equal(helper->missing, "");
        assert_int_equal(ks_grid_instance(&g, helper->id), -1);
        assert_string_equal(ks_grid_plugin(&g, g.n_instances + i), "");
    }
    ks_grid_release(&g);
    ks_grid_release(&host);
}

/* An installation without it is none for GPUs; the host needs nothing of it. */
static void helpers_are_installed(void **state)
{
    struct ks_grid g = { .n_problems = 77 };
    struct ks_err err = { 0 };

    (void)state;
    assert_int_equal(setenv("KSWEEP_DATA_DIR", DATA, 1), 0);
    assert_int_equal(load(GPU("hip", "gfx942"), &g, &err), KS_ENOENT);
    if (!strstr(err.text, "kernels that verify on a GPU: '" DATA "kernels/configs/gpu_judge.json"))
        fail_msg("%s", err.text);
    assert_int_equal(g.n_problems, 77);
    must_load(GPU("host", "x86-64"), &g);
    ks_grid_release(&g);
    assert_int_equal(unsetenv("KSWEEP_DATA_DIR"), 0);
    assert_int_equal(load(HEAD "\"kernels\": [{\"config\": \"../../../kernels/configs/"
                               "gpu_judge.json\"}], \"problems\": [{\"file\": \"many.csv\"}], "
                               "\"device\": {\"backend\": \"cuda\", \"arch\": \"sm_90\"}}",
                          &g, &err),
                     KS_EINVAL);
    if (!strstr(err.text, "duplicate instance 'judge_"))
        fail_msg("%s", err.text);
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *text, *says;
        int rc;
    } rows[] = {
        { HEAD TINY "\"problems\": [{\"file\": \"miopen-dirt.txt\"}]}",
          "problems[0]: ", KS_EFORMAT },
        { HEAD TINY "\"problems\": [{\"file\": \"miopen-dirt.txt\"}]}",
          "miopen-dirt.txt:1: unknown flag '--fil_high'", KS_EFORMAT },
        { HEAD TINY "\"problems\": [{\"file\": \"tiny.k\"}]}", "looks like no known problem list",
          KS_EFORMAT },
        { HEAD TINY "\"problems\": [{\"file\": \"empty.csv\"}]}", "hold no problem", KS_EINVAL },
        { HEAD "\"kernels\": [{\"config\": \"tiny.json\", \"filter\": \"tile == 1\"}],"
               "\"problems\": [{\"file\": \"many.csv\"}]}",
          "kernels[0]: filter of '", KS_EINVAL },
        { HEAD "\"kernels\": [{\"config\": \"tiny.json\"}, {\"config\": \"tiny.json\"}],"
               "\"problems\": [{\"file\": \"many.csv\"}]}",
          "kernels[1]: ", KS_EINVAL },
        { HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}], \"device\": {\"arch\": "
                    "\"x86-64-v9\"}}",
          "device.arch: unknown arch 'x86-64-v9'", KS_EINVAL },
        { HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}], \"device\": {\"arch\": "
                    "\"gfx942\"}}",
          "device.arch: 'gfx942' is no CPU of backend host: native, or a level of", KS_EINVAL },
        { HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}], \"device\": {\"backend\": "
                    "\"hip\"}}",
          "device.arch: 'native' cannot be resolved: this host shows no device of backend hip; "
          "name an arch, such as gfx942",
          KS_EINVAL },
        { HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}], \"device\": {\"backend\": "
                    "\"hip\", \"arch\": \"sm_90\"}}",
          "device.arch: 'sm_90' is no GPU of backend hip", KS_EINVAL },
        { HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}], \"device\": {\"backend\": "
                    "\"cuda\", \"arch\": \"emu\"}}",
          "device.arch: 'emu' is no GPU of backend cuda", KS_EINVAL },
        { HEAD TINY "\"problems\": [{\"file\": \"many.csv\", \"dtype\": \"bf16\"}]}",
          "g.json': no instance of the job computes any of its problems; for example, instance is "
          "grouped_conv forward fp32 nhwgc, problem is grouped_conv forward bf16 2d nhwgc: choose ",
          KS_EINVAL },
        { HEAD TINY "\"problems\": [{\"file\": \"many.csv\"}], \"measure\": {\"racing\": true}}",
          "racing was replaced by measure.rounds", KS_EINVAL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_grid g = { .n_problems = 77 };
        struct ks_err err = { 0 };
        int rc = load(rows[i].text, &g, &err);

        if (rc != rows[i].rc || !strstr(err.text, rows[i].says))
            fail_msg("%s: %d '%s', want '%s'", rows[i].text, rc, err.text, rows[i].says);
        assert_int_equal(g.n_problems, 77);
    }
}

/* The job a run stores must give the same grid anywhere. */
static void the_resolved_job_gives_the_same_grid(void **state)
{
    struct ks_grid g, h;
    struct ks_err err = { 0 };
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    if (ks_grid_load(DATA "job.json", &g, &err) < 0)
        fail_msg("%s", err.text);
    assert_ptr_equal(g.job.device.arch, g.job.device.arch_text);
    ks_job_print(&g.job, &b);
    if (ks_grid_load_text(ks_buf_text(&b), "/nowhere/job.json", &h, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(g.digest == h.digest);
    expect_same(&g.problems, &h.problems, g.n_problems);
    ks_buf_release(&b);
    ks_grid_release(&g);
    ks_grid_release(&h);
}

/* Every allocation fails once: an error each time, nothing half done, nothing left behind. */
static void memory_may_run_out(const char *job) /* NULL: of a file */
{
    unsigned n = 0;
    bool was_hit = true;

    for (; was_hit; n++) {
        struct ks_grid g = { .n_problems = 77 };
        struct ks_err err = { 0 };
        int rc;

        fault_arm(n);
        rc = job ? load(job, &g, &err) : ks_grid_load(DATA "job.json", &g, &err);
        was_hit = fault_disarm();
        if (was_hit && (rc >= 0 || g.n_problems != 77 || !err.text[0]))
            fail_msg("allocation %u: %d '%s'", n, rc, err.text);
        if (!was_hit)
            assert_int_equal(rc, 0);
        if (rc == 0)
            ks_grid_release(&g);
    }
    assert_true(n > 50);
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    memory_may_run_out(NULL);
    memory_may_run_out(GPU("cuda", "sm_90"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(big_work_comes_first),
        cmocka_unit_test(ids_are_found),
        cmocka_unit_test(the_digest_follows_the_content),
        cmocka_unit_test(lists_are_merged),
        cmocka_unit_test(a_job_overrides_its_lists),
        cmocka_unit_test(the_condition_is_fixed),
        cmocka_unit_test(what_cannot_run_says_why),
        cmocka_unit_test(a_cell_is_of_one_domain),
        cmocka_unit_test(other_pairs_are_no_cells),
        cmocka_unit_test(a_family_of_gpus_serves_both),
        cmocka_unit_test(a_family_may_have_no_kernel),
        cmocka_unit_test(helpers_are_no_instances),
        cmocka_unit_test(helpers_are_installed),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(memory_may_run_out_anywhere),
        cmocka_unit_test(the_resolved_job_gives_the_same_grid),
    };

    return cmocka_run_group_tests_name("grid", tests, NULL, NULL);
}
