/* SPDX-License-Identifier: MIT */
/* A checkpoint's life, and which of the formats a file is. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/format.h"

/* The data of all tensors may be this much larger than the file: compressed or expanded ones. */
#define ELEMENTS_PER_BYTE_MAX 64
#define ELEMENTS_MIN (1 << 20)

/* What tells a file's kind lies here. */
#define BEGINNING_BYTES 512

/* Names, metadata and storages; a deflated archive may unfold to this multiple of its size. */
#define ARENA_PER_BYTE_MAX 48
#define ARENA_BYTES_MIN (4 << 20)

/* What a file may begin with, and then is. */
struct signature {
    size_t offset;
    const char *bytes;
    size_t n_bytes;
    int (*read)(struct vrt_checkpoint_source *source);  /* NULL: not one of ours ... */
    const char *what;                                   /* ... but this */
};

#define BYTES(s) s, sizeof(s) - 1

static const struct signature signatures[] = {
    { 0, BYTES("PK\3\4"), vrt_torch_zip_read, NULL },
    { 0, BYTES("PK\5\6"), vrt_torch_zip_read, NULL },
    { 0, BYTES("\x80"), vrt_torch_legacy_read, NULL },
    { 257, BYTES("ustar"), NULL, "is in PyTorch's oldest format (tar): load and save it once with "
                                 "a recent PyTorch" },
    { 0, BYTES("version https://git-lfs"), NULL, "is only the pointer to a file kept by Git LFS: "
                                                 "fetch the file itself (git lfs pull)" },
    { 0, BYTES("<"), NULL, "is a web page or XML, not a model: download the file itself" },
    { 0, BYTES("GGUF"), NULL, "is a GGUF file, whose networks are not among those known here" },
    { 0, BYTES("\x89HDF"), NULL, "is an HDF5 file: only PyTorch's .pth and .safetensors are read" },
    { 0, BYTES("\x1f\x8b"), NULL, "is compressed with gzip: unpack it first" },
    { 0, BYTES("\x47\x6b\x30\x01"), NULL, "looks like the weights of an ncnn network (.bin), which "
                                          "come with its .param: name that" },
};

static int read_any(struct vrt_checkpoint_source *source)
{
    int r = vrt_checkpoint_need(source, source->data, VRT_MIN(source->size_bytes, BEGINNING_BYTES));

    if (r < 0)
        return vrt_fold(r);
    /* A .safetensors file begins with a length, which may look like anything else. */
    if (vrt_safetensors_recognise(source))
        return vrt_safetensors_read(source);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(signatures); i++) {
        const struct signature *s = &signatures[i];

        if (source->size_bytes < s->offset || source->size_bytes - s->offset < s->n_bytes ||
            memcmp(source->data + s->offset, s->bytes, s->n_bytes) != 0)
            continue;
        return s->read ? s->read(source) : vrt_checkpoint_refuse(source, "%s", s->what);
    }
    return vrt_checkpoint_refuse(source, "is neither a .pth nor a .safetensors file, or it is cut "
                                         "short or damaged");
}

static uint64_t times_capped(uint64_t size, uint64_t factor, uint64_t least)
{
    uint64_t product;

    if (__builtin_mul_overflow(size, factor, &product) || product > SIZE_MAX / 2)
        return SIZE_MAX / 2;
    return VRT_MAX(product, least);
}

/* Fills `cp` from the bytes, which are its image's or the caller's. */
static int fill(struct vrt_checkpoint *cp, struct vrt_checkpoint_source *source)
{
    source->checkpoint = cp;
    source->elements_left = times_capped(source->size_bytes, ELEMENTS_PER_BYTE_MAX, ELEMENTS_MIN);
    vrt_cp_arena_init(&cp->arena, times_capped(source->size_bytes, ARENA_PER_BYTE_MAX,
                                            ARENA_BYTES_MIN));
    return vrt_fold(read_any(source));
}

int vrt_checkpoint_need(const struct vrt_checkpoint_source *source, const void *at, size_t n_bytes)
{
    char shown[160];

    if (!source->image)
        return 0;
    int r = vrt_image_need(source->image, (size_t)((const uint8_t *)at - source->data), n_bytes);
    if (r == -ENODATA)
        return vrt_checkpoint_refuse(source, "became shorter while it was read");
    return r < 0 ? vrt_refuse_errno(source->error, vrt_fold(r),
                                    vrt_printable(source->name, shown, sizeof(shown))) : 0;
}

