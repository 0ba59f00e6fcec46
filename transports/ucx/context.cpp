/// \file Creation, with words for what can be wrong.
#include "context.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <ucs/config/global_opts.h>
#include <ucs/debug/debug.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "devices.hpp"
#include "log_tap.hpp"

namespace baleen::ucx {
namespace {

struct Configuration {
  ucp_config_t* given = nullptr;
  ~Configuration() {
    if (given) ucp_config_release(given);
  }
  /// Where the environment does not say otherwise. UCX 1.13 knows an entry of a transport's table by the name that it
  /// has there ("RX_SEG_SIZE") and not by the variable's ("UCX_TCP_RX_SEG_SIZE"); hence `table` apart.
  void propose(const std::string& table, const std::string& name, const std::string& value) {
    if (!std::getenv(("UCX_" + table + name).c_str())) ucp_config_modify(given, name.c_str(), value.c_str());
  }
};

// A dead peer is looked for twice a second. On TCP by bytes, whose acknowledgement is looked for too (sockets.hpp):
// they are sent again where they are lost, which the kernel's own probes of idle connections are not.
void notice_losses(Configuration& configuration) {
  // With the error handling that is asked for, shared memory (posix and sysv, whose common table has this prefix) is
  // only used where it is switched on there too.
  ucp_config_modify(configuration.given, "MM_ERROR_HANDLING", "y");
  configuration.propose("", "KEEPALIVE_INTERVAL", "500ms");
  configuration.propose("TCP_", "KEEPIDLE", "inf");
  configuration.propose("TCP_", "CONN_NB", "y");  // else connecting to a host that is silent takes minutes in one call
}

// UCX's own choices are for messages that surprise their receiver. Ours are expected, and few are longer than a
// segment: one call of the system sends a segment, without a meeting before; and shared memory takes four times as much
// at a time, of as many bytes in all as by default. RDMA, which needs no copies once sides have met, is left as it is.
void send_segments_at_once(Configuration& configuration, std::uint64_t segment, bool may_use_rdma) {
  constexpr std::uint64_t kLeast = 64 << 10, kMost = 1 << 20, kHeaders = 4 << 10;
  const std::string bytes = std::to_string(std::clamp(segment, kLeast, kMost) + kHeaders);
  configuration.propose("TCP_", "RX_SEG_SIZE", bytes);  // the same on all ranks, whatever devices they have
  configuration.propose("", "MM_SEG_SIZE", "32k");
  configuration.propose("", "MM_RX_BUFS_GROW", "128");
  if (!may_use_rdma) configuration.propose("", "RNDV_THRESH", bytes);
}

Error unusable(const Options& options, const std::string& tls, const std::string& why, const LogTap& tap) {
  const auto value = [](const std::string& text) { return text.empty() ? std::string("any") : "\"" + text + "\""; };
  return unsupported("ucx: no usable device with tls = " + value(tls) + ", devices = " + value(options.devices) + " (" +
                     why + (tap.text().empty() ? "" : "; UCX says: " + tap.text()) + "); this machine has " +
                     available_devices() +
                     "; name some of these in [transport] tls and devices, or leave both out and let UCX choose");
}

// UCX itself would listen on all. Empty: the user has said it in the environment, or nothing is known.
std::string network_devices(const Options& options) {
  if (!options.devices.empty()) return options.devices;
  return std::getenv("UCX_NET_DEVICES") ? std::string() : devices_at(options.address);
}

// UCX would print a backtrace, and change how the process ends, where the program's own handlers should speak.
void leave_signals_alone() {
  for (const int signal : {SIGILL, SIGSEGV, SIGBUS, SIGFPE}) ucs_debug_disable_signal(signal);
  if (!std::getenv("UCX_HANDLE_ERRORS")) ucs_global_opts_set_value("HANDLE_ERRORS", "");
}

// UCX ends the process, or waits for ever, where it may open no more.
Status check_descriptors() {
  constexpr std::uint64_t kNeeded = 16;
  rlimit limit{};
  std::error_code none;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  const std::filesystem::directory_iterator open("/proc/self/fd", none);
  const auto count = static_cast<std::uint64_t>(std::distance(open, {}));
  if (count + kNeeded <= limit.rlim_cur) return {};
  return Error{BALEEN_NO_MEMORY,
               "ucx: " + std::to_string(count) + " files are open of the " + std::to_string(limit.rlim_cur) +
                   " that may be, and UCX may need " + std::to_string(kNeeded) +
                   " more; raise the limit of open files, `ulimit -n`",
               {}};
}

}  // namespace

std::string status_text(ucs_status_t status) { return ucs_status_string(status); }

Result<std::unique_ptr<Context>> Context::open(const Options& options, const std::string& tls, std::size_t ranks,
                                               const LogTap& tap) {
  BALEEN_TRY(check_descriptors());
  leave_signals_alone();
  Configuration configuration;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &configuration.given);
  if (status != UCS_OK) return internal("ucx: reading the configuration: " + status_text(status));
  notice_losses(configuration);
  send_segments_at_once(configuration, options.segment, may_use_rdma(tls));
  if (!tls.empty()) status = ucp_config_modify(configuration.given, "TLS", tls.c_str());
  if (const std::string devices = network_devices(options); status == UCS_OK && !devices.empty())
    status = ucp_config_modify(configuration.given, "NET_DEVICES", devices.c_str());
  if (status != UCS_OK) return unusable(options, tls, status_text(status), tap);

