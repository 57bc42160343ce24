/* Reads the files of modelled devices. Every member has a value and where it is from; what is
 * missing, unknown or out of range is named, because a preset that is half right would give wrong
 * results that look like right ones. */
#include "backend/sim/machine/gpu.h"

#include "backend/sim/machine/gpu_fields.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/parse.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX   ((size_t)1 << 20)
#define NAMES_MAX  96u
#define SOURCE_MAX 2000u

/* Where a member is, for messages. */
struct member_place {
    const char *file, *parent, *name;
    struct ff_error *error;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct member_place *place,
                                                        const char *format, ...) {
    char why[160];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return ff__fail(place->error, -EINVAL, "%s: %s%s%s: %s", place->file,
                    place->parent ? place->parent : "", place->parent ? "." : "", place->name, why);
}

/* ---- values ---- */

static int read_number(const struct member_place *place, const struct ff__gpu_field *field,
                       const json_t *value, void *out) {
    bool whole = field->type != FF__FIELD_REAL;
    if (whole ? !json_is_integer(value) : !json_is_number(value))
        return refuse(place, "must be a %snumber", whole ? "whole " : "");
    double number = json_number_value(value);
    if (!(number >= field->min && number <= field->max))
        return refuse(place, "must be %.10g to %.10g", field->min, field->max);
    if (field->type == FF__FIELD_REAL)
        *(double *)out = number;
    else if (field->type == FF__FIELD_COUNT)
        *(uint32_t *)out = (uint32_t)json_integer_value(value);
    else
        *(uint64_t *)out = (uint64_t)json_integer_value(value);
    return 0;
}

static int read_text(const struct member_place *place, const struct ff__gpu_field *field,
                     const json_t *value, char *out) {
    size_t length = json_is_string(value) ? strlen(json_string_value(value)) : 0;
    if (length == 0 || length != json_string_length(value) || (double)length >= field->max)
        return refuse(place, "must be a text of 1 to %.0f bytes", field->max - 1);
    if (strpbrk(json_string_value(value), "\n\r"))
        return refuse(place, "must be one line");
    memcpy(out, json_string_value(value), length + 1);
    return 0;
}

static int read_word(const struct member_place *place, const struct ff__gpu_field *field,
                     const json_t *value, unsigned *out) {
    for (unsigned i = 0; i < FF__FIELD_WORDS && field->words[i]; i++) {
        if (!json_is_string(value) || strcmp(json_string_value(value), field->words[i]) != 0)
            continue;
        *out = i;
        return 0;
    }
    const char *third = field->words[2];
    return refuse(place, "must be \"%s\"%s%s%s or \"%s\"", field->words[0], third ? ", \"" : "",
                  third ? field->words[1] : "", third ? "\"" : "", third ? third : field->words[1]);
}

static int read_point(const struct member_place *place, const json_t *pair,
                      struct ff__link_model *link) {
    const json_t *bytes = json_array_get(pair, 0), *rate = json_array_get(pair, 1);
    uint32_t i = link->point_count;
    if (json_array_size(pair) != 2 || !json_is_number(bytes) || !json_is_number(rate))
        return refuse(place, "point %u must be [bytes, bytes per second]", i + 1);
    link->bytes[i] = json_number_value(bytes);
    link->rate[i] = json_number_value(rate);
    if (!(link->bytes[i] >= 1 && link->bytes[i] <= 0x1p40))
        return refuse(place, "point %u: bytes must be 1 to 2^40", i + 1);
    if (i > 0 && link->bytes[i] <= link->bytes[i - 1])
        return refuse(place, "point %u: bytes must grow from point to point", i + 1);
    if (!(link->rate[i] >= 1e3 && link->rate[i] <= 1e15))
        return refuse(place, "point %u: bytes per second must be 1e3 to 1e15", i + 1);
    link->point_count++;
    return 0;
}

static int read_curve(const struct member_place *place, const json_t *value,
                      struct ff__link_model *link) {
    size_t count = json_array_size(value);
    int status = 0;
    if (count == 0 || count > FF__LINK_POINTS)
        return refuse(place, "must be 1 to %d points, each [bytes, bytes per second]",
                      FF__LINK_POINTS);
    for (size_t i = 0; i < count && !status; i++)
        status = read_point(place, json_array_get(value, i), link);
    return status;
}

