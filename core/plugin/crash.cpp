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
#include <cstring>
#include <string_view>

#include "core/log/last_lines.hpp"

namespace baleen {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

struct Code {
  const char* title = nullptr;
  const char* file = nullptr;
  std::uintptr_t begin = 0, end = 0;
};

constexpr std::size_t kMostCode = 1024;
std::array<Code, kMostCode> code;
std::atomic<std::size_t> code_count{0};
std::atomic<const char*> loading{nullptr}, phase{""};
std::atomic<std::int64_t> phase_step{-1};
std::atomic<bool> crashed{false};

/// A line that is put together without memory.
class Line {
 public:
  Line& operator<<(std::string_view text) {
    const std::size_t bytes = std::min(text.size(), text_.size() - size_);
    std::memcpy(text_.data() + size_, text.data(), bytes);
    size_ += bytes;
    return *this;
  }
  Line& number(std::uint64_t value, unsigned base) {
    std::array<char, 20> digits;
    std::size_t at = digits.size();
    do {
      digits[--at] = "0123456789abcdef"[value % base];
      value /= base;
    } while (value > 0);
    return *this << (base == 16 ? "0x" : "") << std::string_view(digits.data() + at, digits.size() - at);
  }
  void print() const {
    for (std::size_t done = 0; done < size_;) {
      const ssize_t more = write(STDERR_FILENO, text_.data() + done, size_ - done);
      if (more <= 0) return;
      done += static_cast<std::size_t>(more);
    }
  }

 private:
  std::array<char, 4096> text_;
  std::size_t size_ = 0;
};

const Code* code_at(std::uintptr_t address) {
  const std::size_t count = std::min(code_count.load(std::memory_order_acquire), kMostCode);
  for (std::size_t i = 0; i < count; ++i)
    if (code[i].begin <= address && address < code[i].end) return &code[i];
  return nullptr;
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

void say(int signal, const siginfo_t& info, const ucontext_t& context) {
  std::array<void*, 64> frames;
  const int count = frames_of(context, frames);
  const Code* guilty = nullptr;
  for (int i = 0; i < count && !guilty; ++i) guilty = code_at(reinterpret_cast<std::uintptr_t>(frames[i]));
  Line line;
  line << "error: crashed (" << name_of(signal);
  if (signal == SIGSEGV || signal == SIGBUS) {
    line << " at the address ";
    line.number(reinterpret_cast<std::uintptr_t>(info.si_addr), 16);
  }
  line << ")";
  const char* const loads = loading.load(std::memory_order_relaxed);
  if (guilty)
    line << " in " << guilty->title << " (" << guilty->file << ")";
  else if (loads)
    line << " while " << loads << " was loaded";
  if (const char* const doing = phase.load(std::memory_order_relaxed); *doing) {
    line << ", " << doing;
    if (const auto step = phase_step.load(std::memory_order_relaxed); step >= 0) {
      line << " step ";
      line.number(static_cast<std::uint64_t>(step), 10);
    }
  }
  line << (guilty || loads ? "; a bug of that plugin" : "; a bug of Baleen or of a library it uses");
  if (guilty) {
    line << ", whose code was at ";
    std::uintptr_t before = 0;
    for (int i = 0; i < count; ++i) {
      const auto at = reinterpret_cast<std::uintptr_t>(frames[i]);
      if (at < guilty->begin || at >= guilty->end || at == before) continue;
      if (before != 0) line << ", ";
      line.number((before = at) - guilty->begin, 16);
    }
    line << " (addr2line -Cfe FILE ADDRESS)";
  }
  line << "\n";
  line.print();
  print_last_lines(STDERR_FILENO);
}

void on_crash(int signal, siginfo_t* info, void* context) {
  ::signal(signal, SIG_DFL);
  const bool is_from_another = info->si_code <= 0 && info->si_pid != getpid();
  if (!is_from_another && !crashed.exchange(true)) say(signal, *info, *static_cast<const ucontext_t*>(context));
  raise(signal);
}

/// The addresses of an opened library.
struct Span {
  std::uintptr_t base = 0, begin = ~std::uintptr_t{0}, end = 0;
};

int add_segments(dl_phdr_info* library, std::size_t, void* given) {
  Span& span = *static_cast<Span*>(given);
  if (library->dlpi_addr != span.base) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    span.begin = std::min(span.begin, span.base + segment.p_vaddr);
    span.end = std::max(span.end, span.base + segment.p_vaddr + segment.p_memsz);
  }
  return 1;
}

}  // namespace

void report_crashes() {
  if (kIsSanitized) return;
  std::array<void*, 2> none;
  backtrace(none.data(), static_cast<int>(none.size()));  // loads what it needs, which a handler must not
  // For a stack that is full.
  static std::array<std::byte, std::size_t{64} << 10> stack;
  const stack_t alternative{stack.data(), 0, stack.size()};
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = &on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

void name_code(void* library, const char* title) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map) return;
  Span span;
  span.base = map->l_addr;
  dl_iterate_phdr(&add_segments, &span);
  static std::atomic<std::size_t> next{0};
  const std::size_t number = next.fetch_add(1);
  if (number >= kMostCode) return;
  code[number] = {title, map->l_name, span.begin, span.end};
  code_count.store(number + 1, std::memory_order_release);
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
  Line line;
  line << "error: plugin " << loading.load(std::memory_order_relaxed)
       << " threw an exception while it was loaded, out of a static object";
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    line << ": " << e.what();
  } catch (...) {  // also what another C++ runtime throws
  }
  line << "\n";
  line.print();
  _exit(kBadInput);
}

void now_doing(const char* what, std::int64_t step) {
  phase.store(what, std::memory_order_relaxed);
  phase_step.store(step, std::memory_order_relaxed);
}

}  // namespace baleen
