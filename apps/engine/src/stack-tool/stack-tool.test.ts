import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { PLAYED_INIT, PLAYED_PLAN, playedTool } from "../testing/played-tool.ts";
import { P, S, startApi } from "../testing/start-api.ts";

const CANARY = "canary-4711";
const FILES = { "main.tf": 'resource "terraform_data" "a" { input = "x" }' };
const RESTS = ["awaiting_approval", "applied", "failed", "partially_applied", "canceled"];

async function start(
  tool: string,
  settings: object = {},
  files: Record<string, string> = FILES,
  options: Parameters<typeof startApi>[1] = {},
) {
  const api = await startApi("in-process", { tools: [`terraform=${tool}`], ...options });
  const { call, upload } = api;
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const set = await call("PATCH", `${S}/tool`, { body: { tool: "terraform", ...settings } });
  expect([set.status, set.json["tool"]]).toEqual([200, "terraform"]);
  const value = { value: CANARY, sensitive: true };
  await call("PUT", `${S}/variables/env/WORD`, { body: value });
  const { digest } = (await upload(files)).json;
  const show = async (id: unknown) => (await call("GET", `${S}/runs/${String(id)}`)).json;
  const rests = async (id: unknown, besides = "") => {
    const isAtRest = async () => {
      const phase = String((await show(id))["phase"]);
      return RESTS.includes(phase) && phase !== besides;
    };
    await expect.poll(isAtRest, { timeout: 20_000 }).toBe(true);
    return show(id);
  };
  const request = async () =>
    (await call("POST", `${S}/runs`, { body: { configuration: digest } })).json["id"];
  const approve = async (id: unknown) => {
    const { plan_digest } = await show(id);
    await call("POST", `${S}/runs/${String(id)}/approvals`, { body: { plan_digest } });
    return rests(id, "awaiting_approval");
  };
  const log = async (id: unknown) => (await call("GET", `${S}/runs/${String(id)}/events`)).text;
  return { ...api, request, rests, approve, log, show };
}

it("plans and applies with a tool, hides what is secret, and compares", async () => {
  const tool = await playedTool({ plan: 'echo "the word is $WORD"; exit 2' });
  const { request, rests, approve, log, call } = await start(tool, {
    shadow: true,
    adopt_after: 1,
  });
  const id = await request();
  expect(await rests(id)).toMatchObject({ phase: "awaiting_approval", tool: "terraform" });
  expect(await approve(id)).toMatchObject({ phase: "applied" });
  expect(await log(id)).toContain("the word is (sensitive value)");
  expect(await log(id)).not.toContain(CANARY);
  const comparison = async () => (await call("GET", `${S}/runs/${String(id)}/comparison`)).json;
  await expect.poll(async () => (await comparison())["outcome"]).toBe("equal");
  const shown = await call("GET", `${S}/tool`);
  expect(shown.json).toMatchObject({ equal_in_a_row: 1, can_adopt: true });
  const listed = await call("GET", `${S}/comparisons`);
  expect(listed.json["comparisons"]).toMatchObject([{ run: id, number: 1, outcome: "equal" }]);
  expect(listed.text).not.toContain("differences");
  const all = await call("GET", `${P}/tools`);
  expect(all.json["stacks"]).toMatchObject([{ stack: "one", tool: "terraform", can_adopt: true }]);
  // The bytes that the tool wrote are the state, which commands and the engine read.
  const versions = await call("GET", `${S}/state-versions`);
  expect(versions.text).toContain('"serial":"1"');
});

it("executes the hooks of the stack around a plan and an apply by a tool", async () => {
  const tool = await playedTool({ plan: "test -f made.tf && echo made; exit 2" });
  const { request, rests, approve, log, call } = await start(tool);
  const hooks = [
    { name: "make", stage: "before_plan", script: "echo '# made' > made.tf" },
    {
      name: "scan",
      stage: "after_plan",
      script: 'grep -o terraform_data.a "$STACKWRIGHT_PLAN_JSON"; echo "word $WORD"',
    },
    { name: "gate", stage: "before_apply", command: ["echo", "opened"] },
    { name: "end", stage: "after_apply", script: 'echo "it was $STACKWRIGHT_APPLY_RESULT"' },
  ];
  expect((await call("PUT", `${S}/hooks`, { body: { hooks } })).status).toBe(200);
  const id = await request();
  expect(await rests(id)).toMatchObject({ phase: "awaiting_approval" });
  expect(await approve(id)).toMatchObject({ phase: "applied" });
  const text = await log(id);
  for (const line of ["made", "terraform_data.a", "opened", "it was applied"]) {
    expect(text).toContain(`"text":"${line}"`);
  }
  expect(text).not.toContain(CANARY);
});

