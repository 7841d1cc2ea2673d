"""Which layers of a model are frozen, through save and load: Keras keeps the flag of the whole model only."""


def frozen_layers(model):
    """Return the places of the layers that are not trained, in the order in which Keras goes through them."""
    return [place for place, layer in enumerate(_layers(model)) if not layer.trainable]


def freeze_layers(model, places):
    """Freeze the layers at the places that `frozen_layers` returned for a model of the same config, and return it."""
    layers = _layers(model)
    for place in places:
        layers[place].trainable = False
    return model


def _layers(model):
    return list(model._flatten_layers())
