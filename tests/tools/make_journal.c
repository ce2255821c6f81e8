/* SPDX-License-Identifier: MIT */
/* make_journal.c DIR PROBLEMS INSTANCES SAMPLES [PENDING [SEED [CONDITION [SLOWER]]]] - a made-up
 * run directory. SLOWER: 0.05 = a device whose times are longer by 5 %. CONDITION 0: the usual. */
#include "tests/tools/store_kit.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct ks_err err;
    uint64_t condition;

    if (argc < 5 || ks_mkdirs(argv[1], 0777, &err) < 0) {
        fprintf(stderr, "usage: make_journal DIR PROBLEMS INSTANCES SAMPLES [PENDING [SEED "
                        "[CONDITION [SLOWER]]]]\n");
        return 2;
    }
    condition = argc > 7 ? strtoull(argv[7], NULL, 0) : 0;
    skit_run_slower(argv[1], argc > 6 ? strtoull(argv[6], NULL, 0) : 1,
                    (uint32_t)strtoul(argv[2], NULL, 0), (uint32_t)strtoul(argv[3], NULL, 0),
                    (uint32_t)strtoul(argv[4], NULL, 0), argc > 5 ? strtoull(argv[5], NULL, 0) : 0,
                    condition ? condition : SKIT_CONDITION, argc > 8 ? strtod(argv[8], NULL) : 0);
    return 0;
}
