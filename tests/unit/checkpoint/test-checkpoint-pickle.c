/* SPDX-License-Identifier: MIT */
/*
 * engine/checkpoint: pickles made by hand, inside files of PyTorch's old format. First what real
 * checkpoints hold and has to be understood, then what has to be refused.
 */

#include "tests/unit/test.h"

#include "tests/unit/checkpoint/pth-builder.h"

#define N_FLOATS 12

static const float counting[N_FLOATS] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };

/* A good tensor of the first n floats. */
static struct pth_tensor vector(const char *name, int n)
{
    return (struct pth_tensor){ .name = name, .n_storage = N_FLOATS, .n_dims = 1, .dims = { n },
                                .strides = { 1 } };
}

static void begin(struct vrt_buf *buf)
{
    *buf = (struct vrt_buf){ 0 };
    pth_prologue(buf, 1);
    pth_ops(buf, "\x80\x02");
}

/* A dictionary of one good tensor, not yet stored anywhere. */
static void put_dict(struct vrt_buf *buf, const char *tensor_name, int n)
{
    struct pth_tensor tensor = vector(tensor_name, n);

    pth_ops(buf, "}");
    pth_entry(buf, &tensor);
    pth_ops(buf, "s");
}

static void open_good(struct vrt_buf *buf, const char *what, struct pth_opened *opened)
{
    pth_ops(buf, ".");
    pth_epilogue(buf, N_FLOATS);
    pth_open(buf->data, buf->size_bytes, what, opened);
    if (opened->r)
        test_fail("%s: %s", what, opened->error.message);
    vrt_buf_done(buf);
}

/* The file is good, and one of its tensors, of so many, has the first n floats. */
static void expect_tensor(struct vrt_buf *buf, const char *what, int n_tensors, const char *name,
                          int n)
{
    struct pth_opened opened;

    open_good(buf, what, &opened);
    expect_int(vrt_checkpoint_n_tensors(opened.checkpoint), n_tensors);
    pth_expect_values(opened.checkpoint, name, counting, n);
    pth_close(&opened);
}

static void test_strides(void)
{
    static const struct {
        struct pth_tensor tensor;
        int n;
        float values[12];
    } cases[] = {
        { { "plain", .n_dims = 2, .dims = { 2, 3 }, .strides = { 3, 1 } }, 6,
          { 0, 1, 2, 3, 4, 5 } },
        { { "transposed", .n_dims = 2, .dims = { 3, 2 }, .strides = { 1, 3 } }, 6,
          { 0, 3, 1, 4, 2, 5 } },
        { { "expanded", .offset = 7, .n_dims = 2, .dims = { 2, 3 }, .strides = { 0, 1 } }, 6,
          { 7, 8, 9, 7, 8, 9 } },
        { { "constant", .offset = 11, .n_dims = 1, .dims = { 4 }, .strides = { 0 } }, 4,
          { 11, 11, 11, 11 } },
        { { "sliced", .offset = 1, .n_dims = 3, .dims = { 2, 2, 2 }, .strides = { 5, 3, 2 } }, 8,
          { 1, 3, 4, 6, 6, 8, 9, 11 } },
        { { "scalar", .offset = 5 }, 1, { 5 } },
        { { "lonely", .n_dims = 2, .dims = { 1, 2 }, .strides = { INT64_MAX, 1 } }, 2, { 0, 1 } },
        { { "empty", .offset = 99, .n_dims = 2, .dims = { 0, 1 << 30 }, .strides = { 1, 1 } }, 0,
          { 0 } },
        { { "deep", .offset = 3, .n_dims = 8, .dims = { 1, 1, 2, 1, 1, 2, 1, 1 },
            .strides = { 9, 9, 2, 9, 9, 1, 9, 9 } }, 4, { 3, 4, 5, 6 } },
    };
    struct vrt_buf buf;
    struct pth_opened opened;

    begin(&buf);
    pth_ops(&buf, "}(");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pth_tensor tensor = cases[i].tensor;

        tensor.n_storage = N_FLOATS;
        pth_entry(&buf, &tensor);
    }
    pth_ops(&buf, "u");
    open_good(&buf, "strides", &opened);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        pth_expect_values(opened.checkpoint, cases[i].tensor.name, cases[i].values, cases[i].n);
    pth_close(&opened);
}

