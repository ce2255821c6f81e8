/* SPDX-License-Identifier: MIT */
/* cell_find.h - the cell of a run that a text means. */
#ifndef KS_CMD_CELL_FIND_H
#define KS_CMD_CELL_FIND_H

#include "cmd/cell.h"
#include "journal/ledger.h"

/* ks_cell_find() - fills problem, instance, their indices and cell of v, whose grid is loaded.
 * @name [in] "PROBLEM:INSTANCE". Each is a name, an id in hex or the unique beginning of one, a
 *       name with "..." for what is left out ("..._vb64"), or a part of the name that no other has.
 *       INSTANCE may be "best": the label of the problem's visits, else the shortest time.
 * Returns 0; KS_EINVAL: nothing or several fit, which the message lists; KS_ENOMEM, KS_EIO. */
int ks_cell_find(struct ks_cell_view *v, const struct ks_ledger *l, const char *journal,
                 const char *name, struct ks_err *err);

#endif
