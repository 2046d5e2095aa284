"""Drives a server of the twin graphs with the Python SDK: every method of threads, runs, assistants, store and crons,
which the last scenario checks.

usage: drive.py URL
"""

import asyncio
import functools
import http.server
import inspect
import json
import queue
import sys
import threading
import uuid

import httpx
import mcp
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command
from langgraph_sdk import get_client
from langgraph_sdk.errors import APIStatusError
from openapi_spec_validator import OpenAPIV31SpecValidator

URL = sys.argv[1]
HI = {"messages": [{"role": "user", "content": "hi"}]}
PAUSE = 0.4  # seconds until a run waits in its node
SCENARIOS = []
RESOURCES = ["threads", "runs", "assistants", "store", "crons"]
CALLED = set()


def scenario(test):
    SCENARIOS.append(test)
    return test


def methods(client):
    """Returns the public methods of a client, as resource and name."""
    for resource in RESOURCES:
        for name, _ in inspect.getmembers(type(getattr(client, resource)), callable):
            if not name.startswith("_"):
                yield resource, name


def noted(client):
    """Notes each method of the client that is called."""

    def note(method, key):
        @functools.wraps(method)
        def call(*args, **named):
            CALLED.add(key)
            return method(*args, **named)

        return call

    for resource, name in methods(client):
        part = getattr(client, resource)
        setattr(part, name, note(getattr(part, name), (resource, name)))
    return client


async def fails(status, call):
    try:
        await call
    except (APIStatusError, httpx.HTTPStatusError) as error:
        code = getattr(error, "status_code", None) or error.response.status_code
        assert code == status, (code, status)
        return str(error)
    raise AssertionError(f"the request should fail with {status}")


async def events(stream):
    return [part async for part in stream]


def names(parts):
    return [part.event for part in parts]


@scenario
async def a_thread_is_created_changed_found_and_deleted(client):
    mark = str(uuid.uuid4())
    thread = await client.threads.create(metadata={"mark": mark}, graph_id="agent")
    assert thread["status"] == "idle" and thread["metadata"]["graph_id"] == "agent"
    id = thread["thread_id"]
    await fails(409, client.threads.create(thread_id=id))
    assert (await client.threads.create(thread_id=id, if_exists="do_nothing"))["thread_id"] == id
    changed = await client.threads.update(id, metadata={"more": 1})
    assert changed["metadata"]["mark"] == mark and changed["metadata"]["more"] == 1
    assert await client.threads.update(id, metadata={"more": 2}, return_minimal=True) is None
    found = await client.threads.search(metadata={"mark": mark})
    assert [thread["thread_id"] for thread in found] == [id]
    assert await client.threads.count(metadata={"mark": mark}) == 1
    assert (await client.threads.search(ids=[id], select=["thread_id"])) == [{"thread_id": id}]
    await client.threads.delete(id)
    await fails(404, client.threads.get(id))


@scenario
async def a_run_is_waited_for_and_its_state_and_history_are_read(client):
    thread = (await client.threads.create())["thread_id"]
    values = await client.runs.wait(thread, "agent", input=HI)
    assert values["log"] == ["plan", "talk", "finish"] and values["count"] == 1
    assert [message["type"] for message in values["messages"]] == ["human", "ai"]
    state = await client.threads.get_state(thread)
    assert state["values"] == values and state["next"] == []
    history = await client.threads.get_history(thread)
    assert [entry["metadata"]["step"] for entry in history] == [3, 2, 1, 0, -1]
    assert history[0]["parent_checkpoint"] == history[1]["checkpoint"]
    older = await client.threads.get_history(thread, limit=2, before=history[1]["checkpoint"])
    assert [entry["checkpoint_id"] for entry in older] == [entry["checkpoint_id"] for entry in history[2:4]]
    assert len(await client.threads.get_history(thread, metadata={"source": "input"})) == 1
    at = await client.threads.get_state(thread, checkpoint=history[2]["checkpoint"])
    assert at["checkpoint_id"] == history[2]["checkpoint_id"] and at["next"] == ["talk"]
    at = await client.threads.get_state(thread, checkpoint_id=history[2]["checkpoint_id"])
    assert at["next"] == ["talk"]


