/* Memory: huge pages, what is free, and what cgroups allow. */
#include "doctor/doctor.h"

#include "report/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

/* ---- huge pages ---- */

static void check_huge_pages(struct ff__checks *checks, const char *root) {
    static const char path[] = "/sys/kernel/mm/transparent_hugepage/enabled";
    char *modes = ff__doctor_find(root, path, "");
    bool never = modes && strstr(modes, "[never]");
    bool disabled = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1;
    if (!modes)
        ff__checks_message(checks, "huge pages", FF__HEALTH_LIMITED,
                           "this kernel has none, and blocks move page by page; a kernel with "
                           "CONFIG_TRANSPARENT_HUGEPAGE moves them whole");
    else if (never)
        ff__checks_add(checks, "huge pages", FF__HEALTH_LIMITED,
                       ff__text("switched off, and blocks move page by page"),
                       ff__text("echo madvise >%s", path));
    else if (disabled)
        ff__checks_message(checks, "huge pages", FF__HEALTH_LIMITED,
                           "switched off for this process, and blocks move page by page; a parent "
                           "has called prctl(PR_SET_THP_DISABLE)");
    else
        ff__checks_add(checks, "huge pages", FF__HEALTH_GOOD, ff__text("%s", modes), NULL);
    free(modes);
}

/* ---- what is free ---- */

static uint64_t kib(const char *root, const char *key) {
    uint64_t number = ff__doctor_number(root, "/proc/meminfo", key);
    return number == UINT64_MAX ? 0 : number << 10;
}

static void check_free(struct ff__checks *checks, const char *root, uint64_t needed) {
    char all[FF__QUANTITY], available[FF__QUANTITY], swap[FF__QUANTITY], wanted[FF__QUANTITY];
    uint64_t has = kib(root, "MemAvailable:");
    bool good = has >= needed;
    ff__checks_add(
        checks, "memory", good ? FF__HEALTH_GOOD : FF__HEALTH_LIMITED,
        ff__text("%s of %s available, %s of swap free", ff__size_text(available, has),
                 ff__size_text(all, kib(root, "MemTotal:")),
                 ff__size_text(swap, kib(root, "SwapFree:"))),
        good ? NULL
             : ff__text("a device of the default size and what leaves it take %s: free some, or "
                        "give a smaller --memory",
                        ff__size_text(wanted, needed)));
}

/* ---- cgroups ---- */

/* How a version of cgroups names things. */
struct naming {
    const char *controller; /* of the group's line in /proc/self/cgroup: NUMBER:CONTROLLER:GROUP */
    const char *folder;     /* of all groups */
    const char *limit, *usage;
};

static const struct naming namings[] = {
    {"", "/sys/fs/cgroup", "memory.max", "memory.current"},
    {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"},
};

/* Version 1 says so where there is no limit, in whole pages of any size. */
#define NO_LIMIT (UINT64_MAX >> 2)

struct group_room {
    uint64_t limit, left; /* of the group that has least left; UINT64_MAX: no limit */
};

static uint64_t number_of(const char *root, const struct naming *naming, const char *group,
                          const char *file) {
    char *path = ff__text("%s%s/%s", naming->folder, group, file);
    uint64_t number = ff__doctor_number(root, path, "");
    free(path);
    return number;
}

/* Of the group and all that it lies in; `group` is cut to nothing. */
static void look_up(const char *root, const struct naming *naming, char *group,
                    struct group_room *room) {
    for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
        *end = '\0';
        uint64_t limit = number_of(root, naming, group, naming->limit);
        uint64_t usage = number_of(root, naming, group, naming->usage);
        if (limit > NO_LIMIT || usage == UINT64_MAX)
            continue;
        uint64_t left = limit > usage ? limit - usage : 0;
        if (left < room->left)
            *room = (struct group_room){limit, left};
    }
}

/* Whose memory the controller has; NULL: it has none. */
static char *group_of(const char *root, const char *controller) {
    char *path = ff__text("%s/proc/self/cgroup", root), *line = NULL, *group = NULL;
    size_t room = 0, length = strlen(controller);
    FILE *file = fopen(path, "re");
    while (file && !group && getline(&line, &room, file) > 0) {
        const char *name = strchr(line, ':');
        if (name && strncmp(name + 1, controller, length) == 0 && name[1 + length] == ':')
            group = ff__text("%.*s", (int)strcspn(name + length + 2, "\n"), name + length + 2);
    }
    if (file)
        fclose(file);
    free(line);
    free(path);
    return group;
}

static struct group_room look_for_room(const char *root) {
    struct group_room room = {UINT64_MAX, UINT64_MAX};
    for (unsigned i = 0; i < sizeof namings / sizeof namings[0]; i++) {
        char *group = group_of(root, namings[i].controller);
        if (group)
            look_up(root, &namings[i], group, &room);
        free(group);
    }
    return room;
}

static void check_cgroup(struct ff__checks *checks, const char *root, uint64_t needed) {
    const struct group_room room = look_for_room(root);
    char limit[FF__QUANTITY], left[FF__QUANTITY];
    bool good = room.left >= needed;
    if (room.limit == UINT64_MAX)
        ff__checks_add(checks, "cgroup", FF__HEALTH_GOOD, ff__text("no limit of memory"), NULL);
    else
        ff__checks_add(
            checks, "cgroup", good ? FF__HEALTH_GOOD : FF__HEALTH_LIMITED,
            ff__text("%s of memory, %s left", ff__size_text(limit, room.limit),
                     ff__size_text(left, room.left)),
            good ? NULL
                 : ff__text("allow it more, or give a smaller --memory: what exceeds it is killed "
                            "(docs/operating.md)"));
}

void ff__doctor_memory(struct ff__checks *checks, const char *root, uint64_t needed) {
    check_huge_pages(checks, root);
    check_free(checks, root, needed);
    check_cgroup(checks, root, needed);
}
