/* SPDX-License-Identifier: MIT */
/* array.h - arrays that grow. */
#ifndef KS_BASE_ARRAY_H
#define KS_BASE_ARRAY_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* ks_reserve() - room for at least `need` elements of `size` bytes in a malloc'ed array.
 * @array [in,out] address of the pointer, which may be NULL and may move
 * @cap [in,out] elements that there is room for; doubles, 16 at first
 * @what [in] the elements' name in the message, "races"
 * Returns 0; KS_ENOMEM, array and cap as they were. Owns: the caller frees the array. */
int ks_reserve(void *array, size_t need, size_t *cap, size_t size, const char *what,
               struct ks_err *err);
/* The same for a capacity of 32 bits; more than those can say is KS_ENOMEM, too. */
int ks_reserve32(void *array, size_t need, uint32_t *cap, size_t size, const char *what,
                 struct ks_err *err);

#endif
