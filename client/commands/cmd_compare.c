/* SPDX-License-Identifier: MIT */
/*
 * vrtctl compare: how near one video is to another. The user's own rights open both; the daemon has
 * them decoded and compared, and, where one is asked for, makes a picture of the worst frame as a
 * preview is made. VMAF is computed by the user's own ffmpeg, once the daemon has found both alike.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "client/cli.h"
#include "client/commands/vmaf.h"
#include "client/conn.h"
#include "client/files.h"
#include "client/interrupt.h"
#include "client/terminal/format.h"
#include "client/terminal/plot.h"
#include "client/terminal/screen.h"
#include "compare/msg_compare.h"

#define PLOT_ROWS 8
#define PLOT_COLUMNS_MIN 40
#define N_WORST 3
#define VMAF_SIDE_MIN 32        /* libvmaf, which checks nothing, crashes on 17 and less */

#define A struct vrt_args
static const struct vrt_option options[] = {
    { "crop", 0, VRT_OPTION_INT, offsetof(A, crop), 0, VRT_COMPARE_CROP_MAX, .argument = "PIXELS",
      .help = "at each edge that don't count (default: 0)" },
    { "fvd", 0, VRT_OPTION_TEXT, offsetof(A, fvd), .argument = "FILE",
      .help = "the Frechet Video Distance, by I3D's weights" },
    { "vmaf", 0, VRT_OPTION_FLAG, offsetof(A, vmaf),
      .help = "VMAF of the second against the first, by ffmpeg's filter libvmaf" },
    { "picture", 0, VRT_OPTION_TEXT, offsetof(A, output), .argument = "FILE",
      .help = "the worst frame of both side by side, a PNG" },
    { "overwrite", 0, VRT_OPTION_FLAG, offsetof(A, overwrite), .help = "replace the picture" },
    { .name = NULL },
};
#undef A

enum {
    FIRST,
    SECOND,
    PICTURE,
    WEIGHTS,
    N_FILES,
};

static double badness(const struct vrt_compare_frame *frame)
{
    return isnan(frame->psnr_y) ? -INFINITY : -frame->psnr_y;
}

static int by_badness(const void *a, const void *b)
{
    const double x = badness(a), y = badness(b);

    return x > y ? -1 : x < y;
}

static const char *label(double value, char *buffer, size_t size)
{
    snprintf(buffer, size, "%.0f dB", value);
    return buffer;
}

/* PSNR over the time, of two frames at least; before they are sorted. */
static int plot(const struct vrt_compare_report *report, struct vrt_buf *buf)
{
    VRT_CLEANUP(vrt_freep) double *points = calloc(2 * report->n_frames + 1, sizeof(*points));
    struct vrt_screen screen = { 0 };
    int columns, rows;

    if (!points)
        return vrt_raise(-ENOMEM);
    const size_t last = report->n_frames - 1;
    double *x = points, *y = points + report->n_frames;
    /* A frame is seen until the next one is; the last one as long as the one before it. */
    for (size_t i = 0; i < last; i++)
        x[i] = report->frames[i + 1].time_s;
    x[last] = 2 * report->frames[last].time_s - report->frames[last - 1].time_s;
    for (size_t i = 0; i <= last; i++)
        y[i] = report->frames[i].psnr_y;
    vrt_screen_init(&screen);
    vrt_screen_size(&columns, &rows);
    const struct vrt_plot shown = {
        .x = x,
        .y = y,
        .n = report->n_frames,
        .begin = report->frames[0].time_s,
        .end = x[last],
        .columns = VRT_MAX(columns - 1, PLOT_COLUMNS_MIN),
        .rows = PLOT_ROWS,
        .utf8 = screen.utf8,
        .label = label,
    };
    return vrt_fold(vrt_plot_print(&shown, buf));
}

/* What is told only to who asks for it; of an older daemon, too, which knows nothing of FVD. */
static void print_asked(const struct vrt_cli *cli, const struct vrt_compare_report *report)
{
    const bool has_fvd = report->fvd_clips != VRT_UNKNOWN, has_vmaf = cli->args.vmaf;

    if (!isnan(report->fvd))
        printf("\n  FVD        %.2f, of %" PRId64 " clips of 16 frames", report->fvd,
               report->fvd_clips);
    if (report->fvd_warning[0])
        printf("\n  Note       %s", report->fvd_warning);
    if (!has_fvd || !has_vmaf)
        printf("\n  Not told   %s%s%s", has_vmaf ? "" : "VMAF: ask for it (--vmaf)",
               has_vmaf || has_fvd ? "" : "; ",
               has_fvd ? "" : "FVD: name I3D's weights (--fvd FILE)");
    printf("\n");
}

