/* SPDX-License-Identifier: MIT */
/*
 * The pickle machine, protocols 2 to 5
 *
 * A pickle is a row of opcodes, each a byte and perhaps an operand. They push values, put the
 * topmost ones into containers, and keep values in a numbered memo to push them again. A mark on
 * the stack says where a container's values begin: nothing below it can be reached until it is
 * gone. The value left at the end is the result.
 *
 * Each opcode is a row of the table at the end; `type` and `width` let one function serve many.
 * No operand is believed: lengths are compared with what is left of the pickle, counts with what
 * is on the stack, memo numbers with what was kept.
 */

#include "engine/checkpoint/pickle.h"

#include <errno.h>
#include <string.h>

/* What the values of an honest pickle take per byte of it, many times over. */
#define ARENA_PER_BYTE 128
#define ARENA_BYTES_MIN (1 << 20)
#define ARENA_BYTES_MAX (512 << 20)

/* Memo numbers count up; some writers begin at 1. */
#define MEMO_SKIP_MAX 16

struct opcode {
    /* Return: 0; -EINVAL, -ENOMEM with the sentence said. */
    int (*run)(struct vrt_pickle *pickle, const struct opcode *opcode);
    enum vrt_pickle_type type;
    int width;                  /* bytes of the number that follows, or a count */
};

void vrt_pickle_init(struct vrt_pickle *pickle, struct vrt_checkpoint_source *source,
                     size_t size_bytes)
{
    size_t budget = VRT_MIN(size_bytes, (size_t)ARENA_BYTES_MAX / ARENA_PER_BYTE) * ARENA_PER_BYTE;

    *pickle = (struct vrt_pickle){ .source = source };
    vrt_cp_arena_init(&pickle->arena, VRT_MAX(budget, (size_t)ARENA_BYTES_MIN));
}

void vrt_pickle_done(struct vrt_pickle *pickle)
{
    vrt_cp_arena_done(&pickle->arena);
    *pickle = (struct vrt_pickle){ 0 };
}

int vrt_pickle_refuse_damaged(const struct vrt_pickle *pickle)
{
    return vrt_checkpoint_refuse(pickle->source, "is damaged: the list of its tensors (a pickle) "
                                                 "makes no sense");
}

static int refuse_short(const struct vrt_pickle *pickle)
{
    return vrt_checkpoint_refuse(pickle->source, "is cut short: the list of its tensors (a "
                                                 "pickle) has no end");
}

/* Room for `n` more. What was outgrown stays in the arena: doubling bounds it by what is used. */
static int reserve(struct vrt_pickle *pickle, struct vrt_pickle_items *items, size_t n)
{
    size_t capacity = VRT_MAX(items->capacity * 2, (size_t)4);
    struct vrt_pickle_value *values;

    if (n <= items->capacity - items->n)
        return 0;
    capacity = VRT_MAX(capacity, items->n + n);
    values = vrt_cp_arena_alloc(&pickle->arena, capacity, sizeof(*values));
    if (!values)
        return vrt_checkpoint_refuse_memory(pickle->source, &pickle->arena);
    if (items->n)
        memcpy(values, items->values, items->n * sizeof(*values));
    items->values = values;
    items->capacity = capacity;
    return 0;
}

int vrt_pickle_append(struct vrt_pickle *pickle, struct vrt_pickle_items *items,
                      const struct vrt_pickle_value *value)
{
    int r = reserve(pickle, items, 1);

    if (r < 0)
        return r;
    items->values[items->n++] = *value;
    return 0;
}

const struct vrt_pickle_value *vrt_pickle_find(const struct vrt_pickle_value *dict,
                                               const char *key)
{
    if (dict->type != VRT_PICKLE_DICT)
        return NULL;
    for (size_t i = dict->items->n; i >= 2; i -= 2) {
        const struct vrt_pickle_value *k = &dict->items->values[i - 2];

        if ((k->type == VRT_PICKLE_TEXT || k->type == VRT_PICKLE_BYTES) &&
            vrt_text_is(k->text, key))
            return k + 1;
    }
    return NULL;
}

