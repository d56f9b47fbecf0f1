// Ops as Python sees them: one callable type with vectorcall, used both as function and as method
// descriptor. A call finds the overload whose parameters fit (op_match.cpp), hands the objects to
// the op's C++ function, and deals with the forms that every op gets from its schema: out= and
// in-place.
#include <map>

#include "ops/overlap.h"
#include "ops/reference.h"
#include "python/op_fallback.h"
#include "python/op_match.h"
#include "python/op_span.h"
#include "python/overrides.h"
#include "python/python.h"
#include "structmember.h"

namespace ember::python {

PyObject* rebuild_tuple(const OpInfo& op, PyObject* parts);

namespace {

enum class Form : uint8_t { Function, Method, InPlaceMethod, InPlaceFunction };

struct PyOp {
  PyObject_HEAD vectorcallfunc vectorcall;
  Form form;
  std::vector<const OpInfo*>* overloads;
  std::string* name;  // "add_" for the in-place form
  PyObject* dict;     // what programs attach, as to PyTorch's functions written in Python
};
PyTypeObject* op_type;

bool in_place(Form f) { return f == Form::InPlaceMethod || f == Form::InPlaceFunction; }
bool is_method(Form f) { return f == Form::Method || f == Form::InPlaceMethod; }

[[noreturn]] void fail_to_match(const PyOp& self, PyObject* const* args, Py_ssize_t n,
                                PyObject* kwnames) {
  Call call;
  std::string why;
  const int first = is_method(self.form) ? 1 : 0;
  if (self.overloads->size() == 1) {
    match(*self.overloads->front(), args, n, kwnames, call, &why, first);
    fail(Kind::Type, *self.name, "(): ", why);
  }
  std::ostringstream text;
  text << *self.name << "() received an invalid combination of arguments - got (";
  for (Py_ssize_t i = first; i < n; i++)
    text << (i > first ? ", " : "") << Py_TYPE(args[i])->tp_name;
  for (Py_ssize_t j = 0; kwnames && j < PyTuple_GET_SIZE(kwnames); j++)
    text << (n + j > first ? ", " : "") << PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, j)) << "="
         << Py_TYPE(args[n + j])->tp_name;
  text << "), but expected one of:";
  for (const OpInfo* op : *self.overloads) {
    match(*op, args, n, kwnames, call, &why, first);
    text << "\n * " << op->schema << "\n      didn't match because " << *self.name << "() " << why;
  }
  throw Error(Kind::Type, text.str());
}

// --- Note [Overlap], ops/overlap.h ---------------------------------------------------------------

// The list or tuple of tensors in `v`; nullptr if it is something else.
PyObject* tensors_in(PyObject* v) {
  return v && (PyList_Check(v) || PyTuple_Check(v)) ? v : nullptr;
}

// Looks for operands of a call that lie in the memory of `out`. They are refused, or replaced by
// copies if the op `writes` before it is done reading. `out` is then to keep its shape.
class Overlaps {
 public:
  Overlaps(const OpInfo& op, const char* name, Call& call, bool writes)
      : op_(op), name_(name), call_(call), writes_(writes) {}

