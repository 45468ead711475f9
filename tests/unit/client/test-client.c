/* SPDX-License-Identifier: MIT */
/* client: what it prints, what it reads from the command line, which files it opens. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/arguments.h"
#include "client/conn.h"
#include "client/files.h"
#include "client/terminal/format.h"
#include "client/terminal/progress.h"

static void test_formats(void)
{
    char b[64];

    expect_str(vrt_format_bytes(-1, b, sizeof(b)), "-");
    expect_str(vrt_format_bytes(0, b, sizeof(b)), "0 B");
    expect_str(vrt_format_bytes(1023, b, sizeof(b)), "1023 B");
    expect_str(vrt_format_bytes(1536, b, sizeof(b)), "1.5 KiB");
    expect_str(vrt_format_bytes(1048575, b, sizeof(b)), "1.0 MiB");
    expect_str(vrt_format_bytes(16LL << 30, b, sizeof(b)), "16 GiB");
    expect_str(vrt_format_bytes(INT64_MAX, b, sizeof(b)), "8.0 EiB");
    expect_str(vrt_format_count(0, "shard", b, sizeof(b)), "0 shards");
    expect_str(vrt_format_count(1, "shard", b, sizeof(b)), "1 shard");
    expect_str(vrt_format_count(2, "frame", b, sizeof(b)), "2 frames");
    expect_str(vrt_format_count(-1, "frame", b, sizeof(b)), "- frames");
    expect_str(vrt_format_duration(NAN, b, sizeof(b)), "-");
    expect_str(vrt_format_duration(-1, b, sizeof(b)), "-");
    expect_str(vrt_format_duration(INFINITY, b, sizeof(b)), "-");
    expect_str(vrt_format_duration(6.6, b, sizeof(b)), "0:07");
    expect_str(vrt_format_duration(59.6, b, sizeof(b)), "1:00");
    expect_str(vrt_format_duration(3 * 3600 + 121, b, sizeof(b)), "3:02:01");
    expect_str(vrt_format_duration(2 * 86400 + 3 * 3600, b, sizeof(b)), "2 d 3:00:00");
    expect_str(vrt_format_rate(NAN, b, sizeof(b)), "-");
    expect_str(vrt_format_rate(0, b, sizeof(b)), "0");
    expect_str(vrt_format_rate(0.0421, b, sizeof(b)), "0.042");
    expect_str(vrt_format_rate(12.34, b, sizeof(b)), "12.3");
    expect_str(vrt_format_rate(99.96, b, sizeof(b)), "100");
    expect_str(vrt_format_percent(1, -1, b, sizeof(b)), "-");
    expect_str(vrt_format_percent(0, 0, b, sizeof(b)), "-");
    expect_str(vrt_format_percent(999, 1000, b, sizeof(b)), "99%");
    expect_str(vrt_format_percent(999999, 1000000, b, sizeof(b)), "99%");
    expect_str(vrt_format_percent(1, 1, b, sizeof(b)), "100%");
    expect_str(vrt_format_percent(7, 5, b, sizeof(b)), "100%");
    expect_str(vrt_format_time(0, b, sizeof(b)), "-");
}

static void test_widths(void)
{
    static const struct {
        const char *text;
        int width;
    } cases[] = {
        { "", 0 }, { "abc", 3 }, { "caf\u00e9", 4 }, { "cafe\u0301", 4 },
        { "a\u0300\u036f", 1 }, { "\u1100", 2 }, { "\u6620\u753b.mp4", 8 },
        { "\U0001f3ac", 2 }, { "\u2588", 1 }, { "a\xff", 2 },
    };
    char b[64];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_int(vrt_text_width(cases[i].text), cases[i].width);
    expect_str(vrt_text_cut("video.mp4", 9, b, sizeof(b)), "video.mp4");
    expect_str(vrt_text_cut("video.mp4", 8, b, sizeof(b)), "video...");
    expect_str(vrt_text_cut("video.mp4", 2, b, sizeof(b)), "vi");
    expect_str(vrt_text_cut("video.mp4", 0, b, sizeof(b)), "");
    expect_str(vrt_text_cut("\u6620\u753b\u6620\u753b", 6, b, sizeof(b)), "\u6620...");
    expect_str(vrt_text_cut("\u6620\u753b\u6620\u753b", 8, b, 8), "\u6620...");
}

static struct vrt_job_device devices[] = {
    { .name = "cpu:0", .shards_running = 2 }, { .name = "cpu:1", .shards_running = 1 },
    { .name = "cpu:2" }, { .name = "cpu:3" }, { .name = "cpu:4" },
};

static struct vrt_job_info example_job(void)
{
    struct vrt_job_info job;

    vrt_job_info_init(&job);
    job.id = 12;
    job.state = VRT_JOB_RUNNING;
    snprintf(job.input_name, sizeof(job.input_name), "video.mp4");
    snprintf(job.output_name, sizeof(job.output_name), "out.mp4");
    job.frames_done = 84;
    job.frames_total = 200;
    job.fps = 12.34;
    job.left_s = 9.4;
    job.elapsed_s = 7;
    job.devices = devices;
    job.n_devices = 2;
    return job;
}

static char *bar(const struct vrt_job_info *job, int width, bool utf8)
{
    const struct vrt_progress_style style = {
        .width = width, .bar_width = VRT_UNKNOWN, .utf8 = utf8,
    };
    struct vrt_buf buf = { 0 };

    expect_int(vrt_progress_bar(job, &style, &buf), 0);
    char *text = vrt_buf_steal(&buf);
    expect_true(text);
    return text;
}

static void test_progress_bar(void)
{
    static const struct {
        int width;
        const char *text;
    } cases[] = {
        { 100, "video.mp4  [###########.................]   42%   84/200   12.3 fps  0:09 left  "
               "cpu:0 cpu:1" },
        { 80, "video.mp4  [######..........]   42%   84/200   12.3 fps  0:09 left  cpu:0 cpu:1" },
        { 60, "video.mp4  [###......]   42%   84/200   12.3 fps  0:09 left" },
        { 50, "video.mp4   42%   84/200   12.3 fps  0:09 left" },
        { 40, "video.mp4   42%   12.3 fps  0:09 left" },
        { 30, "video.mp4   42%  0:09 left" },
        { 16, "video.mp4   42%" },
    };
    struct vrt_job_info job = example_job();

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        VRT_CLEANUP(vrt_freep) char *text = bar(&job, cases[i].width, false);
        expect_str(text, cases[i].text);
    }
    expect_near(vrt_progress_frames(&job), 84, 0);
    const struct vrt_progress_style wide = {
        .width = 100, .name_width = 15, .digits = 4, .bar_width = VRT_UNKNOWN,
    };
    struct vrt_buf buf = { 0 };
    expect_int(vrt_progress_bar(&job, &wide, &buf), 0);
    expect_contains(buf.data, "video.mp4        [####");
    /* As wide as beside one of a thousand frames. */
    expect_contains(buf.data, "]   42%     84/200   12.3 fps");
    vrt_buf_done(&buf);
    for (int width = 1; width < 200; width++) {
        VRT_CLEANUP(vrt_freep) char *text = bar(&job, width, width & 1);
        if (width >= 16 && vrt_text_width(text) >= width)
            test_fail("at %d columns: %s", width, text);
    }
}

