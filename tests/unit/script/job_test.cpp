#include "script_fixture.hpp"