  // True if memory is shared by what has not been copied.
  bool resolve(const Tensor& out, size_t first) {
    grows_ = first == 0 && out.numel() == 0;
    for (size_t i = first; i < op_.params.size(); i++) {
      PyObject*& v = call_.values[i];
      if (!v) continue;
      if (is_tensor(v)) {
        if (__builtin_expect(share_storage(out, tensor_of(v)), 0)) resolve_one(out, v, i);
      } else if (PyObject* list = tensors_in(v)) {
        for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(list); k++) {
          PyObject* part = PySequence_Fast_GET_ITEM(list, k);
          if (!is_tensor(part) || !share_storage(out, tensor_of(part))) continue;
          if (!resolve_one(out, part, i)) continue;
          if (list == v) {
            v = keep(PySequence_List(v));
            list = v;
          }
          PyList_SetItem(list, k, Py_NewRef(part));
        }
      }
    }
    return shares_;
  }

 private:
  // Whether `v` is now a copy.
  bool resolve_one(const Tensor& out, PyObject*& v, size_t position) {
    const Tensor& t = tensor_of(v);
    Sharing sharing = sharing_of(op_.forms);
    // An op that has an in-place form knows how to work where its first operand is.
    if (position == 0 && (op_.forms & InPlace) && sharing != Sharing::Aligned) {
      if (out.same(t)) return false;
      sharing = Sharing::Copied;
    }
    // A number to fill with is read before anything is written.
    if (op_.params[position].name == "value") sharing = Sharing::Copied;
    // An empty output grows, maybe over the operand.
    if (!(grows_ && writes_) && !clashes(name_, out, t, sharing)) {
      shares_ = true;
      return false;
    }
    if (!writes_) return false;
    v = keep(wrap(clone(t)));
    return true;
  }
  PyObject* keep(PyObject* made) {
    Object object = checked(made);
    if (!call_.copies.get()) call_.copies = checked(PyList_New(0));
    checked(PyList_Append(call_.copies.get(), object.get()));
    return object.get();
  }

  const OpInfo& op_;
  const char* name_;
  Call& call_;
  bool writes_, grows_ = false, shares_ = false;
};

void refuse_overlap(const OpInfo& op, PyObject* outs) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(outs); i++)
    for (Py_ssize_t k = 0; k < i; k++) {
      PyObject *a = PySequence_Fast_GET_ITEM(outs, i), *b = PySequence_Fast_GET_ITEM(outs, k);
      if (!is_tensor(a) || !is_tensor(b)) continue;
      check(a != b && (!share_storage(tensor_of(a), tensor_of(b)) ||
                       overlap_of(tensor_of(a), tensor_of(b)) == Overlap::None),
            Kind::Runtime, op.name, "(): unsupported operation: the tensors ", k, " and ", i,
            " of argument 'out' share memory. Please clone() one of them before performing the "
            "operation.");
    }
}

// --- out= and in-place for functions that only know how to return a new tensor -------------------

void check_out_dtype(const OpInfo& op, const std::string& name, Dtype out, Dtype result) {
  constexpr const char* kCNames[kDtypes] = {"bool",
                                            "unsigned char",
                                            "signed char",
                                            "short",
                                            "int",
                                            "long",
                                            "c10::Half",
                                            "c10::BFloat16",
                                            "float",
                                            "double",
                                            "c10::complex<float>",
                                            "c10::complex<double>",
                                            "unsigned short",
                                            "unsigned int",
                                            "unsigned long",
                                            "c10::complex<c10::Half>",
                                            "c10::Float8_e4m3fn",
                                            "c10::Float8_e5m2",
                                            "c10::Float8_e4m3fnuz",
                                            "c10::Float8_e5m2fnuz",
                                            "c10::Float8_e8m0fnu"};
  if (op.forms & SafeOut)
    check(can_cast(result, out), Kind::Runtime, op.name, "(): Expected ", name,
          " to be safely castable from ", type_name(result), " dtype, but got ", name,
          " with dtype ", type_name(out));
  if (op.forms & (ExactOut | DtypeOut))
    check(result == out, Kind::Runtime, op.name, "(): Expected out tensor to have dtype ",
          kCNames[int(result)], ", but got ", kCNames[int(out)], " instead (expected scalar_type ",
          type_name(result), " but found ", type_name(out), " for ", name, ")");
}

void write_out(const OpInfo& op, PyObject* out, PyObject* result) {
  if (is_tensor(result)) {
    check(is_tensor(out), Kind::Type, op.name, "(): argument 'out' must be Tensor, not ",
          Py_TYPE(out)->tp_name);
    check_out_dtype(op, op.result_names.empty() ? "result" : op.result_names[0],
                    tensor_of(out).dtype(), tensor_of(result).dtype());
    copy_to_out(op.name.c_str(), tensor_of(out), tensor_of(result));
    return;
  }
  Py_ssize_t n = PyTuple_Check(result) ? PyTuple_GET_SIZE(result) : 0;
  check(PyTuple_Check(out) && PyTuple_GET_SIZE(out) == n, Kind::Type, op.name,
        "(): argument 'out' must be a tuple of ", n, " tensors");
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* part = PyTuple_GET_ITEM(out, i);
    check(is_tensor(part), Kind::Type, op.name,
          "(): argument 'out' must be a tuple of tensors, found ", Py_TYPE(part)->tp_name);
    const Tensor& from = tensor_of(PyTuple_GET_ITEM(result, i));
    const std::string name = size_t(i) < op.result_names.size() ? op.result_names[i] : "result";
    check_out_dtype(op, name, tensor_of(part).dtype(), from.dtype());
    copy_to_out(op.name.c_str(), tensor_of(part), from);
  }
}

