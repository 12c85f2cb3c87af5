import { createHmac } from "node:crypto";
import { access, chmod } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { StorageBackend } from "@stackwright/storage";
import { expect, it, onTestFinished } from "vitest";
import { createGitPlace } from "../testing/git-place.ts";
import { policyBundle } from "../testing/policies/read-policies.ts";
import { hostileBlocks, repositorySettings } from "../testing/repository-settings.ts";
import { P, startApi } from "../testing/start-api.ts";
import { startFakeGitea } from "../testing/start-fake-gitea.ts";

const SECRET = "a-secret-of-the-webhook";

/** What runs and deliveries write. Everything else is settings, also of kinds that are not thought of here. */
const WORK: ReadonlySet<string> = new Set([
  "Run",
  "RunLog",
  "RunLogSegment",
  "RunTicket",
  "StackQueue",
  "PlanSummary",
  "PolicyResult",
  "ConfigurationVersion",
  "StackHead",
  "StackPlan",
  "StackKeys",
  "Fence",
  "Heartbeat",
  "VcsBranch",
  "VcsTask",
  "VcsDelivery",
  "VcsPullRequest",
  "NotificationEvent",
  "AuditEntry",
  "AuditOrder",
  "AuditSegment",
  "ServerKeys",
]);

/** All resources that are no work, as they are stored. */
async function settingsOf(storage: StorageBackend): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  await using snapshot = await storage.snapshot();
  for await (const { id, data } of snapshot) {
    if (WORK.has(id.type.kind)) continue;
    const name = [id.type.kind, ...Object.values(id.tenancy), id.name].join(" ");
    found.set(name, Buffer.from(data?.value ?? []).toString("base64"));
  }
  return found;
}

