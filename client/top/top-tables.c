/* SPDX-License-Identifier: MIT */
/* Devices and jobs as tables, on the screen or, without plots, by themselves. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/terminal/format.h"
#include "client/terminal/progress.h"
#include "client/terminal/table.h"
#include "client/top/top.h"

/* Titles of columns that are plots. */
#define RATE_PLOT "FRAMES/S"
#define MEMORY_PLOT "IN USE"

static const struct vrt_column device_columns[] = {
    { "DEVICE", VRT_ALIGN_LEFT },
    { "STATE", VRT_ALIGN_LEFT },
    { "FPS", VRT_ALIGN_RIGHT },
    { RATE_PLOT, VRT_ALIGN_LEFT, .rank = 3 },
    { "MEMORY", VRT_ALIGN_RIGHT },
    { "OF", VRT_ALIGN_RIGHT, .rank = 2 },
    { MEMORY_PLOT, VRT_ALIGN_LEFT, .rank = 4 },
    { "BUSY", VRT_ALIGN_RIGHT, .rank = 1 },
    { "DESCRIPTION", VRT_ALIGN_LEFT },
    { NULL, VRT_ALIGN_LEFT },
};

static const struct vrt_column job_columns[] = {
    { "ID", VRT_ALIGN_RIGHT },
    { "STATE", VRT_ALIGN_LEFT },
    { "PRIO", VRT_ALIGN_RIGHT, .rank = 3 },
    { "DONE", VRT_ALIGN_RIGHT },
    { "FPS", VRT_ALIGN_RIGHT, .rank = 1 },
    { RATE_PLOT, VRT_ALIGN_LEFT, .rank = 5 },
    { "MEMORY", VRT_ALIGN_RIGHT, .rank = 4 },
    { MEMORY_PLOT, VRT_ALIGN_LEFT, .rank = 6 },
    { "LEFT", VRT_ALIGN_RIGHT, .rank = 2 },
    { "INPUT", VRT_ALIGN_LEFT },
    { NULL, VRT_ALIGN_LEFT },
};

static bool is_plot(const struct vrt_column *column)
{
    return strcmp(column->title, RATE_PLOT) == 0 || strcmp(column->title, MEMORY_PLOT) == 0;
}

/* A plot as a cell; of nothing (NULL) "". */
static int print_plot(const struct vrt_top *top, const struct vrt_series *series, int columns,
                      double full, struct vrt_buf *buf)
{
    int r = vrt_buf_append(buf, "", 0);

    return r == 0 && series ? vrt_spark_print(series, columns, full, top->screen.utf8, buf) : r;
}

static int add_device(const struct vrt_top *top, size_t i, int plot_columns,
                      struct vrt_table *table)
{
    const struct vrt_top_device *d = &top->devices[i];
    const double bytes = vrt_series_at(&d->memory, 0), fps = vrt_series_at(&d->fps, 0);
    const int64_t total = d->report.memory.total_bytes;
    const double busy = d->report.has_sensors ? d->report.sensors.utilization_percent : NAN;
    char name[VRT_API_DEVICE_BYTES], numbers[3][32], percent[20] = "-", text[VRT_API_TEXT_BYTES];
    struct vrt_buf plots[2] = { 0 };

    int r = print_plot(top, &d->fps, plot_columns, vrt_series_peak(&d->fps, plot_columns),
                       &plots[0]);
    if (r == 0)
        r = print_plot(top, &d->memory, plot_columns,
                       total > 0 ? (double)total : vrt_series_peak(&d->memory, plot_columns),
                       &plots[1]);
    if (!isnan(busy))
        snprintf(percent, sizeof(percent), "%.0f%%", busy);
    const char *const cells[] = {
        vrt_printable(d->report.name, name, sizeof(name)),
        vrt_name_of(vrt_device_state_names, d->report.state),
        vrt_format_rate(fps > 0 ? fps : NAN, numbers[0], sizeof(numbers[0])),
        plots[0].data,
        vrt_format_bytes(isnan(bytes) ? VRT_UNKNOWN : (int64_t)bytes, numbers[1],
                         sizeof(numbers[1])),
        vrt_format_bytes(total, numbers[2], sizeof(numbers[2])),
        plots[1].data,
        percent,
        vrt_printable(d->report.description, text, sizeof(text)),
    };
    r = r == 0 ? vrt_table_add(table, cells) : r;
    vrt_buf_done(&plots[0]);
    vrt_buf_done(&plots[1]);
    return vrt_fold(r);
}

