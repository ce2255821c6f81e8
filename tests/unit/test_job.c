/* SPDX-License-Identifier: MIT */
/* test_job.c - job files: defaults, ranges, errors, resolved form, differences */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "grid/job.h"
#include "grid/job_section.h"
#include "op/op.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA  KS_SOURCE_DIR "/tests/data/grid/"
#define LISTS "\"kernels\": [{\"config\": \"tiny.json\"}], \"problems\": [{\"file\": \"good.csv\"}]"
#define HEAD  "{\"name\": \"j\", \"operator\": \"grouped_conv\",\n"

static int parse(const char *text, struct ks_job *j, struct ks_err *err)
{
    return ks_job_parse(text, strlen(text), DATA "j.json", j, err);
}

static void must_parse(const char *text, struct ks_job *j)
{
    struct ks_err err = { 0 };

    if (parse(text, j, &err) < 0)
        fail_msg("%s", err.text);
}

static void every_table_is_sound(void **state)
{
    (void)state;
    for (int i = 0; i < KS_JOB_N_SECTIONS; i++) {
        struct ks_job j = { 0 };
        struct ks_err err = { 0 };

        if (ks_opt_defaults(ks_job_sections[i].opts, (char *)&j + ks_job_sections[i].offset, &err) <
            0)
            fail_msg("%s: %s", ks_job_sections[i].name, err.text);
        for (const struct ks_opt *o = ks_job_sections[i].opts; o->name; o++)
            assert_true(o->help && strlen(o->help) > 10);
    }
}

/* The defaults of the job file's documentation. */
static void defaults(void **state)
{
    struct ks_job j;

    (void)state;
    must_parse(HEAD LISTS "}", &j);
    assert_string_equal(j.name, "j");
    assert_string_equal(j.why, "");
    assert_string_equal(j.op, "grouped_conv");
    assert_string_equal(ks_backend_names[j.device.backend], "host");
    assert_string_equal(j.device.arch, "native");
    assert_ptr_equal(j.device.arch, j.device.arch_text);
    assert_int_equal(j.measure.warmup_ms, 20);
    assert_int_equal(j.measure.min_samples, 5);
    assert_int_equal(j.measure.max_samples, 200);
    assert_true(j.measure.target_rse == 0.005);
    assert_int_equal(j.measure.max_ms, 500);
    assert_int_equal(j.measure.cache, 0);
    assert_false(j.measure.racing);
    assert_int_equal(j.measure.min_sample_us, 0);
    assert_true(j.measure.alias_control == 0.01);
    assert_int_equal(j.contention.retries, 2);
    assert_true(j.contention.switches_per_s == 50);
    assert_true(j.contention.stolen == 0.02);
    assert_true(ks_job_canary_limit(&j) == 0.03);
    assert_int_equal(ks_job_choose(&j, "cuda", "sm_90", NULL), 0);
    assert_true(ks_job_canary_limit(&j) == 0.10);
    j.contention.canary = 0.5;
    assert_true(ks_job_canary_limit(&j) == 0.5);
    assert_int_equal(j.prune.by, 0);
    assert_true(j.prune.control == 0.05);
    assert_int_equal(j.isolate.batch, 0);
    assert_int_equal(j.isolate.kernel_timeout_s, 30);
    assert_int_equal(j.isolate.retries, 1);
    assert_int_equal(j.isolate.memory_mib, 4096);
    assert_true(j.verify.exact && j.verify.elementwise && j.verify.judge);
    assert_int_equal(j.n_kernels, 1);
    assert_int_equal(j.n_problems, 1);
    assert_true(j.kernels[0].config[0] == '/');
    assert_non_null(strstr(j.kernels[0].config, "tests/data/grid/tiny.json"));
    assert_string_equal(j.kernels[0].filter, "");
    assert_int_equal(j.problems[0].layout, -1);
    assert_int_equal(j.problems[0].dtype, -1);
    assert_int_equal(j.problems[0].directions, 0);
    assert_int_equal(j.problems[0].sample, 0);
    assert_false(j.problems[0].is_stratified);
    assert_int_equal(j.problems[0].n_exclude, 0);
    ks_job_release(&j);
}

