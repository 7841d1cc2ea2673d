"""Which layers of a model are frozen, through save and load: Keras keeps the flag of the whole model only."""


def frozen_layers(model):
    """Return the places of the layers that are not trained, in the order in which Keras goes through them."""
    return [place for place, layer in enumerate(_layers(model)) if not layer.trainable]


def freeze_layers(model, places):
    """Freeze just the layers at the places that `frozen_layers` returned for a model of the same config; return it.

    Inner layers come after the one that holds them, so that what was thawed inside of a frozen one is again.
    """
    for place, layer in enumerate(_layers(model)):
        if layer.trainable != (place not in places):
            layer.trainable = place not in places
    return model


def _layers(model):
    return list(model._flatten_layers())
