#include "report/ptx/code.h"

static json_t *count_or_null(uint64_t count) {
    return count ? ff__json_count(count) : json_null();
}

static json_t *version_json(uint32_t version) {
    return version ? json_sprintf("%u.%u", version / 10, version % 10) : json_null();
}

static json_t *kernel_json(const struct ff__code_kernel *kernel) {
    json_t *object = ff__must(json_object());
    ff__json_set(object, "name", ff__json_text(kernel->name));
    ff__json_set(object, "symbol", ff__json_text(kernel->symbol));
    ff__json_set(object, "parameters", ff__json_count(kernel->parameters));
    ff__json_set(object, "parameter_bytes", ff__json_count(kernel->bytes));
    ff__json_set(object, "registers", ff__json_count(kernel->registers));
    ff__json_set(object, "max_threads", count_or_null(kernel->max_threads));
    ff__json_set(object, "shared", ff__json_count(kernel->shared));
    ff__json_set(object, "refused", ff__json_text(kernel->refused));
    if (kernel->has_extents)
        ff__json_set(object, "extents", ff__code_json_extents(kernel));
    return object;
}

static json_t *kernels_json(const struct ff__code *code, bool entries) {
    json_t *list = ff__must(json_array());
    for (uint32_t i = 0; i < code->count; i++)
        if (code->kernels[i].is_entry == entries)
            json_array_append_new(list, kernel_json(&code->kernels[i]));
    return list;
}

json_t *ff__code_json(const struct ff__code *code) {
    const struct ff__image *image = code->image;
    json_t *object = ff__must(json_object());
    ff__json_set(object, "number", ff__json_count(code->number));
    ff__json_set(object, "kind", ff__json_text(image->is_text ? "ptx" : "cubin"));
    ff__json_set(object, "arch", count_or_null(image->arch));
    ff__json_set(object, "version", version_json(image->version));
    ff__json_set(object, "compression", ff__json_text(ff__pack_name(image->pack)));
    ff__json_set(object, "stored", ff__json_count(image->stored));
    ff__json_set(object, "bytes", ff__json_count(image->size));
    ff__json_set(object, "wrong", ff__json_text(code->wrong));
    ff__json_set(object, "kernels", kernels_json(code, true));
    ff__json_set(object, "functions", kernels_json(code, false));
    return object;
}

static json_t *reasons_json(const struct ff__code_totals *totals) {
    json_t *list = ff__must(json_array());
    for (uint32_t i = 0; i < totals->reason_count; i++) {
        json_t *reason = ff__must(json_object());
        ff__json_set(reason, "reason", ff__json_text(totals->reasons[i].text));
        ff__json_set(reason, "kernels", ff__json_count(totals->reasons[i].count));
        ff__json_set(reason, "example", ff__json_text(totals->reasons[i].example));
        json_array_append_new(list, reason);
    }
    return list;
}

void ff__code_json_totals(const struct ff__code_totals *totals, json_t *all) {
    ff__json_set(all, "kernels", ff__json_count(totals->kernels));
    ff__json_set(all, "translated", ff__json_count(totals->kernels - totals->refused));
    ff__json_set(all, "refused", ff__json_count(totals->refused));
    ff__json_set(all, "reasons", reasons_json(totals));
}
