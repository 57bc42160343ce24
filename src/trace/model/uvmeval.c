#include "trace/model/uvmeval.h"

#include <string.h>

/* uvm_fault_access_type_t, from least to most intrusive (uvm_hal_types.h) */
#define ACCESS_WRITE 2u /* 0: prefetch, 1: read; above: atomics */

/* "PRIORITY,NUMBER,MICROSECONDS,FLAGS;" of /dev/kmsg */
static bool skip_kmsg(const char **at, uint64_t *time_ns) {
    const char *from = *at;
    uint64_t ignored, us;
    if (!ff__take_number(&from, 10, &ignored) || *from++ != ',' ||
        !ff__take_number(&from, 10, &ignored) || *from++ != ',' ||
        !ff__take_number(&from, 10, &us) || us > UINT64_MAX / 1000)
        return false;
    from = strchr(from, ';');
    if (!from)
        return false;
    *time_ns = us * 1000;
    *at = from + 1;
    return true;
}

/* "[  SECONDS.MICROSECONDS] " of dmesg, perhaps with "<PRIORITY>" before it */
static bool skip_dmesg(const char **at, uint64_t *time_ns) {
    const char *from = *at;
    uint64_t seconds, us;
    if (*from == '<' && !(from = strchr(from, '>')))
        return false;
    from += *from == '>';
    if (*from++ != '[')
        return false;
    while (*from == ' ')
        from++;
    if (!ff__take_number(&from, 10, &seconds) || *from++ != '.' ||
        !ff__take_number(&from, 10, &us) || *from++ != ']' || seconds > UINT32_MAX || us >= 1000000)
        return false;
    *time_ns = seconds * 1000000000u + us * 1000;
    *at = from + (*from == ' ');
    return true;
}

/* ",MASK,INSTANCES,CLIENT TYPE,ENGINE TYPE,CLIENT,ENGINE,UTLB,GPC,..." of uvm_fault_buffer_entry_t;
 * some patches of theirs print less. */
static void parse_source(const char *at, struct ff__uvmeval_line *out) {
    enum { MASK, INSTANCES, CLIENT_TYPE, ENGINE_TYPE, CLIENT, ENGINE, UTLB, GPC, FIELDS };
    uint64_t fields[FIELDS];
    for (int i = 0; i < FIELDS; i++)
        if (*at++ != ',' || !ff__take_number(&at, 10, &fields[i]) || fields[i] > UINT32_MAX)
            return;
    out->instances = (uint32_t)fields[INSTANCES];
    out->utlb = (uint32_t)fields[UTLB];
    out->gpc = (uint32_t)fields[GPC];
}

/* f,ADDRESS,GPU TIME,TYPE,ACCESS,... */
static bool parse_fault(const char *at, struct ff__uvmeval_line *out) {
    uint64_t type, access;
    if (!ff__take_number(&at, 16, &out->address) || *at++ != ',' ||
        !ff__take_number(&at, 10, &out->gpu_ns) || *at++ != ',' ||
        !ff__take_number(&at, 10, &type) || *at++ != ',' || !ff__take_number(&at, 10, &access))
        return false;
    out->kind = FF__UVMEVAL_FAULT;
    out->write = access >= ACCESS_WRITE;
    parse_source(at, out);
    return true;
}

/* e,ADDRESS; another patch of theirs ends batches with "e,TIME,DURATION,..." */
static bool parse_evict(const char *at, struct ff__uvmeval_line *out) {
    if (!ff__take_number(&at, 16, &out->address))
        return false;
    if (*at == '\0')
        out->kind = FF__UVMEVAL_EVICT;
    return true;
}

/* ..., va_range->size: 0xADDRESS, BYTES */
static bool parse_destroy(const char *at, struct ff__uvmeval_line *out) {
    at = strchr(at, ':');
    if (!at || strncmp(at, ": ", 2) != 0)
        return false;
    at += 2;
    if (!ff__take_number(&at, 16, &out->address) || strncmp(at, ", ", 2) != 0)
        return false;
    at += 2;
    out->kind = FF__UVMEVAL_DESTROY;
    return ff__take_number(&at, 10, &out->bytes);
}

bool ff__uvmeval_parse(const char *text, struct ff__uvmeval_line *out) {
    static const char destroy[] = "uvm range destroy ";
    *out = (struct ff__uvmeval_line){.kind = FF__UVMEVAL_OTHER};
    if (!skip_kmsg(&text, &out->time_ns) && !skip_dmesg(&text, &out->time_ns))
        return true;
    if (strcmp(text, "s,") == 0 || strcmp(text, "b,") == 0)
        out->kind = *text == 's' ? FF__UVMEVAL_BATCH : FF__UVMEVAL_BATCH_END;
    if (strncmp(text, "f,", 2) == 0)
        return parse_fault(text + 2, out);
    if (strncmp(text, "e,", 2) == 0)
        return parse_evict(text + 2, out);
    if (strncmp(text, destroy, sizeof destroy - 1) == 0)
        return parse_destroy(text + sizeof destroy - 1, out);
    return true;
}
