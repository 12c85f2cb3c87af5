import type { Clock } from "@stackwright/base/clock";
import { RpcError } from "@stackwright/proto/grpc";
import { structFromJson, structToJson } from "@stackwright/proto/property";
import { ConfigureRequest, CreateRequest } from "@stackwright/proto/pulumirpc";
import { describe, expect, it } from "vitest";
import { createMux } from "./mux.ts";
import type { MuxServer } from "./mux-options.ts";
import type { ResourceProvider } from "./resource-provider.ts";
import { unimplementedProvider } from "./unimplemented-provider.ts";

/** A clock whose timers are fired by hand, all that wait at once. */
function manualClock() {
  const timers = new Map<() => void, number>();
  const clock: Clock = {
    monotonicMs: () => 0,
    wallMs: () => 0,
    after: (delayMs, task) => {
      timers.set(task, delayMs);
      return { [Symbol.dispose]: () => void timers.delete(task) };
    },
  };
  const fire = async (): Promise<number[]> => {
    const due = [...timers];
    timers.clear();
    for (const [callback] of due) callback();
    await new Promise((resolve) => setImmediate(resolve));
    return due.map(([, delayMs]) => delayMs);
  };
  return { clock, fire, timers };
}

interface Given {
  readonly tokens?: readonly string[];
  readonly schema?: () => Promise<string>;
}

/** A server that notes what it is called for. */
function server(name: string, { tokens = [`p:index:${name}`], schema }: Given = {}) {
  const said: string[] = [];
  const text = JSON.stringify({
    name: "p",
    config: { variables: { [`${name}Key`]: { type: "string" } } },
    resources: Object.fromEntries(tokens.map((token) => [token, {}])),
  });
  const provider: ResourceProvider = {
    ...unimplementedProvider(),
    getSchema: async () => ({ schema: schema === undefined ? text : await schema() }),
    configure: async ({ args }) => {
      said.push(`configure ${JSON.stringify(structToJson(args ?? new Uint8Array()))}`);
      return {
        acceptSecrets: true,
        supportsPreview: true,
        acceptResources: true,
        acceptOutputs: true,
        supportsAutonamingConfiguration: true,
      };
    },
    create: async () => ({ id: name, properties: undefined, refreshBeforeUpdate: false }),
  };
  let connects = 0;
  const entry: MuxServer = {
    name,
    connect: () => {
      connects++;
      return provider;
    },
  };
  return Object.assign(entry, { said, text, connects: () => connects });
}

const creates = (type: string) =>
  CreateRequest.create({ urn: `urn:pulumi:dev::shop::${type}::thing` });

/** A server that gives no schema until `repair` is called. */
function broken(name: string, tokens?: readonly string[]) {
  let isBroken = true;
  const healthy = server(name, tokens && { tokens });
  const made = server(name, {
    ...(tokens && { tokens }),
    schema: async () => {
      if (isBroken) throw new RpcError("UNAVAILABLE", "connection refused");
      return healthy.text;
    },
  });
  return Object.assign(made, {
    repair: () => {
      isBroken = false;
    },
  });
}

