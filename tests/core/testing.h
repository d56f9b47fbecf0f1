// The least that a C++ test needs: EXPECT() counts and reports, a test ends by returning finish().
#pragma once

#include <cstdio>

namespace testing {
inline int failures = 0, checks = 0;
inline int finish() {
  std::printf("%d checks, %d failed\n", checks, failures);
  return failures != 0;
}
}  // namespace testing

#define EXPECT(...)                                                         \
  do {                                                                      \
    testing::checks++;                                                      \
    if (!(__VA_ARGS__)) {                                                   \
      testing::failures++;                                                  \
      std::printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
    }                                                                       \
  } while (0)
