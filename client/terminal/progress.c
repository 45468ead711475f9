/* SPDX-License-Identifier: MIT */
/*
 * A line is a row of parts. It is first filled, then made to fit by leaving out parts in a fixed
 * order, and only then printed; the bar takes what the others leave. Names are measured in columns
 * of the terminal, not in bytes.
 */

#include "client/terminal/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "client/terminal/format.h"
#include "msg_job.h"

#define BAR_MIN 8                  /* columns, here and below: less tells nothing */
#define BAR_MAX 30                  /* more tells no more */
#define NAME_MIN 10                 /* so that files can be told apart */
#define NAME_LEAST 4            /* where otherwise a cure would be cut */
#define NAME_MAX 30
#define PART_BYTES 160
#define DEVICES_NAMED 3         /* more of them are counted */

/* The parts of the line, as they stand; the bar is made when the others are known. */
enum part {
    PART_NAME,
    PART_BAR,
    PART_PERCENT,
    PART_FRAMES,
    PART_RATE,
    PART_LEFT,
    PART_DEVICES,
    PART_COUNT,
};

struct line {
    char parts[PART_COUNT][PART_BYTES];     /* "" is left out */
};

/* "cpu:0 cpu:1": those at work, or all where none is. */
static void print_devices(const struct vrt_job_info *job, char *buffer, size_t size)
{
    size_t n_busy = 0, n = 0, named = 0;

    for (size_t i = 0; i < job->n_devices; i++)
        n_busy += job->devices[i].shards_running > 0;
    buffer[0] = '\0';
    if ((n_busy ? n_busy : job->n_devices) > DEVICES_NAMED) {
        snprintf(buffer, size, "%zu devices", n_busy ? n_busy : job->n_devices);
        return;
    }
    for (size_t i = 0; i < job->n_devices && n < size; i++) {
        char name[VRT_API_DEVICE_BYTES];
        if (n_busy && job->devices[i].shards_running <= 0)
            continue;
        vrt_printable(job->devices[i].name, name, sizeof(name));
        n += (size_t)snprintf(buffer + n, size - n, "%s%s", named++ ? " " : "", name);
    }
}

/* `about` stands before a total that nobody has counted. */
static void print_frames(const struct vrt_job_info *job, const char *between, const char *about,
                         char *buffer, size_t size)
{
    if (job->frames_total > 0)
        snprintf(buffer, size, "%" PRId64 "%s%s%" PRId64, job->frames_done, between,
                 job->frames_estimated ? about : "", job->frames_total);
    else
        snprintf(buffer, size, "%" PRId64, job->frames_done);
}

const char *vrt_progress_name(const struct vrt_job_info *job, char *buffer, int size)
{
    char owner[VRT_API_OWNER_BYTES];

    if (job->input_name[0])
        return vrt_printable(job->input_name, buffer, size);
    if (job->owner[0])
        snprintf(buffer, (size_t)size, "%s's", vrt_printable(job->owner, owner, sizeof(owner)));
    else
        snprintf(buffer, (size_t)size, "-");
    return buffer;
}

double vrt_progress_frames(const struct vrt_job_info *job)
{
    const double underway = isnan(job->frames_underway) ? 0 : job->frames_underway;

    /* It isn't done before all of it is. */
    return VRT_MAX(VRT_MIN((double)job->frames_done + underway, (double)job->frames_total - 0.1),
                   (double)job->frames_done);
}

const char *vrt_progress_percent(const struct vrt_job_info *job, char *buffer, size_t size)
{
    return vrt_format_percent(vrt_progress_frames(job), (double)job->frames_total, buffer, size);
}

/* "12 MiB of 2.4 GiB", as far as known. */
static void print_fetched(const struct vrt_job_info *job, char *buffer, size_t size)
{
    char done[40], total[40];

    vrt_format_bytes(job->fetched_bytes, done, sizeof(done));
    if (job->fetched_bytes < 0)
        snprintf(buffer, size, "fetching");
    else if (job->fetch_bytes < 0)
        snprintf(buffer, size, "fetching, %s", done);
    else
        snprintf(buffer, size, "fetching, %s of %s", done,
                 vrt_format_bytes(job->fetch_bytes, total, sizeof(total)));
}

int64_t vrt_progress_n_under_way(const struct vrt_job_info *job)
{
    int64_t n = 0;

    for (size_t i = 0; i < job->n_devices; i++)
        n += VRT_MAX(job->devices[i].shards_running, 0);
    return n;
}

