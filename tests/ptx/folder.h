/* What tests of loading share: a folder of their own, so that the user's cache is never used. */
#ifndef FF_TESTS_PTX_FOLDER_H
#define FF_TESTS_PTX_FOLDER_H

#include "base/cases.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static inline int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/farfault-ptx-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* A path in the folder, valid until the next but seven. */
static inline const char *in_folder(const char *name) {
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline void write_file(const char *path, const void *bytes, size_t size, mode_t mode) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* Up to `size` bytes; returns how many. 0: there is no such file. */
static inline size_t read_file(const char *path, void *bytes, size_t size) {
    FILE *file = fopen(path, "rb");
    size_t count = file ? fread(bytes, 1, size, file) : 0;
    if (file)
        fclose(file);
    return count;
}

/* Entries of a folder, and the name of one of them. */
static inline unsigned count_files(const char *path, char *name) {
    unsigned count = 0;
    DIR *entries = opendir(path);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));)
        if (entry->d_name[0] != '.' && ++count && name)
            strcpy(name, entry->d_name);
    closedir(entries);
    return count;
}

#endif
