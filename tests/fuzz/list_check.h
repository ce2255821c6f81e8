/* SPDX-License-Identifier: MIT */
/* list_check.h - what holds for every importer of problem lists, whatever the bytes are. */
#ifndef KS_FUZZ_LIST_CHECK_H
#define KS_FUZZ_LIST_CHECK_H

#include <stddef.h>
#include <stdint.h>

enum list_kind {
    LIST_OF_COMMANDS, /* never an error; a line may hold several commands, a command problems */
    LIST_OF_LINES,    /* never an error; each line is taken, refused or other */
    LIST_WITH_HEADER, /* as LIST_OF_LINES, or an error of the header */
    LIST_GENERATED,   /* an error, or combinations without a line of their own */
    LIST_OF_OPERATORS /* an error, or operators, which have ids instead of lines */
};

/* Reads the bytes with the importer of that name; aborts when counts do not add up, a problem is
 * not valid, a refusal lacks its line or reason, or an error its text. */
void list_check(const char *importer, enum list_kind kind, const uint8_t *bytes, size_t n);

#endif
