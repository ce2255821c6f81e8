/* SPDX-License-Identifier: MIT */
/* oracle.h - the best instance of every problem with error bars: the chance of each instance to be
 * the best and to be close to the best, and what choosing it costs.
 *
 * Model. The true log time of instance i is m + x_i: m is a place of the problem (flat prior), the
 * gaps x_i >= 0 are drawn from one distribution that all problems of a domain share. What was
 * measured of i is that plus Student's t noise, whose scale and degrees of freedom are those of
 * scatter.h; errors of different instances are independent once the shifts that all share are taken
 * out (trials.h). The distribution of gaps is estimated from the problems themselves by 20 steps of
 * EM from a flat one (nonparametric maximum likelihood, Laird 1978, stopped early): it says how
 * crowded it is near the best, without which the smallest of many noisy values would be believed
 * too much. Then all is numeric integration over m and the gaps; nothing is drawn at random.
 *
 * One sweep cannot tell how much differs between sweeps; there the prior of scatter.h stands in. */
#ifndef KS_ANALYSIS_ORACLE_H
#define KS_ANALYSIS_ORACLE_H

#include "analysis/learn/label_error.h"
#include "analysis/learn/scatter.h"

struct ks_chance {                         /* an instance of a contest */
    uint32_t instance, n_sweeps, n_rounds; /* rounds of all sweeps */
    bool is_contender;                     /* in a sweep at least */
    double label;                          /* log of ns: median over sweeps of the labels */
    double half_width;                     /* of the label's 95 % interval (label_error.h), log */
    double estimate;                       /* log of ns, comparable within the contest */
    double sd, freedom;                    /* of the estimate */
    double best, near;                     /* chances; near: time <= the best's (1 + margin) */
    double regret; /* expected log(time / time of the best), >= 0; of instances beyond the grid,
                      whose chances are 0, by their estimates */
};
struct ks_answer { /* of one contest */
    uint32_t domain, problem, n_failed;
    size_t first, n; /* chances: contenders, then others, each by ascending estimate; the first is
                        the label; n >= 1 */
    size_t n_near;   /* contenders within the margin of the first, which counts */
    size_t safest;   /* number in chances of the contender with the least expected regret */
};
struct ks_oracle {
    struct ks_chance *chances;
    struct ks_answer *answers;
    struct ks_scatter *scatter;   /* [n_domains] */
    struct ks_label_error *error; /* [n_domains] */
    size_t n_chances, n_answers;
    uint32_t n_domains;
};

/* ks_oracle_make() - from trials with the given `over`; margin: relative, > 0.
 * Contests without a time have no answer. Returns 0 or KS_ENOMEM. Owns: caller releases. */
int ks_oracle_make(const struct ks_trials *t, uint32_t n_domains, enum ks_over over, double margin,
                   struct ks_oracle *out, struct ks_err *err);
void ks_oracle_release(struct ks_oracle *o);

/* Inside: estimates, ascending -> chances. All answers of one domain. KS_ENOMEM. */
int ks_oracle_weigh(struct ks_chance *chances, const struct ks_answer *answers, size_t n_answers,
                    double margin, struct ks_err *err);

#endif
