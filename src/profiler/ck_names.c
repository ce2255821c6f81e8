/* SPDX-License-Identifier: MIT */
/* ck_names.c - traits from the names of Composable Kernel's device operations */
/* A name is a class and its template arguments. What each place means is known for the classes of
 * grouped convolutions; "Key: value" says it itself.
 *
 * Source: GetTypeString() of ROCm/composable_kernel
 * include/ck/tensor_operation/gpu/device/impl/device_grouped_conv_*.hpp. */
#include "profiler/ck_output.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PLACES = 15, KEY_MAX = 48 };

struct class_places {
    const char *begins; /* of the class's name */
    const char *places[MOST_PLACES + 1];
};
static const struct class_places classes[] = {
    { "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle",
      { "block_size", "m_per_block", "n_per_block", "k_per_block", "specialization", "m_per_xdl",
        "n_per_xdl", "m_xdl_per_wave", "n_xdl_per_wave", "a_vector", "b_vector", "c_vector",
        "shuffle_m", "shuffle_n", "groups_to_merge", NULL } },
    { "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1",
      { "block_size", "m_per_block", "n_per_block", "k_per_block", "ak1", "bk1", "specialization",
        "m_per_xdl", "n_per_xdl", "m_xdl_per_wave", "n_xdl_per_wave", "a_vector", "b_vector",
        "shuffle_m", "shuffle_n", NULL } },
    { "DeviceGroupedConvBwdWeight_Xdl_CShuffle",
      { "block_size", "m_per_block", "n_per_block", "k0_per_block", "specialization", "k1",
        "m_xdl_per_wave", "n_xdl_per_wave", "a_vector", "a_vector_dst", "b_vector", "b_vector_dst",
        "shuffle_m", "shuffle_n", "c_vector", NULL } },
};

static const char *const *places_of(const char *name)
{
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (strncmp(classes[i].begins, name, strlen(classes[i].begins)) == 0)
            return classes[i].places;
    return NULL;
}

/* Behind the argument that begins at `at`: at the comma or the closing bracket of its level. */
static const char *skip_argument(const char *at, const char *end)
{
    int depth = 0;

    for (; at < end && (depth > 0 || *at != ','); at++)
        depth += (*at == '<') - (*at == '>');
    return at;
}

/* "BlkGemmPipelineVersion" becomes "blk_gemm_pipeline_version"; false: no name. */
static bool take_key(const char *at, const char *colon, char out[KEY_MAX])
{
    size_t n = 0;

    for (; at < colon; at++) {
        if (!isalnum((unsigned char)*at) && *at != '_')
            return false;
        if (n + 3 > KEY_MAX)
            return false;
        if (isupper((unsigned char)*at) && n > 0 && out[n - 1] != '_')
            out[n++] = '_';
        out[n++] = (char)tolower((unsigned char)*at);
    }
    out[n] = 0;
    return n > 0;
}

static void put_rest(struct ks_profiler_draft *d, const char *text, size_t n)
{
    if (d->rest.len > 0)
        ks_buf_put(&d->rest, ", ", 2);
    ks_buf_put(&d->rest, text, n);
}

static void take_argument(struct ks_profiler_draft *d, const char *const *places, size_t *i_place,
                          const char *at, const char *end)
{
    const char *colon = memchr(at, ':', (size_t)(end - at));
    char key[KEY_MAX];

    if (colon && colon + 1 < end && colon[1] == ' ' && take_key(at, colon, key))
        ks_draft_trait(d, key, colon + 2, (size_t)(end - colon - 2));
    else if (places && places[*i_place])
        ks_draft_trait(d, places[(*i_place)++], at, (size_t)(end - at));
    else
        put_rest(d, at, (size_t)(end - at));
}

void ks_ck_traits(struct ks_profiler_draft *d)
{
    struct ks_buf copy;
    const char *name, *open, *close, *at;
    const char *const *places;
    size_t i_place = 0;

    if (!ks_buf_ok(&d->name))
        return;
    ks_buf_init(&copy);
    ks_buf_put(&copy, d->name.data, d->name.len);
    name = ks_buf_text(&copy);
    open = strchr(name, '<');
    close = strrchr(name, '>');
    if (open && close && close > open) {
        ks_draft_trait(d, "kind", name, (size_t)(open - name));
        places = places_of(name);
        for (at = open + 1; at < close;) {
            const char *end = skip_argument(at, close);

            take_argument(d, places, &i_place, at, end);
            at = end < close ? end + 1 : end;
            at += at < close && *at == ' ';
        }
        if (close[1])
            put_rest(d, close + 1, strlen(close + 1));
    }
    ks_buf_release(&copy);
}
