/* most_memory.h - the most memory that this process ever had, as the system counts it. For tests and
 * benchmarks of what stays under a budget. */
#ifndef MOST_MEMORY_H
#define MOST_MEMORY_H

#include <stdint.h>
#include <stdio.h>

/* VmHWM in bytes; 0 where the system does not tell. */
static int64_t most_memory(void) {
    char line[256];
    long long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, (int)sizeof line, file))
        if (sscanf(line, "VmHWM: %lld kB", &kilobytes) == 1) break;
    if (file) fclose(file);
    return (int64_t)kilobytes * 1024;
}

#endif
