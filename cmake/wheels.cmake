# Finds what ember takes from PyPI packages, in an ordinary environment and in pip's isolated build
# environment (whose files are not under sys.prefix, so their packages' records are asked).
#   EMBER_ONEDNN_INCLUDE      oneDNN's headers
#   EMBER_LIBDNNL             the library, and EMBER_ONEDNN_LICENSES the licences it comes with
#   EMBER_WHEEL_LIBRARY_DIRS  where libdnnl and OpenBLAS are now: the rpath of a build used in place

# Sets `variable` to the path of the file of an installed `package` that ends in `name`, else to "".
function(wheel_file variable package name)
  execute_process(
    COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/wheel_file.py ${package} ${name}
    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${variable} "${path}" PARENT_SCOPE)
endfunction()

set(EMBER_ONEDNN_INCLUDE)
set(EMBER_ONEDNN_LICENSES)
set(EMBER_LIBDNNL)
if(EMBER_ONEDNN)
  wheel_file(header onednn-devel-cpu-gomp include/dnnl.h)
  wheel_file(EMBER_LIBDNNL onednn-cpu-gomp libdnnl.so.3)
  if(NOT header OR NOT EMBER_LIBDNNL)
    message(FATAL_ERROR
      "oneDNN was not found for ${Python_EXECUTABLE}: pip install onednn-devel-cpu-gomp, "
      "or build without it (-DEMBER_ONEDNN=OFF)")
  endif()
  cmake_path(GET header PARENT_PATH EMBER_ONEDNN_INCLUDE)
  foreach(name LICENSE THIRD-PARTY-PROGRAMS)
    wheel_file(path onednn-cpu-gomp share/doc/onednn/${name})
    list(APPEND EMBER_ONEDNN_LICENSES ${path})
  endforeach()
endif()

wheel_file(openblas scipy-openblas32 libscipy_openblas.so)   # not in pip's build environment
set(EMBER_WHEEL_LIBRARY_DIRS)
foreach(path ${EMBER_LIBDNNL} ${openblas})
  cmake_path(GET path PARENT_PATH directory)
  list(APPEND EMBER_WHEEL_LIBRARY_DIRS ${directory})
endforeach()
