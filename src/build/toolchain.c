/* SPDX-License-Identifier: MIT */
/* toolchain.c - the host's C compiler. */
#include "build/toolchain.h"

#include "base/file.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* No -ffast-math: labels must be comparable with references. -Wfatal-errors: the first error is the
 * only one. */
static const char compile_flags[] =
    "-O3 %s-ffp-contract=fast -fno-math-errno -fno-trapping-math -fPIC "
    "-fvisibility=hidden -ffunction-sections -fdata-sections -w -Wfatal-errors "
    "-fdiagnostics-color=never";
/* An instance's code must not depend on the company it is compiled in: two functions of equal code
 * stay two, and no limit on how a whole file may grow decides what is inlined. clang merges
 * nothing, has no such limit and does not know the flags. */
static const char gcc_flags[] =
    " -fno-ipa-icf --param=large-unit-insns=1000000000 --param=ipa-cp-large-unit-insns=1000000000 "
    "-fno-diagnostics-show-caret";
static const char link_flags[] = "-shared -Wl,-z,defs -Wl,--build-id=none";

int ks_toolchain_compile(const struct ks_toolchain *t, const char *extra_flags, struct ks_argv *out,
                         struct ks_err *err)
{
    out->n = out->used = 0;
    int rc = ks_argv_words(out, t->command, err);
    if (rc == 0)
        rc = ks_argv_words(out, t->flags, err);
    if (rc == 0)
        rc = ks_argv_words(out, extra_flags, err);
    if (rc == 0)
        rc = ks_argv_words(out, "-I", err);
    if (rc == 0)
        rc = ks_argv_word(out, t->include_dir, err);
    return rc < 0 ? rc : ks_argv_words(out, "-c unit.c -o unit.o", err);
}

int ks_toolchain_link(const struct ks_toolchain *t, const char *extra_flags, struct ks_argv *out,
                      struct ks_err *err)
{
    out->n = out->used = 0;
    int rc = ks_argv_words(out, t->command, err);
    if (rc == 0)
        rc = ks_argv_words(out, link_flags, err);
    if (rc == 0)
        rc = ks_argv_words(out, "unit.o -o kernels.so -lm", err);
    /* Behind the object: a library is only searched for what is missing by then. */
    return rc < 0 ? rc : ks_argv_words(out, extra_flags, err);
}

const char *ks_toolchain_line(const char *text, size_t n, const char *what, size_t *len_out)
{
    const char *end = text + n;
    while (text < end) {
        const char *nl = memchr(text, '\n', (size_t)(end - text));
        const size_t len = (size_t)((nl ? nl : end) - text);
        if (len && memmem(text, len, what, strlen(what))) {
            *len_out = len;
            return text;
        }
        text += len + 1;
    }
    return NULL;
}

void ks_toolchain_reason(const char *output, size_t n, char *reason_out, size_t cap)
{
    /* The linker names what is missing before "collect2: error:"; ptxas and nvcc pad the word. */
    static const char *const wanted[] = { "undefined reference",
                                          "error:", "error   :", "fatal   :", "" };
    const char *line = NULL;
    size_t len = 0;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted) && !line; i++)
        line = ks_toolchain_line(output, n, wanted[i], &len);
    if (line)
        snprintf(reason_out, cap, "%.*s", (int)(len < cap ? len : cap - 1), line);
    else
        snprintf(reason_out, cap, "the compiler failed without an error message");
}

/* Runs "COMMAND --version" and keeps what it printed in *end. */
static int ask_version(const struct ks_toolchain *t, struct ks_warden *w, struct ks_child_end *end,
                       struct ks_err *err)
{
    struct ks_argv a = { .n = 0 };
    int rc = ks_argv_words(&a, t->command, err);
    if (rc == 0 && a.n == 0)
        rc = ks_fail(err, KS_EINVAL, "KSWEEP_CC is empty: set it to the name of a C compiler");
    if (rc == 0)
        rc = ks_argv_words(&a, "--version", err);
    if (rc == 0)
        rc = ks_command_run(&a, NULL, w, end, err);
    if (rc < 0)
        return rc;
    if (end->how == KS_END_NO_EXEC)
        return ks_fail(err, KS_ENOENT,
                       "no C compiler '%s': install one (Debian: apt-get install gcc) or set "
                       "KSWEEP_CC",
                       t->command);
    if (end->how != KS_END_EXITED || end->code != 0 || end->n_tail == 0)
        return ks_fail(err, KS_EINVAL, "'%s --version' %s %d: set KSWEEP_CC to a C compiler",
                       t->command, ks_end_text(end->how), end->code);
    return 0;
}