static int read_value(const struct member_place *place, const struct ff__gpu_field *field,
                      const json_t *value, void *out) {
    switch (field->type) {
    case FF__FIELD_TEXT:
        return read_text(place, field, value, out);
    case FF__FIELD_WORD:
        return read_word(place, field, value, out);
    case FF__FIELD_CURVE:
        return read_curve(place, value, out);
    case FF__FIELD_BOOL:
        *(bool *)out = json_is_true(value);
        return json_is_boolean(value) ? 0 : refuse(place, "must be true or false");
    case FF__FIELD_COUNT:
    case FF__FIELD_WHOLE:
    case FF__FIELD_REAL:
    default:
        return read_number(place, field, value, out);
    }
}

/* {"value": ..., "source": "..."} */
static int read_sourced(const struct member_place *place, const struct ff__gpu_field *field,
                        const json_t *member, void *out) {
    const json_t *value = json_object_get(member, "value");
    const json_t *source = json_object_get(member, "source");
    if (json_object_size(member) != 2 || !value || !source)
        return refuse(place, "must be {\"value\": ..., \"source\": \"where it is from\"}");
    size_t length = json_string_length(source);
    if (!json_is_string(source) || length == 0 || length > SOURCE_MAX)
        return refuse(place, "its source must be a text of 1 to %u bytes", SOURCE_MAX);
    return read_value(place, field, value, out);
}

/* ---- objects ---- */

static const struct ff__gpu_field *find_field(const struct ff__gpu_field *fields,
                                              const char *name) {
    while (fields->name && strcmp(fields->name, name) != 0)
        fields++;
    return fields->name ? fields : NULL;
}

static bool is_link(const char *name) {
    const struct ff__gpu_link *link = ff__gpu_links;
    while (link->name && strcmp(link->name, name) != 0)
        link++;
    return link->name != NULL;
}

/* What a message may repeat of a file that can hold anything. */
static const char *printable(const char *name, char out[FF__GPU_NAME_SHOWN]) {
    size_t i = 0;
    for (; name[i] && i < FF__GPU_NAME_SHOWN - 1; i++)
        out[i] = (unsigned char)name[i] < ' ' || name[i] == 0x7f ? '?' : name[i];
    out[i] = '\0';
    return out;
}

static int refuse_unknown(const char *file, const char *parent, const json_t *object,
                          const struct ff__gpu_field *fields, struct ff_error *error) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        char shown[FF__GPU_NAME_SHOWN];
        struct member_place place = {file, parent, printable(name, shown), error};
        if (!find_field(fields, name) && !(!parent && is_link(name)))
            return refuse(&place, "unknown member");
    }
    return 0;
}

/* Whether a member belongs to how this device accounts for faults. */
static bool applies(const struct ff__gpu_field *field, enum ff__fault_cost cost) {
    return field->only == FF__ONLY_ANY ||
           (field->only == FF__ONLY_BATCH) == (cost == FF__FAULT_BATCH);
}

static int read_members(const char *file, const char *parent, const json_t *object,
                        const struct ff__gpu_field *fields, const struct ff__gpu *gpu, void *out,
                        struct ff_error *error) {
    for (const struct ff__gpu_field *field = fields; field->name; field++) {
        const struct member_place place = {file, parent, field->name, error};
        const json_t *member = json_object_get(object, field->name);
        void *at = (char *)out + field->offset;
        bool wanted = applies(field, gpu->fault_cost);
        int status = 0;
        if (wanted && !member)
            status = refuse(&place, "missing");
        else if (!wanted && member)
            status = refuse(&place, "is only for fault_cost \"%s\"",
                            field->only == FF__ONLY_FLAT ? "flat" : "batch");
        else if (wanted && field->type == FF__FIELD_TEXT)
            status = read_text(&place, field, member, at);
        else if (wanted)
            status = read_sourced(&place, field, member, at);
        if (status)
            return status;
    }
    return 0;
}

static int read_link(const char *file, const json_t *all, const struct ff__gpu_link *link,
                     struct ff__gpu *gpu, struct ff_error *error) {
    const struct member_place place = {file, NULL, link->name, error};
    const json_t *object = json_object_get(all, link->name);
    if (!object)
        return refuse(&place, "missing");
    if (!json_is_object(object))
        return refuse(&place, "must be an object with latency_ns and curve");
    int status = refuse_unknown(file, link->name, object, ff__gpu_link_fields, error);
    if (!status)
        status = read_members(file, link->name, object, ff__gpu_link_fields, gpu,
                              (char *)gpu + link->offset, error);
    return status;
}

static int read_all(const char *file, const json_t *all, struct ff__gpu *gpu,
                    struct ff_error *error) {
    if (!json_is_object(all))
        return ff__fail(error, -EINVAL, "%s: is not a device preset: it holds no object", file);
    int status = refuse_unknown(file, NULL, all, ff__gpu_fields, error);
    if (!status)
        status = read_members(file, NULL, all, ff__gpu_fields, gpu, gpu, error);
    for (const struct ff__gpu_link *link = ff__gpu_links; link->name && !status; link++)
        status = read_link(file, all, link, gpu, error);
    return status;
}

