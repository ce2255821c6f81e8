/* SPDX-License-Identifier: MIT */
/* csv_rows.c - reads CSV with quoted fields, any separator, and a header of names */
#include "analysis/trace/csv_rows.h"

#include <stdlib.h>
#include <string.h>

void ks_csv_rows_open(struct ks_csv_rows *r, const char *text, size_t len, const char *name)
{
    *r = (struct ks_csv_rows){ .name = name, .at = text, .end = text + len, .separator = ',' };
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        r->at += 3;
    ks_buf_init(&r->text);
}

void ks_csv_rows_close(struct ks_csv_rows *r)
{
    free(r->field);
    free(r->offset);
    ks_buf_release(&r->text);
    r->field = NULL;
    r->offset = NULL;
}

bool ks_csv_rows_skip_line(struct ks_csv_rows *r)
{
    const char *nl = r->at == r->end ? NULL : memchr(r->at, '\n', (size_t)(r->end - r->at));

    if (r->at == r->end)
        return false;
    r->at = nl ? nl + 1 : r->end;
    r->n_lines++;
    return true;
}

static int begin_field(struct ks_csv_rows *r, struct ks_err *err)
{
    if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        size_t *offset = realloc(r->offset, cap * sizeof(*offset));
        const char **field;

        if (!offset)
            return ks_fail(err, KS_ENOMEM, "out of memory for %zu columns", cap);
        r->offset = offset;
        field = realloc(r->field, cap * sizeof(*field));
        if (!field)
            return ks_fail(err, KS_ENOMEM, "out of memory for %zu columns", cap);
        r->field = field;
        r->cap = cap;
    }
    r->offset[r->n++] = r->text.len;
    return 0;
}

static void put_char(struct ks_csv_rows *r, char c)
{
    ks_buf_u8(&r->text, c ? (uint8_t)c : '?');
}

/* Behind the opening quote, up to the closing one. */
static int read_quoted(struct ks_csv_rows *r, struct ks_err *err)
{
    for (; r->at < r->end; r->at++) {
        if (*r->at == '"' && (r->at + 1 == r->end || r->at[1] != '"')) {
            r->at++;
            return 0;
        }
        r->at += *r->at == '"';
        r->n_lines += *r->at == '\n';
        put_char(r, *r->at);
    }
    return ks_fail(err, KS_EFORMAT, "%s:%llu: the record has a quote that is never closed", r->name,
                   (unsigned long long)r->line);
}

/* Text behind a closing quote belongs to the field: `"a"b` is ab. */
static int read_field(struct ks_csv_rows *r, struct ks_err *err)
{
    int rc = begin_field(r, err);

    if (rc == 0 && r->at < r->end && *r->at == '"') {
        r->at++;
        rc = read_quoted(r, err);
    }
    while (rc == 0 && r->at < r->end && *r->at != r->separator && *r->at != '\n') {
        if (*r->at != '\r' || (r->at + 1 < r->end && r->at[1] != '\n'))
            put_char(r, *r->at);
        r->at++;
    }
    ks_buf_u8(&r->text, '\0');
    return rc;
}

int ks_csv_rows_next(struct ks_csv_rows *r, struct ks_err *err)
{
    bool is_more = true;
    int rc = 0;

    while (r->at < r->end && (*r->at == '\n' || *r->at == '\r')) {
        r->n_lines += *r->at == '\n';
        r->at++;
    }
    if (r->at == r->end)
        return 0;
    ks_buf_clear(&r->text);
    r->n = 0;
    r->line = r->n_lines + 1;
    while (rc == 0 && is_more) {
        rc = read_field(r, err);
        is_more = r->at < r->end && *r->at == r->separator;
        r->at += is_more;
    }
    if (rc < 0)
        return rc;
    r->n_lines++;
    r->at += r->at < r->end;
    if (!ks_buf_ok(&r->text))
        return ks_fail(err, KS_ENOMEM, "out of memory for line %llu", (unsigned long long)r->line);
    for (size_t i = 0; i < r->n; i++)
        r->field[i] = (const char *)r->text.data + r->offset[i];
    return 1;
}

int ks_csv_header_take(struct ks_csv_header *h, const struct ks_csv_rows *r, struct ks_err *err)
{
    struct ks_csv_header taken = { .name = calloc(r->n + 1, sizeof(*taken.name)) };

    for (; taken.name && taken.n < r->n; taken.n++) {
        taken.name[taken.n] = strdup(r->field[taken.n]);
        if (!taken.name[taken.n])
            break;
    }
    if (!taken.name || taken.n < r->n) {
        ks_csv_header_release(&taken);
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu column names", r->n);
    }
    *h = taken;
    return 0;
}

void ks_csv_header_release(struct ks_csv_header *h)
{
    for (size_t i = 0; i < h->n; i++)
        free(h->name[i]);
    free(h->name);
    *h = (struct ks_csv_header){ 0 };
}

size_t ks_csv_header_find(const struct ks_csv_header *h, const char *name)
{
    for (size_t i = 0; i < h->n; i++)
        if (strcmp(h->name[i], name) == 0)
            return i;
    return KS_CSV_NONE;
}

size_t ks_csv_header_prefix(const struct ks_csv_header *h, const char *prefix)
{
    for (size_t i = 0; i < h->n; i++)
        if (strncmp(h->name[i], prefix, strlen(prefix)) == 0)
            return i;
    return KS_CSV_NONE;
}

const char *ks_csv_field(const struct ks_csv_rows *r, size_t column)
{
    return column < r->n ? r->field[column] : "";
}