static const char everything[] =
    "{\"name\": \"all-1.x\", \"why\": \"because \\\"so\\\"\", \"operator\": \"grouped_conv\",\n"
    "\"kernels\": [{\"config\": \"tiny.json\", \"filter\": \"tile_m >= 2\"},\n"
    "              {\"config\": \"tiny.json\", \"filter\": \"tile_m == 1\",\n"
    "               \"plugin\": \"good.csv\"}],\n"
    "\"problems\": [{\"file\": \"good.csv\", \"sample\": 50, \"seed\": 9, \"layout\": \"ngchw\",\n"
    "  \"dtype\": \"bf16\", \"directions\": [\"backward_weight\", \"forward\"],\n"
    "  \"stratified\": true, \"exclude\": [\"many.csv\", \"empty.csv\"]}],\n"
    "\"device\": {\"backend\": \"sim\", \"arch\": \"gfx942\"},\n"
    "\"measure\": {\"warmup_ms\": 0, \"min_samples\": 7, \"max_samples\": 8, \"target_rse\": 0.1,\n"
    "  \"max_ms\": 9, \"cache\": \"cold\", \"racing\": false, \"min_sample_us\": 11,\n"
    "  \"alias_control\": 0.5,\n"
    "  \"rounds\": {\"max\": 3, \"gap_s\": 4, \"alpha\": 0.25, \"margin\": 0.125, \"max_ms\": 6},\n"
    "  \"contention\": {\"retries\": 3, \"switches_per_s\": 1.5, \"stolen\": 0.25, \"canary\": "
    "1}},\n"
    "\"prune\": {\"by\": \"spill\", \"control\": 0.25},\n"
    "\"isolate\": {\"batch\": 1, \"kernel_timeout_s\": 2, \"retries\": 0, \"memory_mib\": 64},\n"
    "\"verify\": {\"exact\": false, \"elementwise\": true, \"judge\": false}}";

static void every_key_is_read(void **state)
{
    struct ks_job j;

    (void)state;
    must_parse(everything, &j);
    assert_string_equal(j.name, "all-1.x");
    assert_string_equal(j.why, "because \"so\"");
    assert_int_equal(j.n_kernels, 2);
    assert_string_equal(j.kernels[1].filter, "tile_m == 1");
    assert_string_equal(j.kernels[0].plugin, "");
    assert_true(j.kernels[1].plugin[0] == '/');
    assert_non_null(strstr(j.kernels[1].plugin, "tests/data/grid/good.csv"));
    assert_int_equal(j.problems[0].sample, 50);
    assert_int_equal(j.problems[0].seed, 9);
    assert_true(j.problems[0].is_stratified);
    assert_int_equal(j.problems[0].n_exclude, 2);
    assert_true(j.problems[0].exclude[0][0] == '/');
    assert_non_null(strstr(j.problems[0].exclude[0], "tests/data/grid/many.csv"));
    assert_non_null(strstr(j.problems[0].exclude[1], "tests/data/grid/empty.csv"));
    assert_int_equal(j.problems[0].layout, KS_NGCHW);
    assert_int_equal(j.problems[0].dtype, KS_BF16);
    assert_int_equal(j.problems[0].directions, 1 << KS_FORWARD | 1 << KS_BACKWARD_WEIGHT);
    assert_string_equal(ks_backend_names[j.device.backend], "sim");
    assert_string_equal(j.device.arch, "gfx942");
    assert_int_equal(j.measure.warmup_ms, 0);
    assert_int_equal(j.measure.min_samples, 7);
    assert_int_equal(j.measure.max_samples, 8);
    assert_true(j.measure.target_rse == 0.1);
    assert_int_equal(j.measure.max_ms, 9);
    assert_int_equal(j.measure.cache, 1);
    assert_int_equal(j.measure.min_sample_us, 11);
    assert_true(j.measure.alias_control == 0.5);
    assert_string_equal(ks_job_prunings[j.prune.by], "spill");
    assert_true(j.prune.control == 0.25);
    assert_int_equal(j.rounds.max, 3);
    assert_int_equal(j.rounds.gap_s, 4);
    assert_true(j.rounds.alpha == 0.25);
    assert_true(j.rounds.margin == 0.125);
    assert_int_equal(j.rounds.max_ms, 6);
    assert_int_equal(j.contention.retries, 3);
    assert_true(j.contention.switches_per_s == 1.5);
    assert_true(j.contention.stolen == 0.25);
    assert_true(j.contention.canary == 1);
    assert_int_equal(j.isolate.batch, 1);
    assert_int_equal(j.isolate.kernel_timeout_s, 2);
    assert_int_equal(j.isolate.retries, 0);
    assert_int_equal(j.isolate.memory_mib, 64);
    assert_false(j.verify.exact);
    assert_true(j.verify.elementwise);
    assert_false(j.verify.judge);
    ks_job_release(&j);
}

