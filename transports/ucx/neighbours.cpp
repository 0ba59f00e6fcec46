/// \file process_vm_readv is forbidden in some containers, between users, and by Yama; UCX would end the run over it.
#include "neighbours.hpp"

#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "baleen/process_mark.hpp"

namespace baleen::ucx {
namespace {

std::string key(std::int32_t rank) { return "ucx." + std::to_string(rank) + ".host"; }

// The same in all containers of one host.
std::string host_identity() {
  std::string identity;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), identity);
  return identity.empty() ? "?" : identity;
}

// Empty where it read the word, or the process is no more, which others tell.
std::string read_word(std::int32_t rank, pid_t process, bool is_seen, std::uintptr_t address, std::uint64_t expected) {
  std::uint64_t word = 0;
  const iovec local{&word, sizeof word}, remote{reinterpret_cast<void*>(address), sizeof word};
  const ssize_t bytes = process_vm_readv(process, &local, 1, &remote, 1, 0);
  if (bytes == static_cast<ssize_t>(sizeof word) && word == expected) return {};
  if (bytes < 0 && errno == ESRCH && is_seen) return {};
  return "reading memory of rank " + std::to_string(rank) + " (process " + std::to_string(process) +
         "): " + (bytes < 0 ? std::strerror(errno) : "it is another process here");
}

}  // namespace

std::unique_ptr<Neighbours> Neighbours::meet(const Rendezvous& rendezvous, bool probe, bool knows_cuda) {
  auto made = std::make_unique<Neighbours>();
  if (getrandom(&made->word_, sizeof made->word_, 0) != sizeof made->word_) made->word_ = 0;
  made->near_.resize(static_cast<std::size_t>(rendezvous.ranks()));
  const std::string host = host_identity();
  std::ostringstream mine;
  mine << host << ' ' << getpid() << ' ' << reinterpret_cast<std::uintptr_t>(&made->word_) << ' ' << made->word_ << ' '
       << sdk::space_of_processes() << ' ' << knows_cuda;
  rendezvous.put(key(rendezvous.rank()), mine.str());
  for (std::int32_t rank = 0; rank < rendezvous.ranks(); ++rank) {
    std::istringstream theirs(rank == rendezvous.rank() ? mine.str() : rendezvous.get(key(rank)));
    std::string their_host;
    pid_t process = 0;
    std::uintptr_t address = 0;
    std::uint64_t word = 0, space = 0;
    bool their_cuda = false;
    theirs >> their_host >> process >> address >> word >> space >> their_cuda;
    made->with_cuda_ += their_cuda ? 1 : 0;
    if (!their_cuda && made->first_without_cuda_ < 0) made->first_without_cuda_ = rank;
    if (their_host != host || rank == rendezvous.rank()) continue;
    made->near_[static_cast<std::size_t>(rank)] = true;
    if (probe && made->refusal_.empty())
      made->refusal_ = read_word(rank, process, space == sdk::space_of_processes(), address, word);
  }
  return made;
}

}  // namespace baleen::ucx
