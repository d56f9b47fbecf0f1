// What ember/compiler needs of the core: the rows of the tables as text, their kernels,
// the threads that run what was generated, and the disk that keeps it.
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "cpu/fused.h"
#include "disk.h"
#include "python/python.h"
#include "reductions.h"

namespace ember::python {

namespace {

// --- rows ---

void append(PyObject* list, const char* kind, const char* name, const char* keep, Types facts,
            PyObject* texts) {
  Object row = checked(
      Py_BuildValue("(sssNO)", kind, name, keep, texts, facts & kTurns ? Py_True : Py_False));
  checked(PyList_Append(list, row.get()));
}
// The same for all rows of one kind.
template <class Row, class Texts>
void append(PyObject* list, const char* kind, int rows, Texts texts) {
  for (Row f{}; int(f) < rows; f = Row(int(f) + 1))
    append(list, kind, name_of(f), "never", types_of(f), texts(f));
}

constexpr const char* kKeep[] = {"none", "x", "y", "never"};

// _rows() -> a tuple for each row: kind, name, what the tape keeps, texts (formula, derivatives
// ...; of a fold how it joins and starts, of a reduction its fold and how it finishes), whether it
// is periodic.
PyObject* rows(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    Object list = checked(PyList_New(0));
    for (int i = 0; i < kUnaryRows; i++) {
      const Unary f = Unary(i);
      append(list.get(), "unary", name_of(f), kKeep[int(keep_of(f))], types_of(f),
             Py_BuildValue("(ss)", formula_of(f), derivative_of(f)));
    }
    append<Predicate>(list.get(), "predicate", kPredicateRows,
                      [](Predicate f) { return Py_BuildValue("(s)", formula_of(f)); });
    append<Binary>(list.get(), "binary", kBinaryRows, [](Binary f) {
      return Py_BuildValue("(sss)", formula_of(f), gradient_of(f, 0), gradient_of(f, 1));
    });
    append<Compare>(list.get(), "compare", kCompareRows,
                    [](Compare f) { return Py_BuildValue("(s)", formula_of(f)); });
    append<Ternary>(list.get(), "ternary", kTernaryRows, [](Ternary f) {
      return Py_BuildValue("(ssss)", formula_of(f), gradient_of(f, 0), gradient_of(f, 1),
                           gradient_of(f, 2));
    });
    for (int i = 0; i < kFolds; i++)
      append(list.get(), "fold", name_of(Fold(i)), "never", 0,
             Py_BuildValue("(ss)", text_of(Fold(i)), start_of(Fold(i))));
    for (int i = 0; i < kReductions; i++) {
      const ReductionRow& row = ember::row_of(Reduction(i));
      append(list.get(), "reduction", row.name, "never", 0,
             Py_BuildValue("(ss)", name_of(row.fold), text_of(row.finish)));
    }
    return list.release();
  });
}

template <class Row>
Row row_of(int i, int rows) {
  check(i >= 0 && i < rows, Kind::Index, "_row_kernel(): there is no row ", i);
  return Row(i);
}

// _row_kernel(kind, i, dtype) -> (address, dtype it computes in) of the i-th row of a kind; None if
// there is no kernel. kind is as in _rows(), or "unary_grad".
PyObject* row_kernel(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* text;
    int i;
    PyObject* dtype;
    if (!PyArg_ParseTuple(args, "siO:_row_kernel", &text, &i, &dtype)) return nullptr;
    const Dtype d = dtype_of_object(dtype);
    const std::string kind = text;
    cpu::RowKernel k;
    if (kind == "unary")
      k = cpu::row_kernel(row_of<Unary>(i, kUnaryRows), d);
    else if (kind == "unary_grad")
      k = cpu::row_grad_kernel(row_of<Unary>(i, kUnaryRows), d);
    else if (kind == "predicate")
      k = cpu::row_kernel(row_of<Predicate>(i, kPredicateRows), d);
    else if (kind == "binary")
      k = cpu::row_kernel(row_of<Binary>(i, kBinaryRows), d);
    else if (kind == "compare")
      k = cpu::row_kernel(row_of<Compare>(i, kCompareRows), d);
    else if (kind == "ternary")
      k = cpu::row_kernel(row_of<Ternary>(i, kTernaryRows), d);
    else
      check(false, Kind::Value, "_row_kernel(): there is no kind \"", kind, "\"");
    if (!k.address) Py_RETURN_NONE;
    return Py_BuildValue("(NN)", PyLong_FromVoidPtr(k.address), wrap_dtype(k.native));
  });
}

