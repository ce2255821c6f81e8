/* SPDX-License-Identifier: MIT */
/* selector_write.c - a selector as C99 source: the arithmetic of features and of choosing,
 * verbatim, and tables of constants. Floats are written in hexadecimal, so none is rounded. */
#include "analysis/model/selector.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* selector_text.c, which the build makes of the sources of these names. */
extern const char ks_text_feature_h[], ks_text_feature_c[], ks_text_selector_h[],
    ks_text_selector_c[];

static const char *const rule_names[KS_SEL_N_RULES] = { "model",   "table",    "only", "class",
                                                        "outside", "unlisted", "safe" };

static void upper(const char *name, char out[64])
{
    size_t i = 0;

    for (; name[i] && i < 63; i++)
        out[i] = (char)toupper((unsigned char)name[i]);
    out[i] = '\0';
}

/* ---- header ---- */

static void put_numbers_of(struct ks_buf *to, const char *what, uint32_t n,
                           const char *(*name)(uint32_t))
{
    ks_buf_printf(to, "    int32_t %s; /*", what);
    for (uint32_t i = 0; i < n; i++)
        ks_buf_printf(to, "%s %" PRIu32 " %s", i ? "," : "", i, name(i));
    ks_buf_printf(to, " */\n");
}

static void put_problem(const struct ks_selector *s, const char *name, const char *big,
                        struct ks_buf *to)
{
    const char *const *dims = ks_operators[s->spec->op]->dim_names;

    ks_buf_printf(to, "/* Indices into dim. */\nenum {\n");
    for (size_t i = 0; dims[i]; i++) {
        char dim[64];

        upper(dims[i], dim);
        ks_buf_printf(to, "    %s_DIM_%s = %zu,\n", big, dim, i);
    }
    ks_buf_printf(
        to,
        "    %s_N_DIMS = %d\n};\n\n"
        "/* A problem as a problem list has it. Zero-initialise; spatial axes that it does "
        "not use have\n * extents, strides and dilations of 1 and no padding. */\n"
        "struct %s_problem {\n    int32_t op; /* %s_OPERATOR */\n",
        big, KS_FX_DIMS, name, big);
    put_numbers_of(to, "direction", KS_N_DIRECTIONS, ks_direction_name);
    put_numbers_of(to, "dtype", KS_N_DTYPES, ks_dtype_name);
    put_numbers_of(to, "layout", KS_N_LAYOUTS, ks_layout_name);
    ks_buf_printf(to, "    int64_t dim[%s_N_DIMS];\n};\n\n", big);
}

static void put_rules(const char *big, const char *name, struct ks_buf *to)
{
    static const char *const meanings[KS_SEL_N_RULES] = {
        "the trees",
        "the decision table",
        "only one candidate applies",
        "outside the range of training: static order of the problem's class",
        "the same, but training has too few problems of the class: static order of all problems",
        "none of the table's list applies: static order of the class, or of all problems",
        "none is known to apply: the first of that order that the mask allows",
    };

    ks_buf_printf(to, "/* Which rule chose. */\nenum %s_rule {\n", name);
    for (int i = 0; i < KS_SEL_N_RULES; i++) {
        char rule[64];

        upper(rule_names[i], rule);
        ks_buf_printf(to, "    %s_BY_%s, /* %s */\n", big, rule, meanings[i]);
    }
    ks_buf_printf(to, "};\n\n");
}

