"""An agent of the OpenAI Agents SDK that continues with the missing work until stopgate allows its stop.

Works with any model behind OpenAI's chat completions API. Set OPENAI_API_KEY, OPENAI_BASE_URL and MODEL.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from stopgate import StopgateClient

if TYPE_CHECKING:
    from agents import TResponseInputItem

set_tracing_disabled(disabled=True)  # tracing would send every turn to OpenAI


@function_tool
def write_report(text: str) -> str:
    """Writes report.md."""
    Path("report.md").write_text(text)
    return "written"


async def main() -> None:
    """Runs one task from its prompt to the allowed stop."""
    agent = Agent(
        name="reporter",
        instructions="You write reports.",
        model=OpenAIChatCompletionsModel(model=os.environ.get("MODEL", "gpt-5-mini"), openai_client=AsyncOpenAI()),
        tools=[write_report],
    )
    history: list[TResponseInputItem] = []

    async def turn(prompt: str) -> str:
        history.append({"role": "user", "content": prompt})
        print(f"> {prompt}")
        result = await Runner.run(agent, history)
        history[:] = result.to_input_list()
        print(result.final_output)
        return str(result.final_output)

    async with await StopgateClient.connect() as client:
        worker = client.worker("openai-agent")
        await worker.publish("worker.registered", {"policy": "report", "cwd": str(Path.cwd())})
        decision = await worker.run_until_stopped(turn, "Write a report about locks.")
        print(decision.decision, decision.cause)


asyncio.run(main())
