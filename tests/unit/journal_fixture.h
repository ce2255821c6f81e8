/* SPDX-License-Identifier: MIT */
/* journal_fixture.h - one segment with every frame type, kept in tests/data/journal-v1: all later
 * versions must read it and find these values. */
#ifndef KS_TEST_JOURNAL_FIXTURE_H
#define KS_TEST_JOURNAL_FIXTURE_H

/* Writes DIR/0001.ksj; the same bytes each time. 0, or 1 with a line on stderr. */
int fixture_write(const char *dir);
/* Reads DIR and asserts every value. */
void fixture_check(const char *dir);

#endif
