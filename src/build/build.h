/* SPDX-License-Identifier: MIT */
/* build.h - from instances to artefacts: units, toolchain, content-addressed cache, code identity.
 *
 * Several instances of one family, compiler and flags share a translation unit (27 at a time cost a
 * fraction of one at a time). A unit that fails to compile, or whose object cannot be loaded and
 * unloaded, is split until the culprit is alone. Results live in the cache as one directory per
 * unit, published by rename; a manifest beside each object names its instances. Any number of
 * processes may build into one cache: what one claims the others leave alone until it is built or
 * its builder is gone (docs/building.md). */
#ifndef KS_BUILD_H
#define KS_BUILD_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "build/code_object.h"
#include "grid/grid.h"
#include "spawn/warden.h"

#include <stdbool.h>
#include <stdint.h>

enum ks_artefact_state {
    KS_ART_MISSING = 0, /* not in the cache: must be built */
    KS_ART_READY,
    KS_ART_FAILED,     /* build_failed */
    KS_ART_TIMEOUT,    /* build_timeout */
    KS_ART_UNLOADABLE, /* load_failed: compiled, but its object does harm when it is loaded */
    KS_ART_UNSUPPORTED /* never compiled: the CPU or the compiler is not there, no source is, or no
                          problem of the job is for it */
};
extern const char *const ks_artefact_states[]; /* "missing" "ready" "build_failed" ... */
/* enum ks_outcome of the cells of such an instance; KS_O_OK: they can run. */
uint32_t ks_artefact_outcome(enum ks_artefact_state state);

struct ks_artefact { /* of one instance */
    enum ks_artefact_state state;
    char path[768];     /* shared object */
    uint8_t digest[32]; /* SHA-256 of the shared object */
    char entry[KS_INSTANCE_NAME];
    struct ks_id128 build_id;
    struct ks_id128 code_id;    /* of its code and run-time arguments; zero: equal to nothing */
    uint64_t compile_ns;        /* share of the unit's compile time */
    uint64_t object_bytes;      /* of the shared object, which others share */
    uint64_t code_bytes;        /* of its own functions; 0: not known */
    struct ks_code_object code; /* of a GPU: what its kernel0 needs; unknown numbers are -1 */
    const char *compiler;       /* first line of --version; "": none; borrowed from the build */
    bool is_cached;             /* nothing was compiled for it in this run */
    char reason[256];           /* first error line of the compiler; why it is unsupported */
};

struct ks_build_options {
    const char *cache_dir; /* NULL = $XDG_CACHE_HOME/ksweep or ~/.cache/ksweep */
    bool trust_cache;      /* accept a cache of another owner or writable by others */
    uint32_t unit_size;    /* most instances per translation unit, 0 = 27 */
    uint32_t n_parallel;   /* compilers at a time, of all who build this together: the units are cut
                              so that none of them is idle while others have much left; 0 = 1 */
    uint32_t timeout_s;    /* of one compiler run, 0 = 300 */
    uint32_t memory_mib;   /* of one compiler run and all it starts, 0 = 4096 */
    uint32_t file_mib;     /* of each file that a compiler writes, 0 = 1024; never more than
                              ulimit -f allows */
    bool try_compilers;    /* compile a small kernel with each compiler that is needed, before
                              anything else: a limit that is too low, or a compiler that is none,
                              would make every instance fail */
    const char *compiler;  /* for $KSWEEP_CC; NULL = that, else what the family says, else "cc" */
    const char *worker;    /* path of ksweep-worker, which tries each object before it is published;
                              NULL: they are published untried */
};

struct ks_build; /* the plan of a grid's units and what is known of each instance */

/* Plans units and reads the cache. Starts nothing. KS_EINVAL when the cache directory is not ours
 * (owner, mode) and not trusted: the message names the path and the flag; or when it cannot be
 * written, and try_compilers is set. The compilers' versions are found by running each once through
 * the warden. A compiler that fails its trial is treated as one that is not there; nothing is on
 * disk then that was not there before. */
int ks_build_create(const struct ks_grid *grid, const struct ks_build_options *opt,
                    struct ks_warden *warden, struct ks_build **b_out, struct ks_err *err);
/* Gives up what it has claimed; compilers that run go on until the warden ends. NULL is fine. */
void ks_build_destroy(struct ks_build *b);

uint32_t ks_build_n_units(const struct ks_build *b);
bool ks_build_unit_is_missing(const struct ks_build *b, uint32_t i_unit);
uint32_t ks_build_n_missing(const struct ks_build *b); /* units */
/* i_instance: of a helper, too (grid.h). */
const struct ks_artefact *ks_build_artefact(const struct ks_build *b, uint32_t i_instance);
/* Who verifies outputs of this element type on the job's GPU (kernels/judge.h); NULL: the host. */
const struct ks_artefact *ks_build_judge(const struct ks_build *b, uint32_t dtype);
/* true: a GPU's outputs are verified on the host for want of a judge. Appended: the types that it
 * concerns, of the grid's problems, and why: "fp32, bf16: compiler for gfx942 is not installed". */
