#include "trace/model/lines.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ff__open_regular(const char *path, FILE **out, struct ff_error *error) {
    struct stat stat;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not make us wait */
    if (fd < 0 || fstat(fd, &stat)) {
        int status = -errno;
        if (fd >= 0)
            close(fd);
        return ff__fail(error, status, "%s: %s", path, strerror(-status));
    }
    if (!S_ISREG(stat.st_mode)) {
        close(fd);
        return ff__fail(error, -EINVAL, "%s: not a regular file", path);
    }
    *out = fdopen(fd, "r");
    if (*out)
        return 0;
    close(fd);
    return ff__fail(error, -ENOMEM, "%s: no memory to read it", path);
}

int ff__bad_line(struct ff__lines *lines, const char *what) {
    return ff__fail(lines->error, -EBADMSG, "%s:%lu: %s", lines->name, lines->number, what);
}

int ff__next_line(struct ff__lines *lines) {
    errno = 0;
    if (!fgets(lines->text, sizeof lines->text, lines->file)) {
        if (!ferror(lines->file))
            return 0;
        int status = errno ? -errno : -EIO;
        return ff__fail(lines->error, status, "%s: %s", lines->name, strerror(-status));
    }
    lines->number++;
    size_t length = strlen(lines->text);
    bool ended = length > 0 && lines->text[length - 1] == '\n';
    if (!ended && length == sizeof lines->text - 1)
        return ff__bad_line(lines, "the line is too long");
    if (!ended && !feof(lines->file))
        return ff__bad_line(lines, "this is no text");
    while (length > 0 && (lines->text[length - 1] == '\n' || lines->text[length - 1] == '\r'))
        lines->text[--length] = '\0';
    return 1;
}

static bool blank(char c) {
    return c == ' ' || c == '\t';
}

size_t ff__next_word(const char **at, const char **word) {
    const char *from = *at;
    while (blank(*from))
        from++;
    *word = from;
    while (*from && !blank(*from))
        from++;
    *at = from;
    return (size_t)(from - *word);
}

static int digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

bool ff__take_number(const char **at, int base, uint64_t *out) {
    const char *from = *at;
    uint64_t value = 0;
    if (base == 16 && from[0] == '0' && (from[1] | 32) == 'x')
        from += 2;
    if (digit(*from) >= base)
        return false;
    for (; digit(*from) < base; from++)
        if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit(*from), &value))
            return false;
    *at = from;
    *out = value;
    return true;
}

bool ff__next_number(const char **at, int base, uint64_t *out) {
    const char *from = *at;
    while (blank(*from))
        from++;
    if (!ff__take_number(&from, base, out) || (*from && !blank(*from)))
        return false;
    *at = from;
    return true;
}

bool ff__next_signed(const char **at, int64_t *out) {
    const char *from = *at;
    uint64_t value;
    while (blank(*from))
        from++;
    bool negative = *from == '-';
    from += negative;
    if (!ff__next_number(&from, 10, &value) || value > INT64_MAX)
        return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    *at = from;
    return true;
}
