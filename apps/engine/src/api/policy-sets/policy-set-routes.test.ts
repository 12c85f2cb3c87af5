import { expect, it } from "vitest";
import { policyBundle } from "../../testing/policies/read-policies.ts";
import { P, S, startApi } from "../../testing/start-api.ts";

const SETS = "/api/v1/policy-sets";
const SET = `${SETS}/security`;
const ANY = { "if-match": "*" };
const BAD = 'resource "terraform_data" "bad" { input = "x" }';
const GOOD = 'resource "terraform_data" "good" { input = "x" }';

async function startWithSet(
  settings: object = {},
  executor: "in-process" | "none" = "in-process",
  entrypoint = "stackwright",
) {
  const api = await startApi(executor);
  const { call, upload } = api;
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  expect((await call("POST", SETS, { body: { name: "security", ...settings } })).status).toBe(201);
  const put = async (query: string) =>
    call("PUT", `${SET}/content?${query}`, { body: policyBundle() });
  expect((await put(`entrypoint=${entrypoint}`)).status).toBe(200);
  const request = async (main: string, body: object = {}) => {
    const { digest } = (await upload({ "main.tf": main })).json;
    const made = await call("POST", `${S}/runs`, { body: { configuration: digest, ...body } });
    return `${S}/runs/${String(made.json["id"])}`;
  };
  const reach = async (run: string, phase: string) => {
    await expect
      .poll(async () => (await call("GET", run)).json["phase"], { timeout: 30_000 })
      .toBe(phase);
    return (await call("GET", run)).json;
  };
  return { ...api, put, request, reach };
}

it("a mandatory set ends runs whose plans it forbids, and lets others pass", {
  timeout: 90_000,
}, async () => {
  const { call, request, reach, server } = await startWithSet();
  const bad = await request(BAD, { auto_apply: true });
  const ended = await reach(bad, "discarded");
  expect(ended).toMatchObject({ reason_code: "policy_failed" });
  const { json } = await call("GET", `${bad}/policy-results`);
  expect(json).toMatchObject({
    plan_digest: ended["plan_digest"],
    block: "forbidden",
    sets: [
      {
        set: "security",
        enforcement: "mandatory",
        outcome: "failed",
        findings: [{ rule: "stackwright/deny", address: "terraform_data.bad", warning: false }],
      },
    ],
  });
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toContain(
    'stackwright_policy_results_total{level="mandatory",outcome="failed"} 1',
  );
  const override = { plan_digest: ended["plan_digest"], reason: "please" };
  expect((await call("POST", `${bad}/policy-override`, { body: override })).json["code"]).toBe(
    "run_ended",
  );
  const good = await request(GOOD, { auto_apply: true });
  await reach(good, "applied");
  expect((await call("GET", `${good}/policy-results`)).json).toMatchObject({
    block: "none",
    sets: [{ outcome: "passed", findings: [] }],
  });
  const events = (await call("GET", `${bad}/events`)).text;
  expect(events).toContain("event: policy");
});

it("an overridable set waits for somebody with its role, who gives a reason", {
  timeout: 90_000,
}, async () => {
  const { call, request, reach, tokenOf } = await startWithSet({ enforcement: "overridable" });
  const run = await request(BAD, { auto_apply: true });
  const waiting = await reach(run, "policy_failed");
  const deployer = await tokenOf("deployer");
  const override = async (body: object, token?: string) =>
    call("POST", `${run}/policy-override`, { body, token });
  const right = { plan_digest: waiting["plan_digest"], reason: "known, and accepted" };
  expect((await override(right, deployer)).status).toBe(403);
  expect((await override({ ...right, reason: "" })).status).toBe(400);
  expect((await override({ ...right, plan_digest: "0".repeat(64) })).json["code"]).toBe(
    "plan_changed",
  );
  const approval = { plan_digest: waiting["plan_digest"] };
  expect((await call("POST", `${run}/approvals`, { body: approval })).json["code"]).toBe(
    "illegal_transition",
  );
  const passed = await override(right);
  expect([passed.status, passed.json["phase"]]).toEqual([200, "awaiting_approval"]);
  expect((await override(right)).json["code"]).toBe("illegal_transition");
  expect((await call("GET", `${run}/policy-results`)).json["override"]).toMatchObject({
    reason: "known, and accepted",
  });
  expect((await call("POST", `${run}/approvals`, { body: approval })).status).toBe(201);
  await reach(run, "applied");
  // A run that waits for an override gives way like one that waits for an approval.
  const second = await request(BAD.replace('"x"', '"y"'));
  await reach(second, "policy_failed");
  expect((await call("POST", `${second}/discard`, { body: {} })).json["phase"]).toBe("discarded");
});

it("an advisory set only says what it finds, and sets of other stacks say nothing", {
  timeout: 90_000,
}, async () => {
  const { call, request, reach } = await startWithSet({ enforcement: "advisory", stacks: ["o*"] });
  await call("POST", SETS, { body: { name: "others", stacks: ["two"] } });
  await call("PUT", `${SETS}/others/content?entrypoint=shapes/deny`, { body: policyBundle() });
  await call("POST", SETS, { body: { name: "empty" } });
  const run = await request(BAD);
  await reach(run, "awaiting_approval");
  const { json } = await call("GET", `${run}/policy-results`);
  expect(json).toMatchObject({ block: "none", sets: [{ set: "security", outcome: "failed" }] });
  expect(json["sets"]).toHaveLength(1);
});

