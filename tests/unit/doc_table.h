/* SPDX-License-Identifier: MIT */
/* doc_table.h - tables of docs/results.md that are made from the column table. */
#ifndef KS_TEST_DOC_TABLE_H
#define KS_TEST_DOC_TABLE_H

/* Fails unless the first Markdown table behind the line `heading` is `want` (with its header, each
 * line ended). With KS_BLESS=1 it is replaced. */
void doc_table_check(const char *heading, const char *want);

#endif
