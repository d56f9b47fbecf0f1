// A device written in Python: hands every primitive to a method of an `ember.Backend` object
// (ember/backend.py says what each receives). A storage's memory is whatever object the backend's
// `allocate` returned.
#include "backend.h"
#include "ops/ops.h"
#include "python/python.h"

namespace ember::python {

namespace {

class Gil {  // storages may be freed on any thread
 public:
  Gil() : state_(PyGILState_Ensure()) {}
  ~Gil() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

Object object(const Tensor& t) { return t ? checked(wrap_bare(t)) : Object::borrow(Py_None); }
Object object(Dtype d) { return checked(wrap_dtype(d)); }
Object object(const Scalar& s) { return checked(wrap_scalar(s)); }
Object object(const char* text) { return checked(PyUnicode_FromString(text)); }
Object object(int64_t i) { return checked(PyLong_FromLongLong(i)); }
Object object(int i) { return object(int64_t(i)); }
Object object(bool b) { return Object::borrow(b ? Py_True : Py_False); }
Object object(double d) { return checked(PyFloat_FromDouble(d)); }
Object object(const Shape& s) { return checked(wrap_shape(s)); }
Object object(const Params& p) { return checked(Py_BuildValue("(ddd)", p.p0, p.p1, p.p2)); }
Object object(const Object& o) { return o; }
Object object(const TensorList& list) {
  Object made = checked(PyList_New(Py_ssize_t(list.size())));
  for (size_t i = 0; i < list.size(); i++)
    PyList_SET_ITEM(made.get(), Py_ssize_t(i), object(list[i]).release());
  return made;
}

constexpr const char* kModes[] = {"set", "add", "mul", "max", "min"};
constexpr const char* kScans[] = {"sum", "prod", "logsumexp", "max", "min"};

class PythonBackend final : public Backend {
 public:
  explicit PythonBackend(PyObject* self) : self_(Object::borrow(self)) {}

  void* allocate(int64_t bytes) override { return call("allocate", bytes).release(); }
  void deallocate(void* data, int64_t) override {
    if (!data || !Py_IsInitialized()) return;
    Gil gil;
    Py_DECREF(static_cast<PyObject*>(data));
  }
  void copy_bytes(void* to, const void* from, int64_t bytes) override {
    call("copy_bytes", handle(to), handle(const_cast<void*>(from)), bytes);
  }
  void copy_from_host(const Tensor& to, const void* from) override {
    int64_t bytes = to.numel() * to.item_size();
    call("copy_from_host", to, memory(const_cast<void*>(from), bytes, PyBUF_READ));
  }
  void copy_to_host(void* to, const Tensor& from) override {
    call("copy_to_host", memory(to, from.numel() * from.item_size(), PyBUF_WRITE), from);
  }
  void synchronize() override { call("synchronize"); }

