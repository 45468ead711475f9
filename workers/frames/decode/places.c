/* SPDX-License-Identifier: MIT */

#include "frames/decode/places.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavutil/imgutils.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/error.h"
#include "frames/pixfmt.h"

/* Behind each plane: decoders load, and some store, whole vectors past the last sample. */
#define PADDING_BYTES 128

struct place {
    struct vrt_places *places;
    struct place *next;             /* of those that are free */
    uint8_t *data;
};

struct vrt_places {
    /* immutable */
    uint8_t *data;
    size_t place_bytes;
    int n;
    struct vrt_frame *first;        /* laid out in the first place */

    pthread_mutex_t lock;
    struct place *free;             /* under lock */
    int n_refs;                     /* likewise: the owner, and places that are taken */

    struct place places[VRT_FRAME_PLACES_MAX];
};

/* One reference less; `place` (may be NULL) is free again. */
static void unref(struct vrt_places *places, struct place *place)
{
    pthread_mutex_lock(&places->lock);
    if (place) {
        place->next = places->free;
        places->free = place;
    }
    bool is_last = --places->n_refs == 0;
    pthread_mutex_unlock(&places->lock);
    if (!is_last)
        return;
    munmap(places->data, places->place_bytes * (size_t)places->n);
    vrt_frame_unref(places->first);
    pthread_mutex_destroy(&places->lock);
    free(places);
}

int vrt_places_new(int fd, const struct vrt_frame_format *format, struct vrt_places **ret_places)
{
    struct vrt_places *places = calloc(1, sizeof(*places));
    struct vrt_frame *first = vrt_frame_alloc(format);

    if (!places || !first) {
        free(places);
        vrt_frame_unref(first);
        return vrt_raise(-ENOMEM);
    }
    places->n = vrt_frame_places(format, &places->place_bytes);
    places->first = first;
    places->data = mmap(NULL, places->place_bytes * (size_t)places->n, PROT_READ | PROT_WRITE,
                        MAP_SHARED, fd, 0);
    if (places->data == MAP_FAILED) {
        const int r = -errno;
        free(places);
        vrt_frame_unref(first);
        return vrt_raise(r);
    }
    vrt_frame_lay_out(first, places->data);
    pthread_mutex_init(&places->lock, NULL);
    places->n_refs = 1;
    for (int i = places->n - 1; i > 0; i--) {
        places->places[i] = (struct place){
            places, places->free, places->data + (size_t)i * places->place_bytes,
        };
        places->free = &places->places[i];
    }
    *ret_places = places;
    return 0;
}

struct vrt_places *vrt_places_free(struct vrt_places *places)
{
    if (places)
        unref(places, NULL);
    return NULL;
}

/* Those that were used last are taken first, so that few are ever touched. Return: NULL: none is
 * free. */
static struct place *take(struct vrt_places *places)
{
    pthread_mutex_lock(&places->lock);
    struct place *place = places->free;
    if (place) {
        places->free = place->next;
        places->n_refs++;
    }
    pthread_mutex_unlock(&places->lock);
    return place;
}

/* The AVBuffer's end. */
static void release(void *opaque, uint8_t *data)
{
    struct place *place = opaque;

    (void)data;
    unref(place->places, place);
}

/* What rows and planes take as the decoder wants them (AVCodecContext.get_buffer2: sides of whole
 * blocks, rows aligned for vectors); ret_offsets are from the first place's beginning. Return: the
 * bytes of all; 0: it can't be. */
static size_t lay_out(AVCodecContext *decoder, AVFrame *frame, size_t ret_offsets[4])
{
    int width = frame->width, height = frame->height, aligns[AV_NUM_DATA_POINTERS];
    ptrdiff_t strides[4];
    size_t sizes[4], at = 0;
    bool is_aligned;

    avcodec_align_dimensions2(decoder, &width, &height, aligns);
    do {
        if (av_image_fill_linesizes(frame->linesize, frame->format, width) < 0)
            return 0;
        is_aligned = true;
        for (int i = 0; i < 4; i++)
            is_aligned &= frame->linesize[i] % VRT_MAX(aligns[i], 1) == 0;
        /* By its lowest bit: half of it comes to the planes of chroma. */
        width += width & -width;
    } while (!is_aligned);
    for (int i = 0; i < 4; i++)
        strides[i] = frame->linesize[i];
    if (av_image_fill_plane_sizes(sizes, frame->format, height, strides) < 0)
        return 0;
    for (int i = 0; i < 4; i++) {
        ret_offsets[i] = at;
        if (sizes[i])
            at += (sizes[i] + PADDING_BYTES + VRT_FRAME_ALIGN_BYTES - 1) &
                  ~(size_t)(VRT_FRAME_ALIGN_BYTES - 1);
    }
    return at;
}

enum {
    NO_PLACE = 1,                   /* outcome of get_place(): the frame has to be elsewhere */
};

/* Return: 0; NO_PLACE; a negative AVERROR. */
static int get_place(struct vrt_places *places, AVCodecContext *decoder, AVFrame *frame)
{
    size_t offsets[4];

    if (!places || !vrt_pixfmt_is_ours(frame->format))
        return NO_PLACE;
    const size_t size = lay_out(decoder, frame, offsets);
    struct place *place = size && size <= places->place_bytes ? take(places) : NULL;
    if (!place)
        return NO_PLACE;
    frame->buf[0] = av_buffer_create(place->data, size, release, place, 0);
    if (!frame->buf[0]) {
        unref(places, place);
        return AVERROR(ENOMEM);
    }
    for (int i = 0; i < 4; i++)
        frame->data[i] = frame->linesize[i] ? place->data + offsets[i] : NULL;
    frame->extended_data = frame->data;
    return 0;
}

int vrt_places_get_buffer(struct vrt_places *places, AVCodecContext *decoder, AVFrame *frame,
                          int flags)
{
    const bool may_be = decoder->codec->capabilities & AV_CODEC_CAP_DR1;
    int r = may_be ? get_place(places, decoder, frame) : NO_PLACE;

    return r == NO_PLACE ? avcodec_default_get_buffer2(decoder, frame, flags) : r;
}

int vrt_places_get_frame(struct vrt_places *places, AVCodecContext *decoder, AVFrame *frame)
{
    int r = get_place(places, decoder, frame);

    return r == NO_PLACE ? av_frame_get_buffer(frame, 0) : r;
}

/* Where the planes are, relative to the file's beginning. Return: whether all are in it. */
static bool find(const struct vrt_places *places, const struct vrt_frame *frame,
                 struct vrt_frame_share *ret_planes)
{
    const uintptr_t begin = (uintptr_t)places->data;
    const uintptr_t end = begin + places->place_bytes * (size_t)places->n;

    for (int i = 0; i < vrt_frame_format_n_planes(&frame->format); i++) {
        const uintptr_t at = (uintptr_t)frame->planes[i].data;
        if (at < begin || at >= end)
            return false;
        ret_planes[i] = (struct vrt_frame_share){
            (int64_t)(at - begin), (int64_t)frame->planes[i].stride_bytes,
        };
    }
    return true;
}

void vrt_places_show(struct vrt_places *places, const struct vrt_frame *frame,
                     struct vrt_frame_share ret_planes[VRT_FRAME_MAX_PLANES])
{
    if (find(places, frame, ret_planes))
        return;
    vrt_frame_copy_samples(frame, places->first);
    find(places, places->first, ret_planes);
}
