--- What `require "baleen"` gives to a script.
local core = require "baleen.core"
local schedule = require "baleen.schedule"

local baleen = {
  nn = require "baleen.nn",
  ops = require "baleen.ops",
  data = require "baleen.data",
  init = require "baleen.initializer",
  job = require "baleen.job",
  optimizer = require "baleen.optimizer",
  strategy = require "baleen.strategy",
  parallel = require "baleen.parallel",
  schedule = schedule,
  arg = core.entry(require("baleen.arg").get),
}
baleen.ops.where = baleen.ops.select

for name, make in pairs(schedule) do
  baleen[name] = make
end

--- Is the graph that is described now one that is trained: the job's own, or a program with an optimizer? (Dropout is
--- off elsewhere.)
function baleen.training()
  return core.learns()
end

local ops = {}
for name in pairs(baleen.ops) do ops[#ops + 1] = name end
setmetatable(baleen.ops, {
  __index = function(_, name)
    core.fail("baleen.ops: " .. core.unknown_word("op", tostring(name), ops))
  end,
})

local names = { "models" }
for name in pairs(baleen) do names[#names + 1] = name end

return setmetatable(baleen, {
  __index = function(self, key)
    if key == "models" then -- only where a script asks for them
      local models = require "baleen.models"
      rawset(self, key, models)
      return models
    end
    core.fail("baleen: " .. core.unknown_word("field", tostring(key), names))
  end,
})
