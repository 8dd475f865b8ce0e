/* Files as a stream reads them: handles for reads at an offset, with and without the page cache, and regions.
 * A file is opened once however many tensors lie in it. Nothing here writes to a file that is not the
 * stream's own. */

/* ---- the system: handles are numbers, results are bytes or an errno made negative --------------------- */

#if defined(OXI_POSIX)

#if !defined(__cplusplus)
int ftruncate(int file, off_t bytes); /* hidden by strict C */
#endif
#ifndef O_LARGEFILE
#define O_LARGEFILE 0
#endif

/* Flags that strict C hides, where their values are known: <asm-generic/fcntl.h> and its exceptions. */
#if defined(__linux__) && (defined(__x86_64__) || defined(__i386__) || defined(__riscv))
#define OXI_STREAM_DIRECT 040000
#define OXI_STREAM_UNNAMED (020000000 | 0200000)
#elif defined(__linux__) && (defined(__aarch64__) || defined(__arm__))
#define OXI_STREAM_DIRECT 0200000
#define OXI_STREAM_UNNAMED (020000000 | 040000)
#endif

/* The open does not block, for a pipe's would wait for its writer; reads do, or io_uring gives them back. */
static intptr_t oxi_stream_handle_open(const char *path, bool direct) {
    int flags = O_RDONLY | O_CLOEXEC | O_LARGEFILE;
#ifdef OXI_STREAM_DIRECT
    if (direct) flags |= OXI_STREAM_DIRECT;
#else
    if (direct) return -1;
#endif
    int file = open(path, flags | O_NONBLOCK);
    if (file >= 0 && fcntl(file, F_SETFL, flags) == 0) return file;
    if (file >= 0) (void)close(file);
    return -1;
}

static void oxi_stream_handle_close(intptr_t handle) {
    if (handle >= 0) (void)close((int)handle);
}

/* A file that has no name, or loses it before anything is written. */
static intptr_t oxi_stream_handle_unnamed(const char *folder, char *path, size_t room) {
    int flags = O_RDWR | O_CLOEXEC | O_LARGEFILE;
#ifdef OXI_STREAM_UNNAMED
    int file = open(folder, flags | OXI_STREAM_UNNAMED, 0600);
    if (file >= 0 || (errno != EISDIR && errno != EOPNOTSUPP && errno != ENOENT)) return file;
#endif
    (void)snprintf(path, room, "%s/oxtorch-%016llx.spill", folder, (unsigned long long)oxi_unpredictable());
    int named = open(path, flags | O_CREAT | O_EXCL, 0600);
    if (named >= 0) (void)unlink(path);
    return named;
}

/* A file that was not there. */
static intptr_t oxi_stream_handle_create(const char *path) {
    return open(path, O_RDWR | O_CLOEXEC | O_LARGEFILE | O_CREAT | O_EXCL, 0666);
}

static int64_t oxi_stream_handle_move(intptr_t handle, bool write, void *memory, size_t bytes,
                                      uint64_t offset) {
    if (offset > INT64_MAX) return -EINVAL;
    ssize_t moved = write ? OXI_PWRITE((int)handle, memory, bytes, (int64_t)offset)
                          : OXI_PREAD((int)handle, memory, bytes, (int64_t)offset);
    return moved < 0 ? -(int64_t)errno : (int64_t)moved;
}

/* Bytes that were never written read as zeros. Failing is harmless: writes make room as well. */
static void oxi_stream_handle_resize(intptr_t handle, uint64_t bytes) {
    if ((uint64_t)(off_t)bytes == bytes && ftruncate((int)handle, (off_t)bytes) != 0) return;
}

/* Room on the disk for bytes [from, from + bytes), before anything is written there: 0, or ENOSPC. */
static int oxi_stream_handle_reserve(intptr_t handle, uint64_t from, uint64_t bytes) {
#if defined(__linux__) && defined(__LP64__) && defined(SYS_fallocate)
    if (syscall(SYS_fallocate, (long)handle, 0L, (long)from, (long)bytes) != 0 && errno == ENOSPC)
        return ENOSPC; /* file systems that cannot reserve tell when it is written */
#else
    (void)handle, (void)from, (void)bytes;
#endif
    return 0;
}

