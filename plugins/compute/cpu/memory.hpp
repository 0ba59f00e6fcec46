/// \file What the machine says about itself.
#pragma once
#include <cstdint>
#include <string>

namespace baleen::cpu {

/// Bytes this process could still get: the kernel's estimate, or less where a control group limits it.
std::uint64_t free_memory();

/// Of the machine; 0 where it does not say.
std::uint64_t whole_memory();

/// The processor's model name.
std::string processor_name();

}  // namespace baleen::cpu
