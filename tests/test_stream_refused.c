/* test_stream_refused.c - what a system refuses: disks that are full, in earnest, io_uring, folders and files
 * that may not be used, budgets that are no budgets. Errors in words, nothing left behind, the stream
 * works. */
#if defined(__linux__)
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif
#include "backwards.h"
#include "stream_check.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, ROOM = 2 * MIB };

static char folder[320], path[340];

static int files_in(const char *name) {
    int count = 0;
    DIR *all = opendir(name);
    for (struct dirent *one; all && (one = readdir(all));) count += one->d_name[0] != '.';
    if (all) closedir(all);
    return count;
}

static ox_stream *open_at(const stream_case *c, const char *spill) {
    ox_stream_desc desc = case_desc(c);
    desc.spill = spill;
    desc.result_bytes = 1; /* nearly all results go to the spill folder */
    ox_stream *stream = ox_stream_open(&desc);
    CHECK_MSG(stream != NULL, "%s", ox_error_text());
    return stream;
}

static bool failed(const ox_tensor *t, ox_status status, const char *word) {
    bool as_wanted = !t && ox_error() == status && strstr(ox_error_text(), word);
    if (!as_wanted)
        printf("  %s, status %d: %s\n", t ? "a tensor" : "NULL", (int)ox_error(), ox_error_text());
    ox_error_clear();
    return as_wanted;
}

/* ---- a full disk --------------------------------------------------------------------------------------- */

#if defined(__linux__)

/* Mounts of this process alone, which go with it. Root may. */
static bool own_mounts(void) {
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool mount_small(bool read_only) {
    unsigned long flags = read_only ? MS_REMOUNT | MS_RDONLY : 0;
    return mount("tmpfs", folder, "tmpfs", flags, "size=2m") == 0;
}

static bool unmount_small(void) {
    return umount2(folder, MNT_DETACH) == 0;
}

#else
static bool own_mounts(void) {
    return false;
}
static bool mount_small(bool read_only) {
    (void)read_only;
    return false;
}
static bool unmount_small(void) {
    return false;
}
#endif

/* Results until the disk is full, which then go: twice, the second time in what the first one left. */
static int fill_up(ox_stream *stream, ox_tensor *far, ox_tensor *right) {
    int count = 0;
    OX_SCOPE {
        ox_tensor *y = ox_neg(far), *last = y;
        for (; y && count < 100; y = ox_neg(far), count++) last = y;
        CHECK(!y && ox_error() == OX_ERR_IO && strstr(ox_error_text(), "no room"));
        ox_error_clear();
        CHECK(same_bits(last, right));
        CHECK(ox_stream_get_stats(stream).spilled_bytes <= (size_t)ROOM);
    }
    CHECK(ox_stream_get_stats(stream).spilled_bytes == 0);
    return count;
}

static void test_full_disk(const stream_case *c) {
    CHECK(mount_small(false));
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(MIB), OX_F32, 1), *part = ox_narrow(x, 0, 5, 70000);
        ox_tensor *right = ox_neg(part);
        put_raw(path, x, 0);
        ox_stream *stream = open_at(c, folder);
        ox_device *device = ox_stream_device(stream);
        ox_tensor *far = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(MIB));
        CHECK(failed(ox_to(x, device), OX_ERR_IO, "no room"));
        CHECK(failed(ox_neg(far), OX_ERR_IO, "no room"));
        CHECK(failed(ox_stream_named(stream, "large", OX_F32, OX_SHAPE(MIB)), OX_ERR_IO, "large"));
        CHECK(files_in(folder) == 0 && ox_stream_get_stats(stream).spilled_bytes == 0);
        ox_tensor *piece = ox_narrow(far, 0, 5, 70000);
        int first = fill_up(stream, piece, right), second = fill_up(stream, piece, right);
        CHECK_MSG(first >= 5 && first == second, "%d and %d results", first, second);
        CHECK(same_bits(ox_neg(piece), right));
        ox_tensor *kept = ox_stream_named(stream, "small", OX_F32, OX_SHAPE(70000));
        CHECK(kept && ox_copy_(kept, piece) && same_bits(kept, part) && files_in(folder) == 1);
        ox_device_close(ox_stream_device(stream));
    }
    CHECK(mount_small(true));
    OX_SCOPE {
        ox_stream *stream = open_at(c, folder);
        ox_tensor *x = numbers(OX_SHAPE(1000), OX_F32, 1);
        CHECK(failed(ox_to(x, ox_stream_device(stream)), OX_ERR_IO, strerror(EROFS)));
        CHECK(failed(ox_stream_named(stream, "none", OX_F32, OX_SHAPE(1)), OX_ERR_IO, strerror(EROFS)));
        CHECK(files_in(folder) == 1);
        ox_device_close(ox_stream_device(stream));
    }
    CHECK(unmount_small() && files_in(folder) == 0);
    remove(path);
}

/* ---- io_uring that is forbidden ------------------------------------------------------------------------ */

enum { CANNOT_FORBID = 77 }; /* exit status of the process that tries */

