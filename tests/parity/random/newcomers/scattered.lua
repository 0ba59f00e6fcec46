-- Blocks of very unlike widths; one weight stands in the first, the third and the last; one only in the second.
local baleen = require "baleen"
local common = require "common"
local init, nn = baleen.init, baleen.nn

local function wide(name, out, axis) return nn.linear { name = name, out = out, axes = { axis or "" } } end
local often = nn.linear { name = "often", out = 6, bias = false }
local first = nn.sequential { name = "first", wide("up", 31, "ff"), nn.relu {}, wide("down", 6) }
local second = nn.sequential { name = "second", wide("up", 2, "ff"), nn.tanh {}, wide("down", 6),
  nn.layer_norm { name = "norm" } }
local third = nn.residual { nn.sequential { name = "third", wide("up", 9, "ff"), nn.gelu {}, wide("down", 6) } }
local shift = common.layer("shift", function(self, x)
  return x + self:parameter("bias", { 6 }, { init = init.zeros }) end)
local head = wide("head", 5)

return common.job {
  model = function(x)
    x = first(often(x))
    x = second(x) + x
    x = often(third(x))
    return head(often(shift(x)))
  end,
  loss = nn.cross_entropy {}, data = common.rows("x f32 6", "y i32 < 5"),
}
