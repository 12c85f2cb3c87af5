import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";

const SETS = "/api/v1/variable-sets";
const SHARED = `${SETS}/shared`;
const ANY = { "if-match": "*" };

type Api = Awaited<ReturnType<typeof startApi>>;

async function makeSet(
  { call }: Api,
  body: { readonly name: string; readonly [setting: string]: unknown },
) {
  const made = await call("POST", SETS, { body });
  expect([made.status, made.text]).toEqual([201, made.text]);
  return made;
}

async function setVariable({ call }: Api, path: string, value: string, sensitive = false) {
  const { status, text } = await call("PUT", path, { body: { value, sensitive } });
  expect([status, text]).toEqual([201, text]);
}

it("a run has the variables of the account, unless the project or the stack has others, and those that are enforced", {
  timeout: 60_000,
}, async () => {
  const api = await startApi();
  const { call, upload } = api;
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  for (const body of [
    { name: "shared" },
    { name: "enforced", projects: ["w*"], stacks: ["one"], priority: true },
    { name: "elsewhere", projects: ["net"], priority: true },
  ]) {
    await makeSet(api, body);
  }
  await call("POST", `${P}/variable-sets`, { body: { name: "shared", priority: true } });
  await setVariable(api, `${SHARED}/variables/terraform/a`, "a of the account");
  await setVariable(api, `${SHARED}/variables/terraform/b`, "b of the account");
  await setVariable(api, `${SHARED}/variables/terraform/c`, "canary-c", true);
  await setVariable(api, `${SETS}/enforced/variables/terraform/d`, "d enforced");
  await setVariable(api, `${SETS}/elsewhere/variables/terraform/d`, "d elsewhere");
  await setVariable(api, `${P}/variable-sets/shared/variables/terraform/b`, "canary-b", true);
  await setVariable(api, `${P}/variable-sets/shared/variables/terraform/d`, "d of the project");
  await setVariable(api, `${S}/variables/terraform/d`, "d of the stack");
  const { json, text } = await call("GET", `${S}/effective-variables`);
  expect(text).not.toContain("canary");
  expect(json["variables"]).toMatchObject([
    { key: "a", origin: "set", set: "shared", scope: "account", hides: [] },
    {
      key: "b",
      set: "shared",
      scope: "project",
      hides: [{ origin: "set", set: "shared", scope: "account" }],
    },
    { key: "c", set: "shared", scope: "account", sensitive: true },
    {
      key: "d",
      set: "enforced",
      scope: "account",
      value: "d enforced",
      hides: [{ set: "shared", scope: "project" }, { origin: "stack" }],
    },
  ]);
  const main = ["a", "b", "c", "d"].map((name) => `variable "${name}" {}\n`).join("");
  const { digest } = (
    await upload({
      "main.tf": `${main}resource "terraform_data" "x" {
  input = { plain = join("/", [var.a, var.d]), known = nonsensitive(var.c == "canary-c" && var.b == "canary-b") }
}
`,
    })
  ).json;
  const made = await call("POST", `${S}/runs`, { body: { configuration: digest } });
  const run = `${S}/runs/${String(made.json["id"])}`;
  await expect
    .poll(async () => (await call("GET", run)).json["phase"], { timeout: 20_000 })
    .toBe("awaiting_approval");
  const plan = (await call("GET", `${run}/plan`)).text;
  expect(plan).toContain("a of the account/d enforced");
  expect(plan).toMatch(/"known":\s*true/);
  expect(plan).not.toContain("canary");
});

it("a set of the account and its variables change for those who have seen them", async () => {
  const api = await startApi("none");
  const { call } = api;
  const made = await makeSet(api, { name: "shared", description: "first" });
  const etag = made.headers.get("etag") ?? "";
  expect(made.headers.get("location")).toBe(SHARED);
  expect((await call("POST", SETS, { body: { name: "shared" } })).json["code"]).toBe("name_taken");
  const change = async (body: object, headers = {}) => call("PATCH", SHARED, { body, headers });
  expect((await change({ priority: true })).status).toBe(428);
  const changed = await change({ projects: ["web", "web"] }, { "if-match": etag });
  expect(changed.json).toMatchObject({ projects: ["web"], description: "first", stacks: [] });
  expect((await change({ priority: false }, { "if-match": etag })).status).toBe(412);
  const path = `${SHARED}/variables/env/TOKEN`;
  const put = async (value: string, headers = {}) =>
    call("PUT", path, { body: { value, sensitive: true }, headers });
  expect((await put("canary", { "if-match": etag })).status).toBe(412);
  const first = await put("canary");
  expect([first.status, first.text.includes("canary")]).toEqual([201, false]);
  expect((await put("other")).status).toBe(428);
  const replaced = await put("other", { "if-match": first.headers.get("etag") ?? "" });
  expect(replaced.status).toBe(200);
  expect((await call("GET", SHARED)).headers.get("etag")).toBe(replaced.headers.get("etag"));
  expect((await call("DELETE", path)).status).toBe(428);
  expect((await call("DELETE", path, { headers: ANY })).status).toBe(204);
  expect((await call("DELETE", path, { headers: ANY })).status).toBe(404);
  expect((await call("DELETE", SHARED, { headers: ANY })).status).toBe(204);
  expect((await put("")).status).toBe(404);
});

