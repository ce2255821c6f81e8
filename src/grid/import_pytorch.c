/* SPDX-License-Identifier: MIT */
/* import_pytorch.c - imports conv_repros_ir.json: PyTorch operators with arguments, for replay */
/* Source: the schema that Composable Kernel's convert_pytorch_to_ck.py and TraceLens's EventReplay
 * read and write: [{"op_name", "replay_ir": {"list_pos_args": [{"arg_name", "arg_type", "value"}]},
 * "metadata": {"count", "priority_rank", "total_kernel_us"}}]. */
#include "grid/import.h"
#include "grid/trace_problems.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- arguments, as the model of traces words them ---- */

static void put_ints(const struct ks_node *list, const char *between, struct ks_buf *to)
{
    const char *before = "";
    int64_t v;

    ks_buf_u8(to, '[');
    for (const struct ks_node *n = ks_node_first(list); n; n = ks_node_next(n)) {
        bool is_true = false;

        if (ks_node_kind(n) == KS_JSON_INT && ks_node_int(NULL, n, &v, NULL) == 0)
            ks_buf_printf(to, "%s%" PRId64, before, v);
        else if (ks_node_kind(n) == KS_JSON_BOOL && ks_node_bool(NULL, n, &is_true, NULL) == 0)
            ks_buf_printf(to, "%s%s", before, is_true ? "True" : "False");
        before = between;
    }
    ks_buf_u8(to, ']');
}

static const struct ks_node *tensor_of(const struct ks_node *arg)
{
    const struct ks_node *value = ks_node_at(arg, "value");

    return value && ks_node_kind(value) == KS_JSON_OBJECT ? value : NULL;
}

static void put_type(const struct ks_node *tensor, struct ks_buf *to)
{
    const struct ks_node *dtype = tensor ? ks_node_at(tensor, "dtype") : NULL;
    const char *text = "";

    if (dtype && ks_node_kind(dtype) == KS_JSON_STRING)
        (void)ks_node_str(NULL, dtype, &text, NULL);
    ks_buf_printf(to, "\"%s\"", strpbrk(text, "\"\\\n") ? "" : text);
}

static void put_scalar(const struct ks_node *arg, struct ks_buf *to)
{
    const struct ks_node *value = ks_node_at(arg, "value");
    bool is_true = false;
    int64_t v;

    ks_buf_u8(to, '"');
    if (value && ks_node_kind(value) == KS_JSON_ARRAY)
        put_ints(value, ", ", to);
    else if (value && ks_node_kind(value) == KS_JSON_INT && ks_node_int(NULL, value, &v, NULL) == 0)
        ks_buf_printf(to, "%" PRId64, v);
    else if (value && ks_node_kind(value) == KS_JSON_BOOL &&
             ks_node_bool(NULL, value, &is_true, NULL) == 0)
        ks_buf_printf(to, "%s", is_true ? "True" : "False");
    ks_buf_u8(to, '"');
}

enum line { LINE_DIMS, LINE_TYPES, LINE_STRIDES, LINE_CONCRETE, N_LINES };

static void put_line(const struct ks_node *args, enum line line, struct ks_buf *to)
{
    static const char *const keys[] = { [LINE_DIMS] = "shape", [LINE_STRIDES] = "strides" };

    ks_buf_printf(to, "%s[", line == LINE_DIMS ? "" : "\n");
    for (const struct ks_node *a = ks_node_first(args); a; a = ks_node_next(a)) {
        const struct ks_node *tensor = tensor_of(a);

        if (line == LINE_TYPES)
            put_type(tensor, to);
        else if (line == LINE_CONCRETE)
            put_scalar(a, to);
        else if (tensor)
            put_ints(ks_node_at(tensor, keys[line]), ",", to);
        else
            ks_buf_printf(to, "[]");
        ks_buf_printf(to, "%s", ks_node_next(a) ? "," : "");
    }
    ks_buf_u8(to, ']');
}

/* ---- operations ---- */

struct operation {
    const char *name;
    struct ks_buf shapes;
    int64_t count, time_ns;
    uint32_t rank;
};

static void read_metadata(const struct ks_node *metadata, struct operation *op)
{
    const struct ks_node *count = metadata ? ks_node_at(metadata, "count") : NULL;
    const struct ks_node *us = metadata ? ks_node_at(metadata, "total_kernel_us") : NULL;
    const struct ks_node *rank = metadata ? ks_node_at(metadata, "priority_rank") : NULL;
    int64_t whole = 0;
    double v;

    if (count && ks_node_kind(count) == KS_JSON_INT)
        (void)ks_node_int(NULL, count, &op->count, NULL);
    if (rank && ks_node_kind(rank) == KS_JSON_INT && ks_node_int(NULL, rank, &whole, NULL) == 0 &&
        whole > 0 && whole <= UINT32_MAX)
        op->rank = (uint32_t)whole;
    if (us && (ks_node_kind(us) == KS_JSON_REAL || ks_node_kind(us) == KS_JSON_INT) &&
        ks_node_real(NULL, us, &v, NULL) == 0 && v > 0 && v < 9e15)
        op->time_ns = (int64_t)(v * 1e3 + 0.5);
}

