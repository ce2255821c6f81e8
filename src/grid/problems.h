/* SPDX-License-Identifier: MIT */
/* problems.h - problem sets: lists from files, canonical and distinct.
 *
 * To add an importer: one file import_<name>.c, one row in ks_importers[] (problems.c), one
 * unit test and one fuzz target. */
#ifndef KS_GRID_PROBLEMS_H
#define KS_GRID_PROBLEMS_H

#include "base/err.h"
#include "grid/problem_table.h"
#include "op/op.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_problem_slot {
    uint32_t row; /* of the table, + 1; 0: free */
    uint32_t tag; /* of the id */
};

struct ks_refusal {
    char file[256];
    uint64_t line;
    char reason[160];
};
/* Where a problem was first read, and what the source tells of all its uses. */
struct ks_origin {
    uint64_t line;
    uint32_t file;   /* index into the set's files + 1; 0: not from a file */
    uint32_t rank;   /* priority in the source, 1 first; 0: unknown */
    int64_t time_ns; /* device time of all its uses in the source; 0: unknown */
};
struct ks_problem_set {
    struct ks_problem_table problems; /* distinct by id, in order of first appearance; counts
                                         added */
    uint32_t n;                       /* problems.n */
    struct ks_origin *origins;        /* [cap_origins], n are used */
    uint32_t cap_origins;
    char **files; /* [n_files] */
    uint32_t n_files;
    struct ks_refusal *refusals; /* [n_refusals] */
    uint32_t n_refusals, cap_refusals;
    /* n_commands = n_taken + n_refused; one command may give several problems (-F 0). n_other:
     * lines without a command (comments, headers, other drivers, log text). n_problems_raw: before
     * duplicates were merged. */
    uint64_t n_lines, n_commands, n_taken, n_refused, n_other, n_problems_raw;
    struct ks_problem_slot *slots; /* [n_slots] hash table over ids */
    uint32_t n_slots;
};

struct ks_importer {
    const char *name;                            /* as --from takes it */
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
/* The same for one that was read: ks_problem_set_origin() tells where. file NULL: from nowhere. */
int ks_problem_set_add_from(struct ks_problem_set *s, const struct ks_problem *p, const char *file,
                            uint64_t line, struct ks_err *err);
/* Adds all of another set, which is released: as it is, without a copy, where `s` has none yet. */
int ks_problem_set_take(struct ks_problem_set *s, struct ks_problem_set *from, struct ks_err *err);
/* The file (borrowed; "" for none) and line of problem i. */
const char *ks_problem_set_origin(const struct ks_problem_set *s, uint32_t i, uint64_t *line_out);
/* Adds to the device time of the problem with this id, which must be there. */
void ks_problem_set_add_time(struct ks_problem_set *s, uint64_t id, int64_t time_ns);
/* The problem with this id, which must be there, has this priority in the source, unless it had a
 * better one. 0: unknown. */
void ks_problem_set_add_rank(struct ks_problem_set *s, uint64_t id, uint32_t rank);
/* Is a priority known of any problem? */
bool ks_problem_set_has_ranks(const struct ks_problem_set *s);
/* Is a time known of any problem? */
bool ks_problem_set_has_times(const struct ks_problem_set *s);
int64_t ks_problem_set_find(const struct ks_problem_set *s, uint64_t id); /* index; -1: absent */
int ks_problem_set_refuse(struct ks_problem_set *s, const char *file, uint64_t line,
                          const char *reason, struct ks_err *err);
/* from: importer name or "auto". */
/* KS_ENOENT, KS_EIO for the file; KS_EFORMAT when no importer knows it or its header is wrong;
 * strict: KS_EFORMAT "file:line: reason" for the first bad line. */
int ks_problem_set_read(struct ks_problem_set *s, const char *path, const char *from, bool strict,
                        struct ks_err *err);
/* Keeps the problems i with is_kept[i], in their order. */
int ks_problem_set_keep(struct ks_problem_set *s, const bool *is_kept, struct ks_err *err);
/* Removes what `other` holds, by id; *n_removed_out (NULL: not wanted) says how many. */
int ks_problem_set_exclude(struct ks_problem_set *s, const struct ks_problem_set *other,
                           uint32_t *n_removed_out, struct ks_err *err);
/* Seeded sample of n without replacement, kept in their order. */
int ks_problem_set_sample(struct ks_problem_set *s, uint32_t n, uint64_t seed, struct ks_err *err);
/* The same by shape class (problem_class.h): every class that occurs is there, at least once, and
 * as near to its share as whole numbers allow (largest remainders). KS_EINVAL: n is smaller than
 * the number of classes. */
int ks_problem_set_stratify(struct ks_problem_set *s, uint32_t n, uint64_t seed,
                            struct ks_err *err);

#endif
