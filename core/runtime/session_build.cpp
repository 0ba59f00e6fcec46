/// \file A session's programs and their memory.
#include "core/runtime/session_impl.hpp"

namespace baleen {

namespace {

Status with_words(Status fits, const std::string& words) {
  if (fits || words.empty()) return fits;
  Error error = fits.error();
  error.message += (error.message.ends_with(".") ? " " : ". ") + words;
  return error;
}

/// Only planning tells what fits.
Status ask_plan(Status fits, const std::string& words) {
  return with_words(std::move(fits),
                    words.empty() ? "`baleen plan` with this script and manifest tries what would fit" : words);
}

}  // namespace

Status Session::Impl::compile(const Plan& plan) {
  coarsest = plan.coarsest;
  approximated = plan.approximated;
  const Coordinates at = options.communicator ? options.communicator->at() : Coordinates();
  StagedCollectives staged;
  if (options.communicator)
    staged = staged_collectives(device, *options.communicator, options.pinned ? options.pinned->bytes : 0);
  BALEEN_TRY(compile_all(plan, device, at, {staged, options.store_maps, true, options.host_device}));
  planned = plan_memory(*this, device);
  const std::string& words = options.where_too_little;
  BALEEN_TRY(ask_plan(check_memory(planned, device, options.local_ranks, options.memory), words));
  BALEEN_TRY(with_words(check_pinned(JobPrograms::staging(), options.pinned, options.local_ranks), words));
  BALEEN_TRY(with_words(check_offloaded(taken_by(all_slots()), options.offloaded), words));
  if (slots() > 0) {
    if (options.offload_places.empty()) return internal("a plan with values in offload stores, and nobody opens any");
    Result<PlacedSlots> made = place_slots(*this, options.offload_places);
    if (!made) return with_words(std::move(made).error(), words);
    placed = *std::move(made);
    add_places(options.offload_places, placed, planned);
  }
  const std::uint64_t stores = taken_of_host(options.offload_places, placed);
  BALEEN_TRY(ask_plan(check_host(host_need(*this, planned, device, options.host_device, stores), options.host_memory,
                                 options.local_ranks),
                      words));
  working = working_memory(all());
  if (options.activations) BALEEN_TRY(ask_plan(check_budget(working, *options.activations), words));
  train = find(GraphRole::train);
  for (const JobProgram& one : programs) {
    if (one.role != GraphRole::train && one.role != GraphRole::evaluate) continue;
    BALEEN_TRY_ASSIGN(shares[one.name], BatchShare::create(one.program, data->info(), options.batch));
  }
  return {};
}

Status Session::Impl::allocate() {
  std::uint64_t work = 0;
  bool communicates = false, share_work = false, share_persistent = false, stages = false;
  for (const JobProgram& one : programs) {
    work = std::max(work, one.program.memory().arena_bytes);
    communicates |= one.program.communicates();
    share_work |= one.program.shares_work();
    share_persistent |= one.program.shares_persistent();
    stages |= one.program.stages();
  }
  if (communicates && !options.communicator) return internal("a plan with collectives, and no transport");
  const auto arena = [&](bool shared, std::uint64_t bytes) {
    return shared ? Arena::create_shared(device, *options.communicator, bytes) : Arena::create(device, bytes);
  };
  BALEEN_TRY_ASSIGN(persistent_arena, arena(share_persistent, persistent.bytes));
  BALEEN_TRY_ASSIGN(work_arena, arena(share_work, work));
  if (stages) {
    BALEEN_TRY_ASSIGN(staging, Staging::create(device, *options.communicator, JobPrograms::staging()));
  }
  if (slots() > 0) BALEEN_TRY(open_stores());
  if (updates_beside) {
    BALEEN_TRY_ASSIGN(cores, HostCores::create(device, *options.host_device, beside_bytes()));
    cores->watch(options.watch ? options.watch->host_launches() : nullptr);
  }
  for (JobProgram& one : programs) {
    one.program.bind(persistent_arena.base(), work_arena.base(), store.get(), cores.get());
    if (options.communicator) BALEEN_TRY(one.program.connect(*options.communicator, one.name, staging.get()));
    BALEEN_TRY(numbers.reserve(device, one.program));
  }
  return {};
}

Status Session::Impl::open_stores() {
  const std::int64_t rank = options.communicator ? options.communicator->rank() : 0;
  std::vector<std::unique_ptr<OffloadStore>> stores(placed.uses.size());
  for (std::size_t i = 0; i < stores.size(); ++i) {
    if (!placed.uses[i].is_used()) continue;
    const std::optional<MemoryBudget>& own = options.offload_places[i].budget;
    const std::optional<MemoryBudget>& budget = own ? own : options.offloaded;
    BALEEN_TRY_ASSIGN(stores[i], options.open_store(i, {transfers_at_once(), budget ? budget->bytes : 0,
                                                        "rank " + std::to_string(rank),
                                                        moves_directly ? &device : nullptr, updates_in_place}));
  }
  store = std::make_unique<OffloadStores>(std::move(stores));
  BALEEN_TRY(store->pin(device, transfer_staging()));
  return store->reserve(all_slots(), placed.places);
}

}  // namespace baleen
