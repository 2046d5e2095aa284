"""Parses the streams of generated runs with the classes of the Python SDK, and compares their events and messages.

usage: parse.py FOLDER

FOLDER has the files that the tests of the server write if SUPERSTEP_STREAMS names it.
"""

import json
import random
import sys
from pathlib import Path

from langchain_core.language_models.chat_model_stream import ChatModelStream
from langchain_core.messages import AIMessageChunk
from langgraph_sdk.sse import BytesLineDecoder, SSEDecoder
from langgraph_sdk.stream.decoders import DataDecoder, MessagesDecoder


def pieces(text):
    """Cuts a text at random places, as a network does."""
    data, dice = text.encode(), random.Random(len(text))
    while data:
        length = dice.choice([1, 7, 100, 5000])
        yield data[:length]
        data = data[length:]


def parsed(text):
    lines, events = BytesLineDecoder(), SSEDecoder()
    for piece in pieces(text):
        for line in lines.decode(piece):
            part = events.decode(bytes(line))
            if part is not None and (part.event or events.has_data):
                yield {"event": part.event, "data": part.data, "id": part.id}
    assert not lines.flush(), "a stream ends with a whole line"


def text_of(content):
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def told(message):
    calls = [[call["id"], call["name"], call["args"]] for call in getattr(message, "tool_calls", [])]
    return [message.id, text_of(message.content), calls]


def of_state(message):
    calls = [[call["id"], call["name"], call["args"]] for call in message.get("tool_calls", [])]
    return [message["id"], text_of(message["content"]), calls]


def folded_legacy(events):
    """Adds chunks up, as the callers of the SDK do. Returns the messages and the last state's."""
    messages, state = {}, []
    for event in events:
        if event["event"] == "values":
            state = event["data"]["messages"]
        if event["event"] == "messages":
            message = event["data"][0]
            id = message["id"]
            if message["type"] == "AIMessageChunk":
                chunk = AIMessageChunk.model_validate(message)
                messages[id] = messages[id] + chunk if id in messages else chunk
            else:
                messages[id] = of_state(message)
    return [message if isinstance(message, list) else told(message) for message in messages.values()], state


def folded_protocol(events):
    make = lambda *, namespace, node, message_id: ChatModelStream(namespace=namespace, node=node, message_id=message_id)
    messages, states = MessagesDecoder([], make), DataDecoder("values", [])
    streams, state = [], []
    for event in events:
        streams.extend(messages.feed(event["data"]))
        for values in states.feed(event["data"]):
            state = values["messages"]
    assert all(stream.done for stream in streams), "each message ends"
    return [told(stream.output_message) for stream in streams], state


def main():
    files = sorted(Path(sys.argv[1]).glob("*.json"))
    assert files, "there are no streams"
    count = 0
    for file in files:
        case = json.loads(file.read_text())
        for name, stream in case["streams"].items():
            events = list(parsed(stream["text"]))
            # An id is that of the last event with one.
            assert events == stream["events"], (file, name)
            count += len(events)
            fold = {"legacy": folded_legacy, "protocol": folded_protocol, "channels": folded_protocol}.get(name)
            if fold:
                messages, state = fold(events)
                assert messages == case["messages"], (file, name, messages)
                state = [of_state(message) for message in state if message["id"] != "input"]
                assert state == case["messages"], (file, name, state)
    print(f"{count} events in the streams of {len(files)} runs were parsed")


main()
