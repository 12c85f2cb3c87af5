import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { P, startApi } from "../../testing/start-api.ts";
import { tarOf } from "../../testing/tar-of.ts";

const SETS = `${P}/plan-sets`;

const reads = (name: string): string => `
data "terraform_remote_state" "${name}" {
  backend = "stackwright"
  config  = { stack = "${name}" }
}
`;
const NETWORK = `
resource "terraform_data" "net" { input = "v1" }
output "id" { value = terraform_data.net.id }
output "key" {
  value     = "hidden-word"
  sensitive = true
}
`;
const APP = `${reads("network")}
resource "terraform_data" "a" { input = data.terraform_remote_state.network.outputs.id }
resource "terraform_data" "b" { input = data.terraform_remote_state.network.outputs.key }
output "id" { value = terraform_data.a.output }
`;
const DNS = `${reads("app")}
resource "terraform_data" "record" { input = data.terraform_remote_state.app.outputs.id }
`;
/** Its plan is sound, and its apply fails. */
const BROKEN = `
resource "terraform_data" "net" {
  input = "v1"
  lifecycle {
    postcondition {
      condition     = self.id == "none"
      error_message = "it has an id"
    }
  }
}
output "id" { value = terraform_data.net.id }
output "key" { value = "x" }
`;

interface ShownSet {
  readonly id: string;
  readonly phase: string;
  readonly digest?: string;
  readonly reason?: string;
  readonly stacks: readonly {
    readonly stack: string;
    readonly run: string;
    readonly phase: string;
    readonly reads: readonly string[];
  }[];
}

async function start() {
  const api = await startApi();
  const { call } = api;
  const upload = async (stack: string, text: string) => {
    await call("POST", `${P}/stacks`, { body: { name: stack } });
    const body = Uint8Array.from(gzipSync(tarOf({ "main.tf": text })));
    const made = await call("POST", `${P}/stacks/${stack}/configurations`, { body });
    return { stack, configuration: String(made.json["digest"]) };
  };
  const request = async (texts: Readonly<Record<string, string>>, mode = "apply") => {
    const stacks = [];
    for (const [name, text] of Object.entries(texts)) stacks.push(await upload(name, text));
    return call("POST", SETS, { body: { stacks, mode } });
  };
  const show = async (id: unknown) =>
    (await call("GET", `${SETS}/${String(id)}`)).json as unknown as ShownSet;
  const reached = async (id: unknown, phase: string) => {
    await expect
      .poll(async () => (await show(id)).phase, { timeout: 60_000, interval: 50 })
      .toBe(phase);
    return show(id);
  };
  const approve = async ({ id, digest }: ShownSet) =>
    call("POST", `${SETS}/${id}/approvals`, { body: { digest } });
  return { ...api, upload, request, show, reached, approve };
}

const phasesOf = ({ stacks }: ShownSet) => stacks.map(({ stack, phase }) => `${stack} ${phase}`);

it("plans stacks with the planned outputs of the others, approves them at once, and applies them in order", {
  timeout: 120_000,
}, async () => {
  const { call, request, reached, approve } = await start();
  const made = await request({ dns: DNS, app: APP, network: NETWORK });
  expect([made.status, made.headers.get("location")]).toEqual([
    201,
    `${SETS}/${String(made.json["id"])}`,
  ]);
  const set = await reached(made.json["id"], "awaiting_approval");
  expect(set.stacks.map(({ stack, reads: others }) => [stack, others])).toEqual([
    ["network", []],
    ["app", ["network"]],
    ["dns", ["app"]],
  ]);
  const [network] = set.stacks;
  // One of the runs is not approved alone.
  const runPath = `${P}/stacks/network/runs/${network?.run ?? ""}`;
  const { plan_digest: planDigest, plan_set: ofSet } = (await call("GET", runPath)).json;
  expect(ofSet).toBe(set.id);
  const alone = await call("POST", `${runPath}/approvals`, { body: { plan_digest: planDigest } });
  expect([alone.status, alone.json["code"]]).toEqual([409, "conflict"]);
  const other = await approve({ ...set, digest: "0".repeat(64) });
  expect([other.status, other.json["code"]]).toEqual([409, "plan_changed"]);
  // A stack is in one set at a time.
  const second = await request({ app: APP });
  expect([second.status, second.json["code"]]).toEqual([409, "conflict"]);
  const text = (await call("GET", `${SETS}/${set.id}/rendered?form=text`)).text;
  expect([...text.matchAll(/^Stack (\S+)$/gm)].map(([, name]) => name)).toEqual([
    "web/network",
    "web/app",
    "web/dns",
  ]);
  expect(text).not.toContain("hidden-word");
  expect((await approve(set)).status).toBe(201);
  const done = await reached(set.id, "applied");
  expect(phasesOf(done)).toEqual(["network applied", "app applied", "dns applied"]);
  const outputOf = async (stack: string) =>
    (await call("GET", `${P}/stacks/${stack}/state`)).json["outputs"];
  expect(JSON.stringify(await outputOf("app"))).not.toContain("hidden-word");
  expect((await call("GET", runPath)).json["approvals"]).toMatchObject([
    { plan_digest: planDigest },
  ]);
  // Nothing is left to do, and nothing is to be approved.
  const again = await request({ dns: DNS, app: APP, network: NETWORK });
  expect(phasesOf(await reached(again.json["id"], "no_changes"))).toHaveLength(3);
  const listed = (await call("GET", `${SETS}?limit=1`)).json;
  expect(listed).toMatchObject({ plan_sets: [{ id: again.json["id"] }], next: expect.any(String) });
});