static void test_progress_states(void)
{
    struct vrt_job_info job = example_job();

    snprintf(job.input_name, sizeof(job.input_name), "\u6620\u753b\x1b[2J\xff.mp4");
    VRT_CLEANUP(vrt_freep) char *utf8 = bar(&job, 120, true);
    expect_contains(utf8, "\u6620\u753b?[2J?.mp4  \u2588\u2588");
    expect_contains(utf8, "\u2591   42%");
    job.n_devices = 5;
    devices[2].shards_running = devices[3].shards_running = 1;
    VRT_CLEANUP(vrt_freep) char *many = bar(&job, 120, true);
    devices[2].shards_running = devices[3].shards_running = 0;
    expect_contains(many, "  4 devices");
    job.frames_total = VRT_UNKNOWN;
    job.fps = job.left_s = NAN;
    VRT_CLEANUP(vrt_freep) char *unknown = bar(&job, 120, false);
    expect_contains(unknown, "..]     -  84      - fps  - left");
    job.state = VRT_JOB_QUEUED;
    VRT_CLEANUP(vrt_freep) char *queued = bar(&job, 120, false);
    expect_contains(queued, "...]  queued");
    job.state = VRT_JOB_FINISHING;
    VRT_CLEANUP(vrt_freep) char *finishing = bar(&job, 120, false);
    expect_contains(finishing, "###]  finishing");
    job.state = VRT_UNKNOWN;
    VRT_CLEANUP(vrt_freep) char *strange = bar(&job, 120, false);
    expect_contains(strange, "unknown");
}

