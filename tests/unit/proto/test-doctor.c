/* SPDX-License-Identifier: MIT */

/* What an examination looks at beside devices, on machines made of files; and its messages. */

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/gpus.h"
#include "base/buf.h"
#include "base/macro.h"
#include "doctor_host.h"
#include "msg_doctor.h"
#include "tests/unit/test.h"

#define STRANGER 61001U
#define RENDER 61105U

static char root[64];

static const char *in_root(const char *path)
{
    static char full[256];

    snprintf(full, sizeof(full), "%s%s", root, path);
    return full;
}

/* Every folder of the path, then the file. */
static void put(const char *path, const char *text)
{
    char folder[256];

    snprintf(folder, sizeof(folder), "%s", in_root(path));
    for (char *slash = folder + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        expect_true(mkdir(folder, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(in_root(path), "w");
    expect_true(file != NULL);
    fputs(text, file);
    fclose(file);
}

static void machine_make(void)
{
    snprintf(root, sizeof(root), "/tmp/vrt-doctor-XXXXXX");
    expect_true(mkdtemp(root) != NULL);
    expect_int(chmod(root, 0755), 0);
    put("/etc/group", "none:x::\n"
        "root:x:0:\nno line\n::\nbad:x:notanumber:\nrender:x:61105:anna,bert\n");
    put("/sys/bus/pci/devices/none", "");
}

static void machine_remove(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -r '%s'", root);
    expect_int(system(command), 0);
}

/* A device of the PCI bus; driver NULL: none. */
static void put_device(const char *address, const char *class, const char *ids, const char *driver)
{
    char path[128], vendor[8] = "", device[8] = "";
    const char *const files[][2] = { { "class", class }, { "vendor", vendor },
                                     { "device", device } };

    expect_int(sscanf(ids, "%6[^:]:%6s", vendor, device), 2);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(files); i++) {
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", address, files[i][0]);
        put(path, files[i][1]);
    }
    if (!driver)
        return;
    char target[64];
    snprintf(target, sizeof(target), "../../../../bus/pci/drivers/%s", driver);
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", address);
    expect_int(symlink(target, in_root(path)), 0);
}

static void put_arc(const char *address, const char *node)
{
    char path[128];

    put_device(address, "0x030000\n", "0x8086:0x56a0", "i915");
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/drm/card1/dev", address);
    put(path, "");
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/drm/%s/dev", address, node);
    put(path, "");
}

static void test_gpus(void)
{
    struct vrt_buf found = { 0 };
    struct vrt_gpu *gpus;
    size_t n;

    machine_make();
    expect_int(vrt_gpus_list(root, &gpus, &n), 0);
    expect_int(n, 0);
    free(gpus);

    put_device("0000:00:02.0", "0x030000", "0x1234:0x1111", "bochs-drm");
    put_device("0000:00:1f.0", "0x060100", "0x8086:0x7a04", NULL);
    put_device("0000:00:03.0", "rubbish", "0x8086:0x56a0", NULL);
    put_device("0000:07:00.0", "0x038000", "0x1002:0x744c", NULL);
    put_arc("0000:05:00.0", "renderD129");
    put_arc("0000:03:00.0", "renderD128");
    put("/dev/dri/renderD128", "");
    put_device("0000:0a:00.0", "0x030200", "0x10de:0x2330", "nvidia");
    put("/dev/nvidiactl", "");
    put("/dev/nvidia3", "");
    put("/dev/nvidia-modeset", "");
    put("/dev/random7", "");
    put_device("a name that is too long for an address", "0x030000", "0x8086:0x56a0", NULL);
    expect_int(vrt_gpus_list(root, &gpus, &n), 0);
    for (size_t i = 0; i < n; i++) {
        expect_int(vrt_buf_printf(&found, "%s %s %04x '%s'", gpus[i].address, gpus[i].vendor->name,
                                  (unsigned)gpus[i].device, gpus[i].driver), 0);
        for (size_t k = 0; k < gpus[i].n_nodes; k++)
            expect_int(vrt_buf_printf(&found, " %s%s", gpus[i].nodes[k].path,
                                      gpus[i].nodes[k].open_errno == ENOENT ? "-" :
                                      gpus[i].nodes[k].open_errno ? "?" : "+"), 0);
        expect_int(vrt_buf_append(&found, "\n", 1), 0);
    }
    if (getegid() == 0)
        expect_str(gpus[0].nodes[0].group, "root");
    free(gpus);
    expect_str(found.data,
               "0000:03:00.0 Intel 56a0 'i915' /dev/dri/renderD128+\n"
               "0000:05:00.0 Intel 56a0 'i915' /dev/dri/renderD129-\n"
               "0000:07:00.0 AMD 744c ''\n"
               "0000:0a:00.0 NVIDIA 2330 'nvidia' /dev/nvidiactl+ /dev/nvidia-uvm- "
               "/dev/nvidia3+\n");
    vrt_buf_done(&found);

    /* More nodes than are told of. */
    for (int i = 4; i < 12; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/dev/nvidia%d", i);
        put(path, "");
    }
    expect_int(vrt_gpus_list(root, &gpus, &n), 0);
    expect_int(gpus[3].n_nodes, VRT_GPU_NODES_MAX);
    free(gpus);
    char far[491] = "";
    memset(far, '/', sizeof(far) - 1);
    memcpy(far + sizeof(far) - 1 - strlen(root), root, strlen(root));
    expect_int(vrt_gpus_list(far, &gpus, &n), 0);
    expect_int(n, 0);
    free(gpus);
    machine_remove();
}

static const struct vrt_doctor_check *find(const struct vrt_doctor_report *report, const char *id,
                                           const char *subject)
{
    for (size_t i = 0; i < report->n_checks; i++)
        if (strcmp(report->checks[i].id, id) == 0 &&
            strcmp(report->checks[i].subject, subject) == 0)
            return &report->checks[i];
    test_fail("there is no %s of %s", id, subject);
}

static bool has_all_but_xpu(const char *kind)
{
    return strcmp(kind, "xpu") != 0;
}

/* As somebody who is nobody's friend, in a process of his own. Its exit status is the test's. */
static void test_permissions_as_stranger(void)
{
    const struct vrt_doctor_host host = { .by = VRT_DOCTOR_BY_VRTD, .user = "vrtd",
                                          .root = root };
    struct vrt_doctor_report report;
    const struct vrt_doctor_check *check;

    vrt_doctor_report_init(&report);
    vrt_doctor_look_at_gpus(&host, &report);
    check = find(&report, "gpu.node", "/dev/dri/renderD128");
    expect_int(check->status, VRT_DOCTOR_FAILED);
    expect_int(check->by, VRT_DOCTOR_BY_VRTD);
    if (geteuid() == STRANGER) {
        expect_str(check->result, "user vrtd may not open it: it is group render's, mode 0660");
        expect_contains(check->cure, "usermod -aG render vrtd, then restart vrtd");
    }
    check = find(&report, "gpu.node", "/dev/dri/renderD129");
    expect_int(check->status, VRT_DOCTOR_FAILED);
    expect_contains(check->cure, "no group may open it");
    expect_int(report.failed, 2);
    vrt_doctor_report_done(&report);
}

static void test_permissions(void)
{
    const bool is_root = geteuid() == 0;
    int status;

    machine_make();
    put_arc("0000:03:00.0", "renderD128");
    put_arc("0000:05:00.0", "renderD129");
    put("/dev/dri/renderD128", "");
    put("/dev/dri/renderD129", "");
    if (is_root)
        expect_int(chown(in_root("/dev/dri/renderD128"), 0, RENDER), 0);
    expect_int(chmod(in_root("/dev/dri/renderD128"), is_root ? 0660 : 0), 0);
    expect_int(chmod(in_root("/dev/dri/renderD129"), is_root ? 0600 : 0), 0);
    pid_t child = fork();
    if (child == 0) {
        if (is_root)
            expect_true(setgroups(0, NULL) == 0 && setgid(STRANGER) == 0 && setuid(STRANGER) == 0);
        test_permissions_as_stranger();
        _exit(0);
    }
    expect_true(child > 0 && waitpid(child, &status, 0) == child);
    expect_int(status, 0);
    machine_remove();
}

/* All that is said, a line each, with the beginning of the cure. */
static void expect_said(void (*look)(const struct vrt_doctor_host *, struct vrt_doctor_report *),
                        const struct vrt_doctor_host *host, const char *wanted)
{
    struct vrt_doctor_report report;
    struct vrt_buf said = { 0 };

    vrt_doctor_report_init(&report);
    look(host, &report);
    for (size_t i = 0; i < report.n_checks; i++) {
        const struct vrt_doctor_check *check = &report.checks[i];
        expect_int(check->by, host->by);
        expect_int(vrt_buf_printf(&said, "%s %s %s: %s%s%.32s\n", check->id,
                                  vrt_doctor_status_names[check->status], check->subject,
                                  check->result, check->cure[0] ? "; " : "", check->cure), 0);
    }
    expect_int(vrt_buf_printf(&said, "%d failed, %d warnings", (int)report.failed,
                              (int)report.warnings), 0);
    expect_str(said.data, wanted);
    vrt_buf_done(&said);
    vrt_doctor_report_done(&report);
}

static void test_gpu_checks(void)
{
    struct vrt_doctor_host host = { .by = VRT_DOCTOR_BY_VRTCTL, .user = "anna", .root = root };

    machine_make();
    expect_said(vrt_doctor_look_at_gpus, &host,
        "gpu.hardware note : no GPU is on the PCI buses of this machine\n0 failed, 0 warnings");
    put_arc("0000:03:00.0", "renderD128");
    put("/dev/dri/renderD128", "");
    expect_true(vrt_doctor_has_gpu(&host, "xpu"));
    put_device("0000:05:00.0", "0x030000", "0x8086:0x56a0", NULL);
    put_device("0000:07:00.0", "0x030000", "0x1002:0x744c", "amdgpu");
    host.only = "cuda";
    expect_said(vrt_doctor_look_at_gpus, &host,
        "gpu.hardware note : no NVIDIA GPU is on the PCI buses of this machine\n"
        "0 failed, 0 warnings");
    expect_true(!vrt_doctor_has_gpu(&host, "cuda"));
    put_device("0000:0a:00.0", "0x030000", "0x10de:0x2684", "nouveau");
    put_device("0000:0b:00.0", "0x030000", "0x10de:0x2684", "nvidia");
    put_device("0000:0c:00.0", "0x030000", "0x10de:0x2684", "nvidia");
    put_device("0000:0d:00.0", "0x030000", "0x8086:0x56a0", "vfio-pci");
    host.only = NULL;
    /* Nodes that two cards have in common are told of once. */
    expect_said(vrt_doctor_look_at_gpus, &host,
        "gpu.hardware ok 0000:03:00.0: Intel GPU 8086:56a0, kernel driver i915\n"
        "gpu.node ok /dev/dri/renderD128: user anna may open it\n"
        "gpu.hardware warning 0000:05:00.0: Intel GPU 8086:56a0: the kernel has no driver for it; "
        "boot a kernel that knows it (6.2\n"
        "gpu.hardware note 0000:07:00.0: AMD GPU 1002:744c: this build has nothing that computes "
        "on it\n"
        "gpu.hardware warning 0000:0a:00.0: NVIDIA GPU 10de:2684: nouveau has it, by which nothing "
        "can compute; install NVIDIA's driver and load\n"
        "gpu.hardware ok 0000:0b:00.0: NVIDIA GPU 10de:2684, kernel driver nvidia\n"
        "gpu.node warning /dev/nvidiactl: it is not there; in a container, hand it in (--de\n"
        "gpu.node warning /dev/nvidia-uvm: it is not there; in a container, hand it in (--de\n"
        "gpu.node warning /dev/nvidia0: it is not there; in a container, hand it in (--de\n"
        "gpu.hardware ok 0000:0c:00.0: NVIDIA GPU 10de:2684, kernel driver nvidia\n"
        "gpu.hardware warning 0000:0d:00.0: Intel GPU 8086:56a0: vfio-pci has it, by which nothing "
        "can compute; boot a kernel that knows it (6.2\n0 failed, 6 warnings");

    /* One kind only, which the program can't use. */
    host.only = "xpu";
    host.has_backend = has_all_but_xpu;
    expect_said(vrt_doctor_look_at_gpus, &host,
        "gpu.hardware note 0000:03:00.0: Intel GPU 8086:56a0: this build has nothing that computes "
        "on it\n"
        "gpu.hardware note 0000:05:00.0: Intel GPU 8086:56a0: this build has nothing that computes "
        "on it\n"
        "gpu.hardware note 0000:0d:00.0: Intel GPU 8086:56a0: this build has nothing that computes "
        "on it\n0 failed, 0 warnings");
    expect_true(vrt_doctor_has_gpu(&host, "cuda"));
    expect_true(vrt_doctor_has_gpu(&host, "xpu"));
    expect_true(!vrt_doctor_has_gpu(&host, "mps"));
    machine_remove();
}

static void test_environment(void)
{
    struct vrt_doctor_host host = { .by = VRT_DOCTOR_BY_VRTD, .user = "vrtd", .root = "" };

    clearenv();
    expect_said(vrt_doctor_look_at_environment, &host,
                "environment ok : no variable is set for vrtd that bears on devices\n"
                "0 failed, 0 warnings");
    setenv("CUDA_VISIBLE_DEVICES", "2,0\033[31m", 1);
    setenv("ZE_AFFINITY_MASK", "", 1);
    expect_said(vrt_doctor_look_at_environment, &host,
                "environment note CUDA_VISIBLE_DEVICES: is \"2,0?[31m\" for vrtd: which NVIDIA "
                "cards there are for it, and in which order\n"
                "environment note ZE_AFFINITY_MASK: is \"\" for vrtd: which Intel GPUs there are "
                "for it\n0 failed, 0 warnings");
    host.only = "xpu";
    expect_said(vrt_doctor_look_at_environment, &host,
                "environment note ZE_AFFINITY_MASK: is \"\" for vrtd: which Intel GPUs there are "
                "for it\n0 failed, 0 warnings");
}

static void test_report(void)
{
    static const struct vrt_doctor_line line = { .id = "device.kernel", .subject = "cpu:0",
                                                 .status = VRT_DOCTOR_FAILED, .cure = "\n\xff" };
    struct vrt_doctor_report report, got;
    struct vrt_doctor_request request;
    char long_text[2000];

    expect_int(vrt_doctor_request_parse("{}", 2, &request, NULL), 0);
    expect_int(request.model.fd, VRT_UNKNOWN);
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    vrt_doctor_report_init(&report);
    vrt_doctor_report_add(&report, &line, "%s", long_text);
    expect_int(strlen(report.checks[0].result), VRT_API_TEXT_BYTES - 1);
    expect_contains(report.checks[0].result, "xxx...");
    expect_str(report.checks[0].cure, "??");

    json_t *json = vrt_fields_encode(vrt_doctor_fields, &report);
    expect_int(vrt_doctor_report_decode(json, &got, NULL), 0);
    json_decref(json);
    expect_int(got.n_checks, 1);
    expect_int(got.failed, 1);
    expect_int(got.pid, VRT_UNKNOWN);
    expect_str(got.checks[0].subject, "cpu:0");
    vrt_doctor_report_done(&got);

    for (int i = 1; i < VRT_API_CHECKS_MAX; i++)
        vrt_doctor_report_add(&report, &line, "again");
    expect_true(!report.is_short);
    vrt_doctor_report_add(&report, &line, "one too many");
    expect_true(report.is_short);
    expect_int(report.n_checks, VRT_API_CHECKS_MAX);
    vrt_doctor_report_done(&report);
}

static void test_kind_of(void)
{
    char kind[VRT_API_DEVICE_BYTES];

    expect_true(!vrt_doctor_kind_of("", kind, sizeof(kind)));
    expect_true(!vrt_doctor_kind_of("auto", kind, sizeof(kind)));
    expect_str(vrt_doctor_kind_of("cuda", kind, sizeof(kind)), "cuda");
    expect_str(vrt_doctor_kind_of("cuda:0.1", kind, sizeof(kind)), "cuda");
    expect_str(vrt_doctor_kind_of(":", kind, sizeof(kind)), "");
}

TEST_MAIN(
    { "gpus", test_gpus },
    { "permissions", test_permissions },
    { "gpu-checks", test_gpu_checks },
    { "environment", test_environment },
    { "report", test_report },
    { "kind-of", test_kind_of },
)
