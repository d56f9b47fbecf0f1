#include "tensor/device.h"

#include <charconv>
#include <deque>
#include <set>

#include "check.h"

namespace ember {

namespace {
std::deque<std::string>& kinds() {  // a deque: names stay where they are as it grows
  static std::deque<std::string> names{"cpu", "meta"};
  return names;
}

// What PyTorch knows; a device of these can be named, and using it says what is missing.
constexpr std::string_view kElsewhere[] = {
    "cuda", "ipu", "xpu",  "mkldnn", "opengl", "ideep", "hip",  "ve",           "fpga",
    "maia", "xla", "lazy", "vulkan", "mps",    "hpu",   "mtia", "privateuseone"};

struct Alias {
  std::string name, shown;
};
Alias& alias() {
  static Alias value;
  return value;
}
// The name by which `kinds` has a kind.
std::string_view shown_name(std::string_view name) {
  return !name.empty() && name == alias().name ? std::string_view(alias().shown) : name;
}
}  // namespace

const std::string& device_kind_name(uint8_t kind) { return kinds()[kind]; }

uint8_t register_device_kind(const std::string& given) {
  auto& names = kinds();
  std::string_view name = shown_name(given);
  for (size_t i = 0; i < names.size(); i++)
    if (names[i] == name) return uint8_t(i);
  check(names.size() < 250, Kind::Runtime, "register_device(): too many kinds of device");
  names.push_back(std::string(name));
  return uint8_t(names.size() - 1);
}

void call_device_kind(const std::string& name, const std::string& shown) {
  auto& names = kinds();
  for (auto& known : names)
    if (known == shown && known != name) known = "another " + known;  // made before: never used
  for (auto& known : names)
    if (known == name) known = shown;
  alias() = {name, shown};
}

bool means_device_kind(std::string_view text, std::string_view name) {
  std::string_view kind = text.substr(0, text.find(':'));
  return kind == name || kind == shown_name(name);
}

std::string Device::name() const {
  std::string text = kinds()[kind];
  if (index >= 0) text += ":" + std::to_string(index);
  return text;
}

Device parse_device(std::string_view text) {
  std::string_view kind = text.substr(0, text.find(':'));
  int index = -1;
  if (kind.size() < text.size()) {
    std::string_view digits = text.substr(kind.size() + 1);
    auto [end, error] = std::from_chars(digits.begin(), digits.end(), index);
    check(
        !digits.empty() && error == std::errc() && end == digits.end() && index >= 0 && index < 128,
        Kind::Runtime, "Invalid device string: '", text, "'");
  }
  auto& names = kinds();
  kind = shown_name(kind);
  for (size_t i = 0; i < names.size(); i++)
    if (names[i] == kind) return Device(uint8_t(i), int8_t(index));
  for (std::string_view name : kElsewhere)
    if (name == kind) return Device(register_device_kind(std::string(kind)), int8_t(index));
  std::set<std::string_view> known{"opencl"};  // also where it has not been looked for yet
  known.insert(names.begin(), names.end());
  known.insert(std::begin(kElsewhere), std::end(kElsewhere));
  std::string list;
  for (std::string_view name : known)
    if (!name.starts_with("another ")) list += (list.empty() ? "" : ", ") + std::string(name);
  fail(Kind::Runtime, "Expected one of ", list, " device type at start of device string: ", text);
}

}  // namespace ember
