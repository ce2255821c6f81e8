/* SPDX-License-Identifier: MIT */
/* source_report.c - names the sources of results that are not the model's */
#include "analysis/cmd/source_report.h"

bool ks_source_is_of(const struct ks_time_source *s, const struct ks_time_source *model)
{
    return s->device_class == model->device_class && s->condition == model->condition &&
           s->is_over_rounds == model->is_over_rounds;
}

void ks_sources_text(const struct ks_source_input *inputs, size_t n,
                     const struct ks_time_source *model, struct ks_buf *to)
{
    for (size_t k = 0; k < n; k++) {
        const struct ks_mixed *m = &inputs[k].data->mixed;

        for (size_t i = 0; i < m->n_sources; i++) {
            if (ks_source_is_of(&m->sources[i], model))
                continue;
            ks_buf_printf(to, "NOT OF THE MODEL'S SOURCE: %s: %zu problems measured on ",
                          inputs[k].name, m->sources[i].n_problems);
            ks_source_text(&m->sources[i], to);
            ks_buf_printf(to, "; the model is for ");
            ks_source_text(model, to);
            ks_buf_printf(to, "\n");
        }
    }
}

static void put_source_json(const struct ks_source_input *input, const struct ks_time_source *s,
                            const struct ks_time_source *model, struct ks_jw *w)
{
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "input", input->name);
    ks_jw_id(w, "class_id", s->device_class);
    ks_jw_str(w, "device", ks_device_called(s->model, s->arch));
    ks_jw_id(w, "condition_id", s->condition);
    ks_jw_bool(w, "is_over_rounds", s->is_over_rounds);
    ks_jw_u64(w, "n_problems", s->n_problems);
    ks_jw_bool(w, "is_of_model", ks_source_is_of(s, model));
    ks_jw_close(w, '}');
}

void ks_sources_json(const struct ks_source_input *inputs, size_t n,
                     const struct ks_time_source *model, struct ks_jw *w)
{
    ks_jw_open(w, "sources", '[');
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < inputs[k].data->mixed.n_sources; i++)
            put_source_json(&inputs[k], &inputs[k].data->mixed.sources[i], model, w);
    ks_jw_close(w, ']');
}
