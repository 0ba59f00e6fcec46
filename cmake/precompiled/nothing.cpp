/// \file What the targets that hold precompiled headers are made of.
