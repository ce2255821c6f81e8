/* SPDX-License-Identifier: MIT */
/* format.c - whether a file is a program that this machine can start */
#include "profiler/format.h"

#include "base/file.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 256, MOST_SCRIPTS = 4 }; /* the kernel reads 256 bytes of a "#!" line */

struct head {
    unsigned char bytes[HEAD + 1]; /* NUL-terminated */
    size_t n;
};

static int read_head(int fd, struct head *h, struct ks_err *err)
{
    const ssize_t n = pread(fd, h->bytes, HEAD, 0);

    if (n < 0)
        return ks_fail_errno(err, "reading the file");
    h->n = (size_t)n;
    h->bytes[n] = '\0';
    return 0;
}

static const char *machine_name(uint16_t machine, char *number, size_t cap)
{
    static const struct {
        uint16_t machine;
        const char *name;
    } known[] = { { EM_X86_64, "x86-64" }, { EM_386, "i386" },     { EM_AARCH64, "aarch64" },
                  { EM_PPC64, "ppc64" },   { EM_RISCV, "risc-v" }, { EM_S390, "s390" },
                  { EM_ARM, "arm" } };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].machine == machine)
            return known[i].name;
    snprintf(number, cap, "machine %u", machine);
    return number;
}

/* Of the program that asks. */
static uint16_t own_machine(void)
{
    Elf64_Ehdr own = { .e_machine = EM_NONE };
    int fd = ks_file_open("/proc/self/exe", NULL);

    if (fd >= 0 && pread(fd, &own, sizeof own, 0) != (ssize_t)sizeof own)
        own.e_machine = EM_NONE;
    ks_fd_close(&fd);
    return own.e_machine;
}

static int check_machine(const Elf64_Ehdr *e, struct ks_err *err)
{
    const uint16_t own = own_machine();
    char theirs[32], ours[32];

    if (e->e_type != ET_EXEC && e->e_type != ET_DYN)
        return ks_fail(err, KS_EINVAL, "it is an ELF file but not a program (type %u)", e->e_type);
    if (own == EM_NONE || e->e_machine == own || (own == EM_X86_64 && e->e_machine == EM_386) ||
        (own == EM_AARCH64 && e->e_machine == EM_ARM))
        return 0;
    return ks_fail(err, KS_EINVAL, "wrong format: it was built for %s, but this host is %s",
                   machine_name(e->e_machine, theirs, sizeof theirs),
                   machine_name(own, ours, sizeof ours));
}

static int find_loader(int fd, const Elf64_Ehdr *e, struct ks_program_format *out,
                       struct ks_err *err)
{
    for (unsigned i = 0; i < e->e_phnum; i++) {
        const off_t at = (off_t)(e->e_phoff + (uint64_t)i * e->e_phentsize);
        Elf64_Phdr p;

        if (e->e_phentsize < sizeof p || at < 0 || pread(fd, &p, sizeof p, at) != (ssize_t)sizeof p)
            return ks_fail(err, KS_EINVAL, "wrong format: the ELF file is truncated");
        if (p.p_type != PT_INTERP)
            continue;
        if (p.p_filesz < 2 || p.p_filesz > sizeof out->loader || p.p_offset > INT64_MAX ||
            pread(fd, out->loader, p.p_filesz, (off_t)p.p_offset) != (ssize_t)p.p_filesz)
            return ks_fail(err, KS_EINVAL, "wrong format: the ELF file is truncated");
        out->loader[p.p_filesz - 1] = '\0';
        if (access(out->loader, X_OK) < 0)
            return ks_fail(err, KS_EINVAL, "its dynamic loader '%s' is missing", out->loader);
    }
    return 0;
}

static int read_elf(int fd, const struct head *h, struct ks_program_format *out, struct ks_err *err)
{
    Elf64_Ehdr e;
    int rc;

    if (h->n < sizeof e)
        return ks_fail(err, KS_EINVAL, "wrong format: the ELF file is truncated");
    memcpy(&e, h->bytes, sizeof e);
    rc = check_machine(&e, err);
    if (rc < 0 || e.e_ident[EI_CLASS] != ELFCLASS64)
        return rc;
    return find_loader(fd, &e, out, err);
}

/* "#! /usr/bin/env python3": the first word. */
static int read_script(const struct head *h, char *interpreter, size_t cap, struct ks_err *err)
{
    const char *text = (const char *)h->bytes + 2;

    text += strspn(text, " \t");
    snprintf(interpreter, cap, "%.*s", (int)strcspn(text, " \t\n"), text);
    if (!interpreter[0])
        return ks_fail(err, KS_EINVAL, "line 1 has no interpreter after '#!'");
    if (interpreter[strlen(interpreter) - 1] == '\r')
        return ks_fail(err, KS_EINVAL,
                       "line 1 ends in a carriage return: save the file with Unix line ends");
    if (access(interpreter, X_OK) < 0)
        return ks_fail(err, KS_EINVAL, "its interpreter '%s' (line 1) is missing", interpreter);
    return 0;
}

/* One file. interpreter_out: "" unless it is a script. */
static int read_file(int fd, struct ks_program_format *out, char *interpreter_out, size_t cap,
                     struct ks_err *err)
{
    struct head h;
    int rc = read_head(fd, &h, err);

    interpreter_out[0] = '\0';
    if (rc < 0)
        return rc;
    if (h.n >= SELFMAG && memcmp(h.bytes, ELFMAG, SELFMAG) == 0)
        return read_elf(fd, &h, out, err);
    if (h.n >= 2 && memcmp(h.bytes, "#!", 2) == 0)
        return read_script(&h, interpreter_out, cap, err);
    return ks_fail(err, KS_EINVAL,
                   "wrong format: neither an ELF program nor a script whose line 1 begins with "
                   "'#!'");
}

int ks_program_format(const char *path, struct ks_program_format *out, struct ks_err *err)
{
    struct ks_program_format f = { .loader = "" };
    char interpreter[HEAD + 1] = "";
    int rc = 0;

    snprintf(f.object, sizeof f.object, "%s", path);
    for (int i = 0; rc == 0 && i <= MOST_SCRIPTS; i++) {
        int fd = access(f.object, R_OK) == 0 ? ks_file_open(f.object, err) : -1;

        if (fd < 0)
            break;
        rc = read_file(fd, &f, interpreter, sizeof interpreter, err);
        ks_fd_close(&fd);
        if (!interpreter[0])
            break;
        snprintf(f.object, sizeof f.object, "%s", interpreter);
    }
    if (rc < 0)
        return ks_err_context(err, rc, "'%s'", path);
    *out = f;
    return 0;
}
