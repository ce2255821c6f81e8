/* SPDX-License-Identifier: MIT */
/* test_plain.c - the plain form of a grid: it comes back, version 1 is read, mistakes are named */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "base/lines.h"
#include "fault.h"
#include "grid/grid_impl.h"
#include "grid/job_section.h"
#include "grid/plain.h"
#include "tests/unit/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN KS_SOURCE_DIR "/tests/golden/grid-v1.grid"

static void must(int rc, const struct ks_err *err)
{
    if (rc < 0)
        fail_msg("%s", err->text);
}

static void load_job(const char *name, const char *backend, const char *arch, struct ks_grid *g)
{
    struct ks_job *job = calloc(1, sizeof *job);
    char path[600];
    struct ks_err err = { 0 };

    assert_non_null(job);
    snprintf(path, sizeof path, KS_SOURCE_DIR "/%s", name);
    must(ks_job_load(path, job, &err), &err);
    must(ks_job_choose(job, backend, arch, &err), &err);
    must(ks_grid_load_job(job, g, &err), &err);
    assert_null(job->kernels);
    free(job);
}

static void write_grid(const struct ks_grid *g, struct ks_buf *text)
{
    struct ks_err err = { 0 };

    ks_buf_init(text);
    must(ks_plain_write(g, text, &err), &err);
}

/* ---- equality ---- */

static void compare_traits(const struct ks_family *a, const struct ks_family *b)
{
    assert_int_equal(a->n_traits, b->n_traits);
    for (uint32_t t = 0; t < a->n_traits; t++) {
        const struct ks_trait *x = &a->traits[t], *y = &b->traits[t];

        assert_string_equal(x->name, y->name);
        assert_string_equal(x->macro, y->macro);
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->role, y->role);
        assert_int_equal(x->i_default, y->i_default);
        assert_int_equal(x->n_values, y->n_values);
        for (uint32_t v = 0; v < x->n_values; v++) {
            assert_true(x->value[v] == y->value[v]);
            assert_string_equal(x->text[v], y->text[v]);
        }
    }
}

static void compare_family(const struct ks_family *a, const struct ks_family *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->op, b->op);
    assert_int_equal(a->i_op, b->i_op);
    assert_string_equal(a->backend, b->backend);
    assert_string_equal(a->source, b->source);
    assert_string_equal(a->extra_flags, b->extra_flags);
    assert_string_equal(a->link_flags, b->link_flags);
    assert_string_equal(a->archs, b->archs);
    compare_traits(a, b);
}

static void texts_of(const struct ks_grid *g, uint32_t at, struct ks_buf *out)
{
    const struct ks_instance *i = &g->instances[at];
    const struct ks_family *f = &g->families[i->i_family];
    const char *compiler = ks_instance_compiler(f, i);

    ks_buf_clear(out);
    ks_instance_canonical(f, i, out);
    ks_buf_printf(out, "|");
    ks_instance_flags(f, i, out);
    ks_buf_printf(out, "|");
    ks_instance_arguments(f, i, out);
    ks_buf_printf(out, "|");
    ks_instance_domain_text(f, i, out);
    ks_buf_printf(out, "|%s|%d|%u|%s|%s", compiler ? compiler : "", ks_instance_numerics(f, i),
                  ks_instance_threads(f, i), i->missing, ks_grid_plugin(g, at));
}

static void compare_instances(const struct ks_grid *a, const struct ks_grid *b)
{
    struct ks_buf x, y;

    ks_buf_init(&x);
    ks_buf_init(&y);
    for (uint32_t i = 0; i < ks_grid_n_built(a); i++) {
        assert_true(a->instances[i].id == b->instances[i].id);
        assert_string_equal(a->instances[i].name, b->instances[i].name);
        texts_of(a, i, &x);
        texts_of(b, i, &y);
        assert_string_equal(ks_buf_text(&x), ks_buf_text(&y));
    }
    ks_buf_release(&x);
    ks_buf_release(&y);
}

