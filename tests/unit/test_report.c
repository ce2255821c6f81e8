/* SPDX-License-Identifier: MIT */
/* test_report.c - reports for people: the page, the sweep as a trace (text: test_report_text.c) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/report/page.h"
#include "analysis/report/timeline.h"
#include "analysis_kit.h"
#include "grid/family.h"
#include "trace/reader.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the page ---- */

static bool has(const struct ks_buf *b, const char *text)
{
    return strstr(ks_buf_text(b), text) != NULL;
}

static const char *const hostile[] = {
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\"><img src=x onerror=alert(1)>",
    "&lt;b&gt; \\u003c ' \" ` ${x} \xe2\x80\xa8",
};
#define N_HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

static void make_hostile(const struct place *p)
{
    struct skit k;

    skit_open(&k, p->dir[0], 1, N_HOSTILE, 6);
    for (uint32_t i = 0; i < N_HOSTILE; i++)
        snprintf(k.problems[i].name, sizeof(k.problems[i].name), "%s", hostile[i]);
    skit_names(&k);
    for (uint32_t i = 0; i < N_HOSTILE; i++) {
        for (uint32_t n = 0; n < 6; n++) {
            struct ks_record *r = skit_record(&k, i, n, 5);

            if (n == 5) {
                r->outcome = KS_O_CRASHED;
                r->n_samples = 0;
                snprintf(r->reason, sizeof(r->reason), "%s", hostile[i]);
            }
            r->outcome_flags = n == 0 ? KS_FL_CONTAMINATED : 0;
            skit_put(&k, r);
        }
        skit_block(&k, 1 + i, i, 100, 101);
    }
    skit_event(&k, KS_EV_WORKER_DEATH, hostile[0]);
    skit_close(&k);
    place_gather(p, 1, NULL);
}

static void load_page(struct ks_page *page, const char *path)
{
    struct ks_err err = { 0 };

    if (ks_page_load(page, path, KS_MERGE_NEWEST, &err) < 0)
        fail_msg("%s", err.text);
}

static struct ks_json *page_json(const struct ks_buf *b)
{
    struct ks_err err = { 0 };
    struct ks_json *doc = NULL;

    if (ks_json_parse(ks_buf_text(b), b->len, "page", &doc, &err) < 0)
        fail_msg("%s", err.text);
    return doc;
}

static int64_t int_of(const struct ks_json *doc, const struct ks_node *object, const char *key)
{
    int64_t v;

    assert_int_equal(ks_node_int(doc, ks_node_at(object, key), &v, NULL), 0);
    return v;
}

static const struct ks_node *nth(const struct ks_node *list, size_t i)
{
    const struct ks_node *n = ks_node_first(list);

    while (i-- && n)
        n = ks_node_next(n);
    return n;
}

static void names_are_never_markup(void **state)
{
    const struct place *p = *state;
    struct ks_page page = { 0 };
    struct ks_json *doc;
    struct ks_buf b;
    size_t n_script = 0;

    make_hostile(p);
    load_page(&page, p->file);
    ks_buf_init(&b);
    assert_int_equal(ks_page_data(&page, NULL, &b, NULL), 0);
    for (size_t i = 0; i < b.len; i++)
        assert_null(strchr("<>&", b.data[i]));
    assert_false(has(&b, "\xe2\x80\xa8"));
    doc = page_json(&b);
    for (size_t i = 0; i < N_HOSTILE; i++) {
        const struct ks_node *q = nth(ks_node_at(ks_json_root(doc), "problems"), i);
        const char *name;

        assert_int_equal(ks_node_str(doc, ks_node_at(q, "n"), &name, NULL), 0);
        assert_string_equal(name, hostile[i]);
    }
    ks_json_close(doc);
    ks_buf_clear(&b);
    assert_int_equal(ks_page_html(&page, NULL, &b, NULL), 0);
    for (const char *at = ks_buf_text(&b); (at = strstr(at, "</script")); at++)
        n_script++;
    assert_int_equal(n_script, 2); /* the data's and the program's own */
    assert_false(has(&b, "<img"));
    assert_true(has(&b, "default-src 'none'")); /* no network */
    ks_buf_release(&b);
    ks_page_release(&page);
}

