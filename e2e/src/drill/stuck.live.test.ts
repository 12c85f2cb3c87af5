import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { beforeEach, it, onTestFinished } from "vitest";
import { installation } from "../installation/installation.ts";
import { Scratch } from "../testing/scratch.ts";
import { waitFor } from "../testing/wait-for.ts";
import { Fleet, type ServerPlace } from "../upgrade/fleet.ts";
import { gatedFiles } from "../upgrade/gated-files.ts";

// How soon a run that is stuck is reported: by the doctor, the metric and a notification. First its provider hangs, then its worker is
// killed and no other one is there. It takes a minute, so `.ci/soak --only drills` runs it; both bounds of the server are three seconds.

const LIMIT_MS = 90_000;

beforeEach((context) => {
  context.skip(process.env["TEST_DRILLS"] === undefined, "TEST_DRILLS is not set");
});

it("a provider that hangs and a worker that is killed are reported by doctor, metric and notification", {
  timeout: 300_000,
  retry: 0,
}, async () => {
  const scratch = await Scratch.make();
  onTestFinished(async () => scratch[Symbol.asyncDispose]());
  const receiver = await startReceiver();
  const command = installation().command;
  const fleet = new Fleet(scratch, `sqlite:${join(scratch.folder, "store")}`);
  await fleet.begin(command);
  const [place] = (await fleet.places(1)) as [ServerPlace];
  const server = await fleet.server(command, place, [
    "--executor=none",
    "--notification-host=127.0.0.1",
    "--run-unclaimed-minutes=0.05",
    "--run-silent-minutes=0.05",
  ]);
  onTestFinished(() => server.process.signal("SIGKILL"));
  const worker = fleet.worker(command, [place], "w1");
  onTestFinished(() => worker.process.signal("SIGKILL"));
  await worker.process.says("claims steps");
  const destination = { name: "ops", kind: "webhook", url: receiver.url, events: ["run.stuck"] };
  await fleet.call(place, "/notifications", destination);
  await fleet.call(place, "/stacks", { name: "one" });
  await fleet.request(place, "one", gatedFiles(scratch.site));
  await waitFor("the call that hangs", () => scratch.calls().includes("create f2"), {
    seen: () => worker.process.text,
  });

  const signals = (code: string, why: string) => ({
    doctor: async () => (await examined(fleet, place)).includes(code),
    metric: async () => (await metrics(place)).includes(`stackwright_runs_stuck{why="${why}"} 1`),
    notification: async () => receiver.reasons.includes(code),
  });
  report("a provider hangs", await firstSeen(signals("step_silent", "silent")));

  worker.process.signal("SIGKILL");
  const { doctor, ...later } = signals("step_unclaimed", "unclaimed");
  const killed = {
    ...later,
    doctor: async () => {
      const codes = await examined(fleet, place);
      return codes.includes("worker_away") || (await doctor());
    },
  };
  report("a worker is killed", await firstSeen(killed));
});

/** How many seconds each signal takes until it is there. */
async function firstSeen(
  signals: Readonly<Record<string, () => Promise<boolean>>>,
): Promise<Readonly<Record<string, number>>> {
  const startMs = performance.now();
  const found = Object.entries(signals).map(async ([name, look]) => {
    await waitFor(name, look, { limitMs: LIMIT_MS });
    return [name, (performance.now() - startMs) / 1_000] as const;
  });
  return Object.fromEntries(await Promise.all(found));
}

function report(what: string, seconds: Readonly<Record<string, number>>): void {
  const shown = Object.entries(seconds).map(([name, value]) => `${name} ${value.toFixed(1)} s`);
  process.stdout.write(`${what}: ${shown.join(", ")}\n`);
}

async function examined(fleet: Fleet, { url }: ServerPlace): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${fleet.token}` };
  const answer = await fetch(`${url}/api/v1/doctor`, { headers });
  const { findings } = (await answer.json()) as {
    readonly findings: readonly { readonly code: string }[];
  };
  return findings.map(({ code }) => code);
}

async function metrics({ url }: ServerPlace): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}

/** Takes notifications. */
async function startReceiver() {
  const reasons: string[] = [];
  const take = async (request: IncomingMessage): Promise<void> => {
    const { run } = JSON.parse(await text(request)) as {
      readonly run?: { readonly reason_code?: string };
    };
    if (run?.reason_code !== undefined) reasons.push(run.reason_code);
  };
  const server = createServer((request, response) => {
    void take(request).finally(() => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `http://127.0.0.1:${address.port}/`, reasons };
}
