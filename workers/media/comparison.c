/* SPDX-License-Identifier: MIT */

#include "workers/media/comparison.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "frames/process/child-compare.h"
#include "frames/process/child.h"

/* To understand the reference. */
#define LOOK_NS (30 * VRT_NS_PER_S)

/* By so many a count may be off that a container says. */
#define FRAMES_OFF_MAX 2

int vrt_comparison_run(const struct vrt_comparison *comparison,
                       struct vrt_compare_size *ret_size, struct vrt_quality_means *ret_means,
                       struct vrt_error *error)
{
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = NULL;
    struct vrt_quality_sums sums = { .n_frames = 0 };
    struct vrt_compare_size size;
    struct vrt_compared frame;
    int r = vrt_child_new(comparison->cancel, &child, error);

    if (r < 0)
        return vrt_fold(r);
    r = vrt_child_compare_open(child, &comparison->videos, &size, error);
    if (r < 0)
        return vrt_fold(r);
    r = comparison->shown ? vrt_child_compare_show(child, comparison->shown, error) : 0;
    if (r < 0)
        return vrt_fold(r);
    while (r == 0) {
        r = vrt_child_compare_next(child, &frame, error);
        if (r == 0 && comparison->compared)
            r = comparison->compared(comparison->ctx, &frame, error);
        if (r == 0)
            vrt_quality_add(&sums, frame.time_ns, &frame.quality);
    }
    if (r < 0)
        return vrt_fold(r);
    if (!sums.n_frames)
        return vrt_refuse(error, vrt_raise(-EINVAL), "input.unlike", "neither video has a frame");
    *ret_size = size;
    *ret_means = vrt_quality_mean(&sums);
    return 0;
}

/* Whether both have as many frames, where somebody has counted them. What an edit list leaves out
 * is counted, too: they have to differ in length as well. */
static int check_count(const struct vrt_job_check *check, const char *name,
                       const struct vrt_reader_info *reference, struct vrt_error *error)
{
    const int64_t n = vrt_job_check_n_frames(check), n_wanted = reference->n_frames_estimate;
    const int64_t apart_ns = llabs(check->input.duration_ns - reference->duration_ns);
    const bool is_counted = !check->input.is_by_duration && !reference->is_by_duration &&
                            check->input.duration_ns >= 0 && reference->duration_ns >= 0 &&
                            n >= 0 && n_wanted >= 0;

    if (!is_counted || llabs(n - n_wanted) <= FRAMES_OFF_MAX || reference->fps.num <= 0 ||
        (double)apart_ns * reference->fps.num <=
        (double)FRAMES_OFF_MAX * VRT_NS_PER_S * reference->fps.den)
        return 0;
    return vrt_refuse(error, vrt_raise(-EINVAL), "input.unlike", "the result will have %" PRId64
                      " frames, and %s has %" PRId64 ": only as many can be compared", n, name,
                      n_wanted);
}

static int check_reference(const struct vrt_job_check *check, struct vrt_child *child,
                           struct vrt_error *error)
{
    VRT_CLEANUP(vrt_child_reader_closep) struct vrt_child_reader *reader = NULL;
    const struct vrt_frame_format *result = &check->encoder.format;
    const struct vrt_files *files = &check->files;
    const struct vrt_reader_params params = {
        .n_threads = 1,
        .name = files->reference_name,
        .open_deadline_ns = vrt_clock_now_ns() + LOOK_NS,
    };
    char shown[64];
    struct stat st;

    vrt_printable(files->reference_name, shown, sizeof(shown));
    if (check->is_folder)
        return vrt_refuse(error, vrt_raise(-EINVAL), "input.unlike", "the result is a folder of "
                          "pictures, and a reference is compared with one file: leave it out, or "
                          "name an output such as .mkv");
    if (fstat(files->reference_fd, &st) < 0 || !S_ISREG(st.st_mode))
        return vrt_refuse(error, vrt_raise(-EINVAL), "input.unlike", "%s is no regular file, and "
                          "only such can be compared with the result", shown);
    int r = vrt_child_reader_open(child, files->reference_fd, &params, &reader, error);
    if (r < 0)
        return vrt_fold(r);
    const struct vrt_reader_info *info = vrt_child_reader_info(reader);
    const struct vrt_compare_side sides[2] = {
        { "the result", result->width, result->height, check->encoder.fps,
          check->input.variable_rate },
        { shown, info->format.width, info->format.height, info->fps, info->variable_rate },
    };
    r = vrt_compare_check_alike(sides, 0, error);
    return r < 0 ? vrt_fold(r) : vrt_fold(check_count(check, shown, info, error));
}

int vrt_comparison_check(const struct vrt_job_check *check, struct vrt_child *child,
                         struct vrt_error *error)
{
    int r = check->files.reference_name ? check_reference(check, child, error) : 0;

    if (r < 0)
        vrt_error_set_field(error, "reference");
    return vrt_fold(r);
}
