--- What a trained model says of rows: the program `predict`, which `baleen predict` runs.
local core = require "baleen.core"

local predict = {}

--- Rows of the data, but for what is to be predicted, to what the model gives for them: tensors by name. One tensor is
--- called `logits` where the loss takes it so, else `prediction`.
function predict.program(job)
  local inputs = {}
  for _, field in ipairs(job.data.fields) do
    if field.name ~= job.target or field.name == job.input then
      inputs[field.name] = {
        dtype = field.dtype, shape = { job.batch, table.unpack(field.shape) },
        axes = { "batch", table.unpack(field.axes) },
      }
    end
  end
  local function run(given)
    local output = job.model(given[job.input], given)
    if output == nil then core.fail("the model returns nothing; it must return a tensor", job.where) end
    if not core.is_tensor(output) then return output end
    local is_classes = type(job.loss) == "table" and job.loss.kind == "cross_entropy"
    return { [is_classes and "logits" or "prediction"] = output }
  end
  return { inputs = inputs, run = run }
end

return predict
