#include "core/execute/persistent_layout.hpp"

#include "baleen/dtype.hpp"
#include "compiler/codegen/memory.hpp"

namespace baleen {

PersistentLayout lay_out(const std::vector<PersistentSpec>& specs, std::uint64_t alignment, const Mesh& mesh,
                         const Coordinates& at) {
  PersistentLayout layout;
  for (const PersistentSpec& spec : specs) {
    const Shape& global = spec.type.shape;
    const std::int64_t elements =
        spec.layout.empty() ? element_count(global) : piece_of(global, spec.layout, mesh, at).elements();
    const std::uint64_t bytes = static_cast<std::uint64_t>(elements) * dtype_size(spec.type.dtype);
    layout.numbers.emplace(spec.name, layout.buffers.size());
    if (spec.offloaded_ahead) {
      layout.buffers.push_back({spec, 0, bytes, layout.slots++});
      layout.offloaded_bytes += bytes;
      continue;
    }
    layout.buffers.push_back({spec, layout.bytes, bytes});
    layout.bytes += align_up(bytes, alignment);
  }
  return layout;
}

}  // namespace baleen
