"""Helpers of the Python API."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from geko import utils
from geko.errors import MissingFileError, ToolError

TASKS = """\
import os
import sys
from pathlib import Path

folder = Path(sys.argv[sys.argv.index("--build-dir") + 1])
client = folder / "tensilelite/client/tensilelite-client"
client.parent.mkdir(parents=True)
client.write_text(" ".join(sys.argv[1:]))
with open(os.environ["BUILD_LOG"], "a") as log:
    log.write("built\\n")
if os.environ.get("BUILD_FAILS"):
    sys.exit("no compiler")
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git checkout whose build is a stand-in for the package invoke."""
    packages = tmp_path / "packages/invoke"
    packages.mkdir(parents=True)
    (packages / "__init__.py").touch()
    (packages / "__main__.py").write_text(TASKS)
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    monkeypatch.setenv("BUILD_LOG", str(tmp_path / "log"))
    root = tmp_path / "hipblaslt"
    (root / "tensilelite").mkdir(parents=True)
    (root / "tensilelite/client.cpp").write_text("int main() {}\n")
    (root / "tensilelite/tasks.py").touch()
    _git(root, "init", "-q")
    _git(root, "add", ".")
    _git(root, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "one")
    return root


def _git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)


def builds(tmp_path: Path) -> int:
    log = tmp_path / "log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_client_is_built_once(checkout: Path, tmp_path: Path) -> None:
    first = utils.build_tensilelite_client(checkout, tmp_path / "build", "gfx942")
    assert first.read_text().startswith("build-client --build-dir")
    assert first.read_text().endswith("--gpu-targets gfx942")
    assert utils.build_tensilelite_client(checkout, tmp_path / "build", "gfx942") == first
    assert builds(tmp_path) == 1


def test_client_is_built_again_when_anything_changed(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(targets: str | None = "gfx942") -> int:
        utils.build_tensilelite_client(checkout, tmp_path / "build", targets)
        return builds(tmp_path)

    assert build() == 1
    assert build("gfx950") == 2
    source = checkout / "tensilelite/client.cpp"
    source.write_text("int main() { return 1; }\n")
    assert build("gfx950") == 3, "uncommitted changes count"
    source.write_text("int main() { return 2; }\n")
    assert build("gfx950") == 4, "and further ones, too"
    assert build("gfx950") == 4
    (checkout / "README").write_text("has nothing to do with it")
    assert build("gfx950") == 4
    rocm = tmp_path / "rocm/.info"
    rocm.mkdir(parents=True)
    (rocm / "version").write_text("7.0\n")
    monkeypatch.setenv("ROCM_PATH", str(rocm.parent))
    assert build("gfx950") == 5
    (rocm / "version").write_text("7.1\n")
    assert build("gfx950") == 6


def test_client_of_a_folder_that_is_no_checkout(checkout: Path, tmp_path: Path) -> None:
    import shutil

    shutil.rmtree(checkout / ".git")
    key = utils.client_key(checkout, None)
    assert utils.client_key(checkout, None) == key
    (checkout / "tensilelite/new.cpp").write_text("x")
    assert utils.client_key(checkout, None) != key


def test_a_failed_build_is_not_taken_for_a_client(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUILD_FAILS", "1")
    with pytest.raises(ToolError, match="no compiler"):
        utils.build_tensilelite_client(checkout, tmp_path / "build")
    monkeypatch.delenv("BUILD_FAILS")
    utils.build_tensilelite_client(checkout, tmp_path / "build")
    assert builds(tmp_path) == 2


def test_a_folder_with_other_things_is_not_emptied(checkout: Path, tmp_path: Path) -> None:
    precious = tmp_path / "home/thesis.txt"
    precious.parent.mkdir()
    precious.write_text("x")
    with pytest.raises(ToolError, match="something else"):
        utils.build_tensilelite_client(checkout, precious.parent)
    assert precious.exists()
    with pytest.raises(MissingFileError, match="tensilelite"):
        utils.build_tensilelite_client(tmp_path / "home", tmp_path / "b")


def test_silent_commands(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = "import os; print(os.getcwd()); open('made', 'w').write(os.environ['X'])"
    utils.run_silent_command([sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "X": "y"})
    assert (tmp_path / "made").read_text() == "y"
    assert capfd.readouterr() == ("", "")
    with pytest.raises(ValueError, match=r"exit status 3:\nbad things"):
        utils.run_silent_command(["/bin/sh", "-c", "echo out; echo bad things >&2; exit 3"])
    with pytest.raises(ToolError, match="can't be started: No such file"):
        utils.run_silent_command(["/no/such/program"])


def test_sha256_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert utils.sha256_of_file(tmp_path / "abc") == expected
    with pytest.raises(MissingFileError):
        utils.sha256_of_file(tmp_path / "none")


def test_names_with_a_time(tmp_path: Path) -> None:
    now = datetime(2026, 1, 31, 23, 59, 58, 123, UTC)
    assert utils.timestamp(now) == "20260131_235958_000123"
    assert utils.utc_timestamp(now) == "2026-01-31T23:59:58.000123+00:00"
    first = utils.workdir_name(tmp_path, now)
    assert first == tmp_path / "geko_20260131_235958_000123"
    first.mkdir()
    assert utils.workdir_name(tmp_path, now).name == "geko_20260131_235958_000123_1"


def test_devices_are_parsed_here_too() -> None:
    assert utils.parse_devices("0,2") == [0, 2]
