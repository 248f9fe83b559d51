"""The main job, from nothing: a cluster, the images, `helm install`, four real tools, and calls that are watched.

    python examples/demo.py [--cluster NAME] [--namespace NAMESPACE]

Every command is shown as it would be typed. It may be run again and again; the exit code is not 0 if anything is not as
it should be.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
TOOLS: Final = ("run-tests", "summarize-table", "train-classifier", "deploy-shop")
RELEASE: Final = "mcptasks"
DEVCLUSTER: Final = (sys.executable, "-m", "mcptasks_devcluster")
MCPTASKS: Final = (sys.executable, "-m", "mcptasks.cli")
RUNNING: Final = re.compile(r"(mt-[a-z2-7]+) working: running")
"""What the command line says when the tool's container runs."""
ASKED: Final = re.compile(r"(mt-[a-z2-7]+) input_required")
"""What it says when the task waits for an answer."""
EPOCH: Final = re.compile(r"epoch (\d+): loss")
APPROVER: Final = "kubectl --as ben --as-group shop-approvers"
"""What a member of that group would type as `kubectl`."""
STARTED_SECONDS: Final = 180.0
"""How long a task may take until its container runs; the first one may wait for a busy machine."""


class DemoError(Exception):
    """Something is not as it should be."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Where the demo runs."""

    kubectl: str
    helm: str
    kubeconfig: str
    namespace: str

    def get(self, *arguments: str) -> Any:
        """What `kubectl get` finds, as JSON, without showing it."""
        command = [self.kubectl, "get", "--namespace", self.namespace, *arguments, "--output", "json"]
        return json.loads(_output(command, KUBECONFIG=self.kubeconfig))

    def show(self, *arguments: str) -> None:
        """Run kubectl, command and output shown."""
        _run([self.kubectl, *arguments], shown=["kubectl", *arguments], KUBECONFIG=self.kubeconfig)


@dataclass(frozen=True, kw_only=True)
class Call:
    """How a call by the command line ended."""

    code: int
    out: str
    status: str
    """What it said while it waited."""


WHAT_IS_LEFT: Final = """\
The cluster is still there, with the release in the namespace {cluster.namespace}. To go on with it:

  export KUBECONFIG={cluster.kubeconfig}
  export PATH={programs}:$PWD/.venv/bin:$PATH        # kubectl and mcptasks; helm is {cluster.helm}
  kubectl port-forward --namespace {cluster.namespace} service/mcptasks-server 8080:mcp &
  mcptasks call summarize-table --argument group_by=status

  make cluster-down CLUSTER={name}                   # removes it"""


def main() -> None:
    """Run the demo."""
    options = _options()
    started = time.monotonic()
    try:
        cluster = install(options)
        offer_tools(cluster, image=options.image)
        with forwarded(cluster) as url:
            os.environ |= {"MCPTASKS_SERVER": url, "KUBECONFIG": cluster.kubeconfig}
            os.environ["PATH"] = os.pathsep.join((str(Path(cluster.kubectl).parent), os.environ["PATH"]))
            call_tools(cluster)
            train(cluster)
            deploy(cluster)
            show_what_is_left(cluster)
    except DemoError as error:
        sys.exit(f"demo: {error}")
    say(f"\nAll as it should be, in {time.monotonic() - started:.0f} s.")
    say(WHAT_IS_LEFT.format(cluster=cluster, name=options.cluster, programs=Path(cluster.kubectl).parent))


def install(options: argparse.Namespace) -> Cluster:
    """A cluster with the images and the release."""
    heading("A cluster")
    up = ["up", "--name", options.cluster]
    kubeconfig = _output([*DEVCLUSTER, *up], echo=f"python -m mcptasks_devcluster {shlex.join(up)}")
    programs = {name: _output([*DEVCLUSTER, "bin", name, "--name", options.cluster]) for name in ("kubectl", "helm")}
    cluster = Cluster(**programs, kubeconfig=kubeconfig, namespace=options.namespace)
    cluster.show("get", "nodes")

    heading("The images, from the Dockerfile: the product, and the example tools on top of it")
    digest = load_images(options)

    heading("helm install")
    values = [f"image.tag={options.tag}", *options.set]
    arguments = ["upgrade", "--install", RELEASE, "charts/mcptasks", "--namespace", options.namespace]
    arguments += ["--create-namespace", "--wait", "--timeout", "5m"]
    arguments += [part for value in values for part in ("--set", value)]
    # A new image under the old tag must reach the pods: what they are made of stands in their template.
    arguments += ["--set-string", f"podAnnotations.image-archive={digest}"]
    _run([cluster.helm, *arguments], shown=["helm", *arguments], quiet=True, KUBECONFIG=kubeconfig)
    cluster.show("get", "pods", "--namespace", options.namespace, "--selector", f"app.kubernetes.io/instance={RELEASE}")
    return cluster


