/* SPDX-License-Identifier: MIT */

#include "frames/streams/copied.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavutil/mem.h>

#include "base/error.h"

int vrt_copied_set(AVStream *out, const AVStream *in, const AVOutputFormat *muxer)
{
    AVCodecParameters *par = out->codecpar;

    if (avcodec_parameters_copy(par, in->codecpar) < 0)
        return vrt_raise(-ENOMEM);
    /* The input's tag stands where the output's container gives it the same meaning. */
    if (!muxer->codec_tag || av_codec_get_id(muxer->codec_tag, par->codec_tag) != par->codec_id)
        par->codec_tag = 0;
    /* AVI's values here, which are not those of the frames. */
    if (par->codec_id == AV_CODEC_ID_AC3 || par->codec_id == AV_CODEC_ID_MP3)
        par->block_align = 0;
    return 0;
}

bool vrt_copied_fits(const AVStream *in, const AVOutputFormat *muxer)
{
    AVFormatContext *output = NULL;
    uint8_t *head = NULL;
    int r = avformat_alloc_output_context2(&output, muxer, NULL, NULL);
    AVStream *out = r < 0 ? NULL : avformat_new_stream(output, NULL);

    if (!out || vrt_copied_set(out, in, muxer) < 0 || avio_open_dyn_buf(&output->pb) < 0) {
        avformat_free_context(output);
        return true;
    }
    output->flags |= AVFMT_FLAG_BITEXACT;
    output->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
    out->time_base = in->time_base;
    out->sample_aspect_ratio = in->sample_aspect_ratio;
    r = avformat_write_header(output, NULL);
    avio_close_dyn_buf(output->pb, &head);
    av_free(head);
    avformat_free_context(output);
    return r >= 0 || r == AVERROR(ENOMEM);
}
