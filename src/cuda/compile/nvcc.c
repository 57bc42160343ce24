/* What nvcc's options mean here, as far as clang does not have them. */
#include "cuda/compile/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *ff__cuda_value_of(const char *name, int count, char **words, int *at) {
    size_t length = strlen(name);
    if (strncmp(words[*at], name, length) != 0)
        return NULL;
    if (words[*at][length] == '=')
        return words[*at] + length + 1;
    return words[*at][length] == '\0' && *at + 1 < count ? words[++*at] : NULL;
}

static const struct nvcc_option {
    const char *name;
    bool has_value;
    enum ff__nvcc_kind kind;
} options[] = {
    {"-arch", true, FF__NVCC_ARCH},
    {"--gpu-architecture", true, FF__NVCC_ARCH},
    {"-gencode", true, FF__NVCC_ARCH},
    {"--generate-code", true, FF__NVCC_ARCH},
    {"-ptx", false, FF__NVCC_PTX},
    {"-Xcompiler", true, FF__NVCC_FOR_HOST},
    {"--compiler-options", true, FF__NVCC_FOR_HOST},
    {"-dc", false, FF__NVCC_RELOCATABLE},
    {"--device-c", false, FF__NVCC_RELOCATABLE},
    {"-dlink", false, FF__NVCC_RELOCATABLE},
    {"-rdc", true, FF__NVCC_RELOCATABLE},
    {"--relocatable-device-code", true, FF__NVCC_RELOCATABLE},
    /* about machine code, other compilers, and what clang does in any case */
    {"-code", true, FF__NVCC_NOTHING},
    {"--gpu-code", true, FF__NVCC_NOTHING},
    {"-lineinfo", false, FF__NVCC_NOTHING},
    {"--generate-line-info", false, FF__NVCC_NOTHING},
    {"-G", false, FF__NVCC_NOTHING},
    {"--device-debug", false, FF__NVCC_NOTHING},
    {"-use_fast_math", false, FF__NVCC_NOTHING},
    {"--use_fast_math", false, FF__NVCC_NOTHING},
    {"-extended-lambda", false, FF__NVCC_NOTHING},
    {"--extended-lambda", false, FF__NVCC_NOTHING},
    {"-expt-extended-lambda", false, FF__NVCC_NOTHING},
    {"--expt-extended-lambda", false, FF__NVCC_NOTHING},
    {"-expt-relaxed-constexpr", false, FF__NVCC_NOTHING},
    {"--expt-relaxed-constexpr", false, FF__NVCC_NOTHING},
    {"-Wno-deprecated-gpu-targets", false, FF__NVCC_NOTHING},
    {"-res-usage", false, FF__NVCC_NOTHING},
    {"--resource-usage", false, FF__NVCC_NOTHING},
    {"-maxrregcount", true, FF__NVCC_NOTHING},
    {"--maxrregcount", true, FF__NVCC_NOTHING},
    {"-Xptxas", true, FF__NVCC_NOTHING},
    {"--ptxas-options", true, FF__NVCC_NOTHING},
    {"-cudart", true, FF__NVCC_NOTHING},
    {"--cudart", true, FF__NVCC_NOTHING},
    {"-ccbin", true, FF__NVCC_NOTHING},
    {"--compiler-bindir", true, FF__NVCC_NOTHING},
    {"--threads", true, FF__NVCC_NOTHING},
};

enum ff__nvcc_kind ff__nvcc_read(int count, char **words, int *at, const char **value) {
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const struct nvcc_option *option = &options[i];
        *value = option->has_value ? ff__cuda_value_of(option->name, count, words, at) : "";
        if (*value && (option->has_value || strcmp(words[*at], option->name) == 0))
            return option->kind == FF__NVCC_RELOCATABLE && strcmp(*value, "false") == 0
                       ? FF__NVCC_NOTHING
                       : option->kind;
    }
    return FF__NVCC_NONE;
}

unsigned ff__nvcc_arch(const char *value) {
    const char *text = strncmp(value, "arch=", 5) == 0 ? value + 5 : value;
    unsigned number = 0;
    int end = 0;
    if (sscanf(text, "sm_%3u%n", &number, &end) != 1 &&
        sscanf(text, "compute_%3u%n", &number, &end) != 1)
        return 0;
    return text[end] == '\0' || text[end] == ',' ? number : 0;
}