@scenario
async def every_stream_mode_is_served(client):
    for mode, event in [
        ("values", "values"), ("updates", "updates"), ("messages", "messages/partial"), ("messages-tuple", "messages"),
        ("custom", "custom"), ("tasks", "tasks"), ("checkpoints", "checkpoints"), ("debug", "debug"), ("events", "events"),
    ]:
        thread = (await client.threads.create())["thread_id"]
        parts = await events(client.runs.stream(thread, "agent", input=HI, stream_mode=mode))
        assert names(parts)[0] == "metadata" and event in names(parts), (mode, names(parts))
    parts = await events(client.runs.stream(None, "agent", input=HI, stream_mode=["values", "updates", "messages-tuple"]))
    last = [part for part in parts if part.event == "values"][-1].data
    chunks = [part.data[0] for part in parts if part.event == "messages"]
    ai = last["messages"][-1]
    assert "".join(chunk["content"] for chunk in chunks) == ai["content"]


@scenario
async def the_subgraphs_of_a_run_are_streamed_and_their_states_read(client):
    thread = (await client.threads.create())["thread_id"]
    stream = client.runs.stream(thread, "fanout", input={"items": ["a", "b"]}, stream_mode=["values", "updates"], stream_subgraphs=True)
    parts = await events(stream)
    assert any(part.event.startswith("updates|worker:") for part in parts), names(parts)
    state = await client.threads.get_state(thread, subgraphs=True)
    (task,) = [task for task in state["tasks"] if task["interrupts"]]
    assert task["name"] == "worker" and task["interrupts"][0]["value"] == "check b"
    assert task["state"]["next"] == ["w2"] and task["state"]["values"]["item"] == "b"
    below = await client.threads.get_history(thread, checkpoint={"checkpoint_ns": task["state"]["checkpoint"]["checkpoint_ns"]})
    assert below and below[0]["next"] == ["w2"]
    values = await client.runs.wait(thread, "fanout", command={"resume": "ok"})
    assert sorted(values["out"]) == sorted(["start", "w1:a", "w2:a", "w1:b", "w2:b:ok", "gather"])


@scenario
async def an_interrupt_is_answered_alone_and_by_its_id(client):
    for by_id in [False, True]:
        thread = (await client.threads.create())["thread_id"]
        parts = await events(client.runs.stream(thread, "agent", input={**HI, "ask": True}))
        (question,) = parts[-1].data["__interrupt__"]
        assert question["value"]["question"] == "approve?"
        assert (await client.threads.get(thread))["status"] == "interrupted"
        assert list((await client.threads.get(thread))["interrupts"].values())[0][0]["id"] == question["id"]
        answer = {question["id"]: "yes"} if by_id else "yes"
        values = await client.runs.wait(thread, "agent", command={"resume": answer})
        assert values["log"] == ["plan", "talk", "approved:yes", "finish"]
        assert (await client.threads.get(thread))["status"] == "idle"


@scenario
async def a_run_stops_before_a_node_and_continues(client):
    thread = (await client.threads.create())["thread_id"]
    values = await client.runs.wait(thread, "agent", input=HI, interrupt_before=["finish"])
    assert values["log"] == ["plan", "talk"]
    assert (await client.threads.get_state(thread))["next"] == ["finish"]
    values = await client.runs.wait(thread, "agent", input=None)
    assert values["log"] == ["plan", "talk", "finish"]


@scenario
async def a_thread_is_forked_and_edited(client):
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, "agent", input=HI)
    history = await client.threads.get_history(thread)
    (base,) = [entry for entry in history if entry["next"] == ["talk"]]
    parts = await events(client.runs.stream(thread, "agent", input=None, checkpoint=base["checkpoint"], stream_mode="updates"))
    assert [list(part.data)[0] for part in parts if part.event == "updates"] == ["talk", "finish"]
    edited = await client.threads.update_state(thread, {"count": 99}, as_node="plan", checkpoint=base["checkpoint"])
    assert edited["checkpoint"]["thread_id"] == thread and edited["checkpoint_id"] == edited["checkpoint"]["checkpoint_id"]
    state = await client.threads.get_state(thread)
    assert state["values"]["count"] == 99 and state["next"] == ["talk"] and state["metadata"]["source"] == "update"
    await fails(400, client.threads.update_state(thread, {"count": 1}, as_node="nope"))
    copy = await client.threads.copy(thread)
    assert (await client.threads.get_state(copy["thread_id"]))["values"]["count"] == 99
    values = await client.runs.wait(copy["thread_id"], "agent", input=None)
    assert values["log"][-1] == "finish"
    assert (await client.threads.get_state(thread))["next"] == ["talk"]


