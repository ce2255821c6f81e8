/* SPDX-License-Identifier: MIT */
/* plan.h - private to src/build: what struct ks_build holds. plan.c decides what must be compiled
 * and reads the cache; compile.c runs compilers. */
#ifndef KS_BUILD_PLAN_H
#define KS_BUILD_PLAN_H

#include "build/build.h"
#include "build/cache.h"
#include "build/toolchain.h"

struct ks_unit {
    uint32_t first, n;  /* slice of ks_build.order */
    uint32_t n_pending; /* compilations of it queued or running */
};

enum ks_compile_phase { KS_TO_COMPILE, KS_COMPILING, KS_TO_LINK, KS_LINKING };
struct ks_compile { /* some instances of one unit, in one compiler run */
    uint32_t i_unit, n;
    uint32_t *instances; /* [n] owned */
    enum ks_compile_phase phase;
    uint32_t child;      /* COMPILING, LINKING */
    uint64_t compile_ns; /* so far */
    char dir[600];       /* temporary; "" before the first run */
};

struct ks_build {
    const struct ks_grid *grid; /* borrowed */
    struct ks_warden *warden;   /* borrowed */
    struct ks_toolchain tool;
    struct ks_cache cache;
    uint32_t timeout_s;
    struct ks_artefact *artefacts; /* [grid->n_instances] */
    uint32_t *order;               /* instances, unit by unit */
    struct ks_unit *units;
    uint32_t n_units;
    struct ks_compile *compiles; /* queued or running, oldest first */
    uint32_t n_compiles, cap_compiles;
    uint32_t *finished; /* [n_units] units done, ring */
    uint32_t finished_at, n_finished;
    uint64_t n_started;    /* compiler processes */
    struct ks_err pending; /* of ks_build_child_ended, returned by the next step; code 0: none */
};

/* Compile some instances of a unit; copies the list. */
int ks_compile_queue(struct ks_build *b, uint32_t i_unit, const uint32_t *instances, uint32_t n,
                     struct ks_err *err);
void ks_compile_release(struct ks_compile *c); /* also removes its temporary directory */

/* Compiled: identify code, publish, fill in artefacts. */
int ks_compile_publish(struct ks_build *b, struct ks_compile *c, struct ks_err *err);
/* Failed, and alone: remembered in the cache when is_final. */
int ks_compile_fail(struct ks_build *b, struct ks_compile *c, enum ks_artefact_state state,
                    const char *reason, bool is_final, struct ks_err *err);

#endif
