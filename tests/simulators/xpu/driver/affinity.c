/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/driver/affinity.h"

#include <limits.h>
#include <stdlib.h>

static bool read_index(const char **at, unsigned long *ret_index)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *ret_index = strtoul(*at, &end, 10);
    *at = end;
    return true;
}

/* "2" or "2.1" at *at, which is then at the next entry; *ret_tile is n_tiles for all of them. */
static bool read_entry(const char **at, unsigned n_tiles, unsigned long *ret_card,
                       unsigned long *ret_tile)
{
    *ret_tile = n_tiles;
    if (!read_index(at, ret_card))
        return false;
    if (**at == '.') {
        ++*at;
        if (!read_index(at, ret_tile))
            return false;
        if (*ret_tile >= n_tiles)
            *ret_card = ULONG_MAX;      /* nobody's */
    }
    return !**at || (*(*at)++ == ',' && **at);
}

bool drv_affinity_parse(const char *text, size_t n_cards, unsigned n_tiles, uint32_t *ret_tiles)
{
    const uint32_t all = (1u << n_tiles) - 1;
    const bool names_all = !text || !*text;

    for (size_t i = 0; i < n_cards; i++)
        ret_tiles[i] = names_all ? all : 0;
    for (const char *at = names_all ? "" : text; *at;) {
        unsigned long card, tile;
        if (!read_entry(&at, n_tiles, &card, &tile))
            return false;
        if (card < n_cards)
            ret_tiles[card] |= tile < n_tiles ? 1u << tile : all;
    }
    return true;
}
