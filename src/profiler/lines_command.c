/* SPDX-License-Identifier: MIT */
/* lines_command.c - expands the fields of a command template: "{c_total}", "{dtype}", "{ho}" */
#include "base/hash.h"
#include "base/opt.h"
#include "op/conv.h"
#include "profiler/lines_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const text_fields[] = { "program", "operator", "direction", "dtype",
                                           "layout",  "id",       NULL };
/* Of a grouped convolution, beside its dims. */
static const char *const conv_fields[] = { "c_per_group", "k_per_group", "do",    "ho", "wo",
                                           "pad_d",       "pad_h",       "pad_w", NULL };

static bool is_word(const char *const *names, const char *name, size_t n)
{
    for (; *names; names++)
        if (strlen(*names) == n && memcmp(*names, name, n) == 0)
            return true;
    return false;
}

bool ks_lines_field_known(const char *name, size_t n, const char **near_out)
{
    const char *all[128];
    size_t n_all = 0;
    char word[64];

    for (size_t i = 0; text_fields[i]; i++)
        all[n_all++] = text_fields[i];
    for (size_t i = 0; conv_fields[i]; i++)
        all[n_all++] = conv_fields[i];
    for (size_t op = 0; ks_operators[op]; op++)
        for (size_t d = 0; ks_operators[op]->dim_names[d] && n_all < 127; d++)
            all[n_all++] = ks_operators[op]->dim_names[d];
    all[n_all] = NULL;
    if (is_word(all, name, n))
        return true;
    snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), name);
    *near_out = ks_nearest(word, all);
    return false;
}

static int axis_of(char letter)
{
    return letter == 'd' ? 0 : letter == 'h' ? 1 : 2;
}

/* Does the field speak of a padding that differs in front and behind? */
static bool is_lopsided(const struct ks_problem *p, const char *name)
{
    int axis;

    if (strncmp(name, "pad_", 4) != 0)
        return false;
    axis = axis_of(name[4]);
    return p->dim[KS_CONV_PAD_D_LO + axis] != p->dim[KS_CONV_PAD_D_HI + axis];
}

static int64_t conv_value(const struct ks_problem *p, const char *name)
{
    const int64_t *d = p->dim;

    if (strncmp(name, "pad_", 4) == 0)
        return d[KS_CONV_PAD_D_LO + axis_of(name[4])];
    if (strcmp(name, "c_per_group") == 0)
        return d[KS_CONV_C_TOTAL] / d[KS_CONV_G];
    if (strcmp(name, "k_per_group") == 0)
        return d[KS_CONV_K_TOTAL] / d[KS_CONV_G];
    return ks_conv_out(p, axis_of(name[0]));
}

/* The field's value before options.words; false: the problem has no such field. */
static bool field_text(const struct ks_problem *p, const char *name, const char *program,
                       char *number, const char **out)
{
    int dim = ks_problem_dim(p->op, name);
    char hex[17];

    *out = number;
    if (strcmp(name, "program") == 0) {
        *out = program;
    } else if (strcmp(name, "operator") == 0) {
        *out = ks_operators[p->op]->name;
    } else if (strcmp(name, "direction") == 0) {
        *out = ks_direction_name(p->direction);
    } else if (strcmp(name, "dtype") == 0) {
        *out = ks_dtype_name(p->dtype);
    } else if (strcmp(name, "layout") == 0) {
        *out = ks_layout_name(p->layout);
    } else if (strcmp(name, "id") == 0) {
        ks_hex64(p->id, hex);
        memcpy(number, hex, sizeof hex);
    } else if (dim >= 0) {
        snprintf(number, 24, "%" PRId64, p->dim[dim]);
    } else if (ks_operators[p->op] == &ks_operator_grouped_conv &&
               is_word(conv_fields, name, strlen(name)) && !is_lopsided(p, name)) {
        snprintf(number, 24, "%" PRId64, conv_value(p, name));
    } else {
        return false;
    }
    return true;
}

/* What options.words says for the value, where it speaks of the field. */
static int translate(const struct ks_lines_options *o, const char *name, const char **text,
                     struct ks_err *err)
{
    const struct ks_node *words = ks_node_at(o->root, "words");
    const struct ks_node *map = words ? ks_node_at(words, name) : NULL;
    const struct ks_node *to;

    if (!map)
        return 0;
    to = ks_node_at(map, *text);
    if (!to)
        return ks_fail(err, KS_EUNSUPPORTED, "%s %.40s is missing in options.words.%s", name, *text,
                       name);
    return ks_node_str(o->doc, to, text, err);
}

static int put_field(const struct ks_lines_options *o, const char *name, const struct ks_problem *p,
                     const char *program, struct ks_buf *out, struct ks_err *err)
{
    const char *text = "";
    char number[24];
    int rc;

    if (!field_text(p, name, program, number, &text))
        return ks_fail(err, KS_EUNSUPPORTED, "this problem of %s has no '%.40s'%s",
                       ks_operators[p->op]->name, name,
                       strncmp(name, "pad_", 4) == 0 ? ": its paddings differ" : "");
    rc = translate(o, name, &text, err);
    if (rc == 0)
        ks_buf_printf(out, "%s", text);
    return rc;
}

int ks_lines_expand(const struct ks_lines_options *o, const char *word, const struct ks_problem *p,
                    const char *program, struct ks_buf *out, struct ks_err *err)
{
    while (*word) {
        size_t n = strcspn(word, "{}");
        char name[64];
        int rc;

        ks_buf_put(out, word, n);
        word += n;
        if (!*word)
            break;
        if (word[1] == word[0]) {
            ks_buf_u8(out, (uint8_t)word[0]);
            word += 2;
            continue;
        }
        n = strcspn(word + 1, "}");
        snprintf(name, sizeof name, "%.*s", (int)n, word + 1);
        rc = put_field(o, name, p, program, out, err);
        if (rc < 0)
            return rc;
        word += n + 2;
    }
    return ks_buf_ok(out) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory building a command line");
}