void ks_selector_write_header(const struct ks_selector *s, const char *name, struct ks_buf *to)
{
    char big[64];

    upper(name, big);
    ks_buf_printf(
        to,
        "/* %s.h - chooses kernel instances. Made by `ksweep-analyze select`; do not edit.\n"
        " * C99, no allocation, no state, no dependency: any thread may call anything. */\n"
        "#ifndef %s_H\n#define %s_H\n\n#include <stdint.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
        "#define %s_OPERATOR   %u /* %s */\n#define %s_CANDIDATES %u\n\n",
        name, big, big, big, s->spec->op, ks_operators[s->spec->op]->name, big,
        s->model.n_instances);
    put_problem(s, name, big, to);
    ks_buf_printf(to,
                  "struct %s_pick {\n    int32_t instance; /* below %s_CANDIDATES */\n"
                  "    float regret;     /* predicted time / that of the first - 1; NaN = not "
                  "predicted */\n};\n\n",
                  name, big);
    put_rules(big, name, to);
    ks_buf_printf(
        to,
        "/* The best k candidates, at most 64, best first. mask: NULL or [%s_CANDIDATES], 0 = not "
        "allowed.\n * Returns how many there are: at least 1, 0 only if the mask allows "
        "none or k < 1. */\n"
        "int %s_select(const struct %s_problem *p, const uint8_t *mask, struct %s_pick "
        "*picks, int k,\n               int *rule);\n"
        "/* The best one; -1: the mask allows none. */\n"
        "int %s_best(const struct %s_problem *p, const uint8_t *mask);\n"
        "const char *%s_instance_name(int instance); /* NULL: no such candidate */\n"
        "uint64_t %s_instance_id(int instance);      /* as in results.h5 */\n"
        "const char *%s_rule_name(int rule);\n"
        "/* A checksum of all features of a pair, for tests; 0 = it uses none. */\n"
        "uint32_t %s_feature_bits(const struct %s_problem *p, int instance);\n\n"
        "#ifdef __cplusplus\n}\n#endif\n#endif\n",
        big, name, name, name, name, name, name, name, name, name, name);
}

/* ---- source: constants ---- */

static void put_f64(struct ks_buf *to, double v)
{
    if (isnan(v))
        ks_buf_printf(to, "KS_NAN");
    else
        ks_buf_printf(to, "%a", v);
}

static void put_f32(struct ks_buf *to, float v)
{
    if (isnan(v))
        ks_buf_printf(to, "KS_NANF");
    else
        ks_buf_printf(to, "%af", (double)v);
}

static void put_doubles(struct ks_buf *to, const char *what, const double *v, size_t n)
{
    ks_buf_printf(to, "static const double %s[] = {", what);
    for (size_t i = 0; i < n; i++) {
        ks_buf_printf(to, i % 6 ? " " : "\n    ");
        put_f64(to, v[i]);
        ks_buf_printf(to, ",");
    }
    ks_buf_printf(to, "\n};\n");
}

static void put_shorts(struct ks_buf *to, const char *what, const uint16_t *v, size_t n)
{
    ks_buf_printf(to, "static const uint16_t %s[] = {", what);
    for (size_t i = 0; i < n; i++)
        ks_buf_printf(to, "%s%u,", i % 16 ? " " : "\n    ", v[i]);
    ks_buf_printf(to, "\n};\n");
}

static void put_instance(struct ks_buf *to, const struct ks_fx_instance *x)
{
    ks_buf_printf(to, "    { %d, %d, %d, %d, %d, {", x->op, x->direction, x->dtype, x->layout,
                  x->ndim);
    for (int k = 0; k < KS_FX_N_TRAITS; k++) {
        ks_buf_printf(to, k ? ", " : " ");
        put_f64(to, x->trait[k]);
    }
    ks_buf_printf(to, " },\n      {");
    for (int k = 0; k < KS_FX_NEEDS && (k == 0 || x->need[k - 1].kind); k++)
        ks_buf_printf(to, "%s{ %d, %d, %d, %d }", k ? ", " : " ", x->need[k].kind,
                      x->need[k].quantity, x->need[k].factor, x->need[k].value);
    ks_buf_printf(to, " } },\n");
}

/* As a line of a list; names come from plug-ins and imported files. */
static void put_string(struct ks_buf *to, const char *text)
{
    ks_buf_printf(to, "    \"");
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\' || c == '?') /* "??" begins a trigraph */
            ks_buf_printf(to, "\\%c", c);
        else if (c < ' ' || c > '~')
            ks_buf_printf(to, "\\%03o", c);
        else
            ks_buf_u8(to, c);
    }
    ks_buf_printf(to, "\",\n");
}

