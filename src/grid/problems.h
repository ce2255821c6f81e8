/* SPDX-License-Identifier: MIT */
/* problems.h - problem sets: lists from files, canonical and distinct.
 *
 * To add an importer: one file import_<name>.c and one row in ks_importers[] (problems.c). */
#ifndef KS_GRID_PROBLEMS_H
#define KS_GRID_PROBLEMS_H

#include "base/err.h"
#include "op/op.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_refusal {
    char file[256];
    uint64_t line;
    char reason[160];
};
struct ks_problem_set {
    struct ks_problem
        *problems; /* [n] distinct by id, in order of first appearance; counts added */
    uint32_t n, cap;
    struct ks_refusal *refusals; /* [n_refusals] */
    uint32_t n_refusals, cap_refusals;
    /* n_commands = n_taken + n_refused; one command may give several problems (-F 0). n_other:
     * lines without a command (comments, headers, other drivers, log text). n_problems_raw: before
     * duplicates were merged. */
    uint64_t n_lines, n_commands, n_taken, n_refused, n_other, n_problems_raw;
    uint32_t *slots; /* [n_slots] hash table over ids: index + 1, 0 = free */
    uint32_t n_slots;
};

struct ks_importer {
    const char *name;                            /* "csv", "miopen" */
    bool (*sniff)(const char *text, size_t len); /* does this file look like mine? */
    /* Adds what the text holds; bad lines become refusals, only an unreadable file is an error.
     * `name` is the file for messages. strict: the first refusal is an error (job files). */
    int (*read)(struct ks_problem_set *set, const char *text, size_t len, const char *name,
                bool strict, struct ks_err *err);
};
extern const struct ks_importer *const ks_importers[]; /* NULL-terminated */

void ks_problem_set_init(struct ks_problem_set *s);
void ks_problem_set_release(struct ks_problem_set *s);
/* Takes one finished problem: appended, or merged into the one with the same id. Two different
 * canonical texts with one id are KS_EFORMAT (collision). */
int ks_problem_set_add(struct ks_problem_set *s, const struct ks_problem *p, struct ks_err *err);
int ks_problem_set_refuse(struct ks_problem_set *s, const char *file, uint64_t line,
                          const char *reason, struct ks_err *err);
/* from: importer name or "auto". */
/* KS_ENOENT, KS_EIO for the file; KS_EFORMAT when no importer knows it or its header is wrong;
 * strict: KS_EFORMAT "file:line: reason" for the first bad line. */
int ks_problem_set_read(struct ks_problem_set *s, const char *path, const char *from, bool strict,
                        struct ks_err *err);
/* Seeded sample of n without replacement, kept in their order. */
int ks_problem_set_sample(struct ks_problem_set *s, uint32_t n, uint64_t seed, struct ks_err *err);

#endif
