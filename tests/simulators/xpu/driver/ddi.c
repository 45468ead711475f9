/* SPDX-License-Identifier: MIT */

/* The tables that the loader asks for, each by an exported function. */

#include "tests/simulators/xpu/driver/calls.h"

#define ENTRY(api, object, call) .pfn##call = drv_##api##object##call,

#define TABLE(api, name, type, calls)                                                           \
    ZE_DLLEXPORT ze_result_t ZE_APICALL api##Get##name##ProcAddrTable(                          \
        ze_api_version_t version, api##_##type##_dditable_t *table)                             \
    {                                                                                           \
        if (!table)                                                                             \
            return ZE_RESULT_ERROR_INVALID_NULL_POINTER;                                        \
        if (ZE_MAJOR_VERSION(version) != ZE_MAJOR_VERSION(ZE_API_VERSION_CURRENT))              \
            return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;                                         \
        *table = (api##_##type##_dditable_t){ calls(ENTRY) };                                   \
        return ZE_RESULT_SUCCESS;                                                               \
    }

DRV_TABLES(TABLE)
