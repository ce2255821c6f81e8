/* SPDX-License-Identifier: MIT */
/* fuzz_filters.c - any bytes as a filter file: refused with a place, or expressions that parse */
#include "grid/filters.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

/* Where a line and column are in the text. */
static const char *at_place(const char *text, const struct ks_expr_place *p)
{
    for (unsigned line = 1; line < p->line; line++)
        text = strchr(text, '\n') + 1;
    return text + p->column - 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = calloc(n + 1, 1);
    struct ks_filters f = { 0 };
    struct ks_err err = { 0 };

    demand(text != NULL);
    memcpy(text, bytes, n);
    if (ks_filters_parse(text, n, "f.txt", &f, &err) < 0) {
        demand(strncmp(err.text, "f.txt:", 6) == 0 && f.n == 0);
    } else {
        demand(f.n > 0);
        for (uint32_t i = 0; i < f.n; i++) {
            struct ks_expr *e = NULL;

            demand(strncmp(at_place(text, &f.list[i].place), f.list[i].text,
                           strlen(f.list[i].text)) == 0);
            demand(ks_expr_parse_at(f.list[i].text, &f.list[i].place, &e, &err) == 0);
            ks_expr_free(e);
        }
    }
    ks_filters_release(&f);
    free(text);
    return 0;
}