static void put_candidates(const struct ks_selector *s, struct ks_buf *to)
{
    const struct ks_sel_model *m = &s->model;

    ks_buf_printf(to, "static const struct ks_fx_instance sel_instances[] = {\n");
    for (int i = 0; i < m->n_instances; i++)
        put_instance(to, &m->instances[i]);
    ks_buf_printf(to, "};\nstatic const char *const sel_names[] = {\n");
    for (int i = 0; i < m->n_instances; i++)
        put_string(to, s->spec->instances[s->from[i]].name);
    ks_buf_printf(to, "};\nstatic const uint64_t sel_ids[] = {\n");
    for (int i = 0; i < m->n_instances; i++)
        ks_buf_printf(to, "    UINT64_C(0x%016" PRIx64 "),\n", s->spec->instances[s->from[i]].id);
    ks_buf_printf(to, "};\n");
    put_shorts(to, "sel_order", m->order, m->n_instances);
    if (m->class_first[KS_FX_N_CLASSES])
        put_shorts(to, "sel_class_orders", m->class_orders, m->class_first[KS_FX_N_CLASSES]);
    ks_buf_printf(to, "static const uint32_t sel_class_first[] = {");
    for (int i = 0; i <= KS_FX_N_CLASSES; i++)
        ks_buf_printf(to, "%s%" PRIu32 ",", i ? " " : "\n    ", m->class_first[i]);
    ks_buf_printf(to, "\n};\n");
    put_doubles(to, "sel_least", m->least, KS_FX_N_QUANTITIES);
    put_doubles(to, "sel_most", m->most, KS_FX_N_QUANTITIES);
}

static void put_table(const struct ks_selector *s, struct ks_buf *to)
{
    ks_buf_printf(to, "static const struct ks_sel_split sel_splits[] = {\n");
    for (size_t i = 0; i < s->table.n_splits; i++) {
        ks_buf_printf(to, "    { ");
        put_f64(to, s->table.splits[i].at);
        ks_buf_printf(to, ", %d, %u },\n", s->table.splits[i].quantity, s->table.splits[i].left);
    }
    ks_buf_printf(to, "};\n");
    put_shorts(to, "sel_lists", s->table.lists, s->table.n_lists * s->table.width);
}

static void put_trees(const struct ks_selector *s, struct ks_buf *to)
{
    const struct ks_sel_model *m = &s->model;
    const uint32_t n_nodes =
        m->n_trees < s->forest.n_trees ? s->forest.trees[m->n_trees].root : s->forest.n_nodes;

    put_shorts(to, "sel_index", m->index, m->n_features);
    ks_buf_printf(to, "static const float sel_values[] = {");
    for (size_t i = 0; i < (size_t)m->n_instances * m->n_values; i++) {
        ks_buf_printf(to, i % 8 ? " " : "\n    ");
        put_f32(to, m->values[i]);
        ks_buf_printf(to, ",");
    }
    ks_buf_printf(to, "%s\n};\nstatic const struct ks_sel_tree sel_trees[] = {",
                  m->n_values ? "" : " 0");
    for (uint32_t i = 0; i < m->n_trees; i++)
        ks_buf_printf(to, "%s{ %" PRIu32 ", %u },", i % 8 ? " " : "\n    ", m->trees[i].root,
                      m->trees[i].depth);
    ks_buf_printf(to, "\n};\nstatic const struct ks_sel_node sel_nodes[] = {");
    for (uint32_t i = 0; i < n_nodes; i++) {
        ks_buf_printf(to, i % 4 ? " { " : "\n    { ");
        put_f32(to, m->nodes[i].value);
        ks_buf_printf(to, ", %u, %u },", m->nodes[i].feature, m->nodes[i].left);
    }
    ks_buf_printf(to, "\n};\n");
}

/* ---- source: functions ---- */

static void put_model(const struct ks_selector *s, struct ks_buf *to)
{
    const struct ks_sel_model *m = &s->model;
    const bool has_trees = m->size != KS_SEL_DISTILLED;
    const double device[] = {
        m->device.units,        m->device.fast_bytes,   m->device.launch_ns,
        m->device.flops_per_ns, m->device.bytes_per_ns, m->device.fast_per_ns
    };

    ks_buf_printf(
        to,
        "static const struct ks_sel_model sel_model = {\n    %d, %d, %d, %u, %u, %u, %u,\n"
        "    %s, %s, sel_instances,\n    {",
        m->size, m->op, m->meaning, has_trees ? m->n_features : 0, has_trees ? m->n_problem : 0,
        has_trees ? m->n_values : 0, m->n_instances, has_trees ? "sel_index" : "0",
        has_trees ? "sel_values" : "0");
    for (int i = 0; i < 6; i++) {
        ks_buf_printf(to, i ? ", " : " ");
        put_f64(to, device[i]);
    }
    ks_buf_printf(to, " },\n    sel_least, sel_most, %s, %s, %" PRIu32 ", ",
                  has_trees ? "sel_nodes" : "0", has_trees ? "sel_trees" : "0",
                  has_trees ? m->n_trees : 0);
    put_f64(to, m->base);
    ks_buf_printf(to, ", ");
    put_f64(to, m->scale);
    ks_buf_printf(to, ",\n    %s, %s, %u, sel_order, %s, sel_class_first\n};\n\n",
                  m->splits ? "sel_splits" : "0", m->splits ? "sel_lists" : "0", m->width,
                  m->class_first[KS_FX_N_CLASSES] ? "sel_class_orders" : "sel_order");
}

