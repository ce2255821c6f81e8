/* SPDX-License-Identifier: MIT */
/* cache.c - where compiled units lie, whose they are, and how they get there. */
#include "build/cache.h"
#include "build/claim.h"
#include "build/parents.h"

#include "base/clock.h"
#include "base/file.h"
#include "build/command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMP_PREFIX  ".tmp-"
#define TEMP_AGE_S   86400 /* one that does not say whose it is, and is this old, is nobody's */
#define OBJECTS_MODE 0600

/* Compilers run in directories of the cache, and are told of them. */
static int make_absolute(const char *path, char *out, size_t cap, struct ks_err *err)
{
    char here[600];
    if (*path == '/')
        return ks_path_join(out, cap, "", path, err);
    if (!getcwd(here, sizeof(here)))
        return ks_fail_path(err, "current directory");
    return ks_path_join(out, cap, here, path, err);
}

/* As a shell's ~ without HOME. */
static const char *home_of_user(char *out, size_t cap)
{
    char text[4096];
    struct passwd user, *found = NULL;
    if (getpwuid_r(geteuid(), &user, text, sizeof(text), &found) != 0 || !found)
        return NULL;
    snprintf(out, cap, "%s", user.pw_dir);
    return *out ? out : NULL;
}

int ks_cache_place(const char *asked, char *out, size_t cap, struct ks_err *err)
{
    char entry[600];
    const char *xdg = ks_command_variable("XDG_CACHE_HOME");
    const char *home = ks_command_variable("HOME"), *name = xdg ? "XDG_CACHE_HOME" : "HOME";
    if (asked && *asked)
        return make_absolute(asked, out, cap, err);
    if (!xdg && !home)
        home = home_of_user(entry, sizeof(entry));
    if (!xdg && !home)
        return ks_fail(err, KS_EINVAL,
                       "no place for the build cache: neither XDG_CACHE_HOME nor HOME is set, and "
                       "the user has no home; give --cache DIR");
    if (*(xdg ? xdg : home) != '/')
        return ks_fail(err, KS_EINVAL,
                       "no place for the build cache: %s is '%s', which is not an absolute path; "
                       "correct it, or give --cache DIR",
                       name, xdg ? xdg : home);
    return ks_path_join(out, cap, xdg ? xdg : home, xdg ? "ksweep" : ".cache/ksweep", err);
}

/* Ours, and writable by nobody else? */
static int check_owner(const struct ks_cache *c, const char *path, struct ks_err *err)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return ks_fail_path(err, "'%s'", path);
    if (c->is_trusted)
        return 0;
    if (st.st_uid != geteuid())
        return ks_fail(
            err, KS_EINVAL,
            "'%s' belongs to user %u: kernels from it would run as you; remove it, choose "
            "another --cache, or give --trust-cache",
            path, (unsigned)st.st_uid);
    if (!S_ISLNK(st.st_mode) && (st.st_mode & (S_IWGRP | S_IWOTH)))
        return ks_fail(err, KS_EINVAL,
                       "'%s' is writable by others: kernels from it would run as you; chmod go-w, "
                       "choose another --cache, or give --trust-cache",
                       path);
    return 0;
}

/* Was it left by someone who is gone? names: ".tmp-BUILDER-XXXXXX" */
static bool is_left(const struct ks_cache *c, const char *path, const char *name)
{
    char hex[33];
    struct ks_id128 builder;
    struct stat st;
    if (strncmp(name, TEMP_PREFIX, strlen(TEMP_PREFIX)) != 0 || lstat(path, &st) < 0 ||
        st.st_uid != geteuid())
        return false;
    snprintf(hex, sizeof(hex), "%s", name + strlen(TEMP_PREFIX));
    if (ks_unhex128(hex, &builder))
        return ks_builder_is_gone(c->me.dir, builder, NULL, 0);
    return (uint64_t)st.st_mtime + TEMP_AGE_S < ks_realtime_ns() / 1000000000u;
}

/* Failing to remove a leftover harms nobody. */
static void sweep_temps(const struct ks_cache *c, const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        char path[900];
        if (ks_path_join(path, sizeof(path), dir, e->d_name, NULL) == 0 &&
            is_left(c, path, e->d_name))
            (void)ks_remove_tree(path, NULL);
    }
    if (d)
        closedir(d);
}

static void sweep(const struct ks_cache *c, const char *links)
{
    sweep_temps(c, c->dir);
    sweep_temps(c, links);
    ks_claim_sweep(c->dir);
    ks_builder_sweep(c->me.dir); /* last: the others ask for them */
}

