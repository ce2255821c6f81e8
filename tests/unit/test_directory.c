/* SPDX-License-Identifier: MIT */
/* test_directory.c - DIR of a run; tests/e2e/41-resume.sh and 62-durable.sh have the rest */
#include "base/file.h"
#include "mpi/directory.h"

#include "agent_kit.h"
#include "journal_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void count(void *ctx)
{
    ++*(uint32_t *)ctx;
}

/* Whoever reads a long journal gives signs of life, more of them the longer it is. */
static void test_signs_of_life(void **state)
{
    (void)state;
    static const struct {
        uint64_t n_records;
        uint32_t at_least, at_most;
    } rows[] = { { 100, 0, 0 }, { 10000, 4, 8 }, { 100000, 40, 60 } };
    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        struct kit_dir dir;
        struct ks_grid *grid = kit_grid("ok_a ok_b", 1);
        struct ks_log log = { .to = fopen("/dev/null", "w"), .level = KS_ERROR };
        struct ks_directory *d = NULL;
        uint32_t n = 0;
        kit_dir_make(&dir);
        kit_write_segment(dir.journal, 0, rows[k].n_records);
        struct ks_run_options o = { .dir = dir.root, .resume = true };
        assert_int_equal(ks_directory_open(&o, grid, &log, count, &n, &d, NULL), 0);
        assert_int_equal(ks_ledger_n_cells(ks_directory_ledger(d)), rows[k].n_records);
        assert_in_range(n, rows[k].at_least, rows[k].at_most);
        assert_int_equal(ks_directory_close(d, NULL), 0);
        ks_directory_destroy(d);
        fclose(log.to);
        kit_grid_free(grid);
        kit_dir_remove(&dir);
    }
}

/* The names of many problems are written while they are made, and the others hear of it. */
static void test_names_of_many_problems(void **state)
{
    (void)state;
    struct ks_grid *grid = kit_grid("ok_a ok_b ok_c", 30000);
    struct ks_log log = { .to = fopen("/dev/null", "w"), .level = KS_ERROR };
    struct ks_directory *d = NULL;
    struct kit_dir dir;
    const char *text;
    char path[300];
    uint32_t n = 0;
    kit_two_directions(grid);
    kit_dir_make(&dir);
    snprintf(path, sizeof(path), "%s/run", dir.root);
    struct ks_run_options o = { .dir = path };
    assert_int_equal(ks_directory_open(&o, grid, &log, count, &n, &d, NULL), 0);
    assert_in_range(n, 1, 10);
    assert_int_equal(ks_journal_pending(ks_directory_journal(d)), 0);
    assert_int_equal(ks_directory_close(d, NULL), 0);
    ks_directory_destroy(d);
    snprintf(path, sizeof(path), "%s/run/journal", dir.root);
    struct ks_ledger *l = NULL;
    struct ks_journal_totals totals;
    assert_int_equal(ks_ledger_read(path, &l, NULL, NULL, &totals, NULL, NULL), 0);
    assert_int_equal(ks_ledger_n_problems(l), 30000);
    assert_int_equal(ks_job_rec_n_cells(ks_ledger_job(l, &text)), 45000);
    for (uint32_t i = 0; i < 30000; i++)
        assert_int_equal(
            ks_ledger_problem_find(l, ks_problem_table_id(&grid->problems, i))->n_absent,
            i % 2 ? 2 : 1);
    ks_ledger_destroy(l);
    fclose(log.to);
    kit_grid_free(grid);
    kit_dir_remove(&dir);
}

static void add_event(struct ks_journal *j, uint32_t kind, const char *host)
{
    struct ks_event_rec e = { .kind = kind };
    struct ks_buf body;
    uint64_t at;
    snprintf(e.host, sizeof(e.host), "%s", host);
    ks_buf_init(&body);
    ks_event_encode(&e, &body);
    assert_int_equal(ks_journal_append(j, KS_F_EVENT, body.data, body.len, &at, NULL), 0);
    ks_buf_release(&body);
}

/* A host that is lost in this life joins those of the lives before. */
static void test_hosts_lost_in_all_lives(void **state)
{
    (void)state;
    static const char *const lives[][3] = { { "h10", "h2" }, { "h2", "h1", "h10" } };
    struct ks_grid *grid = kit_grid("ok_a ok_b", 1);
    struct ks_log log = { .to = fopen("/dev/null", "w"), .level = KS_ERROR };
    struct ks_directory *d = NULL;
    struct kit_dir dir;
    kit_dir_make(&dir);
    struct ks_run_options o = { .dir = dir.root, .resume = true };
    for (size_t k = 0; k < 2; k++) {
        struct ks_journal *j = kit_open_journal(dir.journal);
        for (size_t i = 0; i < 3 && lives[k][i]; i++)
            add_event(j, KS_EV_RANK_LOST, lives[k][i]);
        add_event(j, KS_EV_QUARANTINE, "h7"); /* not lost */
        assert_int_equal(ks_journal_close(j, NULL), 0);
    }
    assert_int_equal(ks_directory_open(&o, grid, &log, NULL, NULL, &d, NULL), 0);
    struct ks_ledger *l = ks_directory_ledger(d);
    assert_string_equal(ks_ledger_lost_hosts(l), "h10 h2 h1");
    ks_ledger_lost_host(l, "h1");
    ks_ledger_lost_host(l, "");
    assert_string_equal(ks_ledger_lost_hosts(l), "h10 h2 h1 ?");
    assert_int_equal(ks_directory_close(d, NULL), 0);
    ks_directory_destroy(d);
    fclose(log.to);
    kit_grid_free(grid);
    kit_dir_remove(&dir);
}

