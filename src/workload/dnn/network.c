/* Reads the texts of networks into lines of words. */
#include "workload/dnn/network.h"

#include "base/grow.h"
#include "base/param.h"

#include "workload/dnn/dnn.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_MAX  ((size_t)1 << 20)
#define NEST_MAX  16u
#define BLANKS    " \t\r"
#define EXTENSION ".txt"

struct network_reader {
    struct ff__network *network;
    struct ff__network_line here;
    uint32_t open[NEST_MAX], depth; /* blocks and repeats whose end is to come */
    struct ff_error *error;
};

static const struct {
    const char *name, *text;
} texts[] = {
#include "networks.inc"
};
#define TEXTS (sizeof texts / sizeof texts[0])

int ff__network_refuse(const struct ff__network_line *line, const char *at, struct ff_error *error,
                       const char *format, ...) {
    const char *from = line->text ? line->text : "";
    size_t column = at ? (size_t)(at - from) : strspn(from, BLANKS);
    char why[200];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return ff__fail(error, -EINVAL, "%.80s:%u:%zu: %s", line->file, line->number, column + 1, why);
}

#define REFUSE_AT(reader, at, ...)                                                                 \
    ff__network_refuse(&(reader)->here, at, (reader)->error, __VA_ARGS__)
#define REFUSE(reader, ...) REFUSE_AT(reader, NULL, __VA_ARGS__)

/* ---- what a network says of itself ---- */

static int set_param(struct network_reader *reader, struct ff_param *param, char *value) {
    struct ff_error why;
    char *help = value + strcspn(value, BLANKS);
    if (*help)
        *help++ = '\0';
    help += strspn(help, BLANKS);
    if (ff__param_set(param, value, &param->initial, &why))
        return REFUSE_AT(reader, value, "%s", why.message);
    param->help = *help ? help : param->help;
    return 0;
}

/* 1: the line is none of this kind. */
static int read_header(struct network_reader *reader, const char *word, char *value) {
    struct ff__network *network = reader->network;
    if (strcmp(word, "batch") == 0)
        return set_param(reader, &network->params[FF__NETWORK_BATCH], value);
    if (strcmp(word, "length") == 0)
        return set_param(reader, &network->params[FF__NETWORK_LENGTH], value);
    if (strcmp(word, "inference") == 0 && !*value)
        network->infers = true;
    else if (strcmp(word, "summary") == 0)
        network->type.summary = value;
    else
        return 1;
    return 0;
}

/* ---- lines ---- */

static int read_text(struct network_reader *reader, const char *file, const char *text,
                     size_t length);

static int include(struct network_reader *reader, const char *name) {
    for (size_t i = 0; i < TEXTS; i++)
        if (strcmp(texts[i].name, name) == 0)
            return read_text(reader, texts[i].name, texts[i].text, strlen(texts[i].text));
    return REFUSE_AT(reader, name, "there is no '%s' to include; data/networks has *.blocks", name);
}

static enum ff__line_kind kind_of(const char *word) {
    return strcmp(word, "block") == 0    ? FF__LINE_BLOCK
           : strcmp(word, "repeat") == 0 ? FF__LINE_REPEAT
           : strcmp(word, "end") == 0    ? FF__LINE_END
                                         : FF__LINE_CALL;
}

/* Finds the line that a line of "end" ends. */
static int nest(struct network_reader *reader, const struct ff__network_line *line) {
    struct ff__network *network = reader->network;
    bool block = line->kind == FF__LINE_BLOCK, repeat = line->kind == FF__LINE_REPEAT;
    if (line->kind == FF__LINE_END) {
        if (reader->depth == 0 || line->count > 1)
            return REFUSE(reader, "this end ends nothing");
        network->lines[reader->open[--reader->depth]].end = network->line_count;
    }
    if (block ? line->count < 2 : repeat && line->count != 3)
        return REFUSE(reader, "must be: %s", block ? "block NAME [WORD...]" : "repeat NAME TIMES");
    if (!block && !repeat)
        return 0;
    if (reader->depth == NEST_MAX)
        return REFUSE(reader, "more than %u blocks and repeats in one another", NEST_MAX);
    reader->open[reader->depth++] = network->line_count;
    return 0;
}

static int add_word(struct network_reader *reader, const char *word) {
    struct ff__network *network = reader->network;
    if (strlen(word) >= FF__NETWORK_WORD)
        return REFUSE_AT(reader, word, "'%.32s...' is longer than %d characters", word,
                         FF__NETWORK_WORD - 1);
    if (ff__grow(&network->words, network->word_count, sizeof *network->words))
        return ff__fail(reader->error, -ENOMEM, "no memory for a network");
    network->words[network->word_count++].text = word;
    return 0;
}

/* Its words are the last ones of the network. */
static int add_line(struct network_reader *reader, uint32_t first) {
    struct ff__network *network = reader->network;
    struct ff__network_line line = reader->here;
    const char *word = network->words[first].text;
    line.first = first;
    line.count = network->word_count - first;
    line.kind = kind_of(word);
    if (line.count > FF__NETWORK_WORDS)
        return REFUSE(reader, "more than %d words", FF__NETWORK_WORDS);
    if (strcmp(word, "include") == 0) {
        network->word_count = first;
        return line.count == 2 ? include(reader, network->words[first + 1].text)
                               : REFUSE(reader, "must be: include NAME.blocks");
    }
    int status = nest(reader, &line);
    if (status)
        return status;
    if (ff__grow(&network->lines, network->line_count, sizeof *network->lines))
        return ff__fail(reader->error, -ENOMEM, "no memory for a network");
    network->lines[network->line_count++] = line;
    return 0;
}

