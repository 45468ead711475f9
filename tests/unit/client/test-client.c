/* SPDX-License-Identifier: MIT */
/* client: what it reads from the command line, which files and folders it opens. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "client/arguments.h"
#include "client/conn.h"
#include "client/files.h"
#include "client/folders.h"
#include "client/interrupt.h"

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
    /* What a range ends with is in it. */
    expect_int(parse("--sigma 50 --bitrate 2G --priority 100 --start 0 a", &a, &error), 0);
    expect_near(a.settings.sigma, 50, 0);
    expect_int(a.settings.bitrate, 2000000000);
    expect_int(a.priority, 100);
    expect_int(parse("--sigma 0 --bitrate 1K --priority -100 a", &a, &error), 0);
    expect_near(a.settings.sigma, 0, 0);
    expect_int(a.settings.bitrate, 1000);
    expect_int(a.priority, -100);
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
        { "--fbs 1 a", "unknown option --fbs (did you mean --fps?)" },
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
        { "a.jpg", "a.restored.jpg" }, { "a.JPEG", "a.restored.jpg" },
        { "a.tif", "a.restored.tiff" }, { "a.bmp", "a.restored.png" },
        { "a.webp", "a.restored.webp" }, { "a.png", "a.restored.png" },
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

/* What one may not read or write, as root may: somebody else tries. */
static void expect_forbidden(void)
{
    static const char refusal[] = "closed/x.mp4 can't be written: Permission denied; name another "
                                  "place: -o FILE, or -o FOLDER/";
    const struct vrt_file input = VRT_FILE_NONE;
    struct vrt_file file = VRT_FILE_NONE;
    struct vrt_error unread = { 0 }, error = { 0 }, checked = { 0 };
    int status = -1;

    write_file("secret.mp4", "video");
    expect_int(chmod("secret.mp4", 0), 0);
    expect_true(mkdir("closed", 0500) == 0 && chmod("closed", 0555) == 0 && chmod(".", 0755) == 0);
    const pid_t child = fork();
    if (child == 0) {
        expect_int(geteuid() == 0 ? setuid(65534) : 0, 0);
        expect_int(vrt_file_open_input("secret.mp4", &file, &unread), -EACCES);
        expect_str(unread.message, "secret.mp4: Permission denied");
        expect_int(vrt_file_open_output("closed/x.mp4", false, &input, &file, &error), -EACCES);
        expect_str(error.message, refusal);
        expect_int(vrt_file_check_output("closed/x.mp4", false, &input, &checked), -EACCES);
        expect_str(checked.message, refusal);
        _exit(0);
    }
    expect_true(waitpid(child, &status, 0) == child && status == 0);
    expect_true(unlink("secret.mp4") == 0 && rmdir("closed") == 0);
}

/* Only an empty file of that time, which has no other name. */
static void expect_placeholders_removed(const char *folder)
{
    static const struct {
        const char *text;
        int seconds;
        bool is_linked, is_relative, stays;
    } cases[] = {
        { "", 0 }, { "", 2 }, { "", -2 }, { "", 3, .stays = true }, { "", -3, .stays = true },
        { "x", 0, .stays = true }, { "", 0, .is_linked = true, .stays = true },
        { "", 0, .is_relative = true, .stays = true },
    };
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "%s/place", folder);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        write_file("place", cases[i].text);
        expect_int(stat("place", &st), 0);
        expect_int(cases[i].is_linked ? link("place", "other") : 0, 0);
        vrt_file_remove_placeholder(cases[i].is_relative ? "place" : path,
                                    (st.st_mtim.tv_sec + cases[i].seconds) * VRT_NS_PER_S);
        expect_int(unlink("place"), cases[i].stays ? 0 : -1);
        unlink("other");
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
    expect_forbidden();
    expect_placeholders_removed(folder);
    expect_created_removed(&input);

    expect_true(vrt_file_is_model_path("in.mp4") && vrt_file_is_model_path("x/none"));
    expect_true(!vrt_file_is_model_path("compact-x2") && !vrt_file_is_model_path("."));
    vrt_file_close(&input);
    for (size_t i = 0; i < 6; i++)
        unlink((const char *[]){ "in.mp4", "old.mp4", "empty.mp4", "link.mp4", "pipe",
                                 "dangling" }[i]);
    expect_true(chdir("/") == 0 && rmdir(folder) == 0);
}

