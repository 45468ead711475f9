/* SPDX-License-Identifier: MIT */

#include <stdlib.h>

#include "tests/simulators/mps/foundation/foundation.h"

struct mtl_string *mtl_string_new(const char *text)
{
    struct mtl_string *string = mtl_new(&mtl_string_class);

    string->text = mtl_copy(text);
    return string;
}

static mtl_object with_utf8(MTL_SELF(mtl_class_object), mtl_pointer text)
{
    if (!text)
        mtl_die("the text is NULL");
    return mtl_autorelease(mtl_string_new(text));
}

static mtl_pointer utf8(MTL_SELF(mtl_string))
{
    return self->text;
}

static void destroy(struct mtl_base *object)
{
    free(((struct mtl_string *)object)->text);
}

const struct mtl_class mtl_string_class = {
    .name = "NSString",
    .n_bytes = sizeof(struct mtl_string),
    .methods = (const struct mtl_method[]){
        MTL_METHOD("UTF8String", utf8, mtl_string, mtl_pointer),
        { 0 },
    },
    .class_methods = (const struct mtl_method[]){
        MTL_METHOD("stringWithUTF8String:", with_utf8, mtl_class_object, mtl_object, mtl_pointer),
        { 0 },
    },
    .destroy = destroy,
};