it("makes no plan with a tool of a folder without configuration, but of what a hook puts there", async () => {
  const tool = await playedTool({ plan: "exit 2" });
  const { request, rests, call } = await start(tool, {}, { "notes.txt": "x" });
  const refused = await rests(await request());
  expect(refused["phase"]).toBe("failed");
  expect(JSON.stringify(refused)).toContain("has no configuration files");
  const hooks = [{ name: "make", stage: "before_plan", script: "echo '# made' > made.tf" }];
  expect((await call("PUT", `${S}/hooks`, { body: { hooks } })).status).toBe(200);
  expect(await rests(await request())).toMatchObject({ phase: "awaiting_approval" });
});

it("lists what the engine plans differently, without secrets, and counts from the beginning", async () => {
  const [change] = PLAYED_PLAN.resource_changes;
  const other = {
    ...PLAYED_PLAN,
    resource_changes: [
      { ...change, change: { ...change?.change, after: { input: CANARY, triggers_replace: "y" } } },
    ],
  };
  const tool = await playedTool({ show: `printf '%s' '${JSON.stringify(other)}'` });
  const { request, rests, call } = await start(tool, { shadow: true });
  const id = await request();
  await rests(id);
  const comparison = async () => (await call("GET", `${S}/runs/${String(id)}/comparison`)).json;
  await expect.poll(async () => (await comparison())["outcome"]).toBe("different");
  const found = await comparison();
  expect(found).toMatchObject({
    differing: 2,
    differences: [
      { address: "terraform_data.a", path: "after.input", engine: '"x"' },
      { address: "terraform_data.a", path: "after.triggers_replace", tool: '"y"' },
    ],
  });
  expect(JSON.stringify(found)).not.toContain(CANARY);
  expect((await call("GET", `${S}/tool`)).json).toMatchObject({ equal_in_a_row: 0 });
});

it.each([
  ["garbage", "echo '{broken'", "it is not JSON"],
  ["another document", "echo '{}'", "it has no format_version"],
  [
    "a change without an action",
    `printf '%s' '{"format_version":"1.2","resource_changes":[{"address":"a"}]}'`,
    "is not a change",
  ],
])("a tool that shows %s fails its run", async (_what, show, reason) => {
  const { request, rests } = await start(await playedTool({ show }));
  expect(await rests(await request())).toMatchObject({
    phase: "failed",
    reason_code: "tool_output",
    reason: expect.stringContaining(reason) as string,
  });
});

it("a tool that chose another backend fails its run", async () => {
  const init = `mkdir -p "$TF_DATA_DIR"; echo '{"backend":{"type":"s3"}}' > "$TF_DATA_DIR/terraform.tfstate"`;
  const { request, rests } = await start(await playedTool({ init }));
  expect(await rests(await request())).toMatchObject({
    phase: "failed",
    reason: expect.stringContaining('it chose "s3"') as string,
  });
});

it("uses the program of the version that the stack needs, of those that the worker offers", async () => {
  const other = await playedTool({ plan: "echo other; exit 1" });
  const wanted = await playedTool({ plan: "echo wanted; exit 2" });
  const tools = [`terraform@1.10.0=${other}`, `terraform@1.11.4=${wanted}`];
  const { request, rests, approve, log } = await start("", { version: "1.11.4" }, FILES, { tools });
  const id = await request();
  expect(await rests(id)).toMatchObject({ phase: "awaiting_approval" });
  expect(await approve(id)).toMatchObject({ phase: "applied" });
  expect(await log(id)).toContain('"text":"wanted"');
});

it("plans nothing with a program that has another version than it is offered as", async () => {
  const tools = [`terraform@1.12.0=${await playedTool()}`];
  const { request, rests } = await start("", { version: "1.12.0" }, FILES, { tools });
  expect(await rests(await request())).toMatchObject({
    phase: "failed",
    reason_code: "tool_version",
    reason: "terraform: the worker has the version 1.11.4, and the stack needs 1.12.0",
  });
});

