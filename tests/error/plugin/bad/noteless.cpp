/// \file A shared library that is no plugin.
extern "C" int noteless() { return 0; }
