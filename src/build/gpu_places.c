/* SPDX-License-Identifier: MIT */
#include "build/gpu_places.h"

#include "build/command.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define N_PLACES 2u /* variables, roots */

static bool is_program(const char *path)
{
    return access(path, X_OK) == 0;
}

static const char *named_root(const struct ks_gpu_places *p)
{
    const char *root = NULL;

    for (size_t i = 0; i < N_PLACES && p->variables[i] != NULL && root == NULL; i++)
        root = ks_command_variable(p->variables[i]);
    return root;
}

static bool find_in_root(const struct ks_gpu_places *p, const char *program, char *out, size_t cap)
{
    const char *named = named_root(p);
    bool is_found = false;

    for (size_t i = 0; i < N_PLACES && !is_found; i++) {
        const char *root = named == NULL ? p->roots[i] : i == 0 ? named : NULL;

        if (root == NULL)
            break;
        snprintf(out, cap, "%s/bin/%s", root, program);
        is_found = is_program(out);
    }
    return is_found;
}

/* The newest: folders of versions are sorted by name. */
static bool find_by_pattern(const char *pattern, char *out, size_t cap)
{
    bool is_found = false;
    glob_t g;

    if (glob(pattern, 0, NULL, &g) != 0)
        return false;
    for (size_t i = g.gl_pathc; i > 0 && !is_found; i--) {
        is_found = strlen(g.gl_pathv[i - 1]) < cap && is_program(g.gl_pathv[i - 1]);
        if (is_found)
            snprintf(out, cap, "%s", g.gl_pathv[i - 1]);
    }
    globfree(&g);
    return is_found;
}

/* base: the folder that `middle` lies in, not ended by NUL. */
static bool find_wheel(const char *base, size_t n, const char *middle, const char *program,
                       char *out, size_t cap)
{
    char pattern[1200];
    int len = snprintf(pattern, sizeof(pattern), "%.*s%s/nvidia/cu*/bin/%s", (int)n, base, middle,
                       program);

    return len > 0 && (size_t)len < sizeof(pattern) && find_by_pattern(pattern, out, cap);
}

/* In the folders of a list "a:b", each followed by `middle`. */
static bool find_in_list(const char *list, const char *middle, const char *program, char *out,
                         size_t cap)
{
    bool is_found = false;

    while (list != NULL && *list != '\0' && !is_found) {
        const size_t n = strcspn(list, ":");

        is_found = n > 0 && find_wheel(list, n, middle, program, out, cap);
        list += n + (list[n] == ':' ? 1 : 0);
    }
    return is_found;
}

static bool find_in_wheels(const char *program, char *out, size_t cap)
{
    const char *path = ks_command_variable("PATH");

    return find_in_list(ks_command_variable("PYTHONPATH"), "", program, out, cap) ||
           find_in_list(path, "/../lib/python3*/site-packages", program, out, cap) ||
           find_in_list(path, "/../lib/python3*/dist-packages", program, out, cap) ||
           find_in_list(ks_command_variable("HOME"), "/.local/lib/python3*/site-packages", program,
                        out, cap);
}

bool ks_gpu_places_find(const struct ks_gpu_places *p, const char *program, char *out, size_t cap)
{
    return ks_command_find(program, out, cap) || find_in_root(p, program, out, cap) ||
           (p->is_in_wheels && find_in_wheels(program, out, cap));
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
