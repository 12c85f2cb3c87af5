import { createHmac } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { createGitPlace } from "../testing/git-place.ts";
import { P, startApi } from "../testing/start-api.ts";

const SECRET = "a-secret-of-the-webhook";

interface Report {
  readonly type: "comment" | "status";
  readonly text?: string;
  readonly context?: string;
  readonly state?: string;
  readonly description?: string;
}

/** Receives the reports of a generic connection. */
async function startReceiver() {
  const reports: Report[] = [];
  const unsigned: string[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = (await buffer(request)).toString("utf8");
    const { "webhook-id": id, "webhook-timestamp": at } = request.headers;
    const mac = createHmac("sha256", SECRET).update(`${String(id)}.${String(at)}.${text}`);
    if (request.headers["webhook-signature"] !== `v1,${mac.digest("base64")}`) unsigned.push(text);
    reports.push(JSON.parse(text) as Report);
    response.end();
  };
  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/reports`,
    unsigned,
    comments: () => reports.flatMap(({ type, text }) => (type === "comment" ? [text ?? ""] : [])),
    statuses: () =>
      new Map(
        reports.flatMap(({ type, context, state, description }) =>
          type === "status" ? [[context, `${state}: ${description}`] as const] : [],
        ),
      ),
  };
}

const stack = (name: string) => `module "m" {
  source = "../../modules/m"
  word = "${name}"
}
`;
const MODULE = (suffix: string) => `variable "word" {}
resource "terraform_data" "a" {
  input = "\${var.word}${suffix} \${path.module} \${file("\${path.module}/text.txt")}"
}
`;

async function start(settings: object = {}) {
  const place = await createGitPlace();
  const receiver = await startReceiver();
  const { server, call } = await startApi("in-process", {
    vcsFolders: [place.repositories],
    vcsHosts: ["127.0.0.1"],
  });
  for (const name of ["one", "two", "three"]) await call("POST", `${P}/stacks`, { body: { name } });
  const body = {
    name: "infra",
    kind: "generic",
    repository_url: `file://${place.bare}`,
    webhook_secret: SECRET,
    report_url: receiver.url,
    stacks: [
      { stack: "one", directory: "stacks/one" },
      { stack: "two", directory: "stacks/two" },
      { stack: "three", directory: "stacks/three", paths: ["stacks/three/**", "!**/*.md"] },
    ],
    ...settings,
  };
  const made = await call("POST", `${P}/vcs-connections`, { body });
  expect([made.status, made.text]).toEqual([201, made.text]);
  const connection = `${P}/vcs-connections/infra`;
  await settled();
  async function settled() {
    const tasks = async () => (await call("GET", `${connection}/tasks`)).json["tasks"];
    await expect.poll(tasks, { timeout: 30_000 }).toEqual([]);
  }
  const deliver = async (ref: string, secret = SECRET, time = Date.now() / 1_000) => {
    const text = JSON.stringify({ ref, time });
    const signature = `sha256=${createHmac("sha256", secret).update(text).digest("hex")}`;
    return send(text, { "x-stackwright-signature": signature });
  };
  const send = async (text: string, headers: Record<string, string>) =>
    fetch(`${server.url}/hooks/vcs/default/web/infra`, { method: "POST", body: text, headers });
  const push = async (branch: string) => {
    await place.git("push", "--quiet", "--force", "origin", `HEAD:${branch}`);
    const answer = await deliver(`refs/heads/${branch}`);
    expect(answer.status).toBe(202);
  };
  const runsOf = async (name: string) => {
    const { json } = await call("GET", `${P}/stacks/${name}/runs`);
    return (
      json["runs"] as { phase: string; mode: string; actor: string; number: number }[]
    ).toSorted((a, b) => a.number - b.number);
  };
  return { place, receiver, call, connection, settled, deliver, send, push, runsOf };
}