/* `@` stands for the selector's name. */
static void put_named(struct ks_buf *to, const char *text, const char *name)
{
    for (; *text; text++) {
        if (*text == '@')
            ks_buf_printf(to, "%s", name);
        else
            ks_buf_u8(to, (uint8_t)*text);
    }
}

static const char api[] =
    "static struct ks_fx_problem sel_own(const struct @_problem *p)\n"
    "{\n"
    "    struct ks_fx_problem x;\n\n"
    "    x.op = p->op;\n"
    "    x.direction = p->direction;\n"
    "    x.dtype = p->dtype;\n"
    "    x.layout = p->layout;\n"
    "    memcpy(x.dim, p->dim, sizeof(x.dim));\n"
    "    return x;\n"
    "}\n\n"
    "int @_select(const struct @_problem *p, const uint8_t *mask, struct @_pick *picks, int k, int "
    "*rule)\n"
    "{\n"
    "    const struct ks_fx_problem x = sel_own(p);\n"
    "    struct ks_sel_pick own[64];\n"
    "    int n = ks_sel_select(&sel_model, &x, mask, own, k < 64 ? k : 64, rule);\n\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        picks[i].instance = own[i].instance;\n"
    "        picks[i].regret = own[i].regret;\n"
    "    }\n"
    "    return n;\n"
    "}\n\n"
    "int @_best(const struct @_problem *p, const uint8_t *mask)\n"
    "{\n"
    "    const struct ks_fx_problem x = sel_own(p);\n"
    "    struct ks_sel_pick own;\n"
    "    int rule;\n\n"
    "    return ks_sel_select(&sel_model, &x, mask, &own, 1, &rule) ? (int)own.instance : -1;\n"
    "}\n\n"
    "const char *@_instance_name(int instance)\n"
    "{\n"
    "    return instance >= 0 && instance < sel_model.n_instances ? sel_names[instance] : 0;\n"
    "}\n\n"
    "uint64_t @_instance_id(int instance)\n"
    "{\n"
    "    return instance >= 0 && instance < sel_model.n_instances ? sel_ids[instance] : 0;\n"
    "}\n\n"
    "const char *@_rule_name(int rule)\n"
    "{\n"
    "    return rule >= 0 && rule < KS_SEL_N_RULES ? sel_rules[rule] : \"?\";\n"
    "}\n\n";

static const char bits[] = "uint32_t @_feature_bits(const struct @_problem *p, int instance)\n"
                           "{\n"
                           "    const struct ks_fx_problem x = sel_own(p);\n"
                           "    float row[KS_SEL_FEATURES];\n\n"
                           "    if (p->op != sel_model.op || sel_model.n_features == 0)\n"
                           "        return 0;\n"
                           "    ks_sel_features(&sel_model, &x, instance, row);\n"
                           "    return ks_sel_bits(row, sel_model.n_features);\n"
                           "}\n";

static void put_rule_names(struct ks_buf *to)
{
    ks_buf_printf(to, "static const char *const sel_rules[] = {");
    for (int i = 0; i < KS_SEL_N_RULES; i++)
        ks_buf_printf(to, " \"%s\",", rule_names[i]);
    ks_buf_printf(to, " };\n");
}

