/* SPDX-License-Identifier: MIT */

/*
 * Every number here depends on the input, the network and what was asked for, never on the machine:
 * the same job gives the same recipe wherever it is admitted, but for clip and tile, which must
 * fit (workers/device/session/fit.h).
 */

#include "workers/plan/recipe.h"

#include <errno.h>
#include <limits.h>
#include <math.h>

#include "base/macro.h"
#include "frames/clips/clip.h"
#include "frames/clips/scene.h"

/* Encoder threads: by the size of the output alone, for its bits depend on them. Enough for the
 * last frames of a file to be encoded on all cores; each holds frames of its own. */
#define ENCODER_THREADS_MIN 4
#define ENCODER_THREADS_MAX 16
#define ENCODER_PIXELS_PER_THREAD 300000

/* Frames of a segment where none are asked for: what a restart may have to compute again, a few
 * seconds of video, against the cost of a key frame and of an encoder's start. */
#define SEGMENT_FRAMES 96

/* What a shard and a segment may take on the slowest device. */
#define SHARD_S 20
#define SEGMENT_S 120

/* Smaller ones are all overlap. */
#define TILE_MIN 32

/* What authors test with who don't say. */
#define TILE_OFFICIAL 128
#define TILE_OVERLAP_BLENDED 20

bool vrt_recipe_is_temporal(const struct vrt_network_info *network)
{
    return network->window_frames > 1;
}

struct vrt_clip_rule vrt_recipe_rule(const struct vrt_recipe *recipe,
                                     const struct vrt_network_info *network)
{
    bool is_official = recipe->tiling == VRT_TILING_OFFICIAL;

    if (!vrt_recipe_is_temporal(network))
        return vrt_clip_runs(recipe->clip_frames);
    return (struct vrt_clip_rule){
        .overlap = {
            .size = recipe->clip_frames,
            .shared = recipe->clip_overlap,
            .averaged = is_official,
        },
        .temporal = true,
        .times = recipe->times,
        .every = recipe->every,
        .least = network->min_frames,
        /* The authors extend no clip that the network takes. */
        .multiple = is_official ? 1 : vrt_network_clip_step(network),
    };
}

int64_t vrt_recipe_n_frames(const struct vrt_recipe *recipe, int64_t n)
{
    const struct vrt_clip_rule rule = { .times = recipe->times, .every = recipe->every };

    return n < 0 ? -1 : vrt_clip_n_shown(&rule, n);
}

void vrt_recipe_shorten(struct vrt_recipe *recipe, int clip_frames)
{
    recipe->clip_frames = clip_frames;
    recipe->clip_overlap = VRT_MIN(recipe->clip_overlap, clip_frames / 2);
}

void vrt_recipe_pace(struct vrt_recipe *recipe, const struct vrt_network_info *network,
                     double frame_s)
{
    while (!vrt_recipe_is_temporal(network) && recipe->clip_frames > 1 &&
           recipe->clip_frames * frame_s > SHARD_S)
        recipe->clip_frames /= 2;
    /* A segment ends with a shard. */
    const struct vrt_clip_rule rule = vrt_recipe_rule(recipe, network);
    const int shard = vrt_clip_n_new(&rule);
    while (recipe->segment_frames > shard && (double)recipe->segment_frames * frame_s > SEGMENT_S)
        recipe->segment_frames /= 2;
}

void vrt_recipe_recut(struct vrt_recipe *recipe, const struct vrt_network_info *network, int width,
                      int height, int tile, int clip)
{
    const struct vrt_tile_needs needs = vrt_recipe_tile_needs(recipe, network);

    if (tile >= VRT_MAX(vrt_tile_min_size(needs), TILE_MIN) && !recipe->exact_tile &&
        recipe->tiling == VRT_TILING_BLEND) {
        const struct vrt_tile_grid grid = vrt_tile_grid_of_size(width, height, tile, needs);
        recipe->tile_w = grid.x.size;
        recipe->tile_h = grid.y.size;
    }
    if (clip >= network->min_frames && clip < recipe->clip_frames && !recipe->exact_clip &&
        vrt_recipe_is_temporal(network))
        vrt_recipe_shorten(recipe, clip);
}

float vrt_recipe_noise(const struct vrt_recipe *recipe)
{
    return (float)(recipe->sigma / 255);
}

/* `overlap`: of tiles; -1: the default. */
static struct vrt_tile_needs tile_needs(const struct vrt_network_info *network,
                                        enum vrt_tiling tiling, int overlap)
{
    if (!vrt_recipe_is_temporal(network))
        return vrt_tile_needs(network->multiple, network->radius, overlap);
    if (overlap < 0)
        overlap = network->tile_overlap ? network->tile_overlap : TILE_OVERLAP_BLENDED;
    return vrt_tile_needs_blended(tiling == VRT_TILING_OFFICIAL ? VRT_TILES_AVERAGED :
                                                                  VRT_TILES_FEATHERED,
                                  network->multiple, network->min_size, overlap);
}

