import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { createServerClient } from "@stackwright/client";
import { printFigures, quantile } from "./figures.ts";
import { startServer } from "./processes.ts";

const PROJECT = "default";
const SECRET = "a-secret-of-the-webhook";
/** Stacks that each pull request changes. */
const STACKS = Array.from({ length: 10 }, (_, index) => `s${index}`);
/** A stack whose provider hangs while it plans, after how many pull requests one changes it again, and when its plans are ended. */
const STUCK = "stuck";
const STUCK_EVERY = 10;
const PLAN_MINUTES = 3;
const STOP_SECONDS = 15;
/** How long anything may take until it counts as stuck. */
const PATIENCE_MS = 20 * 60_000;
/** A row of the comment whose stack has a plan. */
const PLANNED = /^\| `s\d+` \|[^|]*\brun \d+/gm;
/** How runs may end: those whose provider hangs miss their deadline. */
const ENDS: ReadonlySet<string> = new Set(["others plan_finished", `${STUCK} failed deadline`]);
const ENDED = /^(?:plan_finished|no_changes|failed|canceled|superseded|discarded)$/;

interface ReplayOptions {
  readonly pulls: number;
  /** Time between two pull requests. */
  readonly gapMs: number;
  /** Steps at the same time. */
  readonly capacity: number;
  /** The provider `lab`, which hangs where it is asked to. */
  readonly lab: string;
}

/**
 * What 200 developers ask of a server: pull requests one after the other that each change ten stacks, and some of them a further one whose
 * provider hangs until the run is ended. From the push to the comment that has all ten plans, and what steps waited for a worker. Fails where
 * a comment is missing, a run does not end, one of the ten stacks has another end than a plan, or the doctor finds something stuck.
 */