it("applies no plan with a program that was replaced by another version", async () => {
  const tool = await playedTool({ apply: 'echo begun > "$0.begun"' });
  const { request, rests, approve } = await start(tool);
  const id = await request();
  expect(await rests(id)).toMatchObject({ phase: "awaiting_approval" });
  const program = await readFile(tool, "utf8");
  const replaced = program.replace(
    '"terraform_version":"1.11.4"}\'',
    '"terraform_version":"1.12.0"}\'',
  );
  expect(replaced).not.toBe(program);
  await writeFile(tool, replaced);
  expect(await approve(id)).toMatchObject({
    phase: "failed",
    reason_code: "tool_version",
    reason: "terraform: the plan was made by the version 1.11.4, and the worker has 1.12.0",
  });
  await expect(readFile(`${tool}.begun`)).rejects.toThrow("ENOENT");
});

it("neither plans nor applies with a provider in quarantine that the tool has from elsewhere", async () => {
  const address = "registry.example.com/acme/demo";
  const lock = `provider "${address}" {\n  version = "1.0.0"\n}\n`;
  const begun = 'echo "$1" >> "$0.begun"';
  const parts = { init: `${PLAYED_INIT}; ${begun}`, plan: `${begun}; exit 2`, apply: begun };
  const tool = await playedTool(parts);
  const { request, rests, approve, call } = await start(
    tool,
    {},
    { ...FILES, ".terraform.lock.hcl": lock },
    { upstreamHosts: ["registry.example.com"] },
  );
  const path = `/api/v1/registry/quarantine/${address}/1.0.0`;
  const quarantine = async () => call("PUT", path, { body: { reason: "stolen key" } });
  const refused = {
    phase: "failed",
    reason_code: "ENGINE_PROVIDER_UNAVAILABLE",
    reason: expect.stringMatching(/acme\/demo 1\.0\.0 is in quarantine .*stolen key/) as string,
  };
  expect((await quarantine()).status).toBe(200);
  expect(await rests(await request())).toMatchObject(refused);
  expect((await call("DELETE", path)).status).toBe(204);
  const id = await request();
  expect(await rests(id)).toMatchObject({ phase: "awaiting_approval" });
  // Also what was planned before.
  await quarantine();
  expect(await approve(id)).toMatchObject(refused);
  expect(await readFile(`${tool}.begun`, "utf8")).toBe("init\ninit\nplan\ninit\n");
});

it.each(["in-process", "child"] as const)(
  "does not plan with a provider of another account that the tool has from when its namespace was public, in the executor %s",
  async (executor) => {
    const lock = 'provider "localterraform.com/neighbor/demo" {\n  version = "1.0.0"\n}\n';
    const parts = { init: PLAYED_INIT, plan: 'echo "$1" >> "$0.begun"; exit 2' };
    const tool = await playedTool(parts);
    const files = { ...FILES, ".terraform.lock.hcl": lock };
    const { request, rests, call } = await start(tool, {}, files, { executor });
    const show = async (isPublic: boolean) => {
      const body = { account: "acme", public: isPublic };
      const { status } = await call("PUT", "/api/v1/registry/namespaces/neighbor", { body });
      expect(status).toBe(200);
    };
    await show(false);
    expect(await rests(await request())).toMatchObject({
      phase: "failed",
      reason_code: "ENGINE_PROVIDER_UNAVAILABLE",
      reason: expect.stringMatching(
        /neighbor\/demo 1\.0\.0 is not available to this account/,
      ) as string,
    });
    await show(true);
    expect(await rests(await request())).toMatchObject({ phase: "awaiting_approval" });
    expect(await readFile(`${tool}.begun`, "utf8")).toBe("plan\n");
  },
);

it("an apply that is killed is not begun again, and leaves the state that it wrote", async () => {
  const state =
    '{"version":4,"terraform_version":"1.11.4","serial":3,"lineage":"l-1","outputs":{},"resources":[]}';
  const apply = `printf '%s' '${state}' > "$state"; echo begun >> "$0.begun"; sleep 2; kill -9 $$`;
  const tool = await playedTool({ apply });
  const { request, rests, approve, call, log, show } = await start(tool);
  const id = await request();
  await rests(id);
  expect(await approve(id)).toMatchObject({
    phase: "partially_applied",
    reason_code: "apply_unknown",
  });
  expect(await readFile(`${tool}.begun`, "utf8")).toBe("begun\n");
  expect((await call("GET", `${S}/tool`)).json).toMatchObject({ attention: id });
  expect((await call("GET", `${S}/state-versions`)).text).toContain('"serial":"3"');
  // What would be applied without an approval waits for somebody who compares it.
  const { configuration } = await show(id);
  const body = { configuration, auto_apply: true };
  const made = await call("POST", `${S}/runs`, { body });
  expect([made.status, made.text]).toEqual([201, made.text]);
  const next = made.json["id"];
  expect(await rests(next)).toMatchObject({ phase: "awaiting_approval", auto_apply: false });
  await call("POST", `${S}/runs/${String(next)}/cancel`, { body: {} });
  expect(await log(next)).toContain(`the apply of the run ${String(id)} is not known`);
});