/* Which operands are folders of pictures, or names in one, and of which kind their results are. */
static void expect_folders(void)
{
    static const struct {
        const char *operand, *path, *pattern;
        int codec;
    } cases[] = {
        { "frames", "frames", "", VRT_CODEC_JPEG }, { "frames//", "frames", "", VRT_CODEC_JPEG },
        { "empty/", "empty", "", VRT_CODEC_PNG }, { ".", ".", "", VRT_CODEC_PNG },
        { "none/%04d.webp", "none", "%04d.webp", VRT_CODEC_WEBP },
        { "%d.tif", ".", "%d.tif", VRT_CODEC_TIFF }, { "/%d.mkv", "/", "%d.mkv", VRT_CODEC_PNG },
        { "none", NULL, "" }, { "in.mp4", NULL, "" }, { "100%.mp4", NULL, "" },
        { "a%d/x.png", NULL, "" }, { "frames/is%d.png", NULL, "" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_folder_input input;
        expect_int(vrt_folder_parse(cases[i].operand, &input), 0);
        expect_true(!input.path == !cases[i].path);
        if (input.path) {
            expect_str(input.path, cases[i].path);
            expect_int(vrt_folder_codec(&input), cases[i].codec);
        }
        expect_str(input.pattern, cases[i].pattern);
        free(input.path);
    }
    expect_true(vrt_folder_is_empty("empty") && !vrt_folder_is_empty("frames") &&
                !vrt_folder_is_empty("none"));
    expect_true(vrt_folder_is_file_name("none.mkv") && vrt_folder_is_file_name("frames/a.jpg") &&
                !vrt_folder_is_file_name("is.mkv") && !vrt_folder_is_file_name("none.txt") &&
                !vrt_folder_is_file_name("is.mkv/none"));
}

static void test_folder_results(void)
{
    static const struct {
        const char *operand, *folder, *output, *made;
        bool is_one_of_several;
        int nth;
    } cases[] = {
        { "a/frames/", "a/frames", NULL, "a/frames.restored" },
        { "a/film.mp4", NULL, NULL, "a/film.restored" },
        { "a/film.mp4", NULL, NULL, "a/film.mp4.restored", true, 1 },
        { "a/film.mp4", NULL, NULL, "a/film.mp4.2.restored", true, 2 },
        { "a.b", "a.b", NULL, "a.b.restored" }, { ".film", NULL, NULL, ".film.restored" },
        { "..", "..", NULL, "../restored" }, { "/", "/", NULL, "//restored" },
        { "a/film.mp4", NULL, "out//", "out" }, { "a/film.mp4", NULL, "o/", "o" },
        { "a/film.mp4", NULL, "/", "/" },
        { "a/film.mp4", NULL, "out//", "out/film", true },
        { "a/film.mp4", NULL, "out", "out/film.mp4", true, 1 },
        { "a/film.mp4", NULL, "out", "out/film.mp4.2", true, 2 },
        { "x/%d.png", "x", "out", "out/x", true },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const struct vrt_folder_input input = { (char *)cases[i].folder, "" };
        VRT_CLEANUP(vrt_freep) char *made = vrt_folder_default_output(
            cases[i].operand, &input, cases[i].output, cases[i].is_one_of_several, cases[i].nth);
        expect_str(made, cases[i].made);
    }
}

/* Only an empty folder, or a new one, is for results, unless somebody says so. */
static void expect_folder_outputs(void)
{
    static const struct {
        const char *path, *sentence;
        bool overwrite, created;
    } cases[] = {
        { "new", NULL, false, true }, { "empty", NULL, false, false },
        { "frames", "this folder holds something", false, false },
        { "frames", NULL, true, false }, { "is.mkv", "the folder of the input", true, false },
        { "none/x", "the folder for it does not exist", false, false },
        { "in.mp4", "Not a directory", true, false },
        { "in.mp4/x", "Not a directory", true, false },
    };
    struct vrt_file input = VRT_FILE_NONE, output = VRT_FILE_NONE;
    struct vrt_error ignored = { 0 };

    expect_int(vrt_folder_open("is.mkv", &input, &ignored), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_error error = { 0 };
        const int r = vrt_folder_open_output(cases[i].path, cases[i].overwrite, &input, &output,
                                             &error);
        if ((r == 0) != !cases[i].sentence)
            test_fail("%s: %d, %s", cases[i].path, r, error.message);
        if (r == 0)
            expect_int(output.created, cases[i].created);
        else
            expect_contains(error.message, cases[i].sentence);
        vrt_file_close(&output);
    }
    vrt_file_close(&input);
}

static void test_folders(void)
{
    static const char *const files[] = { "in.mp4", "frames/b.tif", "frames/a.jpg", "frames/.0.exr",
                                         "frames/0.txt", "frames/is%d.png" };
    static const char *const folders[] = { "frames", "empty", "is.mkv" };
    char folder[] = "/tmp/vrt-client-XXXXXX";

    expect_true(mkdtemp(folder) && chdir(folder) == 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(folders); i++)
        expect_int(mkdir(folders[i], 0700), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(files); i++)
        write_file(files[i], "x");
    expect_folders();
    expect_folder_outputs();
    for (size_t i = 0; i < VRT_ARRAY_SIZE(files); i++)
        unlink(files[i]);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(folders); i++)
        rmdir(folders[i]);
    expect_true(rmdir("new") == 0 && chdir("/") == 0 && rmdir(folder) == 0);
}

