// x[...] and x[...] = v. Ints, slices, None and Ellipsis make views; masks, lists and integer
// tensors go to the index ops. An index is first read into Items, then applied; the two hottest
// kinds, x[i] and x[a:b], skip that.
#include "ops/create.h"
#include "ops/overlap.h"
#include "ops/view_op.h"
#include "python/overrides.h"
#include "python/python.h"

namespace ember::python {

namespace {

struct Item {
  enum Kind : uint8_t { Int, Slice, NewAxis, Ellipsis, Picks } kind;
  int64_t index = 0;                      // Int
  int64_t start = 0, stop = 0, step = 1;  // Slice
  Tensor picks;                           // Picks: positions or a mask ...
  bool flag = false;  // ... or a single bool, which asks for a dimension of its own
  int consumed = 0;   // dimensions of what is indexed that this is for
};
using Items = Few<Item, 6>;

// --- reading an index ----------------------------------------------------------------------------

[[noreturn]] void fail_kind(PyObject* o) {
  fail(Kind::Index,
       "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
       "indices (got ",
       Py_TYPE(o)->tp_name, ")");
}

int64_t integer(PyObject* o) {
  Object index = PyLong_Check(o) ? Object::borrow(o) : checked(PyNumber_Index(o));
  int overflow;
  int64_t i = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  check(!overflow, Kind::Value, "Overflow when unpacking long long");
  return i;
}

void read_slice(PyObject* o, int64_t& start, int64_t& stop, int64_t& step) {
  Py_ssize_t a, b, c;
  checked(PySlice_Unpack(o, &a, &b, &c));
  check(c > 0, Kind::Value, "step must be greater than zero");
  start = a;
  stop = b;
  step = c;
}

// Positions from a bool: the only one, or none.
Tensor flag_positions(bool on) { return on ? zeros({1}, Dtype::Int64) : empty({0}, Dtype::Int64); }

void read_tensor(const Tensor& t, Item& item) {
  if (t.dtype() == Dtype::UInt8 &&
      PyErr_WarnEx(PyExc_UserWarning,
                   "indexing with dtype torch.uint8 is now deprecated, please use a dtype "
                   "torch.bool instead.",
                   1) < 0)
    throw PythonError{};
  bool mask = t.dtype() == Dtype::Bool || t.dtype() == Dtype::UInt8;
  if (t.dim() == 0 && mask) {
    item.kind = Item::Picks;
    item.flag = true;
    item.picks = flag_positions(ember::item(t).to<bool>());
  } else if (t.dim() == 0 && is_integral(t.dtype()) && !t.device().is_meta()) {
    item.kind = Item::Int;
    item.index = ember::item(t).to<int64_t>();
  } else {
    check(mask || t.dtype() == Dtype::Int64 || t.dtype() == Dtype::Int32, Kind::Index,
          "tensors used as indices must be long, int, byte or bool tensors, got ", t.dtype());
    item.kind = Item::Picks;
    item.picks = t;
  }
}

void read_item(PyObject* o, Item& item) {
  if (PyLong_CheckExact(o)) {
    item.kind = Item::Int;
    item.index = integer(o);
  } else if (PySlice_Check(o)) {
    item.kind = Item::Slice;
    read_slice(o, item.start, item.stop, item.step);
  } else if (o == Py_None) {
    item.kind = Item::NewAxis;
  } else if (o == Py_Ellipsis) {
    item.kind = Item::Ellipsis;
  } else if (PyBool_Check(o)) {
    item.kind = Item::Picks;
    item.flag = true;
    item.picks = flag_positions(o == Py_True);
  } else if (is_tensor(o)) {
    read_tensor(tensor_of(o), item);
  } else if (is_array(o)) {
    read_tensor(tensor_over_array(o), item);
  } else if (PyIndex_Check(o)) {
    item.kind = Item::Int;
    item.index = integer(o);
  } else if (PySequence_Check(o)) {
    Tensor t = tensor_from_data(o, std::nullopt, Device());
    if (is_floating(t.dtype())) t = to(t, Dtype::Int64);  // also what an empty list is
    item.kind = Item::Picks;
    item.picks = t;
  } else {
    fail_kind(o);
  }
}

// A list stands for a tuple if it holds what only a tuple can: slices, None, tensors, other
// sequences.
bool acts_as_tuple(PyObject* o) {
  if (PyTuple_Check(o)) return true;
  if (!PyList_Check(o) || PyList_GET_SIZE(o) >= 32) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); i++) {
    PyObject* item = PyList_GET_ITEM(o, i);
    if (item == Py_None || item == Py_Ellipsis || PySlice_Check(item) || is_tensor(item) ||
        PyList_Check(item) || PyTuple_Check(item) || (PySequence_Check(item) && !is_number(item)))
      return true;
  }
  return false;
}

