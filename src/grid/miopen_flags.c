/* SPDX-License-Identifier: MIT */
/* miopen_flags.c - parses the flags of MIOpenDriver's convolutions, with the driver's defaults */
#include "grid/miopen_flags.h"

#include "base/opt.h"
#include "grid/import.h"

#include <stdio.h>
#include <string.h>

struct row {
    const char *name;
    char letter;
    int flag; /* KS_MIO_N_USED: ignored */
    const char *def;
};

/* Source: ROCm/MIOpen driver/conv_driver.hpp, AddCmdLineArgs. */
static const struct row rows[] = {
    { "spatial_dim", '_', KS_MIO_SPATIAL, "2" },
    { "forw", 'F', KS_MIO_FORW, "0" },
    { "batchsize", 'n', KS_MIO_N, "100" },
    { "in_channels", 'c', KS_MIO_C, "3" },
    { "out_channels", 'k', KS_MIO_K, "32" },
    { "group_count", 'g', KS_MIO_GROUPS, "1" },
    { "tensor_vect", 'Z', KS_MIO_TENSOR_VECT, "0" },
    { "in_d", '!', KS_MIO_IN_D, "32" },
    { "in_h", 'H', KS_MIO_IN_H, "32" },
    { "in_w", 'W', KS_MIO_IN_W, "32" },
    { "fil_d", '@', KS_MIO_FIL_D, "3" },
    { "fil_h", 'y', KS_MIO_FIL_H, "3" },
    { "fil_w", 'x', KS_MIO_FIL_W, "3" },
    { "conv_stride_d", '#', KS_MIO_STRIDE_D, "1" },
    { "conv_stride_h", 'u', KS_MIO_STRIDE_H, "1" },
    { "conv_stride_w", 'v', KS_MIO_STRIDE_W, "1" },
    { "dilation_d", '^', KS_MIO_DILATION_D, "1" },
    { "dilation_h", 'l', KS_MIO_DILATION_H, "1" },
    { "dilation_w", 'j', KS_MIO_DILATION_W, "1" },
    { "pad_d", '$', KS_MIO_PAD_D, "0" },
    { "pad_h", 'p', KS_MIO_PAD_H, "0" },
    { "pad_w", 'q', KS_MIO_PAD_W, "0" },
    { "trans_output_pad_d", '%', KS_MIO_TRANS_PAD_D, "0" },
    { "trans_output_pad_h", 'Y', KS_MIO_TRANS_PAD_H, "0" },
    { "trans_output_pad_w", 'X', KS_MIO_TRANS_PAD_W, "0" },
    { "mode", 'm', KS_MIO_MODE, "conv" },
    { "pad_mode", 'z', KS_MIO_PAD_MODE, "default" },
    { "in_layout", 'I', KS_MIO_IN_LAYOUT, "" },
    { "fil_layout", 'f', KS_MIO_FIL_LAYOUT, "" },
    { "out_layout", 'O', KS_MIO_OUT_LAYOUT, "" },
    { "in_cast_type", 'U', KS_MIO_IN_CAST, "-1" },
    { "out_cast_type", 'T', KS_MIO_OUT_CAST, "-1" },
    { "wei_cast_type", 'R', KS_MIO_WEI_CAST, "-1" },
    { "pad_val", 'r', KS_MIO_N_USED, NULL },
    { "iter", 'i', KS_MIO_N_USED, NULL },
    { "verify", 'V', KS_MIO_N_USED, NULL },
    { "verification_cache", 'C', KS_MIO_N_USED, NULL },
    { "time", 't', KS_MIO_N_USED, NULL },
    { "wall", 'w', KS_MIO_N_USED, NULL },
    { "search", 's', KS_MIO_N_USED, NULL },
    { "printconv", 'P', KS_MIO_N_USED, NULL },
    { "dump_output", 'o', KS_MIO_N_USED, NULL },
    { "in_data", 'd', KS_MIO_N_USED, NULL },
    { "weights", 'e', KS_MIO_N_USED, NULL },
    { "bias", 'b', KS_MIO_N_USED, NULL },
    { "in_bias", 'a', KS_MIO_N_USED, NULL },
    { "dout_data", 'D', KS_MIO_N_USED, NULL },
    { "vector_length", 'L', KS_MIO_N_USED, NULL },
    { "solution", 'S', KS_MIO_N_USED, NULL },
    { "gpualloc", 'G', KS_MIO_N_USED, NULL },
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static const struct row *find_flag(const char *word, char *why, size_t cap)
{
    const char *names[N_ROWS + 1] = { NULL }, *near;
    bool is_long = word[0] == '-' && word[1] == '-';

    if (word[0] != '-' || !word[1]) {
        snprintf(why, cap, "expected a flag, found '%.40s'", word);
        return NULL;
    }
    for (int i = 0; i < N_ROWS; i++) {
        if (is_long ? strcmp(rows[i].name, word + 2) == 0 : rows[i].letter == word[1] && !word[2])
            return &rows[i];
        names[i] = rows[i].name;
    }
    near = is_long ? ks_nearest(word + 2, names) : NULL;
    snprintf(why, cap, "unknown flag '%.40s'%s%s%s", word, near ? ", did you mean '--" : "",
             near ? near : "", near ? "'" : "");
    return NULL;
}

/* "-1" is a value, "-n" and "--in_h" are flags: then the value before them is missing. */
static bool is_flag(const char *word)
{
    return word[0] == '-' && !strchr("0123456789.", word[1]);
}

static bool store(const struct row *r, const char *value, struct ks_miopen_flags *out, char *why,
                  size_t cap)
{
    const char *wrong;
    int64_t v;

    if (r->flag == KS_MIO_N_USED)
        return true;
    if (r->flag >= KS_MIO_N_NUMBERS) {
        if (strlen(value) >= sizeof out->text[0]) {
            snprintf(why, cap, "--%s: '%.40s' is not a known value", r->name, value);
            return false;
        }
        memcpy(out->text[r->flag], value, strlen(value) + 1);
        return true;
    }
    wrong = ks_import_number(value, &v);
    if (wrong) {
        snprintf(why, cap, "--%s: '%.40s' %s", r->name, value, wrong);
        return false;
    }
    if (v > INT32_MAX || v < INT32_MIN) {
        snprintf(why, cap, "--%s: %.40s is out of range", r->name, value);
        return false;
    }
    out->value[r->flag] = v;
    return true;
}

/* Lists of 2-D problems carry zeros for the depth; the driver takes max(group_count, 1). */
static void replace_zeros(struct ks_miopen_flags *f)
{
    static const int ones[] = { KS_MIO_STRIDE_D, KS_MIO_DILATION_D, KS_MIO_GROUPS };

    for (size_t i = 0; i < sizeof ones / sizeof ones[0]; i++)
        if (f->value[ones[i]] == 0)
            f->value[ones[i]] = 1;
}

/* "$EXTRA", "${EXTRA}", "$@", "$1": what it holds is not known here. */
static bool is_variable(const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t n;

    if (word[0] != '$')
        return false;
    if (word[1] == '{')
        n = strcspn(word, "}");
    else if (word[1] && strchr("@*#", word[1]))
        n = 1;
    else
        n = strspn(word + 1, letters);
    return n > 0 && word[n] && !word[n + 1];
}

/* "--in_h=32" becomes "--in_h", and its value is returned, without quotes; NULL: it has none. */
static char *split_value(char *word)
{
    char *value = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    size_t n;

    if (!value)
        return NULL;
    *value++ = '\0';
    n = strlen(value);
    if (n > 1 && (value[0] == '"' || value[0] == '\'') && value[n - 1] == value[0]) {
        value[n - 1] = '\0';
        value++;
    }
    return value;
}

static bool read_flag(char *word, char **args, struct ks_miopen_flags *f, char *why, size_t cap)
{
    char *value = split_value(word);
    bool has_value = value != NULL;
    const struct row *r = find_flag(word, why, cap);

    if (!r)
        return false;
    if (!has_value)
        value = ks_import_word(args);
    if (!value || (!has_value && is_flag(value))) {
        snprintf(why, cap, "%.40s has no value", word);
        return false;
    }
    return store(r, value, f, why, cap);
}

bool ks_miopen_flags_parse(char *args, struct ks_miopen_flags *out, char *why_out, size_t cap)
{
    struct ks_miopen_flags f = { 0 };
    const char *variable = NULL;
    char *word;

    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].def && !store(&rows[i], rows[i].def, &f, why_out, cap))
            return false;
    while ((word = ks_import_word(&args)) != NULL) {
        if (is_variable(word)) {
            variable = word;
            continue;
        }
        if (variable) {
            snprintf(why_out, cap,
                     "'%.40s' may expand to flags: only the last words may be variables", variable);
            return false;
        }
        if (!read_flag(word, &args, &f, why_out, cap))
            return false;
    }
    replace_zeros(&f);
    *out = f;
    return true;
}
