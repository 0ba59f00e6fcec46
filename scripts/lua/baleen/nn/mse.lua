--- mse {}: the mean squared error of a prediction against a target of as many numbers.
local layer = require "baleen.nn.layer"
local ops = require "baleen.ops"

local function count(shape)
  local result = 1
  for _, extent in ipairs(shape) do result = result * extent end
  return result
end

return layer.define {
  kind = "mse",
  forward = function(self, prediction, target)
    local numbers = count(target.shape)
    if numbers ~= count(prediction.shape) then
      self:fail(("the prediction is %s and the target is %s"):format(tostring(prediction), tostring(target)))
    end
    local difference = ops.reshape(prediction, target.shape) - target
    return ops.sum(difference * difference), numbers
  end,
}
