"""kbert extend, and the slots that kbert vocab keeps free for it."""

from kbert import BertBackbone, BertConfig, BertPretrainer, WordPieceTokenizer, load, save_checkpoint
from kbert.cli import main
from kbert.text.vocabulary import SPECIAL_TOKENS


def test_extend_writes_a_checkpoint_with_the_words_of_the_corpus(tmp_path, capsys):
    vocabulary = ["[PAD]", "[unused0]", *SPECIAL_TOKENS[1:], "the", "sten", "##t", "."]
    config = BertConfig(
        vocabulary_size=len(vocabulary), num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=12,
        max_sequence_length=16,
    )  # fmt: skip
    save_checkpoint(BertPretrainer(BertBackbone(config)), WordPieceTokenizer(vocabulary), tmp_path / "base")
    (tmp_path / "corpus.txt").write_text("The stent. The aorta, the aorta.\n\nStent, the vein. The stent.\n")
    arguments = ["extend", str(tmp_path / "base"), str(tmp_path / "corpus.txt"), "--max-words", "2"]
    assert main([*arguments, "--output", str(tmp_path / "longer")]) == 0
    longer = load(tmp_path / "longer")
    assert longer.tokenizer.vocabulary == ["[PAD]", "stent", *vocabulary[2:], ","]
    assert longer.model.backbone.config.vocabulary_size == len(vocabulary) + 1
    assert "2 words added, 11 tokens" in capsys.readouterr().out


def test_vocab_keeps_slots_free_and_leaves_rare_pieces_out(tmp_path):
    (tmp_path / "corpus.txt").write_text("the stent the stent the vein\n")
    arguments = ["vocab", str(tmp_path / "corpus.txt"), "--output", str(tmp_path / "vocab.txt"), "--size", "60"]
    assert main([*arguments, "--reserved", "3", "--min-frequency", "2"]) == 0
    tokens = (tmp_path / "vocab.txt").read_text().split()
    assert tokens[:8] == [*SPECIAL_TOKENS, "[unused0]", "[unused1]", "[unused2]"]
    assert "stent" in tokens and "vein" not in tokens
