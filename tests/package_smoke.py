"""First steps of a new user in an environment with only the installed package."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx

import smidgen

SMIDGEN = str(Path(sys.executable).with_name("smidgen"))


def main() -> None:
    learner = smidgen.recommended(loop="label", feedback="bit", dim=2, labels=["spam", "ham"])
    decision = learner.decide([1.0, 0.0])
    learner.learn(decision, decision.action == "spam")

    assert subprocess.check_output([SMIDGEN, "--version"], text=True).split() == ["smidgen", smidgen.__version__]
    assert importlib.util.find_spec("smidgen_papers") is None, "the wheel carries the product only"
    assert "Confidit" in subprocess.check_output([SMIDGEN, "learners", "--json"], text=True)
    subprocess.run([SMIDGEN, "doctor", "--port", "0"], check=True, stdout=subprocess.DEVNULL)

    with tempfile.TemporaryDirectory() as folder:
        command = [SMIDGEN, "serve", "--port", "0", "--data", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
            try:
                assert service.stdout is not None
                address = service.stdout.readline().split()[3]
                for demo in ("search", "drafts"):
                    assert httpx.get(f"{address}demo/{demo}").status_code == 200
                with smidgen.Client(address) as client:
                    banner = client.create("banner", loop="choose", feedback="reward")
                    shown = banner.decide({"red": {"size": 3}, "blue": {"size": 1}}, context={"device": "ios"})
                    assert shown.choice in ("red", "blue")
                    assert banner.learn(shown, reward=1.0).status == "learnt"
                    assert any(each["name"] == f"id={shown.choice}" for each in banner.weights())
            finally:
                service.terminate()
                service.wait(30)


if __name__ == "__main__":  # not when the tests are collected
    main()
