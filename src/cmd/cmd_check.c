/* SPDX-License-Identifier: MIT */
#include "cmd/cmd_util.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct config {
    bool quiet;
};
static const struct ks_opt opts[] = { { .name = "quiet",
                                        .letter = 'q',
                                        .type = KS_OPT_BOOL,
                                        .offset = offsetof(struct config, quiet),
                                        .def = "no",
                                        .help = "print findings only" },
                                      KS_OPT_END };

static void print_lines(const char *what, const struct ks_buf *lines)
{
    for (const char *p = ks_buf_text(lines); *p;) {
        size_t n = strcspn(p, "\n");

        ks_cmd_printf("%s: %.*s\n", what, (int)n, p);
        p += n + (p[n] == '\n');
    }
}

static void print_summary(const char *path, const struct ks_store_check *c)
{
    ks_cmd_printf("%s: %s", path, c->n_findings ? "damaged" : "whole");
    if (c->has_journal)
        ks_cmd_printf(", %" PRIu64 " frames of the journal read", c->n_frames);
    if (c->is_compared)
        ks_cmd_printf(", %" PRIu64 " rows of results.h5 %s", c->n_rows,
                      c->n_findings ? "compared with it" : "agree with it");
    else if (c->has_file)
        ks_cmd_printf(", results.h5 read");
    else
        ks_cmd_printf(", no results.h5 yet");
    ks_cmd_printf("\n");
}

static int check(struct ks_cmd_ctx *ctx, int argc, char **argv)
{
    const char *operands[64];
    struct ks_store_check result;
    struct config c;
    int n = 0, rc, code;

    if (argc > 64)
        return ks_fail(&ctx->err, KS_EINVAL, "too many arguments");
    rc = ks_cmd_parse(&ks_cmd_check, &c, argc, argv, operands, 1, 1, &n, &ctx->err);
    if (rc == 0)
        rc = ks_store_check(operands[0], &result, &ctx->err);
    if (rc < 0)
        return rc;
    print_lines("finding", &result.findings);
    if (!c.quiet) {
        print_lines("note", &result.notes);
        print_summary(operands[0], &result);
    }
    code = result.n_findings ? KS_EXIT_LOOK : KS_EXIT_OK;
    ks_buf_release(&result.findings);
    ks_buf_release(&result.notes);
    return code;
}

const struct ks_command ks_cmd_check = {
    .name = "check",
    .summary = "Reads every byte of a run and compares results.h5 with the journal, row by row.",
    .usage = "check DIR|FILE",
    .opts = opts,
    .run = check,
};
