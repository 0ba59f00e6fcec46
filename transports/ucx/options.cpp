/// \file Reads the options, and writes lists as UCX wants them.
#include "options.hpp"

#include <algorithm>
#include <cstdlib>

namespace baleen::ucx {
namespace {

std::string with_commas(const std::vector<std::string_view>& entries) {
  std::string all;
  for (const std::string_view entry : entries) all += (all.empty() ? "" : ",") + std::string(entry);
  return all;
}

// Names that stand for several transports, cma among them.
bool means_cma(const std::string& name) { return name == "cma" || name == "sm" || name == "shm" || name == "all"; }

}  // namespace

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

Result<Options> Options::from(const Settings& settings) {
  Options options;
  options.tls = with_commas(settings.list("tls"));
  options.devices = with_commas(settings.list("devices"));
  options.segment = static_cast<std::uint64_t>(settings.integer("segment"));
  options.integrity = settings.boolean("integrity");
  options.direct = settings.boolean("direct");
  options.encrypt = settings.boolean("encrypt");
  if (options.encrypt && !options.tls.empty() && options.tls != "tcp")
    return invalid("ucx: encrypt = true carries all messages over sockets, so tls = \"" + options.tls +
                   "\" has nothing to choose; leave tls out, or encrypt");
  options.patience = settings.number("patience");
  BALEEN_TRY_ASSIGN(options.algorithms, Overrides::parse(settings.list("algorithm")));
  return options;
}

std::string Options::fingerprint() const {
  const char* fragment = std::getenv("UCX_TCP_RX_SEG_SIZE");  // a longer one than the receiver's would overrun it
  return "3 " + std::to_string(segment) + " " + algorithms.text() + (integrity ? " integrity" : "") +
         (direct ? " direct" : "") + (encrypt ? " encrypt" : "") +
         (fragment ? std::string(" UCX_TCP_RX_SEG_SIZE=") + fragment : "");
}

std::string Options::usable_tls() const { return tls.empty() && !std::getenv("UCX_TLS") ? "^posix" : tls; }

bool Options::allows_cma() const {
  const std::vector<std::string> names = names_in(tls);
  if (!tls.empty() && tls.front() == '^') return tls.find("cma") == tls.npos;
  return tls.empty() || std::any_of(names.begin(), names.end(), means_cma);
}

std::string Options::tls_without_cma() const {
  if (tls.empty()) return "^cma,posix";
  if (tls.front() == '^') return tls + ",cma";
  std::string rest;
  for (const std::string& name : names_in(tls)) {
    const bool several = name == "sm" || name == "shm";
    if (name == "all") return "^cma";
    if (name != "cma") rest += (rest.empty() ? "" : ",") + (several ? std::string("posix,sysv") : name);
  }
  return rest;
}

}  // namespace baleen::ucx
