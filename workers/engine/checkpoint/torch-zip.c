/* SPDX-License-Identifier: MIT */
/*
 * .pth as PyTorch has written it since 1.6: a zip archive
 *
 *     NAME/data.pkl      the tree
 *     NAME/data/KEY      each storage
 *     NAME/byteorder     "little" or "big"; little where it is missing
 *
 * libzip unpacks, and checks the sums of, what is needed; the rest is not looked at. Members are
 * found by an index of our own: libzip's ignores names that come twice and are not UTF-8.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "engine/checkpoint/torch.h"

/* Weights hardly compress: an archive that unfolds to more than this is a trap. */
#define UNPACKED_PER_BYTE_MAX 32
#define UNPACKED_BYTES_MIN (1 << 20)

#define PICKLE_BYTES_MAX (64 << 20)

struct member {
    struct vrt_text name;       /* after NAME/ */
    zip_uint64_t index;
};

/* libzip's view of the file: it reads what it needs, and nothing of that stays in the image. */
struct bytes {
    const struct vrt_checkpoint_source *source;
    zip_int64_t at;
    zip_error_t error;
};

struct reader {
    struct vrt_checkpoint_source *source;
    struct bytes bytes;
    zip_t *zip;
    struct vrt_pickle pickle;
    struct member *members;     /* under NAME/, sorted by name */
    size_t n_members;
    uint64_t unpacked_left_bytes;
};

static int refuse_zip(const struct vrt_checkpoint_source *source, const zip_error_t *error)
{
    zip_error_t copy;           /* holds its own text, which the archive's would keep for long */
    int r;

    if (zip_error_code_zip(error) == ZIP_ER_MEMORY)
        return vrt_checkpoint_refuse_memory(source, NULL);
    if (zip_error_code_zip(error) == ZIP_ER_NOZIP)
        return vrt_checkpoint_refuse(source, "is cut short or damaged: it begins like a .pth "
                                     "archive, but the archive's end is missing");
    zip_error_init(&copy);
    zip_error_set(&copy, zip_error_code_zip(error), zip_error_code_system(error));
    r = vrt_checkpoint_refuse(source, "is cut short or damaged: it cannot be unpacked (%s)",
                              zip_error_strerror(&copy));
    zip_error_fini(&copy);
    return r;
}

static zip_int64_t read_bytes(struct bytes *bytes, void *to, zip_uint64_t n)
{
    const struct vrt_checkpoint_source *source = bytes->source;
    int r = 0;

    n = VRT_MIN(n, source->size_bytes - (zip_uint64_t)bytes->at);
    if (source->image)
        r = vrt_image_copy(source->image, (size_t)bytes->at, to, n);
    else
        memcpy(to, source->data + bytes->at, n);
    if (r < 0) {
        zip_error_set(&bytes->error, ZIP_ER_READ, -r);
        return -1;
    }
    bytes->at += (zip_int64_t)n;
    return (zip_int64_t)n;
}

static zip_int64_t on_command(void *ctx, void *data, zip_uint64_t n, zip_source_cmd_t command)
{
    struct bytes *bytes = ctx;
    zip_int64_t at;

    switch (command) {
    case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_SEEKABLE;
    case ZIP_SOURCE_OPEN:
        bytes->at = 0;
        return 0;
    case ZIP_SOURCE_READ:
        return read_bytes(bytes, data, n);
    case ZIP_SOURCE_SEEK:
        at = zip_source_seek_compute_offset((zip_uint64_t)bytes->at, bytes->source->size_bytes,
                                            data, n, &bytes->error);
        if (at >= 0)
            bytes->at = at;
        return at < 0 ? -1 : 0;
    case ZIP_SOURCE_TELL:
        return bytes->at;
    case ZIP_SOURCE_STAT:
        zip_stat_init(data);
        ((zip_stat_t *)data)->size = bytes->source->size_bytes;
        ((zip_stat_t *)data)->valid = ZIP_STAT_SIZE;
        return sizeof(zip_stat_t);
    case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&bytes->error, data, n);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
        return 0;
    default:
        zip_error_set(&bytes->error, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
}

static int open_archive(struct reader *reader)
{
    zip_source_t *source;
    zip_error_t error;
    int r = 0;

    reader->bytes = (struct bytes){ .source = reader->source };
    zip_error_init(&reader->bytes.error);
    zip_error_init(&error);
    source = zip_source_function_create(on_command, &reader->bytes, &error);
    if (source)
        reader->zip = zip_open_from_source(source, ZIP_RDONLY, &error);
    if (!reader->zip) {
        r = refuse_zip(reader->source, &error);
        zip_source_free(source);
    }
    zip_error_fini(&error);
    return r;
}

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    return vrt_text_compare(x->name, y->name);
}

/* The name of member `i`, empty where it has none. It lives as long as the archive is open. */
static struct vrt_text name_of(const struct reader *reader, zip_int64_t i)
{
    const char *name = zip_get_name(reader->zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);

    return (struct vrt_text){ name ? name : "", name ? strlen(name) : 0 };
}

