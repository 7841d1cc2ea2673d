"""Scripts that train: prepare.py makes shards out of text, pretrain.py trains on them."""
