"""The shape of the code: who may import whom, how large a file gets, what a public name must have."""

import ast
import os
import pathlib
import subprocess
import sys

import keras
import pytest
from conftest import once

import kbert

pytestmark = once

ROOT = pathlib.Path(__file__).parent.parent
FILES = sorted(path for folder in ("kbert", "demo", "training") for path in (ROOT / folder).rglob("*.py"))
MAX_FILE_LINES, MAX_FUNCTION_LINES = 350, 60

# Each part may import the ones named, of the project's own. `kbert` itself is the lazy front door.
MAY_IMPORT = {
    "kbert.config": set(),
    "kbert.text": set(),
    "kbert.tensorflow_kernels": set(),
    "kbert.torch_kernels": set(),
    "kbert.optimization": {"kbert.tensorflow_kernels", "kbert.torch_kernels"},
    "kbert.layerwise": {"kbert.optimization"},
    "kbert.tasks": {"kbert.text"},
    "kbert.layers": {"kbert.config", "kbert.tensorflow_kernels", "kbert.torch_kernels"},
    "kbert.models": {"kbert.config", "kbert.layers", "kbert.tensorflow_kernels", "kbert.torch_kernels"},
    "kbert.convert": {"kbert.config", "kbert.models", "kbert.text"},
    "kbert.inference": {"kbert.config", "kbert.models", "kbert.text", "kbert.convert", "kbert.tasks"},
    "kbert.data": {"kbert.text"},
    "kbert.serving": set(),
    "kbert.export": {
        "kbert.text", "kbert.models", "kbert.convert", "kbert.inference", "kbert.data", "kbert.serving",
        "kbert.tasks",
    },
    "kbert.quiet_start": set(),
    "kbert.cli": {
        "kbert.quiet_start", "kbert.cli_questions", "kbert.cli_fine_tuned", "kbert.cli_serving", "kbert.text",
        "kbert.models", "kbert.convert", "demo",
    },
    "kbert.cli_questions": {"kbert.quiet_start", "kbert.inference"},
    "kbert.cli_fine_tuned": {"kbert.quiet_start", "kbert.cli_questions", "kbert.inference"},
    "kbert.cli_serving": {"kbert.quiet_start", "kbert.export", "kbert.serving"},
    "kbert.export_process": {"kbert.quiet_start", "kbert.export"},
    "kbert": set(),
    "demo": {"kbert", "kbert.text", "kbert.optimization", "kbert.inference", "kbert.convert", "kbert.serving"},
    "training": {
        "kbert", "kbert.config", "kbert.text", "kbert.models", "kbert.optimization", "kbert.convert",
        "kbert.inference", "kbert.data", "kbert.export", "kbert.serving", "kbert.quiet_start", "kbert.tasks",
        "kbert.layerwise",
    },
}  # fmt: skip
MAY_IMPORT_TENSORFLOW = {"kbert.data", "kbert.export", "kbert.tensorflow_kernels", "training"}
READS_TF1_CHECKPOINTS = ROOT / "kbert" / "convert" / "google.py"
SPEAKS_GRPC = ROOT / "kbert" / "serving" / "grpc_client.py"
# One gives its child a backend, the other asks whether JAX is needed.
NAME_THE_BACKEND = {ROOT / "kbert" / "export" / "child.py", ROOT / "kbert" / "quiet_start.py"}


def part_of(module):
    names = module.split(".")
    return ".".join(names[:2]) if names[0] == "kbert" else names[0]


def module_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield node.module


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_imports_follow_the_arrows(path):
    here = part_of(module_of(path))
    imported = set(imports_of(path))
    ours = {part_of(name) for name in imported if name.split(".")[0] in ("kbert", "demo", "training")}
    assert ours - {here} <= MAY_IMPORT[here]
    if imported & {"tensorflow", "tensorflow_text"}:
        assert here in MAY_IMPORT_TENSORFLOW or path in (READS_TF1_CHECKPOINTS, SPEAKS_GRPC)
    if here in ("kbert.data", "kbert.text", "kbert.config", "kbert.tasks"):
        assert not any(name.split(".")[0] == "keras" for name in imported)


