/* SPDX-License-Identifier: MIT */
/* counter_value.c - reads numbers and units as profilers print them in any locale */
#include "analysis/trace/counter_value.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 64 };

/* Bytes of a sign that only groups digits: a blank, an apostrophe, U+00A0, U+2009, U+202F. */
static size_t group_sign(const char *at)
{
    static const char *const signs[] = { " ", "'", "\xc2\xa0", "\xe2\x80\x89", "\xe2\x80\xaf" };

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        if (strncmp(at, signs[i], strlen(signs[i])) == 0)
            return strlen(signs[i]);
    return 0;
}

/* A printed number taken apart: its digits and the signs between them. */
struct parts {
    size_t n_points, n_commas;
    char last;           /* the last of both kinds */
    size_t n_before;     /* digits before the first of them */
    size_t n_behind;     /* digits behind the last one */
    bool begins_with_0;  /* 0,123: no group */
    bool has_other_sign; /* blanks or apostrophes group: then points and commas do not */
};

static bool take_apart(const char *text, struct parts *p)
{
    size_t n_digits = 0;
    bool has_exponent = false;

    *p = (struct parts){ 0 };
    text += *text == '-' || *text == '+';
    p->begins_with_0 = *text == '0';
    for (; *text; text++) {
        size_t skip = group_sign(text);

        if (isdigit((unsigned char)*text)) {
            n_digits++;
            p->n_before += !p->last;
            p->n_behind++;
        } else if (skip && n_digits && isdigit((unsigned char)text[skip])) {
            p->has_other_sign = true;
            text += skip - 1;
        } else if (*text == '.' || *text == ',') {
            p->n_points += *text == '.';
            p->n_commas += *text == ',';
            p->last = *text;
            p->n_behind = 0;
        } else if ((*text == 'e' || *text == 'E') && n_digits && !has_exponent) {
            has_exponent = true;
            text += text[1] == '-' || text[1] == '+';
            return isdigit((unsigned char)text[1]) &&
                   text[1 + strspn(text + 1, "0123456789")] == '\0';
        } else {
            return false;
        }
    }
    return n_digits > 0;
}

enum ks_number_style ks_number_style(const char *text)
{
    struct parts p;
    bool is_group;

    if (!take_apart(text, &p))
        return KS_STYLE_NONE;
    if (!p.last)
        return KS_STYLE_EITHER;
    if (p.n_points && p.n_commas) {
        if (p.last == '.')
            return p.n_points == 1 ? KS_STYLE_POINT : KS_STYLE_NONE;
        return p.n_commas == 1 ? KS_STYLE_COMMA : KS_STYLE_NONE;
    }
    if (p.n_points + p.n_commas > 1)
        return p.n_points ? KS_STYLE_COMMA : KS_STYLE_POINT;
    is_group = p.n_behind == 3 && p.n_before >= 1 && p.n_before <= 3 && !p.begins_with_0 &&
               !p.has_other_sign;
    if (is_group)
        return KS_STYLE_EITHER;
    return p.last == '.' ? KS_STYLE_POINT : KS_STYLE_COMMA;
}

bool ks_number_read(const char *text, enum ks_number_style style, double *value_out)
{
    const char decimal = style == KS_STYLE_COMMA ? ',' : '.';
    char plain[MOST_DIGITS], *end;
    struct parts p;
    size_t n = 0;

    if (!take_apart(text, &p))
        return false;
    while (*text && n + 1 < sizeof(plain)) {
        size_t skip = group_sign(text);

        if (skip) {
            text += skip;
            continue;
        }
        if (*text == decimal)
            plain[n++] = '.';
        else if (*text != '.' && *text != ',')
            plain[n++] = *text;
        text++;
    }
    if (*text)
        return false;
    plain[n] = '\0';
    *value_out = strtod(plain, &end);
    return end != plain && *end == '\0';
}

struct unit {
    const char *word, *base;
    double scale;
};
static const struct unit units[] = {
    { "byte", "byte", 1 },      { "B", "byte", 1 },         { "hz", "hz", 1 },
    { "Hz", "hz", 1 },          { "inst", "inst", 1 },      { "cycle", "cycle", 1 },
    { "sector", "sector", 1 },  { "second", "ns", 1e9 },    { "msecond", "ns", 1e6 },
    { "usecond", "ns", 1e3 },   { "nsecond", "ns", 1 },     { "s", "ns", 1e9 },
    { "sec", "ns", 1e9 },       { "ms", "ns", 1e6 },        { "us", "ns", 1e3 },
    { "\xc2\xb5s", "ns", 1e3 }, { "\xce\xbcs", "ns", 1e3 }, { "ns", "ns", 1 },
};
static const struct unit prefixes[] = { { "Ki", "", 1024 },       { "Mi", "", 1048576 },
                                        { "Gi", "", 1073741824 }, { "K", "", 1e3 },
                                        { "k", "", 1e3 },         { "M", "", 1e6 },
                                        { "G", "", 1e9 },         { "T", "", 1e12 } };

static const struct unit *find_unit(const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strlen(units[i].word) == n && strncmp(units[i].word, word, n) == 0)
            return &units[i];
    return NULL;
}

/* The scale of one word and its base; NULL base: unknown. Times have no further prefix. */
static double word_base(const char *word, size_t n, const char **base_out)
{
    const struct unit *u = find_unit(word, n);

    *base_out = u ? u->base : NULL;
    if (u)
        return u->scale;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        size_t skip = strlen(prefixes[i].word);

        if (n <= skip || strncmp(word, prefixes[i].word, skip) != 0)
            continue;
        u = find_unit(word + skip, n - skip);
        if (u && strcmp(u->base, "ns") != 0) {
            *base_out = u->base;
            return prefixes[i].scale * u->scale;
        }
    }
    return 1;
}

double ks_unit_base(const char *unit, char *base_out)
{
    const char *slash = strchr(unit, '/'), *base, *per = NULL;
    size_t n = slash ? (size_t)(slash - unit) : strlen(unit);
    double scale = word_base(unit, n, &base), per_scale = 1;

    if (slash)
        per_scale = word_base(slash + 1, strlen(slash + 1), &per);
    if (per && strcmp(per, "ns") == 0) {
        per = "s";
        per_scale /= 1e9;
    } else {
        per_scale = 1;
        per = slash ? slash + 1 : NULL;
    }
    snprintf(base_out, KS_UNIT_MAX, "%.*s%s%s", base ? KS_UNIT_MAX : (int)n, base ? base : unit,
             per ? "/" : "", per ? per : "");
    return scale / per_scale;
}
