import { setTimeout } from "node:timers/promises";
import { User } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import { expect, it } from "vitest";
import { memberOfAccount } from "../access/access-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { startVariables } from "../testing/start-variables.ts";

const ORGANIZATION = "organizations/default";
const VARIABLE = { key: "a", value: "b", category: "env" };

/** A set and a workspace, and an administrator whose rights the server has read and who is disabled by another server. */
async function start() {
  const opened: StorageBackend[] = [];
  const api = await startVariables("none", {
    plugins: ({ store }) => {
      opened.push(store.storage);
      return [];
    },
  });
  const { call, send, set, workspace, server } = api;
  const shop = await workspace("shop", "web");
  const { id } = await set({ name: "shared" });
  const { one: variable } = await send("POST", `varsets/${id}/relationships/vars`, VARIABLE);
  await call("POST", "/api/v1/users", { body: { name: "ann", service: true } });
  await call("PUT", "/api/v1/roles/user/ann", { body: { role: "admin" } });
  const made = await call("POST", "/api/v1/tokens", { body: { user: "ann", role: "admin" } });
  const token = String(made.json["token"]);
  const disable = async (): Promise<void> => {
    const [storage] = opened;
    if (storage === undefined) throw new Error("the store was not opened");
    expect((await send("GET", `varsets/${id}`, undefined, { token })).status).toBe(200);
    const disabled = User.create({ name: "ann", service: true, disabled: true });
    const { put } = createRunFixture(storage);
    await put(SERVER_KINDS.user, memberOfAccount("default", "ann"), disabled);
  };
  return { ...api, server, shop, at: `varsets/${id}`, variable: variable.id, token, disable };
}

it.each<[string, string, object | undefined, unknown?]>([
  ["POST", `${ORGANIZATION}/varsets`, { name: "other" }],
  ["PATCH", "SET", { description: "x" }],
  ["DELETE", "SET", undefined],
  ["POST", "SET/relationships/workspaces", undefined, []],
  ["DELETE", "SET/relationships/projects", undefined, []],
  ["POST", "SET/relationships/vars", { ...VARIABLE, key: "c" }],
  ["PATCH", "SET/relationships/vars/VAR", { value: "c" }],
  ["DELETE", "SET/relationships/vars/VAR", undefined],
  ["POST", `${ORGANIZATION}/workspaces`, { name: "other" }],
  ["PATCH", "workspaces/WS", { "execution-mode": "local" }],
  ["PATCH", `${ORGANIZATION}/workspaces/shop`, { "execution-mode": "local" }],
  ["DELETE", "workspaces/WS", undefined],
  ["POST", "workspaces/WS/actions/safe-delete", undefined],
  ["DELETE", `${ORGANIZATION}/workspaces/shop`, undefined],
  ["POST", `${ORGANIZATION}/workspaces/shop/actions/safe-delete`, undefined],
  ["POST", `${ORGANIZATION}/projects`, { name: "other" }],
])(
  "what another server has taken from an administrator counts at once: %s %s",
  async (method, path, attributes, data) => {
    const { send, shop, at, variable, token, disable } = await start();
    const whole = path.replace("SET", at).replace("VAR", variable).replace("WS", shop);
    await disable();
    const more = { token, ...(data !== undefined && { data }) };
    const { status } = await send(method, whole, attributes, more);
    expect([401, 403]).toContain(status);
    expect((await send("GET", at)).status).toBe(200);
  },
);

it("what is taken while the body of a change arrives counts as well", async () => {
  const { server, send, at, token, disable } = await start();
  const [first, rest] = ['{"data":{"attributes":', '{"description":"x"}}}'];
  const body = async function* () {
    yield Buffer.from(first);
    await setTimeout(300);
    await disable();
    yield Buffer.from(rest);
  };
  const answer = await fetch(`${server.url}/api/v2/${at}`, {
    method: "PATCH",
    headers: { authorization: `Bearer ${token}` },
    body: ReadableStream.from(body()),
    duplex: "half",
  });
  expect([401, 403]).toContain(answer.status);
  expect((await send("GET", at)).one.attributes["description"]).toBe("");
});
