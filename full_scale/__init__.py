"""The pipeline that trains Hugging Face models with these losses; each stage has a folder."""
