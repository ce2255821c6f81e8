/* SPDX-License-Identifier: MIT */
/* progress.h - how far a running sweep is: numbers that rank 0 knows (ks_coord_progress), their
 * texts, and the file DIR/progress through which `ksweep status` sees them. The file is replaced
 * every few seconds without being synced: it is for people, nothing is ever resumed from it. */
#ifndef KS_MPI_PROGRESS_H
#define KS_MPI_PROGRESS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/term.h"
#include "record/outcome.h"

#include <stdbool.h>
#include <stdint.h>

enum { KS_PROGRESS_DEVICES = 64, KS_PROGRESS_FAILURES = 5 };

struct ks_progress_device {
    uint32_t rank;
    char host[64], state[16]; /* "measuring", "waiting", "building", "lost", ... */
    char problem[96];         /* that it got last; "": none */
    uint64_t n_cells;         /* it has finished, measurements of visits included */
    double silent_s;          /* since it was heard of */
};
struct ks_progress_failure {
    uint32_t outcome;
    uint64_t problem, instance;
    char names[192], reason[160]; /* names: "PROBLEM INSTANCE" */
};

/* Of the journal: all lives of the run. Here: this life. Zero is a valid value. */
struct ks_progress {
    uint64_t realtime_ns;
    int32_t pid;                           /* of rank 0 */
    bool is_measuring;                     /* else it builds */
    bool is_ending;                        /* only cells in flight are finished */
    uint64_t n_cells, n_done, n_done_here; /* n_done: with an outcome */
    uint64_t n_contaminated;               /* of n_done */
    uint64_t outcome[KS_O_LIMIT];          /* of n_done */
    uint32_t n_problems, n_settled;        /* by visits */
    bool has_visits;                       /* the job asks for them */
    uint32_t n_instances, n_built;         /* n_instances 0: nothing is compiled */
    uint32_t n_devices;                    /* that work, or did when any worked last */
    double rate;                           /* cells per second here; 0: not known */
    double left_s, low_s, high_s;          /* wall time (eta.h); left_s < 0: not known */
    double visited_each; /* measurements in the visits of a problem, on average; < 0: not known */
    struct ks_progress_device device[KS_PROGRESS_DEVICES];
    uint32_t n_shown;    /* of device */
    uint64_t n_failures; /* here; failure holds the newest, oldest first */
    struct ks_progress_failure failure[KS_PROGRESS_FAILURES];
};

/* What is left of the estimate at that time. */
void ks_progress_age(struct ks_progress *p, uint64_t realtime_ns);

/* "45 s", "12 min", "3.4 h", "2.1 days": two digits are enough. */
void ks_progress_time(double s, char *out, size_t cap);
/* ", about 12 min left (9 min to 16 min)"; nothing where it is not known. Of a run that ends: what
 * is left for a resumed one. */
void ks_progress_put_left(const struct ks_progress *p, struct ks_buf *to);
/* One line for a log. */
void ks_progress_line(const struct ks_progress *p, struct ks_buf *to);
/* One line with a bar, at most as wide as the terminal, without line end. */
void ks_progress_bar(const struct ks_progress *p, const struct ks_term *t, struct ks_buf *to);
/* Devices and the last failures, for `ksweep status`. dir: of the run. */
void ks_progress_details(const struct ks_progress *p, const char *dir, struct ks_buf *to);

/* KS_EIO, KS_ENOMEM: nothing has changed. */
int ks_progress_write(const struct ks_progress *p, const char *dir, struct ks_err *err);
/* KS_ENOENT: there is none; KS_EFORMAT: it is torn, or of another version. */
int ks_progress_read(const char *dir, struct ks_progress *out, struct ks_err *err);

#endif