static void page_counts(void **state)
{
    const struct place *p = *state;
    struct ks_page page = { 0 };
    struct ks_json *doc;
    const struct ks_node *root;
    struct ks_buf b;

    make_hostile(p);
    load_page(&page, p->file);
    assert_int_equal(page.n_problems, N_HOSTILE);
    assert_int_equal(page.n_cells, 6 * N_HOSTILE);
    assert_int_equal(page.n_failures, N_HOSTILE);
    assert_int_equal(page.n_groups, N_HOSTILE);
    for (size_t i = 0; i < page.n_problems; i++) {
        const struct ks_page_problem *q = &page.problems[i];
        const struct ks_page_time *t = &page.times[q->first_time];

        assert_true(q->n_times >= 3);
        assert_true(akit_near(t->ns, page.summary.problems[i].median_ns));
        for (size_t k = 1; k < q->n_times; k++)
            assert_true(t[k - 1].ns <= t[k].ns);
        assert_int_equal(t->n_samples, 5);
    }
    ks_buf_init(&b);
    assert_int_equal(ks_page_data(&page, &page, &b, NULL), 0);
    doc = page_json(&b);
    root = ks_json_root(doc);
    assert_int_equal(ks_node_size(ks_node_at(root, "failures")), N_HOSTILE);
    assert_int_equal(ks_node_size(ks_node_at(root, "blocks")), N_HOSTILE);
    assert_int_equal(int_of(doc, ks_node_at(root, "heat"), "rows"), N_HOSTILE);
    /* The run beside itself: the same time, the same instance. */
    for (size_t i = 0; i < N_HOSTILE; i++) {
        const struct ks_node *q = nth(ks_node_at(root, "problems"), i);
        double ours, theirs;

        assert_int_equal(ks_node_real(doc, ks_node_at(q, "t"), &ours, NULL), 0);
        assert_int_equal(ks_node_real(doc, nth(ks_node_at(q, "o"), 0), &theirs, NULL), 0);
        assert_true(akit_near(ours, theirs));
        assert_int_equal(ks_node_real(doc, nth(ks_node_at(q, "o"), 4), &theirs, NULL), 0);
        assert_true(akit_near(ours, theirs));
    }
    ks_json_close(doc);
    ks_buf_release(&b);
    ks_page_release(&page);
}

/* Instances from number `first` on ran nowhere. */
static void leave_out(struct ks_page *page, uint32_t first)
{
    for (size_t i = 0; i < page->n_cells; i++)
        if (page->cells[i].instance >= first) {
            page->cells[i].outcome = KS_O_UNSUPPORTED;
            page->cells[i].ns = 0;
        }
    for (size_t k = first; k < page->n_instances; k++)
        page->instances[k].n_ok = page->instances[k].n_wins = 0;
}

static void check_heat(const struct ks_page *page, int64_t n_columns, int64_t n_left_out)
{
    const struct ks_node *heat;
    struct ks_json *doc;
    struct ks_buf b;
    const char *text;

    ks_buf_init(&b);
    assert_int_equal(ks_page_data(page, NULL, &b, NULL), 0);
    doc = page_json(&b);
    heat = ks_node_at(ks_json_root(doc), "heat");
    assert_int_equal(int_of(doc, heat, "columns"), n_columns);
    assert_int_equal(int_of(doc, heat, "left_out"), n_left_out);
    assert_int_equal(ks_node_str(doc, ks_node_at(heat, "data"), &text, NULL), 0);
    assert_int_equal(strlen(text), page->n_problems * (size_t)n_columns);
    assert_null(strchr(text, '-')); /* no column of what ran nowhere */
    ks_json_close(doc);
    ks_buf_release(&b);
}

static void heat_leaves_out_what_ran_nowhere(void **state)
{
    const struct place *p = *state;
    struct ks_page page = { 0 };

    make_hostile(p);
    load_page(&page, p->file);
    assert_int_equal(page.n_instances, 6);
    check_heat(&page, 6, 0); /* the one that always crashes ran */
    leave_out(&page, 4);
    check_heat(&page, 4, 2);
    leave_out(&page, 0);
    check_heat(&page, 0, 6);
    ks_page_release(&page);
}

