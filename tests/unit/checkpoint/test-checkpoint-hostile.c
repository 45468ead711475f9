/* SPDX-License-Identifier: MIT */
/* engine/checkpoint: pickles that mean harm, each to be refused with its own sentence. */

#include "tests/unit/test.h"

#include "tests/unit/checkpoint/pth-builder.h"

#define N_FLOATS 12

#define DAMAGED "makes no sense"
#define SHORT "is cut short"
#define BEYOND "reaches beyond the data"
#define SHAPE "an impossible shape"
#define EMPTY "holds no tensors"

/* A file whose tree is made by these opcodes, which are freed, is refused. */
static void expect_refused(struct vrt_buf *ops, const char *what, const char *part)
{
    struct vrt_buf file = { 0 };

    pth_prologue(&file, 1);
    pth_ops(&file, "\x80\x02");
    pth_bytes(&file, ops->data, ops->size_bytes);
    pth_ops(&file, ".");
    pth_epilogue(&file, N_FLOATS);
    pth_expect_refused(&file, what, part);
    vrt_buf_done(ops);
    vrt_buf_done(&file);
}

static void test_tensors(void)
{
    static const struct {
        const char *part;
        struct pth_tensor tensor;
    } cases[] = {
        { SHAPE, { "a negative size", .n_dims = 1, .dims = { -1 }, .strides = { 1 } } },
        { SHAPE, { "two negative sizes", .n_dims = 2, .dims = { -2, -2 }, .strides = { 1, 1 } } },
        { SHAPE, { "2^63 elements", .n_dims = 2, .dims = { 1LL << 32, 1LL << 31 },
                   .strides = { 0, 0 } } },
        { SHAPE, { "2^64 elements", .n_dims = 2, .dims = { 1LL << 32, 1LL << 32 },
                   .strides = { 0, 0 } } },
        { "more elements than", { "2^40 equal elements", .n_dims = 1, .dims = { 1LL << 40 },
                                  .strides = { 0 } } },
        { BEYOND, { "too many", .n_dims = 1, .dims = { 13 }, .strides = { 1 } } },
        { BEYOND, { "too far apart", .n_dims = 2, .dims = { 2, 2 }, .strides = { 11, 1 } } },
        { BEYOND, { "offset too far", .offset = 9, .n_dims = 1, .dims = { 4 }, .strides = { 1 } } },
        { BEYOND, { "offset wraps", .offset = INT64_MAX, .n_dims = 1, .dims = { 2 },
                    .strides = { 1 } } },
        { BEYOND, { "offset below", .offset = -1, .n_dims = 1, .dims = { 2 }, .strides = { 1 } } },
        { BEYOND, { "stride below", .offset = 11, .n_dims = 1, .dims = { 2 }, .strides = { -1 } } },
        { BEYOND, { "stride wraps", .n_dims = 2, .dims = { 3, 3 },
                    .strides = { INT64_MAX, INT64_MAX } } },
        { BEYOND, { "stride times size wraps", .n_dims = 1, .dims = { 5 },
                    .strides = { 1LL << 62 } } },
        { DAMAGED, { "nine dimensions", .n_dims = 9 } },
        { DAMAGED, { "negative storage", .n_storage = -N_FLOATS } },
        { DAMAGED, { "huge storage", .n_storage = INT64_MAX } },
        { "another size", { "larger storage", .n_storage = N_FLOATS + 1 } },
        { "another size", { "2^60 floats", .n_storage = 1LL << 60 } },
        { DAMAGED, { "no such key", .key = "1" } },
        { DAMAGED, { "endless key", .key = "00000000000000000000000000000000"
                                           "000000000000000000000000000000000" } },
        { "stored as torch.ComplexFloatStorage", { "complex", .storage = "ComplexFloatStorage" } },
        { "stored as torch.Size", { "no storage", .storage = "Size" } },
        { "cannot be the name", { "" } }, { "cannot be the name", { "line\nfeed" } },
        { "cannot be the name", { "escape\x1b[2J" } },
        { "cannot be the name", { "not UTF-8 \xff" } },
        { "cannot be the name", { "no third \xe2\x82." } },
        { "cannot be the name", { "overlong \xc0\xaf" } },
        { "cannot be the name", { "half a pair \xed\xa0\x80" } },
        { "cannot be the name", { "cut \xe2\x82" } },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pth_tensor tensor = cases[i].tensor;
        struct vrt_buf ops = { 0 };

        if (!tensor.n_storage)
            tensor.n_storage = N_FLOATS;
        pth_ops(&ops, "}");
        pth_entry(&ops, &tensor);
        pth_ops(&ops, "s");
        expect_refused(&ops, tensor.name, cases[i].part);
    }
}

