/* SPDX-License-Identifier: MIT */
/* simt_stack.h - switching between the stacks of fibres. Part of the emulator, of simt.c alone. */
#ifndef KS_SIMT_STACK_H
#define KS_SIMT_STACK_H

#include <stddef.h>
#include <string.h>

/* --- Switching between stacks: 20 instructions on x86-64, else ucontext, which asks the kernel. */

#if defined(__x86_64__) && !defined(SIMT_UCONTEXT)
typedef void *context;
void ks_simt_switch(context *save, context to);
/* .pushsection: without it what the compiler writes next would land in .text. */
__asm__(".pushsection .text\n"
        ".globl ks_simt_switch\n.hidden ks_simt_switch\n.type ks_simt_switch,@function\n"
        "ks_simt_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size ks_simt_switch,.-ks_simt_switch\n.popsection\n");

static void context_switch(context *from, context *to)
{
    ks_simt_switch(from, *to);
}

static void context_make(context *c, char *stack, size_t bytes, void (*start)(void))
{
    void **sp = (void **)(void *)(stack + bytes);

    *--sp = NULL; /* the return address of start(), which keeps its stack aligned */
    memcpy(--sp, &start, sizeof start);
    for (int i = 0; i < 6; i++)
        *--sp = NULL;
    *c = sp;
}
#else
#include <ucontext.h>
typedef ucontext_t context;

static void context_switch(context *from, context *to)
{
    swapcontext(from, to);
}

static void context_make(context *c, char *stack, size_t bytes, void (*start)(void))
{
    getcontext(c);
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = bytes;
    c->uc_link = NULL;
    makecontext(c, start, 0);
}
#endif

/* --- The address sanitizer wants to know which stack is in use. */

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_ADDRESS_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define IS_ADDRESS_SANITIZED 1
#endif
#ifdef IS_ADDRESS_SANITIZED
void __sanitizer_start_switch_fiber(void **fake, const void *bottom, size_t bytes);
void __sanitizer_finish_switch_fiber(void *fake, const void **bottom_out, size_t *bytes_out);
void __asan_unpoison_memory_region(void const volatile *p, size_t bytes);
void __asan_poison_memory_region(void const volatile *p, size_t bytes);
#define stack_leave  __sanitizer_start_switch_fiber
#define stack_enter  __sanitizer_finish_switch_fiber
#define memory_open  __asan_unpoison_memory_region
#define memory_close __asan_poison_memory_region
#else
static void stack_leave(void **fake, const void *bottom, size_t bytes)
{
    (void)fake, (void)bottom, (void)bytes;
}
static void stack_enter(void *fake, const void **bottom, size_t *bytes)
{
    (void)fake, (void)bottom, (void)bytes;
}
static void memory_open(void const volatile *p, size_t bytes)
{
    (void)p, (void)bytes;
}
#define memory_close memory_open
#endif

#endif
