/* SPDX-License-Identifier: MIT */
/* so_table.h - the table of kernels in a shared object; for the backends, and for who tries an
 * object without a device (worker/try.h). */
#ifndef KS_DEVICE_SO_TABLE_H
#define KS_DEVICE_SO_TABLE_H

#include "base/err.h"
#include "kernels/abi.h"

struct ks_so_table {
    void *handle;                     /* of dlopen */
    const struct ks_abi_table *table; /* lives in the shared object */
    const struct ks_abi_image *image; /* likewise; NULL when it has none */
};

/* KS_ELOAD when the file, its table, its ABI or its image is wrong. */
int ks_so_table_open(const char *path, struct ks_so_table *out, struct ks_err *err);
void ks_so_table_close(struct ks_so_table *t); /* all zero is fine */
/* KS_ELOAD when there is none of that name. */
int ks_so_table_find(const struct ks_so_table *t, const char *name, uint32_t *index_out,
                     struct ks_err *err);

#endif
