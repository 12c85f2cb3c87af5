import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";

const SETS = `${P}/variable-sets`;
const SHARED = `${SETS}/shared`;
const ANY = { "if-match": "*" };

async function startWithSet(settings: object = {}, executor: "in-process" | "none" = "none") {
  const api = await startApi(executor);
  await api.call("POST", `${P}/stacks`, { body: { name: "one" } });
  const made = await api.call("POST", SETS, { body: { name: "shared", ...settings } });
  expect(made.status).toBe(201);
  return { ...api, etag: made.headers.get("etag") ?? "" };
}

it("a run has the variables of the sets that are for its stack, by their precedence", {
  timeout: 60_000,
}, async () => {
  const { call, upload } = await startWithSet({}, "in-process");
  const set = async (path: string, value: string, sensitive = false) =>
    expect((await call("PUT", path, { body: { value, sensitive } })).status).toBe(201);
  for (const body of [
    { name: "enforced", priority: true },
    { name: "ones", stacks: ["o*e"] },
    { name: "others", stacks: ["two"], priority: true },
  ]) {
    expect((await call("POST", SETS, { body })).status).toBe(201);
  }
  await set(`${SHARED}/variables/terraform/a`, "a of all");
  await set(`${SHARED}/variables/terraform/b`, "b of all");
  await set(`${SHARED}/variables/terraform/c`, "canary-c", true);
  await set(`${SETS}/ones/variables/terraform/b`, "b of ones");
  await set(`${SETS}/others/variables/terraform/b`, "b of others");
  await set(`${SETS}/enforced/variables/terraform/d`, "d enforced");
  await set(`${S}/variables/terraform/d`, "d of the stack");
  const { json, text } = await call("GET", `${S}/effective-variables`);
  expect(text).not.toContain("canary");
  expect(json["variables"]).toMatchObject([
    { key: "a", origin: "set", set: "shared", value: "a of all", hides: [] },
    { key: "b", set: "ones", value: "b of ones", hides: [{ origin: "set", set: "shared" }] },
    { key: "c", set: "shared", sensitive: true },
    { key: "d", set: "enforced", value: "d enforced", hides: [{ origin: "stack" }] },
  ]);
  const main = ["a", "b", "c", "d"].map((name) => `variable "${name}" {}\n`).join("");
  const { digest } = (
    await upload({
      "main.tf": `${main}resource "terraform_data" "x" {
  input = { plain = join("/", [var.a, var.b, var.d]), secret = var.c, known = nonsensitive(var.c == "canary-c") }
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
  expect(plan).toContain("a of all/b of ones/d enforced");
  expect(plan).toMatch(/"known":\s*true/);
  expect(plan).not.toContain("canary");
});

it("a set and its variables change for those who have seen them", async () => {
  const { call, etag } = await startWithSet({ description: "first" });
  expect((await call("POST", SETS, { body: { name: "shared" } })).json["code"]).toBe("name_taken");
  const change = async (body: object, headers = {}) => call("PATCH", SHARED, { body, headers });
  expect((await change({ priority: true })).status).toBe(428);
  const changed = await change({ priority: true }, { "if-match": etag });
  expect(changed.json).toMatchObject({ priority: true, description: "first", stacks: [] });
  expect((await change({ priority: false }, { "if-match": etag })).status).toBe(412);
  const path = `${SHARED}/variables/env/TOKEN`;
  const put = async (value: string, headers = {}) =>
    call("PUT", path, { body: { value, sensitive: true }, headers });
  expect((await put("canary", { "if-match": etag })).status).toBe(412);
  const made = await put("canary");
  expect([made.status, made.text.includes("canary")]).toEqual([201, false]);
  expect((await put("other")).status).toBe(428);
  const replaced = await put("other", { "if-match": made.headers.get("etag") ?? "" });
  expect(replaced.status).toBe(200);
  expect((await call("GET", SHARED)).headers.get("etag")).toBe(replaced.headers.get("etag"));
  expect((await call("DELETE", path)).status).toBe(428);
  expect((await call("DELETE", path, { headers: ANY })).status).toBe(204);
  expect((await call("DELETE", path, { headers: ANY })).status).toBe(404);
  expect((await call("DELETE", SHARED, { headers: ANY })).status).toBe(204);
  expect((await call("PUT", path, { body: { value: "" } })).status).toBe(404);
});

it("writers at the same time lose no variable of a set", async () => {
  const { call } = await startWithSet();
  const keys = Array.from({ length: 12 }, (_, at) => `v${at}`);
  const answers = await Promise.all(
    keys.map(async (key) =>
      call("PUT", `${SHARED}/variables/terraform/${key}`, { body: { value: key } }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 201));
  const { variables } = (await call("GET", SHARED)).json as { variables: { key: string }[] };
  expect(variables.map(({ key }) => key)).toEqual(keys.toSorted());
});

it("the values of a set have bounds together", { timeout: 60_000 }, async () => {
  const { call } = await startWithSet();
  const put = async (key: string, size: number) =>
    call("PUT", `${SHARED}/variables/terraform/${key}`, { body: { value: "x".repeat(size) } });
  for (const key of ["a", "b", "c"]) expect((await put(key, 65_536)).status).toBe(201);
  expect((await put("d", 65_535)).status).toBe(201);
  expect((await put("e", 2)).json["code"]).toBe("unprocessable");
  expect((await put("e", 1)).status).toBe(201);
});

it("names and patterns that no set can have are refused", async () => {
  const { call } = await startWithSet();
  for (const body of [
    { name: "a.b" },
    { name: "../a" },
    { name: "a/b" },
    { name: "" },
    { name: "a", stacks: [""] },
    { name: "a", stacks: ["a b"] },
    { name: "a", stacks: Array.from({ length: 51 }, (_, at) => `s${at}`) },
    { name: "a", other: 1 },
  ]) {
    expect([body, (await call("POST", SETS, { body })).status]).toEqual([body, 400]);
  }
  expect((await call("GET", `${SETS}/unknown`)).status).toBe(404);
});
