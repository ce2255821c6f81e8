/* SPDX-License-Identifier: MIT */
/* plugin.h - private to src/build: shared objects that users bring instead of sources
 * (docs/plugins.md). Nothing is compiled, and the cache has no part in them. */
#ifndef KS_BUILD_PLUGIN_H
#define KS_BUILD_PLUGIN_H

#include "build/build.h"

/* Fills in the artefacts of all instances that the job's plug-ins bring and this device can run:
 * ready, the file's path (symbolic links resolved), size and digest; their build_id is that of the
 * file and the name, and their code_id zero, since what a plug-in launches cannot be seen.
 * @artefacts [in,out] [grid->n_instances]; those with a reason already are left alone
 * KS_ENOENT, KS_EINVAL, KS_EIO when a plug-in cannot be read. */
int ks_plugins_take(const struct ks_grid *grid, struct ks_artefact *artefacts, struct ks_err *err);

#endif
