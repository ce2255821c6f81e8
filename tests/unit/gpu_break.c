/* SPDX-License-Identifier: MIT */
/* gpu_break.c - puts wrong lines into a table of a vendor's calls; none may compile */
#include "tests/unit/gpu_break.h"

#include "base/file.h"
#include "tests/unit/so.h"
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { TABLE_MAX = 64 << 10 };

static void read_table(char *out)
{
    FILE *f = fopen(KS_SOURCE_DIR "/src/device/gpu_table.h", "re");
    size_t n;

    assert_non_null(f);
    n = fread(out, 1, TABLE_MAX - 1, f);
    assert_true(n > 1000 && n < TABLE_MAX - 1);
    out[n] = '\0';
    fclose(f);
}

/* The compiler's exit status for the check over the table in DIR; what it says is not kept. */
static int compile(const char *dir, const char *vendor, const char *include_dir)
{
    char own[512], source[512];
    const char *argv[] = { "cc",       "-std=gnu11", "-fsyntax-only",
                           "-I",       own,          "-I" KS_SOURCE_DIR "/src",
                           "-isystem", include_dir,  source,
                           NULL };
    posix_spawn_file_actions_t quiet;
    int status = -1;
    pid_t pid;

    assert_true(snprintf(own, sizeof(own), "%s", dir) < (int)sizeof(own));
    assert_true(snprintf(source, sizeof(source), KS_SOURCE_DIR "/src/device/gpu_check_%s.c",
                         vendor) < (int)sizeof(source));
    assert_int_equal(posix_spawn_file_actions_init(&quiet), 0);
    assert_int_equal(posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0), 0);
    assert_int_equal(
        posix_spawnp(&pid, "cc", &quiet, NULL, (char *const *)(uintptr_t)argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    posix_spawn_file_actions_destroy(&quiet);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void write_table(const char *dir, const char *table, const struct gpu_break *b)
{
    static char broken[TABLE_MAX + 256];
    char path[512];
    const char *at = b != NULL ? strstr(table, b->is) : NULL;

    if (b != NULL) {
        assert_non_null(at);
        assert_null(strstr(at + 1, b->is));
        snprintf(broken, sizeof(broken), "%.*s%s%s", (int)(at - table), table, b->becomes,
                 at + strlen(b->is));
    } else {
        snprintf(broken, sizeof(broken), "%s", table);
    }
    assert_true(snprintf(path, sizeof(path), "%s/device/gpu_table.h", dir) < (int)sizeof(path));
    assert_int_equal(ks_file_replace(path, broken, strlen(broken), NULL), 0);
}

void gpu_break_all(const char *vendor, const char *include_dir, const struct gpu_break *breaks,
                   size_t n)
{
    static char table[TABLE_MAX];
    char dir[256], sub[300];

    if (include_dir[0] == '\0')
        skip();
    read_table(table);
    temp_dir_make(dir, sizeof(dir));
    assert_true(snprintf(sub, sizeof(sub), "%s/device", dir) < (int)sizeof(sub));
    assert_int_equal(mkdir(sub, 0700), 0);
    write_table(dir, table, NULL);
    assert_int_equal(compile(dir, vendor, include_dir), 0);
    for (size_t i = 0; i < n; i++) {
        write_table(dir, table, &breaks[i]);
        if (compile(dir, vendor, include_dir) == 0)
            fail_msg("compiles with '%s'", breaks[i].becomes);
    }
    temp_dir_remove(dir);
}
