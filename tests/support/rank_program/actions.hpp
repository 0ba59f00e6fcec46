/// \file What a rank of the test program can be told to do.
#pragma once
#include <span>
#include <string>

#include "common/rank_channel.hpp"

namespace baleen::test {

using launchers::RankChannel;

/// Carries out the words meant for this rank, in order. A word is "WHO:VERB" or "WHO:VERB:ARGUMENT", where WHO is a
/// rank or
/// `*`. An error ends it.
///
///   print TEXT, error TEXT   a line on standard output, on standard error; half TEXT: one without an end
///   lines N                  numbered lines, in two writes each
///   pid, place, hosts, cpus, tty  what the rank is: a line on standard output
///   read                     a line from standard input, shown
///   barrier NAME, put KEY=VALUE, get KEY
///   sleep MS                 without an ear for the others; naps: until a peer is lost; until FILE: until there is one
///   work MS                  steps with a barrier each; work for ever without MS
///   at STEP, begins NUMBER   tells how far it is: in steps, in collectives
///   segment                  makes System V shared memory, which stays, and prints its number
///   raise SIGNAL             a signal to itself
///   count SIGNAL             waits for one, then 300 ms for more, and prints how many came
///   exit CODE                leaves at once; fail TEXT: as a user's mistake; bug TEXT: as our own
///   lost                     as the consequence of another's end
///   hold                     leaves a child that holds its outputs open for a while
///   close                    closes the control channel behind the launcher's back
Status perform(RankChannel& link, std::span<const std::string> words);

}  // namespace baleen::test
