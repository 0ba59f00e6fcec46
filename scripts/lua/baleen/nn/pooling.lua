--- pooling { length, kind = "mean" }: of vectors [batch, most, ..] of lists one vector [batch, ..] for each list, their
--- mean or their sum. `length` is the field of the data with the lists' lengths: what stands behind a list does not
--- count. An empty list gives zeros.
local layer = require "baleen.nn.layer"
local ops = require "baleen.ops"

--- The lengths as [batch, 1, ..], so that they meet vectors of that rank.
local function spread(lengths, rank)
  local shape = { lengths.shape[1] }
  for i = 2, rank do shape[i] = 1 end
  return ops.reshape(lengths, shape)
end

return layer.define {
  kind = "pooling",
  options = {
    length = { type = "string", required = true },
    kind = { type = "string", default = "mean", choices = { "mean", "sum" } },
  },
  forward = function(self, x)
    local lengths = layer.field(self.length)
    if x.rank < 3 or lengths.rank ~= 1 or lengths.shape[1] ~= x.shape[1] then
      self:fail(("%s with the lengths `%s`, %s; it takes [batch, most, ..] and [batch]"):format(tostring(x),
        self.length, tostring(lengths)))
    end
    local inside = ops.pointwise(function(element, length)
      return ops.select(ops.lt(ops.index(2), length), element, 0)
    end, x, spread(lengths, x.rank))
    local total = ops.sum(inside, 2)
    if self.kind == "sum" then return total end
    return ops.pointwise(function(sum, length) return sum / ops.max(length, 1) end, total,
      spread(lengths, total.rank))
  end,
}