// Where out= stands for dtype=, which was not given.
void take_dtype_of_out(const OpInfo& op, Call& call) {
  if (!(op.forms & DtypeOut) || !is_tensor(call.out)) return;
  for (size_t i = 0; i < op.params.size(); i++) {
    if (op.params[i].type != ArgType::Dtype) continue;
    PyObject*& dtype = call.values[i];
    if (dtype && dtype != Py_None) continue;
    call.dtype = checked(wrap_dtype(tensor_of(call.out).dtype()));
    dtype = call.dtype.get();
  }
}

// A tensor that needs a gradient, also in a list or tuple.
bool needs_grad(PyObject* v) {
  if (!v) return false;
  if (is_tensor(v)) return grad_needed(tensor_of(v));
  if (!PyList_Check(v) && !PyTuple_Check(v)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(v); i++)
    if (PyObject* part = PySequence_Fast_GET_ITEM(v, i);
        is_tensor(part) && grad_needed(tensor_of(part)))
      return true;
  return false;
}

PyObject* call_with_out(const OpInfo& op, Call& call) {
  bool needed = needs_grad(call.out);
  for (size_t i = 0; i < op.params.size(); i++) needed = needed || needs_grad(call.values[i]);
  check(!needed, Kind::Runtime, op.name,
        "(): functions with out=... arguments don't support automatic differentiation, but one of "
        "the arguments "
        "requires grad.");
  take_dtype_of_out(op, call);
  Args args{&op, reinterpret_cast<void* const*>(call.values), {}};
  if (op.native_dest) {
    check(is_tensor(call.out), Kind::Type, op.name, "(): argument 'out' must be Tensor, not ",
          Py_TYPE(call.out)->tp_name);
    args.dest.tensor = &tensor_of(call.out);
    args.dest.keeps_shape = Overlaps(op, op.name.c_str(), call, true).resolve(*args.dest.tensor, 0);
    Object result = checked(static_cast<PyObject*>(op.call(args)));
    return Py_NewRef(call.out);
  }
  // What a warning's handler does to a list must not matter.
  Object tuple;
  if (PyList_Check(call.out)) {
    tuple = checked(PyList_AsTuple(call.out));
    call.out = tuple.get();
  }
  Overlaps overlaps(op, op.name.c_str(), call, false);
  if (is_tensor(call.out)) {
    overlaps.resolve(tensor_of(call.out), 0);
  } else if (PyObject* outs = tensors_in(call.out)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(outs); i++)
      if (PyObject* out = PySequence_Fast_GET_ITEM(outs, i); is_tensor(out))
        overlaps.resolve(tensor_of(out), 0);
    refuse_overlap(op, outs);
  }
  Object result = checked(static_cast<PyObject*>(op.call(args)));
  write_out(op, call.out, result.get());
  return is_tensor(result.get()) ? Py_NewRef(call.out) : rebuild_tuple(op, call.out);
}

PyObject* call_in_place(const OpInfo& op, const std::string& name, Call& call) {
  PyObject* self = call.values[0];
  check(self && is_tensor(self), Kind::Type, name, "(): the first argument must be a Tensor");
  const Tensor& t = tensor_of(self);
  // Of these PyTorch only warns.
  const bool warns = op.name == "masked_fill" || op.name == "index_fill" || op.name == "index_put";
  check_in_place(name.c_str(), t, warns ? Repeats::Deprecated : Repeats::Refused);
  Overlaps(op, name.c_str(), call, op.native_dest).resolve(t, 1);
  Args args{&op, reinterpret_cast<void* const*>(call.values), {}};
  if (op.native_dest) {
    args.dest = {&t, true};
    Object result = checked(static_cast<PyObject*>(op.call(args)));
    return Py_NewRef(self);
  }
  // Rules may keep `self`, which is about to change: let them keep a copy.
  Object copy;
  if (grad_enabled()) {
    bool needed = false;
    for (size_t i = 0; i < op.params.size(); i++)
      needed = needed || (call.values[i] && is_tensor(call.values[i]) &&
                          grad_needed(tensor_of(call.values[i])));
    if (needed) {
      copy = checked(wrap(clone(t)));
      call.values[0] = copy.get();
    }
  }
  Object result = checked(static_cast<PyObject*>(op.call(args)));
  assign_in_place(name.c_str(), t, tensor_of(result.get()));
  return Py_NewRef(self);
}

PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const PyOp& op = *reinterpret_cast<PyOp*>(self);
  return guarded([&]() -> PyObject* {
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    profile::Span span;
    if (profile::on()) begin_op(span, op.name->c_str(), args, n);
    if (is_method(op.form))
      check(n > 0 && is_tensor(args[0]), Kind::Type, "descriptor '", *op.name,
            "' for 'Tensor' objects doesn't apply");
    if (__builtin_expect(
            any_overrides(args, n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0)) || is_watched(self),
            0))
      return call_override(self, args, n, kwnames);
    Call call;
    for (const OpInfo* info : *op.overloads) {
      if (!match(*info, args, n, kwnames, call, nullptr)) continue;
      if (in_place(op.form)) return call_in_place(*info, *op.name, call);
      if (call.out) return call_with_out(*info, call);
      Args a{info, reinterpret_cast<void* const*>(call.values), {}};
      return static_cast<PyObject*>(info->call(a));
    }
    if (PyObject* made = call_otherwise(self, *op.overloads->front(), *op.name, args, n, kwnames))
      return made;
    fail_to_match(op, args, n, kwnames);
  });
}

// --- the type ------------------------------------------------------------------------------------

PyObject* op_get(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || !is_method(reinterpret_cast<PyOp*>(self)->form)) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}
PyObject* op_repr(PyObject* self) {
  const PyOp& op = *reinterpret_cast<PyOp*>(self);
  return PyUnicode_FromFormat(
      is_method(op.form) ? "<method '%s' of 'ember.Tensor' objects>" : "<op %s>", op.name->c_str());
}
PyObject* op_name(PyObject* self, void*) {
  const std::string& name = *reinterpret_cast<PyOp*>(self)->name;
  return PyUnicode_FromString(name.substr(name.rfind('.') + 1).c_str());
}
// Docstrings and signatures are put together when somebody asks for them.
PyObject* from_reference(const char* function, PyObject* self) {
  return guarded([&]() -> PyObject* {
    return PyObject_CallOneArg(imported("ember._reference", function), self);
  });
}
PyObject* op_doc(PyObject* self, void*) { return from_reference("docstring", self); }
PyObject* op_signature(PyObject* self, void*) { return from_reference("signature", self); }
PyObject* op_text_signature(PyObject* self, void*) {
  return from_reference("text_signature", self);
}
PyObject* op_class(PyObject* self, void*) {
  if (is_method(reinterpret_cast<PyOp*>(self)->form)) return Py_NewRef((PyObject*)tensor_type);
  PyErr_SetString(PyExc_AttributeError, "an op that is no method has no attribute '__objclass__'");
  return nullptr;
}
PyObject* reference_list(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    Object list = checked(PyList_New(0));
    for (const char* const* text = reference_texts; *text; text++)
      checked(PyList_Append(list.get(), checked(PyUnicode_FromString(*text)).get()));
    return list.release();
  });
}
PyObject* op_module(PyObject*, void*) { return PyUnicode_FromString("ember"); }
PyObject* op_schemas(PyObject* self, void*) {
  const PyOp& op = *reinterpret_cast<PyOp*>(self);
  PyObject* list = PyList_New(0);
  for (const OpInfo* info : *op.overloads) {
    Object text = Object::steal(PyUnicode_FromString(info->schema.c_str()));
    PyList_Append(list, text.get());
  }
  return list;
}
unsigned forms_of(PyObject* op) {
  unsigned all = 0;
  for (const OpInfo* info : *reinterpret_cast<PyOp*>(op)->overloads) all |= info->forms;
  return all;
}
PyObject* op_traits(PyObject* self, void*) {
  unsigned all = forms_of(self), bit = Pointwise;
  PyObject* names = PyFrozenSet_New(nullptr);
  for (const char* name : kTraitNames) {
    if (all & bit) PySet_Add(names, Object::steal(PyUnicode_InternFromString(name)).get());
    bit <<= 1;
  }
  return names;
}
PyObject* op_reduce(PyObject* self, PyObject*) {
  const PyOp& op = *reinterpret_cast<PyOp*>(self);
  if (is_method(op.form)) {
    Object getattr = Object::borrow(imported("builtins", "getattr"));
    return Py_BuildValue("O(Os)", getattr.get(), tensor_type, op.name->c_str());
  }
  return PyUnicode_FromString(op.name->c_str());
}
void op_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  delete reinterpret_cast<PyOp*>(self)->name;
  Py_XDECREF(reinterpret_cast<PyOp*>(self)->dict);
  type->tp_free(self);
  Py_DECREF(type);
}

