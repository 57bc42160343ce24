/* Any lists of systems, memory, oversubscription, devices and seeds are a sweep, or are refused in
 * one line with status 1 or
 * 2. One a line, in this order. */
#include "fuzz/fuzz.h"

#include "cli/sim.h"

static const enum ff__option options_of_lines[] = {
    FF__OPTION_SYSTEMS, FF__OPTION_MEMORY, FF__OPTION_OVERSUBSCRIBE, FF__OPTION_DEVICES,
    FF__OPTION_SEED,    FF__OPTION_JOBS,   FF__OPTION_UNTIMED,       FF__OPTION_CHECK,
};

static void read_lines(char *text, struct ff__options *options) {
    for (size_t i = 0; i < sizeof options_of_lines / sizeof options_of_lines[0]; i++) {
        char *line = strsep(&text, "\n");
        if (line && *line)
            options->text[options_of_lines[i]] = line;
    }
}

static void check_sweep(const struct ff__sweep *sweep) {
    FUZZ_EXPECT(sweep->matrix.subjects.count == 1 && sweep->matrix.footprints[0] > 0 &&
                sweep->matrix.devices.count > 0);
    FUZZ_EXPECT(sweep->devices >= 1 && sweep->devices <= 8 && sweep->study.jobs >= 1);
    for (unsigned i = 0; i < sweep->matrix.budget_count; i++) {
        const struct ff__amount *amount = &sweep->matrix.budgets[i].amount;
        FUZZ_EXPECT(amount->share >= 0 && amount->share < 1e18);
    }
}

/* Reads the options, with what is said on stderr kept. */
static int read_sweep(struct ff__options *options, struct ff__sweep *sweep, char **said) {
    size_t size;
    FILE *before = stderr, *kept = open_memstream(said, &size);
    FUZZ_EXPECT(kept);
    stderr = kept;
    *sweep = (struct ff__sweep){0};
    int status = ff__options_check(options);
    if (!status)
        status = ff__sweep_read(options, false, sweep);
    stderr = before;
    fclose(kept);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size), *words[] = {(char[]){"stream:size=1M"}}, *said = NULL;
    struct ff__options options = {.words = words, .word_count = 1};
    struct ff__sweep sweep;
    read_lines(text, &options);
    options.fallback[FF__OPTION_SYSTEMS] = "demand,nvidia";
    options.fallback[FF__OPTION_MEMORY] = "device";
    options.fallback[FF__OPTION_DEVICES] = options.fallback[FF__OPTION_SEED] = "1";
    options.text[FF__OPTION_GPU] = GPUS "/gtx1080ti.json";
    int status = read_sweep(&options, &sweep, &said);
    FUZZ_EXPECT(status == 0 || status == 1 || status == 2);
    FUZZ_EXPECT((status == 0) == (said[0] == '\0'));
    FUZZ_EXPECT(status == 0 || strchr(said, '\n') == said + strlen(said) - 1);
    if (status == 0)
        check_sweep(&sweep);
    ff__sweep_free(&sweep);
    free(said);
    free(text);
    return 0;
}
