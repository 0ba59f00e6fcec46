/// \file The gate between Lua and our functions tells memory and threads that run out from bugs.
#include <new>
#include <stdexcept>
#include <system_error>

#include "script_fixture.hpp"

namespace baleen::testing {
namespace {

class Gate : public ScriptTest {
 protected:
  /// Of a script whose data set throws it.
  template <class Thrown>
  Error error_with(const Thrown& thrown) {
    options_.data = [&](const MemberSpec&, std::uint64_t) -> Result<std::shared_ptr<ScriptData>> { throw thrown; };
    const auto script = load(job_of("nn.linear { out = 16 }"));
    return script ? Error{} : script.error();
  }
};

TEST_F(Gate, TellsMemoryAndThreadsThatRunOutFromBugs) {
  EXPECT_EQ(error_with(std::bad_alloc()).code, BALEEN_NO_MEMORY);
  const Error no_thread =
      error_with(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)));
  EXPECT_EQ(no_thread.code, BALEEN_NO_MEMORY);
  EXPECT_NE(no_thread.message.find("no more threads"), std::string::npos) << no_thread.message;
  EXPECT_EQ(error_with(std::system_error(std::make_error_code(std::errc::permission_denied))).code, BALEEN_INTERNAL);
  EXPECT_EQ(error_with(std::logic_error("on fire")).code, BALEEN_INTERNAL);
}

}  // namespace
}  // namespace baleen::testing
