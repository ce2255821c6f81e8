/* SPDX-License-Identifier: MIT */
/* elements.h - a JSON file that is an object with one long array or object in it, element by
 * element: memory holds one element. Each element and each other member is parsed strictly
 * (json/json.h). */
#ifndef KS_ANALYSIS_ELEMENTS_H
#define KS_ANALYSIS_ELEMENTS_H

#include "analysis/import/text_in.h"
#include "json/json.h"

#define KS_ELEMENT_MAX ((size_t)16 << 20) /* bytes of one element or member */

struct ks_elements {
    const char *container; /* key of the long array or object */
    void *ctx;
    /* A member beside the container, such as "metadata". */
    int (*member)(void *ctx, const char *key, const struct ks_json *doc, struct ks_err *err);
    /* @key of an element of an object; "" in an array. @line where it begins */
    int (*element)(void *ctx, const char *key, uint64_t line, const struct ks_json *doc,
                   struct ks_err *err);
    bool may_be_cut; /* a file that ends within the container, or before the last brace, is read as
                        far as it goes */
    uint64_t n_cut;  /* [out] 1: an element was cut by the end */
    bool is_cut;     /* [out] the file ended early */
};

/* KS_EFORMAT "file:line: cause"; KS_EIO, KS_ENOMEM; what the functions return. */
int ks_elements_read(struct ks_elements *e, struct ks_text_in *in, struct ks_err *err);

#endif
