#include "ptx/cache.h"

#include "base/error.h"
#include "base/grow.h"
#include "base/new_file.h"
#include "base/parse.h"
#include "ptx/object.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT        (UINT64_C(512) << 20)
#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

/* ---- the folder ---- */

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* NULL: there is none. The XDG base directory specification ignores relative paths. */
static char *default_folder(void) {
    const char *own = variable("FARFAULT_PTX_CACHE");
    const char *cache = variable("XDG_CACHE_HOME"), *home = variable("HOME");
    char *folder = NULL;
    int length = -1;
    if (own != NULL)
        return strdup(own);
    if (cache != NULL && cache[0] == '/')
        length = asprintf(&folder, "%s/farfault/ptx", cache);
    else if (home != NULL && home[0] == '/')
        length = asprintf(&folder, "%s/.cache/farfault/ptx", home);
    return length < 0 ? NULL : folder;
}

static void make_folders(char *path) {
    for (char *at = path; *at != '\0'; at++) {
        if (*at != '/' || at == path)
            continue;
        *at = '\0';
        mkdir(path, S_IRWXU);
        *at = '/';
    }
    mkdir(path, S_IRWXU);
}

static int open_private(char *path, struct ff__ptx_cache *cache, struct ff_error *error) {
    struct stat about;
    make_folders(path);
    cache->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cache->folder < 0 || fstat(cache->folder, &about) != 0)
        return 0;
    const char *why = about.st_uid != geteuid()             ? "it belongs to another user"
                      : (about.st_mode & OTHERS_WRITE) != 0 ? "others can write to it"
                                                            : NULL;
    if (why == NULL)
        return 0;
    ff__ptx_cache_close(cache);
    return ff__fail(error, -EACCES,
                    "%s: not used for translated kernels, as %s; FARFAULT_PTX_CACHE names another "
                    "folder",
                    path, why);
}

static int read_limit(uint64_t *limit, struct ff_error *error) {
    const char *text = variable("FARFAULT_PTX_CACHE_SIZE");
    *limit = LIMIT;
    if (text == NULL || ff__parse_size(text, limit) == 0)
        return 0;
    return ff__fail(error, -EINVAL, "FARFAULT_PTX_CACHE_SIZE must be a size, such as 512M, not %s",
                    text);
}

int ff__ptx_cache_open(const char *folder, struct ff__ptx_cache *cache, struct ff_error *error) {
    *cache = (struct ff__ptx_cache){.folder = -1};
    int code = read_limit(&cache->limit, error);
    char *path = folder != NULL ? strdup(folder) : default_folder();
    if (code == 0 && path != NULL)
        code = open_private(path, cache, error);
    free(path);
    return code;
}

void ff__ptx_cache_close(struct ff__ptx_cache *cache) {
    if (cache->folder >= 0)
        close(cache->folder);
    cache->folder = -1;
}

/* ---- files ---- */

void ff__ptx_cache_key(const uint8_t digest[FF__PTX_DIGEST], char key[FF__PTX_KEY]) {
    for (unsigned i = 0; i < FF__PTX_DIGEST; i++)
        snprintf(key + 2 * i, 3, "%02x", digest[i]);
}

static void name_of(const char *key, char out[FF__PTX_KEY + 3]) {
    snprintf(out, FF__PTX_KEY + 3, "%s.so", key);
}

/* What stands behind an object. */
struct trailer {
    uint8_t compiler[FF__PTX_DIGEST], sum[FF__PTX_DIGEST];
};

static void sum_up(const char *key, const uint8_t compiler[FF__PTX_DIGEST], const void *content,
                   size_t size, uint8_t out[FF__PTX_DIGEST]) {
    struct ff__ptx_digest digest;
    ff__ptx_digest_start(&digest);
    ff__ptx_digest_add(&digest, key, FF__PTX_KEY);
    ff__ptx_digest_add(&digest, compiler, FF__PTX_DIGEST);
    ff__ptx_digest_add(&digest, content, size);
    ff__ptx_digest_end(&digest, out);
}

/* Calls the function with the object's content mapped. */
static int with_content(int object, int (*act)(void *self, const void *content, size_t size),
                        void *self) {
    struct stat about;
    if (fstat(object, &about) != 0)
        return -errno;
    size_t size = (size_t)about.st_size;
    void *content = mmap(NULL, size, PROT_READ, MAP_SHARED, object, 0);
    if (content == MAP_FAILED)
        return -errno;
    int code = act(self, content, size);
    ff__ptx_object_unmap(content, size);
    return code;
}

struct whole {
    const char *key;
    struct trailer expected;
};

static int is_whole(void *self, const void *content, size_t size) {
    struct whole *whole = self;
    uint8_t found[FF__PTX_DIGEST];
    sum_up(whole->key, whole->expected.compiler, content, size, found);
    return memcmp(found, whole->expected.sum, sizeof found) == 0 ? 0 : -EBADMSG;
}

