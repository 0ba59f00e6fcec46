/// \file From options to NCCL's configuration.
#include "options.hpp"

#include <cstdlib>

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
  options.memory = settings.text("memory");
  options.shares_windows = settings.boolean("windows");
  options.copy_engine = settings.boolean("copy_engine");
  options.graphs = settings.boolean("graphs");
  options.shares_gpu = settings.boolean("share_gpu");
  if (options.max_channels > 0 && options.min_channels > options.max_channels)
    return invalid("`min_channels` is " + std::to_string(options.min_channels) + ", more than `max_channels`, " +
                   std::to_string(options.max_channels));
  if (options.copy_engine && !options.shares_windows)
    return invalid("`copy_engine` works in windows; say `windows = true` too");
  if (options.shares_windows && options.memory == "device")
    return invalid("`windows` are of NCCL's own memory, and `memory` is \"device\"; leave out one of the two");
  if (options.shares_windows && (options.algorithm != "auto" || options.protocol != "auto"))
    return invalid("in `windows` NCCL has algorithms of its own; leave them out, or `algorithm` and `protocol`");
  return options;
}

Status Options::suit(const Functions& nccl) const {
  const auto lacks = [&](const std::string& option, int since, const std::string& without) {
    return unsupported("`" + option + "` needs NCCL " + version_text(since) + " or later, and this is " +
                       version_text(nccl.version) + "; update the package libnccl2, or " + without);
  };
  if (memory == "nccl" && !nccl.has_memory())
    return lacks("memory = \"nccl\"", kMemorySince, "leave `memory` at \"auto\"");
  if (shares_windows && !nccl.has_windows()) return lacks("windows", kWindowsSince, "leave out `windows`");
  if (copy_engine && !nccl.has_copy_engines())
    return lacks("copy_engine", kCopyEnginesSince, "leave out `copy_engine`");
  return {};
}

Config Options::config() const {
  Config config;
  config.blocking = 0;
  if (min_channels > 0) config.min_ctas = min_channels;
  if (max_channels > 0) config.max_ctas = max_channels;
  if (!copy_engine) return config;
  config.size = sizeof config;
  config.version = kCopyEnginesSince;
  config.cta_policy = kPolicyZero;
  return config;
}

// Without cuMem, ncclMemAlloc gives what the device gives.
bool Options::wants_memory(const Functions& nccl) const {
  const auto user = user_variable("NCCL_CUMEM_ENABLE");
  const bool is_plain = memory == "auto" && user && std::atoi(user->value.c_str()) == 0;
  return nccl.has_memory() && memory != "device" && !is_plain;
}

std::vector<std::pair<std::string, std::string>> Options::environment(int version, std::int32_t rank) const {
  // Connections are made when a communicator is, not by the first collective, which must not wait for its peers.
  std::vector<std::pair<std::string, std::string>> all{{"NCCL_RUNTIME_CONNECT", "0"}};
  // It would take the place of the configuration's, and nothing may block here.
  if (user_variable("NCCL_COMM_BLOCKING")) all.emplace_back("NCCL_COMM_BLOCKING", "0");
  if (!interface.empty()) all.emplace_back("NCCL_SOCKET_IFNAME", "=" + interface);
  if (interface.empty() && !default_interface.empty() && !user_variable("NCCL_SOCKET_IFNAME"))
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
  const auto of_user = [](const std::string& option, const char* variable) {
    const auto user = user_variable(variable);
    return option == "auto" && user ? user->value : option;
  };
  return "NCCL=" + version_text(version) + "\nalgorithm=" + of_user(algorithm, "NCCL_ALGO") +
         "\nprotocol=" + of_user(protocol, "NCCL_PROTO") + "\nmin_channels=" + std::to_string(min_channels) +
         "\nmax_channels=" + std::to_string(max_channels) + "\nscratch_mb=" + std::to_string(scratch >> 20) +
         "\nshare_gpu=" + (shares_gpu ? "true" : "false") + "\nmemory=" + memory +
         "\nwindows=" + (shares_windows ? "true" : "false") + "\ncopy_engine=" + (copy_engine ? "true" : "false") +
         "\ngraphs=" + (graphs ? "true" : "false") + "\n";
}

// What this plugin sets hides what the user has set.
Options::Setting Options::setting(int version, const char* variable, bool is_given) const {
  const auto user = user_variable(variable);
  for (const auto& [name, value] : environment(version, 0)) {
    if (name != variable) continue;
    const bool hides = user && user->value != value;
    return {value, std::string(is_given ? "option" : "default") +
                       (hides ? "; not " + name + "=" + user->value + " in " + user->where : "")};
  }
  if (user) return {user->value, std::string(variable) + " in " + user->where};
  return {"chosen by NCCL", "default"};
}

