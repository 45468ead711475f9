/* SPDX-License-Identifier: MIT */
/* proto: routes, errors, the messages themselves, and the stream of events. */

#include "tests/unit/test.h"

#include <errno.h>
#include <jansson.h>

#include "base/cleanup.h"
#include "msg_device.h"
#include "msg_event.h"
#include "msg_job.h"
#include "msg_plan.h"

static void test_routes(void)
{
    static const struct {
        const char *method, *path;
        int r, route;
        long long id;
    } cases[] = {
        { "POST", "/v1/jobs", 0, VRT_API_JOB_CREATE, -1 },
        { "GET", "/v1/jobs", 0, VRT_API_JOB_LIST, -1 },
        { "GET", "/v1/jobs/1", 0, VRT_API_JOB_SHOW, 1 },
        { "DELETE", "/v1/jobs/999999999999999999", 0, VRT_API_JOB_CANCEL, 999999999999999999 },
        { "PATCH", "/v1/jobs/12", 0, VRT_API_JOB_CHANGE, 12 },
        { "POST", "/v1/jobs/12/pause", 0, VRT_API_JOB_PAUSE, 12 },
        { "POST", "/v1/jobs/12/resume", 0, VRT_API_JOB_RESUME, 12 },
        { "POST", "/v1/jobs/12/retry", 0, VRT_API_JOB_RETRY, 12 },
        { "POST", "/v1/jobs/12/forget", 0, VRT_API_JOB_FORGET, 12 },
        { "GET", "/v1/jobs/12/log", 0, VRT_API_JOB_LOG, 12 },
        { "GET", "/v1/jobs/12/history", 0, VRT_API_JOB_HISTORY, 12 },
        { "GET", "/v1/devices/history", 0, VRT_API_DEVICES_HISTORY, -1 },
        { "GET", "/v1/jobs/12/pause", -EOPNOTSUPP, 0, 0 },
        { "POST", "/v1/jobs/12", -EOPNOTSUPP, 0, 0 },
        { "POST", "/v1/jobs//pause", -ENOENT, 0, 0 },
        { "POST", "/v1/jobs/012/pause", -ENOENT, 0, 0 },
        { "POST", "/v1/jobs/12/pause/", -ENOENT, 0, 0 },
        { "POST", "/v1/jobs/12/paus", -ENOENT, 0, 0 },
        { "POST", "/v1/jobs/12pause", -ENOENT, 0, 0 },
        { "GET", "/healthz", 0, VRT_API_HEALTH, -1 },
        { "GET", "/metrics", 0, VRT_API_METRICS, -1 },
        { "PUT", "/v1/jobs", -EOPNOTSUPP, 0, 0 },
        { "GET", "/v1/jobs/", -ENOENT, 0, 0 },
        { "GET", "/v1/jobs/0", -ENOENT, 0, 0 },
        { "GET", "/v1/jobs/01", -ENOENT, 0, 0 },
        { "GET", "/v1/jobs/-1", -ENOENT, 0, 0 },
        { "GET", "/v1/jobs/1/", -ENOENT, 0, 0 },
        { "GET", "/v1/jobs/9999999999999999999", -ENOENT, 0, 0 },
        { "GET", "/v1/job", -ENOENT, 0, 0 },
        { "GET", "", -ENOENT, 0, 0 },
    };
    char allow[64];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum vrt_api_route_id route = VRT_API_ROUTE_COUNT;
        long long id = 0;
        expect_int(vrt_api_route_find(cases[i].method, cases[i].path, &route, &id), cases[i].r);
        if (cases[i].r == 0) {
            expect_int(route, cases[i].route);
            expect_int(id, cases[i].id);
        }
    }
    expect_str(vrt_api_route_allow("/v1/jobs/3", allow, sizeof(allow)), "GET, PATCH, DELETE");
    expect_str(vrt_api_route_allow("/v1/jobs/3/retry", allow, sizeof(allow)), "POST");
    expect_str(vrt_api_route_allow("/v1", allow, sizeof(allow)), "");
    for (int i = 0; i < VRT_API_ERROR_COUNT; i++)
        expect_int(vrt_api_error_find(vrt_api_errors[i].id), i);
    expect_int(vrt_api_error_status("job.not_found"), 404);
    expect_int(vrt_api_error_status("nobody.knows"), 500);
    expect_int(vrt_api_error_status(NULL), 500);
    expect_str(vrt_api_error_meaning("job.not_found"), "no job has this number");
    expect_str(vrt_api_error_meaning("nobody.knows"), "it failed");
    expect_str(VRT_E(MODEL_INVALID), "model.invalid");
    const struct vrt_device_usage half_known = { .replica_bytes = 2, .workspace_bytes = -1 };
    expect_int(vrt_device_held_bytes(&half_known), VRT_UNKNOWN);
}

