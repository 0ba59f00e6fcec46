--- residual { layer }: x + layer(x).
local layer = require "baleen.nn.layer"
local options = require "baleen.options"

return layer.define {
  kind = "residual",
  list = true,
  setup = function(self)
    options.expect_made("residual: its layer", self[1], self.where)
    if #self ~= 1 or not options.callable(self[1]) then self:fail("give exactly one layer (or function)") end
  end,
  children = function(self) return self end,
  forward = function(self, x) return x + self[1](x) end,
}
