/* SPDX-License-Identifier: MIT */
/* store_kit.h - made-up journals for tests and benches of src/store and analysis/: problems are
 * convolutions, instances belong to two families, records hold samples around a time that depends
 * on both. Everything follows from a seed. Failures of the kit itself end the program. */
#ifndef KS_TEST_STORE_KIT_H
#define KS_TEST_STORE_KIT_H

#include "journal/journal.h"
#include "op/op.h"
#include "record/record.h"

#include <stdbool.h>
#include <stdint.h>

struct skit {
    struct ks_journal *j;
    struct ks_buf body;
    uint64_t seed, realtime_ns;
    uint64_t condition; /* SKIT_CONDITION at first */
    uint32_t n_problems, n_instances;
    uint64_t n_absent;           /* of their pairs, as the job's record says */
    const char *backend;         /* of the device; NULL: host */
    double slower;               /* of another model of device: its times are longer by this part */
    struct ks_problem *problems; /* [n_problems] */
    uint64_t *instances;         /* [n_instances] ids */
    struct ks_record *rec;       /* scratch of skit_record */
};

#define SKIT_CONDITION 0x00000000c0ffee01ull
#define SKIT_DEVICE    0x1122334455667788ull

/* Opens the next segment of dir/journal. The run id follows from run_seed. */
void skit_open(struct skit *k, const char *dir, uint64_t run_seed, uint32_t n_problems,
               uint32_t n_instances);
void skit_close(struct skit *k);   /* in order */
void skit_abandon(struct skit *k); /* as after a kill: synced, not closed */

/* k->body becomes one frame. */
void skit_frame(struct skit *k, uint16_t type);
/* Job, host, device, problems, instances and builds. */
void skit_names(struct skit *k);
void skit_name(struct skit *k, uint16_t type, uint64_t id, int64_t count, const char *name,
               const char *text);
void skit_build(struct skit *k, uint32_t i_instance, uint32_t outcome, const char *reason);
void skit_block(struct skit *k, uint64_t block_id, uint32_t i_problem, double open_ns,
                double close_ns);
void skit_event(struct skit *k, uint32_t kind, const char *text);

/* The build of an instance. */
struct ks_id128 skit_build_id(uint32_t i_instance);
struct ks_id128 skit_code_id(uint32_t i_instance); /* instances 2 and 3 have the same code */

/* A plausible ok record with n_samples samples in k->rec: attempt 1, round 0, block 1 + i_problem.
 */
struct ks_record *skit_record(struct skit *k, uint32_t i_problem, uint32_t i_instance,
                              uint32_t n_samples);
void skit_put(struct skit *k, const struct ks_record *r);

/* A whole run: names, then every problem as one block of all instances; about every 16th cell ends
 * in some other outcome. The last n_pending cells are left out. */
void skit_run(const char *dir, uint64_t run_seed, uint32_t n_problems, uint32_t n_instances,
              uint32_t n_samples, uint64_t n_pending);
/* The same under another condition. */
void skit_run_under(const char *dir, uint64_t run_seed, uint32_t n_problems, uint32_t n_instances,
                    uint32_t n_samples, uint64_t n_pending, uint64_t condition);
/* The same on a slower device. */
void skit_run_slower(const char *dir, uint64_t run_seed, uint32_t n_problems, uint32_t n_instances,
                     uint32_t n_samples, uint64_t n_pending, uint64_t condition, double slower);

#endif
