/* SPDX-License-Identifier: MIT */
/* test_profiler_format.c - which files are refused as programs, with interpreters registered by
 * binfmt_misc, without, and where that cannot be seen */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "profiler/binfmt.h"
#include "profiler/format.h"
#include "tests/unit/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An ELF header: class, byte order and machine matter. */
#define ELF_LE(machine) "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0" machine "\0\1\0\0\0"
#define ELF_BE(machine) "\177ELF\2\2\1\0\0\0\0\0\0\0\0\0\0\2" machine "\0\0\0\0\1"

static const char qemu[] = "enabled\ninterpreter /usr/bin/qemu-x\nflags: F\noffset 0\n"
                           "magic 7f454c460201010000000000000000000200f300\n"
                           "mask ffffffffffffff00fffffffffffffffffeffffff\n";
static const char wine[] = "enabled\ninterpreter /usr/bin/wine\nflags: \noffset 2\nmagic 5a39\n";
static const char jar[] = "enabled\ninterpreter /usr/bin/jexec\nflags: \nextension .jar\n";

struct place {
    char dir[TEMP_DIR_MAX];
};

static void put(const struct place *p, const char *name, const void *bytes, size_t n)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", p->dir, name);
    assert_int_equal(ks_file_replace(path, bytes, n, NULL), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

static void put_text(const struct place *p, const char *name, const char *text)
{
    put(p, name, text, strlen(text));
}

static int make_place(void **state)
{
    static const char *const dirs[] = { "", "/on", "/off", "/absent" };
    struct place *p = calloc(1, sizeof(*p));
    char path[256];

    temp_dir_make(p->dir, sizeof(p->dir));
    for (size_t i = 1; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", p->dir, dirs[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    put_text(p, "on/status", "enabled\n");
    put_text(p, "on/register", "");
    put_text(p, "on/qemu-riscv64", qemu);
    put_text(p, "on/wine", wine);
    put_text(p, "on/jar", jar);
    put_text(p, "off/status", "disabled\n");
    put_text(p, "off/wine", wine);
    *state = p;
    return 0;
}

static int remove_place(void **state)
{
    struct place *p = *state;

    temp_dir_remove(p->dir);
    free(p);
    return 0;
}

#define OTHER   "neither an ELF program nor a script"
#define MACHINE "it was built for "
enum { ON, OFF, ABSENT, NO_SUCH, N_DIRS };

/* NULL: accepted. */
static const struct {
    const char *name, *bytes;
    size_t n;
    const char *refused[N_DIRS];
} rows[] = {
#define FILE_OF(name, bytes) name, bytes, sizeof(bytes) - 1
    { FILE_OF("text", "echo hello\n"), { OTHER, OTHER, NULL, OTHER } },
    { FILE_OF("empty", ""), { OTHER, OTHER, NULL, OTHER } },
    { FILE_OF("win.exe", "MZZ9\0"), { NULL, OTHER, NULL, OTHER } },
    { FILE_OF("other.exe", "MZZ8\0"), { OTHER, OTHER, NULL, OTHER } },
    { FILE_OF("cut.exe", "MZZ"), { OTHER, OTHER, NULL, OTHER } },
    { FILE_OF("x.jar", "PK\3\4"), { NULL, OTHER, NULL, OTHER } },
    { FILE_OF("x.jarr", "PK\3\4"), { OTHER, OTHER, NULL, OTHER } },
    { FILE_OF("jar", "PK\3\4"), { OTHER, OTHER, NULL, OTHER } },
    { FILE_OF("riscv", ELF_LE("\xf3\0") "0123456789012345678901234567890123456789"),
      { NULL, MACHINE "risc-v", NULL, MACHINE "risc-v" } },
    { FILE_OF("ppc64", ELF_LE("\x15\0") "0123456789012345678901234567890123456789"),
      { MACHINE "ppc64", MACHINE "ppc64", NULL, MACHINE "ppc64" } },
    { FILE_OF("s390", ELF_BE("\0\x16") "0123456789012345678901234567890123456789"),
      { MACHINE "s390", MACHINE "s390", NULL, MACHINE "s390" } },
    { FILE_OF("short", ELF_LE("\x15\0")), { "truncated", "truncated", "truncated", "truncated" } },
    { FILE_OF("object", "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\1\0\x15\0"
                        "01234567890123456789012345678901234567890123"),
      { "not a program", "not a program", "not a program", "not a program" } },
    { FILE_OF("script", "#!/bin/sh\n"), { NULL } },
    { FILE_OF("bad_script", "#!/no/such/shell\n"),
      { "is missing", "is missing", "is missing", "is missing" } },
#undef FILE_OF
};

static void only_what_execve_refuses(void **state)
{
    static const char *const dirs[N_DIRS] = { "on", "off", "absent", "none" };
    const struct place *p = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char path[256], binfmt[128];

        put(p, rows[i].name, rows[i].bytes, rows[i].n);
        snprintf(path, sizeof(path), "%s/%s", p->dir, rows[i].name);
        for (int d = 0; d < N_DIRS; d++) {
            const char *why = rows[i].refused[d];
            struct ks_program_format f;
            struct ks_err err = { 0 };

            snprintf(binfmt, sizeof(binfmt), "%s/%s", p->dir, dirs[d]);
            int rc = ks_program_format_in(path, binfmt, &f, &err);

            if (rc != (why ? KS_EINVAL : 0) || (why && !strstr(err.text, why)))
                fail_msg("%s, binfmt_misc %s: %d %s", rows[i].name, dirs[d], rc, err.text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_what_execve_refuses, make_place, remove_place),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("profiler_format", tests, NULL, NULL);
}