enum kind { JOB, AGAIN, CHANGE, DEVICES, PROFILE };

union request {
    struct vrt_job_request job;
    struct vrt_job_files_request files;
    struct vrt_job_change change;
    struct vrt_devices_request devices;
    struct vrt_profile_request profile;
};

static int parse(enum kind kind, const char *text, union request *q, struct vrt_error *error)
{
    const size_t n = strlen(text);

    *error = (struct vrt_error){ 0 };
    switch (kind) {
    case JOB: return vrt_job_request_parse(text, n, &q->job, error);
    case AGAIN: return vrt_job_files_request_parse(text, n, &q->files, error);
    case CHANGE: return vrt_job_change_parse(text, n, &q->change, error);
    case DEVICES: return vrt_devices_request_parse(text, n, &q->devices, error);
    default: return vrt_profile_request_parse(text, n, &q->profile, error);
    }
}

struct refusal {
    const char *text, *field, *sentence;
    enum kind kind;
};

/* Nothing of what was there before changes. */
static void expect_refusals(const struct refusal *refused, size_t n)
{
    union request q, before;
    struct vrt_error error;

    memset(&before, 77, sizeof(before));
    for (size_t i = 0; i < n; i++) {
        memcpy(&q, &before, sizeof(q));
        expect_int(parse(refused[i].kind, refused[i].text, &q, &error), -EINVAL);
        expect_contains(error.message, refused[i].sentence);
        expect_str(error.field, refused[i].field);
        expect_int(memcmp(&q, &before, sizeof(q)), 0);
    }
}

#define FILES "\"input\":{\"fd\":0,\"name\":\"a.mp4\"},\"output\":{\"fd\":1,\"name\":\"b.mkv\"}"

