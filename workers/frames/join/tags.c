/* SPDX-License-Identifier: MIT */

/* Tables of names: most tags are carried over, few are known to be untrue of the output. */

#include "frames/join/tags.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/macro.h"

/* Of the file as it was, or made anew by the muxer. */
static const char *const of_file[] = {
    "major_brand", "minor_version", "compatible_brands", "encoder", "duration", "vendor_id",
};

/* Of the encoded stream as it was; Matroska's may end in "-eng" and the like. */
static const char *const of_stream[] = {
    "encoder", "bps", "number_of_frames", "number_of_bytes", "source_id", "rotate",
    "_statistics_writing_app", "_statistics_writing_date_utc", "_statistics_tags",
    "variant_bitrate", "encoder_settings", "encoding_settings", "alpha_mode",
};

/* What movenc writes in places of its own. */
static const char *const known_to_mov[] = {
    "title", "artist", "album_artist", "composer", "album", "date", "comment", "genre",
    "copyright", "grouping", "lyrics", "description", "synopsis", "show", "episode_id", "network",
    "keywords", "episode_sort", "season_number", "media_type", "hd_video", "gapless_playback",
    "compilation", "disc", "track", "tmpo", "creation_time", "location", "language", "timecode",
    "handler_name",
};

/* In any case, with or without a language: "BPS-eng" is "bps". */
static bool is_in(const char *key, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(keys[i]);
        if (strncasecmp(key, keys[i], length) == 0 && (!key[length] || key[length] == '-'))
            return true;
    }
    return false;
}

int vrt_tags_copy(AVDictionary **tags, const AVDictionary *from, bool reencoded)
{
    const AVDictionaryEntry *tag = NULL;

    while ((tag = av_dict_get(from, "", tag, AV_DICT_IGNORE_SUFFIX))) {
        if (is_in(tag->key, of_file, VRT_ARRAY_SIZE(of_file)) ||
            (reencoded && is_in(tag->key, of_stream, VRT_ARRAY_SIZE(of_stream))))
            continue;
        if (av_dict_set(tags, tag->key, tag->value, 0) < 0)
            return vrt_raise(-ENOMEM);
    }
    return 0;
}

bool vrt_tags_need_names(const AVDictionary *tags)
{
    const AVDictionaryEntry *tag = NULL;

    while ((tag = av_dict_get(tags, "", tag, AV_DICT_IGNORE_SUFFIX)))
        if (!is_in(tag->key, known_to_mov, VRT_ARRAY_SIZE(known_to_mov)))
            return true;
    return false;
}
