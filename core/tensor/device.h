// Where a tensor lives. Device kinds are small numbers; names are registered with their backends.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace ember {

struct Device {
  uint8_t kind = 0;   // 0 is the CPU, 1 is meta; others in order of registration
  int8_t index = -1;  // -1: the current device of that kind

  static constexpr uint8_t kCpu = 0, kMeta = 1;
  constexpr Device() = default;
  constexpr Device(uint8_t kind_, int8_t index_ = -1) : kind(kind_), index(index_) {}

  bool is_cpu() const { return kind == kCpu; }
  bool is_meta() const { return kind == kMeta; }
  friend bool operator==(Device a, Device b) { return a.kind == b.kind && a.index == b.index; }
  std::string name() const;  // "cpu", "opencl:0"
};

// "cpu", "opencl:1" -> Device; raises RuntimeError for what is not registered.
Device parse_device(std::string_view text);
const std::string& device_kind_name(uint8_t kind);
// Adds (or finds) a kind of device.
uint8_t register_device_kind(const std::string& name);
// Lets a kind of device go by another name: `call_device_kind("opencl", "cuda")` shows it as
// "cuda", and either name means it.
void call_device_kind(const std::string& name, const std::string& shown);
// Whether a device's text, such as "cuda:0", means the kind of this name.
bool means_device_kind(std::string_view text, std::string_view name);

inline std::ostream& operator<<(std::ostream& out, Device d) { return out << d.name(); }

}  // namespace ember
