/* SPDX-License-Identifier: MIT */
/* show.h - what rank 0 shows of the progress: a line with a bar that is rewritten in place, on a
 * terminal; else lines of the log, which become sparse; and the file DIR/progress. */
#ifndef KS_MPI_SHOW_H
#define KS_MPI_SHOW_H

#include "base/log.h"
#include "base/term.h"
#include "mpi/coord.h"
#include "mpi/progress.h"

#include <stdbool.h>
#include <stdint.h>

enum ks_show_how { KS_SHOW_AUTO, KS_SHOW_BAR, KS_SHOW_LINES, KS_SHOW_NONE };
extern const char *const ks_show_choices[]; /* of --progress, by enum ks_show_how */

struct ks_show {
    struct ks_log *log; /* borrowed */
    const char *dir;    /* borrowed */
    struct ks_term term;
    bool has_bar, has_lines, is_over, was_measuring;
    uint64_t begun_ns, bar_ns, file_ns, line_ns; /* when each was shown last */
    struct ks_progress p;
};

/* AUTO: a bar where the log goes to a terminal, else lines. BAR: also where another process passes
 * on what is written. */
void ks_show_open(struct ks_show *s, enum ks_show_how how, struct ks_log *log, const char *dir,
                  uint64_t now_ns);
/* In every turn of the loop: shows what is due. It never makes the loop turn earlier. */
void ks_show_step(struct ks_show *s, struct ks_coord *c, uint64_t now_ns);
/* The last state is written to the file, the bar erased. One that was not opened is fine. */
void ks_show_close(struct ks_show *s, struct ks_coord *c, uint64_t now_ns);

/* Time from one line of the log to the next, when the sweep has run for so long: 5 s at first, then
 * an eighth of it, at most 5 min. Exposed for tests. */
uint64_t ks_show_gap_ns(uint64_t age_ns);

#endif
