/// \file A handler of signals that only writes: it allocates nothing, and locks nothing.
#include "core/plugin/crash.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <span>
#include <string_view>

#include "core/log/last_lines.hpp"
#include "core/plugin/connections.hpp"
#include "core/plugin/signal_safe_line.hpp"

namespace baleen {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

/// Of a plugin, or of a library that came into the process with or after one.
struct Code {
  const char* title = nullptr;  // of the plugin; of a library: of the one whose opening brought it, null for others
  const char* file = nullptr;
  std::uintptr_t begin = 0, end = 0;
  bool is_plugin = false;
};

constexpr std::size_t kMostCode = 1024;
std::array<Code, kMostCode> code;
std::atomic<std::size_t> code_count{0};
std::atomic<bool> reports{false};
std::mutex naming;  // of those who add; the handler only reads
std::atomic<const char*> loading{nullptr}, phase{""};
std::atomic<std::int64_t> phase_step{-1};
std::atomic<bool> crashed{false};
std::atomic<pid_t> refusing{0};  // the process in which nobody else is to call exit

/// Libraries may be closed and others come to their addresses: the last one counts.
const Code* code_at(std::uintptr_t address) {
  for (std::size_t i = code_count.load(std::memory_order_acquire); i-- > 0;)
    if (code[i].begin <= address && address < code[i].end) return &code[i];
  return nullptr;
}

std::string_view name_of(const Code& library) {
  const std::string_view path = library.file;
  return path.substr(path.rfind('/') + 1);
}

std::string_view name_of(int signal) {
  switch (signal) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGILL: return "SIGILL";
    default: return "SIGABRT";
  }
}

