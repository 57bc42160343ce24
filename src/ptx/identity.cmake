# Run as a script, with FOLDER and OUTPUT: writes identity.h's text, which changes with any of the
# sources.
file(GLOB sources ${FOLDER}/*.[chd]* ${FOLDER}/device/*)
# The analysis of launches has no part in what is translated.
list(FILTER sources EXCLUDE REGEX "/extent[^/]*$")
set(digests)
foreach(source IN LISTS sources)
    file(SHA256 ${source} digest)
    string(APPEND digests ${digest})
endforeach()
string(SHA256 digest ${digests})
file(WRITE ${OUTPUT}
     "#include \"ptx/identity.h\"\n\nconst char ff__ptx_identity[] = \"${digest}\";\n")
