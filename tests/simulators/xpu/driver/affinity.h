/* SPDX-License-Identifier: MIT */
#pragma once

/* ZE_AFFINITY_MASK: which cards, and which tiles of them, a process may see. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * For each of `n_cards`, one bit for each tile of it that `text` names: "0,2.1" are all tiles of
 * card 0 and the second one of card 2. NULL or "" names all. Cards and tiles that aren't there
 * count for nothing. Return: false where text is no such list.
 */
bool drv_affinity_parse(const char *text, size_t n_cards, unsigned n_tiles, uint32_t *ret_tiles);
