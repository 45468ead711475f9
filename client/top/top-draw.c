/* SPDX-License-Identifier: MIT */
/*
 * From above: a line for everything, the devices, the jobs, plots of the selected one where there
 * is room, what was said last, the keys. Jobs have the rows that others leave, and one at least.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "client/terminal/format.h"
#include "client/terminal/plot.h"
#include "client/terminal/progress.h"
#include "client/top/top.h"

#define DRAW_PERIOD_NS (200 * VRT_NS_PER_MS)    /* faster than that nobody reads */
#define SAID_NS (10 * VRT_NS_PER_S)             /* that a sentence stands there */
#define LINE_BYTES 4096         /* of a line: as wide as terminals are, of four bytes a character */
#define PLOT_ROWS_MAX 8         /* of a plot of the selected job */
#define PLOT_LINES 5            /* that this takes at least: words, a heading, rows */
#define WORDS_LINES 2           /* of the selected job: an empty one, and what it is at */
#define OTHER_LINES 7           /* than devices: all in a line, titles, a job, the foot */
#define JOBS_KEPT 5             /* jobs that are shown before there is a plot; or half */
#define NARROW 22               /* columns from which there is one */
#define WIDE 72                 /* columns from which two plots stand side by side */
#define INVERSE "\033[7m"
#define BOLD "\033[1m"
#define PLAIN "\033[m"

#define KEYS "q quit  p pause  r resume  c cancel  + - priority  s sort  ? help"
#define KEYS_SHORT "q quit  p r c  + -  s sort  ? help"

static const char *const help[] = {
    "up down, k j      select a job; page up, page down, home, end",
    "p                 pause it",
    "r                 let it go on; files that vrtd lacks are opened again",
    "c                 cancel it, which is asked once more",
    "+ -               a higher, a lower priority",
    "s                 sort by state, by priority, by progress",
    "?                 this",
    "q                 quit; the jobs go on",
    "",
    "Plots are of frames a second and of memory, a column a second, the newest",
    "at the right. They begin with vrtctl top.",
};

/* What is drawn, line by line. */
struct page {
    struct vrt_buf buf;
    int columns, rows;
    int used;                   /* of the rows */
};

/* Adds a line, for which there is a row, cut to the page's columns; `style` "" is as usual. */
static int add_line(struct page *page, const char *style, const char *text)
{
    const int columns = VRT_MAX(page->columns - 1, 1);
    char cut[LINE_BYTES];

    page->used++;
    vrt_text_cut(text, columns, cut, sizeof(cut));
    const int blank = strcmp(style, INVERSE) == 0 ? columns - vrt_text_width(cut) : 0;
    return vrt_fold(vrt_buf_printf(&page->buf, "%s%s%*s%s\n", style, cut, blank, "",
                                   style[0] ? PLAIN : ""));
}

/* Adds the lines of a table: its titles, and its rows, of which one may be selected. */
static int add_lines(struct page *page, const char *text, size_t selected)
{
    char line[LINE_BYTES];
    int r = 0;

    for (size_t i = 0; *text && r == 0; i++) {
        const size_t n = strcspn(text, "\n");
        snprintf(line, sizeof(line), "%.*s", (int)VRT_MIN(n, sizeof(line) - 1), text);
        r = add_line(page, i == 0 ? BOLD : i - 1 == selected ? INVERSE : "", line);
        text += n + (text[n] == '\n');
    }
    return vrt_fold(r);
}

static const char *label_bytes(double value, char *buffer, size_t size)
{
    return vrt_format_bytes((int64_t)value, buffer, size);
}

/* As many of the last values as there is room for. */
static int print_plot(const struct vrt_series *series, const struct vrt_plot *wanted,
                      struct vrt_buf *buf)
{
    double x[VRT_SERIES_MAX], y[VRT_SERIES_MAX];
    struct vrt_plot plot = *wanted;

    plot.x = x;
    plot.y = y;
    plot.n = VRT_SERIES_MAX;
    plot.begin = -VRT_MIN(plot.columns - VRT_PLOT_SCALE_COLUMNS, VRT_SERIES_MAX);
    for (int i = 0; i < VRT_SERIES_MAX; i++) {
        x[i] = i + 1 - VRT_SERIES_MAX;
        y[i] = vrt_series_at(series, (size_t)(VRT_SERIES_MAX - 1 - i));
    }
    return vrt_fold(vrt_plot_print(&plot, buf));
}

