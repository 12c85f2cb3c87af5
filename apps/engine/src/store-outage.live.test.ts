import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { createServerClient, isClientError } from "@stackwright/client";
import { expect, it, onTestFailed, onTestFinished } from "vitest";
import { startEtcdPlace, startPostgresPlace } from "./testing/cut-store.ts";
import { checkRunHistory, type ObservedRun } from "./testing/run-history.ts";
import { startServerProcess } from "./testing/start-server-process.ts";
import { tarOf } from "./testing/tar-of.ts";

// The store of two servers ends while one run is planned and another one is applied, and is back after less than a lease lasts; then the
// same for longer. PostgreSQL is away; of etcd two of three members, so that the third one takes connections and has no quorum.

const MAIN = join(import.meta.dirname, "main.ts");
const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
/** A lease lasts 15 s, its holder gives it up after 10 s. In the soak the store is away for a minute. */
const SHORT_MS = 2_000;
const LONG_MS = Number(process.env["STACKWRIGHT_RUNS"] ?? 1) > 1 ? 60_000 : 16_000;
const WAITING = { timeout: 180_000, interval: 100 };
/** A request may wait for the store as long as a call of it may take, and no longer. */
const ANSWER_MS = 60_000;

it.for([
  { name: "PostgreSQL", start: startPostgresPlace, missing: "TEST_POSTGRES_URL names no server" },
  { name: "etcd", start: startEtcdPlace, missing: "TEST_ETCD_BIN names no program" },
])(
  "servers whose $name is away say so, live, and continue their runs when it is back",
  { retry: 0, timeout: 900_000 },
  async ({ start, missing }, context) => {
    context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
    const place = await start();
    if (place === undefined) {
      context.skip(missing);
      return;
    }
    onTestFinished(async () => place[Symbol.asyncDispose]());
    const scratch = await mkdtempDisposable(join(tmpdir(), "store-outage-"));
    onTestFinished(() => scratch.remove());
    const cwd = scratch.path;
    const lab = join(cwd, "lab");
    await mkdir(lab);
    const overrides = `dev_overrides { "example.com/acme/lab" = ${JSON.stringify(dirname(LAB))} }`;
    await writeFile(join(cwd, "rc"), `provider_installation {\n${overrides}\ndirect {}\n}\n`);
    await writeFile(join(cwd, "key"), "5a".repeat(32), { mode: 0o600 });
    const key = ["--key-file", "key"];
    const account = ["--account", `a${randomBytes(8).toString("hex")}`];
    const bootstrap = [MAIN, "bootstrap", "--again", "--store", place.store, ...key, ...account];
    const { token } = JSON.parse(
      execFileSync(process.execPath, bootstrap, { cwd, encoding: "utf8" }),
    ) as { readonly token: string };
    const env = { TF_CLI_CONFIG_FILE: join(cwd, "rc") };
    const servers = await Promise.all(
      ["first", "second"].map(async (name) => {
        const args = ["--store", place.cutStore, ...key, "--run-directory", name];
        return startServerProcess(MAIN, [...args, "--storage-port", "0", "--run-capacity", "2"], {
          cwd,
          env,
        });
      }),
    );
    const [server = expect.unreachable()] = servers;
    const client = createServerClient({ server: server.url, token });

    const request = async (stack: string, names: readonly string[], fault = "") => {
      const path = { project: "default", stack };
      const text = templateOf(lab, stack, names, fault);
      const body = Uint8Array.from(gzipSync(tarOf({ "main.tf": text })));
      const { digest } = (await client.createConfiguration({ ...path, body })).data;
      const wanted = { configuration: digest, auto_apply: true };
      return { ...path, run: (await client.createRun({ ...path, body: wanted })).data.id };
    };
    type Requested = Awaited<ReturnType<typeof request>>;
    /** The phase of a run; undefined while the server has no store. */
    const phaseOf = async (run: Requested) => {
      try {
        return (await client.showRun(run)).data.phase;
      } catch (error) {
        if (isClientError(error) && error.retryable) return undefined;
        throw error;
      }
    };
    const phase = (run: Requested) => expect.poll(async () => phaseOf(run), WAITING);
    const objects = async (): Promise<string[]> => {
      const files = (await readdir(lab)).filter((name) => name.endsWith(".json"));
      const texts = await Promise.all(files.map(async (file) => readFile(join(lab, file), "utf8")));
      return texts.map((text) => (JSON.parse(text) as { name: string }).name).toSorted();
    };
    /** The status of an answer, with the code of an error. */
    const said = async (url: string, path: string): Promise<string> => {
      const answer = await fetch(url + path, {
        headers: { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      const { code } = (await answer.json()) as { code?: string };
      return [answer.status, ...(code === undefined ? [] : [code])].join(" ");
    };
    /** Has the store away, and looks what the servers say meanwhile. */
    const lose = async (ms: number): Promise<void> => {
      const returned = new AbortController();
      const back = place.lose(ms).finally(() => returned.abort());
      const ask = async (url: string): Promise<ReadonlySet<string>> => {
        const seen = new Set<string>();
        while (!returned.signal.aborted) {
          const paths = ["/healthz", "/readyz", "/api/v1/projects/default/stacks/one"];
          const [live, ready, stack] = await Promise.all(paths.map(async (one) => said(url, one)));
          expect(live).toBe("200");
          seen.add(`${ready} ${stack}`);
        }
        return seen;
      };
      const [seen] = await Promise.all([
        Promise.all(servers.map(async ({ url }) => ask(url))),
        back,
      ]);
      for (const one of seen) {
        // One of both may have come before the loss, or after the return.
        const known = [AWAY, "200 200", "503 200", "200 503 store_unavailable"];
        for (const text of one) expect(text).toBeOneOf(known);
        if (ms > SHORT_MS) expect(one).toContain(AWAY);
      }
      for (const { url } of servers) {
        await expect.poll(async () => said(url, "/readyz"), WAITING).toBe("200");
      }
    };
    const requested: Requested[] = [];
    onTestFailed(async () => {
      for (const run of requested) {
        const { phase, reason } = (await client.showRun(run)).data;
        console.error(`${run.stack} ${run.run} ${phase}: ${reason}`);
      }
    });
    /** Runs in the midst of an apply and of a plan, whose calls go on when they are released. */
    const underWay = async (before: readonly string[], name: string) => {
      const [create = "", plan = ""] = ["create", "plan"].map((when) =>
        join(cwd, `${name}-${when}`),
      );
      const applied = await request("one", [...before, name], `wait-create:${create}`);
      const planned = await request("two", [...before, name], `wait-plan:${plan}`);
      requested.push(applied, planned);
      const waits = [create, plan].map((file) => `${basename(file)}.waits`);
      await expect.poll(async () => readdir(cwd), WAITING).toEqual(expect.arrayContaining(waits));
      const release = async (): Promise<void> => {
        for (const file of [create, plan]) await writeFile(file, "");
      };
      return { applied, planned, release };
    };

    for (const name of ["one", "two", "three"]) {
      await client.createStack({ project: "default", body: { name } });
    }
    const short = await underWay(["a"], "b");
    await lose(SHORT_MS);
    await short.release();
    await phase(short.planned).toBe("applied");
    // Renewals have their answers in time unless the machine is slow; then the call has ended with the lease.
    await phase(short.applied).toMatch(/^(?:applied|partially_applied)$/);
    const isWhole = (await phaseOf(short.applied)) === "applied";

    const long = await underWay(["a", "b"], "c");
    // It waits for the first of them.
    const next = await request("one", ["a", "b", "c"]);
    await lose(LONG_MS);
    const other = await request("three", ["a"]);
    requested.push(next, other);
    await phase(long.applied).toBe("partially_applied");
    await long.release();
    await phase(long.planned).toBe("applied");
    await phase(next).toMatch(/^(?:applied|no_changes)$/);
    await phase(other).toBe("applied");

    for (const { child } of servers) expect(child.exitCode).toBe(null);
    const observed: ObservedRun[] = [];
    for (const run of requested) {
      const events = [];
      for await (const event of client.followRun(run)) events.push(event);
      observed.push({ ...(await client.showRun(run)).data, stack: run.stack, events });
    }
    expect(checkRunHistory(observed)).toEqual([]);
    // Nothing was made twice, and nothing exists that no state knows: the call that ended with its lease has made no object, and is not
    // made again until a user says that.
    const made = ["one.a", ...(isWhole ? ["one.b"] : []), "three.a", "two.a", "two.b", "two.c"];
    expect(await objects()).toEqual(made);
  },
);

/** What a server without its store says to `/readyz`, and to a request. */
const AWAY = "503 503 store_unavailable";

/** Objects that follow one another; the last one with a fault. */
function templateOf(lab: string, stack: string, names: readonly string[], fault: string): string {
  const objects = names.map((name, index) => {
    const before = names[index - 1];
    const tags = before === undefined ? "" : `tags = { before = lab_object.${before}.id }`;
    const last =
      index === names.length - 1 && fault !== "" ? `fault = ${JSON.stringify(fault)}` : "";
    return `
resource "lab_object" "${name}" {
  name = "${stack}.${name}"
  ${tags}
  ${last}
}`;
  });
  return `
terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
provider "lab" { directory = ${JSON.stringify(lab)} }
${objects.join("")}
`;
}