static int add_job(const struct vrt_top *top, size_t i, int plot_columns,
                   struct vrt_table *table)
{
    const struct vrt_job_info *job = top->jobs[i];
    const struct vrt_top_job *seen = vrt_top_seen(top, job->id);
    char id[24], priority[24], percent[20], rate[32], memory[32], left[32];
    char name[VRT_API_NAME_BYTES];
    struct vrt_buf plots[2] = { 0 };

    int r = print_plot(top, seen ? &seen->fps : NULL, plot_columns,
                       seen ? vrt_series_peak(&seen->fps, plot_columns) : 0, &plots[0]);
    if (r == 0)
        r = print_plot(top, seen ? &seen->memory : NULL, plot_columns,
                       seen ? vrt_series_peak(&seen->memory, plot_columns) : 0, &plots[1]);
    snprintf(id, sizeof(id), "%" PRId64, job->id);
    snprintf(priority, sizeof(priority), "%" PRId64, job->priority);
    const char *const cells[] = {
        id,
        vrt_progress_state_name(job),
        priority,
        vrt_progress_percent(job, percent, sizeof(percent)),
        vrt_format_rate(job->state == VRT_JOB_RUNNING ? job->fps : NAN, rate, sizeof(rate)),
        plots[0].data,
        vrt_format_bytes(vrt_top_job_bytes(job), memory, sizeof(memory)),
        plots[1].data,
        vrt_format_duration(job->left_s, left, sizeof(left)),
        vrt_progress_name(job, name, sizeof(name)),
    };
    r = r == 0 ? vrt_table_add(table, cells) : r;
    vrt_buf_done(&plots[0]);
    vrt_buf_done(&plots[1]);
    return vrt_fold(r);
}

/* What distinguishes the two tables. */
struct listing {
    const struct vrt_column *columns;
    size_t n_all;
    int (*add)(const struct vrt_top *top, size_t i, int plot_columns, struct vrt_table *table);
};

static int print_listing(const struct vrt_top *top, const struct listing *listing, size_t first,
                         size_t n, const struct vrt_top_style *style, struct vrt_buf *buf)
{
    struct vrt_column columns[VRT_TABLE_COLUMNS_MAX + 1] = { 0 };
    struct vrt_table table;
    int r = 0;

    /* A column that has neither title nor text takes no room. */
    for (size_t c = 0; listing->columns[c].title; c++) {
        columns[c] = listing->columns[c];
        if (style->plot_columns == 0 && is_plot(&columns[c]))
            columns[c].title = "";
    }
    vrt_table_init(&table, columns);
    for (size_t i = first; i < listing->n_all && i - first < n && r == 0; i++)
        r = listing->add(top, i, style->plot_columns, &table);
    if (r == 0)
        r = vrt_table_print(&table, style->width, buf);
    vrt_table_done(&table);
    return vrt_fold(r);
}

int vrt_top_print_devices(const struct vrt_top *top, size_t n, const struct vrt_top_style *style,
                          struct vrt_buf *buf)
{
    const struct listing listing = { device_columns, top->n_devices, add_device };

    return vrt_fold(print_listing(top, &listing, 0, n, style, buf));
}

int vrt_top_print_jobs(const struct vrt_top *top, size_t first, size_t n,
                       const struct vrt_top_style *style, struct vrt_buf *buf)
{
    const struct listing listing = { job_columns, top->n_jobs, add_job };

    return vrt_fold(print_listing(top, &listing, first, n, style, buf));
}

void vrt_top_summarize(const struct vrt_top *top, char *buffer, size_t size)
{
    int counts[VRT_JOB_STATE_COUNT] = { 0 };
    char rate[32];
    double fps = 0;
    size_t n = 0;

    for (size_t i = 0; i < top->n_jobs; i++) {
        counts[VRT_MAX(top->jobs[i]->state, 0)]++;
        if (top->jobs[i]->state == VRT_JOB_RUNNING)
            fps += fmax(top->jobs[i]->fps, 0);          /* fmax() passes over NAN */
    }
    buffer[0] = '\0';
    for (int i = 0; i < VRT_JOB_STATE_COUNT && n < size; i++)
        if (counts[i])
            n += (size_t)snprintf(buffer + n, size - n, "%d %s, ", counts[i],
                                  vrt_job_state_names[i]);
    if (top->n_jobs == 0)
        n = (size_t)snprintf(buffer, size, "no job waits or runs, ");
    if (fps > 0 && n < size)
        n += (size_t)snprintf(buffer + n, size - n, "%s frames/s, ",
                              vrt_format_rate(fps, rate, sizeof(rate)));
    if (n < size)
        snprintf(buffer + n, size - n, "by %s", vrt_top_sort_names[top->sort]);
}
