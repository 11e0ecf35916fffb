import subprocess
import sys

HEAVY = ("trl", "peft", "datasets", "pandas", "torch._dynamo")


def test_the_stages_import_no_trainer_before_one_is_asked_for():
    # Half of the seconds before a command did something were of these.
    code = f"import sys, full_scale.stages; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"
