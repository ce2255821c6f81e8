/* SPDX-License-Identifier: MIT */
/* tables.c - copies problems, instances and devices from joined frames; borrows their texts */
#include "analysis/learn/tables.h"

#include <stdlib.h>

enum { PROBLEM_ID, PROBLEM_NAME, PROBLEM_CANONICAL, PROBLEM_FLOPS };
const char *const ks_tables_problems[] = { "problem_id", "problem_name", "canonical", "flops",
                                           NULL };
enum { INSTANCE_ID, INSTANCE_NAME, INSTANCE_CODE, INSTANCE_ORDER, INSTANCE_GROUP };
const char *const ks_tables_instances[] = { "instance_id", "instance_name", "code_id",
                                            "i_instance",  "code_group",    NULL };
enum { DEVICE_ID, DEVICE_RANK, DEVICE_HOST, DEVICE_MODEL, DEVICE_CORES, DEVICE_TEXT };
const char *const ks_tables_devices[] = { "device_id", "mpi_rank", "host", "device_model",
                                          "core_set",  "text",     NULL };

static int bind(const struct ks_df *f, const char *const *names,
                const struct ks_df_column **columns, struct ks_err *err)
{
    for (size_t i = 0; names[i]; i++) {
        columns[i] = ks_df_find(f, names[i]);
        if (!columns[i])
            return ks_fail(err, KS_EINVAL, "the frame has no column '%s'", names[i]);
    }
    return 0;
}

static const char *text_of(const struct ks_df_column *c, size_t row)
{
    const char *text = ks_df_text(c, row);

    return text ? text : "";
}

static void fill_problems(struct ks_tables *t, const struct ks_df_column *const *c)
{
    for (uint32_t i = 0; i < t->n_problems; i++)
        t->problems[i] = (struct ks_problem_ref){
            .id = (uint64_t)ks_df_i64(c[PROBLEM_ID], i, 0),
            .name = text_of(c[PROBLEM_NAME], i),
            .canonical = text_of(c[PROBLEM_CANONICAL], i),
            .flops = ks_df_f64(c[PROBLEM_FLOPS], i, KS_NOT_KNOWN),
        };
}

static void fill_instances(struct ks_tables *t, const struct ks_df_column *const *c)
{
    for (uint32_t i = 0; i < t->n_instances; i++)
        t->instances[i] = (struct ks_instance_ref){
            .id = (uint64_t)ks_df_i64(c[INSTANCE_ID], i, 0),
            .name = text_of(c[INSTANCE_NAME], i),
            .code_id = text_of(c[INSTANCE_CODE], i),
            .config_order = (uint32_t)ks_df_i64(c[INSTANCE_ORDER], i, 0),
            .code_group = (uint32_t)ks_df_i64(c[INSTANCE_GROUP], i, UINT32_MAX),
        };
}

static void fill_devices(struct ks_tables *t, const struct ks_df_column *const *c)
{
    for (uint32_t i = 0; i < t->n_devices; i++)
        t->devices[i] = (struct ks_device_ref){
            .id = (uint64_t)ks_df_i64(c[DEVICE_ID], i, 0),
            .rank = (uint32_t)ks_df_i64(c[DEVICE_RANK], i, 0),
            .host = text_of(c[DEVICE_HOST], i),
            .model = text_of(c[DEVICE_MODEL], i),
            .core_set = text_of(c[DEVICE_CORES], i),
            .text = text_of(c[DEVICE_TEXT], i),
        };
}

int ks_tables_init(struct ks_tables *t, const struct ks_df *problems, const struct ks_df *instances,
                   const struct ks_df *devices, struct ks_err *err)
{
    const struct ks_df_column *p[8], *k[8], *d[8];
    int rc = bind(problems, ks_tables_problems, p, err);

    *t = (struct ks_tables){ .n_problems = (uint32_t)problems->n_rows,
                             .n_instances = (uint32_t)instances->n_rows,
                             .n_devices = (uint32_t)devices->n_rows };
    if (rc == 0)
        rc = bind(instances, ks_tables_instances, k, err);
    if (rc == 0)
        rc = bind(devices, ks_tables_devices, d, err);
    if (rc < 0)
        return rc;
    t->problems = calloc(t->n_problems + 1u, sizeof(*t->problems));
    t->instances = calloc(t->n_instances + 1u, sizeof(*t->instances));
    t->devices = calloc(t->n_devices + 1u, sizeof(*t->devices));
    if (!t->problems || !t->instances || !t->devices) {
        ks_tables_release(t);
        return ks_fail(err, KS_ENOMEM, "out of memory");
    }
    fill_problems(t, p);
    fill_instances(t, k);
    fill_devices(t, d);
    return 0;
}

void ks_tables_release(struct ks_tables *t)
{
    free(t->problems);
    free(t->instances);
    free(t->devices);
    *t = (struct ks_tables){ 0 };
}

const struct ks_problem_ref *ks_tables_problem(const struct ks_tables *t, uint32_t row)
{
    return row < t->n_problems ? &t->problems[row] : NULL;
}

const struct ks_instance_ref *ks_tables_instance(const struct ks_tables *t, uint32_t row)
{
    return row < t->n_instances ? &t->instances[row] : NULL;
}
