/* Reading quantities that people write: decimal numbers, without white space or a plus sign. All
 * return 0 or -EINVAL and leave *out alone on error; what is too small for one unit of the result
 * is an error, too. */
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

/* "0.5", "2", "1e-3": 0 or more. */
int ff__parse_real(const char *text, double *out);

/* "66%", "12.5%": 0.66, 0.125; above 0. */
int ff__parse_share(const char *text, double *out);

/* "1", "0", "on", "off", "yes", "no" */
int ff__parse_bool(const char *text, int64_t *out);

#endif
