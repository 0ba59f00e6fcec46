-- Images at two resolutions whose branches exchange what they found; group norms; strided by reshapes.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local function conv(name, out, axis)
  return nn.layer { kind = "conv", forward = function(self, x) -- [b, h, w, c], 3 x 3
    local h, w, c = x.shape[2], x.shape[3], x.shape[4]
    local weight = self:parameter("weight", { 3, 3, c, out },
      { init = init.fan_in(), inputs = 9 * c, axes = { "", "", "", axis or "" } })
    local around, sum = ops.pad(ops.pad(x, 2, 1, 1), 3, 1, 1), nil
    for i = 1, 3 do
      for j = 1, 3 do
        local one = common.part(common.part(weight, 1, i), 1, j)
        sum = ops.matmul("bhwc,co->bhwo", ops.slice(ops.slice(around, 2, i, h), 3, j, w), one, sum)
      end
    end
    return sum
  end } { name = name }
end
local function group_norm(name)
  return common.layer(name, function(self, x)
    local b, h, w, c = x.shape[1], x.shape[2], x.shape[3], x.shape[4]
    local y = ops.reshape(x, { b, h, w, 2, c // 2 })
    local mean = ops.mean(y, { 2, 3, 5 }, true)
    local spread = ops.mean((y - mean) * (y - mean), { 2, 3, 5 }, true)
    y = ops.reshape((y - mean) * ops.rsqrt(spread + 1e-4), { b, h, w, c })
    return y * self:parameter("gain", { c }, { init = init.ones })
      + self:parameter("shift", { c }, { init = init.zeros })
  end)
end
local function halved(x)
  return ops.mean(ops.reshape(x, { x.shape[1], x.shape[2] // 2, 2, x.shape[3] // 2, 2, x.shape[4] }), { 3, 5 }) end
local function doubled(x)
  local b, h, w, c = x.shape[1], x.shape[2], x.shape[3], x.shape[4]
  local y = ops.reshape(x, { b, h, 1, w, 1, c })
  y = ops.concat({ y, y }, 3)
  return ops.reshape(ops.concat({ y, y }, 5), { b, 2 * h, 2 * w, c })
end
local stem, fine, coarse, back = conv("stem", 4, "ff"), conv("fine", 4), conv("coarse", 6, "ff"), conv("back", 4)
local first, second, head = group_norm("first"), group_norm("second"), nn.linear { name = "head", out = 3, over = 3 }

return common.job {
  model = function(image)
    local x = ops.relu(first(stem(ops.transpose(image, { 1, 3, 4, 2 }))))
    local low = ops.relu(second(coarse(halved(x))))
    x = fine(x) + doubled(back(low))
    return head(halved(x))
  end,
  loss = nn.cross_entropy {}, data = common.rows("image f32 2 x height=4 x width=4", "label i32 < 3"),
}
