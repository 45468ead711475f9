/* SPDX-License-Identifier: MIT */
/* engine/checkpoint: the fixtures of tests/data/pth, and what a good file may look like. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "engine/checkpoint.h"
#include "models/builtin.h"

static int open_named(const char *name, struct vrt_checkpoint **ret_checkpoint,
                      struct vrt_error *error)
{
    char path[512];
    int fd, r;

    snprintf(path, sizeof(path), "%s/pth/%s", VRT_TEST_DATA, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        test_fail("%s: %s", path, strerror(errno));
    r = vrt_checkpoint_open(fd, name, NULL, ret_checkpoint, error);
    close(fd);
    return r;
}

/* Compares one tensor with the lines that `expected` holds of it. Returns false at the end. */
static bool check_tensor(FILE *expected, const struct vrt_checkpoint *cp)
{
    static float values[4096];
    char name[64], dtype[8];
    int n_dims;

    if (fscanf(expected, "%63s %7s %d", name, dtype, &n_dims) != 3)
        return false;
    const struct vrt_checkpoint_tensor *tensor = vrt_checkpoint_find(cp, name);
    if (!tensor)
        test_fail("tensor %s is missing", name);
    expect_str(vrt_checkpoint_dtype_name(tensor->dtype), dtype);
    expect_int(tensor->n_dims, n_dims);

    long long n = 1, dim;
    for (int d = 0; d < n_dims; d++) {
        expect_int(fscanf(expected, "%lld", &dim), 1);
        expect_int(tensor->dims[d], dim);
        n *= dim;
    }
    expect_int(tensor->n_elements, n);
    expect_true(n <= (long long)(sizeof(values) / sizeof(values[0])));
    vrt_checkpoint_read_f32(tensor, values);
    for (long long i = 0; i < n; i++) {
        double wanted;

        expect_int(fscanf(expected, "%lf", &wanted), 1);
        expect_true(values[i] == (float)wanted);
    }
    return true;
}

static void test_good_fixtures(void)
{
    static const char *const names[] = {
        "legacy.pth", "converted.safetensors",
        /* the rest are archives */
        "zip-bare.pth", "zip-params.pth", "zip-params_ema.pth", "zip-module-prefix.pth",
        "deflated.pth",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *cp = NULL;
        struct vrt_error error = { 0 };
        int n = 0;

        if (!VRT_TEST_PTH && i >= 2) {
            expect_true(open_named(names[i], &cp, &error) < 0);
            expect_contains(error.message, "built without libzip");
            continue;
        }
        if (open_named(names[i], &cp, &error))
            test_fail("%s", error.message);
        FILE *expected = fopen(VRT_TEST_DATA "/pth/expected.txt", "re");
        expect_true(expected != NULL);
        while (check_tensor(expected, cp))
            n++;
        expect_true(feof(expected));
        fclose(expected);
        expect_int(n, 15);
        expect_int(vrt_checkpoint_n_tensors(cp), n);
        expect_true(!vrt_checkpoint_find(cp, "a.weigh"));
        expect_true(!vrt_checkpoint_metadata(cp, "network"));
    }
}

static void test_bad_fixtures(void)
{
    static const struct {
        const char *name, *part;
    } files[] = {
        { "evil-reduce.pth", "a call of posix.system, which is not data" },
        { "truncated.pth", "is cut short or damaged" },
        { "short-storage.pth", "another size than the tensor" },
        { "README.md", "is neither a .pth nor a .safetensors file" },
    };

    for (size_t i = VRT_TEST_PTH ? 0 : 3; i < sizeof(files) / sizeof(files[0]); i++) {
        struct vrt_checkpoint *cp = NULL;
        struct vrt_error error = { 0 };

        expect_int(open_named(files[i].name, &cp, &error), -EINVAL);
        expect_true(cp == NULL);
        expect_str(error.id, VRT_CHECKPOINT_E_INVALID);
        expect_contains(error.message, files[i].name);
        expect_contains(error.message, files[i].part);
    }
    expect_true(access("pwned", F_OK) != 0);
}

/* A temporary file of these bytes. */
static int make_file(const void *data, size_t size)
{
    char path[] = "/tmp/vrt-test-XXXXXX";
    int fd = mkstemp(path);

    expect_true(fd >= 0);
    expect_int(unlink(path), 0);
    expect_int(write(fd, data, size), size);
    return fd;
}

/* A file is read from its beginning, and what was read outlives its descriptor and what it held. */
static void test_descriptors(void)
{
    const struct vrt_builtin_model *model = vrt_builtin_model_at(0);
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *cp = NULL;
    int fd = make_file(model->data, model->size_bytes);
    struct vrt_error error = { 0 };
    float bias[24];

    expect_int(lseek(fd, 100, SEEK_SET), 100);
    expect_int(vrt_checkpoint_open(fd, "m", NULL, &cp, &error), 0);
    expect_int(lseek(fd, 0, SEEK_CUR), 100);
    expect_int(ftruncate(fd, 0), 0);
    close(fd);
    const struct vrt_checkpoint_tensor *tensor = vrt_checkpoint_find(cp, "body.0.bias");
    expect_true(tensor && tensor->n_elements == 24);
    vrt_checkpoint_read_f32(tensor, bias);
    expect_true(isfinite(bias[23]));
}

/* A sparse file, which says that it is one tensor of so many bytes. */
static int make_sparse(int64_t n_bytes)
{
    char header[128] = "........";
    int n = snprintf(header + 8, sizeof(header) - 8, "{\"x\":{\"dtype\":\"F32\",\"shape\":[%lld],"
                     "\"data_offsets\":[0,%lld]}}", (long long)n_bytes / 4, (long long)n_bytes);

    for (int i = 0; i < 8; i++)
        header[i] = (char)(i ? 0 : n);
    int fd = make_file(header, (size_t)n + 8);
    expect_int(ftruncate(fd, n + 8 + n_bytes), 0);
    return fd;
}

