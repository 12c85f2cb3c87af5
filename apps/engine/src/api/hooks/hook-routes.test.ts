import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";

const HOOKS = `${S}/hooks`;
const ANY = { "if-match": "*" };

async function start(options: object = {}) {
  const api = await startApi("in-process", options);
  const { call, upload } = api;
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const set = async (hooks: object[], path = HOOKS) =>
    call("PUT", path, { body: { hooks }, headers: ANY });
  const run = async (body: object = { auto_apply: true }) => {
    const { digest } = (await upload()).json;
    const made = await call("POST", `${S}/runs`, { body: { configuration: digest, ...body } });
    expect(made.status, made.text).toBe(201);
    return String(made.json["id"]);
  };
  const ended = async (id: string) => {
    const phase = async () => (await call("GET", `${S}/runs/${id}`)).json["phase"];
    await expect
      .poll(phase, { timeout: 60_000 })
      .toMatch(/^(applied|failed|no_changes|plan_finished|canceled)$/);
    return (await call("GET", `${S}/runs/${id}`)).json;
  };
  const log = async (id: string) => {
    const { text } = await call("GET", `${S}/runs/${id}/events`);
    return [...text.matchAll(/^data: (\{.*"source":"hook .*\})$/gm)].map(([, json = "{}"]) => {
      const { source, text: line } = JSON.parse(json) as { source: string; text: string };
      return `${source.slice(5)}: ${line}`;
    });
  };
  return { ...api, set, run, ended, log };
}

const say = (name: string, stage: string, script: string, more: object = {}) => ({
  name,
  stage,
  script,
  ...more,
});

it.each([
  ["in-process", {}],
  ["child", { store: "sqlite:data", executor: "child" }],
])(
  "hooks of project and stack are executed around plan and apply (%s)",
  { timeout: 180_000 },
  async (_kind, options) => {
    const { call, set, run, ended, log } = await start(options);
    const secret = { value: "canary-of-a-variable", sensitive: true };
    expect(
      (await call("PUT", `${S}/variables/env/SCANNER_TOKEN`, { body: secret })).status,
    ).toBeLessThan(300);
    const project = await set(
      [say("first", "before_plan", 'echo "$STACKWRIGHT_STACK $STACKWRIGHT_RUN_MODE $(ls *.tf)"')],
      `${P}/hooks`,
    );
    expect(project.status, project.text).toBe(200);
    const hooks = [
      say("token", "before_plan", 'echo "it is $SCANNER_TOKEN"; echo "$MORE"', {
        environment: { MORE: "more" },
      }),
      say("scan", "after_plan", 'grep -o \'"actions":\\[[^]]*\\]\' "$STACKWRIGHT_PLAN_JSON"'),
      say("warned", "before_apply", "exit 7", { on_failure: "warn" }),
      {
        name: "last",
        stage: "after_apply",
        command: ["/bin/sh", "-c", "echo $STACKWRIGHT_APPLY_RESULT"],
      },
    ];
    expect((await set(hooks)).status).toBe(200);
    const id = await run();
    expect(await ended(id)).toMatchObject({ phase: "applied" });
    const lines = await log(id);
    expect(lines).toEqual([
      "first: one apply main.tf",
      expect.stringMatching(/^token: it is (?!.*canary)/),
      "token: more",
      'scan: "actions":["create"]',
      'warned: the hook "warned" (before_apply) ended with code 7; the run continues',
      "last: applied",
    ]);
  },
);

it("hooks name the mode of a run as the API does", { timeout: 180_000 }, async () => {
  const { call, upload, set, run, ended, log } = await start();
  await set([say("mode", "before_plan", 'echo "$STACKWRIGHT_RUN_MODE"')]);
  const { digest } = (await upload({ "main.tf": 'resource "terraform_data" "a" {}\n' })).json;
  const imports = [{ address: "terraform_data.a", id: "one" }];
  for (const mode of ["plan_only", "import", "refresh_only", "destroy", "apply"]) {
    const more = mode === "plan_only" ? {} : { auto_apply: true };
    const id = await run({
      configuration: digest,
      mode,
      ...more,
      ...(mode === "import" && { imports }),
    });
    expect((await ended(id))["phase"], mode).not.toBe("failed");
    expect((await call("GET", `${S}/runs/${id}`)).json["mode"]).toBe(mode);
    expect(await log(id)).toEqual([`mode: ${mode}`]);
  }
});

it("a hook that fails ends the run before it does anything, or is the reason of one that was applied", {
  timeout: 120_000,
}, async () => {
  const { set, run, ended, log } = await start();
  await set([say("gate", "after_plan", "echo forbidden; exit 1")]);
  expect(await ended(await run())).toMatchObject({
    phase: "failed",
    reason_code: "hook_failed",
    reason: 'the hook "gate" (after_plan) ended with code 1',
  });
  await set([say("gate", "before_apply", "exit 2"), say("never", "after_apply", "echo no")]);
  const refused = await run();
  const failed = await ended(refused);
  expect(failed).toMatchObject({ phase: "failed", reason_code: "hook_failed" });
  expect(failed).not.toHaveProperty("revision");
  expect(await log(refused)).toEqual([]);
  await set([
    say("smoke", "after_apply", "exit 4"),
    say("slow", "before_plan", "sleep 60", { timeout_seconds: 1, on_failure: "warn" }),
  ]);
  expect(await ended(await run())).toMatchObject({
    phase: "applied",
    reason_code: "hook_failed",
    reason: 'the hook "smoke" (after_apply) ended with code 4',
  });
});

it("a run whose hook hangs can be canceled", { timeout: 120_000 }, async () => {
  const { call, set, run, ended } = await start();
  await set([say("hang", "before_plan", "sleep 3000")]);
  const id = await run();
  const phase = async () => (await call("GET", `${S}/runs/${id}`)).json["phase"];
  await expect.poll(phase, { timeout: 30_000 }).toBe("planning");
  await call("POST", `${S}/runs/${id}/cancel`, { body: {} });
  expect(await ended(id)).toMatchObject({ phase: "canceled" });
});

it("admins set hooks by the version that they read, and what is not possible is refused", {
  timeout: 60_000,
}, async () => {
  const { call, set, tokenOf } = await start();
  const hook = say("one", "before_plan", "true");
  expect((await call("GET", HOOKS)).json).toEqual({ hooks: [] });
  const made = await call("PUT", HOOKS, { body: { hooks: [hook] } });
  expect(made.json).toMatchObject({
    hooks: [{ ...hook, timeout_seconds: 300, on_failure: "fail" }],
  });
  expect((await call("PUT", HOOKS, { body: { hooks: [] } })).status).toBe(428);
  const stale = { "if-match": '"x"' };
  expect((await call("PUT", HOOKS, { body: { hooks: [] }, headers: stale })).status).toBe(412);
  const headers = { "if-match": made.headers.get("etag") ?? "" };
  expect((await call("PUT", HOOKS, { body: { hooks: [] }, headers })).json).toMatchObject({
    hooks: [],
  });
  for (const [hooks, message] of [
    [[{ name: "a", stage: "before_plan" }], "either command or script"],
    [[{ ...hook, command: ["true"] }], "either command or script"],
    [[hook, hook], "named twice"],
    [[{ name: "a", stage: "before_plan", command: [""] }], "cannot be executed"],
    [[{ ...hook, script: "a\0b" }], "cannot be executed"],
    [[{ ...hook, environment: { STACKWRIGHT_RUN: "x" } }], "set by the server"],
    [[{ ...hook, stage: "later" }], "stage"],
    [[{ ...hook, timeout_seconds: 0 }], "timeout_seconds"],
    [
      Array.from({ length: 6 }, (_, at) => say(`h${at}`, "before_plan", "#".repeat(60_000))),
      "256 KiB",
    ],
  ] as const) {
    const refused = await set([...hooks]);
    expect([refused.status >= 400, refused.text]).toEqual([true, expect.stringContaining(message)]);
  }
  const token = await tokenOf("deployer");
  expect((await call("GET", HOOKS, { token })).status).toBe(200);
  const forbidden = await call("PUT", HOOKS, { token, body: { hooks: [] }, headers: ANY });
  expect(forbidden.json["code"]).toBe("forbidden");
});
