/* SPDX-License-Identifier: MIT */
#pragma once

#define VRT_ZYGOTE "zygote"    /* the argument of the program where it is to divide */

/*
 * Has one process, loaded, divide into all that vrtd asks for by `socket`, until that is gone.
 * Return: 0: this is a new one, whose socket has taken that one's place; -errno: it can't go on.
 * Thread: the process's first, before there are others.
 */
int vrt_zygote_run(int socket);
