--- relu {}, gelu {}, gelu_tanh {}, silu {}, tanh {}, sigmoid {}: layers without parameters.
local layer = require "baleen.nn.layer"
local ops = require "baleen.ops"

local activation = {}

for _, kind in ipairs { "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid" } do
  activation[kind] = layer.define {
    kind = kind,
    forward = function(_, x) return ops[kind](x) end,
  }
end

return activation