/* A resume begins anew only where a run may have been killed before it measured: it must not
 * replace the results of a lost journal, or files of somebody else. */
static void test_resume_of_no_journal(void **state)
{
    (void)state;
    static const struct {
        const char *file; /* of the directory; NULL: it is empty */
        bool has_journal; /* a directory without a segment */
        int rc;
        const char *text;
    } rows[] = { { NULL, false, 0, "" },
                 { NULL, true, 0, "" },
                 { "status.json", true, 0, "" }, /* a resume of it was refused */
                 { "job.json", false, KS_EINVAL, "is not the directory of a run" },
                 { "results.h5", false, KS_EINVAL, "holds results.h5, but no journal" },
                 { "results.h5", true, KS_EINVAL, "holds results.h5, but no journal" } };
    struct ks_grid *grid = kit_grid("ok_a ok_b", 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct kit_dir dir;
        struct ks_err err = { 0 };
        char path[300];
        kit_dir_make(&dir);
        struct ks_run_options o = { .dir = dir.root, .resume = true };
        if (rows[i].has_journal)
            assert_int_equal(ks_mkdirs(dir.journal, 0777, NULL), 0);
        snprintf(path, sizeof(path), "%s/%s", dir.root, rows[i].file ? rows[i].file : "");
        if (rows[i].file)
            assert_int_equal(ks_file_replace(path, "x", 1, NULL), 0);
        assert_int_equal(ks_directory_check(&o, grid, &err), rows[i].rc);
        assert_non_null(strstr(err.text, rows[i].text));
        kit_dir_remove(&dir);
    }
    kit_grid_free(grid);
}

static void load_job(const char *dir, struct ks_grid *out)
{
    char path[300];
    struct ks_err err = { 0 };
    snprintf(path, sizeof(path), "%s/job.json", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f,
            "{ \"name\": \"protocol\", \"operator\": \"grouped_conv\",\n"
            "  \"kernels\": [ {\"config\": \"%s/tests/fake/bad_kernels.json\"} ],\n"
            "  \"problems\": [ {\"file\": \"%s/tests/data/chaos.csv\"} ] }\n",
            KS_SOURCE_DIR, KS_SOURCE_DIR);
    fclose(f);
    if (ks_grid_load(path, out, &err) != 0)
        fail_msg("%s", err.text);
}

/* Another way of measuring has another condition, though the job is the same: nothing is changed.
 */
static void test_another_protocol(void **state)
{
    (void)state;
    struct ks_grid grid;
    struct ks_log log = { .to = fopen("/dev/null", "w"), .level = KS_ERROR };
    struct ks_directory *d = NULL;
    struct ks_journal_totals totals;
    struct ks_ledger *l = NULL;
    struct ks_err err = { 0 };
    struct kit_dir dir;
    char path[300];
    kit_dir_make(&dir);
    snprintf(path, sizeof(path), "%s/run", dir.root);
    load_job(dir.root, &grid);
    struct ks_run_options o = { .dir = path };
    assert_int_equal(ks_directory_open(&o, &grid, &log, NULL, NULL, &d, NULL), 0);
    assert_int_equal(ks_directory_close(d, NULL), 0);
    ks_directory_destroy(d);
    d = NULL;
    o.resume = true;
    grid.condition ^= 1;
    assert_int_equal(ks_directory_open(&o, &grid, &log, NULL, NULL, &d, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "another measurement protocol"));
    assert_non_null(strstr(err.text, "measure into a new directory with --out"));
    assert_null(strchr(err.text, '\n'));
    ks_directory_destroy(d);
    snprintf(path, sizeof(path), "%s/run/journal", dir.root);
    assert_int_equal(ks_ledger_read(path, &l, NULL, NULL, &totals, NULL, NULL), 0);
    assert_int_equal(totals.n_segments, 1);
    ks_ledger_destroy(l);
    fclose(log.to);
    ks_grid_release(&grid);
    kit_dir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signs_of_life),
        cmocka_unit_test(test_names_of_many_problems),
        cmocka_unit_test(test_hosts_lost_in_all_lives),
        cmocka_unit_test(test_resume_of_no_journal),
        cmocka_unit_test(test_another_protocol),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
