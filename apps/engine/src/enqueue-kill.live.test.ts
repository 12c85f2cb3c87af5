import { execFileSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { createServerClient } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import { type ServerProcess, startServerProcess } from "./testing/start-server-process.ts";
import { tarOf } from "./testing/tar-of.ts";

// kill -9 of a server while it adds runs. Who got no answer repeats the request with its key at another server, and there is one run for each key.

const MAIN = join(import.meta.dirname, "main.ts");
const ROUNDS = Math.max(1, Math.round(Number(process.env["STACKWRIGHT_RUNS"] ?? 1)));
const STACKS = 4;
/** Requests that are under way at once, of each stack: the kill meets them in all of their states. */
const REQUESTS = 8;

interface Answer {
  readonly status: number;
  readonly id: string;
  readonly replayed: boolean;
}

it.for([
  ["PostgreSQL", process.env["TEST_POSTGRES_URL"]],
  ["etcd", etcdAddress()],
] as const)(
  "a run that a server on %s adds as it is killed exists once, by its key",
  {
    retry: 0,
    timeout: 300_000 + 60_000 * ROUNDS,
  },
  async ([name, store], context) => {
    if (store === undefined) return context.skip(true, `the environment names no ${name}`);
    const scratch = await mkdtempDisposable(join(tmpdir(), "enqueue-kill-"));
    onTestFinished(() => scratch.remove());
    const cwd = scratch.path;
    await writeFile(join(cwd, "key"), "5a".repeat(32), { mode: 0o600 });
    const common = ["--store", store, "--key-file", "key"];
    const account = ["--account", `a${randomBytes(8).toString("hex")}`];
    const { token } = JSON.parse(
      execFileSync(process.execPath, [MAIN, "bootstrap", "--again", ...common, ...account], {
        cwd,
        encoding: "utf8",
      }),
    ) as { readonly token: string };
    const limits = ["--api-rate-per-second", "100000", "--api-rate-burst", "100000"];
    const start = async (): Promise<ServerProcess> =>
      startServerProcess(MAIN, [...common, ...limits, "--executor", "none"], { cwd });
    const stays = await start();
    const client = createServerClient({ server: stays.url, token });
    const project = "default";
    const digests = new Map<string, string>();
    const addStack = async (stack: string): Promise<string> => {
      await client.createStack({ project, body: { name: stack } });
      const body = Uint8Array.from(gzipSync(tarOf({ "main.tf": 'output "a" { value = 1 }\n' })));
      digests.set(stack, (await client.createConfiguration({ project, stack, body })).data.digest);
      return stack;
    };
    /** Requests a run; undefined where no answer came. */
    const request = async (
      { url }: ServerProcess,
      stack: string,
      key: string,
    ): Promise<Answer | undefined> => {
      try {
        const answer = await fetch(`${url}/api/v1/projects/${project}/stacks/${stack}/runs`, {
          method: "POST",
          headers: {
            authorization: `Bearer ${token}`,
            "content-type": "application/json",
            "idempotency-key": key,
          },
          body: JSON.stringify({ configuration: digests.get(stack), message: key }),
        });
        const { id } = (await answer.json()) as { readonly id: string };
        const replayed = answer.headers.get("idempotency-replayed") === "true";
        return { status: answer.status, id, replayed };
      } catch {
        return undefined;
      }
    };

    let unanswered = 0;
    let repeated = 0;
    const runs = new Map<string, { readonly stack: string; readonly id: string }>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const killed = await start();
      const stacks = [];
      for (let index = 0; index < STACKS; index += 1) {
        stacks.push(await addStack(`r${round}-${index}`));
      }
      const requests = stacks.flatMap((stack) =>
        Array.from({ length: REQUESTS }, () => ({ stack, key: randomUUID() })),
      );
      let answered = 0;
      const answers = await Promise.all(
        requests.map(async ({ stack, key }) => {
          const answer = await request(killed, stack, key);
          answered += 1;
          // In the midst of the others.
          if (answered === 1 + ((round * 7) % STACKS)) killed.child.kill("SIGKILL");
          return answer;
        }),
      );
      await killed.ended;
      for (const [index, { stack, key }] of requests.entries()) {
        const first = answers[index];
        const again = await request(stays, stack, key);
        expect(again?.status).toBe(201);
        // What was answered is answered alike.
        if (first?.status === 201) expect(again).toEqual({ ...first, replayed: true });
        else {
          unanswered += 1;
          if (again?.replayed === true) repeated += 1;
        }
        runs.set(key, { stack, id: again?.id ?? "" });
      }
    }
    expect(unanswered).toBeGreaterThan(0);

    const stored = new Map<string, string[]>();
    for (const stack of digests.keys()) {
      for await (const { id, message } of client.each("ListRuns", { project, stack })) {
        stored.set(message, [...(stored.get(message) ?? []), id]);
      }
    }
    expect(stored).toEqual(new Map([...runs].map(([key, { id }]) => [key, [id]])));
    await context.annotate(
      `${ROUNDS} servers killed while they added runs, ${unanswered} requests without an answer, ${repeated} of them done`,
      "notice",
    );
  },
);

/** A store of its own in the cluster that the environment names. */
function etcdAddress(): string | undefined {
  const endpoint = process.env["TEST_ETCD_ENDPOINTS"];
  const host = endpoint === undefined ? undefined : new URL(endpoint).host;
  return host && `etcd://${host}/enqueue-${randomBytes(8).toString("hex")}`;
}
