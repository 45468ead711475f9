/* SPDX-License-Identifier: MIT */

/* Tables on wide terminals and narrow ones: what is cut, what is left out, what is kept. */

#include <string.h>

#include "client/terminal/table.h"
#include "tests/unit/test.h"

static void test_table(void)
{
    static const struct vrt_column columns[] = {
        { "ID", VRT_ALIGN_RIGHT }, { "STATE", VRT_ALIGN_LEFT }, { "INPUT", VRT_ALIGN_LEFT },
        { NULL, VRT_ALIGN_LEFT },
    };
    static const char *const cells[] = { "7", "running", "caf\u00e9.mp4", "12", "done",
                                         "a-rather-long-name.mp4" };
    struct vrt_table table;
    struct vrt_buf buf = { 0 };

    vrt_table_init(&table, columns);
    for (int i = 0; i < 2; i++)
        expect_int(vrt_table_add(&table, cells + 3 * i), 0);
    expect_int(vrt_table_print(&table, 0, &buf), 0);
    expect_str(buf.data, "ID  STATE    INPUT\n"
                         " 7  running  caf\u00e9.mp4\n"
                         "12  done     a-rather-long-name.mp4\n");
    vrt_buf_done(&buf);
    expect_int(vrt_table_print(&table, 25, &buf), 0);
    expect_str(buf.data, "ID  STATE    INPUT\n"
                         " 7  running  caf\u00e9.mp4\n"
                         "12  done     a-rather-...\n");
    vrt_buf_done(&buf);
    expect_int(vrt_table_print(&table, 5, &buf), 0);
    expect_contains(buf.data, "12  done     a-rather-...\n");
    vrt_buf_done(&buf);
    vrt_table_done(&table);
}

/* What matters less is left out where there is no room, and the rest keeps its order. */
static void test_narrow_table(void)
{
    static const struct vrt_column columns[] = {
        { "ID", VRT_ALIGN_RIGHT }, { "A", VRT_ALIGN_LEFT, .rank = 1 },
        { "BB", VRT_ALIGN_LEFT, .rank = 3 }, { "CCC", VRT_ALIGN_RIGHT, .rank = 2 },
        { "INPUT", VRT_ALIGN_LEFT }, { NULL, VRT_ALIGN_LEFT },
    };
    static const char *const cells[] = { "7", "a", "bb", "ccc", "a-rather-long-name.mp4" };
    static const struct {
        int width;
        const char *text;
    } cases[] = {
        { 0, "ID  A  BB  CCC  INPUT\n 7  a  bb  ccc  a-rather-long-name.mp4\n" },
        { 30, "ID  A  BB  CCC  INPUT\n 7  a  bb  ccc  a-rather-lo...\n" },
        { 28, "ID  A  BB  CCC  INPUT\n 7  a  bb  ccc  a-rather-...\n" },
        { 27, "ID  A  CCC  INPUT\n 7  a  ccc  a-rather-lon...\n" },
        { 23, "ID  A  INPUT\n 7  a  a-rather-long...\n" },
        { 18, "ID  INPUT\n 7  a-rather-lo...\n" },
        { 3, "ID  INPUT\n 7  a-rather-...\n" },
    };
    struct vrt_table table;

    vrt_table_init(&table, columns);
    expect_int(vrt_table_add(&table, cells), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_buf buf = { 0 };
        expect_int(vrt_table_print(&table, cases[i].width, &buf), 0);
        expect_str(buf.data, cases[i].text);
        vrt_buf_done(&buf);
    }
    vrt_table_done(&table);
}

/* A long name in front, and a last column that others give way to. */
static void test_narrow_names(void)
{
    static const struct vrt_column columns[] = {
        { "MODEL", VRT_ALIGN_LEFT }, { "SUM", VRT_ALIGN_LEFT, .rank = 2 },
        { "BY", VRT_ALIGN_LEFT, .rank = 1 }, { "SOURCE", VRT_ALIGN_LEFT, .least = 22 },
        { NULL, VRT_ALIGN_LEFT },
    };
    static const char *const cells[] = { "a-rather-long-name", "1234", "me",
                                         "not here, size unknown" };
    static const struct {
        int width;
        const char *row;
    } cases[] = {
        { 52, "a-rather-long-name  1234  me  not here, size unknown\n" },
        { 51, "a-rather-long-name  me  not here, size unknown\n" },
        { 45, "a-rather-long-name  not here, size unknown\n" },
        { 40, "a-rather-long-name  not here, size un...\n" },
        { 30, "a-rather-long...  not here,...\n" },
        { 3, "a-rather-...  not here,...\n" },
    };
    struct vrt_table table;

    vrt_table_init(&table, columns);
    expect_int(vrt_table_add(&table, cells), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_buf buf = { 0 };
        expect_int(vrt_table_print(&table, cases[i].width, &buf), 0);
        expect_str(strchr(buf.data, '\n') + 1, cases[i].row);
        vrt_buf_done(&buf);
    }
    vrt_table_done(&table);
}

/* What no row has room for: whole, in the order that it came, and never without end. */
static void test_notes(void)
{
    static const struct vrt_column columns[] = {
        { "NAME", VRT_ALIGN_LEFT }, { "STATE", VRT_ALIGN_LEFT }, { NULL, VRT_ALIGN_LEFT },
    };
    struct vrt_table table;
    struct vrt_buf buf = { 0 };

    vrt_table_init(&table, columns);
    expect_int(vrt_table_add(&table, (const char *const[]){ "one", "failed" }), 0);
    for (int i = 1; i <= VRT_TABLE_NOTES_MAX; i++)
        expect_int(vrt_table_note(&table, "note %d is longer than the table", i), 0);
    expect_int(vrt_table_print(&table, 12, &buf), 0);
    expect_contains(buf.data, "NAME  STATE\none   failed\nnote 1 is\nlonger than\nthe table\n"
                              "note 2 is");
    expect_true(!strstr(buf.data, "more like these"));
    vrt_buf_done(&buf);
    expect_int(vrt_table_note(&table, "one more"), 0);
    expect_int(vrt_table_note(&table, "and another"), 0);
    expect_int(vrt_table_print(&table, 0, &buf), 0);
    expect_contains(buf.data, "note 10 is longer than the table\nand 2 more like these\n");
    vrt_buf_done(&buf);
    vrt_table_done(&table);
}

TEST_MAIN(
    { "table", test_table },
    { "narrow-table", test_narrow_table },
    { "narrow-names", test_narrow_names },
    { "notes", test_notes },
)