bool ks_build_lacks_judge(const struct ks_build *b, struct ks_buf *text_out);
/* Look again at the cache for one unit (another rank built it). */
int ks_build_refresh(struct ks_build *b, uint32_t i_unit, struct ks_err *err);
/* The same for all who would build the same: digest of all build_ids. Zero: nothing is compiled. */
struct ks_id128 ks_build_target(const struct ks_build *b);
/* The same for all who share this cache, on whatever host; zero as above. Two caches may have one
 * where one is a copy of the other that kept its file numbers: nothing may rely on it. */
struct ks_id128 ks_build_cache(const struct ks_build *b);
/* Cuts the units anew for so many compilers at a time (n_parallel of the options), while none has
 * been started; else they stay as they are. KS_ENOMEM. */
int ks_build_cut(struct ks_build *b, uint32_t n_parallel, struct ks_err *err);

/* From cache to cache. A pack is a unit of the cache as bytes, its object and all that is known of
 * it; what becomes of it elsewhere is the same as if it had been compiled there.
 * export: the unit that holds this build, appended. KS_ENOENT: the cache has none, or only a
 * failure that says nothing about another host.
 * import: checks that the pack holds this build and is whole (unit, size and digest of the object;
 * KS_EFORMAT), and publishes it like one that was compiled. See it with ks_build_refresh. */
int ks_build_export(const struct ks_build *b, struct ks_id128 build_id, struct ks_buf *pack_out,
                    struct ks_err *err);
int ks_build_import(struct ks_build *b, struct ks_id128 build_id, const void *pack, size_t n,
                    struct ks_err *err);

/* First lines of --version of all compilers, "; " between them. */
const char *ks_build_compiler(const struct ks_build *b);
/* Why no instance at all can be had here, where that is for want of a compiler; else NULL. A judge
 * alone would be of no use. */
const char *ks_build_obstacle(const struct ks_build *b);

/* For want of compiler k of those that the grid asks for: how many instances are not built here (0:
 * it is there), and why, in the words of their reasons (borrowed). -1: there are no more. */
int64_t ks_build_lacking(const struct ks_build *b, uint32_t k, const char **why_out);

/* Compiling. Up to n_jobs compilers at a time through the warden. */
/* Want a unit: it is compiled when its turn comes, unless somebody else has claimed it; then it is
 * waited for. */
int ks_build_start(struct ks_build *b, uint32_t i_unit, struct ks_err *err);
/* Start what fits, publish what is compiled, look what others have built; call after start, after
 * every child end, and ten times a second while n_running says that something is wanted: it also
 * tells the others that we are alive. */
int ks_build_step(struct ks_build *b, uint32_t n_jobs, struct ks_err *err);
/* true when the ended child was one of ours (then it has been dealt with). */
bool ks_build_child_ended(struct ks_build *b, const struct ks_child_end *end);
/* For who does nothing else meanwhile: waits a tenth of a second at most for compilers to end, and
 * deals with those that did. KS_EIO and what the warden returns. */
int ks_build_wait(struct ks_build *b, struct ks_err *err);
uint32_t ks_build_n_running(const struct ks_build *b); /* units wanted and not finished */
/* The next unit that finished since the last call, -1 = none. */
int64_t ks_build_finished(struct ks_build *b);
/* Number of compiler processes started in this life: "a second run compiles nothing". */
uint64_t ks_build_n_compiles(const struct ks_build *b);

/* Instances of a unit: indices into grid->instances, helpers among them. */
uint32_t ks_build_unit(const struct ks_build *b, uint32_t i_unit, const uint32_t **instances_out);

/* Everything that is known of every instance. JSON: the members "compilers" [{name, command,
 * version, reason}], "kernels" [{family, direction, dtype, pipeline, ready, distinct}] and
 * "instances"
 * [{id, name, family, compiler, state, reason, cached, build_id,
 * code_id, digest, compile_ns, code_bytes, object_bytes, path}] of an object that the caller has
 * open, and "judge" with the same of a GPU's helpers. CSV: the same of the instances, a header
 * first. Times in ns, sizes in bytes. */
struct ks_jw;
void ks_build_print_json(const struct ks_build *b, struct ks_jw *w);
void ks_build_print_csv(const struct ks_build *b, struct ks_buf *csv_out);
/* For people: for each family, direction, dtype and value of the trait `pipeline` how many
 * instances are built and how many kernels (code_ids) they are, one line each; and the reasons of
 * those that are unsupported, with their numbers. */
void ks_build_print_codes(const struct ks_build *b, struct ks_buf *text_out);
void ks_build_print_unsupported(const struct ks_build *b, struct ks_buf *text_out);
/* Of a GPU: the element types that have a judge, and why others have none; a line. */
void ks_build_print_judge(const struct ks_build *b, struct ks_buf *text_out);

#endif
