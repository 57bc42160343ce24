/* libCacheSim's oracleGeneral: a record a request, without a header. 24 bytes, little-endian: the
 * time in seconds (4), the object's number (8), its bytes (4), and the number of the request that
 * asks for it next, counted from 1 (8); -1 or the largest number: none does
 * (github.com/1a1a11a/libCacheSim: libCacheSim/traceReader/customizedReader/oracle reads it,
 * libCacheSim/bin/traceUtils/traceConv.cpp writes it). */
#ifndef FF_TRACE_MODEL_ORACLE_H
#define FF_TRACE_MODEL_ORACLE_H

#include <stdint.h>

#define FF__ORACLE_NAME  "oracleGeneral"
#define FF__ORACLE_BYTES 24u
#define FF__ORACLE_NEVER INT64_C(-1)

struct ff__oracle {
    uint64_t object;
    int64_t next;
    uint32_t seconds, bytes;
};

static inline uint64_t ff__oracle_number(const unsigned char *at, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static inline struct ff__oracle ff__oracle_decode(const unsigned char record[FF__ORACLE_BYTES]) {
    return (struct ff__oracle){
        ff__oracle_number(record + 4, 8), (int64_t)ff__oracle_number(record + 16, 8),
        (uint32_t)ff__oracle_number(record, 4), (uint32_t)ff__oracle_number(record + 12, 4)};
}

static inline void ff__oracle_put(unsigned char *at, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static inline void ff__oracle_encode(const struct ff__oracle *request,
                                     unsigned char record[FF__ORACLE_BYTES]) {
    ff__oracle_put(record, request->seconds, 4);
    ff__oracle_put(record + 4, request->object, 8);
    ff__oracle_put(record + 12, request->bytes, 4);
    ff__oracle_put(record + 16, (uint64_t)request->next, 8);
}

#endif