@scenario
async def a_failure_is_told_in_streams_and_results(client):
    thread = (await client.threads.create())["thread_id"]
    parts = await events(client.runs.stream(thread, "agent", input={**HI, "fail": True}))
    assert parts[-1].event == "error" and "boom" in parts[-1].data["message"]
    assert (await client.threads.get(thread))["status"] == "error"
    (run,) = await client.runs.list(thread)
    assert run["status"] == "error"
    try:
        await client.runs.wait(thread, "agent", input={**HI, "fail": True})
        raise AssertionError("the run should fail")
    except AssertionError:
        raise
    except Exception as error:
        assert "boom" in str(error), error
    values = await client.runs.wait(thread, "agent", input={**HI, "fail": True}, raise_error=False)
    assert "boom" in values["__error__"]["message"]


@scenario
async def a_run_in_the_background_is_joined_and_its_stream_resumed(client):
    thread = (await client.threads.create())["thread_id"]
    run = await client.runs.create(
        thread, "agent", input={**HI, "sleep": 0.5}, stream_mode=["values", "updates"], stream_resumable=True, metadata={"m": 1}
    )
    assert run["status"] in ["pending", "running"] and run["metadata"]["m"] == 1
    assert (await client.threads.get(thread))["status"] == "busy"
    live = asyncio.create_task(events(client.runs.join_stream(thread, run["run_id"])))
    values = await client.runs.join(thread, run["run_id"])
    assert values["log"][-1] == "finish"
    assert (await client.runs.get(thread, run["run_id"]))["status"] == "success"
    await live
    everything = await events(client.runs.join_stream(thread, run["run_id"], last_event_id="-1"))
    assert names(everything)[:1] == ["metadata"] and all(part.id for part in everything)
    for at in range(len(everything)):
        rest = await events(client.runs.join_stream(thread, run["run_id"], last_event_id=everything[at].id))
        assert rest == everything[at + 1:], at
    only = await events(client.runs.join_stream(thread, run["run_id"], last_event_id="-1", stream_mode="updates"))
    assert set(names(only)) <= {"metadata", "updates"} and "updates" in names(only)


@scenario
async def runs_of_a_busy_thread_are_refused_queued_interrupted_or_rolled_back(client):
    thread = (await client.threads.create())["thread_id"]
    slow = {**HI, "sleep": 5.0}
    first = await client.runs.create(thread, "agent", input=slow)
    await asyncio.sleep(PAUSE)
    await fails(409, client.runs.create(thread, "agent", input=HI, multitask_strategy="reject"))
    await fails(409, client.threads.update_state(thread, {"count": 1}))
    second = await client.runs.create(thread, "agent", input=HI, multitask_strategy="enqueue")
    pending = await client.runs.list(thread, status="pending")
    assert [run["run_id"] for run in pending] == [second["run_id"]]
    await client.runs.wait(thread, "agent", input=HI, multitask_strategy="interrupt")
    assert (await client.runs.get(thread, first["run_id"]))["status"] == "interrupted"
    assert (await client.runs.get(thread, second["run_id"]))["status"] == "interrupted"
    before = (await client.threads.get_state(thread), await client.threads.get_history(thread, limit=100))
    third = await client.runs.create(thread, "agent", input=slow)
    await asyncio.sleep(PAUSE)
    await client.runs.cancel(thread, third["run_id"], wait=True, action="rollback")
    await fails(404, client.runs.get(thread, third["run_id"]))
    after = (await client.threads.get_state(thread), await client.threads.get_history(thread, limit=100))
    assert before == after
    fourth = await client.runs.create(thread, "agent", input=slow)
    await asyncio.sleep(PAUSE)
    values = await client.runs.wait(thread, "agent", input=HI, multitask_strategy="rollback")
    await fails(404, client.runs.get(thread, fourth["run_id"]))
    assert values["log"][-3:] == ["plan", "talk", "finish"]


