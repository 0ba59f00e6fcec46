/// \file The functions of UCX that a caller with memory of devices goes by; the real ones lie behind them.
#include <dlfcn.h>
#include <fcntl.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver.hpp"

namespace {

using namespace baleen::ucx_double;

/// The function of this name in the UCX that the process has loaded: who calls it, has.
template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(dlopen("libucp.so.0", RTLD_NOLOAD | RTLD_LAZY), name));
}
#define REAL(name)                                                    \
  ([] {                                                               \
    static decltype(name)* const found = real<decltype(name)>(#name); \
    return found;                                                     \
  }())

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "UCX's double: %s\n", what.c_str());
  std::abort();
}

bool is_set(const char* name, const char* value) {
  const char* const text = std::getenv(name);
  return text && std::strcmp(text, value) == 0;
}

/// One write, so that lines of several ranks do not mix.
void tell(const char* did, std::size_t bytes) {
  const char* const path = std::getenv("UCX_DOUBLE_LOG");
  const int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
  if (file < 0) return;
  const std::string line = std::string(did) + " " + std::to_string(bytes) + "\n";
  if (write(file, line.data(), line.size()) < 0) refuse("no log");
  close(file);
}

/// Memory of devices that was mapped: what a handle stands for.
struct Mapped {
  char* base = nullptr;
  std::size_t bytes = 0;
};
struct All {
  std::mutex mutex;
  std::map<void*, std::unique_ptr<Mapped>> handles;
  std::atomic<bool> is_used{false};  ///< a device's message was under way
};
All& all() {
  static All& one = *new All;
  return one;
}
/// Null where it is a handle of the real UCX's.
Mapped* mapped(ucp_mem_h handle) {
  const std::lock_guard lock(all().mutex);
  const auto found = all().handles.find(handle);
  return found == all().handles.end() ? nullptr : found->second.get();
}
bool is_mapped(const void* at, std::size_t bytes) {
  const std::lock_guard lock(all().mutex);
  for (const auto& [handle, one] : all().handles) {
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(at) - one->base);
    if (at >= one->base && offset < one->bytes && bytes <= one->bytes - offset) return true;
  }
  return false;
}

void check_context(const char* doing) {
  if (all().is_used && !has_context())
    refuse(std::string(doing) + " on a thread without a current context, where the real one crashes");
}

/// A message of a device's under way, by a copy.
struct Staged {
  std::vector<char> copy;
  void* to = nullptr;  ///< of a receive
  ucp_request_param_t given{};
};

/// Null: it is none of a device's, and the real UCX takes it as it is.
std::unique_ptr<Staged> staged(const void* buffer, std::size_t count, const ucp_request_param_t* param) {
  const bool says = (param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE) != 0;
  const bool says_device = says && param->memory_type == UCS_MEMORY_TYPE_CUDA;
  if (param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) {
    if (says_device) refuse("only a message of plain bytes can be a device's here");
    if ((param->datatype & UCP_DATATYPE_CLASS_MASK) == UCP_DATATYPE_IOV)
      for (std::size_t i = 0; i < count; ++i)
        if (is_device_memory(static_cast<const ucp_dt_iov_t*>(buffer)[i].buffer))
          refuse("a list of parts has memory of a device's");
    return nullptr;
  }
  if (count > 0 && says_device != is_device_memory(buffer))
    refuse(says_device ? "a message of the host's memory says that it is a device's"
                       : "a message of a device's memory does not say so");
  if (!says_device) return nullptr;
  if (!is_mapped(buffer, count)) refuse("a message of a device's memory that was not mapped");
  all().is_used = true;
  auto made = std::make_unique<Staged>();
  made->copy.resize(count);
  made->given = *param;
  return made;
}

ucp_request_param_t of_the_copy(Staged& message) {
  ucp_request_param_t param = message.given;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  param.user_data = &message;
  return param;
}

void on_sent(void* request, ucs_status_t status, void* message) {
  const std::unique_ptr<Staged> done(static_cast<Staged*>(message));
  done->given.cb.send(request, status, done->given.user_data);
}

void on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* message) {
  const std::unique_ptr<Staged> done(static_cast<Staged*>(message));
  if (status == UCS_OK) copy(done->to, done->copy.data(), info->length);
  done->given.cb.recv(request, status, info, done->given.user_data);
}

}  // namespace