/* What is not said is its default, and what is said is kept as it was. */
static void test_request(void)
{
    static const char all[] =
        "{\"input\":{\"fd\":null,\"name\":\"a.mp4\",\"path\":null,\"url\":null,\"upload\":7},"
        "\"output\":{\"fd\":1,\"name\":\"b.mkv\",\"path\":null},"
        "\"model\":{\"fd\":2,\"name\":\"x.pth\",\"path\":null},"
        "\"reference\":{\"fd\":3,\"name\":\"gt.mkv\",\"path\":null,\"upload\":null},"
        "\"device\":\"cpu:1\",\"precision\":\"bf16\",\"tile\":256,\"overlap\":0,\"clip\":16,"
        "\"clip_overlap\":4,\"tiling\":\"official\",\"scene_cuts\":0.25,\"strength\":0.5,"
        "\"denoise\":0.75,\"sigma\":12.5,\"codec\":\"ffv1\",\"quality\":51,\"preset\":\"slow\","
        "\"bitrate\":null,\"target_size_bytes\":null,\"scale\":\"2\","
        "\"pixel_format\":\"yuv420p\",\"encoder_options\":\"a=b\",\"streams\":\"v:1,-s\","
        "\"start_s\":1.5,\"duration_s\":2.5,\"pictures\":\"%d.png\",\"fps\":24.5,"
        "\"deinterlace\":\"field\",\"times\":4,\"alpha\":\"drop\",\"tonemap\":\"mobius\","
        "\"hwaccel\":\"nvenc\",\"hwdec\":\"nvdec\",\"priority\":-100,\"strict\":true,"
        "\"overwrite\":true,\"dry_run\":true,\"webhook\":\"http://x/\"}";
    static const char defaults[] =
        "{\"input\":{\"fd\":0,\"name\":\"a.mp4\",\"path\":null,\"url\":null,\"upload\":null},"
        "\"output\":{\"fd\":1,\"name\":\"b.mkv\",\"path\":null},"
        "\"model\":{\"fd\":null,\"name\":\"\",\"path\":null},"
        "\"reference\":{\"fd\":null,\"name\":\"\",\"path\":null,\"upload\":null},"
        "\"device\":null,\"precision\":null,\"tile\":null,\"overlap\":null,\"clip\":null,"
        "\"clip_overlap\":null,\"tiling\":\"blend\",\"scene_cuts\":null,\"strength\":null,"
        "\"denoise\":null,\"sigma\":null,\"codec\":null,\"quality\":null,\"preset\":null,"
        "\"bitrate\":null,\"target_size_bytes\":null,\"scale\":null,\"pixel_format\":null,"
        "\"encoder_options\":null,\"streams\":null,\"start_s\":null,\"duration_s\":null,"
        "\"pictures\":null,\"fps\":null,\"deinterlace\":\"auto\",\"times\":null,"
        "\"alpha\":\"auto\",\"tonemap\":\"off\",\"hwaccel\":null,\"hwdec\":null,\"priority\":0,"
        "\"strict\":false,\"overwrite\":false,\"dry_run\":false,\"webhook\":null}";
    const char *const cases[][2] = { { "{" FILES "}", defaults }, { all, all } };
    union request q;
    struct vrt_error error;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_buf printed = { 0 };
        if (parse(JOB, cases[i][0], &q, &error) < 0)
            test_fail("%s", error.message);
        expect_int(q.job.output.upload, VRT_UNKNOWN);
        expect_int(vrt_fields_print(vrt_job_request_fields, &q.job, &printed), 0);
        expect_str(printed.data, cases[i][1]);
        vrt_buf_done(&printed);
    }
    expect_int(q.job.input.upload, 7);
    expect_int(q.job.reference.fd, 3);
    expect_int(q.job.settings.clip, 16);
    expect_int(q.job.settings.codec, VRT_CODEC_FFV1);
    expect_near(q.job.settings.denoise, 0.75, 0);
}