PyGetSetDef op_getset[] = {
    {"__name__", op_name, nullptr, nullptr, nullptr},
    {"__qualname__", op_name, nullptr, nullptr, nullptr},
    {"__doc__", op_doc, nullptr, nullptr, nullptr},
    {"__signature__", op_signature, nullptr, nullptr, nullptr},
    {"__text_signature__", op_text_signature, nullptr, nullptr, nullptr},
    {"__objclass__", op_class, nullptr, nullptr, nullptr},
    {"__module__", op_module, nullptr, nullptr, nullptr},
    {"schemas", op_schemas, nullptr, "The schema of each overload.", nullptr},
    {"traits", op_traits, nullptr, "What the op does, in words: Note [Traits].", nullptr},
    {}};
PyMethodDef module_functions[] = {{"_reference_texts", reference_list, METH_NOARGS, nullptr}, {}};
PyMethodDef op_methods[] = {{"__reduce__", op_reduce, METH_NOARGS, nullptr}, {}};
PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyOp, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(PyOp, dict), READONLY, nullptr},
    {}};
PyType_Slot op_slots[] = {{Py_tp_call, (void*)PyVectorcall_Call},
                          {Py_tp_descr_get, (void*)op_get},
                          {Py_tp_repr, (void*)op_repr},
                          {Py_tp_dealloc, (void*)op_dealloc},
                          {Py_tp_getset, op_getset},
                          {Py_tp_methods, op_methods},
                          {Py_tp_members, op_members},
                          {0, nullptr}};
PyType_Spec op_spec = {"ember.Op", sizeof(PyOp), 0,
                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                           Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                       op_slots};

Object make_op(Form form, std::string name, std::vector<const OpInfo*>* overloads) {
  auto* op = PyObject_New(PyOp, op_type);
  if (!op) throw PythonError{};
  op->vectorcall = op_vectorcall;
  op->form = form;
  op->overloads = overloads;
  op->name = new std::string(std::move(name));
  op->dict = nullptr;
  return Object::steal((PyObject*)op);
}

// "torch.return_types.max(\nvalues=...,\nindices=...)"
PyObject* result_repr(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const PyTypeObject* type = Py_TYPE(self);
    const char* dot = std::strrchr(type->tp_name, '.');
    std::string text = std::string("torch.return_types.") + (dot ? dot + 1 : type->tp_name) + "(";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); i++) {
      Object item = checked(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
      text += std::string(i ? ",\n" : "\n") + type->tp_members[i].name + "=" +
              PyUnicode_AsUTF8(item.get());
    }
    text += ")";
    return PyUnicode_FromStringAndSize(text.data(), Py_ssize_t(text.size()));
  });
}