/* ---- other values than the preset's ---- */

/* The text as the JSON value that a preset would have; NULL: it is none. */
static json_t *value_of(const struct ff__gpu_field *field, const char *text) {
    uint64_t number;
    switch (field->type) {
    case FF__FIELD_WORD:
        return json_string(text);
    case FF__FIELD_BOOL:
        return strcmp(text, "true") == 0    ? json_true()
               : strcmp(text, "false") == 0 ? json_false()
                                            : json_null();
    case FF__FIELD_REAL: {
        double real;
        return ff__parse_real(text, &real) ? json_null() : json_real(real);
    }
    case FF__FIELD_COUNT:
    case FF__FIELD_WHOLE:
        return ff__parse_size(text, &number) || number > INT64_MAX
                   ? json_null()
                   : json_integer((json_int_t)number);
    case FF__FIELD_TEXT:
    case FF__FIELD_CURVE:
    default:
        return NULL;
    }
}

uint64_t ff__gpu_fault_ns(const struct ff__gpu *gpu) {
    return gpu->fault_cost == FF__FAULT_BATCH ? gpu->delivery_ns + gpu->batch_ns + gpu->entry_ns +
                                                    gpu->block_ns + gpu->page_ns + gpu->replay_ns
                                              : gpu->fault_ns;
}

/* Whether there can be such a device. -EINVAL: why not; `file` is what the message calls it. */
static int check_whole(const struct ff__gpu *gpu, const char *file, struct ff_error *error) {
    const struct member_place place = {file, NULL, "granule", error},
                              batch = {file, NULL, "batch_ns", error};
    if (gpu->granule != FF_PAGE_SIZE && gpu->granule != FF_LEAF_SIZE &&
        gpu->granule != FF_BLOCK_SIZE)
        return refuse(&place, "must be %u, %u or %u", FF_PAGE_SIZE, FF_LEAF_SIZE, FF_BLOCK_SIZE);
    if (gpu->granule != FF_PAGE_SIZE && gpu->host == FF__HOST_SYNCHRONIZES)
        return refuse(&place, "must be %u where host is \"synchronizes\"", FF_PAGE_SIZE);
    if (ff__gpu_fault_ns(gpu) == 0)
        return refuse(&batch,
                      "must be 1 or more where delivery_ns, entry_ns, block_ns, page_ns and "
                      "replay_ns are 0");
    return 0;
}

int ff__gpu_change(struct ff__gpu *gpu, const char *file, const char *name, const char *value,
                   struct ff_error *error) {
    char shown[FF__GPU_NAME_SHOWN];
    const struct member_place place = {file, NULL, printable(name, shown), error};
    const struct ff__gpu_field *field = find_field(ff__gpu_fields, name);
    const bool batch = gpu->fault_cost == FF__FAULT_BATCH;
    json_t *json = field && applies(field, gpu->fault_cost) ? value_of(field, value) : NULL;
    if (!json)
        return refuse(&place, "is no member of the device that can be changed");
    int status = read_value(&place, field, json, (char *)gpu + field->offset);
    json_decref(json);
    if (!status && batch != (gpu->fault_cost == FF__FAULT_BATCH))
        status = refuse(&place, "changes between \"flat\" and \"overlapped\" only");
    return status ? status : check_whole(gpu, file, error);
}

/* ---- presets ---- */

int ff__gpu_parse(const char *file, const char *text, size_t length, struct ff__gpu *out,
                  struct ff_error *error) {
    json_error_t mistake;
    struct ff__gpu gpu = {0};
    json_t *all = json_loadb(text, length, JSON_REJECT_DUPLICATES, &mistake);
    if (!all) {
        char shown[FF__GPU_NAME_SHOWN];
        return ff__fail(error, -EINVAL, "%s: is not JSON: line %d: %s", file, mistake.line,
                        printable(mistake.text, shown));
    }
    int status = read_all(file, all, &gpu, error);
    json_decref(all);
    if (!status)
        status = check_whole(&gpu, file, error);
    if (!status)
        *out = gpu;
    return status;
}

/* ---- files ---- */

static int compare_names(const void *a, const void *b) {
    return strcmp(a, b);
}

