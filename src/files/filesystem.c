/* What the files room asks of the system beyond mapping: folders, and creating, flushing, renaming,
 * removing files. Paths are bytes on POSIX and UTF-8 on Windows. Called by files/atomic_write.c and
 * files/file.c. */

#if defined(OXI_POSIX)

#include <dirent.h>
#ifndef __cplusplus /* hidden by strict C */
int fsync(int file);
int fileno(FILE *stream);
int fchmod(int file, mode_t mode);
FILE *fdopen(int file, const char *mode);
#endif
#ifndef O_NOFOLLOW
#define O_NOFOLLOW 0 /* O_EXCL follows no link either */
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

/* It is the owner's alone until it has the old one's mode. */
static FILE *oxi_create_file(const char *path, const char *old) {
    struct stat info;
    bool there = stat(old, &info) == 0;
    if (there && !S_ISREG(info.st_mode)) { /* a rename would put a file in the place of a device */
        errno = S_ISDIR(info.st_mode) ? EISDIR : EEXIST;
        return NULL;
    }
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, there ? 0600 : 0666);
    if (file < 0) return NULL;
    if (there) (void)fchmod(file, info.st_mode & 0777); /* a file system may have no modes */
    FILE *stream = fdopen(file, "wb");
    int cause = errno;
    if (stream) return stream;
    close(file);
    (void)remove(path);
    errno = cause;
    return NULL;
}

static void oxi_remove_file(const char *path) { (void)remove(path); }
static bool oxi_rename_file(const char *from, const char *to) { return rename(from, to) == 0; }

/* A file system that cannot flush says EINVAL; everything else is a real failure. */
static bool oxi_sync_file(int file) { return fsync(file) == 0 || errno == EINVAL; }

static bool oxi_sync_path(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool done = oxi_sync_file(file);
    int cause = errno;
    close(file);
    errno = cause;
    return done;
}

static bool oxi_close_synced(FILE *stream) {
    bool done = fflush(stream) == 0 && oxi_sync_file(fileno(stream));
    int cause = errno;
    bool closed = fclose(stream) == 0;
    if (!done) errno = cause;
    return done && closed;
}

/* One may write in a folder that one may not read: then there is no way to flush it. */
static bool oxi_sync_folder(const char *path) { return oxi_sync_path(path) || errno == EACCES; }

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

static FILE *oxi_create_file(const char *path, const char *old) {
    wchar_t wide[OXI_WIDE_ROOM];
    (void)old; /* whose rights it gets when it takes its place */
    if (!oxi_wide_path(path, wide)) return NULL;
    HANDLE handle = CreateFileW(wide, GENERIC_WRITE, 0, NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
    errno = GetLastError() == ERROR_FILE_EXISTS ? EEXIST : EACCES;
    if (handle == INVALID_HANDLE_VALUE) return NULL;
    int file = _open_osfhandle((intptr_t)handle, 0);
    FILE *stream = file >= 0 ? _fdopen(file, "wb") : NULL;
    if (stream) return stream;
    if (file >= 0)
        _close(file);
    else
        CloseHandle(handle);
    DeleteFileW(wide);
    return NULL;
}

static void oxi_remove_file(const char *path) {
    wchar_t wide[OXI_WIDE_ROOM];
    if (oxi_wide_path(path, wide)) DeleteFileW(wide);
}

static bool oxi_rename_file(const char *from, const char *to) {
    wchar_t wide_from[OXI_WIDE_ROOM], wide_to[OXI_WIDE_ROOM];
    if (!oxi_wide_path(from, wide_from) || !oxi_wide_path(to, wide_to)) return false;
    const DWORD though_rights_differ = 2; /* REPLACEFILE_IGNORE_MERGE_ERRORS */
    bool done = ReplaceFileW(wide_to, wide_from, NULL, though_rights_differ, NULL, NULL) != 0 ||
                MoveFileExW(wide_from, wide_to, MOVEFILE_REPLACE_EXISTING) != 0; /* nothing was there */
    if (!done) errno = EACCES;
    return done;
}

static bool oxi_close_synced(FILE *stream) {
    bool done = fflush(stream) == 0 && _commit(_fileno(stream)) == 0;
    return (fclose(stream) == 0) && done;
}

static bool oxi_sync_folder(const char *path) { return (void)path, true; }

#else

static bool oxi_is_folder(const char *path) { return (void)path, false; }
static bool oxi_is_file(const char *path) { return (void)path, false; }
static ox_status oxi_list_folder(const char *path, oxi_folder_fn visit, void *user) {
    (void)visit, (void)user;
    return oxi_fail(OX_ERR_UNSUPPORTED, "%s: folders cannot be listed on this system", oxi_path_text(path));
}
static FILE *oxi_create_file(const char *path, const char *old) { return (void)old, fopen(path, "wbx"); }
static void oxi_remove_file(const char *path) { (void)remove(path); }
static bool oxi_rename_file(const char *from, const char *to) { return rename(from, to) == 0; }
static bool oxi_close_synced(FILE *stream) { return fclose(stream) == 0; }
static bool oxi_sync_folder(const char *path) { return (void)path, true; }

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