/* Which cache is this? Made by whoever comes first: a symbolic link is made whole or not at all, on
 * NFS too. A copy of a cache has other file numbers. Where it cannot be made, nobody knows. */
static struct ks_id128 identify(const struct ks_cache *c)
{
    char path[600], text[160], hex[33];
    struct stat st;
    snprintf(path, sizeof(path), "%s/id", c->dir);
    ks_hex128(ks_id128_random(), hex);
    if (lstat(path, &st) < 0 && symlink(hex, path) < 0 && errno != EEXIST)
        return ks_id128_random();
    const ssize_t n = readlink(path, text, 64);
    if (n < 0 || lstat(path, &st) < 0)
        return ks_id128_random();
    const int len = snprintf(text + n, sizeof(text) - (size_t)n, " %ju", (uintmax_t)st.st_ino);
    return ks_id128(text, (size_t)(n + len));
}

int ks_cache_is_writable(const struct ks_cache *c, struct ks_err *err)
{
    if (faccessat(AT_FDCWD, c->dir, W_OK | X_OK, AT_EACCESS) == 0)
        return 0;
    ks_fail_path(err, "'%s'", c->dir);
    return ks_err_context(err, KS_EINVAL,
                          "the build cache cannot be written, but kernels must be built; choose "
                          "another one with --cache");
}

/* Nothing is made below a directory that others could replace. */
static int check_parents(const struct ks_cache *c, const char *root, struct ks_err *err)
{
    char real[4096], above[4096], of[600];
    bool is_there;
    if (c->is_trusted)
        return 0;
    int rc = ks_parents_resolve(root, real, sizeof(real), &is_there, err);
    if (rc < 0)
        return rc;
    snprintf(of, sizeof(of), "build cache '%.512s'", root);
    ks_path_dir(above, sizeof(above), real);
    return ks_parents_check(is_there ? above : real, of, err); /* it has rules of its own */
}

/* Makes the cache's directory and finds its real path, which no symbolic link leads away from. */
static int make_root(const struct ks_cache *c, char *root, size_t cap, struct ks_err *err)
{
    char host[600], links[600];
    bool is_there;
    int rc = check_parents(c, root, err);
    if (rc == 0)
        rc = ks_path_join(host, sizeof(host), root, "host", err);
    if (rc == 0)
        rc = ks_path_join(links, sizeof(links), host, "instances", err);
    if (rc == 0)
        rc = ks_mkdirs(links, 0700, err);
    if (rc == 0)
        rc = ks_parents_resolve(root, root, cap, &is_there, err);
    return rc < 0 ? rc : check_parents(c, root, err);
}

int ks_cache_open(const char *cache_dir, bool trust, struct ks_cache *out, struct ks_err *err)
{
    struct ks_cache c = { .is_trusted = trust };
    char root[sizeof(c.dir)], links[600];
    int rc = ks_cache_place(cache_dir, root, sizeof(root) - 8, err);
    if (rc == 0)
        rc = make_root(&c, root, sizeof(root) - 8, err);
    if (rc == 0)
        rc = ks_path_join(c.dir, sizeof(c.dir), root, "host", err);
    if (rc == 0)
        rc = ks_path_join(links, sizeof(links), c.dir, "instances", err);
    if (rc == 0)
        rc = check_owner(&c, root, err);
    if (rc == 0)
        rc = check_owner(&c, c.dir, err);
    if (rc == 0)
        rc = check_owner(&c, links, err);
    if (rc < 0)
        return ks_err_context(err, rc, "build cache");
    c.id = identify(&c);
    ks_builder_init(&c.me, c.dir);
    sweep(&c, links);
    *out = c;
    return 0;
}

void ks_cache_close(struct ks_cache *c)
{
    ks_builder_leave(&c->me);
}

static int link_path(const struct ks_cache *c, struct ks_id128 build_id, char *out, size_t cap)
{
    char hex[33];
    ks_hex128(build_id, hex);
    const int n = snprintf(out, cap, "%s/instances/%s", c->dir, hex);
    return n < 0 || (size_t)n >= cap ? KS_EINVAL : 0;
}

