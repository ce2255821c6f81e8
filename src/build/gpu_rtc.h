/* SPDX-License-Identifier: MIT */
/* gpu_rtc.h - what the builder and ksweep-rtc agree on: a compiler's command line in front of a
 * vendor's library that compiles at run time (NVRTC, hipRTC), for machines without nvcc or clang.
 * Only ksweep-rtc loads such a library, a process of its own under the warden's limits.
 *
 *     ksweep-rtc nvrtc|hiprtc --version
 *     ksweep-rtc nvrtc|hiprtc [OPTION..] [-I DIR].. -o OUT IN
 *
 * Options are passed on. Exit status: 0; 1: it does not compile, the log is printed, or a file
 * cannot be read or written; 2: usage; KS_RTC_NONE: the library is not there, every place that was
 * tried is printed. */
#ifndef KS_BUILD_GPU_RTC_H
#define KS_BUILD_GPU_RTC_H

#define KS_RTC_PROGRAM "ksweep-rtc"
#define KS_RTC_NONE    3

#endif