#if defined(__linux__) && defined(__LP64__) && defined(SYS_sync_file_range) && defined(SYS_fadvise64)
#define OXI_STREAM_CAN_SETTLE 1
#endif

/* The page cache of a file that is also written past it: what was written through the cache goes to the disk,
 * and what the cache holds goes, for where both met in one of its folios it may keep what was there before.
 * 0, or what the system says of a page that did not get to the disk, or of one that the cache kept. */
static int oxi_stream_handle_settle(intptr_t handle) {
#ifdef OXI_STREAM_CAN_SETTLE
    const long wait_write_wait = 7, not_needed = 4;
    int cause = syscall(SYS_sync_file_range, (long)handle, 0L, 0L, wait_write_wait) == 0 ? 0 : errno;
    (void)syscall(SYS_fadvise64, (long)handle, 0L, 0L, not_needed);
    return cause;
#else
    (void)handle;
    return 0;
#endif
}

/* Another handle of the same open file, which may have no name, for transfers past the page cache; -1. From
 * then on reads through the cache bring in their own pages alone: others may be written past it meanwhile. */
static intptr_t oxi_stream_handle_direct(intptr_t handle) {
#if defined(OXI_STREAM_CAN_SETTLE) && defined(OXI_STREAM_DIRECT)
    const long random = 1;
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", (int)handle);
    if (syscall(SYS_fadvise64, (long)handle, 0L, 0L, random) != 0) return -1;
    return open(path, O_RDWR | O_CLOEXEC | O_LARGEFILE | OXI_STREAM_DIRECT);
#else
    (void)handle;
    return -1;
#endif
}

/* What tells two files apart, and the size. */
static ox_status oxi_stream_identify(intptr_t handle, const char *path, oxi_file_id *id, uint64_t *bytes) {
    struct stat info;
    if (fstat((int)handle, &info) != 0)
        return oxi_fail(OX_ERR_IO, "%s: %s", oxi_path_text(path), strerror(errno));
    if (!S_ISREG(info.st_mode)) return oxi_fail(OX_ERR_IO, "%s: is not a regular file", oxi_path_text(path));
    *id = oxi_file_id_of(&info);
    *bytes = (uint64_t)info.st_size;
    return OX_OK;
}

#elif defined(_WIN32)

static intptr_t oxi_stream_handle_open(const char *path, bool direct) {
    wchar_t wide[OXI_WIDE_ROOM];
    if (direct || !oxi_wide_path(path, wide)) return -1;
    HANDLE file =
        CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL);
    errno = ENOENT;
    return file == INVALID_HANDLE_VALUE ? -1 : (intptr_t)file;
}

static void oxi_stream_handle_close(intptr_t handle) {
    if (handle != -1) CloseHandle((HANDLE)handle);
}