def load_images(options: argparse.Namespace) -> str:
    """Build both images and put them onto the node; what tells this product's image from another."""
    digests: list[str] = []
    for target in ("runtime", "examples"):
        command = ["image", "--target", target, "--tag", options.tag]
        archive = _output([*DEVCLUSTER, *command], echo=f"python -m mcptasks_devcluster {shlex.join(command)}")
        load = [*DEVCLUSTER, "load", archive, "--name", options.cluster]
        _run(load, shown=["python", "-m", "mcptasks_devcluster", *load[len(DEVCLUSTER) :]])
        with Path(archive).open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest()[:16])
    return digests[0]


def offer_tools(cluster: Cluster, *, image: str) -> None:
    """Apply the tools, and the shop that one of them deploys, and wait until they can be called."""
    heading("Four tools, each a YAML file, and a shop that one of them deploys")
    for file in ("examples/shop.yaml", *(f"examples/tools/{tool}.yaml" for tool in TOOLS)):
        manifest = (ROOT / file).read_text("utf-8").replace("image: mcptasks-examples:dev", f"image: {image}")
        _run(
            [cluster.kubectl, "apply", "--namespace", cluster.namespace, "--filename", "-"],
            shown=["kubectl", "apply", "--namespace", cluster.namespace, "--filename", file],
            given=manifest,
            KUBECONFIG=cluster.kubeconfig,
        )
    cluster.show("rollout", "status", "deployment/shop", "--namespace", cluster.namespace, "--timeout=120s")
    names = [f"mcptool/{tool}" for tool in TOOLS]
    cluster.show("wait", "--namespace", cluster.namespace, "--for=condition=Ready", "--timeout=60s", *names)
    cluster.show("get", "mcptools", "--namespace", cluster.namespace)


def call_tools(cluster: Cluster) -> None:
    """The calls: one that passes, one that is a tool error, one with a large table, one that is cancelled half-way."""
    heading("An MCP client sees the tools")
    say(f"$ export MCPTASKS_SERVER={os.environ['MCPTASKS_SERVER']}")
    expect(mcptasks("tools").code == 0, "the tools are listed")

    heading("run-tests: this project's own unit tests, in a pod")
    passed = watched(cluster, "call", "run-tests", "--argument", "selection=tests/unit/crds")
    expect(passed.code == 0, "the unit tests pass in the pod, and the exit code is 0")
    expect(json.loads(passed.out)["passed"] > 100, "there are more than a hundred of them")

    heading("run-tests again, with a selection in which a test fails: a tool error")
    failed = watched(cluster, "call", "run-tests", "--argument", "selection=examples/failing", "--output", "json")
    result = json.loads(failed.out)["result"]
    expect(failed.code == 1 and result["isError"] is True, "the result says isError, and the exit code is 1")
    expect("one parcel is missing" in result["content"][0]["text"], "it names what failed")

    heading("summarize-table: more than 100 MB in, a structured summary out")
    summary = watched(cluster, "call", "summarize-table", "--argument", "group_by=category", "--argument", "top:=3")
    expect(summary.code == 0, "the exit code is 0")
    found = json.loads(summary.out)
    expect(found["rows"] == 1_400_000 and found["bytes"] > 100_000_000, "all rows of more than 100 MB were read")
    expect(found["groups"][0]["value"] == "books", "the greatest group comes first")

    heading("summarize-table with a much larger table, cancelled half-way")
    handed_out = mcptasks("call", "summarize-table", "--argument", "rows:=6000000", "--no-wait")
    expect(handed_out.code == 0, "the task's id is there at once")
    task = handed_out.out.strip()
    running(cluster, task)
    cluster.show("get", "mcptask", task, "--namespace", cluster.namespace)
    expect(mcptasks("cancel", task, "--wait").code == 0, "it is cancelled, and its pod is gone")
    expect(mcptasks("get", task).code == 0, "it is still there to be seen")
    expect(mcptasks("result", task).code == 3, "it has no result: exit code 3")
    phase = cluster.get("mcptask", task)["status"]["phase"]
    expect(phase == "Cancelled", "kubectl says of it what the client says")


