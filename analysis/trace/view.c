/* SPDX-License-Identifier: MIT */
/* view.c - opens a trace for the verbs: its steps, charges and peaks; lists the traces of paths */
#include "analysis/trace/view.h"

#include "base/file.h"
#include "base/text.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* ---- steps ---- */

/* "ProfilerStep#7" to 7; -1: another name. */
static int64_t step_of(const char *name)
{
    static const char prefix[] = "ProfilerStep#";
    char *end;
    long long v;

    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
        return -1;
    v = strtoll(name + sizeof(prefix) - 1, &end, 10);
    return *end ? -1 : v;
}

static int parse_steps(const char *text, int64_t *first, int64_t *last, struct ks_err *err)
{
    char *end;

    *first = strtoll(text, &end, 10);
    *last = *first;
    if (end != text && strncmp(end, "..", 2) == 0) {
        const char *second = end + 2;

        *last = strtoll(second, &end, 10);
        end = end == second ? (char *)(uintptr_t)text : end;
    }
    if (end == text || *end || *first < 0 || *last < *first)
        return ks_fail(err, KS_EINVAL, "--steps '%s': expected A or A..B, such as 15..16", text);
    return 0;
}

/* From the beginning of the first to the end of the last of the steps on the host. */
static int find_steps(const struct ks_trace *t, const char *text, int64_t *begin_ns,
                      int64_t *end_ns, struct ks_err *err)
{
    const struct ks_trace_notes *n = &t->notes;
    int64_t first, last;
    int rc = parse_steps(text, &first, &last, err);

    *begin_ns = INT64_MAX;
    *end_ns = INT64_MIN;
    for (uint32_t i = 0; rc == 0 && i < n->n; i++) {
        const int64_t step = n->is_gpu[i] ? -1 : step_of(ks_trace_name(t, n->name[i]));
        const int64_t end = n->ts_ns[i] + n->dur_ns[i];

        if (step < first || step > last || step < 0)
            continue;
        *begin_ns = n->ts_ns[i] < *begin_ns ? n->ts_ns[i] : *begin_ns;
        *end_ns = end > *end_ns ? end : *end_ns;
    }
    if (rc == 0 && *begin_ns > *end_ns)
        rc = ks_fail(err, KS_EINVAL, "%s: no ProfilerStep# in %s", t->path, text);
    return rc;
}

/* Work belongs to the step that launched it; without a launch, to that in which it began. */
static int keep_steps(struct ks_trace_view *v, const char *text, struct ks_err *err)
{
    const struct ks_trace *t = v->t;
    int rc = find_steps(t, text, &v->begin_ns, &v->end_ns, err);

    if (rc < 0)
        return rc;
    v->keep = calloc(t->gpu.n + (size_t)1, 1);
    if (!v->keep)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < t->gpu.n; i++) {
        const uint32_t call = t->gpu.call[i];
        const int64_t ns = call != KS_TRACE_NONE ? t->calls.ts_ns[call] : t->gpu.ts_ns[i];

        v->keep[i] = ns >= v->begin_ns && ns <= v->end_ns;
    }
    return 0;
}

/* ---- opening ---- */

static int find_peaks(struct ks_trace_view *v, const char *path, struct ks_err *err)
{
    struct ks_peaks *peaks = NULL;
    int rc = ks_peaks_open(path, &peaks, err);

    v->peak = calloc(v->t->n_devices + (size_t)1, sizeof(*v->peak));
    if (rc == 0 && !v->peak)
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; rc == 0 && i < v->t->n_devices; i++)
        ks_peaks_find(peaks, &v->t->devices[i], &v->peak[i]);
    ks_peaks_close(peaks);
    return rc;
}

static void put_note(struct ks_buf *notes, const char *path, const char *text)
{
    ks_buf_printf(notes, "ksweep-analyze trace: ");
    ks_text_put(notes, path, strlen(path), KS_LINES_NONE);
    ks_buf_printf(notes, ": %s\n", text);
}

void ks_trace_note_dirt(const char *path, const struct ks_trace_dirt *d, struct ks_buf *notes)
{
    struct ks_buf text;

    ks_buf_init(&text);
    ks_trace_dirt_put(d, &text);
    if (text.len)
        put_note(notes, path, ks_buf_text(&text));
    ks_buf_release(&text);
}

