/* SPDX-License-Identifier: MIT */
/* cage_util.h - what the tests of the cage share: a case in a caged child, judged by its parent. */
#ifndef KS_TEST_CAGE_UTIL_H
#define KS_TEST_CAGE_UTIL_H

#include "sanitized.h"
#include "worker/cage.h"

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))

extern struct ks_status *page; /* shared with the children */
int cage_page_map(void);

struct caged {
    struct ks_cage cage;
    int n_failed;
};

#define CHECK(c, what)                                                                             \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            print_message("# line %d: %s\n", __LINE__, #what);                                     \
            (c)->n_failed++;                                                                       \
        }                                                                                          \
    } while (0)

typedef void (*case_fn)(struct caged *c);

/* The wait status of a child that did the case behind a list's filter. */
int run_case_on(enum ks_cage_list list, case_fn body);
int run_case(case_fn body); /* on the host's list */
/* Fails unless the case came to its end and all its own checks held. */
void must_pass(case_fn body);
void must_pass_on(enum ks_cage_list list, case_fn body);

#endif
