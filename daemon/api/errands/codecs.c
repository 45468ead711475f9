/* SPDX-License-Identifier: MIT */

/*
 * GET /v1/codecs: vrt-media, which has FFmpeg, is asked by a thread about each codec, and has its
 * encoders tried, and hardware's decoders: each time, since a driver, or a card, may come and go.
 * Clients wait for their turns: all who ask at once would have every thread, and everybody's
 * uploads and submissions wait for those.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "daemon/access/access.h"
#include "daemon/api/errands/errand.h"
#include "frames/process/child-encoder.h"
#include "msg_codec.h"

/* The video that encoders are tried with: large enough for all of them, and what most take. */
static const struct vrt_frame_format tried = {
    .width = 320,
    .height = 240,
    .depth = 8,
    .layout = VRT_LAYOUT_YUV,
    .chroma_shift_x = 1,
    .chroma_shift_y = 1,
    .matrix = VRT_FRAME_MATRIX_BT709,
    .chroma_location = VRT_CHROMA_LOCATION_LEFT,
    .sample_aspect = { 0, 1 },
    .primaries = 2,
    .transfer = 2,
    .color_space = 1,
};

/* What came of it. */
struct trial {
    bool is_made, works;
    const char *encoder;                    /* FFmpeg's, of hardware; NULL: it is another trial */
    char reason[VRT_API_TEXT_BYTES];        /* why not */
};

_Static_assert((int)VRT_HWACCEL_AUTO == (int)VRT_HWDEC_AUTO, "kinds begin behind the same");

/* A client that waits for the list. */
struct asking {
    struct vrt_errand errand;               /* of the API's codecs */
    bool may_hwaccel;                       /* hardware is tried, too */
    /* by the thread, then the loop */
    struct vrt_codec_found found[VRT_CODEC_COUNT];
    struct trial trials[VRT_HWACCEL_COUNT][VRT_CODEC_COUNT];    /* VRT_HWACCEL_OFF: software */
    struct trial decoders[VRT_HWDEC_COUNT][VRT_CODEC_COUNT];
};

/* The words of a list, for a report. */
struct words {
    char texts[VRT_API_CODEC_TEXTS_MAX][VRT_API_WORD_BYTES];
    size_t n;
};

/* Tries one encoder. Return: 0; -errno: nothing more can be asked. */
static int try_encoder(struct vrt_child *child, enum vrt_codec codec, enum vrt_hwaccel hwaccel,
                       struct trial *trial, struct vrt_error *error)
{
    struct vrt_error why = { .id = NULL };
    struct vrt_warnings ignored = { 0 };
    const struct vrt_encoder_pick pick = {
        .codec = codec,
        .input = &tried,
        .width = tried.width,
        .height = tried.height,
    };
    struct vrt_encoder_params params = {
        .codec = codec,
        .quality = VRT_UNKNOWN,
        .hwaccel = hwaccel,
        .n_threads = 1,
        .time_base = { 1, 25 },
        .fps = { 25, 1 },
    };
    int r = vrt_child_encoder_pick_format(child, &pick, &params.format, &ignored, &why);

    if (r == 0)
        r = vrt_child_encoder_try(child, &params, &why);
    if (r == -ECANCELED) {
        *error = why;
        return r;
    }
    trial->is_made = true;
    trial->works = r == 0;
    if (r < 0 && hwaccel && !strstr(why.message, vrt_hwaccel_names[hwaccel]))
        snprintf(trial->reason, sizeof(trial->reason), "%s: %.400s", trial->encoder, why.message);
    else if (r < 0)
        snprintf(trial->reason, sizeof(trial->reason), "%s", why.message);
    return 0;
}

/* Whether inputs of the codec may be decoded by hardware. */
static bool has_decoders(enum vrt_codec codec)
{
    const struct vrt_codec_facts *facts = vrt_codec_facts(codec);

    return vrt_hwdec_is_exact(facts->ffmpeg) && !vrt_container_is_picture(facts->container);
}

/* Tries what decodes by the same card; `r` and `error` are of the start of the process, which is
 * there if that is 0. Return: 0; -errno: nothing more can be asked. */