describe("a degraded start", () => {
  it("is refused by default, with the name of the server", async () => {
    await expect(createMux({ servers: [server("one"), broken("two")] })).rejects.toMatchObject({
      code: "MUX_SCHEMA_UNAVAILABLE",
      server: "two",
    });
  });

  it("leaves a server without a schema out, and brings it in, configured, when it has one", async () => {
    const { clock, fire } = manualClock();
    const two = broken("two");
    const three = server("three");
    await using mux = await createMux({
      servers: [server("one"), two, three],
      degradedStart: true,
      clock,
    });
    await mux.configure(ConfigureRequest.create({ args: structFromJson({ twoKey: "2" }) }), {});
    expect(await mux.create(creates("p:index:three"), {})).toMatchObject({ id: "three" });
    await expect(mux.create(creates("p:index:two"), {})).rejects.toMatchObject({
      code: "MUX_SERVER_UNAVAILABLE",
      retryable: true,
      token: "p:index:two",
      message: expect.stringMatching(/p:index:two.*two$/),
    });
    expect(mux.status.servers.map(({ name, health }) => [name, health])).toEqual([
      ["one", "ready"],
      ["three", "ready"],
      ["two", "absent"],
    ]);
    expect(mux.status.servers[2]?.reason).toMatch(/two.*connection refused/);

    expect(await fire()).toEqual([1000]);
    expect(await fire()).toEqual([2000]);
    two.repair();
    expect(await fire()).toEqual([4000]);
    expect(await mux.create(creates("p:index:two"), {})).toMatchObject({ id: "two" });
    expect(mux.status.servers.map(({ name }) => name)).toEqual(["one", "two", "three"]);
    expect(two.said).toEqual(['configure {"twoKey":"2"}']);
    expect(two.connects(), "connected once").toBe(1);
    expect(await fire()).toEqual([]);
    await expect(mux.create(creates("p:index:none"), {})).rejects.toMatchObject({
      code: "MUX_TOKEN_UNKNOWN",
    });
  });

  it("gives a server that comes late the place, and so the tokens, that it has in the list", async () => {
    const { clock, fire } = manualClock();
    const shared = ["p:index:shared"];
    const first = broken("first", shared);
    await using mux = await createMux({
      servers: [first, server("second", { tokens: shared })],
      degradedStart: true,
      clock,
    });
    expect(await mux.create(creates("p:index:shared"), {})).toMatchObject({ id: "second" });
    first.repair();
    await fire();
    expect(await mux.create(creates("p:index:shared"), {})).toMatchObject({ id: "first" });
  });

  it("tries to connect again what could not be connected, and leaves out a schema that is none", async () => {
    const { clock, fire } = manualClock();
    let refusals = 2;
    const two = server("two");
    const flaky: MuxServer = {
      name: "two",
      connect: (host) => {
        if (refusals-- > 0) throw new Error("cannot start");
        return two.connect(host);
      },
    };
    const odd = server("odd", { schema: async () => "no JSON" });
    await using mux = await createMux({
      servers: [server("one"), flaky, odd],
      degradedStart: true,
      clock,
    });
    await fire();
    await fire();
    expect(await mux.create(creates("p:index:two"), {})).toMatchObject({ id: "two" });
    expect(mux.status.servers.map(({ health }) => health)).toEqual(["ready", "ready", "absent"]);
  });

  it("needs one server, and no table", async () => {
    await expect(
      createMux({ servers: [broken("one")], degradedStart: true }),
    ).rejects.toMatchObject({ code: "MUX_SCHEMA_UNAVAILABLE", server: "one" });
    const dispatchTable = { resources: new Map(), functions: new Map() };
    await expect(
      createMux({ servers: [server("one")], degradedStart: true, dispatchTable, schema: "{}" }),
    ).rejects.toMatchObject({ code: "MUX_OPTIONS_INVALID" });
  });

  it("lets an absent server be removed or replaced, and its name not be used twice", async () => {
    const { clock, fire, timers } = manualClock();
    const mux = await createMux({
      servers: [broken("zero"), server("one"), broken("two")],
      degradedStart: true,
      clock,
    });
    await expect(mux.addServer(server("two"))).rejects.toMatchObject({
      code: "MUX_OPTIONS_INVALID",
    });
    await mux.removeServer("zero");
    await mux.replaceServer("two", server("other", { tokens: ["p:index:two"] }));
    expect(await mux.create(creates("p:index:two"), {})).toMatchObject({ id: "other" });
    expect(mux.status.servers.map(({ name }) => name)).toEqual(["one", "other"]);
    expect(await fire()).toEqual([]);
    await mux.close();
    expect(timers.size).toBe(0);
  });

  it("ends its attempts with the mux", async () => {
    const { clock, timers } = manualClock();
    const mux = await createMux({
      servers: [server("one"), broken("two")],
      degradedStart: true,
      clock,
    });
    expect(timers.size).toBe(1);
    await mux.close();
    expect(timers.size).toBe(0);
  });
});
