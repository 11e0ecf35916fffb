"""The trained model as a Hugging Face folder, whatever the training was spread over."""

import shutil
from pathlib import Path

from transformers import Trainer

from ..storage.tensors import storing


def export(trainer: Trainer, folder: Path) -> None:
    """Store the model with its tokenizer (an adapter alone, with LoRA), whole or not at all.

    Every process calls it: sharded weights are gathered. OSError with the space left where writing fails.
    """
    part = folder.with_name(f"{folder.name}.part")
    if trainer.accelerator.is_main_process:
        shutil.rmtree(part, ignore_errors=True)
    trainer.accelerator.wait_for_everyone()
    with storing(folder.parent):
        if trainer.is_fsdp_enabled:
            # Trainer.save_model writes nothing, and says nothing, under SHARDED_STATE_DICT.
            trainer._save(str(part), state_dict=trainer.accelerator.get_state_dict(trainer.model))
        else:
            trainer.save_model(str(part))
    trainer.accelerator.wait_for_everyone()
    if trainer.accelerator.is_main_process:
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
