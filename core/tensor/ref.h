// Intrusive reference counting, and the pools that small objects come from.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace ember {

// Thread-local free lists for objects of one size: a new tensor, storage or tape node costs a few
// ns. An object may die on another thread than it was born on; it joins that thread's list.
template <size_t Bytes>
class Pool {
 public:
  static void* take() {
    List& list = local();
    if (Free* p = list.head) {
      list.head = p->next;
      list.count--;
      return p;
    }
    return ::operator new(Bytes);
  }
  static void give(void* p) noexcept {
    List& list = local();
    if (list.count >= kMost || list.closed) return ::operator delete(p);
    auto* f = static_cast<Free*>(p);
    f->next = list.head;
    list.head = f;
    list.count++;
  }

 private:
  static constexpr int kMost = 4096;
  struct Free {
    Free* next;
  };
  struct List {
    Free* head = nullptr;
    int count = 0;
    bool closed = false;
    ~List() {
      closed = true;
      while (head) {
        Free* next = head->next;
        ::operator delete(head);
        head = next;
      }
    }
  };
  static List& local() {
    static thread_local List list;
    return list;
  }
};

// Gives a final class pooled `new` and `delete`.
template <class T>
struct Pooled {
#if defined(__SANITIZE_ADDRESS__)  // let the sanitizer see every allocation
  static void* operator new(size_t bytes) { return ::operator new(bytes); }
  static void operator delete(void* p) { ::operator delete(p); }
#else
  static void* operator new(size_t) { return Pool<(sizeof(T) + 15) / 16 * 16>::take(); }
  static void operator delete(void* p) { Pool<(sizeof(T) + 15) / 16 * 16>::give(p); }
#endif
};

// A counted object has `std::atomic<uint32_t> refs` (starting at 0) and `void destroy()`.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* p) : p_(p) { retain(); }
  Ref(const Ref& other) : p_(other.p_) { retain(); }
  Ref(Ref&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~Ref() { release(); }

  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.p_ == b.p_; }

  // Ownership without counting, for handing a reference through foreign code.
  T* detach() { return std::exchange(p_, nullptr); }
  static Ref adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }

 private:
  void retain() {
    if (p_) p_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (!p_) return;
    // The last owner need not pay for an atomic decrement: nobody else can be counting.
    if (p_->refs.load(std::memory_order_acquire) == 1 ||
        p_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
      p_->destroy();
  }
  T* p_ = nullptr;
};

}  // namespace ember
