/* SPDX-License-Identifier: MIT */
/* NSProcessInfo: which system this is. */

#include <stdio.h>

#include "tests/simulators/mps/foundation/foundation.h"
#include "tests/simulators/mps/runtime/settings.h"

static mtl_object process_info(MTL_SELF(mtl_class_object))
{
    return mtl_autorelease(mtl_new(&mtl_process_info_class));
}

static mtl_object version(MTL_SELF(mtl_base))
{
    char text[64];

    snprintf(text, sizeof(text), "Version %u.0 (Build simulated)", mtl_settings()->system);
    return mtl_autorelease(mtl_string_new(text));
}

const struct mtl_class mtl_process_info_class = {
    .name = "NSProcessInfo",
    .n_bytes = sizeof(struct mtl_base),
    .methods = (const struct mtl_method[]){
        MTL_METHOD("operatingSystemVersionString", version, mtl_base, mtl_object),
        { 0 },
    },
    .class_methods = (const struct mtl_method[]){
        MTL_METHOD("processInfo", process_info, mtl_class_object, mtl_object),
        { 0 },
    },
};
