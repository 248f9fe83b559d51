"""The deployment: only once it is approved, and over only when every replica runs the new version."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

APPROVED = {"approve": {"action": "accept", "content": {"approved": True}}}


class Shop:
    """An API server with one Deployment, whose rollout goes on by a step with each look."""

    def __init__(self) -> None:
        self.labels = {"app": "shop", "version": "1.0"}
        self.generation = 1
        self.looks = 0
        self.refuses = False

    def deployment(self) -> dict[str, Any]:
        """As it is shown now."""
        done = max(0, self.looks - 3) if self.generation > 1 else 2
        return {
            "metadata": {"generation": self.generation},
            "spec": {"replicas": 2, "template": {"metadata": {"labels": self.labels}}},
            "status": {
                "observedGeneration": 1 if self.looks < 3 else self.generation,
                "replicas": 2 if done >= 3 else 3,
                "updatedReplicas": min(2, done),
                "availableReplicas": 2,
            },
        }


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def url(shop: Shop) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shop.looks += 1
            self.answer(shop.deployment())

        def do_PATCH(self) -> None:
            patch = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if shop.refuses:
                self.answer({"message": 'deployments.apps "shop" is forbidden'}, status=403)
                return
            shop.labels, shop.generation = patch["spec"]["template"]["metadata"]["labels"], 2
            self.answer(shop.deployment())

        def answer(self, document: Any, *, status: int = 200) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def deploy(run: Any, url: str, tmp_path: Path, answers: Any) -> Any:
    (tmp_path / "arguments.json").write_text('{"version": "1.2"}')
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    files = {f"MCPTASK_{name.upper()}": str(tmp_path / f"{name}.json") for name in ("arguments", "answers")}
    return run("deploy_shop.py", environment={**files, "SHOP_API_SERVER": url})


def test_it_is_over_when_all_replicas_run_the_version(run: Any, shop: Shop, url: str, tmp_path: Path) -> None:
    ended = deploy(run, url, tmp_path, APPROVED)

    result = json.loads(ended.result)
    assert ended.code == 0
    assert (result["version"], result["previous"], result["replicas"]) == ("1.2", "1.0", 2)
    assert shop.labels == {"app": "shop", "version": "1.2"}
    assert shop.looks == 6


@pytest.mark.parametrize(("note", "words"), [({}, "the box was not ticked"), ({"note": "later"}, "later")])
def test_a_box_that_is_not_ticked_deploys_nothing(
    run: Any, shop: Shop, tmp_path: Path, note: dict[str, str], words: str
) -> None:
    answer = {"action": "accept", "content": {"approved": False, **note}}

    ended = deploy(run, "http://127.0.0.1:1", tmp_path, {"approve": answer})
    assert (ended.code, ended.result) == (1, f"not approved: {words}")
    assert shop.labels["version"] == "1.0"


def test_what_the_api_server_refuses_is_told(run: Any, shop: Shop, url: str, tmp_path: Path) -> None:
    shop.refuses = True

    ended = deploy(run, url, tmp_path, APPROVED)
    assert (ended.code, ended.result) == (1, 'the API server refuses: deployments.apps "shop" is forbidden')