static void print_paused(const struct vrt_job_info *job, char *buffer, size_t size)
{
    bool begun = job->frames_done > 0 && job->frames_total > 0;
    int64_t n = vrt_progress_n_under_way(job);
    char percent[20];

    vrt_progress_percent(job, percent, sizeof(percent));
    if (n > 0)
        snprintf(buffer, size, "pausing%s%s: %" PRId64 " %s under way", begun ? " at " : "",
                 begun ? percent : "", n, n == 1 ? "shard is" : "shards are");
    else
        snprintf(buffer, size, "paused%s%s: vrtctl resume %" PRId64, begun ? " at " : "",
                 begun ? percent : "", job->id);
}

/* Where it is known that they are others, the right ones must be named. */
static void print_needs(const struct vrt_job_info *job, char *buffer, size_t size)
{
    bool is_model = job->has_error && strcmp(job->error.id, VRT_E(MODEL_OTHER)) == 0;
    char reason[VRT_API_TEXT_BYTES];

    if (job->has_error && job->error.message[0])
        snprintf(buffer, size, "needs files: vrtctl resume %" PRId64 " %s (%s)", job->id,
                 is_model ? "--model FILE" : "INPUT",
                 vrt_printable(job->error.message, reason, sizeof(reason)));
    else
        snprintf(buffer, size, "needs files: vrtctl resume %" PRId64, job->id);
}

const char *vrt_progress_state_name(const struct vrt_job_info *job)
{
    if (job->cancelling)
        return "cancelling";
    if (job->state == VRT_JOB_PAUSED && vrt_progress_n_under_way(job) > 0)
        return "pausing";
    return vrt_name_of(vrt_job_state_names, job->state);
}

/* Whether it makes progress to be told of. */
static bool is_running(const struct vrt_job_info *job)
{
    return job->state == VRT_JOB_RUNNING && !job->cancelling;
}

const char *vrt_progress_state(const struct vrt_job_info *job, char *buffer, int size)
{
    size_t n = (size_t)size;
    char percent[20];

    switch (job->cancelling ? VRT_UNKNOWN : job->state) {
    case VRT_JOB_FETCHING:
        print_fetched(job, buffer, n);
        return buffer;
    case VRT_JOB_PAUSED:
        print_paused(job, buffer, n);
        return buffer;
    case VRT_JOB_NEEDS_INPUT:
        print_needs(job, buffer, n);
        return buffer;
    case VRT_JOB_FINISHING:
        if (job->frames_compared <= 0)
            break;
        snprintf(buffer, n, "comparing, %s",
                 vrt_format_percent((double)job->frames_compared, (double)job->frames_total,
                                    percent, sizeof(percent)));
        return buffer;
    case VRT_JOB_DISK_FULL:
        if (job->has_error && job->error.message[0])
            return vrt_printable(job->error.message, buffer, size);
        snprintf(buffer, n, "waits for room on a disk");
        return buffer;
    default:
        break;
    }
    snprintf(buffer, n, "%s", vrt_progress_state_name(job));
    return buffer;
}

int vrt_progress_name_width(const struct vrt_job_info *job)
{
    char name[PART_BYTES];

    vrt_progress_name(job, name, sizeof(name));
    return VRT_MIN(vrt_text_width(name), NAME_MAX);
}

int vrt_progress_digits(const struct vrt_job_info *job)
{
    return is_running(job) && job->frames_total > 0 ?
           snprintf(NULL, 0, "%" PRId64, job->frames_total) : 0;
}

/* Numbers are padded to what they may grow to, and to those that stand with them: nothing moves
 * while the job goes on. */
static void fill_parts(const struct vrt_job_info *job, const struct vrt_progress_style *style,
                       struct line *line)
{
    const int digits = VRT_MAX(vrt_progress_digits(job), style->digits);
    char number[40];

    vrt_progress_name(job, line->parts[PART_NAME], PART_BYTES);
    if (!is_running(job)) {
        vrt_progress_state(job, line->parts[PART_PERCENT], PART_BYTES);
        return;
    }
    snprintf(line->parts[PART_PERCENT], PART_BYTES, "%4s",
             vrt_progress_percent(job, number, sizeof(number)));
    print_frames(job, "/", "", number, sizeof(number));
    snprintf(line->parts[PART_FRAMES], PART_BYTES, "%*s", digits ? 2 * digits + 1 : 0, number);
    snprintf(line->parts[PART_RATE], PART_BYTES, "%5s fps",
             vrt_format_rate(job->fps, number, sizeof(number)));
    snprintf(line->parts[PART_LEFT], PART_BYTES, "%s left",
             vrt_format_duration(job->left_s, number, sizeof(number)));
    print_devices(job, line->parts[PART_DEVICES], PART_BYTES);
}

