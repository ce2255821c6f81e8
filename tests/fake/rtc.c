/* SPDX-License-Identifier: MIT */
/* rtc.c - NVRTC as a shared library, hipRTC with -DHIP: it compiles nothing. Its code is the text
 * "code of NAME"; with $FAKE_RTC_FAILS a source that is not empty does not compile. $FAKE_RTC_LOG
 * gets a line per call, with the name of the process. With -DCOMGR="PATH" the first program loads
 * that library, as hipRTC does with its compiler. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HIP
#define NAME(x) hiprtc##x
#define CODE(x) hiprtcGetCode##x
#else
#define NAME(x) nvrtc##x
#define CODE(x) nvrtcGetCUBIN##x
#endif

#ifdef COMGR
static int load_compiler(void)
{
    return dlopen(COMGR, RTLD_NOW | RTLD_LOCAL) != NULL;
}
#else
static int load_compiler(void)
{
    return 1;
}
#endif

struct program {
    char name[64], source[256];
};

int NAME(Version)(int *major, int *minor);
int NAME(CreateProgram)(struct program **out, const char *source, const char *name, int n_headers,
                        const char *const *headers, const char *const *names);
int NAME(CompileProgram)(struct program *p, int n, const char *const *options);
int NAME(GetProgramLogSize)(struct program *p, size_t *bytes);
int NAME(GetProgramLog)(struct program *p, char *text);
int CODE(Size)(struct program *p, size_t *bytes);
int CODE()(struct program *p, char *bytes);
int NAME(DestroyProgram)(struct program **p);
const char *NAME(GetErrorString)(int code);

static const char log_text[] = "device.c(7): error: #error of the fake compiler";

static void say(const char *what, int n, const char *const *options)
{
    const char *path = getenv("FAKE_RTC_LOG");
    FILE *comm = fopen("/proc/self/comm", "r"), *f = path != NULL ? fopen(path, "a") : NULL;
    char process[32] = "?";

    if (comm != NULL && fgets(process, sizeof(process), comm) == NULL)
        process[0] = '\0';
    process[strcspn(process, "\n")] = '\0';
    if (f != NULL) {
        fprintf(f, "%s %s", process, what);
        for (int i = 0; i < n; i++)
            fprintf(f, " %s", options[i]);
        fprintf(f, "\n");
        fclose(f);
    }
    if (comm != NULL)
        fclose(comm);
}

int NAME(Version)(int *major, int *minor)
{
    *major = 13;
    *minor = 9;
    return 0;
}

int NAME(CreateProgram)(struct program **out, const char *source, const char *name, int n_headers,
                        const char *const *headers, const char *const *names)
{
    struct program *p = calloc(1, sizeof(*p));

    if (p == NULL || !load_compiler() || n_headers != 0 || headers != NULL || names != NULL)
        return 3;
    snprintf(p->name, sizeof(p->name), "%s", name);
    snprintf(p->source, sizeof(p->source), "%s", source);
    *out = p;
    return 0;
}

int NAME(CompileProgram)(struct program *p, int n, const char *const *options)
{
    say("compile", n, options);
    return p->source[0] != '\0' && getenv("FAKE_RTC_FAILS") != NULL ? 6 : 0;
}

int NAME(GetProgramLogSize)(struct program *p, size_t *bytes)
{
    *bytes = p != NULL ? sizeof(log_text) : 0;
    return 0;
}

int NAME(GetProgramLog)(struct program *p, char *text)
{
    (void)p;
    memcpy(text, log_text, sizeof(log_text));
    return 0;
}

int CODE(Size)(struct program *p, size_t *bytes)
{
    *bytes = strlen(p->name) + 8;
    return 0;
}

int CODE()(struct program *p, char *bytes)
{
    memcpy(bytes, "code of ", 8);
    memcpy(bytes + 8, p->name, strlen(p->name));
    return 0;
}

int NAME(DestroyProgram)(struct program **p)
{
    say("destroy", 0, NULL);
    free(*p);
    *p = NULL;
    return 0;
}

const char *NAME(GetErrorString)(int code)
{
    return code == 6 ? "FAKE_ERROR_COMPILATION" : "FAKE_ERROR";
}
