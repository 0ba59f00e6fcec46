/// \file What a run of several ranks needs beside a run of one: the mesh, the transport, and the news of lost peers.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/plan/job.hpp"
#include "compiler/plan/plan.hpp"
#include "core/execute/communicator.hpp"
#include "core/launch/rendezvous_table.hpp"
#include "frontend/engine/prepare.hpp"
#include "frontend/engine/standing_watch.hpp"

namespace baleen::app {

/// The manifest's mesh. Fails where its product is not the number of ranks.
Result<Mesh> mesh_of(const Manifest& manifest);

/// What the plan says of a mesh axis, which it knows by name ("mesh.data"), with the axis's place in the manifest.
Error at_its_axis(Error error, const Manifest& manifest);

/// What ranks plan alike: a line for each op of each graph, as it is laid out.
std::string plan_lines(const Plan& plan);

/// This process's connection to the other ranks. Destroyed after all that communicates.
class Ranks {
 public:
  /// Collective: connects the ranks of `link` by the chosen transport.
  static Result<std::unique_ptr<Ranks>> connect(const RankOptions& options, const Setup& setup, const Opened& transport,
                                                Mesh mesh);
  ~Ranks();

  Communicator& communicator() { return *communicator_; }
  const Place& place() const { return link_.place(); }

  /// Waits until all ranks have come to the end of the script's training; names a rank that is still within it.
  Status meet_at_end() { return communicator_->meet_at_end(); }

  /// That every rank has this job, with these lines before and after its graphs (job_facts); else names the first line
  /// in which a rank differs from rank 0. What ranks do alike (programs, collectives, the default loop) follows from
  /// it.
  Status compare(const Job& job, const std::string& before, const std::string& after);
  /// Warns where another host has other files of these plugins, which are of the versions that rank 0's are: they may
  /// be made from other sources, or only elsewhere. Behind `compare`.
  void tell_other_builds(const std::vector<Descriptor>& plugins, const Log& log);
  /// That every rank has made the same plan of it (plan_lines): another build of a plugin, or a strategy that is not
  /// alike everywhere, may not have.
  Status compare_plan(const std::string& lines);

 private:
  explicit Ranks(RankLink& link) : link_(link) {}
  /// "that of rank 0 on HOST", once it has told its job.
  Result<std::string> whose() const;

  RankLink& link_;
  std::unique_ptr<RendezvousTable> rendezvous_;
  std::unique_ptr<Communicator> communicator_;
  std::optional<AbortWatch> watch_;
  std::optional<StandingWatch> standing_;
};

}  // namespace baleen::app
