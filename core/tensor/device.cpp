#include "tensor/device.h"

#include <charconv>
#include <deque>

#include "check.h"

namespace ember {

namespace {
std::deque<std::string>& kinds() {  // a deque: names stay where they are as it grows
  static std::deque<std::string> names{"cpu", "meta"};
  return names;
}
}  // namespace

const std::string& device_kind_name(uint8_t kind) { return kinds()[kind]; }

uint8_t register_device_kind(const std::string& name) {
  auto& names = kinds();
  for (size_t i = 0; i < names.size(); i++)
    if (names[i] == name) return uint8_t(i);
  check(names.size() < 250, Kind::Runtime, "register_device(): too many kinds of device");
  names.push_back(name);
  return uint8_t(names.size() - 1);
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
  for (size_t i = 0; i < names.size(); i++)
    if (names[i] == kind) return Device(uint8_t(i), int8_t(index));
  std::string known;
  for (const auto& name : names) known += (known.empty() ? "" : ", ") + name;
  fail(Kind::Runtime, "Expected one of ", known, " device type at start of device string: ", text);
}

}  // namespace ember
