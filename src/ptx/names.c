/* Names in nested scopes, and memory that leaves the reader when there is none. */
#include "ptx/read_internal.h"

#include "base/grow.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define QUOTED 100 /* characters of an instruction */

static int instruction_length(const struct ff__ptx_reader *reader) {
    const char *text = reader->instruction;
    int length = 0;
    while (length < QUOTED && text + length < reader->end && strchr(";\n\r", text[length]) == NULL)
        length++;
    return length;
}

/* What is quoted need not be text, and a message is one line. */
static void clean(char *message) {
    for (; *message != '\0'; message++)
        if (*message < ' ' || *message > '~')
            *message = '?';
}

_Noreturn void ff__ptx_wrong(struct ff__ptx_reader *reader, const char *format, ...) {
    int used = snprintf(reader->message, sizeof reader->message, "line %u: ", reader->line);
    if (reader->instruction != NULL)
        used += snprintf(reader->message + used, sizeof reader->message - (size_t)used,
                         "%.*s: ", instruction_length(reader), reader->instruction);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->message + used, sizeof reader->message - (size_t)used, format, arguments);
    va_end(arguments);
    clean(reader->message);
    reader->code = -EINVAL;
    longjmp(*reader->leave, 1);
}

_Noreturn void ff__ptx_no_memory(struct ff__ptx_reader *reader) {
    snprintf(reader->message, sizeof reader->message, "not enough memory for this PTX module");
    reader->code = -ENOMEM;
    longjmp(*reader->leave, 1);
}

void *ff__ptx_need(struct ff__ptx_reader *reader, size_t count, size_t size) {
    void *memory = ff__ptx_arena_alloc(reader->arena, count, size);
    if (memory == NULL)
        ff__ptx_no_memory(reader);
    return memory;
}

char *ff__ptx_copy(struct ff__ptx_reader *reader, const char *text, size_t length) {
    char *copy = ff__ptx_need(reader, length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

/* Room doubles at every power of two. What is left behind stays in the arena: as much again. */
void *ff__ptx_append(struct ff__ptx_reader *reader, void *array, uint32_t *count, size_t size) {
    void **elements = array;
    if (*count == 0 || (*count >= FF__GROW_FIRST && (*count & (*count - 1)) == 0)) {
        void *larger = ff__ptx_need(reader, *count == 0 ? FF__GROW_FIRST : *count * 2ul, size);
        if (*count != 0)
            memcpy(larger, *elements, *count * size);
        *elements = larger;
    }
    return (char *)*elements + (*count)++ * size;
}

static uint32_t hash(const char *text, uint32_t length) {
    uint32_t value = 2166136261u; /* FNV-1a */
    for (uint32_t i = 0; i < length; i++)
        value = (value ^ (uint8_t)text[i]) * 16777619u;
    return value;
}

struct ff__ptx_name *ff__ptx_lookup(struct ff__ptx_reader *reader, const char *text,
                                    uint32_t length) {
    uint32_t value = hash(text, length);
    struct ff__ptx_name *name = reader->buckets[value % FF__PTX_BUCKETS];
    while (name != NULL &&
           (name->hash != value || name->length != length || memcmp(name->text, text, length) != 0))
        name = name->next;
    return name;
}

struct ff__ptx_name *ff__ptx_define(struct ff__ptx_reader *reader, const char *text,
                                    uint32_t length, enum ff__ptx_named kind, uint32_t index) {
    struct ff__ptx_name *other = ff__ptx_lookup(reader, text, length);
    if (other != NULL && other->scope == reader->scope)
        ff__ptx_wrong(reader, "'%.*s' is declared twice", (int)length, text);
    struct ff__ptx_name **defined =
        ff__ptx_append(reader, &reader->undo, &reader->undo_count, sizeof *reader->undo);
    struct ff__ptx_name *name = *defined = ff__ptx_need(reader, 1, sizeof *name);
    *name = (struct ff__ptx_name){.text = text,
                                  .length = length,
                                  .hash = hash(text, length),
                                  .kind = (uint8_t)kind,
                                  .scope = reader->scope,
                                  .index = index};
    struct ff__ptx_name **bucket = &reader->buckets[name->hash % FF__PTX_BUCKETS];
    name->next = *bucket;
    *bucket = name;
    return name;
}

void ff__ptx_enter(struct ff__ptx_reader *reader) {
    reader->scope++;
}

/* Names leave in the opposite order of their definition, each as the first of its bucket. */
void ff__ptx_leave(struct ff__ptx_reader *reader) {
    while (reader->undo_count != 0 &&
           reader->undo[reader->undo_count - 1]->scope == reader->scope) {
        struct ff__ptx_name *name = reader->undo[--reader->undo_count];
        reader->buckets[name->hash % FF__PTX_BUCKETS] = name->next;
    }
    reader->scope--;
}
