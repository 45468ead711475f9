/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * From now on the C library's heap gives large blocks back to the system as soon as they are freed.
 *
 * By default glibc keeps blocks of up to 32 MiB once one of that size was freed, in several heaps;
 * of a daemon whose encoders come and go these grow with the length of the video. Elsewhere: does
 * nothing. Thread: main, before others start.
 */
void vrt_heap_return_large(void);

/* Gives back what is free at the moment: after something large that was made of many small blocks.
 * Elsewhere: does nothing. Thread: any. */
void vrt_heap_give_back(void);
