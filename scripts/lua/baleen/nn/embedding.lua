--- embedding { vocab, dim, positions, init }: a row of the table for each id; with `positions`, a learned vector
--- for each place in the sequence (the last dimension of the ids) is added.
local initializer = require "baleen.initializer"
local layer = require "baleen.nn.layer"
local ops = require "baleen.ops"

local function positions_of(self, length)
  local shape = { self.positions, self.dim }
  local table = self:parameter("positions", shape, { axes = { "seq", "embed" }, init = self.init })
  if length > self.positions then
    self:fail(("the sequence has %d tokens, but `positions` is %d"):format(length, self.positions))
  end
  return length == self.positions and table or ops.slice(table, 1, 1, length)
end

return layer.define {
  kind = "embedding",
  options = {
    vocab = { type = "integer", required = true, min = 1 },
    dim = { type = "integer", required = true, min = 1 },
    positions = { type = "integer", min = 1 },
    init = { type = "table", default = initializer.normal(0.02) },
  },
  --- The table [vocab, dim]; a tied layer uses it too.
  weight = function(self)
    if not self.path then self:fail("an embedding must be called before a layer that is tied to it") end
    return self:within(function()
      return self:parameter("weight", { self.vocab, self.dim }, { axes = { "vocab", "embed" }, init = self.init })
    end)
  end,
  forward = function(self, ids)
    local x = ops.embedding(self:weight(), ids)
    if not self.positions then return x end
    return x + positions_of(self, ids.shape[ids.rank])
  end,
}