/* What waits says for what, and the cure is seen on a narrow terminal too. */
static void test_progress_waiting(void)
{
    static const struct {
        int state, width;
        const char *text;
    } cases[] = {
        { VRT_JOB_PAUSED, 80, "video.mp4  [###########.................]  paused at 42%: vrtctl "
                              "resume 12" },
        { VRT_JOB_PAUSED, 40, "vid...  paused at 42%: vrtctl resume 12" },
        { VRT_JOB_NEEDS_INPUT, 44, "v...  needs files: vrtctl resume 12 INPU..." },
        { VRT_JOB_NEEDS_INPUT, 110, "video.mp4  needs files: vrtctl resume 12 INPUT (the disk of "
                                    "/var/lib/vrtd is full: 2 GiB are needed)" },
        { VRT_JOB_FETCHING, 50, "video.mp4  [.......]  fetching, 12 MiB of 2.3 GiB" },
        { VRT_JOB_DISK_FULL, 60, "vid...  the disk of /var/lib/vrtd is full: 2 GiB are needed" },
        { VRT_JOB_DISK_FULL, 40, "v...  the disk of /var/lib/vrtd is f..." },
    };
    struct vrt_job_info job = example_job();
    char state[VRT_API_TEXT_BYTES];

    job.state = VRT_JOB_PAUSED;
    expect_contains(vrt_progress_state(&job, state, sizeof(state)), "pausing at 42%: ");
    expect_contains(state, "under way");
    job.n_devices = 0;
    job.fetched_bytes = 12 << 20;
    job.fetch_bytes = 2400LL << 20;
    job.has_error = true;
    snprintf(job.error.message, sizeof(job.error.message),
             "the disk of /var/lib/vrtd is full: 2 GiB are needed");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        job.state = cases[i].state;
        VRT_CLEANUP(vrt_freep) char *text = bar(&job, cases[i].width, false);
        expect_str(text, cases[i].text);
        for (int width = 16; width < 200; width++) {
            VRT_CLEANUP(vrt_freep) char *any = bar(&job, width, width & 1);
            if (vrt_text_width(any) >= width)
                test_fail("at %d columns: %s", width, any);
        }
    }
    job.state = VRT_JOB_FETCHING;
    job.fetch_bytes = VRT_UNKNOWN;
    expect_str(vrt_progress_state(&job, state, sizeof(state)), "fetching, 12 MiB");
    job.fetched_bytes = VRT_UNKNOWN;
    expect_str(vrt_progress_state(&job, state, sizeof(state)), "fetching");
    job.state = VRT_JOB_DISK_FULL;
    snprintf(job.error.message, sizeof(job.error.message), "\x1b[2J");
    expect_str(vrt_progress_state(&job, state, sizeof(state)), "?[2J");
    job.has_error = false;
    expect_str(vrt_progress_state(&job, state, sizeof(state)), "waits for room on a disk");
    job.state = VRT_JOB_PAUSED;
    job.frames_done = 0;
    expect_str(vrt_progress_state(&job, state, sizeof(state)), "paused: vrtctl resume 12");
    job.input_name[0] = '\0';
    expect_str(vrt_progress_name(&job, state, sizeof(state)), "-");
    snprintf(job.owner, sizeof(job.owner), "an\x07na");
    expect_str(vrt_progress_name(&job, state, sizeof(state)), "an?na's");
}

