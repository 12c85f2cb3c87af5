import { createManualClock } from "@stackwright/base/testing";
import { describe, expect, it } from "vitest";
import { createServerClient } from "./client.ts";
import { OPERATIONS } from "./gen/api.ts";
import { requestOf } from "./request-of.ts";

interface Sent {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

type Reply = (signal: AbortSignal | undefined) => Response | Promise<Response>;

/** A client whose requests are answered in order; after the last reply it is repeated. */
function clientOf(...replies: Reply[]) {
  const sent: Sent[] = [];
  const clock = createManualClock();
  const client = createServerClient({
    server: "https://stackwright.example.com/",
    token: "t",
    clock,
    random: () => 0,
    nextKey: () => `key-${sent.length}`,
    fetch: async (input, init) => {
      const { method = "", headers, body, signal } = init ?? {};
      sent.push({ url: input as string, method, headers: headers as Sent["headers"], body });
      const reply = replies[Math.min(sent.length, replies.length) - 1];
      if (reply === undefined) throw new Error("no reply");
      return Promise.race([reply(signal ?? undefined), abortOf(signal)]);
    },
  });
  return { client, clock, sent };
}

function abortOf(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

const json = (body: unknown, init: ResponseInit = {}): Reply => {
  return () => Response.json(body, init);
};
const problem = (status: number, code: string, headers: Record<string, string> = {}): Reply =>
  json(
    { code, detail: `about ${code}`, status },
    {
      status,
      headers: { "content-type": "application/problem+json", ...headers },
    },
  );
const refused: Reply = () => {
  throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
};
const cut: Reply = () => {
  throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
};
const RUN = { project: "web", stack: "one", run: "r" };

describe("a call", () => {
  it("puts its input in path, query, headers and body", async () => {
    const { client, sent } = clientOf(json({ id: "1" }, { status: 201, headers: { etag: '"v"' } }));
    const made = await client.createRun({
      project: "a/b",
      stack: "one",
      body: { configuration: "c" },
    });
    expect(made).toMatchObject({ status: 201, data: { id: "1" }, etag: '"v"', isReplay: false });
    await client.setVariable({
      project: "web",
      stack: "one",
      category: "env",
      key: "K",
      ifMatch: '"v"',
      body: { value: "x" },
    });
    await client.listRuns({ project: "web", stack: "one", limit: 5, after: "a b" });
    const server = "https://stackwright.example.com/api/v1/projects";
    expect(sent).toMatchObject([
      {
        url: `${server}/a%2Fb/stacks/one/runs`,
        method: "POST",
        headers: { authorization: "Bearer t", "idempotency-key": "key-0" },
        body: '{"configuration":"c"}',
      },
      { url: `${server}/web/stacks/one/variables/env/K`, headers: { "if-match": '"v"' } },
      { url: `${server}/web/stacks/one/runs?limit=5&after=a+b`, method: "GET", body: undefined },
    ]);
  });

  it("refuses names that would make another path", async () => {
    const { client, sent } = clientOf(json({}));
    for (const project of ["", ".", ".."]) {
      await expect(client.listStacks({ project })).rejects.toMatchObject({
        code: "CLIENT_INVALID_ARGUMENT",
      });
    }
    expect(sent).toEqual([]);
  });

  it("repeats reads and keyed requests with one key, after the pause that the server asks for", async () => {
    const { client, clock, sent } = clientOf(
      cut,
      problem(503, "store_unavailable", { "retry-after": "7" }),
      json({ id: "1" }, { status: 201, headers: { "idempotency-replayed": "true" } }),
    );
    const made = client.createRun({ project: "web", stack: "one", body: { configuration: "c" } });
    await expect.poll(() => sent.length).toBe(1);
    await clock.advance(200);
    await expect.poll(() => sent.length).toBe(2);
    await clock.advance(6_999);
    expect(sent).toHaveLength(2);
    await clock.advance(1);
    expect((await made).isReplay).toBe(true);
    expect(new Set(sent.map(({ headers }) => headers["idempotency-key"]))).toEqual(
      new Set(["key-0"]),
    );
  });

  it("does not repeat an approval whose outcome is unknown, as older servers ignore its key, and repeats one that was never received", async () => {
    const body = { plan_digest: "d" };
    const lost = clientOf(cut);
    await expect(lost.client.approveRun({ ...RUN, body })).rejects.toMatchObject({
      code: "CLIENT_UNREACHABLE",
      retryable: true,
    });
    expect(lost.sent.map(({ headers }) => headers["idempotency-key"])).toEqual(["key-0"]);

    const { client, clock, sent } = clientOf(refused, json({ phase: "approved" }, { status: 201 }));
    const approved = client.approveRun({ ...RUN, body });
    await expect.poll(() => sent.length).toBe(1);
    await clock.advance(200);
    expect((await approved).data.phase).toBe("approved");
    const keys = sent.map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toEqual(["key-0", "key-0"]);
  });

  it("repeats of the POSTs whose outcome is unknown those alone whose keys every server takes", async () => {
    // Has each parameter of a path.
    const input = new Proxy({}, { get: () => "a" });
    const repeated = Object.entries(OPERATIONS).flatMap(([name, operation]) => {
      if (operation.method !== "POST" || operation.upload !== undefined) return [];
      return requestOf(name, operation, input, () => "k").isRepeatable ? [name] : [];
    });
    expect(repeated).toEqual(["CreatePlanSet", "CreateRun", "RetryRun"]);
  });

  it("does not repeat a change without a key whose outcome is unknown, and repeats one that was never received", async () => {
    const lost = clientOf(cut);
    const lock = { project: "web", stack: "one", body: { reason: "r" } };
    await expect(lost.client.lockStack(lock)).rejects.toMatchObject({
      code: "CLIENT_UNREACHABLE",
      retryable: true,
    });
    expect(lost.sent).toHaveLength(1);

    const { client, clock, sent } = clientOf(refused, json({ reason: "r" }, { status: 201 }));
    const locked = client.lockStack(lock);
    await expect.poll(() => sent.length).toBe(1);
    await clock.advance(200);
    expect((await locked).status).toBe(201);
  });

  it("ends with the problem of the server, which says whether another attempt is worth it", async () => {
    const { client, sent } = clientOf(problem(409, "plan_changed"));
    await expect(client.showRun(RUN)).rejects.toMatchObject({
      name: "ClientError",
      code: "plan_changed",
      status: 409,
      retryable: false,
      message: "about plan_changed",
    });
    expect(sent).toHaveLength(1);
  });

  it("names answers that are not of the API", async () => {
    for (const [reply, code, retryable] of [
      [() => new Response("<html>", { status: 502 }), "CLIENT_UNAVAILABLE", true],
      [() => new Response("<html>", { status: 200 }), "CLIENT_UNEXPECTED_ANSWER", false],
      [() => new Response("", { status: 404 }), "CLIENT_UNEXPECTED_ANSWER", false],
      [
        () => new Response("", { status: 302, headers: { location: "https://elsewhere" } }),
        "CLIENT_UNEXPECTED_ANSWER",
        false,
      ],
    ] as const) {
      const { client, clock } = clientOf(reply);
      const failed = client.listProjects({}).catch((error: unknown) => error);
      for (let pause = 0; pause < 5; pause += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        await clock.advance(5_000);
      }
      expect(await failed).toMatchObject({ code, retryable });
    }
  });

  it("ends at its deadline, and with the reason of its signal", async () => {
    const never: Reply = () => new Promise<never>(() => undefined);
    const late = clientOf(never);
    const timed = late.client.listProjects({}, { timeoutMs: 1_000 });
    const ended = expect(timed).rejects.toMatchObject({ code: "CLIENT_TIMEOUT" });
    await expect.poll(() => late.sent.length).toBe(1);
    await late.clock.advance(1_000);
    await ended;

    const stop = new AbortController();
    const stopped = clientOf(never).client.listProjects({}, { signal: stop.signal });
    stop.abort(new Error("stopped"));
    await expect(stopped).rejects.toThrow("stopped");
  });

  it("follows cursors to the last page", async () => {
    const { client, sent } = clientOf(
      json({ runs: [{ id: "1" }, { id: "2" }], next: "n" }),
      json({ runs: [{ id: "3" }] }),
    );
    const ids: string[] = [];
    for await (const { id } of client.each("ListRuns", { project: "web", stack: "one" })) {
      ids.push(id);
    }
    expect(ids).toEqual(["1", "2", "3"]);
    expect(sent[1]?.url).toContain("after=n");
  });

  it.each(["ftp://host", "host", "https://user@host", "https://host?x=1"])(
    "refuses the address %s",
    (server) => {
      expect(() => createServerClient({ server, token: "t" })).toThrow(
        expect.objectContaining({ code: "CLIENT_INVALID_ARGUMENT" }),
      );
    },
  );
});

describe("the events of a run", () => {
  const line = (seq: number, type = "log"): string =>
    `id: r:${seq}\nevent: ${type}\ndata: ${JSON.stringify({ seq, at: 1, type })}\n\n`;
  const stream = (...parts: readonly string[]): Reply => {
    return () => new Response(parts.join(""), { headers: { "content-type": "text/event-stream" } });
  };
  const seqsOf = async (
    { client, clock, sent }: ReturnType<typeof clientOf>,
    attempts: number,
  ): Promise<readonly number[]> => {
    const seqs: number[] = [];
    const read = (async () => {
      for await (const { seq } of client.followRun(RUN)) seqs.push(seq);
    })();
    // It may fail while the clock is still advanced; what failed is thrown below.
    read.catch(() => undefined);
    for (let wanted = 2; wanted <= attempts; wanted += 1) {
      await expect
        .poll(async () => {
          await clock.advance(5_000);
          return sent.length;
        })
        .toBeGreaterThanOrEqual(wanted);
    }
    await read;
    return seqs;
  };

  it("come once and in order over connections that are cut, closed and refused", async () => {
    const fixture = clientOf(
      stream("retry: 2000\n\n", line(1), line(2), 'id: r:3\nevent: log\ndata: {"seq":'),
      problem(503, "draining"),
      cut,
      stream(line(2), line(3), "event: reconnect\ndata: {}\n\n"),
      stream(": \n\n", line(4), line(5, "end"), line(6)),
    );
    expect(await seqsOf(fixture, 5)).toEqual([1, 2, 3, 4, 5]);
    expect(fixture.sent.map(({ headers }) => headers["last-event-id"])).toEqual([
      undefined,
      "r:2",
      "r:2",
      "r:2",
      "r:3",
    ]);
  });

  it("continue behind events that are stored no longer", async () => {
    const gap = 'event: gap\ndata: {"type":"gap","from":2,"to":5}\n\n';
    const end = 'id: r:5\nevent: end\ndata: {"seq":5,"type":"end","pruned":true}\n\n';
    const { client } = clientOf(stream(line(1), gap, end));
    const seen: [number, string][] = [];
    for await (const { seq, type } of client.followRun(RUN)) seen.push([seq, type]);
    expect(seen).toEqual([
      [1, "log"],
      [4, "gap"],
      [5, "end"],
    ]);
  });

  it("continue behind log lines that were dropped, once over a new connection", async () => {
    const dropped = 'id: r:2\nevent: gap\ndata: {"seq":2,"at":1,"type":"gap","dropped":7}\n\n';
    const fixture = clientOf(stream(line(1), dropped), stream(dropped, line(3), line(4, "end")));
    expect(await seqsOf(fixture, 2)).toEqual([1, 2, 3, 4]);
  });

  it("end where the server has nothing further", async () => {
    const fixture = clientOf(stream(line(1)), () => new Response(null, { status: 204 }));
    expect(await seqsOf(fixture, 2)).toEqual([1]);
  });

  it("end with the error of a server that refuses, and where an event is missing", async () => {
    for (const [replies, code] of [
      [[stream(line(1)), problem(401, "unauthenticated")], "unauthenticated"],
      [[stream(line(1), line(3))], "CLIENT_UNEXPECTED_ANSWER"],
      [[stream("data: {}\n\n")], "CLIENT_UNEXPECTED_ANSWER"],
      [[json({})], "CLIENT_UNEXPECTED_ANSWER"],
    ] as const) {
      const fixture = clientOf(...replies);
      await expect(seqsOf(fixture, replies.length)).rejects.toMatchObject({ code });
    }
  });

  it("end once the server was away for too long", async () => {
    const { client, clock, sent } = clientOf(refused);
    const read = (async () => {
      for await (const _ of client.followRun({ ...RUN, giveUpMs: 20_000 })) continue;
    })();
    const failed = expect(read).rejects.toMatchObject({ code: "CLIENT_UNREACHABLE" });
    await expect
      .poll(async () => {
        await clock.advance(5_000);
        return clock.monotonicMs();
      })
      .toBeGreaterThan(40_000);
    await failed;
    expect(sent.length).toBeGreaterThan(4);
  });

  it("open another connection where one is silent", async () => {
    const silent: Reply = (signal) =>
      new Response(
        new ReadableStream({
          start: (controller) => {
            controller.enqueue(new TextEncoder().encode(line(1)));
            signal?.addEventListener("abort", () => controller.error(signal.reason));
          },
        }),
        { headers: { "content-type": "text/event-stream" } },
      );
    const fixture = clientOf(silent, stream(line(2, "end")));
    expect(await seqsOf(fixture, 2)).toEqual([1, 2]);
    expect(fixture.clock.monotonicMs()).toBeGreaterThanOrEqual(45_000);
  });
});