/* Which of several containers is taken, and what is done to the names in it. */
static void test_containers(void)
{
    static const struct {
        const char *containers[4];      /* each holds a tensor of its own name ... */
        const char *tensor;             /* ... or of this, if not NULL */
        const char *found;
    } cases[] = {
        { { "params", "params_ema" }, NULL, "params_ema" },
        { { "optimizer", "state_dict" }, NULL, "state_dict" }, { { "anything" }, NULL, "anything" },
        { { "net" }, "module.conv.weight", "conv.weight" },
        { { "net" }, "_orig_mod.module.conv.weight", "conv.weight" },
        { { "net" }, "module.", "module." },
        { { "net" }, "modulesque.weight", "modulesque.weight" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vrt_buf buf;

        begin(&buf);
        pth_ops(&buf, "}");
        for (int k = 0; cases[i].containers[k]; k++) {
            pth_ops(&buf, "(X\5\0\0\0epochK\3");
            pth_text(&buf, cases[i].containers[k]);
            put_dict(&buf, cases[i].tensor ? cases[i].tensor : cases[i].containers[k], 3);
            pth_ops(&buf, "u");
        }
        expect_tensor(&buf, cases[i].found, 1, cases[i].found, 3);
    }
}

static void test_prefix_of_some(void)
{
    struct vrt_buf buf;
    struct pth_tensor a = vector("module.a", 2), b = vector("b", 1);

    begin(&buf);
    pth_ops(&buf, "}(");
    pth_entry(&buf, &a);
    pth_entry(&buf, &b);
    pth_ops(&buf, "u");
    expect_tensor(&buf, "a prefix of some names", 2, "module.a", 2);
}

/* {"model": {"epoch": 3, "state_dict": {...}}}, as trainers nest them. */
static void test_nested_container(void)
{
    struct vrt_buf buf;

    begin(&buf);
    pth_ops(&buf, "}");
    pth_text(&buf, "model");
    pth_ops(&buf, "}(");
    pth_text(&buf, "epoch");
    pth_int(&buf, 3);
    pth_text(&buf, "state_dict");
    put_dict(&buf, "w", 5);
    pth_ops(&buf, "us");
    expect_tensor(&buf, "a nested container", 1, "w", 5);
}

/* What stands beside the tensors in real files is left out. */
static void test_other_entries(void)
{
    static const struct {
        const char *what, *ops;
        size_t n_ops;
    } entries[] = {
#define ENTRY(what, ops) { what, ops, sizeof(ops) - 1 }
        ENTRY("none", "N"), ENTRY("a float", "G\x3f\xf0\0\0\0\0\0\0"),
        ENTRY("a negative number", "J\xff\xff\xff\xff"),
        ENTRY("a short negative long", "\x8a\x02\x00\xff"),
        ENTRY("a long", "\x8b\x09\0\0\0" "123456789"), ENTRY("bytes", "C\x03" "abc"),
        ENTRY("a list", "](K\1K\2e"),
        ENTRY("a list with an append", "]K\1a"),
        ENTRY("a set", "\x8f(K\1K\2\x90"),
        ENTRY("a list of a frozen set", "](K\1K\2\x91" "a"),
        ENTRY("a dictionary in one", "(K\1K\2" "d"),
        ENTRY("a class that is only named", "cpytorch_lightning.callbacks\nModelCheckpoint\n"),
        ENTRY("an argparse.Namespace", "cargparse\nNamespace\n)\x81}U\1aK\1sb"),
        ENTRY("a numpy scalar", "cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nU\2f8K\0K\1\x87R"
                                "(K\3U\1<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"
                                "U\x8" "12345678\x86R"),
        ENTRY("a device", "ctorch\ndevice\nX\3\0\0\0cpu\x85R"),
        ENTRY("a size", "ctorch\nSize\n(K\1K\2t\x85R"),
        ENTRY("a date", "cdatetime\ndatetime\nC\x0a" "0123456789\x85R"),
        ENTRY("what was dropped", "K\1(K\2" "1"),
        ENTRY("a duplicate that was dropped", "K\1" "20"),
        ENTRY("a dictionary with itself in it", "}\x94X\1\0\0\0xh\0s"),
        ENTRY("texts of each width", "](\x8c\1a\x8d\1\0\0\0\0\0\0\0aX\1\0\0\0aU\1aT\1\0\0\0a" "e"),
        ENTRY("bytes of each width", "(C\1aB\1\0\0\0a\x8e\1\0\0\0\0\0\0\0a\x96\1\0\0\0\0\0\0\0at"),
        ENTRY("numbers of each width", "(K\1M\1\0J\1\0\0\0\x8a\1\1\x8b\1\0\0\0\1t"),
        ENTRY("what is written in lines", "(I1\nL2L\nF3.5\nS'a'\nVb\nl"),
        ENTRY("a frame", "\x95\1\0\0\0\0\0\0\0N"),
        ENTRY("many notes", "Nq\0r\1\0\0\0" "0h\0" "0j\1\0\0\0"),
        ENTRY("a class from the stack", "\x8c\x0b" "collections\x8c\x0bOrderedDict\x93)}\x92"),
#undef ENTRY
    };

    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        struct pth_tensor tensor = vector("w", 4);
        struct vrt_buf buf;

        begin(&buf);
        pth_ops(&buf, "}(");
        pth_text(&buf, "other");
        pth_bytes(&buf, entries[i].ops, entries[i].n_ops);
        pth_entry(&buf, &tensor);
        pth_ops(&buf, "u");
        expect_tensor(&buf, entries[i].what, 1, "w", 4);
    }
}

