/* The broker's counters in Prometheus' text format, in a file for the textfile collector of the
 * node exporter: https://prometheus.io/docs/instrumenting/exposition_formats/. */
#ifndef FF_DAEMON_METRICS_H
#define FF_DAEMON_METRICS_H

#include <stdio.h>

struct ff__broker;

/* All of them, with their HELP and TYPE lines. */
void ff__metrics_print(const struct ff__broker *broker, FILE *file);

/* Replaces the file as a whole, so that nobody reads a part. Negative errno. */
int ff__metrics_write(const struct ff__broker *broker, const char *path);

#endif
