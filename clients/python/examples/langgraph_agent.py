"""A LangGraph graph that asks stopgate before it ends. A block returns to the model with the missing work.

Works with any model behind OpenAI's chat completions API. Set OPENAI_API_KEY, OPENAI_BASE_URL and MODEL.
"""

from __future__ import annotations

import asyncio
import json
import operator
import os
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from openai import AsyncOpenAI

from stopgate import StopgateClient, WorkerHandle

WRITE_REPORT = {
    "type": "function",
    "function": {
        "name": "write_report",
        "description": "Writes report.md.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
}


class State(TypedDict):
    """The conversation, and whether stopgate has allowed the stop."""

    messages: Annotated[list[dict[str, Any]], operator.add]
    stopped: bool


def build(model: AsyncOpenAI, worker: WorkerHandle) -> StateGraph[State]:
    """Builds the graph: model -> tools -> model … -> gate -> model or end."""

    async def call_model(state: State) -> dict[str, Any]:
        name = os.environ.get("MODEL", "gpt-5-mini")
        reply = await model.chat.completions.create(model=name, messages=state["messages"], tools=[WRITE_REPORT])  # type: ignore[call-overload]
        return {"messages": [reply.choices[0].message.model_dump(exclude_none=True)]}

    async def call_tools(state: State) -> dict[str, Any]:
        calls = state["messages"][-1]["tool_calls"]
        for call in calls:
            Path("report.md").write_text(json.loads(call["function"]["arguments"])["text"])
            await worker.publish("tool.used", {"tool": "write_report", "files": ["report.md"]})
        return {"messages": [{"role": "tool", "tool_call_id": call["id"], "content": "written"} for call in calls]}

    async def gate(state: State) -> dict[str, Any]:
        said = state["messages"][-1]["content"]
        decision = await worker.decide(output=said)
        print(said)
        print(decision.decision, decision.cause)
        if not decision.blocked:
            return {"stopped": True}
        print(f"> {decision.next_prompt}")
        return {"messages": [{"role": "user", "content": decision.next_prompt or decision.reason}]}

    graph = StateGraph(State)
    graph.add_node("model", call_model)
    graph.add_node("tools", call_tools)
    graph.add_node("gate", gate)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].get("tool_calls") else "gate")
    graph.add_edge("tools", "model")
    graph.add_conditional_edges("gate", lambda state: END if state.get("stopped") else "model")
    return graph


async def main() -> None:
    """Runs one task from its prompt to the allowed stop."""
    prompt = "Write a report about locks."
    async with await StopgateClient.connect() as client:
        worker = client.worker("langgraph-agent")
        await worker.publish("worker.registered", {"policy": "report", "cwd": str(Path.cwd())})
        await worker.publish("prompt.submitted", {"text": prompt})
        graph = build(AsyncOpenAI(), worker).compile()
        await graph.ainvoke({"messages": [{"role": "user", "content": prompt}], "stopped": False})


asyncio.run(main())
