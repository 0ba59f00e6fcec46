--- rms_norm { epsilon = 1e-5 }: x / sqrt(mean of squares + epsilon) * gamma over the last dimension (arXiv 1910.07467).
local initializer = require "baleen.initializer"
local layer = require "baleen.nn.layer"
local ops = require "baleen.ops"

return layer.define {
  kind = "rms_norm",
  label = "norm",
  options = { epsilon = { type = "number", default = 1e-5, min = 0 } },
  forward = function(self, x)
    local gamma = self:parameter("gamma", { x.shape[x.rank] }, { axes = { x.axes[x.rank] }, init = initializer.ones })
    return ops.norm(x, gamma, nil, { kind = "rms", epsilon = self.epsilon })
  end,
}
