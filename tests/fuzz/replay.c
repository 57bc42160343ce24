/* Runs a fuzz target over files and folders of inputs, and over each input cut short and changed a
 * little: what a fuzzer once found stays found, without a fuzzer. */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

#define INPUT_MAX 65536

#ifndef CHANGES
#define CHANGES 600u /* places of an input that are changed */
#endif

static unsigned long inputs;

static void run(const uint8_t *data, size_t size) {
    LLVMFuzzerTestOneInput(data, size);
    inputs++;
}

/* Place number i of those that are cut or changed: half of them side by side at the beginning,
 * where heads of files are, the others all over the rest. */
static size_t place(size_t i, size_t count, size_t size) {
    size_t head = count / 2;
    if (i < head)
        return i;
    return head + (i - head) * (size - head) / (count - head);
}

static void run_variants(uint8_t *data, size_t size) {
    static const uint8_t others[] = {0, ' ', '=', ',', ':', '.', '-', '0', '9', 'x', 0xff};
    size_t count = size < CHANGES ? size : CHANGES;
    run(data, size);
    for (size_t i = 0; i < count; i++)
        run(data, place(i, count, size));
    for (size_t i = 0; i < count; i++) {
        uint8_t *at = &data[place(i, count, size)], before = *at;
        for (size_t k = 0; k < sizeof others; k++) {
            *at = others[k];
            run(data, size);
        }
        *at = before;
    }
}

static int run_file(const char *path) {
    static uint8_t data[INPUT_MAX];
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "cannot open %s\n", path);
        return 1;
    }
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    while (size > 0 && data[size - 1] == '\n') /* editors end files so */
        size--;
    run_variants(data, size);
    return 0;
}

static int run_folder(const char *path, DIR *folder) {
    const struct dirent *entry;
    int failed = 0;
    while ((entry = readdir(folder))) {
        char file[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        failed |= run_file(file);
    }
    closedir(folder);
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        failed |= folder ? run_folder(argv[i], folder) : run_file(argv[i]);
    }
    printf("%lu inputs\n", inputs);
    return failed || inputs == 0;
}
