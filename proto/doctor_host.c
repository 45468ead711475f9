/* SPDX-License-Identifier: MIT */

#include "doctor_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/gpus.h"
#include "host/vendors.h"

#define TEXT_BYTES VRT_API_TEXT_BYTES

static bool is_wanted(const struct vrt_doctor_host *host, const char *kind)
{
    return !host->only || (kind && strcmp(host->only, kind) == 0);
}

static const char *process_of(const struct vrt_doctor_host *host)
{
    return vrt_doctor_by_names[host->by];
}

void vrt_doctor_look_at_environment(const struct vrt_doctor_host *host,
                                    struct vrt_doctor_report *report)
{
    int n = 0;

    for (const struct vrt_vendor_variable *v = vrt_vendor_variables; v->name; v++) {
        const char *value = getenv(v->name);
        if (!value || (v->kind && !is_wanted(host, v->kind)))
            continue;
        vrt_doctor_report_add(report, &(struct vrt_doctor_line){
            .id = "environment",
            .subject = v->name,
            .status = VRT_DOCTOR_NOTE,
            .by = host->by,
        }, "is \"%s\" for %s: %s", value, process_of(host), v->meaning);
        n++;
    }
    if (n == 0)
        vrt_doctor_report_add(report, &(struct vrt_doctor_line){
            .id = "environment",
            .status = VRT_DOCTOR_OK,
            .by = host->by,
        }, "no variable is set for %s that bears on devices", process_of(host));
}

/* What has to be done so that the user may open the node. */
static void print_node_cure(const struct vrt_doctor_host *host, const struct vrt_gpu_node *node,
                            char *text, size_t size)
{
    const char *again = host->by == VRT_DOCTOR_BY_VRTD ?
                        "then restart vrtd (systemctl restart vrtd)" : "then log in again";

    if (node->open_errno == EACCES && (node->mode & 0060) == 0060 && node->gid != 0)
        snprintf(text, size, "usermod -aG %s %s, %s", node->group, host->user, again);
    else if (node->open_errno == EACCES)
        snprintf(text, size, "no group may open it: install the udev rules of its driver, or "
                 "chgrp render %s and chmod 0660 %s, %s", node->path, node->path, again);
    else if (node->open_errno == EPERM)
        snprintf(text, size, "the sandbox of the process keeps it from devices: see DeviceAllow= "
                 "and PrivateDevices= of its unit, or --device of its container");
    else if (node->open_errno == ENOENT)
        snprintf(text, size, "in a container, hand it in (--device %s); else the driver is not "
                 "whole: dmesg says more", node->path);
    else
        snprintf(text, size, "dmesg says more");
}

static void add_node(const struct vrt_doctor_host *host, const struct vrt_gpu_node *node,
                     struct vrt_doctor_report *report)
{
    char cure[TEXT_BYTES] = "";
    struct vrt_doctor_line line = {
        .id = "gpu.node",
        .subject = node->path,
        .status = VRT_DOCTOR_OK,
        .by = host->by,
        .cure = cure,
    };

    if (node->open_errno == 0) {
        vrt_doctor_report_add(report, &line, "user %s may open it", host->user);
        return;
    }
    print_node_cure(host, node, cure, sizeof(cure));
    /* One that isn't there may have been kept from a container on purpose. */
    line.status = node->open_errno == ENOENT ? VRT_DOCTOR_WARNING : VRT_DOCTOR_FAILED;
    if (node->open_errno == ENOENT)
        vrt_doctor_report_add(report, &line, "it is not there");
    else if (node->open_errno == EACCES)
        vrt_doctor_report_add(report, &line, "user %s may not open it: it is group %s's, mode "
                              "%04o", host->user, node->group, node->mode);
    else
        vrt_doctor_report_add(report, &line, "user %s can't open it: %s", host->user,
                              strerror(node->open_errno));
}