static void print_report(const struct vrt_cli *cli, struct vrt_compare_report *report,
                         const struct vrt_vmaf *vmaf)
{
    VRT_CLEANUP(vrt_buf_done) struct vrt_buf buf = { .limit_bytes = 0 };
    char names[2][VRT_API_NAME_BYTES], text[2][32];
    const size_t n_worst = VRT_MIN(report->n_frames, N_WORST);

    printf("%s and %s: %" PRId64 " frames of %" PRId64 "x%" PRId64,
           vrt_printable(cli->args.operands[FIRST], names[0], sizeof(names[0])),
           vrt_printable(cli->args.operands[SECOND], names[1], sizeof(names[1])),
           report->frames_total, report->width, report->height);
    if (report->frames_equal)
        printf(", %" PRId64 " of them equal", report->frames_equal);
    printf("\n  PSNR       RGB %s, Y %s, the mean of all frames\n",
           vrt_format_psnr(report->psnr_rgb, text[0], sizeof(text[0])),
           vrt_format_psnr(report->psnr_y, text[1], sizeof(text[1])));
    printf("             RGB %s, Y %s, of all errors together\n",
           vrt_format_psnr(report->psnr_rgb_overall, text[0], sizeof(text[0])),
           vrt_format_psnr(report->psnr_y_overall, text[1], sizeof(text[1])));
    printf("  SSIM       RGB %.4f, Y %.4f\n", report->ssim_rgb, report->ssim_y);
    if (vmaf->frames)
        printf("  VMAF       %.2f, harmonic mean %.2f, worst %.2f at %.3f s, of the second against "
               "the first\n", vmaf->mean, vmaf->harmonic_mean, vmaf->min,
               report->frames[vmaf->worst].time_s);
    const bool has_plot = report->n_frames > 1 && plot(report, &buf) == 0;
    qsort(report->frames, report->n_frames, sizeof(*report->frames), by_badness);
    printf("  Worst     ");
    for (size_t i = 0; i < n_worst; i++)
        printf("%s %.3f s (Y %s)", i ? "," : "", report->frames[i].time_s,
               vrt_format_psnr(report->frames[i].psnr_y, text[0], sizeof(text[0])));
    print_asked(cli, report);
    if (has_plot)
        printf("PSNR of Y over the time\n%s", buf.data);
    else if (report->n_frames > 1)
        printf("PSNR of Y over the time: there was no memory to draw it\n");
}

/* Of the frame that is worst. Return: 0; VRT_CONN_E_*. */
static int make_picture(struct vrt_cli *cli, const struct vrt_compare_report *report,
                        const struct vrt_compare_request *compared, const struct vrt_file *files,
                        struct vrt_error *error)
{
    const int fds[] = { files[FIRST].fd, files[SECOND].fd, files[PICTURE].fd };
    struct vrt_preview_request q = { .before = compared->a, .after = compared->b,
                                     .picture.fd = PICTURE, .start_s = NAN };
    const struct vrt_compare_frame *worst = &report->frames[0];
    json_t *json = NULL;

    for (size_t i = 1; i < report->n_frames; i++)
        if (badness(&report->frames[i]) > badness(worst))
            worst = &report->frames[i];
    q.time_s = VRT_MAX(worst->time_s, 0);
    vrt_file_name(cli->args.output, q.picture.name, sizeof(q.picture.name));
    int r = vrt_conn_post(cli->conn, &(struct vrt_request){
        .path = "/v1/preview",
        .fds = fds,
        .n_fds = 3,
        .takes_long = true,
    }, vrt_preview_request_fields, &q, &json, error);
    json_decref(json);
    return vrt_fold(r);
}

static int open_files(const struct vrt_cli *cli, struct vrt_file *files, struct vrt_error *error)
{
    for (int i = FIRST; i <= SECOND; i++) {
        int r = vrt_file_open_input(cli->args.operands[i], &files[i], error);
        if (r < 0)
            return vrt_fold(r);
    }
    if (cli->args.fvd) {
        int r = vrt_file_open_input(cli->args.fvd, &files[WEIGHTS], error);
        if (r < 0)
            return vrt_fold(r);
    }
    if (!cli->args.output)
        return 0;
    if (cli->args.overwrite) {
        int r = vrt_file_check_output(cli->args.output, true, &files[SECOND], error);
        if (r < 0)
            return vrt_fold(r);
    }
    return vrt_fold(vrt_file_open_output(cli->args.output, cli->args.overwrite, &files[FIRST],
                                         &files[PICTURE], error));
}

static int compare(struct vrt_cli *cli, const struct vrt_file *files, json_t **ret_json,
                   struct vrt_compare_report *report, struct vrt_error *error)
{
    struct vrt_compare_request q = { .a.fd = FIRST, .b.fd = SECOND, .crop = cli->args.crop };
    const int fds[] = { files[FIRST].fd, files[SECOND].fd, files[WEIGHTS].fd };

