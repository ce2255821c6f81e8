/* SPDX-License-Identifier: MIT */
/* counter_files.c - finds files of counters below paths, and the process and rank each is of */
#include "analysis/trace/counter_read.h"
#include "analysis/trace/view.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 8, PATH_BYTES = 4096 };

struct entry {
    char *path;       /* owned */
    bool is_from_dir; /* found there, not named by the user */
    bool is_later;
};
struct list {
    struct entry *at; /* [n] */
    size_t n;
};

static void list_release(struct list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->at[i].path);
    free(l->at);
}

static int list_add(struct list *l, const char *path, bool is_from_dir, struct ks_err *err)
{
    struct entry *at = realloc(l->at, (l->n + 1) * sizeof(*at));
    char *copy = strdup(path);

    if (at)
        l->at = at;
    if (!at || !copy) {
        free(copy);
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu file names", l->n + 1);
    }
    l->at[l->n++] = (struct entry){ .path = copy, .is_from_dir = is_from_dir };
    return 0;
}

static int is_visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int walk(struct list *l, const char *path, int depth, struct ks_err *err)
{
    struct dirent **names = NULL;
    char inner[PATH_BYTES];
    int rc = 0, n;

    if (!ks_path_is_dir(path)) {
        const bool is_wanted =
            depth == 0 || ks_text_ends_in(path, ".csv") || ks_is_trace_name(path);

        return is_wanted ? list_add(l, path, depth > 0, err) : 0;
    }
    if (depth == MOST_DEPTH)
        return 0;
    n = scandir(path, &names, is_visible, alphasort);
    if (n < 0)
        return ks_fail_path(err, "cannot list '%s'", path);
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = ks_path_join(inner, sizeof(inner), path, names[i]->d_name, err);
        if (rc == 0)
            rc = walk(l, inner, depth + 1, err);
        free(names[i]);
    }
    free(names);
    return rc;
}

int64_t ks_counter_rank_of(const char *path)
{
    int64_t rank = -1;

    for (const char *at = path; (at = strcasestr(at, "rank")) != NULL; at += 4) {
        const char *digits = at + 4 + (at[4] == '_' || at[4] == '-' || at[4] == '=');
        const size_t n = strspn(digits, "0123456789");

        if (n > 0 && n <= 9)
            rank = strtoll(digits, NULL, 10);
    }
    return rank;
}

/* ---- which run of the profiled program a file belongs to ---- */

/* "pass_12": one run of several, each of which measured other counters. */
static bool is_pass(const char *name)
{
    return strncmp(name, "pass_", 5) == 0 && isdigit((unsigned char)name[5]);
}

/* How many files with this end stand before it in its directory: the number of the process, because
 * its id differs between passes. */
static size_t number_in_dir(const struct list *l, const char *path, const char *end)
{
    const size_t n_dir = (size_t)(ks_path_base(path) - path);
    size_t number = 0;

    for (size_t i = 0; i < l->n && strcmp(l->at[i].path, path) != 0; i++) {
        const char *other = l->at[i].path;

        number += strncmp(other, path, n_dir) == 0 && !strchr(other + n_dir, '/') &&
                  ks_text_ends_in(other, end);
    }
    return number;
}

static void process_of(const struct list *l, const char *path, char *out, size_t cap)
{
    static const char *const ends[] = { "counter_collection.csv", "kernel_trace.csv" };
    char dir[PATH_BYTES], above[PATH_BYTES];
    const char *end = "";

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (ks_text_ends_in(path, ends[i]))
            end = ends[i];
    ks_path_dir(dir, sizeof(dir), path);
    ks_path_dir(above, sizeof(above), dir);
    if (*end && is_pass(ks_path_base(dir)))
        snprintf(out, cap, "%s #%zu", above, number_in_dir(l, path, end));
    else
        snprintf(out, cap, "%.*s", (int)(strlen(path) - strlen(end)), path);
}

