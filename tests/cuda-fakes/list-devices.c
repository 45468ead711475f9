/* SPDX-License-Identifier: MIT */

/* Prints the names of the devices there are, one a line; the log says what is missing. */

#include <stdio.h>

#include "backend/backend.h"
#include "base/log.h"

int main(void)
{
    VRT_CLEANUP(vrt_registry_freep) struct vrt_registry *registry = NULL;
    struct vrt_error error = { 0 };
    size_t n;

    vrt_log_set_level(VRT_LOG_INFO);
    if (vrt_registry_new(&(struct vrt_registry_params){ 0 }, &registry, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    const struct vrt_device_info *const *infos = vrt_registry_devices(registry, &n);
    for (size_t i = 0; i < n; i++)
        puts(infos[i]->name);
    return 0;
}
