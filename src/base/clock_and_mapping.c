/* Clock and mapped files.
 * A file is mapped copy-on-write; on wish, and where the system refuses that, it is read into memory; or
 * it is only held open, and parts of it are copied out.
 * Used by the file readers and the profiler; random bits of the system by writers and hash tables. */

OXI_UNUSED static double oxi_now(void) {
#if defined(_WIN32)
    LARGE_INTEGER ticks, rate;
    QueryPerformanceFrequency(&rate);
    QueryPerformanceCounter(&ticks);
    return (double)ticks.QuadPart / (double)rate.QuadPart;
#elif defined(CLOCK_MONOTONIC)
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#elif defined(__linux__) && defined(SYS_clock_gettime)
    /* 32-bit strict C: the system call writes two longs; 1 is CLOCK_MONOTONIC. */
    long t[4] = {0, 0, 0, 0};
    syscall(SYS_clock_gettime, 1L, t);
    return (double)t[0] + 1e-9 * (double)t[1];
#elif defined(TIME_UTC)
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#else
    return (double)clock() / CLOCKS_PER_SEC;
#endif
}

/* ---- what nobody can foresee --------------------------------------------------------------------------- */

#if defined(OXI_POSIX)

static bool oxi_system_random(void *out, size_t bytes) {
#if defined(__linux__) && defined(SYS_getrandom)
    const long without_waiting = 1;
    if (syscall(SYS_getrandom, out, (long)bytes, without_waiting) == (long)bytes) return true;
#endif
    int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool done = read(file, out, bytes) == (ssize_t)bytes;
    close(file);
    return done;
}

#elif defined(_WIN32)

/* RtlGenRandom, which has no import library everywhere. */
static bool oxi_system_random(void *out, size_t bytes) {
    typedef BOOLEAN(WINAPI * generate_fn)(void *, ULONG);
    union { /* from the pointer type that all functions have there */
        FARPROC given;
        generate_fn wanted;
    } function;
    HMODULE library = LoadLibraryA("advapi32.dll");
    function.given = library ? GetProcAddress(library, "SystemFunction036") : NULL;
    bool done = function.given && function.wanted(out, (ULONG)bytes);
    if (library) FreeLibrary(library);
    return done;
}

#else

static bool oxi_system_random(void *out, size_t bytes) { return (void)out, (void)bytes, false; }

#endif

/* Where the system has nothing: the time, addresses and a count, mixed. */
OXI_UNUSED static uint64_t oxi_unpredictable(void) {
    static int64_t count;
    uint64_t word = 0, ticks;
    uint32_t mixed[4];
    double now = oxi_now();
    if (oxi_system_random(&word, sizeof word)) return word;
    memcpy(&ticks, &now, sizeof ticks);
    oxi_philox(ticks ^ (uint64_t)time(NULL) << 32, (uint64_t)(uintptr_t)&word ^ (uint64_t)(uintptr_t)&count,
               (uint64_t)oxi_atomic_add(&count, 1), mixed);
    return (uint64_t)mixed[0] << 32 | mixed[1];
}

/* ---- mapped files -------------------------------------------------------------------------------------- */

#ifndef OX_NO_STDIO

/* What a mapping's handle says about where its bytes lie; no bytes: NULL. */
static const char oxi_is_mapped = 'm', oxi_is_read = 'r', oxi_is_in_parts = 'p';

#if defined(OXI_POSIX)

static oxi_file_id oxi_file_id_of(const struct stat *info) {
    oxi_file_id id;
    id.device = (uint64_t)info->st_dev;
    id.number = (uint64_t)info->st_ino;
    id.seconds = (int64_t)info->st_mtime;
    id.nanoseconds = 0;
#if defined(__linux__) && defined(st_mtime)
    id.nanoseconds = (int64_t)info->st_mtim.tv_nsec;
#elif defined(__GLIBC__)
    id.nanoseconds = (int64_t)info->st_mtimensec;
#endif
    return id;
}

