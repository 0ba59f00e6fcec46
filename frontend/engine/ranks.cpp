/// \file Connects a rank to the others and compares their graphs.
#include "frontend/engine/ranks.hpp"

#include <sstream>
#include <utility>

#include "baleen/plugin.hpp"
#include "frontend/checkpoint/digests.hpp"
#include "frontend/engine/job_facts.hpp"
#include "frontend/engine/line_difference.hpp"

namespace baleen::app {
namespace {

std::string hashes_of(const Job& job) {
  std::string text;
  for (const auto& [name, given] : graphs_of(job)) text += std::to_string(hash(given->graph)) + '\n';
  return text;
}

/// One line per op, with its graph and number.
std::string ops_of(const std::string& name, const Graph& graph) {
  std::string text;
  std::istringstream lines(print(graph));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    // What is behind the last two blanks is the op's place in the script.
    if (const std::size_t place = line.rfind("  "); place != line.npos)
      line = line.substr(0, place + 2) + line_of_place(line.substr(place + 2));
    text += name + " graph, op " + std::to_string(++number) + ": " + line + '\n';
  }
  return text;
}

std::string ops_of(const Job& job) {
  std::string text;
  for (const auto& [name, given] : graphs_of(job)) text += ops_of(name, given->graph);
  return text;
}

/// A digest for each line: of a large plan its lines are too much to send.
std::string digests_of_lines(const std::string& text) {
  std::string digests;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) digests += digest_of(line) + '\n';
  return digests;
}

std::string line_of(const std::string& text, std::size_t number) {
  std::istringstream lines(text);
  std::string line;
  for (std::size_t i = 0; i < number; ++i)
    if (!std::getline(lines, line)) return "nothing more";
  return line;
}

}  // namespace

Result<Mesh> mesh_of(const Manifest& manifest) {
  Mesh mesh;
  std::int64_t product = 1;
  std::string sizes;
  for (const ManifestAxis& axis : manifest.mesh) {
    product *= axis.size;
    sizes += (sizes.empty() ? "" : " x ") + axis.name + " " + std::to_string(axis.size);
    mesh.axes.push_back({axis.name, axis.size});
  }
  if (product == manifest.ranks()) return mesh;
  const std::string where = manifest.mesh.empty() ? manifest.hosts.front().where : manifest.mesh.front().where;
  return invalid("the mesh (" + (sizes.empty() ? "no axes" : sizes) + ") has " + std::to_string(product) +
                     " places and the hosts have " + std::to_string(manifest.ranks()) +
                     " ranks; make the product of the axes equal to the ranks",
                 where);
}

Error at_its_axis(Error error, const Manifest& manifest) {
  for (const ManifestAxis& axis : manifest.mesh)
    if (error.where == "mesh." + axis.name) error.where = axis.where;
  return error;
}

Result<std::unique_ptr<Ranks>> Ranks::connect(const RankOptions& options, const Setup& setup, const Opened& transport,
                                              Mesh mesh) {
  auto ranks = std::unique_ptr<Ranks>(new Ranks(*setup.link));
  const Place& place = setup.link->place();
  const baleen_host_t* host = transport.plugin.host();
  ranks->rendezvous_ = std::make_unique<RendezvousTable>(
      *setup.link, [host](const Error& error) { host->fail(host->self, error.code, abi(error.text())); });
  BALEEN_TRY_ASSIGN(const SettingsStorage settings, transport.member.settings(options.seed.value_or(0), place));
  Communicator::Options communicator;
  communicator.deterministic = setup.manifest.deterministic;
  communicator.hosts = place.host_of_rank;
  communicator.begins = [&link = *setup.link](std::int64_t number) { link.begins(number); };
  communicator.runs = [&link = *setup.link](const std::string& program) { link.runs(program); };
  BALEEN_TRY_ASSIGN(ranks->communicator_,
                    Communicator::create(transport.plugin, *settings.get(), *ranks->rendezvous_->get(), std::move(mesh),
                                         std::move(communicator)));
  ranks->watch_.emplace(*setup.link, [raw = ranks->communicator_.get()](const std::string& why) { raw->abort(why); });
  ranks->standing_.emplace(*ranks->communicator_, *setup.link);
  BALEEN_TRY(ranks->communicator_->prepare_end());
  return ranks;
}

