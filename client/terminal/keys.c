/* SPDX-License-Identifier: MIT */
/*
 * Keys that are no character come as control sequences (ECMA-48): ESC, [ or O, parameters, a last
 * byte. The Escape key by itself sends just the first byte of these; a sequence comes as a whole,
 * so where nothing follows by the time that more is asked for, it was that key.
 */

#include "client/terminal/keys.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/macro.h"

#define ESCAPE '\033'

/* What stands behind ESC and [ or O. */
static const struct {
    const char *sequence;
    enum vrt_key key;
} sequences[] = {
    { "A", VRT_KEY_UP }, { "B", VRT_KEY_DOWN }, { "5~", VRT_KEY_PAGE_UP },
    { "6~", VRT_KEY_PAGE_DOWN }, { "H", VRT_KEY_HOME }, { "F", VRT_KEY_END },
    { "1~", VRT_KEY_HOME }, { "4~", VRT_KEY_END }, { "7~", VRT_KEY_HOME }, { "8~", VRT_KEY_END },
};

int vrt_keys_take(struct vrt_keys *keys)
{
    struct termios raw;

    if (tcgetattr(STDIN_FILENO, &keys->before) < 0)
        return vrt_raise(-errno);
    raw = keys->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    raw.c_cc[VQUIT] = _POSIX_VDISABLE;      /* it would end the program with all left as it is */
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
        return vrt_raise(-errno);
    keys->is_taken = true;
    return 0;
}

void vrt_keys_release(struct vrt_keys *keys)
{
    if (keys->is_taken)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &keys->before);
    keys->is_taken = false;
    keys->n_typed = 0;
}

size_t vrt_key_decode(const char *bytes, size_t n, int *ret_key)
{
    size_t end = 2;

    *ret_key = (unsigned char)bytes[0] < 0x80 ? bytes[0] : VRT_KEY_UNKNOWN;
    if (bytes[0] != ESCAPE)
        return 1;
    if (n < 2)
        return 0;
    *ret_key = VRT_KEY_ESCAPE;
    if (bytes[1] != '[' && bytes[1] != 'O')
        return 1;
    while (end < n && bytes[end] >= 0x20 && bytes[end] < 0x40)
        end++;
    if (end == n)
        return 0;
    *ret_key = VRT_KEY_UNKNOWN;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(sequences); i++)
        if (strlen(sequences[i].sequence) == end - 1 &&
            memcmp(sequences[i].sequence, bytes + 2, end - 1) == 0)
            *ret_key = sequences[i].key;
    return end + 1;
}

/* Return: whether the terminal is there. */
static bool read_more(struct vrt_keys *keys)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

    if (keys->n_typed == sizeof(keys->typed) || poll(&input, 1, 0) <= 0)
        return true;
    ssize_t n = read(STDIN_FILENO, keys->typed + keys->n_typed,
                     sizeof(keys->typed) - keys->n_typed);
    if (n > 0)
        keys->n_typed += (size_t)n;
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

int vrt_keys_next(struct vrt_keys *keys)
{
    const size_t n_before = keys->n_typed;
    int key;

    if (!read_more(keys))
        return VRT_KEY_HANGUP;
    if (keys->n_typed == 0)
        return VRT_KEY_NONE;
    size_t n = vrt_key_decode(keys->typed, keys->n_typed, &key);
    /* What isn't whole may be so when it is asked for next, but then it must have grown. */
    if (n == 0 && keys->n_typed > n_before)
        return VRT_KEY_NONE;
    if (n == 0) {
        key = keys->n_typed == 1 ? VRT_KEY_ESCAPE : VRT_KEY_UNKNOWN;
        n = keys->n_typed;
    }
    keys->n_typed -= n;
    memmove(keys->typed, keys->typed + n, keys->n_typed);
    return key;
}
