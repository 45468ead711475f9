/* SPDX-License-Identifier: MIT */
/* Prometheus' text format: escapes, numbers, and what becomes of a lack of room. */

#include <errno.h>
#include <math.h>
#include <string.h>

#include "daemon/api/exposition.h"
#include "tests/unit/test.h"

#define HEAD "# HELP x A thing.\n# TYPE x gauge\n"

static void test_labels(void)
{
    static const struct {
        const char *value, *shown;
    } cases[] = {
        { "cuda:0", "cuda:0" },
        { "", "" },
        { "a\"b", "a\\\"b" },
        { "a\\n", "a\\\\n" },
        { "a\nb", "a\\nb" },
        { "\\\"\n", "\\\\\\\"\\n" },
        { "{a=\"b\"} 1", "{a=\\\"b\\\"} 1" },
        { "\xc3\xa4\xe2\x82\xac", "\xc3\xa4\xe2\x82\xac" },
        { "\xff\xc3", "??" },
        { "\xed\xa0\x80", "???" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_buf buf = { .limit_bytes = 0 };
        struct vrt_exposition to = { .buf = &buf };
        char wanted[200];

        vrt_exposition_begin(&to, "x", "gauge", "A thing.");
        vrt_exposition_add(&to, &(struct vrt_sample){
            .suffix = "_sum",
            .labels = { { "a", cases[i].value }, { "b", "c" } },
        }, 1);
        snprintf(wanted, sizeof(wanted), HEAD "x_sum{a=\"%s\",b=\"c\"} 1\n", cases[i].shown);
        expect_int(to.r, 0);
        expect_str(buf.data, wanted);
        vrt_buf_done(&buf);
    }
}

static void test_numbers(void)
{
    static const struct {
        double value;
        const char *shown;
    } cases[] = {
        { 0, "x 0\n" },
        { 0.1, "x 0.1\n" },
        { -2.5, "x -2.5\n" },
        { 9007199254740991.0, "x 9007199254740991\n" },
        { 1795711221.4976485, "x 1795711221.4976485\n" },
        { INFINITY, "x +Inf\n" },
        { NAN, "" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_buf buf = { .limit_bytes = 0 };
        struct vrt_exposition to = { .buf = &buf };

        vrt_exposition_begin(&to, "x", "gauge", "A thing.");
        vrt_exposition_add(&to, &(struct vrt_sample){ .suffix = NULL }, cases[i].value);
        expect_int(to.r, 0);
        expect_str(buf.data + strlen(HEAD), cases[i].shown);
        vrt_buf_done(&buf);
    }
}

/* The first failure stays, and nothing follows it. */
static void test_no_room(void)
{
    struct vrt_buf buf = { .limit_bytes = sizeof(HEAD) + 3 };
    struct vrt_exposition to = { .buf = &buf };

    vrt_exposition_begin(&to, "x", "gauge", "A thing.");
    expect_int(to.r, 0);
    vrt_exposition_add(&to, &(struct vrt_sample){ .labels = { { "device", "cpu:0" } } }, 1);
    expect_int(to.r, -EMSGSIZE);
    const size_t size_bytes = buf.size_bytes;
    vrt_exposition_add(&to, &(struct vrt_sample){ .suffix = NULL }, 1);
    vrt_exposition_begin(&to, "y", "gauge", "Another.");
    expect_int(to.r, -EMSGSIZE);
    expect_int((int64_t)buf.size_bytes, (int64_t)size_bytes);
    vrt_buf_done(&buf);
}

TEST_MAIN(
    { "labels", test_labels },
    { "numbers", test_numbers },
    { "no room", test_no_room },
)