static void test_request_refusals(void)
{
    static const struct refusal refused[] = {
        { "{}", "input", "input: this field is required" },
        { "{\"input\":{\"fd\":0,\"name\":\"a\"}}", "output", "output: this field is required" },
        { "{\"input\":{\"fd\":0}}", "input.name", "input.name: this field is required" },
        { "{\"input\":{\"name\":\"a\"},\"output\":{\"name\":\"b\"}}", "input.fd",
          "or else an upload" },
        { "{\"input\":{\"name\":\"a\",\"upload\":0},\"output\":{\"name\":\"b\"}}",
          "input.upload", "an integer" },
        { "{\"input\":{\"name\":\"a\",\"upload\":1,\"fd\":0},\"output\":{\"name\":\"b\"}}",
          "input.fd", "or else an upload" },
        { "{\"input\":{\"name\":\"a\",\"upload\":1,\"url\":\"http://a/\"},"
          "\"output\":{\"name\":\"b\"}}", "input.fd", "or else an upload" },
        { "{\"input\":{\"fd\":4,\"name\":\"a\"}}", "input.fd", "an integer from 0 to 3, got 4" },
        { "{\"input\":\"/etc/passwd\"}", "input", "input: expected an object, got a string" },
        { "{\"input\":{\"fd\":0,\"name\":\"\"},\"output\":{\"fd\":1,\"name\":\"b\"}}", "input",
          "input.name: a name is needed" },
        { "{\"input\":{\"fd\":0,\"name\":\"a\"},\"output\":{\"fd\":0,\"name\":\"b\"}}", "output",
          "output.fd: descriptor 0 is input already" },
        { "{" FILES ",\"model\":{\"name\":\"m\",\"fd\":1}}", "model", "descriptor 1 is output" },
        { "{" FILES ",\"model\":{\"name\":\"\",\"fd\":2}}", "model", "model.name: a name" },
        { "{" FILES ",\"model\":\"compact-x2\"}", "model", "expected an object, got a string" },
        { "{" FILES ",\"reference\":{\"name\":\"g\"}}", "reference.fd",
          "or else an upload" },
        { "{" FILES ",\"reference\":{\"name\":\"gt.mkv\",\"upload\":0}}", "reference.upload",
          "an integer" },
        { "{" FILES ",\"reference\":{\"name\":\"gt.mkv\",\"upload\":1,\"fd\":2}}",
          "reference.fd", "or else an upload" },
        { "{" FILES ",\"reference\":{\"name\":\"\",\"upload\":1}}", "reference",
          "reference.name: a name" },
        { "{\"input\":{\"name\":\"a\",\"upload\":7},\"output\":{\"name\":\"b\"},"
          "\"reference\":{\"name\":\"gt.mkv\",\"upload\":7}}", "reference",
          "upload 7 is input already" },
        { "{" FILES ",\"reference\":{\"name\":\"gt.mkv\",\"fd\":0}}", "reference",
          "descriptor 0 is input" },
        { "{" FILES ",\"reference\":{\"name\":\"\",\"path\":\"/gt.mkv\"}}", "reference",
          "reference.name: a name" },
        { "{" FILES ",\"reference\":{\"name\":\"gt.mkv\",\"path\":\"gt.mkv\"}}", "reference",
          "must begin with /" },
        { "{" FILES ",\"priority\":\"high\"}", "priority",
          "priority: expected an integer from -100 to 100, got a string" },
        { "{" FILES ",\"tile\":-1}", "tile", "from 0 to 16384, got -1" },
        { "{" FILES ",\"clip\":129}", "clip", "from 0 to 128, got 129" },
        { "{" FILES ",\"clip_overlap\":-1}", "clip_overlap", "from 0 to 64" },
        { "{" FILES ",\"tiling\":\"hard\"}", "tiling", "blend" },
        { "{" FILES ",\"deinterlace\":\"bob\"}", "deinterlace", "or \"telecine\"" },
        { "{" FILES ",\"times\":1}", "times", "from 2 to 16, got 1" },
        { "{" FILES ",\"times\":2.5}", "times", "from 2 to 16" },
        { "{" FILES ",\"alpha\":\"keep\"}", "alpha", "\"drop\" or \"network\"" },
        { "{" FILES ",\"tonemap\":\"gamma\"}", "tonemap", "or \"clip\"" },
        { "{" FILES ",\"scene_cuts\":1.5}", "scene_cuts", "from 0 to 1" },
        { "{" FILES ",\"sigma\":51}", "sigma", "from 0 to 50" },
        { "{" FILES ",\"strength\":1.1}", "strength", "from 0 to 1" },
        { "{" FILES ",\"denoise\":-0.1}", "denoise", "from 0 to 1" },
        { "{" FILES ",\"scale\":\"big\"}", "scale", "\"big\" is no size" },
        { "{" FILES ",\"scale\":\"1920x\"}", "scale", "is no size" },
        { "{" FILES ",\"scale\":\"0p\"}", "scale", "is no size" },
        { "{" FILES ",\"scale\":\"1.5.2\"}", "scale", "is no size" },
        { "{" FILES ",\"scale\":\"-2\"}", "scale", "is no size" },
        { "{" FILES ",\"scale\":\"123456x10\"}", "scale", "is no size" },
        { "{" FILES ",\"scale\":\"65\"}", "scale", "is no size" },
        { "{" FILES ",\"scale\":\"0\"}", "scale", "\"0\" is no size" },
        { "{" FILES ",\"quality\":true}", "quality", "from 0 to 63, got true" },
        { "{" FILES ",\"target_size_bytes\":999}", "target_size_bytes", "from 1000 to" },
        { "{" FILES ",\"target_size_bytes\":9999,\"quality\":9}", "target_size_bytes",
          "a target size, a bitrate or a quality" },
        { "{" FILES ",\"target_size_bytes\":9999,\"bitrate\":9999}", "target_size_bytes",
          "a target size, a bitrate or a quality" },
        { "{" FILES ",\"codec\":\"vp3\"}", "codec", "expected \"h264\", \"hevc\", \"ffv1\"" },
        { "{" FILES ",\"hwaccel\":\"amf\"}", "hwaccel", "\"nvenc\"" },
        { "{" FILES ",\"hwdec\":\"nvenc\"}", "hwdec", "\"nvdec\"" },
        { "{" FILES ",\"fps\":-1}", "fps", "from 0 to 1000" },
        { "{" FILES ",\"streams\":[0]}", "streams", "streams: expected a string" },
        { "{" FILES ",\"pictures\":7}", "pictures", "pictures: expected" },
        { "{" FILES ",\"strict\":\"yes\"}", "strict", "expected true or false" },
        { "{" FILES ",\"frobnicate\":1}", "frobnicate", ", times and 9 more" },
    };

    expect_refusals(refused, VRT_ARRAY_SIZE(refused));
}

