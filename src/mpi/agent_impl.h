/* SPDX-License-Identifier: MIT */
/* agent_impl.h - the state of an agent, shared by agent.c (life and sessions), agent_lease.c
 * (leases and blocks), agent_worker.c (the process and its pipes), agent_recover.c (abnormal ends)
 * and agent_suspect.c (who may have caused one). */
#ifndef KS_MPI_AGENT_IMPL_H
#define KS_MPI_AGENT_IMPL_H

#include "mpi/agent.h"
#include "record/frame.h"
#include "record/request.h"
#include "record/status.h"

#define NO_LEASE    UINT32_MAX
#define MAX_SENT    2048u /* cells of one session */
#define MAX_AGAIN   (KS_AGENT_LEASES * KS_LEASE_CELLS + KS_VISIT_CELLS)
#define MAX_ANCHORS 3u /* failing candidates for the anchor before a block does without */

struct work { /* one cell to run */
    uint32_t i_instance, attempt, round, role;
    uint32_t n_deaths; /* abnormal ends so far, in this lease */
    uint32_t n_dirty;  /* contaminated measurements so far */
    uint32_t position; /* in its block; given when it is sent */
    uint32_t i_lease;  /* index into leases, NO_LEASE when it belongs to none */
    uint32_t alias;    /* 1 + the instance whose code it is, 0: its own */
    uint32_t n_visit;  /* of its lease; 0: no visit */
    bool is_again;     /* a further pass of its visit */
};

enum stage { STAGE_OPEN, STAGE_CELLS, STAGE_CLOSE, STAGE_END };

struct lease {
    bool is_held;
    struct ks_msg_lease m;
    enum stage stage;
    uint32_t i_next;  /* of m.cells */
    uint32_t n_open;  /* sent, held back or queued again, not yet settled */
    uint32_t n_visit; /* instances of a visit that this host can run; from its first cell on */
    bool is_given_back;
};

enum session_kind { SESSION_NORMAL, SESSION_RETRY, SESSION_SUSPECT };

struct session { /* what the present worker is for */
    enum session_kind kind;
    uint32_t i_problem;
    uint64_t block_id;
    bool needs_canary, canary_sent;
    uint32_t n_sent, n_done; /* sent[0..n_done) have records */
    uint32_t n_cells;        /* of those sent, without anchors */
    bool is_ended;           /* KS_F_REQ_END was sent */
    bool is_visit;           /* it has all passes of one, however many cells these are */
    struct work sent[MAX_SENT];
};

struct worker {
    bool is_alive;
    uint32_t child;
    int request_fd, record_fd, status_fd;
    struct ks_status *status;
    struct ks_buf out; /* requests not yet in the pipe */
    struct ks_frame_reader in;
    struct ks_id128 nonce;
    uint64_t seq;         /* of the last record taken */
    bool is_lying;        /* something on the pipe was not from the worker, or is missing */
    bool is_mute;         /* the pipe's end: it has exited, or a kernel closed it */
    bool has_lost_record; /* it reported a cell, but the record went elsewhere */
    bool is_retired;      /* no record after the last one taken counts: ks_recover_doubt */
    uint64_t started_ns;
    uint64_t silent_since_ns; /* without a deadline, though there is work; 0: not so */
    uint32_t silent_at;       /* n_done then */
    uint64_t heard_ns;        /* its last record was taken, or a cell sent while it had none */
    double pipe_bytes;        /* that the record pipe holds */
    uint64_t printed;         /* ring_bytes when the cell in flight began */
    uint32_t n_denied;        /* refused calls that records have told of */
};

struct block {
    struct ks_block rec; /* block_id 0: none */
    uint32_t i_anchor;   /* instance, when has_anchor */
    bool has_anchor, is_waiting;
    uint32_t i_candidate, n_failed;
    uint32_t n_dirty; /* contaminated measurements of the anchor at this end */
    uint32_t position;
};

/* A recovery: held-back records and what is left to do before normal work goes on. */
struct recovery {
    bool is_on;
    struct work culprit; /* valid when has_culprit */
    bool has_culprit, retry_is_due;
    bool is_doubt; /* the culprit did not die, see ks_recover_doubt */
    bool needs_canary;
    uint32_t n_canary_deaths;
    uint32_t i_problem;
    uint64_t block_id;
    struct ks_record *first; /* the culprit's record, held until the retry has ended; NULL none */
    struct work suspects[MAX_SENT];
    struct ks_record *verdicts[MAX_SENT]; /* their records from the sentinel workers */
    uint32_t n_suspects, i_suspect;
    bool was_killed;                 /* the suspect in hand, from outside */
    struct work completed[MAX_SENT]; /* by the worker that died */
    uint32_t n_completed;
};

