/* SPDX-License-Identifier: MIT */

/* Where a Mac's daemon and its clients look for things: this is linked with macOS's home-darwin.c
 * in the place of this system's. */

#include "base/folder.h"
#include "tests/unit/test.h"

static void expect_folder(int (*find)(char *buffer, size_t size), const char *folder)
{
    char buffer[64];

    expect_int(find(buffer, sizeof(buffer)), 0);
    expect_str(buffer, folder);
}

static void test_home(void)
{
    expect_int(setenv("HOME", "/Users/alice", 1), 0);
    expect_folder(vrt_folder_of_cache, "/Users/alice/Library/Caches/vrtd");
    expect_folder(vrt_folder_of_state, "/Users/alice/Library/Application Support/vrtd");
}

/* Who sets these means them, on a Mac too. */
static void test_variables(void)
{
    expect_int(setenv("HOME", "/Users/alice", 1), 0);
    expect_int(setenv("XDG_CACHE_HOME", "/c", 1), 0);
    expect_int(setenv("XDG_STATE_HOME", "/s", 1), 0);
    expect_folder(vrt_folder_of_cache, "/c/vrtd");
    expect_folder(vrt_folder_of_state, "/s/vrtd");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("XDG_STATE_HOME");
}

TEST_MAIN(
    { "home", test_home },
    { "variables", test_variables },
)
