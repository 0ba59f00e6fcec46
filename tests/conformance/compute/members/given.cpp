/// \file Plugins that the command line names.
#include "conformance/compute/members.hpp"

baleen::conformance::Members baleen::conformance::members() { return {}; }
