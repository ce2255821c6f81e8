/* SPDX-License-Identifier: MIT */
/* plan.h - private to src/build: what struct ks_build holds. plan.c decides what must be compiled
 * and reads the cache; units.c cuts units; queue.c decides what is compiled next, and by whom;
 * compile.c runs compilers; try.c loads what they made; publish.c makes their results known;
 * counts.c, judge.c and report.c tell of them. */
#ifndef KS_BUILD_PLAN_H
#define KS_BUILD_PLAN_H

#include "build/build.h"
#include "build/cache.h"
#include "build/claim.h"
#include "build/toolset.h"

struct ks_unit {
    uint32_t first, n;     /* slice of ks_build.order */
    struct ks_id128 key;   /* of its claim: the digest of its build_ids */
    bool is_wanted;        /* and not finished */
    uint32_t n_pending;    /* compilations of it queued or running */
    struct ks_claim claim; /* generation 0: not ours */
};

enum ks_compile_phase {                       /* in the order of time */
                        KS_TO_COMPILE_DEVICE, /* units of a GPU begin here */
                        KS_COMPILING_DEVICE,
                        KS_TO_COMPILE, /* others here */
                        KS_COMPILING,
                        KS_TO_LINK,
                        KS_LINKING,
                        KS_TO_TRY, /* left out without a worker */
                        KS_TRYING,
                        KS_TO_PUBLISH
};
struct ks_compile { /* some instances of one unit, in one compiler run */
    uint32_t i_unit, n;
    uint32_t *instances; /* [n] owned */
    uint32_t *device_of; /* [n] owned: see ks_unit_devices(); NULL: not of a GPU */
    enum ks_compile_phase phase;
    uint32_t child;      /* of the compiler that runs */
    uint64_t compile_ns; /* so far */
    char dir[600];       /* temporary; "" before the first run */
};

struct ks_build_item { /* of an instance that is built, while they are counted */
    struct ks_domain domain;
    const char *family, *pipeline;
    struct ks_id128 code_id;
    bool is_unfit; /* no block of its kernel fits the target */
};

struct ks_build {
    const struct ks_grid *grid; /* borrowed */
    struct ks_warden *warden;   /* borrowed */
    struct ks_toolset tools;
    struct ks_cache cache;
    struct ks_id128 *sources; /* [n_families] digest of what each may include; zero: none asked */
    uint32_t timeout_s, memory_mib, file_mib, unit_size;
    char worker[1024];             /* program that tries objects; "": they are not tried */
    uint64_t created_ns;           /* real time */
    struct ks_artefact *artefacts; /* [ks_grid_n_built()] */
    uint32_t *order;               /* instances, unit by unit */
    struct ks_build_item *items;   /* [grid->n_instances] room for counts.c */
    struct ks_unit *units;
    uint32_t n_units;
    struct ks_compile *compiles; /* queued or running, oldest first */
    uint32_t n_compiles, cap_compiles;
    uint32_t *finished; /* [n_units] units done, ring */
    uint32_t finished_at, n_finished;
    struct ks_builder_watch watch; /* of others who build */
    uint64_t look_ns;              /* when to look again for a unit to claim; 0: at once */
    uint64_t n_started;            /* compiler processes */
    struct ks_err pending; /* of ks_build_child_ended, returned by the next step; code 0: none */
};

/* The flags of an instance beside its toolchain's, appended. */
void ks_build_flags(const struct ks_build *b, uint32_t i_instance, struct ks_buf *text_out);
const struct ks_toolchain *ks_build_toolchain(const struct ks_build *b, uint32_t i_instance);
/* Target KS_GPU_NONE where the instance is not for a GPU. */
const struct ks_gpu_chain *ks_build_gpu_chain(const struct ks_build *b, uint32_t i_instance);
/* First line of --version of the compiler that made what runs on the device. */
const char *ks_build_version(const struct ks_build *b, uint32_t i_instance);

/* Fills order and units with the instances that are to be compiled. */
int ks_units_cut(struct ks_build *b, uint32_t unit_size, uint32_t n_parallel, struct ks_err *err);
/* Instances in each of the next n_parallel units when `left` are in none yet. */
uint32_t ks_units_size(uint32_t left, uint32_t unit_size, uint32_t n_parallel);

/* Compile some instances of a unit; copies the list. */
int ks_compile_queue(struct ks_build *b, uint32_t i_unit, const uint32_t *instances, uint32_t n,
                     struct ks_err *err);
void ks_compile_release(struct ks_compile *c);          /* also removes its temporary directory */
bool ks_compile_is_waiting(const struct ks_compile *c); /* for a compiler to be started */
bool ks_compile_is_running(const struct ks_compile *c);
/* The next compiler run of it. */
int ks_compile_start(struct ks_build *b, struct ks_compile *c, struct ks_err *err);
/* A compiler run of b->compiles[i] ended. true: nothing is left to do for it. */
bool ks_compile_ended(struct ks_build *b, uint32_t i, const struct ks_child_end *end, int *rc_out,
                      struct ks_err *err);

/* Compiled: identify code, publish, fill in artefacts. */
int ks_compile_publish(struct ks_build *b, struct ks_compile *c, struct ks_err *err);
/* Failed, and alone: remembered in the cache. */
int ks_compile_fail(struct ks_build *b, struct ks_compile *c, enum ks_artefact_state state,
                    enum ks_holds holds, const char *reason, struct ks_err *err);

/* The member "kernels" of ks_build_print_json(). */
void ks_build_print_counts(const struct ks_build *b, struct ks_jw *w);

#endif
