/* SPDX-License-Identifier: MIT */
/* Cells are kept until the widths of all of them are known. Widths are those of the terminal. */

#include "client/terminal/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "client/terminal/format.h"

#define GAP 2
#define LAST_MIN 12             /* columns that the last one keeps, whatever the width */
#define FIRST_MIN 12            /* and the first */
#define NOTE_BYTES 1024         /* a name and a sentence */

void vrt_table_init(struct vrt_table *table, const struct vrt_column *columns)
{
    *table = (struct vrt_table){ .columns = columns };
    while (columns[table->n_columns].title)
        table->n_columns++;
    vrt_assert(table->n_columns > 0 && table->n_columns <= VRT_TABLE_COLUMNS_MAX);
}

void vrt_table_done(struct vrt_table *table)
{
    for (size_t i = 0; i < table->n_cells; i++)
        free(table->cells[i]);
    free(table->cells);
    vrt_buf_done(&table->notes);
    table->cells = NULL;
    table->n_cells = table->capacity = 0;
}

static int add_cell(struct vrt_table *table, const char *text)
{
    if (table->n_cells == table->capacity) {
        size_t capacity = table->capacity ? table->capacity * 2 : 64;
        char **cells = reallocarray(table->cells, capacity, sizeof(*cells));
        if (!cells)
            return vrt_raise(-ENOMEM);
        table->cells = cells;
        table->capacity = capacity;
    }
    char *copy = strdup(text);
    if (!copy)
        return vrt_raise(-ENOMEM);
    table->cells[table->n_cells++] = copy;
    return 0;
}

int vrt_table_add(struct vrt_table *table, const char *const *cells)
{
    int r = 0;

    for (int i = 0; r == 0 && i < table->n_columns; i++)
        r = add_cell(table, cells[i]);
    return vrt_fold(r);
}

int vrt_table_note(struct vrt_table *table, const char *format, ...)
{
    char note[NOTE_BYTES];
    va_list arguments;

    if (table->n_notes++ >= VRT_TABLE_NOTES_MAX)
        return 0;
    va_start(arguments, format);
    vsnprintf(note, sizeof(note), format, arguments);
    va_end(arguments);
    return vrt_fold(vrt_buf_printf(&table->notes, "%s\n", note));
}

/* One cell; trailing blanks are left out. */
static int print_cell(const struct vrt_table *table, int column, const char *text, int width,
                      struct vrt_buf *buf)
{
    bool last = column == table->n_columns - 1;
    bool right = table->columns[column].align == VRT_ALIGN_RIGHT;
    size_t size = strlen(text) + 4;
    VRT_CLEANUP(vrt_freep) char *cut = malloc(size);

    if (!cut)
        return vrt_raise(-ENOMEM);
    vrt_text_cut(text, width, cut, size);
    const int blank = width - vrt_text_width(cut), before = right ? blank : 0;
    return vrt_buf_printf(buf, "%*s%s%*s", before, "", cut, last ? 0 : blank - before + GAP, "");
}

static int print_row(const struct vrt_table *table, const int *widths, size_t row,
                     struct vrt_buf *buf)
{
    int r = 0;

    for (int c = 0; r == 0 && c < table->n_columns; c++) {
        const char *text = row == 0 ? table->columns[c].title
                                    : table->cells[(row - 1) * (size_t)table->n_columns
                                                   + (size_t)c];
        if (widths[c] > 0)
            r = print_cell(table, c, text, widths[c], buf);
    }
    return r == 0 ? vrt_buf_append(buf, "\n", 1) : r;
}

/* What the columns but the last take. */
static int taken_by(const struct vrt_table *table, const int *widths)
{
    int taken = 0;

    for (int c = 0; c < table->n_columns - 1; c++)
        taken += widths[c] > 0 ? widths[c] + GAP : 0;
    return taken;
}

/* Leaves out columns, by a width of 0, and cuts the last, then the first, until `width` is enough
 * or no more can go. */
static void fit(const struct vrt_table *table, int width, int *widths)
{
    int last = table->n_columns - 1, least_last = table->columns[last].least;
    int wanted = VRT_MIN(widths[last], VRT_MAX(least_last, LAST_MIN));

    while (taken_by(table, widths) + wanted > width) {
        int least = 0;
        for (int c = 1; c < last; c++)
            if (widths[c] > 0 && table->columns[c].rank > table->columns[least].rank)
                least = c;
        if (widths[least] == 0 || table->columns[least].rank == 0)
            break;
        widths[least] = 0;
    }
    wanted = VRT_MIN(widths[last], LAST_MIN);
    widths[last] = VRT_MIN(widths[last], VRT_MAX(width - taken_by(table, widths), wanted));
    int missing = taken_by(table, widths) + widths[last] - width;
    if (last > 0 && missing > 0 && widths[0] > FIRST_MIN)
        widths[0] = VRT_MAX(widths[0] - missing, FIRST_MIN);
}

static int print_notes(const struct vrt_table *table, int width, struct vrt_buf *buf)
{
    char note[NOTE_BYTES];
    int r = 0;

    for (const char *at = table->notes.data; r == 0 && at && *at; at = strchr(at, '\n') + 1) {
        snprintf(note, sizeof(note), "%.*s", (int)strcspn(at, "\n"), at);
        r = vrt_text_wrap(note, 0, width, buf);
    }
    return vrt_fold(r);
}

int vrt_table_print(const struct vrt_table *table, int width, struct vrt_buf *buf)
{
    int widths[VRT_TABLE_COLUMNS_MAX], r = 0;
    size_t n_rows = table->n_cells / (size_t)table->n_columns;

    for (int c = 0; c < table->n_columns; c++) {
        widths[c] = vrt_text_width(table->columns[c].title);
        for (size_t row = 0; row < n_rows; row++) {
            int w = vrt_text_width(table->cells[row * (size_t)table->n_columns + (size_t)c]);
            widths[c] = VRT_MAX(widths[c], w);
        }
    }
    if (width > 0)
        fit(table, width, widths);
    for (size_t row = 0; r == 0 && row <= n_rows; row++)
        r = print_row(table, widths, row, buf);
    if (r < 0)
        return vrt_fold(r);
    if (table->n_notes > 0)
        r = print_notes(table, width, buf);
    if (r < 0 || table->n_notes <= VRT_TABLE_NOTES_MAX)
        return vrt_fold(r);
    return vrt_fold(vrt_buf_printf(buf, "and %d more like these\n",
                                   table->n_notes - VRT_TABLE_NOTES_MAX));
}
