/* farfault ptx: the device code in a file. */
#include "report/ptx/code.h"

#include "base/new_file.h"
#include "cli/options.h"
#include "report/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "Shows the CUDA code in a file: PTX, a cubin, a fat binary, or a program, library or archive "
    "that has them; and which kernels of PTX can be translated for the processor, or why not.\n"
    "\n"
    "Examples:\n"
    "  farfault ptx kernels.ptx\n"
    "  farfault ptx libcuda-kernels.so --arch sm_75\n"
    "  farfault ptx libcuda-kernels.so --image 3 --extract kernels.ptx\n"
    "  farfault ptx kernels.ptx --extents\v"
    "Registers are those that the PTX declares, or that a thread of machine code has. Cubins have "
    "machine code, which cannot be translated. With --extents bytes are counted from the pointer "
    "that an argument is, arg0 being the first; where all blocks have 32 x 8 threads, and the grid "
    "is large enough for the arguments. 'exact': each page in between is touched; 'bound': nothing "
    "outside is.";

/* ---- images that are wanted ---- */

struct wanted {
    uint32_t arch;   /* 0: any */
    uint64_t number; /* from 1; 0: any */
};

/* "75" or "sm_75", also "compute_75" and "sm_90a". */
static int read_arch(const struct ff__options *options, uint32_t *out) {
    const char *text = options->text[FF__OPTION_ARCH];
    if (!text)
        return 0;
    const char *digits = text + strcspn(text, "0123456789");
    size_t prefix = (size_t)(digits - text), length = strspn(digits, "0123456789");
    bool known = prefix == 0 || (prefix == 3 && strncmp(text, "sm_", 3) == 0) ||
                 (prefix == 8 && strncmp(text, "compute_", 8) == 0);
    const char *rest = digits + length;
    if (!known || length == 0 || length > 4 ||
        (*rest && (!islower((unsigned char)*rest) || rest[1])))
        return ff__options_complain(options, FF__OPTION_ARCH,
                                    "must be an architecture, such as sm_75");
    *out = (uint32_t)strtoul(digits, NULL, 10);
    return *out ? 0
                : ff__options_complain(options, FF__OPTION_ARCH,
                                       "must be an architecture, such as sm_75");
}

static bool is_wanted(const struct wanted *wanted, const struct ff__image *image, uint32_t number) {
    return (wanted->arch == 0 || wanted->arch == image->arch) &&
           (wanted->number == 0 || wanted->number == number);
}

#define ARCHS 16u /* that a message names */

static uint32_t list_archs(const struct ff__ptx_images *images, uint32_t archs[ARCHS]) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < images->count && count < ARCHS; i++) {
        uint32_t arch = images->items[i].arch, k = 0;
        while (k < count && archs[k] != arch)
            k++;
        if (k == count && arch != 0)
            archs[count++] = arch;
    }
    return count;
}

static int none_wanted(const char *path, const struct ff__ptx_images *images) {
    uint32_t archs[ARCHS], count = list_archs(images, archs);
    char *names = ff__text("%s", "");
    for (uint32_t i = 0; i < count; i++)
        names = ff__text_add(names, "%s sm_%u", i == 0 ? ", for" : ",", archs[i]);
    int status = ff__complain(FF__EXIT_FAILURE, "%s: no such image; it has %u%s", path,
                              images->count, names);
    free(names);
    return status;
}

/* ---- what is written of one image ---- */

static int write_text(const char *path, const char *bytes, size_t size) {
    bool to_stdout = strcmp(path, "-") == 0;
    const struct ff__file_bytes all = {bytes, size};
    int status = to_stdout ? ff__file_print_bytes(stdout, &all)
                           : ff__file_write(path, ff__file_print_bytes, &all);
    return status ? ff__complain(FF__EXIT_FAILURE, "cannot write %s: %s",
                                 to_stdout ? "to standard output" : path, strerror(-status))
                  : 0;
}

/* The one image of PTX that is wanted; NULL: there is none, or several. */
static const struct ff__image *only_text(const struct ff__ptx_images *images,
                                         const struct wanted *wanted, uint32_t *count) {
    const struct ff__image *found = NULL;
    *count = 0;
    for (uint32_t i = 0; i < images->count; i++) {
        if (!images->items[i].is_text || !is_wanted(wanted, &images->items[i], i + 1))
            continue;
        found = &images->items[i];
        ++*count;
    }
    return *count == 1 ? found : NULL;
}