static void compare_cells(const struct ks_grid *a, const struct ks_grid *b)
{
    for (uint32_t p = 0; p < a->n_problems; p++) {
        assert_true(ks_problem_table_id(&a->problems, p) == ks_problem_table_id(&b->problems, p));
        assert_true(ks_problem_table_get(&a->problems, p).count ==
                    ks_problem_table_get(&b->problems, p).count);
        assert_string_equal(ks_problem_table_name(&a->problems, p),
                            ks_problem_table_name(&b->problems, p));
        for (uint32_t i = 0; i < a->n_instances; i++) {
            const char *x = ks_grid_unsupported(a, p, i), *y = ks_grid_unsupported(b, p, i);

            assert_string_equal(x ? x : "", y ? y : "");
        }
    }
}

static void compare_jobs(const struct ks_job *a, const struct ks_job *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->why, b->why);
    assert_string_equal(a->op, b->op);
    for (int s = 0; s < KS_JOB_N_SECTIONS; s++)
        for (const struct ks_opt *o = ks_job_sections[s].opts; o->name; o++) {
            char x[128], y[128];

            ks_opt_print(o, (const char *)a + ks_job_sections[s].offset, x, sizeof x);
            ks_opt_print(o, (const char *)b + ks_job_sections[s].offset, y, sizeof y);
            assert_string_equal(x, y);
        }
}

static void compare_grids(const struct ks_grid *a, const struct ks_grid *b)
{
    assert_int_equal(a->n_problems, b->n_problems);
    assert_int_equal(a->n_instances, b->n_instances);
    assert_int_equal(a->n_helpers, b->n_helpers);
    assert_int_equal(a->n_families, b->n_families);
    assert_true(a->condition == b->condition && a->digest == b->digest);
    compare_jobs(&a->job, &b->job);
    for (uint32_t f = 0; f < a->n_families; f++)
        compare_family(&a->families[f], &b->families[f]);
    compare_instances(a, b);
    compare_cells(a, b);
}

