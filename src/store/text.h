/* SPDX-License-Identifier: MIT */
/* text.h - texts from outside (names, compiler and kernel output) as clean UTF-8. Private to
 * src/store. */
#ifndef KS_STORE_TEXT_H
#define KS_STORE_TEXT_H

#include <stddef.h>

/* Bytes that are no UTF-8 (RFC 3629: no surrogates, no overlong forms) become '?', in place; so do
 * control characters other than tab and newline. */
void ks_text_clean(char *text);
/* The same for n bytes that may hold NULs; out has n + 1 bytes. */
void ks_text_clean_bytes(const char *bytes, size_t n, char *out);

#endif
