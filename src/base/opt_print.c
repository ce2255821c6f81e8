/* SPDX-License-Identifier: MIT */
/* opt_print.c - prints option tables as help, as Markdown, and values as texts that parse again */
#include "base/buf.h"
#include "base/opt.h"
#include "base/wrap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The name as an option ('-') or as a job key ('_'). */
static void spell(const char *name, char joint, char *out, size_t cap)
{
    size_t i;

    for (i = 0; name[i] && i + 1 < cap; i++)
        out[i] = name[i] == '-' || name[i] == '_' ? joint : name[i];
    out[i] = '\0';
}

static void put_choices(const struct ks_opt *o, struct ks_buf *to)
{
    for (unsigned i = 0; o->choices && o->choices[i]; i++)
        ks_buf_printf(to, "%s%s", i ? ", " : "", o->choices[i]);
}

/* As the table spells it: "15s" is not turned into milliseconds. */
static const char *default_text(const struct ks_opt *o)
{
    return o->def && *o->def ? o->def : "none";
}

/* Limits that nobody meets are not told. */
#define HUGE_LIMIT 4e9

static bool has_range(const struct ks_opt *o)
{
    if (o->type == KS_OPT_DURATION_MS)
        return true;
    return (o->min != 0 || o->max != 0) && o->type != KS_OPT_STR && o->type != KS_OPT_LIST &&
           o->type != KS_OPT_ENUM && o->type != KS_OPT_BOOL &&
           !(o->min == 0 && o->max >= HUGE_LIMIT);
}

/* In the greatest unit in which it is a whole number. */
static void put_duration(double ms, struct ks_buf *to)
{
    static const struct {
        double ms;
        const char *unit;
    } units[] = { { 3.6e6, "h" }, { 6e4, "m" }, { 1e3, "s" } };

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (ms >= units[i].ms && fmod(ms, units[i].ms) == 0) {
            ks_buf_printf(to, "%.12g%s", ms / units[i].ms, units[i].unit);
            return;
        }
    ks_buf_printf(to, "%.12gms", ms);
}

static void put_range(const struct ks_opt *o, struct ks_buf *to)
{
    const bool has_most = o->max > 0 && o->max < HUGE_LIMIT;

    if (o->type != KS_OPT_DURATION_MS) {
        ks_buf_printf(to, "%.12g to %.12g", o->min, o->max);
        return;
    }
    ks_buf_printf(to, "ms, s, m or h");
    if (o->min > 0 && has_most)
        ks_buf_printf(to, ", from ");
    else if (o->min > 0)
        ks_buf_printf(to, ", at least ");
    if (o->min > 0)
        put_duration(o->min, to);
    if (has_most) {
        ks_buf_printf(to, o->min > 0 ? " to " : ", at most ");
        put_duration(o->max, to);
    }
}

/* The table has no default, and its help may say what is meant then. */
static bool tells_default(const struct ks_opt *o)
{
    return !(o->def && *o->def) && strstr(o->help, "default");
}

enum {
    LEFT = 28,              /* columns of the names of options */
    TEXT_AT = 2 + LEFT + 1, /* where their meaning begins */
    NARROW_AT = 6,          /* and where on a terminal that has no room for two columns */
    LEAST_TEXT = 25         /* columns of meaning that are worth a column of their own */
};

static void help_line(const char *left, const char *meaning, unsigned width, struct ks_buf *to)
{
    const bool is_narrow = width && width < TEXT_AT + LEAST_TEXT;
    const unsigned at = is_narrow ? NARROW_AT : TEXT_AT;

    if (is_narrow || strlen(left) > LEFT)
        ks_buf_printf(to, "  %s\n%*s", left, (int)at, "");
    else
        ks_buf_printf(to, "  %-*s ", LEFT, left);
    ks_wrap_put(to, meaning, at, at, width);
    ks_buf_u8(to, '\n');
}

/* A flag is off unless it is given: that needs no words. */
static bool shows_default(const struct ks_opt *o)
{
    return o->def && *o->def && (o->type != KS_OPT_BOOL || strcmp(o->def, "no") != 0);
}

