import { expect, it } from "vitest";
import { startVariables } from "../testing/start-variables.ts";

const VARIABLE = { key: "region", value: "north", category: "terraform" };

/** A workspace with the id that it is shown with, and the one that earlier releases showed. */
async function start() {
  const api = await startVariables();
  const shown = await api.workspace("shop", "web");
  const stack = await api.call("GET", "/api/v1/projects/web/stacks/shop");
  return { ...api, shown, former: `ws-${String(stack.json["id"])}` };
}

it("a workspace has an id of 16 letters and digits, and is found by that of earlier releases, too", async () => {
  const { send, set, attached, shown, former } = await start();
  expect(shown).toMatch(/^ws-[a-zA-Z0-9]{16}$/);
  expect(former).toMatch(/^ws-[0-9A-Z]{26}$/);
  const made = await send("POST", `workspaces/${former}/vars`, VARIABLE);
  expect(made.one.relationships["configurable"]?.data).toEqual({ type: "workspaces", id: shown });
  for (const id of [shown, former]) {
    expect((await send("GET", `workspaces/${id}`)).one.id).toBe(shown);
    const [variable] = (await send("GET", `workspaces/${id}/vars`)).many;
    expect([id, variable]).toEqual([id, made.one]);
    const data = [{ id, type: "workspaces" }];
    const one = await set({ name: `of-${id.length}` }, { workspaces: { data } });
    const at = `varsets/${one.id}/relationships/workspaces`;
    expect(await attached(one.id, "workspaces")).toEqual([shown]);
    expect((await send("DELETE", at, undefined, { data })).status).toBe(204);
    expect(await attached(one.id, "workspaces")).toEqual([]);
    expect((await send("POST", at, undefined, { data })).status).toBe(204);
    expect(await attached(one.id, "workspaces")).toEqual([shown]);
  }
});

it("a workspace with both of its ids in one request is attached once", async () => {
  const { set, call, shown, former } = await start();
  const data = [shown, former].map((id) => ({ id, type: "workspaces" }));
  await set({ name: "shared" }, { workspaces: { data } });
  const { json } = await call("GET", "/api/v1/variable-sets/shared");
  expect(json["stacks"]).toEqual(["web/shop"]);
});

it("an id is that of a workspace which the caller sees, or none", async () => {
  const { send, server, tokenOf, shown, former } = await start();
  const { token: other } = await server.credentials.createToken({
    account: "other",
    roles: ["admin"],
    projects: [],
  });
  const neighbor = `${shown.slice(0, -1)}${shown.endsWith("1") ? "2" : "1"}`;
  const answerTo = async (id: string, token: string) => {
    const read = await send("GET", `workspaces/${id}`, undefined, { token });
    const written = await send("POST", `workspaces/${id}/vars`, VARIABLE, { token });
    return [read, written].map(({ status, text }) => `${status} ${text}`);
  };
  for (const token of [other, await tokenOf("admin", ["net"])]) {
    const none = await answerTo(neighbor, token);
    expect(none.map((text) => text.slice(0, 3))).toEqual(["404", "404"]);
    expect(await answerTo(shown, token)).toEqual(none);
    expect(await answerTo(former, token)).toEqual(none);
  }
  expect((await send("GET", `workspaces/${neighbor}`)).status).toBe(404);
  expect((await send("DELETE", `workspaces/${shown}`)).status).toBe(204);
  expect((await send("GET", `workspaces/${shown}`)).status).toBe(404);
  expect((await send("GET", `workspaces/${former}`)).status).toBe(404);
});
