/* SPDX-License-Identifier: MIT */
/* find.h - where the files lie that a job, a config or a family names. */
#ifndef KS_GRID_FIND_H
#define KS_GRID_FIND_H

#include "base/err.h"

#include <stddef.h>

/* The absolute path of an existing file, without links and dots. KS_ENOENT, KS_EINVAL too long. */
int ks_find_absolute(const char *path, char *out, size_t cap, struct ks_err *err);
/* `name` as it is when absolute, else in `dir`, else in the installed data (jobs and configs name
 * "../kernels/x.json" and "problems/x.csv", so that it is looked for in jobs/ of the data, too). A
 * bare name is looked for among the installed jobs, problem lists and kernel configs, also with
 * ".json" behind it. KS_ENOENT names every place that was tried. */
int ks_find_file(const char *dir, const char *name, char *out, size_t cap, struct ks_err *err);
/* What a user names on the command line: a bare name that is no file here becomes the installed one
 * in room [cap]; anything else stays. KS_ENOENT: it is nowhere, and where it was looked for. */
int ks_find_input(const char **name_io, char *room, size_t cap, struct ks_err *err);

#endif