/* The help, and behind it values, range and default: "device backend (host, hip; default host)". */
void ks_opt_meaning(const struct ks_opt *o, struct ks_buf *to)
{
    const char *between = " (";

    ks_buf_printf(to, "%s", o->help);
    if (o->choices) {
        ks_buf_printf(to, "%s", between);
        put_choices(o, to);
        between = "; ";
    }
    if (has_range(o)) {
        ks_buf_printf(to, "%s", between);
        put_range(o, to);
        between = "; ";
    }
    if (shows_default(o))
        ks_buf_printf(to, "%sdefault %s", between, o->def);
    if (o->choices || has_range(o) || shows_default(o))
        ks_buf_u8(to, ')');
}

static void help_row(const struct ks_opt *o, unsigned width, struct ks_buf *to)
{
    char name[64], left[128], letter[8] = "    ";
    struct ks_buf meaning;

    spell(o->name, '-', name, sizeof(name));
    if (o->letter)
        snprintf(letter, sizeof(letter), "-%c, ", o->letter);
    snprintf(left, sizeof(left), "%s--%s%s%s", letter, name, o->arg ? " " : "",
             o->arg ? o->arg : "");
    ks_buf_init(&meaning);
    ks_opt_meaning(o, &meaning);
    help_line(left, ks_buf_text(&meaning), width, to);
    ks_buf_release(&meaning);
}

void ks_opt_help(const struct ks_opt *table, unsigned width, struct ks_buf *to)
{
    for (const struct ks_opt *o = table; o->name; o++)
        help_row(o, width, to);
    help_line("    --help", "print this help and exit", width, to);
}

void ks_opt_markdown(const struct ks_opt *table, struct ks_buf *to)
{
    ks_buf_printf(to, "| option | key | default | values | meaning |\n|---|---|---|---|---|\n");
    for (const struct ks_opt *o = table; o->name; o++) {
        char name[64], key[64];

        spell(o->name, '-', name, sizeof(name));
        spell(o->name, '_', key, sizeof(key));
        ks_buf_printf(to, "| ");
        if (o->letter)
            ks_buf_printf(to, "`-%c`, ", o->letter);
        ks_buf_printf(to, "`--%s%s%s` | `%s` | %s | ", name, o->arg ? " " : "",
                      o->arg ? o->arg : "", key,
                      tells_default(o) ? "see meaning" : default_text(o));
        if (o->choices)
            put_choices(o, to);
        else if (o->type == KS_OPT_BOOL)
            ks_buf_printf(to, "yes, no");
        else if (has_range(o))
            put_range(o, to);
        ks_buf_printf(to, " | %s |\n", o->help);
    }
}

void ks_opt_print(const struct ks_opt *o, const void *cfg, char *text_out, size_t cap)
{
    const void *slot = (const char *)cfg + o->offset;
    const struct ks_opt_list *list;
    char number[32];
    const char *s;

    switch (o->type) {
    case KS_OPT_BOOL:
        snprintf(text_out, cap, "%s", *(const bool *)slot ? "yes" : "no");
        break;
    case KS_OPT_U32:
        snprintf(text_out, cap, "%u", *(const uint32_t *)slot);
        break;
    case KS_OPT_U64:
        snprintf(text_out, cap, "%llu", *(const unsigned long long *)slot);
        break;
    case KS_OPT_F64:
        ks_f64_text(*(const double *)slot, number);
        snprintf(text_out, cap, "%s", number);
        break;
    case KS_OPT_DURATION_MS:
        snprintf(text_out, cap, "%ums", *(const uint32_t *)slot);
        break;
    case KS_OPT_ENUM:
        snprintf(text_out, cap, "%s", o->choices[*(const unsigned *)slot]);
        break;
    case KS_OPT_STR:
        s = *(const char *const *)slot;
        snprintf(text_out, cap, "%s", s ? s : "");
        break;
    case KS_OPT_LIST:
        list = slot;
        snprintf(text_out, cap, "%s", list->n ? list->text[list->n - 1] : "");
        break;
    }
}
