/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Rows of text in aligned columns; the last column takes what width is left, and where that is too
 * little for it, columns that matter less than others are left out. Sentences about rows stand
 * below, where no width cuts them: they are broken between words.
 */

#include <stddef.h>

#include "base/buf.h"

#define VRT_TABLE_COLUMNS_MAX 12
#define VRT_TABLE_NOTES_MAX 10  /* more are counted */

struct vrt_column {
    const char *title;          /* NULL ends a list of columns */
    enum { VRT_ALIGN_LEFT, VRT_ALIGN_RIGHT } align;
    int rank;                   /* where there is no room the highest goes first; 0: it stays */
    int least;                  /* of the last: others go before it has less; 0: as usual */
};

struct vrt_table {
    const struct vrt_column *columns;
    int n_columns;
    char **cells;               /* n_cells of them, row by row; each the table's own */
    size_t n_cells, capacity;
    struct vrt_buf notes;       /* the first VRT_TABLE_NOTES_MAX, lines */
    int n_notes;                /* of all */
};

/* `columns` must outlive the table. */
void vrt_table_init(struct vrt_table *table, const struct vrt_column *columns);

/* Frees what it holds. */
void vrt_table_done(struct vrt_table *table);

/* Adds a row: printable text, one for each column. Return: 0, -ENOMEM. */
int vrt_table_add(struct vrt_table *table, const char *const *cells) VRT_MUST_CHECK;

/* Adds a sentence, printable text, that is printed below the rows. Return: 0, -ENOMEM. */
int vrt_table_note(struct vrt_table *table, const char *format, ...) VRT_PRINTF(2, 3)
    VRT_MUST_CHECK;

/*
 * Appends title, rows and notes, each ended by a line break, no row wider than `width` columns as
 * long as columns can give way; 0: however wide. Return: 0, -ENOMEM.
 */
int vrt_table_print(const struct vrt_table *table, int width, struct vrt_buf *buf) VRT_MUST_CHECK;
