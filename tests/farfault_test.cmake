# How tests are made and registered.

set(build release)
if(FARFAULT_SANITIZE MATCHES thread)
    set(build tsan)
    set(prefix tsan.)
    # Else each process sleeps a second at its end, for races of threads that nobody has joined.
    set(tsan_options halt_on_error=1:second_deadlock_stack=1:atexit_sleep_ms=50)
    string(APPEND tsan_options :suppressions=${CMAKE_CURRENT_SOURCE_DIR}/races.txt)
    # it leaves few addresses to the program
    set(sanitizer_settings TSAN_OPTIONS=${tsan_options} FARFAULT_ADDRESS_SPACE=64G)
elseif(FARFAULT_SANITIZE)
    set(build asan)
    set(prefix asan.)
    # The preload comes before the run time that it needs. The C library's thread-local storage is
    # taken for that of glibc 2.19 where its address looks so, and then LeakSanitizer crashes:
    # sanitizer_tls_get_addr.cpp of GCC 12.
    set(asan_options verify_asan_link_order=0:intercept_tls_get_addr=0)
    set(leaks ${CMAKE_CURRENT_SOURCE_DIR}/leaks.txt)
    set(sanitizer_settings ASAN_OPTIONS=${asan_options}
        UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
        LSAN_OPTIONS=print_suppressions=0:suppressions=${leaks})
endif()

# A test's labels say what it needs; this looks for it first.
add_executable(needs needs.c)
target_link_libraries(needs PRIVATE OpenCL::OpenCL)
target_compile_definitions(needs PRIVATE CL_TARGET_OPENCL_VERSION=120)
target_compile_options(needs PRIVATE -fno-sanitize=all)
target_link_options(needs PRIVATE -fno-sanitize=all)

# TEST_WITHOUT takes something away from the machine that a test meets.
add_executable(without without.c)
add_library(without_move MODULE without_move.c)
foreach(target without without_move)
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
    target_link_options(${target} PRIVATE -fno-sanitize=all)
endforeach()
# Every build needs them, whatever tests of it are made.
set_target_properties(needs without without_move PROPERTIES EXCLUDE_FROM_ALL FALSE)

# Where a case skips, skip.c decides what that means.
add_library(test_skip OBJECT skip.c)
target_link_libraries(test_skip PRIVATE PkgConfig::CMOCKA)

# farfault_test_executable(TARGET SOURCE... [LIBRARIES ...]): tests with cmocka, of the library or
# of more than that.
function(farfault_test_executable target)
    cmake_parse_arguments(PARSE_ARGV 1 test "" "" LIBRARIES)
    add_executable(${target} ${test_UNPARSED_ARGUMENTS} $<TARGET_OBJECTS:test_skip>)
    target_link_libraries(${target} PRIVATE ${test_LIBRARIES} farfault_static PkgConfig::CMOCKA)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_options(${target} PRIVATE -Wl,--wrap=_skip)
endfunction()

# farfault_test(NAME COMMAND word... [LABELS label...] [ENVIRONMENT variable=value...]
#               [TIMEOUT seconds] [COST seconds] [STRESS build...])
#
# A word of the command that is the name of a target stands for its file. Labels say what a test
# needs and is good for:
#   threads      runs several threads of ours, and of OpenCL programs those with several threads or
#                queues of their own: these are what the TSan build builds and runs
#   userfaultfd  is skipped where this machine does not permit it
#   move         is skipped where its userfaultfd has no UFFDIO_MOVE
#   io_uring     is skipped where this machine does not permit it
#   opencl       is skipped where there is no OpenCL device
# COST is about how many seconds of one processor it takes: the longest start first.
# STRESS names the builds (release, asan, tsan) in which it is left to `make stress`; there it has
# the label of that name, and what only such tests use is made by the target of that name.
add_custom_target(stress)
function(farfault_test name)
    cmake_parse_arguments(PARSE_ARGV 1 test "" "TIMEOUT;COST"
        "COMMAND;LABELS;ENVIRONMENT;STRESS")
    set(left_out FALSE)
    if(FARFAULT_SANITIZE MATCHES thread AND NOT threads IN_LIST test_LABELS)
        set(left_out TRUE)
    endif()
    set(not_made ${left_out})
    if(build IN_LIST test_STRESS)
        list(APPEND test_LABELS stress)
        set(not_made TRUE)
    endif()
    set(needs)
    foreach(label userfaultfd move io_uring opencl)
        if(label IN_LIST test_LABELS)
            list(APPEND needs ${label})
        endif()
    endforeach()
    set(command)
    if(needs)
        set(command $<TARGET_FILE:without> $<TARGET_FILE:without_move> $<TARGET_FILE:needs> ${needs}
            --)
    endif()
    foreach(word IN LISTS test_COMMAND)
        if(TARGET ${word})
            get_property(decided TARGET ${word} PROPERTY EXCLUDE_FROM_ALL SET)
            if(NOT not_made OR NOT decided) # one test that uses it is enough
                set_target_properties(${word} PROPERTIES EXCLUDE_FROM_ALL ${not_made})
            endif()
            if(not_made AND NOT left_out)
                add_dependencies(stress ${word})
            endif()
            set(word $<TARGET_FILE:${word}>)
        endif()
        list(APPEND command ${word})
    endforeach()
    if(left_out)
        return()
    endif()
    set(TIMEOUT 240)
    set(COST 1)
    foreach(given TIMEOUT COST)
        if(test_${given})
            set(${given} ${test_${given}})
        endif()
    endforeach()
    add_test(NAME ${prefix}${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/run.sh ${command})
    set_tests_properties(${prefix}${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${TIMEOUT} COST
        ${COST}
                         LABELS "${test_LABELS}" ENVIRONMENT
                             "${sanitizer_settings};${test_ENVIRONMENT}")
endfunction()
