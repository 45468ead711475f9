/* SPDX-License-Identifier: MIT */

/*
 * Three walls, the first two of which keep files closed alone: landlock, after which none can be
 * opened, and, as far as the kernel knows how, no port and no other process reached; a filter
 * that lets through what decoding and encoding were seen to need, of calls that act on what is
 * there already; limits. What isn't on the list is refused (EPERM), not punished: libraries ask for
 * much that they can do without.
 *
 * Where hardware encodes or decodes, its driver was loaded and its device opened before. It may
 * open the nodes of graphics cards again, and nothing else, ask them by ioctl(), and have the
 * address space that CUDA reserves, of which no more may be written to: what such a process could
 * reach is the driver's part of the kernel.
 */

#include "frames/process/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"

#define DESCRIPTORS_MAX 64
#define DESCRIPTORS_OF_DEVICES_MAX 512

/* Of address space (of a driver's: of what can be written) half of the machine's memory; but enough
 * for 4K through a decoder of 16 threads, and never more than 16384 x 16384 through one needs. */
#define MEMORY_BYTES_MIN ((rlim_t)4 << 30)
#define MEMORY_BYTES_MAX ((rlim_t)64 << 30)

#define BARRIERS (MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)

/* Of all processes the first to be ended where memory ends. */
static const char oom_score[] = "1000";

/* What needs no look at its arguments. */
static const int allowed[] = {
    /* memory */
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap),
    /* files that are open */
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(pread64), SCMP_SYS(pwrite64), SCMP_SYS(readv),
    SCMP_SYS(writev), SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(ftruncate), SCMP_SYS(fsync),
    SCMP_SYS(fdatasync), SCMP_SYS(close),
    /* the socket */
    SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(poll), SCMP_SYS(ppoll),
    /* threads */
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(gettid),
    SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(exit), SCMP_SYS(exit_group),
    SCMP_SYS(restart_syscall),
    /* time, and what says nothing */
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday),
    SCMP_SYS(getpid), SCMP_SYS(getrandom), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigaction), SCMP_SYS(sigaltstack),
};

/* What drivers need besides. */
static const int allowed_of_devices[] = {
    SCMP_SYS(ioctl), SCMP_SYS(openat), SCMP_SYS(fcntl), SCMP_SYS(newfstatat), SCMP_SYS(access),
    SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
    SCMP_SYS(getdents64), SCMP_SYS(eventfd2), SCMP_SYS(pipe2), SCMP_SYS(dup),
    SCMP_SYS(mlock), SCMP_SYS(munlock), SCMP_SYS(mincore), SCMP_SYS(sysinfo), SCMP_SYS(uname),
    SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
    SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_getparam), SCMP_SYS(sched_getscheduler),
};

/* Their nodes. */
static const char *const nodes[] = { "/dev/dri", "/dev/nvidia*", "/dev/dxg" };

static rlim_t memory_bytes(void)
{
    const long n_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

    if (n_pages <= 0 || page_bytes <= 0)
        return MEMORY_BYTES_MAX;
    return VRT_MIN(VRT_MAX((rlim_t)n_pages / 2 * (rlim_t)page_bytes, MEMORY_BYTES_MIN),
                   MEMORY_BYTES_MAX);
}

static int volunteer_for_oom(void)
{
    VRT_CLEANUP(vrt_closep) int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, oom_score, sizeof(oom_score) - 1) < 0)
        return -errno;
    return 0;
}

/* Where vrtd is root's. The walls are no matter of privileges, but some calls that are let through
 * do more for those who have them. */
static int drop_privileges(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3];
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

    /* Who has none may not be allowed to say so either. */
    if (syscall(SYS_capget, &head, held) == 0 && !held[0].permitted && !held[1].permitted)
        return 0;
    return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

/* Threads count for the user, as vrtd's do: half of what he may have stays for those. */
static int leave_threads(void)
{
    struct rlimit now;

    if (getrlimit(RLIMIT_NPROC, &now) < 0)
        return -errno;
    if (now.rlim_cur != RLIM_INFINITY)
        now.rlim_max = now.rlim_cur /= 2;
    return setrlimit(RLIMIT_NPROC, &now) < 0 ? -errno : 0;
}

