/* SPDX-License-Identifier: MIT */
/* gpu_places.h - private to src/build: where a vendor's compiler may lie. */
#ifndef KS_BUILD_GPU_PLACES_H
#define KS_BUILD_GPU_PLACES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct ks_gpu_places {
    const char *variables[2]; /* the first that is set names the toolkit's folder; NULL: no more */
    const char *roots[2];     /* looked into where none is set */
    bool is_in_wheels;        /* at last: nvidia/cu<version>/bin of Python's packages */
};

/* ks_gpu_places_find() - the first of: PATH; bin/ of the toolkit's folder; Python's packages in
 * $PYTHONPATH, beside each bin/ of PATH (lib/python3*), and in $HOME/.local.
 * @out [out] [cap] its path; undefined where it is not found
 * Returns whether it is there and can be executed. Starts nothing. */
bool ks_gpu_places_find(const struct ks_gpu_places *p, const char *program, char *out, size_t cap);
/* A library whose name begins with `stem`: in lib64/ or lib/ of the toolkit's folder, in lib/ of
 * the same Python packages (nvidia/<any>/lib); the last by name of several. As above. */
bool ks_gpu_places_library(const struct ks_gpu_places *p, const char *stem, char *out, size_t cap);
/* "PATH and /usr/local/cuda/bin, /opt/cuda/bin", appended. */
void ks_gpu_places_text(const struct ks_gpu_places *p, struct ks_buf *text_out);

#endif