static void test_other_refusals(void)
{
    static const struct refusal refused[] = {
        { " ", "", "line 1", AGAIN },
        { "[]", "the body", "expected an object", AGAIN },
        { "{\"input\":{\"fd\":4,\"name\":\"a\"}}", "input.fd", "from 0 to 3, got 4", AGAIN },
        { "{\"input\":{\"fd\":0}}", "input.name", "this field is required", AGAIN },
        { "{\"input\":{\"fd\":0,\"name\":\"\"}}", "input", "a name is needed", AGAIN },
        { "{\"input\":{\"name\":\"a\"}}", "input", "is a descriptor or a path", AGAIN },
        { "{\"model\":{\"name\":\"compact-x2\"}}", "model", "is a descriptor or a path", AGAIN },
        { "{\"output\":{\"name\":\"a\",\"path\":\"a\"}}", "output", "must begin with /", AGAIN },
        { "{\"input\":{\"url\":\"https://x/y\",\"name\":\"y\"}}", "input.url", "no such", AGAIN },
        { "{\"input\":{\"fd\":1,\"name\":\"a\"},\"output\":{\"fd\":1,\"name\":\"b\"}}", "output",
          "descriptor 1 is input already", AGAIN },
        { "{\"priority\":1}", "priority", "no such field; there are input, output", AGAIN },
        { "", "", "", CHANGE },
        { "{}", "priority", "this field is required", CHANGE },
        { "{\"priority\":null}", "priority", "an integer from -100 to 100", CHANGE },
        { "{\"priority\":101}", "priority", "from -100 to 100, got 101", CHANGE },
        { "{\"priority\":1.5}", "priority", "an integer", CHANGE },
        { "[7]", "the body", "expected an object", CHANGE },
        { "{\"priority\":1,\"state\":\"done\"}", "state", "there are priority", CHANGE },
        { "", "", "", DEVICES },
        { "{}", "trim", "set trim, reset_peak or both", DEVICES },
        { "{\"device\":\"cpu\",\"trim\":false}", "trim", "nothing is asked of the d", DEVICES },
        { "{\"trim\":1}", "trim", "expected true or false", DEVICES },
        { "{\"trim\":true,\"devices\":\"cpu\"}", "devices",
          "no such field; there are device, trim, reset_peak", DEVICES },
        { "[]", "the body", "expected an object", PROFILE },
        { "{\"model\":{\"fd\":2}}", "model.name", "this field is required", PROFILE },
        { "{\"model\":{\"fd\":0,\"name\":\"\"}}", "model", "a name is needed, it is", PROFILE },
        { "{\"width\":7}", "width", "from 8 to 16384, got 7", PROFILE },
        { "{\"height\":16385}", "height", "from 8 to 16384, got 16385", PROFILE },
        { "{\"clip\":0}", "clip", "from 1 to 128, got 0", PROFILE },
        { "{\"batch\":0}", "batch", "from 1 to", PROFILE },
        { "{\"frames\":10001}", "frames", "from 1 to 10000, got 10001", PROFILE },
        { "{\"tiling\":\"blend\"}", "tiling", "no such field; there are model, device", PROFILE },
    };

    expect_refusals(refused, VRT_ARRAY_SIZE(refused));
}