/* A file that was written for one device is read for each of the others. */
static void what_is_written_comes_back(void **state)
{
    static const struct {
        const char *job, *backend, *arch;
    } rows[] = {
        { "tests/gpu/conformance.json", "cuda", "sm_90" },
        { "tests/gpu/conformance.json", "hip", "gfx942" },
        { "tests/gpu/conformance.json", "hip", "gfx1200" },
        { "tests/gpu/conformance.json", "hip", "emu" },
        { "tests/gpu/verify_forward.json", "cuda", "sm_80" },
        { "tests/gpu/verify_backward_weight.json", "hip", "gfx90a" },
        { "jobs/gpu_gemm.json", "cuda", "sm_120" },
        { "tests/data/tiny.json", "host", "x86-64-v4" },
        { "tests/data/tiny.json", "host", "x86-64" },
        { "tests/data/tiny.json", "sim", "any" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_grid g, other, again;
        struct ks_err err = { 0 };
        struct ks_buf text;
        const bool is_gpu = strncmp(rows[i].job, "tests/data", 10) != 0;

        load_job(rows[i].job, rows[i].backend, rows[i].arch, &g);
        load_job(rows[i].job, is_gpu ? "cuda" : "host", is_gpu ? "sm_70" : "x86-64-v3", &other);
        other.job.isolate.batch = g.job.isolate.batch;
        write_grid(&other, &text);
        must(ks_plain_read(ks_buf_text(&text), text.len, "f", rows[i].backend, rows[i].arch, &again,
                           &err),
             &err);
        compare_grids(&g, &again);
        ks_grid_release(&again);
        ks_grid_release(&other);
        ks_buf_release(&text);
        write_grid(&g, &text);
        must(ks_plain_read(ks_buf_text(&text), text.len, "f", NULL, NULL, &again, &err), &err);
        compare_grids(&g, &again);
        ks_grid_release(&again);
        ks_buf_release(&text);
        ks_grid_release(&g);
    }
}

/* Of a job that has this entry in its kernels. */
static void load_kernels(const char *kernels, struct ks_grid *g)
{
    struct ks_err err = { 0 };
    struct ks_buf job;

    ks_buf_init(&job);
    ks_buf_printf(&job,
                  "{ \"name\": \"k\", \"operator\": \"grouped_conv\", \"kernels\": [ %s ],"
                  " \"problems\": [ { \"file\": \"" KS_SOURCE_DIR "/tests/data/tiny.csv\" } ] }",
                  kernels);
    must(ks_grid_load_text(ks_buf_text(&job), "/k.json", g, &err), &err);
    ks_buf_release(&job);
}

/* With the first `from` replaced, and a digest that is right again. */
static void replaced(const struct ks_buf *text, const char *from, const char *to,
                     struct ks_buf *out)
{
    const char *at = strstr(ks_buf_text(text), from);

    if (!at)
        fail_msg("'%s' is not there", from);
    ks_buf_init(out);
    ks_buf_put(out, text->data, (size_t)(at - ks_buf_text(text)));
    ks_buf_printf(out, "%s%s", to, at + strlen(from));
    out->len -= strlen("end 0123456789abcdef\n");
    ks_lines_finish(out);
}

/* Of a family under OpenMP: how many threads, and what the linker gets. */
static void threads_come_back(void **state)
{
    static const char config[] =
        "{ \"family\": \"" KS_SOURCE_DIR "/tests/fake/threads.family.json\","
        "  \"instances\": [ { \"threads\": [1, 2] } ] }";
    char dir[TEMP_DIR_MAX], path[TEMP_DIR_MAX + 16], kernels[TEMP_DIR_MAX + 48];
    struct ks_grid g, again;
    struct ks_buf text, wrong;
    struct ks_err err = { 0 };

    (void)state;
    temp_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof path, "%s/threads.json", dir);
    must(ks_file_replace(path, config, sizeof config - 1, &err), &err);
    snprintf(kernels, sizeof kernels, "{ \"config\": \"%s\" }", path);
    load_kernels(kernels, &g);
    write_grid(&g, &text);
    must(ks_plain_read(ks_buf_text(&text), text.len, "f", NULL, NULL, &again, &err), &err);
    compare_grids(&g, &again);
    assert_true(ks_grid_has_threads(&again));
    assert_string_equal(again.families[0].link_flags, "-fopenmp");
    replaced(&text, "\nvalue 2 2\n", "\nvalue 2 0\n", &wrong);
    ks_grid_release(&again);
    assert_int_equal(ks_plain_read(ks_buf_text(&wrong), wrong.len, "f", NULL, NULL, &again, &err),
                     KS_EFORMAT);
    assert_non_null(strstr(err.text, ": 0 is not from 1 to 4096"));
    ks_buf_release(&wrong);
    ks_buf_release(&text);
    ks_grid_release(&g);
    temp_dir_remove(dir);
}

/* A family of a T1 file has no operator, so that the reader could not take it. */
static void t1_stays_at_home(void **state)
{
    struct ks_grid g;
    struct ks_err err = { 0 };
    struct ks_buf text;

    (void)state;
    load_kernels("{ \"config\": \"" KS_SOURCE_DIR "/kernels/configs/host_forward_quick.json\" },"
                 "{ \"config\": \"" KS_SOURCE_DIR "/tests/data/t1/small.json\" }",
                 &g);
    ks_buf_init(&text);
    assert_int_equal(ks_plain_write(&g, &text, &err), KS_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "family 't1_small_kernel' comes from a T1 file"));
    assert_int_equal(text.len, 0);
    ks_buf_release(&text);
    ks_grid_release(&g);
}

static void plug_ins_stay_at_home(void **state)
{
    struct ks_grid g;
    struct ks_err err = { 0 };
    struct ks_buf text;

    (void)state;
    load_job("tests/data/tiny.json", "host", "x86-64-v3", &g);
    snprintf(g.job.kernels[0].plugin, sizeof g.job.kernels[0].plugin, "/x/plug.so");
    ks_buf_init(&text);
    assert_int_equal(ks_plain_write(&g, &text, &err), KS_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "'/x/plug.so' cannot be exported"));
    ks_buf_release(&text);
    ks_grid_release(&g);
}

/* ---- version 1, as it was written once ---- */

static void read_golden(struct ks_buf *text)
{
    struct ks_err err = { 0 };

    ks_buf_init(text);
    must(ks_file_read(GOLDEN, text, &err), &err);
}

