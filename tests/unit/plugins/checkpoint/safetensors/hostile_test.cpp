/// \file Broken and hostile safetensors files: each is refused with its reason, none is believed.
#include <gtest/gtest.h>

#include <random>

#include "raw_file.hpp"
#include "support/checkpoint_run.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;

class HostileSafetensors : public testing::Test {
 protected:
  CheckpointRun run{built_plugin("checkpoint", "safetensors")};
  TemporaryFolder folder;

  std::string refusal(const std::string& bytes, const std::string& name = "m.safetensors") {
    const std::string path = folder.write(name, bytes);
    const std::string failure = run.failure_of_reading(path);
    return failure.starts_with(path + ": ") ? failure.substr(path.size() + 2) : failure;
  }
  std::string refusal_of_header(const std::string& header, const std::string& data = "") {
    return refusal(raw_file(header, data));
  }
  /// The refusal of one tensor `w` of these fields over four bytes of data.
  std::string refusal_of_tensor(const std::string& fields) {
    return refusal_of_header("{\"w\":{" + fields + "}}", "data");
  }
};

TEST_F(HostileSafetensors, ChecksTheHeadersLength) {
  EXPECT_EQ(refusal("short"), "has 5 bytes; a safetensors file has at least 8");
  EXPECT_NE(
      refusal(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)).find("a header of 18446744073709551615 bytes"),
      std::string::npos);
  EXPECT_NE(refusal(std::string("\x03\0\0\0\0\0\0\0{}", 10)).find("a header of 3 bytes"), std::string::npos);
}

/// A sparse file is large enough for the header it announces, so that only the limit stands in the way.
TEST_F(HostileSafetensors, RefusesAHeaderBeyondTheLimitBeforeTakingMemory) {
  const std::uint64_t length = 100'000'001;
  const std::string path = folder.write("m.safetensors", std::string(reinterpret_cast<const char*>(&length), 8) + "{");
  std::filesystem::resize_file(path, length + 8);
  EXPECT_NE(run.failure_of_reading(path).find("the format allows 100000000"), std::string::npos);
}

TEST_F(HostileSafetensors, ChecksTheJson) {
  EXPECT_EQ(refusal_of_header(""), "the header does not begin with `{`");
  EXPECT_EQ(refusal_of_header(" {}"), "the header does not begin with `{`");
  EXPECT_EQ(refusal_of_header("[]"), "the header does not begin with `{`");
  EXPECT_EQ(refusal_of_header("{"), "the header is not JSON at byte 2");
  EXPECT_EQ(refusal_of_header("{}x"), "the header is not JSON at byte 3");
  EXPECT_TRUE(refusal_of_header("{\"\xff\":1}").starts_with("the header is not JSON at byte"));
  EXPECT_EQ(refusal_of_header("{}"), "");
}

TEST_F(HostileSafetensors, ChecksTheStructure) {
  EXPECT_EQ(refusal_of_header("{\"w\":1}"), "a number where none belongs");
  EXPECT_EQ(refusal_of_header("{\"w\":[]}"), "an array where none belongs");
  EXPECT_EQ(refusal_of_header("{\"w\":null}"), "a null");
  EXPECT_EQ(refusal_of_header("{\"w\":{}}"), "tensor `w`: `dtype`, `shape` and `data_offsets` are all needed");
  EXPECT_EQ(refusal_of_tensor(R"("dtype":{})"), "tensor `w`: an object where none belongs");
  EXPECT_EQ(refusal_of_tensor(R"("dtype":["F32"])"), "tensor `w`: an array where none belongs");
  EXPECT_EQ(refusal_of_tensor(R"("shape":"1")"), "tensor `w`: a text where numbers belong");
  EXPECT_EQ(refusal_of_tensor(R"("shape":[[1]])"), "tensor `w`: an array where none belongs");
  EXPECT_EQ(refusal_of_tensor(R"("shape":["1"])"), "tensor `w`: a text where none belongs");
  EXPECT_EQ(refusal_of_tensor(R"("shape":[-1])"), "tensor `w`: a negative number");
  EXPECT_EQ(refusal_of_tensor(R"("shape":[1.0])"), "tensor `w`: a number that is not whole");
  EXPECT_EQ(refusal_of_tensor(R"("shape":[1e99])"), "tensor `w`: a number that is not whole");
  EXPECT_EQ(refusal_of_tensor(R"("shape":[99999999999999999999])"), "tensor `w`: a number that is not whole");
  EXPECT_EQ(refusal_of_tensor(R"("shape":[1,1,1,1,1,1,1,1,1])"), "tensor `w`: more than 8 dimensions");
  EXPECT_EQ(refusal_of_tensor(R"("data_offsets":[0])"), "tensor `w`: `data_offsets` needs two numbers");
  EXPECT_EQ(refusal_of_tensor(R"("data_offsets":[0,1,2])"), "tensor `w`: `data_offsets` needs two numbers");
  EXPECT_EQ(refusal_of_tensor(R"("colour":"red")"), "tensor `w`: unknown key `colour`");
  EXPECT_EQ(refusal_of_header(R"({"__metadata__":{"a":1}})"), "in `__metadata__`: a number where none belongs");
  EXPECT_EQ(refusal_of_header(R"({"__metadata__":{"a":{}}})"), "in `__metadata__`: an object where none belongs");
  EXPECT_EQ(refusal_of_header(R"({"__metadata__":"x"})"), "a text where none belongs");
}

