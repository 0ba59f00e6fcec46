/// \file Pages whose protection goes with the call.
#include "frontend/validate/lent.hpp"

#include <sys/mman.h>

#include <cstring>

#include "frontend/validate/apart.hpp"

namespace baleen::validate {

Lent::Lent(std::size_t bytes) : size_(bytes + 1) {
  void* const base = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) throw Failure("there is no memory for what the plugin is told");
  base_ = static_cast<unsigned char*>(base);
}

Lent::~Lent() { ::mmap(base_, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0); }

void* Lent::room(std::size_t bytes) {
  const std::size_t at =
      (used_ + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
  if (at + bytes > size_) throw Failure("what the plugin is told is larger than was counted");
  used_ = at + bytes;
  return base_ + at;
}

baleen_string_t Lent::text(std::string_view text) {
  if (used_ + text.size() > size_) throw Failure("what the plugin is told is larger than was counted");
  unsigned char* const copy = base_ + used_;
  std::memcpy(copy, text.data(), text.size());
  used_ += text.size();
  return {reinterpret_cast<const char*>(copy), text.size()};
}

}  // namespace baleen::validate
