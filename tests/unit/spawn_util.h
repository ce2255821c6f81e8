/* SPDX-License-Identifier: MIT */
/* spawn_util.h - what the tests of the warden share: starting children and hearing of them. */
#ifndef KS_TEST_SPAWN_UTIL_H
#define KS_TEST_SPAWN_UTIL_H

#include "base/clock.h"
#include "record/status.h"
#include "spawn/warden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdbool.h>
#include <sys/types.h>

#define MS             1000000ull
#define N_ROWS(a)      (sizeof(a) / sizeof((a)[0]))
#define WITH_WARDEN(f) cmocka_unit_test_setup_teardown(f, start_warden, stop_warden)

/* A child that tells a pid (its own or a descendant's) on 3 and waits for a line on 4. */
struct talk {
    int from[2], to[2];
};

int start_warden(void **state);
int stop_warden(void **state);

/* A request without descriptors and limits. */
struct ks_spawn spawn_of(const char *const *argv);
uint32_t must_spawn(struct ks_warden *w, const struct ks_spawn *what);
/* The next end; fails after 30 s. */
void must_end(struct ks_warden *w, struct ks_child_end *end);
/* /bin/sh -c script to its end. */
void run_script(struct ks_warden *w, const char *script, struct ks_spawn what,
                struct ks_child_end *end);
void assert_tail(const struct ks_child_end *end, const char *want);

/* No such process, or a zombie that its parent has not reaped yet. */
bool is_gone(pid_t pid);
void assert_gone_soon(pid_t pid);
size_t count_fds(pid_t pid);

struct ks_status *new_page(int *fd_out);
void free_page(struct ks_status *page, int fd);

struct ks_spawn talk_open(struct talk *t, const char *const *argv);
pid_t talk_hear(struct talk *t);
void talk_go_on(struct talk *t);
void talk_close(struct talk *t);

#endif