it("plans the stacks that a branch affects, and applies them once it is merged", {
  timeout: 120_000,
}, async () => {
  const { place, receiver, call, connection, settled, push, runsOf } = await start({
    apply: "on_merge",
  });
  await place.commit({
    "stacks/one/main.tf": stack("one"),
    "stacks/two/main.tf": stack("two"),
    "stacks/three/main.tf": 'resource "terraform_data" "b" { input = "three" }\n',
    "modules/m/main.tf": MODULE(""),
    "modules/m/text.txt": "text",
    "README.md": "read me",
  });
  // The first commit of an empty repository is new as a whole, and its plans were shown by no pull request.
  await push("main");
  for (const name of ["one", "two", "three"]) {
    await expect
      .poll(async () => (await runsOf(name)).map(({ phase }) => phase), {
        timeout: 60_000,
      })
      .toEqual(["awaiting_approval"]);
  }
  for (const name of ["one", "two", "three"]) {
    const { json } = await call("GET", `${P}/stacks/${name}/runs`);
    const [run] = json["runs"] as { id: string; plan_digest: string }[];
    const body = { plan_digest: run?.plan_digest };
    await call("POST", `${P}/stacks/${name}/runs/${run?.id}/approvals`, { body });
    await expect
      .poll(async () => (await runsOf(name)).map(({ phase }) => phase), {
        timeout: 60_000,
      })
      .toEqual(["applied"]);
  }

  await place.git("checkout", "--quiet", "-b", "feature/words");
  await place.commit(
    { "modules/m/main.tf": MODULE("!"), "stacks/three/notes.md": "notes" },
    "words",
  );
  await push("feature/words");
  await settled();
  expect(receiver.statuses().get("stackwright/plan")).toBe("success: 2 of 2 stacks done");
  const planned = receiver.comments().at(-1) ?? "";
  expect(planned).toContain("2 stacks are affected");
  expect(planned).toContain("| `one` | 0 to add, 1 to change, 0 to destroy, run 2 |");
  expect(planned).toContain("### web/two");
  expect(planned).not.toContain("three");
  expect((await runsOf("three")).length).toBe(1);
  const shown = await call(
    "GET",
    `${connection}/pull-requests/${encodeURIComponent("feature/words")}`,
  );
  expect(shown.json).toMatchObject({
    state: "open",
    title: "words",
    author: "Ann",
    conflicts: false,
  });

  await place.git("checkout", "--quiet", "main");
  await place.git("merge", "--quiet", "--no-ff", "--message", "merge", "feature/words");
  await push("main");
  await settled();
  for (const name of ["one", "two"]) {
    expect((await runsOf(name)).map(({ phase, mode, actor }) => [phase, mode, actor])).toEqual([
      ["applied", "apply", "vcs:infra"],
      ["plan_finished", "plan_only", "vcs:infra"],
      ["applied", "apply", "vcs:infra"],
    ]);
  }
  expect((await runsOf("three")).length).toBe(1);
  expect(receiver.statuses().get("stackwright/apply")).toBe("success: 2 of 2 stacks done");
  expect(receiver.comments().at(-1)).toContain(
    "| `two` | 0 to add, 1 to change, 0 to destroy, run 2 | applied, run 3 |",
  );
  expect(receiver.unsigned).toEqual([]);
});

it("refuses what is not signed, and does nothing twice", { timeout: 60_000 }, async () => {
  const { place, call, connection, settled, send, deliver, runsOf, push } = await start();
  await place.commit({ "stacks/one/main.tf": 'resource "terraform_data" "b" {}\n' });
  await push("main");
  await settled();
  expect((await deliver("refs/heads/main", "another-secret-of-a-webhook")).status).toBe(401);
  expect((await send("{}", {})).status).toBe(401);
  expect(
    (await send("not json", { "x-stackwright-signature": `sha256=${"0".repeat(64)}` })).status,
  ).toBe(401);
  const text = JSON.stringify({ ref: "refs/heads/main", time: Date.now() / 1_000 });
  const signature = createHmac("sha256", SECRET).update(text).digest("hex");
  const answers = [];
  for (let at = 0; at < 3; at += 1) {
    const answer = await send(text, { "x-stackwright-signature": `sha256=${signature}` });
    answers.push([answer.status, ((await answer.json()) as { repeated: boolean }).repeated]);
  }
  expect(answers).toEqual([
    [202, false],
    [202, true],
    [202, true],
  ]);
  expect((await deliver("refs/heads/main", SECRET, Date.now() / 1_000 - 90_000)).status).toBe(400);
  await settled();
  expect((await runsOf("one")).length).toBe(1);
  // No secret is shown, and what does not exist is not told from what is not signed.
  expect((await call("GET", connection)).text).not.toContain(SECRET);
  const elsewhere = await fetch(
    new URL("/hooks/vcs/default/web/other", (await startApi("none")).server.url),
    {
      method: "POST",
      body: "{}",
    },
  );
  expect(elsewhere.status).toBe(401);
});

it("sends a stored token to no address that it was not given for", async () => {
  const { call, connection } = await start({ token: "canary-token" });
  const body = { repository_url: "https://git.invalid/infra.git" };
  const etag = (await call("GET", connection)).headers.get("etag") ?? "";
  const headers = { "if-match": etag };
  const refused = await call("PATCH", connection, { body, headers });
  expect([refused.status, refused.text]).toEqual([
    422,
    expect.stringContaining("give a token with a new repository_url"),
  ]);
  const given = { ...body, token: "another-token" };
  const taken = await call("PATCH", connection, { body: given, headers });
  expect([taken.status, taken.text]).toEqual([200, taken.text]);
});