static const struct {
    const char *text, *says;
    int rc;
} mistakes[] = {
    { HEAD LISTS ", \"measure\": {\"warmup\": 1}}", "j.json:2: measure", KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"warmup\": 1}}", "warmup_ms", KS_EINVAL },
    { HEAD LISTS ",\n \"meassure\": {}}", "j.json:3: meassure", KS_EINVAL },
    { HEAD LISTS ",\n \"measure\": {\"max_ms\": 0}}", "j.json:3: measure.max_ms: ", KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"max_ms\": \"5\"}}", "expected a number", KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"max_ms\": 1.5}}", "measure.max_ms", KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"max_ms\": -1}}", "measure.max_ms", KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"target_rse\": 2}}", "not in the range 0 to 1", KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"cache\": \"hot\"}}", "measure.cache", KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"cache\": true}}", "expected a string", KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"max_samples\": 1001}}", "not in the range 1 to 1000",
      KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"rounds\": {\"most\": 3}}}", "'most'", KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"rounds\": {\"max\": 0}}}", "rounds.max", KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"rounds\": {\"max\": 65}}}", "rounds.max", KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"rounds\": {\"alpha\": 0.7}}}", "rounds.alpha", KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"rounds\": 3}}", "object", KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"racing\": true}}",
      "measure.racing: racing was replaced by measure.rounds", KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"min_samples\": 9, \"max_samples\": 8}}",
      "min_samples 9 is above max_samples 8", KS_EINVAL },
    { HEAD LISTS ", \"measure\": []}", "expected an object { ... }", KS_EINVAL },
    { HEAD LISTS ", \"measure\": {\"contention\": {\"stole\": 1}}}", "measure.contention.stole",
      KS_EINVAL },
    { HEAD LISTS ", \"contention\": {}}", "contention", KS_EINVAL },
    { HEAD LISTS ", \"verify\": {\"exact\": 1}}", "expected true or false", KS_EINVAL },
    { HEAD LISTS ", \"isolate\": {\"memory_mib\": 1}}", "isolate.memory_mib", KS_EINVAL },
    { HEAD LISTS ", \"device\": {\"backend\": \"gpu\"}}", "device.backend", KS_EINVAL },
    { "{\"operator\": \"grouped_conv\", " LISTS "}", "key 'name' is missing", KS_EINVAL },
    { "{\"name\": \"a/b\", \"operator\": \"grouped_conv\", " LISTS "}", "'a/b' must begin",
      KS_EINVAL },
    { "{\"name\": \"..\", \"operator\": \"grouped_conv\", " LISTS "}", "'..' must begin",
      KS_EINVAL },
    { "{\"name\": \"j\", " LISTS "}", "key 'operator' is missing", KS_EINVAL },
    { "{\"name\": \"j\", \"operator\": \"conv\", " LISTS "}",
      "j.json:1: operator: unknown operator", KS_EINVAL },
    { HEAD "\"kernels\": [{\"config\": \"tiny.json\"}]}", "key 'problems' is missing", KS_EINVAL },
    { HEAD "\"kernels\": [], \"problems\": []}", "1 to 32 entries", KS_EINVAL },
    { HEAD "\"kernels\": [7], \"problems\": []}", "kernels[0]: expected an object", KS_EINVAL },
    { HEAD "\"kernels\": [{\"config\": \"none.json\"}]}", "j.json:2: kernels[0].config: file '",
      KS_ENOENT },
    { HEAD "\"kernels\": [{\"config\": \"none.json\"}]}",
      "looked there and in jobs, jobs/problems and kernels/configs of the installed data",
      KS_ENOENT },
    { HEAD "\"kernels\": [{\"config\": \"/none.json\"}]}", "file '/none.json' not found",
      KS_ENOENT },
    { HEAD "\"kernels\": [{\"confg\": \"x\"}]}", "kernels[0]", KS_EINVAL },
    { HEAD "\"kernels\": [{\"config\": \"tiny.json\"}], \"problems\": [{\"file\": "
           "\"good.csv\", \"sample\": -1}]}",
      "problems[0].sample: must be 0 or more", KS_EINVAL },
    { HEAD "\"kernels\": [{\"config\": \"tiny.json\"}], \"problems\": [{\"file\": "
           "\"good.csv\", \"layout\": \"nhwc\"}]}",
      "problems[0].layout: 'nhwc' is not known, did you mean 'nhwgc'", KS_EINVAL },
    { HEAD "\"kernels\": [{\"config\": \"tiny.json\"}], \"problems\": [{\"file\": "
           "\"good.csv\", \"directions\": \"forward\"}]}",
      "expected a list of directions", KS_EINVAL },
    { HEAD "\"kernels\": [{\"config\": \"tiny.json\"}], \"problems\": [{\"file\": "
           "\"good.csv\", \"directions\": [\"forward\", \"forward\"]}]}",
      "directions[1]: duplicate 'forward'", KS_EINVAL },
    { HEAD "\"kernels\": [{\"config\": \"tiny.json\"}], \"problems\": [{\"file\": "
           "\"good.csv\", \"stratified\": true}]}",
      "stratified: stratified needs \"sample\"", KS_EINVAL },
    { HEAD "\"kernels\": [{\"config\": \"tiny.json\"}], \"problems\": [{\"file\": "
           "\"good.csv\", \"sample\": 3, \"stratified\": 1}]}",
      "stratified", KS_EINVAL },
    { HEAD "\"kernels\": [{\"config\": \"tiny.json\"}], \"problems\": [{\"file\": "
           "\"good.csv\", \"exclude\": \"many.csv\"}]}",
      "exclude: expected a list of at most 8 files", KS_EINVAL },
    { HEAD "\"kernels\": [{\"config\": \"tiny.json\"}], \"problems\": [{\"file\": "
           "\"good.csv\", \"exclude\": [3]}]}",
      "exclude[0]", KS_EINVAL },
    { HEAD "\"kernels\": [{\"config\": \"tiny.json\"}], \"problems\": [{\"file\": "
           "\"good.csv\", \"exclude\": [\"absent.csv\"]}]}",
      "exclude[0]", KS_ENOENT },
    { "[1]", "a job is an object", KS_EINVAL },
    { "{", "j.json:1", KS_EFORMAT },
};

