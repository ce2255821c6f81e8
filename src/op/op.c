/* SPDX-License-Identifier: MIT */
/* op.c - problems of any operator: names, canonical text and id, CSV, parsing */
#include "op/op.h"
#include "op/conv.h"
#include "op/gemm.h"

#include "base/hash.h"
#include "base/opt.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct ks_operator *const ks_operators[] = { &ks_operator_grouped_conv, &ks_operator_gemm,
                                                   NULL };

static const char *const dtype_names[] = { "fp32", "fp16", "bf16", NULL };
static const char *const direction_names[] = { "forward", "backward_data", "backward_weight",
                                               NULL };
/* What else the directions are called; the same order. */
static const char *const direction_aliases[] = { "fwd", "bwd_data", "bwd_weight", NULL };
static const char *const layout_names[] = { "nhwgc", "ngchw", NULL };

/* Our numbers of them are those of a kernel's problem, which to_abi() copies; and each has a name.
 */
#define SAME(ours, abi) _Static_assert((int)(ours) == (int)(abi), #ours " is " #abi)
#define NAMED(names, n) _Static_assert(sizeof(names) / sizeof((names)[0]) == (n) + 1, #names)
SAME(KS_FP32, KS_ABI_FP32);
SAME(KS_FP16, KS_ABI_FP16);
SAME(KS_BF16, KS_ABI_BF16);
NAMED(dtype_names, KS_N_DTYPES);
SAME(KS_FORWARD, KS_ABI_FORWARD);
SAME(KS_BACKWARD_DATA, KS_ABI_BACKWARD_DATA);
SAME(KS_BACKWARD_WEIGHT, KS_ABI_BACKWARD_WEIGHT);
NAMED(direction_names, KS_N_DIRECTIONS);
NAMED(direction_aliases, KS_N_DIRECTIONS);
SAME(KS_NHWGC, KS_ABI_NHWGC);
SAME(KS_NGCHW, KS_ABI_NGCHW);
NAMED(layout_names, KS_N_LAYOUTS);

/* The fields before the operator's dims: one row each, in the order of the CSV columns. */
struct choice {
    const char *key;
    const char *const *names; /* NULL: the operators' names */
    size_t offset;
};
static const struct choice choices[] = {
    { "operator", NULL, offsetof(struct ks_problem, op) },
    { "direction", direction_names, offsetof(struct ks_problem, direction) },
    { "dtype", dtype_names, offsetof(struct ks_problem, dtype) },
    { "layout", layout_names, offsetof(struct ks_problem, layout) },
};
#define N_CHOICES (sizeof(choices) / sizeof(choices[0]))