/* Columns of all parts with a gap of two between; `bar` instead of the bar's own. */
static int line_width(const struct line *line, int bar)
{
    int width = -2;

    for (int i = 0; i < PART_COUNT; i++) {
        int w = i == PART_BAR ? bar : vrt_text_width(line->parts[i]);
        width += w ? w + 2 : 0;
    }
    return width;
}

/* Cuts the name, and pads it with blanks, to `columns` and to the longest that it stands with. */
static void fit_name(struct line *line, int columns, int longest)
{
    char *part = line->parts[PART_NAME], name[PART_BYTES - NAME_MAX] = "";
    size_t n_kept = strlen(part);

    /* It may have been padded for more columns before. */
    while (n_kept > 0 && part[n_kept - 1] == ' ')
        part[--n_kept] = '\0';
    vrt_text_cut(part, columns, name, sizeof(name));
    int blank = VRT_MIN(longest, VRT_MIN(columns, NAME_MAX)) - vrt_text_width(name);
    size_t n = strlen(name);
    memcpy(part, name, n + 1);
    if (blank > 0) {
        memset(part + n, ' ', (size_t)blank);
        part[n + (size_t)blank] = '\0';
    }
}

/* Nothing is left to leave out: the name gives what it can, and then the state its end. */
static void squeeze(struct line *line, int columns, int longest)
{
    char *part = line->parts[PART_PERCENT], state[PART_BYTES];
    int over = line_width(line, 0) - columns;

    if (over <= 0)
        return;
    fit_name(line, VRT_MAX(vrt_text_width(line->parts[PART_NAME]) - over, NAME_LEAST), longest);
    over = line_width(line, 0) - columns;
    if (over <= 0)
        return;
    vrt_text_cut(part, VRT_MAX(vrt_text_width(part) - over, 0), state, sizeof(state));
    memcpy(part, state, strlen(state) + 1);
}

/* Leaves out parts, shortens the name, chooses the bar's width. Return: that, 0 for no bar. */
static int fit(struct line *line, const struct vrt_progress_style *style)
{
    static const enum part expendable[] = { PART_FRAMES, PART_RATE, PART_LEFT };
    int columns = VRT_MAX(style->width - 1, 1);

    fit_name(line, NAME_MAX, style->name_width);
    if (line_width(line, BAR_MIN) > columns)
        line->parts[PART_DEVICES][0] = '\0';
    int bar = columns - line_width(line, 0) - 2;
    if (bar >= BAR_MIN)
        return VRT_MIN(bar, BAR_MAX);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(expendable); i++) {
        int over = line_width(line, 0) - columns;
        if (over <= 0)
            return 0;
        int room = VRT_MAX(vrt_text_width(line->parts[PART_NAME]) - over, NAME_MIN);
        fit_name(line, room, style->name_width);
        if (line_width(line, 0) > columns)
            line->parts[expendable[i]][0] = '\0';
    }
    squeeze(line, columns, style->name_width);
    return 0;
}

int vrt_progress_print_bar(double share, int columns, bool utf8, struct vrt_buf *buf)
{
    int inner = utf8 ? columns : columns - 2;
    int filled = (int)(VRT_MIN(VRT_MAX(share, 0), 1) * inner);
    int r = utf8 ? 0 : vrt_buf_append(buf, "[", 1);

    for (int i = 0; r == 0 && i < inner; i++) {
        const char *cell = utf8 ? (i < filled ? "\u2588" : "\u2591") : (i < filled ? "#" : ".");
        r = vrt_buf_append(buf, cell, strlen(cell));
    }
    return r == 0 && !utf8 ? vrt_buf_append(buf, "]", 1) : r;
}

static int print_bar(const struct vrt_job_info *job, int columns, bool utf8, struct vrt_buf *buf)
{
    bool fetching = job->state == VRT_JOB_FETCHING;
    double done = fetching ? (double)job->fetched_bytes : vrt_progress_frames(job);
    int64_t total = fetching ? job->fetch_bytes : job->frames_total;
    double share = total > 0 ? done / (double)total : 0;
    bool over = job->state == VRT_JOB_FINISHING || job->state == VRT_JOB_DONE;

    return vrt_fold(vrt_progress_print_bar(over ? 1 : share, columns, utf8, buf));
}