static void mistakes_are_named(void **state)
{

    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct ks_job j = { .n_kernels = 77 };
        struct ks_err err = { 0 };
        int rc = parse(mistakes[i].text, &j, &err);

        if (rc != mistakes[i].rc || !strstr(err.text, mistakes[i].says))
            fail_msg("%s: %d '%s', want '%s'", mistakes[i].text, rc, err.text, mistakes[i].says);
        assert_int_equal(j.n_kernels, 77);
    }
}

/* As many entries as the file has; with room for the most that it may have a job took 380 KB. */
static void a_job_takes_what_it_needs(void **state)
{
    struct ks_job j;

    (void)state;
    must_parse(HEAD LISTS "}", &j);
    assert_true(sizeof j < 4 << 10);
    assert_in_range(malloc_usable_size(j.kernels), sizeof *j.kernels, 2 * sizeof *j.kernels);
    assert_in_range(malloc_usable_size(j.problems), sizeof *j.problems, 2 * sizeof *j.problems);
    assert_null(j.problems[0].exclude);
    ks_job_release(&j);
    assert_null(j.kernels);
    ks_job_release(&j);
}

/* print, parse, print: the same text, and the same job. */
static void the_resolved_job_reads_back(void **state)
{
    static const char *const texts[] = { HEAD LISTS "}", everything };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct ks_job j, again;
        struct ks_buf a, b, fatal, harmless;

        ks_buf_init(&a);
        ks_buf_init(&b);
        ks_buf_init(&fatal);
        ks_buf_init(&harmless);
        must_parse(texts[i], &j);
        ks_job_print(&j, &a);
        must_parse(ks_buf_text(&a), &again);
        ks_job_print(&again, &b);
        assert_string_equal(ks_buf_text(&a), ks_buf_text(&b));
        assert_int_equal(ks_job_diff(&j, &again, &fatal, &harmless), 0);
        assert_int_equal(fatal.len + harmless.len, 0);
        assert_int_equal(j.n_kernels, again.n_kernels);
        assert_memory_equal(j.kernels, again.kernels, j.n_kernels * sizeof *j.kernels);
        assert_int_equal(j.n_problems, again.n_problems);
        assert_string_equal(j.problems[0].file, again.problems[0].file);
        ks_job_release(&j);
        ks_job_release(&again);
        ks_buf_release(&a);
        ks_buf_release(&b);
        ks_buf_release(&fatal);
        ks_buf_release(&harmless);
    }
}

