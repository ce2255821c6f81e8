/* SPDX-License-Identifier: MIT */
/* outcome.h - how a cell can end, and flags that stand beside it. */
#ifndef KS_RECORD_OUTCOME_H
#define KS_RECORD_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

/* X(name, value, text, needs_a_look): values are on disk and never change. needs_a_look: such a
 * cell makes a complete run end with exit status 1. */
#define KS_OUTCOME_LIST(X)                                                                         \
    X(KS_O_OK, 1, "ok", false)                                                                     \
    X(KS_O_WRONG_RESULT, 2, "wrong_result", true)                                                  \
    X(KS_O_OUT_OF_BOUNDS, 3, "out_of_bounds", true)                                                \
    X(KS_O_NONDETERMINISTIC, 4, "nondeterministic", true)                                          \
    X(KS_O_UNSUPPORTED, 5, "unsupported", false)                                                   \
    X(KS_O_ALIASED, 6, "aliased", false)                                                           \
    X(KS_O_BUILD_FAILED, 7, "build_failed", true)                                                  \
    X(KS_O_BUILD_TIMEOUT, 8, "build_timeout", true)                                                \
    X(KS_O_LOAD_FAILED, 9, "load_failed", true)                                                    \
    X(KS_O_LAUNCH_FAILED, 10, "launch_failed", true)                                               \
    X(KS_O_OUT_OF_MEMORY, 11, "out_of_memory", true)                                               \
    X(KS_O_TIMEOUT, 12, "timeout", true)                                                           \
    X(KS_O_CRASHED, 13, "crashed", true)                                                           \
    X(KS_O_EXITED, 14, "exited", true)                                                             \
    X(KS_O_DEVICE_LOST, 15, "device_lost", true)                                                   \
    X(KS_O_WORKER_LOST, 16, "worker_lost", true)                                                   \
    X(KS_O_SKIPPED, 17, "skipped", false)                                                          \
    X(KS_O_UNTRUSTED, 18, "untrusted", true)

enum ks_outcome {
    KS_O_NONE = 0, /* never recorded */
#define X(name, value, text, look) name = value,
    KS_OUTCOME_LIST(X)
#undef X
        KS_O_LIMIT = 19
};

const char *ks_outcome_text(uint32_t outcome); /* "ok"; "?" when unknown */
uint32_t ks_outcome_from(const char *text);    /* KS_O_NONE when unknown */
bool ks_outcome_needs_look(uint32_t outcome);
/* crashed, exited, timeout, out_of_memory, worker_lost, device_lost: a process ended. */
bool ks_outcome_is_abnormal(uint32_t outcome);

/* Why pruning left a cell out begins so, in journals and HDF5 files of every release. */
#define KS_PRUNED_SPILLS "spills"
/* Whether it is a cell that pruning left out, and not one skipped for another reason. */
bool ks_outcome_is_pruned(uint32_t outcome, const char *reason);

/* Flags are apart from outcomes. */
#define KS_FLAG_LIST(X)                                                                            \
    X(KS_FL_CONTAMINATED, 0, "contaminated")                                                       \
    X(KS_FL_OVERSUBSCRIBED, 1, "oversubscribed")                                                   \
    X(KS_FL_SUSPECT, 2, "suspect")                                                                 \
    X(KS_FL_UNCONFIRMED, 3, "unconfirmed")                                                         \
    X(KS_FL_POISON_EFFECT, 4, "poison_effect")                                                     \
    X(KS_FL_ALIASED, 5, "aliased")                                                                 \
    X(KS_FL_DENIED_CALLS, 6, "denied_calls")                                                       \
    X(KS_FL_FP_ENV_CHANGED, 7, "fp_env_changed")                                                   \
    X(KS_FL_REBUILT, 8, "rebuilt")                                                                 \
    X(KS_FL_VOID, 9, "void")                  /* taken back; no version has set it so far */       \
    X(KS_FL_INTERMITTENT, 10, "intermittent") /* failed, but went well on the same device, too */  \
    X(KS_FL_PRUNED, 11, "pruned")             /* measured only to see what pruning leaves out */   \
    X(KS_FL_DAMAGED, 12, "damaged") /* load_failed: not the object that was built; measured again  \
                                       on resume */                                                \
    /* of imported rows (analysis/import): */                                                      \
    X(KS_FL_IMPORTED, 13, "imported")         /* another tool measured it; nobody verified it */   \
    X(KS_FL_TRUNCATED, 14, "truncated_list")  /* the source keeps only some of the candidates */   \
    X(KS_FL_CONTRADICTED, 15, "contradicted") /* listed again with another time */                 \
    X(KS_FL_ZERO_TIME, 16, "zero_time")       /* the source says 0 */                              \
    X(KS_FL_IMPOSSIBLE, 17, "impossible")     /* faster than the device's peak rate */             \
    X(KS_FL_UNDECODED, 18, "undecoded")       /* its problem is only known as a text */            \
    X(KS_FL_PARTIAL, 19, "partial_output")    /* much of the output is zero: not written */

enum ks_flag {
#define X(name, bit, text) name = 1u << (bit),
    KS_FLAG_LIST(X)
#undef X
};
/* "contaminated|suspect", "" when none. */
void ks_flags_text(uint32_t flags, char *out, uint32_t cap);

/* Why sampling stopped; on disk. */
enum ks_stop {
    KS_STOP_NONE = 0,
    KS_STOP_TARGET = 1,
    KS_STOP_MAX_SAMPLES = 2,
    KS_STOP_MAX_TIME = 3,
    KS_STOP_FAILED = 4
};
const char *ks_stop_text(uint32_t stop);

/* Why the warm-up ended; on disk. */
enum ks_warm_end {
    KS_WARM_NONE = 0, /* there was none, or it failed */
    KS_WARM_TIME = 1, /* warmup_ms were over */
    KS_WARM_FLAT = 2, /* the device's clock and times no longer changed */
    KS_WARM_LIMIT = 3 /* they still did at the limit */
};

/* What a worker is doing; in shared memory before it is done, so that every death is attributed. */
#define KS_PHASE_LIST(X)                                                                           \
    X(KS_PH_IDLE, 0, "idle")                                                                       \
    X(KS_PH_SETUP, 1, "setup")                                                                     \
    X(KS_PH_REFERENCE, 2, "reference")                                                             \
    X(KS_PH_LOAD, 3, "load")                                                                       \
    X(KS_PH_APPLICABLE, 4, "applicable")                                                           \
    X(KS_PH_EXACT, 5, "exact")                                                                     \
    X(KS_PH_WARMUP, 6, "warmup")                                                                   \
    X(KS_PH_TIMING, 7, "timing")                                                                   \
    X(KS_PH_VERIFY, 8, "verify")                                                                   \
    X(KS_PH_REPORT, 9, "report")                                                                   \
    X(KS_PH_CANARY, 10, "canary")                                                                  \
    X(KS_PH_EXIT, 11, "exit")
enum ks_phase {
#define X(name, value, text) name = value,
    KS_PHASE_LIST(X)
#undef X
};
const char *ks_phase_text(uint32_t phase);

#endif
