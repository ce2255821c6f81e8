/* SPDX-License-Identifier: MIT */
/* directory.c - opens a run's directory: compares the journal's job, begins a segment, counts */
#include "mpi/directory.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/opt.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALIVE_FRAMES 4096u          /* some milliseconds */
#define CONTAMINATED "contaminated" /* of --retry, beside the outcomes */
#define NAMES_BYTES  (8ull << 20)   /* those of a million problems take 0.3 GiB */

struct ks_directory {
    char path[1024], journal_dir[1100];
    const struct ks_grid *grid;
    struct ks_log *log;
    FILE *log_file;
    struct ks_journal *journal;
    struct ks_ledger *ledger;
    uint32_t retry;
    struct ks_buf changes; /* harmless differences to the journal's job */
    struct ks_buf body;
    ks_directory_alive_fn alive;
    void *ctx;
    uint64_t n_frames, n_bad; /* read; not understood */
};

static int unknown_outcome(const char *word, struct ks_err *err)
{
    const char *names[KS_O_LIMIT + 1] = { CONTAMINATED }, *near;
    struct ks_buf all;
    for (uint32_t o = 1; o < KS_O_LIMIT; o++)
        names[o] = ks_outcome_text(o);
    near = ks_nearest(word, names);
    ks_buf_init(&all);
    for (uint32_t i = 0; names[i]; i++)
        ks_buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
    int rc = ks_fail(err, KS_EINVAL, "--retry: unknown outcome '%s'%s%s%s known are %s", word,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : ";",
                     ks_buf_text(&all));
    ks_buf_release(&all);
    return rc;
}

static int parse_retry(const char *text, uint32_t *mask_out, struct ks_err *err)
{
    *mask_out = 0;
    while (text && *text) {
        char word[32];
        size_t n = strcspn(text, ",");
        snprintf(word, sizeof(word), "%.*s", (int)(n < 31 ? n : 31), text);
        const bool is_flag = strcmp(word, CONTAMINATED) == 0;
        uint32_t o = ks_outcome_from(word);
        if (o == KS_O_NONE && !is_flag)
            return unknown_outcome(word, err);
        *mask_out |= is_flag ? KS_RETRY_CONTAMINATED : 1u << o;
        text += n + (text[n] == ',');
    }
    return 0;
}

static void count_damage(void *ctx, const struct ks_journal_damage *d)
{
    const struct ks_directory *dir = ctx;
    if (d->copy_of) {
        ks_logf(dir->log, KS_WARN, "%s: ignored, it is a copy of segment %u", d->path, d->copy_of);
        return;
    }
    ks_logf(dir->log, d->is_tail ? KS_INFO : KS_WARN, "%s: %llu %s bytes at offset %llu", d->path,
            (unsigned long long)d->n_bytes, d->is_tail ? "torn" : "damaged",
            (unsigned long long)d->offset);
}

static uint64_t count_missing(const struct ks_directory *d, struct ks_buf *names)
{
    uint64_t n = 0;
    for (size_t i = 0; i < ks_ledger_n_problems(d->ledger); i++) {
        const struct ks_ledger_problem *p = ks_ledger_problem(d->ledger, i);
        if (ks_grid_problem(d->grid, p->id) >= 0)
            continue;
        if (n++ < 3)
            ks_buf_printf(names, "\n  problem %016llx %s is no longer in it",
                          (unsigned long long)p->id, p->name);
    }
    for (size_t i = 0; i < ks_ledger_n_instances(d->ledger); i++) {
        uint64_t id = ks_ledger_instance(d->ledger, i);
        if (ks_grid_instance(d->grid, id) >= 0)
            continue;
        const char *name = ks_ledger_instance_name(d->ledger, id);
        if (n++ < 6)
            ks_buf_printf(names, "\n  instance %016llx %s is no longer in it",
                          (unsigned long long)id, name ? name : "");
    }
    return n;
}

/* Is there anything but hidden files? */
static bool holds_files(const char *path)
{
    DIR *dir = opendir(path);
    bool is_found = false;
    for (struct dirent *e; dir && !is_found && (e = readdir(dir));)
        is_found = e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return is_found;
}

/* A journal without a job: killed before anything was measured, or lost since, or this never was a
 * run. In the last two cases a new run would replace files that it did not write. */
static int check_unused(const struct ks_directory *d, struct ks_err *err)
{
    char results[1100];
    int rc = ks_path_join(results, sizeof(results), d->path, "results.h5", err);
    if (rc < 0)
        return rc;
    if (ks_path_exists(results))
        return ks_fail(err, KS_EINVAL,
                       "'%s' holds results.h5, but no journal of its measurements, so they cannot "
                       "be resumed and would be replaced: choose another directory with --out, or "
                       "move results.h5 away",
                       d->path);
    if (!ks_path_is_dir(d->journal_dir) && holds_files(d->path))
        return ks_fail(err, KS_EINVAL,
                       "'%s' is not the directory of a run, so there is nothing to resume: check "
                       "--out",
                       d->path);
    return 0;
}

