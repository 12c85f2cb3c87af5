import { createServerClient, type StackStatusChange } from "@stackwright/client";
import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";

/** The names of the events of a stream, with their data, until enough of them came. */
async function read(
  url: string,
  token: string,
  count: number,
  lastEventId = "",
  topics = "stacks",
) {
  const leave = new AbortController();
  const answer = await fetch(`${url}/api/v1/watch?topics=${topics}`, {
    headers: {
      authorization: `Bearer ${token}`,
      ...(lastEventId !== "" && { "last-event-id": lastEventId }),
    },
    signal: leave.signal,
  });
  expect(answer.headers.get("content-type")).toBe("text/event-stream");
  const events: { id: string; event: string; data: Record<string, unknown> }[] = [];
  let text = "";
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts.filter((one) => !one.startsWith(":"))) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(part)?.[1] ?? "";
      const data = JSON.parse(field("data")) as Record<string, unknown>;
      events.push({ id: field("id"), event: field("event"), data });
    }
    if (events.length >= count) break;
  }
  leave.abort();
  return events;
}

const names = (items: unknown) =>
  (items as readonly { project: string; name: string }[])
    .map(({ project, name }) => `${project}/${name}`)
    .toSorted();

it("a stream begins with a snapshot, and continues behind the last event without one", async () => {
  const { server, call, first } = await startApi("none");
  const { token } = first;
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const whole = async () => read(server.url, token, 3);
  await expect.poll(async () => (await whole())[0]?.data["count"]).toBe(1);
  const [begin, items, end] = await whole();
  expect([begin?.event, items?.event, end?.event]).toEqual([
    "snapshot-begin",
    "snapshot",
    "snapshot-end",
  ]);
  expect(names(items?.data["items"])).toEqual(["web/one"]);
  expect(end?.id).toMatch(/^[0-9a-f]{12}:stacks=\d+$/);

  await call("POST", `${P}/stacks`, { body: { name: "two" } });
  const [delta] = await read(server.url, token, 1, end?.id);
  expect(delta?.event).toBe("delta");
  expect(names(delta?.data["set"])).toEqual(["web/two"]);

  const elsewhere = `${"0".repeat(12)}:${end?.id.split(":")[1]}`;
  expect((await read(server.url, token, 1, elsewhere))[0]?.event).toBe("snapshot-begin");
});

it("a token of one project sees nothing of another one, in snapshots and in changes", async () => {
  const { server, call, tokenOf } = await startApi("none");
  const token = await tokenOf("reader", ["web"]);
  for (const project of ["web", "base"]) {
    const made = await call("POST", `/api/v1/projects/${project}/stacks`, {
      body: { name: "one" },
    });
    expect(made.status).toBe(201);
  }
  await expect.poll(async () => (await read(server.url, token, 1))[0]?.data["count"]).toBe(1);
  const events = read(server.url, token, 4);
  await call("POST", "/api/v1/projects/base/stacks", { body: { name: "hidden" } });
  await call("POST", `${P}/stacks`, { body: { name: "shown" } });
  expect(JSON.stringify(await events)).not.toContain("base");
  expect(JSON.stringify(await events)).toContain("shown");
});

