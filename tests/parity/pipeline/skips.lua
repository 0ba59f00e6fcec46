-- Layers whose results are read several layers later, as in a U-Net, for pipelines.
local baleen = require "baleen"
local nn, data = baleen.nn, baleen.data

local rows = {}
for i = 1, 48 do
  rows[i] = { (i * 7 % 11) / 11, (i * 5 % 13) / 13, (i * 3 % 17) / 17, i % 3 }
end
local points = data.table { rows = rows, held_out = 0.2 }

local down = {}
for i = 1, 3 do down[i] = nn.linear { name = "down_" .. i, out = 8 } end
local middle = nn.linear { name = "middle", out = 8 }
local up = {}
for i = 1, 3 do up[i] = nn.linear { name = "up_" .. i, out = 8 } end
local head = nn.linear { name = "head", out = 3 }
local tanh = nn.tanh {}

return baleen.job {
  model = function(x)
    local kept = {}
    for i = 1, 3 do
      x = tanh(down[i](x))
      kept[i] = x
    end
    x = tanh(middle(x))
    for i = 3, 1, -1 do x = tanh(up[i](x)) + kept[i] end
    return head(x)
  end,
  loss = nn.cross_entropy {}, data = points, batch = 8, steps = 20,
  gradient_accumulation_steps = baleen.arg("accumulate", 1),
  optimizer = baleen.optimizer("adamw", { lr = 1e-2 }),
  evaluate = { every = 10, batches = 1 },
}
