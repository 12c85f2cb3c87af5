import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStoredKeys, keyEncryptionKey, openStore } from "@stackwright/core";
import { createKeyRing } from "@stackwright/registry";
import { expect, it, onTestFinished } from "vitest";
import { serve } from "./serve.ts";
import { listServerKeys, rotateServerKey } from "./server-key-command.ts";
import type { ServerOptions } from "./server-options.ts";
import { P, S, startApi } from "./testing/start-api.ts";
import { startReceiver } from "./testing/start-receiver.ts";

const OLD = Buffer.alloc(32, 1);
const NEW = Buffer.alloc(32, 2);
const OF_A_USER = Buffer.alloc(32, 3);
const SECRET = "a-secret-of-32-characters-in-all";
const MAIN = `variable "word" { sensitive = true }
variable "shared" { sensitive = true }
variable "everywhere" { sensitive = true }
resource "terraform_data" "a" { input = "\${var.word} \${var.shared} \${var.everywhere}" }
output "both" {
  value     = terraform_data.a.output
  sensitive = true
}
`;
const STATE = {
  version: 4,
  terraform_version: "1.11.4",
  serial: 1,
  lineage: "line",
  outputs: {},
  resources: [],
  check_results: null,
};
const IDENTITY_KEYS = "/.well-known/jwks";
const COMMAND_STATE = "/state/v1/default/web/shop";

async function startAtOldKey() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "server-key-"));
  onTestFinished(() => scratch.remove());
  const file = (name: string) => join(scratch.path, name);
  await writeFile(file("old"), OLD.toString("base64"));
  await writeFile(file("new"), NEW.toString("base64"));
  const receiver = await startReceiver();
  const options: ServerOptions = {
    store: `sqlite:${file("data")}`,
    port: 0,
    logLevel: "silent",
    executor: "in-process",
    notificationHosts: ["127.0.0.1"],
    vcsHosts: ["127.0.0.1"],
  };
  const api = await startApi("in-process", { ...options, keyFile: file("old") });
  return { ...api, receiver, options, oldFile: file("old"), newFile: file("new") };
}

type Call = Awaited<ReturnType<typeof startApi>>["call"];

async function reaches(call: Call, run: string, phase: string) {
  const phaseOf = async () => (await call("GET", `${S}/runs/${run}`)).json["phase"];
  await expect.poll(phaseOf, { timeout: 60_000 }).toBe(phase);
}

