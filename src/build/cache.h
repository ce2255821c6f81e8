/* SPDX-License-Identifier: MIT */
/* cache.h - private to src/build: compiled units on disk.
 *
 *     CACHE/host/UNIT/kernels.so manifest.txt       published by renaming a temporary directory
 *     CACHE/host/instances/BUILD_ID -> ../UNIT      symbolic link: where an instance was compiled
 *     CACHE/host/.tmp-BUILDER-XXXXXX/               a unit that BUILDER compiles (builder.h)
 *     CACHE/host/builders/ claims/                  who builds what (builder.h, claim.h)
 *     CACHE/host/id -> RANDOM                       symbolic link to nowhere: which cache this is
 *
 * UNIT is the digest of the build_ids in it. Failures are units without an object. So an instance
 * is found whatever unit it was compiled in, and a changed source, flag, compiler or CPU finds
 * nothing. Whatever moment a process dies at, a reader finds a whole unit or none; what it left is
 * swept when the cache is opened next. */
#ifndef KS_BUILD_CACHE_H
#define KS_BUILD_CACHE_H

#include "base/err.h"
#include "base/hash.h"
#include "build/build.h"
#include "build/builder.h"

#include <stdbool.h>
#include <stdint.h>

#define KS_UNIT_OBJECT   "kernels.so"
#define KS_UNIT_IMAGE    "device.img" /* of a GPU: only while it is built, kernels.so carries it */
#define KS_UNIT_MANIFEST "manifest.txt"

struct ks_cache {
    char dir[512];      /* CACHE/host */
    struct ks_id128 id; /* whoever opens the same one finds the same */
    bool is_trusted;
    struct ks_builder me;
};

enum ks_holds { /* how long a failure does */
                KS_HOLDS_ALWAYS,
                KS_HOLDS_LIMITS, /* until more time, memory or file size is given */
                KS_HOLDS_RUN     /* for those who were building when it happened */
};

struct ks_manifest_row { /* of one instance */
    char name[KS_INSTANCE_NAME];
    struct ks_id128 build_id, code_id;
    enum ks_artefact_state state; /* READY, FAILED, TIMEOUT, UNLOADABLE */
    enum ks_holds holds;          /* but for READY */
    uint64_t code_bytes;          /* of its functions */
    struct ks_code_object code;   /* of a GPU */
    char reason[256];
};
struct ks_manifest {
    struct ks_id128 unit;
    char compiler[160];
    uint8_t digest[32];           /* of the object; zero when there is none */
    uint64_t object_bytes;        /* 0: no object */
    uint64_t compile_ns;          /* of the whole unit */
    uint32_t timeout_s;           /* that a compiler run was given */
    uint32_t memory_mib;          /* and memory */
    uint32_t file_mib;            /* and for each file that it wrote */
    uint64_t created_ns;          /* real time */
    struct ks_manifest_row *rows; /* [n_rows] owned */
    uint32_t n_rows;
};

/* Where the cache is: `asked`, made absolute, else $XDG_CACHE_HOME/ksweep, else
 * $HOME/.cache/ksweep, else that below the user's home. KS_EINVAL: a variable that is no absolute
 * path, or no home. */
int ks_cache_place(const char *asked, char *out, size_t cap, struct ks_err *err);
/* Creates what is missing there (mode 0700), sweeps what killed runs have left. KS_EINVAL when it
 * is another user's or writable by others, unless trusted, or cannot be made. */
int ks_cache_open(const char *cache_dir, bool trust, struct ks_cache *out, struct ks_err *err);
/* KS_EINVAL when nothing can be written there. */
int ks_cache_is_writable(const struct ks_cache *c, struct ks_err *err);
/* Nothing is built here any more. */
void ks_cache_close(struct ks_cache *c);

/* The unit that holds an instance; KS_ENOENT (err untouched) when the cache has none. */
int ks_cache_find(const struct ks_cache *c, struct ks_id128 build_id, struct ks_id128 *unit_out);

/* Reads and checks a unit: owner and modes (KS_EINVAL, names the path and the flag), form and the
 * object's digest (KS_EFORMAT or KS_ENOENT: it must be built again). Caller releases. */
int ks_manifest_read(const struct ks_cache *c, struct ks_id128 unit, struct ks_manifest *out,
                     struct ks_err *err);
const struct ks_manifest_row *ks_manifest_find(const struct ks_manifest *m,
                                               struct ks_id128 build_id); /* NULL: not in it */
/* The identity of a unit with these rows. */
struct ks_id128 ks_manifest_unit(const struct ks_manifest *m);
/* From memory; name: for messages. KS_EFORMAT as below. */
int ks_manifest_parse(const char *text, size_t n, const char *name, struct ks_manifest *out,
                      struct ks_err *err);
/* Reads the file alone. KS_EFORMAT for anything that ks_manifest_print would not write. */
int ks_manifest_load(const char *path, struct ks_manifest *out, struct ks_err *err);
void ks_manifest_release(struct ks_manifest *m);
void ks_manifest_print(const struct ks_manifest *m, struct ks_buf *text_out);

/* A new private directory below the cache, for ks_cache_publish. */
int ks_cache_temp(struct ks_cache *c, char *dir_out, size_t cap, struct ks_err *err);
/* Writes the manifest into `temp` (which holds the object, unless it has none), makes it unit
 * m->unit and links its instances; all of it is on the disk when it returns. A unit that another
 * process published meanwhile is kept when it is sound. temp is gone afterwards, on failure too. */
int ks_cache_publish(struct ks_cache *c, const char *temp, const struct ks_manifest *m,
                     struct ks_err *err);
int ks_cache_object(const struct ks_cache *c, struct ks_id128 unit, char *path_out, size_t cap,
                    struct ks_err *err);

#endif
