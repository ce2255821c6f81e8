/* SPDX-License-Identifier: MIT */
/* format.c - whether a file is a program that this machine can start */
#include "profiler/format.h"

#include "base/file.h"
#include "profiler/binfmt.h"

#include <elf.h>
#include <endian.h>
#include <stdbool.h>
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

static bool runs(uint16_t own, uint16_t machine)
{
    return own == EM_NONE || machine == own || (own == EM_X86_64 && machine == EM_386) ||
           (own == EM_AARCH64 && machine == EM_ARM);
}

static int fail_machine(uint16_t own, uint16_t machine, struct ks_err *err)
{
    char theirs[32], ours[32];

    return ks_fail(err, KS_EINVAL, "wrong format: it was built for %s, but this host is %s",
                   machine_name(machine, theirs, sizeof theirs),
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

/* In the byte order of the file. */
static uint16_t in_order(const Elf64_Ehdr *e, uint16_t word)
{
    return e->e_ident[EI_DATA] == ELFDATA2MSB ? be16toh(word) : le16toh(word);
}

static int read_elf(int fd, const struct head *h, bool is_left_to_exec,
                    struct ks_program_format *out, struct ks_err *err)
{
    const uint16_t own = own_machine();
    uint16_t type, machine;
    Elf64_Ehdr e;

    if (h->n < sizeof e)
        return ks_fail(err, KS_EINVAL, "wrong format: the ELF file is truncated");
    memcpy(&e, h->bytes, sizeof e);
    type = in_order(&e, e.e_type);
    machine = in_order(&e, e.e_machine);
    if (type != ET_EXEC && type != ET_DYN)
        return ks_fail(err, KS_EINVAL, "it is an ELF file but not a program (type %u)", type);
    if (!runs(own, machine))
        return is_left_to_exec ? 0 : fail_machine(own, machine, err);
    return e.e_ident[EI_CLASS] == ELFCLASS64 ? find_loader(fd, &e, out, err) : 0;
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

/* f->object. interpreter_out: "" unless it is a script. Where it cannot be seen for which formats
 * there are interpreters, execve decides. */
static int read_file(int fd, const char *binfmt_dir, struct ks_program_format *f,
                     char *interpreter_out, size_t cap, struct ks_err *err)
{
    enum ks_binfmt taken;
    struct head h;
    int rc = read_head(fd, &h, err);

    interpreter_out[0] = '\0';
    if (rc < 0)
        return rc;
    taken = ks_binfmt_find(binfmt_dir, f->object, h.bytes, h.n);
    if (taken == KS_BINFMT_TAKEN)
        return 0;
    if (h.n >= SELFMAG && memcmp(h.bytes, ELFMAG, SELFMAG) == 0)
        return read_elf(fd, &h, taken == KS_BINFMT_UNKNOWN, f, err);
    if (h.n >= 2 && memcmp(h.bytes, "#!", 2) == 0)
        return read_script(&h, interpreter_out, cap, err);
    if (taken == KS_BINFMT_UNKNOWN)
        return 0;
    return ks_fail(err, KS_EINVAL,
                   "wrong format: neither an ELF program nor a script whose line 1 begins with "
                   "'#!'");
}

int ks_program_format_in(const char *path, const char *binfmt_dir, struct ks_program_format *out,
                         struct ks_err *err)
{
    struct ks_program_format f = { .loader = "" };
    char interpreter[HEAD + 1] = "";
    int rc = 0;

    snprintf(f.object, sizeof f.object, "%s", path);
    for (int i = 0; rc == 0 && i <= MOST_SCRIPTS; i++) {
        int fd = access(f.object, R_OK) == 0 ? ks_file_open(f.object, err) : -1;

        if (fd < 0)
            break;
        rc = read_file(fd, binfmt_dir, &f, interpreter, sizeof interpreter, err);
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

int ks_program_format(const char *path, struct ks_program_format *out, struct ks_err *err)
{
    return ks_program_format_in(path, KS_BINFMT_DIR, out, err);
}
