/* SPDX-License-Identifier: MIT */

#include "tests/unit/engine/nomem.h"

#include <errno.h>
#include <stddef.h>

/* Linked with --wrap: all calls of this program, its libraries' apart, come here. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_reallocarray(void *old, size_t n, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
int __real_posix_memalign(void **ret, size_t align, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
int __wrap_posix_memalign(void **ret, size_t align, size_t size);
char *__wrap_strdup(const char *text);

static int n_until_failure;             /* 0: none fails */
static bool failed;

void nomem_begin(int n)
{
    n_until_failure = n;
    failed = false;
}

bool nomem_end(void)
{
    n_until_failure = 0;
    return failed;
}

bool nomem_fails(void)
{
    const bool now = n_until_failure > 0 && --n_until_failure == 0;

    failed = failed || now;
    return now;
}

void *__wrap_malloc(size_t size)
{
    return nomem_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return nomem_fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
    return nomem_fails() ? NULL : __real_reallocarray(old, n, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return nomem_fails() ? NULL : __real_aligned_alloc(align, size);
}

int __wrap_posix_memalign(void **ret, size_t align, size_t size)
{
    return nomem_fails() ? ENOMEM : __real_posix_memalign(ret, align, size);
}

char *__wrap_strdup(const char *text)
{
    return nomem_fails() ? NULL : __real_strdup(text);
}
