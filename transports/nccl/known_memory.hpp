/// \file What one communicator knows of the device's memory: registered arenas, and windows that its members share.
#pragma once
#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "baleen/collective.hpp"
#include "engine.hpp"

namespace baleen::nccl {

struct Arena {
  std::uint64_t bytes = 0;
  bool of_nccl = false;  ///< from ncclMemAlloc
};
using Arenas = std::map<std::byte*, Arena>;

/// The arena that all of a stretch lies in, or the end.
Arenas::const_iterator arena_of(const Arenas& arenas, const void* at, std::uint64_t bytes);

/// All with the engine's `calls` held. Ends with the communicator: one that is aborted takes all of it along.
class KnownMemory {
 public:
  /// `takes_windows`: they are made where members agree.
  KnownMemory(const Engine& engine, Comm comm, bool takes_windows)
      : engine_(engine), comm_(comm), takes_windows_(takes_windows) {}
  KnownMemory(const KnownMemory&) = delete;

  Comm comm() const { return comm_; }
  /// Registers an arena; an error says why NCCL copies instead.
  Status add(std::byte* base, std::uint64_t bytes);
  /// Memory that is about to go. Where it was a window, no others are made: members' windows have to stay alike.
  void remove(std::byte* base);
  /// All of it, before a good end.
  void clear();

  /// Where the sides lie that members reach at each other, in windows as they would be with this collective. NCCL wants
  /// them at the same offset on all members: what is said has to be the same everywhere. Empty: no windows are made.
  std::string layout(const Collective& c, const Arenas& arenas) const;
  /// Windows of the arenas of NCCL's that those sides lie in. Collective: all members have said the same layout.
  Status make_windows(const Collective& c, const Arenas& arenas);
  /// From now on there are no windows. Nothing is under way.
  void refuse_windows();
  bool takes_windows() const { return takes_windows_; }
  bool has_windows() const { return !windows_.empty(); }

 private:
  struct Shared {
    std::byte* base = nullptr;
    Window window = nullptr;  ///< NCCL writes it while it is asked for its state
  };
  /// In the order of windows: those that there are, then those that the collective adds.
  std::vector<std::byte*> bases_with(const Collective& c, const Arenas& arenas) const;

  const Engine& engine_;
  const Comm comm_;
  bool takes_windows_;
  std::map<std::byte*, void*> handles_;  // of registered arenas
  std::list<Shared> windows_;            // in the order in which all members made them
};

}  // namespace baleen::nccl