/* The calling thread may not use io_uring from here on. False: this system cannot forbid it. */
static bool forbid_uring(void) {
#if defined(__linux__) && defined(SYS_io_uring_setup) && defined(SYS_io_uring_enter)
    const uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;
    struct sock_filter rows[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, refuse),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rows / sizeof *rows, rows};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
    return false;
#endif
}

/* What test_forbidden runs in a process of its own: a stream that is open and has reads on their way when
 * io_uring is forbidden, and one that is opened later, go on by threads. */
static int run_forbidden(const char *file, const char *spill) {
    stream_case c = case_at(0);
    snprintf(path, sizeof path, "%s", file);
    ox_stream *before = open_at(&c, spill);
    bool uring = ox_stream_get_stats(before).uring, forbidden = false;
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(200000), OX_F32, 1), *right = ox_neg(x);
        put_raw(path, x, 0);
        ox_tensor *far = ox_stream_raw(before, path, 0, OX_F32, OX_SHAPE(200000));
        ox_tensor *part = ox_narrow(far, 0, 0, 20000);
        for (int i = 0; i < 2; i++) CHECK(same_bits(ox_neg(part), ox_neg(ox_narrow(x, 0, 0, 20000))));
        forbidden = forbid_uring();
        if (forbidden) {
            ox_stream *after = open_at(&c, spill);
            CHECK(!ox_stream_get_stats(after).uring && ox_stream_get_stats(before).uring == uring);
            ox_tensor *other = ox_stream_raw(after, path, 0, OX_F32, OX_SHAPE(200000));
            for (int i = 0; i < 2; i++) {
                CHECK_MSG(same_bits(ox_neg(far), right), "%s", ox_error_text());
                CHECK_MSG(same_bits(ox_neg(other), right), "%s", ox_error_text());
            }
            CHECK(!ox_stream_get_stats(before).uring);
            ox_device_close(ox_stream_device(after));
        }
        ox_device_close(ox_stream_device(before));
    }
    remove(path);
    return check_total.failed > 0 ? 1 : forbidden ? 0 : CANNOT_FORBID;
}

static void test_forbidden(const char *program) {
    char command[1400];
    snprintf(command, sizeof command, "timeout 60 '%s' --forbidden '%s' '%s'", program, path, folder);
    int status = system(command);
    if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_FORBID)
        check_skip("io_uring that is forbidden", "this system cannot forbid it");
    else
        CHECK_MSG(status == 0, "%s", command);
}

/* ---- what may not be used ------------------------------------------------------------------------------ */

/* As somebody without rights, if this is root, who may do everything. */
static bool drop_rights(void) {
    return geteuid() != 0 || seteuid(65534) == 0;
}

static void test_rights(const stream_case *c) {
    ox_stream *stream = open_at(c, folder);
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(60000), OX_F32, 1), *right = ox_sum(x, OX_ALL_DIMS, false);
        put_raw(path, x, 0);
        ox_tensor *far = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(60000));
        uid_t user = geteuid();
        CHECK(chmod(folder, 0500) == 0 && chmod(path, 0) == 0);
        if (drop_rights()) {
            CHECK(failed(ox_to(x, ox_stream_device(stream)), OX_ERR_IO, strerror(EACCES)));
            CHECK(failed(ox_neg(far), OX_ERR_IO, strerror(EACCES)));
            CHECK(failed(ox_stream_named(stream, "none", OX_F32, OX_SHAPE(9)), OX_ERR_IO, strerror(EACCES)));
            CHECK(failed(ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(1)), OX_ERR_IO, strerror(EACCES)));
            CHECK(!ox_file_open(path, ox_stream_device(stream)) && ox_error() == OX_ERR_IO);
            ox_error_clear();
            ox_tensor *sum = ox_sum(far, OX_ALL_DIMS, false); /* what is open stays so; 4 bytes fit in RAM */
            CHECK_MSG(!sum || ox_item(sum) == ox_item(right), "%s", ox_error_text());
            ox_error_clear();
            CHECK(seteuid(user) == 0);
        } else {
            check_skip("what may not be used", "root cannot become anybody else here");
        }
        CHECK(chmod(folder, 0700) == 0 && chmod(path, 0600) == 0);
        CHECK(same_bits(ox_neg(far), ox_neg(x)) && files_in(folder) == 0); /* now it may */
    }
    ox_device_close(ox_stream_device(stream));
    stream = open_at(c, path); /* a file in place of a folder */
    OX_SCOPE {
        CHECK(failed(ox_to(ox_ones(OX_SHAPE(9), OX_F32), ox_stream_device(stream)), OX_ERR_IO, path));
        CHECK(failed(ox_stream_named(stream, "none", OX_F32, OX_SHAPE(9)), OX_ERR_IO, strerror(ENOTDIR)));
        CHECK(failed(ox_stream_raw(stream, folder, 0, OX_F32, OX_SHAPE(1)), OX_ERR_IO, folder));
    }
    ox_device_close(ox_stream_device(stream));
    remove(path);
}

