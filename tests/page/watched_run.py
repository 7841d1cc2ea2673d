"""The files of a run of training/pretrain.py, as far as it has come."""

import json
import os

HEADER = "epoch,loss,mlm_accuracy,mlm_loss,nsp_accuracy,val_mlm_accuracy,val_mlm_loss,val_nsp_accuracy\n"
LINES = """0,7.4,0.11,6.7,0.57,0.23,5.2,0.66
1,5.4,0.26,4.9,0.78,0.29,4.7,0.76
2,5.0,0.31,4.5,0.8,0.33,4.4,0.8
""".splitlines(keepends=True)
SETTINGS = dict(steps=250, save_every=100, batch_size=16, accumulate=2, learning_rate=1e-3, warmup_steps=None)
STARTED, SECONDS_SINCE_1970 = "2026-11-30T04:00:00+0000", 1796011200


EXAMPLES = [
    {
        "tokens": ["[CLS]", "the", "[MASK]", "<b>", "[SEP]", "ran", "[SEP]"],
        "masked": [
            {"position": 2, "token": "cat", "candidates": [["cat", 0.5], ["dog", 0.25], ["mat", 0.125]]},
            {"position": 5, "token": "ran", "candidates": [["sat", 0.9], ["ran", 0.0004], ["a", 0.0]]},
        ],
        "follows": 0.75,
        "is_random_next": True,
    },
    {"tokens": ["[CLS]", "the", "[SEP]"], "masked": [], "follows": None, "is_random_next": None},
]


def write_run(folder, number, unfinished=""):
    """Write a run with a number of lines, the last of them 50 seconds after its second start, from update 100."""
    starts = [{"time": "2026-11-29T04:00:00+0000", "first_step": 0}, {"time": STARTED, "first_step": 100}]
    saves = [(step, 32 * step) for step in (100, 200, 250)]
    (folder / "run.json").write_text(json.dumps({"settings": SETTINGS, "starts": starts, "saves": saves}))
    (folder / "history.csv").write_text(HEADER + "".join(LINES[:number]) + unfinished)
    os.utime(folder / "history.csv", (SECONDS_SINCE_1970 + 50,) * 2)