static int push(struct vrt_pickle *pickle, struct vrt_pickle_value value)
{
    return vrt_pickle_append(pickle, &pickle->stack, &value);
}

/* The height below which nothing may be taken now. */
static size_t floor_of(const struct vrt_pickle *pickle)
{
    return pickle->marks.n ? (size_t)pickle->marks.values[pickle->marks.n - 1].integer : 0;
}

/* The n topmost values, lowest first; they stay. NULL: there are fewer. */
static struct vrt_pickle_value *top(struct vrt_pickle *pickle, size_t n)
{
    if (pickle->stack.n - floor_of(pickle) < n)
        return NULL;
    return pickle->stack.values + pickle->stack.n - n;
}

/* A little-endian number of `width` bytes, at most 8. */
static int take_number(struct vrt_pickle *pickle, int width, uint64_t *ret_number)
{
    uint64_t number = 0;

    if (pickle->end - pickle->at < width)
        return refuse_short(pickle);
    for (int i = 0; i < width; i++)
        number |= (uint64_t)pickle->at[i] << 8 * i;
    pickle->at += width;
    *ret_number = number;
    return 0;
}

static int take_bytes(struct vrt_pickle *pickle, uint64_t n, struct vrt_text *ret_text)
{
    if (n > (uint64_t)(pickle->end - pickle->at))
        return refuse_short(pickle);
    *ret_text = (struct vrt_text){ (const char *)pickle->at, (size_t)n };
    pickle->at += n;
    return 0;
}

/* Up to the next line feed, which is taken too. */
static int take_line(struct vrt_pickle *pickle, struct vrt_text *ret_text)
{
    const uint8_t *feed = memchr(pickle->at, '\n', (size_t)(pickle->end - pickle->at));

    if (!feed)
        return refuse_short(pickle);
    *ret_text = (struct vrt_text){ (const char *)pickle->at, (size_t)(feed - pickle->at) };
    pickle->at = feed + 1;
    return 0;
}

static int run_skip(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    uint64_t ignored;

    return take_number(pickle, opcode->width, &ignored);
}

/* None, True, False (`width` is the value), and a float, which nobody asks for. */
static int run_simple(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    return push(pickle, (struct vrt_pickle_value){ opcode->type, .integer = opcode->width });
}

static int run_float(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    int r = run_skip(pickle, opcode);

    return r < 0 ? r : push(pickle, (struct vrt_pickle_value){ VRT_PICKLE_FLOAT, .integer = 0 });
}

static int run_int(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    uint64_t number = 0;
    int r = take_number(pickle, opcode->width, &number);

    if (r < 0)
        return r;
    /* Of the three widths only the one of 4 bytes has a sign. */
    int64_t value = opcode->width == 4 ? (int64_t)(int32_t)(uint32_t)number : (int64_t)number;
    return push(pickle, (struct vrt_pickle_value){ VRT_PICKLE_INT, .integer = value });
}

/* Two's complement of a stated length. */
static int run_long(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    struct vrt_pickle_value value = { .type = VRT_PICKLE_LONG };
    uint64_t n = 0, bits = 0;
    int r = take_number(pickle, opcode->width, &n);

    if (r == 0)
        r = take_bytes(pickle, n, &value.text);
    if (r < 0 || n > 8)
        return r < 0 ? r : push(pickle, value);
    for (uint64_t i = 0; i < n; i++)
        bits |= (uint64_t)(uint8_t)value.text.data[i] << 8 * i;
    if (n && n < 8 && value.text.data[n - 1] & 0x80)
        bits |= UINT64_MAX << 8 * n;
    return push(pickle, (struct vrt_pickle_value){ VRT_PICKLE_INT, .integer = (int64_t)bits });
}