Ranks::~Ranks() {
  standing_.reset();
  watch_.reset();
}

Result<std::string> Ranks::whose() const {
  BALEEN_TRY_ASSIGN(const std::string host, link_.get("job.host"));
  return "that of rank 0" + (host == place().host ? "" : " on " + host);
}

Status Ranks::compare(const Job& job, const std::string& before, const std::string& after) {
  const std::string text = before + ops_of(job) + after;
  const std::string mine = before + hashes_of(job) + after;
  if (place().rank == 0) {
    BALEEN_TRY(link_.put("job", mine));
    BALEEN_TRY(link_.put("job.host", place().host));
    return link_.put("job.lines", text);
  }
  BALEEN_TRY_ASSIGN(const std::string first, link_.get("job"));
  if (first == mine) return {};
  BALEEN_TRY_ASSIGN(const std::string theirs, link_.get("job.lines"));
  BALEEN_TRY_ASSIGN(const std::string whose_job, whose());
  const auto differ = first_other_fact(text, theirs);
  return invalid(
      "its job is not " + whose_job + ": " +
      (differ ? "`" + differ->one + "` here and `" + differ->two + "` there" : "only in what is not printed") +
      "; script, data and what is loaded must be the same for every rank");
}

void Ranks::tell_other_builds(const std::vector<Descriptor>& plugins, const Log& log) {
  const std::vector<int>& hosts = place().host_of_rank;
  if (hosts.empty() || hosts.front() == hosts.back()) return;
  if (place().rank != 0 && (place().local_rank != 0 || place().host_index == hosts.front())) return;
  std::string builds;
  for (const Descriptor& one : plugins) {
    const auto digest = digest_of_file(one.file);
    builds += title_of(one) + '\n' + (digest ? *digest : "unknown") + '\n';
  }
  if (place().rank == 0) return static_cast<void>(link_.put("job.builds", builds));
  const auto first = link_.get("job.builds"), whose_job = link_.get("job.host");
  if (!first || !whose_job) return;  // which the next word to the launcher tells
  std::istringstream here(builds), there(*first);
  std::string unlike, title, own, other;
  while (std::getline(here, title) && std::getline(here, own) && std::getline(there, other) &&
         std::getline(there, other))
    if (own != other) unlike += (unlike.empty() ? "" : ", ") + title;
  if (!unlike.empty())
    log.warning("of one version, and another build here (" + place().host + ") than on " + *whose_job + ": " + unlike +
                "; what other sources compute is not compared: have one build on all hosts, or raise the version");
}

std::string plan_lines(const Plan& plan) {
  std::string text;
  for (const PlannedGraph& planned : plan.graphs) text += ops_of(planned.name, planned.scheduled.graph);
  return text;
}

Status Ranks::compare_plan(const std::string& lines) {
  const std::string mine = digest_of(lines);
  if (place().rank == 0) {
    BALEEN_TRY(link_.put("plan", mine));
    return link_.put("plan.lines", digests_of_lines(lines));
  }
  BALEEN_TRY_ASSIGN(const std::string first, link_.get("plan"));
  if (first == mine) return {};
  BALEEN_TRY_ASSIGN(const std::string theirs, link_.get("plan.lines"));
  BALEEN_TRY_ASSIGN(const std::string whose_job, whose());
  const auto differ = first_difference(digests_of_lines(lines), theirs);
  return invalid("the job is " + whose_job + ", and its plan is not: `" + line_of(lines, differ ? differ->number : 0) +
                 "` here is something else there; every host must have the same build of Baleen and of its plugins, "
                 "and a strategy must plan the same on every rank");
}

}  // namespace baleen::app
