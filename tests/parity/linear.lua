-- Two linear layers and nothing else, to count what products send.
local baleen = require "baleen"
local nn = baleen.nn

local rows = {}
for i = 1, 100 do
  rows[i] = {}
  for k = 1, 16 do rows[i][k] = math.random() end
  rows[i][17] = i % 8
end
local points = baleen.data.table { rows = rows, held_out = 0.3 }

return baleen.job {
  model = nn.sequential { nn.linear { out = 32, bias = false, axes = { "ff" } }, nn.linear { out = 8, bias = false } },
  loss = nn.cross_entropy {}, data = points, batch = 24, steps = 20,
  optimizer = baleen.optimizer("sgd", { lr = 0.1, momentum = 0.9 }),
}
