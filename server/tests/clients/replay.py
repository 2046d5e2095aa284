"""Sends the requests of recorded cases, and writes the responses: replay.py URL CASES OUT

A thread that a case names is created, with a run, before its first case. A body that was not recorded is no JSON.
"""

import json
import re
import sys
from pathlib import Path

import httpx

HEADERS = {"content-type", "location", "content-location", "x-pagination-total", "x-pagination-next"}


def prepare(client, thread):
    client.post("/threads", json={"thread_id": thread, "if_exists": "do_nothing"}).raise_for_status()
    hi = {"messages": [{"role": "user", "content": "hi"}]}
    client.post(f"/threads/{thread}/runs/wait", json={"assistant_id": "agent", "input": hi}).raise_for_status()


def replay(client, request):
    headers = request.get("headers", {})
    body = {}
    if "json" in request:
        body["json"] = request["json"]
    elif any(name.lower() == "content-type" for name in headers):
        body["content"] = "{"
    answer = client.request(
        request["method"], request["path"], params=request.get("query"), headers=headers, **body
    )
    kept = {name: value for name, value in answer.headers.items() if name.lower() in HEADERS}
    response = {"status": answer.status_code, "headers": kept}
    try:
        response["json"] = answer.json()
    except ValueError:
        response["text"] = answer.text
    return {"request": request, "response": response}


def main():
    url, cases, out = sys.argv[1:]
    Path(out).mkdir(parents=True, exist_ok=True)
    prepared = set()
    with httpx.Client(base_url=url, timeout=30) as client:
        for case in sorted(Path(cases).glob("*.json")):
            request = json.loads(case.read_text())["request"]
            named = re.match(r"/threads/([0-9a-f-]{36})", request["path"])
            if named and named[1] not in prepared:
                prepared.add(named[1])
                prepare(client, named[1])
            (Path(out) / case.name).write_text(json.dumps(replay(client, request)))


main()
