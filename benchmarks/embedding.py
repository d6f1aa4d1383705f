"""Embed passages with the packaged MiniLM, against a bare onnxruntime loop over the same texts.

Run: python benchmarks/embedding.py [--texts N]
The bare loop is what one would write: sorted by length, padded in batches of 16, pooled by the
mask. Both run on one thread and in turns. Prints the ratio of CPU times and fails past its bound,
or where a vector differs.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from evalnb.gold.bundled import python_reference
from evalnb.workspace.encoders import OnnxEncoder
from evalnb.workspace.models import MINILM, OnnxModel, find_model

BOUND = 1.2
BATCH = 16
PASSAGE = 800  # characters


def passages(n: int) -> list[str]:
    """Cut the language reference into passages, and take every so many of them."""
    texts = [source["documents"][0]["text"] for source in python_reference()["sources"]]
    every = [text[at : at + PASSAGE] for text in texts for at in range(0, len(text), PASSAGE)]
    return every[:: max(1, len(every) // n)][:n]


class BareLoop:
    """The same model and tokenizer, and nothing else."""

    def __init__(self, model: OnnxModel) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(model.model), options)
        self.tokenizer = Tokenizer.from_file(str(model.tokenizer))
        self.tokenizer.enable_truncation(model.max_tokens)
        self.tokenizer.enable_padding()

    def embed(self, texts: list[str]) -> np.ndarray:
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        vectors = np.empty((len(texts), 384), dtype=np.float32)
        for start in range(0, len(order), BATCH):
            some = order[start : start + BATCH]
            tokens = self.tokenizer.encode_batch([texts[at] for at in some])
            ids = np.array([t.ids for t in tokens], dtype=np.int64)
            mask = np.array([t.attention_mask for t in tokens], dtype=np.int64)
            feed = {
                "input_ids": ids,
                "attention_mask": mask,
                "token_type_ids": np.zeros_like(ids),
            }
            hidden = self.session.run(None, feed)[0] * mask[:, :, None]
            pooled = hidden.sum(axis=1) / mask.sum(axis=1, keepdims=True)
            vectors[some] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return vectors


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=96)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    texts = passages(options.texts)
    model = find_model(MINILM)
    bare, encoder = BareLoop(model), OnnxEncoder(model, workers=1)
    spent = {"evalnb": 0.0, "bare": 0.0}
    for _ in range(options.turns):
        start = time.process_time()
        ours = np.stack(list(encoder.encode(texts, "passage")))
        spent["evalnb"] += time.process_time() - start
        start = time.process_time()
        theirs = bare.embed(texts)
        spent["bare"] += time.process_time() - start
    nearest = float((ours * theirs).sum(axis=1).min())
    ratio = spent["evalnb"] / spent["bare"]
    rate = options.turns * len(texts) / spent["evalnb"]
    print(
        f"{len(texts)} passages of {PASSAGE} characters: {ratio:.2f}x of a bare loop in CPU time "
        f"(bound {BOUND}x), {rate:.1f} passages per core-second, smallest cosine {nearest:.6f}"
    )
    return 0 if ratio <= BOUND and nearest > 0.9999 else 1


if __name__ == "__main__":
    sys.exit(main())
