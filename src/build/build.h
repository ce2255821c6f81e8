/* SPDX-License-Identifier: MIT */
/* build.h - from instances to artefacts: units, toolchain, content-addressed cache, code identity.
 *
 * Several instances share a translation unit (27 at a time cost a sixth of one at a time). A unit
 * that fails to compile is split until the culprit is alone. Results live in the cache as one
 * directory per unit, published by rename; a manifest beside each object names its instances. */
#ifndef KS_BUILD_H
#define KS_BUILD_H

#include "base/err.h"
#include "base/hash.h"
#include "grid/grid.h"
#include "spawn/warden.h"

#include <stdbool.h>
#include <stdint.h>

enum ks_artefact_state {
    KS_ART_MISSING = 0, /* not in the cache: must be built */
    KS_ART_READY,
    KS_ART_FAILED,     /* build_failed */
    KS_ART_TIMEOUT,    /* build_timeout */
    KS_ART_UNSUPPORTED /* this CPU lacks what it needs: never compiled */
};
struct ks_artefact { /* of one instance */
    enum ks_artefact_state state;
    char path[768];     /* shared object */
    uint8_t digest[32]; /* SHA-256 of the shared object */
    char entry[KS_INSTANCE_NAME];
    struct ks_id128 build_id, code_id;
    uint64_t compile_ns; /* share of the unit's compile time */
    uint64_t object_bytes;
    bool is_cached;   /* nothing was compiled for it in this run */
    char reason[256]; /* first error line of the compiler */
};

struct ks_build_options {
    const char *cache_dir; /* NULL = $XDG_CACHE_HOME/ksweep or ~/.cache/ksweep */
    bool trust_cache;      /* accept a cache of another owner or writable by others */
    uint32_t unit_size;    /* instances per translation unit, 0 = 27 */
    uint32_t timeout_s;    /* of one compiler run, 0 = 300 */
    const char *compiler;  /* NULL = $KSWEEP_CC or "cc" */
};

struct ks_build; /* the plan of a grid's units and what is known of each instance */

/* Plans units and reads the cache. Starts nothing. KS_EINVAL when the cache directory is not ours
 * (owner, mode) and not trusted: the message names the path and the flag. The compiler's version is
 * found by running it once through the warden. */
int ks_build_create(const struct ks_grid *grid, const struct ks_build_options *opt,
                    struct ks_warden *warden, struct ks_build **b_out, struct ks_err *err);
void ks_build_destroy(struct ks_build *b); /* NULL is fine */

uint32_t ks_build_n_units(const struct ks_build *b);
bool ks_build_unit_is_missing(const struct ks_build *b, uint32_t i_unit);
uint32_t ks_build_n_missing(const struct ks_build *b); /* units */
const struct ks_artefact *ks_build_artefact(const struct ks_build *b, uint32_t i_instance);
/* Look again at the cache for one unit (another rank built it). */
int ks_build_refresh(struct ks_build *b, uint32_t i_unit, struct ks_err *err);
const char *ks_build_compiler(const struct ks_build *b); /* first line of --version */

/* Compiling. Up to n_jobs compilers at a time through the warden. */
int ks_build_start(struct ks_build *b, uint32_t i_unit, struct ks_err *err); /* queue a unit */
/* Start what fits; call after start and after every child end. */
int ks_build_step(struct ks_build *b, uint32_t n_jobs, struct ks_err *err);
/* true when the ended child was one of ours (then it has been dealt with). */
bool ks_build_child_ended(struct ks_build *b, const struct ks_child_end *end);
uint32_t ks_build_n_running(const struct ks_build *b); /* units queued or running */
/* The next unit that finished since the last call, -1 = none. */
int64_t ks_build_finished(struct ks_build *b);
/* Number of compiler processes started in this life: "a second run compiles nothing". */
uint64_t ks_build_n_compiles(const struct ks_build *b);

/* Instances of a unit: indices into grid->instances. */
uint32_t ks_build_unit(const struct ks_build *b, uint32_t i_unit, const uint32_t **instances_out);

#endif
