/* Clock and mapped files.
 * A file is mapped copy-on-write; on wish, and where the system refuses that, it is read into memory.
 * Used by the file readers and the profiler. */

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

#ifndef OX_NO_STDIO

/* What a mapping's handle says about where its bytes lie; no bytes: NULL. */
static const char oxi_is_mapped = 'm', oxi_is_read = 'r';

#if defined(OXI_POSIX)

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

static ox_status oxi_map_open(int file, const char *path, bool copies, oxi_mapping *out) {
    struct stat info;
    if (fstat(file, &info) != 0) return oxi_fail(OX_ERR_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode)) return oxi_fail(OX_ERR_IO, "%s: is a directory", path);
    if (!S_ISREG(info.st_mode)) return oxi_fail(OX_ERR_IO, "%s: is not a regular file", path);
    if ((uint64_t)info.st_size > SIZE_MAX / 4) return oxi_fail(OX_ERR_IO, "%s: too large to map", path);
    size_t bytes = (size_t)info.st_size;
    if (bytes == 0) return OX_OK;
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

static ox_status oxi_map_path(const char *path, bool copies, oxi_mapping *out) {
    /* Not blocking: the open of a pipe would wait for its writer. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return oxi_fail(OX_ERR_IO, "%s: %s", path, strerror(errno));
    ox_status status = oxi_map_open(file, path, copies, out);
    close(file);
    return status;
}

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

static ox_status oxi_map_open(HANDLE file, const char *path, bool copies, oxi_mapping *out) {
    LARGE_INTEGER size;
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

OXI_UNUSED static ox_status oxi_map_file(const char *path, bool copies, oxi_mapping *out) {
    static const unsigned char nothing = 0;
    out->data = &nothing;
    out->bytes = 0;
    out->handle = NULL;
    if (!path) return oxi_fail(OX_ERR_ARG, "path is NULL");
    return oxi_map_path(path, copies, out);
}

OXI_UNUSED static void oxi_unmap_file(oxi_mapping *mapping) {
    const void *handle = mapping->handle;
    if (handle == &oxi_is_mapped) oxi_unmap_pages(mapping->data, mapping->bytes);
    if (handle == &oxi_is_read) oxi_free((void *)(intptr_t)mapping->data, mapping->bytes);
    mapping->data = NULL;
    mapping->bytes = 0;
    mapping->handle = NULL;
}

#endif
