-- The smallest network of two layers, with sizes and mistakes from outside.
local baleen = require "baleen"
local arg, nn = baleen.arg, baleen.nn

local rows, held_out, frozen = {}, arg("held_out", 0.4), arg("frozen", "")
for i = 1, 60 do rows[i] = { i % 7 - 3, i % 5 - 2, i % 4 } end
local points = baleen.data.table { rows = rows, held_out = held_out }
local groups = {}
if frozen ~= "" then groups[1] = { match = frozen, frozen = true } end

return baleen.job {
  model = nn.sequential {
    nn.linear { name = "up", out = arg("hidden", 6), axes = { arg("axis", "ff") } }, nn.tanh {},
    nn.linear { name = "head", out = points.classes },
  },
  loss = nn.cross_entropy {}, data = points, batch = arg("batch", 8), steps = 3,
  optimizer = baleen.optimizer("adamw", { lr = 0.01, groups = groups }),
}
