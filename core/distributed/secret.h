// SHA-256 and its keyed form (FIPS 180-4, RFC 2104): a peer proves that it knows the secret of a
// run without sending it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace ember::distributed {

std::string sha256(std::string_view data);                      // 32 bytes
std::string hmac(std::string_view key, std::string_view data);  // 32 bytes
std::string random_bytes(size_t count);                         // from the system
bool same(std::string_view a, std::string_view b);              // in time that tells nothing

}  // namespace ember::distributed