it("stops where one is not applied, and applies none behind it", { timeout: 120_000 }, async () => {
  const { request, reached, approve, show } = await start();
  const made = await request({ app: APP, network: BROKEN });
  await approve(await reached(made.json["id"], "awaiting_approval"));
  const ended = await reached(made.json["id"], "failed");
  expect(ended.reason).toContain("network");
  await expect
    .poll(async () => phasesOf(await show(ended.id))[1], { timeout: 60_000, interval: 50 })
    .toBe("app discarded");
  // The stacks are free for another one.
  expect((await request({ app: APP, network: NETWORK })).status).toBe(201);
});

it("ends with its runs where one has no plan, is discarded or canceled", {
  timeout: 120_000,
}, async () => {
  const { call, request, reached, show } = await start();
  const circle = await request({
    a: `${reads("b")}output "o" { value = data.terraform_remote_state.b.outputs }`,
    b: `${reads("a")}output "o" { value = data.terraform_remote_state.a.outputs }`,
  });
  const ended = await reached(circle.json["id"], "failed");
  expect(ended.reason).toContain("in a circle");
  const held = await reached(
    (await request({ app: APP, network: NETWORK })).json["id"],
    "awaiting_approval",
  );
  const gone = await call("POST", `${SETS}/${held.id}/discard`, { body: { reason: "no" } });
  expect(gone.json).toMatchObject({ phase: "discarded", reason: "no" });
  expect(phasesOf(await show(held.id))).toEqual(["network discarded", "app discarded"]);
  expect((await call("POST", `${SETS}/${held.id}/cancel`, { body: {} })).status).toBe(409);
  // The end of one run ends all.
  const next = await reached(
    (await request({ app: APP, network: NETWORK })).json["id"],
    "awaiting_approval",
  );
  const run = next.stacks[1]?.run ?? "";
  await call("POST", `${P}/stacks/app/runs/${run}/cancel`, { body: {} });
  expect(phasesOf(await reached(next.id, "canceled"))).toEqual([
    "network discarded",
    "app canceled",
  ]);
});

it("only plans where that is asked for, and says what is wrong with a request", {
  timeout: 120_000,
}, async () => {
  const { call, request, reached, upload, tokenOf } = await start();
  const made = await request({ app: APP, network: NETWORK }, "plan_only");
  const set = await reached(made.json["id"], "plan_finished");
  expect(phasesOf(set)).toEqual(["network plan_finished", "app plan_finished"]);
  const one = await upload("app", APP);
  const statusOf = async (stacks: readonly object[], token?: string) =>
    (await call("POST", SETS, { body: { stacks }, token })).status;
  expect(await statusOf([one, one])).toBe(400);
  expect(await statusOf([{ ...one, configuration: "0".repeat(64) }])).toBe(422);
  expect(await statusOf([{ ...one, stack: "missing" }])).toBe(404);
  expect(await statusOf([])).toBe(400);
  expect(await statusOf([one], await tokenOf("planner"))).toBe(403);
  const body = { stacks: [one] };
  const headers = { "idempotency-key": "once" };
  const first = await call("POST", SETS, { body, headers });
  const repeated = await call("POST", SETS, { body, headers });
  expect([repeated.status, repeated.json["id"]]).toEqual([201, first.json["id"]]);
  expect(repeated.headers.get("idempotency-replayed")).toBe("true");
});

it("destroys stacks before those whose outputs their states were made with, whatever the order of the request", {
  timeout: 120_000,
}, async () => {
  const { call, request, reached, approve } = await start();
  const texts = { network: NETWORK, app: APP, dns: DNS };
  const made = await request(texts);
  await approve(await reached(made.json["id"], "awaiting_approval"));
  await reached(made.json["id"], "applied");
  const asked = await request({ network: NETWORK, dns: DNS, app: APP }, "destroy");
  expect(asked).toMatchObject({ status: 201, json: { mode: "destroy" } });
  const set = await reached(asked.json["id"], "awaiting_approval");
  expect(set.stacks.map(({ stack, reads: others }) => [stack, others])).toEqual([
    ["dns", ["app"]],
    ["app", ["network"]],
    ["network", []],
  ]);
  expect(set.stacks).toMatchObject([1, 2, 1].map((count) => ({ changes: { delete: count } })));
  await approve(set);
  const done = await reached(set.id, "applied");
  expect(phasesOf(done)).toEqual(["dns applied", "app applied", "network applied"]);
  const ended = await Promise.all(
    done.stacks.map(async ({ stack, run }) => {
      const shown = await call("GET", `${P}/stacks/${stack}/runs/${run}`);
      return Date.parse(String(shown.json["updated_at"]));
    }),
  );
  expect(ended).toEqual(ended.toSorted((a, b) => a - b));
  for (const stack of Object.keys(texts)) {
    expect((await call("GET", `${P}/stacks/${stack}/state`)).json["resources"]).toEqual([]);
  }
});

it("a planner plans sets, and requests none that destroys", async () => {
  const { call, tokenOf, upload } = await start();
  const token = await tokenOf("planner");
  const body = { stacks: [await upload("network", NETWORK)], mode: "destroy" };
  expect(await call("POST", SETS, { body, token })).toMatchObject({ status: 403 });
});