unsigned ff__gpu_names(const char *folder, char (*out)[32], unsigned max) {
    unsigned count = 0;
    const struct dirent *entry;
    DIR *dir = opendir(folder);
    while (dir && count < max && (entry = readdir(dir))) {
        size_t length = strlen(entry->d_name);
        if (length <= 5 || length - 5 >= 32 || strcmp(entry->d_name + length - 5, ".json") != 0)
            continue;
        memcpy(out[count], entry->d_name, length - 5);
        out[count++][length - 5] = '\0';
    }
    if (dir)
        closedir(dir);
    qsort(out, count, sizeof *out, compare_names);
    return count;
}

int ff__gpu_missing(const char *name, const char *kind, const char *folder, const char *command,
                    struct ff_error *error) {
    char names[NAMES_MAX][32];
    struct ff__nearest nearest = {.word = name};
    unsigned count = ff__gpu_names(folder, names, NAMES_MAX);
    for (unsigned i = 0; i < count; i++)
        ff__nearest_offer(&nearest, names[i]);
    return ff__nearest_fail(&nearest, kind, command, error);
}

static bool is_path(const char *name) {
    size_t length = strlen(name);
    return strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".json") == 0);
}

/* The caller frees *text. */
static int read_file(FILE *file, const char *path, char **text, size_t *length,
                     struct ff_error *error) {
    char *buffer = malloc(FILE_MAX + 1);
    if (!buffer)
        return ff__fail(error, -ENOMEM, "out of memory");
    errno = 0;
    *length = fread(buffer, 1, FILE_MAX + 1, file);
    if (ferror(file)) {
        int status = errno ? -errno : -EIO;
        free(buffer);
        return ff__fail(error, status, "%s: %s", path, strerror(-status));
    }
    if (*length > FILE_MAX) {
        free(buffer);
        return ff__fail(error, -EINVAL, "%s: is not a device preset: larger than 1 MiB", path);
    }
    *text = buffer;
    return 0;
}

int ff__gpu_read(const char *name, const char *folder, struct ff__gpu *out,
                 struct ff_error *error) {
    char path[4096];
    bool own = is_path(name);
    int needed = own ? snprintf(path, sizeof path, "%s", name)
                     : snprintf(path, sizeof path, "%s/%s.json", folder, name);
    FILE *file = needed < (int)sizeof path ? fopen(path, "rbe") : NULL;
    if (!file && !own)
        return ff__gpu_missing(name, "device", folder,
                               "farfault list gpus, or give the path of a preset, FILE.json",
                               error);
    if (!file)
        return ff__fail(error, errno ? -errno : -ENAMETOOLONG, "%s: %s", name, strerror(errno));
    char *text = NULL;
    size_t length = 0;
    int status = read_file(file, path, &text, &length, error);
    fclose(file);
    if (!status)
        status = ff__gpu_parse(path, text, length, out, error);
    free(text);
    return status;
}

/* `text`: NAME or NAME:MEMBER=VALUE,...; it is cut into its words. */
static int read_words(char *text, const char *spec, const char *folder, struct ff__gpu *out,
                      struct ff_error *error) {
    char *equals = strchr(text, '='), *member = equals;
    while (member && member > text && *member != ':')
        member--;
    bool changes = member && *member == ':';
    if (changes)
        *member++ = '\0';
    int status = ff__gpu_read(text, folder, out, error);
    for (char *next; changes && member && !status; member = next) {
        next = strchr(member, ',');
        if (next)
            *next++ = '\0';
        char *value = strchr(member, '=');
        if (value)
            *value++ = '\0';
        status = ff__gpu_change(out, spec, member, value ? value : "", error);
    }
    if (changes && !status)
        snprintf(out->name, sizeof out->name, "%s", spec);
    return status;
}

int ff__gpu_read_spec(const char *spec, const char *folder, struct ff__gpu *out,
                      struct ff_error *error) {
    char *text = strdup(spec);
    int status = text ? read_words(text, spec, folder, out, error)
                      : ff__fail(error, -ENOMEM, "out of memory");
    free(text);
    return status;
}

/* ---- links ---- */

static double rate_at(const struct ff__link_model *link, double bytes) {
    uint32_t above = 0, last = link->point_count - 1;
    while (above <= last && link->bytes[above] < bytes)
        above++;
    if (above == 0)
        return link->rate[0];
    if (above > last)
        return link->rate[last];
    double low = link->bytes[above - 1], high = link->bytes[above];
    double share = bytes < high ? log(bytes / low) / log(high / low) : 1;
    return link->rate[above - 1] + share * (link->rate[above] - link->rate[above - 1]);
}

uint64_t ff__link_ns(const struct ff__link_model *link, uint64_t bytes) {
    if (bytes == 0 || link->point_count == 0)
        return 0;
    return (uint64_t)((double)bytes / rate_at(link, (double)bytes) * 1e9 + 0.5);
}
