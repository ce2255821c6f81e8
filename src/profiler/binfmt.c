/* SPDX-License-Identifier: MIT */
/* binfmt.c - reads the interpreters that are registered with binfmt_misc and matches a file */
#include "profiler/binfmt.h"

#include "base/file.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text behind "KEY " of an entry, to the end of its line; NULL: it has no such line. */
static const char *value_of(const char *entry, const char *key, size_t *n_out)
{
    const size_t n = strlen(key);

    for (const char *at = entry; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n')
        if (strncmp(at, key, n) == 0 && at[n] == ' ') {
            *n_out = strcspn(at + n + 1, "\n");
            return at + n + 1;
        }
    return NULL;
}

static unsigned byte_at(const char *hex, size_t i)
{
    const char digits[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

    return (unsigned)strtoul(digits, NULL, 16);
}

static bool has_extension(const char *path, const char *extension, size_t n)
{
    const char *dot = strrchr(ks_path_base(path), '.');

    return dot != NULL && strlen(dot) == n && strncmp(dot, extension, n) == 0;
}

/* "enabled", "interpreter /usr/bin/x", "flags: ", then "extension .jar", or "offset 0",
 * "magic 7f454c46" and perhaps "mask ffffff00". */
static bool takes(const char *entry, const char *path, const unsigned char *head, size_t n)
{
    size_t n_text = 0, n_mask = 0, n_offset = 0;
    const char *text = value_of(entry, "extension", &n_text);
    const char *magic = value_of(entry, "magic", &n_text), *mask = value_of(entry, "mask", &n_mask);
    const char *offset = value_of(entry, "offset", &n_offset);
    const size_t at = offset != NULL ? (size_t)strtoul(offset, NULL, 10) : 0;

    if (strncmp(entry, "enabled", 7) != 0)
        return false;
    if (magic == NULL)
        return text != NULL && has_extension(path, text, strcspn(text, "\n"));
    if (at > n || n_text / 2 > n - at)
        return false;
    for (size_t i = 0; i < n_text / 2; i++) {
        const unsigned bits = mask != NULL && i < n_mask / 2 ? byte_at(mask, i) : 0xff;

        if (((byte_at(magic, i) ^ head[at + i]) & bits) != 0)
            return false;
    }
    return true;
}

/* "" when it cannot be read. */
static void read_entry(const char *dir, const char *name, struct ks_buf *text)
{
    char path[1024];

    ks_buf_clear(text);
    if (ks_path_join(path, sizeof(path), dir, name, NULL) < 0 || ks_file_read(path, text, NULL) < 0)
        ks_buf_clear(text);
}

enum ks_binfmt ks_binfmt_find(const char *dir, const char *path, const unsigned char *head,
                              size_t n)
{
    enum ks_binfmt found = KS_BINFMT_NONE;
    struct ks_buf text = { 0 };
    struct dirent *entry;
    DIR *list = opendir(dir);

    if (list == NULL)
        return KS_BINFMT_NONE; /* the kernel has no binfmt_misc */
    read_entry(dir, "status", &text);
    if (strncmp(ks_buf_text(&text), "enabled", 7) != 0)
        found = text.len == 0 ? KS_BINFMT_UNKNOWN : KS_BINFMT_NONE;
    else
        while (found == KS_BINFMT_NONE && (entry = readdir(list)) != NULL) {
            if (strcmp(entry->d_name, "status") == 0 || strcmp(entry->d_name, "register") == 0)
                continue;
            read_entry(dir, entry->d_name, &text);
            if (takes(ks_buf_text(&text), path, head, n))
                found = KS_BINFMT_TAKEN;
        }
    closedir(list);
    ks_buf_release(&text);
    return found;
}