/* As many cells as a large sweep has, in memory: problems of the small file, again and again. */
static void grow_page(struct ks_page *page, size_t n_problems, size_t n_each)
{
    struct ks_best best = page->summary.problems[0];
    struct ks_page_problem problem = page->problems[0];

    free(page->problems);
    free(page->cells);
    free(page->summary.problems);
    page->problems = calloc(n_problems, sizeof(*page->problems));
    page->summary.problems = calloc(n_problems, sizeof(best));
    page->cells = calloc(n_problems * n_each, sizeof(*page->cells));
    assert_non_null(page->problems);
    assert_non_null(page->summary.problems);
    assert_non_null(page->cells);
    page->n_problems = page->summary.n_problems = n_problems;
    page->n_cells = n_problems * n_each;
    for (size_t i = 0; i < n_problems; i++) {
        page->problems[i] = problem;
        page->problems[i].first_cell = i * n_each;
        page->problems[i].n_cells = n_each;
        page->problems[i].best_ns = 1000;
        page->summary.problems[i] = best;
        for (size_t k = 0; k < n_each; k++)
            page->cells[i * n_each + k] =
                (struct ks_page_cell){ (uint32_t)(k % page->n_instances), KS_O_OK, 0,
                                       1000 + (float)((i * 7 + k * 13) % 977) };
    }
}

static void a_million_cells_fit(void **state)
{
    const struct place *p = *state;
    struct ks_page page = { 0 };
    struct ks_json *doc;
    struct ks_buf b;
    size_t n_listed;
    int64_t step;

    make_hostile(p);
    load_page(&page, p->file);
    grow_page(&page, 50000, 20);
    page.n_failures = 0;
    ks_buf_init(&b);
    assert_int_equal(ks_page_html(&page, NULL, &b, NULL), 0);
    assert_true(b.len < (size_t)10 << 20);
    ks_buf_clear(&b);
    assert_int_equal(ks_page_data(&page, NULL, &b, NULL), 0);
    doc = page_json(&b);
    n_listed = ks_node_size(ks_node_at(ks_json_root(doc), "problems"));
    assert_in_range(n_listed, 1000, 10000);
    /* Evenly chosen: the last ones, too. */
    step = int_of(doc, ks_json_root(doc), "step");
    assert_int_equal(n_listed, (50000 + step - 1) / step);
    ks_json_close(doc);
    ks_buf_release(&b);
    ks_page_release(&page);
}

/* Lists that are cut have their whole length beside them. */
static void cut_lists_have_their_length(void **state)
{
    enum { N_LOOK = 300, N_GROUPS = 700, N_RANKS = 600 };
    const struct place *p = *state;
    struct ks_page page = { 0 };
    struct ks_buf b;

    make_hostile(p);
    load_page(&page, p->file);
    page.groups = realloc(page.groups, N_GROUPS * sizeof(*page.groups));
    page.summary.ranks = realloc(page.summary.ranks, N_RANKS * sizeof(*page.summary.ranks));
    assert_true(page.groups != NULL && page.summary.ranks != NULL);
    for (size_t i = 0; i < N_GROUPS; i++) {
        page.groups[i] = page.groups[0];
        page.groups[i].outcome = i < N_LOOK ? KS_O_CRASHED : KS_O_UNSUPPORTED;
    }
    page.n_groups = N_GROUPS;
    for (size_t i = 1; i < N_RANKS; i++)
        page.summary.ranks[i] = page.summary.ranks[0];
    page.summary.n_ranks = N_RANKS;
    ks_buf_init(&b);
    assert_int_equal(ks_page_data(&page, NULL, &b, NULL), 0);
    struct ks_json *doc = page_json(&b);
    const struct ks_node *root = ks_json_root(doc);
    assert_int_equal(ks_node_size(ks_node_at(root, "groups")), 500);
    assert_int_equal(ks_node_size(ks_node_at(ks_node_at(root, "a"), "devices")), 512);
    assert_true(has(&b, "\"n_groups\":[300,400]") && has(&b, "\"n_devices\":600"));
    assert_true(has(&b, "\"n_runs\":1") && has(&b, "\"n_facts\":") && has(&b, "\"block_step\":1"));
    ks_json_close(doc);
    ks_buf_release(&b);
    ks_page_release(&page);
}