/* The journal's job against this one. */
static int check_same_job(struct ks_directory *d, const struct ks_run_options *o,
                          struct ks_err *err)
{
    const char *text;
    const struct ks_job_rec *was = ks_ledger_job(d->ledger, &text);
    struct ks_job old = { .n_kernels = 0 };
    struct ks_buf fatal;
    if (!was)
        return check_unused(d, err);
    ks_buf_init(&fatal);
    int rc = ks_job_parse_resolved(text, strlen(text), "job in the journal", &old, err);
    int n_fatal = rc < 0 ? 0 : ks_job_diff(&old, &d->grid->job, &fatal, &d->changes);
    if (rc == 0 && !n_fatal && was->condition != d->grid->condition)
        rc = ks_fail(err, KS_EINVAL,
                     "'%s' was measured by a version of ksweep with another measurement protocol, "
                     "whose times cannot be compared: measure into a new directory with --out",
                     d->path);
    if (rc == 0 && n_fatal)
        rc = ks_fail(err, KS_EINVAL, "'%s' was measured with a different job; differences:\n%.400s",
                     d->path, ks_buf_text(&fatal));
    if (rc == 0 && was->grid_digest != d->grid->digest) {
        uint64_t n_lost = count_missing(d, &fatal);
        if (n_lost)
            rc = ks_fail(err, KS_EINVAL, "'%s' has cells that this job does not have%.300s",
                         d->path, ks_buf_text(&fatal));
        else if (!o->extend)
            rc = ks_fail(err, KS_EINVAL,
                         "the grid of '%s' has grown: %llu problems x %llu instances are now %u x "
                         "%u; resume with --extend",
                         d->path, (unsigned long long)was->n_problems,
                         (unsigned long long)was->n_instances, d->grid->n_problems,
                         d->grid->n_instances);
    }
    ks_buf_release(&fatal);
    ks_job_release(&old);
    return rc;
}

static int take_old(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_directory *d = ctx;
    if (d->alive && ++d->n_frames % ALIVE_FRAMES == 0)
        d->alive(d->ctx);
    int rc = ks_ledger_apply(d->ledger, f, err);
    d->n_bad += rc == KS_EFORMAT;
    return rc == KS_EFORMAT ? 0 : rc;
}

static int read_old(struct ks_directory *d, const struct ks_run_options *o, struct ks_err *err)
{
    if (!ks_path_is_dir(d->path))
        return ks_fail(err, KS_ENOENT,
                       "'%s' does not exist, so there is nothing to resume: check --out, or leave "
                       "out --resume",
                       d->path);
    ks_ledger_destroy(d->ledger);
    d->ledger = NULL;
    d->n_bad = 0;
    ks_buf_clear(&d->changes);
    int rc = ks_ledger_create(&d->ledger, err);
    if (rc == 0)
        rc = ks_journal_read(d->journal_dir, take_old, count_damage, d, NULL, err);
    if (rc == KS_ENOENT) /* no segment */
        return check_unused(d, err);
    if (rc == 0 && d->n_bad)
        ks_logf(d->log, KS_WARN, "%s: %llu frames could not be read", d->journal_dir,
                (unsigned long long)d->n_bad);
    return rc < 0 ? rc : check_same_job(d, o, err);
}

static int append(struct ks_directory *d, uint16_t type, struct ks_err *err)
{
    uint64_t position;
    if (!ks_buf_ok(&d->body))
        return ks_fail(err, KS_ENOMEM, "journal: out of memory");
    int rc = ks_journal_append(d->journal, type, d->body.data, d->body.len, &position, err);
    if (rc < 0 || ks_journal_pending(d->journal) < NAMES_BYTES)
        return rc;
    if (d->alive)
        d->alive(d->ctx);
    return ks_journal_sync(d->journal, NULL, err);
}