static int copy_checked(int file, const char *key, const uint8_t *compiler) {
    struct whole whole = {.key = key};
    struct stat about;
    if (fstat(file, &about) != 0)
        return -errno;
    if (!S_ISREG(about.st_mode) || about.st_uid != geteuid() || (about.st_mode & OTHERS_WRITE) != 0)
        return -EACCES;
    if (about.st_size <= (off_t)sizeof whole.expected)
        return -EBADMSG;
    size_t size = (size_t)about.st_size - sizeof whole.expected;
    int object = ff__ptx_object_copy(file, size);
    if (object < 0)
        return object;
    bool read_end = read(file, &whole.expected, sizeof whole.expected) == sizeof whole.expected;
    int code = read_end ? with_content(object, is_whole, &whole) : -EBADMSG;
    if (code == 0 && compiler != NULL &&
        memcmp(compiler, whole.expected.compiler, FF__PTX_DIGEST) != 0)
        code = -ENOENT;
    if (code == 0)
        return object;
    close(object);
    return code;
}

int ff__ptx_cache_find(const struct ff__ptx_cache *cache, const char *key,
                       const uint8_t *compiler) {
    char name[FF__PTX_KEY + 3];
    name_of(key, name);
    if (cache->folder < 0)
        return -ENOENT;
    int file = openat(cache->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int object = file < 0 ? -errno : copy_checked(file, key, compiler);
    if (object >= 0)
        futimens(file, NULL); /* the last to go */
    else if (object == -EACCES || object == -EBADMSG || object == -ELOOP)
        unlinkat(cache->folder, name, 0);
    if (file >= 0)
        close(file);
    return object;
}

/* ---- the limit ---- */

struct stored {
    char name[FF__PTX_KEY + 32]; /* room for those of unfinished files */
    uint64_t size;
    struct timespec used;
};

static bool is_ours(const char *name) {
    return strspn(name, "0123456789abcdef") == FF__PTX_KEY - 1 &&
           strncmp(name + FF__PTX_KEY - 1, ".so", 3) == 0;
}

/* The files of the cache, unfinished ones too; the caller frees *out. */
static size_t list(DIR *folder, struct stored **out) {
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct stat about;
        if (!is_ours(entry->d_name) || strlen(entry->d_name) >= sizeof(*out)->name ||
            fstatat(dirfd(folder), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(about.st_mode) || ff__grow(out, count, sizeof **out) != 0)
            continue;
        struct stored *kept = &(*out)[count++];
        *kept = (struct stored){.size = (uint64_t)about.st_size, .used = about.st_mtim};
        memcpy(kept->name, entry->d_name, strlen(entry->d_name));
    }
    return count;
}

static int by_use(const void *left, const void *right) {
    const struct timespec *a = &((const struct stored *)left)->used;
    const struct timespec *b = &((const struct stored *)right)->used;
    if (a->tv_sec != b->tv_sec)
        return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* What another thread of this process is writing: with the name free, a third one would write to
 * it, and one of the two would give it its final name before it is whole. */
static bool is_being_written(const char *name) {
    char own[32];
    snprintf(own, sizeof own, ".so.%ld-", (long)getpid());
    return strncmp(name + FF__PTX_KEY - 1, own, strlen(own)) == 0;
}

static void keep_limit(const struct ff__ptx_cache *cache) {
    int again = openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    if (folder == NULL) {
        if (again >= 0)
            close(again);
        return;
    }
    struct stored *files = NULL;
    uint64_t total = 0;
    size_t count = list(folder, &files);
    for (size_t i = 0; i < count; i++)
        total += files[i].size;
    if (count > 1)
        qsort(files, count, sizeof *files, by_use);
    for (size_t i = 0; i < count && total > cache->limit; i++) {
        if (is_being_written(files[i].name))
            continue;
        unlinkat(cache->folder, files[i].name, 0);
        total -= files[i].size;
    }
    free(files);
    closedir(folder);
}

struct addition {
    struct ff__new_file file;
    const char *key;
    const uint8_t *compiler;
};

static int write_content(void *self, const void *content, size_t size) {
    struct addition *addition = self;
    struct trailer trailer;
    memcpy(trailer.compiler, addition->compiler, FF__PTX_DIGEST);
    sum_up(addition->key, addition->compiler, content, size, trailer.sum);
    int code = ff__new_file_write(&addition->file, content, size);
    return code != 0 ? code : ff__new_file_write(&addition->file, &trailer, sizeof trailer);
}

void ff__ptx_cache_add(const struct ff__ptx_cache *cache, const char *key, const uint8_t *compiler,
                       int object) {
    struct addition addition = {.key = key, .compiler = compiler};
    char path[FF__PTX_KEY + 48]; /* the very folder that was checked */
    snprintf(path, sizeof path, "/proc/self/fd/%d/%s.so", cache->folder, key);
    if (cache->folder < 0 || ff__new_file_open(&addition.file, path) != 0)
        return;
    fchmod(addition.file.fd, S_IRUSR | S_IWUSR); /* whatever the umask is */
    if (with_content(object, write_content, &addition) == 0)
        ff__new_file_keep(&addition.file);
    else
        ff__new_file_drop(&addition.file);
    keep_limit(cache);
}