void ks_selector_write_source(const struct ks_selector *s, const char *name, struct ks_buf *to)
{
    ks_buf_printf(
        to,
        "/* %s.c - made by `ksweep-analyze select`; do not edit. Compile it as C99 or later,"
        " without\n * -ffast-math. */\n#include \"%s.h\"\n\n#include <math.h>\n"
        "#include <string.h>\n\n#if defined(__GNUC__)\n"
        "#define KS_FX_API static __attribute__((unused))\n#else\n"
        "#define KS_FX_API static\n#endif\n#define KS_SEL_API KS_FX_API\n"
        "#define KS_SEL_FEATURES %zu\n#define KS_NAN ((double)NAN)\n"
        "#define KS_NANF ((float)NAN)\n\n",
        name, name, s->spec->n_features);
    ks_buf_printf(to, "%s\n%s\n%s\n%s\n", ks_text_feature_h, ks_text_selector_h, ks_text_feature_c,
                  ks_text_selector_c);
    put_candidates(s, to);
    if (s->model.splits)
        put_table(s, to);
    if (s->model.size != KS_SEL_DISTILLED)
        put_trees(s, to);
    put_rule_names(to);
    put_model(s, to);
    put_named(to, api, name);
    put_named(to, bits, name);
}

/* ---- its test ---- */

static uint32_t bits_of(const struct ks_selector *s, const struct ks_problem *p, int instance)
{
    const struct ks_fx_problem x = ks_feature_problem(p);
    float row[KS_SEL_FEATURES];

    if (s->model.size == KS_SEL_DISTILLED)
        return 0;
    ks_sel_features(&s->model, &x, instance, row);
    return ks_sel_bits(row, s->model.n_features);
}

static void put_case(const struct ks_selector *s, const struct ks_problem *p, struct ks_buf *to)
{
    struct ks_sel_pick picks[4];
    int rule = 0;
    const int n = ks_selector_pick(s, p, NULL, picks, 4, &rule);

    ks_buf_printf(to, "    { { %u, %u, %u, %u, {", p->op, p->direction, p->dtype, p->layout);
    for (int i = 0; i < KS_MAX_DIMS; i++)
        ks_buf_printf(to, " %" PRId64 ",", p->dim[i]);
    ks_buf_printf(to, " } },\n      %d, %d, {", n, rule);
    for (int i = 0; i < 4; i++)
        ks_buf_printf(to, " %d,", i < n ? picks[i].instance : -1);
    ks_buf_printf(to, " }, UINT32_C(%" PRIu32 ") },\n", bits_of(s, p, picks[0].instance));
}

static const char test_head[] =
    "/* test_@.c - made by `ksweep-analyze select`: what @.c must choose. */\n"
    "#include \"@.h\"\n\n#include <stdio.h>\n\n"
    "static const struct {\n    struct @_problem p;\n    int n, rule, picks[4];\n"
    "    uint32_t bits; /* of the features of the first pick */\n} cases[] = {\n";
static const char test_tail[] =
    "};\n\n"
    "int main(void)\n"
    "{\n"
    "    const int n_cases = (int)(sizeof(cases) / sizeof(cases[0]));\n"
    "    int n_bad = 0;\n\n"
    "    for (int c = 0; c < n_cases; c++) {\n"
    "        struct @_pick picks[4];\n"
    "        int rule = -1, n = @_select(&cases[c].p, 0, picks, 4, &rule);\n"
    "        int bad = n != cases[c].n || rule != cases[c].rule;\n\n"
    "        for (int i = 0; !bad && i < n; i++)\n"
    "            bad = picks[i].instance != cases[c].picks[i];\n"
    "        if (!bad && @_feature_bits(&cases[c].p, picks[0].instance) != cases[c].bits)\n"
    "            bad = 1;\n"
    "        if (bad)\n"
    "            printf(\"# problem %d: not what was predicted\\n\", c);\n"
    "        n_bad += bad;\n"
    "    }\n"
    "    printf(\"1..1\\n%sok 1 - %d problems\\n\", n_bad ? \"not \" : \"\", n_cases);\n"
    "    return n_bad != 0;\n"
    "}\n";

void ks_selector_write_test(const struct ks_selector *s, const char *name,
                            const struct ks_problem *problems, size_t n, struct ks_buf *to)
{
    put_named(to, test_head, name);
    for (size_t i = 0; i < n; i++)
        put_case(s, &problems[i], to);
    put_named(to, test_tail, name);
}
