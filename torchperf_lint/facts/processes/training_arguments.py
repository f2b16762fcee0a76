"""The classes that hold the settings of a Hugging Face trainer, by their public names."""

from __future__ import annotations

_TRL = tuple(f"{name}Config" for name in ("SFT", "DPO", "KTO", "ORPO", "CPO", "Reward", "PRM", "BCO"))
_TRL_ONLINE = tuple(f"{name}Config" for name in ("GRPO", "RLOO", "PPO", "OnlineDPO", "NashMD", "XPO", "GKD"))

ONLINE = frozenset(f"trl.{part}{name}" for part in ("", "trainer.", "experimental.") for name in _TRL_ONLINE)
"""Trainers that generate text in every step, which takes seconds."""
ARGUMENTS = (
    "transformers.TrainingArguments",
    "transformers.training_args.TrainingArguments",
    "transformers.Seq2SeqTrainingArguments",
    "transformers.training_args_seq2seq.Seq2SeqTrainingArguments",
    "sentence_transformers.SentenceTransformerTrainingArguments",
    "sentence_transformers.training_args.SentenceTransformerTrainingArguments",
    "unsloth.UnslothTrainingArguments",
    *(f"trl.{part}{name}" for part in ("", "trainer.") for name in _TRL),
    *sorted(ONLINE),
)
TRAINERS = (
    "transformers.Trainer",
    "transformers.trainer.Trainer",
    "transformers.Seq2SeqTrainer",
    "transformers.trainer_seq2seq.Seq2SeqTrainer",
    "sentence_transformers.SentenceTransformerTrainer",
)