def train(cluster: Cluster) -> None:
    """A run that tells each epoch while it goes on."""
    heading("train-classifier: a training run with live progress")
    # Long enough, on a fast machine too, for a client that looks each second to see epochs go by.
    trained = watched(cluster, "call", "train-classifier", "--argument", "epochs:=400", "--output", "json")
    result = json.loads(trained.out)["result"]
    expect(
        trained.code == 0 and result["structuredContent"]["accuracy"] > 0.9, "it has learnt to tell the points apart"
    )
    kinds = [part["type"] for part in result["content"]]
    expect(kinds == ["text", "image"], "the result has the figures, and the learning curve as a picture")
    epochs = [int(number) for number in EPOCH.findall(trained.status)]
    expect(len(set(epochs)) > 2 and epochs == sorted(epochs), f"the client saw {len(set(epochs))} epochs go by")


def deploy(cluster: Cluster) -> None:
    """A deployment that waits until it is approved: by its client, then by people with kubectl."""
    shop = ("call", "deploy-shop", "--argument")
    heading("deploy-shop: it waits for an approval, which its caller brings along")
    by_the_caller = mcptasks(*shop, "version=1.1", "--answer", "approve.approved=yes")
    expect(by_the_caller.code == 0, "it is approved, and deployed")
    expect(deployed_version(cluster) == "1.1", "the shop runs the version 1.1")

    heading("deploy-shop again: its caller leaves the answer to others, and kubectl gives it")
    asked: list[str] = []

    def approve_it(task: str) -> None:
        asked.append(task)
        approve(cluster, task)

    by_kubectl = mcptasks(*shop, "version=1.2", "--leave-questions", when_asked=approve_it)
    expect(by_kubectl.code == 0 and json.loads(by_kubectl.out)["previous"] == "1.1", "it is approved, and deployed")
    record = cluster.get("mcptask", asked[0])["status"]["answers"]["approve"]
    expect((record["by"], record["road"]) == ("anna", "approver"), "it is on record that anna has approved it")
    expect(record["verified"] is True, "and the API server has made sure of that")
    expect(deployed_version(cluster) == "1.2", "the shop runs the version 1.2")

    heading("deploy-shop a third time: an approver declines it, by the command line")
    declined = mcptasks(*shop, "version=1.3", "--leave-questions", when_asked=lambda task: decline(cluster, task))
    expect(declined.code == 1 and "declined by ben: not on a Friday" in declined.out, "nothing was deployed, and why")
    expect(deployed_version(cluster) == "1.2", "the shop still runs the version 1.2")


def decline(cluster: Cluster, task: str) -> None:
    """Decline as an approver, who needs no MCP client."""
    approver = ("--approver", "--namespace", cluster.namespace, "--kubectl", APPROVER)
    expect(mcptasks("questions", task, *approver).code == 0, "what is asked, whom, and until when, can be seen")
    answered = mcptasks("answer", task, *approver, "approve", "--decline", "--reason", "not on a Friday")
    expect(answered.code == 0, "ben has declined it")


def approve(cluster: Cluster, task: str) -> None:
    """Answer the question with kubectl; no pod of the task is there before."""
    pods = cluster.get("pods", "--selector", f"mcptasks.dev/task={task}")["items"]
    expect(pods == [], "while it waits, no pod of it is there")
    cluster.show("get", "mcptask", task, "--namespace", cluster.namespace)
    answer = {"action": "accept", "content": {"approved": True}}
    patch = {"spec": {"answers": {"approve": {"response": json.dumps(answer), "by": "anna"}}}}
    words = [
        "patch",
        "mcptask",
        task,
        "--namespace",
        cluster.namespace,
        "--type",
        "merge",
        "--patch",
        json.dumps(patch),
    ]
    cluster.show(*words, "--as", "anna", "--as-group", "shop-approvers")


def deployed_version(cluster: Cluster) -> str:
    """The shop's version, by the Deployment itself."""
    labels: dict[str, str] = cluster.get("deployment", "shop")["spec"]["template"]["metadata"]["labels"]
    return labels["version"]


def show_what_is_left(cluster: Cluster) -> None:
    """What kubectl sees at the end."""
    heading("What is left to be seen")
    cluster.show("get", "mcptasks", "--namespace", cluster.namespace)
    cluster.show("get", "jobs", "--namespace", cluster.namespace)


