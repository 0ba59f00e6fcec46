/// \file Where the other hosts of a job come in: listens, shakes hands, and bears strangers.
#pragma once
#include <poll.h>

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "baleen/result.hpp"
#include "common/file_handle.hpp"
#include "common/log.hpp"
#include "common/patience.hpp"
#include "handshake.hpp"
#include "tcp.hpp"

namespace baleen::launchers {

/// Holds at most `kMostStrangers` connections that have proven nothing, each for `patience.shaking`, each with the
/// bytes of one message. Nothing here waits. [one thread]
class Door {
 public:
  /// Listens. Borrows secret, log and patience. Where something else has the port: says what it is, if it says so.
  static Result<Door> open(const TcpAddress& at, const Secret& secret, const Log& log, const Patience& patience);

  const TcpAddress& address() const { return address_; }

  /// A host that knows the secret.
  struct Guest {
    FileHandle socket;
    int host = 0;  ///< that it says it is
    LinkKeys keys;
  };
  void add_polls(std::vector<pollfd>& all) const;
  /// Lets in who comes.
  std::vector<Guest> turn(Clock::time_point now);

 private:
  static constexpr std::size_t kMostStrangers = 64;
  static constexpr int kMostWarnings = 3;

  struct Stranger {
    FileHandle socket;
    Doorkeeper keeper;
    std::string heard;
    Clock::time_point since;
  };
  Door(FileHandle listener, const Secret& secret, const Log& log, const Patience& patience);
  void greet(Clock::time_point now);
  /// Whether it may stay; a guest is moved to `guests`.
  bool hear(Stranger& stranger, Clock::time_point now, std::vector<Guest>& guests);
  void warn(const std::string& text);

  const Secret* secret_;
  const Log* log_;
  const Patience* patience_;
  FileHandle listener_;
  TcpAddress address_;
  std::string job_;
  std::list<Stranger> strangers_;
  int warnings_ = 0;
};

}  // namespace baleen::launchers
