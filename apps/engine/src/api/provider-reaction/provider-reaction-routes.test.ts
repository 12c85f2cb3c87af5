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
  expect((await call("GET", REACTION)).json).toEqual({
    reaction: "none",
    from: "project",
    notices: [],
  });
  const set = await call("PUT", REACTION, { body: { reaction: "plan" } });
  expect(set).toMatchObject({ status: 200, json: { reaction: "plan", from: "stack" } });
  const shown = (await call("GET", REACTION)).json;
  expect(shown).toEqual({
    reaction: "plan",
    from: "stack",
    notices: [],
    actor: expect.any(String),
  });
});

it("a stack has the reaction of its project until it has its own, and goes back to it", async () => {
  const { call } = await start();
  const shown = async () => (await call("GET", REACTION)).json;
  const project = { name: "web", provider_reaction: "notify" };
  const made = await call("POST", "/api/v1/projects", { body: project });
  expect(made).toMatchObject({ status: 201, json: project });
  expect(await shown()).toEqual({ reaction: "notify", from: "project", notices: [] });
  await call("PUT", REACTION, { body: { reaction: "none" } });
  expect(await shown()).toMatchObject({ reaction: "none", from: "stack" });
  const back = await call("PUT", REACTION, { body: { reaction: "inherit" } });
  expect(back.json).toEqual({ reaction: "notify", from: "project", notices: [] });
  const body = { provider_reaction: "plan" };
  const changed = await call("PATCH", P, { body, headers: { "if-match": "*" } });
  expect(changed.json).toMatchObject(body);
  expect(await shown()).toMatchObject({ reaction: "plan", from: "project" });
});

it("an unknown reaction is refused", async () => {
  const { call } = await start();
  const refused = await call("PUT", REACTION, { body: { reaction: "apply" } });
  expect(refused).toMatchObject({ status: 400, json: { code: "invalid_request" } });
});