/* A name of as many characters as it may have, each of which takes 6 bytes in the page. */
static const char *long_name(char *out, size_t cap)
{
    memset(out, '<', cap - 1);
    out[cap - 1] = '\0';
    return out;
}

enum { N_LONG = 12000 }; /* instances */

static void long_hostile_names_fit(void **state)
{
    const struct place *p = *state;
    char name[KS_NAME_MAX], instance[KS_INSTANCE_NAME], reason[4096];
    struct ks_page page = { 0 };
    struct ks_buf b;

    make_hostile(p);
    load_page(&page, p->file);
    grow_page(&page, 8000, 20);
    ((struct ks_problem_ref *)(uintptr_t)page.summary.problems[0].problem)->name =
        long_name(name, sizeof(name));
    page.instances = realloc(page.instances, N_LONG * sizeof(*page.instances));
    assert_non_null(page.instances);
    for (size_t i = 0; i < N_LONG; i++)
        page.instances[i] = (struct ks_page_instance){
            .id = i + 1, .name = long_name(instance, sizeof(instance)), .n_rows = 1
        };
    page.n_instances = N_LONG;
    free(page.reasons.text[page.groups[0].reason]);
    page.reasons.text[page.groups[0].reason] = strdup(long_name(reason, sizeof(reason)));
    page.failures = realloc(page.failures, KS_PAGE_FAILURES * sizeof(*page.failures));
    assert_non_null(page.failures);
    for (size_t i = 0; i < KS_PAGE_FAILURES; i++)
        page.failures[i] = (struct ks_page_failure){ .problem = 0, .group = 0 };
    page.n_failures = KS_PAGE_FAILURES;
    ks_buf_init(&b);
    assert_int_equal(ks_page_html(&page, &page, &b, NULL), 0);
    assert_in_range(b.len, (size_t)2 << 20, (size_t)10 << 20);
    ks_buf_clear(&b);
    assert_int_equal(ks_page_data(&page, NULL, &b, NULL), 0);
    ks_json_close(page_json(&b));
    ks_buf_release(&b);
    ks_page_release(&page);
}

static void two_names_of_a_path(void **state)
{
    const struct place *p = *state;
    struct ks_page page = { 0 };
    struct ks_err err = { 0 };
    char file[200], from[200];

    make_hostile(p);
    assert_int_equal(ks_page_load_summary(&page, p->dir[0], KS_MERGE_NEWEST, &err), KS_ENOENT);
    assert_non_null(strstr(err.text, "ksweep gather"));
    ks_page_release(&page);
    snprintf(file, sizeof(file), "%s/results.h5", p->dir[0]);
    snprintf(from, sizeof(from), "%s", p->file);
    assert_int_equal(rename(from, file), 0);
    assert_int_equal(ks_page_load_summary(&page, p->dir[0], KS_MERGE_NEWEST, &err), 0);
    assert_int_equal(page.summary.n_problems, N_HOSTILE);
    ks_page_release(&page);
    assert_int_equal(rename(file, from), 0);
}

/* ---- the sweep as a trace ---- */

#define MOST_OPEN 16

struct checked {
    uint64_t n_slices, n_instants, n_meta, n_cells, n_samples;
    struct { /* slices that are open at the present time, of one track */
        char pid[16], tid[16];
        int64_t ends_ns[MOST_OPEN];
        size_t n;
    } tracks[64];
    size_t n_tracks;
};

static bool is(const struct ks_span *s, const char *text)
{
    return s->n == strlen(text) && memcmp(s->p, text, s->n) == 0;
}

