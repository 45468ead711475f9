/* SPDX-License-Identifier: MIT */
/* The tensors of a checkpoint: what may be added, and how they are found again. */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/format.h"

/* Far beyond any network, and little enough for what hostile files make us sort and keep. */
#define TENSORS_MAX (1 << 20)
#define NAME_BYTES_MAX 1024

int vrt_checkpoint_refuse(const struct vrt_checkpoint_source *source, const char *format, ...)
{
    char name[160], text[348];      /* together they fit into a struct vrt_error */
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return vrt_refuse(source->error, -EINVAL, VRT_CHECKPOINT_E_INVALID, "%s %s",
                      vrt_printable(source->name, name, sizeof(name)), text);
}

int vrt_checkpoint_refuse_memory(const struct vrt_checkpoint_source *source,
                                 const struct vrt_cp_arena *arena)
{
    char name[160];

    if (arena && arena->is_exhausted)
        return vrt_checkpoint_refuse(source, "asks for more memory than a file of its size can "
                                             "need: it is damaged or not a checkpoint");
    return vrt_refuse_errno(source->error, vrt_raise(-ENOMEM),
                            vrt_printable(source->name, name, sizeof(name)));
}

void vrt_checkpoint_entry_set_row_major(struct vrt_checkpoint_entry *entry)
{
    uint64_t stride = 1;        /* wraps around where dims are absurd, which adding it refuses */

    for (int d = entry->n_dims - 1; d >= 0; d--) {
        entry->strides[d] = (int64_t)(stride & INT64_MAX);
        stride *= (uint64_t)entry->dims[d];
    }
}

/* The product of the dims. Return: false where one is negative or the product overflows. */
static bool count_elements(const struct vrt_checkpoint_entry *entry, int64_t *ret_n)
{
    int64_t n = 1;

    for (int d = 0; d < entry->n_dims; d++)
        if (entry->dims[d] < 0 || __builtin_mul_overflow(n, entry->dims[d], &n))
            return false;
    *ret_n = n;
    return true;
}

/* The last element's place plus one. Return: more than any storage has where it overflows or a
 * stride is negative. */
static uint64_t reach_of(const struct vrt_checkpoint_entry *entry)
{
    int64_t reach = 1, step;

    if (entry->offset < 0 || __builtin_add_overflow(reach, entry->offset, &reach))
        return UINT64_MAX;
    for (int d = 0; d < entry->n_dims; d++)
        if (entry->strides[d] < 0 ||
            __builtin_mul_overflow(entry->dims[d] - 1, entry->strides[d], &step) ||
            __builtin_add_overflow(reach, step, &reach))
            return UINT64_MAX;
    return (uint64_t)reach;
}

static int check_view(struct vrt_checkpoint_source *source,
                      const struct vrt_checkpoint_entry *entry, int64_t *ret_n_elements)
{
    uint64_t element_bytes = vrt_checkpoint_dtype_bytes(entry->dtype);
    struct vrt_text_shown shown;
    const char *name = vrt_text_show(entry->name, &shown);
    int64_t n;

    /* An empty tensor touches nothing, wherever it is said to be. */
    if (!count_elements(entry, &n))
        return vrt_checkpoint_refuse(source, "is damaged: tensor \"%s\" has an impossible shape",
                                     name);
    if (n && reach_of(entry) > entry->storage_bytes / element_bytes)
        return vrt_checkpoint_refuse(source, "is damaged: tensor \"%s\" reaches beyond the data "
                                             "stored for it", name);
    if ((uint64_t)n > source->elements_left)
        return vrt_checkpoint_refuse(source, "is damaged: tensor \"%s\" has more elements than a "
                                             "file of this size can hold", name);
    *ret_n_elements = n;
    return 0;
}

static int make_room(struct vrt_checkpoint_source *source)
{
    struct vrt_checkpoint *cp = source->checkpoint;

    if (cp->n_tensors < cp->capacity)
        return 0;
    if (cp->n_tensors >= TENSORS_MAX)
        return vrt_checkpoint_refuse(source, "holds more than %d tensors", TENSORS_MAX);

    int capacity = cp->capacity ? cp->capacity * 2 : 64;
    struct vrt_checkpoint_tensor *tensors = reallocarray(cp->tensors, (size_t)capacity,
                                                         sizeof(*tensors));
    if (!tensors)
        return vrt_checkpoint_refuse_memory(source, NULL);
    cp->tensors = tensors;
    cp->capacity = capacity;
    return 0;
}