static void test_progress_lines(void)
{
    struct vrt_job_info job = example_job();
    struct vrt_buf buf = { 0 };

    expect_int(vrt_progress_line(&job, &buf), 0);
    expect_str(buf.data, "12 video.mp4: 84 of 200 frames (42%), 12.3 fps, 0:09 left, cpu:0 cpu:1");
    vrt_buf_done(&buf);
    job.frames_estimated = true;
    expect_int(vrt_progress_line(&job, &buf), 0);
    expect_contains(buf.data, "84 of about 200 frames (42%), ");
    vrt_buf_done(&buf);
    job.frames_total = VRT_UNKNOWN;
    expect_int(vrt_progress_line(&job, &buf), 0);
    expect_contains(buf.data, "84 frames so far, 12.3 fps");
    vrt_buf_done(&buf);
    job.state = VRT_JOB_DONE;
    job.frames_done = 200;
    expect_int(vrt_progress_result(&job, "/home/a", &buf), 0);
    expect_str(buf.data, "12 video.mp4 -> out.mp4: 200 frames in 0:07 (28.6 fps) on cpu:0 cpu:1");
    vrt_buf_done(&buf);
    snprintf(job.input_path, sizeof(job.input_path), "/home/a/films/video.mp4");
    snprintf(job.output_path, sizeof(job.output_path), "/home/ab/out.mp4");
    expect_int(vrt_progress_result(&job, "/home/a", &buf), 0);
    expect_contains(buf.data, "12 films/video.mp4 -> /home/ab/out.mp4: 200 frames");
    vrt_buf_done(&buf);
    job.state = VRT_JOB_FINISHING;
    job.frames_total = 200;
    job.frames_compared = 50;
    expect_int(vrt_progress_line(&job, &buf), 0);
    expect_str(buf.data, "12 video.mp4: comparing, 25%");
    vrt_buf_done(&buf);
    job.state = VRT_JOB_DONE;
    job.has_comparison = true;
    job.comparison = (struct vrt_compare_report){ .psnr_rgb = 30.126, .psnr_y = NAN,
                                                  .ssim_rgb = 0.87654, .ssim_y = 1 };
    expect_int(vrt_progress_result(&job, "/home/a", &buf), 0);
    expect_contains(buf.data, "cpu:1; PSNR 30.13 dB (Y equal), SSIM 0.8765 (Y 1.0000)");
    vrt_buf_done(&buf);
    job.has_comparison = false;
    snprintf(job.input_path, sizeof(job.input_path), "https://example.org/films/video.mp4");
    job.output_path[0] = '\0';
    job.elapsed_s = 0;
    job.n_devices = 0;
    expect_int(vrt_progress_result(&job, "/home/a", &buf), 0);
    expect_str(buf.data, "12 video.mp4 -> out.mp4: 200 frames in 0:00 (- fps)");
    vrt_buf_done(&buf);
    job.state = VRT_JOB_QUEUED;
    expect_int(vrt_progress_line(&job, &buf), 0);
    expect_str(buf.data, "12 video.mp4: queued");
    vrt_buf_done(&buf);
}

/* Splits at blanks, reads as a command's words; the options stay valid until the next call. */
static int parse(const char *line, struct vrt_args *args, struct vrt_error *error)
{
    static char words[500];
    static char *argv[50];
    int argc = 0;

    snprintf(words, sizeof(words), "%s", line);
    for (char *s = strtok(words, " "); s; s = strtok(NULL, " "))
        argv[argc++] = s;
    *error = (struct vrt_error){ 0 };
    vrt_args_init(args);
    return vrt_args_parse(&vrt_command_submit, argc, argv, args, error);
}

