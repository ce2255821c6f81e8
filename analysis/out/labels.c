/* SPDX-License-Identifier: MIT */
/* labels.c - shortens the names of a column by their common prefix */
#include "analysis/out/labels.h"
#include "base/array.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX_MIN 8 /* characters: a shorter prefix is no shorter with its dots */

/* Of a terminal. */
static int columns(const char *text, size_t n)
{
    return (int)ks_utf8_count(text, n);
}

int ks_labels_add(struct ks_labels *names, const char *name, struct ks_err *err)
{
    struct ks_buf *b;
    int rc =
        ks_reserve(&names->text, names->n + 1, &names->cap, sizeof(*names->text), "names", err);

    if (rc < 0)
        return rc;
    b = &names->text[names->n++];
    ks_buf_init(b);
    ks_text_put(b, name, strlen(name), KS_LINES_NONE);
    return ks_buf_ok(b) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for names");
}

/* The longest prefix of a and b that ends behind a separator of a. */
static size_t common(const char *a, const char *b, size_t most)
{
    size_t end = 0;

    for (size_t i = 0; i < most && a[i] && a[i] == b[i]; i++)
        if (strchr("_.-/: ", a[i]))
            end = i + 1;
    return end;
}

void ks_labels_end(struct ks_labels *names)
{
    const char *first = names->n ? ks_buf_text(&names->text[0]) : "";

    names->prefix = strlen(first);
    for (size_t i = 1; i < names->n; i++)
        names->prefix = common(first, ks_buf_text(&names->text[i]), names->prefix);
    if (names->n < 2 || columns(first, names->prefix) < PREFIX_MIN ||
        names->prefix == strlen(first))
        names->prefix = 0;
    names->width = 0;
    for (size_t i = 0; i < names->n; i++) {
        const struct ks_buf *b = &names->text[i];
        int n = columns(ks_buf_text(b) + names->prefix, b->len - names->prefix);

        n += names->prefix ? (int)strlen(KS_LABEL_DOTS) : 0;
        names->width = n > names->width ? n : names->width;
    }
}

void ks_labels_release(struct ks_labels *names)
{
    for (size_t i = 0; i < names->n; i++)
        ks_buf_release(&names->text[i]);
    free(names->text);
    *names = (struct ks_labels){ 0 };
}

void ks_labels_put(const struct ks_labels *names, size_t i, struct ks_buf *to)
{
    const struct ks_buf *b = &names->text[i];
    const char *rest = ks_buf_text(b) + names->prefix;
    int n = columns(rest, b->len - names->prefix);

    n += names->prefix ? (int)strlen(KS_LABEL_DOTS) : 0;
    ks_buf_printf(to, "%s%s%*s", names->prefix ? KS_LABEL_DOTS : "", rest,
                  n < names->width ? names->width - n : 0, "");
}