static void test_files_request(void)
{
    union request request;
    struct vrt_job_files_request q;
    struct vrt_error error;

    /* Nothing at all, in each way to say that; what a client prints reads back. */
    struct vrt_job_files_request none;
    struct vrt_buf printed = { 0 };
    vrt_job_files_request_init(&none);
    expect_int(vrt_fields_print(vrt_job_files_request_fields, &none, &printed), 0);
    const char *const empty[] = { "", "{}", "{\"input\":{\"fd\":null,\"name\":\"\"}}",
                                  printed.data };
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
        expect_int(parse(AGAIN, empty[i], &request, &error), 0);
        q = request.files;
        expect_int(q.input.fd, VRT_UNKNOWN);
        expect_int(q.output.fd, VRT_UNKNOWN);
        expect_int(q.model.fd, VRT_UNKNOWN);
        expect_str(q.input.path, "");
        expect_true(!q.overwrite);
    }
    vrt_buf_done(&printed);
    const char *both = "{\"input\":{\"name\":\"a.mp4\",\"path\":\"/v/a.mp4\"},"
                               "\"output\":{\"fd\":0,\"name\":\"b.mp4\",\"path\":null},"
                               "\"overwrite\":true}";
    expect_int(parse(AGAIN, both, &request, &error), 0);
    q = request.files;
    expect_str(q.input.path, "/v/a.mp4");
    expect_int(q.input.upload, VRT_UNKNOWN);
    expect_true(q.overwrite);
    expect_int(q.output.fd, 0);
    expect_str(q.output.name, "b.mp4");
}

/* A change of a job, and what devices are asked. */
static void test_small_requests(void)
{
    union request q;
    struct vrt_error error;

    expect_int(parse(CHANGE, "{\"priority\":-100}", &q, &error), 0);
    expect_int(q.change.priority, -100);
    expect_int(parse(DEVICES, "{\"device\":\"cuda:0,cpu\",\"trim\":true,\"reset_peak\":true}",
                     &q, &error), 0);
    expect_str(q.devices.device, "cuda:0,cpu");
    expect_true(q.devices.trim && q.devices.reset_peak);
    expect_int(parse(DEVICES, "{\"device\":null,\"reset_peak\":true}", &q, &error), 0);
    expect_str(q.devices.device, "");
    expect_true(!q.devices.trim && q.devices.reset_peak);
}

static void test_profile_request(void)
{
    union request q;
    struct vrt_error error;

    expect_int(parse(PROFILE, "{}", &q, &error), 0);
    expect_int(q.profile.model.fd, VRT_UNKNOWN);
    expect_int(q.profile.settings.tile, VRT_UNKNOWN);
    expect_true(isnan(q.profile.settings.strength) && !q.profile.keep);
    expect_int(q.profile.width, 640);
    expect_int(q.profile.height, 360);
    expect_int(q.profile.batch, VRT_UNKNOWN);
    expect_int(q.profile.frames, VRT_UNKNOWN);
    const char *small = "{\"model\":{\"name\":\"m\",\"fd\":0},\"width\":8,\"keep\":true}";
    expect_int(parse(PROFILE, small, &q, &error), 0);
    expect_int(q.profile.model.fd, 0);
    expect_int(q.profile.width, 8);
    expect_true(q.profile.keep);
}

static struct vrt_job_info *example_job(struct vrt_job_info *job)
{
    static struct vrt_job_device devices[] = {
        { .name = "cpu:0", .shards_done = 4, .frames_done = 32, .replica_bytes = VRT_UNKNOWN,
          .workspace_bytes = 1 << 20, .peak_bytes = 3 << 20 },
        { .name = "cpu:1", .shards_running = 2 },
    };
    static char warnings[][VRT_API_TEXT_BYTES] = { "frame 3 was concealed" };

    vrt_job_info_init(job);
    job->id = 12;
    job->state = VRT_JOB_RUNNING;
    snprintf(job->input_name, sizeof(job->input_name), "caf\xc3\xa9.mp4");
    snprintf(job->model.name, sizeof(job->model.name), "compact-x2");
    job->model.scale = 2;
    job->created_at = 1767323045678000000;
    job->frames_total = 200;
    job->frames_done = 32;
    job->fps = 12.5;
    job->stages.compute = 0.75;
    job->devices = devices;
    job->n_devices = 2;
    job->has_recipe = true;
    job->recipe.codec = VRT_CODEC_HEVC;
    job->recipe.precision = VRT_PRECISION_F32;
    job->reproducible = true;
    job->warnings = warnings;
    job->n_warnings = 1;
    return job;
}