int dimensions_for(const Item& item) {
  if (item.kind == Item::Int || item.kind == Item::Slice) return 1;
  if (item.kind != Item::Picks || item.flag) return 0;
  bool mask = item.picks.dtype() == Dtype::Bool || item.picks.dtype() == Dtype::UInt8;
  return mask ? item.picks.dim() : 1;
}

void read_items(PyObject* key, Items& items) {
  if (!acts_as_tuple(key)) {
    items.resize(1);
    read_item(key, items[0]);
    items[0].consumed = dimensions_for(items[0]);
    return;
  }
  Object tuple =
      checked(PySequence_Tuple(key));  // reading an item may run Python, which may change a list
  size_t n = size_t(PyTuple_GET_SIZE(tuple.get()));
  check(n <= 2 * kMaxDims, Kind::Index, "too many indices (", n, ")");
  items.resize(n);
  for (size_t i = 0; i < n; i++) {
    read_item(PyTuple_GET_ITEM(tuple.get(), Py_ssize_t(i)), items[i]);
    items[i].consumed = dimensions_for(items[i]);
  }
}

// --- applying it ---------------------------------------------------------------------------------

// What an index picks: a view, or a view and positions in it.
struct Target {
  Tensor view;
  TensorList positions;
};

int check_count(const Tensor& self, const Items& items) {
  int used = 0;
  for (const Item& item : items) {
    used += item.consumed;
    if (self.dim() == 0 && item.kind == Item::Slice)
      fail(Kind::Index, "slice() cannot be applied to a 0-dim tensor.");
  }
  check(used <= self.dim(), Kind::Index, "too many indices for tensor of dimension ", self.dim());
  return used;
}

[[noreturn]] void fail_bounds(int64_t index, int64_t dim, int64_t size) {
  fail(Kind::Index, "index ", index, " is out of bounds for dimension ", dim, " with size ", size);
}

// Where the elements of a view are, and which op shows as many of them: none if it shows all.
struct Place {
  Shape shape, strides;
  int64_t offset;
  const char* op = nullptr;
};

