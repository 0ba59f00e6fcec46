/// \file How long the launcher and the ranks wait for each other.
#pragma once
#include <chrono>
#include <string>

namespace baleen::launchers {

using Clock = std::chrono::steady_clock;

/// Promised: a rank stopped for good is named within five seconds (`stopped` + `grace`), a dead one within three.
struct Timeouts {
  using Time = std::chrono::milliseconds;

  Time stopped{2'000};         ///< silence of a rank that the system says is stopped
  Time silent{10'000};         ///< silence of a rank that is neither stopped nor held by a debugger
  Time greeting{60'000};       ///< from a rank's start to its first beat
  Time grace{1'500};           ///< from the word that a peer is lost to being killed
  Time rescuing{60'000};       ///< and more, for a rank that saves what was trained, or is to when its step ends
  Time alike{250};             ///< from a rank's mistake to the word to the others, who may find the same one meanwhile
  Time alike_at_start{2'000};  ///< the same for those that are on their way, of a mistake before any training
  Time leaving{10'000};        ///< from a rank's last word to its end
  Time remind{2'000};  ///< from the first wait at the rendezvous to naming those who are missing; then twice, ...
  /// Without a new collective while ranks have begun unequally many, to saying so; then twice, ... Longer, up to the
  /// second, where such waits are usual: Progress::patience.
  Time stalled{2'000}, stalled_at_most{30'000};
  /// Longest wait at the rendezvous and longest stall in which no rank gets further, and longest wait for a host.
  Time give_up{600'000};
  // Between hosts.
  Time arrive{600'000};           ///< until all have joined
  Time heartbeat_timeout{5'000};  ///< silence of another host's launcher
  Time unconfirmed{3'000};        ///< from sending something to the network's word that it has come
  Time handshake_timeout{5'000};  ///< a handshake, and looking for a name

  /// A network that carries nothing for so long is waited for: a host is lost after that, one whose launcher is
  /// stopped two seconds later.
  void be_patient(Time patience) {
    heartbeat_timeout = patience + (heartbeat_timeout - unconfirmed);
    unconfirmed = patience;
  }

  /// Between two heartbeats.
  static constexpr Time kBeat{200};
};

/// "5 s", "0.25 s".
std::string seconds_text(Clock::duration time);

}  // namespace baleen::launchers