static intptr_t oxi_stream_handle_unnamed(const char *folder, char *path, size_t room) {
    wchar_t wide[OXI_WIDE_ROOM];
    (void)snprintf(path, room, "%s/oxtorch-%016llx.spill", folder, (unsigned long long)oxi_unpredictable());
    if (!oxi_wide_path(path, wide)) return -1;
    HANDLE file = CreateFileW(wide, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_DELETE, NULL, CREATE_NEW,
                              FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    errno = EACCES;
    return file == INVALID_HANDLE_VALUE ? -1 : (intptr_t)file;
}

static intptr_t oxi_stream_handle_create(const char *path) {
    wchar_t wide[OXI_WIDE_ROOM];
    if (!oxi_wide_path(path, wide)) return -1;
    HANDLE file = CreateFileW(wide, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
                              CREATE_NEW, 0, NULL);
    errno = GetLastError() == ERROR_FILE_EXISTS ? EEXIST : EACCES;
    return file == INVALID_HANDLE_VALUE ? -1 : (intptr_t)file;
}

static int64_t oxi_stream_handle_move(intptr_t handle, bool write, void *memory, size_t bytes,
                                      uint64_t offset) {
    OVERLAPPED at;
    DWORD moved = 0, part = bytes > (1u << 30) ? 1u << 30 : (DWORD)bytes;
    memset(&at, 0, sizeof at);
    at.Offset = (DWORD)(offset & 0xffffffffu);
    at.OffsetHigh = (DWORD)(offset >> 32);
    BOOL done = write ? WriteFile((HANDLE)handle, memory, part, &moved, &at)
                      : ReadFile((HANDLE)handle, memory, part, &moved, &at);
    if (done) return (int64_t)moved;
    DWORD code = GetLastError();
    if (!write && code == ERROR_HANDLE_EOF) return 0;
    return code == ERROR_DISK_FULL ? -ENOSPC : -EIO;
}

static void oxi_stream_handle_resize(intptr_t handle, uint64_t bytes) {
    LARGE_INTEGER end;
    end.QuadPart = (LONGLONG)bytes;
    if (SetFilePointerEx((HANDLE)handle, end, NULL, FILE_BEGIN)) (void)SetEndOfFile((HANDLE)handle);
}

static ox_status oxi_stream_identify(intptr_t handle, const char *path, oxi_file_id *id, uint64_t *bytes) {
    BY_HANDLE_FILE_INFORMATION info;
    if (!GetFileInformationByHandle((HANDLE)handle, &info))
        return oxi_fail(OX_ERR_IO, "%s: is not a regular file", oxi_path_text(path));
    *id = oxi_file_id_of(&info);
    *bytes = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow;
    return OX_OK;
}

#else

static intptr_t oxi_stream_handle_open(const char *path, bool direct) {
    (void)path, (void)direct;
    errno = EINVAL;
    return -1;
}
static void oxi_stream_handle_close(intptr_t handle) {
    (void)handle;
}
static intptr_t oxi_stream_handle_unnamed(const char *folder, char *path, size_t room) {
    (void)folder, (void)path, (void)room;
    return -1;
}
static intptr_t oxi_stream_handle_create(const char *path) {
    (void)path;
    return -1;
}
static int64_t oxi_stream_handle_move(intptr_t handle, bool write, void *memory, size_t bytes,
                                      uint64_t offset) {
    (void)handle, (void)write, (void)memory, (void)bytes, (void)offset;
    return -EINVAL;
}
static void oxi_stream_handle_resize(intptr_t handle, uint64_t bytes) {
    (void)handle, (void)bytes;
}
static ox_status oxi_stream_identify(intptr_t handle, const char *path, oxi_file_id *id, uint64_t *bytes) {
    (void)handle, (void)id, (void)bytes;
    return oxi_fail(OX_ERR_UNSUPPORTED, "%s: this system has no reads at an offset", oxi_path_text(path));
}

#endif

#if !defined(OXI_POSIX)
/* Systems that reserve nothing, and whose page cache is always used. */
static int oxi_stream_handle_reserve(intptr_t handle, uint64_t from, uint64_t bytes) {
    (void)handle, (void)from, (void)bytes;
    return 0;
}

static intptr_t oxi_stream_handle_direct(intptr_t handle) {
    (void)handle;
    return -1;
}

static int oxi_stream_handle_settle(intptr_t handle) {
    (void)handle;
    return 0;
}

#endif

/* ---- files ------------------------------------------------------------------------------------------- */

static void oxi_ring_forget(ox_stream *stream);
static void oxi_capacitor_forget_file(ox_stream *stream, const oxi_stream_file *file);

static void oxi_reader_forget_file(oxi_stream_reader *reader, oxi_stream_file *file);
static void oxi_reader_know_file(oxi_stream_reader *reader, oxi_stream_file *file);

static void oxi_stream_file_free(oxi_stream_file *file) {
    oxi_stream_handle_close(file->plain);
    oxi_stream_handle_close(file->direct);
    oxi_free(file->path, file->path_bytes);
    oxi_free(file, sizeof *file);
}

static void oxi_stream_file_release(ox_stream *stream, oxi_stream_file *file) {
    if (--file->references > 0) return;
    oxi_ring_forget(stream);
    oxi_capacitor_forget_file(stream, file);
    for (oxi_stream_file **link = &stream->files; *link; link = &(*link)->next)
        if (*link == file) {
            *link = file->next;
            break;
        }
    oxi_reader_forget_file(&stream->reader, file);
    oxi_stream_file_free(file);
}

static oxi_stream_file *oxi_stream_file_new(const char *path) {
    oxi_stream_file *file = (oxi_stream_file *)oxi_calloc(1, sizeof *file);
    if (!file) return NULL;
    file->references = 1;
    file->plain = file->direct = -1;
    file->slot[0] = file->slot[1] = -1;
    file->path_bytes = strlen(path) + 1;
    file->path = (char *)oxi_alloc(file->path_bytes);
    if (file->path) {
        memcpy(file->path, path, file->path_bytes);
        return file;
    }
    oxi_stream_file_free(file);
    return NULL;
}

/* The file at path, opened for reading or found among those that are; *bytes receives its size. */
static ox_status oxi_stream_file_open(ox_stream *stream, const char *path, oxi_stream_file **out,
                                      uint64_t *bytes) {
    oxi_stream_file *file = oxi_stream_file_new(path), *there = stream->files;
    if (!file) return OX_ERR_NOMEM;
    file->plain = oxi_stream_handle_open(path, false);
    ox_status status = file->plain == -1 ? oxi_fail(OX_ERR_IO, "%s: %s", oxi_path_text(path), strerror(errno))
                                         : oxi_stream_identify(file->plain, path, &file->id, bytes);
    while (status == OX_OK && there && memcmp(&there->id, &file->id, sizeof file->id) != 0)
        there = there->next;
    if (status != OX_OK || there) {
        oxi_stream_file_free(file);
        if (status == OX_OK) there->references++;
        *out = there;
        return status;
    }
    if (!stream->desc.buffered) file->direct = oxi_stream_handle_open(path, true);
    oxi_reader_know_file(&stream->reader, file);
    file->next = stream->files;
    stream->files = file;
    *out = file;
    return OX_OK;
}

/* ---- regions ----------------------------------------------------------------------------------------- */

static size_t oxi_region_pages(const oxi_stream_region *region) {
    return region->bytes / OXI_STREAM_PAGE + (region->bytes % OXI_STREAM_PAGE != 0);
}

/* Takes over one reference to the file. */
static oxi_stream_region *oxi_stream_region_new(ox_stream *stream, oxi_stream_file *file, uint64_t offset,
                                                size_t bytes) {
    oxi_stream_region *region = (oxi_stream_region *)oxi_alloc(sizeof *region);
    if (!region) return NULL;
    region->stream = stream;
    region->file = file;
    region->offset = offset;
    region->bytes = bytes;
    region->sums = NULL;
    if (file->writable && stream->desc.checksums && bytes > 0) {
        region->sums = (uint32_t *)oxi_calloc(oxi_region_pages(region), sizeof *region->sums);
        if (!region->sums) {
            oxi_free(region, sizeof *region);
            return NULL;
        }
    }
    region->next = NULL;
    if (!file->writable) {
        region->next = file->regions;
        file->regions = region;
    }
    stream->references++;
    return region;
}

/* Before its file is released. */
static void oxi_stream_region_unlink(oxi_stream_region *region) {
    oxi_stream_region **link = &region->file->regions;
    while (*link && *link != region) link = &(*link)->next;
    if (*link) *link = region->next;
}

static void oxi_stream_region_delete(oxi_stream_region *region) {
    if (region->sums) oxi_free(region->sums, oxi_region_pages(region) * sizeof *region->sums);
    oxi_free(region, sizeof *region);
}

/* id: NULL, or what the file was when its directory was read. */
static ox_status oxi_stream_region_open(ox_stream *stream, const char *path, const oxi_file_id *id,
                                        uint64_t offset, size_t bytes, oxi_stream_region **out) {
    oxi_stream_file *file = NULL;
    uint64_t size = 0;
    *out = NULL;
    ox_status status = oxi_stream_file_open(stream, path, &file, &size);
    if (status != OX_OK) return status;
    if (id && memcmp(id, &file->id, sizeof *id) != 0)
        status =
            oxi_fail(OX_ERR_IO, "%s: offset %llu: the file was replaced or written to since it was opened",
                     oxi_path_text(path), (unsigned long long)offset);
    else if (offset > size || bytes > size - offset)
        status = oxi_fail(OX_ERR_IO, "%s: offset %llu: %llu bytes are asked for, the file ends at %llu",
                          oxi_path_text(path), (unsigned long long)offset, (unsigned long long)bytes,
                          (unsigned long long)size);
    else
        *out = oxi_stream_region_new(stream, file, offset, bytes);
    if (*out) return OX_OK;
    oxi_stream_file_release(stream, file);
    return status == OX_OK ? OX_ERR_NOMEM : status;
}