static void test_job_round_trip(void)
{
    struct vrt_job_info job, again;
    struct vrt_error error = { 0 };
    struct vrt_buf first = { 0 }, second = { 0 };
    json_t *json = NULL;

    expect_int(vrt_fields_print(vrt_job_fields, example_job(&job), &first), 0);
    expect_contains(first.data, "{\"id\":12,\"state\":\"running\",");
    expect_contains(first.data, "\"input_name\":\"caf\xc3\xa9.mp4\"");
    expect_contains(first.data, "\"left_s\":null");
    expect_contains(first.data, "\"replica_bytes\":null");
    expect_contains(first.data, "\"video\":null");
    expect_contains(first.data, "\"codec\":\"hevc\"");
    expect_int(vrt_json_parse(first.data, first.size_bytes, &json, &error), 0);
    if (vrt_job_info_decode(json, &again, &error) < 0)
        test_fail("%s", error.message);
    json_decref(json);
    expect_int(again.n_devices, 2);
    expect_true(isnan(again.left_s) && again.has_recipe && !again.has_video && !again.has_error);
    expect_int(vrt_fields_print(vrt_job_fields, &again, &second), 0);
    expect_str(second.data, first.data);
    vrt_job_info_done(&again);
    vrt_buf_done(&second);
    expect_int(vrt_fields_print(vrt_job_short_fields, &job, &second), 0);
    expect_true(!strstr(second.data, "stages") && strstr(second.data, "devices"));
    vrt_buf_done(&first);
    vrt_buf_done(&second);
}

static void test_broken_jobs(void)
{
    static const char *const texts[] = {
        "[]", "3", "{\"id\":\"x\"}", "{\"devices\":7}", "{\"devices\":[[]]}",
        "{\"devices\":[{\"name\":\"cpu:0\"},{\"name\":1}]}", "{\"warnings\":{}}",
        "{\"frames_done\":-3}", "{\"error\":\"no\"}",
    };
    struct vrt_job_info job;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct vrt_error error = { 0 };
        json_t *json = json_loads(texts[i], JSON_DECODE_ANY, NULL);
        expect_true(json);
        expect_int(vrt_job_info_decode(json, &job, &error), -EINVAL);
        expect_true(error.message[0]);
        json_decref(json);
    }
    json_t *empty = json_object();
    expect_int(vrt_job_info_decode(empty, &job, NULL), 0);
    expect_int(job.id, VRT_UNKNOWN);
    expect_int(job.state, VRT_UNKNOWN);
    vrt_job_info_done(&job);
    json_decref(empty);
}

static void test_errors(void)
{
    struct vrt_error error = { 0 };
    struct vrt_buf buf = { 0 };
    struct vrt_job_error decoded;
    json_t *json = NULL;

    vrt_refuse(&error, -ENOENT, VRT_E(JOB_NOT_FOUND), "there is no job %d", 7);
    expect_int(vrt_error_print(&error, &buf), 0);
    expect_str(buf.data, "{\"error\":{\"id\":\"job.not_found\",\"message\":\"there is no job 7\","
                         "\"field\":null}}");
    expect_int(vrt_json_parse(buf.data, buf.size_bytes, &json, NULL), 0);
    expect_int(vrt_error_decode(json, &decoded), 0);
    expect_str(decoded.id, "job.not_found");
    expect_str(decoded.message, "there is no job 7");
    json_decref(json);
    json = json_pack("{s:{s:s}}", "error", "id", "x");
    expect_int(vrt_error_decode(json, &decoded), -EINVAL);
    json_decref(json);
    vrt_buf_done(&buf);
}

