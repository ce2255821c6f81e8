/* SPDX-License-Identifier: MIT */
/* profiler.c - reads kept output of programs that time kernels */
/* Logs of ckProfiler and MIOpenDriver in which the commands stand (as `set -x` or the driver itself
 * print them), and profiler_results.json of Composable Kernel's run_ck_profiler.py. The same
 * adapters read them as in a sweep. */
#include "analysis/import/intake.h"
#include "analysis/import/peak.h"
#include "base/text.h"
#include "grid/problems.h"
#include "profiler/adapter.h"
#include "json/json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What run_ck_profiler.py keeps of an output. */
enum { CUT_CHARACTERS = 500 };

/* One file on its way: the command whose output is being read. */
struct log {
    struct ks_intake *im;
    struct ks_profiler_setup *setup;
    struct ks_profiler_reader *reader; /* NULL: no command yet */
    struct ks_problem p;
    bool has_problem;
    const char *why; /* it has none */
    uint32_t problem;
    struct ks_buf text, name;
};

/* ---- rows ---- */

/* A word of a text of words: nothing that would end it. */
static void put_word(struct ks_buf *to, const char *text)
{
    for (; *text; text++)
        ks_buf_u8(to, strchr(" \t|=", *text) ? '_' : (uint8_t)*text);
}

static int put_instance(struct log *l, const struct ks_profiler_row *row, uint32_t *kernel_out,
                        struct ks_err *err)
{
    ks_buf_clear(&l->text);
    /* A log does not tell the program's version; the option's default would be a guess. */
    ks_profiler_instance_text(l->setup, "", &l->p, row, &l->text);
    for (size_t i = 0; i < row->n_traits; i++) {
        ks_buf_printf(&l->text, "%s%s=", i ? " " : " | ", row->traits[i].key);
        put_word(&l->text, row->traits[i].value);
    }
    if (!ks_buf_ok(&l->text))
        return ks_fail(err, KS_ENOMEM, "out of memory for an instance's name");
    return ks_stage_add_instance(l->im->stage, l->im->run, row->instance, ks_buf_text(&l->text),
                                 kernel_out, err);
}

static int on_row(void *context, const struct ks_profiler_row *row, struct ks_err *err)
{
    struct log *l = context;
    struct ks_intake_row r = { .problem = l->problem,
                               .outcome = row->outcome,
                               .reason = row->reason[0] ? row->reason : NULL,
                               .time_ns = row->time_ns > 0 ? row->time_ns : KS_MISSING,
                               .undecoded = l->why };
    int rc;

    if (row->outcome == KS_O_NONE)
        return 0;
    if (l->has_problem) {
        r.flops = ks_operators[l->p.op]->work(&l->p).flops;
        r.dtype = l->p.dtype;
        r.most_over_peak = 1;
    }
    rc = put_instance(l, row, &r.kernel, err);
    return rc < 0 ? rc : ks_intake_put(l->im, &r, err);
}

/* ---- commands ---- */

static int end_command(struct log *l, struct ks_err *err)
{
    int rc = l->reader ? ks_profiler_reader_end(l->reader, err) : 0;

    ks_profiler_reader_close(l->reader);
    ks_profiler_setup_destroy(l->setup);
    l->reader = NULL;
    l->setup = NULL;
    return rc;
}

/* The problem of a command line, read by the importer of problem lists. */
static int read_problem(struct log *l, const char *importer, const char *command,
                        struct ks_err *err)
{
    struct ks_problem_set set;
    struct ks_err why;
    int rc = 0;

    ks_problem_set_init(&set);
    for (int i = 0; rc == 0 && ks_importers[i]; i++)
        if (strcmp(ks_importers[i]->name, importer) == 0)
            rc = ks_importers[i]->read(&set, command, strlen(command), "log", false, &why);
    l->has_problem = rc == 0 && set.n == 1;
    l->p = ks_problem_blank(0);
    l->why = set.n > 1 ? "its command names several directions" : "its command cannot be read";
    if (l->has_problem) {
        l->p = ks_problem_table_get(&set.problems, 0);
        l->p.name[0] = 0;
        l->why = NULL;
    }
    ks_problem_set_release(&set);
    if (rc == KS_ENOMEM)
        return ks_fail(err, KS_ENOMEM, "%s", why.text);
    if (l->has_problem)
        return ks_stage_add_problem(l->im->stage, &l->p, &l->problem, err);
    return ks_stage_add_foreign(l->im->stage, command, command, &l->problem, err);
}

static int open_reader(struct log *l, const char *program, struct ks_err *err)
{
    const struct ks_profiler *a = NULL;
    int rc = ks_profiler_find(program, &a, err);

    if (rc == 0)
        rc = ks_profiler_setup_parse(a, NULL, &l->setup, err);
    return rc < 0 ? rc
                  : ks_profiler_reader_open(l->setup, l->has_problem ? &l->p : NULL, NULL, on_row,
                                            l, &l->reader, err);
}

