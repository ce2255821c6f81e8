/* SPDX-License-Identifier: MIT */
/* outcome.c - texts of outcomes, flags, stop reasons and phases, and what an outcome implies */
#include "record/outcome.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct outcome {
    const char *text;
    bool needs_look;
};

static const struct outcome outcomes[KS_O_LIMIT] = {
#define X(name, value, text, look) [value] = { text, look },
    KS_OUTCOME_LIST(X)
#undef X
};

const char *ks_outcome_text(uint32_t outcome)
{
    return outcome < KS_O_LIMIT && outcomes[outcome].text ? outcomes[outcome].text : "?";
}

uint32_t ks_outcome_from(const char *text)
{
    for (uint32_t i = KS_O_NONE + 1; i < KS_O_LIMIT; i++)
        if (strcmp(text, outcomes[i].text) == 0)
            return i;
    return KS_O_NONE;
}

bool ks_outcome_needs_look(uint32_t outcome)
{
    return outcome < KS_O_LIMIT && outcomes[outcome].needs_look;
}

bool ks_outcome_is_abnormal(uint32_t outcome)
{
    switch (outcome) {
    case KS_O_CRASHED:
    case KS_O_EXITED:
    case KS_O_TIMEOUT:
    case KS_O_OUT_OF_MEMORY:
    case KS_O_WORKER_LOST:
    case KS_O_DEVICE_LOST:
        return true;
    default:
        return false;
    }
}

bool ks_outcome_is_pruned(uint32_t outcome, const char *reason)
{
    return outcome == KS_O_SKIPPED &&
           strncmp(reason, KS_PRUNED_SPILLS, strlen(KS_PRUNED_SPILLS)) == 0;
}

static const struct {
    uint32_t flag;
    const char *text;
} flag_texts[] = {
#define X(name, bit, text) { 1u << (bit), text },
    KS_FLAG_LIST(X)
#undef X
};

void ks_flags_text(uint32_t flags, char *out, uint32_t cap)
{
    size_t at = 0;

    if (cap == 0)
        return;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof(flag_texts) / sizeof(flag_texts[0]); i++) {
        int n;

        if (!(flags & flag_texts[i].flag) || at >= cap)
            continue;
        n = snprintf(out + at, cap - at, "%s%s", at ? "|" : "", flag_texts[i].text);
        at += n > 0 ? (size_t)n : 0;
    }
}

const char *ks_stop_text(uint32_t stop)
{
    switch (stop) {
    case KS_STOP_NONE:
        return "none";
    case KS_STOP_TARGET:
        return "target";
    case KS_STOP_MAX_SAMPLES:
        return "max_samples";
    case KS_STOP_MAX_TIME:
        return "max_time";
    case KS_STOP_FAILED:
        return "failed";
    default:
        return "?";
    }
}

const char *ks_phase_text(uint32_t phase)
{
    static const char *const texts[] = {
#define X(name, value, text) [value] = text,
        KS_PHASE_LIST(X)
#undef X
    };

    return phase < sizeof(texts) / sizeof(texts[0]) ? texts[phase] : "?";
}