it("a mandatory set that cannot judge forbids the plan", { timeout: 90_000 }, async () => {
  const { call, request, reach } = await startWithSet({}, "in-process", "shapes/deny");
  const run = await request(GOOD);
  await reach(run, "discarded");
  expect((await call("GET", `${run}/policy-results`)).json).toMatchObject({
    block: "forbidden",
    sets: [{ outcome: "errored", error: expect.stringContaining("of the type number") as string }],
  });
});

it("plans are given to policies without secrets", { timeout: 90_000 }, async () => {
  const { call, request, reach, upload } = await startWithSet();
  await call("PUT", `${S}/variables/terraform/word`, {
    body: { value: "canary-word", sensitive: true },
  });
  const main = `variable "word" {}\nresource "terraform_data" "bad" { input = nonsensitive(var.word) }`;
  const run = await request(main);
  await reach(run, "discarded");
  expect((await call("GET", `${run}/policy-results`)).text).not.toContain("canary");
  expect((await upload()).status).toBe(201);
});

it("sets are tried with a plan, and with the plans of former runs, without effect", {
  timeout: 90_000,
}, async () => {
  const { call, request, reach, put, tokenOf } = await startWithSet({ enforcement: "advisory" });
  const run = await request(BAD);
  await reach(run, "awaiting_approval");
  const before = (await call("GET", `${run}/policy-results`)).text;
  const other = (await put("entrypoint=shapes/allow&activate=false")).json;
  const [first, second] = other["versions"] as { digest: string }[];
  expect(other["version"]).toBe(first?.digest);
  const replay = { runs: 10, version: second?.digest };
  const replayed = await call("POST", `${SET}/replay`, { body: replay });
  expect(replayed.json).toMatchObject({
    runs: [{ project: "web", stack: "one", before: "failed", outcome: "passed" }],
    complete: true,
  });
  const plan = {
    resource_changes: [
      { address: "a.bad", name: "bad", change: { actions: ["create"] } },
      { address: "b.bad", name: "bad", change: { actions: ["delete"] } },
    ],
  };
  const tested = await call("POST", `${SET}/test`, { body: plan });
  expect(tested.json).toMatchObject({ outcome: "failed", findings: [{ address: "a.bad" }] });
  expect((await call("POST", `${SET}/test`, { body: new Uint8Array(3) })).status).toBe(422);
  expect((await call("GET", `${run}/policy-results`)).text).toBe(before);
  expect((await call("GET", run)).json["phase"]).toBe("awaiting_approval");
  const elsewhere = await tokenOf("deployer", ["elsewhere"]);
  const seen = await call("POST", `${SET}/replay`, { body: {}, token: elsewhere });
  expect(seen.json["runs"]).toEqual([]);
});

it("sets change for those who have seen them, and for administrators of all projects alone", async () => {
  const { call, put, tokenOf } = await startWithSet({ projects: ["web"] }, "none");
  const shown = await call("GET", SET);
  const first = String(shown.json["version"]);
  const change = async (body: object, headers = {}, token?: string) =>
    call("PATCH", SET, { body, headers, token });
  expect((await change({ description: "a" })).status).toBe(428);
  const etag = { "if-match": shown.headers.get("etag") ?? "" };
  expect((await change({ description: "a" }, etag)).json["description"]).toBe("a");
  expect((await change({ description: "b" }, etag)).status).toBe(412);
  expect((await change({ version: "0".repeat(64) }, ANY)).json["code"]).toBe("unprocessable");
  expect((await change({ version: first }, ANY)).status).toBe(200);
  const own = await tokenOf("admin", ["web"]);
  expect((await change({ enforcement: "advisory" }, ANY, own)).status).toBe(403);
  expect((await call("DELETE", SET, { headers: ANY, token: own })).status).toBe(403);
  expect((await call("GET", SET, { token: own })).status).toBe(200);
  const other = await tokenOf("admin", ["other"]);
  expect((await call("GET", SET, { token: other })).status).toBe(404);
  expect((await call("GET", SETS, { token: other })).json["sets"]).toEqual([]);
  for (const entrypoint of ["nothing", "../x", "a b", "-e"]) {
    const answer = await put(`entrypoint=${encodeURIComponent(entrypoint)}`);
    expect([entrypoint, answer.status >= 400 && answer.status < 500]).toEqual([entrypoint, true]);
  }
  const rego = new TextEncoder().encode("package a\ndeny contains 1 if true\n");
  const source = await call("PUT", `${SET}/content`, { body: rego });
  expect([source.json["code"], source.json["detail"]]).toEqual([
    "unprocessable",
    expect.stringContaining("--opa-command") as string,
  ]);
  const huge = new Uint8Array(5 * 1024 * 1024);
  expect((await call("PUT", `${SET}/content`, { body: huge })).status).toBe(413);
  expect((await call("DELETE", SET, { headers: ANY })).status).toBe(204);
  expect((await call("GET", SET)).status).toBe(404);
});

it("a caller with one project sees no other project that a set is for", async () => {
  const { call, tokenOf } = await startWithSet({ projects: ["web", "merger", "w*"] }, "none");
  const token = await tokenOf("reader", ["web"]);
  const names = { projects: ["web", "w*"] };
  expect((await call("GET", SETS, { token })).json["sets"]).toMatchObject([names]);
  expect((await call("GET", SET, { token })).json).toMatchObject(names);
  const all = { projects: ["web", "merger", "w*"] };
  expect((await call("GET", SET, { token: await tokenOf("reader") })).json).toMatchObject(all);
  const other = await tokenOf("reader", ["net"]);
  expect((await call("GET", SET, { token: other })).status).toBe(404);
  expect((await call("GET", SETS, { token: other })).json).toEqual({ sets: [] });
});
