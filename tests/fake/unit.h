/* SPDX-License-Identifier: MIT */
/* unit.h - included by unit.k: a change here must change every build_id. */
#ifndef KS_FAKE_UNIT_H
#define KS_FAKE_UNIT_H

#define UNIT_BIAS 0.5f

#endif
