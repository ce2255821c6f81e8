/* SPDX-License-Identifier: MIT */
/* journal.h - DIR/journal/NNNN.ksj: the truth. Append-only segments of frames, one per incarnation
 * of rank 0, created with O_EXCL, never appended to by another process, never truncated.
 *
 * Ownership = the highest segment. A new owner may take over when the old one is dead (same host
 * and PID namespace: pid + start time + boot id) or silent for 60 s (elsewhere), or when told to.
 * No flock, no mmap.
 *
 * An owner acknowledges only what was synced before it saw that there is no higher segment. The
 * header of a new segment fences the one before it at the size it has once the new one exists: all
 * that was acknowledged stands below the fence, and what a stopped owner writes after it wakes up
 * stands above, where no reader looks. So nothing is lost and nothing is counted twice. */
#ifndef KS_JOURNAL_H
#define KS_JOURNAL_H

#include "base/buf.h"
#include "base/err.h"
#include "record/frame.h"
#include "record/record.h"

#include <stdbool.h>
#include <stdint.h>

#define KS_JOURNAL_BEAT_NS   5000000000ull
#define KS_JOURNAL_SILENT_NS 60000000000ull

struct ks_journal; /* an open segment, for writing */

/* System calls the writer makes, so that tests can fail call n or stop before it. */
struct ks_journal_sys {
    int (*open)(void *ctx, const char *path, int flags, unsigned mode);
    long (*write)(void *ctx, int fd, const void *bytes, size_t n);
    int (*fdatasync)(void *ctx, int fd);
    void *ctx;
};
extern const struct ks_journal_sys ks_journal_sys_default;

/* Who asks, and when; a member that is NULL or 0 is this host, now. Tests pass others. */
struct ks_journal_here {
    const char *host, *boot_id;
    uint64_t now_ns;    /* realtime */
    uint64_t pid_space; /* as ks_process_space() */
};

struct ks_journal_open {
    const char *dir;        /* DIR/journal; created when absent */
    struct ks_id128 run_id; /* zero: that of the existing segments (resume), else a new one */
    bool take_over;         /* whatever the old owner does: it will notice and stop */
    const struct ks_journal_sys *sys;   /* NULL = default */
    const struct ks_journal_here *here; /* NULL = this host, now */
};

/* Create the next segment and make it durable (file and directory) before returning. Writes
 * KS_F_SEGMENT. To resume, read the journal after this call: before it, an owner that is not quite
 * dead may still add and acknowledge records.
 * KS_EOWNER: a live owner exists (named), or another process took over at the same moment.
 * KS_EEXIST: the segments belong to another run than run_id. */
int ks_journal_create(const struct ks_journal_open *how, struct ks_journal **j_out,
                      struct ks_err *err);
const struct ks_segment *ks_journal_segment(const struct ks_journal *j);

/* Append one frame to the buffer; returns its position (bytes appended so far, after it). Durable
 * only after a sync that returns a position >= this. KS_ENOMEM. */
int ks_journal_append(struct ks_journal *j, uint16_t type, const void *body, size_t n,
                      uint64_t *position_out, struct ks_err *err);
/* As above, many whole frames at once, already encoded and checked by the caller. */
int ks_journal_append_raw(struct ks_journal *j, const void *frames, size_t n,
                          uint64_t *position_out, struct ks_err *err);

/* Write what is buffered and fdatasync. Then checks that no higher segment exists: KS_EOWNER
 * (nothing may be acknowledged then), and that its own file is still there: KS_EIO. *durable_out =
 * position up to which everything is on disk. With nothing buffered it does nothing. After any
 * failure the journal is broken: every later call returns the same error. */
int ks_journal_sync(struct ks_journal *j, uint64_t *durable_out, struct ks_err *err);
/* Bytes appended but not yet durable. */
uint64_t ks_journal_pending(const struct ks_journal *j);
/* Appends a heartbeat when the last one is older than KS_JOURNAL_BEAT_NS. now_ns: realtime. */
int ks_journal_beat(struct ks_journal *j, uint64_t now_ns, struct ks_err *err);
/* KS_F_CLOSE, sync, close. NULL is fine. On error everything is released all the same. */
int ks_journal_close(struct ks_journal *j, struct ks_err *err);
/* Release without writing anything (after KS_EOWNER). NULL is fine. */
void ks_journal_abandon(struct ks_journal *j);

/* Reading: all segments of a directory in order. */
struct ks_journal_damage {
    char path[512];
    uint64_t offset, n_bytes; /* damaged or torn bytes */
    bool is_tail;             /* torn end of a segment: expected after a kill */
    uint32_t copy_of;         /* the whole segment is a copy of this one; 0: it is none */
};
struct ks_journal_totals {
    uint32_t n_segments; /* read: without copies */
    uint32_t n_damaged_places, n_torn_tails;
    uint64_t n_bytes, n_frames, n_unknown_types;
    uint64_t n_late_bytes; /* above a fence: written by an owner that had lost the journal */
    bool is_closed;        /* the highest segment ended in order */
};
struct ks_journal_frame {
    uint32_t segment; /* number, from 1 */
    uint64_t offset;  /* in the segment file */
    uint16_t type;
    const uint8_t *body; /* borrowed until the next call */
    size_t n;
};
typedef int (*ks_journal_frame_fn)(void *ctx, const struct ks_journal_frame *f, struct ks_err *err);
typedef void (*ks_journal_damage_fn)(void *ctx, const struct ks_journal_damage *d);

/* Calls on_frame for every whole frame of a known type below 100 in order, on_damage (may be NULL)
 * for every damaged place; a segment that is missing between two others is one with n_bytes = 0.
 * A copy of another segment (it has that one's header) is such a place, and is not read: its
 * records would count twice. Reads in pieces: memory does not grow with the journal. Stops at
 * on_frame < 0. KS_ENOENT when there is no segment. totals_out may be NULL. */
int ks_journal_read(const char *dir, ks_journal_frame_fn on_frame, ks_journal_damage_fn on_damage,
                    void *ctx, struct ks_journal_totals *totals_out, struct ks_err *err);

/* Whether a segment still has bytes at this offset, where a frame was: false when it is shorter, or
 * gone. */
bool ks_journal_reaches(const char *dir, uint32_t segment, uint64_t offset);

/* Who owns the journal now: the highest segment's header, its last sign of life (realtime ns of the
 * newest heartbeat, else of the header), whether it is closed, whether its process is alive (on
 * another host: beat less than 60 s ago, by the two hosts' clocks). Another PID namespace of this
 * host counts as another host: its process numbers mean nothing here. A segment whose header is
 * torn or damaged has no owner: all but its number is zero. */
struct ks_journal_owner {
    struct ks_segment segment;
    uint64_t last_beat_ns;
    bool is_closed, is_same_host, is_alive;
};
int ks_journal_owner(const char *dir, struct ks_journal_owner *out, struct ks_err *err);
/* The same, asked from `here` (NULL = this host, now). */
int ks_journal_owner_from(const char *dir, const struct ks_journal_here *here,
                          struct ks_journal_owner *out, struct ks_err *err);

#endif
