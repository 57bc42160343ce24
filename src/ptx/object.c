#include "ptx/object.h"

#include "base/error.h"
#include "base/file_limit.h"
#include "base/lock.h"
#include <farfault/mask.h>

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3: it can be mapped to run, but not executed */
#endif

static int set_size(int file, size_t size) {
    struct ff__file_limit held;
    ff__file_limit_hold(&held);
    int code = ftruncate(file, (off_t)size) == 0 ? 0 : -errno;
    ff__file_limit_release(&held);
    return code;
}

int ff__ptx_object_new(size_t size, void **content) {
    int object = memfd_create("farfault-ptx", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (object < 0 && errno == EINVAL)
        object = memfd_create("farfault-ptx", MFD_CLOEXEC);
    if (object < 0)
        return -errno;
    int code = set_size(object, size);
    if (code == 0)
        *content = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, object, 0);
    if (code == 0 && *content == MAP_FAILED)
        code = -errno;
    if (code == 0)
        return object;
    close(object);
    return code;
}

void ff__ptx_object_unmap(void *content, size_t size) {
    munmap(content, (size + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE * FF_PAGE_SIZE);
}

static int read_all(int file, char *to, size_t size) {
    while (size > 0) {
        ssize_t done = read(file, to, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? -errno : -EIO;
        to += done;
        size -= (size_t)done;
    }
    return 0;
}

int ff__ptx_object_copy(int file, size_t size) {
    void *content = NULL;
    int object = ff__ptx_object_new(size, &content);
    if (object < 0)
        return object;
    int code = read_all(file, content, size);
    ff__ptx_object_unmap(content, size);
    if (code == 0)
        return object;
    close(object);
    return code;
}

/* The loader maps what the headers say, and what then lies beyond the end of the file is SIGBUS. */
static bool has_all_segments(int object) {
    ElfW(Ehdr) header;
    ElfW(Phdr) segment;
    struct stat about;
    if (fstat(object, &about) != 0 || pread(object, &header, sizeof header, 0) != sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof segment)
        return false;
    const uint64_t size = (uint64_t)about.st_size;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        off_t at = (off_t)(header.e_phoff + i * sizeof segment);
        if (pread(object, &segment, sizeof segment, at) != sizeof segment ||
            (segment.p_type == PT_LOAD &&
             (segment.p_offset > size || segment.p_filesz > size - segment.p_offset)))
            return false;
    }
    return true;
}

/* A path that nothing was loaded from before, as the loader knows objects by their paths, and
 * descriptors are used again: the bits of a number that counts are slashes, with a dot or without.
 */
static void unused_path(int object, char *out, size_t size) {
    static unsigned loads;
    size_t used = (size_t)snprintf(out, size, "/proc/self/fd");
    for (unsigned bits = __atomic_add_fetch(&loads, 1, __ATOMIC_RELAXED); bits != 0; bits /= 2)
        used += (size_t)snprintf(out + used, size - used, "%s", bits % 2 != 0 ? "/." : "/");
    snprintf(out + used, size - used, "/%d", object);
}

/* The loader has a lock of its own, but ThreadSanitizer does not see it, nor that an object may lie
 * where another one was. */
static struct ff__lock loader = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void ff__ptx_object_unload(void *library) {
    ff__lock_acquire(&loader);
    dlclose(library);
    ff__lock_release(&loader);
}

int ff__ptx_object_load(int object, void **library, const struct ff_ptx_image **image,
                        struct ff_error *error) {
    char path[128];
    if (!has_all_segments(object))
        return ff__fail(error, -ENOEXEC, "the compiler made no whole shared object");
    unused_path(object, path, sizeof path);
    ff__lock_acquire(&loader);
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ff__lock_release(&loader);
    if (*library == NULL)
        return ff__fail(error, -ENOEXEC, "a translated PTX module cannot be loaded: %s", dlerror());
    *image = dlsym(*library, "ff_ptx_image");
    if (*image != NULL && (*image)->abi == FF_PTX_ABI)
        return 0;
    ff__ptx_object_unload(*library);
    return ff__fail(error, -ENOEXEC, "the compiler made something else of a PTX module");
}