export async function benchReplay({ pulls, gapMs, capacity, lab }: ReplayOptions): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), "bench-replay-"));
  const repositories = join(place, "repositories");
  const bare = join(repositories, "infra.git");
  const work = join(place, "work");
  const git = (...words: readonly string[]): void => {
    const person = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
    const env = { PATH: process.env["PATH"], HOME: place, GIT_CONFIG_NOSYSTEM: "1" };
    execFileSync("git", [...person, ...words], { cwd: work, env });
  };
  await mkdir(work);
  const write = async (stack: string, word: string): Promise<void> => {
    await mkdir(join(work, stack), { recursive: true });
    const content =
      stack === STUCK
        ? hanging(word, place)
        : `resource "terraform_data" "a" { input = "${word}" }\n`;
    await writeFile(join(work, stack, "main.tf"), content);
  };
  const commented = new Map<string, number>();
  const receiver = createServer((request, response) => {
    void text(request).then((body) => {
      const report = JSON.parse(body) as Report;
      const planned = report.text?.match(PLANNED)?.length ?? 0;
      const { pull_request: pull = "" } = report;
      if (report.type === "comment" && planned >= STACKS.length && !commented.has(pull)) {
        commented.set(pull, performance.now());
      }
      return response.end();
    });
  });
  await new Promise<void>((resolve) => void receiver.listen(0, "127.0.0.1", resolve));
  try {
    git("init", "--quiet", "--bare", "--initial-branch=main", bare);
    git("init", "--quiet", "--initial-branch=main");
    git("remote", "add", "origin", bare);
    await writeFile(join(work, "README.md"), "infra\n");
    git("add", "--all");
    git("commit", "--quiet", "--message", "first");
    git("push", "--quiet", "origin", "HEAD:main");

    const rc = join(place, "rc");
    const overrides = `dev_overrides { "example.com/acme/lab" = ${JSON.stringify(dirname(lab))} }`;
    await writeFile(rc, `provider_installation {\n${overrides}\ndirect {}\n}\n`);
    const allowed = {
      vcsFolders: [repositories],
      vcsHosts: ["127.0.0.1"],
      runLimits: { planMinutes: PLAN_MINUTES, stopSeconds: STOP_SECONDS },
    };
    const env = { TF_CLI_CONFIG_FILE: rc };
    await using server = await startServer("sqlite", "child", capacity, allowed, env);
    const client = createServerClient({ server: server.url, token: server.token });
    const names = [...STACKS, STUCK];
    for (const name of names) await client.createStack({ project: PROJECT, body: { name } });
    const { port } = receiver.address() as AddressInfo;
    await client.createVcsConnection({
      project: PROJECT,
      body: {
        name: "infra",
        kind: "generic",
        repository_url: `file://${bare}`,
        webhook_secret: SECRET,
        report_url: `http://127.0.0.1:${port}/reports`,
        stacks: names.map((stack) => ({ stack, directory: stack })),
      },
    });
    const pushed = new Map<string, number>();
    for (let pull = 0; pull < pulls; pull += 1) {
      const branch = `change-${pull}`;
      git("checkout", "--quiet", "-B", branch, "main");
      for (const stack of pull % STUCK_EVERY === 0 ? names : STACKS) await write(stack, branch);
      git("add", "--all");
      git("commit", "--quiet", "--message", branch);
      git("push", "--quiet", "origin", `HEAD:${branch}`);
      pushed.set(branch, performance.now());
      await deliver(server.url, `refs/heads/${branch}`);
      if (pull + 1 < pulls) await delay(gapMs);
    }
    await until(() => commented.size === pulls, "comments with all plans");

    const waits: number[] = [];
    const phases = new Map<string, number>();
    await until(async () => {
      phases.clear();
      let open = 0;
      for (const stack of names) {
        for await (const run of client.each("ListRuns", { project: PROJECT, stack })) {
          const { phase, reason_code: code } = run;
          const shown = [stack === STUCK ? STUCK : "others", phase, code ?? ""].join(" ").trim();
          phases.set(shown, (phases.get(shown) ?? 0) + 1);
          if (!ENDED.test(phase)) open += 1;
        }
      }
      return open === 0;
    }, "the end of all runs");
    const wrong = [...phases.keys()].filter((shown) => !ENDS.has(shown));
    if (wrong.length > 0) throw new Error(`runs ended otherwise: ${wrong.join(", ")}`);
    const { findings } = (await client.examine({})).data;
    const stuck = findings.filter(({ severity }) => severity === "error");
    if (stuck.length > 0) throw new Error(`something is stuck: ${JSON.stringify(stuck)}`);
    for (const stack of STACKS) {
      for await (const { id: run } of client.each("ListRuns", { project: PROJECT, stack })) {
        waits.push(await waitOf(client, { project: PROJECT, stack, run }));
      }
    }
    const times = [...pushed].map(([branch, at]) => (commented.get(branch) ?? 0) - at);
    const seconds = (values: readonly number[], share: number): string =>
      (quantile(values, share) / 1_000).toFixed(1);
    printFigures(
      `${pulls} pull requests, one every ${gapMs / 1_000} s, ${capacity} steps at a time; ${Math.ceil(pulls / STUCK_EVERY)} plans hang for ${PLAN_MINUTES} min`,
      [
        ["", "count", "p50 s", "p95 s", "highest s"],
        ["push to comment", `${times.length}`, ...[0.5, 0.95, 1].map((at) => seconds(times, at))],
        ["wait for a worker", `${waits.length}`, ...[0.5, 0.95, 1].map((at) => seconds(waits, at))],
      ],
    );
    console.log(`\nends: ${[...phases].map(([phase, count]) => `${phase} ${count}`).join(", ")}`);
  } finally {
    receiver.closeAllConnections();
    receiver.close();
    await rm(place, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** A configuration whose provider does not answer while it plans. */
function hanging(word: string, directory: string): string {
  return `
terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
provider "lab" {
  directory = ${JSON.stringify(directory)}
}
resource "lab_object" "a" {
  name  = "${word}"
  fault = "hang-plan"
}
`;
}

interface Report {
  readonly type: string;
  readonly pull_request?: string;
  readonly text?: string;
}

async function deliver(url: string, ref: string): Promise<void> {
  const body = JSON.stringify({ ref, time: Date.now() / 1_000 });
  const signature = createHmac("sha256", SECRET).update(body).digest("hex");
  const answer = await fetch(`${url}/hooks/vcs/default/${PROJECT}/infra`, {
    method: "POST",
    body,
    headers: { "x-stackwright-signature": `sha256=${signature}` },
  });
  if (answer.status !== 202) throw new Error(`the delivery was answered ${answer.status}`);
}

/** How long a run waited for its worker. */
async function waitOf(
  client: ReturnType<typeof createServerClient>,
  place: { readonly project: string; readonly stack: string; readonly run: string },
): Promise<number> {
  let queuedAt = 0;
  let preparedAt = 0;
  for await (const { type, at, ...event } of client.followRun(place)) {
    if (type !== "phase-change") continue;
    if (event["to"] === "queued") queuedAt = at;
    if (event["to"] === "preparing") preparedAt = at;
  }
  return preparedAt - queuedAt;
}

async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const lateAt = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > lateAt) throw new Error(`something is stuck: ${what}`);
    await delay(500);
  }
}