/* Adds lines of `left`, padded to `width`, with those of `right` ("": there are none) beside. */
static int add_beside(struct page *page, const char *left, const char *right, int width)
{
    char cell[LINE_BYTES], line[2 * LINE_BYTES];
    int r = 0;

    while (*left && r == 0) {
        const size_t n = strcspn(left, "\n"), n_right = strcspn(right, "\n");
        snprintf(cell, sizeof(cell), "%.*s", (int)n, left);
        const int blank = *right ? VRT_MAX(width - vrt_text_width(cell), 0) : 0;
        snprintf(line, sizeof(line), "%s%*s%.*s", cell, blank, "", (int)n_right, right);
        r = add_line(page, "", line);
        left += n + (left[n] == '\n');
        right += n_right + (right[n_right] == '\n');
    }
    return vrt_fold(r);
}

/* Plots of a job, of its memory too where that fits beside: a heading, and `rows` more. */
static int add_plots(struct page *page, const struct vrt_top *top, const struct vrt_top_job *seen,
                     int rows)
{
    const bool is_wide = page->columns > WIDE;
    const int width = is_wide ? page->columns / 2 : page->columns - 1;
    struct vrt_plot plot = {
        .columns = width - 2,
        .rows = rows,
        .utf8 = top->screen.utf8,
        .label = vrt_format_rate,
    };
    struct vrt_buf left = { 0 }, right = { 0 };

    if (width < NARROW)
        return 0;
    int r = vrt_buf_printf(&left, "frames/s\n");
    if (r == 0)
        r = print_plot(&seen->fps, &plot, &left);
    if (r == 0)
        r = vrt_buf_printf(&right, "%s", is_wide ? "memory\n" : "");
    plot.label = label_bytes;
    if (r == 0 && is_wide)
        r = print_plot(&seen->memory, &plot, &right);
    if (r == 0)
        r = add_beside(page, left.data, right.data, width);
    vrt_buf_done(&left);
    vrt_buf_done(&right);
    return vrt_fold(r);
}

/* The selected job in words, and its plots, in `rows` rows at most. */
static int add_selected(struct page *page, const struct vrt_top *top, int rows)
{
    const size_t i = vrt_top_selected(top);
    const struct vrt_top_job *seen = vrt_top_seen(top, top->selected_id);
    struct vrt_buf buf = { 0 };

    if (i == top->n_jobs || rows < WORDS_LINES)
        return 0;
    int r = add_line(page, "", "");
    if (r == 0)
        r = vrt_progress_line(top->jobs[i], &buf);
    if (r == 0)
        r = add_line(page, BOLD, buf.data);
    vrt_buf_done(&buf);
    if (r < 0 || !seen || rows < PLOT_LINES + 1)
        return vrt_fold(r);
    return vrt_fold(add_plots(page, top, seen,
                              VRT_MIN(rows - WORDS_LINES - 1, PLOT_ROWS_MAX)));
}

/* Moves what is shown of the jobs so far that the selected one is among `rows` of them. */
static void scroll(struct vrt_top *top, size_t rows)
{
    const size_t i = vrt_top_selected(top);

    top->n_rows = rows;
    if (i < top->first)
        top->first = i;
    else if (i >= top->first + rows)
        top->first = i + 1 - rows;
    if (top->first + rows > top->n_jobs)
        top->first = top->n_jobs > rows ? top->n_jobs - rows : 0;
}

static int add_devices(struct page *page, const struct vrt_top *top,
                       const struct vrt_top_style *style)
{
    /* Where there are more they leave two thirds to the jobs, and what these and the foot need. */
    const int third = page->rows / 3, left = page->rows - OTHER_LINES;
    const size_t fits = (size_t)VRT_MIN(third, left);
    const size_t room = top->n_devices <= fits ? fits : (size_t)VRT_MIN(third, left - 1);
    struct vrt_buf buf = { 0 };
    char more[40];

    int r = vrt_top_print_devices(top, room, style, &buf);
    if (r == 0)
        r = add_lines(page, buf.data, SIZE_MAX);
    snprintf(more, sizeof(more), "and %zu more", top->n_devices - VRT_MIN(room, top->n_devices));
    if (r == 0 && top->n_devices > room)
        r = add_line(page, "", more);
    vrt_buf_done(&buf);
    return vrt_fold(r);
}