// `used` is how many dimensions the items are for; those with picks are left as they are.
template <class List>
Place place_of(const Tensor& self, const List& items, int used) {
  const Shape &sizes = self.shape(), &steps = self.strides();
  Place out{{}, {}, self.offset()};
  int dim = 0;
  bool widened = false;
  auto keep = [&](int n) {
    for (int i = 0; i < n; i++, dim++)
      out.shape.push_back(sizes[dim]), out.strides.push_back(steps[dim]);
  };
  auto add = [&] {
    out.shape.push_back(1);
    out.strides.push_back(dim < self.dim() ? sizes[dim] * steps[dim] : 1);
    out.op = "unsqueeze";
  };
  for (const Item& item : items) {
    switch (item.kind) {
      case Item::Int: {
        int64_t n = sizes[dim];
        if (item.index < -n || item.index >= n) fail_bounds(item.index, dim, n);
        out.offset += (item.index < 0 ? item.index + n : item.index) * steps[dim++];
        out.op = "select";
        break;
      }
      case Item::Slice: {
        int64_t n = sizes[dim];
        int64_t from = std::clamp<int64_t>(item.start < 0 ? item.start + n : item.start, 0, n);
        int64_t to = std::clamp<int64_t>(item.stop < 0 ? item.stop + n : item.stop, from, n);
        int64_t step;  // where it is too large, there is one element at most
        if (__builtin_mul_overflow(steps[dim], item.step, &step)) step = 1;
        if (item.start != 0 || item.stop < n || item.step != 1) out.op = "slice";
        out.offset += from * steps[dim++];
        out.shape.push_back((to - from) / item.step + ((to - from) % item.step != 0));
        out.strides.push_back(step);
        break;
      }
      case Item::NewAxis: add(); break;
      case Item::Ellipsis:  // only the first one stands for anything
        if (!std::exchange(widened, true)) keep(self.dim() - used);
        break;
      case Item::Picks:
        if (item.flag) add();
        keep(item.consumed);
    }
  }
  keep(self.dim() - dim);
  return out;
}

Tensor view_at(const Tensor& self, Place place) {
  return make_view(self, std::move(place.shape), std::move(place.strides), place.offset);
}

// The view, with one node for all of the index; `self` if that shows all of it.
template <class List>
Tensor view_of(const Tensor& self, const List& items, int used) {
  Place place = place_of(self, items, used);
  const char* op = place.op;
  if (!op) return self;
  Tensor out = view_at(self, std::move(place));
  if (!grad_needed(self)) return out;
  auto kept = std::make_shared<std::vector<Item>>(items.begin(), items.end());
  for (Item& item : *kept) item.picks = Tensor();
  // With history: a gradient may be differentiated any number of times.
  auto part = [kept, used](const Tensor& x) -> Tensor { return view_of(x, *kept, used); };
  return tape(out, op, wrt(self, [part, shape = self.shape()](const Tensor& g) {
                return ember::place(g, shape, "index_backward", part);
              }));
}

// For every dimension of the view, what picks of it; undefined where it is all.
TensorList positions_of(const Tensor& self, const Items& items, int used) {
  TensorList out;
  bool widened = false;
  for (const Item& item : items) {
    if (item.kind == Item::Picks)
      out.push_back(item.picks);
    else if (item.kind == Item::Slice || item.kind == Item::NewAxis)
      out.emplace_back();
    else if (item.kind == Item::Ellipsis && !std::exchange(widened, true))
      out.resize(out.size() + size_t(self.dim() - used));
  }
  return out;
}

Target target_of(const Tensor& self, const Items& items) {
  int used = check_count(self, items);
  Tensor view = view_of(self, items, used);
  for (const Item& item : items)
    if (item.kind == Item::Picks) return {view, positions_of(self, items, used)};
  return {view.same(self) ? view_alias(self) : view, {}};
}

