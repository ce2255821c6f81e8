/* SPDX-License-Identifier: MIT */
/* problems_write.h - `ksweep problems --to`: a set in the forms that other programs read. */
#ifndef KS_CMD_PROBLEMS_WRITE_H
#define KS_CMD_PROBLEMS_WRITE_H

#include "base/buf.h"
#include "base/err.h"
#include "grid/problems.h"

#include <stdbool.h>
#include <stdint.h>

enum ks_problems_form {
    KS_TO_CK_PROFILER, /* command lines, one per line, as a shell takes them */
    KS_TO_CK_CONFIG,   /* the JSON array of Composable Kernel's converter */
    KS_TO_MIOPEN,      /* command lines of MIOpenDriver */
    KS_TO_CK_CSV,      /* CSV of Composable Kernel's problem sets */
    KS_TO_CSV,         /* CSV of ksweep */
    KS_TO_N_FORMS
};
extern const char *const ks_problems_form_names[]; /* NULL-terminated */

struct ks_problems_target {
    int form;
    int ck_version, ck_compat; /* profiler/ck_arguments.h */
    const char *program;       /* of command lines; NULL: ckProfiler, ./build/bin, MIOpenDriver */
    uint64_t max_ops;          /* at most so many problems are written; 0: all */
};

enum { KS_PROBLEMS_REASONS = 8 };

struct ks_problems_written {
    uint64_t n_written, n_left_out;
    uint64_t n_of[KS_N_DIRECTIONS]; /* written */
    struct {
        char text[160];
        uint64_t n;
    } reasons[KS_PROBLEMS_REASONS]; /* why problems were left out; further reasons count as the last
                                       one */
    uint32_t n_reasons;
};

/* Problems that the program cannot run are left out and counted. KS_ENOMEM, KS_EINVAL. */
int ks_problems_write(const struct ks_problem_set *set, const struct ks_problems_target *t,
                      struct ks_buf *b, struct ks_problems_written *out, struct ks_err *err);
/* What was read, skipped, written and left out, as lines of "what number". */
void ks_problems_write_summary(const struct ks_problem_set *set,
                               const struct ks_problems_written *w, struct ks_buf *b);

#endif
