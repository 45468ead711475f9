/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A network that sees clips and costs next to nothing: trails of what is past and of what is to
 * come in every frame, blurred
 *
 * What it makes of a frame depends on every frame of the clip, on the frame's place in it, and on
 * all of the tile around; so it tells wrong cuts as VRT does, at a thousandth of the price.
 */

#include "model/network.h"

/* Makes a VRT compute this instead: sizes, scale and all that is said of it stay VRT's. */
void trail_replace(struct vrt_network *network);