/* Whether an earlier GPU has the node as well. */
static bool is_told(const struct vrt_doctor_report *report, const char *path)
{
    for (size_t i = 0; i < report->n_checks; i++)
        if (strcmp(report->checks[i].subject, path) == 0)
            return true;
    return false;
}

/* Return: whether its nodes matter. */
static bool add_gpu(const struct vrt_doctor_host *host, const struct vrt_gpu *gpu,
                    struct vrt_doctor_report *report)
{
    const struct vrt_vendor *vendor = gpu->vendor;
    const bool is_usable = vendor->kind && (!host->has_backend || host->has_backend(vendor->kind));
    struct vrt_doctor_line line = {
        .id = "gpu.hardware",
        .subject = gpu->address,
        .status = VRT_DOCTOR_OK,
        .by = host->by,
    };

    if (!is_usable) {
        line.status = VRT_DOCTOR_NOTE;
        vrt_doctor_report_add(report, &line, "%s GPU %04x:%04x: this build has nothing that "
                              "computes on it", vendor->name, (unsigned)vendor->number,
                              (unsigned)gpu->device);
        return false;
    }
    if (!gpu->driver[0] || strcmp(gpu->driver, "nouveau") == 0 ||
        strcmp(gpu->driver, "vfio-pci") == 0) {
        line.status = VRT_DOCTOR_WARNING;
        line.cure = vendor->no_driver;
        vrt_doctor_report_add(report, &line, "%s GPU %04x:%04x: %s%s", vendor->name,
                              (unsigned)vendor->number, (unsigned)gpu->device,
                              gpu->driver[0] ? gpu->driver : "the kernel has no driver for it",
                              gpu->driver[0] ? " has it, by which nothing can compute" : "");
        return false;
    }
    vrt_doctor_report_add(report, &line, "%s GPU %04x:%04x, kernel driver %s", vendor->name,
                          (unsigned)vendor->number, (unsigned)gpu->device, gpu->driver);
    return true;
}

static void report_no_memory(const struct vrt_doctor_host *host, struct vrt_doctor_report *report)
{
    vrt_doctor_report_add(report, &(struct vrt_doctor_line){
        .id = "gpu.hardware",
        .status = VRT_DOCTOR_SKIPPED,
        .by = host->by,
    }, "not looked at: %s", strerror(ENOMEM));
}

void vrt_doctor_look_at_gpus(const struct vrt_doctor_host *host, struct vrt_doctor_report *report)
{
    VRT_CLEANUP(vrt_freep) struct vrt_gpu *gpus = NULL;
    const struct vrt_vendor *only = host->only ? vrt_vendor_of_kind(host->only) : NULL;
    bool any = false;
    size_t n = 0;

    if (vrt_gpus_list(host->root, &gpus, &n) < 0) {
        report_no_memory(host, report);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!is_wanted(host, gpus[i].vendor->kind))
            continue;
        any = true;
        if (!add_gpu(host, &gpus[i], report))
            continue;
        for (size_t k = 0; k < gpus[i].n_nodes; k++)
            if (!is_told(report, gpus[i].nodes[k].path))
                add_node(host, &gpus[i].nodes[k], report);
    }
    if (!any)
        vrt_doctor_report_add(report, &(struct vrt_doctor_line){
            .id = "gpu.hardware",
            .status = VRT_DOCTOR_NOTE,
            .by = host->by,
        }, "no %s%sGPU is on the PCI buses of this machine", only ? only->name : "",
           only ? " " : "");
}

bool vrt_doctor_has_gpu(const struct vrt_doctor_host *host, const char *kind)
{
    VRT_CLEANUP(vrt_freep) struct vrt_gpu *gpus = NULL;
    const struct vrt_vendor *vendor = vrt_vendor_of_kind(kind);
    size_t n = 0;

    if (!vendor || vrt_gpus_list(host->root, &gpus, &n) < 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (gpus[i].vendor == vendor)
            return true;
    return false;
}