static int run_text(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    struct vrt_pickle_value value = { .type = opcode->type };
    uint64_t n = 0;
    int r = take_number(pickle, opcode->width, &n);

    if (r < 0)
        return r;
    r = take_bytes(pickle, n, &value.text);
    return r < 0 ? r : push(pickle, value);
}

/* A container of the n topmost values, which leave the stack. */
static int collect(struct vrt_pickle *pickle, enum vrt_pickle_type type, size_t n)
{
    struct vrt_pickle_value value = { .type = type };
    int r;

    value.items = vrt_cp_arena_alloc(&pickle->arena, 1, sizeof(*value.items));
    if (!value.items)
        return vrt_checkpoint_refuse_memory(pickle->source, &pickle->arena);
    *value.items = (struct vrt_pickle_items){ 0 };
    if (n) {
        r = reserve(pickle, value.items, n);
        if (r < 0)
            return r;
        memcpy(value.items->values, pickle->stack.values + pickle->stack.n - n,
               n * sizeof(*value.items->values));
        value.items->n = n;
        pickle->stack.n -= n;
    }
    return push(pickle, value);
}

/* A container of as many values as `width` says. */
static int run_collect(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    size_t n = (size_t)opcode->width;

    if (n && !top(pickle, n))
        return vrt_pickle_refuse_damaged(pickle);
    return collect(pickle, opcode->type, n);
}

static int run_mark(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    (void)opcode;
    return vrt_pickle_append(pickle, &pickle->marks, &(struct vrt_pickle_value){
        VRT_PICKLE_INT, .integer = (int64_t)pickle->stack.n,
    });
}

/* Takes the last mark off. *ret_n: how many values lie above it. */
static int take_mark(struct vrt_pickle *pickle, size_t *ret_n)
{
    if (!pickle->marks.n)
        return vrt_pickle_refuse_damaged(pickle);
    *ret_n = pickle->stack.n - floor_of(pickle);
    pickle->marks.n--;
    return 0;
}

/* A container of all values above the mark. */
static int run_collect_marked(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    size_t n = 0;
    int r = take_mark(pickle, &n);

    if (r < 0)
        return r;
    if (opcode->type == VRT_PICKLE_DICT && n % 2)
        return vrt_pickle_refuse_damaged(pickle);
    if (opcode->type != VRT_PICKLE_OPAQUE)
        return collect(pickle, opcode->type, n);
    pickle->stack.n -= n;
    return push(pickle, (struct vrt_pickle_value){ .type = VRT_PICKLE_OPAQUE });
}

static int run_pop(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    (void)opcode;
    if (!top(pickle, 1))
        return vrt_pickle_refuse_damaged(pickle);
    pickle->stack.n--;
    return 0;
}

static int run_pop_mark(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    size_t n = 0;
    int r = take_mark(pickle, &n);

    (void)opcode;
    if (r < 0)
        return r;
    pickle->stack.n -= n;
    return 0;
}

static int run_duplicate(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    struct vrt_pickle_value *value = top(pickle, 1);

    (void)opcode;
    return value ? push(pickle, *value) : vrt_pickle_refuse_damaged(pickle);
}

/* Adds the n topmost values to the container under them; what is opaque swallows them. */
static int add_items(struct vrt_pickle *pickle, const struct opcode *opcode, size_t n)
{
    struct vrt_pickle_value *target = top(pickle, n + 1);
    int r;

    if (!target || (opcode->type == VRT_PICKLE_DICT && n % 2) ||
        (target->type != opcode->type && target->type != VRT_PICKLE_OPAQUE))
        return vrt_pickle_refuse_damaged(pickle);
    pickle->stack.n -= n;
    if (target->type == VRT_PICKLE_OPAQUE || !n)
        return 0;
    /* The values are still above the stack's end: nothing was pushed since. */
    r = reserve(pickle, target->items, n);
    if (r < 0)
        return r;
    memcpy(target->items->values + target->items->n, target + 1, n * sizeof(*target));
    target->items->n += n;
    return 0;
}

