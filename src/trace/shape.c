/* SPDX-License-Identifier: MIT */
/* shape.c - the four args that describe an operator's inputs, and the words for element types. */
#include "trace/operators.h"
#include "trace/text.h"

#include <string.h>

/* ---- element types ---- */

static const struct {
    const char *word;
    enum ks_trace_dtype type;
} words[] = {
    { "float", KS_TD_FP32 },
    { "c10::BFloat16", KS_TD_BF16 },
    { "c10::Half", KS_TD_FP16 },
    { "double", KS_TD_FP64 },
    { "long", KS_TD_INT64 },
    { "long int", KS_TD_INT64 },
    { "int", KS_TD_INT32 },
    { "bool", KS_TD_BOOL },
    { "signed char", KS_TD_INT8 },
    { "unsigned char", KS_TD_UINT8 },
    { "short", KS_TD_INT16 },
    { "short int", KS_TD_INT16 },
    { "c10::complex<float>", KS_TD_COMPLEX64 },
    { "c10::complex<double>", KS_TD_COMPLEX128 },
    { "at::BFloat16", KS_TD_BF16 },
    { "at::Half", KS_TD_FP16 },
};

enum ks_trace_dtype ks_trace_dtype_of(struct ks_span word)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (ks_span_is(word, words[i].word))
            return words[i].type;
    return ks_span_begins(word, "c10::Float8_") ? KS_TD_FP8 : KS_TD_UNKNOWN;
}

static const struct {
    const char *name;
    uint32_t bytes;
} types[KS_N_TD] = {
    [KS_TD_UNKNOWN] = { "unknown", 0 },     [KS_TD_FP64] = { "fp64", 8 },
    [KS_TD_FP32] = { "fp32", 4 },           [KS_TD_FP16] = { "fp16", 2 },
    [KS_TD_BF16] = { "bf16", 2 },           [KS_TD_FP8] = { "fp8", 1 },
    [KS_TD_INT64] = { "int64", 8 },         [KS_TD_INT32] = { "int32", 4 },
    [KS_TD_INT16] = { "int16", 2 },         [KS_TD_INT8] = { "int8", 1 },
    [KS_TD_UINT8] = { "uint8", 1 },         [KS_TD_BOOL] = { "bool", 1 },
    [KS_TD_COMPLEX64] = { "complex64", 8 }, [KS_TD_COMPLEX128] = { "complex128", 16 },
};

uint32_t ks_trace_dtype_bytes(enum ks_trace_dtype t)
{
    return types[t].bytes;
}

const char *ks_trace_dtype_name(enum ks_trace_dtype t)
{
    return types[t].name;
}

/* ---- inputs ---- */

/* Whole numbers >= 0 (dims) or any (strides). false: something else, or too many. */
static bool read_numbers(struct ks_span list, int64_t *out, uint32_t *n_out)
{
    struct ks_trace_walk w = ks_trace_walk(list);
    struct ks_trace_member m;
    uint32_t n = 0;

    while (ks_trace_walk_next(&w, &m)) {
        if (n == KS_SHAPE_MAX_DIMS || !ks_trace_int(m.value, &out[n]) || out[n] < 0)
            return false;
        n++;
    }
    *n_out = n;
    return !w.is_bad;
}

static double product(const int64_t *dim, uint32_t n)
{
    double v = 1;

    for (uint32_t i = 0; i < n; i++)
        v *= (double)dim[i];
    return v;
}

static bool read_list(struct ks_span list, struct ks_shape_input *in)
{
    struct ks_trace_walk w = ks_trace_walk(list);
    struct ks_trace_member m;

    in->is_list = true;
    while (ks_trace_walk_next(&w, &m)) {
        int64_t dim[KS_SHAPE_MAX_DIMS];
        uint32_t n;

        if (!read_numbers(m.value, dim, &n))
            return false;
        in->n_elements += product(dim, n);
    }
    return !w.is_bad;
}

static bool is_list(struct ks_span dims)
{
    return dims.n >= 2 && dims.p[1] == '[';
}

static bool read_dims(struct ks_span line, struct ks_shape *s)
{
    struct ks_trace_walk w = ks_trace_walk(line);
    struct ks_trace_member m;

    while (ks_trace_walk_next(&w, &m)) {
        struct ks_shape_input *in = &s->in[s->n];
        bool is_ok;

        if (s->n == KS_SHAPE_MAX_INPUTS) {
            s->is_cut = true;
            return true;
        }
        is_ok =
            is_list(m.value) ? read_list(m.value, in) : read_numbers(m.value, in->dim, &in->n_dims);
        if (!is_ok)
            return false;
        in->dims = m.value;
        if (!in->is_list)
            in->n_elements = product(in->dim, in->n_dims);
        s->n++;
    }
    return !w.is_bad;
}

static void read_types(struct ks_span line, struct ks_shape *s)
{
    struct ks_trace_walk w = ks_trace_walk(line);
    struct ks_trace_member m;

    for (uint32_t i = 0; i < s->n && ks_trace_walk_next(&w, &m); i++) {
        s->in[i].dtype = ks_trace_dtype_of(m.value);
        s->in[i].is_tensor = s->in[i].dtype != KS_TD_UNKNOWN;
        s->in[i].is_list |= ks_span_is(m.value, "TensorList");
    }
}

static void read_strides(struct ks_span line, struct ks_shape *s)
{
    struct ks_trace_walk w = ks_trace_walk(line);
    struct ks_trace_member m;

    for (uint32_t i = 0; i < s->n && ks_trace_walk_next(&w, &m); i++) {
        uint32_t n;

        s->in[i].has_strides = !is_list(m.value) && read_numbers(m.value, s->in[i].stride, &n) &&
                               n == s->in[i].n_dims && n > 0;
    }
}

static void read_concrete(struct ks_span line, struct ks_shape *s)
{
    struct ks_trace_walk w = ks_trace_walk(line);
    struct ks_trace_member m;

    for (uint32_t i = 0; i < s->n && ks_trace_walk_next(&w, &m); i++)
        if (m.is_string)
            s->in[i].concrete = m.value;
}

bool ks_shape_read(const char *text, struct ks_shape *out)
{
    struct ks_span line[4] = { { NULL, 0 } };

    memset(out, 0, sizeof(*out));
    for (int i = 0; i < 4; i++) {
        line[i] = (struct ks_span){ text, strcspn(text, "\n") };
        text += line[i].n + (text[line[i].n] == '\n');
    }
    if (line[0].n == 0 || !read_dims(line[0], out))
        return false;
    read_types(line[1], out);
    read_strides(line[2], out);
    read_concrete(line[3], out);
    return true;
}
