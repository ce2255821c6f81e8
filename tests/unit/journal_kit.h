/* SPDX-License-Identifier: MIT */
/* journal_kit.h - what the journal's tests share: a directory, numbered records, a reader that
 * keeps their numbers, and system calls that fail, stop short or kill at call n. */
#ifndef KS_TEST_JOURNAL_KIT_H
#define KS_TEST_JOURNAL_KIT_H

#include "journal/journal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIT_MAX_RECORDS 4096u

/* A new directory under $TMPDIR; *journal_out (a path inside it) does not exist yet. */
struct kit_dir {
    char root[256], journal[300];
};
void kit_dir_make(struct kit_dir *d);
void kit_dir_remove(struct kit_dir *d);

/* The record of cell (1, number, 7), attempt 1, with a few samples that depend on the number. */
void kit_body(uint64_t number, struct ks_buf *body_out);
/* Appends it; asserts success. Returns the position. */
uint64_t kit_append(struct ks_journal *j, uint64_t number);
int kit_try_append(struct ks_journal *j, uint64_t number, struct ks_err *err);

/* With the defaults; asserts success. */
struct ks_journal *kit_open_journal(const char *dir);
/* A closed segment with records first .. first + n - 1. */
void kit_write_segment(const char *dir, uint64_t first, uint64_t n);

/* What a reader saw. */
struct kit_read {
    uint64_t number[KIT_MAX_RECORDS]; /* of the records, in order */
    uint32_t n, n_headers, n_closes, n_others;
    struct ks_journal_damage damage; /* the last one */
    uint32_t n_damage;
    struct ks_journal_totals totals;
};
/* Asserts success and that every record has its number's content. The result is static. */
const struct kit_read *kit_read(const char *dir);

enum kit_fault {
    KIT_NONE,
    KIT_KILL_BEFORE,
    KIT_KILL_HALF,
    KIT_KILL_AFTER,
    KIT_FAIL,
    KIT_FAIL_HALF,
    KIT_SHORT,
    KIT_CALL
};
struct kit_sys {
    struct ks_journal_sys sys; /* give &k.sys to ks_journal_create */
    enum kit_fault fault;
    unsigned at;             /* the call, over open, write and fdatasync, from 0 */
    int errnum;              /* of KIT_FAIL, KIT_FAIL_HALF */
    void (*call)(void *ctx); /* KIT_CALL: before the call is made */
    void *ctx;
    unsigned n_calls;
};
void kit_sys_init(struct kit_sys *k, enum kit_fault fault, unsigned at, int errnum);

/* One segment file of these frames, made by hand. */
void kit_write_file(const char *dir, const char *name, const struct ks_buf *b);
void kit_read_file(const char *dir, const char *name, struct ks_buf *b_out);

#endif