/* A state dictionary has attributes (its modules' versions), which are left out too. */
static void test_ordered_dict_with_state(void)
{
    struct pth_tensor tensor = vector("w", 4);
    struct vrt_buf buf;

    begin(&buf);
    pth_global(&buf, "collections", "OrderedDict");
    pth_ops(&buf, ")R(");
    pth_entry(&buf, &tensor);
    pth_ops(&buf, "u}");
    pth_text(&buf, "_metadata");
    pth_ops(&buf, "}sb");
    expect_tensor(&buf, "a state dictionary", 1, "w", 4);
}

/* Python 2: names as byte strings, an OrderedDict made of a list of pairs. */
static void test_python2(void)
{
    struct pth_tensor tensor = vector(NULL, 4);
    struct vrt_buf buf;

    begin(&buf);
    pth_global(&buf, "collections", "OrderedDict");
    pth_ops(&buf, "]](U\1w");
    pth_tensor(&buf, &tensor);
    pth_ops(&buf, "ea\x85R");
    expect_tensor(&buf, "a pickle of Python 2", 1, "w", 4);
}

/* The tensor's other disguises, each around the same call. */
static void test_rebuilders(void)
{
    struct pth_tensor tensor = vector(NULL, 4);
    struct pth_tensor bytes = { .storage = "UntypedStorage", .n_storage = N_FLOATS * 4 };
    struct vrt_buf buf;
    struct pth_opened opened;

    begin(&buf);
    pth_ops(&buf, "}(");
    pth_text(&buf, "parameter");
    pth_global(&buf, "torch._utils", "_rebuild_parameter");
    pth_tensor(&buf, &tensor);
    pth_ops(&buf, "\x88N\x87R");
    pth_text(&buf, "with_state");
    pth_global(&buf, "torch._utils", "_rebuild_parameter_with_state");
    pth_ops(&buf, "(");
    pth_tensor(&buf, &tensor);
    pth_ops(&buf, "\x88N}tR");
    pth_text(&buf, "from_type");
    pth_global(&buf, "torch._tensor", "_rebuild_from_type_v2");
    pth_ops(&buf, "(");
    pth_global(&buf, "torch._utils", "_rebuild_tensor_v2");
    pth_global(&buf, "torch.nn.parameter", "Parameter");
    pth_ops(&buf, "(");
    pth_storage(&buf, &tensor);
    pth_ops(&buf, "K\0K\4\x85K\1\x85\x89Nt}tR");
    pth_text(&buf, "v1");
    pth_global(&buf, "torch._utils", "_rebuild_tensor");
    pth_ops(&buf, "(");
    pth_storage(&buf, &tensor);
    pth_ops(&buf, "K\0ctorch\nSize\nK\4\x85\x85RK\1\x85tR");
    pth_text(&buf, "v3");
    pth_global(&buf, "torch._utils", "_rebuild_tensor_v3");
    pth_ops(&buf, "(");
    pth_storage(&buf, &bytes);
    pth_ops(&buf, "K\0K\4\x85K\1\x85\x89N");
    pth_global(&buf, "torch", "float32");
    pth_ops(&buf, "tRu");
    open_good(&buf, "disguises", &opened);
    expect_int(vrt_checkpoint_n_tensors(opened.checkpoint), 5);
    for (int i = 0; i < 5; i++)
        pth_expect_values(opened.checkpoint, vrt_checkpoint_tensor(opened.checkpoint, i)->name,
                          counting, 4);
    pth_close(&opened);
}

