#include "report/account.h"

#include "base/file_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAYOUT ((UINT64_C(0xfa41fa01) << 32) + sizeof(struct ff__account))

/* ---- the book ---- */

static struct ff__pages *map(int fd) {
    void *memory = mmap(NULL, sizeof(struct ff__pages), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int ff__book_make(struct ff__book *book, bool watched) {
    *book = (struct ff__book){.fd = memfd_create("farfault-accounts", MFD_CLOEXEC)};
    if (book->fd < 0)
        return -errno;
    book->pages = ftruncate(book->fd, sizeof *book->pages) ? NULL : map(book->fd);
    if (!book->pages) {
        int status = -errno;
        close(book->fd);
        return status;
    }
    book->pages->layout = LAYOUT;
    book->pages->watched = watched;
    snprintf(book->path, sizeof book->path, "/proc/%d/fd/%d", (int)getpid(), book->fd);
    return 0;
}

void ff__book_close(struct ff__book *book) {
    if (!book->pages)
        return;
    munmap(book->pages, sizeof *book->pages);
    close(book->fd);
    book->pages = NULL;
}

uint32_t ff__book_count(const struct ff__book *book) {
    uint32_t opened = __atomic_load_n(&book->pages->opened, __ATOMIC_RELAXED);
    return opened < FF__BOOK_ACCOUNTS ? opened : FF__BOOK_ACCOUNTS;
}

const struct ff__account *ff__book_last(const struct ff__book *book) {
    const struct ff__account *last = NULL;
    for (uint32_t i = 0; i < ff__book_count(book); i++) {
        const struct ff__account *account = &book->pages->accounts[i];
        if (account->cancelled)
            continue;
        if (account->reported_ns
                ? !last || (last->reported_ns && last->reported_ns < account->reported_ns)
                : account->managed && account->watched)
            last = account;
    }
    return last;
}

struct ff__findings ff__book_findings(const struct ff__book *book,
                                      const struct ff__account *account) {
    struct ff__findings findings = {.asked = account->explained};
    size_t size = account->finding_count * sizeof *findings.items;
    if (size == 0 || !(findings.items = malloc(size)))
        return findings;
    ssize_t got = pread(book->fd, findings.items, size, (off_t)account->findings_offset);
    findings.count = got > 0 ? (uint32_t)((size_t)got / sizeof *findings.items) : 0;
    return findings;
}

/* ---- an account ---- */

struct ff__account *ff__account_open(const char *path) {
    struct stat about;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    bool fits = fstat(fd, &about) == 0 && (size_t)about.st_size >= sizeof(struct ff__pages);
    struct ff__pages *pages = fits ? map(fd) : NULL;
    close(fd);
    if (!pages)
        return NULL;
    uint32_t place = FF__BOOK_ACCOUNTS;
    if (pages->layout == LAYOUT)
        place = __atomic_fetch_add(&pages->opened, 1, __ATOMIC_RELAXED);
    if (place >= FF__BOOK_ACCOUNTS) {
        munmap(pages, sizeof *pages);
        return NULL;
    }
    pages->accounts[place].pid = getpid();
    pages->accounts[place].watched = pages->watched;
    return &pages->accounts[place];
}

/* Appended: each process finds its own behind what others have put there meanwhile. */
void ff__account_explain(struct ff__account *account, const char *path,
                         const struct ff__findings *findings) {
    struct ff__file_limit held;
    size_t size = findings->count * sizeof *findings->items;
    account->explained = findings->asked;
    int fd = size ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    ff__file_limit_hold(&held);
    bool put = write(fd, findings->items, size) == (ssize_t)size;
    ff__file_limit_release(&held);
    if (put) {
        account->findings_offset = (uint64_t)lseek(fd, 0, SEEK_CUR) - size;
        account->finding_count = findings->count;
    }
    close(fd);
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
    if (!account->reported_ns && account->seen_ns > last)
        last = account->seen_ns;
    return first && last > first ? (double)(last - first) * 1e-9 : 0;
}
