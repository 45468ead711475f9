/* SPDX-License-Identifier: MIT */
/* engine/checkpoint: .pth archives that libzip makes here, right and wrong. */

#include "tests/unit/test.h"

#include <zip.h>

#include "tests/unit/checkpoint/pth-builder.h"

#define N_FLOATS 12

struct member {
    const char *name;
    const void *data;
    size_t size;
    int method;                 /* 0: stored */
};

/* The archive of these members, to be free()d. */
static void *make_archive(const struct member *members, size_t n, size_t *ret_size)
{
    zip_error_t error;
    zip_source_t *source;
    zip_stat_t st;
    zip_t *zip;
    void *bytes;

    zip_error_init(&error);
    source = zip_source_buffer_create(NULL, 0, 0, &error);
    expect_true(source != NULL);
    zip_source_keep(source);
    zip = zip_open_from_source(source, ZIP_TRUNCATE, &error);
    expect_true(zip != NULL);
    for (size_t i = 0; i < n; i++) {
        zip_source_t *data = zip_source_buffer(zip, members[i].data, members[i].size, 0);
        zip_int64_t index = zip_file_add(zip, members[i].name, data, 0);

        if (index < 0)
            test_fail("%s: %s", members[i].name, zip_strerror(zip));
        expect_int(zip_set_file_compression(zip, (zip_uint64_t)index,
                                            members[i].method ? members[i].method : ZIP_CM_STORE,
                                            0), 0);
    }
    expect_int(zip_close(zip), 0);
    expect_int(zip_source_stat(source, &st), 0);
    bytes = malloc(st.size);
    expect_true(bytes != NULL);
    expect_int(zip_source_open(source), 0);
    expect_int(zip_source_read(source, bytes, st.size), st.size);
    zip_source_close(source);
    zip_source_free(source);
    *ret_size = st.size;
    return bytes;
}

static void open_archive(const struct member *members, size_t n, struct pth_opened *ret_opened)
{
    size_t size;
    void *bytes = make_archive(members, n, &size);

    pth_open(bytes, size, members[0].name, ret_opened);
    free(bytes);
}

/* {"e": {"m": a tensor that the archive lacks}, name: tensor, ...}, each over the storage of its
 * key. */
static struct vrt_buf make_dict(const struct pth_tensor *tensors, size_t n)
{
    struct vrt_buf buf = { 0 };

    pth_ops(&buf, "\x80\x02}(X\1\0\0\0e}");
    pth_entry(&buf, &(struct pth_tensor){ .name = "m", .key = "9", .n_storage = 4 });
    pth_ops(&buf, "s");
    for (size_t i = 0; i < n; i++)
        pth_entry(&buf, &tensors[i]);
    pth_ops(&buf, "u.");
    return buf;
}

/* A tensor of n floats, all of storage "0". */
static struct vrt_buf make_tree(int64_t n)
{
    return make_dict(&(struct pth_tensor){ .name = "w", .n_storage = n, .n_dims = 2,
                                           .dims = { 1, n }, .strides = { 0, 1 } }, 1);
}

static const float floats[N_FLOATS] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };

static void test_layouts(void)
{
    static const struct {
        const char *folder, *order;
    } cases[] = {
        { "archive/", "little" }, { "", "little" }, { "m\303\266del v2/", "little" },
        { "\xff/", "little" }, { "archive/", "big" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vrt_buf tree = make_tree(N_FLOATS);
        char tree_name[64], data_name[64], order_name[64], bytes[sizeof(floats)];
        struct pth_opened opened;

        snprintf(tree_name, sizeof(tree_name), "%sdata.pkl", cases[i].folder);
        snprintf(data_name, sizeof(data_name), "%sdata/0", cases[i].folder);
        snprintf(order_name, sizeof(order_name), "%sbyteorder", cases[i].folder);
        for (size_t k = 0; k < sizeof(bytes); k++)
            bytes[k] = ((const char *)floats)[cases[i].order[0] == 'b' ? k ^ 3 : k];
        const struct member members[] = {
            { "other/thing", "x", 1, 0 }, { data_name, bytes, sizeof(bytes), ZIP_CM_DEFLATE },
            { order_name, cases[i].order, strlen(cases[i].order), 0 },
            { tree_name, tree.data, tree.size_bytes, 0 },
        };
        open_archive(members, 4, &opened);
        expect_str(opened.error.message, "");
        pth_expect_values(opened.checkpoint, "w", floats, N_FLOATS);
        pth_close(&opened);
        vrt_buf_done(&tree);
    }
}

static void test_bad(void)
{
    struct vrt_buf tree = make_tree(N_FLOATS);
    const struct member pickle = { "a/data.pkl", tree.data, tree.size_bytes, 0 };
    const struct member data = { "a/data/0", floats, sizeof(floats), 0 };
    const struct {
        const char *part;
        struct member members[3];
    } cases[] = {
        { "it has no data.pkl", { data } },
        { "it has no data.pkl", { { "a/b/data.pkl", tree.data, tree.size_bytes, 0 } } },
        { "lacks data", { pickle } },
        { "another size", { pickle, { "a/data/0", floats, sizeof(floats) - 1, 0 } } },
        { "unpacks to more", { pickle, data, { "a/byteorder", "little-", 7, 0 } } },
        { "byte order is neither", { pickle, data, { "a/byteorder", "middle", 6, 0 } } },
        { "a TorchScript program", { pickle, data, { "a/constants.pkl", "", 0, 0 } } },
        { "is cut short", { { "a/data.pkl", tree.data, tree.size_bytes - 1, 0 }, data } },
        { "is cut short", { { "a/data.pkl", "", 0, 0 }, data } },
        { "in a way that PyTorch does not use",
          { pickle, { "a/data/0", floats, sizeof(floats), ZIP_CM_BZIP2 } } },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pth_opened opened;
        size_t n = 0;

        while (n < 3 && cases[i].members[n].name)
            n++;
        open_archive(cases[i].members, n, &opened);
        expect_contains(opened.error.message, cases[i].part);
        pth_close(&opened);
    }
    vrt_buf_done(&tree);
}

/* A small archive of large storages, of which the tensors even ask for all: one fits, of two that
 * fit alone the second doesn't. */
static void test_bomb(void)
{
    static const size_t sizes[][2] = { { 1000000, 0 }, { 2000000, 0 }, { 1000000, 1000000 } };
    static const char zeros[2000000];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(sizes); i++) {
        struct pth_tensor tensors[2] = { { .name = "w" }, { .name = "x", .key = "1" } };
        for (int k = 0; k < 2; k++) {
            tensors[k].n_storage = tensors[k].dims[0] = (int64_t)sizes[i][k] / 4;
            tensors[k].n_dims = tensors[k].strides[0] = 1;
        }
        struct vrt_buf tree = make_dict(tensors, 2);
        const struct member members[] = {
            { "a/data.pkl", tree.data, tree.size_bytes, 0 },
            { "a/data/0", zeros, sizes[i][0], ZIP_CM_DEFLATE },
            { "a/data/1", zeros, sizes[i][1], ZIP_CM_DEFLATE },
        };
        struct pth_opened opened;
        open_archive(members, VRT_ARRAY_SIZE(members), &opened);
        expect_contains(opened.error.message,
                        i == 0 ? "" : "unpacks to more than a model of its size");
        expect_int(opened.checkpoint == NULL, i > 0);
        pth_close(&opened);
        vrt_buf_done(&tree);
    }
}

