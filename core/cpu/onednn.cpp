#include "cpu/onednn.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <list>
#include <mutex>
#include <unordered_map>

#include "cpu/parallel.h"
#include "tensor/allocator.h"

namespace ember::cpu {
namespace {

constexpr size_t kMostPrimitives = 1024;

struct Hash {
  size_t operator()(const PrimitiveKey& key) const { return key.hash(); }
};
struct Cache {
  using Entry = std::pair<PrimitiveKey, PrimitivePtr>;
  std::mutex lock;
  std::list<Entry> order;  // most recently used first
  std::unordered_map<PrimitiveKey, std::list<Entry>::iterator, Hash> index;
};
// Never destroyed: threads may still run while the process exits.
Cache& cache() {
  static Cache* one = new Cache;
  return *one;
}

// Some virtual machines hide the caches of an AMD processor (CPUID 8000001Dh). oneDNN then assumes
// sizes, with which its AVX-512 convolutions leave out a part of their work: wrong numbers.
bool caches_are_hidden() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(0, &a, &b, &c, &d);
  bool amd = b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx;
  if (!amd) return false;
  return !__get_cpuid_count(0x8000001d, 0, &a, &b, &c, &d) || (a & 31) == 0;
#else
  return false;
#endif
}

}  // namespace

void onednn_check(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  fail(status == dnnl_out_of_memory   ? Kind::OutOfMemory
       : status == dnnl_unimplemented ? Kind::NotImplemented
                                      : Kind::Runtime,
       "oneDNN: ", what, " failed with status ", int(status));
}

const OneDnn& onednn() {
  static const OneDnn* loaded = [] {
    Library library("libdnnl.so.3", "onednn-cpu-gomp");
    auto* table = new OneDnn;
#define EMBER_LOAD(name) table->name = library.get<decltype(&::dnnl_##name)>("dnnl_" #name);
    EMBER_ONEDNN_FUNCTIONS(EMBER_LOAD)
#undef EMBER_LOAD
    if (caches_are_hidden())  // a lower level that the user has chosen stays
      library.get<decltype(&::dnnl_set_max_cpu_isa)>("dnnl_set_max_cpu_isa")(dnnl_cpu_isa_avx2);
    onednn_check(table->engine_create(&table->engine, dnnl_cpu, 0), "creating an engine");
    return table;
  }();
  return *loaded;
}

dnnl_stream_t onednn_stream() {
  // Left to the process: a thread's end may come after the library's.
  static thread_local dnnl_stream_t stream = [] {
    dnnl_stream_t made;
    onednn_check(onednn().stream_create(&made, onednn().engine, dnnl_stream_default_flags),
                 "creating a stream");
    return made;
  }();
  return stream;
}

dnnl_primitive_attr_t onednn_attributes() {
  static dnnl_primitive_attr_t attributes = [] {
    dnnl_primitive_attr_t made;
    onednn_check(onednn().primitive_attr_create(&made), "creating attributes");
    onednn_check(onednn().primitive_attr_set_scratchpad_mode(made, dnnl_scratchpad_mode_user),
                 "setting attributes");
    return made;
  }();
  return attributes;
}

Primitive::Primitive(dnnl_primitive_desc_t desc) : desc_(desc) {
  const OneDnn& f = onednn();
  dnnl_status_t status = f.primitive_create(&primitive_, desc);
  if (status != dnnl_success) f.primitive_desc_destroy(desc);
  onednn_check(status, "creating a primitive");
  if (const_dnnl_memory_desc_t wanted = layout(DNNL_ARG_SCRATCHPAD))
    scratch_ = layout_bytes(wanted);
}

Primitive::~Primitive() {
  onednn().primitive_destroy(primitive_);
  onednn().primitive_desc_destroy(desc_);
}

const_dnnl_memory_desc_t Primitive::layout(int argument) const {
  return onednn().primitive_desc_query_md(desc_, dnnl_query_exec_arg_md, argument);
}

void Primitive::run(std::initializer_list<Argument> arguments) const {
  const OneDnn& f = onednn();
  constexpr int kMost = 16;
  dnnl_exec_arg_t passed[kMost];
  int count = 0;
  auto add = [&](int index, const_dnnl_memory_desc_t layout, const void* data) {
    internal_check(count < kMost, "too many arguments for a primitive");
    dnnl_memory_t memory;
    onednn_check(f.memory_create(&memory, layout, f.engine, const_cast<void*>(data)),
                 "wrapping memory");
    passed[count++] = {index, memory};
  };
  for (const Argument& a : arguments) add(a.index, a.layout, a.data);
  void* scratch = allocate(scratch_);
  if (scratch) add(DNNL_ARG_SCRATCHPAD, layout(DNNL_ARG_SCRATCHPAD), scratch);
  dnnl_status_t status;
  {
    UnlockedKernel unlocked(!in_parallel_region());
    status = f.primitive_execute(primitive_, onednn_stream(), count, passed);
  }
  for (int i = 0; i < count; i++) f.memory_destroy(passed[i].memory);
  deallocate(scratch, scratch_);
  onednn_check(status, "running a primitive");
}

PrimitivePtr detail::find_primitive(const PrimitiveKey& key) {
  Cache& c = cache();
  std::lock_guard<std::mutex> hold(c.lock);
  auto found = c.index.find(key);
  if (found == c.index.end()) return nullptr;
  c.order.splice(c.order.begin(), c.order, found->second);
  return found->second->second;
}

PrimitivePtr detail::keep_primitive(const PrimitiveKey& key, PrimitivePtr made) {
  Cache& c = cache();
  PrimitivePtr dropped;  // its destructor runs after the lock is released
  std::lock_guard<std::mutex> hold(c.lock);
  auto found = c.index.find(key);
  if (found != c.index.end()) return found->second->second;  // another thread was first
  c.order.emplace_front(key, made);
  c.index.emplace(key, c.order.begin());
  if (c.order.size() > kMostPrimitives) {
    dropped = c.order.back().second;
    c.index.erase(c.order.back().first);
    c.order.pop_back();
  }
  return made;
}

Layout::Layout(Dtype dtype, int ndim, const int64_t* shape, const int64_t* strides) {
  onednn_check(
      onednn().memory_desc_create_with_strides(&desc_, ndim, shape, onednn_type(dtype), strides),
      "describing a layout");
}

Layout::Layout(Dtype dtype, int ndim, const int64_t* shape) {
  onednn_check(onednn().memory_desc_create_with_tag(&desc_, ndim, shape, onednn_type(dtype),
                                                    dnnl_format_tag_any),
               "describing a layout");
}

Layout::~Layout() { onednn().memory_desc_destroy(desc_); }

void onednn_reorder(const_dnnl_memory_desc_t from, const void* x, const_dnnl_memory_desc_t to,
                    void* y) {
  const OneDnn& f = onednn();
  dnnl_primitive_desc_t desc;
  onednn_check(
      f.reorder_primitive_desc_create(&desc, from, f.engine, to, f.engine, onednn_attributes()),
      "describing a reorder");
  Primitive(desc).run({{DNNL_ARG_FROM, from, x}, {DNNL_ARG_TO, to, y}});
}

}  // namespace ember::cpu
