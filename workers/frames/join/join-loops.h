/* SPDX-License-Identifier: MIT */
#pragma once

/* How often an animation is to be played, which FFmpeg's demuxers keep to themselves. For the
 * joiner alone. */

/*
 * Looks for it at the head of a file that may be a GIF (its NETSCAPE2.0 extension, which counts
 * what comes after the first time) or an APNG (acTL). Return: how often, 0: for ever; -1: it says
 * nothing of that, or can't be read.
 */
int vrt_join_plays(int fd);
