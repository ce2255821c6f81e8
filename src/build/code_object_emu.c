/* SPDX-License-Identifier: MIT */
/* code_object_emu.c - the emulator's image is a shared object of the host: beside NAME_entry it
 * exports what a launch needs. Of registers it knows nothing. */
#include "build/code_object_impl.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ENTRY "_entry"

/* The first kernel's name, without its ending. */
static bool find_first(const struct ks_object *o, char *out, size_t room)
{
    for (uint32_t i = 0; i < o->n_symbols; i++) {
        Elf64_Sym s;
        if (ks_object_symbol(o, i, &s, NULL) < 0)
            return false;
        const char *name = ks_object_symbol_name(o, &s);
        const size_t n = strlen(name), n_end = strlen(ENTRY);
        if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_shndx == SHN_UNDEF || n <= n_end ||
            n - n_end >= room || strcmp(name + n - n_end, ENTRY) != 0)
            continue;
        ks_code_copy_text(out, room, name, n - n_end);
        return true;
    }
    return false;
}

int ks_code_read_emulator(const struct ks_object *o, const char *name, struct ks_code_object *out,
                          struct ks_err *err)
{
    char first[256], entry[512];
    Elf64_Sym s;
    if (!name && !find_first(o, first, sizeof(first)))
        return ks_code_no_kernel(NULL, err);
    const char *kernel = name ? name : first;
    const int n = snprintf(entry, sizeof(entry), "%s" ENTRY, kernel);
    if (n < 0 || (size_t)n >= sizeof(entry) || ks_object_find(o, entry, &s, NULL) < 0 ||
        ELF64_ST_TYPE(s.st_info) != STT_FUNC)
        return ks_code_no_kernel(kernel, err);
    ks_code_copy_text(out->name, sizeof(out->name), kernel, strlen(kernel));
    snprintf(out->target, sizeof(out->target), "emu");
    out->lds_bytes = ks_code_constant(o, kernel, "_lds");
    out->wave = ks_code_constant(o, kernel, "_warp");
    out->max_threads = ks_code_constant(o, kernel, "_block");
    return 0;
}
