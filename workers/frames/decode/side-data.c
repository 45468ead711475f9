/* SPDX-License-Identifier: MIT */

#include "frames/decode/side-data.h"

#include <errno.h>
#include <libavutil/dovi_meta.h>
#include <string.h>

#include "base/error.h"
#include "frames/av.h"
#include "frames/metadata/hdr10plus.h"
#include "frames/metadata/hdr.h"

/* Of Dolby Vision's colours: neither Y'CbCr nor R'G'B'. */
#define SIGNAL_IPT 2

/* Profile 5, and 10 where it is as that: no other system can show their pictures. */
static bool is_dolbys_alone(const AVDOVIDecoderConfigurationRecord *conf)
{
    return conf->dv_profile == 5 ||
           (conf->dv_profile == 10 && conf->dv_bl_signal_compatibility_id == 0);
}

/* The colours that the frame's own metadata tell of. */
static bool has_ipt(const AVFrame *frame)
{
    const AVFrameSideData *data = frame ? av_frame_get_side_data(frame, AV_FRAME_DATA_DOVI_METADATA)
                                        : NULL;

    return data && av_dovi_get_color((const AVDOVIMetadata *)(const void *)data->data)->
                           signal_color_space == SIGNAL_IPT;
}

int vrt_side_data_check(struct vrt_reader_info *info, const struct vrt_reader_watch *watch,
                        const AVFrame *frame, struct vrt_error *error)
{
    size_t size = 0;
    const AVDOVIDecoderConfigurationRecord *conf = (const void *)
        vrt_av_stream_side_data(watch->stream, AV_PKT_DATA_DOVI_CONF, &size);

    if (conf ? is_dolbys_alone(conf) : has_ipt(frame))
        return vrt_refuse(error, vrt_raise(-ENOTSUP), "input.unsupported",
                          "%s is Dolby Vision of profile %d, whose colours (IPTPQc2) only Dolby's "
                          "own decoding shows right: make HDR10 or SDR of it first, as FFmpeg's "
                          "filter libplacebo does", watch->source->name,
                          conf ? conf->dv_profile : 5);
    if (conf)
        vrt_warnings_add(&info->warnings, "the Dolby Vision configuration is dropped, and what is "
                         "Dolby's alone with it (profile %d.%d): what remains is the %s that the "
                         "pictures are", conf->dv_profile, conf->dv_bl_signal_compatibility_id,
                         conf->dv_bl_signal_compatibility_id == 2   ? "SDR"
                         : conf->dv_bl_signal_compatibility_id == 4 ? "HLG"
                                                                    : "HDR10");
    return 0;
}

/* What a frame may carry that isn't kept, or not in each output. */
static const struct {
    enum AVFrameSideDataType type;
    bool is_kept;                       /* where the output's codec has a place for it */
    bool is_of_hdr;                     /* of no use where that becomes SDR */
    const char *what;
} carried[] = {
    { AV_FRAME_DATA_DYNAMIC_HDR_PLUS, true, true, "HDR10+ metadata is" },
    { AV_FRAME_DATA_A53_CC, true, false, "captions in the pictures' data (CEA-608, CEA-708) are" },
    { AV_FRAME_DATA_DOVI_METADATA, false, true, "Dolby Vision metadata is" },
    { AV_FRAME_DATA_DYNAMIC_HDR_VIVID, false, true, "HDR Vivid metadata is" },
};

static void watch_carried(struct vrt_reader_info *info, struct vrt_reader_watch *watch,
                          const AVFrame *frame)
{
    for (unsigned int i = 0; i < VRT_ARRAY_SIZE(carried); i++)
        if (av_frame_get_side_data(frame, carried[i].type) &&
            !(carried[i].is_kept && watch->keeps_extra) &&
            !(carried[i].is_of_hdr && watch->drops_hdr) &&
            vrt_reader_info_is_news(watch, VRT_READER_SAYS_CARRIED + i))
            vrt_warnings_add(&info->warnings, "%s dropped%s", carried[i].what,
                             carried[i].is_kept ? ": H.264, HEVC and AV1 keep them" : "");
}

void vrt_side_data_watch(struct vrt_reader_info *info, struct vrt_reader_watch *watch,
                         const AVFrame *frame, int64_t index)
{
    const AVFrameSideData *plus = av_frame_get_side_data(frame, AV_FRAME_DATA_DYNAMIC_HDR_PLUS);
    struct vrt_hdr hdr;

    watch_carried(info, watch, frame);
    if (plus && watch->keeps_extra && !watch->drops_hdr &&
        ((const AVDynamicHDRPlus *)(const void *)plus->data)->num_windows != 1 &&
        vrt_reader_info_is_news(watch, VRT_READER_SAYS_WINDOWS))
        vrt_warnings_add(&info->warnings, "HDR10+ metadata of several windows is dropped: their "
                         "places are those of the input");
    vrt_hdr_read(watch->stream, frame, &hdr);
    if ((vrt_hdr_has_display(&hdr) || vrt_hdr_has_light(&hdr)) &&
        memcmp(&hdr, &info->format.hdr, sizeof(hdr)) != 0 && !watch->drops_hdr &&
        vrt_reader_info_is_news(watch, VRT_READER_SAYS_HDR))
        vrt_warnings_add(&info->warnings, "what is said of the mastering display and the content's "
                         "light (HDR10) changes at frame %lld, and the output keeps the first: "
                         "split the input there to have both", (long long)index);
}

void vrt_side_data_take(const AVFrame *frame, struct vrt_frame_extra *ret_extra)
{
    const AVFrameSideData *plus = av_frame_get_side_data(frame, AV_FRAME_DATA_DYNAMIC_HDR_PLUS);
    const AVFrameSideData *captions = av_frame_get_side_data(frame, AV_FRAME_DATA_A53_CC);

    if (plus)
        vrt_hdr10plus_write((const AVDynamicHDRPlus *)(const void *)plus->data, ret_extra);
    if (captions && captions->size <= VRT_CAPTIONS_BYTES_MAX && captions->size % 3 == 0) {
        memcpy(ret_extra->captions, captions->data, captions->size);
        ret_extra->n_captions = (int)captions->size;
    }
}
