/* What the files room asks of the system beyond mapping: folders, and creating, flushing, renaming,
 * removing files. Paths are bytes on POSIX and UTF-8 on Windows. Called by files/output.c and
 * files/file.c. */

#if defined(OXI_POSIX)

#include <dirent.h>
#ifndef __cplusplus
int fsync(int file); /* hidden by strict C */
#endif

static bool oxi_is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool oxi_is_file(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static ox_status oxi_list_folder(const char *path, oxi_folder_fn visit, void *user) {
    DIR *folder = opendir(path);
    if (!folder) return oxi_fail(OX_ERR_IO, "%s: %s", oxi_path_text(path), strerror(errno));
    struct dirent *entry;
    for (errno = 0; (entry = readdir(folder)) != NULL; errno = 0) visit(user, entry->d_name);
    int cause = errno;
    closedir(folder);
    return cause ? oxi_fail(OX_ERR_IO, "%s: %s", oxi_path_text(path), strerror(cause)) : OX_OK;
}

static FILE *oxi_create_file(const char *path) { return fopen(path, "wb"); }
static void oxi_remove_file(const char *path) { (void)remove(path); }
static bool oxi_rename_file(const char *from, const char *to) { return rename(from, to) == 0; }

static bool oxi_sync_path(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    /* A file system that cannot flush says EINVAL; everything else is a real failure. */
    bool done = fsync(file) == 0 || errno == EINVAL;
    int cause = errno;
    close(file);
    errno = cause;
    return done;
}

static bool oxi_close_synced(FILE *stream, const char *path) {
    return fclose(stream) == 0 && oxi_sync_path(path);
}

/* One may write in a folder that one may not read: then there is no way to flush it. */
static bool oxi_sync_folder(const char *path) { return oxi_sync_path(path) || errno == EACCES; }

static long long oxi_process_id(void) { return (long long)getpid(); }

#elif defined(_WIN32)

#include <io.h>

/* The path as UTF-16 into `out`; false when it is too long or not UTF-8. */
#define OXI_WIDE_ROOM 1024
static bool oxi_wide_path(const char *path, wchar_t *out) {
    bool fits = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, out, OXI_WIDE_ROOM) > 0;
    if (!fits) errno = EINVAL;
    return fits;
}

/* Nothing there: INVALID_FILE_ATTRIBUTES. */
static DWORD oxi_path_kind(const char *path) {
    wchar_t wide[OXI_WIDE_ROOM];
    return oxi_wide_path(path, wide) ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
}

static bool oxi_is_folder(const char *path) {
    DWORD kind = oxi_path_kind(path);
    return kind != INVALID_FILE_ATTRIBUTES && (kind & FILE_ATTRIBUTE_DIRECTORY);
}

static bool oxi_is_file(const char *path) {
    DWORD kind = oxi_path_kind(path);
    return kind != INVALID_FILE_ATTRIBUTES && !(kind & FILE_ATTRIBUTE_DIRECTORY);
}

static ox_status oxi_list_folder(const char *path, oxi_folder_fn visit, void *user) {
    wchar_t wide[OXI_WIDE_ROOM];
    WIN32_FIND_DATAW entry;
    size_t length = oxi_wide_path(path, wide) ? wcslen(wide) : OXI_WIDE_ROOM;
    HANDLE found = INVALID_HANDLE_VALUE;
    if (length + 3 < OXI_WIDE_ROOM) {
        wide[length] = L'\\', wide[length + 1] = L'*', wide[length + 2] = 0;
        found = FindFirstFileW(wide, &entry);
    }
    if (found == INVALID_HANDLE_VALUE)
        return oxi_fail(OX_ERR_IO, "%s: cannot be listed", oxi_path_text(path));
    do {
        char name[4 * MAX_PATH];
        if (WideCharToMultiByte(CP_UTF8, 0, entry.cFileName, -1, name, (int)sizeof name, NULL, NULL) > 0)
            visit(user, name);
    } while (FindNextFileW(found, &entry));
    FindClose(found);
    return OX_OK;
}

static FILE *oxi_create_file(const char *path) {
    wchar_t wide[OXI_WIDE_ROOM];
    return oxi_wide_path(path, wide) ? _wfopen(wide, L"wb") : NULL;
}

static void oxi_remove_file(const char *path) {
    wchar_t wide[OXI_WIDE_ROOM];
    if (oxi_wide_path(path, wide)) DeleteFileW(wide);
}

static bool oxi_rename_file(const char *from, const char *to) {
    wchar_t wide_from[OXI_WIDE_ROOM], wide_to[OXI_WIDE_ROOM];
    if (!oxi_wide_path(from, wide_from) || !oxi_wide_path(to, wide_to)) return false;
    bool done = MoveFileExW(wide_from, wide_to, MOVEFILE_REPLACE_EXISTING) != 0;
    if (!done) errno = EACCES;
    return done;
}

static bool oxi_close_synced(FILE *stream, const char *path) {
    (void)path;
    bool done = fflush(stream) == 0 && _commit(_fileno(stream)) == 0;
    return (fclose(stream) == 0) && done;
}

static bool oxi_sync_folder(const char *path) { return (void)path, true; }

static long long oxi_process_id(void) { return (long long)GetCurrentProcessId(); }

#else

static bool oxi_is_folder(const char *path) { return (void)path, false; }
static bool oxi_is_file(const char *path) { return (void)path, false; }
static ox_status oxi_list_folder(const char *path, oxi_folder_fn visit, void *user) {
    (void)visit, (void)user;
    return oxi_fail(OX_ERR_UNSUPPORTED, "%s: folders cannot be listed on this system", oxi_path_text(path));
}
static FILE *oxi_create_file(const char *path) { return fopen(path, "wb"); }
static void oxi_remove_file(const char *path) { (void)remove(path); }
static bool oxi_rename_file(const char *from, const char *to) { return rename(from, to) == 0; }
static bool oxi_close_synced(FILE *stream, const char *path) { return (void)path, fclose(stream) == 0; }
static bool oxi_sync_folder(const char *path) { return (void)path, true; }
static long long oxi_process_id(void) { return 0; }

#endif

/* Bytes of `path` up to and with its last separator: 0 when it is a bare name. */
static size_t oxi_folder_length(const char *path) {
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] != '/'
#ifdef _WIN32
           && path[length - 1] != '\\' && path[length - 1] != ':'
#endif
    )
        length--;
    return length;
}

static bool oxi_ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && memcmp(text + length - tail, ending, tail) == 0;
}