/** Counts who connects to it. */
async function startListener() {
  let calls = 0;
  const server = createServer((_request, response) => {
    calls += 1;
    response.statusCode = 500;
    response.end();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, calls: () => calls };
}

const BLOCKS = Object.keys(hostileBlocks({ marker: "", url: "http://127.0.0.1:1" }));
const BAD = 'resource "terraform_data" "bad" { input = "x" }\n';

/** A server with settings of all kinds, and a repository with a pull request that has some of its own. */
async function start(isFork: boolean) {
  const place = await createGitPlace();
  const gitea = await startFakeGitea("change");
  gitea.shown.isFork = isFork;
  const listener = await startListener();
  const marker = join(place.folder, "executed");
  const { server, call } = await startApi("in-process", {
    vcsFolders: [place.repositories],
    vcsHosts: ["127.0.0.1"],
    notificationHosts: ["127.0.0.1"],
  });
  const ok = async (method: string, path: string, body: object | Uint8Array<ArrayBuffer>) => {
    const headers = path.endsWith("/hooks") ? { "if-match": "*" } : {};
    const answer = await call(method, path, { body, headers });
    expect([path, answer.status < 300, answer.text]).toEqual([path, true, answer.text]);
  };
  const stacks = ["one", "pooled", ...BLOCKS];
  for (const name of stacks) await ok("POST", `${P}/stacks`, { name });
  await ok("PATCH", P, { required_approvals: 2, pools: [{ pool: "ours", stacks: ["pooled"] }] });
  await ok("PUT", `${P}/hooks`, {
    hooks: [{ name: "scanner", stage: "before_plan", script: "echo the hook of the server" }],
  });
  await ok("POST", "/api/v1/policy-sets", { name: "security" });
  await ok("PUT", "/api/v1/policy-sets/security/content?entrypoint=stackwright", policyBundle());
  await ok("POST", "/api/v1/users", { name: "mallory", service: true });
  await ok("PUT", `${P}/roles/user/mallory`, { role: "viewer" });
  await ok("POST", `${P}/variable-sets`, { name: "all" });
  await ok("PUT", `${P}/stacks/one/variables/terraform/word`, { value: "ours" });
  const url = `${listener.url}/events`;
  await ok("POST", `${P}/notifications`, {
    name: "ops",
    kind: "webhook",
    url,
    events: ["run.stuck"],
  });
  await ok("POST", `${P}/vcs-connections`, {
    name: "infra",
    kind: "gitea",
    repository_url: `file://${place.bare}`,
    api_url: gitea.url,
    repository: "acme/infra",
    webhook_secret: SECRET,
    token: "token",
    stacks: stacks.map((stack) => ({ stack, directory: stack })),
  });
  const connection = `${P}/vcs-connections/infra`;
  const tasks = async () => (await call("GET", `${connection}/tasks`)).json["tasks"];
  await place.commit({ "README.md": "infra" });
  await place.git("push", "--quiet", "origin", "HEAD:main");
  await expect.poll(tasks, { timeout: 30_000 }).toEqual([]);

  await place.git("checkout", "--quiet", "-b", "change");
  const wish = { marker, url: listener.url };
  const files: Record<string, string> = {};
  for (const [name, text] of Object.entries(repositorySettings(wish))) {
    // At the top of the repository, and beside the configuration of a stack.
    files[name] = text;
    files[`one/${name}`] = text;
  }
  files["one/main.tf"] = `variable "word" {}\n${BAD}output "word" { value = var.word }\n`;
  files["pooled/main.tf"] = BAD;
  for (const [name, block] of Object.entries(hostileBlocks(wish))) {
    files[`${name}/main.tf`] = block + BAD;
  }
  await place.commit(files);
  const scripts = Object.keys(files).filter((name) => files[name]?.startsWith("#!"));
  for (const name of scripts) await chmod(join(place.work, name), 0o755);
  await place.commit({ "README.md": "with scripts that can be executed" });
  await place.git("push", "--quiet", "origin", "HEAD:change", "HEAD:refs/pull/1/head");
  gitea.shown.head = await place.git("rev-parse", "HEAD");
  const deliver = async (event: string, body: object): Promise<void> => {
    const text = JSON.stringify({ ...body, repository: { full_name: "acme/infra" } });
    const answer = await fetch(`${server.url}/hooks/vcs/default/web/infra`, {
      method: "POST",
      body: text,
      headers: {
        "content-type": "application/json",
        "x-gitea-event": event,
        "x-gitea-signature": createHmac("sha256", SECRET).update(text).digest("hex"),
      },
    });
    expect(answer.status).toBe(202);
  };
  const { storage } = server.registry.parts.records;
  const runsOf = async (stack: string) =>
    (await call("GET", `${P}/stacks/${stack}/runs`)).json["runs"] as Record<string, unknown>[];
  return { call, gitea, listener, marker, deliver, storage, tasks, runsOf, files };
}

it("a pull request changes no settings of the server, and is judged and executed by them", {
  timeout: 240_000,
}, async () => {
  const { call, gitea, listener, marker, deliver, storage, runsOf, files } = await start(false);
  expect(Object.keys(files).length).toBeGreaterThan(500);
  const before = await settingsOf(storage);
  await deliver("pull_request", { number: 1 });

  // The hook of the server is executed, and no other; the policy of the server judges, and its variable is the one.
  const ended = async (stack: string) => {
    const phase = async () => (await runsOf(stack))[0]?.["phase"];
    await expect.poll(phase, { timeout: 120_000 }).toMatch(/^(plan_finished|discarded|failed)$/);
    const [run = {}] = await runsOf(stack);
    return { run, path: `${P}/stacks/${stack}/runs/${String(run["id"])}` };
  };
  const { run, path } = await ended("one");
  expect(run).toMatchObject({ mode: "plan_only", actor: "vcs:infra" });
  const { text: log } = await call("GET", `${path}/events`);
  const sources = [...log.matchAll(/"source":"hook ([^"]*)"/g)].map(([, name]) => name);
  expect(new Set(sources)).toEqual(new Set(["scanner"]));
  expect(log).toContain("the hook of the server");
  const { json: judged } = await call("GET", `${path}/policy-results`);
  expect(judged).toMatchObject({ sets: [{ set: "security", outcome: "failed" }] });
  const plan = await call("GET", `${path}/plan/rendered?form=text`);
  expect(plan.text).toContain("ours");
  expect(plan.text).not.toContain("theirs");

  // Whatever a configuration says of where it belongs: it is planned here, or refused, and judged where it is planned.
  for (const stack of BLOCKS) {
    const one = await ended(stack);
    if (one.run["phase"] === "failed") continue;
    const { json } = await call("GET", `${one.path}/policy-results`);
    expect(json).toMatchObject({ sets: [{ set: "security", outcome: "failed" }] });
  }

  // The pool of the server, which has no workers: the run stays queued.
  const [pooled] = await runsOf("pooled");
  expect(pooled).toMatchObject({ phase: "queued" });
  const tickets = await storage.list(
    "strong",
    { group: "stackwright", kind: "RunTicket" },
    { partition: "default", peerName: "*", namespace: "*" },
    "",
  );
  const ticket = tickets.find(({ data }) => Buffer.from(data?.value ?? []).includes("ours"));
  expect(ticket?.id.name).toContain(String(pooled?.["id"]));

  expect(await settingsOf(storage)).toEqual(before);
  expect(listener.calls()).toBe(0);
  await expect(access(marker)).rejects.toThrow("ENOENT");
  // The project asks for two approvals, whatever the repository says; who wrote the change gives none.
  await deliver("issue_comment", {
    action: "created",
    is_pull: true,
    issue: { number: 1 },
    comment: { user: { login: "mallory" }, body: "stackwright apply", created_at: new Date() },
  });
  expect((await runsOf("one")).map(({ mode }) => mode)).toEqual(["plan_only"]);
  expect(gitea.shown.comment).not.toContain("applied, run");
});

it("a pull request from a fork changes no settings either, and nothing of it is executed", {
  timeout: 120_000,
}, async () => {
  const { gitea, listener, marker, deliver, storage, tasks, runsOf } = await start(true);
  const before = await settingsOf(storage);
  await deliver("pull_request", { number: 1 });
  await expect.poll(() => gitea.shown.comment, { timeout: 60_000 }).toContain("not planned");
  await expect.poll(tasks, { timeout: 60_000 }).toEqual([]);
  for (const stack of ["one", "pooled", ...BLOCKS]) expect(await runsOf(stack)).toEqual([]);
  expect(await settingsOf(storage)).toEqual(before);
  expect(listener.calls()).toBe(0);
  await expect(access(marker)).rejects.toThrow("ENOENT");
});
