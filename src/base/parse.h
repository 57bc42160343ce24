/* Reading quantities that people write. All return 0 or -EINVAL and leave *out alone on error. */
#ifndef FF_BASE_PARSE_H
#define FF_BASE_PARSE_H

#include <stdint.h>

int ff__parse_int(const char *text, int64_t *out);

/* "4096", "64K", "256M", "1.5G", "170MB", "2MiB": bytes, units of 1024. */
int ff__parse_size(const char *text, uint64_t *out);

/* "300", "500us", "1.5ms", "2s": nanoseconds; a bare number is nanoseconds. */
int ff__parse_ns(const char *text, uint64_t *out);

/* "12.3GB/s": bytes per second, decimal units as links are sold. */
int ff__parse_rate(const char *text, double *out);

/* "1", "0", "on", "off", "yes", "no" */
int ff__parse_bool(const char *text, int64_t *out);

#endif
