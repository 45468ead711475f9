/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files double*.c share: the program in the place of vrt-media that means harm. */

#include <signal.h>

#include "frames/process/message.h"

/* Numbers that follow from a seed. */
struct double_dice {
    uint64_t state;
    uint32_t rarity;            /* of so many answers one is a lie */
};

uint32_t double_roll(struct double_dice *dice, uint32_t below);

/* What it was given. */
struct double_files {
    int frame_fd, work_fd;      /* the frame's; what it writes; -1: none */
    int64_t offset_bytes;       /* of the frame */
    bool is_only_shown;         /* the frame is not to be filled */
};

/* What ends a double that could do what nobody can. */
#define DOUBLE_COULD SIGUSR2

/* Sends the answer, or what the dice make of it, and does to the files what they say. */
int double_lie(struct double_dice *dice, int socket, struct vrt_message *message, size_t size,
               const struct double_files *files);

/* Tries what vrt-media has no need of. Return: what succeeded, names with spaces between; "":
 * nothing; where the sandbox is not whole, "skip: " and why. */
const char *double_exploit(void);
