# farfault_optional(NAME MODULE LACKS): uses a library that pkg-config knows as MODULE, as the cache
# variable FARFAULT_NAME says: AUTO, if it is there; ON, or it is an error; OFF, never. Without it
# the build lacks LACKS, and one line says so. Sets NAME_FOUND.
macro(farfault_optional name module lacks)
    set(FARFAULT_${name} AUTO CACHE STRING "whether to use ${module}: AUTO, ON or OFF")
    set_property(CACHE FARFAULT_${name} PROPERTY STRINGS AUTO ON OFF)
    set(${name}_FOUND FALSE)
    if(FARFAULT_${name} STREQUAL "AUTO" AND NOT FARFAULT_TESTS)
        pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module})
    elseif(FARFAULT_${name} OR FARFAULT_TESTS)
        pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${module})
    endif()
    if(NOT ${name}_FOUND)
        message(STATUS "without ${module}, this is left out: ${lacks}")
    endif()
endmacro()
