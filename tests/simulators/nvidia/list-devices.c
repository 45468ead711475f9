/* SPDX-License-Identifier: MIT */

/*
 * Prints what is known of the devices there are, tab-separated, one a line; then each finding. The
 * log says what is missing.
 *
 * usage: list-devices [WORKERS [tf32|fma|auto|off|all]]: the last three of [cuda] libraries. What
 * is compiled is kept in $VRT_TEST_CACHE.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/log.h"
#include "tests/unit/environment.h"

static enum vrt_cuda_libraries_wanted libraries_of(const char *text)
{
    if (strcmp(text, "all") == 0)
        return VRT_CUDA_LIBRARIES_ALL;
    return strcmp(text, "off") == 0 ? VRT_CUDA_LIBRARIES_OFF : VRT_CUDA_LIBRARIES_AUTO;
}

int main(int argc, char **argv)
{
    const char *option = argc > 2 ? argv[2] : "";
    const struct vrt_registry_params params = {
        .cuda_workers = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0,
        .cuda_tf32 = strcmp(option, "tf32") == 0,
        .cuda_fma = strcmp(option, "fma") == 0,
        .cuda_libraries = libraries_of(option),
        .cache_dir = test_cache_dir(),
    };
    VRT_CLEANUP(vrt_registry_freep) struct vrt_registry *registry = NULL;
    struct vrt_error error = { 0 };
    size_t n;

    vrt_log_set_level(VRT_LOG_INFO);
    if (vrt_registry_new(&params, &registry, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    const struct vrt_device_info *const *infos = vrt_registry_devices(registry, &n);
    for (size_t i = 0; i < n; i++)
        printf("%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", infos[i]->name, infos[i]->card, infos[i]->uuid,
               infos[i]->pci_address, infos[i]->compute_capability, infos[i]->driver_version,
               infos[i]->runtime_version, infos[i]->class_id);
    const struct vrt_findings *findings = vrt_registry_findings(registry);
    for (size_t i = 0; i < findings->n; i++)
        printf("finding\t%s\t%s\t%d\t%s\t%s\n", findings->list[i].backend,
               findings->list[i].what, (int)findings->list[i].kind, findings->list[i].text,
               findings->list[i].cure);
    return 0;
}
