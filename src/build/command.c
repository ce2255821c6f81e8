/* SPDX-License-Identifier: MIT */
/* command.c - command lines of compilers, and running one for its answer. */
#include "build/command.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_NS 60000000000ull
#define FILE_BYTES (256ull << 20)

int ks_argv_words(struct ks_argv *a, const char *words, struct ks_err *err)
{
    while (*(words += strspn(words, " \t"))) {
        const size_t n = strcspn(words, " \t");
        if (a->n + 1 >= KS_SPAWN_ARGS || n + 1 > sizeof(a->text) - a->used)
            return ks_fail(err, KS_EINVAL, "compiler command line is too long");
        char *word = a->text + a->used;
        memcpy(word, words, n);
        word[n] = '\0';
        a->at[a->n++] = word;
        a->at[a->n] = NULL;
        a->used += n + 1;
        words += n;
    }
    return 0;
}

int ks_argv_word(struct ks_argv *a, const char *word, struct ks_err *err)
{
    if (a->n + 1 >= KS_SPAWN_ARGS)
        return ks_fail(err, KS_EINVAL, "compiler command line is too long");
    a->at[a->n++] = word;
    a->at[a->n] = NULL;
    return 0;
}

static int wait_child(struct ks_warden *w, uint32_t child, struct ks_child_end *end,
                      struct ks_err *err)
{
    for (;;) {
        struct pollfd fd = { .fd = ks_warden_fd(w), .events = POLLIN };
        const int rc = ks_warden_next(w, end, err);
        if (rc < 0 || (rc == 1 && end->child == child))
            return rc < 0 ? rc : 0;
        if (rc == 0 && poll(&fd, 1, 1000) < 0 && errno != EINTR)
            return ks_fail_errno(err, "waiting for a command");
    }
}

int ks_command_run_in(const struct ks_argv *a, const char *const *env, const char *dir,
                      struct ks_warden *w, struct ks_child_end *end, struct ks_err *err)
{
    const struct ks_spawn s = { .argv = a->at,
                                .env = env,
                                .cwd = dir,
                                .file_bytes = FILE_BYTES,
                                .fds = { -1, -1, -1, -1 },
                                .status_fd = -1,
                                .deadline_ns = ks_now_ns() + TIMEOUT_NS };
    uint32_t child;
    const int rc = ks_warden_spawn(w, &s, &child, err);
    return rc < 0 ? rc : wait_child(w, child, end, err);
}

int ks_command_run(const struct ks_argv *a, const char *dir, struct ks_warden *w,
                   struct ks_child_end *end, struct ks_err *err)
{
    char tmpdir[620];
    const char *env[4] = { "LC_ALL=C" };
    size_t n = 1;
    snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%.600s", dir ? dir : "");
    if (dir)
        env[n++] = tmpdir;
    env[n] = ks_command_path();
    return ks_command_run_in(a, env, dir, w, end, err);
}

const char *ks_command_variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

int ks_command_scratch(const char *name, char *dir_out, size_t cap, struct ks_err *err)
{
    const char *tmp = ks_command_variable("TMPDIR");
    char template[64];
    int rc;

    snprintf(template, sizeof(template), "%s-XXXXXX", name);
    rc = ks_path_join(dir_out, cap, tmp ? tmp : "/tmp", template, err);
    if (rc == 0 && !mkdtemp(dir_out))
        rc = ks_fail_path(err, "'%s'", dir_out);
    if (rc == 0)
        return 0;
    dir_out[0] = '\0';
    return ks_err_context(err, rc, "directory for temporary files (TMPDIR)");
}

const char *ks_command_path(void)
{
    return ks_command_variable("PATH") ? NULL : "PATH=/usr/local/bin:/usr/bin:/bin";
}

bool ks_command_find(const char *program, char *out, size_t cap)
{
    const char *path = ks_command_variable("PATH");
    if (!path)
        path = ks_command_path() + sizeof("PATH=") - 1;
    while (path && *path) {
        const size_t n = strcspn(path, ":");
        snprintf(out, cap, "%.*s/%s", n ? (int)n : 1, n ? path : ".", program);
        if (access(out, X_OK) == 0)
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}
