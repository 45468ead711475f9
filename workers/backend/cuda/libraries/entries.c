/* SPDX-License-Identifier: MIT */

#include "backend/cuda/libraries/entries.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

int vrt_cuda_entries_load(const char *name, const struct vrt_cuda_entry *entries, size_t n_entries,
                          void *to, struct vrt_error *error)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    int r = 0;

    if (!library)
        return vrt_refuse(error, -ENOENT, "device.failed", "%s", dlerror());
    for (size_t i = 0; r == 0 && i < n_entries; i++) {
        void *entry = dlsym(library, entries[i].name);
        if (entry)
            memcpy((char *)to + entries[i].offset, &entry, sizeof(entry));
        else
            r = vrt_refuse(error, -ENOSYS, "device.failed", "%s lacks %s", name, entries[i].name);
    }
    dlclose(library);
    return r;
}