/* The jobs, and the selected one, in what is left but for two rows. */
static int add_jobs(struct page *page, struct vrt_top *top, const struct vrt_top_style *style)
{
    const int room = VRT_MAX(page->rows - page->used - 3, 1);
    const int kept = VRT_MIN((int)VRT_MIN(top->n_jobs, (size_t)room),
                             VRT_MAX(JOBS_KEPT, room / 2));
    const int wanted = vrt_top_seen(top, top->selected_id) ? PLOT_ROWS_MAX + WORDS_LINES + 1 :
                       WORDS_LINES;
    const int least = VRT_MIN(wanted, PLOT_LINES + 1);
    const int detail = room - kept >= least ? VRT_MIN(room - kept, wanted) : 0;
    struct vrt_buf buf = { 0 };

    scroll(top, (size_t)VRT_MAX(room - detail, 1));
    int r = vrt_top_print_jobs(top, top->first, top->n_rows, style, &buf);
    if (r == 0)
        r = add_lines(page, buf.data, vrt_top_selected(top) - top->first);
    if (r == 0)
        r = add_selected(page, top, detail);
    vrt_buf_done(&buf);
    return vrt_fold(r);
}

static int add_help(struct page *page)
{
    int r = add_line(page, "", "");

    for (size_t i = 0; i < VRT_ARRAY_SIZE(help) && page->used < page->rows - 2 && r == 0; i++)
        r = add_line(page, "", help[i]);
    return vrt_fold(r);
}

/* What was said last, or is asked, and the keys: the last two rows. */
static int add_foot(struct page *page, const struct vrt_top *top)
{
    const char *const keys = page->columns > (int)strlen(KEYS) ? KEYS : KEYS_SHORT;
    char line[VRT_API_TEXT_BYTES] = "";
    int r = 0;

    while (page->used < page->rows - 2 && r == 0)
        r = add_line(page, "", "");
    if (top->mode == VRT_TOP_ASKING)
        snprintf(line, sizeof(line), "cancel job %" PRId64 ", and remove what is done of it? y n",
                 top->asked_id);
    else if (top->said[0] && vrt_clock_now_ns() - top->said_ns < SAID_NS)
        snprintf(line, sizeof(line), "%s", top->said);
    else if (!top->is_there)
        snprintf(line, sizeof(line), "vrtd is away; this goes on when it is back");
    if (r == 0 && page->rows >= 2)
        r = add_line(page, top->mode == VRT_TOP_ASKING ? BOLD : "", line);
    return r == 0 ? vrt_fold(add_line(page, INVERSE, keys)) : vrt_fold(r);
}

/* Return: 0; -ENOMEM. */
static int print_page(struct vrt_top *top, struct page *page)
{
    const struct vrt_top_style style = {
        .width = page->columns - 1,
        .plot_columns = VRT_MIN(VRT_MAX(page->columns / 8, 8), 40),
    };
    char line[VRT_API_TEXT_BYTES];

    vrt_top_summarize(top, line, sizeof(line));
    int r = page->rows > 2 ? add_line(page, "", line) : 0;
    if (r == 0 && top->mode == VRT_TOP_HELP)
        r = add_help(page);
    else if (r == 0 && page->rows > 8)
        r = add_devices(page, top, &style);
    if (r == 0 && top->mode != VRT_TOP_HELP && page->rows > 8)
        r = add_line(page, "", "");
    if (r == 0 && top->mode != VRT_TOP_HELP && page->rows > 4)
        r = add_jobs(page, top, &style);
    return r == 0 ? vrt_fold(add_foot(page, top)) : vrt_fold(r);
}

void vrt_top_draw(struct vrt_top *top)
{
    const int64_t now_ns = vrt_clock_now_ns();
    struct page page = { 0 };

    vrt_screen_size(&page.columns, &page.rows);
    const bool is_resized = page.columns != top->columns || page.rows != top->rows;
    if (!is_resized && now_ns - top->drawn_ns < DRAW_PERIOD_NS)
        return;
    top->drawn_ns = now_ns;
    top->columns = page.columns;
    top->rows = page.rows;
    int r = print_page(top, &page);
    if (r == 0 && (is_resized || !top->drawn.data || strcmp(top->drawn.data, page.buf.data) != 0)) {
        vrt_screen_fill(&top->screen, page.buf.data);
        vrt_buf_done(&top->drawn);
        top->drawn = page.buf;
        page.buf = (struct vrt_buf){ 0 };
    }
    vrt_buf_done(&page.buf);
}