static void test_arguments(void)
{
    struct vrt_args a;
    struct vrt_error error;

    expect_int(parse("a.mp4", &a, &error), 0);
    expect_int(a.n_operands, 1);
    expect_int(a.settings.tile, VRT_UNKNOWN);
    expect_int(a.settings.codec, VRT_UNKNOWN);
    expect_int(a.timeout_s, 60);
    expect_int(parse("--tile=64 a -fj --priority -5 b -oout --codec hevc -m x -- --json -", &a,
                     &error), 0);
    expect_int(a.settings.tile, 64);
    expect_true(a.follow && a.json && !a.overwrite);
    expect_int(a.priority, -5);
    expect_int(a.settings.codec, VRT_CODEC_HEVC);
    expect_str(a.output, "out");
    expect_str(a.model, "x");
    expect_int(a.n_operands, 4);
    expect_str(a.operands[1], "b");
    expect_str(a.operands[2], "--json");
    expect_str(a.operands[3], "-");
    expect_int(parse("a --enc tune=film b --enc=bf=2", &a, &error), 0);
    expect_str(a.settings.encoder_options, "tune=film bf=2");
    expect_int(a.n_operands, 2);
    expect_int(parse("a --start 1:02:03.5 --duration 90", &a, &error), 0);
    expect_near(a.settings.start_s, 3723.5, 0);
    expect_near(a.settings.duration_s, 90, 0);
    expect_int(parse("--help", &a, &error), 0);
    expect_true(a.help);
}

static void test_argument_refusals(void)
{
    static const struct {
        const char *line, *sentence;
    } cases[] = {
        { "", "submit needs FILE|FOLDER|URL..." },
        { "--nope a", "unknown option --nope; see vrtctl submit --help" },
        { "-fz a", "unknown option -fz" },
        { "--follow=yes a", "--follow takes no value" },
        { "a --output", "--output needs a value: FILE" },
        { "a -o", "--output needs a value: FILE" },
        { "--tile -1 a", "--tile: expected an integer from 0 to 16384, got \"-1\"" },
        { "--sigma 51 a", "--sigma: expected a number from 0 to 50, got \"51\"" },
        { "--sigma nan a", "got \"nan\"" },
        { "--strength 2 a", "--strength: expected a number from 0 to 1, got \"2\"" },
        { "--start 1:75 a", "--start: expected seconds, or a time such as 1:30 or 1:02:03.5" },
        { "--start -1 a", "got \"-1\"" },
        { "--start nan a", "got \"nan\"" },
        { "--duration 1:: a", "got \"1::\"" },
        { "--tiling hard a", "expected blend or official" },
        { "--tile 64x a", "got \"64x\"" },
        { "--tile= a", "got \"\"" },
        { "--priority 99999999999999999999 a", "from -100 to 100" },
        { "--enc= a", "--enc: expected KEY=VALUE without spaces, got \"\"" },
        { "--codec vp3 a", "--codec: expected h264, hevc, ffv1, av1, vp9, prores, dnxhr, mjpeg, "
                           "png, jpeg, tiff, webp, exr, gif, apng or auto, got \"vp3\"" },
        { "--precision f31 a", "--precision: expected auto, f32, f16 or bf16" },
        { "--til 64 a", "unknown option --til (did you mean --tile?); see" },
        { "--overwirte a", "unknown option --overwirte (did you mean --overwrite?)" },
        { "--wibble a", "unknown option --wibble; see" },
    };
    struct vrt_args a;
    struct vrt_error error;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_int(parse(cases[i].line, &a, &error), -EINVAL);
        expect_contains(error.message, cases[i].sentence);
    }
}