static void differences_are_weighed(void **state)
{
    struct ks_job was, now;
    struct ks_buf fatal, harmless;

    (void)state;
    ks_buf_init(&fatal);
    ks_buf_init(&harmless);
    must_parse(HEAD LISTS "}", &was);
    must_parse("{\"name\": \"k\", \"operator\": \"grouped_conv\", " LISTS
               ", \"measure\": {\"max_ms\": 100, \"cache\": \"cold\", \"contention\": "
               "{\"stolen\": 0.5}, \"rounds\": {\"max\": 9, \"gap_s\": 1, \"alpha\": 0.01, "
               "\"margin\": 0.25, \"max_ms\": 7}}, "
               "\"isolate\": {\"batch\": 5}, \"verify\": {\"exact\": false, "
               "\"judge\": false}, \"device\": {\"arch\": \"x86-64-v3\"}}",
               &now);
    assert_int_equal(ks_job_diff(&was, &now, &fatal, &harmless), 6);
    assert_string_equal(ks_buf_text(&fatal), "device.arch: native -> x86-64-v3\n"
                                             "measure.max_ms: 500 -> 100\n"
                                             "measure.cache: warm -> cold\n"
                                             "measure.rounds.alpha: 0.05 -> 0.01\n"
                                             "measure.rounds.margin: 0.005 -> 0.25\n"
                                             "verify.exact: yes -> no\n");
    assert_string_equal(ks_buf_text(&harmless), "name: j -> k\n"
                                                "measure.rounds.max: 1 -> 9\n"
                                                "measure.rounds.gap_s: 10 -> 1\n"
                                                "measure.rounds.max_ms: 0 -> 7\n"
                                                "measure.contention.stolen: 0.02 -> 0.5\n"
                                                "isolate.batch: 0 -> 5\n"
                                                "verify.judge: yes -> no\n");
    ks_buf_release(&fatal);
    ks_buf_release(&harmless);
    ks_job_release(&was);
    ks_job_release(&now);
}

static void paths_fall_back_to_the_installed_data(void **state)
{
    struct ks_job j;
    struct ks_err err = { 0 };
    static const char text[] =
        HEAD "\"kernels\": [{\"config\": \"../kernels/configs/host_forward.json\"}],"
             "\"problems\": [{\"file\": \"problems/resnet50.csv\"}]}";

    (void)state;
    assert_int_equal(setenv("KSWEEP_DATA_DIR", KS_SOURCE_DIR, 1), 0);
    if (ks_job_parse(text, strlen(text), "/nowhere/j.json", &j, &err) < 0)
        fail_msg("%s", err.text);
    assert_non_null(strstr(j.kernels[0].config, "/kernels/configs/host_forward.json"));
    assert_non_null(strstr(j.problems[0].file, "/jobs/problems/resnet50.csv"));
    assert_int_equal(unsetenv("KSWEEP_DATA_DIR"), 0);
    ks_job_release(&j);
}

