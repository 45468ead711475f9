/* SPDX-License-Identifier: MIT */
/* .pth archives where vrtd was built without libzip. */

#include "engine/checkpoint/format.h"

int vrt_torch_zip_read(struct vrt_checkpoint_source *source)
{
    return vrt_checkpoint_refuse(source, "is a .pth archive, which this vrtd was built without "
                                 "libzip to read: convert it with models/convert.py");
}
