# SPDX-License-Identifier: MIT
"""Rows of results.h5 under their present names, also those of programs before schema 1.5: benches compare
programs of both."""

NOW = {"exact_ns": "exact_check_ns", "verify_ns": "tolerance_check_ns", "n_checked": "n_checked_launches",
       "flags": "outcome_flags", "rank": "mpi_rank"}


def renamed(rows):
    rows.dtype.names = [NOW.get(name, name) for name in rows.dtype.names]
    return rows
