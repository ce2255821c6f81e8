/* SPDX-License-Identifier: MIT */
/* columns.c - names of columns: types and roles as texts, and what columns were called before */
#include "record/columns.h"

#include <stdio.h>
#include <string.h>

const char *ks_col_type_text(uint8_t type)
{
    static const char *const texts[] = { "uint8",   "uint32",  "uint64", "int32", "int64",
                                         "float64", "float32", "utf8",   "utf8" };

    return type < sizeof(texts) / sizeof(texts[0]) ? texts[type] : "?";
}

const char *ks_col_role_text(uint8_t role)
{
    static const char *const texts[KS_CR_COUNT] = { "id", "feature", "label", "never",
                                                    "provenance" };

    return role < KS_CR_COUNT ? texts[role] : "?";
}

void ks_column_missing_text(const struct ks_column *c, char text_out[48])
{
    static const char *const texts[] = { "", "0 if no check ran", "0 without tolerance check",
                                         "0 without timing", "0 if no worker ran the cell" };

    if (c->fill == KS_FILL_MISSING)
        snprintf(text_out, 48, "%.0f", c->missing);
    else
        snprintf(text_out, 48, "%s", texts[c->when]);
}

/* What was called otherwise before KS_RENAMED_MINOR, and where. */
#define ROWS "/measurements /attempts"
#define CSV  KS_RENAMED_CSV
static const struct {
    const char *tables, *now, *old;
} renamed[] = {
    { ROWS " " CSV, "exact_check", "v1" },
    { ROWS " " CSV, "tolerance_check", "v2" },
    { ROWS, "representative_id", "alias_instance_id" },
    { CSV, "representative_id", "alias_of" },
    { ROWS " " CSV, "status_code", "code" },
    { ROWS " " CSV, "outcome_flags", "flags" },
    { ROWS " " CSV, "is_confirmed", "confirmed" },
    { ROWS " /hosts /devices /blocks /events " CSV, "mpi_rank", "rank" },
    { ROWS, "round_index", "round" },
    { ROWS, "worker_id", "worker" },
    { ROWS " " CSV, "verified_sample_ns", "poison_sample_ns" },
    { ROWS " " CSV, "clock_resolution_ns", "clock_ns" },
    { ROWS, "time_ci95_lo_ns", "time_lo95_ns" },
    { ROWS, "time_ci95_hi_ns", "time_hi95_ns" },
    { CSV, "time_ci95_lo_ns", "lo95_ns" },
    { CSV, "time_ci95_hi_ns", "hi95_ns" },
    { ROWS, "exact_check_ns", "exact_ns" },
    { ROWS, "tolerance_check_ns", "verify_ns" },
    { ROWS " " CSV, "bitwise_reproducible", "bitwise_stable" },
    { ROWS " " CSV, "n_checked_launches", "n_checked" },
    { ROWS " " CSV, "wrong_launch_share_ucb95", "wrong_share_hi95" },
    { ROWS " " CSV, "throttle_reasons", "throttle" },
    { CSV, "wall_ns", "wall_ms" },
    { CSV, "warmup_ns", "warmup_ms" },
    { CSV, "timing_ns", "timing_ms" },
    { CSV, "gflops_per_s", "gflops" },
    { CSV, "code_time_median_ns", "code_time_ns" },
    { "/runs", "job_name", "name" },
    { "/problems", "problem_name", "name" },
    { "/kernels", "instance_name", "name" },
    { "/problems " CSV, "n_uses", "count" },
    { "/problems " CSV, "n_spatial_dims", "ndim" },
    { "/kernels " CSV, "wave_size", "wave" },
    { "/kernels " CSV, "max_threads_per_block", "max_threads" },
    { "/devices", "device_model", "model" },
    { "/devices", "pci_address", "pci" },
    { "/devices " CSV, "n_cache_neighbours", "cache_neighbours" },
    { "/devices " CSV, "n_memory_neighbours", "memory_neighbours" },
    { "/devices", "n_compute_units", "units" },
    { "/devices", "driver_version", "driver" },
    { "/blocks", "anchor_open_ns", "open_ns" },
    { "/blocks", "anchor_open_ci95_lo_ns", "open_lo_ns" },
    { "/blocks", "anchor_open_ci95_hi_ns", "open_hi_ns" },
    { "/blocks", "anchor_close_ns", "close_ns" },
    { "/blocks", "anchor_close_ci95_lo_ns", "close_lo_ns" },
    { "/blocks", "anchor_close_ci95_hi_ns", "close_hi_ns" },
    { "/failures", "output_tail", "tail" },
    { "/mismatches", "i_mismatch", "i" },
};
#undef ROWS
#undef CSV
#define N_RENAMED (sizeof(renamed) / sizeof(renamed[0]))

/* Whether `word` is one of the words of `list`. */
static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = list; n > 0 && (p = strstr(p, word)); p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

const char *ks_column_old_name(const char *table, const char *name)
{
    for (size_t i = 0; i < N_RENAMED; i++)
        if (strcmp(renamed[i].now, name) == 0 && has_word(renamed[i].tables, table))
            return renamed[i].old;
    return name;
}

const char *ks_column_new_name(const char *table, const char *old)
{
    for (size_t i = 0; i < N_RENAMED; i++)
        if (strcmp(renamed[i].old, old) == 0 && has_word(renamed[i].tables, table))
            return renamed[i].now;
    return old;
}

const char *ks_dim_column(const char *dim)
{
    return ks_column_new_name("/problems", dim);
}