it("those who see some projects alone see the sets for these, without the names of others", async () => {
  const api = await startApi("none");
  const { call, tokenOf } = api;
  await makeSet(api, { name: "for-all" });
  await makeSet(api, { name: "for-both", projects: ["web", "hidden-*"] });
  await makeSet(api, { name: "hidden", projects: ["hidden-1"] });
  const token = await tokenOf("admin", ["web"]);
  const { json, text } = await call("GET", SETS, { token });
  expect(json["sets"]).toMatchObject([
    { name: "for-all", projects: [] },
    { name: "for-both", projects: ["web"] },
  ]);
  expect(text).not.toContain("hidden");
  expect((await call("GET", `${SETS}/hidden`, { token })).status).toBe(404);
  expect((await call("GET", `${SETS}/for-both`, { token })).json["projects"]).toEqual(["web"]);
  expect((await call("POST", SETS, { token, body: { name: "own" } })).status).toBe(403);
  const namesFor = async (project: string) =>
    (
      (await call("GET", `${SETS}?project=${project}`)).json as { sets: { name: string }[] }
    ).sets.map(({ name }) => name);
  expect(await namesFor("hidden-1")).toEqual(["for-all", "for-both", "hidden"]);
  expect(await namesFor("web")).toEqual(["for-all", "for-both"]);
  const asked = async (name: string, by?: string) =>
    (await call("GET", `/api/v1/where-used?kind=variable_set&name=${name}`, { token: by })).status;
  await expect.poll(async () => asked("hidden")).toBe(200);
  expect([await asked("hidden", token), await asked("for-both", token)]).toEqual([404, 200]);
});

it("a set of the account is for stacks of single projects, or for none", async () => {
  const api = await startApi("none");
  const { call, tokenOf } = api;
  for (const project of ["web", "net"]) {
    for (const name of ["one", "two"]) {
      await call("POST", `/api/v1/projects/${project}/stacks`, { body: { name } });
    }
  }
  await makeSet(api, { name: "some", stacks: ["web/one", "net/*"] });
  await makeSet(api, { name: "net-only", stacks: ["net/t*"] });
  await makeSet(api, { name: "none", stacks: ["/"] });
  for (const name of ["some", "net-only", "none"]) {
    await setVariable(api, `${SETS}/${name}/variables/env/${name.replace("-", "_")}`, "x");
  }
  const found = async (stack: string) => {
    const path = `/api/v1/projects/${stack.replace("/", "/stacks/")}/effective-variables`;
    const { json } = await call("GET", path);
    return (json["variables"] as { readonly set: string }[]).map(({ set }) => set);
  };
  const all = await Promise.all(["web/one", "web/two", "net/one", "net/two"].map(found));
  expect(all).toEqual([["some"], [], ["some"], ["net-only", "some"]]);
  const namesFor = async (project: string) =>
    ((await call("GET", `${SETS}?project=${project}`)).json["sets"] as { name: string }[]).map(
      ({ name }) => name,
    );
  expect([await namesFor("web"), await namesFor("net")]).toEqual([["some"], ["net-only", "some"]]);
  const token = await tokenOf("reader", ["web"]);
  const shown = await call("GET", SETS, { token });
  expect(shown.json["sets"]).toMatchObject([{ name: "some", stacks: ["web/one"] }]);
  expect(shown.text).not.toContain("net");
  const asked = async (name: string, by?: string) => {
    const path = `/api/v1/where-used?kind=variable_set&name=${name}`;
    return (await call("GET", path, { token: by })).status;
  };
  await expect.poll(async () => asked("none")).toBe(200);
  const seen = ["some", "net-only", "none"].map(async (name) => asked(name, token));
  expect(await Promise.all(seen)).toEqual([200, 404, 404]);
});

it("names and patterns that no set of the account can have are refused", async () => {
  const { call } = await startApi("none");
  for (const body of [
    { name: "a.b" },
    { name: "a/b" },
    { name: "a", projects: [""] },
    { name: "a", projects: ["a b"] },
    { name: "a", projects: ["web/shop"] },
    { name: "a", projects: ["/"] },
    { name: "a", stacks: ["web/"] },
    { name: "a", stacks: ["/shop"] },
    { name: "a", stacks: ["web/shop/x"] },
    { name: "a", stacks: Array.from({ length: 201 }, (_, at) => `s${at}`) },
    { name: "a", other: 1 },
  ]) {
    expect([body, (await call("POST", SETS, { body })).status]).toEqual([body, 400]);
  }
});

it("those who see some projects alone learn no names of stacks or projects elsewhere", async () => {
  const api = await startApi("none");
  const { call, tokenOf } = api;
  const token = await tokenOf("admin", ["web"]);
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  await makeSet(api, { name: "mixed", stacks: ["one", "hidden-stack"] });
  await makeSet(api, { name: "of-others", stacks: ["hidden-stack"] });
  expect((await call("GET", `${SETS}/mixed`, { token })).json["stacks"]).toEqual(["one"]);
  expect((await call("GET", `${SETS}/of-others`, { token })).status).toBe(404);
  expect((await call("GET", SETS, { token })).text).not.toMatch(/hidden|of-others/);
  for (const project of ["hidden-1", "nowhere"]) {
    const refused = await call("GET", `${SETS}?project=${project}`, { token });
    expect([refused.status, refused.json["code"]]).toEqual([404, "not_found"]);
  }
});
