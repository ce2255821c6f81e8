/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "base/opt.h"

#include <string.h>

/* The name as an option ('-') or as a job key ('_'). */
static void spell(const char *name, char joint, char *out, size_t cap)
{
    size_t i;

    for (i = 0; name[i] && i + 1 < cap; i++)
        out[i] = name[i] == '-' || name[i] == '_' ? joint : name[i];
    out[i] = '\0';
}

static void put_choices(const struct ks_opt *o, const char *between, FILE *to)
{
    for (unsigned i = 0; o->choices && o->choices[i]; i++)
        fprintf(to, "%s%s", i ? between : "", o->choices[i]);
}

/* "500" ms is hard to read as a default of minutes; the text stays what the table says. */
static const char *default_text(const struct ks_opt *o)
{
    return o->def && *o->def ? o->def : "none";
}

static bool has_range(const struct ks_opt *o)
{
    return (o->min != 0 || o->max != 0) && o->type != KS_OPT_STR && o->type != KS_OPT_ENUM &&
           o->type != KS_OPT_BOOL;
}

static const char *range_unit(const struct ks_opt *o)
{
    return o->type == KS_OPT_DURATION_MS ? " ms" : "";
}

void ks_opt_help(const struct ks_opt *table, FILE *to)
{
    for (const struct ks_opt *o = table; o->name; o++) {
        char name[64], left[128], letter[8] = "    ";

        spell(o->name, '-', name, sizeof(name));
        if (o->letter)
            snprintf(letter, sizeof(letter), "-%c, ", o->letter);
        snprintf(left, sizeof(left), "%s--%s%s%s", letter, name, o->arg ? " " : "",
                 o->arg ? o->arg : "");
        fprintf(to, "  %-28s %s", left, o->help);
        if (o->choices) {
            fputs(": ", to);
            put_choices(o, " ", to);
        }
        if (has_range(o))
            fprintf(to, ", %.12g to %.12g%s", o->min, o->max, range_unit(o));
        fprintf(to, " (default %s)\n", default_text(o));
    }
    fprintf(to, "  %-28s %s\n", "    --help", "print this and stop");
}

void ks_opt_markdown(const struct ks_opt *table, FILE *to)
{
    fputs("| option | key | default | values | meaning |\n|---|---|---|---|---|\n", to);
    for (const struct ks_opt *o = table; o->name; o++) {
        char name[64], key[64];

        spell(o->name, '-', name, sizeof(name));
        spell(o->name, '_', key, sizeof(key));
        fputs("| ", to);
        if (o->letter)
            fprintf(to, "`-%c`, ", o->letter);
        fprintf(to, "`--%s%s%s` | `%s` | %s | ", name, o->arg ? " " : "", o->arg ? o->arg : "", key,
                default_text(o));
        if (o->choices)
            put_choices(o, ", ", to);
        else if (o->type == KS_OPT_BOOL)
            fputs("yes, no", to);
        else if (has_range(o))
            fprintf(to, "%.12g to %.12g%s", o->min, o->max, range_unit(o));
        fprintf(to, " | %s |\n", o->help);
    }
}

void ks_opt_print(const struct ks_opt *o, const void *cfg, char *text_out, size_t cap)
{
    const void *slot = (const char *)cfg + o->offset;
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
    }
}
