/* json_get FILE NAME...: prints what is under these names (of objects) and numbers (of arrays) of a
 * JSON file: a value, or "{N}" and "[N]" for an object and an array of N. Status 1: not there. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *step(const json_t *value, const char *name) {
    return json_is_array(value) ? json_array_get(value, strtoul(name, NULL, 10))
                                : json_object_get(value, name);
}

static void print(const json_t *value) {
    if (json_is_object(value))
        printf("{%zu}\n", json_object_size(value));
    else if (json_is_array(value))
        printf("[%zu]\n", json_array_size(value));
    else if (json_is_string(value))
        puts(json_string_value(value));
    else if (json_is_number(value))
        printf("%.10g\n", json_number_value(value));
    else
        puts(json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null");
}

int main(int argc, char **argv) {
    json_error_t error;
    json_t *all = argc > 1 ? json_load_file(argv[1], 0, &error) : NULL;
    if (!all) {
        fprintf(stderr, "json_get: %s\n", argc > 1 ? error.text : "no file");
        return EXIT_FAILURE;
    }
    const json_t *value = all;
    for (int i = 2; i < argc && value; i++)
        value = step(value, argv[i]);
    if (value)
        print(value);
    int status = value ? EXIT_SUCCESS : EXIT_FAILURE;
    json_decref(all);
    return status;
}
