#include "report/page/page.h"

#include "base/new_file.h"
#include "report/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the parts, which are files in the source (CMakeLists.txt) ---- */

#define PART(name, file)                                                                           \
    __asm__(".section .rodata\n" #name "_begin:\n.incbin \"" file "\"\n" #name                     \
            "_end:\n.byte 0\n.previous\n");                                                        \
    extern const char name##_begin[], name##_end[]

PART(ff__page_html, FARFAULT_PAGE_HTML);
PART(ff__page_css, FARFAULT_PAGE_CSS);
PART(ff__page_js, FARFAULT_PAGE_JS);
PART(ff__page_d3, FARFAULT_PAGE_D3);

bool ff__page_available(void) {
    return ff__page_d3_begin[0] != '\0';
}

/* ---- writing ---- */

static void put_part(FILE *out, const char *begin, const char *end) {
    fwrite(begin, 1, (size_t)(end - begin), out);
}

/* JSON inside of a script: no text in it may look like the script's end. */
static int put_data(FILE *out, const json_t *data) {
    char *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text)
        return -ENOMEM;
    for (const char *at = text; *at; at++) {
        if (*at == '<')
            fputs("\\u003c", out);
        else
            putc(*at, out);
    }
    free(text);
    return 0;
}

static int put_named(FILE *out, const char *name, size_t length, const json_t *data) {
    if (strncmp(name, "CSS", length) == 0)
        put_part(out, ff__page_css_begin, ff__page_css_end);
    else if (strncmp(name, "D3", length) == 0)
        put_part(out, ff__page_d3_begin, ff__page_d3_end);
    else if (strncmp(name, "JS", length) == 0)
        put_part(out, ff__page_js_begin, ff__page_js_end);
    else
        return put_data(out, data);
    return 0;
}

/* What stands between two @@ in the page is the name of a part. */
static int print(FILE *out, const void *self) {
    int status = 0;
    const char *at = ff__page_html_begin, *name;
    errno = 0;
    while (!status && (name = strstr(at, "@@"))) {
        put_part(out, at, name);
        name += 2;
        at = strstr(name, "@@");
        status = put_named(out, name, (size_t)(at - name), self);
        at += 2;
    }
    put_part(out, at, ff__page_html_end);
    if (!status && (fflush(out) || ferror(out)))
        status = errno ? -errno : -EIO;
    return status;
}

int ff__page_write(const json_t *data, const char *path) {
    return strcmp(path, "-") == 0 ? print(stdout, data) : ff__file_write(path, print, data);
}
