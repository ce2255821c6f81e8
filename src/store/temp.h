/* SPDX-License-Identifier: MIT */
/* temp.h - a file that appears under its name only when it is whole. Private to src/store.
 *
 * It has no name until then (O_TMPFILE), so that nothing is left behind whatever kills the process;
 * on file systems that cannot do so it is ".<name>.<pid>.tmp" beside the final one. */
#ifndef KS_STORE_TEMP_H
#define KS_STORE_TEMP_H

#include "base/err.h"

#include <stdbool.h>

struct ks_temp {
    int fd;
    char final_path[1200], name[1300]; /* name: "" while it has none */
};

int ks_temp_open(struct ks_temp *t, const char *final_path, bool must_have_name,
                 struct ks_err *err);
/* fsync, rename over the final path, fsync of the directory. Everything is released, on failure the
 * temporary file as well. */
int ks_temp_publish(struct ks_temp *t, struct ks_err *err);
void ks_temp_drop(struct ks_temp *t); /* after publish: nothing */

#endif
