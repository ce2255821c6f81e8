/* SPDX-License-Identifier: MIT */
/* bench_table.c DIR PROBLEMS INSTANCES - writes DIR/results.h5 for the bench `table`: made-up cells
 * of 3 samples, those of a problem in random order, as round 0 measures them. */
#include "tests/tools/store_kit.h"

#include "base/file.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

static void shuffle(uint32_t *order, uint32_t n, uint64_t *seed)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = (uint32_t)ks_rng_below(seed, i), t = order[i - 1];

        order[i - 1] = order[k];
        order[k] = t;
    }
}

static void put_run(const char *dir, uint32_t n_problems, uint32_t n_instances, uint32_t *order)
{
    uint64_t seed = 1;
    struct skit k;

    skit_open(&k, dir, 1, n_problems, n_instances);
    skit_names(&k);
    for (uint32_t i = 0; i < n_problems; i++) {
        skit_block(&k, 1 + i, i, 20000, 20080);
        shuffle(order, n_instances, &seed);
        for (uint32_t j = 0; j < n_instances; j++)
            skit_put(&k, skit_record(&k, i, order[j], 3));
    }
    skit_close(&k);
}

int main(int argc, char **argv)
{
    uint32_t n_problems = argc == 4 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    uint32_t n_instances = argc == 4 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
    uint32_t *order = calloc(n_instances + 1u, sizeof(*order));
    char file[1000];
    struct ks_err err;
    int rc;

    if (!n_problems || !n_instances || !order) {
        fprintf(stderr, "usage: bench_table DIR PROBLEMS INSTANCES\n");
        return 2;
    }
    snprintf(file, sizeof(file), "%s/results.h5", argv[1]);
    rc = ks_mkdirs(argv[1], 0777, &err);
    if (rc == 0) {
        put_run(argv[1], n_problems, n_instances, order);
        rc = ks_store_gather((const char *const[]){ argv[1] }, 1, file, NULL, NULL, &err);
    }
    free(order);
    if (rc < 0)
        fprintf(stderr, "bench_table: %s\n", err.text);
    return rc < 0 ? 3 : 0;
}