struct vrt_tile_needs vrt_recipe_tile_needs(const struct vrt_recipe *recipe,
                                            const struct vrt_network_info *network)
{
    return tile_needs(network, recipe->tiling, recipe->overlap);
}

static int encoder_threads(const struct vrt_recipe_params *params)
{
    int64_t scale = params->network->scale;
    int64_t n = params->width * scale * params->height * scale / ENCODER_PIXELS_PER_THREAD;

    return (int)VRT_MAX(ENCODER_THREADS_MIN, VRT_MIN(n, ENCODER_THREADS_MAX));
}

/* What is being chosen from. */
struct choice {
    const struct vrt_job_settings *asked;
    const struct vrt_recipe_params *params;
    struct vrt_error *error;
};

/* What is asked of clips from a network that sees none. */
static int check_still(const struct choice *choice)
{
    const struct vrt_job_settings *asked = choice->asked;
    const struct {
        bool is_asked;
        const char *field;
    } wishes[] = {
        { asked->clip != VRT_UNKNOWN, "clip" },
        { asked->clip_overlap != VRT_UNKNOWN, "clip_overlap" },
        { asked->tiling == VRT_TILING_OFFICIAL, "tiling" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(wishes); i++) {
        if (!wishes[i].is_asked)
            continue;
        vrt_error_set_field(choice->error, wishes[i].field);
        return vrt_refuse(choice->error, -EINVAL, "request.field",
                          "%s restores each frame by itself: leave %s out",
                          choice->params->network->description, wishes[i].field);
    }
    return 0;
}

/* How many frames become of one, so that the video has the rate that was asked for: of how many
 * that divide the time between two evenly one of how many is shown. */
static int choose_rate(const struct choice *choice, struct vrt_recipe *recipe)
{
    const struct vrt_rational was = choice->params->fps, wanted = choice->params->wanted_fps;
    const char *description = choice->params->network->description;
    struct vrt_rational q;

    vrt_error_set_field(choice->error, "fps");
    if (!choice->params->network->any_times)
        return vrt_refuse(choice->error, -EINVAL, "request.field", "a rate (fps) is for folders of "
                          "pictures and for networks that make frames at any time, which %s "
                          "doesn't: leave it out", description);
    if (choice->asked->times != VRT_UNKNOWN)
        return vrt_refuse(choice->error, -EINVAL, "request.field", "both a rate (fps) and times "
                          "say how many frames there are to be: leave one out");
    if (was.num <= 0)
        return vrt_refuse(choice->error, -EINVAL, "request.field", "the input has no constant "
                          "rate, of which another (fps) could be made: give times instead");
    if ((int64_t)wanted.num * was.den <= (int64_t)was.num * wanted.den)
        return vrt_refuse(choice->error, -EINVAL, "request.field", "the input has %.6g frames a "
                          "second, and only more of them can be made: ask for more, or leave the "
                          "rate (fps) out", (double)was.num / was.den);
    if (vrt_rational_scale(wanted, was.den, was.num, &q) < 0 || q.num > VRT_RECIPE_TIMES_MAX ||
        q.den > VRT_RECIPE_EVERY_MAX)
        return vrt_refuse(choice->error, -EINVAL, "request.field", "%d/%d frames a second are "
                          "%.6g times the input's %d/%d, which is no fraction of small numbers: "
                          "give times instead, such as 2 for %.6g", wanted.num, wanted.den,
                          (double)wanted.num * was.den / ((double)wanted.den * was.num), was.num,
                          was.den, 2.0 * was.num / was.den);
    vrt_error_set_field(choice->error, "");
    recipe->times = q.num;
    recipe->every = q.den;
    return 0;
}

/* How many frames become of one, as the network has it; who asks for another number is told. */
static int choose_times(const struct choice *choice, struct vrt_recipe *recipe)
{
    const struct vrt_network_info *network = choice->params->network;
    const int64_t asked = choice->asked->times;

    recipe->times = 1 + network->out_frames;
    if (choice->params->wanted_fps.num > 0)
        return vrt_fold(choose_rate(choice, recipe));
    if (asked != VRT_UNKNOWN && network->any_times) {
        recipe->times = (int)asked;
        return 0;
    }
    if (asked == VRT_UNKNOWN || asked == recipe->times)
        return 0;
    vrt_error_set_field(choice->error, "times");
    if (!network->out_frames)
        return vrt_refuse(choice->error, -EINVAL, "request.field", "%s restores the frames that "
                          "there are, and makes none between them: leave times out",
                          network->description);
    return vrt_refuse(choice->error, -EINVAL, "request.field", "%s makes %d times as many frames "
                      "of a video, not %d: leave times out", network->description, recipe->times,
                      (int)asked);
}

/* Of a network that makes frames between: it has one length of clips, and they aren't blended. */
static int choose_between(const struct choice *choice, struct vrt_recipe *recipe)
{
    const struct vrt_job_settings *asked = choice->asked;
    const bool has_clip = asked->clip != VRT_UNKNOWN;

    recipe->clip_frames = choice->params->network->min_frames;
    if (!has_clip && asked->clip_overlap == VRT_UNKNOWN)
        return 0;
    const char *field = has_clip ? "clip" : "clip_overlap";
    vrt_error_set_field(choice->error, field);
    return vrt_refuse(choice->error, -EINVAL, "request.field", "%s makes each frame of the %d "
                      "around it: leave %s out", choice->params->network->description,
                      recipe->clip_frames, field);
}

/* Frames of a clip that is the whole video: in whole windows, as other clips are extended to. */
static int whole_video(int64_t n_frames, const struct vrt_network_info *network)
{
    const int window = vrt_network_clip_step(network);
    int64_t n = VRT_MIN(VRT_MAX(n_frames, 0), INT_MAX / 2);

    return n ? VRT_MAX((int)(n + window - 1) / window * window, network->min_frames) : 0;
}

/* The length of clips and what they share, as asked for or as the authors have it. */
static int choose_clip(const struct choice *choice, struct vrt_recipe *recipe)
{
    const struct vrt_network_info *network = choice->params->network;
    const struct vrt_job_settings *asked = choice->asked;
    const bool is_asked = asked->clip != VRT_UNKNOWN, whole = asked->clip == 0;
    int64_t n_frames = choice->params->n_frames;
    int most = network->max_frames ? VRT_MIN(network->max_frames, VRT_CLIP_FRAMES_MAX) :
                                     VRT_CLIP_FRAMES_MAX;
    int window = vrt_network_clip_step(network);

    int wanted = whole ? whole_video(n_frames, network) : (int)asked->clip;
    if (is_asked && (wanted < network->min_frames || wanted > most)) {
        vrt_error_set_field(choice->error, "clip");
        return whole && n_frames <= 0 ?
               vrt_refuse(choice->error, -EINVAL, "request.field", "how many frames the video has "
                          "isn't known: ask for clips of %d to %d", network->min_frames, most) :
               vrt_refuse(choice->error, -EINVAL, "request.field", "clips of %d frame%s don't suit "
                          "%s: ask for %d to %d", wanted, wanted == 1 ? "" : "s",
                          network->description, network->min_frames, most);
    }
    recipe->clip_frames = is_asked ? wanted : VRT_MIN(network->clip_frames, most);
    /* A short video isn't planned as if it were a long one. */
    if (!is_asked && n_frames > 0 && n_frames < recipe->clip_frames)
        recipe->clip_frames = VRT_MIN(recipe->clip_frames,
                                      ((int)n_frames + window - 1) / window * window);
    recipe->clip_frames = VRT_MAX(recipe->clip_frames, network->min_frames);
    if (asked->clip_overlap > recipe->clip_frames / 2) {
        vrt_error_set_field(choice->error, "clip_overlap");
        return vrt_refuse(choice->error, -EINVAL, "request.field",
                          "clips of %d frames can share %d at most, not %d", recipe->clip_frames,
                          recipe->clip_frames / 2, (int)asked->clip_overlap);
    }
    recipe->clip_overlap = asked->clip_overlap == VRT_UNKNOWN ? network->clip_overlap :
                                                                (int)asked->clip_overlap;
    vrt_recipe_shorten(recipe, recipe->clip_frames);
    return 0;
}

/* How strong the noise is that is to be removed. */
static int choose_noise(const struct choice *choice, struct vrt_recipe *recipe)
{
    const struct vrt_network_info *network = choice->params->network;
    const bool is_asked = !isnan(choice->asked->sigma);

    if (network->takes_noise == is_asked) {
        recipe->sigma = is_asked ? choice->asked->sigma : 0;
        return 0;
    }
    vrt_error_set_field(choice->error, "sigma");
    if (is_asked)
        return vrt_refuse(choice->error, -EINVAL, "request.field",
                          "%s isn't told how strong noise is: leave sigma out",
                          network->description);
    return vrt_refuse(choice->error, -EINVAL, "request.field", "%s must be told how strong the "
                      "noise is that it shall remove: give sigma, 0 to 50 (10 is faint, 25 plain, "
                      "50 heavy)", network->description);
}

/* Between two frames there is nothing that a network's could be mixed with. */
static int check_strength(const struct choice *choice)
{
    const struct vrt_network_info *network = choice->params->network;

    if (isnan(choice->asked->strength) || !network->out_frames)
        return 0;
    vrt_error_set_field(choice->error, "strength");
    return vrt_refuse(choice->error, -EINVAL, "request.field", "%s makes frames between those of "
                      "the video, which have no plain version to be mixed with: leave strength out",
                      network->description);
}

/* The coarsest tiles that are wanted. */
static int choose_tiles(const struct choice *choice, struct vrt_recipe *recipe)
{
    const struct vrt_recipe_params *params = choice->params;
    struct vrt_tile_needs needs = tile_needs(params->network, recipe->tiling,
                                             (int)choice->asked->overlap);
    struct vrt_tile_grid grid = vrt_tile_whole(params->width, params->height);
    int least = VRT_MAX(vrt_tile_min_size(needs), TILE_MIN);
    int tile = choice->asked->tile == VRT_UNKNOWN ? 0 : (int)choice->asked->tile;

    if (tile > 0 && tile < least) {
        vrt_error_set_field(choice->error, "tile");
        return vrt_refuse(choice->error, -EINVAL, "request.field",
                          "a tile of %d pixels is too small for this network, whose tiles "
                          "overlap by %d%s: ask for %d or more, or for none",
                          tile, needs.overlap,
                          needs.joint == VRT_TILES_CUT ? " on each side" : "", least);
    }
    if (recipe->tiling == VRT_TILING_OFFICIAL && tile % needs.multiple) {
        vrt_error_set_field(choice->error, "tile");
        return vrt_refuse(choice->error, -EINVAL, "request.field",
                          "the authors' tiles are multiples of %d pixels: ask for %d",
                          needs.multiple, tile - tile % needs.multiple);
    }
    if (choice->asked->tile == VRT_UNKNOWN && recipe->tiling == VRT_TILING_OFFICIAL)
        tile = VRT_MAX(params->network->tile_size ? params->network->tile_size : TILE_OFFICIAL,
                       least);
    if (tile > 0)
        grid = vrt_tile_grid_of_size(params->width, params->height, tile, needs);
    recipe->tile_w = grid.x.size;
    recipe->tile_h = grid.y.size;
    recipe->overlap = needs.overlap;
    return 0;
}

/* Where scenes end: only where clips may not reach over, and where the authors' rule isn't wanted,
 * which knows no scenes. */
static double scene_threshold(const struct choice *choice)
{
    if (!vrt_recipe_is_temporal(choice->params->network))
        return 0;
    if (!isnan(choice->asked->scene_cuts))
        return choice->asked->scene_cuts;
    return choice->asked->tiling == VRT_TILING_OFFICIAL ? 0 : VRT_SCENE_THRESHOLD_DEFAULT;
}

int vrt_recipe_choose(const struct vrt_job_settings *settings,
                      const struct vrt_recipe_params *params, struct vrt_recipe *ret_recipe,
                      struct vrt_error *error)
{
    const struct choice choice = { .asked = settings, .params = params, .error = error };
    struct vrt_recipe recipe = {
        .clip_frames = vrt_clip_frames(params->width, params->height),
        .exact_clip = settings->clip != VRT_UNKNOWN,
        .exact_tile = settings->tile != VRT_UNKNOWN,
        .tiling = (enum vrt_tiling)settings->tiling,
        .scene_threshold = scene_threshold(&choice),
        .segment_frames = settings->segment_frames == VRT_UNKNOWN ? SEGMENT_FRAMES :
                                                                    settings->segment_frames,
        .precision = settings->precision == VRT_UNKNOWN ? VRT_PRECISION_AUTO :
                     (enum vrt_precision)settings->precision,
        .encoder_threads = encoder_threads(params),
        .fields = params->fields,
        .tonemap = params->tonemap,
        .every = 1,
        .strength = isnan(settings->strength) ? 1 : settings->strength,
    };
    int r = choose_times(&choice, &recipe);

    if (r < 0)
        return vrt_fold(r);
    r = params->network->out_frames               ? choose_between(&choice, &recipe)
        : vrt_recipe_is_temporal(params->network) ? choose_clip(&choice, &recipe)
                                                  : check_still(&choice);
    if (r < 0)
        return vrt_fold(r);
    r = check_strength(&choice);
    if (r < 0)
        return vrt_fold(r);
    r = choose_noise(&choice, &recipe);
    if (r < 0)
        return vrt_fold(r);
    r = choose_tiles(&choice, &recipe);
    if (r < 0)
        return vrt_fold(r);
    *ret_recipe = recipe;
    return 0;
}

struct vrt_tile_grid vrt_recipe_grid(const struct vrt_recipe *recipe,
                                     const struct vrt_network_info *network, int width, int height)
{
    return vrt_tile_restore(width, height, recipe->tile_w, recipe->tile_h,
                            vrt_recipe_tile_needs(recipe, network));
}
