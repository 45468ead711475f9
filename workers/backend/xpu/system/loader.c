/* SPDX-License-Identifier: MIT */

#include "backend/xpu/system/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/macro.h"

#define ENTRY(name, is_needed) { #name, offsetof(struct vrt_xpu_loader, name), is_needed },

static const struct {
    const char *name;
    size_t offset;
    bool is_needed;
} entries[] = { VRT_XPU_ENTRIES(ENTRY) };

/* What may reach a user. */
static const struct {
    ze_result_t result;
    const char *text;
} texts[] = {
    { ZE_RESULT_NOT_READY, "not done in time" },
    { ZE_RESULT_ERROR_DEVICE_LOST, "the device is lost" },
    { ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "out of host memory" },
    { ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "out of device memory" },
    { ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "a kernel can't be compiled" },
    { ZE_RESULT_ERROR_MODULE_LINK_FAILURE, "a kernel can't be linked" },
    { ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, "insufficient permissions" },
    { ZE_RESULT_ERROR_NOT_AVAILABLE, "not available" },
    { ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, "a library that the driver needs is missing" },
    { ZE_RESULT_ERROR_UNINITIALIZED, "no driver could be started" },
    { ZE_RESULT_ERROR_UNSUPPORTED_VERSION, "unsupported version" },
    { ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "unsupported" },
    { ZE_RESULT_ERROR_INVALID_ARGUMENT, "invalid argument" },
    { ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "unsupported size" },
    { ZE_RESULT_ERROR_INVALID_NATIVE_BINARY, "a compiled kernel is not of this driver" },
    { ZE_RESULT_ERROR_INVALID_KERNEL_NAME, "there is no kernel of this name" },
    { ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, "invalid size of a work-group" },
    { ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX, "a kernel has no such argument" },
    { ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE, "a kernel's argument has another size" },
};

int vrt_xpu_loader_init(struct vrt_xpu_loader *loader, const char *library,
                        struct vrt_error *error)
{
    loader->library = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!loader->library)
        return vrt_refuse(error, -ENOENT, "device.failed", "%s: the package libze1 brings it",
                          dlerror());
    for (size_t i = 0; i < VRT_ARRAY_SIZE(entries); i++) {
        void *entry = dlsym(loader->library, entries[i].name);
        if (!entry && entries[i].is_needed)
            return vrt_refuse(error, -ENOSYS, "device.failed", "%s lacks %s", library,
                              entries[i].name);
        memcpy((char *)loader + entries[i].offset, &entry, sizeof(entry));
    }
    return 0;
}

const char *vrt_xpu_result_text(ze_result_t result)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(texts); i++)
        if (texts[i].result == result)
            return texts[i].text;
    return "an error of Level Zero's";
}