static void note(const struct ks_trace_view *v, struct ks_buf *notes)
{
    const struct ks_trace *t = v->t;
    struct ks_buf text;

    ks_trace_note_dirt(t->path, &t->dirt, notes);
    ks_buf_init(&text);
    if (t->n_negative)
        ks_buf_printf(&text, "skipped %llu events with a negative or impossible duration",
                      (unsigned long long)t->n_negative);
    if (t->ops.n && !t->has_shapes && t->links.n_kernels)
        ks_buf_printf(&text,
                      "%sthe trace has no shapes (record_shapes), so FLOPs and bytes are unknown",
                      text.len ? "; " : "");
    else if (v->charge.refused_why)
        ks_buf_printf(&text, "%ssome operators have unknown FLOPs: %s", text.len ? "; " : "",
                      v->charge.refused_why);
    if (text.len)
        put_note(notes, t->path, ks_buf_text(&text));
    ks_buf_release(&text);
}

int ks_trace_view_read(struct ks_trace_source *source, const struct ks_view_options *o,
                       struct ks_trace_view *out, struct ks_buf *notes, struct ks_err *err)
{
    int rc;

    *out = (struct ks_trace_view){ .begin_ns = INT64_MIN, .end_ns = INT64_MAX };
    rc = ks_trace_read(source, &out->t, err);
    if (rc == 0)
        rc = ks_charge(out->t, &o->rules, &out->charge, err);
    if (rc == 0)
        rc = find_peaks(out, o->peaks, err);
    if (rc == 0 && o->steps)
        rc = keep_steps(out, o->steps, err);
    if (rc == 0)
        note(out, notes);
    return rc;
}

int ks_trace_view_open(const char *path, const struct ks_view_options *o, struct ks_trace_view *out,
                       struct ks_buf *notes, struct ks_err *err)
{
    struct ks_trace_source *source = NULL;
    int rc;

    memset(out, 0, sizeof(*out));
    rc = ks_trace_source_open(path, &source, err);
    if (rc == 0)
        rc = ks_trace_view_read(source, o, out, notes, err);
    ks_trace_source_close(source);
    return rc;
}

int ks_trace_view_busy(struct ks_trace_view *v, struct ks_err *err)
{
    int rc = 0;

    v->busy = calloc(v->t->n_devices + (size_t)1, sizeof(*v->busy));
    if (!v->busy)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t d = 0; rc == 0 && d < v->t->n_devices; d++)
        rc = ks_busy_of(v->t, d, v->keep, &v->busy[d], err);
    return rc;
}

void ks_trace_view_close(struct ks_trace_view *v)
{
    free(v->busy);
    ks_charge_release(&v->charge);
    free(v->peak);
    free(v->keep);
    ks_trace_release(v->t);
    memset(v, 0, sizeof(*v));
}

/* ---- files ---- */

bool ks_is_trace_name(const char *path)
{
    return ks_text_ends_in(path, ".json") || ks_text_ends_in(path, ".json.gz");
}

static int add_path(struct ks_paths *p, const char *dir, const char *name, struct ks_err *err)
{
    char **grown = realloc(p->path, (p->n + 1) * sizeof(*grown));
    char path[4096];
    int rc = 0;

    if (!grown)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    p->path = grown;
    if (dir)
        rc = ks_path_join(path, sizeof(path), dir, name, err);
    if (rc < 0)
        return rc;
    p->path[p->n] = strdup(dir ? path : name);
    if (!p->path[p->n])
        return ks_fail(err, KS_ENOMEM, "out of memory");
    p->n++;
    return 0;
}

static int add_folder(struct ks_paths *p, const char *dir, struct ks_err *err)
{
    struct dirent **names = NULL;
    const size_t n_before = p->n;
    const int n = scandir(dir, &names, NULL, alphasort);
    int rc = n < 0 ? ks_fail_path(err, "folder '%s'", dir) : 0;

    for (int i = 0; i < n; i++) {
        if (rc == 0 && names[i]->d_name[0] != '.' && ks_is_trace_name(names[i]->d_name))
            rc = add_path(p, dir, names[i]->d_name, err);
        free(names[i]);
    }
    free(names);
    if (rc == 0 && p->n == n_before)
        rc = ks_fail(err, KS_EINVAL, "folder '%s' contains neither *.json nor *.json.gz", dir);
    return rc;
}

int ks_paths_open(const char *const *operands, int n, struct ks_paths *out, struct ks_err *err)
{
    int rc = 0;

    *out = (struct ks_paths){ 0 };
    for (int i = 0; rc == 0 && i < n; i++)
        rc = ks_path_is_dir(operands[i]) ? add_folder(out, operands[i], err)
                                         : add_path(out, NULL, operands[i], err);
    if (rc < 0)
        ks_paths_close(out);
    return rc;
}

void ks_paths_close(struct ks_paths *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->path[i]);
    free(p->path);
    *p = (struct ks_paths){ 0 };
}