// --- running ---

// A buffer of int64, let go of at the end.
class Numbers {
 public:
  explicit Numbers(PyObject* o) {
    if (PyObject_GetBuffer(o, &view_, PyBUF_SIMPLE) < 0) throw PythonError{};
  }
  ~Numbers() { PyBuffer_Release(&view_); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  int64_t size() const { return view_.len / 8; }
  int64_t operator[](int64_t i) const {
    int64_t v;
    std::memcpy(&v, static_cast<const char*>(view_.buf) + i * 8, 8);
    return v;
  }

 private:
  Py_buffer view_;
};

// Where a kernel may read and write: elements first .. last, counted from the tensor's own first.
int64_t checked_pointer(PyObject* o, int64_t size, int64_t first, int64_t last) {
  check(is_tensor(o), Kind::Type, "_run_kernel(): expected a Tensor, got ", Py_TYPE(o)->tp_name);
  const Tensor& t = tensor_of(o);
  check(t.device().is_cpu() && t.impl()->storage, Kind::Runtime,
        "_run_kernel(): the tensors must be in the memory of the CPU");
  check(item_size(t.dtype()) == size, Kind::Type, "_run_kernel(): a kernel for elements of ", size,
        " bytes was given a tensor of ", t.dtype());
  if (first > last) return 0;  // no elements
  const Storage& s = *t.impl()->storage;
  const char* data = static_cast<const char*>(t.data());
  const char* begin = static_cast<const char*>(s.data);
  check(first >= -((data - begin) / size) && last < (begin + s.bytes - data) / size, Kind::Runtime,
        "_run_kernel(): elements ", first, " to ", last,
        " of a tensor lie outside of its memory of ", s.bytes, " bytes");
  return reinterpret_cast<int64_t>(data);
}

// _run_kernel(kernel, items, grain). Each item is (tensors, ranges, words, units): for each tensor
// the size of an element, the first and the last element that the kernel touches, and whether it
// writes there; then the words after the pointers.
PyObject* run_kernel(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *kernel, *list;
    long long grain;
    if (!PyArg_ParseTuple(args, "OOL:_run_kernel", &kernel, &list, &grain)) return nullptr;
    check(PyCapsule_IsValid(kernel, kKernel), Kind::Type,
          "_run_kernel(): expected what _load_code gives, got ", Py_TYPE(kernel)->tp_name);
    check(PyTuple_Check(list) && grain > 0, Kind::Type,
          "_run_kernel(): expected a tuple of items and a positive grain");
    std::vector<std::vector<int64_t>> words(size_t(PyTuple_GET_SIZE(list)));
    std::vector<cpu::FusedItem> items(words.size());
    for (size_t i = 0; i < items.size(); i++) {
      PyObject *tensors, *ranges_of, *rest_of;
      long long units;
      if (!PyArg_ParseTuple(PyTuple_GET_ITEM(list, Py_ssize_t(i)), "O!OOL:_run_kernel",
                            &PyTuple_Type, &tensors, &ranges_of, &rest_of, &units))
        return nullptr;
      const Numbers ranges(ranges_of), rest(rest_of);
      const int64_t count = PyTuple_GET_SIZE(tensors);
      check(ranges.size() == count * 4, Kind::Value, "_run_kernel(): ", count, " tensors and ",
            ranges.size(), " numbers about them; expected 4 for each");
      std::vector<int64_t>& w = words[i];
      w.push_back(0);
      for (int64_t t = 0; t < count; t++) {
        PyObject* o = PyTuple_GET_ITEM(tensors, t);
        w.push_back(checked_pointer(o, ranges[t * 4], ranges[t * 4 + 1], ranges[t * 4 + 2]));
        if (ranges[t * 4 + 3]) tensor_of(o).impl()->storage->version++;
      }
      for (int64_t j = 0; j < rest.size(); j++) w.push_back(rest[j]);
      items[i] = {w.data(), units};
    }
    void* code = PyCapsule_GetPointer(kernel, kKernel);
    cpu::run_fused(reinterpret_cast<cpu::FusedKernel>(code), items.data(), int64_t(items.size()),
                   grain);
    Py_RETURN_NONE;
  });
}

