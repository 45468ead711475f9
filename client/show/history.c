/* SPDX-License-Identifier: MIT */

#include "client/show/history.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "client/cli.h"
#include "client/conn.h"
#include "client/terminal/format.h"
#include "client/terminal/plot.h"
#include "client/terminal/screen.h"
#include "client/terminal/table.h"
#include "history/msg_history.h"

#define PLOT_ROWS 6
#define PLOT_COLUMNS_MIN 20

static const char *rate_label(double value, char *buffer, size_t size)
{
    return vrt_format_rate(value, buffer, size);
}

static const char *bytes_label(double value, char *buffer, size_t size)
{
    return vrt_format_bytes((int64_t)value, buffer, size);
}

static int print_plots(const struct vrt_history_report *report, const struct vrt_screen *screen,
                       long long id, struct vrt_buf *buf)
{
    double x[VRT_API_HISTORY_POINTS], fps[VRT_API_HISTORY_POINTS];
    double bytes[VRT_API_HISTORY_POINTS];
    int columns, rows;
    char lasted[32];

    vrt_screen_size(&columns, &rows);
    for (size_t i = 0; i < report->n_points; i++) {
        const struct vrt_history_point *point = &report->points[i];
        x[i] = point->elapsed_s;
        fps[i] = point->fps;
        bytes[i] = point->memory_bytes < 0 ? NAN : (double)point->memory_bytes;
    }
    struct vrt_plot plot = {
        .x = x,
        .y = fps,
        .n = report->n_points,
        .end = x[report->n_points - 1],
        .columns = VRT_MAX(columns - 1, PLOT_COLUMNS_MIN),
        .rows = PLOT_ROWS,
        .utf8 = screen->utf8,
        .label = rate_label,
    };
    vrt_format_duration(plot.end, lasted, sizeof(lasted));
    int r = vrt_buf_printf(buf, "Job %lld: frames a second in the %s that it ran\n", id, lasted);
    if (r == 0)
        r = vrt_plot_print(&plot, buf);
    plot.y = bytes;
    plot.label = bytes_label;
    if (r == 0)
        r = vrt_buf_printf(buf, "Memory of its devices\n");
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_plot_print(&plot, buf));
}

/* For programs: numbers without units, and "-" where nobody knows. */
static int print_columns(const struct vrt_history_report *report)
{
    static const struct vrt_column columns[] = {
        { "ELAPSED_S", VRT_ALIGN_RIGHT }, { "FRAMES", VRT_ALIGN_RIGHT },
        { "FPS", VRT_ALIGN_RIGHT },       { "MEMORY_BYTES", VRT_ALIGN_RIGHT },
        { .title = NULL },
    };
    char elapsed[32], frames[32], fps[32], bytes[32];
    struct vrt_table table;
    int r = 0;

    vrt_table_init(&table, columns);
    for (size_t i = 0; i < report->n_points && r == 0; i++) {
        const struct vrt_history_point *point = &report->points[i];
        snprintf(elapsed, sizeof(elapsed), "%.3f", point->elapsed_s);
        snprintf(frames, sizeof(frames), "%.3f", point->frames);
        snprintf(fps, sizeof(fps), isnan(point->fps) ? "-" : "%.3f", point->fps);
        snprintf(bytes, sizeof(bytes), point->memory_bytes < 0 ? "-" : "%lld",
                 (long long)point->memory_bytes);
        r = vrt_table_add(&table, (const char *[]){ elapsed, frames, fps, bytes });
    }
    if (r == 0)
        r = vrt_screen_print_table(&table);
    vrt_table_done(&table);
    return vrt_fold(r);
}

static int print_report(const struct vrt_history_report *report, long long id)
{
    struct vrt_buf buf = { .limit_bytes = 0 };
    struct vrt_screen screen;
    int r;

    vrt_screen_init(&screen);
    if (report->n_points == 0) {
        printf("job %lld has not run yet\n", id);
        return 0;
    }
    if (!screen.terminal)
        return vrt_fold(print_columns(report));
    r = print_plots(report, &screen, id, &buf);
    if (r == 0)
        fputs(buf.data, stdout);
    vrt_buf_done(&buf);
    return vrt_fold(r);
}

int vrt_history_show(struct vrt_cli *cli, long long id)
{
    struct vrt_history_report report = { 0 };
    struct vrt_error error = { 0 };
    json_t *json = NULL;
    int exit = VRT_EXIT_OK;

    int r = vrt_conn_get(cli->conn, &json, &error, "/v1/jobs/%lld/history", id);
    if (r == 0 && cli->args.json)
        exit = vrt_cli_print_json(json);
    else if (r == 0 &&
             vrt_fields_decode(vrt_history_fields, json, VRT_FIELDS_LENIENT, &report, &error) < 0)
        r = VRT_CONN_E_BROKEN;
    else if (r == 0)
        r = print_report(&report, id);
    vrt_fields_done(vrt_history_fields, &report);
    json_decref(json);
    return r != 0 ? vrt_cli_fail(cli, NULL, r, &error) : exit;
}
