import { createHash } from "node:crypto";
import { createMemoryStorage } from "@stackwright/storage/memory";
import type { FastifyInstance, LightMyRequestResponse } from "fastify";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { Role } from "../access/principal.ts";
import { packProvider } from "../testing/pack-provider.ts";
import {
  createRegistryFixture,
  type RegistryFixture,
  TEST_CONTEXT,
  TEST_REGION,
} from "../testing/registry-fixture.ts";
import { claimNamespace } from "./namespaces.ts";
import { publishPlugin } from "./publish-plugin.ts";
import { terraformPlugin } from "./terraform-plugin.ts";

type Caller = readonly [account: string, role: Role];
const ANN: Caller = ["ann", "admin"];
const BEN: Caller = ["ben", "admin"];
const OPERATOR: Caller = ["ops", "operator"];

describe("namespaces", () => {
  let fixture: RegistryFixture;
  let server: FastifyInstance;
  const limits = { maxArchiveBytes: 64 * 1024 };

  beforeEach(async () => {
    const storage = createMemoryStorage();
    fixture = await createRegistryFixture(storage, { reservedNamespaces: ["our-company"] });
    onTestFinished(async () => {
      await fixture[Symbol.asyncDispose]();
      await storage.close();
    });
    const { registry, authenticator } = fixture;
    const common = { registry, authenticator, region: TEST_REGION };
    server = fixture.server();
    await server.register(terraformPlugin, common);
    await server.register(publishPlugin, { ...common, limits, prefix: "/api" });
  });

  async function send(
    method: "GET" | "POST" | "PUT" | "DELETE",
    url: string,
    [account, role]: Caller,
    body?: object | Buffer,
  ): Promise<LightMyRequestResponse> {
    const type = Buffer.isBuffer(body) ? "application/zip" : "application/json";
    const headers = {
      ...(await fixture.authorization(account, role)),
      ...(body && { "content-type": type }),
    };
    return server.inject({ method, url, headers, ...(body && { payload: body }) });
  }

  /** The status, and the code of a refusal. */
  const outcome = async (...request: Parameters<typeof send>): Promise<unknown[]> => {
    const { statusCode, body } = await send(...request);
    const { error } = (body === "" ? {} : JSON.parse(body)) as { error?: { code: string } };
    return [statusCode, ...(error === undefined ? [] : [error.code])];
  };
  const claim = async (caller: Caller, name = "tools", body?: object): Promise<unknown[]> =>
    outcome("PUT", `/api/namespaces/${name}`, caller, body);
  const transfer = async (caller: Caller, account: string, name = "tools"): Promise<unknown[]> =>
    outcome("POST", `/api/namespaces/${name}/transfer`, caller, { account });
  const release = async (caller: Caller, name = "tools"): Promise<unknown[]> =>
    outcome("DELETE", `/api/namespaces/${name}`, caller);
  const publish = async (caller: Caller, version: string, archive: Buffer): Promise<unknown[]> =>
    outcome("PUT", `/api/providers/tools/thing/${version}/linux_amd64`, caller, archive);

  it("with well-known names are granted by operators, however they are spelled", async () => {
    for (const name of ["hashicorp", "aws", "huawei", "stackwright", "hashi-corp", "ourcompany"]) {
      expect([name, await claim(ANN, name)]).toEqual([name, [403, "REGISTRY_NAMESPACE_RESERVED"]]);
    }
    expect(await claim(ANN, "annes-aws")).toEqual([200]);
    expect(await claim(OPERATOR, "our-company", { account: "ann" })).toEqual([200]);
    expect(await claim(ANN, "our-company", { public: true })).toEqual([200]);
    expect(await transfer(ANN, "ben", "our-company")).toEqual([403, "REGISTRY_NAMESPACE_RESERVED"]);
    expect(await transfer(OPERATOR, "ben", "our-company")).toEqual([200]);
    expect(await claim(ANN, "our-company")).toEqual([409, "REGISTRY_NAMESPACE_TAKEN"]);
  });

  it("stay public when they are claimed again without saying so", async () => {
    const url = "/api/namespaces/tools";
    expect((await send("PUT", url, ANN, { public: true })).json()).toEqual({
      name: "tools",
      account: "ann",
      public: true,
      offered_to: null,
    });
    expect((await send("PUT", url, ANN)).json()).toMatchObject({ public: true });
    expect((await send("PUT", url, ANN, { public: false })).json()).toMatchObject({
      public: false,
    });
  });

  it("are released while they are empty, by their account and operators alone", async () => {
    await claim(ANN);
    expect(await release(BEN)).toEqual([404, "REGISTRY_NOT_FOUND"]);
    expect(await release(["ann", "publisher"])).toEqual([403, "REGISTRY_FORBIDDEN"]);
    expect(await claim(BEN)).toEqual([409, "REGISTRY_NAMESPACE_TAKEN"]);
    expect(await release(ANN)).toEqual([204]);
    expect(await release(ANN)).toEqual([404, "REGISTRY_NOT_FOUND"]);
    expect(await claim(BEN)).toEqual([200]);
    expect(await release(OPERATOR)).toEqual([204]);
  });

  it("are not released once something was published, as others could take their addresses", async () => {
    await claim(ANN);
    expect(await publish(ANN, "1.0.0", await packProvider("thing", Buffer.from("a")))).toEqual([
      201,
    ]);
    expect(await release(ANN)).toEqual([409, "REGISTRY_NAMESPACE_IN_USE"]);
    expect(await outcome("DELETE", "/api/providers/tools/thing/1.0.0", ANN)).toEqual([204]);
    expect(await release(ANN)).toEqual([409, "REGISTRY_NAMESPACE_IN_USE"]);
    expect(await release(OPERATOR)).toEqual([409, "REGISTRY_NAMESPACE_IN_USE"]);
  });

  it("pass to another account when that accepts, with their releases", async () => {
    const archive = await packProvider("thing", Buffer.from("a"));
    const sha256 = createHash("sha256").update(archive).digest("hex");
    await claim(ANN, "tools", { public: true });
    expect(await publish(ANN, "1.0.0", archive)).toEqual([201]);
    expect(await transfer(BEN, "ben")).toEqual([404, "REGISTRY_NOT_FOUND"]);
    expect(await transfer(ANN, "ben")).toEqual([200]);
    // Offered is not given: until ben accepts, it is ann's, who can think better of it.
    expect(await publish(BEN, "1.1.0", archive)).toEqual([404, "REGISTRY_NOT_FOUND"]);
    expect(await transfer(ANN, "ann")).toEqual([200]);
    expect(await claim(BEN)).toEqual([409, "REGISTRY_NAMESPACE_TAKEN"]);
    await transfer(ANN, "ben");
    expect((await send("GET", "/api/namespaces", BEN)).json()).toEqual({
      namespaces: [{ name: "tools", account: "ann", public: true, offered_to: "ben" }],
    });
    expect(await claim(["eve", "admin"])).toEqual([409, "REGISTRY_NAMESPACE_TAKEN"]);
    expect(await claim(BEN)).toEqual([200]);

    expect(await publish(ANN, "1.1.0", archive)).toEqual([404, "REGISTRY_NOT_FOUND"]);
    expect(await outcome("DELETE", "/api/providers/tools/thing/1.0.0", ANN)).toEqual([
      404,
      "REGISTRY_NOT_FOUND",
    ]);
    const download = "/terraform/v1/providers/tools/thing/1.0.0/download/linux/amd64";
    expect((await send("GET", download, BEN)).json()).toMatchObject({ shasum: sha256 });
    // A version stays what it was, also for the next owner.
    const other = await packProvider("thing", Buffer.from("b"));
    expect(await publish(BEN, "1.0.0", other)).toEqual([409, "REGISTRY_VERSION_EXISTS"]);
    expect(await publish(BEN, "1.1.0", other)).toEqual([201]);
    const versions = "/terraform/v1/providers/tools/thing/versions";
    const offered = (await send("GET", versions, ANN)).json<{ versions: { version: string }[] }>();
    expect(offered.versions.map(({ version }) => version)).toEqual(["1.1.0", "1.0.0"]);
    expect(await release(BEN)).toEqual([409, "REGISTRY_NAMESPACE_IN_USE"]);
    // There and back again.
    await transfer(BEN, "ann");
    expect(await claim(ANN)).toEqual([200]);
    expect(await publish(ANN, "1.2.0", other)).toEqual([201]);
    expect((await send("GET", "/api/namespaces", BEN)).json()).toEqual({ namespaces: [] });
  });

  it("are either released or published in, whatever comes at the same time", async () => {
    const archive = await packProvider("thing", Buffer.from("a"));
    for (let round = 0; round < 20; round += 1) {
      const name = `round${round}`;
      await claim(ANN, name);
      const target = `/api/providers/${name}/thing/1.0.0/linux_amd64`;
      const [published, released] = await Promise.all([
        outcome("PUT", target, ANN, archive),
        release(ANN, name),
      ]);
      expect(["201 409", "404 204"]).toContain(`${String(published[0])} ${String(released[0])}`);
    }
  });

  it("take archives up to the limit, its bound included", async () => {
    await claim(ANN);
    const pack = async (bytes: number): Promise<Buffer> => {
      const content = createHash("shake256", { outputLength: bytes }).update("x").digest();
      return packProvider("thing", content);
    };
    let size = limits.maxArchiveBytes;
    // What is packed around the content grows with it by a few bytes at most.
    for (let round = 0; round < 5; round += 1) {
      size += limits.maxArchiveBytes - (await pack(size)).byteLength;
    }
    const exact = await pack(size);
    expect(exact.byteLength).toBe(limits.maxArchiveBytes);
    expect(await publish(ANN, "1.0.0", exact)).toEqual([201]);
    const more = await pack(size + 1);
    expect(more.byteLength).toBeGreaterThan(limits.maxArchiveBytes);
    expect(await publish(ANN, "1.0.1", more)).toEqual([413, "REGISTRY_ARCHIVE_TOO_LARGE"]);
  });

  it("can be claimed by programs on the store, for which nothing is reserved that they grant", async () => {
    const { registry } = fixture;
    const name = "hashicorp";
    await expect(
      claimNamespace(registry, { name, account: "ann" }, TEST_CONTEXT),
    ).rejects.toMatchObject({ code: "REGISTRY_NAMESPACE_RESERVED" });
    const granted = { name, account: "ann", granted: true };
    expect(await claimNamespace(registry, granted, TEST_CONTEXT)).toMatchObject({ account: "ann" });
  });
});