it("nothing in the store needs the former key after a rotation", { timeout: 180_000 }, async () => {
  const { server, first, call, upload, receiver, options, oldFile, newFile } =
    await startAtOldKey();
  const created = async (method: string, path: string, body: object) => {
    const { status, text } = await call(method, path, { body });
    expect([status, text]).toEqual([201, text]);
  };
  await created("POST", `${P}/stacks`, { name: "one" });
  await created("PUT", `${S}/variables/terraform/word`, { value: "canary-a", sensitive: true });
  await created("POST", `${P}/variable-sets`, { name: "all" });
  const shared = `${P}/variable-sets/all/variables/terraform/shared`;
  await created("PUT", shared, { value: "canary-b", sensitive: true });
  await created("POST", "/api/v1/variable-sets", { name: "all" });
  const everywhere = "/api/v1/variable-sets/all/variables/terraform/everywhere";
  await created("PUT", everywhere, { value: "canary-c", sensitive: true });
  const url = receiver.url;
  await created("POST", `${P}/notifications`, { name: "ops", kind: "webhook", url });
  await created("POST", `${P}/vcs-connections`, {
    name: "infra",
    kind: "generic",
    repository_url: "http://127.0.0.1:1/none.git",
    webhook_secret: SECRET,
    stacks: [{ stack: "one", directory: "." }],
  });
  expect((await call("POST", COMMAND_STATE, { body: STATE })).status).toBe(200);
  const { digest } = (await upload({ "main.tf": MAIN })).json;
  const request = async (body: object = {}) => {
    const made = await call("POST", `${S}/runs`, { body: { configuration: digest, ...body } });
    expect(made.status, made.text).toBe(201);
    return String(made.json["id"]);
  };
  await reaches(call, await request({ auto_apply: true }), "applied");
  const waiting = await request({ replace: ["terraform_data.a"] });
  await reaches(call, waiting, "awaiting_approval");
  // The key that vouches for runs is a secret which all servers share.
  const identity = (await call("GET", IDENTITY_KEYS)).json;
  await server.close();

  const before = await listServerKeys({ ...options, keyFile: oldFile });
  expect(before).toMatchObject([{ isCurrent: true, isAvailable: true }]);
  // Stacks one and shop, variable sets of the project and of the account, destinations and connections.
  expect(before[0]?.dataKeys).toBe(6);
  await expect(rotateServerKey({ ...options, keyFile: newFile })).rejects.toMatchObject({
    code: "ENGINE_KEY_UNAVAILABLE",
  });
  const rotate = { ...options, keyFile: newFile, formerKeyFile: oldFile };
  expect(await rotateServerKey(rotate)).toMatchObject({
    keyId: createKeyRing([NEW]).currentId,
    secrets: before[0]?.secrets,
    dataKeys: 6,
    left: new Map(),
  });
  expect(await rotateServerKey(rotate)).toMatchObject({ secrets: 0, dataKeys: 0 });
  // Every record that is encrypted by the key of a server names it.
  const former = [createKeyRing([OLD]).currentId, keyEncryptionKey(OLD).id];
  // Beside them stands what the closed server said of its keys, until maintenance removes it.
  const needed = (await namesIn(options.store, former)).filter((kind) => kind !== "ServerKeys");
  expect(needed).toEqual([]);
  const fresh = [createKeyRing([NEW]).currentId, keyEncryptionKey(NEW).id];
  expect(new Set(await namesIn(options.store, fresh))).toEqual(
    new Set(["AccessKey", "RegistrySecret", "StackKeys"]),
  );

  const again = await serve({ ...options, keyFile: newFile });
  onTestFinished(() => again.close());
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await fetch(again.url + path, {
      method,
      headers: { authorization: `Bearer ${first.token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, json: JSON.parse(text) as Record<string, unknown> };
  };
  const phaseOf = async () => (await ask("GET", `${S}/runs/${waiting}`)).json["phase"];
  const plan = await ask("GET", `${S}/runs/${waiting}/plan`);
  await ask("POST", `${S}/runs/${waiting}/approvals`, { plan_digest: plan.json["digest"] });
  // The plan, the state and all variables.
  await expect.poll(phaseOf, { timeout: 60_000 }).toBe("applied");
  expect((await ask("GET", COMMAND_STATE)).json).toEqual(STATE);
  expect((await ask("GET", IDENTITY_KEYS)).json).toEqual(identity);
  expect((await ask("POST", `${P}/notifications/ops/test`)).status).toBe(200);
  await expect.poll(() => receiver.received.length, { timeout: 60_000 }).toBeGreaterThan(0);
});

it("data keys of a key that was not given stay as they are, and are reported", async () => {
  const { server, call, options, oldFile, newFile } = await startAtOldKey();
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const body = { value: "canary", sensitive: true };
  expect((await call("PUT", `${S}/variables/terraform/word`, { body })).status).toBe(201);
  await server.close();
  const user = keyEncryptionKey(OF_A_USER);
  const place = { account: "default", project: "own", stack: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
  await inStore(options.store, async ({ storage }) => {
    await createStoredKeys({ storage, current: user }).ensure(place);
  });
  const rotate = { ...options, keyFile: newFile, formerKeyFile: oldFile };
  expect(await rotateServerKey(rotate)).toMatchObject({
    dataKeys: 1,
    left: new Map([[user.id, 1]]),
  });
  expect(await listServerKeys({ ...options, keyFile: newFile })).toMatchObject([
    { isCurrent: true, dataKeys: 1 },
    { keyId: user.id, secrets: 0, dataKeys: 1, isCurrent: false, isAvailable: false },
  ]);
  await inStore(options.store, async ({ storage }) => {
    const keys = createStoredKeys({ storage, current: user });
    expect(await keys.dataKeys(place)).toHaveLength(1);
  });
});

/** The kinds of the records with one of some names in any byte of them. */
async function namesIn(address: string, names: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  await inStore(address, async ({ storage }) => {
    await using snapshot = await storage.snapshot();
    for await (const { id, data } of snapshot) {
      const bytes = Buffer.from(data?.value ?? []);
      if (names.some((name) => bytes.includes(name))) found.push(id.type.kind);
    }
  });
  return found;
}

async function inStore(
  address: string,
  work: (store: Awaited<ReturnType<typeof openStore>>) => Promise<void>,
): Promise<void> {
  const directory = address.slice("sqlite:".length);
  const blobDirectory = `${directory}-blobs`;
  await using store = await openStore({ kind: "sqlite", directory }, { blobDirectory });
  await work(store);
}
