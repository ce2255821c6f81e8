/* SPDX-License-Identifier: MIT */
/* report.c - ksweep-analyze report: what a sweep found, as text, JSON or a page */
#include "analysis/out/report.h"
#include "analysis/cmd/analyze.h"
#include "analysis/out/result.h"
#include "analysis/report/page.h"
#include "base/text.h"
#include "base/wrap.h"

#include <string.h>
#include <unistd.h>

enum format { FORMAT_AUTO, FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_CSV, FORMAT_JSON, FORMAT_HTML };
static const char *const formats[] = { "auto", "text", "md", "csv", "json", "html", NULL };

struct config {
    bool json;
    unsigned format, merge;
    const char *output;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    KS_OPT_RESULT(AT(output)),
    { .name = "format",
      .type = KS_OPT_ENUM,
      .offset = AT(format),
      .def = "auto",
      .choices = formats,
      .arg = "NAME",
      .help = "text, md (Markdown), csv (one line per problem), json, html (a self-contained "
              "page); auto: html if the name of the output ends in .html, else text" },
    { .name = "json",
      .type = KS_OPT_BOOL,
      .offset = AT(json),
      .def = "no",
      .help = "same as --format json" },
    { .name = "merge",
      .type = KS_OPT_ENUM,
      .offset = AT(merge),
      .def = "newest",
      .choices = ks_merge_names,
      .arg = "HOW",
      .help = "if several runs have the same cell: all rows, the row of the newest run, or the row "
              "with the median time" },
    KS_OPT_END
};
#undef AT

static bool is_named_html(const struct config *c)
{
    return c->output && ks_text_ends_in(c->output, ".html");
}

static unsigned format_of(const struct config *c)
{
    if (c->json)
        return FORMAT_JSON;
    if (c->format == FORMAT_AUTO)
        return is_named_html(c) ? FORMAT_HTML : FORMAT_TEXT;
    return c->format;
}

/* Options that contradict each other, or the name of the file. */
static int check(const struct config *c, struct ks_err *err)
{
    const unsigned format = format_of(c);

    if (c->json && c->format != FORMAT_AUTO && c->format != FORMAT_JSON)
        return ks_fail(err, KS_EINVAL, "--json and --format %s contradict each other: use one",
                       formats[c->format]);
    if (is_named_html(c) && format != FORMAT_HTML)
        return ks_fail(err, KS_EINVAL,
                       "--format %s does not write HTML, but '%s' is an HTML name: use another "
                       "name, or leave out %s",
                       formats[format], c->output, c->json ? "--json" : "--format");
    return 0;
}

/* Everything but the page. */
static int put_summary(const struct ks_page *p, unsigned format, bool is_file, struct ks_buf *to,
                       struct ks_err *err)
{
    const bool is_shown = !is_file && isatty(STDOUT_FILENO);

    switch (format) {
    case FORMAT_JSON:
        ks_report_json(&p->summary, p->path, to);
        return 0;
    case FORMAT_MARKDOWN:
        ks_report_markdown(&p->summary, to);
        return 0;
    case FORMAT_CSV:
        ks_report_rows_csv(&p->summary, to);
        return 0;
    default:
        return ks_report_text(&p->summary, is_shown ? ks_wrap_width(STDOUT_FILENO) : 0, to, err);
    }
}

static int write_report(const struct ks_page *p, const struct ks_page *other,
                        const struct config *c, struct ks_err *err)
{
    unsigned format = format_of(c);
    struct ks_buf text;
    struct ks_result o;
    int rc = ks_result_open(&o, c->output, err);

    ks_buf_init(&text);
    if (rc == 0)
        rc = format == FORMAT_HTML ? ks_page_html(p, other, &text, err)
                                   : put_summary(p, format, c->output != NULL, &text, err);
    if (rc == 0 && !ks_buf_ok(&text))
        rc = ks_fail(err, KS_ENOMEM, "no memory for the result");
    if (rc == 0 && format == FORMAT_HTML)
        ks_buf_put(&o.sink.text, text.data, text.len);
    else if (rc == 0)
        ks_text_put(&o.sink.text, ks_buf_text(&text), text.len, KS_LINES_KEEP);
    ks_buf_release(&text);
    return ks_result_close(&o, rc, err);
}

static int report(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                  struct ks_err *err)
{
    const struct config *c = cfg;
    struct ks_page pages[2] = { { 0 } };
    bool is_page = format_of(c) == FORMAT_HTML;
    int rc = check(c, err);

    (void)notes;
    if (rc == 0 && n == 2 && !is_page)
        return ks_fail(err, KS_EINVAL,
                       "two runs can only be shown as a page: add -o report.html, or use "
                       "'ksweep-analyze compare'");
    for (int i = 0; rc == 0 && i < n; i++) {
        rc = is_page ? ks_page_load(&pages[i], operands[i], c->merge, err)
                     : ks_page_load_summary(&pages[i], operands[i], c->merge, err);
        if (rc < 0)
            ks_err_context(err, rc, "reading '%s'", operands[i]);
    }
    if (rc == 0)
        rc = write_report(&pages[0], n == 2 ? &pages[1] : NULL, c, err);
    ks_page_release(&pages[0]);
    ks_page_release(&pages[1]);
    return rc;
}

const struct ks_analysis ks_analysis_report = {
    .name = "report",
    .summary = "Report what a sweep found: the best instance of every problem, all outcomes, the "
               "devices; as text or as an HTML page.",
    .usage = "report DIR|FILE [SECOND] [-o FILE] [--format text|md|csv|json|html] "
             "[--merge all|newest|median]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 2,
    .run = report,
};
