/* SPDX-License-Identifier: MIT */
/* student.c - tail, quantile and expected gain of Student's t by a continued fraction */
#include "race/student.h"

#include <math.h>

#define TERMS_MAX 10000
#define TINY      1e-300

/* Numerator of the continued fraction of I_x(a, b), term m >= 1 (DLMF 8.17.22). */
static double numerator(double a, double b, double x, int m)
{
    double k = m / 2;

    if (m % 2 == 0)
        return k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
    return -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
}

static double away_from_zero(double x)
{
    return fabs(x) < TINY ? TINY : x;
}

/* I_x(a, b) where the fraction converges fast: x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a;
    double f = 1, c = 1, d = 0;

    for (int m = 1; m < TERMS_MAX; m++) {
        double step, n = numerator(a, b, x, m);

        c = away_from_zero(1 + n / c);
        d = 1 / away_from_zero(1 + n * d);
        step = c * d;
        f *= step;
        if (fabs(step - 1) < 1e-14)
            break;
    }
    return front / f;
}

static double beta_part(double a, double b, double x)
{
    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    if (x < (a + 1) / (a + b + 2))
        return beta_fraction(a, b, x);
    return 1 - beta_fraction(b, a, 1 - x);
}

double ks_student_tail(double t, double freedom)
{
    double half = beta_part(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;

    return t >= 0 ? half : 1 - half;
}

double ks_student_quantile(double tail, double freedom)
{
    double lo = 0, hi = 1;

    while (ks_student_tail(hi, freedom) > tail && hi < 1e150)
        hi *= 2;
    for (int i = 0; i < 200 && hi - lo > 1e-11 * hi; i++) {
        double mid = lo + (hi - lo) / 2;

        if (ks_student_tail(mid, freedom) > tail)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

/* The tails of |T| are the lighter, the more degrees of freedom there are. */
double ks_student_freedom(double ratio, double inner, double outer, double lo, double hi)
{
    for (int i = 0; i < 60 && hi - lo > 1e-6; i++) {
        double mid = (lo + hi) / 2;
        double r =
            ks_student_quantile((1 - outer) / 2, mid) / ks_student_quantile((1 - inner) / 2, mid);

        if (r > ratio)
            lo = mid;
        else
            hi = mid;
    }
    return (lo + hi) / 2;
}

/* With z = mean / sd: sd ((v + z^2) / (v - 1) f(z) + z F(z)). */
double ks_student_gain(double mean, double sd, double freedom)
{
    double z, density;

    if (sd <= 0)
        return mean > 0 ? mean : 0;
    z = mean / sd;
    density = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2) -
                  (freedom + 1) / 2 * log1p(z * z / freedom)) /
              sqrt(freedom * acos(-1));
    return sd * ((freedom + z * z) / (freedom - 1) * density + z * ks_student_tail(-z, freedom));
}
