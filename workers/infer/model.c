/* SPDX-License-Identifier: MIT */

#include "infer/model.h"

#include <errno.h>
#include <fcntl.h>

#include "engine/checkpoint.h"
#include "models/builtin.h"

static int open_checkpoint(const char *model, struct vrt_checkpoint **ret_checkpoint,
                           struct vrt_error *error)
{
    const struct vrt_builtin_model *builtin = vrt_builtin_model_find(model);

    if (builtin)
        return vrt_checkpoint_open_memory(builtin->data, builtin->size_bytes, model,
                                          ret_checkpoint, error);

    VRT_CLEANUP(vrt_closep) int fd = open(model, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return vrt_refuse_errno(error, -errno, model);
    return vrt_checkpoint_open(fd, model, ret_checkpoint, error);
}

int vrt_infer_load_model(const char *model, struct vrt_network **ret_network,
                         struct vrt_error *error)
{
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *checkpoint = NULL;
    char name[256];
    int r = open_checkpoint(model, &checkpoint, error);

    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(vrt_network_new(checkpoint, vrt_printable(model, name, sizeof(name)),
                                    ret_network, error));
}
