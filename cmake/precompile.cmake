# precompile(target header): with EMBER_PRECOMPILE, the headers that most files of a target include are
# compiled once, which spares about half a second of each. A file still includes what it uses.

# ccache takes objects made with such headers from its cache only if it is told to trust them.
if(EMBER_PRECOMPILE AND "${CMAKE_CXX_COMPILER_LAUNCHER}" MATCHES "ccache$" AND
   NOT "$ENV{CCACHE_SLOPPINESS}" MATCHES "pch_defines")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

function(precompile target header)
  if(EMBER_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled/${header})
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
endfunction()
