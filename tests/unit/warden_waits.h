/* SPDX-License-Identifier: MIT */
/* warden_waits.h - tests of the warden that take ten seconds and nothing of a CPU: each begins
 * before the other tests of the program, and ends behind them. */
#ifndef KS_TEST_WARDEN_WAITS_H
#define KS_TEST_WARDEN_WAITS_H

#include "spawn_util.h"

enum { WARDEN_LAUNCHERS = 4 };

/* The state of all of them; zeroed. */
struct warden_waits {
    struct talk launcher[WARDEN_LAUNCHERS], frozen;
    pid_t pid[WARDEN_LAUNCHERS]; /* of the launchers */
    char dir[96];                /* of a frozen cgroup; "": this machine has none */
    struct ks_warden *warden;    /* of the child in it */
};

/* A launcher hears of its rank's death. */
void warden_launcher_begins(void **state);
void warden_launcher(void **state);

/* A child that the kernel does not give back is abandoned. */
void warden_abandoned_begins(void **state);
void warden_abandoned(void **state);

#endif
