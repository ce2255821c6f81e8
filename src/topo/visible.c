/* SPDX-License-Identifier: MIT */
/* visible.c - the visibility variables that leave a worker one GPU */
#include "topo/visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ks_visible_names[KS_VISIBLE_N] = { "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                                     "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL" };

enum { TOKEN = 96 };

static void add(struct ks_visible_env *e, int which, const char *value)
{
    snprintf(e->text[e->n], sizeof(e->text[e->n]), "%s=%.220s", ks_visible_names[which], value);
    e->n++;
}

/* The i-th entry of a list; without a list, the number itself. */
static void entry(const char *list, uint32_t i, char out[TOKEN])
{
    uint32_t k = 0;

    snprintf(out, TOKEN, "%u", i);
    while (list && k < i && (list = strchr(list, ','))) {
        list++;
        k++;
    }
    if (list)
        snprintf(out, TOKEN, "%.*s", (int)strcspn(list, ","), list);
}

static uint32_t count(const char *list)
{
    uint32_t n = 1;

    while ((list = strchr(list, ','))) {
        list++;
        n++;
    }
    return n;
}

/* "0,1,2": all of n, in their order. */
static void all_of(uint32_t n, char *out, size_t cap)
{
    out[0] = '\0';
    for (uint32_t i = 0; i < n; i++) {
        size_t at = strlen(out);
        snprintf(out + at, cap - at, i ? ",%u" : "%u", i);
    }
}

/* Every inner list that is set says the same. */
static void add_inner(struct ks_visible_env *e, const char *const *lists, const char *value)
{
    for (int i = KS_VISIBLE_HIP; i < KS_VISIBLE_N; i++)
        if (lists[i])
            add(e, i, value);
}

static void amd_one(const char *const *lists, const char *inner, uint32_t i,
                    struct ks_visible_env *out)
{
    char token[TOKEN], *end = NULL;
    unsigned long k = i;

    if (inner) {
        entry(inner, i, token);
        k = strtoul(token, &end, 10);
    }
    if (inner && (end == token || *end)) { /* a name: it chooses by itself */
        add(out, KS_VISIBLE_HIP, token);
        return;
    }
    entry(lists[KS_VISIBLE_ROCR], (uint32_t)k, token);
    add(out, KS_VISIBLE_ROCR, token);
    add_inner(out, lists, "0");
}

static void amd_env(const char *const *lists, int32_t i_device, struct ks_visible_env *out)
{
    const char *outer = lists[KS_VISIBLE_ROCR], *inner = lists[KS_VISIBLE_HIP];
    char all[200];

    if (!inner || !*inner)
        inner = lists[KS_VISIBLE_CUDA];
    if (outer && inner && strcmp(outer, inner) == 0 && *outer) {
        inner = NULL;
        all_of(count(outer), all, sizeof(all));
        if (i_device < 0)
            add_inner(out, lists, all);
    }
    if (i_device >= 0)
        amd_one(lists, inner, (uint32_t)i_device, out);
}

void ks_visible_env(const struct ks_backend *backend, const char *const lists[KS_VISIBLE_N],
                    int32_t i_device, struct ks_visible_env *out)
{
    char token[TOKEN];

    *out = (struct ks_visible_env){ .n = 0 };
    if (!ks_backend_is(backend, KS_BACKEND_CUDA_LIST)) {
        amd_env(lists, i_device, out);
    } else if (i_device >= 0) {
        entry(lists[KS_VISIBLE_CUDA], (uint32_t)i_device, token);
        add(out, KS_VISIBLE_CUDA, token);
    }
}

void ks_visible_text(const char *const lists[KS_VISIBLE_N], char *out, size_t cap)
{
    out[0] = '\0';
    for (int i = 0; i < KS_VISIBLE_N; i++) {
        size_t at = strlen(out);
        if (lists[i])
            snprintf(out + at, cap - at, "%s%s=%s", at ? " " : "", ks_visible_names[i], lists[i]);
    }
}