it("keeps a state that the store refuses, names it, and takes it again once it is corrected", async () => {
  const broken = '{"version":4,"terraform_version":"1.11.4","serial":3,';
  const apply = `printf '%s' '${broken}' > "$state"; exit 1`;
  const { request, rests, approve, log, call, directory } = await start(
    await playedTool({ apply }),
  );
  const id = await request();
  await rests(id);
  const ended = await approve(id);
  const [path = ""] = (await readdir(directory, { recursive: true }))
    .filter((name) => name.endsWith(`unstored-states/${String(id)}.tfstate`))
    .map((name) => join(directory, name));
  expect(await readFile(path, "utf8")).toBe(broken);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(ended).toMatchObject({
    phase: "partially_applied",
    reason_code: "apply_unknown",
    reason: expect.stringContaining(path) as string,
  });
  expect(await log(id)).toContain(path);
  // What is said to be done can be done.
  const corrected = Buffer.from(`${broken}"lineage":"l-1","outputs":{},"resources":[]}`);
  expect(
    (await call("POST", "/state/v1/default/web/one", { body: Uint8Array.from(corrected) })).status,
  ).toBe(200);
  expect((await call("GET", `${S}/state-versions`)).text).toContain('"serial":"3"');
});

it("stores the state of an apply whose configuration came with that of a failed command", async () => {
  const { request, rests, approve, call } = await start(
    await playedTool(),
    {},
    { ...FILES, "errored.tfstate": '{"version":4,"serial":9,"lineage":"l-0"}' },
  );
  const id = await request();
  await rests(id);
  expect(await approve(id)).toMatchObject({ phase: "applied" });
  const versions = (await call("GET", `${S}/state-versions`)).text;
  expect(versions).toContain('"serial":"1"');
  expect(versions).toContain('"lineage":"l-1"');
});

it("a tool that hangs is interrupted by a cancel, and ended by the second", async () => {
  const plan = "trap '' INT; while true; do sleep 0.1; done";
  const { request, rests, call, show } = await start(await playedTool({ plan }));
  const id = await request();
  await expect.poll(async () => (await show(id))["phase"], { timeout: 20_000 }).toBe("planning");
  await call("POST", `${S}/runs/${String(id)}/cancel`, { body: {} });
  await call("POST", `${S}/runs/${String(id)}/cancel`, { body: { force: true } });
  expect(await rests(id)).toMatchObject({ phase: "canceled" });
});

it("is not changed while a run waits, nor to a tool that is not offered", async () => {
  const { request, rests, call } = await start(await playedTool());
  await rests(await request());
  const busy = await call("PATCH", `${S}/tool`, { body: { tool: "stackwright" } });
  expect([busy.status, busy.text]).toEqual([409, expect.stringContaining("is in progress")]);
  const none = await call("PATCH", `${S}/tool`, { body: { tool: "tofu" } });
  expect([none.status, none.text]).toEqual([422, expect.stringContaining("offers no tofu")]);
});

it("has its settings changed also while a run waits that has its version", async () => {
  const { request, rests, call } = await start(await playedTool(), { version: "1.11.4" });
  expect(await rests(await request())).toMatchObject({ phase: "awaiting_approval" });
  const changed = await call("PATCH", `${S}/tool`, { body: { adopt_after: 9 } });
  expect([changed.status, changed.json]).toMatchObject([
    200,
    { version: "1.11.4", adopt_after: 9 },
  ]);
  const other = await call("PATCH", `${S}/tool`, { body: { version: "" } });
  expect([other.status, other.text]).toEqual([409, expect.stringContaining("is in progress")]);
});

it("does not plan an empty stack whose configuration has a state elsewhere", async () => {
  const files = { "main.tf": 'terraform {\n  backend "s3" { bucket = "b" }\n}' };
  const { request, rests } = await start(await playedTool(), {}, files);
  expect(await rests(await request())).toMatchObject({
    phase: "failed",
    reason_code: "ENGINE_STATE_NOT_ADOPTED",
  });
});