static void test_default_output(void)
{
    static const struct {
        const char *input, *output, *folder;
        int nth;
        int codec;
        const char *word;
    } cases[] = {
        { "video.mp4", "video.restored.mp4" },
        { "a.b/video.MOV", "a.b/video.restored.mov" },
        { "a.b/video", "a.b/video.restored.mkv" },
        { "/x/video.avi", "/x/video.restored.mkv" },
        { "video.mp4", "video.restored.mkv", .codec = VRT_CODEC_FFV1 },
        { "video.mov", "video.restored.mov", .codec = VRT_CODEC_FFV1 },
        { "video.avi", "video.restored.mov", .codec = VRT_CODEC_PRORES },
        { "video.webm", "video.restored.webm", .codec = VRT_CODEC_AV1 },
        { "video.webm", "video.restored.mkv", .codec = VRT_CODEC_HEVC },
        { "video.webm", "video.restored.webm", .codec = VRT_CODEC_AUTO },
        { "video.avi", "video.restored.mkv", .codec = VRT_CODEC_AUTO },
        { ".mp4", ".mp4.restored.mkv" },
        { "two.parts.mkv", "two.parts.restored.mkv" },
        { "x/video.avi", "x/video.avi.restored.mkv", .nth = 1 },
        { "x/video.avi", "x/video.avi.2.restored.mkv", .nth = 2 },
        { "x/video.mp4", "out/video.restored.mp4", "out" },
        { "x/video.avi", "out/video.avi.restored.mkv", "out/", 1 },
        { "http://host/x/video.mov?y", "out/video.restored.mov", "out" },
        { "x/video.mp4", "x/video.part.mp4", .word = "part" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        VRT_CLEANUP(vrt_freep) char *path = vrt_file_default_output(
            cases[i].input, cases[i].folder, cases[i].word ? cases[i].word : "restored",
            cases[i].nth, cases[i].codec ? cases[i].codec : VRT_UNKNOWN);
        expect_str(path, cases[i].output);
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    expect_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void expect_inputs_refused(void)
{
    static const struct {
        const char *path, *sentence;
    } inputs[] = {
        { "none.mp4", "none.mp4: No such file" }, { ".", ".: this is a folder" },
        { "empty.mp4", "empty.mp4: the file is empty" }, { "pipe", "pipe: this is not a regular" },
        { "ftp://host/a.mp4", "there is no such file, and only http:// and https:// are fetched" },
    };
    struct vrt_file input = VRT_FILE_NONE;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(inputs); i++) {
        struct vrt_error error = { 0 };
        expect_true(vrt_file_open_input(inputs[i].path, &input, &error) < 0);
        expect_contains(error.message, inputs[i].sentence);
    }
}

static void expect_outputs_refused(const struct vrt_file *input)
{
    char long_name[300];
    const struct {
        const char *path, *sentence;
        bool overwrite;
    } outputs[] = {
        { long_name, "this name is too long for the output; name another with --output", false },
        { "old.mp4", "old.mp4: this file exists; replace it with --overwrite", false },
        { "in.mp4", "in.mp4: this is the same file as the input", false },
        { "link.mp4", "link.mp4: this is the same file as the input", true },
        { ".", ".: this is a folder", true },
        { "none/x.mp4", "none/x.mp4: the folder for it does not exist", false },
        { "dangling", "dangling: File exists", false },
        { "pipe", "pipe: this is not a regular file", true },
    };
    struct vrt_file output = VRT_FILE_NONE;

    snprintf(long_name, sizeof(long_name), "%0*d.mp4", 260, 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(outputs); i++) {
        struct vrt_error error = { 0 };
        expect_true(vrt_file_open_output(outputs[i].path, outputs[i].overwrite, input, &output,
                                         &error) < 0);
        expect_contains(error.message, outputs[i].sentence);
    }
}

/* Only what was made anew, and is empty still, is taken away again. */
static void expect_created_removed(const struct vrt_file *input)
{
    struct vrt_file output = VRT_FILE_NONE;
    struct vrt_error error = { 0 };

    expect_int(vrt_file_open_output("old.mp4", true, input, &output, &error), 0);
    expect_true(!output.created);
    vrt_file_close(&output);
    vrt_file_remove_created("old.mp4", &output);
    expect_int(access("old.mp4", F_OK), 0);
    expect_int(vrt_file_open_output("new.mp4", false, input, &output, &error), 0);
    expect_true(output.created);
    vrt_file_close(&output);
    write_file("new.mp4", "result");
    vrt_file_remove_created("new.mp4", &output);
    expect_int(access("new.mp4", F_OK), 0);
    write_file("new.mp4", "");
    vrt_file_remove_created("old.mp4", &output);
    expect_int(access("old.mp4", F_OK), 0);
    vrt_file_remove_created("new.mp4", &output);
    expect_int(access("new.mp4", F_OK), -1);
}

static void test_files(void)
{
    char folder[] = "/tmp/vrt-client-XXXXXX";
    struct vrt_file input = VRT_FILE_NONE;
    struct vrt_error error = { 0 };

    expect_true(mkdtemp(folder) && chdir(folder) == 0);
    write_file("in.mp4", "video");
    write_file("old.mp4", "precious");
    write_file("empty.mp4", "");
    expect_true(link("in.mp4", "link.mp4") == 0 && mkfifo("pipe", 0600) == 0);
    expect_true(symlink("nowhere", "dangling") == 0);

    expect_inputs_refused();
    expect_int(vrt_file_open_input("in.mp4", &input, &error), 0);
    expect_outputs_refused(&input);
    expect_created_removed(&input);

    expect_true(vrt_file_is_model_path("in.mp4") && vrt_file_is_model_path("x/none"));
    expect_true(!vrt_file_is_model_path("compact-x2") && !vrt_file_is_model_path("."));
    vrt_file_close(&input);
    for (size_t i = 0; i < 6; i++)
        unlink((const char *[]){ "in.mp4", "old.mp4", "empty.mp4", "link.mp4", "pipe",
                                 "dangling" }[i]);
    expect_true(chdir("/") == 0 && rmdir(folder) == 0);
}

static void test_socket_path(void)
{
    char folder[] = "/tmp/vrt-client-XXXXXX", path[256], state[48], wanted[64], longer[150];
    struct vrt_error error = { 0 };

    expect_true(mkdtemp(folder));
    unsetenv("VRTD_SOCKET");
    setenv("XDG_RUNTIME_DIR", folder, 1);
    setenv("XDG_STATE_HOME", folder, 1);
    expect_int(vrt_conn_find_socket(NULL, path, sizeof(path), &error), 0);
    expect_str(path, "/run/vrtd/vrtd.sock");
    /* Where a daemon listens that has no XDG_RUNTIME_DIR either. */
    snprintf(state, sizeof(state), "%s/vrtd", folder);
    snprintf(wanted, sizeof(wanted), "%s/vrtd.sock", state);
    expect_int(mkdir(state, 0700), 0);
    write_file(wanted, "");
    expect_int(vrt_conn_find_socket(NULL, path, sizeof(path), &error), 0);
    expect_str(path, wanted);
    unlink(wanted);
    rmdir(state);
    snprintf(wanted, sizeof(wanted), "%s/vrtd.sock", folder);
    write_file(wanted, "");
    expect_int(vrt_conn_find_socket(NULL, path, sizeof(path), &error), 0);
    expect_str(path, wanted);
    setenv("VRTD_SOCKET", "/x/y", 1);
    expect_int(vrt_conn_find_socket(NULL, path, sizeof(path), &error), 0);
    expect_str(path, "/x/y");
    expect_int(vrt_conn_find_socket("/given", path, sizeof(path), &error), 0);
    expect_str(path, "/given");
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    expect_int(vrt_conn_find_socket(longer, path, sizeof(path), &error), -ENAMETOOLONG);
    expect_contains(error.message, "at most 107 bytes");
    unlink(wanted);
    rmdir(folder);
}

TEST_MAIN(
    { "formats", test_formats },
    { "widths", test_widths },
    { "progress-bar", test_progress_bar },
    { "progress-states", test_progress_states },
    { "progress-waiting", test_progress_waiting },
    { "progress-lines", test_progress_lines },
    { "arguments", test_arguments },
    { "argument-refusals", test_argument_refusals },
    { "default-output", test_default_output },
    { "files", test_files },
    { "socket-path", test_socket_path },
)