static int run_add(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    return add_items(pickle, opcode, (size_t)opcode->width);
}

static int run_add_marked(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    size_t n = 0;
    int r = take_mark(pickle, &n);

    return r < 0 ? r : add_items(pickle, opcode, n);
}

static int push_global(struct vrt_pickle *pickle, struct vrt_text module, struct vrt_text name)
{
    struct vrt_pickle_global *global = vrt_cp_arena_alloc(&pickle->arena, 1, sizeof(*global));

    if (!global)
        return vrt_checkpoint_refuse_memory(pickle->source, &pickle->arena);
    *global = (struct vrt_pickle_global){ module, name, vrt_pickle_find_known(module, name) };
    return push(pickle, (struct vrt_pickle_value){ VRT_PICKLE_GLOBAL, .global = global });
}

static int run_global(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    struct vrt_text module = { 0 }, name = { 0 };
    int r = take_line(pickle, &module);

    (void)opcode;
    if (r < 0)
        return r;
    r = take_line(pickle, &name);
    return r < 0 ? r : push_global(pickle, module, name);
}

static int run_stack_global(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    struct vrt_pickle_value *pair = top(pickle, 2);

    (void)opcode;
    if (!pair || pair[0].type != VRT_PICKLE_TEXT || pair[1].type != VRT_PICKLE_TEXT)
        return vrt_pickle_refuse_damaged(pickle);
    pickle->stack.n -= 2;
    return push_global(pickle, pair[0].text, pair[1].text);
}

/* REDUCE and its kin: callee, arguments and, where `width` is 3, named arguments. */
static int run_call(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    struct vrt_pickle_value *call = top(pickle, (size_t)opcode->width);
    struct vrt_pickle_value result;
    int r;

    if (!call)
        return vrt_pickle_refuse_damaged(pickle);
    r = vrt_pickle_call(pickle, &call[0], &call[1], &result);
    if (r < 0)
        return r;
    pickle->stack.n -= (size_t)opcode->width;
    return push(pickle, result);
}

/* INST, of protocol 0: its callee's name in the pickle, its arguments above the mark. */
static int run_instance(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    static const struct opcode arguments = { .run = run_collect_marked, .type = VRT_PICKLE_TUPLE };
    static const struct opcode call = { run_call, .width = 2 };
    int r = run_global(pickle, opcode);

    if (r < 0)
        return r;
    struct vrt_pickle_value callee = pickle->stack.values[--pickle->stack.n];
    r = run_collect_marked(pickle, &arguments);
    if (r < 0)
        return r;
    r = push(pickle, callee);
    if (r < 0)
        return r;
    struct vrt_pickle_value *pair = pickle->stack.values + pickle->stack.n - 2;
    pair[1] = pair[0];
    pair[0] = callee;
    return run_call(pickle, &call);
}

/* A value of protocol 0, written as a line: no checkpoint needs one, but it may stand there. */
static int run_line(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    struct vrt_text ignored;
    int r = take_line(pickle, &ignored);

    (void)opcode;
    return r < 0 ? r : push(pickle, (struct vrt_pickle_value){ .type = VRT_PICKLE_OPAQUE });
}

/* A state for the object below it: attributes, which none of the data kept here has. */
static int run_build(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    struct vrt_pickle_value *pair = top(pickle, 2);

    (void)opcode;
    if (!pair || (pair[0].type != VRT_PICKLE_DICT && pair[0].type != VRT_PICKLE_OPAQUE &&
                  pair[0].type != VRT_PICKLE_TENSOR))
        return vrt_pickle_refuse_damaged(pickle);
    pickle->stack.n--;
    return 0;
}

