# OPENCL_PROGRAMS, CUDA_PROGRAMS: the names in examples/programs.def, the one list of programs.
set(list ${PROJECT_SOURCE_DIR}/examples/programs.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
foreach(interface OpenCL CUDA)
    string(TOUPPER ${interface}_PROGRAMS names)
    file(STRINGS ${list} ${names} REGEX "^FF_PROGRAM\\(\"[^\"]*\", ${interface},")
    list(TRANSFORM ${names} REPLACE "^FF_PROGRAM\\(\"([^\"]+)\".*" "\\1")
endforeach()
