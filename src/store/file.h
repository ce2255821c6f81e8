/* SPDX-License-Identifier: MIT */
/* file.h - what else in src/store reads an open results file. Private to src/store. */
#ifndef KS_STORE_FILE_H
#define KS_STORE_FILE_H

#include "store/table.h"

struct ks_store_file;

/* The reader of /measurements; borrowed until the file is closed. */
const struct ks_table_reader *ks_store_measurements(const struct ks_store_file *f);

#endif
