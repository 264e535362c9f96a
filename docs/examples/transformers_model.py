"""A recipe of a transformers model made from its configuration: nothing is downloaded.

The texts of a real data set differ in length; the batch here has the longest, because memory must suffice for it.
"""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

LONGEST = 128
"""Tokens of the longest text in the data set."""


def make():
    config = GPT2Config(n_layer=2, n_head=4, n_embd=128, n_positions=LONGEST, vocab_size=1000)
    model = GPT2LMHeadModel(config)

    def batch(n):
        tokens = torch.randint(config.vocab_size, (n, LONGEST))
        return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": tokens}

    return {"model": model, "batch": batch}  # the model's output holds the loss
