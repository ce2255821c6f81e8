/* SPDX-License-Identifier: MIT */
/* tuner.h - what results of Kernel Tuner, KTT and T4 have in common: configurations as JSON, a
 * problem and a device that only names describe. */
#ifndef KS_ANALYSIS_TUNER_H
#define KS_ANALYSIS_TUNER_H

#include "analysis/import/intake.h"
#include "json/json.h"

#define KS_TUNER_SAMPLES 4096u

struct ks_tuner {
    struct ks_intake *im;
    char family[48]; /* of all instances */
    uint32_t problem;
    bool is_begun;
    double unit_ns;                     /* of times without a unit of their own; 0: not known */
    struct ks_buf text, name;           /* of a configuration */
    double sample_ns[KS_TUNER_SAMPLES]; /* of one result */
    uint32_t n_samples;
};

void ks_tuner_init(struct ks_tuner *t, struct ks_intake *im);
void ks_tuner_release(struct ks_tuner *t);

/* ks_tuner_begin() - the problem and the device, once.
 * @tool [in] "t4", "kernel_tuner"; @kernel, @size, @device [in] "" = the file does not say: then
 *   they are taken from the options, else from the file's name ("convolution_milo_MI250X_T4.json":
 *   problem convolution_milo on MI250X)
 */
int ks_tuner_begin(struct ks_tuner *t, const char *tool, const char *kernel, const char *size,
                   const char *device, struct ks_err *err);

/* A parameter of the configuration that is being read: ks_tuner_config starts one, and
 * ks_tuner_instance ends it. Values are numbers, truth values and texts. */
void ks_tuner_config(struct ks_tuner *t);
int ks_tuner_parameter(struct ks_tuner *t, const char *name, const struct ks_json *doc,
                       const struct ks_node *value, struct ks_err *err);
int ks_tuner_instance(struct ks_tuner *t, uint32_t *kernel_out, struct ks_err *err);

/* As ks_intake_unit_ns; counts a misspelled unit. */
double ks_tuner_unit_ns(struct ks_tuner *t, const char *unit);
/* Numbers of a list as samples of unit_ns. KS_EFORMAT: not numbers >= 0, or too many. */
int ks_tuner_samples(struct ks_tuner *t, const struct ks_json *doc, const struct ks_node *list,
                     double unit_ns, struct ks_err *err);

/* "RuntimeFailedConfig", "compile", "correct" ... to an outcome; KS_O_NONE: unknown. */
uint32_t ks_tuner_outcome(const char *text);

/* The result of a configuration: outcome KS_O_OK or a failure; of ok rows the samples, else
 * time_ns. */
int ks_tuner_put(struct ks_tuner *t, uint32_t kernel, uint32_t outcome, const char *reason,
                 double time_ns, uint64_t started_ns, struct ks_err *err);

#endif
