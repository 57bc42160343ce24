#include "study/kept.h"

#include "base/checksum.h"
#include "base/new_file.h"
#include "report/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECKSUM 9u /* characters of a line before what it guards: eight digits and a space */

struct result {
    const char *key; /* in the file's text */
    void *bytes;
    size_t size;
};

struct ff__kept {
    char *text, *identity;
    struct result *results;
    size_t count;
    int fd;
};

/* ---- lines ---- */

static int digit_of(char character) {
    static const char digits[] = "0123456789abcdef";
    const char *at = character ? strchr(digits, character) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Two digits a byte. NULL: it is something else. */
static void *bytes_of(const char *digits, size_t size) {
    unsigned char *bytes = ff__must(malloc(size + 1));
    for (size_t i = 0; i < size; i++) {
        int high = digit_of(digits[2 * i]), low = digit_of(digits[2 * i + 1]);
        if (high < 0 || low < 0) {
            free(bytes);
            return NULL;
        }
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return bytes;
}

static bool is_whole(const char *line) {
    char *end;
    size_t length = strlen(line);
    if (length <= CHECKSUM)
        return false;
    unsigned long sum = strtoul(line, &end, 16);
    return end == line + CHECKSUM - 1 && *end == ' ' &&
           sum == ff__crc32c(0, line + CHECKSUM, length - CHECKSUM);
}

/* False: the line is not whole, or not of this identity. */
static bool read_line(const struct ff__kept *kept, const char *line, struct result *out) {
    size_t own = strlen(kept->identity);
    if (!is_whole(line) || strncmp(line + CHECKSUM, kept->identity, own) != 0 ||
        line[CHECKSUM + own] != ' ')
        return false;
    const char *digits = line + CHECKSUM + own + 1, *end = strchr(digits, ' ');
    if (!end)
        return false;
    *out = (struct result){.key = end + 1, .size = (size_t)(end - digits) / 2};
    out->bytes = bytes_of(digits, out->size);
    return out->bytes != NULL;
}

static char *line_of(const struct ff__kept *kept, const char *key, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    char *digits = ff__must(malloc(2 * size + 1));
    digits[0] = '\0';
    for (size_t i = 0; i < size; i++)
        sprintf(digits + 2 * i, "%02x", at[i]);
    char *guarded = ff__text("%s %s %s", kept->identity, digits, key);
    char *line = ff__text("%08x %s\n", (unsigned)ff__crc32c(0, guarded, strlen(guarded)), guarded);
    free(guarded);
    free(digits);
    return line;
}

/* ---- the file ---- */

/* Its text; "" if there is no file. NULL: errno says why. */
static char *read_text(const char *path) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? ff__text("%s", "") : NULL;
    ssize_t length = getdelim(&text, &size, '\0', file);
    fclose(file);
    if (length < 0) {
        free(text);
        return ff__text("%s", "");
    }
    return text;
}

/* Splits the text into lines. Returns whether all of them are ours and whole. */
static bool parse(struct ff__kept *kept) {
    bool all = true;
    for (char *line = kept->text, *end; *line; line = end) {
        struct result result;
        end = line + strcspn(line, "\n");
        bool ended = *end != '\0';
        if (ended)
            *end++ = '\0';
        if (!ended || !read_line(kept, line, &result)) {
            all = false;
            continue;
        }
        kept->results = ff__must(realloc(kept->results, (kept->count + 1) * sizeof result));
        kept->results[kept->count++] = result;
    }
    return all;
}

static int write_all(int fd, const char *text) {
    size_t length = strlen(text);
    ssize_t written = write(fd, text, length);
    if (written < 0)
        return -errno;
    return (size_t)written == length ? 0 : -ENOSPC;
}

/* Whether what was written last, by whomever, was cut off: the next line would be a part of it. */
static bool is_torn(int fd) {
    struct stat about;
    char last = '\n';
    return fstat(fd, &about) == 0 && about.st_size > 0 &&
           pread(fd, &last, 1, about.st_size - 1) == 1 && last != '\n';
}

static int print(FILE *stream, const void *self) {
    const struct ff__kept *kept = self;
    for (size_t i = 0; i < kept->count; i++) {
        const struct result *result = &kept->results[i];
        char *line = line_of(kept, result->key, result->bytes, result->size);
        fputs(line, stream);
        free(line);
    }
    return 0;
}

int ff__kept_open(const char *path, const char *identity, bool fresh, struct ff__kept **out) {
    struct ff__kept *kept = ff__must(calloc(1, sizeof *kept));
    int status = 0;
    kept->fd = -1;
    kept->identity = ff__text("%s", identity);
    kept->text = fresh ? ff__text("%s", "") : read_text(path);
    if (!kept->text)
        status = -errno;
    else if (!parse(kept) || fresh) /* our results alone in the place of the old ones */
        status = ff__file_write(path, print, kept);
    if (!status)
        kept->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (!status && kept->fd < 0)
        status = -errno;
    *out = kept;
    if (status) {
        ff__kept_close(kept);
        *out = NULL;
    }
    return status;
}

void ff__kept_close(struct ff__kept *kept) {
    if (!kept)
        return;
    for (size_t i = 0; i < kept->count; i++)
        free(kept->results[i].bytes);
    if (kept->fd >= 0)
        close(kept->fd);
    free(kept->results);
    free(kept->identity);
    free(kept->text);
    free(kept);
}

const void *ff__kept_find(const struct ff__kept *kept, const char *key, size_t *size) {
    for (size_t i = 0; kept && i < kept->count; i++)
        if (strcmp(kept->results[i].key, key) == 0) {
            *size = kept->results[i].size;
            return kept->results[i].bytes;
        }
    return NULL;
}

int ff__kept_add(struct ff__kept *kept, const char *key, const void *bytes, size_t size) {
    if (!kept)
        return 0;
    char *line = line_of(kept, key, bytes, size);
    char *text = ff__text("%s%s", is_torn(kept->fd) ? "\n" : "", line);
    int status = write_all(kept->fd, text);
    free(text);
    free(line);
    return status;
}
