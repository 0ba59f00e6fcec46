/// \file Numbers as people read them.
#include "format.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/monitor_run.hpp"

namespace {

using namespace baleen::console;
using baleen::test::TestRecord;
using Parts = std::vector<std::string>;

TEST(Format, ShortensCounts) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(950), "950");
  EXPECT_EQ(count_text(12345), "12.3 k");
  EXPECT_EQ(count_text(1.05e6), "1.05 M");
  EXPECT_EQ(count_text(-2.5e9), "-2.5 G");
}

TEST(Format, ShortensBytes) {
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(2.0 * (1 << 30)), "2.0 GiB");
}

TEST(Format, WritesDurations) {
  EXPECT_EQ(duration_text(7.9), "0:07");
  EXPECT_EQ(duration_text(754), "12:34");
  EXPECT_EQ(duration_text(3723), "1:02:03");
  EXPECT_EQ(duration_text(-1), "?");
  EXPECT_EQ(duration_text(std::nan("")), "?");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "?");
}

TEST(Format, ChoosesByTheEndingOfAName) {
  const TestRecord record(BALEEN_RECORD_START, 0, 10, 0,
                          {{"planned_bytes", 2048.0},
                           {"parameters", 1.5e6},
                           {"load_ms", 12.0},
                           {"seconds", 65.0},
                           {"threads", 2.0},
                           {"script", std::string("train.lua")},
                           {"mfu", 0.125},
                           {"planned_bytes.activations", 12897485.0},
                           {"planned_bytes.optimizer", 2048.0},
                           {"sent_bytes.all_reduce.data", 1024.0},
                           {"peak_flops_per_second", 4.4e11},
                           {"ratio", 0.33333}});
  const baleen::sdk::Record view(record.get());
  Parts shown;
  for (const auto& fact : view.facts()) shown.push_back(label_of(fact) + "=" + text_of(fact));
  EXPECT_EQ(shown, (Parts{"memory, planned=2.0 KiB", "parameters=1.5 M", "load=12 ms", "time=1:05", "threads=2",
                          "script=train.lua", "mfu=12.5 %", "memory for activations=12.3 MiB",
                          "memory for optimizer states=2.0 KiB", "sent by all reduce over data=1.0 KiB",
                          "peak FLOP/s=440 G", "ratio=0.3333"}));
}

TEST(Format, AddsSmallPartsOfMemoryUp) {
  const TestRecord record(BALEEN_RECORD_START, 0, 10, 0,
                          {{"planned_bytes", 10240.0},
                           {"planned_bytes.control", 4.0},
                           {"planned_bytes.inputs", 0.0},
                           {"planned_bytes.optimizer", 2048.0},
                           {"planned_bytes.parameters", 8096.0},
                           {"planned_bytes.padding", 92.0},
                           {"planned_bytes.offloaded", 1e9},
                           {"planned_bytes.offloaded.nvme.2", 1e9}});
  EXPECT_EQ(memory_parts(baleen::sdk::Record(record.get()), 10240),
            "parameters 7.9 KiB, optimizer states 2.0 KiB, other 96 B");
  EXPECT_TRUE(is_part_of_memory("planned_bytes.pinned_states"));
  for (const char* other : {"planned_bytes", "planned_bytes.offloaded", "planned_bytes.offloaded.host",
                            "sent_bytes.all_reduce.data", "parameters"})
    EXPECT_FALSE(is_part_of_memory(other)) << other;
}

TEST(Format, PlacesTheFactsOfAStepByImportance) {
  const TestRecord record(BALEEN_RECORD_STEP, 3, 10, 1,
                          {{"novelty", 7.0},
                           {"optimizer_ms", 9.0},
                           {"compute_ms", 150.0},
                           {"data_ms", 0.5},
                           {"step_ms", 160.0},
                           {"memory_peak_bytes", 4096.0},
                           {"memory_bytes", 2048.0},
                           {"mfu", 0.4},
                           {"flops_per_second", 2.5e12},
                           {"units_per_second", 12500.0},
                           {"lr", 1e-3},
                           {"gradient_norm", 0.8312},
                           {"loss", 2.34567}});
  EXPECT_EQ(step_parts(baleen::sdk::Record(record.get()), "tokens"),
            (Parts{"loss 2.3457", "|g| 0.831", "lr 0.001", "12.5 k tokens/s", "2.5 TFLOP/s", "MFU 40.0 %",
                   "memory 2.0 KiB / 4.0 KiB", "160 ms (data 0.5, compute 150, optimizer 9.0)", "novelty 7"}));
}

TEST(Format, ShowsOnlyWhatIsThere) {
  for (const double nan : {std::nan(""), -std::nan("")}) {
    const TestRecord record(BALEEN_RECORD_STEP, 3, 10, 1, {{"loss", nan}});
    EXPECT_EQ(step_parts(baleen::sdk::Record(record.get()), "rows"), Parts{"loss nan"});
  }
}

TEST(Format, WritesALossOfAnySizeInAFewDigits) {
  const auto shown = [](double loss) {
    const TestRecord record(BALEEN_RECORD_STEP, 3, 10, 1, {{"loss", loss}, {"held_out_loss", loss}});
    const Parts parts = step_parts(baleen::sdk::Record(record.get()), "rows");
    return parts.at(0) + ", " + parts.at(1);
  };
  EXPECT_EQ(shown(577383990227034439680.0), "loss 5.7738e+20, held out loss 5.774e+20");
  EXPECT_EQ(shown(-12345678.0), "loss -1.2346e+07, held out loss -1.235e+07");
  EXPECT_EQ(shown(123456.5), "loss 123456.5000, held out loss 1.235e+05");
  EXPECT_EQ(shown(0.00123456), "loss 0.0012, held out loss 0.001235");
  EXPECT_EQ(shown(1.23456e-7), "loss 1.2346e-07, held out loss 1.235e-07");
  EXPECT_EQ(shown(0), "loss 0.0000, held out loss 0");
  EXPECT_EQ(shown(std::numeric_limits<double>::infinity()), "loss inf, held out loss inf");
}

TEST(Format, DrawsABar) {
  EXPECT_EQ(bar_text(0, 8), "[        ]");
  EXPECT_EQ(bar_text(0.5, 8), "[===>    ]");
  EXPECT_EQ(bar_text(1, 8), "[========]");
  EXPECT_EQ(bar_text(7, 4), "[====]");
}

}  // namespace
