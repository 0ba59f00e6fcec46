"""Models of transformers here, and ours there: the logits agree.

Usage: models.py --baleen build/release/bin/baleen
Each model is made by transformers with random numbers in all of its parameters, and saved, in one file or several. Baleen
loads the folder and computes what transformers computes. Then its parameters are changed here (trained, or, where there is
nothing to train on, by noise), exported, and transformers loads the export without a missing or unexpected tensor.
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file

from exchange_run import SCRIPT, TEXT, Baleen, expect_close

LENGTH, ROWS, VOCABULARY = 16, 3, 300

GPT2 = {"vocab_size": VOCABULARY, "n_positions": 32, "n_embd": 32, "n_layer": 2, "n_head": 4, "bos_token_id": 0,
        "eos_token_id": 0}
LLAMA = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 56, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
MIXTRAL = LLAMA | {"num_local_experts": 4, "num_experts_per_tok": 2}
BERT = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "max_position_embeddings": 40}
VIT = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 32,
       "patch_size": 8, "num_labels": 5}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}

# name: class, keys of its config, further arguments of save_pretrained, further ones of the script.
CASES = {
    "gpt2": ("GPT2LMHeadModel", GPT2, {}, []),
    "gpt2_untied": ("GPT2LMHeadModel", GPT2 | {"tie_word_embeddings": False, "n_inner": 40}, {}, []),
    "gpt2_padded": ("GPT2LMHeadModel", GPT2 | {"activation_function": "relu"}, {}, ["--vocab_multiple", 64]),
    "gpt2_body": ("GPT2Model", GPT2, {}, []),
    "llama": ("LlamaForCausalLM", LLAMA, {}, []),
    "llama_in_files": ("LlamaForCausalLM", LLAMA, {"max_shard_size": "20KB"}, []),
    "llama_tied": ("LlamaForCausalLM", LLAMA | {"tie_word_embeddings": True}, {}, []),
    "llama_padded": ("LlamaForCausalLM", LLAMA, {}, ["--vocab_multiple", 128]),
    "llama_biases": ("LlamaForCausalLM", LLAMA | {"attention_bias": True, "mlp_bias": True, "head_dim": 12,
                                                  "num_key_value_heads": 4}, {}, []),
    "llama_3_1": ("LlamaForCausalLM", LLAMA | {"rope_parameters": LLAMA3}, {}, []),
    "llama_linear": ("LlamaForCausalLM", LLAMA | {"rope_parameters": {"rope_type": "linear", "factor": 2.0,
                                                                      "rope_theta": 100.0}}, {}, []),
    "llama_body": ("LlamaModel", LLAMA, {}, []),
    "mistral": ("MistralForCausalLM", LLAMA | {"sliding_window": None}, {}, []),
    "mixtral": ("MixtralForCausalLM", MIXTRAL, {}, []),
    "mixtral_in_files": ("MixtralForCausalLM", MIXTRAL | {"num_experts_per_tok": 3}, {"max_shard_size": "30KB"}, []),
    "bert": ("BertModel", BERT, {}, []),
    "bert_words": ("BertForMaskedLM", BERT, {"max_shard_size": "20KB"}, []),
    "bert_words_padded": ("BertForMaskedLM", BERT, {}, ["--vocab_multiple", 256]),
    "bert_classes": ("BertForSequenceClassification", BERT | {"num_labels": 7}, {}, []),
    "vit_classes": ("ViTForImageClassification", VIT, {}, []),
    "vit": ("ViTModel", VIT, {}, []),
}
TRAINED = ("GPT2LMHeadModel", "LlamaForCausalLM", "MixtralForCausalLM", "MistralForCausalLM")


def inputs_of(kind):
    """What a model is given here, by the names of the script, and there."""
    if kind.startswith("ViT"):
        images = torch.randn(ROWS, VIT.get("num_channels", 3), 32, 32)
        return {"images": images}, {"pixel_values": images}
    tokens = torch.randint(0, VOCABULARY, (ROWS, LENGTH))
    if not kind.startswith("Bert"):
        return {"tokens": tokens.int()}, {"input_ids": tokens}
    types = torch.randint(0, 2, (ROWS, LENGTH))
    return ({"tokens": tokens.int(), "types": types.int(), "documents": torch.zeros_like(tokens).int()},
            {"input_ids": tokens, "token_type_ids": types})


def output_of(model, inputs):
    """Logits; of a model without a head the pooled output, or the hidden states."""
    with torch.no_grad():
        made = model.eval()(**inputs)
    for name in ("logits", "pooler_output", "last_hidden_state"):
        if getattr(made, name, None) is not None:
            return getattr(made, name)
    return sys.exit(f"{type(model).__name__} gives {list(made)}")


def loaded(kind, folder):
    """The model that transformers makes of a folder; a tensor that is missing or too many fails."""
    model, told = getattr(transformers, kind).from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if told.get(what):
            sys.exit(f"{folder}: transformers says {what}: {told[what]}")
    return model


def make(kind, keys, folder, options):
    """A model whose parameters are all random, also those that begin as ones or zeros."""
    architecture = getattr(transformers, kind)
    model = architecture(architecture.config_class(**keys))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.15)
    model.save_pretrained(folder, **options)


def change(baleen, kind, theirs, file, arguments):
    """Other parameters of the same model, in a file of ours."""
    if kind in TRAINED:
        baleen.run("run", SCRIPT, "--load", theirs, "--steps", 5, "--save", file, "--", "--data", TEXT, "--length", LENGTH,
                   *arguments)
        return
    baleen.run("checkpoint", "import", theirs, file)
    tensors = load_file(file)
    save_file({name: tensor + torch.randn_like(tensor) * 0.05 for name, tensor in tensors.items()}, file)


def check(baleen, folder, name):
    kind, keys, options, arguments = CASES[name]
    theirs, ours, file = folder / name, folder / f"{name}.ours", folder / f"{name}.safetensors"
    make(kind, keys, theirs, options)
    here, there = inputs_of(kind)
    got = baleen.outputs(theirs, here, *arguments)["output"]
    expect_close(f"{name}: theirs here", output_of(loaded(kind, theirs), there), got[..., :VOCABULARY])
    change(baleen, kind, theirs, file, arguments)
    baleen.run("checkpoint", "export", file, ours, "--config", theirs, "--max-file", "40KiB")
    model = loaded(kind, ours)
    changed = baleen.outputs(ours, here, *arguments)["output"]
    expect_close(f"{name}: ours there", output_of(model, there), changed[..., :VOCABULARY])
    if torch.equal(changed, got):
        sys.exit(f"{name}: nothing has changed")


def check_half(baleen, folder):
    """A folder in bf16 is computed with in fp32, as transformers does when it is told to."""
    theirs = folder / "half"
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**LLAMA)).to(torch.bfloat16)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(5)
    model.save_pretrained(theirs)
    here, there = inputs_of("LlamaForCausalLM")
    expect_close("bf16: theirs here", output_of(loaded("LlamaForCausalLM", theirs), there),
                 baleen.outputs(theirs, here)["output"])
    baleen.run("checkpoint", "import", theirs, folder / "half.safetensors")
    baleen.run("checkpoint", "export", folder / "half.safetensors", folder / "half.ours", "--config", theirs)
    again = load_file(folder / "half.ours" / "model.safetensors")
    if any(tensor.dtype != torch.bfloat16 or not torch.equal(tensor, model.state_dict()[name])
           for name, tensor in again.items()):
        sys.exit("bf16: an export of an import has other bits")


def check_earlier(baleen, folder):
    """BERT with the names and rotary positions with the keys that older versions wrote."""
    theirs = folder / "earlier"
    make("BertModel", BERT, theirs, {})
    tensors = load_file(theirs / "model.safetensors")
    save_file({"bert." + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"):
               tensor for name, tensor in tensors.items()}, theirs / "model.safetensors", {"format": "pt"})
    here, there = inputs_of("BertModel")
    model = transformers.BertModel(transformers.BertConfig(**BERT))
    model.load_state_dict(tensors)
    expect_close("earlier names: theirs here", output_of(model, there), baleen.outputs(theirs, here)["output"])
    theirs = folder / "earlier_rope"
    make("LlamaForCausalLM", LLAMA | {"rope_parameters": LLAMA3}, theirs, {})
    here, there = inputs_of("LlamaForCausalLM")
    want = output_of(loaded("LlamaForCausalLM", theirs), there)
    config = json.loads((theirs / "config.json").read_text())
    rope = config.pop("rope_parameters")
    config |= {"rope_theta": rope.pop("rope_theta"), "rope_scaling": rope}
    (theirs / "config.json").write_text(json.dumps(config))
    expect_close("earlier keys: theirs here", want, baleen.outputs(theirs, here)["output"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baleen", required=True)
    parser.add_argument("--only", choices=sorted(CASES), help="one case")
    given = parser.parse_args()
    torch.manual_seed(20)
    transformers.utils.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as folder:
        baleen = Baleen(given.baleen, folder)
        for name in [given.only] if given.only else CASES:
            check(baleen, Path(folder), name)
        if not given.only:
            check_half(baleen, Path(folder))
            check_earlier(baleen, Path(folder))
    print(f"transformers {transformers.__version__}, PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
