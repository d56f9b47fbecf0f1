// The list of ops and the schema parser.
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "ops/schema.h"

namespace ember {

std::vector<OpInfo*>& all_ops() {
  static std::vector<OpInfo*> ops;
  return ops;
}

namespace {

// A schema is written by us; a mistake in one must stop the build's first import, not a user.
class SchemaParser {
 public:
  SchemaParser(const char* text, OpInfo& op) : text_(text), op_(op) {}

  void parse() {
    op_.name = std::string(until('('));
    bool keyword_only = false;
    skip(' ');
    while (peek() != ')') {
      if (peek() == '*') {
        at_++;
        keyword_only = true;
      } else {
        op_.params.push_back(param(keyword_only));
      }
      skip(' ');
      if (peek() == ',') at_++;
      skip(' ');
    }
    at_++;
    std::string_view rest = text_.substr(at_);
    expect(rest.substr(0, 4) == " -> ", "expected ' -> ' and a result");
    op_.result_text = std::string(rest.substr(4));
    parse_result(op_.result_text);
  }

 private:
  void expect(bool ok, const char* what) {
    internal_check(ok, "schema \"", text_, "\": ", what, " at character ", at_);
  }
  char peek() {
    expect(at_ < text_.size(), "unexpected end");
    return text_[at_];
  }
  void skip(char c) {
    while (at_ < text_.size() && text_[at_] == c) at_++;
  }
  std::string_view until(char stop) {
    size_t from = at_;
    while (peek() != stop) at_++;
    return text_.substr(from, at_++ - from);
  }

  Param param(bool keyword_only) {
    static const std::pair<std::string_view, ArgType> types[] = {{"Tensor", ArgType::Tensor},
                                                                 {"Tensor[]", ArgType::TensorList},
                                                                 {"Tensor?[]", ArgType::TensorList},
                                                                 {"Number", ArgType::Number},
                                                                 {"Scalar", ArgType::Scalar},
                                                                 {"int", ArgType::Int},
                                                                 {"float", ArgType::Float},
                                                                 {"float[]", ArgType::FloatList},
                                                                 {"bool", ArgType::Bool},
                                                                 {"str", ArgType::Str},
                                                                 {"Dims", ArgType::Dims},
                                                                 {"Size", ArgType::Size},
                                                                 {"Dtype", ArgType::Dtype},
                                                                 {"Device", ArgType::Device},
                                                                 {"Format", ArgType::Format},
                                                                 {"Generator", ArgType::Generator},
                                                                 {"Any", ArgType::Any}};
    Param p;
    p.keyword_only = keyword_only;
    std::string_view type = until(' ');
    if (type.back() == '?') {
      p.optional = true;
      type.remove_suffix(1);
    }
    bool known = false;
    for (auto& [name, value] : types)
      if (name == type) {
        p.type = value;
        known = true;
      }
    expect(known, "unknown type");
    p.holes = type == "Tensor?[]";
    if (p.type == ArgType::Tensor && p.optional) p.type = ArgType::TensorOrNone;
    if (peek() == '*') {
      p.varargs = true;
      at_++;
    }
    size_t from = at_;
    while (std::isalnum(peek()) || peek() == '_') at_++;
    p.name = std::string(text_.substr(from, at_ - from));
    if (peek() == '=') {
      at_++;
      p.has_default = true;
      from = at_;
      int depth = 0;
      while (depth > 0 || (peek() != ',' && peek() != ')')) {
        if (peek() == '[' || peek() == '(') depth++;
        if (peek() == ']' || peek() == ')') depth--;
        at_++;
      }
      p.default_text = std::string(text_.substr(from, at_ - from));
      parse_default(p);
    }
    return p;
  }

  static void parse_default(Param& p) {
    const std::string& d = p.default_text;
    if (d == "None") return;
    if (d == "True" || d == "False") {
      p.default_scalar = Scalar(d == "True");
    } else if (d[0] == '[') {
      for (const char* c = d.c_str() + 1; *c && *c != ']';) {
        char* end;
        p.default_size.push_back(std::strtoll(c, &end, 10));
        c = end + (*end == ',');
      }
    } else if (d[0] == '\'') {
      p.default_text = d.substr(1, d.size() - 2);
    } else if (std::isdigit(d[0]) || d[0] == '-') {
      bool real = d.find_first_of(".e") != std::string::npos;
      p.default_scalar = real ? Scalar(std::strtod(d.c_str(), nullptr))
                              : Scalar(int64_t(std::strtoll(d.c_str(), nullptr, 10)));
      p.default_size = Shape{int64_t(std::strtoll(d.c_str(), nullptr, 10))};
    }
  }

  void parse_result(std::string_view text) {  // "(Tensor values, Tensor indices)"
    if (text.empty() || text[0] != '(') return;
    size_t at = 1;
    while (at < text.size()) {
      size_t end = text.find_first_of(",)", at);
      std::string_view part = text.substr(at, end - at);
      size_t space = part.find_last_of(' ');
      if (space != std::string_view::npos && space > 0 &&
          part.substr(0, space).find("Tensor") != std::string_view::npos)
        op_.result_names.emplace_back(part.substr(space + 1));
      at = end + 1;
      while (at < text.size() && text[at] == ' ') at++;
    }
  }

  std::string_view text_;
  OpInfo& op_;
  size_t at_ = 0;
};

}  // namespace

OpInfo* register_op(const char* schema, unsigned forms, const char* doc, void* (*call)(Args&),
                    bool native_dest, std::span<const Takes> arguments) {
  if (!(forms & kShown)) return nullptr;
  auto* op = new OpInfo;
  op->schema = schema;
  op->forms = forms;
  op->doc = doc;
  op->call = call;
  op->native_dest = native_dest;
  SchemaParser(schema, *op).parse();
  internal_check(op->params.size() == arguments.size(), "schema \"", schema, "\" has ",
                 op->params.size(), " parameters, its function ", arguments.size());
  for (size_t i = 0; i < arguments.size(); i++) {
    const Param& p = op->params[i];
    internal_check(arguments[i].types & (1u << int(p.type)), "schema \"", schema, "\": \"", p.name,
                   "\" is of another type in its function");
    internal_check(arguments[i].none || !p.optional, "schema \"", schema, "\": \"", p.name,
                   "\" may be None, but not in its function");
  }
  all_ops().push_back(op);
  return op;
}

}  // namespace ember
