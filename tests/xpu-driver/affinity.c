/* SPDX-License-Identifier: MIT */

#include "affinity.h"

#include <stdlib.h>
#include <string.h>

static bool read_index(const char **at, unsigned long *ret_index)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *ret_index = strtoul(*at, &end, 10);
    *at = end;
    return true;
}

bool drv_affinity_parse(const char *text, size_t n_cards, unsigned n_tiles, uint32_t *ret_tiles)
{
    const uint32_t all = (1u << n_tiles) - 1;
    const bool names_all = !text || !*text;

    for (size_t i = 0; i < n_cards; i++)
        ret_tiles[i] = names_all ? all : 0;
    for (const char *at = names_all ? "" : text; *at;) {
        unsigned long card, tile = n_tiles;
        if (!read_index(&at, &card))
            return false;
        bool has_tile = *at == '.';
        if (has_tile && (at++, !read_index(&at, &tile)))
            return false;
        if (*at && (*at++ != ',' || !*at))
            return false;
        if (card < n_cards && (!has_tile || tile < n_tiles))
            ret_tiles[card] |= has_tile ? 1u << tile : all;
    }
    return true;
}
