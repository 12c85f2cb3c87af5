import * as t6 from "@stackwright/proto/tfplugin6";
import { describe, expect, it } from "vitest";
import { attachTerraformProvider, parseReattachProviders } from "../launch/index.ts";
import { startReattachServer } from "../serve/index.ts";
import type { PluginTransport } from "../transport/plugin-transport.ts";
import { createPluginMux } from "./index.ts";

/* Streams of all kinds through a mux behind a real socket. */

const CHUNKS = 64;
const ADDRESS = "example.com/test/stores";

/** A server with one state store and one kind of list; it notes what it took. */
function storing(taken: number[], name: string): PluginTransport {
  const close = async () => Promise.resolve();
  return {
    protocol: 6,
    unary: async () =>
      Promise.resolve(
        t6.GetMetadata_Response.encode(
          t6.GetMetadata_Response.fromPartial({
            stateStores: [{ typeName: `${name}_store` }],
            listResources: [{ typeName: `${name}_list` }],
          }),
        ).finish(),
      ),
    async *stream() {
      for (let i = 0; i < CHUNKS; i += 1) {
        const event = t6.ListResource_Event.fromPartial({ displayName: `${name} ${i}` });
        yield await Promise.resolve(t6.ListResource_Event.encode(event).finish());
      }
    },
    async clientStream(_method, requests) {
      for await (const bytes of requests) {
        taken.push(t6.WriteStateBytes_RequestChunk.decode(bytes).bytes.length);
      }
      return t6.WriteStateBytes_Response.encode({ diagnostics: [] }).finish();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function connect(provider: PluginTransport) {
  const stack = new AsyncDisposableStack();
  const server = stack.use(await startReattachServer({ name: ADDRESS, provider }));
  const target = parseReattachProviders(server.variable.TF_REATTACH_PROVIDERS).get(ADDRESS);
  if (target === undefined) throw new Error("there is no target");
  const transport = stack.use(await attachTerraformProvider({ target, name: ADDRESS }));
  return { transport, [Symbol.asyncDispose]: async () => stack.disposeAsync() };
}

async function* chunks(typeName: string | undefined, sent: { count: number }) {
  for (let i = 0; i < CHUNKS; i += 1) {
    const meta = i === 0 && typeName !== undefined ? { meta: { typeName, stateId: "s" } } : {};
    const chunk = t6.WriteStateBytes_RequestChunk.fromPartial({
      ...meta,
      bytes: new Uint8Array(i),
    });
    sent.count += 1;
    yield await Promise.resolve(t6.WriteStateBytes_RequestChunk.encode(chunk).finish());
  }
}

describe("a mux behind a socket", () => {
  it("sends what a caller streams to the owner of the store, in order", async () => {
    const [one, two]: [number[], number[]] = [[], []];
    const mux = createPluginMux([
      { name: "one", transport: storing(one, "a") },
      { name: "two", transport: storing(two, "b") },
    ]);
    await using connected = await connect(mux);
    const sent = { count: 0 };
    const { clientStream } = connected.transport;
    const reply = await clientStream?.("WriteStateBytes", chunks("b_store", sent), {});
    expect(t6.WriteStateBytes_Response.decode(reply ?? new Uint8Array()).diagnostics).toEqual([]);
    expect(one).toEqual([]);
    expect(two).toEqual(Array.from({ length: CHUNKS }, (_, i) => i));
  });

  it.each([
    ["c_store", "State Store Not Implemented"],
    [undefined, "Invalid State Stream"],
  ])("refuses a stream for %s without reading all of it", async (typeName, summary) => {
    const mux = createPluginMux([{ name: "one", transport: storing([], "a") }]);
    const sent = { count: 0 };
    const reply = await mux.clientStream?.("WriteStateBytes", chunks(typeName, sent), {});
    const { diagnostics } = t6.WriteStateBytes_Response.decode(reply ?? new Uint8Array());
    expect(diagnostics).toMatchObject([{ summary }]);
    expect(sent.count).toBe(1);
  });

  it("passes on what a server streams, and stops it when the caller has enough", async () => {
    const mux = createPluginMux([{ name: "one", transport: storing([], "a") }]);
    await using connected = await connect(mux);
    const request = t6.ListResource_Request.encode(
      t6.ListResource_Request.fromPartial({ typeName: "a_list" }),
    ).finish();
    const all: string[] = [];
    for await (const bytes of connected.transport.stream?.("ListResource", request, {}) ?? []) {
      all.push(t6.ListResource_Event.decode(bytes).displayName);
    }
    expect(all).toEqual(Array.from({ length: CHUNKS }, (_, i) => `a ${i}`));
    let seen = 0;
    for await (const _ of connected.transport.stream?.("ListResource", request, {}) ?? []) {
      seen += 1;
      if (seen === 3) break;
    }
    expect(seen).toBe(3);
  });
});
