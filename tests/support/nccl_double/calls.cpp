/// \file What a call is named and how wide its elements are.
#include "communicator.hpp"

namespace baleen::nccl_double {

const char* Op::name() const {
  constexpr const char* kNames[] = {"ncclAllReduce", "ncclReduceScatter", "ncclAllGather", "ncclBroadcast",
                                    "ncclReduce",    "ncclSend",          "ncclRecv",      "ncclAlltoAll"};
  return kNames[static_cast<int>(kind)];
}

std::size_t Op::width() const {
  constexpr std::size_t kWidths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kWidths[type];
}

std::string Op::text() const {
  std::string text = std::string(name()) + " of " + std::to_string(count) + " of type " + std::to_string(type);
  if (kind == Kind::kAllReduce || kind == Kind::kReduceScatter || kind == Kind::kReduce)
    text += ", op " + std::to_string(op);
  if (kind == Kind::kBroadcast || kind == Kind::kReduce) text += ", root " + std::to_string(peer);
  return text;
}

}  // namespace baleen::nccl_double
