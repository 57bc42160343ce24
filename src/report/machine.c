#include "report/machine.h"

#include "report/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The value of the first line "key<separator>value" of a file, without quotes; null if it has none.
 */
static json_t *line_of(const char *path, const char *key, char separator) {
    json_t *found = NULL;
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "re");
    while (file && !found && getline(&line, &room, file) > 0) {
        char *value = strchr(line, separator);
        if (strncmp(line, key, strlen(key)) != 0 || !value)
            continue;
        value += 1 + strspn(value + 1, " \t\"");
        value[strcspn(value, "\"\n")] = '\0';
        found = json_string(value);
    }
    free(line);
    if (file)
        fclose(file);
    return found ? found : json_null();
}

json_t *ff__machine_facts(void) {
    struct utsname names = {0};
    uname(&names);
    json_int_t memory = (json_int_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    return ff__must(json_pack("{s:o, s:I, s:I, s:s, s:s, s:o}", "cpu",
                              line_of("/proc/cpuinfo", "model name", ':'), "cpus",
                              (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "memory", memory, "kernel",
                              names.release, "architecture", names.machine, "os",
                              line_of("/etc/os-release", "PRETTY_NAME", '=')));
}
