/* What a process holds of shared memory: looked up in /proc, so that it can be another process,
 * too. */
#ifndef FF_TESTS_SHARE_HELD_H
#define FF_TESTS_SHARE_HELD_H

#include <dirent.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct held {
    unsigned files, maps; /* leases: descriptors, and mappings */
    unsigned sockets;
    uint64_t bytes; /* of memory that is its own or shared, without files */
};

#define HELD_FILE "/memfd:farfault-"

static inline void held_descriptors(pid_t process, struct held *held) {
    char path[320], target[64];
    snprintf(path, sizeof path, "/proc/%d/fd", process);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%d/fd/%s", process, entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        held->files += strncmp(target, HELD_FILE, strlen(HELD_FILE)) == 0;
        held->sockets += strncmp(target, "socket:", 7) == 0;
    }
    if (folder)
        closedir(folder);
}

static inline void held_memory(pid_t process, struct held *held) {
    char path[64], line[512];
    unsigned long kib;
    snprintf(path, sizeof path, "/proc/%d/maps", process);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        held->maps += strstr(line, HELD_FILE) != NULL;
    if (file)
        fclose(file);
    snprintf(path, sizeof path, "/proc/%d/status", process);
    file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %lu", &kib) == 1 || sscanf(line, "RssShmem: %lu", &kib) == 1)
            held->bytes += (uint64_t)kib * 1024;
    if (file)
        fclose(file);
}

static inline struct held held_by(pid_t process) {
    struct held held = {0};
    held_descriptors(process, &held);
    held_memory(process, &held);
    return held;
}

/* Files whose names begin like this. */
static inline size_t files_like(const char *beginning) {
    char pattern[128];
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "%s*", beginning);
    size_t count = glob(pattern, GLOB_NOSORT, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return count;
}

#endif
