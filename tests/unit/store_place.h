/* SPDX-License-Identifier: MIT */
/* store_place.h - what the tests of src/store share: a directory for two runs and a file, and calls
 * that fail the test when they fail. */
#ifndef KS_TEST_STORE_PLACE_H
#define KS_TEST_STORE_PLACE_H

#include "store/store.h"
#include "tests/unit/temp_dir.h"

struct place {
    char root[TEMP_DIR_MAX], dir[2][TEMP_DIR_MAX + 2], file[TEMP_DIR_MAX + 16];
};

/* cmocka's set-up and tear-down. */
int place_make(void **state);
int place_remove(void **state);

/* From the first n_dirs directories; t may be NULL. */
void place_gather(const struct place *p, size_t n_dirs, struct ks_store_totals *t);
struct ks_store_file *place_open(const struct place *p);
struct ks_row measurement(struct ks_store_file *f, uint64_t i);
struct ks_row attempt(struct ks_store_file *f, uint64_t i);
/* Times are held as float32. */
void same_f32(double got, double want);

#endif
