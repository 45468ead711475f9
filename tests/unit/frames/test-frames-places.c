/* SPDX-License-Identifier: MIT */

/* Frames that are decoded where another process sees them. */

#include <unistd.h>

#include "frames/decode/places.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/test.h"

#define CLIP "-f lavfi -i testsrc2=size=160x90:rate=25 "

/* What is decoded into another process's file is what is decoded anywhere: blocks and edges beyond
 * the picture, fields, depths, and decoders that bring their own memory. */
static void test_places(void)
{
    static const struct {
        const char *name, *arguments;
        bool is_decoded_there;
    } cases[] = {
        { "h264.mkv", CLIP "-t 1 -c:v libx264 -bf 3 -refs 6", true },
        { "odd.mkv", "-f lavfi -i testsrc2=size=131x77 -t 1 -pix_fmt yuv444p10 -c:v libx264",
          true },
        { "fields.mkv", CLIP "-t 1 -c:v mpeg2video -flags +ildct+ilme", true },
        { "edges.avi", CLIP "-t 1 -c:v mpeg4 -bf 2 -flags +qpel", true },
        { "vp9.webm", CLIP "-t 0.4 -c:v libvpx-vp9 -cpu-used 8", true },
        { "prores.mov", CLIP "-t 0.2 -c:v prores_ks -pix_fmt yuv444p10", true },
        { "own.mkv", CLIP "-t 0.2 -c:v libsvtav1 -preset 12", false },
    };
    const struct vrt_reader_params params = { .n_threads = 3 };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const char *path = fixture_make(cases[i].name, "%s", cases[i].arguments);
        VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *file = NULL, *copy = NULL;
        struct vrt_places *places;
        struct vrt_frame *there, *here;
        struct vrt_reader *readers[2] = { NULL };
        struct vrt_error error = { 0 };
        const int fd = fixture_open(path);
        bool is_there = false;
        int r;
        for (int k = 0; k < 2; k++)
            expect_int(vrt_reader_open(fd, &params, &readers[k], &error), 0);
        const struct vrt_frame_format *format = &vrt_reader_info(readers[0])->format;
        expect_int(vrt_frame_new_shared(format, &file), 0);
        expect_int(vrt_frame_new(format, &copy), 0);
        expect_int(vrt_places_new(file->share.fd, format, &places), 0);
        vrt_reader_decode_into(readers[0], places);
        while ((r = vrt_reader_next(readers[0], &there, &error)) == 0) {
            struct vrt_frame_share planes[VRT_FRAME_MAX_PLANES];
            expect_int(vrt_reader_next(readers[1], &here, &error), 0);
            vrt_places_show(places, there, planes);
            is_there |= planes[0].offset_bytes > 0;
            expect_int(vrt_frame_take_samples(file, planes, copy), 0);
            expect_int(fixture_hash(copy), fixture_hash(here));
            vrt_frame_unref(there);
            vrt_frame_unref(here);
        }
        expect_int(r, VRT_READER_END);
        expect_int(is_there, cases[i].is_decoded_there);
        vrt_reader_close(readers[0]);
        vrt_reader_close(readers[1]);
        close(fd);
        vrt_places_free(places);
    }
}

TEST_MAIN_AFTER(fixture_init(),
    { "places", test_places },
)
