--- sequential { layer, layer, ..., name }: each layer (or function) on the result of the one before.
local core = require "baleen.core"
local layer = require "baleen.nn.layer"
local options = require "baleen.options"

return layer.define {
  kind = "sequential",
  list = true,
  setup = function(self)
    if #self == 0 then self:fail("there are no layers in the list") end
    for i, child in ipairs(self) do
      options.expect_made(("sequential: entry %d"):format(i), child, self.where)
      if not options.callable(child) then
        self:fail(("entry %d is %s; it must be a layer or a function"):format(i, core.describe(child)))
      end
    end
  end,
  children = function(self) return self end,
  forward = function(self, x)
    for _, child in ipairs(self) do x = child(x) end
    return x
  end,
}