static ox_status oxi_read_whole(int file, const char *path, void *data, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
        size_t part = bytes - done < ((size_t)1 << 30) ? bytes - done : (size_t)1 << 30;
        ssize_t got = read(file, (char *)data + done, part);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return oxi_fail(OX_ERR_IO, "%s: %s", path, strerror(errno));
        if (got == 0) return oxi_fail(OX_ERR_IO, "%s: the file became shorter while it was read", path);
        done += (size_t)got;
    }
    return OX_OK;
}

/* Bytes behind the end of a mapped file in its last page: the address sanitizer refuses them. */
static size_t oxi_page_rest(size_t bytes) { return (4096 - bytes % 4096) % 4096; }

/* The identity and size of a file that can be mapped. */
static ox_status oxi_map_look(int file, const char *path, oxi_mapping *out, size_t *bytes) {
    struct stat info;
    if (fstat(file, &info) != 0) return oxi_fail(OX_ERR_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode)) return oxi_fail(OX_ERR_IO, "%s: is a directory", path);
    if (!S_ISREG(info.st_mode)) return oxi_fail(OX_ERR_IO, "%s: is not a regular file", path);
    if ((uint64_t)info.st_size > SIZE_MAX / 4) return oxi_fail(OX_ERR_IO, "%s: too large to map", path);
    *bytes = (size_t)info.st_size;
    out->id = oxi_file_id_of(&info);
    return OX_OK;
}

static ox_status oxi_map_open(int file, const char *path, bool copies, oxi_mapping *out) {
    size_t bytes = 0;
    ox_status looked = oxi_map_look(file, path, out, &bytes);
    if (looked != OX_OK || bytes == 0) return looked;
    /* Without a reservation: pages that are never written need no memory, whatever the size of the file. */
    void *data = copies ? MAP_FAILED
                        : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
    const char *handle = &oxi_is_mapped;
    if (data == MAP_FAILED) {
        handle = &oxi_is_read;
        data = oxi_alloc(bytes);
        if (!data) return OX_ERR_NOMEM;
        ox_status status = oxi_read_whole(file, path, data, bytes);
        if (status != OX_OK) {
            oxi_free(data, bytes);
            return status;
        }
    }
#ifdef __linux__
    /* Only a wish: what is not in memory yet comes in huge pages, which are read half as fast again. */
    if (handle == &oxi_is_mapped && bytes >= OXI_HUGE_PAGE) (void)madvise(data, bytes, MADV_HUGEPAGE);
#endif
    if (handle == &oxi_is_mapped) OXI_POISON((char *)data + bytes, oxi_page_rest(bytes));
    out->data = (const unsigned char *)data;
    out->bytes = bytes;
    out->handle = (void *)(intptr_t)handle;
    return OX_OK;
}

