/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A card: what the devices of this process that are one piece of hardware have in common
 *
 * An error that stays (an illegal address, a memory error) is one of the whole process's work on
 * that card, and only a reset ends it, which takes everything from everybody: so it waits until
 * the last device of the card is closed. Thread: any.
 */

#include <stdbool.h>

struct vrt_cuda_card;

/* Cards that a process may use: more than any machine has. */
#define VRT_CUDA_MAX_CARDS 64

/*
 * A reference to card `ordinal`, for a device about to be opened by the calling thread, whose
 * current device it becomes. A card that was broken is reset first, and tried out.
 * Return: 0; cudaError_t: it can't be used, not now or not any more.
 */
int vrt_cuda_card_open(int ordinal, struct vrt_cuda_card **ret_card);

/* Remembers that its errors stay. */
void vrt_cuda_card_break(struct vrt_cuda_card *card);

/*
 * Holds off the others of this card's devices, as long as one of them records a program, or does
 * what may wait for the whole card: that fails, and spoils a recording. Unlocked by whoever locked.
 */
void vrt_cuda_card_lock(struct vrt_cuda_card *card);
void vrt_cuda_card_unlock(struct vrt_cuda_card *card);

/* One reference less. NULL is fine. */
void vrt_cuda_card_close(struct vrt_cuda_card *card);