def watched(cluster: Cluster, *arguments: str) -> Call:
    """Run the command line, and show what kubectl sees while the task runs."""
    return mcptasks(
        *arguments,
        while_running=lambda task: cluster.show("get", "mcptasks", task, "--namespace", cluster.namespace),
    )


def running(cluster: Cluster, task: str) -> None:
    """Wait until the tool itself runs."""
    deadline = time.monotonic() + STARTED_SECONDS
    while (phase := cluster.get("mcptask", task).get("status", {}).get("phase")) != "Running":
        if phase not in {None, "Pending"} or time.monotonic() > deadline:
            raise DemoError(f"{task} does not run: its phase is {phase}")
        time.sleep(0.5)


@contextmanager
def forwarded(cluster: Cluster) -> Iterator[str]:
    """The server's URL on a loopback port, as long as the context is open."""
    heading("The way to the server")
    arguments = ["port-forward", "--namespace", cluster.namespace, f"service/{RELEASE}-server", ":mcp"]
    say(f"$ kubectl {shlex.join(arguments)}")
    process = subprocess.Popen(
        [cluster.kubectl, *arguments],
        env={**os.environ, "KUBECONFIG": cluster.kubeconfig},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        port = re.match(r"Forwarding from 127\.0\.0\.1:(\d+)", line)
        if port is None:
            raise DemoError("the server cannot be reached through kubectl port-forward")
        say(line.rstrip())
        # What it prints for each connection is of no use, but must be read.
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield f"http://127.0.0.1:{port[1]}/mcp"
    finally:
        process.terminate()
        process.wait()


def mcptasks(
    *arguments: str,
    while_running: Callable[[str], None] | None = None,
    when_asked: Callable[[str], None] | None = None,
) -> Call:
    """Run the command line: its status lines are shown as they come, its result after them."""
    say(f"$ mcptasks {shlex.join(arguments)}")
    moment, then = (RUNNING, while_running) if when_asked is None else (ASKED, when_asked)
    return _call([*MCPTASKS, *arguments], moment, then)


def _call(command: Sequence[str], moment: re.Pattern[str], then: Callable[[str], None] | None) -> Call:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    out: list[str] = []
    reader = threading.Thread(target=lambda stream: out.append(stream.read()), args=[process.stdout])
    reader.start()
    status = _show_status(process.stderr, moment, then)
    reader.join()
    code = process.wait()
    say(out[0].rstrip())
    return Call(code=code, out=out[0], status=status)


def _show_status(lines: IO[str], moment: re.Pattern[str], then: Callable[[str], None] | None) -> str:
    """Show the lines as they come; at the first that tells of the moment, do something with the task's id."""
    shown: list[str] = []
    for line in lines:
        say(line.rstrip())
        shown.append(line)
        if then is not None and (task := moment.search(line)):
            then(task[1])
            then = None
    return "".join(shown)


def expect(fact: bool, words: str) -> None:
    """Say what is so, or end the demo."""
    if not fact:
        raise DemoError(f"this is not so: {words}")
    say(f"--> {words}")


def heading(text: str) -> None:
    """Begin a part."""
    say(f"\n=== {text}")


def say(text: str) -> None:
    """Show text, at once."""
    if text:
        print(text, flush=True)


def _run(
    command: Sequence[str], *, shown: Sequence[str], quiet: bool = False, given: str | None = None, **environment: str
) -> None:
    say(f"$ {shlex.join(shown)}")
    ended = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        input=given,
        stdout=subprocess.PIPE if quiet else None,
        text=True,
        check=False,
    )
    if ended.returncode != 0:
        raise DemoError(f"{shown[0]} failed with exit code {ended.returncode}")


def _output(command: Sequence[str], *, echo: str | None = None, **environment: str) -> str:
    if echo is not None:
        say(f"$ {echo}")
    ended = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=False
    )
    if ended.returncode != 0:
        raise DemoError(f"{shlex.join(command)} failed with exit code {ended.returncode}")
    return ended.stdout.strip()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The main job, from nothing.")
    parser.add_argument("--cluster", default="mcptasks", help="the development cluster's name (default mcptasks)")
    parser.add_argument("--namespace", default="mcptasks-demo", help="where all of it is (default mcptasks-demo)")
    parser.add_argument("--tag", default="dev", help="the images' tag (default dev)")
    parser.add_argument("--image", default="mcptasks-examples:dev", help="the example tools' image")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a value of the chart")
    return parser.parse_args()


if __name__ == "__main__":
    main()