/* rocprof-compute keeps beside pmc_perf.csv the files from which it was joined. */
static bool is_part_of_pmc_perf(const struct entry *e)
{
    char dir[PATH_BYTES], joined[PATH_BYTES];
    struct ks_err ignored;

    ks_path_dir(dir, sizeof(dir), e->path);
    return e->is_from_dir && strcmp(ks_path_base(e->path), "pmc_perf.csv") != 0 &&
           ks_path_join(joined, sizeof(joined), dir, "pmc_perf.csv", &ignored) == 0 &&
           ks_path_exists(joined);
}

/* ---- reading ---- */

static int read_csv(struct ks_counter_table *t, const struct list *l, const struct entry *e,
                    enum ks_counter_phase phase, struct ks_err *err)
{
    char process[PATH_BYTES + 32];
    struct ks_counter_csv csv = { .path = e->path, .process = process };
    struct ks_buf text;
    int rc;

    if (is_part_of_pmc_perf(e))
        return KS_COUNTERS_NONE;
    process_of(l, e->path, process, sizeof(process));
    csv.rank = ks_counter_rank_of(e->path);
    ks_buf_init(&text);
    rc = ks_file_read(e->path, &text, err);
    csv.text = ks_buf_text(&text);
    csv.len = text.len;
    if (rc == 0)
        rc = ks_counter_csv_read(t, &csv, phase, err);
    ks_buf_release(&text);
    return rc;
}

static int nothing_known(const struct entry *e, struct ks_err *err)
{
    if (ks_is_trace_name(e->path))
        return ks_fail(err, KS_EFORMAT,
                       "%s: a trace without ranges of the CUPTI profiler "
                       "(category cuda_profiler_range)",
                       e->path);
    return ks_fail(err, KS_EFORMAT,
                   "%s: does not have a header of Nsight Compute, Nsight Systems, rocprofv3 or "
                   "rocprof-compute; docs/traces-recording.md shows how to write such a file",
                   e->path);
}

/* JSON that is no trace lies in directories of profilers, too: it is left alone there. */
static int read_json(struct ks_counter_table *t, const struct entry *e, struct ks_err *err)
{
    const uint32_t n_before = t->n_rows;
    int rc = ks_counter_trace_read(t, e->path, ks_counter_rank_of(e->path), err);

    return rc == KS_EFORMAT && e->is_from_dir && t->n_rows == n_before ? KS_COUNTERS_NONE : rc;
}

static int read_all(struct ks_counter_table *t, struct list *l, struct ks_err *err)
{
    size_t n_read = 0;
    int rc = 0;

    for (size_t i = 0; rc >= 0 && i < l->n; i++) {
        struct entry *e = &l->at[i];

        rc = ks_is_trace_name(e->path) ? read_json(t, e, err)
                                       : read_csv(t, l, e, KS_COUNTERS_ALL_BUT_TIMES, err);
        if (rc == KS_COUNTERS_NONE && !e->is_from_dir)
            rc = nothing_known(e, err);
        e->is_later = rc == KS_COUNTERS_LATER;
        n_read += rc > 0;
    }
    for (size_t i = 0; rc >= 0 && i < l->n; i++)
        if (l->at[i].is_later)
            rc = read_csv(t, l, &l->at[i], KS_COUNTERS_TIMES, err);
    if (rc >= 0 && (n_read == 0 || t->n_rows == 0))
        rc = ks_fail(err, KS_EFORMAT, "no kernel launch with counters in %zu file%s", l->n,
                     l->n == 1 ? "" : "s");
    return rc < 0 ? rc : 0;
}

int ks_counter_paths_read(struct ks_counter_table *t, const char *const *paths, int n,
                          struct ks_err *err)
{
    struct list l = { 0 };
    int rc = 0;

    for (int i = 0; rc == 0 && i < n; i++)
        rc = walk(&l, paths[i], 0, err);
    if (rc == 0)
        rc = read_all(t, &l, err);
    list_release(&l);
    return rc;
}
