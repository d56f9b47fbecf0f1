# Builds for 64-bit ARM on another machine, with Debian's cross compiler: see docs/building.md.
# EMBER_SYSROOT is a directory with that machine's Python: its headers, and what tests run in.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_STRIP aarch64-linux-gnu-strip)

set(EMBER_SYSROOT "" CACHE PATH "Where the packages of Python for aarch64 were unpacked")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES EMBER_SYSROOT)
file(GLOB include ${EMBER_SYSROOT}/usr/include/python3.*)
if(NOT include)
  message(FATAL_ERROR "EMBER_SYSROOT must have usr/include/python3.*: '${EMBER_SYSROOT}'")
endif()
set(Python_INCLUDE_DIR ${include})
string(REGEX REPLACE ".*python3[.]([0-9]+)$" "cpython-3\\1-aarch64-linux-gnu" EMBER_SOABI ${include})
# Debian's pyconfig.h leads to the one of the machine; the compiler's own headers come first.
set(CMAKE_CXX_FLAGS_INIT "-idirafter ${EMBER_SYSROOT}/usr/include")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${EMBER_SYSROOT})
