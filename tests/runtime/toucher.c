/* A library that touches memory, for test_places.c. */
void touch_from_library(char *data);

__attribute__((visibility("default"))) void touch_from_library(char *data) {
    ((volatile char *)data)[0] = 1;
}
