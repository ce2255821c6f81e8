/* SPDX-License-Identifier: MIT */
/* peer_library.h - a vendor's library by dlopen. It is never closed: vendors' are not made to be.
 */
#ifndef KS_TEST_GPU_PEER_LIBRARY_H
#define KS_TEST_GPU_PEER_LIBRARY_H

#include "base/err.h"

/* peer_library() - opens the first that is there.
 * @variable [in] environment variable that names the library, or the folder of `names`
 * @names [in] file names, newest first, then NULL; the loader looks for them if variable is not set
 * Returns a handle of dlopen(); NULL: there is none (KS_ENOENT, err says where it was sought). */
void *peer_library(const char *variable, const char *const *names, struct ks_err *err);

/* peer_symbol() - *slot (a pointer to a function) becomes the address of a symbol.
 * Returns 0; KS_ENOENT. */
int peer_symbol(void *library, const char *symbol, void *slot, struct ks_err *err);

#endif
