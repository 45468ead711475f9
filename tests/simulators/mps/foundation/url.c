/* SPDX-License-Identifier: MIT */

#include <stdlib.h>

#include "tests/simulators/mps/foundation/foundation.h"

static mtl_object of_file(MTL_SELF(mtl_class_object), mtl_object path)
{
    const struct mtl_string *string = mtl_find(path, &mtl_string_class, "path");
    struct mtl_url *url = mtl_new(&mtl_url_class);

    url->path = mtl_copy(string->text);
    return mtl_autorelease(url);
}

static void destroy(struct mtl_base *object)
{
    free(((struct mtl_url *)object)->path);
}

const struct mtl_class mtl_url_class = {
    .name = "NSURL",
    .n_bytes = sizeof(struct mtl_url),
    .class_methods = (const struct mtl_method[]){
        MTL_METHOD("fileURLWithPath:", of_file, mtl_class_object, mtl_object, mtl_object),
        { 0 },
    },
    .destroy = destroy,
};