static int write_names(struct ks_directory *d, struct ks_err *err)
{
    const struct ks_grid *g = d->grid;
    struct ks_buf text;
    int rc = 0;
    ks_buf_init(&text);
    for (uint32_t i = 0; i < g->n_problems && rc == 0; i++) {
        const struct ks_problem p = ks_problem_table_get(&g->problems, i);
        struct ks_name_rec v = { .id = p.id,
                                 .count = p.count,
                                 .n_absent = g->n_instances - ks_grid_n_cells_of(g, i) };
        ks_buf_clear(&text);
        ks_problem_canonical(&p, &text);
        snprintf(v.name, sizeof(v.name), "%s", p.name);
        snprintf(v.text, sizeof(v.text), "%s", ks_buf_text(&text));
        ks_buf_clear(&d->body);
        ks_name_rec_encode(&v, &d->body);
        rc = append(d, KS_F_PROBLEM, err);
    }
    for (uint32_t i = 0; i < g->n_instances && rc == 0; i++) {
        const struct ks_instance *in = &g->instances[i];
        struct ks_name_rec v = { .id = in->id };
        ks_buf_clear(&text);
        ks_instance_record_text(&g->families[in->i_family], in, &text);
        snprintf(v.name, sizeof(v.name), "%s", in->name);
        snprintf(v.text, sizeof(v.text), "%s", ks_buf_text(&text));
        ks_buf_clear(&d->body);
        ks_name_rec_encode(&v, &d->body);
        rc = append(d, KS_F_INSTANCE, err);
    }
    ks_buf_release(&text);
    return rc;
}

static int write_changes(struct ks_directory *d, struct ks_err *err)
{
    if (!d->changes.len)
        return 0;
    ks_logf(d->log, KS_WARN, "resumed with changed keys:\n%s", ks_buf_text(&d->changes));
    struct ks_event_rec e = { .kind = KS_EV_CHANGED_KEY, .realtime_ns = ks_realtime_ns() };
    snprintf(e.text, sizeof(e.text), "%.500s", ks_buf_text(&d->changes));
    ks_buf_clear(&d->body);
    ks_event_encode(&e, &d->body);
    return append(d, KS_F_EVENT, err);
}

static int write_job(struct ks_directory *d, const struct ks_buf *json, struct ks_err *err)
{
    const struct ks_grid *g = d->grid;
    struct ks_job_rec j = { .grid_digest = g->digest,
                            .condition = g->condition,
                            .n_problems = g->n_problems,
                            .n_instances = g->n_instances,
                            .n_absent =
                                (uint64_t)g->n_problems * g->n_instances - ks_grid_n_cells(g) };
    uint64_t durable;
    ks_buf_clear(&d->body);
    ks_job_rec_encode(&j, ks_buf_text(json), &d->body);
    int rc = append(d, KS_F_JOB, err);
    if (rc == 0)
        rc = write_names(d, err);
    if (rc == 0)
        rc = write_changes(d, err);
    return rc < 0 ? rc : ks_journal_sync(d->journal, &durable, err);
}

static int begin_segment(struct ks_directory *d, const struct ks_run_options *o, bool is_new,
                         struct ks_err *err)
{
    char path[1100];
    struct ks_buf json;
    struct ks_journal_open jo = { .dir = d->journal_dir, .take_over = o->take_over };
    if (is_new)
        jo.run_id = ks_id128_random();
    ks_buf_init(&json);
    ks_job_print(&d->grid->job, &json);
    int rc = ks_mkdirs(d->path, 0777, err);
    if (rc == 0)
        rc = ks_journal_create(&jo, &d->journal, err);
    if (rc == 0 && !is_new) /* what the last owner still wrote while it was being replaced */
        rc = read_old(d, o, err);
    if (rc == 0)
        rc = ks_path_join(path, sizeof(path), d->path, "log", err);
    if (rc == 0 && (d->log_file = fopen(path, "a")))
        d->log->copy = d->log_file;
    if (rc == 0)
        rc = ks_path_join(path, sizeof(path), d->path, "job.json", err);
    if (rc == 0)
        rc = ks_file_replace(path, json.data, json.len, err);
    if (rc == 0)
        rc = write_job(d, &json, err);
    ks_buf_release(&json);
    return rc;
}

static bool is_resume(const struct ks_run_options *o)
{
    return o->resume || o->extend || o->retry;
}

static int open_paths(struct ks_directory *d, const struct ks_run_options *o, struct ks_err *err)
{
    char name[160];
    snprintf(name, sizeof(name), "%s.ksweep", d->grid->job.name);
    const char *dir = o->dir ? o->dir : name;
    if (strlen(dir) >= sizeof(d->path))
        return ks_fail(err, KS_EINVAL, "--out: the path is longer than %zu bytes", sizeof(d->path));
    snprintf(d->path, sizeof(d->path), "%s", dir);
    return ks_path_join(d->journal_dir, sizeof(d->journal_dir), d->path, "journal", err);
}

void ks_directory_resumed(const struct ks_run_options *o, const struct ks_job *job, char *dir_out,
                          size_t cap)
{
    char name[160], journal[1100];
    const char *dir = o->dir ? o->dir : name;
    snprintf(name, sizeof(name), "%s.ksweep", job->name);
    dir_out[0] = '\0';
    if (is_resume(o) && strlen(dir) < cap &&
        ks_path_join(journal, sizeof(journal), dir, "journal", NULL) == 0 &&
        ks_path_is_dir(journal))
        snprintf(dir_out, cap, "%s", dir);
}

