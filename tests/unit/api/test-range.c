/* SPDX-License-Identifier: MIT */
/* daemon/api/range: what Range asks for, by RFC 9110's examples and beyond them. */

#include "tests/unit/test.h"

#include "base/macro.h"
#include "daemon/api/web/range.h"

static void test_ranges(void)
{
    static const struct {
        const char *text;
        long long size, first, end;
        bool is_part, is_there;
    } cases[] = {
        { "bytes=0-499", 10000, 0, 500, true, true },
        { "bytes=500-999", 10000, 500, 1000, true, true },
        { "bytes=-500", 10000, 9500, 10000, true, true },
        { "bytes=9500-", 10000, 9500, 10000, true, true },
        { "bytes=0-0", 10000, 0, 1, true, true },
        { "bytes=0-99999", 10000, 0, 10000, true, true },
        { "bytes=-99999", 10000, 0, 10000, true, true },
        { "BYTES=9999-9999", 10000, 9999, 10000, true, true },
        { "bytes=10000-", 10000, 0, 0, true, false },
        { "bytes=10000-10001", 10000, 0, 0, true, false },
        { "bytes=-0", 10000, 0, 0, true, false },
        { "bytes=0-", 0, 0, 0, true, false },
        { "bytes=99999999999999999999999-", 10000, 0, 0, true, false },
        { "bytes=0-99999999999999999999999", 10000, 0, 10000, true, true },
        { "bytes=9223372036854775807-9223372036854775807", 10, 0, 0, true, false },
        { "bytes=0-1,5-6", 10000, 0, 10000, false, true },
        { "bytes=5-4", 10000, 0, 10000, false, true },
        { "bytes=", 10000, 0, 10000, false, true },
        { "bytes=-", 10000, 0, 10000, false, true },
        { "bytes=a-b", 10000, 0, 10000, false, true },
        { "bytes= 0-1", 10000, 0, 10000, false, true },
        { "bytes=+1-2", 10000, 0, 10000, false, true },
        { "items=0-1", 10000, 0, 10000, false, true },
        { "", 10000, 0, 10000, false, true },
        { "", 0, 0, 0, false, true },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_range range;
        const bool is_there = vrt_range_parse(cases[i].text, cases[i].size, &range);
        fprintf(stderr, "%s of %lld\n", cases[i].text, cases[i].size);
        expect_int(is_there, cases[i].is_there);
        expect_int(range.is_part, cases[i].is_part);
        if (!is_there)
            continue;
        expect_int(range.first, cases[i].first);
        expect_int(range.end, cases[i].end);
    }
}

TEST_MAIN(
    { "ranges", test_ranges },
)