static int64_t rss_bytes(void)
{
    VRT_CLEANUP(vrt_closep) int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    long long size = 0, resident = 0;
    char text[80] = "";

    if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
        expect_int(sscanf(text, "%lld %lld", &size, &resident), 2);
    return resident * sysconf(_SC_PAGESIZE);
}

static int refuse(void *ctx, const struct vrt_checkpoint *cp, struct vrt_error *error)
{
    int *n_looks = ctx;

    (*n_looks)++;
    expect_int(vrt_checkpoint_n_tensors(cp), 1);
    expect_int(vrt_checkpoint_find(cp, "x")->dims[0], INT64_C(3) << 28);
    return vrt_refuse(error, -EINVAL, VRT_CHECKPOINT_E_INVALID, "not wanted");
}

/* Names and shapes are known before anything else is read. */
static void test_look(void)
{
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *cp = NULL;
    VRT_CLEANUP(vrt_closep) int fd = make_sparse(INT64_C(3) << 30);
    struct vrt_error error = { 0 };
    int n_looks = 0;
    int64_t before_bytes = rss_bytes();

    expect_int(vrt_checkpoint_open(fd, "m", &(struct vrt_checkpoint_look){ refuse, &n_looks }, &cp,
                                   &error), -EINVAL);
    expect_str(error.message, "not wanted");
    expect_int(n_looks, 1);
    expect_true(rss_bytes() - before_bytes < 64 << 20);
    /* Larger than any is. */
    error = (struct vrt_error){ 0 };
    expect_int(ftruncate(fd, (INT64_C(8) << 30) + 1), 0);
    expect_int(vrt_checkpoint_open(fd, "m", NULL, &cp, &error), -EINVAL);
    expect_contains(error.message, "more than a model may have");
}

static int cut(void *ctx, const struct vrt_checkpoint *cp, struct vrt_error *error)
{
    (void)cp;
    (void)error;
    expect_int(ftruncate(*(int *)ctx, 1 << 12), 0);
    return 0;
}

/* A file that becomes shorter meanwhile is refused, and touched no more. */
static void test_shorter(void)
{
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *cp = NULL;
    VRT_CLEANUP(vrt_closep) int fd = make_sparse(4 << 20);     /* more than is read at a time */
    struct vrt_error error = { 0 };

    expect_int(vrt_checkpoint_open(fd, "m", &(struct vrt_checkpoint_look){ cut, &fd }, &cp, &error),
               -EINVAL);
    expect_str(error.message, "m became shorter while it was read");
}

static void test_no_files(void)
{
    static char tar[512] = "storages";
    static const struct {
        const char *part, *path, *text;
        size_t size;
    } cases[] = {
        { "is empty", .text = "" }, { "is not a regular file", .path = "/" },
        { "is not a regular file", .path = "/dev/null" },
        { "is a web page", .text = "<!DOCTYPE html>", .size = 15 },
        { "(tar)", .text = tar, .size = sizeof(tar) },
        { "kept by Git LFS", .text = "version https://git-lfs", .size = 23 },
        { "is a GGUF file", .text = "GGUF", .size = 4 },
        { "is an HDF5 file", .text = "\x89HDF", .size = 4 },
        { "with gzip", .text = "\x1f\x8b", .size = 2 },
        { "the weights of an ncnn network", .text = "\x47\x6b\x30\x01", .size = 4 },
        { VRT_TEST_PTH ? "no data.pkl" : "without libzip", .text = "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0"
          "\0\0\0\0\0", .size = 22 },
        { "is neither a .pth nor", .text = "hello", .size = 5 },
        { "Bad file descriptor" },
    };

    memcpy(tar + 257, "ustar", 5);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vrt_checkpoint *cp = NULL;
        struct vrt_error error = { 0 };
        int fd = cases[i].path ? open(cases[i].path, O_RDONLY | O_CLOEXEC) : -1;
        if (cases[i].text)
            fd = make_file(cases[i].text, cases[i].size);

        expect_true(vrt_checkpoint_open(fd, "a\nb\x1b", NULL, &cp, &error) < 0);
        expect_true(!cp);
        expect_contains(error.message, "a?b?");
        expect_contains(error.message, cases[i].part);
        if (fd >= 0)
            close(fd);
    }
}

static void test_builtin_models(void)
{
    const struct vrt_builtin_model *model;
    size_t n = 0;

    for (; (model = vrt_builtin_model_at(n)) != NULL; n++) {
        VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *cp = NULL;
        struct vrt_error error = { 0 };

        expect_int((uintptr_t)model->data % 64, 0);
        if (vrt_checkpoint_open_memory(model->data, model->size_bytes, model->name, &cp, &error))
            test_fail("%s", error.message);
        expect_str(vrt_checkpoint_metadata(cp, "name"), model->name);
        expect_true(vrt_checkpoint_metadata(cp, "licence") != NULL);
        expect_true(vrt_builtin_model_find(model->name) == model);
    }
    expect_true(n >= 1);
    expect_str(vrt_builtin_model_at(0)->name, "compact-x2");
    expect_true(!vrt_builtin_model_find("compact"));
}

TEST_MAIN(
    { "good-fixtures", test_good_fixtures }, { "bad-fixtures", test_bad_fixtures },
    { "descriptors", test_descriptors }, { "look", test_look }, { "shorter", test_shorter },
    { "no-files", test_no_files }, { "builtin-models", test_builtin_models },
)