it("goes on after a commit that is too large to be read, with all that is new", {
  timeout: 60_000,
}, async () => {
  const { place, receiver, settled, deliver, push, runsOf } = await start();
  await place.commit({ "README.md": "read me" });
  await push("main");
  await settled();
  const parent = await place.commit({ "stacks/one/main.tf": 'output "x" { value = 1 }\n' });
  // A tree with more files than are looked through: all of them one blob.
  const blob = Buffer.from(await place.git("rev-parse", "HEAD:stacks/one/main.tf"), "hex");
  const entries = Array.from({ length: 200_001 }, (_, at) =>
    Buffer.concat([Buffer.from(`100644 f${String(at).padStart(6, "0")}\0`), blob]),
  );
  await writeFile(join(place.folder, "tree"), Buffer.concat(entries));
  const tree = await place.git("hash-object", "-t", "tree", "-w", join(place.folder, "tree"));
  const large = await place.git("commit-tree", tree, "-p", parent, "-m", "large");
  await place.git("push", "--quiet", "origin", `${large}:main`);
  expect((await deliver("refs/heads/main")).status).toBe(202);
  await settled();
  expect(receiver.statuses().get("stackwright/apply")).toContain("error: the repository has more");
  expect(await runsOf("one")).toEqual([]);
  await place.git("reset", "--quiet", "--soft", large);
  await place.commit({ "README.md": "read me again" });
  await push("main");
  await settled();
  expect((await runsOf("one")).map(({ mode }) => mode)).toEqual(["apply"]);
});

it("applies what is pushed as the connection says, whatever the project does with its runs", {
  timeout: 60_000,
}, async () => {
  const { place, call, settled, push, runsOf } = await start();
  const project = { name: "web", auto_apply: "always" };
  expect((await call("POST", "/api/v1/projects", { body: project })).status).toBe(201);
  await place.commit({ "stacks/one/main.tf": 'resource "terraform_data" "b" {}\n' });
  await push("main");
  await settled();
  const phases = async () => (await runsOf("one")).map(({ phase }) => phase);
  await expect.poll(phases, { timeout: 25_000 }).toEqual(["awaiting_approval"]);
});

it.each([
  [{ apply: "on_comment" }, "has no comments"],
  [{ appliers: ["ann"] }, "does not say who merges"],
  [{ required_reviews: 1 }, "has no reviews"],
])("refuses of a repository without users %j, and changes of that kind", async (setting, said) => {
  const { call, connection } = await start();
  const body = { name: "odd", kind: "generic", repository_url: "https://git.example/x.git" };
  const refused = await call("POST", `${P}/vcs-connections`, { body: { ...body, ...setting } });
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining(said)]);
  const before = await call("GET", connection);
  expect(before.json).toMatchObject({ required_reviews: 0 });
  const headers = { "if-match": before.headers.get("etag") ?? "" };
  const unchanged = await call("PATCH", connection, { body: setting, headers });
  expect([unchanged.status, unchanged.text]).toEqual([422, expect.stringContaining(said)]);
  const none = { apply: "on_merge", appliers: [], required_reviews: 0 };
  expect((await call("PATCH", connection, { body: none, headers })).status).toBe(200);
});

it("refuses the address of a folder that is none", async () => {
  const { call } = await start();
  const body = { name: "odd", kind: "generic", repository_url: "file:///a%2Fb", stacks: [] };
  const refused = await call("POST", `${P}/vcs-connections`, { body });
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("a folder")]);
});

it.each(["https://10.0.0.7/infra.git", "https://169.254.169.254/x.git", "http://localhost/x.git"])(
  "refuses the repository %s in a private network, and says how it is allowed",
  async (repository_url) => {
    const { call } = await startApi("none");
    const body = { name: "odd", kind: "generic", repository_url, stacks: [] };
    const refused = await call("POST", `${P}/vcs-connections`, { body });
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("--vcs-host")]);
  },
);

it("says what conflicts, and plans a newer commit instead of the one before", {
  timeout: 60_000,
}, async () => {
  const { place, receiver, call, connection, settled, push, runsOf } = await start();
  const main = { "stacks/one/main.tf": 'resource "terraform_data" "b" { input = 1 }\n' };
  await place.commit(main);
  await push("main");
  await settled();
  await place.git("checkout", "--quiet", "-b", "change");
  await place.commit({ "stacks/one/main.tf": 'resource "terraform_data" "b" { input = 2 }\n' });
  await push("change");
  await place.commit({ "stacks/one/main.tf": 'resource "terraform_data" "b" { input = 3 }\n' });
  await push("change");
  await settled();
  const newest = receiver.comments().at(-1) ?? "";
  expect(newest).toContain((await place.git("rev-parse", "HEAD")).slice(0, 10));
  expect(newest).toContain("### web/one: 1 to add");
  const before = (await runsOf("one")).length;
  await place.git("checkout", "--quiet", "main");
  await place.commit({ "stacks/one/main.tf": 'resource "terraform_data" "b" { input = 4 }\n' });
  await push("main");
  await place.git("checkout", "--quiet", "change");
  await place.commit({ "stacks/one/other.tf": "# other\n" });
  await push("change");
  await settled();
  expect(receiver.comments().at(-1)).toContain("the branches conflict");
  expect(receiver.statuses().get("stackwright/plan")).toBe("failure: the branches conflict");
  expect((await call("GET", `${connection}/pull-requests/change`)).json).toMatchObject({
    conflicts: true,
  });
  expect((await runsOf("one")).length).toBe(before + 1);
});
