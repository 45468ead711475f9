/* SPDX-License-Identifier: MIT */

/*
 * A driver of NVIDIA's that answers, but is of no use: too old (FAKE_VERSION), or failing from the
 * start (FAKE_INIT). The runtime asks it for hundreds of functions; all but these answer "not
 * supported".
 */

#include <stdint.h>
#include <string.h>

#define NOT_SUPPORTED 801

typedef void function(void);

int cuInit(unsigned flags);
int cuDriverGetVersion(int *ret_version);
int cuGetProcAddress(const char *name, function **ret, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *name, function **ret, int version, uint64_t flags,
                        int *ret_found);

int cuInit(unsigned flags)
{
    (void)flags;
    return FAKE_INIT;
}

int cuDriverGetVersion(int *ret_version)
{
    *ret_version = FAKE_VERSION;
    return 0;
}

static int not_supported(void)
{
    return NOT_SUPPORTED;
}

int cuGetProcAddress_v2(const char *name, function **ret, int version, uint64_t flags,
                        int *ret_found)
{
    (void)version;
    (void)flags;
    *ret = (function *)not_supported;
    if (strcmp(name, "cuInit") == 0)
        *ret = (function *)cuInit;
    if (strcmp(name, "cuDriverGetVersion") == 0)
        *ret = (function *)cuDriverGetVersion;
    if (strcmp(name, "cuGetProcAddress") == 0)
        *ret = (function *)cuGetProcAddress_v2;
    if (ret_found)
        *ret_found = 0;
    return 0;
}

int cuGetProcAddress(const char *name, function **ret, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, ret, version, flags, NULL);
}