/* "grouped_conv_fwd 1 3 1 .." behind any program, also as part of its name; NULL: none. */
static const char *find_ck(const char *line)
{
    static const char mark[] = "grouped_conv_";

    for (const char *at = strstr(line, mark); at; at = strstr(at + 1, mark)) {
        size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz_");

        if (at[n] == ' ' && isdigit((unsigned char)at[n + 1]))
            return at;
    }
    return NULL;
}

/* A command line of MIOpenDriver that is no remark of the library in its log. */
static const char *find_miopen(const char *line)
{
    const char *at = strstr(line, "MIOpenDriver conv");

    return at && !strstr(line, "[LogCmd") ? at : NULL;
}

/* Does the line begin another command? Then its output follows. */
static int take_command(struct log *l, const char *line, bool *is_command, struct ks_err *err)
{
    const char *ck = find_ck(line), *miopen = ck ? NULL : find_miopen(line);
    int rc;

    *is_command = ck || miopen;
    if (!*is_command)
        return 0;
    rc = end_command(l, err);
    ks_buf_clear(&l->name);
    ks_buf_printf(&l->name, "%s%s", ck ? "ckProfiler " : "", ck ? ck : miopen);
    if (rc == 0 && !ks_buf_ok(&l->name))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for a command line");
    if (rc == 0)
        rc = read_problem(l, ck ? "ckprofiler" : "miopen", ks_buf_text(&l->name), err);
    if (rc == 0)
        rc = open_reader(l, ck ? "ckprofiler" : "miopendriver", err);
    l->im->counts.n_lists += rc == 0;
    return rc;
}

/* Output before any command: which program's, it says itself; its problem the user may name. */
static int take_orphan(struct log *l, const char *line, struct ks_err *err)
{
    bool is_ck = strstr(line, " TFlops, ") || strstr(line, "does not support this problem");
    bool is_miopen = strstr(line, "GPU Kernel Time ") || strstr(line, " Conv. Algorithm: ");
    int rc;

    if (!is_ck && !is_miopen)
        return 0;
    l->has_problem = false;
    l->why = "the log does not contain the command: give it with --problem 'ckProfiler ..'";
    rc = ks_stage_add_foreign(l->im->stage, "program without a command", "unknown", &l->problem,
                              err);
    l->p = ks_problem_blank(0);
    return rc < 0 ? rc : open_reader(l, is_ck ? "ckprofiler" : "miopendriver", err);
}

static int feed(struct log *l, const char *line, size_t n, struct ks_err *err)
{
    bool is_command;
    int rc = take_command(l, line, &is_command, err);

    if (rc == 0 && !is_command && !l->reader)
        rc = take_orphan(l, line, err);
    if (rc == 0 && !is_command && l->reader)
        rc = ks_profiler_reader_feed(l->reader, line, n, err);
    return rc == 0 && !is_command && l->reader ? ks_profiler_reader_feed(l->reader, "\n", 1, err)
                                               : rc;
}

/* The lines of one text, which is NUL-terminated. */
static int feed_text(struct log *l, const char *text, struct ks_err *err)
{
    struct ks_buf line;
    int rc = 0;

    ks_buf_init(&line);
    while (rc == 0 && *text) {
        size_t n = strcspn(text, "\n");

        ks_buf_clear(&line);
        ks_buf_put(&line, text, n);
        rc = ks_buf_ok(&line) ? feed(l, ks_buf_text(&line), n, err)
                              : ks_fail(err, KS_ENOMEM, "out of memory for a line");
        text += n + (text[n] == '\n');
    }
    ks_buf_release(&line);
    return rc;
}

static int begin(struct log *l, struct ks_intake *im, struct ks_err *err)
{
    const char *device = im->options->device;
    bool is_command = true;
    uint32_t n_units;
    char arch[64];
    int rc = 0;

    *l = (struct log){ .im = im };
    ks_buf_init(&l->text);
    ks_buf_init(&l->name);
    im->note = "one mean per instance, printed by the program; see docs/profilers.md";
    if (device && ks_peak_arch(device, arch, sizeof(arch), &n_units))
        rc = ks_intake_device(im, arch, "", n_units, "the user", err);
    else if (device)
        rc = ks_intake_device(im, "", device, 0, "the user", err);
    if (rc == 0 && im->options->problem)
        rc = take_command(l, im->options->problem, &is_command, err);
    if (rc == 0 && !is_command)
        rc = ks_fail(err, KS_EINVAL,
                     "--problem: '%.80s' is not a command of ckProfiler for grouped convolutions, "
                     "or of MIOpenDriver",
                     im->options->problem);
    return rc;
}

static void finish(struct log *l)
{
    ks_profiler_reader_close(l->reader);
    ks_profiler_setup_destroy(l->setup);
    ks_buf_release(&l->text);
    ks_buf_release(&l->name);
}

/* ---- logs ---- */

static int log_read(struct ks_intake *im, struct ks_err *err)
{
    struct log l;
    char *line;
    size_t n;
    int rc = begin(&l, im, err);

    while (rc == 0 && (rc = ks_text_in_line(im->in, &line, &n, err)) == 1)
        rc = feed(&l, line, n, err);
    if (rc == 0)
        rc = end_command(&l, err);
    finish(&l);
    return rc;
}