/* But for what files may hold: vrtd sets that, before it asks for anything, and may do so now. */
static int limit(enum vrt_sandbox sandbox)
{
    const bool has_devices = sandbox == VRT_SANDBOX_DEVICES;
    const struct {
        __rlimit_resource_t resource;
        rlim_t most;
    } limits[] = {
        { RLIMIT_CORE, 0 },
        { RLIMIT_NOFILE, has_devices ? DESCRIPTORS_OF_DEVICES_MAX : DESCRIPTORS_MAX },
        { RLIMIT_AS, has_devices ? RLIM_INFINITY : memory_bytes() },
        { RLIMIT_DATA, memory_bytes() },
        { RLIMIT_MEMLOCK, has_devices ? RLIM_INFINITY : 0 },
        { RLIMIT_MSGQUEUE, 0 },
    };
    int r = volunteer_for_oom();

    for (size_t i = 0; i < VRT_ARRAY_SIZE(limits); i++) {
        struct rlimit now;
        if (getrlimit(limits[i].resource, &now) < 0) {
            r = -errno;
            continue;
        }
        now.rlim_cur = VRT_MIN(now.rlim_cur, limits[i].most);
        now.rlim_max = VRT_MIN(now.rlim_max, limits[i].most);
        if (setrlimit(limits[i].resource, &now) < 0)
            r = -errno;
    }
    return r;
}

/* Lets through what is at `path`, and beneath: to be read, written and controlled. */
static void open_node(int rules_fd, const char *path, long version)
{
    VRT_CLEANUP(vrt_closep) int fd = open(path, O_PATH | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return;
    const struct landlock_path_beneath_attr rule = {
        .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                          (S_ISDIR(st.st_mode) ? LANDLOCK_ACCESS_FS_READ_DIR : 0) |
                          /* ..._IOCTL_DEV, which headers may not know. */
                          (version >= 5 ? UINT64_C(1) << 15 : 0),
        .parent_fd = fd,
    };
    syscall(SYS_landlock_add_rule, rules_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static void open_nodes(int rules_fd, long version)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(nodes); i++) {
        glob_t found;
        if (glob(nodes[i], 0, NULL, &found) != 0)
            continue;
        for (size_t k = 0; k < found.gl_pathc; k++)
            open_node(rules_fd, found.gl_pathv[k], version);
        globfree(&found);
    }
}

/* Every way to a file, a port and another process that the kernel knows, and none allowed, but for
 * the nodes of devices. */
static int close_files(enum vrt_sandbox sandbox)
{
    /* struct landlock_ruleset_attr, which headers may know less of than the kernel. */
    struct {
        uint64_t files, ports, others;
    } rules = { 0 };
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    size_t size = sizeof(rules.files);

    if (version < 1)
        return -ENOSYS;
    /* 13 kinds at first; the second version added to refer, the third to truncate, the fifth to
     * control devices. */
    rules.files = (UINT64_C(1) << (version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 :
                                   13)) - 1;
    /* The fourth: to bind and to connect; the sixth: abstract sockets, and signals. */
    if (version >= 4) {
        rules.ports = 3;
        size = 2 * sizeof(uint64_t);
    }
    if (version >= 6) {
        rules.others = 3;
        size = 3 * sizeof(uint64_t);
    }
    VRT_CLEANUP(vrt_closep) int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
    if (fd < 0)
        return -errno;
    if (sandbox == VRT_SANDBOX_DEVICES)
        open_nodes(fd, version);
    if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
        return -errno;
    return 0;
}

/* What is allowed, or denied in another way, depending on an argument. */
static int add_conditions(scmp_filter_ctx filter)
{
    const struct {
        int call;
        uint32_t action;
        struct scmp_arg_cmp argument;
    } conditions[] = {
        { SCMP_SYS(mprotect), SCMP_ACT_ALLOW, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) },
        /* A barrier among the threads of this process: what says which there are, registers for
         * them, and is one. */
        { SCMP_SYS(membarrier), SCMP_ACT_ALLOW,
          SCMP_A0(SCMP_CMP_MASKED_EQ, ~(scmp_datum_t)BARRIERS, 0) },
        /* Advice that concerns this process's own memory, not the machine's. */
        { SCMP_SYS(madvise), SCMP_ACT_ALLOW, SCMP_A2(SCMP_CMP_LE, MADV_DONTNEED) },
        { SCMP_SYS(madvise), SCMP_ACT_ALLOW, SCMP_A2(SCMP_CMP_EQ, MADV_FREE) },
        { SCMP_SYS(madvise), SCMP_ACT_ALLOW, SCMP_A2(SCMP_CMP_EQ, MADV_HUGEPAGE) },
        { SCMP_SYS(madvise), SCMP_ACT_ALLOW, SCMP_A2(SCMP_CMP_EQ, MADV_DONTDUMP) },
        /* Threads, no processes. clone3 has its flags where no filter looks: who is told that it
         * isn't there takes clone. */
        { SCMP_SYS(clone), SCMP_ACT_ALLOW,
          SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD) },
        { SCMP_SYS(clone3), SCMP_ACT_ERRNO(ENOSYS), SCMP_A0(SCMP_CMP_GE, 0) },
        /* As the C library asks of a descriptor: with an empty name. With another one it tells of a
         * file that there is, and how large it is, no more. */
        { SCMP_SYS(newfstatat), SCMP_ACT_ALLOW,
          SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH) },
        { SCMP_SYS(prctl), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME) },
        /* A process may end itself, and nobody else. */
        { SCMP_SYS(tgkill), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()) },
    };
    /* Memory that is to be run there is none, nor any of what the machine has in huge pages. */
    const struct scmp_arg_cmp map[] = { SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
                                        SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_HUGETLB, 0) };
    int r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, map);

    if (r < 0)
        return r;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(conditions); i++) {
        r = seccomp_rule_add_array(filter, conditions[i].action, conditions[i].call, 1,
                                   &conditions[i].argument);
        if (r < 0)
            return r;
    }
    return 0;
}