TEST_F(HostileSafetensors, RefusesDuplicateKeys) {
  const std::string w = R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_EQ(refusal_of_header("{" + w + "," + w + "}", "data"), "the key `w` occurs twice");
  EXPECT_EQ(refusal_of_tensor(R"("dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4])"),
            "tensor `w`: the key `dtype` occurs twice");
  EXPECT_EQ(refusal_of_header(R"({"__metadata__":{"a":"1","a":"2"}})"), "in `__metadata__`: the key `a` occurs twice");
  EXPECT_EQ(refusal_of_header(R"({"__metadata__":{},"__metadata__":{}})"), "the key `__metadata__` occurs twice");
}

TEST_F(HostileSafetensors, ChecksSizesWithoutOverflow) {
  EXPECT_EQ(refusal_of_tensor(R"("dtype":"F31","shape":[1],"data_offsets":[0,4])"), "tensor `w`: unknown dtype `F31`");
  EXPECT_EQ(refusal_of_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"),
            "tensor `w`: its shape needs 8 bytes, its data_offsets give 4");
  // 2^62 * 4 is 0, and 2^33 * 2^33 * 4 is 0, where 64 bits wrap around.
  EXPECT_EQ(refusal_of_tensor(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])"),
            "tensor `w`: its shape needs too many bytes, its data_offsets give 0");
  EXPECT_EQ(refusal_of_tensor(R"("dtype":"F32","shape":[8589934592,8589934592],"data_offsets":[0,0])"),
            "tensor `w`: its shape needs too many bytes, its data_offsets give 0");
  EXPECT_EQ(refusal_of_tensor(R"("dtype":"F32","shape":[0,18446744073709551615],"data_offsets":[0,0])"),
            "tensor `w`: its shape needs too many bytes, its data_offsets give 0");
}

TEST_F(HostileSafetensors, ChecksPlaces) {
  EXPECT_EQ(refusal_of_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"),
            "tensor `w`: data_offsets 4, 8 do not lie in the 4 bytes of data; is the file cut short?");
  EXPECT_EQ(refusal_of_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"),
            "tensor `w`: data_offsets 4, 0 do not lie in the 4 bytes of data; is the file cut short?");
  EXPECT_EQ(refusal_of_tensor(R"("dtype":"U8","shape":[3],"data_offsets":[0,3])"),
            "the tensors end at byte 3 of the data, but it has 4");
  EXPECT_EQ(refusal_of_tensor(R"("dtype":"U8","shape":[3],"data_offsets":[1,4])"),
            "tensor `w`: leaves a hole after the tensor before it, at byte 0 of the data");
  EXPECT_EQ(refusal_of_header(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                              R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
                              "data"),
            "tensor `b`: overlaps the tensor before it, at byte 2 of the data");
  EXPECT_EQ(refusal_of_header("{}", "data"), "the tensors end at byte 0 of the data, but it has 4");
}

TEST_F(HostileSafetensors, LimitsNames) {
  EXPECT_TRUE(refusal_of_header("{\"" + std::string(5000, 'n') + "\":{}}").ends_with("is longer than 4096 bytes"));
}

TEST_F(HostileSafetensors, SurvivesDeepNesting) {
  EXPECT_EQ(refusal_of_header("{\"w\":" + std::string(1'000'000, '[')), "an array where none belongs");
  EXPECT_EQ(refusal_of_tensor("\"shape\":" + std::string(1'000'000, '[')), "tensor `w`: an array where none belongs");
}

TEST_F(HostileSafetensors, RefusesPicklesWithAHint) {
  for (const char* name : {"pytorch_model.bin", "m.pt", "renamed.safetensors"}) {
    const std::string failure = refusal("PK\x03\x04 a zip archive of pickles", name);
    EXPECT_TRUE(failure.starts_with("is a pickle file, which can run any code")) << failure;
    EXPECT_NE(failure.find("safetensors.torch.save_file"), std::string::npos);
  }
  EXPECT_TRUE(refusal("\x80\x02}q\x01.........", "old.pt").starts_with("is a pickle file"));
}

TEST_F(HostileSafetensors, RefusesWhatIsNoFile) {
  EXPECT_EQ(run.failure_of_reading(folder.path()), folder.path() + ": is not a regular file");
}

/// Whatever is changed in a good file, the reader either refuses it or gives tensors whose sizes are their shapes'.
TEST_F(HostileSafetensors, NeverBelievesADamagedHeader) {
  ASSERT_EQ(run.write(folder / "good.safetensors",
                      {some_tensor("first", BALEEN_F32, {2, 3}), some_tensor("second", BALEEN_U8, {5})}, {{"a", "b"}}),
            BALEEN_OK);
  const std::string good = read_file(folder / "good.safetensors");
  constexpr unsigned kSeed = 20240521;
  std::mt19937 engine(kSeed);
  int refused = 0, accepted = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = good;
    for (auto change = engine() % 3 + 1; change > 0; --change)
      bytes[engine() % (bytes.size() - 29)] =
          static_cast<char>(engine() % 4 ? " 0123456789{}[],:\""[engine() % 18] : engine());
    const std::string path = folder.write("bad.safetensors", bytes);
    try {
      for (const NamedTensor& tensor : run.read(path))
        ASSERT_EQ(tensor.bytes.size(), some_tensor("", tensor.dtype, tensor.shape).bytes.size()) << "seed " << kSeed;
      ++accepted;
    } catch (const std::runtime_error& problem) {
      ASSERT_STRNE(problem.what(), "") << "seed " << kSeed << " round " << round;
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(accepted, 0) << "a changed letter of a name is no damage";
}

}  // namespace
