/* SPDX-License-Identifier: MIT */

#include "frames/process/sandbox.h"

const char *vrt_sandbox_enter(void)
{
    return "no sandbox for decoders on this system, or in this build";
}
