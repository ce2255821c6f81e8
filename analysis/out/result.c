/* SPDX-License-Identifier: MIT */
/* result.c - a command's result: a file that is replaced at the end, or standard output */
#include "analysis/out/result.h"

#include <string.h>
#include <unistd.h>

int ks_result_open(struct ks_result *o, const char *file, struct ks_err *err)
{
    int rc;

    memset(o, 0, sizeof(*o));
    if (!file || strcmp(file, "-") == 0) {
        ks_sink_init(&o->sink, STDOUT_FILENO, "standard output");
        return 0;
    }
    rc = ks_file_begin_output(file, &o->file, err);
    o->has_file = rc == 0;
    ks_sink_init(&o->sink, rc == 0 ? o->file.fd : -1, file);
    return rc;
}

int ks_result_close(struct ks_result *o, int rc, struct ks_err *err)
{
    int failed = rc < 0 ? 0 : ks_sink_flush(&o->sink, err);

    if (o->has_file && rc >= 0 && failed == 0)
        failed = ks_file_commit(&o->file, err);
    else if (o->has_file)
        ks_file_abandon(&o->file);
    ks_sink_release(&o->sink);
    return failed < 0 ? failed : rc;
}
