/* SPDX-License-Identifier: MIT */

/* Which pictures of a folder are a video's, in which order, and what their results are called. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/test.h"
#include "workers/media/files/input.h"
#include "workers/media/files/sequence.h"

static char folder[] = "/tmp/vrt-sequence-XXXXXX";

static void shell(const char *command)
{
    char line[512];

    snprintf(line, sizeof(line), "cd %s && %s", folder, command);
    expect_int(system(line), 0);
}

/* The names that are found, each after a space; or the refusal. */
static const char *list(const char *pattern)
{
    static char text[1024];
    struct vrt_sequence sequence = { .n = 0 };
    struct vrt_error error = { .id = NULL };
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t n = 0;

    expect_true(fd >= 0);
    text[0] = '\0';
    if (vrt_sequence_list(fd, "frames", pattern, &sequence, &error) < 0)
        snprintf(text, sizeof(text), "%s: %s", error.id, error.message);
    for (size_t i = 0; i < sequence.n; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, " %s", sequence.names[i]);
    vrt_sequence_done(&sequence);
    close(fd);
    return text;
}

static void test_order(void)
{
    static const struct {
        const char *files, *order;
    } cases[] = {
        { "10.png 9.png 2.png 1.png", " 1.png 2.png 9.png 10.png" },
        { "a10b2.png a10b10.png a9b3.png", " a9b3.png a10b2.png a10b10.png" },
        { "0010.png 0009.png", " 0009.png 0010.png" },
        { "007.png 07.png 8.png", " 007.png 07.png 8.png" },
        { "99999999999999999999999.png 100000000000000000000000.png",
          " 99999999999999999999999.png 100000000000000000000000.png" },
        { "b.png a.png ab.png a-1.png", " a.png a-1.png ab.png b.png" },
        { "1.PNG 2.jpeg 3.TIF 4.webp 5.bmp", " 1.PNG 2.jpeg 3.TIF 4.webp 5.bmp" },
        { "1.png notes.txt film.mp4 .hidden.png png 2", " 1.png" },
        { "2.jpg 1.png 1.jpg", "input.unsupported: 1.jpg and 1.png have results of one name: put "
          "one of them elsewhere" },
        { "1.png $(printf %0244d 2).png", "input.unsupported: frames holds a picture whose name "
          "is longer than 247 bytes: give it a shorter one, as its result needs some more" },
        { "x.txt", "input.no_video: frames holds no picture" },
    };
    char command[256];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        snprintf(command, sizeof(command), "touch %s", cases[i].files);
        shell(command);
        expect_str(list(""), cases[i].order);
        shell("rm -f * .hidden.png");
    }
}

static void test_patterns(void)
{
    static const struct {
        const char *pattern, *names;    /* NULL: it's no pattern */
    } cases[] = {
        { "f%d.png", " f0.png f1.png f12.png f10000.png" },
        { "f%04d.png", " f0001.png f0012.png f10000.png" },
        { "f%05d.png", " f00123.png f10000.png" },
        { "%d.png", "input.no_video: frames holds no picture that is called as %d.png" },
        { "f%dx%d.png", NULL },
        { "f%s.png", NULL },
        { "f%32d.png", "input.no_video: frames holds no picture that is called as f%32d.png" },
        { "f%33d.png", NULL },
        { "../f%d.png", NULL },
        { "f.png", NULL },
    };

    shell("touch f0.png f1.png f12.png f0001.png f0012.png f00123.png f10000.png f1.jpg xf1.png");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        char no_pattern[128];
        snprintf(no_pattern, sizeof(no_pattern), "input.unsupported: %s is no pattern for names: "
                 "it has one number, such as %%04d.png", cases[i].pattern);
        expect_str(list(cases[i].pattern), cases[i].names ? cases[i].names : no_pattern);
    }
    shell("rm *");
}

static void test_gaps(void)
{
    static const struct {
        const char *names[4], *says;
    } cases[] = {
        { { "1.png", "2.png", "3.png" }, NULL },
        { { "1.png", "3.png", "9.png" },
          "6 numbers are missing, the first between 1.png and 3.png" },
        { { "a1.png", "a3.png" }, "1 number is missing" },
        { { "a1.png", "b3.png" }, NULL },
        { { "a.png", "b.png" }, NULL },
        { { "s1-09.png", "s1-10.png", "s2-01.png" }, NULL },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_sequence sequence = { .names = (char **)(uintptr_t)cases[i].names };
        struct vrt_warnings warnings = { .n = 0 };
        while (sequence.n < 4 && sequence.names[sequence.n])
            sequence.n++;
        vrt_sequence_warn(&sequence, &warnings);
        expect_int(warnings.n, cases[i].says != NULL);
        if (cases[i].says)
            expect_contains(warnings.sentences[0], cases[i].says);
    }
}

static void test_names(void)
{
    static const char *const names[] = { "0001.png", "b.c.JPEG", "x.bmp", "y.tif" };
    const struct vrt_sequence sequence = { (char **)(uintptr_t)names, 4 };
    char name[VRT_SEQUENCE_NAME_BYTES];

    expect_str(vrt_sequence_result_name(&sequence, 0, VRT_CONTAINER_PNG, name), "0001.png");
    expect_str(vrt_sequence_result_name(&sequence, 0, VRT_CONTAINER_JPG, name), "0001.jpg");
    expect_str(vrt_sequence_result_name(&sequence, 1, VRT_CONTAINER_JPG, name), "b.c.JPEG");
    expect_str(vrt_sequence_result_name(&sequence, 1, VRT_CONTAINER_PNG, name), "b.c.png");
    expect_str(vrt_sequence_result_name(&sequence, 2, VRT_CONTAINER_PNG, name), "x.png");
    expect_str(vrt_sequence_result_name(&sequence, 3, VRT_CONTAINER_TIFF, name), "y.tif");
    expect_str(vrt_sequence_result_name(NULL, 0, VRT_CONTAINER_PNG, name), "00000001.png");
}

static void test_empty(void)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    expect_int(vrt_folder_is_empty(fd), 1);
    shell("touch .a");
    expect_int(vrt_folder_is_empty(fd), 0);
    expect_int(vrt_folder_is_empty(fd), 0);
    shell("rm .a");
    expect_int(vrt_folder_is_empty(fd), 1);
    close(fd);
    expect_int(rmdir(folder), 0);
}

/* How many pictures a second, as television has it. */
static void test_fps(void)
{
    static const struct {
        double fps;
        int num, den;
    } rows[] = {
        { 25, 25, 1 }, { 24.0000005, 24, 1 }, { 23.976, 24000, 1001 }, { 23.98, 24000, 1001 },
        { 29.97, 30000, 1001 }, { 59.94, 60000, 1001 }, { 23.99, 23990, 1000 },
        { 12.5, 12500, 1000 }, { 1 / 3.0, 333, 1000 }, { NAN, 0, 1 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        const struct vrt_rational fps = vrt_input_fps(rows[i].fps);
        fprintf(stderr, "  %g\n", rows[i].fps);
        expect_int(fps.num, rows[i].num);
        expect_int(fps.den, rows[i].den);
    }
}

TEST_MAIN_AFTER(expect_true(mkdtemp(folder) != NULL),
    { "order", test_order },       { "patterns", test_patterns },
    { "gaps", test_gaps },         { "names", test_names },
    { "empty", test_empty },       { "fps", test_fps },
)
