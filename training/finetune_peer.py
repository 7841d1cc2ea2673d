"""Fine-tune transformers' BERT on a task, for training/benchmark_finetune.py to set beside training/finetune.py.

    python -m training.finetune_peer mrpc --data glue_data --init kbert-small-en

The flags are those of training/finetune.py, the rows and the scorer too, so that both sides read the same tokens.
Everything else is what transformers' example scripts do: rows in random order, each batch padded to its longest row,
PyTorch's fused AdamW, linear warmup and decay, no decay of biases and LayerNorms, the gradients clipped at norm 1. Its
epsilon is kbert's and Google's, 1e-6, where PyTorch's own is 1e-8.
mixed_bfloat16 is PyTorch's autocast. The last line is one JSON object.

Source: huggingface/transformers `examples/pytorch`, `run_glue.py`, `run_qa.py`, `run_ner.py`, `run_swag.py`.
"""

import training.quiet_keras  # noqa: F401

# isort: split
import dataclasses
import json
import math
import tempfile
import time

import numpy as np
import torch
import transformers

from kbert.convert import load, save_checkpoint
from kbert.tasks.batches import collate
from training.arguments import one_line_errors, parse
from training.finetune_plan import complete, make_rows, plans_of, summary_of
from training.finetune_run import OUTPUTS
from training.finetune_settings import Settings
from training.finetune_tasks import open_task
from training.peak_memory import peak_gib

MODELS = {
    "classifier": transformers.BertForSequenceClassification,
    "span": transformers.BertForQuestionAnswering,
    "tagger": transformers.BertForTokenClassification,
    "choice": transformers.BertForMultipleChoice,
}
PROBLEMS = {
    "one_class": "single_label_classification",
    "several_labels": "multi_label_classification",
    "regression": "regression",
}
# kbert's names of inputs and outputs -> transformers'.
INPUTS = {"token_ids": "input_ids", "segment_ids": "token_type_ids", "padding_mask": "attention_mask"}
SCORED_BATCH_SIZE = 32
NOT_HERE = ("grid", "patience", "freeze", "layer_decay", "class_weights", "no_bias_correction", "bilstm")
IGNORED = -100
EPSILON = 1e-6


def main(argv=None):
    """Fine-tune once a seed, print the scores, and return the results."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors(), tempfile.TemporaryDirectory() as encoder:
        _check(settings)
        task = open_task(settings)
        tokenizer, longest = _write_encoder(settings.init, encoder)
        asked, settings = settings, complete(settings, task, longest)
        print(json.dumps(dataclasses.asdict(settings)))
        rows = make_rows(task, tokenizer, settings)
        (plans,) = plans_of(settings, asked)
        runs = [_Run(task, rows, plan, settings, tokenizer).run(encoder) for plan in plans]
        result = {"task": settings.task, "best": summary_of(plans[0], runs)}
    result["peak_gib"] = round(peak_gib(), 3)
    print(json.dumps(result))
    return result


def _write_encoder(source, folder):
    """Write a checkpoint for transformers, keep none of it, and return its tokenizer and longest row."""
    checkpoint = load(source)
    save_checkpoint(checkpoint.model, checkpoint.tokenizer, folder, missing_parts=checkpoint.missing_parts)
    return checkpoint.tokenizer, checkpoint.config.max_sequence_length


def _check(settings):
    # Left out in silence, they would compare two different recipes.
    plain = Settings(settings.task)
    for name in NOT_HERE:
        if getattr(settings, name) != getattr(plain, name):
            raise ValueError(
                f"The comparison is of the plain recipe. Received: --{name}, which this side does not have."
            )


class _Run:
    """One model, trained with one seed."""

    def __init__(self, task, rows, plan, settings, tokenizer):
        self.task, self.rows, self.plan, self.settings = task, rows, plan, settings
        self.tokenizer = tokenizer
        self.autocast = torch.autocast("cpu", torch.bfloat16, enabled=settings.precision == "mixed_bfloat16")

    def run(self, encoder):
        """Train and score; return what `training.finetune_run.train` returns first."""
        transformers.set_seed(self.plan.seed)
        heads = {"num_labels": len(self.task.label_names)} if self.task.head in ("classifier", "tagger") else {}
        if self.task.head == "classifier":
            heads = {"num_labels": max(1, heads["num_labels"]), "problem_type": PROBLEMS[self.task.problem]}
        self.model = MODELS[self.task.head].from_pretrained(encoder, attn_implementation="sdpa", **heads)
        seconds = self._train()
        scores = {name: self._score(*of) for name, of in self.rows.scored.items()}
        result = {"scores": scores, "main": self.task.main_score(scores), "epochs": self.plan.epochs}
        tests = {name: examples for name, examples in self.task.test.items() if self.task.has_answers(examples)}
        return result | {"seconds": seconds, "seed": self.plan.seed, "tests": self._tests(tests)}

    def _tests(self, tests):
        longest = self.settings.max_sequence_length
        return {
            name: self._score(examples, self.task.rows(self.tokenizer, examples, longest))
            for name, examples in tests.items()
        }

    def _train(self):
        plan, model = self.plan, self.model.train()
        decayed, undecayed = [], []
        for name, weight in model.named_parameters():
            (undecayed if name.endswith("bias") or "LayerNorm" in name else decayed).append(weight)
        groups = [
            {"params": decayed, "weight_decay": self.settings.weight_decay},
            {"params": undecayed, "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(groups, lr=plan.learning_rate, eps=EPSILON, fused=True)
        total = plan.epochs * math.ceil(len(self.rows.train) / plan.batch_size)
        warmup = int(self.settings.warmup * total)
        schedule = transformers.get_linear_schedule_with_warmup(optimizer, warmup, total)
        rng = np.random.default_rng(plan.seed)
        started = time.perf_counter()
        for _ in range(plan.epochs):
            order = rng.permutation(len(self.rows.train))
            for start in range(0, len(order), plan.batch_size):
                chosen = [self.rows.train[index] for index in order[start : start + plan.batch_size]]
                optimizer.zero_grad()
                with self.autocast:
                    loss = model(**self._inputs(chosen, with_labels=True)).loss
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
        return time.perf_counter() - started

    def _inputs(self, rows, with_labels=False):
        inputs, targets, weights = collate(
            rows, self.tokenizer.special_token_ids["[PAD]"], max(row.length for row in rows)
        )
        found = {INPUTS[name]: torch.from_numpy(array).long() for name, array in inputs.items()}
        if with_labels and self.task.head == "span":
            found |= {f"{name}_positions": torch.from_numpy(targets[name]).long() for name in ("start", "end")}
        elif with_labels:
            labels = targets["logits"]
            if self.task.head == "tagger":
                labels = np.where(weights["logits"] > 0, labels, IGNORED)
            found["labels"] = torch.from_numpy(labels)
            if not np.issubdtype(labels.dtype, np.floating):
                found["labels"] = found["labels"].long()
        return found

    @torch.no_grad()
    def _score(self, examples, rows):
        self.model.eval()
        names = [name if name == "logits" else f"{name}_logits" for name in OUTPUTS[self.task.head]]
        outputs = []
        for start in range(0, len(rows), SCORED_BATCH_SIZE):
            with self.autocast:
                found = self.model(**self._inputs(rows[start : start + SCORED_BATCH_SIZE]))
            outputs += zip(*(found[name].float().numpy() for name in names), strict=True)
        return self.task.score(examples, self.task.decode(examples, rows, outputs))


if __name__ == "__main__":
    main()