static int allow(scmp_filter_ctx filter, const int *calls, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, calls[i], 0, NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_rules(scmp_filter_ctx filter, enum vrt_sandbox sandbox)
{
    int r = allow(filter, allowed, VRT_ARRAY_SIZE(allowed));

    if (r < 0)
        return r;
    r = add_conditions(filter);
    if (r < 0 || sandbox == VRT_SANDBOX_PLAIN)
        return r;
    return allow(filter, allowed_of_devices, VRT_ARRAY_SIZE(allowed_of_devices));
}

/* Where drivers may open files landlock alone keeps others closed: without it they may not. */
static int filter_calls(enum vrt_sandbox sandbox)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int r = filter ? add_rules(filter, sandbox) : -ENOMEM;

    if (r == 0)
        r = seccomp_load(filter);
    seccomp_release(filter);
    return r;
}

const char *vrt_sandbox_enter(enum vrt_sandbox sandbox)
{
    /* Started by a descriptor, it would be called by that's number. */
    (void)prctl(PR_SET_NAME, "vrt-media");
    /* What isn't dumpable can't open its own files in /proc: those first. */
    bool is_limited = limit(sandbox) == 0 && leave_threads() == 0;
    bool is_private = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && drop_privileges() == 0 &&
                      prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
    bool is_closed = close_files(sandbox) == 0;
    bool is_filtered = filter_calls(is_closed ? sandbox : VRT_SANDBOX_PLAIN) == 0;

    if (!is_private || !is_limited)
        return "no limits of memory and descriptors";
    if (!is_closed && !is_filtered)
        return "neither landlock nor a filter of system calls";
    return !is_filtered ? "no filter of system calls (seccomp)" :
           !is_closed ? "no landlock: only the filter keeps files closed" : "";
}
