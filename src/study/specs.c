#include "study/specs.h"

#include "base/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_parameter(const char *piece) {
    return piece[strcspn(piece, ":=")] == '=';
}

static int add(struct ff__words *specs, const char *piece, struct ff_error *error) {
    if (piece[0] == '\0')
        return ff__fail(error, -EINVAL, "a name is missing at a comma");
    if (!is_parameter(piece)) {
        ff__words_add(specs, ff__text("%s", piece));
        return 0;
    }
    if (specs->count == 0)
        return ff__fail(error, -EINVAL, "'%s' must follow the name that it is for", piece);
    char **last = &specs->items[specs->count - 1];
    *last = ff__text_add(*last, "%c%s", strchr(*last, ':') ? ',' : ':', piece);
    return 0;
}

static int find_twins(const struct ff__words *specs, struct ff_error *error) {
    for (unsigned i = 0; i < specs->count; i++)
        for (unsigned j = 0; j < i; j++)
            if (strcmp(specs->items[i], specs->items[j]) == 0)
                return ff__fail(error, -EINVAL, "'%s' is given twice", specs->items[i]);
    return 0;
}

int ff__specs_split_all(const char *list, struct ff__words *out, struct ff_error *error) {
    struct ff__words pieces = ff__words_split(list);
    int status = 0;
    *out = (struct ff__words){0};
    for (unsigned i = 0; i < pieces.count && !status; i++)
        status = add(out, pieces.items[i], error);
    if (status)
        ff__words_free(out);
    ff__words_free(&pieces);
    return status;
}

int ff__specs_split(const char *list, struct ff__words *out, struct ff_error *error) {
    int status = ff__specs_split_all(list, out, error);
    if (!status && (status = find_twins(out, error)))
        ff__words_free(out);
    return status;
}
