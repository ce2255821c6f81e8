/* SPDX-License-Identifier: MIT */
/* import.c - what all importers share: lines of a file, refusals, numbers, a blank convolution */
#include "grid/import.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ks_import_start(struct ks_import *im, struct ks_problem_set *set, const char *text, size_t len,
                     const char *name, bool strict, struct ks_err *err)
{
    *im = (struct ks_import){
        .set = set,
        .name = name,
        .strict = strict,
        .err = err,
        .rest = text,
        .n_rest = len,
        .count = 1,
    };
    ks_buf_init(&im->text);
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        im->rest += 3;
        im->n_rest -= 3;
    }
}

void ks_import_stop(struct ks_import *im)
{
    ks_buf_release(&im->text);
}

int ks_import_more(struct ks_import *im)
{
    size_t from = im->text.len, n;
    const char *end;

    if (im->n_rest == 0)
        return 0;
    end = memchr(im->rest, '\n', im->n_rest);
    n = end ? (size_t)(end - im->rest) : im->n_rest;
    ks_buf_put(&im->text, im->rest, n);
    while (im->text.len > from && im->text.data[im->text.len - 1] == '\r')
        im->text.data[--im->text.len] = '\0';
    if (!ks_buf_ok(&im->text))
        return ks_fail(im->err, KS_ENOMEM, "no memory for a line of %zu bytes", n);
    for (size_t i = from; i < im->text.len; i++)
        if (!im->text.data[i])
            im->text.data[i] = '?';
    n += end != NULL;
    im->rest += n;
    im->n_rest -= n;
    im->n_read++;
    im->set->n_lines++;
    return 1;
}

int ks_import_line(struct ks_import *im)
{
    int rc;

    ks_buf_clear(&im->text);
    rc = ks_import_more(im);
    im->line = im->n_read;
    return rc;
}

int ks_import_refuse(struct ks_import *im, const char *fmt, ...)
{
    char reason[sizeof im->set->refusals->reason];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    if (im->strict)
        return ks_fail(im->err, KS_EFORMAT, "%s:%llu: %s", im->name, (unsigned long long)im->line,
                       reason);
    im->set->n_commands++;
    return ks_problem_set_refuse(im->set, im->name, im->line, reason, im->err);
}

int ks_import_refuse_err(struct ks_import *im, const struct ks_err *why)
{
    if (why->code == KS_ENOMEM)
        return ks_fail(im->err, KS_ENOMEM, "%s", why->text);
    return ks_import_refuse(im, "%s", why->text);
}

/* Bytes of a line as it is in the file, without its end. 1: all are text; 0 refused; < 0 error. */
static int check_bytes(struct ks_import *im, const char *raw, size_t n)
{
    int rc = 1;

    for (size_t at = 0, used; rc == 1 && at < n; at += used) {
        const unsigned char *c = (const unsigned char *)raw + at;

        used = 1;
        if (*c >= 0x20 && *c < 0x7f)
            continue;
        used = ks_utf8_next(c, n - at);
        if (used == 0)
            return ks_import_refuse(im, "column %zu: byte 0x%02x is not UTF-8", at + 1, *c);
        if ((*c < 0x20 && *c != '\t') || *c == 0x7f)
            rc = ks_import_refuse(im, "column %zu: control character 0x%02x", at + 1, *c);
    }
    return rc;
}

int ks_import_text_line(struct ks_import *im)
{
    const char *raw = im->rest;
    int rc = ks_import_line(im);
    size_t n;

    if (rc <= 0)
        return rc;
    n = (size_t)(im->rest - raw);
    n -= n && raw[n - 1] == '\n';
    while (n && raw[n - 1] == '\r')
        n--;
    rc = check_bytes(im, raw, n);
    return rc == 0 ? 2 : rc;
}

int ks_import_take(struct ks_import *im, const struct ks_problem *p, size_t n)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = ks_problem_set_add_from(im->set, &p[i], im->name, im->line, im->err);
    if (rc < 0)
        return ks_err_context(im->err, rc, "%s:%llu", im->name, (unsigned long long)im->line);
    for (size_t i = 0; i < n; i++)
        ks_problem_set_add_rank(im->set, p[i].id, im->rank);
    im->set->n_commands++;
    im->set->n_taken++;
    return 0;
}

const char *ks_import_number(const char *text, int64_t *out)
{
    const bool is_negative = text[0] == '-';
    const char *c = text + (is_negative || text[0] == '+');
    bool is_beyond = false;
    int64_t v = 0; /* negative: INT64_MIN has no positive */

    if (*c == '\0')
        return "is not a whole number";
    for (; *c; c++) {
        if (*c < '0' || *c > '9')
            return "is not a whole number";
        is_beyond |= __builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, *c - '0', &v);
    }
    if (is_beyond || (!is_negative && v == INT64_MIN))
        return "is out of range";
    *out = is_negative ? v : -v;
    return NULL;
}

bool ks_import_is_blank(const char *line)
{
    line += strspn(line, " \t");
    return *line == '\0' || *line == '#';
}

const char *ks_import_first_line(const char *text, size_t len, size_t *n_out)
{
    size_t at = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    while (at < len) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end ? (size_t)(end - text) - at : len - at, skip = 0;

        while (skip < n &&
               (text[at + skip] == ' ' || text[at + skip] == '\t' || text[at + skip] == '\r'))
            skip++;
        if (skip < n && text[at + skip] != '#') {
            *n_out = n - skip;
            return text + at + skip;
        }
        at += n + 1;
    }
    return NULL;
}

int ks_import_blank_conv(const struct ks_import *im, struct ks_problem *p_out)
{
    const char *slash = strrchr(im->name, '/');
    uint32_t conv;
    int rc = ks_operator_find("grouped_conv", &conv, im->err);

    if (rc < 0)
        return rc;
    *p_out = ks_problem_blank(conv);
    p_out->count = im->count;
    if (im->label)
        snprintf(p_out->name, sizeof p_out->name, "%.90s", im->label);
    else
        snprintf(p_out->name, sizeof p_out->name, "%.70s:%llu", slash ? slash + 1 : im->name,
                 (unsigned long long)im->line);
    return 0;
}
