# One OpenMP runtime for ember's loops and for oneDNN, which is linked to GCC's libgomp.
#   ember_openmp   compile and link flags
#   EMBER_LIBGOMP  the compiler's libgomp.so.1, which is installed next to _C

find_package(OpenMP REQUIRED COMPONENTS CXX)
add_library(ember_openmp INTERFACE)
target_compile_options(ember_openmp INTERFACE ${OpenMP_CXX_FLAGS})
target_link_options(ember_openmp INTERFACE ${OpenMP_CXX_FLAGS})

# oneDNN's wheel needs libgomp.so.1 and does not contain it. The copy keeps its plain soname: whoever
# loads libgomp first (ember, torch, scikit-learn) then shares it with all that follow. With clang,
# ember's own loops use LLVM's libomp, a second pool of threads: correct, but prefer GCC for release.
execute_process(
  COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libgomp.so.1
  OUTPUT_VARIABLE EMBER_LIBGOMP OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(IS_ABSOLUTE "${EMBER_LIBGOMP}")
  file(REAL_PATH "${EMBER_LIBGOMP}" EMBER_LIBGOMP)
else()
  message(WARNING "libgomp.so.1 was not found; oneDNN will need the system to provide it")
  set(EMBER_LIBGOMP)
endif()