/* Names that meet: of another stream, of a file that is there, of a folder. What is there stays as it is. */
static void test_names(const stream_case *c) {
    ox_stream *streams[2] = {open_at(c, folder), open_at(c, folder)};
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(30000), OX_F32, 1);
        ox_tensor *kept = ox_copy_(ox_stream_named(streams[0], "one", OX_F32, OX_SHAPE(30000)), x);
        for (int i = 0; i < 2; i++)
            CHECK(failed(ox_stream_named(streams[i], "one", OX_F16, OX_SHAPE(1)), OX_ERR_IO, "exists"));
        CHECK(failed(ox_stream_named(streams[1], "blocks", OX_Q4_0, OX_SHAPE(32)), OX_ERR_UNSUPPORTED,
                     "stream_named: "));
        const char *first = ox_device_name(ox_stream_device(streams[0]));
        CHECK(strncmp(first, "stream:", 7) == 0); /* which of them, says what is said of both */
        CHECK(failed(ox_add(kept, ox_to(x, ox_stream_device(streams[1]))), OX_ERR_DEVICE, first));
        char other[340];
        snprintf(other, sizeof other, "%s/two.safetensors", folder);
        CHECK(mkdir(other, 0700) == 0);
        CHECK(failed(ox_stream_named(streams[1], "two", OX_F32, OX_SHAPE(1)), OX_ERR_IO, "exists"));
        CHECK(rmdir(other) == 0 && symlink("/nowhere", other) == 0);
        CHECK(failed(ox_stream_named(streams[1], "two", OX_F32, OX_SHAPE(1)), OX_ERR_IO, "exists"));
        CHECK(remove(other) == 0 && same_bits(kept, x) && files_in(folder) == 1);
        snprintf(other, sizeof other, "%s/one.safetensors", folder);
        CHECK(remove(other) == 0 && same_bits(ox_neg(kept), ox_neg(x))); /* an open file lives on */
    }
    for (int i = 0; i < 2; i++) ox_device_close(ox_stream_device(streams[i]));
}

/* ---- budgets ------------------------------------------------------------------------------------------- */

/* The least budget takes the ring twice; a byte less is refused. It is enough for operands of any size. */
static void test_least_budgets(const stream_case *c) {
    static const size_t hopeless[] = {1, 4095, 4096, TILE, 2 * TILE, 12 * TILE - 1};
    ox_stream_desc desc = case_desc(c);
    desc.depth = 3;
    for (size_t i = 0; i < sizeof hopeless / sizeof *hopeless; i++)
        for (size_t tile = 0; tile <= TILE; tile += TILE) {
            desc.ram_bytes = hopeless[i];
            desc.tile_bytes = tile;
            CHECK(!ox_stream_open(&desc) && ox_error() == OX_ERR_ARG && strstr(ox_error_text(), "budget"));
            ox_error_clear();
        }
    desc.ram_bytes = 12 * TILE;
    desc.result_bytes = 1;
    ox_stream *stream = ox_stream_open(&desc);
    CHECK_MSG(stream != NULL, "%s", ox_error_text());
    static const int64_t room = (TILE - 8192) / 4, tile = TILE / 4;
    const int64_t sizes[] = {1,    room - 1, room,     room + 1,     tile - 1,
                             tile, tile + 1, 3 * room, 3 * room + 1, 5 * 12 * tile + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        OX_SCOPE {
            ox_tensor *x = numbers(OX_SHAPE(sizes[i]), OX_F32, i);
            put_raw(path, x, 0);
            ox_tensor *far = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(sizes[i]));
            for (int pass = 0; pass < 2; pass++)
                CHECK_MSG(same_bits(ox_add(ox_neg(far), far), ox_add(ox_neg(x), x)), "%lld numbers: %s",
                          (long long)sizes[i], ox_error_text());
            CHECK(same_bits(backwards(far, OX_DIMS(0)), backwards(x, OX_DIMS(0))));
            ox_stream_stats s = ox_stream_get_stats(stream);
            CHECK(s.ring_bytes + s.kept_bytes <= desc.ram_bytes);
        }
    ox_device_close(ox_stream_device(stream));
    remove(path);
}

int main(int count, char **words) {
    if (count == 4 && strcmp(words[1], "--forbidden") == 0) return run_forbidden(words[2], words[3]);
    bool mounts = own_mounts();
    check_cases();
    if (!mounts) check_skip("a full disk", "this process may not mount file systems");
    for (int i = 0; i < 2; i++) { /* io_uring, then threads */
        stream_case c = case_at(i);
        snprintf(folder, sizeof folder, "%s/oxtorch-refused-%p", c.folder, (void *)folder);
        snprintf(path, sizeof path, "%s.raw", folder);
        CHECK(mkdir(folder, 0700) == 0);
        if (i == 0) test_forbidden(words[0]);
        if (mounts) test_full_disk(&c);
        test_rights(&c);
        test_names(&c);
        test_least_budgets(&c);
        CHECK(rmdir(folder) == 0);
    }
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("stream_refused");
}