int ks_cache_find(const struct ks_cache *c, struct ks_id128 build_id, struct ks_id128 *unit_out)
{
    char path[768], to[64];
    if (link_path(c, build_id, path, sizeof(path)) < 0)
        return KS_ENOENT;
    const ssize_t n = readlink(path, to, sizeof(to) - 1);
    if (n < 4 || strncmp(to, "../", 3) != 0)
        return KS_ENOENT;
    to[n] = '\0';
    return ks_unhex128(to + 3, unit_out) ? 0 : KS_ENOENT;
}

static int unit_dir(const struct ks_cache *c, struct ks_id128 unit, char *out, size_t cap,
                    struct ks_err *err)
{
    char hex[33];
    ks_hex128(unit, hex);
    return ks_path_join(out, cap, c->dir, hex, err);
}

int ks_cache_object(const struct ks_cache *c, struct ks_id128 unit, char *path_out, size_t cap,
                    struct ks_err *err)
{
    char dir[600];
    int rc = unit_dir(c, unit, dir, sizeof(dir), err);
    return rc < 0 ? rc : ks_path_join(path_out, cap, dir, KS_UNIT_OBJECT, err);
}

static int check_object(const struct ks_cache *c, const char *dir, const struct ks_manifest *m,
                        struct ks_err *err)
{
    char path[700];
    struct ks_buf bytes;
    struct ks_sha256 h;
    uint8_t digest[32];
    int rc = ks_path_join(path, sizeof(path), dir, KS_UNIT_OBJECT, err);
    if (rc < 0 || m->object_bytes == 0)
        return rc;
    rc = check_owner(c, path, err);
    if (rc < 0)
        return rc;
    ks_buf_init(&bytes);
    rc = ks_file_read(path, &bytes, err);
    if (rc == 0) {
        ks_sha256_init(&h);
        ks_sha256_add(&h, bytes.data, bytes.len);
        ks_sha256_end(&h, digest);
        if (bytes.len != m->object_bytes || memcmp(digest, m->digest, sizeof(digest)) != 0)
            rc = ks_fail(err, KS_EFORMAT,
                         "'%s' changed after it was built: its digest differs; remove it, and it "
                         "will be built again",
                         path);
    }
    ks_buf_release(&bytes);
    return rc;
}

int ks_manifest_read(const struct ks_cache *c, struct ks_id128 unit, struct ks_manifest *out,
                     struct ks_err *err)
{
    char dir[600], path[700];
    struct ks_manifest m = { .rows = NULL };
    int rc = unit_dir(c, unit, dir, sizeof(dir), err);
    if (rc == 0)
        rc = ks_path_join(path, sizeof(path), dir, KS_UNIT_MANIFEST, err);
    if (rc == 0 && !ks_path_exists(path))
        rc = ks_fail(err, KS_ENOENT, "'%s' does not exist", path);
    if (rc == 0)
        rc = check_owner(c, dir, err);
    if (rc == 0)
        rc = check_owner(c, path, err);
    if (rc == 0)
        rc = ks_manifest_load(path, &m, err);
    if (rc == 0 && !ks_id128_eq(m.unit, unit))
        rc = ks_fail(err, KS_EFORMAT, "'%s' is the manifest of another unit", path);
    if (rc == 0)
        rc = check_object(c, dir, &m, err);
    if (rc < 0) {
        ks_manifest_release(&m);
        return rc;
    }
    *out = m;
    return 0;
}

/* A name for something that is not finished, see is_left. */
static int temp_path(const struct ks_cache *c, const char *dir, const char *suffix, char *out,
                     size_t cap, struct ks_err *err)
{
    char hex[33], name[96];
    ks_hex128(c->me.id, hex);
    snprintf(name, sizeof(name), TEMP_PREFIX "%s-%s", hex, suffix);
    return ks_path_join(out, cap, dir, name, err);
}

int ks_cache_temp(struct ks_cache *c, char *dir_out, size_t cap, struct ks_err *err)
{
    char dir[600];
    int rc = ks_builder_beat(&c->me, ks_now_ns(), err);
    if (rc == 0)
        rc = temp_path(c, c->dir, "XXXXXX", dir, sizeof(dir), err);
    if (rc < 0)
        return rc;
    if (!mkdtemp(dir))
        return ks_fail_path(err, "'%s'", dir);
    return ks_path_join(dir_out, cap, "", dir, err);
}

