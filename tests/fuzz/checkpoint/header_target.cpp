/// \file A fuzz target: any bytes as a safetensors file, and as the header of one of some size. What is taken must
/// cover the data as it says, can be read whole, and is written and read again the same.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "header.hpp"
#include "reader.hpp"

namespace {

using namespace baleen;
using namespace baleen::safetensors;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

baleen_host_t silent_host() {
  baleen_host_t host{};
  host.size = sizeof host;
  host.log = [](void*, baleen_level_t, baleen_string_t) {};
  return host;
}

/// A file that is never on a disk.
class MemoryFile {
 public:
  MemoryFile() : number_(memfd_create("input", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(number_)) {}
  void fill(const std::uint8_t* data, std::size_t size) const {
    require(ftruncate(number_, 0) == 0 && pwrite(number_, data, size, 0) == static_cast<ssize_t>(size));
  }
  const std::string& path() const { return path_; }

 private:
  int number_;
  std::string path_;
};

void read_file(const std::uint8_t* data, std::size_t size) {
  static const MemoryFile file;
  static const baleen_host_t host = silent_host();
  file.fill(data, size);
  const auto opened = Reader::open(Host(&host), file.path());
  if (!opened) return;
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < (*opened)->tensors().size(); ++i) {
    const std::uint64_t length = (*opened)->tensors()[i].bytes;
    require(length <= size);
    bytes.resize(length);
    require(static_cast<bool>((*opened)->read(i, bytes)));
  }
}

void read_header(std::string_view json, std::uint64_t buffer) {
  const auto header = parse_header(json, buffer);
  if (!header) return;
  std::uint64_t covered = 0;
  for (const Entry& entry : header->entries) {
    require(entry.begin == covered && entry.end >= entry.begin);
    std::uint64_t bits = dtype_bits(entry.dtype);
    for (const std::uint64_t extent : entry.shape) bits *= extent;
    require(bits == 8 * (entry.end - entry.begin));
    covered = entry.end;
  }
  require(covered == buffer);
  const auto composed = compose_header(header->entries, header->metadata);
  require(static_cast<bool>(composed));
  const auto again = parse_header(*composed, buffer);
  require(again && again->entries.size() == header->entries.size() && again->metadata == header->metadata);
  for (std::size_t i = 0; i < again->entries.size(); ++i)
    require(again->entries[i].name == header->entries[i].name && again->entries[i].shape == header->entries[i].shape &&
            again->entries[i].end == header->entries[i].end);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_file(data, size);
  constexpr std::size_t kHead = 8;
  if (size < kHead) return 0;
  // The first bytes are the size of the data now, so that lengths which fit need not be found by chance.
  std::uint16_t buffer = 0;
  std::memcpy(&buffer, data, sizeof buffer);
  read_header({reinterpret_cast<const char*>(data) + kHead, size - kHead}, buffer);
  return 0;
}