/* Not blocking: the open of a pipe would wait for its writer. */
static int oxi_map_handle(const char *path) {
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static ox_status oxi_map_path(const char *path, bool copies, oxi_mapping *out) {
    int file = oxi_map_handle(path);
    if (file < 0) return oxi_fail(OX_ERR_IO, "%s: %s", path, strerror(errno));
    ox_status status = oxi_map_open(file, path, copies, out);
    close(file);
    return status;
}

static ox_status oxi_map_path_in_parts(const char *path, oxi_mapping *out) {
    size_t bytes = 0;
    int file = oxi_map_handle(path);
    if (file < 0) return oxi_fail(OX_ERR_IO, "%s: %s", path, strerror(errno));
    ox_status status = oxi_map_look(file, path, out, &bytes);
    if (status != OX_OK || bytes == 0) {
        close(file);
        return status;
    }
    out->data = NULL;
    out->bytes = bytes;
    out->handle = (void *)(intptr_t)&oxi_is_in_parts;
    out->file = file;
    return OX_OK;
}

/* Bytes of the file as it was when it was mapped. */
static ox_status oxi_read_part(const oxi_mapping *mapping, const char *path, size_t at, void *out,
                               size_t bytes) {
    struct stat info;
    int file = (int)mapping->file;
    for (size_t done = 0; done < bytes;) {
        size_t part = bytes - done < ((size_t)1 << 30) ? bytes - done : (size_t)1 << 30;
        unsigned long long from = (unsigned long long)(at + done);
        int64_t got = OXI_PREAD(file, (char *)out + done, part, (int64_t)from);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return oxi_fail(OX_ERR_IO, "%s: offset %llu: %s", path, from, strerror(errno));
        if (got == 0)
            return oxi_fail(OX_ERR_IO, "%s: offset %llu: the file ends here; it became shorter", path, from);
        done += (size_t)got;
    }
    oxi_file_id now;
    memset(&now, 0, sizeof now);
    if (fstat(file, &info) == 0) now = oxi_file_id_of(&info);
    if (memcmp(&now, &mapping->id, sizeof now) == 0) return OX_OK;
    return oxi_fail(OX_ERR_IO, "%s: offset %llu: the file was written to since it was opened", path,
                    (unsigned long long)at);
}

static void oxi_close_parts(const oxi_mapping *mapping) { close((int)mapping->file); }

static void oxi_unmap_pages(const void *data, size_t bytes) {
    OXI_UNPOISON((char *)(intptr_t)data + bytes, oxi_page_rest(bytes));
    munmap((void *)(intptr_t)data, bytes);
}

#elif defined(_WIN32)

static ox_status oxi_windows_fail(const char *path) {
    unsigned long code = (unsigned long)GetLastError();
    const char *why = code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND ? "no such file"
                      : code == ERROR_ACCESS_DENIED || code == ERROR_SHARING_VIOLATION ? "access denied"
                      : code == ERROR_NOT_ENOUGH_MEMORY ? "not enough memory" : "cannot be mapped";
    return oxi_fail(OX_ERR_IO, "%s: %s (Windows error %lu)", path, why, code);
}

static oxi_file_id oxi_file_id_of(const BY_HANDLE_FILE_INFORMATION *info) {
    oxi_file_id id;
    id.device = info->dwVolumeSerialNumber;
    id.number = (uint64_t)info->nFileIndexHigh << 32 | info->nFileIndexLow;
    id.seconds = info->ftLastWriteTime.dwHighDateTime;
    id.nanoseconds = info->ftLastWriteTime.dwLowDateTime;
    return id;
}

static ox_status oxi_map_open(HANDLE file, const char *path, bool copies, oxi_mapping *out) {
    LARGE_INTEGER size;
    BY_HANDLE_FILE_INFORMATION info;
    if (GetFileInformationByHandle(file, &info)) out->id = oxi_file_id_of(&info);
    if (!GetFileSizeEx(file, &size)) return oxi_windows_fail(path);
    if ((uint64_t)size.QuadPart > SIZE_MAX / 4) return oxi_fail(OX_ERR_IO, "%s: too large to map", path);
    if (size.QuadPart == 0) return OX_OK;
    HANDLE section = CreateFileMappingW(file, NULL, PAGE_WRITECOPY, 0, 0, NULL);
    if (!section) return oxi_windows_fail(path);
    void *data = MapViewOfFile(section, FILE_MAP_COPY, 0, 0, 0);
    ox_status status = data ? OX_OK : oxi_windows_fail(path);
    CloseHandle(section);                                /* the view keeps it */
    if (!data) return status;
    const char *handle = &oxi_is_mapped;
    if (copies) {
        void *view = data;
        handle = &oxi_is_read;
        data = oxi_alloc((size_t)size.QuadPart);
        if (data) memcpy(data, view, (size_t)size.QuadPart);
        UnmapViewOfFile(view);
        if (!data) return OX_ERR_NOMEM;
    }
    out->data = (const unsigned char *)data;
    out->bytes = (size_t)size.QuadPart;
    out->handle = (void *)(intptr_t)handle;
    return OX_OK;
}

static ox_status oxi_map_path(const char *path, bool copies, oxi_mapping *out) {
    int room = MultiByteToWideChar(CP_UTF8, 0, path, -1, NULL, 0);
    if (room <= 0) return oxi_fail(OX_ERR_IO, "%s: not a UTF-8 path", path);
    wchar_t *wide = (wchar_t *)oxi_calloc((size_t)room, sizeof *wide);
    if (!wide) return OX_ERR_NOMEM;
    MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, room);
    ox_status status;
    DWORD kind = GetFileAttributesW(wide);
    if (kind != INVALID_FILE_ATTRIBUTES && (kind & FILE_ATTRIBUTE_DIRECTORY)) {
        status = oxi_fail(OX_ERR_IO, "%s: is a directory", path);
    } else {
        HANDLE file = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
        bool there = file != INVALID_HANDLE_VALUE;
        status = there ? oxi_map_open(file, path, copies, out) : oxi_windows_fail(path);
        if (there) CloseHandle(file);
    }
    oxi_free(wide, (size_t)room * sizeof *wide);
    return status;
}