static void version_1_is_read(void **state)
{
    struct ks_grid g;
    struct ks_err err = { 0 };

    (void)state;
    must(ks_plain_load(GOLDEN, NULL, NULL, &g, &err), &err);
    assert_string_equal(g.job.name, "tiny");
    assert_string_equal(g.job.device.arch, "x86-64-v3");
    assert_int_equal(g.job.measure.warmup_ms, 1);
    assert_int_equal(g.job.contention.retries, 0);
    assert_int_equal(g.job.isolate.memory_mib, 1024);
    assert_int_equal(g.n_problems, 3);
    assert_int_equal(g.n_instances, 5);
    assert_int_equal(g.n_helpers, 0);
    assert_string_equal(ks_problem_table_name(&g.problems, 0), "tiny.3x3");
    assert_string_equal(g.instances[0].name, "grouped_conv_forward_fp32_2d_6x2_indirect_vb32");
    assert_true(g.instances[0].id == 0x125299a2a69553c0u);
    assert_true(ks_path_exists(g.families[0].source));
    assert_null(ks_grid_unsupported(&g, 0, 0));
    ks_grid_release(&g);
}

/* The same of the golden file. */
static void changed(const char *from, const char *to, struct ks_buf *out)
{
    struct ks_buf text;

    read_golden(&text);
    replaced(&text, from, to, out);
    ks_buf_release(&text);
}

/* An older program measured in another way: the grid is the same, its condition is ours. */
static void another_protocol_is_read(void **state)
{
    static const char old[] = "cache=warm data=exact+random clock=as_found protocol=0";
    char hex[17];
    struct ks_grid g, again;
    struct ks_err err = { 0 };
    struct ks_buf text, canonical;
    uint64_t want = 0;
    const char *at;

    (void)state;
    must(ks_plain_load(GOLDEN, NULL, NULL, &g, &err), &err);
    must(ks_grid_digest(&g, ks_id64(old, strlen(old)), &want, &err), &err);
    changed("protocol=1\"", "protocol=0\"", &text);
    assert_int_equal(ks_plain_read(ks_buf_text(&text), text.len, "f", NULL, NULL, &again, &err),
                     KS_EFORMAT);
    assert_non_null(strstr(err.text, "f: its problems and instances have digest "));
    ks_hex64(want, hex);
    at = strstr(ks_buf_text(&text), "\ndigest ");
    assert_non_null(at);
    memcpy(text.data + (at - ks_buf_text(&text)) + 8, hex, 16);
    text.len -= strlen("end 0123456789abcdef\n");
    ks_lines_finish(&text);
    must(ks_plain_read(ks_buf_text(&text), text.len, "f", NULL, NULL, &again, &err), &err);
    ks_buf_init(&canonical);
    ks_condition_canonical(&again.job, &canonical);
    assert_true(again.condition == ks_id64(canonical.data, canonical.len));
    assert_true(again.digest == g.digest);
    ks_buf_release(&canonical);
    ks_buf_release(&text);
    ks_grid_release(&again);
    ks_grid_release(&g);
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *from, *to, *want;
    } rows[] = {
        { "ksweep-grid 1", "ksweep-grid 2", "f: version 2 of ksweep-grid; this program reads 1" },
        { "\njob ", "\nwork ", "f:2: expected a line 'job', found 'work'" },
        { "device host x86-64-v3", "device host gfx942", "f:3: " },
        { "device host ", "device gpu ", "f:3: " },
        { "set measure.warmup_ms ", "set measure.warmup ",
          "f:4: unknown setting 'measure.warmup'" },
        { "set measure.warmup_ms 1", "set measure.warmup_ms soon", "f:4: " },
        { "\ndigest ", "\ndigest 0", "is not 16 hex digits" },
        { "\nfamily ", "\nfamily \"a b\" ", "has 5 words, expected 4" },
        { "\nfamily host_forward", "\nfamily \"host\\n\"", "is not a word" },
        { "grouped_conv host host/", "grouped_conv host gone/", "no kernel source '" },
        { "grouped_conv host host/", "grouped_conv card host/", "unknown value 'card'" },
        { "grouped_conv host host/", "conv host host/", "conv" },
        { "\narchs \"\"", "\narchs \"a  b\"", "is not a list of names separated by single blanks" },
        { "\npattern ", "\npattern {nothing}", "'{nothing}' is not a trait" },
        { "\ntrait ", "\ntrait name int none \"\" \"\" 0\ntrait ", "trait 'name' has no value 0" },
        { "\ndomain forward", "\ndomain sideways", "unknown direction 'sideways'" },
        { "\ndomain forward", "\ndomain -", "unknown direction '-'" },
        { "\nneed ", "\nneed a-", "is not a word" },
        { "\ninstance ", "\ninstance 0", "is not 16 hex digits" },
        { "\ninstance 125299a2a69553c0 0 ", "\ninstance 125299a2a69553c0 1 ",
          "1 is not from 0 to 0" },
        { "\ninstance 125299a2a69553c0 0 ", "\ninstance 125299a2a69553c0 0 x",
          "is not a hexadecimal number" },
        { "\ninstance 125299a2a69553c0 ", "\ninstance 0000000000000001 ", "has another id here" },
        { "\ninstance 125299a2a69553c0 ", "\nhelper 125299a2a69553c0 ",
          "expected an instance before this line" },
        { "\nproblem ", "\ncell ", "expected a problem before this line" },
        { "\nproblem ", "\nproblem 0 x a=1\nproblem ", "0 is not from 1 to" },
        { "operator=grouped_conv", "operator=conv", "unknown operator 'conv'" },
        { "\nend ", "\nmore 1\nend ", "unexpected line 'more'" },
        { "cache=warm", "cache=cold", "f: its problems and instances have digest " },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_grid g = { .n_problems = 77 };
        struct ks_err err = { 0 };
        struct ks_buf text;
        int rc;

        changed(rows[i].from, rows[i].to, &text);
        rc = ks_plain_read(ks_buf_text(&text), text.len, "f", NULL, NULL, &g, &err);
        if (rc == 0 || !strstr(err.text, rows[i].want) || strncmp(err.text, "f:", 2) != 0)
            fail_msg("'%s': %d '%s', wanted '%s'", rows[i].to, rc, err.text, rows[i].want);
        assert_int_equal(g.n_problems, 77);
        ks_buf_release(&text);
    }
}

