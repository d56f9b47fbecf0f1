// What is compiled once per ISA level lives in a namespace of that name. This declares a function
// in each of them that returns the level's table; cpu/dispatch.h has what chooses among them.
#pragma once

#define EMBER_DECLARE_LEVELS(Table, name) \
  namespace baseline {                    \
  const Table& name();                    \
  }                                       \
  namespace avx2 {                        \
  const Table& name();                    \
  }                                       \
  namespace avx512 {                      \
  const Table& name();                    \
  }
