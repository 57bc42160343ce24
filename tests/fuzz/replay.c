/* Runs a fuzz target over files and folders of inputs, and over each input cut short and changed a
 * little: what a fuzzer once found stays found, without a fuzzer. */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

#define INPUT_MAX 65536

static unsigned long inputs;

static void run(const uint8_t *data, size_t size) {
    LLVMFuzzerTestOneInput(data, size);
    inputs++;
}

static void run_variants(uint8_t *data, size_t size) {
    static const uint8_t others[] = {0, ' ', '=', ',', ':', '.', '-', '0', '9', 'x', 0xff};
    run(data, size);
    for (size_t cut = 0; cut < size && cut < 600; cut++)
        run(data, cut);
    for (size_t at = 0; at < size && at < 600; at++) {
        uint8_t before = data[at];
        for (size_t i = 0; i < sizeof others; i++) {
            data[at] = others[i];
            run(data, size);
        }
        data[at] = before;
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
