/* SPDX-License-Identifier: MIT */
/*
 * engine/checkpoint: the fixtures, cut at every length and with every byte changed. A cut file is
 * refused; a changed one is read or refused with one sentence. Run under the sanitizers this shows
 * that no byte of a file is trusted.
 */

#include <errno.h>

#include "tests/unit/test.h"

#include "tests/unit/checkpoint/pth-builder.h"

static const char *const fixtures[] = {
    "zip-module-prefix.pth", "deflated.pth", "legacy.pth", "evil-reduce.pth",
    "converted.safetensors",
};

#define N_FIXTURES (sizeof(fixtures) / sizeof(fixtures[0]))

static size_t read_fixture(const char *name, uint8_t *data, size_t capacity)
{
    char path[512];
    FILE *file;
    size_t n;

    snprintf(path, sizeof(path), "%s/pth/%s", VRT_TEST_DATA, name);
    file = fopen(path, "re");
    if (!file)
        test_fail("%s cannot be opened", path);
    n = fread(data, 1, capacity, file);
    expect_true(n > 0 && n < capacity);
    fclose(file);
    return n;
}

static void test_cut(void)
{
    static uint8_t data[1 << 16];

    for (size_t i = 0; i < N_FIXTURES; i++) {
        size_t n = read_fixture(fixtures[i], data, sizeof(data));
        struct pth_opened cut;

        /* None of these formats can lose its end without notice. */
        for (size_t size = 0; size < n; size++) {
            pth_open(data, size, fixtures[i], &cut);
            expect_int(cut.r, -EINVAL);
            pth_close(&cut);
        }
    }
}

static void test_changed(void)
{
    static uint8_t data[1 << 16];

    for (size_t i = 0; i < N_FIXTURES; i++) {
        size_t n = read_fixture(fixtures[i], data, sizeof(data)), n_refused = 0;

        for (size_t at = 0; at < n; at++) {
            static const uint8_t flips[] = { 0xff, 0x01, 0x80 };

            for (size_t k = 0; k < sizeof(flips); k++) {
                struct pth_opened changed;

                data[at] ^= flips[k];
                pth_open(data, n, fixtures[i], &changed);
                n_refused += changed.r != 0;
                pth_close(&changed);
                data[at] ^= flips[k];
            }
        }
        /* More than the data, which may be anything where nothing sums it. */
        expect_true(n_refused > n / 4);
    }
}

/* The beginning of one file with the rest of another. */
static void test_crossed(void)
{
    static uint8_t data[1 << 16], other[1 << 16];

    for (size_t i = 0; i < N_FIXTURES; i++) {
        for (size_t k = 0; k < N_FIXTURES; k++) {
            size_t n = read_fixture(fixtures[i], data, sizeof(data));
            size_t n_other = read_fixture(fixtures[k], other, sizeof(other));

            for (size_t head = 1; head < n && head < n_other; head += 61) {
                struct pth_opened opened;

                memcpy(data, other, head);
                pth_open(data, n, fixtures[i], &opened);
                pth_close(&opened);
            }
        }
    }
}

TEST_MAIN(
    { "cut", test_cut },
    { "changed", test_changed },
    { "crossed", test_crossed },
)
