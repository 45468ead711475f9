/* SPDX-License-Identifier: MIT */

/* The machine as macOS describes it: sysctl(3), and Mach's count of pages. There is no affinity:
 * which core a thread runs on is the system's choice, by what the thread is wanted for. */

#include "backend/cpu/threads/machine.h"

#include <mach/mach.h>
#include <stdio.h>
#include <sys/sysctl.h>

#include "base/macro.h"

/* A number by its name; `otherwise` where there is none. */
static int64_t read_number(const char *name, int64_t otherwise)
{
    int64_t number = 0;
    size_t size = sizeof(number);

    /* Some have four bytes: the machine is little-endian. */
    return sysctlbyname(name, &number, &size, NULL, 0) < 0 ? otherwise : number;
}

void vrt_cpu_machine_look(struct vrt_cpu_machine *ret_machine)
{
    struct vrt_cpu_machine *machine = ret_machine;
    size_t size = sizeof(machine->model);
    const int64_t n = read_number("hw.activecpu", 1);

    *machine = (struct vrt_cpu_machine){
        .n_cores = (int)VRT_MIN(VRT_MAX(n, (int64_t)1), (int64_t)VRT_CPU_CORES_MAX),
        .n_nodes = 1,
        .memory_bytes = read_number("hw.memsize", -1),
    };
    machine->n_allowed = machine->n_cores;
    for (int i = 0; i < machine->n_cores; i++)
        machine->cores[i] = i;
    if (sysctlbyname("machdep.cpu.brand_string", machine->model, &size, NULL, 0) < 0)
        snprintf(machine->model, sizeof(machine->model), "CPU");
}

void vrt_cpu_machine_stay(const int *cores, int n)
{
    (void)cores;
    (void)n;
}

int64_t vrt_cpu_machine_free_bytes(void)
{
    vm_statistics64_data_t pages;
    mach_msg_type_number_t n = HOST_VM_INFO64_COUNT;
    const mach_port_t host = mach_host_self();
    const kern_return_t r = host_statistics64(host, HOST_VM_INFO64, (host_info64_t)&pages, &n);

    mach_port_deallocate(mach_task_self(), host);
    if (r != KERN_SUCCESS)
        return -1;
    return ((int64_t)pages.free_count + pages.inactive_count) * (int64_t)vm_page_size;
}
