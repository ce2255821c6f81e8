/* SPDX-License-Identifier: MIT */
/* toolchain.c - the host's C compiler. */
#include "build/toolchain.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define VERSION_TIMEOUT_NS 60000000000ull

/* No -ffast-math: labels must be comparable with references. -Wfatal-errors: the first error is the
 * only one. */
static const char compile_flags[] =
    "-O3 -march=%s -ffp-contract=fast -fno-math-errno -fno-trapping-math -fPIC "
    "-fvisibility=hidden -ffunction-sections -fdata-sections -w -Wfatal-errors "
    "-fdiagnostics-color=never";
/* An instance's code must not depend on the company it is compiled in: two functions of equal code
 * stay two, and no limit on how a whole file may grow decides what is inlined. clang merges
 * nothing, has no such limit and does not know the flags. */
static const char gcc_flags[] =
    " -fno-ipa-icf --param=large-unit-insns=1000000000 --param=ipa-cp-large-unit-insns=1000000000 "
    "-fno-diagnostics-show-caret";
static const char link_flags[] = "-shared -Wl,-z,defs -Wl,--build-id=none";

static int add_words(struct ks_argv *a, const char *words, struct ks_err *err)
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

/* One argument that may hold blanks; borrowed. */
static int add_word(struct ks_argv *a, const char *word, struct ks_err *err)
{
    if (a->n + 1 >= KS_SPAWN_ARGS)
        return ks_fail(err, KS_EINVAL, "compiler command line is too long");
    a->at[a->n++] = word;
    a->at[a->n] = NULL;
    return 0;
}

int ks_toolchain_compile(const struct ks_toolchain *t, const char *extra_flags, struct ks_argv *out,
                         struct ks_err *err)
{
    out->n = out->used = 0;
    int rc = add_words(out, t->command, err);
    if (rc == 0)
        rc = add_words(out, t->flags, err);
    if (rc == 0)
        rc = add_words(out, extra_flags, err);
    if (rc == 0)
        rc = add_words(out, "-I", err);
    if (rc == 0)
        rc = add_word(out, t->include_dir, err);
    return rc < 0 ? rc : add_words(out, "-c unit.c -o unit.o", err);
}

int ks_toolchain_link(const struct ks_toolchain *t, struct ks_argv *out, struct ks_err *err)
{
    out->n = out->used = 0;
    int rc = add_words(out, t->command, err);
    if (rc == 0)
        rc = add_words(out, link_flags, err);
    return rc < 0 ? rc : add_words(out, "unit.o -o kernels.so -lm", err);
}

/* First line of text[0..n) that holds `what`; NULL when none does. */
static const char *line_with(const char *text, size_t n, const char *what, size_t *len_out)
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
    /* The linker names what is missing before "collect2: error:". */
    static const char *const wanted[] = { "undefined reference", "error:", "" };
    const char *line = NULL;
    size_t len = 0;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted) && !line; i++)
        line = line_with(output, n, wanted[i], &len);
    if (line)
        snprintf(reason_out, cap, "%.*s", (int)(len < cap ? len : cap - 1), line);
    else
        snprintf(reason_out, cap, "the compiler failed without a word");
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
            return ks_fail_errno(err, "waiting for the compiler");
    }
}

/* Runs "COMMAND --version" and keeps what it printed in *end. */
static int ask_version(const struct ks_toolchain *t, struct ks_warden *w, struct ks_child_end *end,
                       struct ks_err *err)
{
    struct ks_argv a = { .n = 0 };
    const char *const env[] = { "LC_ALL=C", NULL };
    uint32_t child;
    int rc = add_words(&a, t->command, err);
    if (rc == 0 && a.n == 0)
        rc = ks_fail(err, KS_EINVAL, "the compiler's name is empty (KSWEEP_CC)");
    if (rc == 0)
        rc = add_words(&a, "--version", err);
    if (rc < 0)
        return rc;
    const struct ks_spawn s = { .argv = a.at,
                                .env = env,
                                .fds = { -1, -1, -1, -1 },
                                .status_fd = -1,
                                .deadline_ns = ks_now_ns() + VERSION_TIMEOUT_NS };
    rc = ks_warden_spawn(w, &s, &child, err);
    if (rc == 0)
        rc = wait_child(w, child, end, err);
    if (rc < 0)
        return rc;
    if (end->how == KS_END_NO_EXEC)
        return ks_fail(err, KS_ENOENT,
                       "no C compiler '%s': install one (Debian: apt-get install gcc) or set "
                       "KSWEEP_CC",
                       t->command);
    if (end->how != KS_END_EXITED || end->code != 0 || end->n_tail == 0)
        return ks_fail(err, KS_EINVAL, "'%s --version' %s %d: is it a C compiler? (KSWEEP_CC)",
                       t->command, ks_end_text(end->how), end->code);
    return 0;
}

/* What stands behind the compiler's name in the command: "gcc -m32", "ccache clang". */
static const char *further_words(const char *command)
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
                  end->tail, further_words(t->command), t->flags, link_flags);
    int rc = put_target(arch, &text, err);
    if (rc == 0 && !ks_buf_ok(&text))
        rc = ks_fail(err, KS_ENOMEM, "identity of the compiler");
    if (rc == 0)
        t->id = ks_id128(text.data, text.len);
    ks_buf_release(&text);
    return rc;
}

int ks_toolchain_find(const char *command, const char *arch, struct ks_warden *w,
                      struct ks_toolchain *out, struct ks_err *err)
{
    struct ks_toolchain t = { .command = "" };
    struct ks_child_end end = { .n_tail = 0 };
    if (strlen(command) >= sizeof(t.command) || strlen(arch) > 60 || strpbrk(arch, " \t%"))
        return ks_fail(err, KS_EINVAL, "compiler '%s' or architecture '%s': too long or not a name",
                       command, arch);
    snprintf(t.command, sizeof(t.command), "%s", command);
    snprintf(t.flags, sizeof(t.flags), compile_flags, arch);
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
