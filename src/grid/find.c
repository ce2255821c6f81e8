/* SPDX-License-Identifier: MIT */
/* find.c - finds files that jobs and configs name: beside them, or in the installed data */
#include "grid/find.h"

#include "base/file.h"
#include "base/opt.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ks_find_absolute(const char *path, char *out, size_t cap, struct ks_err *err)
{
    char real[PATH_MAX];

    if (!realpath(path, real))
        return ks_fail_path(err, "'%s'", path);
    if (strlen(real) >= cap)
        return ks_fail(err, KS_EINVAL, "path longer than %zu characters: '%.300s'", cap - 1, real);
    memcpy(out, real, strlen(real) + 1);
    return 0;
}

/* Where installed data lie. Jobs name "problems/x.csv", configs "../kernels/x.json": hence the
 * first two. A bare name is looked for in all. */
static const char *const places[] = { ".", "jobs", "jobs/problems", "kernels/configs" };
enum { N_PLACES = sizeof places / sizeof places[0], N_FOR_PATHS = 2 };

static bool is_at(const char *dir, const char *name, char *path_out, size_t cap)
{
    struct ks_err ignored;

    return ks_path_join(path_out, cap, dir, name, &ignored) == 0 && ks_path_exists(path_out);
}

/* The name, and "NAME.json" where it has no dot. */
static bool is_below(const char *below, const char *name, char *path_out, size_t cap)
{
    char dir[PATH_MAX], longer[PATH_MAX];
    struct ks_err ignored;

    if (ks_data_path(dir, sizeof dir, below, &ignored) < 0)
        return false;
    snprintf(longer, sizeof longer, "%.1000s.json", name);
    return is_at(dir, name, path_out, cap) ||
           (!strpbrk(name, "./") && is_at(dir, longer, path_out, cap));
}

enum { MOST_NAME = 100 };

/* The installed name that is most like it, with those of one more directory. */
static void find_nearest(const char *dir, const char *name, char best[MOST_NAME])
{
    const bool has_dot = strchr(name, '.') != NULL;
    char known[MOST_NAME];
    const char *const names[] = { best, known, NULL };
    struct dirent *e;
    DIR *d = opendir(dir);

    while (d && (e = readdir(d))) {
        char *end = strstr(e->d_name, ".json");

        if (strlen(e->d_name) >= sizeof known)
            continue;
        snprintf(known, sizeof known, "%.*s",
                 (int)(end && !has_dot ? (size_t)(end - e->d_name) : strlen(e->d_name)), e->d_name);
        if (ks_nearest(name, best[0] ? names : names + 1) == known)
            memcpy(best, known, sizeof known);
    }
    if (d)
        closedir(d);
}

static void nearest(const char *name, char best[MOST_NAME])
{
    char dir[PATH_MAX];

    best[0] = '\0';
    for (int i = N_FOR_PATHS - 1; i < N_PLACES; i++)
        if (ks_data_path(dir, sizeof dir, places[i], NULL) == 0)
            find_nearest(dir, name, best);
}

static int say_missing(const char *path, const char *name, struct ks_err *err)
{
    char data[PATH_MAX], best[MOST_NAME];

    if (name[0] == '/' || ks_data_path(data, sizeof data, ".", NULL) < 0)
        return ks_fail(err, KS_ENOENT, "file '%.400s' not found", path);
    if (strlen(data) > 2 && strcmp(data + strlen(data) - 2, "/.") == 0)
        data[strlen(data) - 2] = '\0';
    if (strchr(name, '/'))
        return ks_fail(err, KS_ENOENT,
                       "file '%.200s' not found; looked there and in the installed data "
                       "'%.150s'",
                       path, data);
    nearest(name, best);
    return ks_fail(err, KS_ENOENT,
                   "file '%.200s' not found%s%s%s; looked there and in jobs, jobs/problems and "
                   "kernels/configs of the installed data '%.120s'",
                   path, best[0] ? ", did you mean '" : "", best, best[0] ? "'?" : "", data);
}

int ks_find_file(const char *dir, const char *name, char *out, size_t cap, struct ks_err *err)
{
    const int n = strchr(name, '/') ? N_FOR_PATHS : N_PLACES;
    char path[PATH_MAX], data[PATH_MAX];
    int rc = ks_path_join(path, sizeof path, dir, name, err);

    if (rc < 0)
        return rc;
    if (ks_path_exists(path))
        return ks_find_absolute(path, out, cap, err);
    for (int i = 0; name[0] != '/' && i < n; i++)
        if (is_below(places[i], name, data, sizeof data))
            return ks_find_absolute(data, out, cap, err);
    return say_missing(path, name, err);
}

int ks_find_input(const char **name_io, char *room, size_t cap, struct ks_err *err)
{
    const char *name = *name_io;
    int rc;

    if (!*name || strchr(name, '/') || ks_path_exists(name))
        return 0;
    rc = ks_find_file("", name, room, cap, err);
    if (rc == 0)
        *name_io = room;
    return rc;
}
