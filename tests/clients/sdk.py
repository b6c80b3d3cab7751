"""The Python SDK of the protocol as a client: files, a command with progress, a call that is taken
back, a person who allows and one who declines, roots.

usage: sdk.py RINGFENCE WORKSPACE
WORKSPACE is an empty directory with nothing of worth beside it. It says `done` at its end.
"""

import asyncio
import sys
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult, ListRootsResult, Root

RINGFENCE, WORKSPACE = sys.argv[1], Path(sys.argv[2]).resolve()
OUTSIDE = WORKSPACE.parent / "outside"


def server():
    args = ["mcp", "--mode", "workspace-write", "--workspace", str(WORKSPACE)]
    return StdioServerParameters(command=RINGFENCE, args=args)


def code(result):
    assert result.is_error, result
    return result.structured_content["code"]


def done(result):
    assert not result.is_error, result
    return result.structured_content


async def files():
    async with Client(server()) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["read", "write", "edit", "list", "bash"], names
        write = {"file_path": "a", "content": "one\n"}
        assert done(await client.call_tool("write", write))["operation"] == "create"
        edit = {"file_path": "a", "old_string": "one", "new_string": "two"}
        assert done(await client.call_tool("edit", edit))["operation"] == "update"
        lines = done(await client.call_tool("read", {"file_path": "a"}))["lines"]
        assert lines == [{"number": 1, "text": "two"}], lines
        outside = {"file_path": str(OUTSIDE), "content": "x"}
        assert code(await client.call_tool("write", outside)) == "FS_SANDBOX_DENIED"
        assert not OUTSIDE.exists()


async def commands():
    told = []

    async def tell(progress, total, message):
        told.append((progress, message))

    async with Client(server()) as client:
        bash = {"command": "for i in 1 2 3; do echo $i; sleep 0.3; done", "description": "counts"}
        result = done(await client.call_tool("bash", bash, progress_callback=tell))
        assert result["stdout"] == "1\n2\n3\n", result
        numbers = [number for number, _ in told]
        assert len(numbers) >= 2 and numbers == sorted(set(numbers)), told
        assert {message for _, message in told} <= {"1", "2", "3"}, told

        begun = anyio.Event()

        async def begin(progress, total, message):
            begun.set()

        async with anyio.create_task_group() as tasks:
            async def run():
                bash = {"command": "echo begun; sleep 1000; touch late", "description": "waits"}
                await client.call_tool("bash", bash, progress_callback=begin)
                raise AssertionError("it was not taken back")

            tasks.start_soon(run)
            await begun.wait()
            tasks.cancel_scope.cancel()
        assert done(await client.call_tool("list", {"path": "."}))["total"] >= 1


async def a_person(action, content, expected):
    asked = []

    async def answer(context, params):
        asked.append(params.message)
        return ElicitResult(action=action, content=content)

    write = {
        "file_path": str(OUTSIDE),
        "content": "x",
        "sandbox_permissions": "danger-full-access",
        "justification": "it is wanted",
    }
    async with Client(server(), elicitation_callback=answer) as client:
        result = await client.call_tool("write", write)
        assert len(asked) == 1 and str(OUTSIDE) in asked[0], asked
        if expected is None:
            assert done(result)["operation"] == "create"
            OUTSIDE.unlink()
        else:
            assert code(result) == expected, result
            assert not OUTSIDE.exists()


async def roots():
    inner = WORKSPACE / "in ner"
    inner.mkdir()
    for root, expected in [(inner, inner), (WORKSPACE, WORKSPACE), (WORKSPACE.parent, None)]:
        async def name(context, root=root):
            return ListRootsResult(roots=[Root(uri=root.as_uri())])

        async with Client(server(), list_roots_callback=name) as client:
            result = await client.call_tool("write", {"file_path": "r", "content": ""})
            if expected is None:
                assert code(result) == "SANDBOX_UNAVAILABLE", result
            else:
                assert done(result)["path"] == str(expected / "r"), result


async def main():
    await files()
    await commands()
    await a_person("accept", {"decision": "allow once"}, None)
    await a_person("accept", {"decision": "reject"}, "SANDBOX_ESCALATION_REJECTED")
    await a_person("decline", None, "SANDBOX_ESCALATION_REJECTED")
    await a_person("cancel", None, "SANDBOX_ESCALATION_CANCELLED")
    await roots()
    print("done")


asyncio.run(main())