#define V3                                                                                      \
    "ctorch._utils\n_rebuild_tensor_v3\n((X\7\0\0\0storagectorch\nUntypedStorage\nX\1\0\0\0000"    \
    "X\3\0\0\0cpuK\60tQK\0K\1\x85K\1\x85\x89N"

/* What alone is all of a good file. */
#define ROOT                                                                                    \
    "}X\1\0\0\0wctorch._utils\n_rebuild_tensor\n((X\7\0\0\0storagectorch\nFloatStorage\n"         \
    "X\1\0\0\0000NK\x0cNtQK\0K\x0c\x85K\1\x85tRs"

static const struct {
    const char *part, *ops;
    size_t n_ops;
} opcodes[] = {
#define CASE(part, ops) { part, ops, sizeof(ops) - 1 }
    /* every way to call */
    CASE("a call of os.system,", "cos\nsystem\nX\2\0\0\0id\x85R"),
    CASE("a call of os.system,", "X\2\0\0\0osX\6\0\0\0system\x93X\2\0\0\0id\x85R"),
    CASE("a call of os.system,", "cos\nsystem\nX\2\0\0\0id\x85\x81"),
    CASE("a call of os.system,", "cos\nsystem\nX\2\0\0\0id\x85}\x92"),
    CASE("a call of os.system,", "(X\2\0\0\0idios\nsystem\n"),
    CASE("a call of os.system,", "(S'id'\nios\nsystem\n"),
    CASE("a call of builtins.eval,", "cbuiltins\neval\nX\1\0\0\0001\x85R"),
    CASE("a call of __builtin__.getattr,", "c__builtin__\ngetattr\n)R"),
    CASE("a call of torch.FloatStorage,", "ctorch\nFloatStorage\n)R"),
    CASE("a call of torch.float32,", "ctorch\nfloat32\n)R"),
    CASE("a call of my?lib.a?b,", "cmy\x1blib\na\xff" "b\n)R"),
    CASE("a call of .,", "c\n\n)R"),
    CASE("a call of torch.cuda.OrderedDict,", "ctorch.cuda\nOrderedDict\n)R"),
    CASE("a call of collections.OrderedDic,", "ccollections\nOrderedDic\n)R"),
    CASE("a call of posix.system,", "ctorch._tensor\n_rebuild_from_type_v2\n(cposix\nsystem\n"
                                    "NX\2\0\0\0id\x85}tR"),
    /* calls of what is known, with the wrong things */
    CASE(DAMAGED, "K\1)R"),
    CASE(DAMAGED, "ccollections\nOrderedDict\nK\1R"),
    CASE(DAMAGED, "ccollections\nOrderedDict\n]K\1a\x85R"),
    CASE(DAMAGED, "ctorch._utils\n_rebuild_tensor_v2\n)R"),
    CASE(DAMAGED, "ctorch._utils\n_rebuild_tensor_v2\n(NNNNtR"),
    CASE(DAMAGED, "ctorch._utils\n_rebuild_tensor_v3\n(NNNNNNNtR"),
    CASE("of type complex64,", V3 "ctorch\ncomplex64\ntR"),
    CASE(DAMAGED, V3 "NtR"),
    CASE(DAMAGED, "ctorch._utils\n_rebuild_parameter\n)R"),
    CASE(DAMAGED, "ctorch._utils\n_rebuild_parameter\nN\x85R"),
    CASE(DAMAGED, "ctorch\nSize\nN\x85R"),
    CASE(DAMAGED, "ctorch._tensor\n_rebuild_from_type_v2\n(h\0h\0)}tR"),
    CASE(DAMAGED, "ctorch._tensor\n_rebuild_from_type_v2\n\x94(h\0Nh\0N)\x87}tR"),
    /* persistent ids */
    CASE(DAMAGED, "NQ"),
    CASE(DAMAGED, ")Q"),
    CASE(DAMAGED, "(NNNNNtQ"),
    CASE("a whole Python program", "(X\6\0\0\0moduleNNNtQ"),
    CASE(DAMAGED, "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuNtQ"),
    CASE(DAMAGED, "(X\7\0\0\0storagectorch\nFloatStorage\nK\0X\3\0\0\0cpuK\1tQ"),
    CASE("stored as my.FloatStorage", "(X\7\0\0\0storagecmy\nFloatStorage\nX\1\0\0\0000NK\1NtQ"),
    CASE(DAMAGED, "(X\7\0\0\0storageX\1\0\0\0FX\1\0\0\0000X\3\0\0\0cpuK\1tQ"),
    CASE(DAMAGED, "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000NK\1"
                  "(X\1\0\0\0vK\2K\1ttQ"),
    CASE(DAMAGED, "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000NK\1"
                  "(X\1\0\0\0vNK\1ttQ"),
    CASE(BEYOND, "}X\1\0\0\0wctorch._utils\n_rebuild_tensor\n((X\7\0\0\0storagectorch\n"
                 "FloatStorage\nX\1\0\0\0000NK\x0c(X\1\0\0\0vK\1K\x0bttQK\0K\x0c\x85K\1\x85"
                 "tRs"),
    /* the stack, the marks and the memo: what is left of an operation without them would do */
    CASE(DAMAGED, ""), CASE(DAMAGED, "NN"), CASE(DAMAGED, "("), CASE(DAMAGED, "N("),
    CASE(DAMAGED, "0" ROOT), CASE(DAMAGED, ROOT "1"), CASE(DAMAGED, "2" ROOT),
    CASE(DAMAGED, ROOT "t"), CASE(DAMAGED, ROOT "u"), CASE(DAMAGED, ROOT "R"),
    CASE(DAMAGED, ROOT "b"), CASE(DAMAGED, "Q" ROOT), CASE(DAMAGED, ROOT "\x93"),
    CASE(DAMAGED, "\x94" ROOT), CASE(DAMAGED, "q\0" ROOT), CASE(DAMAGED, "\x85" ROOT),
    CASE(DAMAGED, ROOT "\x86"), CASE(DAMAGED, ROOT "(01"), CASE(DAMAGED, ROOT "(\x85" "1"),
    CASE(DAMAGED, ROOT "(s1"), CASE(DAMAGED, ROOT "(Nu"), CASE(DAMAGED, ROOT "(Nd0"),
    CASE(DAMAGED, "NNa"), CASE(DAMAGED, "NNNs"), CASE(DAMAGED, "]NNs"), CASE(DAMAGED, ROOT "Na"),
    CASE(DAMAGED, "(K\1u"), CASE(DAMAGED, "ccollections\nOrderedDict\n}b"),
    CASE(DAMAGED, ROOT "h\0"), CASE(DAMAGED, ROOT "j\xff\xff\xff\xff"), CASE(DAMAGED, "\xff"),
    CASE(DAMAGED, ROOT "r\xff\xff\xff\xff"), CASE(DAMAGED, "\x97"),
    /* lengths */
    CASE(SHORT, "X\xff\xff\xff\xff"), CASE(SHORT, "\x8d\xff\xff\xff\xff\xff\xff\xff\xff"),
    CASE(SHORT, "\x8e\xff\xff\xff\xff\xff\xff\xff\x7f"), CASE(SHORT, "B\xff\xff\xff\x7f"),
    CASE(SHORT, "\x8b\xff\xff\xff\xff"), CASE(SHORT, "\x8b\xff\xff\xff\x7f"),
    CASE(SHORT, "cno line"),
    /* nothing in it */
    CASE(EMPTY, "N"), CASE(EMPTY, "}"), CASE(EMPTY, "]"), CASE(EMPTY, "}X\6\0\0\0paramsK\1s"),
    CASE(EMPTY, "}X\6\0\0\0params}s"), CASE(EMPTY, "}\x94X\6\0\0\0paramsh\0s"),
    CASE(EMPTY, "]\x94h\0a"),
#undef CASE
};

