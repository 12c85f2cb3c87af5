import { randomBytes } from "node:crypto";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createStoredKeys,
  keyEncryptionKey,
  openStore,
  parseStoreAddress,
} from "@stackwright/core";
import { expect, it, onTestFinished } from "vitest";
import { serve } from "../../serve.ts";
import { P, S, startApi } from "../../testing/start-api.ts";

type Api = Awaited<ReturnType<typeof startApi>>;

async function prepare(api: Api, keys?: string) {
  const { call, upload } = api;
  await call("POST", "/api/v1/projects", { body: { name: "web", ...(keys && { keys }) } });
  const made = await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const { digest: configuration } = (await upload()).json;
  const change = async (mode: string) =>
    call("PATCH", P, {
      body: { keys: mode },
      headers: { "if-match": (await call("GET", P)).headers.get("etag") ?? "*" },
    });
  const request = async (mode = "apply") =>
    call("POST", `${S}/runs`, { body: { configuration, mode } });
  const setSecret = async () =>
    call("PUT", `${S}/variables/terraform/word`, { body: { value: "canary", sensitive: true } });
  return { change, request, setSecret, stack: String(made.json["id"]) };
}

/** Data keys that a command has made for a stack with a key of its own. */
async function keysOfCommand({ server, first, directory }: Api, stack: string): Promise<void> {
  const address = parseStoreAddress(server.storageAddress ?? "", directory);
  const options = { blobDirectory: directory, token: first.token };
  await using store = await openStore(address, options);
  const current = keyEncryptionKey(randomBytes(32));
  const reference = { account: "default", project: "web", stack };
  await createStoredKeys({ storage: store.storage, current }).ensure(reference);
}

it("a project that keeps keys from the server has no run and no secret of it, and says how that changes", async () => {
  const api = await startApi("none");
  const { change, request, setSecret } = await prepare(api, "client");
  expect((await api.call("GET", P)).json["keys"]).toBe("client");
  for (const mode of ["apply", "plan_only", "destroy", "refresh_only"]) {
    const { status, json } = await request(mode);
    expect([mode, status, json["code"]]).toEqual([mode, 409, "client_keys"]);
    expect(json["detail"]).toContain("stackwright projects set web --keys either");
  }
  expect((await setSecret()).json["code"]).toBe("client_keys");
  const plain = { body: { value: "no secret" } };
  expect((await api.call("PUT", `${S}/variables/terraform/open`, plain)).status).toBe(201);
  expect((await change("either")).json["keys"]).toBe("either");
  expect((await request()).status).toBe(201);
  expect((await setSecret()).status).toBe(201);
});

it("no setting takes the keys of stacks from the server that it has: it names these and what to do", async () => {
  const api = await startApi("none");
  const { change, setSecret } = await prepare(api);
  await setSecret();
  const { status, json } = await change("client");
  expect([status, json["code"]]).toEqual([409, "conflict"]);
  expect(json["detail"]).toContain("a key of the server encrypts the data keys of the stacks one.");
  expect(json["detail"]).toContain("keys rewrap --project web --stack NAME --from-key-file");
  expect((await change("server")).json["keys"]).toBe("server");
});

it("a project of the server takes no stack whose keys a command has", async () => {
  const api = await startApi("none", { storagePort: 0 });
  const { change, stack } = await prepare(api);
  await keysOfCommand(api, stack);
  const { status, json } = await change("server");
  expect([status, json["code"]]).toEqual([409, "conflict"]);
  expect(json["detail"]).toContain("a key that the server does not have");
  expect(json["detail"]).toContain("the stacks one.");
  expect((await change("client")).json["keys"]).toBe("client");
});

it("what was requested before a project kept its keys from the server ends without a plan", {
  timeout: 60_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "change-keys-"));
  onTestFinished(() => scratch.remove());
  const store = `sqlite:${join(scratch.path, "data")}`;
  const api = await startApi("none", { store });
  const { change, request } = await prepare(api);
  const { id } = (await request("plan_only")).json;
  expect((await change("client")).status).toBe(200);
  await api.server.close();
  const options = { port: 0, logLevel: "silent", executor: "in-process" } as const;
  await using next = await serve({ ...options, store });
  const shown = async () => {
    const headers = { authorization: `Bearer ${api.first.token}` };
    const answer = await fetch(`${next.url}${S}/runs/${String(id)}`, { headers });
    return (await answer.json()) as Record<string, unknown>;
  };
  await expect.poll(async () => (await shown())["phase"], { timeout: 30_000 }).toBe("failed");
  expect(await shown()).toMatchObject({ reason_code: "client_keys" });
});

it("a run of a stack whose keys a command has says how the server gets them", {
  timeout: 60_000,
}, async () => {
  const api = await startApi("in-process", { storagePort: 0 });
  const { request, stack } = await prepare(api);
  await keysOfCommand(api, stack);
  const { id } = (await request("plan_only")).json;
  const shown = async () => (await api.call("GET", `${S}/runs/${String(id)}`)).json;
  await expect.poll(async () => (await shown())["phase"], { timeout: 30_000 }).toBe("failed");
  const { reason_code: code, reason } = await shown();
  expect(code).toBe("key_unavailable");
  expect(reason).toContain("stackwright keys rewrap --project web --stack one --from-key-file");
});

it("a project keeps no keys from the server that serves a state of it to commands", async () => {
  const api = await startApi("none");
  const { change } = await prepare(api);
  const state = { version: 4, serial: 1, lineage: "l-1", outputs: {}, resources: [] };
  const pushed = await api.call("POST", "/state/v1/default/web/one", { body: state });
  expect([pushed.status, pushed.text]).toEqual([200, pushed.text]);
  const { status, json } = await change("client");
  expect([status, json["code"]]).toEqual([409, "conflict"]);
  expect(json["detail"]).toContain(
    "the server reads and writes the states of the stacks one for terraform",
  );
});
