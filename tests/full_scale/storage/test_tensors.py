import pytest
import torch
from safetensors import SafetensorError

from dph_theory.support.errors import RefusedError
from full_scale.storage import tensors as storage


def test_tensors_and_metadata_come_back_bit_for_bit(tmp_path):
    shared = torch.arange(12).reshape(3, 4)
    tensors = {"whole": shared, "view": shared[1:], "scalar": torch.tensor(2.5), "half": torch.ones(2).half()}
    storage.write_tensors(tmp_path / "a.safetensors", tensors, {"step": "3"})
    found, metadata = storage.read_tensors(tmp_path / "a.safetensors")
    assert metadata == {"step": "3"}
    assert found.keys() == tensors.keys()
    for name, value in tensors.items():
        assert found[name].dtype == value.dtype
        assert torch.equal(found[name], value)


FULL = "No space left on device"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        # torch and safetensors do not say that the disk is full, nor does a full disk say where.
        (RuntimeError("unexpected pos 64 vs 0"),
         r"{here}: writing failed with [0-9,]+ bytes free \(unexpected"),
        (SafetensorError("some"), r"{here}: writing failed with [0-9,]+ bytes free \(some"),
        (OSError(28, FULL), FULL + ": '{here}'"),
        (OSError(28, FULL, "other"), FULL + ": 'other'"),
        (ZeroDivisionError("none"), "^none"),
    ],
)  # fmt: skip
def test_what_could_not_be_written_is_told_with_the_place_and_the_space_left(tmp_path, error, said):
    kind = ZeroDivisionError if isinstance(error, ZeroDivisionError) else OSError
    with pytest.raises(kind, match=said.replace("{here}", str(tmp_path))), storage.storing(tmp_path):
        raise error


def test_missing_and_damaged_files_are_named(tmp_path):
    with pytest.raises(RefusedError, match=r"no gone\.safetensors in .*: remove"):
        storage.read_tensors(tmp_path / "gone.safetensors")
    path = tmp_path / "a.safetensors"
    storage.write_tensors(path, {"x": torch.ones(300)})
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(RefusedError, match=r"is damaged .*: remove"):
        storage.read_tensors(path)


def test_hashes_tell_names_contents_and_shapes_apart(tmp_path):
    for name, text in (("a", "1"), ("b", "1"), ("c", "2")):
        (tmp_path / name).write_text(text)
    singles = [storage.hash_files([tmp_path / name]) for name in "abc"]
    assert len(set(singles)) == 3
    both = [tmp_path / "a", tmp_path / "c"]
    assert storage.hash_files(both) == storage.hash_files(reversed(both))
    x = torch.arange(6)
    found = [(1, [x]), (2, [x]), (1, [x.int()]), (1, [x.reshape(2, 3)]), (1, [x + 1]), (1, [])]
    assert len({storage.hash_values(*each) for each in found}) == len(found)
    assert storage.hash_values({"b": 1, "a": 2}) == storage.hash_values({"a": 2, "b": 1})