static void test_reports(void)
{
    struct vrt_device_report device;
    struct vrt_model_report model;
    struct vrt_status_report status;
    struct vrt_buf buf = { 0 };

    vrt_device_report_init(&device);
    device.state = VRT_DEVICE_QUARANTINED;
    expect_int(vrt_fields_print(vrt_device_fields, &device, &buf), 0);
    expect_contains(buf.data, "\"state\":\"quarantined\",\"threads\":null,\"card\":null,"
                              "\"memory\":{\"total_b");
    expect_contains(buf.data, "\"seconds_per_shard\":null,\"retry_in_s\":null,"
                              "\"last_error\":null}");
    expect_contains(buf.data, "\"sensors\":null,\"shards_done\":");
    vrt_buf_done(&buf);
    device.has_sensors = true;
    device.sensors.temperature_celsius = 71;
    device.sensors.power_watts = NAN;
    device.has_card = true;
    device.card.number = 1;
    snprintf(device.card.pci_address, sizeof(device.card.pci_address), "0000:01:00.0");
    expect_int(vrt_fields_print(vrt_device_fields, &device, &buf), 0);
    expect_contains(buf.data, "\"card\":{\"number\":1,\"uuid\":null,"
                              "\"pci_address\":\"0000:01:00.0\",\"compute_capability\":null,");
    expect_contains(buf.data, "\"temperature_celsius\":71.0,\"power_watts\":null,");
    expect_contains(buf.data, "\"throttling\":null},");
    vrt_buf_done(&buf);
    vrt_model_report_init(&model);
    expect_int(vrt_fields_print(vrt_model_fields, &model, &buf), 0);
    expect_contains(buf.data, "\"scale\":null");
    vrt_buf_done(&buf);
    vrt_status_report_init(&status);
    expect_int(vrt_fields_print(vrt_status_fields, &status, &buf), 0);
    expect_contains(buf.data, "\"uptime_s\":null,\"jobs\":{\"queued\":0");
    vrt_buf_done(&buf);
}

/* Whole, in halves, byte by byte: the same events. */
static void test_events(void)
{
    static const char text[] =
        ":\n\nevent: job\ndata: {\"id\":1}\n\nevent: jab\ndata: x\n\n: hello\nevent:device\r\n"
        "data:{}\r\ndata:\r\ndato: 1\r\ndata: 2\r\nid: 7\r\n\r\nevent: job\n\ndata: nameless\n\n"
        "event: job\ndata: last\n\nevent: job\ndata: \n\nevent: job\ndata: cut";

    for (size_t step = 1; step <= sizeof(text); step++) {
        struct vrt_buf stream = { 0 }, data = { 0 }, all = { 0 };
        for (size_t at = 0; at < sizeof(text) - 1; at += step) {
            enum vrt_event_kind kind;
            size_t n = VRT_MIN(step, sizeof(text) - 1 - at);
            expect_int(vrt_buf_append(&stream, text + at, n), 0);
            while (vrt_event_take(&stream, &data, &kind) == 1)
                expect_int(vrt_buf_printf(&all, "<%s|%s>", vrt_event_names[kind], data.data), 0);
        }
        expect_str(all.data, "<job|{\"id\":1}><device|{}\n\n2><job|last>");
        expect_str(stream.data, "event: job\ndata: cut");
        vrt_buf_done(&stream);
        vrt_buf_done(&data);
        vrt_buf_done(&all);
    }
}

static void test_event_limits(void)
{
    struct vrt_buf stream = { 0 }, data = { 0 };
    enum vrt_event_kind kind;

    for (int i = 0; i <= VRT_EVENT_MAX_BYTES / 8; i++)
        expect_int(vrt_buf_append(&stream, "data: x\n", 8), 0);
    expect_int(vrt_event_take(&stream, &data, &kind), -EMSGSIZE);
    vrt_buf_done(&stream);
    expect_int(vrt_event_print(VRT_EVENT_DEVICE, "{\"name\":\"cpu:0\"}", &stream), 0);
    expect_int(vrt_event_print_heartbeat(&stream), 0);
    expect_int(vrt_event_take(&stream, &data, &kind), 1);
    expect_int(kind, VRT_EVENT_DEVICE);
    expect_str(data.data, "{\"name\":\"cpu:0\"}");
    expect_int(vrt_event_take(&stream, &data, &kind), 0);
    expect_int(stream.size_bytes, 0);
    vrt_buf_done(&stream);
    vrt_buf_done(&data);
}

TEST_MAIN(
    { "routes", test_routes },
    { "files given again", test_files_request },
    { "small-requests", test_small_requests },
    { "profile-request", test_profile_request },
    { "request", test_request },
    { "request-refusals", test_request_refusals },
    { "other-refusals", test_other_refusals },
    { "job-round-trip", test_job_round_trip },
    { "broken-jobs", test_broken_jobs },
    { "errors", test_errors },
    { "reports", test_reports },
    { "events", test_events },
    { "event-limits", test_event_limits },
)