static char *trim(char *text) {
    text[strcspn(text, "#")] = '\0';
    text += strspn(text, BLANKS);
    for (size_t end = strlen(text); end > 0 && strchr(BLANKS, text[end - 1]); end--)
        text[end - 1] = '\0';
    return text;
}

static int read_line(struct network_reader *reader, char *text) {
    const uint32_t first = reader->network->word_count;
    char *rest = trim(text), *word = strsep(&rest, BLANKS);
    char none[] = "";
    int status = read_header(reader, word, rest ? rest + strspn(rest, BLANKS) : none);
    if (status <= 0)
        return status;
    for (status = 0; word && !status; word = strsep(&rest, BLANKS))
        status = *word ? add_word(reader, word) : 0;
    return status || reader->network->word_count == first ? status : add_line(reader, first);
}

static int read_lines(struct network_reader *reader, char *rest) {
    int status = 0;
    for (char *text; !status && (text = strsep(&rest, "\n"));) {
        reader->here.number++;
        reader->here.text = text;
        for (const char *c = text; *c && !status; c++)
            if ((unsigned char)*c < ' ' && !strchr(BLANKS, *c))
                status = REFUSE_AT(reader, c, "the character %d is none of a text", *c);
        if (!status)
            status = read_line(reader, text);
    }
    return status;
}

static int read_text(struct network_reader *reader, const char *file, const char *text,
                     size_t length) {
    struct ff__network *network = reader->network;
    const struct ff__network_line before = reader->here;
    if (network->text_count == FF__NETWORK_TEXTS)
        return REFUSE(reader, "more than %d texts in one network", FF__NETWORK_TEXTS);
    char *copy = malloc(length + 1);
    if (!copy)
        return ff__fail(reader->error, -ENOMEM, "no memory for a network");
    memcpy(copy, text, length);
    copy[length] = '\0';
    network->texts[network->text_count++] = copy;
    reader->here = (struct ff__network_line){.file = file};
    int status = strlen(copy) < length ? REFUSE(reader, "has a byte of zero: it is no text")
                                       : read_lines(reader, copy);
    if (!status)
        reader->here = before;
    return status;
}

/* ---- networks ---- */

static struct ff__network *make(const char *name) {
    struct ff__network *network = calloc(1, sizeof *network);
    if (!network)
        return NULL;
    network->type = ff__dnn_type;
    network->type.name = network->name;
    network->type.params = network->params;
    memcpy(network->params, ff__dnn_type.params, sizeof network->params);
    snprintf(network->name, sizeof network->name, "%s", name);
    return network;
}

int ff__network_parse(const char *file, const char *text, size_t length, struct ff__network **out,
                      struct ff_error *error) {
    struct network_reader reader = {.network = make(file), .here = {.file = file}, .error = error};
    *out = NULL;
    if (!reader.network)
        return ff__fail(error, -ENOMEM, "no memory for a network");
    int status = read_text(&reader, reader.network->name, text, length);
    if (!status && reader.depth > 0) {
        reader.here = reader.network->lines[reader.open[reader.depth - 1]];
        status = REFUSE(&reader, "this %s has no end",
                        reader.here.kind == FF__LINE_BLOCK ? "block" : "repeat");
    }
    if (!status && reader.network->line_count == 0)
        status = ff__fail(error, -EINVAL, "%.80s: has no statements: it is no network", file);
    if (!status)
        status = ff__network_resolve(reader.network, error);
    if (status)
        ff__network_free(reader.network);
    else
        *out = reader.network;
    return status;
}

void ff__network_free(struct ff__network *network) {
    if (!network)
        return;
    while (network->text_count > 0)
        free(network->texts[--network->text_count]);
    free(network->lines);
    free(network->words);
    free(network->callees);
    ff__symbols_free(&network->symbols);
    free(network);
}

int ff__network_read(const char *path, struct ff__network **out, struct ff_error *error) {
    FILE *file = fopen(path, "rbe");
    char *text = malloc(FILE_MAX + 1);
    *out = NULL;
    errno = file ? 0 : errno;
    size_t length = file && text ? fread(text, 1, FILE_MAX + 1, file) : 0;
    int status = 0;
    if (!file || ferror(file))
        status = ff__fail(error, errno ? -errno : -EIO, "%.200s: %s", path, strerror(errno));
    else if (!text)
        status = ff__fail(error, -ENOMEM, "no memory for a network");
    else if (length > FILE_MAX)
        status = ff__fail(error, -EINVAL, "%.200s: larger than 1 MiB: it is no network", path);
    if (!status)
        status = ff__network_parse(path, text, length, out, error);
    free(text);
    if (file)
        fclose(file);
    return status;
}

const struct ff__workload_type *ff__network_type(const struct ff__network *network) {
    return &network->type;
}

/* ---- built-in ones ---- */

static struct ff__network *built_in[TEXTS];
static unsigned built_in_count;

static void read_built_in(void) {
    for (size_t i = 0; i < TEXTS; i++) {
        struct ff__network **out = &built_in[built_in_count];
        char *extension = strstr(texts[i].name, EXTENSION);
        if (!extension ||
            ff__network_parse(texts[i].name, texts[i].text, strlen(texts[i].text), out, NULL))
            continue;
        *strstr((*out)->name, EXTENSION) = '\0';
        built_in_count++;
    }
}

const struct ff__network *ff__network_at(unsigned index) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_built_in);
    return index < built_in_count ? built_in[index] : NULL;
}
