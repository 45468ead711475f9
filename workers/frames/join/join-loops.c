/* SPDX-License-Identifier: MIT */

#include "frames/join/join-loops.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* As far as both say it, unless somebody put much text before. */
#define HEAD_BYTES 65536

struct head {
    uint8_t bytes[HEAD_BYTES];
    size_t size, at;
};

/* The next `n` bytes; NULL: there are no such. */
static const uint8_t *take(struct head *head, size_t n)
{
    if (n > head->size - head->at)
        return NULL;
    head->at += n;
    return head->bytes + head->at - n;
}

/* Bytes of the palette that a byte of flags tells of. */
static size_t palette_bytes(uint8_t flags)
{
    return flags & 0x80 ? (size_t)3 << ((flags & 7) + 1) : 0;
}

/* CompuServe's GIF89a, and Netscape's extension: sub-blocks 11 "NETSCAPE2.0", 3, 1, count (16 bits,
 * the low ones first). Who lacks it is played once. */
static int plays_of_gif(struct head *head)
{
    const uint8_t *at = take(head, 13);

    if (!at || !take(head, palette_bytes(at[10])))
        return -1;
    while ((at = take(head, 2)) && at[0] == 0x21) {
        bool is_netscape = false;
        for (int i = 0; (at = take(head, 1)) && at[0]; i++) {
            const size_t size = at[0];
            const uint8_t *block = take(head, size);
            if (!block)
                return -1;
            if (is_netscape && size == 3 && block[0] == 1) {
                const int more = block[1] | block[2] << 8;
                return more ? more + 1 : 0;
            }
            is_netscape = i == 0 && size == 11 && memcmp(block, "NETSCAPE2.0", 11) == 0;
        }
    }
    return at ? 1 : -1;
}

static uint32_t number_at(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Chunks: length, name, content, checksum; acTL has how many frames there are, and how often they
 * are played. */
static int plays_of_apng(struct head *head)
{
    const uint8_t *at;

    head->at = 8;
    while ((at = take(head, 8)) && memcmp(at + 4, "IDAT", 4) != 0) {
        const uint32_t size = number_at(at);
        const bool is_it = memcmp(at + 4, "acTL", 4) == 0 && size == 8;
        at = take(head, (size_t)size + 4);
        if (!at)
            return -1;
        if (is_it)
            return number_at(at + 4) <= INT32_MAX ? (int)number_at(at + 4) : 0;
    }
    return -1;
}

int vrt_join_plays(int fd)
{
    static const uint8_t png[8] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
    struct head head = { .at = 0 };
    const ssize_t n = pread(fd, head.bytes, sizeof(head.bytes), 0);

    if (n < 8)
        return -1;
    head.size = (size_t)n;
    return memcmp(head.bytes, "GIF8", 4) == 0 ? plays_of_gif(&head)
           : memcmp(head.bytes, png, 8) == 0  ? plays_of_apng(&head)
                                              : -1;
}