static void test_opcodes(void)
{
    for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
        struct vrt_buf ops = { 0 };
        char what[32];

        snprintf(what, sizeof(what), "pickle %zu", i);
        pth_bytes(&ops, opcodes[i].ops, opcodes[i].n_ops);
        expect_refused(&ops, what, opcodes[i].part);
    }
}

/* The same opcodes over and over: time and memory stay in proportion to the file. */
static void test_repetition(void)
{
    static const struct {
        const char *what, *part, *first, *again, *last;
        int n;
    } cases[] = {
        { "nested tuples", EMPTY, ")", "\x85", "", 1 << 20 },
        { "nested lists", DAMAGED, "", "]", "", 1 << 20 },
        { "marks", DAMAGED, "", "(", "", 1 << 20 },
        { "duplicates", EMPTY, "(N", "2", "t", 1 << 20 },
        { "memo entries", EMPTY, "}", "\x94", "", 1 << 20 },
        { "a list in itself", EMPTY, "]\x94", "2a", "", 1 << 19 },
        { "a dictionary in itself", EMPTY, "}\x94", "N2s", "", 1 << 18 },
        { "names", DAMAGED, "", "cos\nsystem\n", "", 1 << 16 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vrt_buf ops = { 0 };

        pth_bytes(&ops, cases[i].first, strlen(cases[i].first));
        for (int k = 0; k < cases[i].n; k++)
            pth_bytes(&ops, cases[i].again, strlen(cases[i].again));
        pth_bytes(&ops, cases[i].last, strlen(cases[i].last));
        expect_refused(&ops, cases[i].what, cases[i].part);
    }
}

/* Each of many short calls copies one long list: more memory than any honest file needs. */
static void test_copies(void)
{
    struct vrt_buf ops = { 0 };

    pth_ops(&ops, "]\x94(");
    for (int i = 0; i < 10000; i++)
        pth_ops(&ops, "NN\x86");
    pth_ops(&ops, "e");
    for (int i = 0; i < 10000; i++)
        pth_ops(&ops, "ccollections\nOrderedDict\nh\0\x85R0");
    expect_refused(&ops, "copies", "asks for more memory");
}

/* A dictionary of many references to one large dictionary, all to be searched. */
static void test_search(void)
{
    struct vrt_buf ops = { 0 };

    pth_ops(&ops, "}\x94(");
    for (int i = 0; i < 100000; i++)
        pth_ops(&ops, "NN");
    pth_ops(&ops, "u0}(");
    for (int i = 0; i < 100000; i++)
        pth_ops(&ops, "Nh\0");
    pth_ops(&ops, "u");
    expect_refused(&ops, "references", EMPTY);
}

/* What stands before the tree and after it. */
static void test_frame(void)
{
    static const struct {
        const char *part, *bytes;
        size_t n_bytes;
    } cases[] = {
#define MAGIC "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
#define SYSTEM "}X\x0d\0\0\0little_endian\x88s."
#define TREE "}X\1\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\n"      \
    "FloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK\1tQK\0)))tRs."
#define KEY "X\1\0\0\0000"
#define CASE(part, bytes) { part, bytes, sizeof(bytes) - 1 }
        CASE("a Python pickle, but not one", "\x80\x02N."),
        CASE("a Python pickle, but not one", "\x80\x02}X\1\0\0\0wK\1s."),
        CASE("an unknown version", MAGIC "K\1."),
        CASE(DAMAGED, MAGIC "M\xe9\x03.N."),
        CASE(DAMAGED, MAGIC "M\xe9\x03.}."),
        CASE(DAMAGED, MAGIC "M\xe9\x03." SYSTEM TREE "N."),
        CASE(DAMAGED, MAGIC "M\xe9\x03." SYSTEM TREE "]K\0a."),
        CASE("lacks data", MAGIC "M\xe9\x03." SYSTEM TREE "]."),
        CASE(SHORT, MAGIC "M\xe9\x03." SYSTEM TREE "]" KEY "a."),
        CASE(SHORT, MAGIC "M\xe9\x03." SYSTEM TREE "]" KEY "a.\1\0\0\0\0\0\0\0abc"),
        CASE("another size", MAGIC "M\xe9\x03." SYSTEM TREE "]" KEY "a.\2\0\0\0\0\0\0\0"),
        CASE("another size", MAGIC "M\xe9\x03." SYSTEM TREE "]" KEY "a.\1\0\0\0\0\0\0\x80"),
        CASE(DAMAGED, MAGIC "M\xe9\x03." SYSTEM TREE "](" KEY KEY "e."
                      "\1\0\0\0\0\0\0\0abcd\1\0\0\0\0\0\0\0abcd"),
#undef CASE
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vrt_buf buf = { 0 };
        char what[32];

        snprintf(what, sizeof(what), "frame %zu", i);
        pth_bytes(&buf, cases[i].bytes, cases[i].n_bytes);
        pth_expect_refused(&buf, what, cases[i].part);
        vrt_buf_done(&buf);
    }
}

/* Two tensors of one name; two storages of one key and different sizes; one element, repeated more
 * often than both may be; two containers that might be meant. */
static void test_ambiguous(void)
{
    const struct {
        const char *part;
        struct pth_tensor a, b;
    } cases[] = {
        { "two tensors named \"w\"", { .name = "w", .n_storage = N_FLOATS },
          { .name = "w", .n_storage = N_FLOATS } },
        { DAMAGED, { .name = "a", .n_storage = N_FLOATS },
          { .name = "b", .n_storage = N_FLOATS + 1 } },
        { "\"b\" has more elements than", { .name = "a", .n_storage = N_FLOATS, .n_dims = 1,
                                            .dims = { 600000 } },
          { .name = "b", .n_storage = N_FLOATS, .n_dims = 1, .dims = { 600000 } } },
    };
    struct vrt_buf ops = { 0 };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        pth_ops(&ops, "}(");
        pth_entry(&ops, &cases[i].a);
        pth_entry(&ops, &cases[i].b);
        pth_ops(&ops, "u");
        expect_refused(&ops, "a pair", cases[i].part);
    }
    pth_ops(&ops, "}(");
    for (int i = 0; i < 2; i++) {
        pth_text(&ops, i ? "first" : "second");
        pth_ops(&ops, "}");
        pth_entry(&ops, &cases[0].a);
        pth_ops(&ops, "s");
    }
    pth_ops(&ops, "u");
    expect_refused(&ops, "two sets", "holds 2 sets of tensors");
}

TEST_MAIN(
    { "tensors", test_tensors }, { "opcodes", test_opcodes }, { "repetition", test_repetition },
    { "copies", test_copies }, { "search", test_search }, { "frame", test_frame },
    { "ambiguous", test_ambiguous },
)
