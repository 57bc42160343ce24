/* What a process under the preload saw, counted and did, in memory that can outlive it.
 *
 * `farfault run` makes a book of accounts and names it in FARFAULT_ACCOUNTS. The preload of every process that uses
 * OpenCL opens one there and keeps it as it goes; at exit it reports from it, and says so. What was killed has not
 * reported: then its parent does, from the same account and in the same words. */
#ifndef FF_REPORT_ACCOUNT_H
#define FF_REPORT_ACCOUNT_H

#include <farfault/farfault.h>

#include <stdio.h>

#define FF__ACCOUNT_FALLBACKS 32u /* kinds of calls that were left to plain OpenCL */

/* How a process runs. */
enum ff__mode {
    FF__MANAGED,
    FF__PASSIVE,   /* FARFAULT_MODE=passive: measure plain PoCL with the same clock */
    FF__UNMANAGED, /* the context did not open; everything falls through */
};

/* Written by one process, by any of its threads: single words are atomic, the rest is written once or may be torn. */
struct ff__account {
    int32_t pid;       /* 0: none */
    uint32_t mode;     /* enum ff__mode */
    uint32_t managed;  /* managed memory has been given out */
    uint32_t reported; /* or is not to be reported */
    char system[128], description[192];
    char reason[256]; /* why nothing, or not everything, is managed; "": no reason */
    char broken[256]; /* the first broken invariant, "": none was seen */
    uint32_t devices;
    uint64_t memory;                    /* of a device */
    uint64_t first_ns, last_ns;         /* first command, last observed completion; 0: not yet */
    uint64_t seen_ns;                   /* when `stats` were read last */
    uint64_t launches, live, footprint; /* bytes of buffers now, and at most at a time */
    uint64_t fallbacks[FF__ACCOUNT_FALLBACKS];
    char fallback_names[FF__ACCOUNT_FALLBACKS][40];
    struct ff_stats stats; /* zeros where nothing was managed */
    struct ff_moved_list kernels, buffers;
};

/* ---- the book ---- */

#define FF__BOOK_ACCOUNTS 1024u

struct ff__book {
    uint64_t layout; /* of this build: another build does not write into it */
    uint32_t opened; /* accounts; beyond FF__BOOK_ACCOUNTS there is no room */
    struct ff__account accounts[FF__BOOK_ACCOUNTS];
};

/* A new book in memory. `path` is how any process finds it as long as this one lives. NULL, and errno. */
struct ff__book *ff__book_make(char path[64]);
void ff__book_close(struct ff__book *book);

/* Opens an account for this process in the book at `path`. NULL: there is no such book, or no room in it. */
struct ff__account *ff__account_open(const char *path);

/* Accounts that were opened. */
uint32_t ff__book_count(const struct ff__book *book);

/* ---- reports ---- */

const char *ff__mode_name(uint32_t mode); /* enum ff__mode */

/* Whether a context was opened; nothing need have been put into it. */
bool ff__account_has_context(const struct ff__account *account);

/* How often calls of this kind were left to plain OpenCL. */
uint64_t ff__account_fallbacks(const struct ff__account *account, unsigned which);

/* From the first command to the last completion; of a process that was killed, to when it was seen last. */
double ff__account_seconds(const struct ff__account *account);

/* For people. `explained`: the context of which policies' findings are told; NULL: none are. */
void ff__account_print(const struct ff__account *account, struct ff_context *explained, FILE *file);

/* As JSON, into a file that is replaced as a whole, or, where it is no regular file, written to. 0 or a negative
 * errno. */
int ff__account_write(const struct ff__account *account, struct ff_context *explained,
                      const char *path);

/* Why nothing was managed, as the rest of a sentence: "used no OpenCL function", "made no buffers". */
void ff__account_excuse(const struct ff__account *account, char *out, size_t size);

#endif
