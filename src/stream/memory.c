/* How much memory there is for the taking, for the budget that a stream has when nobody says: what the system
 * counts as available, and what the memory limits of the groups that the process is in leave.
 * Called by the device when a stream is opened. */

#if defined(__linux__)

/* The number at the start of a file, SIZE_MAX when there is none ("max"). */
static size_t oxi_file_number(const char *folder, const char *group, const char *name) {
    char path[1280];
    unsigned long long number = 0;
    if (snprintf(path, sizeof path, "%s%s/%s", folder, group, name) >= (int)sizeof path) return SIZE_MAX;
    FILE *file = fopen(path, "r");
    bool found = file && fscanf(file, "%llu", &number) == 1;
    if (file) fclose(file);
    return found && number < SIZE_MAX ? (size_t)number : SIZE_MAX;
}

/* What the limits of a group and of those around it leave. group is shortened to "" on the way. */
static size_t oxi_group_room(const char *folder, char *group, const char *limit, const char *usage) {
    size_t least = SIZE_MAX;
    for (;;) {
        size_t most = oxi_file_number(folder, group, limit), used = oxi_file_number(folder, group, usage);
        if (most != SIZE_MAX && used != SIZE_MAX) most = most > used ? most - used : 0;
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
    FILE *file = fopen("/proc/self/cgroup", "r");
    while (file && fgets(line, (int)sizeof line, file)) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        bool second = controllers[1] == 0;
        if (!second && strcmp(controllers + 1, "memory") != 0) continue;
        size_t room = second ? oxi_group_room("/sys/fs/cgroup", path, "memory.max", "memory.current")
                             : oxi_group_room("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes",
                                              "memory.usage_in_bytes");
        if (room < least) least = room;
    }
    if (file) fclose(file);
    return least;
}

static size_t oxi_available_memory(void) {
    char line[128];
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, (int)sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1) break;
    if (file) fclose(file);
    size_t groups = oxi_groups_room();
    if (kilobytes == 0) kilobytes = 2u << 20;
    size_t system = kilobytes > SIZE_MAX / 2048 ? SIZE_MAX / 2 : (size_t)kilobytes * 1024;
    return system < groups ? system : groups;
}

#else

static size_t oxi_available_memory(void) {
    return (size_t)2047 << 20;
}

#endif