/* Keeps the topmost value, under the next number or one that was used already. */
static int remember(struct vrt_pickle *pickle, uint64_t number)
{
    struct vrt_pickle_items *memo = &pickle->memo;
    struct vrt_pickle_value *value = top(pickle, 1);
    int r;

    if (!value || number > memo->n + MEMO_SKIP_MAX)
        return vrt_pickle_refuse_damaged(pickle);
    while (memo->n <= number) {
        r = vrt_pickle_append(pickle, memo, &(struct vrt_pickle_value){
            .type = VRT_PICKLE_OPAQUE });
        if (r < 0)
            return r;
    }
    memo->values[number] = *value;
    return 0;
}

static int run_put(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    uint64_t number = 0;
    int r = take_number(pickle, opcode->width, &number);

    return r < 0 ? r : remember(pickle, number);
}

static int run_memoize(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    (void)opcode;
    return remember(pickle, pickle->memo.n);
}

static int run_get(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    uint64_t number = 0;
    int r = take_number(pickle, opcode->width, &number);

    if (r < 0)
        return r;
    if (number >= pickle->memo.n)
        return vrt_pickle_refuse_damaged(pickle);
    return push(pickle, pickle->memo.values[number]);
}

static int run_persistent(struct vrt_pickle *pickle, const struct opcode *opcode)
{
    struct vrt_pickle_value *id = top(pickle, 1), result;
    int r;

    (void)opcode;
    if (!id)
        return vrt_pickle_refuse_damaged(pickle);
    r = vrt_pickle_make_storage(pickle, id, &result);
    if (r < 0)
        return r;
    pickle->stack.n--;
    return push(pickle, result);
}