static bool log_sniff(const char *head, size_t n)
{
    (void)n;
    return head[strspn(head, " \t\r\n")] != '{' &&
           (strstr(head, " TFlops, ") || strstr(head, "GPU Kernel Time ") ||
            strstr(head, "does not support this problem"));
}

const struct ks_intake_format ks_intake_profiler_log = {
    .name = "profiler-log",
    .about = "logs of ckProfiler and MIOpenDriver in which the commands stand",
    .sniff = log_sniff,
    .read = log_read,
};

/* ---- profiler_results.json ---- */

static const char *text_of(const struct ks_node *object, const char *key)
{
    const struct ks_node *n = ks_node_at(object, key);
    const char *text = "";

    if (n && ks_node_kind(n) == KS_JSON_STRING)
        (void)ks_node_str(NULL, n, &text, NULL);
    return text;
}

/* One text, or a list of words. */
static void put_command(const struct ks_node *result, struct ks_buf *to)
{
    const struct ks_node *n = ks_node_at(result, "command");
    const char *text = "";

    ks_buf_clear(to);
    ks_buf_printf(to, "%s", text_of(result, "command"));
    if (!n || ks_node_kind(n) != KS_JSON_ARRAY)
        return;
    for (const struct ks_node *w = ks_node_first(n); w; w = ks_node_next(w))
        if (ks_node_kind(w) == KS_JSON_STRING && ks_node_str(NULL, w, &text, NULL) == 0)
            ks_buf_printf(to, " %s", text);
}

static int take_result(struct log *l, const struct ks_node *result, struct ks_buf *command,
                       struct ks_err *err)
{
    const char *output = text_of(result, "stdout");
    bool is_command = false;
    int rc;

    l->im->in->line = ks_node_line(result);
    if (ks_utf8_count(output, strlen(output)) == CUT_CHARACTERS) {
        l->im->counts.n_cut++;
        return 0;
    }
    put_command(result, command);
    if (!ks_buf_ok(command))
        return ks_fail(err, KS_ENOMEM, "out of memory for a command line");
    rc = take_command(l, ks_buf_text(command), &is_command, err);
    if (rc == 0 && !is_command)
        return ks_intake_fail(l->im, err, "'%.80s' is not a command for a grouped convolution",
                              ks_buf_text(command));
    return rc < 0 ? rc : feed_text(l, output, err);
}

static int take_all(struct ks_text_in *in, struct ks_buf *text, struct ks_err *err)
{
    int c = 0;

    while ((c = ks_text_in_next(in, err)) >= 0)
        ks_buf_u8(text, (uint8_t)c);
    if (c < -1)
        return c + 1;
    return ks_buf_ok(text) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for '%s'", in->name);
}

static int take_results(struct log *l, const struct ks_json *doc, struct ks_buf *command,
                        struct ks_err *err)
{
    const struct ks_node *root = ks_json_root(doc), *list = NULL;
    int rc = 0;

    if (ks_node_kind(root) == KS_JSON_OBJECT)
        list = ks_node_at(root, "results");
    if (!list || ks_node_kind(list) != KS_JSON_ARRAY)
        return ks_intake_fail(l->im, err, "expected \"results\": [..]");
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n)) {
        if (ks_node_kind(n) != KS_JSON_OBJECT)
            return ks_intake_fail(l->im, err, "a result is an object");
        rc = take_result(l, n, command, err);
    }
    if (rc == 0)
        rc = end_command(l, err);
    if (rc == 0 && l->im->counts.n_rows == 0 && l->im->counts.n_cut > 0)
        return ks_intake_fail(l->im, err,
                              "all outputs are truncated to %d characters: run the commands again",
                              CUT_CHARACTERS);
    return rc;
}

static int results_read(struct ks_intake *im, struct ks_err *err)
{
    struct ks_json *doc = NULL;
    struct ks_buf text, command;
    struct log l;
    int rc = begin(&l, im, err);

    ks_buf_init(&text);
    ks_buf_init(&command);
    if (rc == 0)
        rc = take_all(im->in, &text, err);
    if (rc == 0)
        rc = ks_json_parse(ks_buf_text(&text), text.len, im->path, &doc, err);
    if (rc == 0)
        rc = take_results(&l, doc, &command, err);
    ks_json_close(doc);
    ks_buf_release(&text);
    ks_buf_release(&command);
    finish(&l);
    return rc;
}

static bool results_sniff(const char *head, size_t n)
{
    (void)n;
    return head[strspn(head, " \t\r\n")] == '{' && strstr(head, "\"stats\"") &&
           strstr(head, "\"results\"") && strstr(head, "\"elapsed_time\"");
}

const struct ks_intake_format ks_intake_profiler_results = {
    .name = "profiler-results",
    .about = "profiler_results.json of run_ck_profiler.py with complete outputs",
    .sniff = results_sniff,
    .read = results_read,
};
