/* SPDX-License-Identifier: MIT */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/simulators/mps/foundation/foundation.h"

struct mtl_error *mtl_error_new(long code, const char *description)
{
    struct mtl_error *error = mtl_new(&mtl_error_class);

    error->description = mtl_string_new(description);
    error->code = code;
    return error;
}

void mtl_error_give(mtl_object *ret_error, long code, const char *format, ...)
{
    VRT_CLEANUP(vrt_freep) char *text = NULL;
    va_list args;

    if (!ret_error)
        return;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        mtl_die("no memory");
    va_end(args);
    *ret_error = mtl_autorelease(mtl_error_new(code, text));
}

static mtl_object description(MTL_SELF(mtl_error))
{
    return mtl_autorelease(mtl_retain(self->description));
}

static mtl_i64 code(MTL_SELF(mtl_error))
{
    return self->code;
}

static void destroy(struct mtl_base *object)
{
    mtl_release(((struct mtl_error *)object)->description);
}

const struct mtl_class mtl_error_class = {
    .name = "NSError",
    .n_bytes = sizeof(struct mtl_error),
    .methods = (const struct mtl_method[]){
        MTL_METHOD("localizedDescription", description, mtl_error, mtl_object),
        MTL_METHOD("code", code, mtl_error, mtl_i64),
        { 0 },
    },
    .destroy = destroy,
};
