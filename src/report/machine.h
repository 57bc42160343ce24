/* Facts about the machine, beside every number that depends on it. */
#ifndef FF_REPORT_MACHINE_H
#define FF_REPORT_MACHINE_H

#include <jansson.h>

/* {"cpu", "cpus", "memory", "kernel", "architecture", "os"}; the caller owns it. What the machine
 * does not tell is null. */
json_t *ff__machine_facts(void);

#endif