int vrt_progress_bar_width(const struct vrt_job_info *job, const struct vrt_progress_style *style)
{
    struct line line = { 0 };

    fill_parts(job, style, &line);
    return fit(&line, style);
}

int vrt_progress_bar(const struct vrt_job_info *job, const struct vrt_progress_style *style,
                     struct vrt_buf *buf)
{
    struct line line = { 0 };
    bool first = true;
    int r = 0;

    fill_parts(job, style, &line);
    int bar = fit(&line, style);
    if (style->bar_width != VRT_UNKNOWN)
        bar = bar >= style->bar_width ? style->bar_width : 0;
    for (int i = 0; r == 0 && i < PART_COUNT; i++) {
        if (i == PART_BAR ? !bar : !line.parts[i][0])
            continue;
        r = first ? 0 : vrt_buf_append(buf, "  ", 2);
        first = false;
        if (r < 0)
            return vrt_fold(r);
        r = i == PART_BAR ? print_bar(job, bar, style->utf8, buf)
                          : vrt_buf_append(buf, line.parts[i], strlen(line.parts[i]));
    }
    return vrt_fold(r);
}

int vrt_progress_line(const struct vrt_job_info *job, struct vrt_buf *buf)
{
    char name[VRT_API_NAME_BYTES], frames[60], percent[20], share[30], rate[40], eta[40];
    char devices[PART_BYTES], state[VRT_API_TEXT_BYTES];

    vrt_progress_name(job, name, sizeof(name));
    if (!is_running(job))
        return vrt_buf_printf(buf, "%" PRId64 " %s: %s", job->id, name,
                              vrt_progress_state(job, state, sizeof(state)));
    print_frames(job, " of ", "about ", frames, sizeof(frames));
    print_devices(job, devices, sizeof(devices));
    if (job->frames_total > 0)
        snprintf(share, sizeof(share), " (%s)",
                 vrt_progress_percent(job, percent, sizeof(percent)));
    return vrt_buf_printf(buf, "%" PRId64 " %s: %s frames%s, %s fps, %s left%s%s", job->id, name,
                          frames, job->frames_total > 0 ? share : " so far",
                          vrt_format_rate(job->fps, rate, sizeof(rate)),
                          vrt_format_duration(job->left_s, eta, sizeof(eta)),
                          devices[0] ? ", " : "", devices);
}

const char *vrt_progress_comparison(const struct vrt_compare_report *comparison, char *buffer,
                                    size_t size)
{
    char rgb[32], y[32];

    snprintf(buffer, size, "; PSNR %s (Y %s), SSIM %.4f (Y %.4f)",
             vrt_format_psnr(comparison->psnr_rgb, rgb, sizeof(rgb)),
             vrt_format_psnr(comparison->psnr_y, y, sizeof(y)), comparison->ssim_rgb,
             comparison->ssim_y);
    return buffer;
}

int vrt_progress_result(const struct vrt_job_info *job, const char *folder, struct vrt_buf *buf)
{
    char input[VRT_API_PATH_BYTES], output[VRT_API_PATH_BYTES], frames[40], took[40], rate[40];
    char devices[PART_BYTES], name[VRT_API_NAME_BYTES], quality[PART_BYTES] = "";

    vrt_format_path(job->input_path, vrt_progress_name(job, name, sizeof(name)), folder, input,
                    sizeof(input));
    vrt_format_path(job->output_path, job->output_name, folder, output, sizeof(output));
    if (job->state != VRT_JOB_DONE)
        return vrt_buf_printf(buf, "%" PRId64 " %s: %s", job->id, input,
                              vrt_name_of(vrt_job_state_names, job->state));
    print_devices(job, devices, sizeof(devices));
    if (job->has_comparison)
        vrt_progress_comparison(&job->comparison, quality, sizeof(quality));
    return vrt_buf_printf(buf, "%" PRId64 " %s%s%s: %s in %s (%s fps)%s%s%s",
                          job->id, input, output[0] ? " -> " : "", output,
                          vrt_format_count(job->frames_done, "frame", frames, sizeof(frames)),
                          vrt_format_duration(job->elapsed_s, took, sizeof(took)),
                          vrt_format_rate((double)job->frames_done / job->elapsed_s, rate,
                                          sizeof(rate)),
                          devices[0] ? " on " : "", devices, quality);
}
