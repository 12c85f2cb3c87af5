import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";

const REACTION = `${S}/provider-reaction`;

async function start() {
  const api = await startApi("none");
  expect((await api.call("POST", `${P}/stacks`, { body: { name: "one" } })).status).toBe(201);
  return api;
}

it("a stack has no reaction until it is given one, which has its author", async () => {
  const { call } = await start();
  expect((await call("GET", REACTION)).json).toEqual({ reaction: "none", notices: [] });
  const set = await call("PUT", REACTION, { body: { reaction: "plan" } });
  expect(set).toMatchObject({ status: 200, json: { reaction: "plan", notices: [] } });
  const shown = (await call("GET", REACTION)).json;
  expect(shown).toEqual({ reaction: "plan", notices: [], actor: expect.any(String) });
});

it("an unknown reaction is refused", async () => {
  const { call } = await start();
  const refused = await call("PUT", REACTION, { body: { reaction: "apply" } });
  expect(refused).toMatchObject({ status: 400, json: { code: "invalid_request" } });
});
