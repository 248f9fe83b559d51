"""fastmcp's own models of the tasks extension, as judges of what this server sends.

fastmcp pins another version of the SDK, so it lives in an environment beside the project's. Its models need nothing of
that version: their file is loaded alone, without the package around it.
"""

import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from .judges import Judge

_MODULE: Final = "fastmcp_tasks_client_models"
_FILE: Final = "lib/python*/site-packages/fastmcp_tasks/client_models.py"


def judge_of(environment: Path) -> Judge:
    """The judge, from a virtual environment that holds `fastmcp-tasks`.

    Raises:
        FileNotFoundError: it holds none.
    """
    file = next(environment.glob(_FILE), None)
    if file is None:
        raise FileNotFoundError(f"{environment} holds no {_FILE}")
    models = _load(file)

    def judge(what: str, result: Mapping[str, Any]) -> None:
        model = {"task": models.ClientCreateTaskResult, "tasks/get": models.ClientGetTaskResult}.get(what)
        if model is not None:
            model.model_validate_json(json.dumps(result), strict=True, by_name=False)

    return judge


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(_MODULE, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module  # its models look each other up there
    spec.loader.exec_module(module)
    return module
