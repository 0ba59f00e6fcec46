--- mlp { hidden = 4 dim, activation = "gelu_tanh", bias = true, init }: down(activation(up(x))); with "swiglu"
--- down(silu(gate(x)) up(x)) (arXiv 2002.05202).
local initializer = require "baleen.initializer"
local layer = require "baleen.nn.layer"
local linear = require "baleen.nn.linear"
local ops = require "baleen.ops"

local activations = { "gelu_tanh", "gelu", "relu", "silu", "swiglu" }

--- The linear layers, made at the first call, when the width is known.
local function make_layers(self, dim)
  local hidden = self.hidden or 4 * dim
  local function project(name, out, axis, init)
    return linear { name = name, out = out, bias = self.bias, axes = { axis }, init = init }
  end
  self.up = project("up", hidden, "ff", self.init)
  self.gate = self.activation == "swiglu" and project("gate", hidden, "ff", self.init)
  self.down = project("down", dim, "embed", layer.residual(self.init))
end

return layer.define {
  kind = "mlp",
  options = {
    hidden = { type = "integer", min = 1 },
    activation = { type = "string", default = "gelu_tanh", choices = activations },
    bias = { type = "boolean", default = true },
    init = { type = "table", default = initializer.normal(0.02) },
  },
  forward = function(self, x)
    if not self.up then make_layers(self, x.shape[x.rank]) end
    if self.gate then return self.down(ops.silu(self.gate(x)) * self.up(x)) end
    return self.down(ops[self.activation](self.up(x)))
  end,
}
