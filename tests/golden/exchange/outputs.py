"""Outputs of transformers' models whose parameters are given by a formula; exchange_test.cpp has Baleen compute the same.

Usage: outputs.py [--write]     compares with the files NAME.txt beside this one, or writes them
Needs PyTorch and transformers (tests/interop/python/make_environment.sh makes such an environment).
Lines of a file: `config` and JSON; `input NAME DTYPE SHAPE : NUMBERS`; `tensor NAME SHAPE`, in the order that counts; and
`output SHAPE : NUMBERS`. Element i of tensor t is ((7919 i + 104729 t) mod 2003 - 1001) / 2048, a number that fp32 holds.
"""
import argparse
import json
import sys
from pathlib import Path

import torch
import transformers

HERE = Path(__file__).resolve().parent
TOLERANCE = 2e-5
WORDS = {"vocab_size": 13, "bos_token_id": 0, "eos_token_id": 0}
LLAMA = WORDS | {"hidden_size": 12, "intermediate_size": 8, "num_hidden_layers": 2, "num_attention_heads": 4,
                 "num_key_value_heads": 2, "max_position_embeddings": 16, "head_dim": 4}
BERT = {"vocab_size": 13, "hidden_size": 12, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 3,
        "max_position_embeddings": 8}
ROPE = {"rope_type": "llama3", "rope_theta": 50.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8}
CASES = {
    "gpt2": ("GPT2LMHeadModel", WORDS | {"n_positions": 8, "n_embd": 12, "n_layer": 2, "n_head": 3}),
    "llama": ("LlamaForCausalLM", LLAMA | {"rope_parameters": ROPE, "attention_bias": True}),
    "mixtral": ("MixtralForCausalLM", LLAMA | {"num_local_experts": 3, "num_experts_per_tok": 2}),
    "bert_words": ("BertForMaskedLM", BERT),
    "bert_sentences": ("BertModel", BERT),
    "vit": ("ViTForImageClassification",
            {"hidden_size": 12, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 3, "image_size": 8,
             "patch_size": 4, "num_channels": 2, "num_labels": 4}),
}


def value_of(number, shape):
    count = torch.Size(shape).numel()
    return (((torch.arange(count) * 7919 + number * 104729) % 2003 - 1001).float() / 2048).reshape(shape)


def saved_names(model):
    """Names and shapes as save_pretrained writes them; tied weights once."""
    import tempfile

    from safetensors import safe_open
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        config = json.loads((Path(folder) / "config.json").read_text())
        with safe_open(Path(folder) / "model.safetensors", "pt") as file:
            return config, {name: list(file.get_slice(name).get_shape()) for name in sorted(file.keys())}


def model_of(kind, keys):
    """The model with the formula's numbers, through a file, as a user's would come."""
    import tempfile

    from safetensors.torch import save_file
    architecture = getattr(transformers, kind)
    config, shapes = saved_names(architecture(architecture.config_class(**keys)))
    with tempfile.TemporaryDirectory() as folder:
        save_file({name: value_of(number, shape) for number, (name, shape) in enumerate(shapes.items())},
                  Path(folder) / "model.safetensors", {"format": "pt"})
        (Path(folder) / "config.json").write_text(json.dumps(config))
        return config, shapes, architecture.from_pretrained(folder, dtype=torch.float32).eval()


def run(name, kind, model):
    """Inputs by our names, and the output."""
    if kind.startswith("ViT"):
        images = value_of(99, [2, 2, 8, 8])
        return {"images": ("fp32", images)}, model(images).logits
    tokens = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 12]])
    if name == "bert_words":
        types = torch.tensor([[0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]])
        return ({"tokens": ("int32", tokens), "types": ("int32", types), "documents": ("int32", tokens * 0)},
                model(tokens, token_type_ids=types).logits)
    if name != "bert_sentences":
        return {"tokens": ("int32", tokens)}, model(tokens).logits
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
    hidden = model(tokens, attention_mask=mask).last_hidden_state
    mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    return ({"tokens": ("int32", tokens), "documents": ("int32", mask - 1)},
            torch.nn.functional.normalize(mean, dim=-1))


def text_of(name):
    kind, keys = CASES[name]
    config, shapes, model = model_of(kind, keys)
    with torch.no_grad():
        inputs, output = run(name, kind, model)
    lines = [f"config {json.dumps(config, sort_keys=True)}"]
    for field, (dtype, tensor) in inputs.items():
        numbers = " ".join(f"{number:.9g}" for number in tensor.flatten().tolist())
        lines.append(f"input {field} {dtype} {' '.join(map(str, tensor.shape))} : {numbers}")
    lines += [f"tensor {field} {' '.join(map(str, shape))}" for field, shape in shapes.items()]
    numbers = " ".join(f"{number:.8g}" for number in output.flatten().tolist())
    lines.append(f"output {' '.join(map(str, output.shape))} : {numbers}")
    return "\n".join(lines) + "\n"


def outputs_in(text):
    return [float(word) for word in text.splitlines()[-1].split(" : ")[1].split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    transformers.utils.logging.set_verbosity_error()
    for name in CASES:
        file, text = HERE / f"{name}.txt", text_of(name)
        if write:
            file.write_text(text)
            continue
        there, here = outputs_in(text), outputs_in(file.read_text())
        if len(there) != len(here) or not max(abs(a - b) for a, b in zip(there, here)) <= TOLERANCE:
            sys.exit(f"{file}: transformers {transformers.__version__} gives other numbers")
    print(f"{len(CASES)} models of transformers {transformers.__version__}, PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
