/* SPDX-License-Identifier: MIT */

#include "models/builtin.h"

#include <string.h>

#include "models/builtin-data.h"

const struct vrt_builtin_model *vrt_builtin_model_at(size_t i)
{
    return i < vrt_n_builtin_models ? &vrt_builtin_models[i] : NULL;
}

const struct vrt_builtin_model *vrt_builtin_model_find(const char *name)
{
    for (size_t i = 0; i < vrt_n_builtin_models; i++)
        if (strcmp(vrt_builtin_models[i].name, name) == 0)
            return &vrt_builtin_models[i];
    return NULL;
}