const char *ks_toolchain_words(const char *command)
{
    command += strspn(command, " \t");
    command += strcspn(command, " \t");
    return command + strspn(command, " \t");
}

/* Lines of /proc/cpuinfo that -march=native looks at; the microcode's revision is not one. */
static void put_cpu(const char *cpuinfo, struct ks_buf *out)
{
    static const char *const keys[] = { "vendor_id",       "cpu family", "model\t",
                                        "model name",      "stepping",   "flags",
                                        "CPU implementer", "CPU part",   "Features" };
    const char *end = strstr(cpuinfo, "\n\n"); /* the first processor */
    const char *line = cpuinfo;
    while (line && *line && (!end || line < end)) {
        const char *nl = strchr(line, '\n');
        const int len = (int)(nl ? nl - line : (ptrdiff_t)strlen(line));
        for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
            if (strncmp(line, keys[i], strlen(keys[i])) == 0) {
                ks_buf_printf(out, "%.*s\n", len, line);
                break;
            }
        line = nl ? nl + 1 : NULL;
    }
}

static int put_target(const char *arch, struct ks_buf *out, struct ks_err *err)
{
    struct ks_buf cpuinfo;
    ks_buf_printf(out, "target %s\n", arch);
    if (strcmp(arch, "native") != 0)
        return 0;
    ks_buf_init(&cpuinfo);
    int rc = ks_file_read("/proc/cpuinfo", &cpuinfo, err);
    if (rc == 0)
        put_cpu(ks_buf_text(&cpuinfo), out);
    ks_buf_release(&cpuinfo);
    return rc;
}

static int identify(struct ks_toolchain *t, const char *arch, const struct ks_child_end *end,
                    struct ks_err *err)
{
    struct ks_buf text;
    ks_buf_init(&text);
    ks_buf_printf(&text, "compiler %.*s\nwords %s\nflags %s\nlink %s\n", (int)end->n_tail,
                  end->tail, ks_toolchain_words(t->command), t->flags, link_flags);
    int rc = put_target(arch, &text, err);
    if (rc == 0 && !ks_buf_ok(&text))
        rc = ks_fail(err, KS_ENOMEM, "out of memory computing compiler identity");
    if (rc == 0)
        t->id = ks_id128(text.data, text.len);
    ks_buf_release(&text);
    return rc;
}

int ks_toolchain_find(const char *command, const char *arch, struct ks_warden *w,
                      struct ks_toolchain *out, struct ks_err *err)
{
    struct ks_toolchain t = { .command = "" };
    char march[80];
    struct ks_child_end end = { .n_tail = 0 };
    if (strlen(command) >= sizeof(t.command) || strlen(arch) > 60 || strpbrk(arch, " \t%"))
        return ks_fail(err, KS_EINVAL,
                       "compiler '%s' or architecture '%s' is too long or not a name", command,
                       arch);
    snprintf(t.command, sizeof(t.command), "%s", command);
    snprintf(march, sizeof(march), "-march=%s ", arch);
    snprintf(t.flags, sizeof(t.flags), compile_flags, arch[0] ? march : "");
    int rc = ks_data_path(t.abi_path, sizeof(t.abi_path), "kernels/abi.h", err);
    if (rc < 0)
        return rc;
    ks_path_dir(t.include_dir, sizeof(t.include_dir), t.abi_path);
    rc = ask_version(&t, w, &end, err);
    if (rc < 0)
        return rc;
    const size_t n = end.n_tail < sizeof(end.tail) ? end.n_tail : sizeof(end.tail);
    const char *nl = memchr(end.tail, '\n', n);
    snprintf(t.version, sizeof(t.version), "%.*s", (int)(nl ? nl - end.tail : (ptrdiff_t)n),
             end.tail);
    if (!strstr(t.version, "clang"))
        strncat(t.flags, gcc_flags, sizeof(t.flags) - strlen(t.flags) - 1);
    rc = identify(&t, arch, &end, err);
    if (rc == 0)
        *out = t;
    return rc;
}