@pytest.mark.parametrize("path", [*FILES, *sorted((ROOT / "tests").glob("*.py"))], ids=module_of)
def test_files_and_functions_stay_small(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_FILE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            documented = bool(ast.get_docstring(node))
            first = node.body[1] if documented and len(node.body) > 1 else node.body[0]
            assert node.end_lineno - first.lineno < MAX_FUNCTION_LINES, node.name


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_scripts_start(path):
    text = path.read_text(encoding="utf-8")
    defines_main = any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in ast.parse(text).body)
    assert not defines_main or 'if __name__ == "__main__":' in text


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_public_names_are_documented_and_the_backend_is_never_chosen(path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a file needs a docstring"
    # What Keras and argparse call is documented by them.
    inherited = {
        "build", "call", "get_config", "from_config", "compute_output_shape", "compute_output_spec", "main",
        "compile_from_config", "get_compile_config", "get_metrics_result",
    }  # fmt: skip
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            assert ast.get_docstring(node), node.name
            for member in node.body if isinstance(node, ast.ClassDef) else ():
                public = isinstance(member, ast.FunctionDef) and not member.name.startswith(("_", "on_"))
                if public and member.name not in inherited:
                    assert ast.get_docstring(member), f"{node.name}.{member.name}"
    if path.relative_to(ROOT).parts[0] == "kbert" and path not in NAME_THE_BACKEND:
        assert "KERAS_BACKEND" not in text


def run(code, backend):
    environment = os.environ | {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    finished = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_keras_is_loaded_without_what_it_does_not_need_and_that_can_be_loaded_later():
    pytest.importorskip("sklearn")
    names = ("matplotlib", "pandas", "sklearn")
    code = f"""
import sys
from kbert.quiet_start import load_keras
load_keras()
import keras
print(*sorted({{*{names}, "jax", "tensorflow"}} & set(sys.modules)))
import {", ".join(name for name in names)}
print(keras.ops.convert_to_numpy(keras.ops.ones(2)).sum(), pandas.DataFrame([1]).size, sklearn.__name__)
"""
    backend = keras.backend.backend()
    loaded = backend if backend in ("jax", "tensorflow") else ""
    assert run(code, backend).splitlines() == [loaded, "2.0 1 sklearn"]


@once
@pytest.mark.parametrize(
    ("settings", "loaded"), [(None, "tensorflow"), ("{}", "tensorflow"), ('{"backend": "jax"}', "jax")]
)
def test_jax_is_loaded_where_keras_takes_it(tmp_path, settings, loaded):
    if settings:
        (tmp_path / "keras.json").write_text(settings)
    environment = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    code = """
import sys
from kbert.quiet_start import load_keras
load_keras()
print(*{"jax", "tensorflow"} & {*sys.modules})
"""
    finished = subprocess.run(
        [sys.executable, "-c", code], env=environment | {"KERAS_HOME": str(tmp_path)}, capture_output=True, text=True
    )
    assert finished.stdout.split() == [loaded], finished.stderr


def test_importing_kbert_loads_nothing_and_prints_nothing():
    code = """
import sys, kbert
loaded = {"keras", "tensorflow", "jax", "torch", "numpy", "tokenizers"} & set(sys.modules)
sys.exit(f"loaded {loaded}" if loaded else 0)
"""
    assert run(code, "jax") == ""


def test_every_public_name_is_there():
    assert all(getattr(kbert, name) is not None for name in kbert.__all__)
    assert set(dir(kbert)) == set(kbert.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Bert'"):
        kbert.Bert  # noqa: B018


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_everything_but_the_data_pipeline_works_without_tensorflow(backend, tmp_path):
    if keras.backend.backend() not in (backend, "tensorflow"):
        pytest.skip(f"the run on {backend} has it")
    code = f"""
import sys
sys.modules["tensorflow"] = None
import keras, numpy as np
from kbert import BertBackbone, BertConfig, BertPretrainer, FillMask, SentencePair, WordPieceTokenizer
from kbert import load, save_checkpoint
from kbert.optimization import BertAdamW
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"]
model = BertPretrainer(BertBackbone(BertConfig.named("1x64", vocabulary_size=len(tokens))))
model.compile(BertAdamW(1e-3))
ones = np.ones((4, 6), "int32")
inputs = dict(token_ids=ones, segment_ids=0 * ones, padding_mask=ones, mask_positions=ones[:, :2])
targets = dict(mlm=ones[:, :2], nsp=ones[:, 0])
weights = dict(mlm=np.ones((4, 2), "float32"), nsp=np.ones(4, "float32"))
model.fit(inputs, targets, sample_weight=weights, epochs=2, verbose=0)
model.save(r"{tmp_path}/model.keras")
again = keras.models.load_model(r"{tmp_path}/model.keras")
save_checkpoint(again, WordPieceTokenizer(tokens), r"{tmp_path}/bert")
checkpoint = load(r"{tmp_path}/bert")
first, last = (keras.ops.convert_to_numpy(m(inputs, training=False)["mlm"]) for m in (model, checkpoint.model))
assert abs(first - last).max() < 1e-5
print(FillMask(checkpoint)("a [MASK] c", top_k=1)[0].candidates[0].word in tokens)
print(0 < SentencePair(checkpoint)("a b", "c").follows < 1)
"""
    assert run(code, backend).split() == ["True", "True"]
