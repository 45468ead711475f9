/* SPDX-License-Identifier: MIT */

/* What results are called where nobody says, or where only their folder is said. */

#include <stdlib.h>
#include <string.h>

#include "client/submit/submit.h"

/* Whether an input before has a result of this path. */
static bool is_taken(const struct vrt_submissions *s, const char *path)
{
    for (size_t i = 0; i < s->n_items; i++)
        if (s->items[i].output && strcmp(s->items[i].output, path) == 0)
            return true;
    return false;
}

/* Whether a result is a folder of pictures: of such a folder, unless the output is called as a
 * file, or a pipe; of a video where pictures are asked for. */
bool vrt_submission_makes_folder(const struct vrt_args *args, const char *operand, bool is_folder)
{
    const char *dot = strrchr(operand, '.');
    const bool is_picture = dot && vrt_ending_is_picture(dot + 1);
    const int codec = args->settings.codec;
    const bool wants_pictures =
        codec != VRT_UNKNOWN && codec != VRT_CODEC_AUTO &&
        vrt_container_is_picture(vrt_codec_facts((enum vrt_codec)codec)->container);

    if (args->output && (vrt_pipes_is_one(args->output) || vrt_folder_is_file_name(args->output)))
        return false;
    return is_folder || (!is_picture && wants_pictures);
}

/* The path of a result that is a folder. In a series a name doesn't depend on what others there
 * are: a.avi and a.webm are called so. */
static char *choose_folder(const struct vrt_args *args, const struct vrt_submissions *s, int i)
{
    const struct vrt_submission *item = &s->items[i];
    const char *output = args->recursive ? s->series.folders[i] : args->output;
    const bool is_one_of_several = args->recursive || args->n_operands > 1;
    char *path = NULL;

    for (int nth = args->recursive; !path; nth++) {
        path = vrt_folder_default_output(args->operands[i], &item->folder, output,
                                         is_one_of_several, nth);
        /* One input has one result, whatever it is called. */
        if (!path || !is_one_of_several || !is_taken(s, path))
            break;
        free(path);
        path = NULL;
    }
    return path;
}

/* The path of one result. Inputs of one name (a.avi, a.webm) must not get the same. */
char *vrt_submission_output(const struct vrt_args *args, const struct vrt_submissions *s, int i)
{
    const struct vrt_submission *item = &s->items[i];
    const char *folder = args->output && vrt_file_is_folder(args->output) ? args->output : NULL;
    bool is_part = args->settings.start_s > 0 || args->settings.duration_s > 0;
    const char *word = is_part ? "part" : "restored";

    if (s->pipes.has_output)
        return strdup(vrt_pipes_output_name(s->cli));
    if (args->recursive)
        folder = s->series.folders[i];
    if (item->makes_folder)
        return choose_folder(args, s, i);
    if (args->output && !folder)
        return strdup(args->output);
    char *path = args->recursive && !is_part ?
        vrt_series_output(&s->series, (size_t)i, args->settings.codec) :
        vrt_file_default_output(args->operands[i], folder, word, 0, args->settings.codec);
    for (int nth = 1; path && is_taken(s, path); nth++) {
        free(path);
        path = vrt_file_default_output(args->operands[i], folder, word, nth,
                                       args->settings.codec);
    }
    return path;
}