int vrt_checkpoint_open(int fd, const char *name, const struct vrt_checkpoint_look *look,
                        struct vrt_checkpoint **ret_checkpoint, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *cp = calloc(1, sizeof(*cp));
    struct vrt_checkpoint_source source = { .name = name, .look = look, .error = error };
    int r;

    if (!cp)
        return vrt_checkpoint_refuse_memory(&source, NULL);
    r = vrt_image_init(&cp->image, fd, name, error);
    if (r != 0)
        return vrt_fold(r);
    source.image = &cp->image;
    source.data = cp->image.data;
    source.size_bytes = cp->image.size_bytes;
    r = fill(cp, &source);
    if (r != 0)
        return r;
    if (!source.keeps_image)
        vrt_image_done(&cp->image);
    *ret_checkpoint = VRT_STEAL(cp);
    return 0;
}

int vrt_checkpoint_open_memory(const void *data, size_t size, const char *name,
                               struct vrt_checkpoint **ret_checkpoint, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *cp = calloc(1, sizeof(*cp));
    struct vrt_checkpoint_source source = {
        .data = data, .size_bytes = size, .name = name, .error = error,
    };
    int r;

    if (!cp)
        return vrt_checkpoint_refuse_memory(&source, NULL);
    if (!size)
        return vrt_checkpoint_refuse(&source, "is empty");
    r = fill(cp, &source);
    if (r != 0)
        return r;
    *ret_checkpoint = VRT_STEAL(cp);
    return 0;
}

/* Copies text into the arena. */
static const char *copied(struct vrt_checkpoint *cp, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = vrt_cp_arena_alloc(&cp->arena, size, 1);

    return copy ? memcpy(copy, text, size) : NULL;
}

/* Adds a copy of the tensor. */
static int add_copy(struct vrt_checkpoint_source *source,
                    const struct vrt_checkpoint_tensor *tensor)
{
    const size_t n = (size_t)tensor->n_elements;
    float *values = vrt_cp_arena_alloc(&source->checkpoint->arena, n, sizeof(*values));
    struct vrt_checkpoint_entry entry = {
        .name = { tensor->name, strlen(tensor->name) }, .dtype = VRT_CHECKPOINT_F32,
        .n_dims = tensor->n_dims, .storage = values, .storage_bytes = n * sizeof(*values),
    };

    if (!values)
        return vrt_checkpoint_refuse_memory(source, NULL);
    vrt_checkpoint_read_f32(tensor, values);
    memcpy(entry.dims, tensor->dims, sizeof(entry.dims));
    vrt_checkpoint_entry_set_row_major(&entry);
    return vrt_fold(vrt_checkpoint_add(source, &entry));
}

int vrt_checkpoint_new(const struct vrt_checkpoint_tensor *tensors, int n,
                       const struct vrt_checkpoint_label *label, const char *name,
                       struct vrt_checkpoint **ret_checkpoint, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *cp = calloc(1, sizeof(*cp));
    struct vrt_checkpoint_source source = { .name = name, .checkpoint = cp, .error = error,
                                            .elements_left = SIZE_MAX };

    if (!cp)
        return vrt_checkpoint_refuse_memory(&source, NULL);
    vrt_cp_arena_init(&cp->arena, SIZE_MAX);
    cp->metadata = vrt_cp_arena_alloc(&cp->arena, 1, sizeof(*cp->metadata));
    if (cp->metadata)
        *cp->metadata = (struct vrt_checkpoint_label){ copied(cp, label->key),
                                                       copied(cp, label->value) };
    if (!cp->metadata || !cp->metadata->key || !cp->metadata->value)
        return vrt_checkpoint_refuse_memory(&source, NULL);
    cp->n_metadata = 1;
    int r = 0;
    for (int i = 0; i < n && r == 0; i++)
        r = add_copy(&source, &tensors[i]);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_checkpoint_finish(&source);
    if (r < 0)
        return vrt_fold(r);
    *ret_checkpoint = VRT_STEAL(cp);
    return 0;
}

struct vrt_checkpoint *vrt_checkpoint_free(struct vrt_checkpoint *checkpoint)
{
    if (!checkpoint)
        return NULL;
    free(checkpoint->by_name);
    free(checkpoint->tensors);
    vrt_cp_arena_done(&checkpoint->arena);
    vrt_image_done(&checkpoint->image);
    free(checkpoint);
    return NULL;
}

int vrt_checkpoint_n_tensors(const struct vrt_checkpoint *checkpoint)
{
    return checkpoint->n_tensors;
}

const struct vrt_checkpoint_tensor *vrt_checkpoint_tensor(const struct vrt_checkpoint *checkpoint,
                                                          int i)
{
    vrt_assert(i >= 0 && i < checkpoint->n_tensors);
    return &checkpoint->tensors[i];
}

const char *vrt_checkpoint_metadata(const struct vrt_checkpoint *checkpoint, const char *key)
{
    for (int i = 0; i < checkpoint->n_metadata; i++)
        if (strcmp(checkpoint->metadata[i].key, key) == 0)
            return checkpoint->metadata[i].value;
    return NULL;
}