static int try_decoders(struct asking *asking, struct vrt_child *child, enum vrt_hwdec hwdec, int r,
                        const struct vrt_error *error)
{
    for (int i = 0; i < VRT_CODEC_COUNT; i++) {
        struct trial *trial = &asking->decoders[hwdec][i];
        struct vrt_error why = *error;
        if (!has_decoders((enum vrt_codec)i))
            continue;
        const int tried_r =
            r < 0 ? r : vrt_child_reader_try(child, hwdec, (enum vrt_codec)i, &why);
        if (tried_r == -ECANCELED) {
            asking->errand.error = why;
            return tried_r;
        }
        trial->is_made = true;
        trial->works = tried_r == 0;
        if (!trial->works)
            snprintf(trial->reason, sizeof(trial->reason), "%s", why.message);
    }
    return 0;
}

/* Tries what encodes and decodes videos by `hwaccel`; pictures are encoded by what libraries have
 * alone. */
static int try_encoders(struct asking *asking, enum vrt_hwaccel hwaccel)
{
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = NULL;
    struct vrt_error why = { .id = NULL };
    int r = vrt_child_new_for(hwaccel, &asking->errand.is_gone, &child, &why);

    for (int i = 0; i < VRT_CODEC_COUNT; i++) {
        const enum vrt_codec codec = (enum vrt_codec)i;
        struct trial *trial = &asking->trials[hwaccel][i];
        trial->encoder = vrt_hwaccel_encoder(hwaccel, codec);
        if (vrt_container_is_picture(vrt_codec_facts(codec)->container) ||
            (hwaccel ? !trial->encoder : !asking->found[i].encoders[0]))
            continue;
        if (r < 0) {
            trial->is_made = true;
            snprintf(trial->reason, sizeof(trial->reason), "%s", why.message);
            continue;
        }
        int tried_r = try_encoder(child, codec, hwaccel, trial, &asking->errand.error);
        if (tried_r < 0)
            return vrt_fold(tried_r);
    }
    for (int i = VRT_HWDEC_AUTO + 1; i < VRT_HWDEC_COUNT; i++) {
        const enum vrt_hwdec hwdec = (enum vrt_hwdec)i;
        int tried_r = vrt_hwdec_hwaccel(hwdec) == hwaccel ?
                      try_decoders(asking, child, hwdec, r, &why) : 0;
        if (tried_r < 0)
            return vrt_fold(tried_r);
    }
    return 0;
}

static int ask(struct vrt_errand *errand)
{
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = NULL;
    struct asking *asking = vrt_container_of(errand, struct asking, errand);
    int r = vrt_child_new(&errand->is_gone, &child, &errand->error);

    for (int i = 0; r == 0 && i < VRT_CODEC_COUNT; i++)
        r = vrt_child_codec_find(child, (enum vrt_codec)i, &asking->found[i], &errand->error);
    for (int i = VRT_HWACCEL_OFF; r == 0 && i < VRT_HWACCEL_COUNT; i++)
        if (i == VRT_HWACCEL_OFF || (i != VRT_HWACCEL_AUTO && asking->may_hwaccel))
            r = try_encoders(asking, (enum vrt_hwaccel)i);
    return vrt_fold(r);
}

/* "a, b" */
static void split(const char *list, struct words *words)
{
    while (*list && words->n < VRT_API_CODEC_TEXTS_MAX) {
        size_t n = strcspn(list, ",");
        snprintf(words->texts[words->n++], VRT_API_WORD_BYTES, "%.*s", (int)n, list);
        list += n + strspn(list + n, ", ");
    }
}

/* What trials by n kinds of hardware came to. Return: how many there were. */
static size_t report_hardware(const struct trial (*trials)[VRT_CODEC_COUNT], int n_kinds,
                              enum vrt_codec codec, struct vrt_codec_hardware *hardware)
{
    size_t n = 0;