static void lines_stand_once(void **state)
{
    static const char *const keys[] = { "\nproblem ", "\ninstance " };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct ks_buf text, twice;
        struct ks_grid g;
        struct ks_err err = { 0 };
        char line[2000];
        const char *at;

        read_golden(&text);
        at = strstr(ks_buf_text(&text), keys[i]);
        assert_non_null(at);
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at + 1, "\n") + 1, at);
        ks_buf_release(&text);
        snprintf(line + strlen(line), sizeof line - strlen(line), "%s", keys[i]);
        changed(keys[i], line, &twice);
        assert_int_equal(ks_plain_read(ks_buf_text(&twice), twice.len, "f", NULL, NULL, &g, &err),
                         KS_EFORMAT);
        assert_non_null(strstr(err.text, "f: duplicate "));
        ks_buf_release(&twice);
    }
}

static void memory_may_run_out(void **state)
{
    struct ks_buf text;
    bool is_done = false;

    (void)state;
    read_golden(&text);
    for (unsigned n = 0; !is_done; n += 1 + n / 16) {
        struct ks_grid g;
        struct ks_err err = { 0 };
        int rc;

        fault_arm(n);
        rc = ks_plain_read(ks_buf_text(&text), text.len, "f", NULL, NULL, &g, &err);
        is_done = !fault_disarm();
        if (rc != (is_done ? 0 : KS_ENOMEM))
            fail_msg("allocation %u: %d '%s'", n, rc, err.text);
        if (rc == 0)
            ks_grid_release(&g);
    }
    ks_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_comes_back), cmocka_unit_test(threads_come_back),
        cmocka_unit_test(t1_stays_at_home),           cmocka_unit_test(plug_ins_stay_at_home),
        cmocka_unit_test(version_1_is_read),          cmocka_unit_test(another_protocol_is_read),
        cmocka_unit_test(mistakes_are_named),         cmocka_unit_test(lines_stand_once),
        cmocka_unit_test(memory_may_run_out),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("plain", tests, NULL, NULL);
}