void make_result_type(OpInfo& op) {
  if (op.result_names.empty()) return;
  // Ops with the same result names do not share a type: the type's name is the op's, as in torch.
  auto* fields = new std::vector<PyStructSequence_Field>;
  for (const std::string& name : op.result_names) fields->push_back({name.c_str(), nullptr});
  fields->push_back({nullptr, nullptr});
  auto* full_name = new std::string("ember.return_types." + op.name);
  std::replace(full_name->begin() + sizeof("ember.return_types"), full_name->end(), '.', '_');
  PyStructSequence_Desc desc{full_name->c_str(), nullptr, fields->data(),
                             int(op.result_names.size())};
  op.host_tuple = PyStructSequence_NewType(&desc);
  if (!op.host_tuple) throw PythonError{};
  static_cast<PyTypeObject*>(op.host_tuple)->tp_repr = result_repr;
}

}  // namespace

// A named tuple around the tensors of an out= argument.
PyObject* rebuild_tuple(const OpInfo& op, PyObject* parts) {
  if (!op.host_tuple) return PySequence_Tuple(parts);
  Object tuple = checked(PyStructSequence_New(static_cast<PyTypeObject*>(op.host_tuple)));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(parts); i++)
    PyStructSequence_SET_ITEM(tuple.get(), i, Py_NewRef(PySequence_Fast_GET_ITEM(parts, i)));
  return tuple.release();
}

bool draws(PyObject* op) { return Py_TYPE(op) == op_type && (forms_of(op) & Random) != 0; }

// Every op becomes an entry of `_C._ops` ("linalg.norm": op), a function of the module if its name
// has no dot, and methods of Tensor.
void add_ops(PyObject* module) {
  op_type = (PyTypeObject*)checked(PyType_FromSpec(&op_spec)).release();
  checked(PyModule_AddObjectRef(module, "Op", (PyObject*)op_type));
  std::map<std::string, std::vector<const OpInfo*>*> functions, methods;
  for (OpInfo* op : all_ops()) {
    internal_check(op->params.size() <= kMostArgs, op->name, " has too many parameters");
    for (Param& p : op->params) p.host_name = PyUnicode_InternFromString(p.name.c_str());
    make_result_type(*op);
    auto add = [&](auto& table, const std::string& name) {
      auto*& list = table[name];
      if (!list) list = new std::vector<const OpInfo*>;
      list->push_back(op);
    };
    size_t dot = op->name.rfind('.');
    std::string short_name = dot == std::string::npos ? op->name : op->name.substr(dot + 1);
    if (op->forms & Function) add(functions, op->name);
    if (op->forms & Method) add(methods, short_name);
    if (op->forms & InPlace) add(methods, short_name + "_");
    if (op->forms & FunctionInPlace) add(functions, op->name + "_");
  }
  Object table = checked(PyDict_New());
  for (auto& [name, list] : functions) {
    bool changes = name.back() == '_' && !(list->front()->name == name);
    Object op = make_op(changes ? Form::InPlaceFunction : Form::Function, name, list);
    checked(PyDict_SetItemString(table.get(), name.c_str(), op.get()));
    if (name.find('.') == std::string::npos)
      checked(PyModule_AddObjectRef(module, name.c_str(), op.get()));
  }
  checked(PyModule_AddObjectRef(module, "_ops", table.get()));
  checked(PyModule_AddFunctions(module, module_functions));
  for (auto& [name, list] : methods) {
    bool changes = list->front()->name != name &&
                   list->front()->name.substr(list->front()->name.rfind('.') + 1) != name;
    Object op = make_op(changes ? Form::InPlaceMethod : Form::Method, name, list);
    checked(PyObject_SetAttrString((PyObject*)tensor_type, name.c_str(), op.get()));
  }
  Object schemas = checked(PyList_New(0));
  for (OpInfo* op : all_ops()) {
    Object row = checked(Py_BuildValue("(sIs)", op->schema.c_str(), op->forms, op->doc.c_str()));
    checked(PyList_Append(schemas.get(), row.get()));
  }
  checked(PyModule_AddObjectRef(module, "_schemas", schemas.get()));
  Object traits = checked(PyTuple_New(std::size(kTraitNames)));
  for (size_t i = 0; i < std::size(kTraitNames); i++)
    PyTuple_SET_ITEM(traits.get(), i, PyUnicode_InternFromString(kTraitNames[i]));
  checked(PyModule_AddObjectRef(module, "_traits", traits.get()));
}

}  // namespace ember::python
