/* SPDX-License-Identifier: MIT */
/* problem_list.h - a problem list in the CSV schema, read without src/grid. */
#ifndef KS_TEST_PROBLEM_LIST_H
#define KS_TEST_PROBLEM_LIST_H

#include "op/op.h"

struct problem_list {
    struct ks_problem problems[64];
    int n;
};

/* Reads KS_SOURCE_DIR/jobs/problems/<name>.csv strictly. 0, or < 0 with err filled. */
int problem_list_read(const char *name, struct problem_list *list_out, struct ks_err *err);

#endif
