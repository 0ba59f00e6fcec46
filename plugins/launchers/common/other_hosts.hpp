/// \file The other hosts of a job, as the first one's launcher needs them.
#pragma once
#include <poll.h>
#include <signal.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "baleen/result.hpp"
#include "common/output.hpp"
#include "common/timeouts.hpp"
#include "common/wire.hpp"

namespace baleen::launchers {

/// What the other hosts do.
class HostEvents {
 public:
  virtual ~HostEvents() = default;
  /// The last of them has joined.
  virtual void all_here() = 0;
  /// Its launcher speaks, of itself or of a rank.
  virtual void host_said(int host, Message& message) = 0;
  /// Nothing more will come from it, though it has not left in good order.
  virtual void host_lost(int host, Error error) = 0;
};

/// Nothing here waits. [one thread]
class OtherHosts {
 public:
  virtual ~OtherHosts() = default;
  /// Lets them come; starts them where that is asked for. `signals` as for LocalRanks.
  virtual Status open(const sigset_t& signals) = 0;

  virtual void add_polls(std::vector<pollfd>& all) const = 0;
  virtual void turn(Clock::time_point now) = 0;
  /// So long this process could not listen.
  virtual void forgive(Clock::duration pause) = 0;

  virtual void send(int host, const Message& message) = 0;
  virtual void send_all(const Message& message) = 0;

  /// Of this host on the way to the others, in digits. Once all are here.
  virtual std::string own_address() const = 0;
  /// "still waiting for ranks 2, 3 (host b)"; empty when all are here.
  virtual std::string missing() const = 0;
  /// The host's ranks have all ended: it may go.
  virtual void excuse(int host) = 0;
  /// Says the last word; all may go, and nobody may come any more.
  virtual void dismiss(const Message& word) = 0;
  /// Ends what is left; afterwards nothing is.
  virtual void drop() = 0;
  /// Whether all have gone.
  virtual bool is_over() = 0;
};

/// What others write goes to `err`. Borrows both.
using MakeOtherHosts = std::function<std::unique_ptr<OtherHosts>(HostEvents& events, LineSink& err)>;

}  // namespace baleen::launchers