/* The folder, "/" included, that data.pkl is in. */
static int find_folder(struct reader *reader, zip_int64_t n, struct vrt_text *ret_folder)
{
    static const char pickle[] = "data.pkl";
    bool is_found = false;

    for (zip_int64_t i = 0; i < n && !is_found; i++) {
        struct vrt_text name = name_of(reader, i);
        const char *slash = memchr(name.data, '/', name.size_bytes);
        size_t folder_bytes = slash ? (size_t)(slash + 1 - name.data) : 0;

        if (strcmp(name.data + folder_bytes, pickle) == 0) {
            *ret_folder = (struct vrt_text){ name.data, folder_bytes };
            is_found = true;
        }
    }
    if (!is_found)
        return vrt_checkpoint_refuse(reader->source, "is a zip archive, but no model: it has no "
                                                     "data.pkl");
    return 0;
}

static int list_members(struct reader *reader)
{
    zip_int64_t n = zip_get_num_entries(reader->zip, 0);
    struct vrt_text folder = { "", 0 };
    int r = find_folder(reader, n, &folder);

    if (r < 0)
        return r;
    reader->members = calloc((size_t)n, sizeof(*reader->members));
    if (!reader->members)
        return vrt_checkpoint_refuse_memory(reader->source, NULL);
    for (zip_int64_t i = 0; i < n; i++) {
        struct vrt_text name = name_of(reader, i);

        if (name.size_bytes < folder.size_bytes ||
            memcmp(name.data, folder.data, folder.size_bytes) != 0)
            continue;
        reader->members[reader->n_members++] = (struct member){
            { name.data + folder.size_bytes, name.size_bytes - folder.size_bytes },
            (zip_uint64_t)i,
        };
    }
    qsort(reader->members, reader->n_members, sizeof(*reader->members), compare_members);
    for (size_t i = 1; i < reader->n_members; i++)
        if (compare_members(&reader->members[i - 1], &reader->members[i]) == 0)
            return vrt_checkpoint_refuse(reader->source, "is damaged: a member of its archive "
                                                         "comes twice");
    return 0;
}

/* The member of this name, or NULL. */
static const struct member *find_member(const struct reader *reader, struct vrt_text name)
{
    struct member wanted = { .name = name };

    return bsearch(&wanted, reader->members, reader->n_members, sizeof(*reader->members),
                   compare_members);
}

/* Unpacks `size` bytes, all that the file has, to `to`. */
static int unpack(struct reader *reader, zip_file_t *file, uint8_t *to, uint64_t size)
{
    uint64_t done = 0;
    uint8_t past_end;

    while (done < size) {
        zip_int64_t n = zip_fread(file, to + done, size - done);

        if (n < 0)
            return refuse_zip(reader->source, zip_file_get_error(file));
        if (n == 0)
            return vrt_checkpoint_refuse(reader->source, "is cut short or damaged: a member of its "
                                                         "archive ends early");
        done += (uint64_t)n;
    }
    /* Only the read that meets the end compares the checksum. */
    if (zip_fread(file, &past_end, 1) != 0)
        return vrt_checkpoint_refuse(reader->source, "is damaged: a member of its archive is not "
                                                     "what was saved");
    return 0;
}

/* Makes room for a member of at most `max_bytes` from `arena`; nothing is read. */
static int place_member(struct reader *reader, const struct member *member, uint64_t max_bytes,
                        struct vrt_cp_arena *arena, struct vrt_text *ret_bytes)
{
    zip_stat_t st;

    zip_stat_init(&st);
    if (zip_stat_index(reader->zip, member->index, 0, &st) < 0)
        return refuse_zip(reader->source, zip_get_error(reader->zip));
    if (!(st.valid & ZIP_STAT_SIZE) || !(st.valid & ZIP_STAT_COMP_METHOD) ||
        (st.comp_method != ZIP_CM_STORE && st.comp_method != ZIP_CM_DEFLATE))
        return vrt_checkpoint_refuse(reader->source, "is packed in a way that PyTorch does not "
                                                     "use: unpack it and save it again");
    if (st.size > max_bytes || st.size > reader->unpacked_left_bytes)
        return vrt_checkpoint_refuse(reader->source, "unpacks to more than a model of its size "
                                                     "can need: it is damaged or a trap");
    const char *bytes = vrt_cp_arena_alloc(arena, st.size, 1);
    if (!bytes)
        return vrt_checkpoint_refuse_memory(reader->source, arena);
    reader->unpacked_left_bytes -= st.size;
    *ret_bytes = (struct vrt_text){ bytes, st.size };
    return 0;
}

/* Unpacks a member to where place_member() made room for it. */
static int fill_member(struct reader *reader, const struct member *member, const void *bytes,
                       uint64_t size)
{
    zip_file_t *file = zip_fopen_index(reader->zip, member->index, 0);

    if (!file)
        return refuse_zip(reader->source, zip_get_error(reader->zip));
    int r = unpack(reader, file, (uint8_t *)(uintptr_t)bytes, size);
    zip_fclose(file);
    return r;
}