/* NULL, or what is wrong. */
static const char *read_operation(const struct ks_node *node, struct operation *op)
{
    const struct ks_node *name = ks_node_at(node, "op_name"), *ir = ks_node_at(node, "replay_ir");
    const struct ks_node *args = ir ? ks_node_at(ir, "list_pos_args") : NULL;

    if (!name || ks_node_kind(name) != KS_JSON_STRING || !args ||
        ks_node_kind(args) != KS_JSON_ARRAY)
        return "an operation has \"op_name\" and \"replay_ir\": {\"list_pos_args\": [...]}";
    (void)ks_node_str(NULL, name, &op->name, NULL);
    for (int line = LINE_DIMS; line < N_LINES; line++)
        put_line(args, (enum line)line, &op->shapes);
    read_metadata(ks_node_at(node, "metadata"), op);
    return op->count >= 1 ? NULL : "metadata.count is below 1";
}

static int take_operation(struct ks_import *im, const struct operation *op)
{
    struct ks_problem p[KS_TRACE_PROBLEMS_MAX];
    const struct ks_trace_times times = { .either_ns = op->time_ns };
    int64_t time_ns[KS_TRACE_PROBLEMS_MAX];
    struct ks_trace_problem what;
    struct ks_err why;
    int n, rc;

    ks_trace_problem_of(op->name, ks_buf_text(&op->shapes), &what);
    if (what.kind == KS_TRACE_PROBLEM_NONE)
        return ks_import_refuse(im, "%.60s: neither a convolution nor a matrix product", op->name);
    if (what.kind == KS_TRACE_PROBLEM_REFUSED)
        return ks_import_refuse(im, "%.60s: %.80s", op->name, what.why);
    n = ks_trace_problem_make(&what, p, &why);
    for (int i = 0; n >= 0 && i < n; i++) {
        p[i].count = op->count;
        snprintf(p[i].name, sizeof(p[i].name), "%.70s%s", op->name,
                 what.is_ambiguous ? " (layout assumed)" : "");
        if (ks_problem_finish(&p[i], &why) < 0)
            n = -1;
    }
    if (n < 0)
        return ks_import_refuse_err(im, &why);
    ks_trace_times_share(&times, p, n, time_ns);
    im->rank = op->rank;
    rc = ks_import_take(im, p, (size_t)n);
    for (int i = 0; rc == 0 && i < n; i++)
        ks_problem_set_add_time(im->set, p[i].id, time_ns[i]);
    return rc;
}

static int read_node(struct ks_import *im, const struct ks_node *node)
{
    struct operation op = { .count = 1 };
    const char *wrong;
    int rc;

    im->line = ks_node_line(node);
    if (ks_node_kind(node) != KS_JSON_OBJECT)
        return ks_import_refuse(im, "an operation is an object");
    ks_buf_init(&op.shapes);
    wrong = read_operation(node, &op);
    if (wrong)
        rc = ks_import_refuse(im, "%s", wrong);
    else if (!ks_buf_ok(&op.shapes))
        rc = ks_fail(im->err, KS_ENOMEM, "no memory for the arguments of an operator");
    else
        rc = take_operation(im, &op);
    ks_buf_release(&op.shapes);
    return rc;
}

static int pytorch_read(struct ks_problem_set *set, const char *text, size_t len, const char *name,
                        bool strict, struct ks_err *err)
{
    struct ks_json *doc = NULL;
    struct ks_import im;
    int rc = ks_json_parse(text, len, name, &doc, err);

    if (rc < 0)
        return rc;
    ks_import_start(&im, set, "", 0, name, strict, err);
    if (ks_node_kind(ks_json_root(doc)) != KS_JSON_ARRAY)
        rc = ks_fail(err, KS_EFORMAT, "%s: expected a list of operations", name);
    for (const struct ks_node *n = rc == 0 ? ks_node_first(ks_json_root(doc)) : NULL; n && rc == 0;
         n = ks_node_next(n))
        rc = read_node(&im, n);
    ks_import_stop(&im);
    ks_json_close(doc);
    return rc;
}

static bool pytorch_sniff(const char *text, size_t len)
{
    return memmem(text, len < 65536 ? len : 65536, "\"replay_ir\"", 11) != NULL;
}

const struct ks_importer ks_import_pytorch = { .name = "pytorch",
                                               .sniff = pytorch_sniff,
                                               .read = pytorch_read };
