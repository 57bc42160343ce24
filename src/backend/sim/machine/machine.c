/* Reads the files of machines. */
#include "backend/sim/machine/machine.h"

#include "base/error.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char *const members[] = {"name",  "summary",  "gpu",          "devices",
                                      "links", "switches", "host_page_ns", NULL};

static int refuse(const char *path, const char *member, const char *why, struct ff_error *error) {
    return ff__fail(error, -EINVAL, "%s: %s: %s", path, member, why);
}

static int check_members(const char *path, const json_t *all, struct ff_error *error) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)all, name, value) {
        unsigned i = 0;
        while (members[i] && strcmp(members[i], name) != 0)
            i++;
        if (!members[i])
            return ff__fail(error, -EINVAL, "%s: unknown member", path);
        if (i >= 3 && !json_is_string(json_object_get(value, "source")))
            return refuse(path, name, "must be {\"value\": ..., \"source\": \"where it is from\"}",
                          error);
    }
    return 0;
}

static const json_t *value_of(const json_t *all, const char *member) {
    return json_object_get(json_object_get(all, member), "value");
}

static int read_text(const char *path, const json_t *all, const char *member, char *out,
                     size_t size, struct ff_error *error) {
    const char *text = json_string_value(json_object_get(all, member));
    if (!text || !*text || strlen(text) >= size)
        return refuse(path, member, "must be a text", error);
    memcpy(out, text, strlen(text) + 1);
    return 0;
}

static int read_number(const char *path, const json_t *all, const char *member, uint64_t most,
                       uint64_t *out, struct ff_error *error) {
    const json_t *value = value_of(all, member);
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || (uint64_t)number > most)
        return refuse(path, member, "must be a whole number within its range", error);
    *out = (uint64_t)number;
    return 0;
}

static bool is_device(const json_t *value, uint32_t devices) {
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           (uint32_t)json_integer_value(value) < devices;
}

/* [device, device, share of the preset's rate] for every pair. */
static int read_links(const char *path, const json_t *all, struct ff__machine *out,
                      struct ff_error *error) {
    size_t i;
    json_t *link;
    const json_t *links = value_of(all, "links");
    json_array_foreach(links, i, link) {
        const json_t *one = json_array_get(link, 0), *other = json_array_get(link, 1);
        double rate = json_number_value(json_array_get(link, 2));
        if (!is_device(one, out->devices) || !is_device(other, out->devices) || !(rate > 0))
            return refuse(path, "links", "each must be [device, device, rate]", error);
        size_t a = (size_t)json_integer_value(one), b = (size_t)json_integer_value(other);
        out->peer[a][b] = out->peer[b][a] = rate;
    }
    for (uint32_t a = 0; a < out->devices; a++)
        for (uint32_t b = 0; b < a; b++)
            if (out->peer[a][b] == 0)
                return refuse(path, "links", "there must be one between every two devices", error);
    return 0;
}

/* Lists of devices. */
static int read_switches(const char *path, const json_t *all, struct ff__machine *out,
                         struct ff_error *error) {
    size_t i, j, known = 0;
    json_t *group, *device;
    json_array_foreach(value_of(all, "switches"), i, group) json_array_foreach(group, j, device) {
        if (!is_device(device, out->devices))
            return refuse(path, "switches", "each must be a list of devices", error);
        out->switch_of[json_integer_value(device)] = (uint32_t)i;
        known++;
    }
    return known == out->devices ? 0
                                 : refuse(path, "switches", "must have every device once", error);
}

static int read_all(const char *path, const json_t *all, const char *folder,
                    struct ff__machine *out, struct ff_error *error) {
    char gpu[32], gpus[PATH_MAX];
    uint64_t devices = 0;
    int status = check_members(path, all, error);
    if (!status)
        status = read_text(path, all, "name", out->name, sizeof out->name, error);
    if (!status)
        status = read_text(path, all, "summary", out->summary, sizeof out->summary, error);
    if (!status)
        status = read_text(path, all, "gpu", gpu, sizeof gpu, error);
    if (!status)
        status = read_number(path, all, "devices", FF__MACHINE_DEVICES, &devices, error);
    if (!status)
        status = read_number(path, all, "host_page_ns", 1000000, &out->host_page_ns, error);
    out->devices = (uint32_t)devices;
    if (!status)
        status = read_links(path, all, out, error);
    if (!status)
        status = read_switches(path, all, out, error);
    snprintf(gpus, sizeof gpus, "%s/gpus", folder);
    return status ? status : ff__gpu_read(gpu, gpus, &out->gpu, error);
}

static int fail_unknown(const char *name, const char *folder, struct ff_error *error) {
    char machines[PATH_MAX];
    snprintf(machines, sizeof machines, "%s/machines", folder);
    return ff__gpu_missing(name, "machine", machines, "farfault sim --help", error);
}

int ff__machine_read(const char *name, const char *folder, struct ff__machine *out,
                     struct ff_error *error) {
    char path[PATH_MAX];
    json_error_t why;
    memset(out, 0, sizeof *out);
    snprintf(path, sizeof path, "%s/machines/%s.json", folder, name);
    json_t *all = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (!all && json_error_code(&why) == json_error_cannot_open_file)
        return fail_unknown(name, folder, error);
    if (!all)
        return ff__fail(error, -EINVAL, "%s: line %d: %s", path, why.line, why.text);
    int status = read_all(path, all, folder, out, error);
    json_decref(all);
    return status;
}