extern "C" {

ucs_status_t ucp_context_query(ucp_context_h context, ucp_context_attr_t* found) {
  const ucs_status_t status = REAL(ucp_context_query)(context, found);
  if (status == UCS_OK && (found->field_mask & UCP_ATTR_FIELD_MEMORY_TYPES) && !is_set("UCX_DOUBLE_CUDA", "0"))
    found->memory_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);
  return status;
}

ucs_status_t ucp_mem_map(ucp_context_h context, const ucp_mem_map_params_t* params, ucp_mem_h* handle) {
  const bool has_address = (params->field_mask & UCP_MEM_MAP_PARAM_FIELD_ADDRESS) != 0;
  if (!has_address || !is_device_memory(params->address)) return REAL(ucp_mem_map)(context, params, handle);
  if (!has_context()) refuse("mapping memory of a device's on a thread without a current context");
  if ((params->field_mask & UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE) && params->memory_type == UCS_MEMORY_TYPE_HOST)
    refuse("memory of a device's is mapped as the host's");
  if (is_set("UCX_DOUBLE_FAIL", "1")) return UCS_ERR_NO_RESOURCE;
  auto made = std::make_unique<Mapped>(Mapped{static_cast<char*>(params->address), params->length});
  *handle = reinterpret_cast<ucp_mem_h>(made.get());
  const std::lock_guard lock(all().mutex);
  all().handles.emplace(*handle, std::move(made));
  return UCS_OK;
}

ucs_status_t ucp_mem_query(const ucp_mem_h handle, ucp_mem_attr_t* found) {
  const Mapped* const own = mapped(handle);
  if (!own) return REAL(ucp_mem_query)(handle, found);
  found->address = own->base;
  found->length = own->bytes;
  found->mem_type = UCS_MEMORY_TYPE_CUDA;
  return UCS_OK;
}

ucs_status_t ucp_mem_unmap(ucp_context_h context, ucp_mem_h handle) {
  if (!mapped(handle)) return REAL(ucp_mem_unmap)(context, handle);
  const std::lock_guard lock(all().mutex);
  all().handles.erase(handle);
  return UCS_OK;
}

ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h to, const void* buffer, size_t count, ucp_tag_t tag,
                                  const ucp_request_param_t* param) {
  std::unique_ptr<Staged> message = staged(buffer, count, param);
  check_context("sending");
  if (!message) return REAL(ucp_tag_send_nbx)(to, buffer, count, tag, param);
  copy(message->copy.data(), buffer, count);
  tell("sent", count);
  ucp_request_param_t inner = of_the_copy(*message);
  inner.cb.send = &on_sent;
  ucs_status_ptr_t request = REAL(ucp_tag_send_nbx)(to, message->copy.data(), count, tag, &inner);
  if (UCS_PTR_IS_PTR(request)) message.release();
  return request;
}

ucs_status_ptr_t ucp_tag_recv_nbx(ucp_worker_h worker, void* buffer, size_t count, ucp_tag_t tag, ucp_tag_t mask,
                                  const ucp_request_param_t* param) {
  std::unique_ptr<Staged> message = staged(buffer, count, param);
  check_context("receiving");
  if (!message) return REAL(ucp_tag_recv_nbx)(worker, buffer, count, tag, mask, param);
  message->to = buffer;
  tell("received", count);
  ucp_request_param_t inner = of_the_copy(*message);
  inner.cb.recv = &on_received;
  void* const room = message->copy.data();
  Staged* const under_way = message.release();  // the callback may come within the call
  ucs_status_ptr_t request = REAL(ucp_tag_recv_nbx)(worker, room, count, tag, mask, &inner);
  if (!request) refuse("a receive that was done at once, though nobody asks for that");
  if (UCS_PTR_IS_ERR(request)) delete under_way;
  return request;
}

unsigned ucp_worker_progress(ucp_worker_h worker) {
  check_context("moving messages on");
  return REAL(ucp_worker_progress)(worker);
}

ucs_status_t ucp_worker_arm(ucp_worker_h worker) {
  check_context("arming");
  return REAL(ucp_worker_arm)(worker);
}

}  // extern "C"
