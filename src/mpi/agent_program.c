/* SPDX-License-Identifier: MIT */
/* agent_program.c - cells that are runs of other programs: what ksweep-profiler is told, and what
 * of it goes on as it is. */
#include "base/file.h"
#include "grid/programs.h"
#include "mpi/agent_impl.h"
#include "record/found.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int ks_agent_find_profiler(char *out, size_t cap, struct ks_err *err)
{
    const char *named = getenv("KSWEEP_PROFILER");
    char dir[900];
    int rc =
        named ? ks_path_join(out, cap, ".", named, err) : ks_program_dir(dir, sizeof(dir), err);
    if (rc == 0 && !named)
        rc = ks_path_join(out, cap, dir, "ksweep-profiler", err);
    if (rc == 0 && access(out, X_OK) < 0)
        rc = ks_fail_path(err, "program '%s'", out);
    return rc;
}

const char *ks_agent_scratch(const struct ks_agent *a, char *out, size_t cap)
{
    const char *tmp = getenv("TMPDIR");
    char nonce[33];
    if (!ks_job_runs_programs(&a->c.grid->job))
        return NULL;
    ks_hex128(a->worker.nonce, nonce);
    snprintf(out, cap, "%.900s/ksweep-%s", tmp && *tmp == '/' ? tmp : "/tmp", nonce);
    return out;
}

int ks_agent_put_program(struct ks_agent *a, uint32_t i_instance, struct ks_err *err)
{
    uint32_t repeat = 0;
    const struct ks_job_program *p = ks_programs_of(a->c.grid, i_instance, &repeat);
    struct ks_req_program *r = p ? calloc(1, sizeof(*r)) : NULL;
    if (!p)
        return 0;
    if (!r)
        return ks_fail(err, KS_ENOMEM, "agent: out of memory");
    memcpy(r->adapter, p->adapter, sizeof(r->adapter));
    memcpy(r->path, p->path, sizeof(r->path));
    memcpy(r->options, p->options, sizeof(r->options));
    memcpy(r->environment, p->environment, sizeof(r->environment));
    (void)ks_agent_scratch(a, r->work_dir, sizeof(r->work_dir));
    r->silence_s = p->silence_s;
    r->timeout_s = p->timeout_s;
    r->repeat = repeat;
    ks_buf_clear(&a->body);
    ks_req_program_encode(r, &a->body);
    free(r);
    return ks_worker_put_request(a, KS_F_REQ_PROGRAM, err);
}

bool ks_agent_passes_on(const struct ks_agent *a, uint16_t type)
{
    return ks_job_runs_programs(&a->c.grid->job) &&
           (type == KS_F_FOUND || type == KS_F_PROGRAM || type == KS_F_MSG_OUTPUT);
}
