/// \file What a plan says of states outside the device is what a run has.
#include <algorithm>
#include <filesystem>

#include "parity/cuda/cuda_run.hpp"
#include "parity/offload/offload_run.hpp"

namespace baleen::test {
namespace {

using nlohmann::json;

json planned(const MeshAxes& axes, const std::string& plan, const std::vector<std::string>& arguments) {
  return planned_gpt(manifest_of(axes, plan), arguments);
}

TEST(OffloadBytes, PlanEqualsTheArenasOfARun) {
  const std::vector<std::string> wide{"dim=48"};
  for (const int ranks : {1, 2}) {
    const MeshAxes axes{{"data", ranks}};
    const std::string base = ranks == 1 ? plan_entry("data") : plan_entry("zero", "stage = 1\n");
    const json before = planned(axes, base, wide), with = planned(axes, base + offloaded_to("host"), wide);
    const json& one = with["classes"][0];
    const auto bytes = [](const json& report, const char* kind) -> std::int64_t {
      return report["classes"][0]["planned_bytes"][kind];
    };
    const std::int64_t moved = one["offload"]["bytes"];
    EXPECT_EQ(one["offload"]["member"], "host");
    EXPECT_EQ(moved, bytes(before, "optimizer")) << "all states of the optimizer";
    EXPECT_EQ(bytes(with, "optimizer"), 0);
    EXPECT_EQ(one["offload"]["put_bytes"], moved) << "each is put and got once in a step";
    EXPECT_EQ(one["offload"]["got_bytes"], moved);
    EXPECT_LT(bytes(with, "total"), bytes(before, "total") - moved / 2) << "buffers are a few states";
    for (const auto& account : account_of("gpt", manifest_of(axes, base + offloaded_to("host")), ranks, wide)) {
      EXPECT_EQ(account.at("planned_bytes.total"), static_cast<double>(bytes(with, "total")));
      EXPECT_EQ(account.at("allocated_bytes") + account.at("planned_bytes.device"), account.at("planned_bytes.total"));
      EXPECT_EQ(account.at("planned_bytes.offloaded"), static_cast<double>(moved));
    }
  }
}

/// Parameters are got for the forward and the backward pass of each micro-batch, and for the update; those whose uses
/// are neighbours, once for both.
TEST(OffloadBytes, ParametersAreGotForEachPass) {
  const MeshAxes axes{{"data", 1}};
  for (const std::int64_t micro_batches : {1, 4}) {
    const std::vector<std::string> arguments{"dim=48", "accumulate=" + std::to_string(micro_batches)};
    const json before = planned(axes, "", arguments)["classes"][0],
               states = planned(axes, offloaded_to("host"), arguments)["classes"][0],
               with = planned(axes, offloaded_to("host", "", kParameters), arguments)["classes"][0];
    const std::int64_t parameters = before["planned_bytes"]["parameters"];
    EXPECT_EQ(with["planned_bytes"]["parameters"], 0);
    EXPECT_EQ(with["offload"]["bytes"], states["offload"]["bytes"].get<std::int64_t>() + parameters);
    EXPECT_EQ(with["offload"]["put_bytes"], with["offload"]["bytes"]) << "each is put once in a step";
    const std::int64_t got =
        with["offload"]["got_bytes"].get<std::int64_t>() - states["offload"]["got_bytes"].get<std::int64_t>();
    EXPECT_LE(got, (2 * micro_batches + 1) * parameters);
    EXPECT_GT(got, 2 * micro_batches * parameters * 9 / 10);
    EXPECT_LT(with["planned_bytes"]["total"], states["planned_bytes"]["total"].get<std::int64_t>() - parameters / 2);
    for (const auto& account :
         account_of("gpt", manifest_of(axes, offloaded_to("host", "", kParameters)), 1, arguments)) {
      EXPECT_EQ(account.at("planned_bytes.total"), with["planned_bytes"]["total"].get<double>());
      EXPECT_EQ(account.at("allocated_bytes") + account.at("planned_bytes.device"), account.at("planned_bytes.total"));
    }
  }
}

/// Gradients are put once for each micro-batch, and got for each but the first, for the norm and for the update.
TEST(OffloadBytes, GradientsAndActivationsLieOutsideWhereTheirUsesAreFarApart) {
  const MeshAxes axes{{"data", 1}};
  const std::string gradients = "min_elements = 1\ngradients = [\"*\"]\nahead = 1\n",
                    all = gradients + "activations = [\"*\"]\n";
  for (const std::int64_t micro_batches : {1, 4}) {
    const std::vector<std::string> arguments{"dim=48", "clip=1.0", "accumulate=" + std::to_string(micro_batches)};
    const std::string states = "min_elements = 1\nahead = 1\n";
    const auto classes = [&](const std::string& options) {
      return planned(axes, offloaded_to("host", "", options), arguments)["classes"][0];
    };
    const json before = classes(states), with = classes(gradients), everything = classes(all);
    const auto added = [](const json& more, const json& less, const char* what) {
      return more["offload"][what].get<std::int64_t>() - less["offload"][what].get<std::int64_t>();
    };
    const std::int64_t outside = added(with, before, "bytes"), held = before["held_gradients_bytes"];
    EXPECT_GT(outside, held * 9 / 10);
    EXPECT_LE(outside, held * 21 / 20) << "some of what gradients are made of, too";
    EXPECT_EQ(added(with, before, "put_bytes"), micro_batches * outside);
    EXPECT_LE(added(with, before, "got_bytes"), (micro_batches + 1) * outside);
    EXPECT_GT(added(with, before, "got_bytes"), (micro_batches + 1) * outside * 9 / 10);
    EXPECT_EQ(with["held_gradients_bytes"], held) << "wherever they lie";
    for (const json& form : everything["closed_forms"]) EXPECT_FALSE(form["off"]) << form;
    EXPECT_LT(everything["planned_bytes"]["total"], before["planned_bytes"]["total"].get<std::int64_t>());
    EXPECT_GT(added(everything, with, "bytes"), 0);
    EXPECT_EQ(added(everything, with, "put_bytes"), micro_batches * added(everything, with, "bytes"));
    EXPECT_LT(everything["working_bytes"], with["working_bytes"].get<std::int64_t>());
    for (const auto& account : account_of("gpt", manifest_of(axes, offloaded_to("host", "", all)), 1, arguments)) {
      EXPECT_EQ(account.at("planned_bytes.total"), everything["planned_bytes"]["total"].get<double>());
      EXPECT_EQ(account.at("allocated_bytes") + account.at("planned_bytes.device"), account.at("planned_bytes.total"));
      EXPECT_EQ(account.at("planned_bytes.offloaded"), everything["offload"]["bytes"].get<double>());
    }
  }
}

/// Of a large matrix and its states, a piece each is in the device while they are updated.
TEST(OffloadBytes, PiecesOfAnUpdateTakeLess) {
  const MeshAxes axes{{"data", 1}};
  const std::vector<std::string> large{"layers=1", "dim=288", "heads=2", "batch=2", "context=8"};
  const std::string everything = "gradients = [\"*\"]\nparameters = [\"*\"]\nahead = 1\n";
  const auto with = [&](const std::string& piece) { return offloaded_to("host", "", everything + piece); };
  const json whole = planned(axes, with("piece_mb = 0\n"), large)["classes"][0],
             pieces = planned(axes, with("piece_mb = 0.5\n"), large)["classes"][0];
  const std::int64_t matrix = 288 * 4 * 288 * 4;
  const auto arenas = [](const json& one) {
    return one["planned_bytes"]["total"].get<std::int64_t>() - one["planned_bytes"]["device"].get<std::int64_t>();
  };
  EXPECT_GE(arenas(whole), 6 * matrix) << "two such matrices, their states and a gradient";
  EXPECT_LT(arenas(pieces), 4 * matrix) << "a matrix and its gradient, and pieces";
  for (const char* what : {"bytes", "got_bytes", "put_bytes"})
    EXPECT_EQ(pieces["offload"][what], whole["offload"][what]) << what;
  for (const auto& account : account_of("gpt", manifest_of(axes, with("piece_mb = 0.5\n")), 1, large)) {
    EXPECT_EQ(account.at("planned_bytes.total"), pieces["planned_bytes"]["total"].get<double>());
    EXPECT_EQ(account.at("allocated_bytes") + account.at("planned_bytes.device"), account.at("planned_bytes.total"));
  }
}

/// The bound is that of what the ranks of the host move together.
TEST(OffloadBytes, AreBoundedInTimeByTheBackendsSpeed) {
  const TemporaryFolder swap;
  for (const std::string& store : {offloaded_to("host"), offloaded_to("nvme", on_disk(swap))}) {
    const std::string manifest = manifest_of({{"data", 2}}, zero(1) + store);
    const std::vector<std::string> wide{"dim=48"}, measured{"plan", "--measure-offload", "0.1"};
    const ProcessResult result = run_parity({"plan", "--measure-offload", "0.1", "--json"}, "gpt", manifest, wide);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json one = json::parse(result.out)["classes"][0]["offload"];
    const double got = one["got_bytes"].get<double>() / one["get_bytes_per_second"].get<double>(),
                 put = one["put_bytes"].get<double>() / one["put_bytes_per_second"].get<double>();
    EXPECT_GT(got, 0);
    EXPECT_GT(put, 0);
    EXPECT_EQ(one["host_ranks"], 2);
    EXPECT_NEAR(one["least_seconds"].get<double>(), 2 * std::max(got, put), 1e-9 + 1e-6 * std::max(got, put));
    const ProcessResult text = run_parity(measured, "gpt", manifest, wide);
    EXPECT_NE(text.out.find("moving takes at least "), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("as measured here, for the 2 ranks of a host"), std::string::npos) << text.out;
  }
  const ProcessResult none =
      run_parity({"plan", "--measure-offload", "0.1"}, "gpt", manifest_of({{"data", 2}}, zero(1)), {});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("`--measure-offload`: no strategy of the plan moves anything"), std::string::npos)
      << none.err;
}

#if EMULATES_CUDA
/// Of a device that copies to and from the store by itself it is these copies; it has to be there for it.
TEST(OffloadBytes, AreMeasuredAsTheDeviceMovesThem) {
  const std::vector<std::string> measured{"plan", "--measure-offload", "0.1", "--json"};
  const ProcessResult result =
      run_parity(measured, "gpt", manifest_of({{"data", 1}}, kEmulated + offloaded_to("host")), {});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json one = json::parse(result.out)["classes"][0]["offload"];
  for (const char* rate : {"get_bytes_per_second", "put_bytes_per_second"}) EXPECT_GT(one[rate], 1e7) << rate;
  EXPECT_GT(one["least_seconds"], 0);

  const std::string described = "[compute]\nplugin = \"cuda\"\narchitecture = \"9.0\"\nmemory = 8000\n";
  if (std::filesystem::exists("/dev/nvidiactl")) return;
  const ProcessResult none =
      run_parity(measured, "gpt", manifest_of({{"data", 1}}, described + offloaded_to("host")), {});
  EXPECT_EQ(none.exit_code, 2) << none.out;
  EXPECT_NE(none.err.find("the device copies to and from the store by itself, so it has to be there"),
            std::string::npos)
      << none.err;
}
#endif

/// A disk's blocks pass through it; the device copies to and from the host's memory by itself.
TEST(OffloadBytes, ADeviceWithMemoryOfItsOwnHasPinnedMemoryForWhatIsOnItsWay) {
  const TemporaryFolder swap;
  if (!has_plugin("compute", "cuda")) GTEST_SKIP() << "no compute plugin of a device with memory of its own";
  const std::string device = "[compute]\nplugin = \"cuda\"\narchitecture = \"9.0\"\nmemory = 8000\n";
  const auto bytes_with = [&](const std::string& store) {
    return planned({{"data", 1}}, device + store, {})["classes"][0]["planned_bytes"];
  };
  const json bytes = bytes_with(offloaded_to("nvme", on_disk(swap)));
  ASSERT_TRUE(bytes.contains("pinned_states")) << bytes;
  EXPECT_GT(bytes["pinned_states"], 0);
  EXPECT_LT(bytes["pinned_states"], bytes["offloaded"]) << "places are taken in turn";
  EXPECT_FALSE(bytes_with(offloaded_to("host")).contains("pinned_states"));
}

TEST(OffloadBytes, AFractionTakesTheLargestStates) {
  const auto moved = [](const std::string& options) -> std::int64_t {
    const json report = planned({{"data", 1}}, offloaded_to("host", "", options), {});
    return report["classes"][0].contains("offload") ? report["classes"][0]["offload"]["bytes"].get<std::int64_t>() : 0;
  };
  const std::int64_t all = moved("min_elements = 2\n"), half = moved("min_elements = 2\nfraction = 0.5\n");
  EXPECT_GE(2 * half, all);
  EXPECT_LT(half, all);
  EXPECT_EQ(moved("fraction = 0.0\n"), 0);
  EXPECT_LT(moved("min_elements = 2000\n"), all);
  EXPECT_EQ(moved("states = [\"head.*\"]\n"), 2 * 24 * 256 * 4);
}

}  // namespace
}  // namespace baleen::test
