/* SPDX-License-Identifier: MIT */
/* agent_kit.h - what the tests of agent and coordinator share: a grid made by hand whose instances
 * are named after what tests/fake/fake_worker.c does with them, and frames as lines of text. */
#ifndef KS_TEST_AGENT_KIT_H
#define KS_TEST_AGENT_KIT_H

#include "base/buf.h"
#include "grid/grid.h"

#include <stddef.h>
#include <stdint.h>

/* names: instances, separated by blanks; "lack_x": this CPU cannot run it. n_problems <= 8. The
 * job: batch 20, one retry, two repeats of contaminated cells. */
struct ks_grid *kit_grid(const char *names, uint32_t n_problems);
/* Every second problem and every second instance, from the second on, is backward data: half of the
 * pairs are no cells. */
void kit_two_directions(struct ks_grid *g);
void kit_grid_free(struct ks_grid *g);
uint32_t kit_instance(const struct ks_grid *g, const char *name);

/* Appends what a frame says:
 *   start NAME aN WHY       done NAME aN OUTCOME [FLAGS]     anchor NAME OUTCOME
 *   control NAME aN OUTCOME block ID open|close ANCHOR nN    end LEASE
 *   event KIND              output NAME aN BYTES kept N      canary passed
 * A record of a round beyond 0 has rN behind the attempt (of an anchor: behind its name).
 * The flag unconfirmed is asserted to stand on failures only, and not printed. */
void kit_line(const struct ks_grid *g, uint16_t type, const void *body, size_t n,
              struct ks_buf *text_out);

#endif
