/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A strict reader of JSON text, token by token: what the header of a .safetensors file needs.
 *
 * The caller knows the grammar of what it reads and asks for the next thing; there is no tree, no
 * nesting and so nothing to exhaust. Once anything failed, everything after fails too.
 */

#include <stdbool.h>
#include <stdint.h>

#include "engine/checkpoint/arena.h"
#include "engine/checkpoint/text.h"

/* Embedded by value; set `at` and `end` to the text, `arena` to where strings go. */
struct vrt_json {
    const char *at, *end;
    struct vrt_cp_arena *arena;
};

/* Whether the next token is `c`; it is taken if so. */
bool vrt_json_take(struct vrt_json *json, char c);

/* Takes a string, which is decoded, ended by a NUL and lives in the arena. Return: false where
 * there is none, where it is not UTF-8 or holds a NUL, or where the arena gave nothing. */
bool vrt_json_string(struct vrt_json *json, struct vrt_text *ret_text);

/* Takes a whole number, 0 to INT64_MAX, without sign, fraction or exponent. */
bool vrt_json_size(struct vrt_json *json, int64_t *ret_size);

/* Whether nothing but white space is left. */
bool vrt_json_is_done(struct vrt_json *json);