static void oxi_unmap_pages(const void *data, size_t bytes) {
    (void)bytes;
    UnmapViewOfFile(data);
}

#else

static ox_status oxi_map_path(const char *path, bool copies, oxi_mapping *out) {
    FILE *file = fopen(path, "rb");
    (void)copies;
    if (!file) return oxi_fail(OX_ERR_IO, "%s: cannot be opened", path);
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    ox_status status = OX_OK;
    if (size < 0 || fseek(file, 0, SEEK_SET) != 0) status = oxi_fail(OX_ERR_IO, "%s: has no size", path);
    void *data = status == OX_OK && size > 0 ? oxi_alloc((size_t)size) : NULL;
    if (status == OX_OK && size > 0 && !data) status = OX_ERR_NOMEM;
    if (data && fread(data, 1, (size_t)size, file) != (size_t)size) {
        oxi_free(data, (size_t)size);
        data = NULL;
        status = oxi_fail(OX_ERR_IO, "%s: cannot be read", path);
    }
    fclose(file);
    if (!data) return status;
    out->data = (const unsigned char *)data;
    out->bytes = (size_t)size;
    out->handle = (void *)(intptr_t)&oxi_is_read;
    return OX_OK;
}

static void oxi_unmap_pages(const void *data, size_t bytes) { (void)data, (void)bytes; }

#endif

#if !defined(OXI_POSIX)
/* A file that is mapped cannot become shorter here, or is in memory. */
static ox_status oxi_map_path_in_parts(const char *path, oxi_mapping *out) {
    return oxi_map_path(path, false, out);
}
static ox_status oxi_read_part(const oxi_mapping *mapping, const char *path, size_t at, void *out,
                               size_t bytes) {
    (void)mapping, (void)path, (void)at, (void)out, (void)bytes;
    return OX_ERR_UNSUPPORTED;
}
static void oxi_close_parts(const oxi_mapping *mapping) { (void)mapping; }
#endif

static ox_status oxi_map_how(const char *path, bool copies, bool parts, oxi_mapping *out) {
    static const unsigned char nothing = 0;
    memset(out, 0, sizeof *out);
    out->data = &nothing;
    if (!path) return oxi_fail(OX_ERR_ARG, "path is NULL");
    ox_status status = parts ? oxi_map_path_in_parts(path, out) : oxi_map_path(path, copies, out);
    if (status != OX_OK) oxi_unmap_file(out);
    return status;
}

OXI_UNUSED static ox_status oxi_map_file(const char *path, bool copies, oxi_mapping *out) {
    return oxi_map_how(path, copies, false, out);
}

OXI_UNUSED static ox_status oxi_map_parts(const char *path, oxi_mapping *out) {
    return oxi_map_how(path, false, true, out);
}

OXI_UNUSED static bool oxi_mapping_is_in_parts(const oxi_mapping *mapping) {
    return mapping->handle == &oxi_is_in_parts;
}

OXI_UNUSED static ox_status oxi_mapping_copy(const oxi_mapping *mapping, const char *path, size_t at,
                                             void *out, size_t bytes) {
    if (mapping->handle == &oxi_is_in_parts) return oxi_read_part(mapping, path, at, out, bytes);
    if (bytes > 0) memcpy(out, mapping->data + at, bytes);
    return OX_OK;
}

OXI_UNUSED static void oxi_unmap_file(oxi_mapping *mapping) {
    const void *handle = mapping->handle;
    if (handle == &oxi_is_mapped) oxi_unmap_pages(mapping->data, mapping->bytes);
    if (handle == &oxi_is_read) oxi_free((void *)(intptr_t)mapping->data, mapping->bytes);
    if (handle == &oxi_is_in_parts) oxi_close_parts(mapping);
    mapping->data = NULL;
    mapping->bytes = 0;
    mapping->handle = NULL;
}

#endif
