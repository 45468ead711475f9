/* SPDX-License-Identifier: MIT */

/*
 * Whether an encoder has an option, and may have it as a value, FFmpeg knows. What isn't free to
 * choose is a table: threads and whatever looks at the clock, for the sake of equal bytes; key
 * frames and their kinds, for that of segments; what the API has fields for.
 */

#include "frames/encode/encoder-options.h"

#include <errno.h>
#include <libavutil/opt.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/settings.h"

/* The encoder's own, or FFmpeg's of all encoders. */
static const char *const ours[] = {
    "deadline", "flags", "flags2", "force_key_frames", "forced-idr", "g", "intra-refresh",
    "keyint_min", "pass", "passlogfile", "quality", "rc", "row-mt", "stats", "still-picture",
    "strict", "thread_type", "threads", "time_base", "x264opts",
};

/* Within options of libraries' own syntax, whose names end so. */
#define LIBRARY_SUFFIX "-params"

static const char *const libraries_ours[] = {
    "analysis-load", "analysis-save", "asm", "bitrate", "cpu-independent", "crf", "csv",
    "enable-fwd-kf", "frame-threads", "intra-refresh", "irefresh-type", "keyint", "kf-max-dist",
    "kf-min-dist", "log-level", "lookahead-threads", "lp", "min-keyint", "non-deterministic",
    "numa-pools", "open-gop", "opencl", "pass", "passes", "pin", "pme", "pmode", "pools",
    "qp", "rc", "row-mt", "sliced-threads", "stats", "tbr", "threads", "unpin", "wpp",
};

/* Another word for them would leave them as they are, and be a lie. */
#define COLOURS "the colours that the frames have"

static const struct {
    const char *key, *instead;
} fields[] = {
    { "b", "--bitrate" }, { "crf", "--quality" }, { "qscale", "--quality" },
    { "global_quality", "--quality" }, { "qp", "--quality" }, { "pixel_format", "--pix-fmt" },
    { "color_range", COLOURS }, { "colorspace", COLOURS }, { "color_primaries", COLOURS },
    { "color_trc", COLOURS }, { "chroma_sample_location", COLOURS },
};

static bool is_in(const char *key, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static int refuse_ours(const char *key, struct vrt_error *error)
{
    char shown[64];

    return vrt_refuse(error, vrt_raise(-EINVAL), "output.options",
                      "the encoder's option %s is vrtd's to set, so that results are the same each "
                      "time and their segments can be joined: leave it out",
                      vrt_printable(key, shown, sizeof(shown)));
}

/* Options in a library's own syntax, "key=value:key". */
static int check_library(const char *value, struct vrt_error *error)
{
    char text[VRT_SETTING_OPTIONS_BYTES], *rest = text, *word;

    snprintf(text, sizeof(text), "%s", value);
    while ((word = strsep(&rest, ":"))) {
        const char *key = strncmp(word, "no-", 3) == 0 ? word + 3 : word;
        word[strcspn(word, "=")] = '\0';
        if (is_in(key, libraries_ours, VRT_ARRAY_SIZE(libraries_ours)))
            return refuse_ours(key, error);
    }
    return 0;
}

static bool is_of_library(const char *key)
{
    size_t n = strlen(key), n_suffix = strlen(LIBRARY_SUFFIX);

    return n > n_suffix && strcmp(key + n - n_suffix, LIBRARY_SUFFIX) == 0;
}

/* Whether the option is there, and free to choose. Return: 0; -EINVAL with a sentence. */
static int check_key(const char *key, AVCodecContext *codec, struct vrt_error *error)
{
    const int flags = AV_OPT_FLAG_ENCODING_PARAM | AV_OPT_FLAG_VIDEO_PARAM;
    char shown[64];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(fields); i++)
        if (strcmp(fields[i].key, key) == 0)
            return vrt_refuse(error, vrt_raise(-EINVAL), "output.options",
                              "the encoder's option %s is chosen by %s", key, fields[i].instead);
    if (is_in(key, ours, VRT_ARRAY_SIZE(ours)))
        return refuse_ours(key, error);
    if (av_opt_find(codec, key, NULL, flags, AV_OPT_SEARCH_CHILDREN))
        return 0;
    return vrt_refuse(error, vrt_raise(-EINVAL), "output.options",
                      "%s has no option %s: \"ffmpeg -h encoder=%s\" lists those that it has",
                      codec->codec->name, vrt_printable(key, shown, sizeof(shown)),
                      codec->codec->name);
}

static int add_option(const char *key, const char *value, AVCodecContext *codec,
                      AVDictionary **options, struct vrt_error *error)
{
    char shown[2][64];
    int r = check_key(key, codec, error);

    if (r < 0)
        return vrt_fold(r);
    if (is_of_library(key)) {
        r = check_library(value, error);
        if (r < 0)
            return vrt_fold(r);
        /* Behind those that are there. */
        bool has_some = av_dict_get(*options, key, NULL, 0);
        if ((has_some && av_dict_set(options, key, ":", AV_DICT_APPEND) < 0) ||
            av_dict_set(options, key, value, AV_DICT_APPEND) < 0)
            return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the encoder");
        return 0;
    }
    if (av_opt_set(codec, key, value, AV_OPT_SEARCH_CHILDREN) < 0)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.options",
                          "%s takes no %s=%s: \"ffmpeg -h encoder=%s\" says what it takes",
                          codec->codec->name, vrt_printable(key, shown[0], sizeof(shown[0])),
                          vrt_printable(value, shown[1], sizeof(shown[1])), codec->codec->name);
    if (av_dict_set(options, key, value, 0) < 0)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the encoder");
    return 0;
}

int vrt_encoder_options_add(const char *text, AVCodecContext *codec, AVDictionary **options,
                            struct vrt_error *error)
{
    char words[VRT_SETTING_OPTIONS_BYTES], shown[64], *rest = words, *word;
    int r = 0;

    if (!text)
        return 0;
    snprintf(words, sizeof(words), "%s", text);
    while (r == 0 && (word = strsep(&rest, " "))) {
        char *value = strchr(word, '=');
        if (!word[0])
            continue;
        if (!value || value == word || !value[1])
            return vrt_refuse(error, vrt_raise(-EINVAL), "output.options",
                              "\"%s\" is no option of an encoder: they are key=value",
                              vrt_printable(word, shown, sizeof(shown)));
        *value = '\0';
        r = add_option(word, value + 1, codec, options, error);
    }
    return vrt_fold(r);
}
