/* SPDX-License-Identifier: MIT */
/* pace.h - when the loop of a rank turns next. Pure.
 *
 * While a worker times on a core that a process of ours may run on, that process wakes at most
 * max(10 per second, 2 per cell): at 200 per second the wall time of a sweep doubled and two thirds
 * of the attempts were contaminated. A turn of rank 0 that commits costs several, because it waits
 * for its disk (coord.h). So turns are KS_PACE_MOST_NS apart, or one cell where cells are shorter,
 * and whatever falls due in between waits. In return leases are held ahead (coord_lease.c) and
 * records stay in their pipe.
 * Events (a signal, the end of a child, a record at the end of a long cell) end a wait early. */
#ifndef KS_MPI_PACE_H
#define KS_MPI_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define KS_PACE_LEAST_NS   5000000ull   /* between two turns, however short the cells */
#define KS_PACE_MOST_NS    300000000ull /* while something is awaited of MPI or of the pipe */
#define KS_PACE_LONGEST_NS 500000000ull /* while nothing is */

struct ks_pace {
    uint64_t now_ns, woke_ns; /* CLOCK_MONOTONIC: now; when this turn began */
    bool is_busy;             /* something moved in this turn, more may be there */
    bool is_periodic;         /* a worker lives: not quiet, turns are idle_ns apart even if busy, so
                                 that each takes in many records */
    bool is_quiet;            /* a worker times, or may begin to, on a core this process may use */
    bool is_awaiting;         /* records are in the pipe, or records of others or an
                                 acknowledgement are on their way */
    uint64_t cell_ns;         /* how long that worker's cells take; 0: not known */
    uint64_t need_ns;         /* from now_ns until leases or the pipe want attention; UINT64_MAX:
                             never */
    uint64_t due_ns;          /* CLOCK_MONOTONIC: the next heartbeat or commit; UINT64_MAX none */
    uint64_t idle_ns;         /* between turns when not quiet */
};

/* How long cells take: as lately, or longer when the one in flight has taken so long already. What
 * was learnt from short cells must not wake the loop again and again during a long one. 0: not
 * known. waited_ns: since the last record of the worker. */
uint64_t ks_pace_cell_ns(uint64_t lately_ns, uint64_t waited_ns);
/* The shortest time between two turns while quiet, ns. */
uint64_t ks_pace_least_ns(uint64_t cell_ns);
/* Between two turns because of a bell (bell.h), on average: they come on top of the others. */
uint64_t ks_pace_bell_ns(uint64_t cell_ns);
/* CLOCK_MONOTONIC of the next turn unless an event comes before; <= now_ns: at once. */
uint64_t ks_pace_next_ns(const struct ks_pace *p);
/* Whether the end of each cell may wake the loop: cells are that long, or of unknown length. */
bool ks_pace_takes_each(uint64_t cell_ns);

#endif