/* agent_acks.c */
enum { ACK_MARKS = 1024, ACK_MS = 4000 };
struct ack_mark { /* record n and those before it were emitted, the first of them at ns */
    uint64_t n, ns;
};
struct acks {
    uint64_t n_emitted, n_acked; /* records */
    struct ack_mark marks[ACK_MARKS];
    uint32_t first, n_marks;
    uint64_t n_counted, n_within_ms[ACK_MS + 1];
};
void ks_acks_note(struct acks *a); /* a record is emitted */
void ks_acks_take(struct acks *a, uint64_t n_durable);
bool ks_acks_may_go_on(const struct acks *a);
uint64_t ks_acks_p99_us(const struct acks *a); /* rounded up to milliseconds; 0: none yet */

/* agent_program.c: cells that are runs of other programs. put: tells the worker of the instance's
 * program, if it is one. passes_on: is it a frame that goes to rank 0 as it came? */
int ks_agent_put_program(struct ks_agent *a, uint32_t i_instance, struct ks_err *err);
bool ks_agent_passes_on(const struct ks_agent *a, uint16_t type);
/* For the files of one worker alone, which the warden removes; NULL: it has none. */
const char *ks_agent_scratch(const struct ks_agent *a, char *out, size_t cap);

/* agent_references.c: sealed references of the problems that this rank measured last, so that a
 * visit need not compute them again. */
enum { KEPT_REFERENCES = 16 };
#define KEPT_BYTES (256ull << 20) /* of all but the one in use */
struct references {
    struct kept {
        int fd;              /* memfd; -1 none */
        struct ks_id128 key; /* that its workers mask it with */
        uint32_t i_problem;
        uint64_t used;       /* the higher the later */
    } kept[KEPT_REFERENCES]; /* the one in use is the first */
    uint64_t n_uses;
};
void ks_references_init(struct references *r);
void ks_references_release(struct references *r);
/* Makes those of the problem the first: kept ones, if they are sealed, else an empty memfd. */
int ks_references_need(struct references *r, uint32_t i_problem, struct ks_err *err);

struct ks_agent {
    struct ks_agent_config c;
    struct lease leases[KS_AGENT_LEASES];
    uint32_t order[KS_AGENT_LEASES]; /* held leases, oldest first */
    uint32_t n_leases;
    struct work again[MAX_AGAIN]; /* cells to measure once more at the end of their lease */
    uint32_t n_again;
    struct session session;
    struct worker worker;
    struct block block;
    struct recovery recovery;
    struct references references;
    struct acks acks;
    bool is_draining, is_broken, said_memory, has_limits;
    struct ks_device_limits limits; /* of the device, for all workers; has_limits: from the first */
    bool is_killed;                 /* the worker, by a drain */
    uint32_t drain_at; /* records of the session after which a drain kills the worker */
    char why[200];
    struct ks_agent_totals totals;
    uint64_t idle_since_ns;
    double cell_ns, record_bytes; /* of cells lately: wall time, size; 0: none yet */
    struct ks_record *record;     /* scratch */
    struct ks_buf body;           /* scratch */
};

/* agent_lease.c: the next cell. PICK_BLOCKED until a record comes, PICK_OTHER when the worker must
 * end first: its block is over, or the next lease is of another problem than i_problem (of the
 * present session, UINT32_MAX: none), PICK_NONE: no lease. */
enum ks_pick { PICK_WORK, PICK_BLOCKED, PICK_OTHER, PICK_NONE };
int ks_agent_pick(struct ks_agent *a, uint32_t i_problem, struct work *out, enum ks_pick *pick,
                  struct ks_err *err);
/* A further attempt of a cell: it begins with round 0, also when a visit is the cause. */
struct work ks_agent_anew(const struct work *w, uint32_t attempt);
/* The instance has failed in its visit: no more passes of it. Nothing for other cells. */
void ks_agent_drop_passes(struct ks_agent *a, const struct work *w);
/* All cells of the block in work have been sent, only the anchor that closes it is left. */
bool ks_agent_is_closing(const struct ks_agent *a);
int ks_agent_end_lease(struct ks_agent *a, uint32_t i, struct ks_err *err);
/* A record of a normal session has come: flag noise, settle the lease, keep the block's books. */
int ks_agent_take(struct ks_agent *a, const struct work *w, struct ks_record *r,
                  struct ks_err *err);
/* The same for a record that is `ok` and clean: only its disturbance is added to what the worker
 * encoded. */