// _load_code(bytes, entry) -> a kernel that begins there in a copy that stays for the rest of the
// process.
PyObject* load_code(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* data;
    Py_ssize_t size, entry;
    if (!PyArg_ParseTuple(args, "y#n:_load_code", &data, &size, &entry)) return nullptr;
    check(entry >= 0 && entry < size, Kind::Value, "_load_code(): ", size,
          " bytes of code have no place ", entry, " to begin at");
    void* memory =
        mmap(nullptr, size_t(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED, Kind::Runtime, "_load_code(): no memory for ", size, " bytes");
    std::memcpy(memory, data, size_t(size));
    if (mprotect(memory, size_t(size), PROT_READ | PROT_EXEC) != 0) {
      munmap(memory, size_t(size));
      check(false, Kind::Runtime, "_load_code(): this system runs no code that a program made");
    }
    return PyCapsule_New(static_cast<char*>(memory) + entry, kKernel, nullptr);
  });
}

// --- the disk ---

constexpr const char* kDisk = "ember.compiler.disk";

// _disk_cache(directory, most) -> a DiskCache, for the functions below.
PyObject* disk_cache(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* path = nullptr;
    long long most;
    if (!PyArg_ParseTuple(args, "O&L:_disk_cache", PyUnicode_FSConverter, &path, &most))
      return nullptr;
    const Object owner = Object::steal(path);
    return PyCapsule_New(new DiskCache(PyBytes_AS_STRING(path), most), kDisk, [](PyObject* o) {
      delete static_cast<DiskCache*>(PyCapsule_GetPointer(o, kDisk));
    });
  });
}

DiskCache& disk_of(PyObject* o) {
  auto* disk = static_cast<DiskCache*>(PyCapsule_GetPointer(o, kDisk));
  if (!disk) throw PythonError{};
  return *disk;
}

// _disk_find(disk, key) -> what was kept, or None.
PyObject* disk_find(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* disk;
    const char* key;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "Oy#:_disk_find", &disk, &key, &size)) return nullptr;
    const std::vector<char> bytes = disk_of(disk).find(std::string(key, size_t(size)));
    if (bytes.empty()) Py_RETURN_NONE;
    return PyBytes_FromStringAndSize(bytes.data(), Py_ssize_t(bytes.size()));
  });
}

// _disk_keep(disk, key, bytes)
PyObject* disk_keep(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* disk;
    const char *key, *data;
    Py_ssize_t size, length;
    if (!PyArg_ParseTuple(args, "Oy#y#:_disk_keep", &disk, &key, &size, &data, &length))
      return nullptr;
    disk_of(disk).keep(std::string(key, size_t(size)), {data, data + length});
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {{"_rows", rows, METH_NOARGS, nullptr},
                           {"_row_kernel", row_kernel, METH_VARARGS, nullptr},
                           {"_run_kernel", run_kernel, METH_VARARGS, nullptr},
                           {"_load_code", load_code, METH_VARARGS, nullptr},
                           {"_disk_cache", disk_cache, METH_VARARGS, nullptr},
                           {"_disk_find", disk_find, METH_VARARGS, nullptr},
                           {"_disk_keep", disk_keep, METH_VARARGS, nullptr},
                           {}};

}  // namespace

void add_compiler(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace ember::python
