"""A client of `ringfence acp` by another implementation of the protocol: agent-client-protocol.

Usage: acp_sdk.py WORKSPACE OUTSIDE COMMAND...
COMMAND serves the workspace, an empty directory like the other one.
Ends with 0 if the agent does all that it promises to any client.
"""

import asyncio
import json
import sys
from pathlib import Path

from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process, text_block
from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse


class Person:
    """Answers in turn, and keeps what was told."""

    def __init__(self):
        self.answers, self.asked, self.told = [], [], []

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append((session_id, tool_call, options))
        kind = self.answers.pop(0)
        if kind is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        chosen = next(option.option_id for option in options if option.kind == kind)
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=chosen)
        )

    async def session_update(self, session_id, update, **_):
        self.told.append((session_id, update))

    def values(self, session_id):
        """What the calls of a session came to."""
        own = [update for of, update in self.told if of == session_id]
        ended = [update for update in own if update.session_update == "tool_call_update"]
        return [update.raw_output for update in ended if update.raw_output is not None]


def write(path, **more):
    return {"tool": "write", "arguments": {"file_path": str(path), "content": "x", **more}}


def bash(command):
    return {"tool": "bash", "arguments": {"command": command, "description": "a test"}}


def equal(found, expected):
    if found != expected:
        raise AssertionError(f"{found!r} is not {expected!r}")


async def main(workspace, outside, command):
    person = Person()
    async with spawn_agent_process(person, *command) as (agent, process):
        hello = await agent.initialize(protocol_version=PROTOCOL_VERSION)
        equal((hello.protocol_version, hello.agent_info.name), (1, "ringfence"))

        opened = await agent.new_session(cwd=str(workspace), mcp_servers=[])
        session = opened.session_id
        modes = [mode.id for mode in opened.modes.available_modes]
        equal(modes, ["read-only", "workspace-write", "danger-full-access"])
        equal(opened.modes.current_mode_id, "read-only")

        async def call(called):
            prompt = [text_block(json.dumps(called))]
            ended = await agent.prompt(session_id=session, prompt=prompt)
            equal(ended.stop_reason, "end_turn")
            return person.values(session)[-1]

        equal((await call(write("a")))["code"], "FS_SANDBOX_DENIED")
        wanted = {"sandbox_permissions": "workspace-write", "justification": "wanted"}
        for answer, code in [
            ("reject_once", "SANDBOX_ESCALATION_REJECTED"),
            (None, "SANDBOX_ESCALATION_CANCELLED"),
            ("allow_once", None),
        ]:
            person.answers.append(answer)
            equal((await call(write("a", **wanted))).get("code"), code)
        equal(sorted({o.kind for _, _, options in person.asked for o in options}),
              ["allow_once", "reject_once"])

        await agent.set_session_mode(mode_id="workspace-write", session_id=session)
        equal((await call(write("b")))["operation"], "create")
        equal((await call(bash("echo x > c")))["exitCode"], 0)
        equal((await call(write(outside / "d")))["code"], "FS_SANDBOX_DENIED")
        equal((await call(bash(f"echo x > '{outside}/d'")))["sandbox"]["denied"], True)

        for refused in [
            agent.set_session_mode(mode_id="custom", session_id=session),
            agent.new_session(cwd="relative", mcp_servers=[]),
            agent.new_session(
                cwd=str(workspace), mcp_servers=[], additional_directories=[str(outside)]
            ),
        ]:
            try:
                await refused
            except RequestError as error:
                equal(error.code, -32602)
            else:
                raise AssertionError("it was not refused")

        sleeps = asyncio.create_task(
            agent.prompt(session_id=session, prompt=[text_block(json.dumps(bash("sleep 600")))])
        )
        while person.told[-1][1].session_update != "tool_call_update" or (
            person.told[-1][1].status != "in_progress"
        ):
            await asyncio.sleep(0)
        await agent.cancel(session_id=session)
        equal((await sleeps).stop_reason, "cancelled")
        process.stdin.close()
        equal(await process.wait(), 0)

    equal(sorted(path.name for path in workspace.iterdir()), ["a", "b", "c"])
    equal(list(outside.iterdir()), [])


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