int ks_agent_pass(struct ks_agent *a, const struct work *w, const struct ks_frame *f,
                  double disturbance, struct ks_err *err);
/* By the job's limits and this host's baseline: see ks_noise_disturbance(). */
double ks_agent_disturbance(const struct ks_agent *a, const struct ks_record_head *r,
                            const char **why_out);
void ks_agent_settle(struct ks_agent *a, const struct work *w);
/* A control: an alias that is measured all the same. */
void ks_agent_mark_alias(const struct ks_agent *a, const struct work *w, struct ks_record *r);
/* Set the disturbance and the flags that follow from the record itself. true: contaminated. */
bool ks_agent_flag_noise(const struct ks_agent *a, struct ks_record *r);

/* agent.c */
int ks_agent_emit(struct ks_agent *a, uint16_t type, struct ks_err *err); /* a->body */
int ks_agent_emit_record(struct ks_agent *a, const struct ks_record *r, struct ks_err *err);
int ks_agent_emit_body(struct ks_agent *a, const void *body, size_t n, struct ks_err *err);
int ks_agent_emit_start(struct ks_agent *a, const struct work *w, uint32_t i_problem, uint32_t why,
                        struct ks_err *err);
int ks_agent_emit_event(struct ks_agent *a, uint32_t kind, struct ks_err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
struct ks_cell ks_agent_cell(const struct ks_agent *a, uint32_t i_problem, uint32_t i_instance);
void ks_agent_break(struct ks_agent *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* agent_worker.c */
/* Whether isolate.memory_mib limits a worker's address space, else what it has resident. */
bool ks_worker_caps_address_space(const struct ks_job *job);
int ks_worker_start(struct ks_agent *a, struct ks_err *err); /* for a->session */
int ks_worker_send_cell(struct ks_agent *a, const struct work *w, struct ks_err *err);
int ks_worker_send_canary(struct ks_agent *a, struct ks_err *err);
int ks_worker_send_end(struct ks_agent *a, struct ks_err *err);
/* The frame in a->body. */
int ks_worker_put_request(struct ks_agent *a, uint16_t type, struct ks_err *err);
int ks_worker_flush(struct ks_agent *a, struct ks_err *err);
int ks_worker_read(struct ks_agent *a, struct ks_err *err); /* takes every record that is there */
void ks_worker_release(struct ks_agent *a);
/* What was printed from where the last call ended up to `end`, a value of ring_bytes, goes into the
 * journal under this cell; the last 64 KiB, as far as they are still there. */
int ks_worker_emit_output(struct ks_agent *a, const struct ks_cell *cell, const struct work *w,
                          uint64_t end, struct ks_err *err);
bool ks_references_are_sealed(int fd);

/* agent_recover.c */
/* A record of a retry or suspect session (or the canary of any). */
int ks_recover_record(struct ks_agent *a, const struct work *w, struct ks_record *r,
                      struct ks_err *err);
int ks_recover_canary(struct ks_agent *a, const struct ks_record *r, struct ks_err *err);
/* A failure that may be the doing of the cells before it in the worker, such as memory that they
 * kept or overwrote, or times that are not to be trusted, which may be the doing of noise: it is
 * held back, and the cell runs once more in a worker of its own, on a GPU behind the canary, as it
 * may be lost. */
bool ks_recover_is_doubtful(const struct ks_agent *a, const struct work *w,
                            const struct ks_record *r);
int ks_recover_doubt(struct ks_agent *a, const struct work *w, const struct ks_record *r,
                     struct ks_err *err);
/* The worker ended; culprit_end: how, when it was abnormal. */
int ks_recover_death(struct ks_agent *a, const struct ks_child_end *end, struct ks_err *err);
/* Prepare the next session of a recovery: true when there is one; false: recovery is over. */
int ks_recover_next(struct ks_agent *a, bool *is_ready_out, struct ks_err *err);
void ks_recover_forget(struct ks_agent *a); /* a drain: what was held back is not recorded */

/* agent_suspect.c */
/* The cells that the dead worker had completed run once more, each alone between sentinels. */
void ks_suspects_accuse(struct ks_agent *a);
/* The reason of a suspect's death: heap_corruption where the allocator says so in what was printed;
 * where the worker died at its exit, that it did. */
void ks_suspects_explain(struct ks_record *r);
/* All of them have run. One guilty: its record counts, the others' stand as evidence beside their
 * first. None guilty: the suspicion stays on all, as a flag. */
int ks_suspects_settle(struct ks_agent *a, struct ks_err *err);

#endif
