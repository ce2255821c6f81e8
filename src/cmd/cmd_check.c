/* SPDX-License-Identifier: MIT */
/* cmd_check.c - ksweep check: checks a run's journal and results.h5 and compares them */
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
                                        .help = "print only what is wrong" },
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

static int check(struct ks_call *call, struct ks_err *err)
{
    const struct config *c = call->cfg;
    const char *path = call->operands[0];
    struct ks_store_check result;
    int rc = ks_store_check(path, &result, err), code;

    if (rc < 0)
        return rc;
    print_lines("finding", &result.findings);
    if (!c->quiet) {
        print_lines("note", &result.notes);
        print_summary(path, &result);
    }
    code = result.n_findings ? KS_EXIT_LOOK : KS_EXIT_OK;
    ks_buf_release(&result.findings);
    ks_buf_release(&result.notes);
    return code;
}

const struct ks_command ks_cmd_check = {
    .name = "check",
    .summary = "Check a run: read every byte, and compare results.h5 with the journal row by row.",
    .usage = "check DIR|FILE",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 1,
    .run = check,
};