  void copy(const Tensor& out, const Tensor& x) override { call("copy", out, x); }
  void fill(const Tensor& out, const Scalar& value) override { call("fill", out, value); }
  void unary(Unary f, Dtype compute, const Tensor& out, const Input& x, const Params& p) override {
    call("unary", name_of(f), compute, out, spread(x, out), p);
  }
  bool unary_grad(Unary, Dtype, const Tensor&, const Input&, const Input&, const Params&) override {
    return false;
  }
  void binary(Binary f, Dtype compute, const Tensor& out, const Input& a, const Input& b) override {
    call("binary", name_of(f), compute, out, spread(a, out), spread(b, out));
  }
  void predicate(Predicate f, Dtype compute, const Tensor& out, const Input& x) override {
    call("predicate", name_of(f), compute, out, spread(x, out));
  }
  void compare(Compare f, Dtype compute, const Tensor& out, const Input& a, const Input& b,
               const Params& p) override {
    call("compare", name_of(f), compute, out, spread(a, out), spread(b, out), p);
  }
  void ternary(Ternary f, Dtype compute, const Tensor& out, const Input& a, const Input& b,
               const Input& c, const Params& p) override {
    call("ternary", name_of(f), compute, out, spread(a, out), spread(b, out), spread(c, out), p);
  }
  void reduce(Reduction f, const Tensor& out, const Tensor& x, const Shape& dims,
              double p) override {
    static const char* names[] = {"sum", "mean", "prod",          "min",  "max",
                                  "any", "all",  "count_nonzero", "norm", "nansum"};
    call("reduce", names[int(f)], out, x, dims, p);
  }
  void extremes(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                bool most) override {
    call("extremes", values, indices, x, dim, most);
  }
  void variance(const Tensor& out, const Tensor& mean, const Tensor& x, const Shape& dims,
                double correction, bool root) override {
    call("variance", out, mean, x, dims, correction, root);
  }
  void matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha,
              const Scalar& beta) override {
    call("matmul", out, a, b, alpha, beta);
  }
  void index_get(const Tensor& out, const Tensor& x, const Indexing& at) override {
    call("index_get", out, x, at.indices, at.first);
  }
  void index_put(const Tensor& self, const Indexing& at, const Tensor& values,
                 ScatterMode mode) override {
    call("index_put", self, at.indices, at.first, values, kModes[int(mode)]);
  }
  void gather(const Tensor& out, const Tensor& x, int dim, const Tensor& index) override {
    call("gather", out, x, dim, index);
  }
  void scatter(const Tensor& self, int dim, const Tensor& index, const Tensor& src,
               ScatterMode mode) override {
    call("scatter", self, dim, index, src, kModes[int(mode)]);
  }
  void scan(Scan f, const Tensor& out, const Tensor& indices, const Tensor& x, int dim) override {
    call("scan", kScans[int(f)], out, indices, x, dim);
  }
  void sort(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
            bool descending) override {
    call("sort", values, indices, x, dim, descending);
  }
  void topk(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, bool largest,
            bool sorted) override {
    call("topk", values, indices, x, dim, largest, sorted);
  }

 private:
  template <class... A>
  Object call(const char* method, const A&... args) {
    Object values[] = {Object::borrow(self_.get()), object(args)...};
    PyObject* raw[1 + sizeof...(args)];
    for (size_t i = 0; i <= sizeof...(args); i++) raw[i] = values[i].get();
    Object name = checked(PyUnicode_InternFromString(method));
    return checked(PyObject_VectorcallMethod(name.get(), raw, 1 + sizeof...(args), nullptr));
  }
  // An operand: a number, or a tensor broadcast to the output's shape.
  static Object spread(const Input& in, const Tensor& out) {
    if (!in.tensor) return object(in.scalar);
    if (!in.strides) return object(*in.tensor);
    return object(alias(*in.tensor, out.shape(), *in.strides, in.tensor->offset()));
  }
  static Object handle(void* data) { return Object::borrow(static_cast<PyObject*>(data)); }
  static Object memory(void* data, int64_t bytes, int flags) {
    static char nothing[1];
    return checked(
        PyMemoryView_FromMemory(data ? static_cast<char*>(data) : nothing, bytes, flags));
  }
  Object self_;
};

PyObject* register_backend_object(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* name;
    PyObject* self;
    if (!PyArg_ParseTuple(args, "sO:register_backend", &name, &self)) return nullptr;
    std::string text = name;
    check(!text.empty() && text.find(':') == std::string::npos && text != "cpu" && text != "meta",
          Kind::Value, "register_backend(): a device needs a name of its own without ':', got '",
          text, "'");
    register_backend(text, new PythonBackend(self));
    Py_RETURN_NONE;
  });
}

PyObject* memory_of(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    check(is_tensor(o), Kind::Type, "memory_of(): expected a Tensor, got ", Py_TYPE(o)->tp_name);
    const Tensor& t = tensor_of(o);
    check(dynamic_cast<PythonBackend*>(&backend_of(t)), Kind::Type,
          "memory_of(): the tensor is on ", t.device(),
          ", which is not a device written in Python");
    return Py_NewRef(static_cast<PyObject*>(t.storage()->data));
  });
}

PyMethodDef functions[] = {{"_register_backend", register_backend_object, METH_VARARGS, nullptr},
                           {"_memory_of", memory_of, METH_O, nullptr},
                           {}};

}  // namespace

void add_backends(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace ember::python
