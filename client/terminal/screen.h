/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The terminal: a block of lines at its bottom that is drawn over again, and lines above that
 * stay; or all of it. On anything but a terminal there is no block.
 */

#include <stdbool.h>
#include <stddef.h>

struct vrt_table;

struct vrt_screen {
    bool terminal;              /* standard output is one, and can move its cursor */
    bool utf8;
    int n_drawn;                /* lines of the block that stand there now */
    bool is_entered;            /* the whole terminal is ours */
};

/* Looks at standard output and the locale. */
void vrt_screen_init(struct vrt_screen *screen);

/* Columns and rows of the terminal now; 80 and 24 where nobody knows. */
void vrt_screen_size(int *ret_columns, int *ret_rows);

/* Draws the block anew: `text` holds lines, each ended by a line break and narrower than it. */
void vrt_screen_draw(struct vrt_screen *screen, const char *text);

/* Takes the block away: what is printed next stands in its place. */
void vrt_screen_clear(struct vrt_screen *screen);

/*
 * The whole terminal: it shows nothing else until vrt_screen_leave(), which brings back what stood
 * there before.
 */
void vrt_screen_enter(struct vrt_screen *screen);
void vrt_screen_leave(struct vrt_screen *screen);

/* Shows `text` on all of it: lines that are narrower than it and no more than it has rows, each
 * ended by a line break. */
void vrt_screen_fill(struct vrt_screen *screen, const char *text);

/* Prints a table on standard output, as wide as the terminal, or as it is. Return: 0, -ENOMEM. */
int vrt_screen_print_table(const struct vrt_table *table);