/* The job in a journal that was moved to where its files are not. */
static void a_resolved_job_needs_no_files(void **state)
{
    static const char text[] = HEAD "\"kernels\": [{\"config\": \"/gone/config.json\"}],"
                                    "\"problems\": [{\"file\": \"/gone/list.csv\"}]}";
    struct ks_job j;
    struct ks_err err = { 0 };

    (void)state;
    assert_int_equal(ks_job_parse(text, strlen(text), "j", &j, &err), KS_ENOENT);
    if (ks_job_parse_resolved(text, strlen(text), "j", &j, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(j.kernels[0].config, "/gone/config.json");
    assert_string_equal(j.problems[0].file, "/gone/list.csv");
    assert_int_equal(ks_job_parse_resolved(text, strlen(text) - 1, "j", &j, &err), KS_EFORMAT);
    ks_job_release(&j);
}

/* docs/job-file.md has a row for every key, with its default and range as in the tables. */
static void the_manual_agrees(void **state)
{
    struct ks_err err = { 0 };
    struct ks_buf doc;
    char row[160];

    (void)state;
    ks_buf_init(&doc);
    assert_int_equal(ks_file_read(KS_SOURCE_DIR "/docs/job-file.md", &doc, &err), 0);
    for (int i = 0; i < KS_JOB_N_SECTIONS; i++) {
        const struct ks_job_section *s = &ks_job_sections[i];
        const char *at;

        snprintf(row, sizeof row, "## %s%s%s\n", s->parent ? s->parent : "", s->parent ? "." : "",
                 s->name);
        at = strstr(ks_buf_text(&doc), row);
        for (const struct ks_opt *o = s->opts; at && o->name; o++) {
            int n = snprintf(row, sizeof row, "| `%s` | %s |", o->name, o->def ? o->def : "native");

            if (o->min != 0 || o->max != 0)
                snprintf(row + n, sizeof row - (size_t)n, " %.12g to %.12g |", o->min, o->max);
            at = strstr(at, row);
        }
        if (!at)
            fail_msg("no '%s' in docs/job-file.md", row);
    }
    ks_buf_release(&doc);
}

static void another_device_is_chosen(void **state)
{
    static const struct {
        const char *job, *backend, *arch, *want_backend, *want_arch; /* NULL: refused */
    } rows[] = {
        { "\"hip\", \"arch\": \"gfx942\"", NULL, NULL, "hip", "gfx942" },
        { "\"hip\", \"arch\": \"gfx942\"", "hip", NULL, "hip", "gfx942" },
        { "\"hip\", \"arch\": \"gfx942\"", "cuda", NULL, "cuda", "native" },
        { "\"hip\", \"arch\": \"gfx942\"", NULL, "emu", "hip", "emu" },
        { "\"host\"", "cuda", "sm_90", "cuda", "sm_90" },
        { "\"cuda\"", "host", NULL, "host", "native" },
        { "\"host\"", "hpi", NULL, NULL, NULL },
        { "\"host\"", NULL,
          "sixty-four characters and more are too many for the name of an architecture", NULL,
          NULL },
    };
    struct ks_job *j = calloc(1, sizeof *j);
    char text[1024];

    (void)state;
    assert_non_null(j);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_err err = { 0 };
        int rc;

        snprintf(text, sizeof text, HEAD LISTS ", \"device\": {\"backend\": %s}}", rows[i].job);
        if (ks_job_parse(text, strlen(text), DATA "j.json", j, &err) < 0)
            fail_msg("%s", err.text);
        rc = ks_job_choose(j, rows[i].backend, rows[i].arch, &err);
        assert_int_equal(rc, rows[i].want_arch ? 0 : KS_EINVAL);
        if (!rows[i].want_arch) {
            ks_job_release(j);
            continue;
        }
        assert_string_equal(ks_backend_names[j->device.backend], rows[i].want_backend);
        assert_string_equal(j->device.arch, rows[i].want_arch);
        assert_ptr_equal(j->device.arch, j->device.arch_text);
        assert_int_equal(ks_job_batch(j), strcmp(rows[i].want_backend, "host") == 0 ? 20 : 100);
        j->isolate.batch = 7;
        assert_int_equal(ks_job_batch(j), 7);
        ks_job_release(j);
    }
    free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_is_sound),
        cmocka_unit_test(defaults),
        cmocka_unit_test(every_key_is_read),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(a_job_takes_what_it_needs),
        cmocka_unit_test(the_resolved_job_reads_back),
        cmocka_unit_test(differences_are_weighed),
        cmocka_unit_test(the_manual_agrees),
        cmocka_unit_test(paths_fall_back_to_the_installed_data),
        cmocka_unit_test(a_resolved_job_needs_no_files),
        cmocka_unit_test(another_device_is_chosen),
    };

    return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