/* A large storage, of which tensors are a part: it isn't unpacked for a few elements, of which
 * those count once that are repeated. */
static void test_unreached(void)
{
    const size_t size = 80 << 20, room = 4 << 20;   /* of an archive that may unpack to as much */
    const int64_t mib = (1 << 20) / sizeof(float);
    void *zeros = calloc(1, size), *other = calloc(1, room);

    expect_true(zeros && other);
    for (int is_enough = 0; is_enough < 2; is_enough++) {
        struct pth_tensor tensors[] = {
            { .name = "plain", .n_dims = 2, .dims = { 2, mib }, .strides = { mib, 1 } },
            { .name = "repeated", .n_dims = 3, .dims = { 9, mib, 2 }, .strides = { 0, 2, 1 } },
            { .name = "empty", .n_dims = 2, .dims = { 0, 99 * mib } },
            { .name = "rest", .n_dims = 1, .dims = { mib - !is_enough }, .strides = { 1 } },
        };
        for (size_t k = 0; k < VRT_ARRAY_SIZE(tensors); k++)
            tensors[k].n_storage = (int64_t)size / 4;
        struct vrt_buf tree = make_dict(tensors, VRT_ARRAY_SIZE(tensors));
        const struct member members[] = {
            { "a/data.pkl", tree.data, tree.size_bytes, 0 },
            { "a/data/0", zeros, size, ZIP_CM_DEFLATE }, { "a/other", other, room, ZIP_CM_STORE },
        };
        struct pth_opened opened;
        open_archive(members, VRT_ARRAY_SIZE(members), &opened);
        expect_contains(opened.error.message, is_enough ? "" :
                        "has 80 MiB of data of which its tensors use 4: save clones");
        expect_int(opened.checkpoint == NULL, !is_enough);
        pth_close(&opened);
        vrt_buf_done(&tree);
    }
    free(zeros);
    free(other);
}

/* What libzip would not write: the same name twice, where one of two equally long ones is changed;
 * and data that only the checksum tells from what was saved. */
static void test_changed(void)
{
    struct vrt_buf tree = make_tree(N_FLOATS);
    const struct member members[] = {
        { "a/data.pkl", tree.data, tree.size_bytes, 0 }, { "a/data/0", floats, sizeof(floats), 0 },
        { "a/data/1", floats, sizeof(floats), 0 },
    };

    for (int is_name = 0; is_name < 2; is_name++) {
        const void *found = is_name ? (const void *)"a/data/1" : floats;
        const size_t n_found = is_name ? 8 : sizeof(floats);
        struct pth_opened opened;
        size_t size, n_changed = 0;
        char *bytes = make_archive(members, 3, &size);

        for (size_t i = 0; i + n_found < size; i++) {
            if (memcmp(bytes + i, found, n_found) == 0) {
                bytes[i + 7] ^= 1;
                n_changed++;
            }
        }
        expect_int(n_changed, 2);
        pth_open(bytes, size, "changed", &opened);
        expect_contains(opened.error.message, is_name ? "comes twice" : "is not what was saved");
        pth_close(&opened);
        free(bytes);
    }
    vrt_buf_done(&tree);
}

TEST_MAIN(
    { "layouts", test_layouts },     { "bad", test_bad },
    { "bomb", test_bomb },           { "unreached", test_unreached }, { "changed", test_changed },
)
