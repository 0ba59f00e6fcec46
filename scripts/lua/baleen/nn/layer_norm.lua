--- layer_norm { epsilon = 1e-5, bias = true }: (x - mean) / sqrt(variance + epsilon) * gamma + beta over the last
--- dimension.
local initializer = require "baleen.initializer"
local layer = require "baleen.nn.layer"
local ops = require "baleen.ops"

return layer.define {
  kind = "layer_norm",
  label = "norm",
  options = {
    epsilon = { type = "number", default = 1e-5, min = 0 },
    bias = { type = "boolean", default = true },
  },
  forward = function(self, x)
    local shape, axes = { x.shape[x.rank] }, { x.axes[x.rank] }
    local gamma = self:parameter("gamma", shape, { axes = axes, init = initializer.ones })
    local beta = self.bias and self:parameter("beta", shape, { axes = axes, init = initializer.zeros }) or nil
    return ops.norm(x, gamma, beta, { kind = "layer", epsilon = self.epsilon })
  end,
}
