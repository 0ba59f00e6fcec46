/// \file The launcher `local`, opened from the file LOCAL_FILE, which the option `defect` makes wrong in one way.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "baleen/launcher.h"
#include "baleen/plugin.hpp"
#include "baleen/settings.hpp"

BALEEN_DESCRIPTOR("launcher", PLANTED_NAME, "1.0.0", "Apache-2.0", "Wrong on request", -1, "",
                  BALEEN_OPTION("defect", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "what is wrong"));

namespace {

using namespace baleen;

baleen_launcher_t inner;
const baleen_host_t* host_of_all = nullptr;
std::string defect;
bool is(std::string_view word) { return defect == word; }

baleen_status_t failed(baleen_status_t status, std::string_view why) {
  return host_of_all->fail(host_of_all->self, status, abi(why));
}

std::int32_t fits(const baleen_host_t*, const baleen_launch_job_t* job) {
  static int asked = 0;
  return (WRONG_ALONE != 0) ? ++asked % 2 : job->host_count <= 1;
}

baleen_status_t create(const baleen_host_t* host, const baleen_settings_t* settings, const baleen_launch_job_t* job,
                       void** out) {
  defect = Settings(settings).text("defect");
  if (is("leaks_descriptor")) (void)::open("/dev/null", O_RDONLY);
  if (is("gives_nothing")) return BALEEN_OK;
  return inner.create(host, settings, job, out);
}

baleen_status_t place(void* self, baleen_place_t* out) {
  const baleen_status_t status = inner.place(self, out);
  if (out->ranks == 0) return status;
  if (is("same_rank")) out->rank = 0;
  if (is("beyond")) out->rank = out->ranks;
  if (is("other_threads")) ++out->threads;
  return status;
}

baleen_status_t put(void* self, baleen_string_t key, baleen_string_t value) {
  if (is("cuts_zeros")) value = abi(std::string_view(value.data, view(value).substr(0, view(value).find('\0')).size()));
  const baleen_status_t status = inner.put(self, key, value);
  return is("sets_twice") ? BALEEN_OK : status;
}

baleen_status_t get(void* self, baleen_string_t key, void (*take)(void*, baleen_string_t), void* context) {
  if (is("gives_up")) return failed(BALEEN_TIMEOUT, "nobody has set it");
  const baleen_status_t status = inner.get(self, key, take, context);
  if (is("takes_twice")) take(context, key);
  if (status == BALEEN_PEER_LOST && is("hides_loss")) return failed(BALEEN_TIMEOUT, "something is late");
  if (status == BALEEN_PEER_LOST && is("hides_cause")) return failed(BALEEN_PEER_LOST, "a rank is lost");
  return status;
}

baleen_status_t fence(void* self, baleen_string_t name) {
  static std::set<std::string> used;
  if (is("open_fence")) return BALEEN_OK;
  if (is("fences_once") && !used.insert(std::string(view(name))).second) return BALEEN_OK;
  return inner.fence(self, name);
}

void (*told)(void*, baleen_string_t);
baleen_status_t watch(void* self, void (*lost)(void*, baleen_string_t), void* context) {
  told = lost;
  if (is("deaf")) return BALEEN_OK;
  return inner.watch(
      self,
      [](void* same, baleen_string_t reason) {
        told(same, reason);
        if (is("tells_twice")) told(same, reason);
      },
      context);
}

baleen_status_t start(void* self, const baleen_launch_start_t* what, baleen_outcome_t* outcome) {
  const baleen_status_t status = inner.start(self, what, outcome);
  if (is("all_is_well")) outcome->status = BALEEN_OK;
  if (is("blames_nobody")) outcome->message = {};
  if (is("always_fails")) outcome->status = BALEEN_IO;
  return status;
}

baleen_status_t make_secret(const baleen_host_t*, baleen_string_t file) {
  const int flags = O_WRONLY | O_CREAT | ((WRONG_ALONE != 0) ? O_TRUNC : O_EXCL);
  const int made = ::open(std::string(view(file)).c_str(), flags, 0600);
  if (made < 0) return failed(BALEEN_INVALID, "the file is there already");
  const unsigned secret = std::random_device()();
  (void)!::write(made, &secret, sizeof secret);
  ::close(made);
  return BALEEN_OK;
}

}  // namespace

extern "C" BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t* host, void* table) {
  using Start = baleen_status_t (*)(const baleen_host_t*, void*);
  host_of_all = host;
  void* const library = dlopen(LOCAL_FILE, RTLD_NOW | RTLD_LOCAL);
  const auto begin = library ? reinterpret_cast<Start>(dlsym(library, BALEEN_START_SYMBOL)) : nullptr;
  if (!begin) return failed(BALEEN_NOT_FOUND, "no launcher `local`");
  inner.size = sizeof inner;
  if (const baleen_status_t status = begin(host, &inner); status != BALEEN_OK) return status;
  baleen_launcher_t outer = inner;
  outer.fits = &fits;
  outer.create = &create;
  outer.place = &place;
  outer.put = &put;
  outer.get = &get;
  outer.fence = &fence;
  outer.watch = &watch;
  outer.start = &start;
  outer.make_secret = &make_secret;
  return give_table(host, table, outer);
}
