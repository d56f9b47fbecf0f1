// What is compiled once per ISA level lives in a namespace of the level's name. This declares
// functions in each of them, as a rule one that returns the level's table; cpu/dispatch.h has what
// chooses among them.
#pragma once

#define EMBER_DECLARE_LEVELS(...) \
  namespace baseline {            \
  __VA_ARGS__                     \
  }                               \
  namespace avx2 {                \
  __VA_ARGS__                     \
  }                               \
  namespace avx512 {              \
  __VA_ARGS__                     \
  }