    vrt_file_name(cli->args.operands[FIRST], q.a.name, sizeof(q.a.name));
    vrt_file_name(cli->args.operands[SECOND], q.b.name, sizeof(q.b.name));
    q.has_fvd = cli->args.fvd;
    q.fvd.fd = 2;
    if (q.has_fvd)
        vrt_file_name(cli->args.fvd, q.fvd.name, sizeof(q.fvd.name));
    int r = vrt_conn_post(cli->conn, &(struct vrt_request){
        .path = "/v1/compare",
        .fds = fds,
        .n_fds = q.has_fvd ? 3 : 2,
        .takes_long = true,
    }, vrt_compare_request_fields, &q, ret_json, error);
    if (r != 0)
        return vrt_fold(r);
    if (vrt_fields_decode(vrt_compare_fields, *ret_json, VRT_FIELDS_LENIENT, report, error) < 0 ||
        !report->n_frames)
        return VRT_CONN_E_BROKEN;
    return cli->args.output ? vrt_fold(make_picture(cli, report, &q, files, error)) : 0;
}

/* Adds it to what the daemon answered. Return: 0; -errno with `error`. */
static int add_vmaf(const struct vrt_cli *cli, const struct vrt_compare_report *report,
                    json_t *json, struct vrt_vmaf *ret_vmaf, struct vrt_error *error)
{
    const struct vrt_vmaf_params params = {
        .reference = cli->args.operands[FIRST],
        .distorted = cli->args.operands[SECOND],
        .crop = cli->args.crop,
        .n_frames = report->n_frames,
        .interrupt = &vrt_interrupted,
    };

    if (VRT_MIN(report->width, report->height) - 2 * params.crop < VMAF_SIDE_MIN)
        return vrt_refuse(error, vrt_raise(-EINVAL), "client.vmaf", "VMAF: a side needs %d pixels "
                          "that aren't cropped", VMAF_SIDE_MIN);
    int r = vrt_vmaf_compute(&params, ret_vmaf, error);
    if (r < 0)
        return vrt_fold(r);
    json_object_set_new(json, "vmaf", json_real(ret_vmaf->mean));
    json_object_set_new(json, "vmaf_harmonic_mean", json_real(ret_vmaf->harmonic_mean));
    json_object_set_new(json, "vmaf_min", json_real(ret_vmaf->min));
    json_object_set_new(json, "vmaf_worst_s", json_real(report->frames[ret_vmaf->worst].time_s));
    for (size_t i = 0; i < report->n_frames; i++)
        json_object_set_new(json_array_get(json_object_get(json, "frames"), i), "vmaf",
                            json_real(ret_vmaf->frames[i]));
    return 0;
}

static int run(struct vrt_cli *cli)
{
    struct vrt_file files[N_FILES] = { VRT_FILE_NONE, VRT_FILE_NONE, VRT_FILE_NONE,
                                       VRT_FILE_NONE };
    struct vrt_compare_report report = { .fvd = NAN, .fvd_clips = VRT_UNKNOWN };
    struct vrt_error error = { 0 }, vmaf_error = { 0 };
    struct vrt_vmaf vmaf = { .frames = NULL };
    struct vrt_interrupt interrupt;
    json_t *json = NULL;
    int exit = VRT_EXIT_OK, vmaf_r = 0;

    vrt_interrupt_start(&interrupt, cli->conn);
    int r = cli->args.vmaf ? vrt_vmaf_check(&vrt_interrupted, &error) : 0;
    if (r == 0)
        r = open_files(cli, files, &error);
    if (r == 0)
        r = compare(cli, files, &json, &report, &error);
    if (r == 0 && cli->args.vmaf)
        vmaf_r = add_vmaf(cli, &report, json, &vmaf, &vmaf_error);
    vrt_interrupt_stop(&interrupt);
    for (int i = 0; i < N_FILES; i++)
        vrt_file_close(&files[i]);
    if (r != 0 && cli->args.output)
        vrt_file_remove_created(cli->args.output, &files[PICTURE]);
    if (vrt_interrupted)
        exit = VRT_EXIT_INTERRUPTED;
    else if (r != 0)
        exit = vrt_cli_fail(cli, NULL, r, &error);
    else if (cli->args.json)
        exit = vrt_cli_print_json(json);
    else
        print_report(cli, &report, &vmaf);
    if (vmaf_r != 0 && exit == VRT_EXIT_OK)
        exit = vrt_cli_fail(cli, NULL, vmaf_r, &vmaf_error);
    free(vmaf.frames);
    vrt_fields_done(vrt_compare_fields, &report);
    json_decref(json);
    return exit;
}

const struct vrt_command vrt_command_compare = {
    .name = "compare",
    .operands = "FILE FILE",
    .summary = "tell how near one video is to another: PSNR, SSIM, FVD, VMAF",
    .options = options,
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
