"""The server as the official Python SDK meets it, over both transports and both generations of the protocol.

Run by `cargo xtask mcp`. Tokens are counted here, by tiktoken, on each reply as it is sent.
"""

import argparse
import asyncio
import base64
import http.client
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import anyio
import httpx2
import tiktoken
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ListRootsResult, Root

# The pattern of o200k_base, as published.
PATTERN = "|".join([
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""\p{N}{1,3}""",
    r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
    r"""\s*[\r\n]+""",
    r"""\s+(?!\S)""",
    r"""\s+""",
])
TOOLS = ["context_query", "context_assemble", "context_read", "context_outline"]
QUESTIONS = [
    "where is the token budget kept", "Parser", "how are files walked and ignored", "escape \"quotes\" \\ and 🦀",
    "TypeError: cannot read property of undefined at src/main.rs:12", "README installation",
]


def encoding(vocabulary):
    with open(vocabulary, "rb") as file:
        ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in file if line.strip())}
    return tiktoken.Encoding("o200k_base", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})


class Setup:
    def __init__(self, arguments):
        self.program, self.root, self.calls = arguments.ctx, os.path.abspath(arguments.root), arguments.calls
        self.encoding = encoding(arguments.vocabulary)
        self.cache = tempfile.mkdtemp()
        self.environment = {**os.environ, "CTX_CACHE_DIR": self.cache}
        self.checks = 0

    def check(self, holds, what):
        self.checks += 1
        if not holds:
            raise SystemExit(f"does not hold: {what}")

    def tokens(self, result, request_id=10**6):
        """The whole message: what the envelope adds is counted with a long id."""
        body = result.model_dump_json(by_alias=True, exclude_none=True)
        return len(self.encoding.encode_ordinary(f'{{"jsonrpc":"2.0","id":{request_id},"result":{body}}}'))

    def stdio(self, root=None, cache=None):
        environment = {**self.environment, **({"CTX_CACHE_DIR": cache} if cache else {})}
        return StdioServerParameters(command=self.program, args=["mcp", "--root", root or self.root], env=environment)


class Server:
    """`ctx mcp --http`, with the address and the token that it prints."""

    def __init__(self, setup):
        arguments = [setup.program, "mcp", "--root", setup.root, "--http", "127.0.0.1:0"]
        environment = {**setup.environment, "CTX_CACHE_DIR": tempfile.mkdtemp(dir=setup.cache)}
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)
        self.url = self.process.stdout.readline().removeprefix("listening on ").strip()
        self.token = self.process.stdout.readline().removeprefix("token: ").strip()
        self.port = int(re.search(r":(\d+)/", self.url).group(1))

    def transport(self):
        headers = {"Authorization": f"Bearer {self.token}"}
        return streamable_http_client(self.url, http_client=httpx2.AsyncClient(headers=headers, timeout=60))

    def end(self):
        self.process.terminate()
        self.process.wait()


def text(result):
    return "\n".join(block.text for block in result.content)


async def offers(setup, client):
    listed = await client.list_tools()
    setup.check([tool.name for tool in listed.tools] == TOOLS, "four tools are listed")
    setup.check(all(tool.annotations.read_only_hint for tool in listed.tools), "all of them only read")
    schemas = json.dumps([t.model_dump(by_alias=True, exclude_none=True, mode="json") for t in listed.tools], separators=(",", ":"))
    count = len(setup.encoding.encode_ordinary(schemas))
    setup.check(count < 1500, f"schemas take {count} tokens")
    resources = await client.list_resources()
    setup.check(len(resources.resources) > 0, "files are resources")
    read = await client.read_resource(resources.resources[0].uri)
    setup.check(read.contents[0].text, "a resource is read")
    prompts = await client.list_prompts()
    prompt = await client.get_prompt(prompts.prompts[0].name, {"question": "why?"})
    setup.check("why?" in prompt.messages[0].content.text, "the prompt carries the question")
    return count


async def progress(setup, client):
    told = []

    async def hear(done, total, message):
        told.append(done)

    result = await client.call_tool("context_query", {"query": "progress"}, progress_callback=hear)
    setup.check(not result.is_error, text(result))
    setup.check(told and told == sorted(told), f"progress grows: {told}")


async def cancel(setup, client):
    with anyio.move_on_after(0.05) as scope:
        await client.call_tool("context_query", {"query": "cancel"})
    setup.check(scope.cancelled_caught, "the call was cancelled before it was answered")
    result = await client.call_tool("context_query", {"query": "budget"})
    setup.check(not result.is_error, text(result))


def random_call(draw, files):
    size = draw.choice([draw.randint(256, 700), draw.randint(256, 4000), draw.randint(256, 40_000)])
    tool = draw.choice(TOOLS)
    arguments = {"max_tokens": size}
    if tool in TOOLS[:2]:
        arguments["format"] = draw.choice(["markdown", "xml", "json", "plain"])
        if draw.random() < 0.3:
            arguments["session"] = draw.choice("ab")
    if tool == "context_query":
        arguments["query"] = draw.choice(QUESTIONS) + " " + draw.choice(files)
    elif tool == "context_assemble":
        starts = [draw.randint(1, 200) for _ in range(draw.randint(1, 30))]
        arguments["chunks"] = [
            {"id": str(n), "relevance": draw.random(), "filePath": draw.choice(files), "startLine": s, "endLine": s + draw.randint(0, 80)}
            for n, s in enumerate(starts)
        ]
    elif tool == "context_read":
        arguments["path"] = draw.choice(files)
        arguments["rendition"] = draw.choice(["full", "skeleton", "signature", "mention"])
    else:
        arguments["path"] = draw.choice(["", *files, os.path.dirname(draw.choice(files))])
    return tool, arguments, min(size, 25_000)


async def sizes(setup, client, seed, calls):
    draw = random.Random(seed)
    files = [r.name for r in (await client.list_resources()).resources]
    largest, times = 0.0, []
    for number in range(calls):
        tool, arguments, limit = random_call(draw, files)
        start = time.perf_counter()
        result = await client.call_tool(tool, arguments)
        times.append(time.perf_counter() - start)
        count = setup.tokens(result)
        setup.check(count <= limit, f"{count} tokens of {limit}: {tool} {arguments}")
        largest = max(largest, count / limit)
        cursor = (result.structured_content or {}).get("cursor")
        if cursor and draw.random() < 0.3:
            result = await client.call_tool(tool, {**arguments, "cursor": cursor})
            setup.check(setup.tokens(result) <= limit, f"page 2 of {tool} {arguments}")
    return largest, statistics.median(times)


async def hostile(setup, client):
    # The files that are asked about may well say what hostile input looks like, but not this.
    secret = os.urandom(16).hex()
    outside = os.path.join(setup.cache, "outside.txt")
    with open(outside, "w") as file:
        file.write(secret)
    secrets = [secret]
    if os.path.exists("/etc/passwd"):
        with open("/etc/passwd") as file:
            secrets.append(file.read(60))
    relative = os.path.relpath(outside, setup.root)
    paths = ["../" * 40 + "etc/passwd", "/etc/passwd", relative, outside, "..", "\0", "a" * 100_000, "/dev/zero", "/proc/self/environ", "C:\\x", "%2e%2e/x"]
    for path in paths:
        hit = {"id": "a", "relevance": 1, "filePath": path, "startLine": 1, "endLine": 9}
        for tool, arguments in [
            ("context_read", {"path": path}), ("context_outline", {"path": path}),
            ("context_assemble", {"chunks": [hit]}), ("context_query", {"query": path}),
        ]:
            result = await client.call_tool(tool, arguments)
            told = text(result)
            setup.check(not any(it in told for it in secrets), f"{tool} {path[:50]!r} told: {told[:200]}")
            setup.check(setup.tokens(result) <= 8000, f"{tool} {path[:50]!r}")
    wrong = [
        ("context_query", {}), ("context_query", {"query": 7}), ("context_query", {"query": "a", "max_tokens": 1}),
        ("context_query", {"query": "a", "limit": -1}), ("context_query", {"query": "a", "surprise": 1}),
        ("context_query", {"query": "x" * 200_000}), ("context_query", {"query": "a", "session": "s" * 1000}),
        ("context_assemble", {"chunks": "none"}), ("context_assemble", {"chunks": [{"id": "a", "relevance": 2, "content": ""}]}),
        ("context_assemble", {"chunks": [{"id": "a", "relevance": 1, "content": ""}] * 2}),
        ("context_read", {"path": "README.md", "lines": "0"}), ("context_read", {"path": "README.md", "lines": "5-2"}),
        ("context_read", {"path": "README.md", "cursor": "🦀" * 1000}), ("context_outline", {"path": 1}),
    ]
    for tool, arguments in wrong:
        result = await client.call_tool(tool, arguments)
        setup.check(result.is_error and "\ntry: " in text(result), f"{tool} {str(arguments)[:80]}: {text(result)[:200]}")
        setup.check(setup.tokens(result) <= 256, f"a refusal of {tool} is short")


async def two_sessions(setup, connect, apart):
    """Two clients ask the same under the same name, call by call at once. Connections do not share what was
    sent; in the newer protocol there are none, and names must differ."""
    names = ("one", "one") if apart else ("one", "two")

    async def ask(client, name):
        first = await client.call_tool("context_query", {"query": QUESTIONS[0], "session": name})
        second = await client.call_tool("context_query", {"query": QUESTIONS[0], "session": name})
        return text(first), second.structured_content

    async with connect() as a, connect() as b:
        (first_a, second_a), (first_b, second_b) = await asyncio.gather(ask(a, names[0]), ask(b, names[1]))
    setup.check(first_a == first_b, "both clients are sent the same at first")
    setup.check(second_a.get("alreadySent") and second_b.get("alreadySent"), "and neither a second time")


async def declared_roots(setup, connect, outside_is_read):
    """Roots that the client declares are the only ones, and over HTTP they must lie in the server's own."""
    within, outside = os.path.join(setup.root, "crates"), tempfile.mkdtemp()
    if not os.path.isdir(within):
        within = setup.root
    with open(os.path.join(outside, "outside.txt"), "w") as file:
        file.write("outside\n")

    def roots(path):
        async def told(_):
            return ListRootsResult(roots=[Root(uri=f"file://{path}")])
        return told

    async with connect(roots(outside)) as client:
        result = await client.call_tool("context_read", {"path": "outside.txt"})
        setup.check(result.is_error != outside_is_read, text(result))
        result = await client.call_tool("context_read", {"path": "README.md"})
        setup.check(result.is_error, "the server's own root is not read beside the declared one")
    async with connect(roots(within)) as client:
        result = await client.call_tool("context_outline", {})
        setup.check(not result.is_error, text(result))
    shutil.rmtree(outside)


def matrix(setup, server):
    """Host × Origin × token, from plain HTTP."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "matrix", "version": "0"}}})
    own = [f"127.0.0.1:{server.port}", f"localhost:{server.port}"]
    # The port of a host is of no account, that of a site is.
    named = [f"127.0.0.1:{server.port + 1}", "localhost"]
    foreign = ["evil.example", f"evil.example:{server.port}"]
    cases = 0
    for host in own + named + foreign:
        for origin in [None, *(f"http://{it}" for it in own + named + foreign), f"https://{own[0]}", "null"]:
            for token in [server.token, "wrong", None]:
                headers = {"Host": host, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
                headers.update({"Origin": origin} if origin is not None else {})
                headers.update({"Authorization": f"Bearer {token}"} if token else {})
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
                connection.request("POST", "/mcp", body, headers)
                status = connection.getresponse().status
                connection.close()
                origin_is_own = origin is None or origin in [f"http://{it}" for it in own]
                expected = 421 if host in foreign else 403 if not origin_is_own else 401 if token != server.token else 200
                setup.check(status == expected, f"{status} for {host} {origin} {token}")
                cases += 1
    return cases


async def start_up(setup, mode):
    """Seconds from starting the process to the first reply of the tool, and to that to hello."""
    hello, first = [], []
    for _ in range(9):
        start = time.perf_counter()
        async with Client(setup.stdio(), mode=mode) as client:
            hello.append(time.perf_counter() - start)
            result = await client.call_tool("context_query", {"query": QUESTIONS[0]})
            first.append(time.perf_counter() - start)
            setup.check(not result.is_error, text(result))
    return statistics.median(hello), statistics.median(first), max(first)


async def run(setup):
    for mode in ["legacy", "auto"]:
        async with Client(setup.stdio(cache=tempfile.mkdtemp(dir=setup.cache)), mode=mode) as client:
            await progress(setup, client)
        async with Client(setup.stdio(cache=tempfile.mkdtemp(dir=setup.cache)), mode=mode) as client:
            await cancel(setup, client)

        def over_stdio(roots=None):
            return Client(setup.stdio(), mode=mode, list_roots_callback=roots)

        async with over_stdio() as client:
            schemas = await offers(setup, client)
            await hostile(setup, client)
            largest, median = await sizes(setup, client, f"stdio {mode}", setup.calls)
        await two_sessions(setup, over_stdio, True)
        await declared_roots(setup, over_stdio, True)
        print(f"stdio, {mode}: schemas {schemas} tokens; {setup.calls} calls, the fullest reply {largest:.1%} of its limit, median {median * 1000:.0f} ms")

        server = Server(setup)
        try:
            def over_http(roots=None):
                return Client(server.transport(), mode=mode, list_roots_callback=roots)

            async with over_http() as client:
                await progress(setup, client)
                await offers(setup, client)
                await hostile(setup, client)
                largest, median = await sizes(setup, client, f"http {mode}", setup.calls)
            await two_sessions(setup, over_http, mode == "legacy")
            await declared_roots(setup, over_http, False)
            print(f"http, {mode}: {setup.calls} calls, the fullest reply {largest:.1%} of its limit, median {median * 1000:.0f} ms")
            if mode == "auto":
                print(f"http: {matrix(setup, server)} combinations of host, origin and token")
        finally:
            server.end()
    for mode in ["legacy", "auto"]:
        hello, first, worst = await start_up(setup, mode)
        print(f"start-up, {mode}: to hello {hello * 1000:.0f} ms, to the first reply {first * 1000:.0f} ms (median of 9; worst {worst * 1000:.0f} ms)")
    print(f"{setup.checks} checks hold")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ctx", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--calls", type=int, default=50)
    setup = Setup(parser.parse_args())
    try:
        asyncio.run(run(setup))
    finally:
        shutil.rmtree(setup.cache, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