int vrt_checkpoint_add(struct vrt_checkpoint_source *source,
                       const struct vrt_checkpoint_entry *entry)
{
    struct vrt_checkpoint *cp = source->checkpoint;
    struct vrt_text_shown shown;
    int64_t n_elements = 0;
    int r;

    vrt_assert(entry->n_dims >= 0 && entry->n_dims <= VRT_CHECKPOINT_DIMS_MAX);
    if (!entry->name.size_bytes || entry->name.size_bytes > NAME_BYTES_MAX ||
        !vrt_text_is_clean(entry->name))
        return vrt_checkpoint_refuse(source, "is damaged: \"%s\" cannot be the name of a tensor",
                                     vrt_text_show(entry->name, &shown));
    r = check_view(source, entry, &n_elements);
    if (r < 0)
        return r;
    r = make_room(source);
    if (r < 0)
        return r;

    char *name = vrt_cp_arena_alloc(&cp->arena, entry->name.size_bytes + 1, 1);
    if (!name)
        return vrt_checkpoint_refuse_memory(source, &cp->arena);
    memcpy(name, entry->name.data, entry->name.size_bytes);
    name[entry->name.size_bytes] = '\0';

    struct vrt_checkpoint_tensor *tensor = &cp->tensors[cp->n_tensors++];
    *tensor = (struct vrt_checkpoint_tensor){
        .name = name, .dtype = entry->dtype, .n_dims = entry->n_dims, .n_elements = n_elements,
    };
    for (int d = 0; d < entry->n_dims; d++) {
        tensor->dims[d] = entry->dims[d];
        /* What is never stepped over was not checked either, and may be anything. */
        tensor->strides[d] = n_elements && entry->dims[d] > 1 ? entry->strides[d] : 0;
    }
    if (n_elements)
        tensor->data = (const uint8_t *)entry->storage +
                       (uint64_t)entry->offset * vrt_checkpoint_dtype_bytes(entry->dtype);
    source->elements_left -= (uint64_t)n_elements;
    return 0;
}

/* Takes `prefix` off every name, if every name has it and something after it. */
static bool strip_prefix(struct vrt_checkpoint *cp, const char *prefix)
{
    size_t size = strlen(prefix);

    for (int i = 0; i < cp->n_tensors; i++)
        if (strncmp(cp->tensors[i].name, prefix, size) != 0 || !cp->tensors[i].name[size])
            return false;
    for (int i = 0; i < cp->n_tensors; i++)
        cp->tensors[i].name += size;
    return cp->n_tensors > 0;
}

/* Names in files of mmagic's trainers: the network that results are made with, the averaged one
 * first, and what they have besides. */
static const char *const generators[] = { "generator_ema.", "generator." };
static const char *const of_training[] = {
    "discriminator.", "perceptual_loss.", "gan_loss.", "data_preprocessor.", "step_counter",
};

static bool begins_with(const char *name, const char *const *prefixes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* Of such a file, leaves the network alone. Tensors that it hasn't got are its own to miss. */
static void keep_generator(struct vrt_checkpoint *cp)
{
    bool has[VRT_ARRAY_SIZE(generators)] = { false };
    int n = 0;

    for (int i = 0; i < cp->n_tensors; i++) {
        const char *name = cp->tensors[i].name;

        for (size_t k = 0; k < VRT_ARRAY_SIZE(generators); k++)
            has[k] = has[k] || begins_with(name, &generators[k], 1);
        if (!begins_with(name, generators, VRT_ARRAY_SIZE(generators)) &&
            !begins_with(name, of_training, VRT_ARRAY_SIZE(of_training)))
            return;
    }
    if (!has[0] && !has[1])
        return;
    for (int i = 0; i < cp->n_tensors; i++)
        if (begins_with(cp->tensors[i].name, &generators[has[0] ? 0 : 1], 1))
            cp->tensors[n++] = cp->tensors[i];
    cp->n_tensors = n;
    strip_prefix(cp, generators[has[0] ? 0 : 1]);
}

static int compare_names(const void *a, const void *b)
{
    const struct vrt_checkpoint_tensor *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

int vrt_checkpoint_finish(struct vrt_checkpoint_source *source)
{
    struct vrt_checkpoint *cp = source->checkpoint;
    struct vrt_text_shown shown;

    if (!cp->n_tensors)
        return vrt_checkpoint_refuse(source, "holds no tensors: it is not a model's weights");
    while (strip_prefix(cp, "module.") || strip_prefix(cp, "_orig_mod."))
        ;
    keep_generator(cp);

    cp->by_name = calloc((size_t)cp->n_tensors, sizeof(*cp->by_name));
    if (!cp->by_name)
        return vrt_checkpoint_refuse_memory(source, NULL);
    for (int i = 0; i < cp->n_tensors; i++)
        cp->by_name[i] = &cp->tensors[i];
    qsort(cp->by_name, (size_t)cp->n_tensors, sizeof(*cp->by_name), compare_names);
    for (int i = 1; i < cp->n_tensors; i++) {
        const char *name = cp->by_name[i]->name;

        if (strcmp(name, cp->by_name[i - 1]->name) == 0)
            return vrt_checkpoint_refuse(source, "is damaged: it holds two tensors named \"%s\"",
                                         vrt_text_show((struct vrt_text){ name, strlen(name) },
                                                       &shown));
    }
    return source->look ? vrt_fold(source->look->look(source->look->ctx, cp, source->error)) : 0;
}

const struct vrt_checkpoint_tensor *vrt_checkpoint_find(const struct vrt_checkpoint *checkpoint,
                                                        const char *name)
{
    struct vrt_checkpoint_tensor wanted = { .name = name };
    const struct vrt_checkpoint_tensor *key = &wanted, **found;

    found = bsearch(&key, checkpoint->by_name, (size_t)checkpoint->n_tensors,
                    sizeof(*checkpoint->by_name), compare_names);
    return found ? *found : NULL;
}
