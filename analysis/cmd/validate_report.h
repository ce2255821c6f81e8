/* SPDX-License-Identifier: MIT */
/* validate_report.h - what `validate` found, and its report. */
#ifndef KS_ANALYSIS_VALIDATE_REPORT_H
#define KS_ANALYSIS_VALIDATE_REPORT_H

#include "analysis/cmd/evaluation.h"
#include "analysis/cmd/source_report.h"

/* The regression gate. */
struct ks_gate {
    double mean, p10; /* this model's less the other's */
    size_t n_slower;
    uint32_t slowest; /* problem */
    double ratio;     /* its time over the other model's */
    bool is_passed;
};

/* Zero-initialised = empty. */
struct ks_validation {
    const char *const *files;             /* of the results, as `data` numbers them; borrowed */
    const char *against;                  /* the other model of the gate; NULL: none; borrowed */
    struct ks_evaluation eval, other;     /* of the model; of the other one */
    struct ks_dataset data, sweep, again; /* the results; of --ceiling; of --retime */
    const char *shared;     /* file of the ceiling that has a run of the results; NULL: none */
    struct ks_buf left_out; /* canonical texts of problems that training has seen, a line each */
    struct ks_scorecard card, other_card;
    struct ks_network *networks; /* [n_networks] owned */
    size_t n_networks;
    struct ks_retimed retimed;
    struct ks_retimed_pair pair; /* of --retime: beside the best baseline */
    struct ks_worst *worst;      /* [n_worst] owned */
    size_t n_worst;
    struct ks_gate gate;
};

/* The data that a report rests on. */
enum { KS_VALIDATION_INPUTS = 3 };
void ks_validation_inputs(const struct ks_validation *v,
                          struct ks_source_input inputs_out[KS_VALIDATION_INPUTS]);
/* Both append. */
void ks_validation_text(const struct ks_validation *v, struct ks_buf *to);
void ks_validation_json(const struct ks_validation *v, struct ks_buf *to);

#endif
