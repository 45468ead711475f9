/* SPDX-License-Identifier: MIT */
/* engine/checkpoint: .safetensors files made by hand, right and wrong. */

#include "tests/unit/test.h"

#include "tests/unit/checkpoint/pth-builder.h"

#define N_BYTES 24

#define GRAMMAR "its header is not that of a .safetensors file"
#define FIT "does not fit its place"

static void make_file(struct vrt_buf *buf, const char *header, int n_bytes)
{
    *buf = (struct vrt_buf){ 0 };
    pth_u64(buf, strlen(header));
    pth_bytes(buf, header, strlen(header));
    for (int i = 0; i < n_bytes / 4; i++) {
        float value = (float)i;

        pth_bytes(buf, &value, sizeof(value));
    }
}

#define A "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}"
#define NAMED(name) "{\"" name "\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}"
#define ONE(fields) "{\"a\":{" fields "}}"
#define F32(shape, offsets) ONE("\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets)

static void test_good(void)
{
    static const float counting[] = { 0, 1, 2, 3, 4, 5 };
    static const struct {
        const char *header, *name;
        int first, n;
    } cases[] = {
        { "{" A "}", "a", 0, 6 },
        { "{ \"a\" : { \"shape\" : [ 2 , 3 ] , \"data_offsets\" : [ 0 , 24 ],\t\"dtype\":\"F32\" } "
          "} \r\n", "a", 0, 6 },
        { "{\"module.a\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}", "a", 0, 6 },
        { "{\"generator.a\":{\"dtype\":\"F32\",\"shape\":[5],\"data_offsets\":[0,20]},"
          "\"step_counter\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[20,24]}}", "a", 0,
          5 },
        { "{\"generator.a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
          "\"discriminator.a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]},"
          "\"generator_ema.a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}}", "a",
          4, 2 },
        { "{\"generator.a\":{\"dtype\":\"F32\",\"shape\":[5],\"data_offsets\":[0,20]},"
          "\"other\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[20,24]}}", "generator.a", 0,
          5 },
        { "{\"b\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[8,24]},"
          "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "b", 2, 4 },
        { "{\"empty\":{\"dtype\":\"I64\",\"shape\":[0,9],\"data_offsets\":[24,24]}," A "}", "empty",
          0, 0 },
        { "{\"s\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[20,24]},"
          "\"a\":{\"dtype\":\"U8\",\"shape\":[20],\"data_offsets\":[0,20]}}", "s", 5, 1 },
        { "{\"\\u00E9\\uFFFD\\ud83d\\ude00\\/\\\\\":{\"dtype\":\"F32\",\"shape\":[6],"
          "\"data_offsets\":[0,24]}}", "\xc3\xa9\xef\xbf\xbd\xf0\x9f\x98\x80/\\", 0, 6 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vrt_buf buf;
        struct pth_opened opened;

        make_file(&buf, cases[i].header, N_BYTES);
        pth_open(buf.data, buf.size_bytes, cases[i].header, &opened);
        expect_str(opened.error.message, "");
        pth_expect_values(opened.checkpoint, cases[i].name, counting + cases[i].first, cases[i].n);
        pth_close(&opened);
        vrt_buf_done(&buf);
    }
}

static void test_metadata(void)
{
    struct vrt_buf buf;
    struct pth_opened opened;

    make_file(&buf, "{\"__metadata__\":{\"network\":\"compact\",\"a \\\"b\\\"\":\"\\n\"}," A "}",
              N_BYTES);
    pth_open(buf.data, buf.size_bytes, "metadata", &opened);
    expect_str(opened.error.message, "");
    expect_int(vrt_checkpoint_n_tensors(opened.checkpoint), 1);
    expect_str(vrt_checkpoint_metadata(opened.checkpoint, "network"), "compact");
    expect_str(vrt_checkpoint_metadata(opened.checkpoint, "a \"b\""), "\n");
    expect_true(!vrt_checkpoint_metadata(opened.checkpoint, "a"));
    pth_close(&opened);
    vrt_buf_done(&buf);
}

static const struct {
    const char *part, *header;
    bool is_bare;               /* nothing is behind the header */
} bad[] = {
    { "holds no tensors", "{\"__metadata__\":{}}", true }, { "belong to no tensor", "{}" },
    { "belong to no tensor", "{\"__metadata__\":{}}" }, { GRAMMAR, "{" A }, { GRAMMAR, "{" A ",}" },
    { GRAMMAR, "{" A "}x" }, { GRAMMAR, "{" A "}{}" }, { GRAMMAR, "{" A ";" A "}" },
    { GRAMMAR, "{\"a\"}" }, { GRAMMAR, "{\"a\":1}" }, { GRAMMAR, "{\"a\":{}}" },
    { GRAMMAR, "{\"a\":[]}" }, { GRAMMAR, "{'a':{}}" }, { GRAMMAR, "{\"a" }, { GRAMMAR, "{\"a\\" },
    { GRAMMAR, "{\"a\\\"" }, { GRAMMAR, NAMED("a\\x") }, { GRAMMAR, NAMED("a\\u12") },
    { GRAMMAR, NAMED("a\\u0000") }, { GRAMMAR, NAMED("a\\ud800") },
    { GRAMMAR, NAMED("a\\ud800\\u0041") }, { GRAMMAR, NAMED("a\\ud800\\ue000") },
    { GRAMMAR, NAMED("a\\ud800\\u12") }, { GRAMMAR, NAMED("a\\ud800\\n") },
    { GRAMMAR, NAMED("a\\ud800u") }, { GRAMMAR, NAMED("a\\udc00") },
    { GRAMMAR, "{\"__metadata__\":{\"k\":\"\n}," A "}" }, { GRAMMAR, NAMED("a\xff") },
    { GRAMMAR, "{\"__metadata__\":{\"k\":1}," A "}" }, { GRAMMAR, "{\"__metadata__\":[]," A "}" },
    { GRAMMAR, "{\"__metadata__\":{},\"__metadata__\":{}," A "}" },
    { "comes twice", "{\"__metadata__\":{\"k\":\"\",\"k\":\"\"}," A "}" },
    { GRAMMAR, ONE("\"dtype\":\"F32\",\"shape\":[6]") },
    { GRAMMAR, ONE("\"dtype\":\"F32\",\"shape\":[6],\"shape\":[6],\"data_offsets\":[0,24]") },
    { GRAMMAR, ONE("\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24],\"x\":1") },
    { GRAMMAR, F32("6", "[0,24]") }, { GRAMMAR, F32("[-6]", "[0,24]") },
    { GRAMMAR, F32("[6.0]", "[0,24]") }, { GRAMMAR, F32("[6e0]", "[0,24]") },
    { GRAMMAR, F32("[06]", "[0,24]") }, { GRAMMAR, F32("[6,]", "[0,24]") },
    { GRAMMAR, F32("[9223372036854775808]", "[0,24]") },
    { GRAMMAR, F32("[1,1,1,1,1,1,1,1,6]", "[0,24]") }, { GRAMMAR, F32("[6]", "[0]") },
    { GRAMMAR, F32("[6]", "[0,24,24]") },
    { GRAMMAR, ONE("\"dtype\":7,\"shape\":[6],\"data_offsets\":[0,24]") },
    { "of type F8_E4M3,", ONE("\"dtype\":\"F8_E4M3\",\"shape\":[24],\"data_offsets\":[0,24]") },
    { FIT, F32("[6]", "[24,0]") }, { FIT, F32("[5]", "[0,24]") },
    { FIT, F32("[4611686018427387904,4]", "[0,0]") },
    { FIT, F32("[4611686018427387904,8,0]", "[0,0]") },
    { "lies beyond its end", F32("[7]", "[0,28]") },
    { "lies beyond its end", ONE("\"dtype\":\"U8\",\"shape\":[1],"
                                 "\"data_offsets\":[9223372036854775806,9223372036854775807]") },
    { "leave holes", F32("[5]", "[4,24]") }, { "belong to no tensor", F32("[5]", "[0,20]") },
    { "overlap", "{" A ",\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}}" },
    { "overlap", "{" A ",\"b\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}" },
    { "two tensors named \"a\"",
      "{" A ",\"\\u0061\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[24,24]}}" },
    { "cannot be the name", NAMED("") }, { "cannot be the name", NAMED("a\\n") },
};

static void test_bad(void)
{
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct vrt_buf buf;

        make_file(&buf, bad[i].header, bad[i].is_bare ? 0 : N_BYTES);
        pth_expect_refused(&buf, bad[i].header, bad[i].part);
        vrt_buf_done(&buf);
    }
}

/* What the length before the header may claim. */
static void test_length(void)
{
    static const struct {
        uint64_t length;
        const char *part;
    } cases[] = {
        { 0, GRAMMAR }, { 1, GRAMMAR }, { sizeof("{" A "}") - 1 + N_BYTES, "lies beyond its end" },
        { sizeof("{" A "}") + N_BYTES, "ends within its header" },
        { 100000000, "ends within its header" }, { 100000001, "is neither a .pth nor" },
        { UINT64_MAX, "is neither a .pth nor" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vrt_buf buf;
        char what[32];

        snprintf(what, sizeof(what), "a header of %llu bytes", (unsigned long long)cases[i].length);
        make_file(&buf, "{" A "}", N_BYTES);
        for (int k = 0; k < 8; k++)
            buf.data[k] = (char)(cases[i].length >> 8 * k);
        pth_expect_refused(&buf, what, cases[i].part);
        vrt_buf_done(&buf);
    }
}

/* Every type, its numbers at their limits. */
static void test_dtypes(void)
{
    static const struct {
        const char *dtype;
        int n;
        uint8_t bytes[16];
        float values[8];
    } cases[] = {
        { "F16", 8, { 0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00, 0xff, 0x03, 0x00, 0x04, 0xff, 0x7b,
                      0x00, 0x7c, 0x00, 0x80 },
          { 1, -2, 0x1p-24f, 0x1.ff8p-15f, 0x1p-14f, 65504, INFINITY, -0.0f } },
        { "BF16", 3, { 0x80, 0x3f, 0x20, 0xc0, 0x80, 0xff }, { 1, -2.5f, -INFINITY } },
        { "F64", 1, { 0, 0, 0, 0, 0, 0, 0xf0, 0x3f }, { 1 } },
        { "I64", 1, { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, { -2 } },
        { "I32", 2, { 1, 0, 0, 0x80, 0xff, 0xff, 0xff, 0x7f }, { -2147483648.0f, 2147483648.0f } },
        { "I16", 2, { 0, 0x80, 0xff, 0x7f }, { -32768, 32767 } },
        { "I8", 2, { 0x80, 0x7f }, { -128, 127 } }, { "U8", 2, { 0x80, 0xff }, { 128, 255 } },
        { "BOOL", 3, { 0, 1, 2 }, { 0, 1, 1 } },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vrt_buf buf = { 0 }, header = { 0 };
        struct pth_opened opened;
        size_t sizes[] = { 2, 2, 8, 8, 4, 2, 1, 1, 1 };
        size_t n_bytes = (size_t)cases[i].n * sizes[i];

        expect_int(vrt_buf_printf(&header, "{\"a\":{\"dtype\":\"%s\",\"shape\":[%d],"
                                  "\"data_offsets\":[0,%zu]}}", cases[i].dtype, cases[i].n,
                                  n_bytes), 0);
        pth_u64(&buf, header.size_bytes);
        pth_bytes(&buf, header.data, header.size_bytes);
        pth_bytes(&buf, cases[i].bytes, n_bytes);
        pth_open(buf.data, buf.size_bytes, cases[i].dtype, &opened);
        expect_str(opened.error.message, "");
        pth_expect_values(opened.checkpoint, "a", cases[i].values, cases[i].n);
        expect_int(vrt_checkpoint_dtype_bytes(vrt_checkpoint_tensor(opened.checkpoint, 0)->dtype),
                   sizes[i]);
        pth_close(&opened);
        vrt_buf_done(&buf);
        vrt_buf_done(&header);
    }
}

TEST_MAIN(
    { "good", test_good },       { "metadata", test_metadata }, { "bad", test_bad },
    { "length", test_length },   { "dtypes", test_dtypes },
)