/* Readers see the old link or the new one. */
static int link_instance(const struct ks_cache *c, struct ks_id128 build_id, struct ks_id128 unit,
                         struct ks_err *err)
{
    char path[700], fresh[768], dir[700], to[64] = "../";
    ks_hex128(unit, to + 3);
    if (link_path(c, build_id, path, sizeof(path)) < 0)
        return ks_fail(err, KS_EINVAL, "'%s': path is too long", c->dir);
    ks_path_dir(dir, sizeof(dir), path);
    int rc = temp_path(c, dir, ks_path_base(path), fresh, sizeof(fresh), err);
    if (rc < 0)
        return rc;
    if (symlink(to, fresh) < 0)
        return ks_fail_errno(err, "'%s'", fresh);
    if (rename(fresh, path) < 0) {
        rc = ks_fail_errno(err, "'%s'", path);
        (void)unlink(fresh);
    }
    return rc;
}

/* Private, and on the disk. */
static int seal_object(const char *temp, struct ks_err *err)
{
    char path[800];
    int rc = ks_path_join(path, sizeof(path), temp, KS_UNIT_OBJECT, err);
    if (rc < 0)
        return rc;
    const int fd = ks_file_open(path, err);
    if (fd < 0)
        return fd;
    if (fchmod(fd, OBJECTS_MODE) < 0 || fsync(fd) < 0)
        rc = ks_fail_errno(err, "'%s'", path);
    (void)close(fd);
    return rc;
}

static int write_manifest(const char *temp, const struct ks_manifest *m, struct ks_err *err)
{
    char path[800];
    struct ks_buf text;
    ks_buf_init(&text);
    ks_manifest_print(m, &text);
    int rc =
        ks_buf_ok(&text) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for the manifest of a unit");
    if (rc == 0)
        rc = ks_path_join(path, sizeof(path), temp, KS_UNIT_MANIFEST, err);
    if (rc == 0)
        rc = ks_file_replace(path, text.data, text.len, err);
    if (rc == 0 && chmod(path, OBJECTS_MODE) < 0)
        rc = ks_fail_errno(err, "'%s'", path);
    ks_buf_release(&text);
    return rc;
}

/* What is in the way goes aside first: it may be in use, and must never look half there. */
static int replace_unit(struct ks_cache *c, const char *dir, const char *temp, struct ks_err *err)
{
    char aside[700];
    int rc = ks_cache_temp(c, aside, sizeof(aside), err);
    if (rc < 0)
        return rc;
    if (rename(dir, aside) < 0 && errno != ENOENT)
        rc = ks_fail_errno(err, "'%s'", dir);
    /* Not empty any more: somebody was quicker, and as good. */
    if (rc == 0 && rename(temp, dir) < 0)
        rc = errno == ENOTEMPTY || errno == EEXIST ? ks_remove_tree(temp, err)
                                                   : ks_fail_errno(err, "'%s'", dir);
    (void)ks_remove_tree(aside, NULL);
    return rc;
}

/* temp becomes the unit's directory, or goes, when a sound one is there already. */
static int move_in(struct ks_cache *c, const char *temp, const struct ks_manifest *m,
                   struct ks_err *err)
{
    char dir[600];
    struct ks_manifest there;
    int rc = unit_dir(c, m->unit, dir, sizeof(dir), err);
    if (rc < 0 || rename(temp, dir) == 0)
        return rc;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return ks_fail_errno(err, "'%s'", dir);
    if (m->object_bytes && ks_manifest_read(c, m->unit, &there, NULL) == 0) {
        const bool has_object = there.object_bytes > 0;
        ks_manifest_release(&there);
        if (has_object)
            return ks_remove_tree(temp, err);
    }
    return replace_unit(c, dir, temp, err);
}

int ks_cache_publish(struct ks_cache *c, const char *temp, const struct ks_manifest *m,
                     struct ks_err *err)
{
    char links[600];
    int rc = m->object_bytes ? seal_object(temp, err) : 0;
    if (rc == 0)
        rc = write_manifest(temp, m, err);
    if (rc == 0)
        rc = move_in(c, temp, m, err);
    if (rc == 0)
        rc = ks_file_sync_dir(c->dir, err);
    for (uint32_t i = 0; i < m->n_rows && rc == 0; i++)
        rc = link_instance(c, m->rows[i].build_id, m->unit, err);
    if (rc == 0)
        rc = ks_path_join(links, sizeof(links), c->dir, "instances", err);
    if (rc == 0)
        rc = ks_file_sync_dir(links, err);
    if (rc < 0)
        (void)ks_remove_tree(temp, NULL);
    return rc < 0 ? ks_err_context(err, rc, "build cache") : 0;
}
