/* SPDX-License-Identifier: MIT */
/* doc_table.c - holds a table of docs/results.md against the column table it is made from */
#include "doc_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The table behind a heading: [*from_out, *end_out) of the text. */
static void find_table(const char *text, const char *heading, size_t *from_out, size_t *end_out)
{
    char line[160];
    const char *at, *end;

    snprintf(line, sizeof(line), "\n%s\n", heading);
    at = strstr(text, line);
    if (at)
        at = strstr(at, "\n| ");
    if (!at)
        fail_msg("docs/results.md has no table behind '%s'", heading);
    end = at ? strstr(at, "\n\n") : NULL;
    if (!end)
        fail_msg("docs/results.md: the table behind '%s' has no end", heading);
    *from_out = (size_t)(at + 1 - text);
    *end_out = (size_t)(end + 1 - text);
}

static void write_doc(const char *path, const struct ks_buf *doc, size_t from, size_t end,
                      const char *want)
{
    struct ks_buf changed;
    struct ks_err err;

    ks_buf_init(&changed);
    ks_buf_put(&changed, doc->data, from);
    ks_buf_put(&changed, want, strlen(want));
    ks_buf_put(&changed, doc->data + end, doc->len - end);
    if (ks_file_replace(path, changed.data, changed.len, &err) < 0)
        fail_msg("%s", err.text);
    ks_buf_release(&changed);
}

/* The first line of the doc that is not as it should be. */
static void report(const char *heading, const char *got, const char *want)
{
    while (*want) {
        size_t n = strcspn(want, "\n") + 1;

        if (strncmp(got, want, n) != 0)
            fail_msg("docs/results.md, '%s': '%.*s' should be '%.*s' (KS_BLESS=1 writes it)",
                     heading, (int)strcspn(got, "\n"), got, (int)n - 1, want);
        got += n;
        want += n;
    }
    fail_msg("docs/results.md, '%s': the table is longer than it should be", heading);
}

void doc_table_check(const char *heading, const char *want)
{
    const char *root = getenv("KSWEEP_SOURCE_DIR");
    size_t from = 0, end = 0;
    struct ks_buf doc;
    struct ks_err err = { 0 };
    char path[1100];

    snprintf(path, sizeof(path), "%s/docs/results.md", root ? root : KS_SOURCE_DIR);
    ks_buf_init(&doc);
    if (ks_file_read(path, &doc, &err) < 0)
        fail_msg("%s", err.text);
    find_table(ks_buf_text(&doc), heading, &from, &end);
    if (getenv("KS_BLESS"))
        write_doc(path, &doc, from, end, want);
    else if (strlen(want) != end - from || memcmp(doc.data + from, want, end - from) != 0)
        report(heading, ks_buf_text(&doc) + from, want);
    ks_buf_release(&doc);
}
