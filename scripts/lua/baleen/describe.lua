--- Called by the core once for each graph of a job: runs the model on symbolic inputs, then loss and metrics.
--- Returns the graph's outputs as a list of { name, value }.
local core = require "baleen.core"
local layer = require "baleen.nn.layer"

local function measured(job, what, measure, output, fields)
  local total, weight = measure(output, fields[job.target], fields)
  if total == nil or weight == nil then
    core.fail(what .. " must return two values: a sum over the batch, and the weight to divide it by", job.where)
  end
  return total, weight
end

return function(job, graph, fields)
  layer.begin(job.model, fields)
  local output = job.model(fields[job.input], fields)
  if output == nil then core.fail("the model returns nothing; it must return a tensor", job.where) end
  if graph == "generate" then return { { "logits", output } } end

  layer.name(job.loss, "loss")
  local total, weight = measured(job, "the loss", job.loss, output, fields)
  local outputs = { { "loss", total }, { "weight", weight } }
  for name, metric in pairs(job.metrics) do
    layer.name(metric, name)
    total, weight = measured(job, "the metric `" .. name .. "`", metric, output, fields)
    outputs[#outputs + 1] = { "metric." .. name, total }
    outputs[#outputs + 1] = { "metric." .. name .. ".weight", weight }
  end
  return outputs
end
