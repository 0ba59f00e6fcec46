/// \file Where rank 0 passes on what ranks tell each other, and notices whose connection ends.
#pragma once
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "wire.hpp"

namespace baleen::nccl {

/// A thread of rank 0 with a connection to every rank. Plan time and bad news only: data never comes here.
class Hub {
 public:
  /// `seconds`: how long the ranks may take to come; who is missing then is named to all others.
  Hub(FileHandle listening, std::int32_t ranks, std::string secret, double seconds);
  /// Sends what is under way, for a second at most.
  ~Hub();
  Hub(const Hub&) = delete;

 private:
  struct Guest {
    Wire wire;
    bool left = false, gone = false;
    std::string facts = {};
  };

  /// A connection that has proven nothing.
  struct Stranger {
    Wire wire;
    double until;
  };

  void run();
  bool welcome(double deadline);
  void accept();
  void hear_hellos();
  std::string missing() const;
  std::string disagreement() const;
  void wait(int milliseconds);
  void serve(std::int32_t rank);
  void pass(const Frame& frame);

  FileHandle listening_;  ///< until all have come
  const FileHandle woken_;
  const std::int32_t ranks_;
  const std::string secret_;
  const double seconds_;
  std::vector<Stranger> strangers_;  ///< the oldest first
  std::map<std::int32_t, Guest> guests_;
  std::thread thread_;
};

/// Facts that all ranks must share, one "name=value" per line; what differs from rank 0's first, with its remedy.
std::string different_fact(std::int32_t rank, const std::string& facts, const std::string& facts_of_zero);

}  // namespace baleen::nccl