  std::unique_ptr<Context> made(new Context);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
  params.features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.mt_workers_shared = 1;  // memory is mapped while the worker's thread works
  params.estimated_num_eps = ranks;
  status = ucp_init(&params, configuration.given, &made->context_);
  if (status != UCS_OK) return unusable(options, tls, status_text(status), tap);
  return made;
}

Result<std::unique_ptr<Context>> Context::create(const Host& host, const Options& options, const std::string& tls,
                                                 std::size_t ranks) {
  const LogTap tap(host, true);
  BALEEN_TRY_ASSIGN(std::unique_ptr<Context> made, open(options, tls, ranks, tap));
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_FLAGS;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  worker.flags = UCP_WORKER_FLAG_IGNORE_REQUEST_LEAK;
  ucs_status_t status = ucp_worker_create(made->context_, &worker, &made->worker_);
  if (status == UCS_OK) status = ucp_worker_get_efd(made->worker_, &made->file_);
  if (status != UCS_OK) return unusable(options, tls, status_text(status), tap);
  return made;
}

bool Context::would_know_cuda(const Host& host, const Options& options, const std::string& tls) {
  const LogTap tap(host, true);
  const Result<std::unique_ptr<Context>> made = open(options, tls, 1, tap);
  return made && (*made)->knows_cuda();
}

bool Context::knows_cuda() const {
  ucp_context_attr_t found{};
  found.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  return ucp_context_query(context_, &found) == UCS_OK && (found.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) != 0;
}

Context::~Context() {
  if (worker_) ucp_worker_destroy(worker_);
  if (context_) ucp_cleanup(context_);
}

Result<std::string> Context::address() const {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  const ucs_status_t status = ucp_worker_get_address(worker_, &address, &bytes);
  if (status != UCS_OK) return internal("ucx: the worker's address: " + status_text(status));
  std::string text(reinterpret_cast<const char*>(address), bytes);
  ucp_worker_release_address(worker_, address);
  return text;
}

Result<Context::Memory> Context::allocate(std::uint64_t bytes) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  params.length = bytes;
  params.flags = UCP_MEM_MAP_ALLOCATE;
  ucp_mem_h handle = nullptr;
  ucs_status_t status = ucp_mem_map(context_, &params, &handle);
  if (status != UCS_OK)
    return Error{BALEEN_NO_MEMORY,
                 "ucx: " + std::to_string(bytes) + " bytes for an arena: " + status_text(status) +
                     "; is the limit of locked memory (ulimit -l) high enough?",
                 {}};
  Memory memory{nullptr, bytes, handle};
  ucp_mem_attr_t found{};
  found.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
  status = ucp_mem_query(handle, &found);
  if (status != UCS_OK) {
    free(memory);
    return internal("ucx: where an arena lies: " + status_text(status));
  }
  memory.base = static_cast<std::byte*>(found.address);
  std::memset(memory.base, 0, bytes);  // one of UCX's ways to allocate is the heap
  return memory;
}

// UCX itself finds out whose memory it is.
Result<Context::Memory> Context::adopt(void* base, std::uint64_t bytes) {
  ucp_mem_map_params_t params{};
  params.field_mask =
      UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
  params.address = base;
  params.length = bytes;
  params.memory_type = UCS_MEMORY_TYPE_UNKNOWN;
  ucp_mem_h handle = nullptr;
  ucs_status_t status = ucp_mem_map(context_, &params, &handle);
  ucp_mem_attr_t found{};
  found.field_mask = UCP_MEM_ATTR_FIELD_MEM_TYPE;
  if (status == UCS_OK && (status = ucp_mem_query(handle, &found)) != UCS_OK) ucp_mem_unmap(context_, handle);
  if (status != UCS_OK)
    return Error{BALEEN_NO_MEMORY,
                 "ucx: making " + std::to_string(bytes) + " bytes of a device's memory known: " + status_text(status) +
                     "; tls = [\"^cuda\", \"posix\"] has them pass through the host's memory instead",
                 {}};
  if (found.mem_type == UCS_MEMORY_TYPE_CUDA) return Memory{static_cast<std::byte*>(base), bytes, handle};
  ucp_mem_unmap(context_, handle);
  return Memory();
}

std::string Context::key_of(const Memory& memory) const {
  void* key = nullptr;
  std::size_t bytes = 0;
  if (ucp_rkey_pack(context_, static_cast<ucp_mem_h>(memory.handle), &key, &bytes) != UCS_OK) return {};
  std::string text(static_cast<const char*>(key), bytes);
  ucp_rkey_buffer_release(key);
  return text;
}

}  // namespace baleen::ucx
