/* SPDX-License-Identifier: MIT */
/* student.h - Student's t distribution. freedom: degrees of freedom, >= 1. */
#ifndef KS_RACE_STUDENT_H
#define KS_RACE_STUDENT_H

/* P(T > t). Source: regularized incomplete beta function, continued fraction by the modified Lentz
 * method (DLMF 8.17.22). Relative error below 1e-10. */
double ks_student_tail(double t, double freedom);
/* The t >= 0 with P(T > t) = tail; tail in (0, 0.5]. Relative error below 1e-9. */
double ks_student_quantile(double tail, double freedom);
/* The degrees of freedom in [lo, hi] at which the quantiles `outer` and `inner` of |T| have this
 * ratio; 0 < inner < outer < 1. Beyond the ends: the nearer end. Absolute error below 1e-6. */
double ks_student_freedom(double ratio, double inner, double outer, double lo, double hi);
/* E[max(0, mean + sd T)]; freedom > 1; sd >= 0. */
double ks_student_gain(double mean, double sd, double freedom);

#endif
