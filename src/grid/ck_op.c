/* SPDX-License-Identifier: MIT */
/* ck_op.c - finds the operation that a config of Composable Kernel is for, and reads its problem */
/* Sources: ROCm/composable_kernel tile_engine/ops (folders, configs and their instance builders),
 * test/ck_tile/<operation>_tile_engine/configs, dispatcher/codegen. The files do not name their
 * operation: the library tells them apart by their folders. */
#include "grid/ck_op.h"
#include "grid/fields.h"

#include <stdio.h>
#include <string.h>

#define CK "kernels/ck/"

enum { CONV, GEMM, STREAMK, GROUPED, MX, PRESHUFFLE, N_READ };

static const struct ks_ck_op ops[] = {
    [CONV] = { "grouped_conv", CK "grouped_conv.family.json" },
    [GEMM] = { "gemm_universal", CK "gemm.family.json" },
    [STREAMK] = { "gemm_streamk", CK "gemm_streamk.family.json" },
    [GROUPED] = { "grouped_gemm", CK "grouped_gemm.family.json" },
    [MX] = { "mx_gemm", CK "mx_gemm.family.json" },
    [PRESHUFFLE] = { "gemm_preshuffle", CK "gemm_preshuffle.family.json" },
    { "batched_contraction", NULL },
    { "batched_gemm", NULL },
    { "contraction_multi_abd", NULL },
    { "flatmm", NULL },
    { "gemm_abquant", NULL },
    { "gemm_aquant", NULL },
    { "gemm_bquant", NULL },
    { "gemm_decode", NULL },
    { "gemm_multi_abd", NULL },
    { "gemm_multi_d", NULL },
    { "gemm_quant", NULL },
    { "gemm_rowcolquant", NULL },
    { "gemm_tensor_quant", NULL },
    { "grouped_gemm_quant", NULL },
    { "grouped_gemm_rowcolquant", NULL },
    { "grouped_gemm_tensorquant", NULL },
};
enum { N_OPS = sizeof ops / sizeof ops[0] };

int ks_ck_only(const struct ks_json *doc, const struct ks_node *obj, const char *const *keys,
               struct ks_err *err)
{
    const char *all[2 * KS_CK_KEYS_MAX]; /* what is left is for comments */
    size_t n = 0;

    while (keys[n] && n < KS_CK_KEYS_MAX) {
        all[n] = keys[n];
        n++;
    }
    for (const struct ks_node *c = ks_node_first(obj); c; c = ks_node_next(c))
        if (ks_node_key(c)[0] == '_' && n < sizeof all / sizeof all[0] - 1)
            all[n++] = ks_node_key(c);
    all[n] = NULL;
    return ks_node_only(doc, obj, all, err);
}

/* ---- the operation ---- */

/* The operation with the longest name that the word is, or begins with before '_', '-' or '.'. */
static const struct ks_ck_op *op_of_word(const char *word, size_t n)
{
    const struct ks_ck_op *best = NULL;
    size_t longest = 0;

    for (size_t i = 0; i < N_OPS; i++) {
        size_t len = strlen(ops[i].name);

        if (len > longest && len <= n && strncmp(ops[i].name, word, len) == 0 &&
            (len == n || strchr("_-.", word[len]))) {
            best = &ops[i];
            longest = len;
        }
    }
    return best;
}

/* The last part of the path that names one: the file itself, then its folders. */
static const struct ks_ck_op *op_of_path(const char *path)
{
    size_t end = strlen(path);

    while (end > 0) {
        size_t from = end;
        const struct ks_ck_op *op;

        while (from > 0 && path[from - 1] != '/')
            from--;
        op = op_of_word(path + from, end - from);
        if (op)
            return op;
        end = from > 0 ? from - 1 : 0;
    }
    return NULL;
}

static bool is_preshuffled(const struct ks_node *traits)
{
    const struct ks_node *values = ks_node_at(ks_node_at(traits, "pipeline"), "values");
    const struct ks_node *n = ks_node_kind(values) == KS_JSON_ARRAY ? ks_node_first(values) : NULL;
    bool is_all = n != NULL;

    for (; n; n = ks_node_next(n)) {
        const char *text = "";

        if (ks_node_kind(n) == KS_JSON_STRING)
            (void)ks_node_str(NULL, n, &text, NULL);
        is_all = is_all && strncmp(text, "preshuffle", 10) == 0;
    }
    return is_all;
}

static const struct ks_ck_op *op_of_content(const struct ks_node *root)
{
    const struct ks_node *traits = ks_node_at(root, "trait_config");

    if (ks_node_at(root, "variant") || !ks_node_at(root, "tile_config"))
        return &ops[CONV];
    if (ks_node_at(traits, "reduction_strategy") || ks_node_at(root, "streamk_config"))
        return &ops[STREAMK];
    if (ks_node_at(ks_node_at(root, "test_params"), "group_count"))
        return &ops[GROUPED];
    return is_preshuffled(traits) ? &ops[PRESHUFFLE] : &ops[GEMM];
}