/*
 * Tensors saved from a GPU, one of them a view of a storage in the way of the first versions; the
 * optimiser's storages stand before theirs in the file.
 */
static void test_several_storages(void)
{
    static const float values[] = { -1, -2, 1, 2, 3, 4 };
    static const float wanted[] = { 2, 3, 4 };
    struct pth_tensor momentum = { .name = "exp_avg", .key = "9", .n_storage = 2, .n_dims = 1,
                                   .dims = { 2 }, .strides = { 1 } };
    struct vrt_buf buf;
    struct pth_opened opened;

    begin(&buf);
    pth_ops(&buf, "}(");
    pth_text(&buf, "optimizer");
    pth_ops(&buf, "}(");
    pth_text(&buf, "state");
    pth_ops(&buf, "}K\0}");
    pth_entry(&buf, &momentum);
    pth_ops(&buf, "ssu");
    pth_text(&buf, "params");
    pth_ops(&buf, "}");
    pth_text(&buf, "w");
    pth_global(&buf, "torch._utils", "_rebuild_tensor");
    pth_ops(&buf, "((X\7\0\0\0storage");
    pth_global(&buf, "torch.cuda", "FloatStorage");
    pth_ops(&buf, "U\00210U\6cuda:0K\4(U\1vK\1K\3ttQK\0K\3\x85K\1\x85tRsu."
                  "\x80\x02](U\0019U\00210e.");
    pth_u64(&buf, 2);
    pth_bytes(&buf, values, 2 * sizeof(values[0]));
    pth_u64(&buf, 4);
    pth_bytes(&buf, values + 2, 4 * sizeof(values[0]));
    pth_open(buf.data, buf.size_bytes, "several storages", &opened);
    expect_str(opened.error.message, "");
    expect_int(vrt_checkpoint_n_tensors(opened.checkpoint), 1);
    pth_expect_values(opened.checkpoint, "w", wanted, 3);
    pth_close(&opened);
    vrt_buf_done(&buf);
}

static void test_big_endian(void)
{
    static const uint8_t values[] = { 0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0 };
    static const float wanted[] = { 1.0f, -2.5f };
    struct pth_tensor tensor = vector("w", 2);
    struct vrt_buf buf = { 0 };
    struct pth_opened opened;

    tensor.n_storage = 2;
    pth_prologue(&buf, 0);
    pth_ops(&buf, "}");
    pth_entry(&buf, &tensor);
    pth_ops(&buf, "s.]X\1\0\0\0000a.\0\0\0\0\0\0\0\2");
    pth_bytes(&buf, values, sizeof(values));
    pth_open(buf.data, buf.size_bytes, "big-endian", &opened);
    expect_str(opened.error.message, "");
    pth_expect_values(opened.checkpoint, "w", wanted, 2);
    pth_close(&opened);
    vrt_buf_done(&buf);
}

TEST_MAIN(
    { "strides", test_strides }, { "containers", test_containers },
    { "prefix-of-some", test_prefix_of_some }, { "nested-container", test_nested_container },
    { "other-entries", test_other_entries },
    { "ordered-dict-with-state", test_ordered_dict_with_state }, { "python2", test_python2 },
    { "rebuilders", test_rebuilders }, { "several-storages", test_several_storages },
    { "big-endian", test_big_endian },
)