static int write_one(const char *path, const struct ff__image *image, const char *to,
                     int (*make)(const struct ff__image *image, char **out, size_t *size,
                                 struct ff_error *error)) {
    struct ff_error error = {""};
    char *bytes;
    size_t size;
    if (!to)
        return 0;
    int status = make(image, &bytes, &size, &error);
    if (status)
        return ff__complain(FF__EXIT_FAILURE, "%s: %s", path, error.message);
    status = write_text(to, bytes, size);
    free(bytes);
    return status;
}

static int write_files(const struct ff__options *options, const char *path,
                       const struct ff__ptx_images *images, const struct wanted *wanted) {
    uint32_t count;
    const struct ff__image *image = only_text(images, wanted, &count);
    if (!image)
        return ff__complain(FF__EXIT_USAGE,
                            count ? "%s: %u images of PTX; choose one: --image NUMBER"
                                  : "%s: %u images of PTX are wanted: nothing to write",
                            path, count);
    int status = write_one(path, image, options->text[FF__OPTION_EXTRACT], ff__image_read);
    return status ? status
                  : write_one(path, image, options->text[FF__OPTION_C], ff__code_translate);
}

/* ---- lists ---- */

static void say_wrong(const char *path, const struct ff__code *code, char **first) {
    ff__complain(0, "%s: image %u: %s", path, code->number, code->wrong);
    if (!*first)
        *first = ff__text("%s", ff__complaint());
}

static int write_json(const struct ff__outputs *outputs, json_t *list, const char *wrong,
                      const struct ff__code_totals *totals) {
    json_t *all = ff__results_new("ptx");
    if (wrong) {
        ff__json_set(all, "good", json_false());
        ff__json_set(all, "reason", ff__json_text(wrong));
    }
    ff__json_set(all, "images", list);
    ff__code_json_totals(totals, all);
    int status = ff__outputs_write(outputs, all);
    json_decref(all);
    return status;
}

static int list(const char *path, const struct ff__ptx_images *images, const struct wanted *wanted,
                bool extents, const struct ff__outputs *outputs) {
    struct ff__code_totals totals = {0};
    json_t *described = outputs->json ? ff__must(json_array()) : NULL;
    char *wrong = NULL;
    for (uint32_t i = 0; i < images->count; i++) {
        struct ff__code code;
        if (!is_wanted(wanted, &images->items[i], i + 1))
            continue;
        ff__code_read(&images->items[i], i + 1, extents, &code);
        ff__code_count(&totals, &code);
        if (ff__outputs_leave_tables(outputs))
            ff__code_show(&code);
        if (described)
            json_array_append_new(described, ff__code_json(&code));
        if (code.wrong)
            say_wrong(path, &code, &wrong);
        ff__code_free(&code);
    }
    ff__code_sort_reasons(&totals);
    int status = 0;
    if (totals.images == 0)
        status = none_wanted(path, images);
    else if (ff__outputs_leave_tables(outputs))
        ff__code_show_totals(&totals);
    if (described && !status)
        status = write_json(outputs, described, wrong, &totals);
    else
        json_decref(described);
    status = status == 0 && wrong ? FF__EXIT_FAILURE : status;
    ff__code_totals_free(&totals);
    free(wrong);
    return status;
}

/* ---- the command ---- */

static int use(struct ff__options *options, const struct ff__file *file,
               const struct wanted *wanted, const struct ff__outputs *outputs) {
    const char *path = options->words[0];
    struct ff__ptx_images images;
    struct ff_error error = {""};
    if (ff__images_find(file->bytes, file->size, &images, &error))
        return ff__complain(FF__EXIT_FAILURE, "%s: %s", path, error.message);
    bool writes = options->text[FF__OPTION_EXTRACT] || options->text[FF__OPTION_C];
    int status = writes ? write_files(options, path, &images, wanted)
                        : list(path, &images, wanted, options->number[FF__OPTION_EXTENTS], outputs);
    ff__images_free(&images);
    return status;
}

static int run(struct ff__options *options) {
    struct ff__outputs outputs;
    struct wanted wanted = {.number = options->number[FF__OPTION_IMAGE]};
    struct ff__file file = {NULL, 0};
    if (options->word_count != 1)
        return ff__complain(FF__EXIT_USAGE, "give one file: farfault ptx FILE");
    int status = ff__options_outputs(options, &outputs);
    if (!status)
        status = read_arch(options, &wanted.arch);
    if (!status)
        status = ff__file_read(options->words[0], &file);
    if (!status)
        status = use(options, &file, &wanted, &outputs);
    free(file.bytes);
    return status;
}

const struct ff__command ff__command_ptx = {FF__COMMAND_PTX, "FILE", help, run, 0};