/* Reads what is there, and changes nothing. */
static int examine(struct ks_directory *d, const struct ks_run_options *o, struct ks_err *err)
{
    int rc = open_paths(d, o, err);
    if (rc == 0)
        rc = parse_retry(o->retry, &d->retry, err);
    if (rc == 0)
        rc = ks_ledger_create(&d->ledger, err);
    if (rc == 0 && !is_resume(o) && ks_path_exists(d->path))
        return o->on_exists ? o->on_exists(o->ctx, d->path, err)
                            : ks_fail(err, KS_EEXIST,
                                      "'%s' exists: continue it with --resume, or choose another "
                                      "directory with --out",
                                      d->path);
    if (rc == 0 && is_resume(o))
        rc = read_old(d, o, err);
    return rc;
}

static int create(const struct ks_grid *grid, struct ks_log *log, struct ks_directory **d_out,
                  struct ks_err *err)
{
    struct ks_directory *d = calloc(1, sizeof(*d));
    if (!d)
        return ks_fail(err, KS_ENOMEM, "directory: out of memory");
    d->grid = grid;
    d->log = log;
    ks_buf_init(&d->changes);
    ks_buf_init(&d->body);
    *d_out = d;
    return 0;
}

int ks_directory_check(const struct ks_run_options *o, const struct ks_grid *grid,
                       struct ks_err *err)
{
    struct ks_log quiet = { .level = KS_ERROR, .rank = -1 };
    struct ks_directory *d;
    int rc = create(grid, &quiet, &d, err);
    if (rc < 0)
        return rc;
    rc = examine(d, o, err);
    ks_directory_destroy(d);
    return rc;
}

int ks_directory_open(const struct ks_run_options *o, const struct ks_grid *grid,
                      struct ks_log *log, ks_directory_alive_fn alive, void *ctx,
                      struct ks_directory **d_out, struct ks_err *err)
{
    struct ks_directory *d;
    int rc = create(grid, log, &d, err);
    if (rc < 0)
        return rc;
    d->alive = alive;
    d->ctx = ctx;
    rc = examine(d, o, err);
    if (rc == 0)
        rc = begin_segment(d, o, !is_resume(o), err);
    if (rc < 0) {
        ks_directory_abandon(d);
        ks_directory_destroy(d);
        return rc;
    }
    *d_out = d;
    return 0;
}

struct ks_journal *ks_directory_journal(struct ks_directory *d)
{
    return d->journal;
}
struct ks_ledger *ks_directory_ledger(struct ks_directory *d)
{
    return d->ledger;
}
const char *ks_directory_path(const struct ks_directory *d)
{
    return d->path;
}
uint32_t ks_directory_retry(const struct ks_directory *d)
{
    return d->retry;
}

static uint64_t directory_bytes(const struct ks_directory *d)
{
    uint64_t sum = 0;
    for (uint32_t i = 1; i <= ks_journal_segment(d->journal)->incarnation; i++) {
        char path[1200];
        struct stat st;
        snprintf(path, sizeof(path), "%.1100s/%04u.ksj", d->journal_dir, i);
        if (stat(path, &st) == 0)
            sum += (uint64_t)st.st_size;
    }
    return sum;
}

void ks_directory_result(const struct ks_directory *d, const struct ks_coord *c,
                         struct ks_run_result *out)
{
    struct ks_ledger_counts n;
    ks_ledger_counts(d->ledger, &n);
    memcpy(out->outcome, n.outcome, sizeof(out->outcome));
    out->n_cells = ks_grid_n_cells(d->grid);
    out->n_pending = ks_coord_n_pending(c);
    out->n_again = ks_coord_n_again(c);
    out->n_contaminated = n.n_contaminated;
    out->journal_bytes = directory_bytes(d);
    snprintf(out->dir, sizeof(out->dir), "%s", d->path);
    snprintf(out->reason, sizeof(out->reason), "%s", ks_coord_reason(c));
    snprintf(out->lost_hosts, sizeof(out->lost_hosts), "%s", ks_ledger_lost_hosts(d->ledger));
    out->exit = ks_run_result_exit(out);
}

int ks_directory_close(struct ks_directory *d, struct ks_err *err)
{
    struct ks_journal *j = d->journal;
    d->journal = NULL;
    return ks_journal_close(j, err);
}

void ks_directory_abandon(struct ks_directory *d)
{
    ks_journal_abandon(d->journal);
    d->journal = NULL;
}

void ks_directory_destroy(struct ks_directory *d)
{
    if (!d)
        return;
    ks_journal_abandon(d->journal);
    ks_ledger_destroy(d->ledger);
    if (d->log_file) {
        d->log->copy = NULL;
        fclose(d->log_file);
    }
    ks_buf_release(&d->changes);
    ks_buf_release(&d->body);
    free(d);
}
