/* SPDX-License-Identifier: MIT */
/* Networks that are between two of the folder. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "daemon/models/models.h"

#define KEEPS_NOISE "wdn-"

/* The name of the one that keeps noise. Return: false: it can have none. */
static bool name_other(const char *name, char *buffer, size_t size)
{
    const char *last = strrchr(name, '-');

    if (!last || strstr(name, "-" KEEPS_NOISE))
        return false;
    return snprintf(buffer, size, "%.*s" KEEPS_NOISE "%s", (int)(last + 1 - name), name,
                    last + 1) < (int)size;
}

int vrt_models_find_between(struct vrt_models *models, const char *name, double denoise,
                            struct vrt_network **ret_network, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_network_unrefp) struct vrt_network *network = NULL, *other = NULL;
    char shown[VRT_API_NAME_BYTES], shown_other[VRT_API_NAME_BYTES];
    char other_name[VRT_API_NAME_BYTES];
    struct vrt_error why = { .id = NULL };

    int r = vrt_models_find(models, name, &network, error);
    if (r < 0)
        return vrt_fold(r);
    vrt_printable(name, shown, sizeof(shown));
    if (!name_other(name, other_name, sizeof(other_name)))
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_FIELD), "denoise: %s is no "
                          "network that another one keeps the noise for: realesr-general-x4v3 is",
                          shown);
    r = vrt_models_find(models, other_name, &other, &why);
    vrt_printable(other_name, shown_other, sizeof(shown_other));
    if (r == -ENOENT)
        return vrt_refuse(error, vrt_fold(r), VRT_E(MODEL_NOT_FOUND), "denoise: %s needs %s beside "
                          "it, which keeps the noise, and that isn't here%s%s", shown, shown_other,
                          strcmp(name, "realesr-general-x4v3") == 0 ? ": vrtctl models pull " :
                          ": realesr-general-x4v3 has one",
                          strcmp(name, "realesr-general-x4v3") == 0 ? shown_other : "");
    if (r == 0)
        r = vrt_network_blend(network, other, denoise, ret_network, &why);
    return r < 0 ? vrt_refuse(error, vrt_fold(r), why.id, "denoise: %.400s", why.message) : 0;
}
