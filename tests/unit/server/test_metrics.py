"""What is counted, by labels that no client can add to."""

from mcptasks_server.metrics import Metrics
from mcptasks_server.testing.wire import Wire


def counted(metrics: Metrics) -> dict[tuple[str, str, str], float]:
    return {
        (sample.labels["method"], sample.labels["era"], sample.labels["outcome"]): sample.value
        for metric in metrics.registry.collect()
        for sample in metric.samples
        if sample.name == "mcptasks_server_requests_total"
    }


async def test_requests_are_counted_by_method_and_outcome(wire: Wire, metrics: Metrics) -> None:
    await wire.call("tools/list")
    await wire.call("tools/call", {"name": "echo"})
    await wire.call("tools/call", {"name": "add"})
    await wire.call("tools/call", {"name": "nope"})
    await wire.call("a/method/of/a/client's")
    await wire.post("not json")
    await wire.call("tools/list", headers={"Host": "evil.example"})

    assert counted(metrics) == {
        ("tools/list", "modern", "ok"): 1,
        ("tools/call", "modern", "ok"): 1,
        ("tools/call", "modern", "tool_error"): 1,
        ("tools/call", "modern", "-32602"): 1,
        ("other", "modern", "-32601"): 1,
        ("invalid", "none", "-32700"): 1,
        ("invalid", "none", "-32600"): 1,
    }


async def test_a_method_of_a_request_whose_era_is_not_known_is_no_label(wire: Wire, metrics: Metrics) -> None:
    for number in range(3):
        body = wire.body_of(f"no/such/{number}")
        await wire.post(body, headers={"MCP-Protocol-Version": "2025-11-25"})  # another one than the body's
        await wire.post(body, headers={"MCP-Protocol-Version": "\u00e9"})

    assert counted(metrics) == {("other", "none", "-32020"): 6}