@scenario
async def a_run_is_cancelled_and_its_thread_can_be_continued(client):
    thread = (await client.threads.create())["thread_id"]
    run = await client.runs.create(thread, "agent", input={**HI, "sleep": 30.0})
    await asyncio.sleep(PAUSE)
    await client.runs.cancel(thread, run["run_id"], wait=True)
    assert (await client.runs.get(thread, run["run_id"]))["status"] == "interrupted"
    assert (await client.threads.get_state(thread))["next"] == ["finish"]
    await fails(404, client.runs.cancel(thread, run["run_id"]))
    await client.threads.update_state(thread, {"sleep": 0.0, "__route__": "Finish"}, as_node="talk")
    run = await client.runs.create(thread, "agent", input={**HI, "sleep": 30.0})
    await asyncio.sleep(PAUSE)
    await client.runs.cancel_many(thread_id=thread, run_ids=[run["run_id"]])
    await client.runs.join(thread, run["run_id"])
    await client.runs.delete(thread, run["run_id"])
    await fails(404, client.runs.get(thread, run["run_id"]))


@scenario
async def a_batch_and_a_delayed_run_are_carried_out(client):
    runs = await client.runs.create_batch([{"assistant_id": "agent", "input": HI}, {"assistant_id": "agent", "input": HI}])
    assert len(runs) == 2
    thread = (await client.threads.create())["thread_id"]
    run = await client.runs.create(thread, "agent", input=HI, after_seconds=1)
    await asyncio.sleep(0.3)
    assert (await client.runs.get(thread, run["run_id"]))["status"] == "pending"
    assert (await client.runs.join(thread, run["run_id"]))["log"][-1] == "finish"


