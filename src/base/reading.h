/* SPDX-License-Identifier: MIT */
/* reading.h - what a device says of itself at a moment, from its driver to the results file. */
#ifndef KS_BASE_READING_H
#define KS_BASE_READING_H

#define KS_UNKNOWN (-1.0) /* in place of a value that the device does not tell */

struct ks_reading {
    double clock_mhz, memory_clock_mhz;
    double power_w, temperature_c;
    double busy; /* share of the device in use, 0 to 1 */
};

#endif
