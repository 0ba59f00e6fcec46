/// \file From options to NCCL's configuration.
#include "options.hpp"

#include "environment.hpp"

namespace baleen::nccl {
namespace {

constexpr int kAlgorithmsByOperation = 22400;  ///< from 2.24 on NCCL_ALGO may name one operation

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

}  // namespace

Result<Options> Options::from(const Settings& settings) {
  Options options;
  options.library = settings.text("library");
  options.driver = settings.text("driver");
  options.interface = settings.text("interface");
  options.algorithm = settings.text("algorithm");
  options.protocol = settings.text("protocol");
  options.debug = settings.text("debug");
  options.min_channels = static_cast<int>(settings.integer("min_channels"));
  options.max_channels = static_cast<int>(settings.integer("max_channels"));
  options.timeout = settings.number("timeout");
  options.scratch = static_cast<std::uint64_t>(settings.integer("scratch_mb")) << 20;
  options.registers = settings.boolean("register");
  options.shares_gpu = settings.boolean("share_gpu");
  if (options.max_channels > 0 && options.min_channels > options.max_channels)
    return invalid("`min_channels` is " + std::to_string(options.min_channels) + ", more than `max_channels`, " +
                   std::to_string(options.max_channels));
  return options;
}

Config Options::config() const {
  Config config;
  config.blocking = 0;
  if (min_channels > 0) config.min_ctas = min_channels;
  if (max_channels > 0) config.max_ctas = max_channels;
  return config;
}

std::vector<std::pair<std::string, std::string>> Options::environment(int version, std::int32_t rank) const {
  // Connections are made when a communicator is, not by the first collective, which must not wait for its peers.
  std::vector<std::pair<std::string, std::string>> all{{"NCCL_RUNTIME_CONNECT", "0"}};
  if (!interface.empty()) all.emplace_back("NCCL_SOCKET_IFNAME", "=" + interface);
  if (const char* said = std::getenv("NCCL_SOCKET_IFNAME"); interface.empty() && !said && !default_interface.empty())
    all.emplace_back("NCCL_SOCKET_IFNAME", "=" + default_interface);
  if (algorithm == "ring") all.emplace_back("NCCL_ALGO", "Ring");
  // The others exist for some operations only, and a later NCCL refuses them elsewhere.
  if (algorithm == "tree" || algorithm == "nvls")
    all.emplace_back("NCCL_ALGO", (version >= kAlgorithmsByOperation ? "allreduce:" : "") +
                                      std::string(algorithm == "tree" ? "Tree" : "NVLS"));
  if (protocol != "auto") all.emplace_back("NCCL_PROTO", protocol == "simple" ? "Simple" : upper(protocol));
  // NCCL joins two ranks of a GPU only where it takes them for ranks of two hosts.
  if (shares_gpu) all.emplace_back("NCCL_HOSTID", "baleen rank " + std::to_string(rank));
  if (debug != "off") all.emplace_back("NCCL_DEBUG", upper(debug));
  return all;
}

std::string Options::facts(int version) const {
  return "NCCL=" + version_text(version) + "\nalgorithm=" + algorithm + "\nprotocol=" + protocol +
         "\nmin_channels=" + std::to_string(min_channels) + "\nmax_channels=" + std::to_string(max_channels) +
         "\nscratch_mb=" + std::to_string(scratch >> 20) + "\nshare_gpu=" + (shares_gpu ? "true" : "false") + "\n";
}

std::string Options::effective(int version) const {
  const auto chosen = [](const std::string& text) { return text.empty() || text == "auto" ? "chosen by NCCL" : text; };
  const auto limit = [](int number) { return number > 0 ? std::to_string(number) : std::string("NCCL's"); };
  return "NCCL " + version_text(version) + " from " + library + ": interface " +
         chosen(interface.empty() ? default_interface : interface) + ", algorithm " + chosen(algorithm) +
         ", protocol " + chosen(protocol) + ", channels " + limit(min_channels) + " to " + limit(max_channels) +
         ", timeout " + std::to_string(static_cast<int>(timeout)) + " s, scratch " + std::to_string(scratch >> 20) +
         " MiB for sums in order" + (shares_gpu ? "; ranks may share a GPU, so all data goes through sockets" : "");
}

void set_environment(const Options& options, int version, std::int32_t rank, const Host& host) {
  const auto variables = options.environment(version, rank);
  set_variables(variables);
  std::string set;
  for (const auto& [name, value] : variables) set += (set.empty() ? "" : ", ") + name + "=" + value;
  host.log(BALEEN_DEBUG, "set for NCCL: " + set);
}

}  // namespace baleen::nccl
