/* SPDX-License-Identifier: MIT */

#include "client/commands/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/macro.h"
#include "client/cli.h"
#include "client/conn.h"
#include "client/terminal/format.h"
#include "client/terminal/screen.h"
#include "client/terminal/table.h"
#include "msg_plan.h"

static const struct vrt_column columns[] = {
    { "DEVICE", VRT_ALIGN_LEFT },
    { "PRECISION", VRT_ALIGN_LEFT },
    { "MODEL", VRT_ALIGN_RIGHT },
    { "WORKSPACE", VRT_ALIGN_RIGHT },
    { "PEAK", VRT_ALIGN_RIGHT },
    { "ALLOWED", VRT_ALIGN_RIGHT },
    { "GFLOP/S", VRT_ALIGN_RIGHT },
    { "S/SHARD", VRT_ALIGN_RIGHT },
    { NULL, VRT_ALIGN_LEFT },
};

static int print_devices(const struct vrt_plan_report *plan)
{
    struct vrt_table table;
    int r = 0;

    vrt_table_init(&table, columns);
    for (size_t i = 0; r == 0 && i < plan->n_devices; i++) {
        const struct vrt_plan_device *d = &plan->devices[i];
        char name[VRT_API_DEVICE_BYTES], cells[6][32];
        const char *const row[] = {
            vrt_printable(d->name, name, sizeof(name)),
            vrt_name_of(vrt_precision_names, d->precision),
            vrt_format_bytes(d->replica_bytes, cells[0], sizeof(cells[0])),
            vrt_format_bytes(d->workspace_bytes, cells[1], sizeof(cells[1])),
            vrt_format_bytes(d->peak_bytes, cells[2], sizeof(cells[2])),
            vrt_format_bytes(d->allowed_bytes, cells[3], sizeof(cells[3])),
            vrt_format_rate(d->gflop_per_s, cells[4], sizeof(cells[4])),
            vrt_format_rate(d->seconds_per_shard, cells[5], sizeof(cells[5])),
        };
        r = vrt_table_add(&table, row);
    }
    if (r == 0)
        r = vrt_screen_print_table(&table);
    vrt_table_done(&table);
    return vrt_fold(r);
}

void vrt_plan_print_encoding(const struct vrt_job_recipe *recipe)
{
    char text[VRT_SETTING_OPTIONS_BYTES];

    printf("%s", vrt_name_of(vrt_codec_names, recipe->codec));
    if (recipe->hwaccel)
        printf(" by %s", vrt_name_of(vrt_hwaccel_names, recipe->hwaccel));
    if (recipe->quality >= 0)
        printf(" %s %" PRId64, vrt_quality_name(recipe->codec), recipe->quality);
    if (recipe->preset[0])
        printf(" %s", vrt_printable(recipe->preset, text, sizeof(text)));
    if (recipe->bitrate > 0)
        printf(" %g kbit/s", (double)recipe->bitrate / 1000);
    if (recipe->target_size_bytes > 0)
        printf(" for %g MB", (double)recipe->target_size_bytes / 1e6);
    if (recipe->pixel_format[0])
        printf(" %s", vrt_printable(recipe->pixel_format, text, sizeof(text)));
    if (recipe->encoder_options[0])
        printf(" %s", vrt_printable(recipe->encoder_options, text, sizeof(text)));
    if (recipe->alpha != VRT_UNKNOWN)
        printf(", alpha %s", vrt_name_of(vrt_alpha_names, recipe->alpha));
}

