/* SPDX-License-Identifier: MIT */
/* status_file.c - writes status.json and reads it back: exit status, reason, counts */
#include "cmd/status_file.h"

#include "base/clock.h"
#include "base/file.h"
#include "cmd/cmd.h"
#include "store/store.h"
#include "json/json.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int ks_status_write(const struct ks_run_result *r, struct ks_err *err)
{
    struct ks_buf b;
    struct ks_jw w;
    char path[1100], now[32];
    ks_buf_init(&b);
    ks_jw_init(&w, &b, true);
    ks_utc_text(ks_realtime_ns(), now, sizeof(now));
    ks_jw_open(&w, NULL, '{');
    ks_jw_int(&w, "exit", r->exit);
    ks_jw_str(&w, "reason", r->reason);
    ks_jw_str(&w, "written", now);
    ks_jw_u64(&w, "cells", r->n_cells);
    ks_jw_u64(&w, "pending", r->n_pending);
    ks_jw_u64(&w, "again", r->n_again);
    ks_jw_u64(&w, "contaminated", r->n_contaminated);
    ks_jw_u64(&w, "rows_need_look", r->n_found_need_look);
    ks_jw_open(&w, "outcomes", '{');
    for (uint32_t o = 1; o < KS_O_LIMIT; o++)
        if (r->outcome[o])
            ks_jw_u64(&w, ks_outcome_text(o), r->outcome[o]);
    ks_jw_close(&w, '}');
    ks_jw_str(&w, "lost_hosts", r->lost_hosts);
    if (r->gather_error[0])
        ks_jw_str(&w, "gather_error", r->gather_error);
    ks_jw_u64(&w, "journal_bytes", ks_store_journal_bytes(r->dir));
    ks_jw_close(&w, '}');
    ks_buf_printf(&b, "\n");
    int rc = ks_buf_ok(&b) ? 0 : ks_fail(err, KS_ENOMEM, "status: out of memory");
    if (rc == 0)
        rc = ks_path_join(path, sizeof(path), r->dir, "status.json", err);
    if (rc == 0)
        rc = ks_file_replace(path, b.data, b.len, err);
    ks_buf_release(&b);
    return rc;
}

static uint64_t number_at(const struct ks_json *doc, const struct ks_node *obj, const char *key)
{
    const struct ks_node *n = ks_node_at(obj, key);
    int64_t v = 0;
    return n && ks_node_int(doc, n, &v, NULL) == 0 && v > 0 ? (uint64_t)v : 0;
}

static void text_at(const struct ks_json *doc, const char *key, char *out, size_t cap)
{
    const struct ks_node *n = ks_node_at(ks_json_root(doc), key);
    const char *text = "";
    if (n && ks_node_str(doc, n, &text, NULL) == 0)
        snprintf(out, cap, "%s", text);
}

/* All but the exit code and the reason. */
static void take_counts(const struct ks_json *doc, struct ks_run_result *r)
{
    const struct ks_node *root = ks_json_root(doc), *outcomes = ks_node_at(root, "outcomes");
    r->n_cells = number_at(doc, root, "cells");
    r->n_pending = number_at(doc, root, "pending");
    r->n_again = number_at(doc, root, "again");
    r->n_contaminated = number_at(doc, root, "contaminated");
    r->n_found_need_look = number_at(doc, root, "rows_need_look");
    for (uint32_t o = 1; o < KS_O_LIMIT; o++)
        r->outcome[o] = number_at(doc, outcomes, ks_outcome_text(o));
    text_at(doc, "lost_hosts", r->lost_hosts, sizeof(r->lost_hosts));
    text_at(doc, "gather_error", r->gather_error, sizeof(r->gather_error));
}

int ks_status_refuse(const char *dir, const char *why, struct ks_err *err)
{
    struct ks_run_result *r = calloc(1, sizeof(*r));
    struct ks_json *doc = NULL;
    char path[1100];
    if (!r)
        return ks_fail(err, KS_ENOMEM, "status: out of memory");
    r->exit = KS_EXIT_INPUT;
    snprintf(r->reason, sizeof(r->reason), "refused: %.*s", (int)strcspn(why, "\n"), why);
    snprintf(r->dir, sizeof(r->dir), "%s", dir);
    if (ks_path_join(path, sizeof(path), dir, "status.json", NULL) == 0 &&
        ks_json_open(path, &doc, NULL) == 0)
        take_counts(doc, r);
    ks_json_close(doc);
    int rc = ks_status_write(r, err);
    free(r);
    return rc;
}

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* The newest change of any segment; false when there is none. */
static bool newest_segment(const char *dir, struct timespec *out)
{
    char path[1200];
    bool found = false;
    snprintf(path, sizeof(path), "%.1100s/journal", dir);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        size_t n = strlen(e->d_name);
        if (n < 4 || strcmp(e->d_name + n - 4, ".ksj") != 0 ||
            fstatat(dirfd(d), e->d_name, &st, 0) < 0)
            continue;
        if (!found || is_later(st.st_mtim, *out))
            *out = st.st_mtim;
        found = true;
    }
    if (d)
        closedir(d);
    return found;
}

/* Sizes survive a copy, times do not: they decide where a status says no size. */
static bool is_newer_journal(const char *dir, const struct ks_json *doc, const struct stat *status)
{
    const struct ks_node *bytes = ks_node_at(ks_json_root(doc), "journal_bytes");
    struct timespec journal = { 0 };
    int64_t n = 0;
    if (bytes)
        return ks_node_int(doc, bytes, &n, NULL) < 0 || (uint64_t)n != ks_store_journal_bytes(dir);
    return newest_segment(dir, &journal) && is_later(journal, status->st_mtim);
}

void ks_status_read(const char *dir, struct ks_run_result *out)
{
    char path[1200];
    struct stat st;
    struct ks_json *doc = NULL;
    int64_t code;
    *out = (struct ks_run_result){ .exit = KS_EXIT_INCOMPLETE };
    snprintf(path, sizeof(path), "%.1100s/status.json", dir);
    if (stat(path, &st) < 0 || ks_json_open(path, &doc, NULL) < 0)
        return;
    const struct ks_node *exit = ks_node_at(ks_json_root(doc), "exit");
    if (!is_newer_journal(dir, doc, &st) && ks_node_int(doc, exit, &code, NULL) == 0 && code >= 0 &&
        code <= KS_EXIT_INCOMPLETE) {
        out->exit = (int)code;
        snprintf(out->dir, sizeof(out->dir), "%s", dir);
        text_at(doc, "reason", out->reason, sizeof(out->reason));
        take_counts(doc, out);
    }
    ks_json_close(doc);
}

int ks_status_exit(const char *dir)
{
    struct ks_run_result r;
    ks_status_read(dir, &r);
    return r.exit;
}

int ks_status_gathered(const char *dir, uint64_t n_found_need_look, struct ks_err *err)
{
    struct ks_run_result r;
    ks_status_read(dir, &r);
    if (!r.gather_error[0])
        return 0;
    r.gather_error[0] = '\0';
    r.n_found_need_look = n_found_need_look;
    if (r.exit == KS_EXIT_LOOK)
        r.exit = ks_run_result_exit(&r);
    return ks_status_write(&r, err);
}