static int read_member(struct reader *reader, const struct member *member, uint64_t max_bytes,
                       struct vrt_cp_arena *arena, struct vrt_text *ret_bytes)
{
    int r = place_member(reader, member, max_bytes, arena, ret_bytes);

    return r < 0 ? r : fill_member(reader, member, ret_bytes->data, ret_bytes->size_bytes);
}

static int read_byte_order(struct reader *reader, bool *ret_is_little_endian)
{
    const struct member *member = find_member(reader, (struct vrt_text){ "byteorder", 9 });
    struct vrt_text order = { "little", 6 };
    int r = member ? read_member(reader, member, 6, &reader->pickle.arena, &order) : 0;

    if (r < 0)
        return r;
    if (!vrt_text_is(order, "little") && !vrt_text_is(order, "big"))
        return vrt_checkpoint_refuse(reader->source, "is damaged: its byte order is neither "
                                                     "little nor big");
    *ret_is_little_endian = vrt_text_is(order, "little");
    return 0;
}

/* The member that a storage is, or NULL. */
static const struct member *find_storage(const struct reader *reader,
                                         const struct vrt_pickle_storage *storage)
{
    static const char folder[] = "data/";
    char name[128];
    size_t n_name = sizeof(folder) - 1 + storage->key.size_bytes;   /* keys are of 64 at most */

    if (n_name > sizeof(name))
        return NULL;
    memcpy(name, folder, sizeof(folder) - 1);
    memcpy(name + sizeof(folder) - 1, storage->key.data, storage->key.size_bytes);
    return find_member(reader, (struct vrt_text){ name, n_name });
}

static int place_storage(struct reader *reader, struct vrt_pickle_storage *storage,
                         bool is_little_endian)
{
    const struct member *member = find_storage(reader, storage);
    struct vrt_text bytes;

    if (!member)
        return vrt_checkpoint_refuse(reader->source, "is damaged: it lacks data of its tensors");
    int r = place_member(reader, member, storage->n_bytes, &reader->source->checkpoint->arena,
                         &bytes);
    if (r < 0)
        return r;
    if (bytes.size_bytes != storage->n_bytes)
        return vrt_checkpoint_refuse(reader->source, "is damaged: a tensor's data has another "
                                                     "size than the tensor");
    r = vrt_torch_check_reach(reader->source, storage);
    if (r < 0)
        return r;
    return vrt_torch_place(reader->source, storage, bytes.data, is_little_endian);
}

static int fill_storage(struct reader *reader, const struct vrt_pickle_storage *storage)
{
    int r = fill_member(reader, find_storage(reader, storage), storage->raw, storage->n_bytes);

    if (r < 0)
        return r;
    vrt_torch_turn(storage);
    return 0;
}

/* A model saved as a program has its code beside the tensors. */
static bool is_program(const struct reader *reader)
{
    return find_member(reader, (struct vrt_text){ "constants.pkl", 13 });
}

static int read_archive(struct reader *reader)
{
    const struct member *member;
    struct vrt_torch_selection selection;
    struct vrt_pickle_value root;
    struct vrt_text bytes;
    size_t used_bytes;
    bool is_little_endian = true;
    int r = list_members(reader);

    if (r < 0)
        return r;
    if (is_program(reader))
        return vrt_checkpoint_refuse(reader->source, "is a TorchScript program, not only weights: "
                                                     "save its state_dict with PyTorch");
    member = find_member(reader, (struct vrt_text){ "data.pkl", 8 });
    vrt_assert(member);
    r = read_member(reader, member, PICKLE_BYTES_MAX, &reader->source->checkpoint->arena, &bytes);
    if (r < 0)
        return r;
    vrt_pickle_init(&reader->pickle, reader->source, bytes.size_bytes);
    r = vrt_pickle_read(&reader->pickle, (const uint8_t *)bytes.data, bytes.size_bytes, &root,
                        &used_bytes);
    if (r < 0)
        return r;
    r = read_byte_order(reader, &is_little_endian);
    if (r < 0)
        return r;
    r = vrt_torch_select(&reader->pickle, &root, &selection);
    /* An optimiser's storages, often twice as large as the weights, stay packed. */
    for (size_t i = 0; r == 0 && i < selection.n_storages; i++)
        if (selection.storages[i]->is_wanted)
            r = place_storage(reader, selection.storages[i], is_little_endian);
    if (r < 0)
        return r;
    r = vrt_torch_add_tensors(reader->source, &selection);
    for (size_t i = 0; r == 0 && i < selection.n_storages; i++)
        if (selection.storages[i]->is_wanted)
            r = fill_storage(reader, selection.storages[i]);
    return r;
}

int vrt_torch_zip_read(struct vrt_checkpoint_source *source)
{
    struct reader reader = {
        .source = source,
        .unpacked_left_bytes = UNPACKED_BYTES_MIN +
                               source->size_bytes * (uint64_t)UNPACKED_PER_BYTE_MAX,
    };
    int r = open_archive(&reader);

    if (r == 0)
        r = read_archive(&reader);
    vrt_pickle_done(&reader.pickle);
    free(reader.members);
    zip_discard(reader.zip);
    return r;
}
