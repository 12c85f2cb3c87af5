import { createHmac } from "node:crypto";
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canary, findCanaries } from "@stackwright/core/testing";
import { expect, it, onTestFinished } from "vitest";
import { createGitPlace } from "./testing/git-place.ts";
import { noteAnswers, readAllRoutes } from "./testing/read-all-routes.ts";
import { startCollector } from "./testing/start-collector.ts";
import { startFakeGitea } from "./testing/start-fake-gitea.ts";
import { startMailServer } from "./testing/start-mail-server.ts";
import { startReceiver } from "./testing/start-receiver.ts";
import { startServerProcess } from "./testing/start-server-process.ts";

// Secrets that appear in nothing that a server sends to others: a pull request is planned and applied, with values that the
// configuration shows, in a plan and in the errors of a plan and of an apply. Then each comment, status, notification, entry of the
// audit trail, trace and metric, and what the server answers and logs. What the configuration shows is in the state, as all values are.

const MAIN = join(import.meta.dirname, "main.ts");
const P = "/api/v1/projects/default";
const waiting = { timeout: 150_000, interval: 100 };
const DECLARED = `
variable "word" {}
variable "other" {}
variable "shared" {}
`;
const SHOWN = "${nonsensitive(var.word)}/${nonsensitive(var.other)}/${nonsensitive(var.shared)}";
const SHOWING = `${DECLARED}
resource "terraform_data" "a" { input = "\${var.word} and \${var.other}" }
resource "terraform_data" "b" { input = { text = "${SHOWN}", list = [nonsensitive(var.word)] } }
output "b" {
  value     = "${SHOWN}"
  sensitive = true
}
`;
const FAILS_TO_PLAN = `${DECLARED}
output "x" { value = file("/nowhere/${SHOWN}") }
`;
const FAILS_TO_APPLY = `${DECLARED}
resource "terraform_data" "c" {
  input = "${SHOWN}"
  lifecycle {
    postcondition {
      condition     = self.output == "never"
      error_message = "it is ${SHOWN}"
    }
  }
}
`;

