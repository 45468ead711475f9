/* SPDX-License-Identifier: MIT */
/*
 * Only what every terminal of the last decades does is used: up one line, erase to the end. The
 * block is written over rather than erased first, so that it doesn't flicker; each line erases
 * what is left of the one it replaces.
 */

#include "client/terminal/screen.h"

#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "client/terminal/table.h"

/* Ends of the control sequences of ECMA-48 that every terminal of today knows. */
#define LINE_UP "\033[A"
#define HOME "\033[H"
#define ERASE_LINE "\033[K"     /* the rest of what stood there */
#define ERASE_BELOW "\033[J"
/* xterm's modes; h sets and l resets them. */
#define OTHER_BUFFER "\033[?1049"
#define CURSOR "\033[?25"

void vrt_screen_init(struct vrt_screen *screen)
{
    const char *type = getenv("TERM");

    *screen = (struct vrt_screen){
        .terminal = isatty(STDOUT_FILENO) && type && type[0] && strcmp(type, "dumb") != 0,
        .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
    };
}

void vrt_screen_size(int *ret_columns, int *ret_rows)
{
    struct winsize size = { 0 };

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        size = (struct winsize){ 0 };
    *ret_columns = size.ws_col ? size.ws_col : 80;
    *ret_rows = size.ws_row ? size.ws_row : 24;
}

void vrt_screen_clear(struct vrt_screen *screen)
{
    if (!screen->n_drawn)
        return;
    fputc('\r', stdout);
    for (; screen->n_drawn > 0; screen->n_drawn--)
        fputs(LINE_UP, stdout);
    fputs(ERASE_BELOW, stdout);
    fflush(stdout);
}

void vrt_screen_draw(struct vrt_screen *screen, const char *text)
{
    if (!screen->terminal)
        return;
    fputc('\r', stdout);
    for (; screen->n_drawn > 0; screen->n_drawn--)
        fputs(LINE_UP, stdout);
    for (const char *s = text; *s; screen->n_drawn++) {
        size_t n = strcspn(s, "\n");
        fwrite(s, 1, n, stdout);
        fputs(ERASE_LINE "\n", stdout);
        s += n + (s[n] == '\n');
    }
    fputs(ERASE_BELOW, stdout);
    fflush(stdout);
}

void vrt_screen_enter(struct vrt_screen *screen)
{
    if (!screen->is_entered)
        fputs(OTHER_BUFFER "h" CURSOR "l", stdout);
    screen->is_entered = true;
}

void vrt_screen_leave(struct vrt_screen *screen)
{
    if (screen->is_entered)
        fputs(CURSOR "h" OTHER_BUFFER "l", stdout);
    screen->is_entered = false;
    fflush(stdout);
}

void vrt_screen_fill(struct vrt_screen *screen, const char *text)
{
    if (!screen->is_entered)
        return;
    fputs(HOME, stdout);
    for (const char *s = text; *s;) {
        size_t n = strcspn(s, "\n");
        fwrite(s, 1, n, stdout);
        s += n + (s[n] == '\n');
        /* Behind the last line a break would move all of them. */
        fputs(*s ? ERASE_LINE "\n" : ERASE_LINE, stdout);
    }
    fputs(ERASE_BELOW, stdout);
    fflush(stdout);
}

int vrt_screen_print_table(const struct vrt_table *table)
{
    struct vrt_buf buf = { 0 };
    int columns = 0, rows;

    if (isatty(STDOUT_FILENO))
        vrt_screen_size(&columns, &rows);
    int r = vrt_table_print(table, columns, &buf);
    if (r == 0)
        fwrite(buf.data, 1, buf.size_bytes, stdout);
    vrt_buf_done(&buf);
    return vrt_fold(r);
}
