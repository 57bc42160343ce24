#include "ptx/print.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a width or precision: what CUDA's buffer for printed text holds by default. */
enum { WIDEST = 1 << 20 };

struct output {
    FILE *file;
    const uint8_t *arguments;
    size_t used; /* bytes of them */
    int taken;   /* number of them */
    bool failed;
};

/* A conversion of the format: %[flags][width][.precision][size]type. */
struct conversion {
    char flags[8];
    int width, precision; /* negative precision: none */
    char size[3];         /* for the C library */
    bool is_long;
    char type;
};

static void take(struct output *output, void *value, size_t size) {
    output->used = (output->used + size - 1) / size * size;
    memcpy(value, output->arguments + output->used, size);
    output->used += size;
    output->taken++;
}

static int take_int(struct output *output) {
    int value;
    take(output, &value, sizeof value);
    return value;
}

/* ---- reading the format ---- */

/* A number, or `*` for an argument. */
static const char *read_number(struct output *output, const char *at, int *number) {
    long value = 0;
    char *end = (char *)at;
    if (*at == '*') {
        value = take_int(output);
        end++;
    } else if (*at >= '0' && *at <= '9') {
        value = strtol(at, &end, 10);
    }
    output->failed |= value < -WIDEST || value > WIDEST;
    *number = output->failed ? 0 : (int)value;
    return end;
}

static const char *read_size(const char *at, struct conversion *conversion) {
    size_t length = strspn(at, "hljztqL");
    if (length == 0)
        return at;
    if (*at == 'h')
        snprintf(conversion->size, sizeof conversion->size, "%s", length > 1 ? "hh" : "h");
    else
        conversion->is_long = true;
    return at + length;
}

/* From behind the percent sign to behind the type; NULL: it is none of CUDA's. */
static const char *read_conversion(struct output *output, const char *at,
                                   struct conversion *conversion) {
    size_t flags = 0;
    for (; *at != 0 && strchr("-+ #0", *at) != NULL; at++)
        if (memchr(conversion->flags, *at, flags) == NULL)
            conversion->flags[flags++] = *at;
    at = read_number(output, at, &conversion->width);
    conversion->precision = -1;
    if (*at == '.')
        at = read_number(output, at + 1, &conversion->precision);
    at = read_size(at, conversion);
    conversion->type = *at;
    return *at != 0 && strchr("cdiouxXpeEfFgGaAs", *at) != NULL ? at + 1 : NULL;
}

/* ---- writing ---- */

static int write_integer(struct output *output, const struct conversion *c, const char *format) {
    if (!c->is_long || c->type == 'c')
        return fprintf(output->file, format, c->width, c->precision, take_int(output));
    long long value;
    take(output, &value, sizeof value);
    return fprintf(output->file, format, c->width, c->precision, value);
}

static int write_pointer(struct output *output, const struct conversion *c, const char *format) {
    void *value;
    take(output, &value, sizeof value);
    return fprintf(output->file, format, c->width, c->precision, value);
}

static int write_real(struct output *output, const struct conversion *c, const char *format) {
    double value;
    take(output, &value, sizeof value);
    return fprintf(output->file, format, c->width, c->precision, value);
}

static void write_conversion(struct output *output, const struct conversion *c) {
    bool is_pointer = c->type == 's' || c->type == 'p';
    bool is_integer = strchr("cdiouxX", c->type) != NULL;
    const char *size = !is_integer || c->type == 'c' ? "" : c->is_long ? "ll" : c->size;
    char format[24];
    snprintf(format, sizeof format, "%%%s*.*%s%c", c->flags, size, c->type);
    int written = is_pointer   ? write_pointer(output, c, format)
                  : is_integer ? write_integer(output, c, format)
                               : write_real(output, c, format);
    output->failed |= written < 0;
}

static void write_all(struct output *output, const char *format) {
    while (*format != 0 && !output->failed) {
        size_t plain = strcspn(format, "%");
        fwrite(format, 1, plain, output->file);
        format += plain;
        if (*format == 0)
            return;
        struct conversion conversion = {0};
        struct output before = *output;
        const char *end = read_conversion(output, format + 1, &conversion);
        if (output->failed)
            return;
        if (end != NULL) {
            write_conversion(output, &conversion);
            format = end;
        } else { /* %% too: one of them */
            *output = before;
            fputc('%', output->file);
            format += format[1] == '%' ? 2 : 1;
        }
    }
}

int ff__ptx_print(const struct ff_ptx_block *block, const char *format, const uint8_t *arguments) {
    (void)block;
    if (format == NULL)
        return -1;
    char *text = NULL;
    size_t size = 0;
    struct output output = {.file = open_memstream(&text, &size), .arguments = arguments};
    if (output.file == NULL)
        return -2;
    write_all(&output, format);
    output.failed |= ferror(output.file) != 0;
    output.failed |= fclose(output.file) != 0;
    if (!output.failed)
        output.failed = fwrite(text, 1, size, stdout) != size;
    free(text);
    return output.failed ? -2 : output.taken;
}