Tensor get(const Tensor& self, PyObject* key) {
  if (PyLong_CheckExact(key)) {
    check(self.dim() > 0, Kind::Index,
          "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
          "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
    return select(self, 0, integer(key));
  }
  if (PySlice_Check(key)) {
    check(self.dim() > 0, Kind::Index, "slice() cannot be applied to a 0-dim tensor.");
    int64_t start, stop, step;
    read_slice(key, start, stop, step);
    return slice(self, 0, start, stop, step);
  }
  Items items;
  read_items(key, items);
  Target t = target_of(self, items);
  return t.positions.empty() ? t.view : index(t.view, t.positions);
}

// --- assignment ----------------------------------------------------------------------------------

// The value to assign, as a tensor of the right dtype and device.
Tensor value_for(const Tensor& self, PyObject* o) {
  if (is_tensor(o)) return tensor_of(o);
  check(is_number(o), Kind::Type, "can't assign a ", Py_TYPE(o)->tp_name, " to a tensor of ",
        self.dtype());
  Scalar s;
  try {
    s = scalar_of(o);
  } catch (const Error& e) {
    if (e.kind() != Kind::Overflow) throw;
    fail(Kind::Value, "Overflow when unpacking long long");
  }
  check(s.type() != Scalar::Type::UInt, Kind::Value, "Overflow when unpacking long long");
  create::check_fits(s, self.dtype());
  return scalar_tensor(s, self.dtype(), self.device());
}

// Without leading dimensions of size 1 that the target does not have.
Tensor trimmed(const Tensor& value, int ndim) {
  if (value.dim() <= ndim) return value;
  int extra = 0;
  while (extra < value.dim() - ndim && value.shape()[extra] == 1) extra++;
  if (!extra) return value;
  return reshape(value, Shape(value.shape().data() + extra, value.dim() - extra));
}

// self[mask] = number, without counting where the mask is set.
bool fill_masked(const Target& t, const Tensor& value) {
  int first = -1;  // the dimension where the mask, the only index left, begins
  for (size_t i = 0; i < t.positions.size(); i++) {
    if (!t.positions[i]) continue;
    if (first >= 0) return false;
    first = int(i);
  }
  if (first < 0) return false;
  const Tensor& mask = t.positions[size_t(first)];
  if (mask.dtype() != Dtype::Bool || value.numel() != 1 || mask.dim() == 0 ||
      mask.device().kind != t.view.device().kind || first + mask.dim() > t.view.dim())
    return false;
  for (int d = 0; d < mask.dim(); d++)
    if (mask.shape()[d] != t.view.shape()[first + d])
      return false;  // index_put_ says what is wrong
  Shape shape = Shape::filled(t.view.dim(), 1), strides = Shape::filled(t.view.dim(), 0);
  for (int d = 0; d < mask.dim(); d++) {
    shape[first + d] = mask.shape()[d];
    strides[first + d] = mask.strides()[d];
  }
  Tensor wide = alias(mask, shape, strides, mask.offset());
  check_in_place("masked_fill_", t.view, Repeats::Deprecated);
  wide = beside("masked_fill_", t.view, wide, Sharing::Aligned);
  Tensor single = value.dim() ? reshape(value, {}) : value;
  if (single.dtype() != t.view.dtype() && !single.device().is_meta())
    create::check_fits(item(single), t.view.dtype(), true);
  if (single.dtype() != t.view.dtype() || !(single.device() == t.view.device()))
    single = to(single, t.view.device(), t.view.dtype());
  single = beside("masked_fill_", t.view, single, Sharing::Copied);
  where(wide, single, t.view, {}, {&t.view, true});
  return true;
}

void set(const Tensor& self, PyObject* key, PyObject* object) {
  Items items;
  read_items(key, items);
  Target t = target_of(self, items);
  Tensor value = value_for(self, object);
  if (t.positions.empty()) {
    copy_(t.view,
          beside("copy_", t.view, trimmed(value, t.view.dim()), Sharing::Copied));  // as NumPy does
    return;
  }
  if (fill_masked(t, value)) return;
  if (!(value.device() == self.device())) value = to(value, self.device(), std::nullopt);
  index_put_(t.view, t.positions, value, false);
}

}  // namespace

PyObject* tensor_subscript(PyObject* self, PyObject* key) {
  if (__builtin_expect(self_overrides(self) || overrides_or_holds(key), 0))
    return guarded([&] { return method_override("__getitem__", {self, key}); });
  return guarded([&] { return wrap(get(tensor_of(self), key)); });
}

int tensor_assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  return guarded(-1, [&] {
    check(value != nullptr, Kind::Type, "Tensor does not support deleting items");
    if (__builtin_expect(self_overrides(self) || overrides(value) || overrides_or_holds(key), 0)) {
      checked(method_override("__setitem__", {self, key, value}));
      return 0;
    }
    set(tensor_of(self), key, value);
    return 0;
  });
}

}  // namespace ember::python