static void print_video(const struct vrt_plan_report *plan)
{
    const struct vrt_job_video *v = &plan->video;
    const struct vrt_job_recipe *recipe = &plan->recipe;
    char input[VRT_API_NAME_BYTES], output[VRT_API_NAME_BYTES], model[VRT_API_NAME_BYTES];
    char fps[32], duration[64], text[VRT_API_WORD_BYTES];
    char options[VRT_SETTING_OPTIONS_BYTES];

    printf("%s -> %s\n", vrt_printable(plan->input_name, input, sizeof(input)),
           vrt_printable(plan->output_name, output, sizeof(output)));
    printf("  Input      %" PRId64 "x%" PRId64 ", %s fps, %s, %s", v->width, v->height,
           vrt_format_rate(v->fps, fps, sizeof(fps)),
           vrt_format_part(v->start_s, v->duration_s, duration, sizeof(duration)),
           vrt_printable(v->codec, text, sizeof(text)));
    if (recipe->hwdec > VRT_HWDEC_OFF)
        printf(" by %s", vrt_name_of(vrt_hwdec_names, recipe->hwdec));
    printf("\n  Output     %" PRId64 "x%" PRId64 ", ", v->output_width, v->output_height);
    vrt_plan_print_encoding(recipe);
    if (recipe->streams[0])
        printf("\n  Streams    %s", vrt_printable(recipe->streams, options, sizeof(options)));
    if (plan->reference_name[0])
        printf("\n  Reference  %s, which the result is compared with",
               vrt_printable(plan->reference_name, output, sizeof(output)));
    printf("\n  Model      %s (%s x%" PRId64 ")\n",
           vrt_printable(plan->model.name, model, sizeof(model)),
           vrt_printable(plan->model.architecture, text, sizeof(text)), plan->model.scale);
}

static void print_work(const struct vrt_plan_report *plan)
{
    const struct vrt_job_recipe *recipe = &plan->recipe;
    char seconds[64], shards[64];

    if (plan->frames_total >= 0)
        printf("  Frames     %" PRId64 " in %s of up to %" PRId64, plan->frames_total,
               vrt_format_count(plan->shards, "shard", shards, sizeof(shards)),
               recipe->clip_frames);
    else
        printf("  Frames     as many as there turn out to be, in shards of up to %" PRId64,
               recipe->clip_frames);
    if (recipe->clip_overlap > 0)
        printf(", sharing %" PRId64, recipe->clip_overlap);
    if (recipe->deinterlace != VRT_DEINTERLACE_OFF)
        printf(", deinterlaced by %s", vrt_name_of(vrt_deinterlace_names, recipe->deinterlace));
    if (recipe->times > 1)
        printf(", %s times those of the video",
               vrt_format_ratio(recipe->times, recipe->times_every, seconds, sizeof(seconds)));
    if (recipe->strength < 1)
        printf(", strength %g", recipe->strength);
    if (recipe->denoise >= 0)
        printf(", denoise %g", recipe->denoise);
    if (recipe->tonemap != VRT_TONEMAP_OFF)
        printf(", HDR to SDR by %s", vrt_name_of(vrt_tonemap_names, recipe->tonemap));
    putchar('\n');
    if (plan->tiles > 1)
        printf("  Tiles      %" PRId64 " of %" PRId64 "x%" PRId64 ", overlapping by %" PRId64
               "\n", plan->tiles, recipe->tile_width, recipe->tile_height, recipe->overlap);
    else
        puts("  Tiles      none: whole frames fit");
    if (plan->estimated_s >= 0)
        printf("  Takes      about %s for the devices, if they have nothing else to do\n",
               vrt_format_duration(ceil(plan->estimated_s), seconds, sizeof(seconds)));
    else
        puts("  Takes      how long, cannot be estimated");
}

int vrt_plan_print(const struct vrt_cli *cli, const struct json_t *json, struct vrt_error *error)
{
    struct vrt_plan_report plan;
    int r = 0;

    if (vrt_plan_report_decode(json, &plan, error) < 0)
        return VRT_CONN_E_BROKEN;
    if (cli->args.json) {
        r = vrt_cli_print_json(json) == VRT_EXIT_OK ? 0 : -ENOMEM;
    } else {
        print_video(&plan);
        print_work(&plan);
        putchar('\n');
        r = print_devices(&plan);
    }
    if (r == 0)
        vrt_cli_warn(cli, plan.input_name, plan.warnings, plan.n_warnings);
    vrt_fields_done(vrt_plan_fields, &plan);
    return r < 0 ? vrt_refuse_errno(error, r, "printing the plan") : 0;
}
