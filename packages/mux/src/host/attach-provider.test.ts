import { RpcError } from "@stackwright/proto/grpc";
import type { ProviderHandshakeRequest } from "@stackwright/proto/pulumirpc";
import { describe, expect, it } from "vitest";
import { serveResourceProvider } from "../grpc/resource-provider-server.ts";
import type { ResourceProvider } from "../resource-provider.ts";
import { unimplementedProvider } from "../unimplemented-provider.ts";
import { attachProvider, parseDebugProviders } from "./attach-provider.ts";

describe("parseDebugProviders", () => {
  it("reads packages and their ports", () => {
    expect([...parseDebugProviders("aws:5001, random:5002,")]).toEqual([
      ["aws", 5001],
      ["random", 5002],
    ]);
    expect(parseDebugProviders("").size).toBe(0);
  });

  it.each(["aws", "aws:", ":1", "aws:x", "aws:0", "aws:1:2", "aws:1,aws:2"])(
    "refuses %j",
    (text) => {
      expect(() => parseDebugProviders(text)).toThrow(
        expect.objectContaining({ code: "MUX_ATTACH_INVALID" }),
      );
    },
  );
});

async function serve(methods: Partial<ResourceProvider>) {
  const server = await serveResourceProvider({ ...unimplementedProvider(), ...methods });
  if ("socketPath" in server.address) throw new Error("expected a port");
  return Object.assign(server, { port: server.address.port });
}

describe("attaching", () => {
  const engineAddress = "127.0.0.1:9";

  it("shakes hands without folders, then says where the engine is", async () => {
    const seen: unknown[] = [];
    await using server = await serve({
      handshake: async (request: ProviderHandshakeRequest) => {
        seen.push(request);
        throw new RpcError("UNIMPLEMENTED", "an old one");
      },
      attach: async (request) => {
        seen.push(request);
        return {};
      },
    });
    await using attached = await attachProvider({ port: server.port, engineAddress });
    expect(attached.handshake).toBeUndefined();
    expect(seen).toMatchObject([
      { engineAddress, configureWithUrn: true },
      { address: engineAddress },
    ]);
    expect(Object.keys(seen[0] as object)).not.toContain("rootDirectory");
  });

  it("fails for a provider that does not know Attach", async () => {
    await using server = await serve({});
    await expect(attachProvider({ port: server.port, engineAddress })).rejects.toMatchObject({
      code: "MUX_ATTACH_FAILED",
    });
  });

  it("fails for a provider that refuses the handshake", async () => {
    await using server = await serve({
      handshake: () => Promise.reject(new RpcError("PERMISSION_DENIED", "not you")),
    });
    await expect(attachProvider({ port: server.port, engineAddress })).rejects.toMatchObject({
      code: "MUX_PROCESS_HANDSHAKE_FAILED",
    });
  });

  it("waits for a provider that is not ready yet", async () => {
    let asked = 0;
    await using server = await serve({
      handshake: () => {
        asked += 1;
        const code = asked < 3 ? "UNAVAILABLE" : "UNIMPLEMENTED";
        return Promise.reject(new RpcError(code, "starting"));
      },
      attach: async () => ({}),
    });
    await using attached = await attachProvider({ port: server.port, engineAddress });
    expect([asked, attached.handshake]).toEqual([3, undefined]);
  });

  it("gives up after its time where no server listens", async () => {
    const server = await serve({});
    await server.close();
    const attach = attachProvider({ port: server.port, engineAddress, timeoutMs: 200 });
    await expect(attach).rejects.toMatchObject({ code: "MUX_PROCESS_START_TIMEOUT" });
  });
});
