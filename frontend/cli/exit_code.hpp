/// \file How a command ends: the exit code that scripts see, and the one line that people see.
#pragma once
#include <string_view>

#include "baleen/result.hpp"
#include "core/launch/rank_link.hpp"
#include "core/log/log.hpp"

namespace baleen::app {

constexpr int kSuccess = 0;
constexpr int kCaseFailed = 1;  ///< `baleen validate`: the plugin does not pass
constexpr int kBadInput = 2;    ///< the user's script, manifest, data, plugin or command line
constexpr int kDoesNotFit = 3;  ///< the plan needs more memory than there is
constexpr int kLostPeer = 4;
constexpr int kInterrupted = 5;  ///< a signal asked the run to end, and it saved what was trained first
constexpr int kDamaged = 6;      ///< numbers are NaN or infinite, copies of them differ, or kept bytes have changed
constexpr int kOurBug = 70;

int exit_code(baleen_status_t status);

/// How a line about our own bug goes on.
constexpr const char* kPleaseReport =
    " (this is a bug of Baleen or of the plugin named; please report it with the lines below)";

/// Writes the error as one line; after our own bug and a lost peer the flight recorder too. Returns the exit code.
/// A rank (`link` is not null) writes nothing and tells its launcher, which shows the first cause once for all ranks.
int report(const Log& log, const Error& error, RankLink* link = nullptr);

/// Opens those of the descriptors 0 to 2 that a caller has closed, so that no file of ours becomes standard output.
/// Writing there fails, as it would without.
void open_standard_files();

/// An error where what was printed so far has not all been taken (a full disk, a closed descriptor); none where nobody
/// reads it any more.
Status flush_output();

/// Prints and flushes `text`. The same errors, with the reason of the first print that was not taken, where it is one
/// of core/log/printed.
Status print_output(std::string_view text);

/// `code`, or that of an error where what was printed has not all been taken.
int end_output(const Log& log, int code);

/// The exit code of a command that ends with `status`. A rank that succeeds and has printed all says that it is done.
int conclude(const Log& log, const Status& status, RankLink* link);

}  // namespace baleen::app