static void expect_socket(const char *given, const char *wanted)
{
    struct vrt_error error = { 0 };
    char path[256];

    expect_int(vrt_conn_find_socket(given, path, sizeof(path), &error), 0);
    expect_str(path, wanted);
}

static void test_socket_path(void)
{
    char folder[] = "/tmp/vrt-client-XXXXXX", path[256], state[48], wanted[64], longer[109];
    struct vrt_error error = { 0 };

    expect_true(mkdtemp(folder));
    unsetenv("VRTD_SOCKET");
    setenv("XDG_RUNTIME_DIR", folder, 1);
    setenv("XDG_STATE_HOME", folder, 1);
    expect_socket(NULL, "/run/vrtd/vrtd.sock");
    /* Where a daemon listens that has no XDG_RUNTIME_DIR either. */
    snprintf(state, sizeof(state), "%s/vrtd", folder);
    snprintf(wanted, sizeof(wanted), "%s/vrtd.sock", state);
    expect_int(mkdir(state, 0700), 0);
    write_file(wanted, "");
    expect_socket(NULL, wanted);
    unlink(wanted);
    rmdir(state);
    snprintf(wanted, sizeof(wanted), "%s/vrtd.sock", folder);
    write_file(wanted, "");
    expect_socket(NULL, wanted);
    setenv("VRTD_SOCKET", "/x/y", 1);
    expect_socket(NULL, "/x/y");
    expect_socket("/given", "/given");
    snprintf(longer, sizeof(longer), "%0108d", 0);
    expect_int(vrt_conn_find_socket(longer, path, sizeof(path), &error), -ENAMETOOLONG);
    expect_contains(error.message, "at most 107 bytes");
    expect_socket(&longer[1], &longer[1]);
    unlink(wanted);
    rmdir(folder);
}

/* Signals say that it is enough, as long as they are taken, and are what they were then. */
static void test_interrupt(void)
{
    static const int signals[] = { SIGINT, SIGTERM };
    VRT_CLEANUP(vrt_conn_freep) struct vrt_conn *conn = NULL;
    struct vrt_interrupt interrupt;
    struct sigaction now;

    expect_int(vrt_conn_new("/none", 1, &conn), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(signals); i++) {
        vrt_interrupted = 0;
        vrt_interrupt_start(&interrupt, conn);
        expect_int(raise(signals[i]), 0);
        expect_int(vrt_interrupted, 1);
        vrt_interrupt_stop(&interrupt);
        expect_true(sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL);
    }
}

TEST_MAIN(
    { "arguments", test_arguments },
    { "argument-refusals", test_argument_refusals },
    { "default-output", test_default_output },
    { "files", test_files },
    { "folder-results", test_folder_results },
    { "folders", test_folders },
    { "socket-path", test_socket_path },
    { "interrupt", test_interrupt },
)
