/// \file Connects a rank.
#include "core/app/ranks.hpp"

#include <sstream>

#include "baleen/plugin.hpp"

namespace baleen::app {
namespace {

/// The first line in which two texts differ: "line 7: `a` here, `b` on rank 0".
std::string first_difference(const std::string& mine, const std::string& theirs) {
  std::istringstream a(mine), b(theirs);
  for (int number = 1;; ++number) {
    std::string x, y;
    const bool more_x = static_cast<bool>(std::getline(a, x)), more_y = static_cast<bool>(std::getline(b, y));
    if (!more_x && !more_y) return "no line differs, only what is not printed";
    if (x != y || more_x != more_y)
      return "op " + std::to_string(number) + " is `" + (more_x ? x : "missing") + "` here and `" +
             (more_y ? y : "missing") + "` on rank 0";
  }
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

Result<std::unique_ptr<Ranks>> Ranks::connect(const ScriptOptions& options, const Setup& setup, const Opened& transport,
                                              Mesh mesh) {
  auto ranks = std::unique_ptr<Ranks>(new Ranks(*setup.link));
  BALEEN_TRY_ASSIGN(const SettingsStorage settings, transport.member.settings(options.seed.value_or(0)));
  const baleen_host_t* host = transport.plugin.host();
  ranks->rendezvous_ = std::make_unique<RendezvousTable>(
      *setup.link, [host](const Error& error) { host->fail(host->self, error.code, abi(error.text())); });
  Communicator::Options communicator;
  communicator.checked = options.checked;
  BALEEN_TRY_ASSIGN(ranks->communicator_, Communicator::create(transport.plugin, *settings.get(), *ranks->rendezvous_->get(),
                                                               std::move(mesh), communicator));
  ranks->watch_.emplace(*setup.link, [raw = ranks->communicator_.get()](const std::string& why) { raw->abort(why); });
  return ranks;
}

Ranks::~Ranks() { watch_.reset(); }

Status Ranks::compare(const Graph& graph) {
  const std::string rank = std::to_string(place().rank), mine = std::to_string(hash(graph));
  const std::string text = print(graph);
  BALEEN_TRY(link_.put("graph.hash." + rank, mine));
  if (place().rank == 0) {
    BALEEN_TRY(link_.put("graph.lines", text));
    return {};
  }
  BALEEN_TRY_ASSIGN(const std::string first, link_.get("graph.hash.0"));
  if (first == mine) return {};
  BALEEN_TRY_ASSIGN(const std::string theirs, link_.get("graph.lines"));
  return invalid("rank " + rank + " describes another model than rank 0: " + first_difference(text, theirs) +
                 "; a script must do the same on every rank");
}

}  // namespace baleen::app
