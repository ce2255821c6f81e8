/* SPDX-License-Identifier: MIT */
/* import_ck_config.c - imports the config arrays of Composable Kernel's run_ck_profiler.py */
/* convert_pytorch_to_ck.py writes them: [{"operation_type", "profiler_args": {"data_type",
 * "layout", ..}, "metadata"}]. The arguments are those of a command line by name. README and code
 * spell operation_type in two ways, both are read. */
#include "grid/import.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* 1: appended; 0: refused; < 0 an error. So are the others here. */
static int put_number(struct ks_import *im, const struct ks_node *args, const char *key,
                      struct ks_buf *to)
{
    const struct ks_node *n = ks_node_at(args, key);
    int64_t v;

    if (!n || ks_node_kind(n) != KS_JSON_INT || ks_node_int(NULL, n, &v, NULL) < 0)
        return ks_import_refuse(im, "profiler_args.%s must be a whole number", key);
    ks_buf_printf(to, " %" PRId64, v);
    return 1;
}

static int put_numbers(struct ks_import *im, const struct ks_node *args, bool is_forward,
                       struct ks_buf *to)
{
    static const char *const keys[] = { "data_type", "layout", "index_type", "verify",
                                        "init",      "log",    "time",       "num_dim_spatial",
                                        "G",         "N",      "K",          "C" };
    int rc = 1;

    for (size_t i = 0; rc == 1 && i < sizeof keys / sizeof keys[0]; i++)
        if (i != 2 || is_forward)
            rc = put_number(im, args, keys[i], to);
    return rc;
}

static int put_spatial(struct ks_import *im, const struct ks_node *args, struct ks_buf *to)
{
    static const char *const keys[] = { "filter_spatial", "input_spatial", "strides",
                                        "dilations",      "left_pads",     "right_pads" };
    size_t n = 0;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct ks_node *list = ks_node_at(args, keys[i]);
        bool is_list = list && ks_node_kind(list) == KS_JSON_ARRAY && ks_node_size(list) <= 3;

        if (i == 0 && is_list)
            n = ks_node_size(list);
        if (!is_list || ks_node_size(list) != n)
            return ks_import_refuse(im, "profiler_args.%s must have as many numbers as the others",
                                    keys[i]);
        for (const struct ks_node *v = ks_node_first(list); v; v = ks_node_next(v)) {
            int64_t number;

            if (ks_node_kind(v) != KS_JSON_INT || ks_node_int(NULL, v, &number, NULL) < 0)
                return ks_import_refuse(im, "profiler_args.%s holds whole numbers", keys[i]);
            ks_buf_printf(to, " %" PRId64, number);
        }
    }
    return 1;
}

static void put_split_k(const struct ks_node *args, struct ks_buf *to)
{
    const struct ks_node *n = ks_node_at(args, "split_k");
    int64_t v = 0;

    if (n && ks_node_kind(n) == KS_JSON_INT && ks_node_int(NULL, n, &v, NULL) == 0)
        ks_buf_printf(to, " %" PRId64, v);
    else if (n)
        ks_buf_printf(to, " all");
}

static const char *text_at(const struct ks_node *object, const char *key)
{
    const struct ks_node *n =
        object && ks_node_kind(object) == KS_JSON_OBJECT ? ks_node_at(object, key) : NULL;
    const char *text = "";

    if (n && ks_node_kind(n) == KS_JSON_STRING)
        (void)ks_node_str(NULL, n, &text, NULL);
    return text;
}

static int64_t whole_at(const struct ks_node *object, const char *key)
{
    const struct ks_node *n =
        object && ks_node_kind(object) == KS_JSON_OBJECT ? ks_node_at(object, key) : NULL;
    int64_t v = 0;

    return n && ks_node_kind(n) == KS_JSON_INT && ks_node_int(NULL, n, &v, NULL) == 0 ? v : 0;
}

/* The arguments as a command line has them. 1: in `words`; 0: refused. */
static int put_words(struct ks_import *im, const struct ks_node *args, struct ks_buf *words)
{
    int rc;

    ks_buf_clear(words);
    rc = put_numbers(im, args, ks_node_at(args, "index_type") != NULL, words);
    if (rc == 1)
        rc = put_spatial(im, args, words);
    if (rc == 1)
        put_split_k(args, words);
    if (rc == 1 && !ks_buf_ok(words))
        rc = ks_fail(im->err, KS_ENOMEM, "out of memory reading a config");
    return rc;
}

static int read_config(struct ks_import *im, const struct ks_node *config, struct ks_buf *words)
{
    const struct ks_node *args = NULL, *metadata = NULL;
    const char *op = text_at(config, "operation_type"), *label;
    int64_t rank, count;
    int rc;

    im->line = ks_node_line(config);
    if (op[0]) {
        args = ks_node_at(config, "profiler_args");
        metadata = ks_node_at(config, "metadata");
    }
    if (!args || ks_node_kind(args) != KS_JSON_OBJECT)
        return ks_import_refuse(im, "a config has \"operation_type\" and \"profiler_args\": {..}");
    rc = put_words(im, args, words);
    if (rc <= 0)
        return rc;
    rank = whole_at(metadata, "priority_rank");
    count = whole_at(metadata, "count");
    label = text_at(metadata, "pytorch_op");
    im->count = count > 0 && count <= INT32_MAX ? count : 1;
    im->rank = rank > 0 && rank <= UINT32_MAX ? (uint32_t)rank : 0;
    im->label = label[0] ? label : NULL;
    op += strncmp(op, "profile_", 8) == 0 ? 8 : 0;
    return ks_import_ckprofiler_command(im, op, (char *)words->data);
}

static int ck_config_read(struct ks_problem_set *set, const char *text, size_t len,
                          const char *name, bool strict, struct ks_err *err)
{
    struct ks_json *doc = NULL;
    struct ks_buf words;
    struct ks_import im;
    int rc = ks_json_parse(text, len, name, &doc, err);

    if (rc < 0)
        return rc;
    ks_buf_init(&words);
    ks_import_start(&im, set, "", 0, name, strict, err);
    if (ks_node_kind(ks_json_root(doc)) != KS_JSON_ARRAY)
        rc = ks_fail(err, KS_EFORMAT, "%s: expected a list of configs", name);
    for (const struct ks_node *n = rc == 0 ? ks_node_first(ks_json_root(doc)) : NULL; n && rc == 0;
         n = ks_node_next(n))
        rc = read_config(&im, n, &words);
    ks_import_stop(&im);
    ks_buf_release(&words);
    ks_json_close(doc);
    return rc;
}

static bool ck_config_sniff(const char *text, size_t len)
{
    return memmem(text, len < 65536 ? len : 65536, "\"profiler_args\"", 15) != NULL;
}

const struct ks_importer ks_import_ck_config = { .name = "ck-config",
                                                 .sniff = ck_config_sniff,
                                                 .read = ck_config_read };
