// Recording: a call as a Step, and the device that a recorder stands before.
#include "recorder.h"

#include <iomanip>
#include <utility>

namespace ember {

namespace {

struct Writer {
  Step& step;
  std::ostringstream text{};

  void tensor(Role role, const Tensor& t) {
    if (role != Role::Out) step.reads.emplace_back(t);
    if (role != Role::In) step.writes.emplace_back(t);
  }
  template <class T>
  void attribute(const char* name, const T& value) {
    text << (text.tellp() ? " " : "") << name << '=';
    print(value);
  }
  template <class T>
  void print(const T& value) {
    if constexpr (requires {
                    { name_of(value) } -> std::convertible_to<const char*>;
                  })
      text << name_of(value);
    else
      text << std::setprecision(17) << value;
  }
  template <class T>
  void print(const std::vector<T>& values) {
    for (const T& v : values) print(v), text << ',';
  }
};

}  // namespace

template <class... G>
void Recorder::write(Primitive p, const G&... given) {
  Step step{p, {}, {}, {}};
  Writer writer{step};
  take_apart(writer, given...);
  step.attributes = writer.text.str();
  const std::lock_guard lock(mutex_);
  steps_.push_back(std::move(step));
}

Recorder::Recorder(Backend& inner) : inner_(inner) { pass_for(inner); }

void Recorder::start(uint8_t kind) {
  Backend& inner = backend_of(Device(kind));
  check(&inner == &inner.innermost(), Kind::Runtime, "the primitives of device '", inner.name(),
        "' are being recorded already");
  // One for each kind of device, for ever: storages remember the backend they have their memory of.
  static Recorder* recorders[256] = {};
  if (!recorders[kind]) recorders[kind] = new Recorder(inner);
  backends[kind] = recorders[kind];
}

std::vector<Step> Recorder::stop(uint8_t kind) {
  auto* recorder = dynamic_cast<Recorder*>(&backend_of(Device(kind)));
  check(recorder, Kind::Runtime, "the primitives of this device are not being recorded");
  backends[kind] = &recorder->inner_;
  return std::exchange(recorder->steps_, {});
}

}  // namespace ember
