/// \file Shared memory by memfd, sealed and with its pages allocated.
#include "memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "baleen/available_memory.hpp"

namespace baleen::shm {

using namespace sdk;

namespace {

std::string mebibytes(std::uint64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

Error refused(const std::string& what, std::uint64_t bytes, const std::string& why,
              const std::string& remedy =
                  "use fewer ranks or a smaller batch, or give the machine or its container more memory") {
  return {BALEEN_NO_MEMORY, what + " of " + mebibytes(bytes) + " in shared memory: " + why + "; " + remedy, {}};
}

}  // namespace

SharedMemory::~SharedMemory() {
  if (base_) munmap(base_, bytes_);
}

Result<SharedMemory> SharedMemory::create(std::uint64_t bytes, const std::string& what) {
  constexpr std::uint64_t kPage = 4096, kMost = std::uint64_t{1} << 62;
  if (bytes > kMost) return refused(what, bytes, "no machine has that much");
  bytes = (std::max<std::uint64_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  if (const std::uint64_t available = available_memory(); bytes > available)
    return refused(what, bytes, "only " + mebibytes(available) + " are available");
  FileHandle file(memfd_create("baleen", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) return refused(what, bytes, std::string("memfd_create: ") + std::strerror(errno));
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    return errno == EFBIG ? refused(what, bytes, "it is larger than a file may be", "raise the limit `ulimit -f`")
                          : refused(what, bytes, std::string("ftruncate: ") + std::strerror(errno));
  int taken = 0;
  do taken = fallocate(file.get(), 0, 0, static_cast<off_t>(bytes));
  while (taken != 0 && errno == EINTR);
  if (taken != 0 && errno != EOPNOTSUPP) return refused(what, bytes, std::string("fallocate: ") + std::strerror(errno));
  // No peer can cut it short under our feet.
  fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  BALEEN_TRY_ASSIGN(SharedMemory memory, map(file, bytes));
  memory.file_ = std::move(file);
  return memory;
}

Result<SharedMemory> SharedMemory::map(const FileHandle& file, std::uint64_t bytes) {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (base == MAP_FAILED) return refused("mapping", bytes, std::strerror(errno));
  return SharedMemory(static_cast<std::byte*>(base), bytes);
}

}  // namespace baleen::shm
