import { expect, it } from "vitest";
import { noteRoutes } from "../testing/note-routes.ts";
import { startApi } from "../testing/start-api.ts";
import { startVariables } from "../testing/start-variables.ts";
import { REFUSED_ACTIONS } from "./refused-actions.ts";

type Entry = Readonly<Record<"action" | "actor" | "target" | "outcome", string>>;

const VARIABLE = { key: "a", value: "b", category: "env" };

async function start() {
  const api = await startVariables();
  const entries = async () => (await api.call("GET", "/api/v1/audit")).json["entries"] as Entry[];
  const refusals = async () =>
    (await entries())
      .filter(({ outcome }) => outcome !== "done")
      .map(({ action, target, outcome }) => [action, target, outcome]);
  return { ...api, entries, refusals };
}

it("each route that changes something has an action for the audit trail, and the table has no others", async () => {
  const routes = noteRoutes();
  await startApi("none");
  const writes = routes
    .filter(({ method, url }) => url.startsWith("/api/v2/") && !["GET", "HEAD"].includes(method))
    .map(({ method, url }) => `${method} ${url.slice("/api/v2".length)}`);
  expect(Object.keys(REFUSED_ACTIONS).toSorted()).toEqual([...new Set(writes)].toSorted());
});

it("a refused change is in the audit trail with its caller, as by the server's own routes, and a read is not", async () => {
  const { send, set, workspace, tokenOf, entries, refusals } = await start();
  const shop = await workspace("shop", "web");
  const { id } = await set({ name: "shared" });
  const token = await tokenOf("reader");
  for (const [method, path, attributes] of [
    ["POST", `workspaces/${shop}/vars?x=1`, VARIABLE],
    ["PATCH", `varsets/${id}`, { description: "x" }],
    ["DELETE", `varsets/${id}`, undefined],
    ["DELETE", `workspaces/${shop}`, undefined],
    ["POST", `workspaces/${shop}/actions/lock`, {}],
    ["GET", "organizations/other/varsets", undefined],
  ] as const) {
    const { status } = await send(method, path, attributes, { token });
    expect([path, status]).toEqual([path, method === "GET" ? 404 : 403]);
  }
  expect((await send("POST", `varsets/${id}/relationships/vars`, { key: "/" })).status).toBe(422);
  expect((await send("POST", "workspaces/ws-none/vars", VARIABLE)).status).toBe(404);
  expect((await send("POST", "no-such-route", {})).status).toBe(404);
  expect(await refusals()).toEqual([
    ["SetVariable", `workspaces/${shop}/vars`, "HTTP_403"],
    ["ChangeVariableSet", `varsets/${id}`, "HTTP_403"],
    ["DeleteVariableSet", `varsets/${id}`, "HTTP_403"],
    ["DeleteWorkspace", `workspaces/${shop}`, "HTTP_403"],
    ["LockStack", `workspaces/${shop}/actions/lock`, "HTTP_403"],
    ["SetSetVariable", `varsets/${id}/relationships/vars`, "HTTP_422"],
    ["SetVariable", "workspaces/ws-none/vars", "HTTP_404"],
  ]);
  const actors = new Set((await entries()).map(({ actor }) => actor));
  expect(actors.size).toBe(2);
});

it("a caller who is limited to stacks is named where it is refused", async () => {
  const { send, server, workspace, refusals } = await start();
  const shop = await workspace("shop", "web");
  const limits = { account: "default", projects: ["web"], stacks: ["web/shop"] };
  const { token } = await server.credentials.createToken({ ...limits, roles: ["admin"] });
  const { status } = await send("POST", `workspaces/${shop}/vars`, VARIABLE, { token });
  expect(status).toBe(403);
  expect(await refusals()).toEqual([["SetVariable", `workspaces/${shop}/vars`, "HTTP_403"]]);
});

it("a refused upload is noted for who its address was made for, and without the address", async () => {
  const { send, server, workspace, entries } = await start();
  const shop = await workspace("shop", "web");
  const { token, tokenId } = await server.credentials.createToken({
    account: "default",
    roles: ["admin"],
  });
  expect((await send("POST", `workspaces/${shop}/actions/lock`, {}, { token })).status).toBe(200);
  const attributes = { serial: 1, md5: "0".repeat(32) };
  const announced = await send("POST", `workspaces/${shop}/state-versions`, attributes, { token });
  const address = String(announced.one.attributes["hosted-state-upload-url"]);
  await server.credentials.revoke(tokenId);
  expect((await fetch(address, { method: "PUT", body: "{}" })).status).toBe(403);
  const found = (await entries()).filter(({ outcome }) => outcome !== "done");
  expect(found).toMatchObject([
    { action: "StoreState", actor: tokenId, target: "state-upload/:signed", outcome: "HTTP_403" },
  ]);
});