static const struct opcode opcodes[256] = {
    [0x80] = { run_skip, .width = 1 },                                  /* PROTO */
    [0x95] = { run_skip, .width = 8 },                                  /* FRAME */
    ['N'] = { .run = run_simple, .type = VRT_PICKLE_NONE },
    [0x88] = { run_simple, VRT_PICKLE_BOOL, 1 },                        /* NEWTRUE */
    [0x89] = { run_simple, VRT_PICKLE_BOOL, 0 },                        /* NEWFALSE */
    ['K'] = { run_int, .width = 1 },                                    /* BININT1 */
    ['M'] = { run_int, .width = 2 },                                    /* BININT2 */
    ['J'] = { run_int, .width = 4 },                                    /* BININT */
    [0x8a] = { run_long, .width = 1 },                                  /* LONG1 */
    [0x8b] = { run_long, .width = 4 },                                  /* LONG4 */
    ['G'] = { run_float, .width = 8 },                                  /* BINFLOAT */
    ['I'] = { .run = run_line },
    ['L'] = { .run = run_line },
    ['F'] = { .run = run_line },
    ['S'] = { .run = run_line },
    ['V'] = { .run = run_line },
    [0x8c] = { run_text, VRT_PICKLE_TEXT, 1 },                          /* SHORT_BINUNICODE */
    ['X'] = { run_text, VRT_PICKLE_TEXT, 4 },                           /* BINUNICODE */
    [0x8d] = { run_text, VRT_PICKLE_TEXT, 8 },                          /* BINUNICODE8 */
    ['U'] = { run_text, VRT_PICKLE_TEXT, 1 },                           /* SHORT_BINSTRING */
    ['T'] = { run_text, VRT_PICKLE_TEXT, 4 },                           /* BINSTRING */
    ['C'] = { run_text, VRT_PICKLE_BYTES, 1 },                          /* SHORT_BINBYTES */
    ['B'] = { run_text, VRT_PICKLE_BYTES, 4 },                          /* BINBYTES */
    [0x8e] = { run_text, VRT_PICKLE_BYTES, 8 },                         /* BINBYTES8 */
    [0x96] = { run_text, VRT_PICKLE_BYTES, 8 },                         /* BYTEARRAY8 */
    [')'] = { run_collect, VRT_PICKLE_TUPLE, 0 },                       /* EMPTY_TUPLE */
    [0x85] = { run_collect, VRT_PICKLE_TUPLE, 1 },                      /* TUPLE1 */
    [0x86] = { run_collect, VRT_PICKLE_TUPLE, 2 },                      /* TUPLE2 */
    [0x87] = { run_collect, VRT_PICKLE_TUPLE, 3 },                      /* TUPLE3 */
    [']'] = { run_collect, VRT_PICKLE_LIST, 0 },                        /* EMPTY_LIST */
    ['}'] = { run_collect, VRT_PICKLE_DICT, 0 },                        /* EMPTY_DICT */
    [0x8f] = { .run = run_simple, .type = VRT_PICKLE_OPAQUE },          /* EMPTY_SET */
    ['('] = { .run = run_mark },
    ['t'] = { .run = run_collect_marked, .type = VRT_PICKLE_TUPLE },
    ['l'] = { .run = run_collect_marked, .type = VRT_PICKLE_LIST },
    ['d'] = { .run = run_collect_marked, .type = VRT_PICKLE_DICT },
    [0x91] = { .run = run_collect_marked, .type = VRT_PICKLE_OPAQUE },  /* FROZENSET */
    ['0'] = { .run = run_pop },
    ['1'] = { .run = run_pop_mark },
    ['2'] = { .run = run_duplicate },
    ['a'] = { run_add, VRT_PICKLE_LIST, 1 },                            /* APPEND */
    ['s'] = { run_add, VRT_PICKLE_DICT, 2 },                            /* SETITEM */
    ['e'] = { .run = run_add_marked, .type = VRT_PICKLE_LIST },         /* APPENDS */
    ['u'] = { .run = run_add_marked, .type = VRT_PICKLE_DICT },         /* SETITEMS */
    [0x90] = { .run = run_add_marked, .type = VRT_PICKLE_OPAQUE },      /* ADDITEMS */
    ['c'] = { .run = run_global },
    [0x93] = { .run = run_stack_global },
    ['R'] = { run_call, .width = 2 },                                   /* REDUCE */
    [0x81] = { run_call, .width = 2 },                                  /* NEWOBJ */
    [0x92] = { run_call, .width = 3 },                                  /* NEWOBJ_EX */
    ['i'] = { .run = run_instance },
    ['b'] = { .run = run_build },
    ['q'] = { run_put, .width = 1 },                                    /* BINPUT */
    ['r'] = { run_put, .width = 4 },                                    /* LONG_BINPUT */
    [0x94] = { .run = run_memoize },
    ['h'] = { run_get, .width = 1 },                                    /* BINGET */
    ['j'] = { run_get, .width = 4 },                                    /* LONG_BINGET */
    ['Q'] = { .run = run_persistent },                                  /* BINPERSID */
};

int vrt_pickle_read(struct vrt_pickle *pickle, const uint8_t *data, size_t size,
                    struct vrt_pickle_value *ret_root, size_t *ret_used_bytes)
{
    pickle->at = data;
    pickle->end = data + size;
    /* A file of the old format has several pickles: their values live on, the machine does not. */
    pickle->stack.n = pickle->marks.n = pickle->memo.n = 0;
    while (pickle->at < pickle->end && *pickle->at != '.') {
        const struct opcode *opcode = &opcodes[*pickle->at++];
        int r;

        if (!opcode->run)
            return vrt_pickle_refuse_damaged(pickle);
        r = opcode->run(pickle, opcode);
        if (r < 0)
            return r;
    }
    if (pickle->at == pickle->end)
        return refuse_short(pickle);
    if (pickle->stack.n != 1 || pickle->marks.n)
        return vrt_pickle_refuse_damaged(pickle);
    *ret_root = pickle->stack.values[0];
    *ret_used_bytes = (size_t)(pickle->at - data) + 1;
    return 0;
}
