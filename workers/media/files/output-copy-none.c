/* SPDX-License-Identifier: MIT */

/*
 * Where no call copies between open files. macOS is such a system: clonefile(2) shares a whole file
 * under a name that must not exist yet, and copyfile(3) clones by names alone, while the output is
 * a file that the user made and holds open. A clone put in its place would be another file, without
 * the first one's owner, mode, attributes and links, and whoever has it open would never see it.
 */

#include "workers/media/files/output-copy.h"

ssize_t vrt_output_copy_range(const struct vrt_output_copy *copy, int64_t offset, size_t size)
{
    (void)copy;
    (void)offset;
    (void)size;
    return 0;
}