// NCCL_MIN_CTAS and NCCL_MAX_CTAS take the place of the configuration's limit, and of NCCL_MIN_NCHANNELS and
// NCCL_MAX_NCHANNELS and that limit the narrower one holds: from NCCL's sources (init.cc, connect.cc).
Options::Setting Options::channels(bool at_most) const {
  const int option = at_most ? max_channels : min_channels;
  int limit = option;
  Setting holds{option > 0 ? std::to_string(option) : "NCCL's", option > 0 ? "option" : "default"};
  const std::string prefix = at_most ? "NCCL_MAX_" : "NCCL_MIN_";
  for (const std::string& name : {prefix + "CTAS", prefix + "NCHANNELS"}) {
    const auto user = user_variable(name);
    const int number = user ? std::atoi(user->value.c_str()) : 0;
    const bool is_wider = name.ends_with("NCHANNELS") && limit > 0 && (at_most ? number >= limit : number <= limit);
    if (number <= 0 || is_wider) continue;
    limit = number;
    holds = {std::to_string(number), name + " in " + user->where};
  }
  return holds;
}

Options::Setting Options::registration(bool can_register) const {
  if (!registers) return {"false", "option"};
  if (!can_register) return {"false", "this NCCL has no ncclCommRegister"};
  const auto user = user_variable("NCCL_LOCAL_REGISTER");
  if (user && std::atoi(user->value.c_str()) == 0) return {"false", "NCCL_LOCAL_REGISTER in " + user->where};
  return {"true", "default"};
}

Options::Setting Options::memory_in_use(const Functions& nccl) const {
  if (wants_memory(nccl)) return {"nccl", memory == "auto" ? "default" : "option"};
  if (memory == "device") return {"device", "option"};
  if (!nccl.has_memory()) return {"device", "this NCCL has no ncclMemAlloc"};
  return {"device", "NCCL_CUMEM_ENABLE in " + user_variable("NCCL_CUMEM_ENABLE")->where};
}

// What NCCL does in windows need not heed an algorithm and a protocol, which fix the order of sums.
Options::Setting Options::windows(const Functions& nccl) const {
  if (!shares_windows) return {"false", "default"};
  if (!wants_memory(nccl)) return {"false", "memory device"};
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO"})
    if (const auto user = user_variable(name)) return {"false", std::string(name) + " in " + user->where};
  const auto user = user_variable("NCCL_WIN_ENABLE");
  if (user && std::atoi(user->value.c_str()) == 0) return {"false", "NCCL_WIN_ENABLE in " + user->where};
  return {"true", "option"};
}

// The variable takes the place of the configuration's: from NCCL's sources (init.cc).
Options::Setting Options::copy_engines() const {
  if (const auto user = user_variable("NCCL_CTA_POLICY"))
    return {std::atoi(user->value.c_str()) & kPolicyZero ? "true" : "false", "NCCL_CTA_POLICY in " + user->where};
  return {copy_engine ? "true" : "false", copy_engine ? "option" : "default"};
}

std::string Options::effective(const Functions& nccl) const {
  const Options defaults;
  const int version = nccl.version;
  const auto number = [](auto value, auto otherwise, const char* unit) {
    return std::to_string(static_cast<long>(value)) + unit + " (" + (value == otherwise ? "default" : "option") + ")";
  };
  const Setting printed = setting(version, "NCCL_DEBUG", debug != "off");
  return "NCCL " + version_text(version) + " from " + library + ": interface " +
         setting(version, "NCCL_SOCKET_IFNAME", !interface.empty()).text() + ", algorithm " +
         setting(version, "NCCL_ALGO", algorithm != "auto").text() + ", protocol " +
         setting(version, "NCCL_PROTO", protocol != "auto").text() + ", channels " + channels(false).text() + " to " +
         channels(true).text() + ", register " + registration(nccl.can_register()).text() + ", memory " +
         memory_in_use(nccl).text() + ", windows " + windows(nccl).text() + ", copy_engine " + copy_engines().text() +
         ", graphs " + (graphs ? "true (option)" : "false (default)") + ", debug " +
         (printed.source == "default" ? "off (default)" : printed.text()) + ", timeout " +
         number(timeout, defaults.timeout, " s") + ", scratch_mb " + number(scratch >> 20, defaults.scratch >> 20, "") +
         ", share_gpu " +
         (shares_gpu ? "true (option): each rank is a host of its own to NCCL, and data goes through sockets"
                     : "false (default)");
}

void set_environment(const Options& options, int version, std::int32_t rank, const Host& host) {
  const auto variables = options.environment(version, rank);
  set_variables(variables);
  std::string set;
  for (const auto& [name, value] : variables) set += (set.empty() ? "" : ", ") + name + "=" + value;
  host.log(BALEEN_DEBUG, "set for NCCL: " + set);
}

}  // namespace baleen::nccl
