/* Names of kernels: as their source has them, told apart where functions are overloaded. */
#include "base/cases.h"

#include "ptx/exec.h"
#include "ptx/program.h"
#include "ptx/source_name.h"

#include <stdlib.h>

static void symbols_become_names(void **state) {
    static const struct {
        const char *symbol, *name, *whole;
    } rows[] = {
        {"_Z5scalePff", "scale", "scale(float*, float)"},
        {"_ZL5scalePff", "scale", "scale(float*, float)"},
        {"_Z5scaleIfLi256EEvPT_S0_", "scale<float, 256>", "scale<float, 256>(float*, float)"},
        {"_ZN5solve4stepEv", "step", "solve::step()"},
        {"_ZN12_GLOBAL__N_14stepEPFviE", "step", "(anonymous namespace)::step(void (*)(int))"},
        {"_Z3mulIL4type2ELb0EEvPKv", "mul<(type)2, false>", "mul<(type)2, false>(void const*)"},
        {"_ZN4item6numberE", "number", "item::number"},
        {"_ZN4math5scaleIN5units5meterEEEvPT_", "scale<units::meter>",
         "math::scale<units::meter>(units::meter*)"},
        {"scale", "scale", "scale"},
        {"_scale", "_scale", "_scale"},
        {"_Zero", "_Zero", "_Zero"},
        {"", "", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *name = ff__ptx_source_name(rows[i].symbol, false);
        char *whole = ff__ptx_source_name(rows[i].symbol, true);
        assert_string_equal(name, rows[i].name);
        assert_string_equal(whole, rows[i].whole);
        free(name);
        free(whole);
    }
}

static void overloaded_kernels_have_their_parameters(void **state) {
    static const char text[] = ".version 6.4\n.target sm_70\n.address_size 64\n"
                               ".visible .entry _Z5scalePf() { ret; }\n"
                               ".visible .entry _Z4stepPf() { ret; }\n"
                               ".visible .entry _Z5scalePd() { ret; }\n"
                               ".visible .entry plain() { ret; }\n"
                               ".visible .entry _Z5scalePi() { ret; }\n";
    static const char *const names[] = {"scale(float*)", "step", "scale(double*)", "plain",
                                        "scale(int*)"};
    const struct ff__ptx_options options = {.cache = NULL};
    struct ff__ptx_program *program;
    struct ff__ptx_kernel *kernel;
    struct ff_error error = {""};
    (void)state;
    assert_int_equal(ff__ptx_load(text, sizeof text - 1, &options, &program, &error), 0);
    assert_int_equal(ff__ptx_kernel(program, "plain", &kernel, &error), 0);
    assert_int_equal(program->kernel_count, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_string_equal(program->kernels[i].name, names[i]);
    ff__ptx_unload(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(symbols_become_names),
                                       cmocka_unit_test(overloaded_kernels_have_their_parameters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