it("a stream ends when its reader loses the role in one of its projects", async () => {
  const { server, call } = await startApi("none");
  await call("POST", "/api/v1/users", { body: { name: "bot", service: true } });
  for (const project of ["web", "base"]) {
    const place = `/api/v1/projects/${project}`;
    await call("POST", `${place}/stacks`, { body: { name: "one" } });
    await call("PUT", `${place}/roles/user/bot`, { body: { role: "viewer" } });
  }
  const made = await call("POST", "/api/v1/tokens", { body: { user: "bot", role: "viewer" } });
  const token = String(made.json["token"]);
  await expect.poll(async () => (await read(server.url, token, 1))[0]?.data["count"]).toBe(2);
  const stream = await fetch(`${server.url}/api/v1/watch?topics=stacks`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(stream.status).toBe(200);
  await call("DELETE", "/api/v1/projects/base/roles/user/bot");
  expect(await stream.text()).toContain("snapshot-end");
  const [begin, items] = await read(server.url, token, 3);
  expect(begin?.data["count"]).toBe(1);
  expect(names(items?.data["items"])).toEqual(["web/one"]);
});

it("several topics are one stream, with one position", async () => {
  const { server, call, upload, first } = await startApi("none");
  const { token } = first;
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const { digest } = (await upload()).json;
  const run = (await call("POST", `${S}/runs`, { body: { configuration: digest } })).json;
  const next = (await call("POST", `${S}/runs`, { body: { configuration: digest } })).json;
  const one = `run:${String(next["id"])}`;
  const topics = `runs,queue,${one},registry`;
  const whole = async () => {
    const events = await read(server.url, token, 11, "", topics);
    const items = (topic: string) =>
      events
        .filter(({ event, data }) => event === "snapshot" && data["topic"] === topic)
        .flatMap(({ data }) => data["items"] as Record<string, unknown>[]);
    return { events, items };
  };
  await expect.poll(async () => (await whole()).items("queue").length).toBe(2);
  const { events, items } = await whole();
  expect(items("runs").map(({ id }) => id)).toEqual([run["id"], next["id"]]);
  expect(items(one).map(({ id }) => id)).toEqual([next["id"]]);
  expect(items("queue").map(({ id, position }) => [id, position])).toEqual([
    [run["id"], 0],
    [next["id"], 1],
  ]);
  expect(items("registry")).toEqual([]);
  const end = events.at(-1)?.id ?? "";
  expect(end).toMatch(/^[0-9a-f]{12}:runs=\d+,queue=\d+,run:[0-9A-Z]{26}=\d+,registry=\d+$/);

  await call("POST", `${S}/runs/${String(next["id"])}/cancel`, { body: {} });
  const changes = await read(server.url, token, 3, end, topics);
  expect(changes.map(({ event, data }) => [event, data["topic"]])).toEqual(
    expect.arrayContaining([
      ["delta", "runs"],
      ["delta", "queue"],
      ["delta", one],
    ]),
  );
  // A topic that the position does not have begins with a snapshot, and the others continue.
  const [added] = await read(server.url, token, 1, end.replace(/,registry=\d+$/, ""), "registry");
  expect(added?.event).toBe("snapshot-begin");
});

it("a damaged position is no position", async () => {
  const { server, call, first } = await startApi("none");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const end = (await read(server.url, first.token, 3)).find(({ id }) => id !== "")?.id ?? "";
  const [epoch] = end.split(":");
  for (const position of [
    "",
    `${epoch}`,
    `${epoch}:`,
    `${epoch}:1`,
    `${epoch}:stacks=`,
    `${epoch}:stacks=-1`,
    `${epoch}:stacks=99999`,
    `${epoch}:runs=1`,
    `${epoch}:${"stacks=1,".repeat(600)}`,
  ]) {
    const [begin] = await read(server.url, first.token, 1, position);
    expect(begin?.event, position).toBe("snapshot-begin");
  }
});

it("other topics are refused, and the graph is for administrators", async () => {
  const { call, tokenOf } = await startApi("none");
  expect((await call("GET", "/api/v1/watch?topics=secrets")).status).toBe(400);
  expect((await call("GET", "/api/v1/watch")).status).toBe(400);
  expect((await call("GET", "/api/v1/watch?topics=stacks,,runs")).status).toBe(400);
  const many = Array.from({ length: 11 }, (_, index) => `run:R${index}`).join(",");
  expect((await call("GET", `/api/v1/watch?topics=${many}`)).status).toBe(400);
  const graph = await call("GET", "/api/v1/debug/krt");
  expect(graph.json["diagram"]).toContain("stack status");
  expect(graph.json["edges"]).toContainEqual(
    expect.objectContaining({ from: "stacks by id", to: "stack status", type: "input" }),
  );
  const viewer = await tokenOf("reader");
  expect((await call("GET", "/api/v1/debug/krt", { token: viewer })).status).toBe(403);

  // One view is of all accounts of a server: no account sees which objects are fetched.
  expect((await call("POST", `${P}/stacks`, { body: { name: "one" } })).status).toBe(201);
  const edges = async () => (await call("GET", "/api/v1/debug/krt")).json["edges"];
  const fetches = expect.objectContaining({ to: "stack status", type: "fetch", filters: ["key"] });
  await expect.poll(edges).toContainEqual(fetches);
  expect(JSON.stringify(await edges())).not.toContain("default/web");
});

it("administrators see which object's change made a status what it is", async () => {
  const { call } = await startApi("none");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  await call("POST", `${P}/stacks`, { body: { name: "two" } });
  const why = async (stack: string) =>
    call("GET", `/api/v1/debug/krt?stack=${encodeURIComponent(stack)}`);
  const one = `${P.replace("/api/v1/projects/", "")}/one`;
  await expect
    .poll(async () => (await why(one)).json["why"])
    .toMatchObject({ collection: "stack status", cause: { collection: "stacks by id" } });
  await call("PUT", `${P}/stacks/one/lock`, { body: { reason: "an incident" } });
  await expect
    .poll(async () => (await why(one)).json["why"])
    .toMatchObject({ cause: { collection: "locks" } });
  const { json } = await why(one);
  expect(JSON.stringify(json["why"])).not.toContain("an incident");
  expect(json["why"]).toMatchObject({
    dependencies: expect.arrayContaining([
      expect.objectContaining({ collection: "locks", matches: 1 }),
    ]) as unknown,
  });
  // Another stack is what it was.
  const other = (await why(one.replace("/one", "/two"))).json["why"];
  expect(other).toMatchObject({ cause: { collection: "stacks by id" } });
  expect((await why("default/none")).status).toBe(404);
});

it("administrators ask what an object depends on, who depends on it or waits for it, and its last changes", async () => {
  const { call, tokenOf } = await startApi("none");
  const { id } = (await call("POST", `${P}/stacks`, { body: { name: "one" } })).json;
  await call("POST", `${P}/stacks`, { body: { name: "two" } });
  const stack = `default/web/${String(id)}`;
  const ask = async (collection: string, key: string, token?: string) =>
    call("GET", `/api/v1/debug/krt/object?${String(new URLSearchParams({ collection, key }))}`, {
      token,
    });
  const known = async (collection: string, key = stack) => (await ask(collection, key)).json;
  await expect
    .poll(async () => known("stack status"))
    .toMatchObject({
      present: true,
      derived_from: { key: stack, cause: { collection: "stacks by id", key: stack } },
    });
  // The stack is not locked, and its status waits for that.
  const waiting = { collection: "stack status", key: stack };
  expect(await known("locks")).toEqual({
    collection: "locks",
    key: stack,
    present: false,
    dependants: [waiting],
    events: [],
  });
  await call("PUT", `${P}/stacks/one/lock`, { body: { reason: "an incident" } });
  await expect
    .poll(async () => known("locks"))
    .toMatchObject({
      present: true,
      dependants: [waiting],
      events: [{ type: "add", turn: expect.any(Number), at: expect.stringMatching(/Z$/) }],
    });
  await expect
    .poll(async () => known("stack status"))
    .toMatchObject({
      derived_from: {
        cause: { collection: "locks", key: stack },
        dependencies: expect.arrayContaining([
          { collection: "locks", filters: "key", matches: 1 },
        ]) as unknown,
      },
      events: [{ type: "update" }, { type: "add" }],
    });
  // What is taken in depends on it as what is fetched does.
  expect((await known("stacks by id"))["dependants"]).toContainEqual(waiting);
  expect(JSON.stringify(await known("stack status"))).not.toContain("an incident");

  const viewer = await tokenOf("reader");
  expect((await ask("locks", stack, viewer)).status).toBe(403);
  for (const [collection, key] of [
    ["none", stack],
    ["locks", "default/web/none"],
    // A key of another account, there or not.
    ["stack status", "other/web/one"],
    ["stack status", `other ${stack}`],
  ] as const) {
    expect([key, (await ask(collection, key)).status]).toEqual([key, 404]);
  }
});

it("a run is seen from its request to its end, without a second look", {
  timeout: 60_000,
}, async () => {
  const { server, call, upload, first } = await startApi();
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const { digest } = (await upload()).json;
  const client = createServerClient({ server: server.url, token: first.token });
  const stop = new AbortController();
  const phases: string[] = [];
  const watching = (async () => {
    for await (const change of client.watchStacks({ signal: stop.signal })) {
      const phase = phaseIn(change);
      if (phase !== undefined && phase !== phases.at(-1)) phases.push(phase);
      if (phase === "applied") return;
    }
  })();
  await call("POST", `${S}/runs`, { body: { configuration: digest, auto_apply: true } });
  await watching;
  stop.abort();
  const order = ["queued", "preparing", "planning", "planned", "approved", "applying", "applied"];
  const places = phases.map((phase) => order.indexOf(phase));
  expect(places.toSorted((a, b) => a - b)).toEqual(places);
  expect(phases.at(-1)).toBe("applied");
});

function phaseIn({ set }: StackStatusChange): string | undefined {
  return set.find(({ name }) => name === "one")?.newest?.phase;
}

it("reactions are what requests runs by itself: triggers, schedules, checks for drift and changes of providers", async () => {
  const { server, call, first, tokenOf } = await startApi("none");
  const { token } = first;
  const made = async (path: string, body: object, method = "POST") => {
    const answer = await call(method, path, { body });
    expect([answer.status, answer.text]).toEqual([
      expect.toBeOneOf([200, 201]),
      expect.any(String),
    ]);
    return answer.json;
  };
  await made(`${P}/stacks`, { name: "one" });
  await made("/api/v1/projects/base/stacks", { name: "network" });
  const trigger = await made(`${S}/triggers`, {
    producer: { project: "base", stack: "network" },
    mode: "apply",
  });
  const schedule = await made(`${S}/schedules`, {
    cron: "0 3 * * *",
    zone: "UTC",
    mode: "plan_only",
  });
  const rule = await made(`${S}/drift`, { every_minutes: 60 }, "PUT");
  await made(`${S}/provider-reaction`, { reaction: "plan" }, "PUT");
  const items = async (of = token) => {
    // Of nothing there is a beginning and an end.
    const events = await read(server.url, of, 2, "", "reactions");
    const found = events.flatMap(({ data }) => (data["items"] ?? []) as Record<string, unknown>[]);
    return found.toSorted((a, b) => (String(a["on"]) < String(b["on"]) ? -1 : 1));
  };
  const of = { project: "web", stack: "one", paused: false, due: false };
  await expect
    .poll(async () => items())
    .toEqual([
      { ...of, on: "drift", id: expect.stringMatching(/^drift-/), next_at: rule["next_at"] },
      { ...of, on: "outputs", id: trigger["id"], source: "base/network" },
      { ...of, on: "providers", id: expect.stringMatching(/^providers-/) },
      { ...of, on: "time", id: schedule["id"], next_at: schedule["next_at"] },
    ]);
  expect(await items(await tokenOf("reader", ["base"]))).toEqual([]);

  const [, , end] = await read(server.url, token, 3, "", "reactions");
  const paused = `${S}/schedules/${String(schedule["id"])}`;
  await call("PATCH", paused, { body: { paused: true }, headers: { "if-match": "*" } });
  const [delta] = await read(server.url, token, 1, end?.id, "reactions");
  expect(delta).toMatchObject({ event: "delta", data: { set: [{ on: "time", paused: true }] } });
  await call("DELETE", `${S}/drift`);
  await expect.poll(async () => (await items()).map(({ on }) => on)).not.toContain("drift");
});

it("the resources of a stack are followed by those who see it, from its first to its last one, without values", {
  timeout: 60_000,
}, async () => {
  const { server, call, upload, first, tokenOf } = await startApi();
  const apply = async (input: string, count: number, stack = "one") => {
    const main = `resource "terraform_data" "web" {\n  count = ${count}\n  input = "${input}"\n}\n`;
    const { digest } = (await upload({ "main.tf": main }, stack)).json;
    const at = `${P}/stacks/${stack}/runs`;
    const run = await call("POST", at, { body: { configuration: digest, auto_apply: true } });
    expect([run.status, run.text]).toEqual([201, expect.any(String)]);
    const phase = async () => (await call("GET", `${at}/${String(run.json["id"])}`)).json["phase"];
    await expect.poll(phase, { timeout: 30_000 }).toBe("applied");
  };
  const topic = "resources:web/one";
  const addresses = (items: unknown) =>
    (items as readonly { address: string }[]).map(({ address }) => address).toSorted();
  // Before there is such a stack there is nothing, and no error that says so.
  const [none] = await read(server.url, first.token, 2, "", topic);
  expect(none?.data).toMatchObject({ topic, count: 0 });

  for (const name of ["one", "two"]) await call("POST", `${P}/stacks`, { body: { name } });
  const client = createServerClient({ server: server.url, token: first.token });
  const stop = new AbortController();
  const known = new Map<string, string>();
  const seen: string[] = [];
  const watching = (async () => {
    for await (const change of client.watchTopics([topic], { signal: stop.signal })) {
      if (change.type === "snapshot") known.clear();
      for (const { id, address, phase } of change.set) {
        known.set(id, `${address} ${phase}`);
        seen.push(phase);
      }
      for (const id of change.delete) known.delete(id);
    }
  })();
  const present = () => [...known.values()].toSorted();
  await apply("secret-one", 3);
  await apply("secret-other", 1, "two");
  await expect
    .poll(present)
    .toEqual([0, 1, 2].map((index) => `terraform_data.web[${index}] ready`));
  expect(seen).toContain("creating");
  await apply("secret-one", 1);
  await expect.poll(present).toEqual(["terraform_data.web[0] ready"]);

  const [begin, items, last] = await read(server.url, first.token, 3, "", topic);
  expect(begin?.data["count"]).toBe(1);
  expect(items?.data["items"]).toEqual([
    {
      id: expect.any(String),
      project: "web",
      stack: "one",
      address: "terraform_data.web[0]",
      type: "terraform_data",
      data: false,
      phase: "ready",
      provider: "terraform.io/builtin/terraform",
      provider_version: expect.any(String),
    },
  ]);
  await apply("secret-one", 2);
  const deltas = await read(server.url, first.token, 1, last?.id, topic);
  expect(deltas[0]?.event).toBe("delta");
  expect(addresses(deltas[0]?.data["set"])).toEqual(["terraform_data.web[1]"]);
  expect(JSON.stringify(deltas)).not.toContain("secret-");
  stop.abort();
  await expect(watching).rejects.toThrow();

  // As for the stack itself: nothing of other projects and other stacks.
  const elsewhere = await tokenOf("reader", ["base"]);
  expect((await read(server.url, elsewhere, 2, "", topic))[0]?.data["count"]).toBe(0);
  const user = await call("POST", "/api/v1/users", { body: { name: "bot", service: true } });
  expect(user.status).toBe(201);
  await call("PUT", `${P}/roles/user/bot`, { body: { role: "viewer" } });
  const body = { user: "bot", role: "viewer", stacks: ["web/two"] };
  const limited = String((await call("POST", "/api/v1/tokens", { body })).json["token"]);
  expect((await read(server.url, limited, 2, "", topic))[0]?.data["count"]).toBe(0);
  const own = await read(server.url, limited, 3, "", "resources:web/two");
  expect(own[0]?.data["count"]).toBe(1);
  const both = await call("GET", `/api/v1/watch?topics=${topic},stacks`, { token: limited });
  expect(both.status).toBe(403);
  for (const wrong of ["resources:", "resources:web", "resources:web/one/two", "resources:/one"]) {
    expect([wrong, (await call("GET", `/api/v1/watch?topics=${wrong}`)).status]).toEqual([
      wrong,
      400,
    ]);
  }
});
