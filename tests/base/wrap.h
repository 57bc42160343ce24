/* A function of the test's that stands between the code and another of that name: the test's CMake
 * file links it with --wrap. The function itself is then __real_NAME(). */
#ifndef TESTS_BASE_WRAP_H
#define TESTS_BASE_WRAP_H

#define WRAP(type, name, ...)                                                                      \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

#endif
