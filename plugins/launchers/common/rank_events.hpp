/// \file What launchers tell whoever leads the job about their ranks.
#pragma once
#include "common/wire.hpp"

namespace baleen::launchers {

class RankEvents {
 public:
  virtual ~RankEvents() = default;
  /// A request, `fail` or `done`.
  virtual void said(int rank, Message& message) = 0;
  /// A beat came.
  virtual void moved(int rank, const ProgressSnapshot& moment) = 0;
  /// Its launcher judges that it has failed, and kills it.
  virtual void condemned(int rank, const Failure& failure) = 0;
  /// Its process is gone, and all that it wrote was passed on.
  virtual void ended(int rank, const RankEnd& end) = 0;
  /// A debugger holds it, so it may be slow.
  virtual void held(int rank) = 0;
};

}  // namespace baleen::launchers