    for (int i = VRT_HWACCEL_AUTO + 1; i < n_kinds; i++) {
        const struct trial *trial = &trials[i][codec];
        if (!trial->is_made)
            continue;
        hardware[n].how = i;
        hardware[n].works = trial->works;
        snprintf(hardware[n].encoder, sizeof(hardware[n].encoder), "%s",
                 trial->encoder ? trial->encoder : "");
        snprintf(hardware[n].reason, sizeof(hardware[n].reason), "%s", trial->reason);
        n++;
    }
    return n;
}

static int print_codec(enum vrt_codec codec, const struct asking *asking, struct vrt_buf *body)
{
    const struct vrt_codec_found *found = &asking->found[codec];
    struct vrt_codec_hardware hardware[VRT_HWACCEL_COUNT];
    struct vrt_codec_hardware decoders[VRT_HWDEC_COUNT];
    const struct vrt_codec_facts *facts = vrt_codec_facts(codec);
    const bool has_quality = facts->quality_name;
    struct words encoders = { .n = 0 }, containers = { .n = 0 }, pixfmts = { .n = 0 };

    split(found->encoders, &encoders);
    split(found->pixel_formats, &pixfmts);
    for (int i = 0; i < VRT_CONTAINER_COUNT; i++)
        if (vrt_container_holds((enum vrt_container)i, codec))
            snprintf(containers.texts[containers.n++], VRT_API_WORD_BYTES, "%s",
                     vrt_container_names[i]);
    struct vrt_codec_report report = {
        .available = encoders.n > 0,
        .encoders = encoders.texts, .n_encoders = encoders.n,
        .containers = containers.texts, .n_containers = containers.n,
        .pixel_formats = pixfmts.texts, .n_pixel_formats = pixfmts.n,
        .quality_best = has_quality ? facts->quality_min : VRT_UNKNOWN,
        .quality_worst = has_quality ? facts->quality_max : VRT_UNKNOWN,
        .quality_default = has_quality ? facts->quality : VRT_UNKNOWN,
        .has_presets = facts->has_presets,
        .has_bitrate = facts->has_bitrate,
        .hardware = hardware,
        .n_hardware = report_hardware(asking->trials, VRT_HWACCEL_COUNT, codec, hardware),
        .hardware_decoders = decoders,
        .n_hardware_decoders = report_hardware(asking->decoders, VRT_HWDEC_COUNT, codec, decoders),
    };
    snprintf(report.problem, sizeof(report.problem), "%s",
             asking->trials[VRT_HWACCEL_OFF][codec].reason);
    snprintf(report.name, sizeof(report.name), "%s", vrt_codec_names[codec]);
    snprintf(report.title, sizeof(report.title), "%s", facts->title);
    snprintf(report.quality, sizeof(report.quality), "%s", has_quality ? facts->quality_name : "");
    return vrt_fold(vrt_fields_print(vrt_codec_fields, &report, body));
}

static void reply_list(struct vrt_conn *conn, const struct asking *asking)
{
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };

    int r = vrt_buf_printf(&body, "{\"codecs\":[");
    for (int i = 0; r == 0 && i < VRT_CODEC_COUNT; i++) {
        r = vrt_buf_append(&body, ",", i > 0);
        if (r == 0)
            r = print_codec((enum vrt_codec)i, asking, &body);
    }
    if (r == 0)
        r = vrt_buf_append(&body, "]}", 2);
    vrt_api_reply(conn, r, &body, "printing the codecs");
}

static void reply(struct vrt_errand *errand, struct vrt_conn *conn)
{
    reply_list(conn, vrt_container_of(errand, struct asking, errand));
}

static void asking_free(struct vrt_errand *errand)
{
    free(vrt_container_of(errand, struct asking, errand));
}

static const struct vrt_errand_kind list = {
    .doing = "listing the codecs",
    .perform = ask,
    .reply = reply,
    .free = asking_free,
};

void vrt_api_codecs(const struct vrt_call *call)
{
    struct asking *asking = calloc(1, sizeof(*asking));

    if (!asking) {
        vrt_errand_refuse(NULL, &list, 0, call);
        return;
    }
    asking->may_hwaccel = vrt_access_may_hwaccel(call->api->access);
    vrt_errand_begin(&asking->errand, &list, &call->api->codecs, call);
}
