/* SPDX-License-Identifier: MIT */

#include "infer/model.h"

#include <errno.h>
#include <fcntl.h>

#include "base/io/model-file.h"
#include "engine/checkpoint.h"
#include "models/builtin.h"

int vrt_infer_load_model(const char *model, struct vrt_network **ret_network,
                         struct vrt_error *error)
{
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *checkpoint = NULL;
    const struct vrt_builtin_model *builtin = vrt_builtin_model_find(model);
    char name[256];

    vrt_printable(model, name, sizeof(name));
    if (builtin) {
        int r = vrt_checkpoint_open_memory(builtin->data, builtin->size_bytes, name, &checkpoint,
                                           error);
        return r < 0 ? vrt_fold(r) :
               vrt_fold(vrt_network_new(checkpoint, name, ret_network, error));
    }
    VRT_CLEANUP(vrt_closep) int fd = -1;
    if (vrt_model_file_is_pair(model)) {
        int r = vrt_model_file_join(AT_FDCWD, model, &fd, error);
        if (r < 0)
            return vrt_fold(r);
    } else {
        fd = open(model, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    if (fd < 0)
        return vrt_refuse_errno(error, -errno, name);
    return vrt_fold(vrt_network_read(fd, name, ret_network, error));
}
