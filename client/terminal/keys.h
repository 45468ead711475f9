/* SPDX-License-Identifier: MIT */
#pragma once

/* What a user types, key by key. */

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

/* Keys that are no character; all others are their ASCII code. */
enum vrt_key {
    VRT_KEY_NONE = -1,          /* nothing more was typed */
    VRT_KEY_UNKNOWN = 256,      /* one of no use here */
    VRT_KEY_UP,
    VRT_KEY_DOWN,
    VRT_KEY_PAGE_UP,
    VRT_KEY_PAGE_DOWN,
    VRT_KEY_HOME,
    VRT_KEY_END,
    VRT_KEY_ESCAPE,
    VRT_KEY_HANGUP,             /* nobody will type any more */
};

/* Standard input, a terminal. All zero: it is as it was. */
struct vrt_keys {
    struct termios before;
    bool is_taken;
    char typed[64];             /* n_typed bytes that weren't taken yet */
    size_t n_typed;
};

/* Keys come as they are typed, and aren't shown. Ctrl-C and Ctrl-Z are signals still.
 * Return: 0; -errno: it isn't a terminal. */
int vrt_keys_take(struct vrt_keys *keys);

/* The terminal is again as it was. */
void vrt_keys_release(struct vrt_keys *keys);

/* Return: the next key, enum vrt_key or ASCII; VRT_KEY_NONE. Nothing is waited for. */
int vrt_keys_next(struct vrt_keys *keys);

/*
 * The key that n bytes (n > 0) begin with, as terminals of the VT100's kin send them.
 * Return: how many of them it is; 0: its end is still to come. Pure.
 */
size_t vrt_key_decode(const char *bytes, size_t n, int *ret_key);
