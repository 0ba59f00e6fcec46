--- Called by the core once for each graph of a job: runs the model on symbolic inputs, then loss and metrics.
--- Returns the graph's outputs as a list of { name, value }.
local core = require "baleen.core"
local layer = require "baleen.nn.layer"
local target = require "baleen.target"

local function measured(job, what, measure, output, fields)
  local total, weight = measure(output, fields[job.target], fields)
  if total == nil or weight == nil then
    core.fail(what .. " must return two values: a sum over the batch, and the weight to divide it by", job.where)
  elseif type(weight) == "number" and not (weight > 0 and weight < math.huge) then
    core.fail(("%s gives the weight %s, by which its sum is divided; it must be a finite number above 0"):format(what,
      weight), job.where)
  end
  return total, weight
end

--- Fails where the model gives fewer numbers for a row than there are classes, or for a token than there are tokens.
local function check_classes(job, output)
  local loss, data = job.loss, job.data
  if type(loss) ~= "table" or loss.kind ~= "cross_entropy" or loss.ignore_index then return end
  if not data or not core.is_tensor(output) or output.rank == 0 then return end
  local given, place = output.shape[output.rank], type(job.model) == "table" and job.model.where or job.where
  if target.is_class(job) and given < data.classes then
    core.fail(("the model gives %d numbers for a row, and the data has %d classes; give the last layer "
      .. "`out = data.classes`"):format(given, data.classes), place)
  elseif target.is_token(job) and given < data.vocab then
    core.fail(("the model gives %d numbers for a token, and the data has %d tokens; give the last layer "
      .. "`out = data.vocab`, and embeddings `vocab = data.vocab`"):format(given, data.vocab), place)
  end
end

--- The outputs of a named program, in the order of their names.
local function outputs_of(job, program, inputs)
  local made, outputs = program.run(inputs), {}
  if type(made) ~= "table" or next(made) == nil then
    core.fail(("the program `%s` returns %s; it must return a table of tensors by name, as in { logits = x }"):format(
      program.name, type(made) == "table" and "an empty table" or core.describe(made)), job.where)
  end
  for name, value in pairs(made) do
    if type(name) ~= "string" then
      core.fail(("the program `%s` returns a list; its outputs need names, as in { logits = x }"):format(program.name),
        job.where)
    end
    outputs[#outputs + 1] = { name, value }
  end
  return outputs
end

return function(job, graph, fields)
  layer.begin(job.model, fields)
  if job.programs[graph] then return outputs_of(job, job.programs[graph], fields) end
  local output = job.model(fields[job.input], fields)
  if output == nil then core.fail("the model returns nothing; it must return a tensor", job.where) end
  if layer.is(output) then
    core.fail(("the model returns a layer, %s, and must return what it gives; call it, as in layer(x)"):format(
      output.kind), output.where)
  end

  check_classes(job, output)
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
