/* SPDX-License-Identifier: MIT */
/* gpu_places.c - where vendors' compilers and libraries are looked for */
#include "build/gpu_places.h"

#include "build/command.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define N_PLACES 2u /* variables, roots */

static const char *named_root(const struct ks_gpu_places *p)
{
    const char *root = NULL;

    for (size_t i = 0; i < N_PLACES && p->variables[i] != NULL && root == NULL; i++)
        root = ks_command_variable(p->variables[i]);
    return root;
}

/* The newest of those that match and may be used so: folders of versions are sorted by name. */
static bool find_by_pattern(const char *pattern, int mode, char *out, size_t cap)
{
    bool is_found = false;
    glob_t g;

    if (glob(pattern, 0, NULL, &g) != 0)
        return false;
    for (size_t i = g.gl_pathc; i > 0 && !is_found; i--) {
        is_found = strlen(g.gl_pathv[i - 1]) < cap && access(g.gl_pathv[i - 1], mode) == 0;
        if (is_found)
            snprintf(out, cap, "%s", g.gl_pathv[i - 1]);
    }
    globfree(&g);
    return is_found;
}

/* What is looked for: a pattern below a toolkit's folder, or below that of Python's packages. */
struct target {
    const char *name;                  /* of the file, a pattern */
    int mode;                          /* of access() */
    const char *in_root[2], *in_wheel; /* folders; NULL: no more */
};

static bool find_in_roots(const struct ks_gpu_places *p, const struct target *t, char *out,
                          size_t cap)
{
    const char *named = named_root(p);
    char pattern[1200];
    bool is_found = false;

    for (size_t i = 0; i < N_PLACES && !is_found; i++) {
        const char *root = named == NULL ? p->roots[i] : i == 0 ? named : NULL;

        for (size_t k = 0; root != NULL && k < 2 && t->in_root[k] != NULL && !is_found; k++)
            is_found = snprintf(pattern, sizeof(pattern), "%s/%s/%s", root, t->in_root[k],
                                t->name) < (int)sizeof(pattern) &&
                       find_by_pattern(pattern, t->mode, out, cap);
    }
    return is_found;
}

/* base: the folder that `middle` lies in, not ended by NUL. */
static bool find_wheel(const char *base, size_t n, const char *middle, const struct target *t,
                       char *out, size_t cap)
{
    char pattern[1200];
    int len = snprintf(pattern, sizeof(pattern), "%.*s%s/%s/%s", (int)n, base, middle, t->in_wheel,
                       t->name);

    return len > 0 && (size_t)len < sizeof(pattern) && find_by_pattern(pattern, t->mode, out, cap);
}

/* In the folders of a list "a:b", each followed by `middle`. */
static bool find_in_list(const char *list, const char *middle, const struct target *t, char *out,
                         size_t cap)
{
    bool is_found = false;

    while (list != NULL && *list != '\0' && !is_found) {
        const size_t n = strcspn(list, ":");

        is_found = n > 0 && find_wheel(list, n, middle, t, out, cap);
        list += n + (list[n] == ':' ? 1 : 0);
    }
    return is_found;
}

static bool find_in_wheels(const struct target *t, char *out, size_t cap)
{
    const char *path = ks_command_variable("PATH");

    return find_in_list(ks_command_variable("PYTHONPATH"), "", t, out, cap) ||
           find_in_list(path, "/../lib/python3*/site-packages", t, out, cap) ||
           find_in_list(path, "/../lib/python3*/dist-packages", t, out, cap) ||
           find_in_list(ks_command_variable("HOME"), "/.local/lib/python3*/site-packages", t, out,
                        cap);
}

bool ks_gpu_places_find(const struct ks_gpu_places *p, const char *program, char *out, size_t cap)
{
    const struct target t = {
        .name = program, .mode = X_OK, .in_root = { "bin" }, .in_wheel = "nvidia/cu*/bin"
    };

    return ks_command_find(program, out, cap) || find_in_roots(p, &t, out, cap) ||
           (p->is_in_wheels && find_in_wheels(&t, out, cap));
}

bool ks_gpu_places_library(const struct ks_gpu_places *p, const char *stem, char *out, size_t cap)
{
    char name[80];
    const struct target t = {
        .name = name, .mode = R_OK, .in_root = { "lib64", "lib" }, .in_wheel = "nvidia/*/lib"
    };

    snprintf(name, sizeof(name), "%s*", stem);
    return find_in_roots(p, &t, out, cap) || (p->is_in_wheels && find_in_wheels(&t, out, cap));
}

void ks_gpu_places_text(const struct ks_gpu_places *p, struct ks_buf *text_out)
{
    const char *named = named_root(p);

    ks_buf_printf(text_out, "PATH and %.60s/bin", named != NULL ? named : p->roots[0]);
    if (named == NULL && p->roots[1] != NULL)
        ks_buf_printf(text_out, ", %s/bin", p->roots[1]);
    if (p->is_in_wheels)
        ks_buf_printf(text_out, ", Python's nvidia/cu*/bin");
}
