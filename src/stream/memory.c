/* How much memory there is for the taking, for the budget that a stream has when nobody says: what the system
 * counts as available, what the memory limits of the groups that the process is in leave, and its own limits.
 * Called by the device when a stream is opened. */

#if defined(__linux__)

#include <sys/resource.h>

/* Where /proc and /sys are: tests have others. */
static const char *oxi_system_root = "";

static FILE *oxi_system_file(const char *folder, const char *group, const char *name) {
    char path[1280];
    int length = snprintf(path, sizeof path, "%s%s%s%s", oxi_system_root, folder, group, name);
    return length < (int)sizeof path ? fopen(path, "r") : NULL;
}

/* The number at the start of a file, SIZE_MAX when there is none ("max"). */
static size_t oxi_file_number(const char *folder, const char *group, const char *name) {
    unsigned long long number = 0;
    FILE *file = oxi_system_file(folder, group, name);
    bool found = file && fscanf(file, "%llu", &number) == 1;
    if (file) fclose(file);
    return found && number < SIZE_MAX ? (size_t)number : SIZE_MAX;
}

/* The number after a word at the start of a line; 0 when there is none. */
static size_t oxi_file_line(const char *folder, const char *group, const char *name, const char *word) {
    char line[256];
    unsigned long long number = 0;
    size_t length = strlen(word);
    FILE *file = oxi_system_file(folder, group, name);
    while (file && fgets(line, (int)sizeof line, file))
        if (strncmp(line, word, length) == 0 && sscanf(line + length, " %llu", &number) == 1) break;
    if (file) fclose(file);
    return number < SIZE_MAX ? (size_t)number : SIZE_MAX;
}

/* Names of a version's files, and of what a group's statistics call pages of files: of these the system takes
 * back what was not used lately, and may take half of the rest. */
typedef struct oxi_group_names {
    const char *folder, *most, *high, *used, *idle_pages, *pages;
} oxi_group_names;
static const oxi_group_names oxi_groups_first = {
    "/sys/fs/cgroup/memory",  "/memory.limit_in_bytes", "/memory.limit_in_bytes",
    "/memory.usage_in_bytes", "total_inactive_file",    "total_active_file"};
static const oxi_group_names oxi_groups_second = {
    "/sys/fs/cgroup", "/memory.max", "/memory.high", "/memory.current", "inactive_file", "active_file"};

/* What the limits of a group and of those around it leave. group is shortened to "" on the way. */
static size_t oxi_group_room(const oxi_group_names *names, char *group) {
    size_t least = SIZE_MAX;
    for (;;) {
        size_t most = oxi_file_number(names->folder, group, names->most);
        size_t high = oxi_file_number(names->folder, group, names->high);
        size_t used = oxi_file_number(names->folder, group, names->used);
        if (high < most) most = high;
        if (most != SIZE_MAX && used != SIZE_MAX) {
            size_t idle = oxi_file_line(names->folder, group, "/memory.stat", names->idle_pages);
            size_t pages = oxi_file_line(names->folder, group, "/memory.stat", names->pages) / 2;
            used = used > idle ? used - idle : 0;
            used = used > pages ? used - pages : 0;
            most = most > used ? most - used : 0;
        }
        if (most < least) least = most;
        char *end = strrchr(group, '/');
        if (!end) return least;
        *end = 0;
    }
}

/* Lines of /proc/self/cgroup are "number:controllers:/path"; version 2 names no controllers. */
static size_t oxi_groups_room(void) {
    char line[1024];
    size_t least = SIZE_MAX;
    FILE *file = oxi_system_file("/proc/self/cgroup", "", "");
    while (file && fgets(line, (int)sizeof line, file)) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        bool second = controllers[1] == 0;
        if (!second && strcmp(controllers + 1, "memory") != 0) continue;
        size_t room = oxi_group_room(second ? &oxi_groups_second : &oxi_groups_first, path);
        if (room < least) least = room;
    }
    if (file) fclose(file);
    return least;
}

/* What a limit of the process (ulimit) leaves beside the pages that count in it. */
static size_t oxi_process_room(int limit, unsigned long long pages) {
    struct rlimit most;
    const unsigned long long used = pages * (unsigned long long)sysconf(_SC_PAGESIZE);
    if (getrlimit(limit, &most) != 0 || most.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
    const unsigned long long room = most.rlim_cur > used ? (unsigned long long)most.rlim_cur - used : 0;
    return room < SIZE_MAX ? (size_t)room : SIZE_MAX;
}

/* /proc/self/statm: all addresses, resident, shared, text, 0, data, in pages. */
static size_t oxi_processes_room(void) {
    unsigned long long all = 0, data = 0;
    FILE *file = oxi_system_file("/proc/self/statm", "", "");
    bool read = file && fscanf(file, "%llu %*s %*s %*s %*s %llu", &all, &data) == 2;
    if (file) fclose(file);
    size_t least = SIZE_MAX, room;
    if (read && (room = oxi_process_room(RLIMIT_AS, all)) < least) least = room;
    if (read && (room = oxi_process_room(RLIMIT_DATA, data)) < least) least = room;
    return least;
}

static size_t oxi_available_memory(void) {
    size_t kilobytes = oxi_file_line("/proc/meminfo", "", "", "MemAvailable:"), least = SIZE_MAX;
    size_t rooms[3];
    if (kilobytes == 0) kilobytes = 2u << 20;
    rooms[0] = kilobytes > SIZE_MAX / 2048 ? SIZE_MAX / 2 : kilobytes * 1024;
    rooms[1] = oxi_groups_room();
    rooms[2] = oxi_processes_room();
    for (int i = 0; i < 3; i++)
        if (rooms[i] < least) least = rooms[i];
    return least;
}

#else

static size_t oxi_available_memory(void) {
    return (size_t)2047 << 20;
}

#endif
