#include "report/account.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAYOUT ((UINT64_C(0xfa41fa01) << 32) + sizeof(struct ff__account))

static struct ff__book *map(int fd) {
    void *memory = mmap(NULL, sizeof(struct ff__book), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* The descriptor stays open: it is where others find the book. */
struct ff__book *ff__book_make(char path[64]) {
    int fd = memfd_create("farfault-accounts", MFD_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct ff__book *book = ftruncate(fd, sizeof *book) ? NULL : map(fd);
    if (!book) {
        int cause = errno;
        close(fd);
        errno = cause;
        return NULL;
    }
    book->layout = LAYOUT;
    snprintf(path, 64, "/proc/%d/fd/%d", (int)getpid(), fd);
    return book;
}

void ff__book_close(struct ff__book *book) {
    if (book)
        munmap(book, sizeof *book);
}

struct ff__account *ff__account_open(const char *path) {
    struct stat about;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    bool fits = fstat(fd, &about) == 0 && (size_t)about.st_size == sizeof(struct ff__book);
    struct ff__book *book = fits ? map(fd) : NULL;
    close(fd);
    if (!book)
        return NULL;
    uint32_t place = FF__BOOK_ACCOUNTS;
    if (book->layout == LAYOUT)
        place = __atomic_fetch_add(&book->opened, 1, __ATOMIC_RELAXED);
    if (place >= FF__BOOK_ACCOUNTS) {
        munmap(book, sizeof *book);
        return NULL;
    }
    book->accounts[place].pid = getpid();
    return &book->accounts[place];
}

uint32_t ff__book_count(const struct ff__book *book) {
    uint32_t opened = __atomic_load_n(&book->opened, __ATOMIC_RELAXED);
    return opened < FF__BOOK_ACCOUNTS ? opened : FF__BOOK_ACCOUNTS;
}

/* ---- what it says ---- */

const char *ff__mode_name(uint32_t mode) {
    static const char *const names[] = {
        [FF__MANAGED] = "managed", [FF__PASSIVE] = "passive", [FF__UNMANAGED] = "unmanaged"};
    return names[mode];
}

bool ff__account_has_context(const struct ff__account *account) {
    return account->memory > 0;
}

uint64_t ff__account_fallbacks(const struct ff__account *account, unsigned which) {
    return __atomic_load_n(&account->fallbacks[which], __ATOMIC_RELAXED);
}

double ff__account_seconds(const struct ff__account *account) {
    uint64_t first = __atomic_load_n(&account->first_ns, __ATOMIC_RELAXED);
    uint64_t last = __atomic_load_n(&account->last_ns, __ATOMIC_RELAXED);
    if (!account->reported && account->seen_ns > last)
        last = account->seen_ns;
    return first && last > first ? (double)(last - first) * 1e-9 : 0;
}
