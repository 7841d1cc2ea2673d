"""What PyTorch does on a CPU in one pass over memory where Keras' operations, which suit every backend, take many.

Imported on the PyTorch backend only.
"""

import collections

import torch
from torch.optim.adamw import adamw

# Powers of the betas for the kernel's own bias correction are 0 then: whoever wants one has it in length and epsilon.
_FAR_STEP = 1e9


@torch.no_grad()
def apply_adam(updates, epsilon, beta_1, beta_2):
    """Take gradients into both means, and move variables to (1 - decay) w - length m / (sqrt(v) + epsilon).

    Args:
        updates: list of (variable, m, v, gradient, length, decay): four tensors of one shape, two floats.
        epsilon, beta_1, beta_2: floats.
    """
    groups = collections.defaultdict(list)
    for *tensors, length, decay in updates:
        groups[length, decay].append(tensors)
    for (length, decay), group in groups.items():
        variables, means, squares, gradients = ([*column] for column in zip(*group, strict=True))
        if decay:
            torch._foreach_mul_(variables, 1 - decay)
        adamw(
            variables,
            [gradient.to(variable.dtype) for gradient, variable in zip(gradients, variables, strict=True)],
            means,
            squares,
            [],
            [torch.tensor(_FAR_STEP) for _ in variables],
            fused=True,
            amsgrad=False,
            beta1=beta_1,
            beta2=beta_2,
            lr=length,
            weight_decay=0.0,
            eps=epsilon,
            maximize=False,
        )


def clip_by_global_norm(gradients, largest):
    """Return gradients whose common norm is at most `largest`; NaN if it is not finite.

    Args:
        gradients: list of tensors or None.
        largest: float.
    """
    there = [gradient for gradient in gradients if gradient is not None]
    norm = torch.nn.utils.get_total_norm(there).item()
    if norm <= largest:
        return gradients
    scaled = iter(torch._foreach_mul(there, largest / norm if norm < float("inf") else float("nan")))
    return [None if gradient is None else next(scaled) for gradient in gradients]


def cross_entropy(logits, targets):
    """Return the losses `[N]` of float32 logits `[N, V]` and int targets `[N]`."""
    return torch.nn.functional.cross_entropy(logits, targets.long(), reduction="none")


def keep_mask(shape, rate, seed):
    """Return which elements dropout keeps, each drawn from 16 bits: one draw of the generator serves four.

    Args:
        shape: tuple of int.
        rate: float in (0, 1), share of what is dropped, rounded to a multiple of 2**-16.
        seed: int `[2]`.

    Returns:
        bool tensor of that shape.
    """
    first, second = (int(number) for number in seed)
    # The generator takes 32 bits. Numbers that differ have products by these odd ones that differ in most of them.
    generator = torch.Generator().manual_seed((first * 0x9E3779B1 ^ second * 0x85EBCA6B) % 2**32)
    size = torch.Size(shape).numel()
    words = torch.empty((size + 3) // 4, dtype=torch.int64).random_(-(2**63), None, generator=generator)
    return words.view(torch.int16)[:size].reshape(shape) >= round(rate * 2**16) - 2**15
