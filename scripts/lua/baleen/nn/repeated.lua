--- repeated(n, make [, { name = "blocks" }]): n layers, make(1) to make(n), one after the other, called 0 to n - 1.
--- Further arguments of a call go to each of them. Their ops carry the tag `block`, so that strategies know where a
--- block ends.
local core = require "baleen.core"
local layer = require "baleen.nn.layer"

local construct = layer.define {
  kind = "repeated",
  label = "blocks",
  list = true,
  children = function(self) return self end,
  forward = function(self, x, ...)
    local _stack <close> = layer.stack(#self)
    for _, block in ipairs(self) do x = block(x, ...) end
    return x
  end,
}

return core.entry(function(count, make, options)
  if math.type(count) ~= "integer" or count < 1 then
    core.fail("repeated: the count is " .. core.describe(count) .. "; it must be an integer from 1 on")
  end
  if type(make) ~= "function" then
    core.fail("repeated: give a function that makes a layer, as in repeated(4, function() return nn.mlp {} end)")
  end
  local self = construct(options)
  for i = 1, count do
    local block = make(i)
    if not layer.is(block) then
      core.fail(("repeated: the function gave %s for block %d; it must make a layer"):format(core.describe(block), i))
    end
    for j = 1, i - 1 do
      if self[j] == block then
        core.fail("repeated: the function gave the same layer twice; make a new one at each call")
      end
    end
    block.name = tostring(i - 1)
    block.tags = { block = block.name }
    self[i] = block
  end
  return self
end)