static int read_name(const struct ks_json *doc, const struct ks_node *n,
                     const struct ks_ck_op **op_out, struct ks_err *err)
{
    const char *names[N_READ + 1] = { NULL };
    int which = 0, rc;

    for (int i = 0; i < N_READ; i++)
        names[i] = ops[i].name;
    rc = ks_grid_field_choice(doc, n, names, &which, err);
    if (rc == 0)
        *op_out = &ops[which];
    return rc;
}

int ks_ck_op_find(const struct ks_json *doc, const struct ks_node *root, const char *path,
                  const struct ks_ck_op **op_out, struct ks_err *err)
{
    const struct ks_ck_op *of_content = op_of_content(root), *of_path;
    const struct ks_node *named = ks_node_at(root, "operation");

    if (named)
        return read_name(doc, named, op_out, err);
    of_path = of_content == &ops[CONV] ? NULL : op_of_path(path);
    if (!of_path || of_path == &ops[GEMM] || of_path == &ops[CONV])
        of_path = of_content;
    if (!of_path->family)
        return ks_node_fail(doc, root, err,
                            "by its path this is a config of %s, for which there is no kernel "
                            "family; if it is not, add \"operation\": \"gemm_universal\"",
                            of_path->name);
    *op_out = of_path;
    return 0;
}

/* ---- the problem ---- */

/* { "values": ["r"] }: the one text. */
static int read_one(const struct ks_json *doc, const struct ks_node *problem, const char *key,
                    const char **out, struct ks_err *err)
{
    static const char *const keys[] = { "values", NULL };
    const struct ks_node *n = ks_node_at(problem, key), *values = NULL;
    int rc = 0;

    *out = NULL;
    if (!n)
        return 0;
    if (ks_node_kind(n) != KS_JSON_OBJECT)
        return ks_node_fail(doc, n, err, "expected { \"values\": [..] }");
    rc = ks_ck_only(doc, n, keys, err);
    if (rc == 0)
        rc = ks_grid_field_node(doc, n, "values", KS_JSON_ARRAY, &values, err);
    if (rc == 0 && ks_node_size(values) != 1)
        rc = ks_node_fail(doc, values, err, "expected one value: a config is for one problem");
    return rc < 0 ? rc : ks_node_str(doc, ks_node_first(values), out, err);
}

static int read_layout(const struct ks_json *doc, const struct ks_node *problem, char out[4],
                       struct ks_err *err)
{
    static const char *const keys[] = { "layout_a", "layout_b", "layout_c" };
    int n = 0, rc = 0;

    for (int i = 0; rc == 0 && i < 3; i++) {
        const char *text = NULL;

        rc = read_one(doc, problem, keys[i], &text, err);
        if (rc == 0 && text && (strlen(text) != 1 || !strchr("rc", text[0])))
            rc = ks_node_fail(doc, ks_node_at(problem, keys[i]), err,
                              "'%.40s' is neither r (rows) nor c (columns)", text);
        if (rc == 0 && text)
            out[n++] = text[0];
    }
    if (rc == 0 && n != 0 && n != 3)
        rc = ks_node_fail(doc, problem, err, "layout_a, layout_b and layout_c go together");
    return rc;
}

/* The type of the results, as the library chooses it. */
static const char *result_type(const char *dtype)
{
    if (strcmp(dtype, "int8") == 0)
        return "int32";
    return strcmp(dtype, "fp8") == 0 || strcmp(dtype, "bf8") == 0 || strcmp(dtype, "fp4") == 0
               ? "fp16"
               : dtype;
}

static int read_dtype(const struct ks_json *doc, const struct ks_node *problem, char out[16],
                      struct ks_err *err)
{
    const char *a, *b, *c, *all;
    int rc = read_one(doc, problem, "datatype", &all, err);

    if (rc == 0)
        rc = read_one(doc, problem, "datatype_a", &a, err);
    if (rc == 0)
        rc = read_one(doc, problem, "datatype_b", &b, err);
    if (rc == 0)
        rc = read_one(doc, problem, "datatype_c", &c, err);
    if (rc < 0)
        return rc;
    if (!all && !a && !b && !c)
        return 0;
    a = a ? a : all;
    b = b ? b : all;
    if (!a || !b || strcmp(a, b) != 0)
        return ks_node_fail(doc, problem, err, "A and B of different types are not supported");
    if (c && strcmp(c, result_type(a)) != 0)
        return ks_node_fail(doc, ks_node_at(problem, "datatype_c"), err,
                            "results of type '%.15s' are not supported: those of %.15s are %s", c,
                            a, result_type(a));
    snprintf(out, 16, "%.15s", a);
    return 0;
}

int ks_ck_problem_read(const struct ks_json *doc, const struct ks_node *problem,
                       struct ks_ck_problem *out, struct ks_err *err)
{
    static const char *const keys[] = { "layout_a",   "layout_b",    "layout_c",
                                        "datatype_a", "datatype_b",  "datatype_c",
                                        "datatype",   "description", NULL };
    struct ks_ck_problem p = { "", "" };
    int rc = ks_ck_only(doc, problem, keys, err);

    if (rc == 0)
        rc = read_layout(doc, problem, p.layout, err);
    if (rc == 0)
        rc = read_dtype(doc, problem, p.dtype, err);
    if (rc == 0)
        *out = p;
    return rc;
}
