// Shared libraries opened on first use (BLAS/LAPACK, oneDNN): found by the extension's rpath.
#pragma once

#include <dlfcn.h>

#include "check.h"

namespace ember::cpu {

class Library {
 public:
  // `package` is what a user would install to get `file`.
  Library(const char* file, const char* package)
      : file_(file), handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) {
      const char* why = dlerror();
      fail(Kind::Runtime, "could not load ", file, " (", why ? why : "no reason given",
           "); install it with: pip install ", package);
    }
  }
  template <class F>
  F get(const char* symbol) const {
    void* found = dlsym(handle_, symbol);
    check(found != nullptr, Kind::Runtime, file_, " has no symbol ", symbol);
    return reinterpret_cast<F>(found);
  }

 private:
  const char* file_;
  void* handle_;
};

}  // namespace ember::cpu