it("nothing that a server sends to others has a secret: comments, notifications, the audit trail, traces, metrics", {
  timeout: 400_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "canary-outgoing-"));
  onTestFinished(() => scratch.remove());
  const place = await createGitPlace();
  const gitea = await startFakeGitea("change");
  const [notified, chat, siem] = [
    await startReceiver(),
    await startReceiver(),
    await startReceiver(),
  ];
  const mails = await startMailServer();
  const authorities = join(scratch.path, "mail.pem");
  await writeFile(authorities, mails.certificate);
  const collector = await startCollector();
  const host = "127.0.0.1";
  const server = await startServerProcess(
    MAIN,
    [
      "--store",
      "sqlite:data",
      "--bootstrap-file",
      "first.json",
      "--log-level",
      "debug",
      "--vcs-folder",
      place.repositories,
      "--vcs-host",
      host,
      "--notification-host",
      host,
      "--notification-host",
      "localhost",
      "--otlp-endpoint",
      collector.url,
    ],
    { cwd: scratch.path, env: { NODE_EXTRA_CA_CERTS: authorities } },
  );
  let printed = "";
  server.child.stdout.on("data", (chunk) => {
    printed += String(chunk);
  });
  const first = await readFile(join(scratch.path, "first.json"), "utf8");
  const { token } = JSON.parse(first) as { readonly token: string };
  const values = { word: canary("terraform"), other: canary("env"), shared: canary("set") };
  const [hook, access] = [canary("hook"), canary("access")];
  const canaries = [...Object.values(values), hook, access, "canary-pass/word"];
  const { call, answers } = noteAnswers(server.url, token);
  for (const name of ["one", "two"]) {
    await call("POST", `${P}/stacks`, { name });
    const variables = `${P}/stacks/${name}/variables`;
    const { word, other } = values;
    await call("PUT", `${variables}/terraform/word`, { value: word, sensitive: true });
    await call("PUT", `${variables}/env/TF_VAR_other`, { value: other, sensitive: true });
  }
  const sets = `${P}/variable-sets`;
  await call("POST", sets, { name: "shared" });
  const shared = { value: values.shared, sensitive: true };
  await call("PUT", `${sets}/shared/variables/terraform/shared`, shared);
  await call("POST", `${P}/notifications`, { name: "ops", kind: "webhook", url: notified.url });
  await call("POST", `${P}/notifications`, { name: "chat", kind: "slack", url: chat.url });
  await call("POST", `${P}/notifications`, {
    name: "mail",
    kind: "email",
    url: `smtps://${mails.credentials}localhost:${mails.port}`,
    from: "stackwright@example.com",
    to: ["ops@example.com"],
  });
  await call("POST", "/api/v1/audit/webhooks", { name: "siem", url: siem.url });

  await place.commit({ "README.md": "infra" });
  await place.git("push", "--quiet", "origin", "HEAD:main");
  const connected = await call("POST", `${P}/vcs-connections`, {
    name: "infra",
    kind: "gitea",
    repository_url: `file://${place.bare}`,
    api_url: gitea.url,
    repository: "acme/infra",
    webhook_secret: hook,
    token: access,
    apply: "on_comment",
    required_reviews: 0,
    stacks: ["one", "two"].map((stack) => ({ stack, directory: stack })),
  });
  expect(connected).toContain('"webhook_secret"');
  let deliveries = 0;
  const deliver = async (event: string, body: object): Promise<void> => {
    deliveries += 1;
    const text = JSON.stringify({ ...body, deliveries, repository: { full_name: "acme/infra" } });
    const signature = createHmac("sha256", hook).update(text).digest("hex");
    const headers = { "x-gitea-event": event, "x-gitea-signature": signature };
    const answer = await fetch(`${server.url}/hooks/vcs/default/default/infra`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: text,
    });
    expect(answer.status).toBe(202);
    const open = async () => call("GET", `${P}/vcs-connections/infra/tasks`);
    await expect.poll(open, waiting).toContain('"tasks":[]');
  };
  const propose = async (files: Record<string, string>): Promise<void> => {
    await place.commit(files);
    await place.git("push", "--quiet", "origin", "HEAD:change", "HEAD:refs/pull/1/head");
    gitea.shown.head = await place.git("rev-parse", "HEAD");
    await deliver("pull_request", { number: 1 });
  };
  await place.git("checkout", "--quiet", "-b", "change");
  await propose({ "one/main.tf": SHOWING, "two/main.tf": FAILS_TO_PLAN });
  expect(gitea.shown.comment).toContain("terraform_data.b");
  expect(gitea.shown.comment).toMatch(/two.*failed/);
  await propose({ "two/main.tf": FAILS_TO_APPLY });
  const comment = { user: { login: "ben" }, body: "stackwright apply", created_at: new Date() };
  const said = { action: "created", is_pull: true, issue: { number: 1 }, comment };
  await deliver("issue_comment", said);
  expect(gitea.shown.comment).toMatch(/one.*applied, run/);

  const listed = JSON.parse(await call("GET", `${P}/stacks/one/runs`)) as {
    runs: { id: string }[];
  };
  const runs = listed.runs.slice(0, 1).map(({ id }) => id);
  expect(await readAllRoutes(call, runs)).toBeGreaterThan(60);
  const metrics = await call("GET", "/metrics");
  expect(metrics).toContain("stackwright_run_step_seconds_count{");
  const events = async () => [...new Set(notified.events().map(String))].toSorted();
  await expect.poll(events, waiting).toEqual(["run.applied", "run.failed", "run.needs_approval"]);
  await expect.poll(() => chat.received.length, waiting).toBeGreaterThanOrEqual(3);
  await expect.poll(() => mails.received.length, waiting).toBeGreaterThanOrEqual(3);
  expect(mails.received.map(({ text }) => text).join("")).toContain("default/one");
  await expect
    .poll(() => siem.received.map(({ text }) => text).join(""), waiting)
    .toContain("CreateVcsConnection");
  server.child.kill("SIGTERM");
  expect(await server.ended).toBe(0);
  expect(collector.spans.length).toBeGreaterThan(20);
  expect(JSON.stringify(collector.spans)).toContain("terraform_data.b");

  const bodies = [notified, chat, siem].flatMap(({ received }) =>
    received.map(({ headers, text }) => JSON.stringify(headers) + text),
  );
  const letters = mails.received.map((mail) => JSON.stringify(mail));
  const traces = collector.requests.map(({ headers, text }) => JSON.stringify(headers) + text);
  // The answer to the one who creates a connection shows the secret of its webhook, once.
  const others = answers.filter((answer) => !answer.endsWith(connected));
  expect(others).toHaveLength(answers.length - 1);
  const sent = {
    answers: others,
    bodies,
    letters,
    traces,
    comments: gitea.received,
    log: [printed],
  };
  const found = Object.entries(sent).flatMap(([what, texts]) =>
    texts.flatMap((text) =>
      findCanaries(`${what} ${text.slice(0, 200)}`, Buffer.from(text), canaries),
    ),
  );
  expect(found).toEqual([]);
});