@scenario
async def assistants_are_stored_with_versions(client):
    found = await client.assistants.search(graph_id="agent")
    assert str(uuid.uuid5(uuid.UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8"), "agent")) in [a["assistant_id"] for a in found]
    made = await client.assistants.create("agent", name="mine", metadata={"k": "v"}, config={"recursion_limit": 30})
    id = made["assistant_id"]
    assert made["version"] == 1
    await fails(409, client.assistants.create("agent", assistant_id=id))
    changed = await client.assistants.update(id, name="mine2", context={"model_name": "m"})
    assert changed["version"] == 2 and changed["name"] == "mine2"
    assert [version["version"] for version in await client.assistants.get_versions(id)] == [2, 1]
    assert (await client.assistants.set_latest(id, 1))["name"] == "mine"
    assert (await client.assistants.get(id))["version"] == 1
    assert await client.assistants.count(graph_id="agent") >= 2
    graph = await client.assistants.get_graph("agent")
    assert {"__start__", "plan", "talk", "__end__"} <= {node["id"] for node in graph["nodes"]}
    schemas = await client.assistants.get_schemas(id)
    assert schemas["graph_id"] == "agent"
    assert await client.assistants.get_subgraphs(id) == {}
    below = await client.assistants.get_subgraphs("fanout", recurse=True)
    assert list(below) == ["worker"] and {"graph_id", "input_schema", "state_schema"} <= set(below["worker"]), below
    assert await client.assistants.get_subgraphs("fanout", namespace="worker") == below
    thread = (await client.threads.create())["thread_id"]
    assert (await client.runs.wait(thread, id, input=HI))["log"] == ["plan", "talk", "finish"]
    await client.assistants.delete(id)
    await fails(404, client.assistants.get(id))
    await fails(404, client.assistants.create("nope"))


@scenario
async def items_are_stored_found_and_deleted(client):
    space = ["users", str(uuid.uuid4())]
    await client.store.put_item(space, "k1", {"a": 1, "text": "one"})
    await client.store.put_item(space, "k2", {"a": 2})
    item = await client.store.get_item(space, "k1")
    assert item["value"] == {"a": 1, "text": "one"} and item["namespace"] == space
    found = await client.store.search_items(["users", space[1]], filter={"a": 2})
    assert [item["key"] for item in found["items"]] == ["k2"]
    assert len((await client.store.search_items(space, limit=1, offset=1))["items"]) == 1
    spaces = await client.store.list_namespaces(prefix=["users"], limit=1000)
    assert space in spaces["namespaces"]
    assert (await client.store.list_namespaces(prefix=["users"], max_depth=1))["namespaces"] == [["users"]]
    await client.store.delete_item(space, "k1")
    assert not await client.store.get_item(space, "k1")


@scenario
async def schedules_are_stored_changed_and_deleted(client):
    cron = await client.crons.create("agent", schedule="0 0 1 1 *", input=HI)
    id = cron["cron_id"]
    thread = (await client.threads.create())["thread_id"]
    on_thread = await client.crons.create_for_thread(thread, "agent", schedule="0 0 1 1 *", input=HI)
    assert on_thread["thread_id"] == thread
    found = await client.crons.search(limit=1000)
    assert {id, on_thread["cron_id"]} <= {cron["cron_id"] for cron in found}
    assert await client.crons.count() >= 2
    changed = await client.crons.update(id, enabled=False)
    assert changed["enabled"] is False
    await fails(422, client.crons.create("agent", schedule="never", input=HI))
    await client.crons.delete(id)
    await client.crons.delete(on_thread["cron_id"])


@scenario
async def threads_are_made_from_supersteps_and_pruned(client):
    thread = await client.threads.create(graph_id="agent", supersteps=[{"updates": [{"values": {"count": 5}, "as_node": "plan"}]}])
    id = thread["thread_id"]
    state = await client.threads.get_state(id)
    assert state["values"]["count"] == 5 and state["next"] == ["talk"]
    assert (await client.threads.prune([id], strategy="delete"))["pruned_count"] == 1
    await fails(404, client.threads.get(id))


@scenario
async def the_stream_of_a_thread_has_all_its_runs(client):
    thread = (await client.threads.create())["thread_id"]

    async def read():
        seen = []
        async for part in await client.threads.join_stream(thread):
            seen.append(part)
            if part.event == "metadata" and part.data.get("status") == "run_done":
                return seen

    reader = asyncio.create_task(read())
    await asyncio.sleep(0.3)
    await client.runs.wait(thread, "agent", input=HI)
    seen = await asyncio.wait_for(reader, 10)
    assert all(part.id for part in seen)


@scenario
async def the_thread_protocol_streams_interrupts_and_answers(client):
    async with client.threads.stream(assistant_id="agent") as stream:
        states = []

        async def read():
            async for values in stream.values:
                states.append(values)

        await stream.run.start(input={**HI, "ask": True})
        reader = asyncio.create_task(read())
        while not stream.interrupted:
            await asyncio.sleep(0.05)
        (question,) = stream.interrupts
        assert {"question": "approve?", "count": 1} in [question.get("payload"), question.get("value")], question
        await stream.run.respond("yes")
        values = await stream.output.with_timeout(20)
        assert values["log"] == ["plan", "talk", "approved:yes", "finish"]
        reader.cancel()
        assert states
    async with client.threads.stream(assistant_id="agent") as stream:

        texts = []

        async def listen():
            async for message in stream.messages:
                texts.append(asyncio.create_task(read_text(message)))

        async def read_text(message):
            return "".join([text async for text in message.text])

        listening = asyncio.create_task(listen())
        await stream.run.start(input=HI)
        assert (await stream.output.with_timeout(20))["log"][-1] == "finish"
        await asyncio.wait_for(listening, 20)
        assert [await text for text in texts] == ["hello from fake model"]


@scenario
async def a_remote_graph_behaves_like_a_local_one(client):
    remote = RemoteGraph("agent", url=URL)
    assert "plan" in (await remote.aget_graph()).nodes
    config = {"configurable": {"thread_id": (await client.threads.create())["thread_id"]}}
    values = await remote.ainvoke({**HI, "ask": True}, config)
    assert values["__interrupt__"]
    state = await remote.aget_state(config)
    assert state.next == ("approve",) and state.tasks[0].interrupts[0].value["question"] == "approve?"
    values = await remote.ainvoke(Command(resume="yes"), config)
    assert values["log"][-1] == "finish"
    history = [entry async for entry in remote.aget_state_history(config)]
    assert len(history) >= 5
    parts = [part async for part in remote.astream(HI, stream_mode=["values", "updates"])]
    assert ("updates", {"plan": {"log": ["plan"], "count": 1}}) in [(part.event, part.data) for part in parts]
    await remote.aupdate_state(config, {"count": 7})
    assert (await remote.aget_state(config)).values["count"] == 7


@scenario
async def tools_of_mcp_clients_run_graphs(client):
    async with mcp.Client(f"{URL}/mcp") as tools:
        listed = [tool.name for tool in (await tools.list_tools()).tools]
        assert {"agent", "fanout", "tooly", "resume_run"} <= set(listed), listed
        ended = await tools.call_tool("agent", HI)
        assert not ended.is_error and ended.structured_content["output"]["log"][-1] == "finish", ended
        asked = (await tools.call_tool("agent", {**HI, "ask": True})).structured_content
        assert asked["status"] == "interrupted", asked
        answer = {"thread": asked["thread"], "answers": {asked["questions"][0]["id"]: "yes"}}
        ended = await tools.call_tool("resume_run", answer)
        assert ended.structured_content["output"]["log"][-1] == "finish", ended
        failed = await tools.call_tool("agent", {**HI, "fail": True})
        assert failed.is_error and "thread" in failed.content[0].text, failed


class Receiver(http.server.BaseHTTPRequestHandler):
    """A receiver of webhooks, which refuses the first call."""

    bodies = queue.Queue()
    answers = iter([500])

    def do_POST(self):
        self.bodies.put(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(next(self.answers, 200))
        self.end_headers()

    def log_message(self, *_):
        pass


@scenario
async def a_webhook_is_called_when_a_run_has_ended(client):
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{receiver.server_port}/hook?token=secret"
    called = lambda: asyncio.to_thread(Receiver.bodies.get, timeout=20)
    thread = (await client.threads.create())["thread_id"]
    run = await client.runs.create(thread, "agent", input=HI, webhook=url)
    first, second = await called(), await called()
    assert first["run_id"] == second["run_id"] == run["run_id"], (first, second)
    ended = await client.runs.get(thread, run["run_id"])
    assert {name: second[name] for name in ended} == ended, (second, ended)
    assert second["values"] == await client.runs.join(thread, run["run_id"]) and "error" not in second
    assert second["created_at"] <= second["run_started_at"] <= second["run_ended_at"] < second["webhook_sent_at"]
    await client.runs.wait(thread, "agent", input={**HI, "ask": True}, webhook=url)
    assert (await called())["values"]["__interrupt__"]
    await client.runs.wait(None, "agent", input={**HI, "fail": True}, webhook=url, raise_error=False)
    failed = await called()
    assert failed["status"] == "error" and failed["error"], failed
    async for _ in client.runs.stream(None, "agent", input=HI, webhook=url):
        pass
    assert (await called())["status"] == "success"
    assert "10.0.0.1" in await fails(422, client.runs.create(thread, "agent", input=HI, webhook="http://10.0.0.1/"))
    assert Receiver.bodies.empty()
    receiver.shutdown()


@scenario
async def the_openapi_document_is_valid(client):
    async with httpx.AsyncClient() as http:
        document = (await http.get(f"{URL}/openapi.json")).json()
    assert document["openapi"].startswith("3.1."), document["openapi"]
    OpenAPIV31SpecValidator(document).validate()


@scenario
async def every_method_of_the_client_is_called(client):
    missing = set(methods(client)) - CALLED
    assert not missing, missing


async def main():
    client = noted(get_client(url=URL, api_key=None))
    failed = 0
    only = sys.argv[2:]
    for test in SCENARIOS:
        if only and test.__name__ not in only:
            continue
        try:
            await asyncio.wait_for(test(client), 60)
            print(f"ok {test.__name__}", flush=True)
        except BaseException as error:
            failed += 1
            import traceback
            trace = traceback.extract_tb(error.__traceback__)
            place = next((f"line {frame.lineno}: {frame.line}" for frame in reversed(trace) if frame.filename == __file__), "")
            print(f"FAILED {test.__name__}: {type(error).__name__}: {str(error)[:500]}; {place}", flush=True)
    print(f"{len(SCENARIOS) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


asyncio.run(main())