/* Slices of one track nest: each ends within those that are open when it begins. */
static void check_slice(struct checked *c, const struct ks_trace_event *ev)
{
    size_t i = 0;

    assert_true(ev->has_ts && ev->has_dur && ev->ts_ns >= 0 && ev->dur_ns >= 0);
    while (i < c->n_tracks && !(is(&ev->pid, c->tracks[i].pid) && is(&ev->tid, c->tracks[i].tid)))
        i++;
    if (i == c->n_tracks) {
        assert_true(c->n_tracks++ < sizeof(c->tracks) / sizeof(c->tracks[0]));
        snprintf(c->tracks[i].pid, 16, "%.*s", (int)ev->pid.n, ev->pid.p);
        snprintf(c->tracks[i].tid, 16, "%.*s", (int)ev->tid.n, ev->tid.p);
    }
    while (c->tracks[i].n && c->tracks[i].ends_ns[c->tracks[i].n - 1] <= ev->ts_ns)
        c->tracks[i].n--;
    if (c->tracks[i].n)
        assert_true(ev->ts_ns + ev->dur_ns <= c->tracks[i].ends_ns[c->tracks[i].n - 1]);
    assert_true(c->tracks[i].n < MOST_OPEN);
    c->tracks[i].ends_ns[c->tracks[i].n++] = ev->ts_ns + ev->dur_ns;
    c->n_slices++;
    c->n_cells += is(&ev->cat, "cell");
    c->n_samples += is(&ev->cat, "sample");
}

static struct checked check_trace(const char *path)
{
    struct ks_trace_source *source = NULL;
    struct ks_trace_reader *r = NULL;
    struct ks_trace_item item;
    struct checked c = { 0 };
    struct ks_err err = { 0 };
    int rc;

    assert_int_equal(ks_trace_source_open(path, &source, &err), 0);
    assert_int_equal(ks_trace_reader_create(source, &r, &err), 0);
    while ((rc = ks_trace_reader_next(r, &item, &err)) > 0) {
        if (item.type != KS_TRACE_ITEM_EVENT)
            continue;
        assert_true(item.event.name.n > 0 && item.event.pid.n > 0 && item.event.tid.n > 0);
        if (item.event.ph == 'X')
            check_slice(&c, &item.event);
        c.n_instants += item.event.ph == 'i' && item.event.has_ts;
        c.n_meta += item.event.kind == KS_TRACE_META;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(ks_trace_reader_dirt(r)->n_bad, 0);
    assert_false(ks_trace_reader_dirt(r)->is_cut || ks_trace_reader_dirt(r)->has_rest);
    assert_null(ks_trace_reader_dirt(r)->damage);
    ks_trace_reader_destroy(r);
    ks_trace_source_close(source);
    return c;
}

static void timeline_reads_back(void **state)
{
    static const enum ks_timeline_samples samples[] = { KS_SAMPLES_AUTO, KS_SAMPLES_NO };
    const struct place *p = *state;
    struct ks_timeline_counts counts;
    struct ks_err err = { 0 };
    char path[200];

    make_hostile(p);
    for (size_t i = 0; i < 2; i++) {
        struct checked c;

        snprintf(path, sizeof(path), "%s/sweep.json%s", p->root, i ? "" : ".gz");
        if (ks_timeline_write(p->file, path, samples[i], &counts, &err) < 0)
            fail_msg("%s", err.text);
        c = check_trace(path);
        assert_int_equal(counts.n_cells, c.n_cells);
        assert_true(counts.n_cells > 0 && counts.n_cells + counts.n_not_run == 6 * N_HOSTILE);
        assert_int_equal(counts.n_samples, c.n_samples);
        assert_int_equal(c.n_samples > 0, i == 0);
        assert_int_equal(counts.n_samples_left_out > 0, i == 1);
        assert_int_equal(c.n_instants, 1);
        assert_true(counts.n_leases >= 4 && counts.n_workers >= 4 && counts.n_blocks >= 4);
        assert_true(c.n_meta >= 5);
        remove(path);
    }
}

int main(void)
{
#define TEST_AT(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)
    const struct CMUnitTest tests[] = {
        TEST_AT(names_are_never_markup),
        TEST_AT(page_counts),
        TEST_AT(heat_leaves_out_what_ran_nowhere),
        TEST_AT(a_million_cells_fit),
        TEST_AT(cut_lists_have_their_length),
        TEST_AT(long_hostile_names_fit),
        TEST_AT(two_names_of_a_path),
        TEST_AT(timeline_reads_back),
    };
#undef TEST_AT

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