/// Where the signal came, the innermost first. A call of a function that is nowhere leaves no frame but its caller's
/// address on the stack.
int frames_of(const ucontext_t& context, std::array<void*, 64>& frames) {
  int count = 0;
#if defined(__x86_64__)
  const auto at = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
  frames[0] = reinterpret_cast<void*>(at);
  count = 1;
  if (at < 4096) frames[count++] = *reinterpret_cast<void**>(context.uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  frames[0] = reinterpret_cast<void*>(context.uc_mcontext.pc);
  frames[1] = reinterpret_cast<void*>(context.uc_mcontext.regs[30]);
  count = 2;
#else
  (void)context;
#endif
  return count + backtrace(frames.data() + count, static_cast<int>(frames.size()) - count);
}

/// The offsets of those frames that are in this code.
void add_addresses(SignalSafeLine& line, const Code& where, std::span<void* const> frames) {
  std::uintptr_t before = 0;
  for (void* const frame : frames) {
    const auto at = reinterpret_cast<std::uintptr_t>(frame);
    if (at < where.begin || at >= where.end || at == before) continue;
    if (before != 0) line << ", ";
    line.number((before = at) - where.begin, 16);
  }
}

/// Whose code a signal came in.
struct Guilt {
  const Code* innermost = nullptr;  // of a plugin or a library
  const Code* plugin = nullptr;     // the innermost of a plugin
  const char* title = nullptr;      // of that plugin, or of the one that brought the library

  explicit Guilt(std::span<void* const> frames) {
    for (void* const frame : frames) {
      const Code* const found = code_at(reinterpret_cast<std::uintptr_t>(frame));
      if (!found) continue;
      if (!innermost) innermost = found;
      if (!plugin && found->is_plugin) plugin = found;
    }
    title = plugin ? plugin->title : innermost ? innermost->title : nullptr;
  }
  bool is_in_library() const { return innermost && !innermost->is_plugin; }
};

void add_place(SignalSafeLine& line, const Guilt& guilt) {
  if (guilt.is_in_library()) {
    line << " inside " << name_of(*guilt.innermost);
    if (guilt.title) line << ", which " << guilt.title << " uses";
  } else if (guilt.plugin) {
    line << " in " << guilt.title << " (" << guilt.plugin->file << ")";
  } else if (const char* const loads = loading.load(std::memory_order_relaxed)) {
    line << " while " << loads << " was loaded";
  }
}

void add_cause(SignalSafeLine& line, const Guilt& guilt, std::span<void* const> frames) {
  if (guilt.is_in_library())
    line << (guilt.title ? "; a bug of that plugin or of that library" : "; a bug of that library or of who uses it");
  else if (guilt.plugin || loading.load(std::memory_order_relaxed))
    line << "; a bug of that plugin";
  else
    line << "; a bug of Baleen or of a library it uses";
  if (!guilt.innermost) return;
  line << ", whose code was at ";
  add_addresses(line, *guilt.innermost, frames);
  if (guilt.is_in_library()) {
    line << " of " << guilt.innermost->file;
    if (guilt.plugin) {
      line << ", called at ";
      add_addresses(line, *guilt.plugin, frames);
      line << " of " << guilt.plugin->file;
    }
  }
  line << " (addr2line -Cfe FILE ADDRESS)";
  if (!guilt.title) return;
  const bool is_transport = std::string_view(guilt.title).starts_with("transport ");
  add_connections(line, is_transport ? "; or what came over its network, which is to be closed to all but the job, or "
                                       "encrypted; this process was connected: "
                                     : "; this process was connected: ");
}

void add_phase(SignalSafeLine& line) {
  const char* const doing = phase.load(std::memory_order_relaxed);
  if (!*doing) return;
  line << ", " << doing;
  if (const auto step = phase_step.load(std::memory_order_relaxed); step >= 0) {
    line << " step ";
    line.number(static_cast<std::uint64_t>(step));
  }
}

/// Runs on the thread that called exit, below the caller's frames.
void on_exit_of_others(int code, void*) {
  if (refusing.load() != getpid()) return;
  std::array<void*, 64> all;
  const std::span<void* const> frames(all.data(),
                                      static_cast<std::size_t>(backtrace(all.data(), static_cast<int>(all.size()))));
  SignalSafeLine line;
  line << "error: exit(" << (code < 0 ? "-" : "");
  line.number(static_cast<std::uint64_t>(std::abs(code))) << ") was called";
  add_place(line, Guilt(frames));
  add_phase(line);
  line << "; a plugin gives back a failure instead: only the program ends the process\n";
  line.write_to(STDERR_FILENO);
  constexpr int kOurBug = 70;
  _exit(kOurBug);
}

void say(int signal, const siginfo_t& info, const ucontext_t& context) {
  std::array<void*, 64> all;
  const std::span<void* const> frames(all.data(), static_cast<std::size_t>(frames_of(context, all)));
  const Guilt guilt(frames);
  SignalSafeLine line;
  line << "error: crashed (" << name_of(signal);
  if (signal == SIGSEGV || signal == SIGBUS) {
    line << " at the address ";
    line.number(reinterpret_cast<std::uintptr_t>(info.si_addr), 16);
  }
  line << ")";
  add_place(line, guilt);
  add_phase(line);
  add_cause(line, guilt, frames);
  line << "\n";
  line.write_to(STDERR_FILENO);
  print_last_lines(STDERR_FILENO);
}

void on_crash(int signal, siginfo_t* info, void* context) {
  ::signal(signal, SIG_DFL);
  const bool is_from_another = info->si_code <= 0 && info->si_pid != getpid();
  if (!is_from_another && !crashed.exchange(true)) say(signal, *info, *static_cast<const ucontext_t*>(context));
  raise(signal);
}

/// What is in the process, and whose it is. Libraries that it began with are nobody's: what crashes in them is a bug of
/// their caller.
struct Naming {
  const char* title = nullptr;   // of the plugin that was opened
  const char* plugin = nullptr;  // the name under which its library is loaded
  bool is_beginning = false;
};

/// Called with `naming` locked.
void add_code(const Code& one) {
  const std::size_t count = code_count.load(std::memory_order_relaxed);
  if (count == kMostCode) return;
  code[count] = one;
  code_count.store(count + 1, std::memory_order_release);
}

int add_library(dl_phdr_info* library, std::size_t, void* given) {
  static auto& beginning = *new std::set<std::uintptr_t>;
  const Naming& by = *static_cast<const Naming*>(given);
  const std::string_view name = library->dlpi_name;
  Code found{by.title, nullptr, ~std::uintptr_t{0}, 0, by.plugin && name == by.plugin};
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    found.begin = std::min<std::uintptr_t>(found.begin, library->dlpi_addr + segment.p_vaddr);
    found.end = std::max<std::uintptr_t>(found.end, library->dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  if (by.is_beginning) beginning.insert(found.begin);
  if (name.empty() || beginning.contains(found.begin)) return 0;
  const Code* const known = code_at(found.begin);
  if (known && known->file == name && known->is_plugin >= found.is_plugin) return 0;
  found.file = ::strdup(library->dlpi_name);  // a library that is closed takes its name with it
  if (found.file) add_code(found);
  return 0;
}

void add_libraries(Naming by) {
  if (!reports.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(naming);
  dl_iterate_phdr(&add_library, &by);
}

}  // namespace

void report_crashes() {
  if (kIsSanitized) return;
  std::array<void*, 2> none;
  backtrace(none.data(), static_cast<int>(none.size()));  // loads what it needs, which a handler must not
  reports.store(true);
  add_libraries({.is_beginning = true});
  // For a stack that is full.
  static std::array<std::byte, std::size_t{64} << 10> stack;
  const stack_t alternative{stack.data(), 0, stack.size()};
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = &on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

void refuse_exit() {
  refusing.store(getpid());
  on_exit(&on_exit_of_others, nullptr);
}

void allow_exit() { refusing.store(0); }

void name_code(void* library, const char* title) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map) add_libraries({title, map->l_name});
}

LoadingCode::LoadingCode(const char* title) : before_(std::set_terminate(&LoadingCode::refuse)) {
  loading.store(title, std::memory_order_relaxed);
}

LoadingCode::~LoadingCode() {
  loading.store(nullptr, std::memory_order_relaxed);
  std::set_terminate(before_);
}

void LoadingCode::refuse() {
  constexpr int kBadInput = 2;
  SignalSafeLine line;
  line << "error: plugin " << loading.load(std::memory_order_relaxed)
       << " threw an exception while it was loaded, out of a static object";
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    line << ": " << e.what();
  } catch (...) {  // also what another C++ runtime throws
  }
  line << "\n";
  line.write_to(STDERR_FILENO);
  _exit(kBadInput);
}

void now_doing(const char* what, std::int64_t step) {
  // What plugins opened meanwhile, such as parts of a driver.
  if (phase.exchange(what, std::memory_order_relaxed) != what) add_libraries({});
  phase_step.store(step, std::memory_order_relaxed);
}

}  // namespace baleen