static int name_index(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

int ks_dtype_from(const char *name)
{
    return name_index(dtype_names, name);
}

int ks_direction_from(const char *name)
{
    int i = name_index(direction_names, name);

    return i >= 0 ? i : name_index(direction_aliases, name);
}

int ks_layout_from(const char *name)
{
    return name_index(layout_names, name);
}

/* What others call them; [0] is ours. Read by nobody but people: a list must say what it means. */
static const char *const other_words[][2] = { { "fp32", "float32" },
                                              { "fp32", "float" },
                                              { "fp32", "f32" },
                                              { "fp32", "single" },
                                              { "fp16", "float16" },
                                              { "fp16", "half" },
                                              { "fp16", "f16" },
                                              { "bf16", "bfloat16" },
                                              { "nhwgc", "nhwc" },
                                              { "nhwgc", "channels_last" },
                                              { "nhwgc", "ndhwc" },
                                              { "nhwgc", "ndhwgc" },
                                              { "ngchw", "nchw" },
                                              { "ngchw", "ncdhw" },
                                              { "ngchw", "channels_first" },
                                              { "forward", "fprop" },
                                              { "backward_data", "dgrad" },
                                              { "backward_data", "bwd" },
                                              { "backward_weight", "wgrad" } };

const char *ks_word_nearest(const char *text, const char *const *names)
{
    for (size_t i = 0; i < sizeof(other_words) / sizeof(other_words[0]); i++)
        if (strcasecmp(other_words[i][1], text) == 0 && name_index(names, other_words[i][0]) >= 0)
            return other_words[i][0];
    return ks_nearest(text, names);
}

void ks_word_put_known(const char *of, const char *text, struct ks_buf *to)
{
    const char *const *names = NULL, *near;

    for (size_t i = 0; i < N_CHOICES; i++)
        if (strcmp(choices[i].key, of) == 0)
            names = choices[i].names;
    if (!names)
        return;
    near = ks_word_nearest(text, names);
    if (near)
        ks_buf_printf(to, "; did you mean '%s'?", near);
    ks_buf_printf(to, "%s", near ? " Known are " : "; known are ");
    for (int i = 0; names[i]; i++)
        ks_buf_printf(to, "%s%s", i ? ", " : "", names[i]);
}

const char *ks_dtype_name(uint32_t dtype)
{
    return dtype < KS_N_DTYPES ? dtype_names[dtype] : "?";
}

const char *ks_direction_name(uint32_t direction)
{
    return direction < KS_N_DIRECTIONS ? direction_names[direction] : "?";
}

const char *ks_layout_name(uint32_t layout)
{
    return layout < KS_N_LAYOUTS ? layout_names[layout] : "?";
}

int ks_operator_find(const char *name, uint32_t *op_out, struct ks_err *err)
{
    struct ks_buf known;
    int rc;

    for (uint32_t i = 0; ks_operators[i]; i++) {
        if (strcmp(ks_operators[i]->name, name) != 0)
            continue;
        *op_out = i;
        return 0;
    }
    ks_buf_init(&known);
    for (uint32_t i = 0; ks_operators[i]; i++)
        ks_buf_printf(&known, "%s%s", i ? ", " : "", ks_operators[i]->name);
    rc = ks_fail(err, KS_ENOENT, "unknown operator '%.64s'; known are %s", name,
                 ks_buf_text(&known));
    ks_buf_release(&known);
    return rc;
}

static bool is_operator(uint32_t op)
{
    uint32_t n = 0;

    while (ks_operators[n] && n < op)
        n++;
    return ks_operators[n] != NULL;
}

struct ks_problem ks_problem_blank(uint32_t op)
{
    struct ks_problem p = { .op = op, .count = 1 };

    for (int i = 0; ks_operators[op]->dim_names[i]; i++)
        p.dim[i] = ks_operators[op]->dim_defaults[i];
    return p;
}

int ks_problem_dim(uint32_t op, const char *name)
{
    return name_index(ks_operators[op]->dim_names, name);
}

static int check_common(const struct ks_problem *p, struct ks_err *err)
{
    if (!is_operator(p->op))
        return ks_fail(err, KS_EINVAL, "unknown operator %" PRIu32, p->op);
    if (p->direction >= KS_N_DIRECTIONS)
        return ks_fail(err, KS_EINVAL, "unknown direction %" PRIu32, p->direction);
    if (p->dtype >= KS_N_DTYPES)
        return ks_fail(err, KS_EINVAL, "unknown dtype %" PRIu32, p->dtype);
    if (p->layout >= KS_N_LAYOUTS)
        return ks_fail(err, KS_EINVAL, "unknown layout %" PRIu32, p->layout);
    if (p->count < 1)
        return ks_fail(err, KS_EINVAL, "count = %" PRId64 ", must be at least 1", p->count);
    if (!memchr(p->name, '\0', sizeof(p->name)))
        return ks_fail(err, KS_EINVAL, "name is longer than %d bytes", KS_NAME_MAX - 1);
    if (strpbrk(p->name, "\r\n"))
        return ks_fail(err, KS_EINVAL, "name has a line break, which CSV cannot represent");
    return 0;
}

static const char *choice_text(const struct ks_problem *p, const struct choice *c)
{
    uint32_t value;

    memcpy(&value, (const char *)p + c->offset, sizeof(value));
    return c->names ? c->names[value] : ks_operators[value]->name;
}

/* Behind the digits of v. */
static char *copy_number(char *at, int64_t v)
{
    char digits[24];
    size_t from = sizeof(digits);
    uint64_t rest = v < 0 ? -(uint64_t)v : (uint64_t)v;
    do {
        digits[--from] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (v < 0)
        digits[--from] = '-';
    memcpy(at, digits + from, sizeof(digits) - from);
    return at + sizeof(digits) - from;
}

/* A key, its value and what is between them: the names are ours and short (tests/unit/test_op.c).
 */
enum { FIELD_MAX = 64, CANONICAL_MAX = (KS_MAX_DIMS + N_CHOICES) * FIELD_MAX };

/* Returns the length. Without printf: a list of a million problems is to be read in a second. */
static size_t put_canonical(const struct ks_problem *p, char text_out[CANONICAL_MAX])
{
    const struct ks_operator *op = ks_operators[p->op];
    char *at = text_out;

    for (size_t i = 0; i < N_CHOICES; i++) {
        at = stpcpy(stpcpy(at, i ? " " : ""), choices[i].key);
        *at++ = '=';
        at = stpcpy(at, choice_text(p, &choices[i]));
    }
    for (int i = 0; op->dim_names[i]; i++) {
        *at++ = ' ';
        at = stpcpy(at, op->dim_names[i]);
        *at++ = '=';
        at = copy_number(at, p->dim[i]);
    }
    return (size_t)(at - text_out);
}

void ks_problem_canonical(const struct ks_problem *p, struct ks_buf *text_out)
{
    char text[CANONICAL_MAX];

    ks_buf_put(text_out, text, put_canonical(p, text));
}

int ks_problem_finish(struct ks_problem *p, struct ks_err *err)
{
    struct ks_problem done = *p;
    char text[CANONICAL_MAX];
    int rc;

    rc = check_common(p, err);
    if (rc == 0)
        rc = ks_operators[p->op]->check(&done, err);
    if (rc < 0)
        return rc;
    done.id = ks_id64(text, put_canonical(&done, text));
    *p = done;
    return 0;
}

void ks_problem_csv_header(uint32_t op, struct ks_buf *text_out)
{
    for (size_t i = 0; i < N_CHOICES; i++)
        ks_buf_printf(text_out, "%s,", choices[i].key);
    for (int i = 0; ks_operators[op]->dim_names[i]; i++)
        ks_buf_printf(text_out, "%s,", ks_operators[op]->dim_names[i]);
    ks_buf_printf(text_out, "count,name\n");
}

void ks_problem_csv_row(const struct ks_problem *p, struct ks_buf *text_out)
{
    for (size_t i = 0; i < N_CHOICES; i++)
        ks_buf_printf(text_out, "%s,", choice_text(p, &choices[i]));
    for (int i = 0; ks_operators[p->op]->dim_names[i]; i++)
        ks_buf_printf(text_out, "%" PRId64 ",", p->dim[i]);
    ks_buf_printf(text_out, "%" PRId64 ",", p->count);
    ks_csv_put(text_out, p->name);
    ks_buf_u8(text_out, '\n');
}

/* The value of "key=value" at *at, which then stands behind the space that ends it. */
static int take_value(const char **at, const char *key, char value_out[32], struct ks_err *err)
{
    size_t n_key = strlen(key), n_value;
    const char *value = *at + n_key + 1;

    if (strncmp(*at, key, n_key) != 0 || (*at)[n_key] != '=')
        return ks_fail(err, KS_EFORMAT, "problem text: '%s=' expected at '%.32s'", key, *at);
    n_value = strcspn(value, " ");
    if (n_value >= 32)
        return ks_fail(err, KS_EFORMAT, "problem text: value of '%s' is too long", key);
    memcpy(value_out, value, n_value);
    value_out[n_value] = '\0';
    *at = value + n_value + (value[n_value] == ' ');
    return 0;
}

static int take_choice(const char **at, const struct choice *c, struct ks_problem *p,
                       struct ks_err *err)
{
    char value[32];
    uint32_t index = 0;
    int rc = take_value(at, c->key, value, err);

    if (rc < 0)
        return rc;
    if (c->names) {
        int found = name_index(c->names, value);

        if (found < 0)
            return ks_fail(err, KS_EFORMAT, "problem text: unknown %s '%s'", c->key, value);
        index = (uint32_t)found;
    } else if (ks_operator_find(value, &index, NULL) < 0) {
        return ks_fail(err, KS_EFORMAT, "problem text: unknown operator '%s'", value);
    }
    memcpy((char *)p + c->offset, &index, sizeof(index));
    return 0;
}

static int take_number(const char **at, const char *key, int64_t *out, struct ks_err *err)
{
    char value[32], *end;
    int rc = take_value(at, key, value, err);

    if (rc < 0)
        return rc;
    errno = 0;
    *out = strtoll(value, &end, 10);
    if (errno || end == value || *end)
        return ks_fail(err, KS_EFORMAT, "problem text: %s = '%s' is not a number", key, value);
    return 0;
}

/* finish() may have settled fields that were not as printed: such a text has another id. */
static int check_canonical(const struct ks_problem *p, const char *text, struct ks_err *err)
{
    struct ks_buf again;
    int rc = 0;

    ks_buf_init(&again);
    ks_problem_canonical(p, &again);
    if (!ks_buf_ok(&again))
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    else if (strcmp(ks_buf_text(&again), text) != 0)
        rc = ks_fail(err, KS_EFORMAT, "problem text is not in canonical form");
    ks_buf_release(&again);
    return rc;
}

int ks_problem_parse(const char *canonical, struct ks_problem *p_out, struct ks_err *err)
{
    struct ks_problem p = { .count = 1 };
    const char *const *names;
    const char *at = canonical;
    int rc = 0;

    for (size_t i = 0; i < N_CHOICES && rc == 0; i++)
        rc = take_choice(&at, &choices[i], &p, err);
    names = ks_operators[p.op]->dim_names;
    for (int i = 0; rc == 0 && names[i]; i++)
        rc = take_number(&at, names[i], &p.dim[i], err);
    if (rc == 0)
        rc = ks_problem_finish(&p, err);
    if (rc == 0)
        rc = check_canonical(&p, canonical, err);
    if (rc == 0)
        *p_out = p;
    return rc;
}

double ks_problem_flops(const struct ks_problem *p)
{
    return ks_operators[p->op]->flops(p);
}

double ks_problem_min_bytes(const struct ks_problem *p)
{
    struct ks_extents e = ks_operators[p->op]->extents(p);

    return ((double)e.a + (double)e.b + (double)e.c) * (double)ks_dtype_bytes(p->dtype);
}
