/* SPDX-License-Identifier: MIT */
/* so.c - makes kernel artefacts while a test runs, with the system's C compiler */
#include "tests/unit/so.h"

#include "base/file.h"
#include "tests/unit/temp_dir.h"

#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

int so_place_setup(void **state)
{
    struct so_place *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    temp_dir_make(p->dir, sizeof(p->dir));
    *state = p;
    return 0;
}

int so_place_teardown(void **state)
{
    struct so_place *p = *state;

    temp_dir_remove(p->dir);
    free(p);
    return 0;
}

void so_build(const char *dir, const char *name, const char *source, char *out, size_t cap)
{
    char c_path[512];
    const char *argv[] = { "cc",
                           "-std=gnu11",
                           "-O1",
                           "-shared",
                           "-fPIC",
                           "-w",
                           "-I" KS_SOURCE_DIR,
                           "-I" KS_SOURCE_DIR "/kernels",
                           "-o",
                           out,
                           c_path,
                           "-lm",
                           NULL };
    int status = -1;
    pid_t pid;

    assert_true(snprintf(c_path, sizeof(c_path), "%s/%s.c", dir, name) < (int)sizeof(c_path));
    assert_true(snprintf(out, cap, "%s/%s.so", dir, name) < (int)cap);
    assert_int_equal(ks_file_replace(c_path, source, strlen(source), NULL), 0);
    assert_int_equal(posix_spawnp(&pid, "cc", NULL, NULL, (char *const *)(uintptr_t)argv, environ),
                     0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}
