/* What farfault ptx shows of a file: its images, their kernels, and why kernels are refused. */
#ifndef FF_REPORT_PTX_CODE_H
#define FF_REPORT_PTX_CODE_H

#include "ptx/fatbin.h"
#include "report/json.h"
#include "report/ptx/extents.h"

struct ff__code_kernel {
    char *symbol, *name; /* as the object and as the source has it, with its parameters */
    bool is_entry;       /* else a device function */
    uint32_t parameters, bytes, registers;
    uint32_t max_threads;            /* 0: no limit of its own */
    uint64_t shared;                 /* bytes of static shared memory */
    char *refused;                   /* NULL: it is not */
    struct ff__code_extent *extents; /* what it touches, if that is asked for */
    uint32_t extent_count;
    bool has_extents, extents_are_all; /* it was; nothing else is touched */
};

struct ff__code {
    const struct ff__image *image;
    uint32_t number; /* of the image in its file, from 1 */
    struct ff__code_kernel *kernels;
    uint32_t count;
    char *wrong; /* why nothing of it can be used; NULL: nothing is wrong */
};

/* Reads an image and translates its PTX; with `extents`, finds what kernels touch. Freed with
 * ff__code_free(). */
void ff__code_read(const struct ff__image *image, uint32_t number, bool extents,
                   struct ff__code *out);
void ff__code_free(struct ff__code *code);

/* The C that an image's PTX becomes; the caller frees *out. Negative errno. */
int ff__code_translate(const struct ff__image *image, char **out, size_t *size,
                       struct ff_error *error);

/* Kernels of several images, and reasons why some are refused, by how often they are given. */
struct ff__code_reason {
    char *text;
    uint32_t count;
    char *example; /* a kernel's name, with image and line */
};

struct ff__code_totals {
    uint32_t images, texts;
    uint32_t kernels, refused; /* of texts */
    uint32_t machine_kernels;  /* of cubins */
    struct ff__code_reason *reasons;
    uint32_t reason_count;
};

void ff__code_count(struct ff__code_totals *totals, const struct ff__code *code);
void ff__code_sort_reasons(struct ff__code_totals *totals);
void ff__code_totals_free(struct ff__code_totals *totals);

void ff__code_show(const struct ff__code *code);

/* What kernels touch. */
void ff__code_show_extents(const struct ff__code *code);
json_t *ff__code_json_extents(const struct ff__code_kernel *kernel);

void ff__code_show_totals(const struct ff__code_totals *totals);
json_t *ff__code_json(const struct ff__code *code);
void ff__code_json_totals(const struct ff__code_totals *totals, json_t *all);

#endif
