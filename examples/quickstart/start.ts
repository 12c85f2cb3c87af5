import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { installProvider } from "./install-provider.ts";
import {
  FUNCTION_URN,
  ownEnvironment,
  type Platform,
  StartFailure,
  startPlatform,
} from "./platform.ts";

// `npm start`: the whole way of a private provider on one machine. Starts a function platform and a server, registers a
// provider that lives in a function, deploys this folder with it through the server, and shows the result. Everything
// that it creates is in this folder.

const folder = import.meta.dirname;
const COMMAND = join(folder, "../../apps/cli/bin/stackwright.mjs");
const began = performance.now();

const USAGE = `npm start [-- options]

  --port N   the server is at this port, its store and the function platform at the next two; 7400. 0: any free ones
  --once     deploy, check, stop everything, and end; without a terminal it is so in any case
  --help
`;

const stop = new AbortController();
/** A terminal sends Ctrl-C to our children, too; other signals reach this process alone. */
const shared = process.stdin.isTTY;

process.exitCode = await main().catch((error: unknown) => {
  if (stop.signal.aborted && error === stop.signal.reason) return 130;
  // Errors with a code are meant to be read: a store that is in use, a folder that cannot be written.
  const isExplained = error instanceof StartFailure || (error instanceof Error && "code" in error);
  if (!isExplained) throw error;
  process.stdout.write(`\n${error.message}\n`);
  return 1;
});

async function main(): Promise<number> {
  const { port, once } = options();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      stop.abort(new Error(`stopped by ${name}`));
    });
  }
  heading("the local provider is put where installations look for it");
  await installProvider();

  heading("a function platform and a server start");
  await using platform = await startPlatform({
    server: port,
    storage: port === 0 ? 0 : port + 1,
    functions: port === 0 ? 0 : port + 2,
  });
  for (const { name, pid } of platform.processes) say(`${name.padEnd(10)} process ${pid}`);
  stop.signal.throwIfAborted();

  heading("the private provider is registered through the RFS API");
  await register(platform);

  await stackwright(platform, "stackwright up: plan and apply", ["up", "--yes"]);
  await stackwright(platform, "stackwright plan: a second run has nothing to do", [
    "plan",
    "--detailed-exitcode",
  ]);
  await stackwright(platform, "stackwright output", ["output"]);
  await stackwright(
    platform,
    "stackwright runs start: the server plans and applies another stack",
    ["runs", "start", "server-run", "--stack", "server-run", "--yes"],
  );

  heading("the console");
  await openConsole(platform);

  const seconds = Math.round((performance.now() - began) / 1000);
  say(`\nDone in ${seconds} s. ${once ? whatIsThere() : howToGoOn(platform)}`);
  if (!once) {
    await new Promise((resolve) => {
      // Keeps this process alive until it is stopped.
      const alive = setInterval(() => undefined, 60_000);
      stop.signal.addEventListener("abort", () => resolve(clearInterval(alive)), { once: true });
      if (stop.signal.aborted) resolve(clearInterval(alive));
    });
  }
  say("\nStopping the server and the function platform.");
  await platform[Symbol.asyncDispose]();
  say("Everything has stopped.");
  return 0;
}

function options(): { readonly port: number; readonly once: boolean } {
  let values: { readonly port: string; readonly once: boolean; readonly help: boolean };
  try {
    ({ values } = parseArgs({
      options: {
        port: { type: "string", default: "7400" },
        once: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StartFailure(`${why}\n\n${USAGE}`);
  }
  if (values.help) {
    process.stdout.write(USAGE);
    process.exit(0);
  }
  const port = /^\d{1,5}$/.test(values.port) ? Number(values.port) : Number.NaN;
  // The two after it are needed as well.
  if (!(port <= 65_533))
    throw new StartFailure(`"${values.port}" is not a usable port.\n\n${USAGE}`);
  return { port, once: values.once || !shared };
}

/** What `curl` could do as well; official clients sign the request instead of showing a token. */
async function register({ serverUrl, token }: Platform): Promise<void> {
  const headers = { "x-auth-token": token, "client-request-id": randomUUID() };
  const ask = async (method: string, path: string, body?: object): Promise<Response> =>
    fetch(serverUrl + path, {
      method,
      headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.any([stop.signal, AbortSignal.timeout(30_000)]),
    });
  const created = await ask("POST", "/v1/private-providers", {
    provider_name: "notes",
    provider_description: "text files in a folder",
    provider_version: "1.0.0",
    function_graph_urn: FUNCTION_URN,
  });
  const text = await created.text();
  if (created.status === 409) say("notes 1.0.0 is registered already");
  else if (created.status === 201) say(`POST /v1/private-providers: ${text}`);
  else throw new StartFailure(`The server did not register the provider: ${text}`);

  const checks = "/api/v1/registry/private-providers/notes/versions/1.0.0/checks";
  const { health } = (await (await ask("POST", checks)).json()) as {
    readonly health?: { readonly healthy: boolean; readonly latencyMs: number; problem: string };
  };
  if (health?.healthy !== true) {
    throw new StartFailure(`The function does not answer as it should: ${health?.problem}`);
  }
  say(`its function answers, in ${health.latencyMs} ms`);
}

/** Asks for the first page, so that it is built from these sources by the time a browser does, and for an address that signs in. */
async function openConsole({ serverUrl, token }: Platform): Promise<void> {
  const page = `${serverUrl}/console/`;
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(180_000)]);
  const answer = await fetch(page, { signal });
  if (!answer.ok)
    throw new StartFailure(`The server does not show the console: ${await answer.text()}`);
  const headers = { authorization: `Bearer ${token}` };
  const made = await fetch(`${serverUrl}/auth/codes`, { method: "POST", headers, signal });
  if (!made.ok) throw new StartFailure(`The server opens no console: ${await made.text()}`);
  const { url } = (await made.json()) as { readonly url: string };
  say(`${url}\nshows stacks, plans and runs in a browser: once, within ten minutes.`);
  say(`${page} asks for the token, which is STACKWRIGHT_TOKEN in .stackwright/env.`);
}

/** Runs a command in this folder, on the store of the server. */
async function stackwright(
  { env }: Platform,
  what: string,
  words: readonly string[],
): Promise<void> {
  stop.signal.throwIfAborted();
  heading(what);
  const child = spawn(process.execPath, [COMMAND, ...words], {
    cwd: folder,
    stdio: "inherit",
    env: { ...ownEnvironment(), ...env },
  });
  const forward = (): void => {
    if (!shared) child.kill("SIGINT");
  };
  stop.signal.addEventListener("abort", forward, { once: true });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  stop.signal.removeEventListener("abort", forward);
  stop.signal.throwIfAborted();
  if (code !== 0) {
    throw new StartFailure(`This step failed (exit code ${code}); the messages above say why.`);
  }
}

function whatIsThere(): string {
  return `It made
  examples/quickstart/site/           pages, by a local provider
  examples/quickstart/notes/          a note, by a private provider in a function
  examples/quickstart/.stackwright/   state, registry, runs, keys and logs

In a terminal, npm start keeps server and functions running, and prints the next steps.`;
}

function howToGoOn({ serverUrl, storeAddress, functionsUrl }: Platform): string {
  return `These run until you press Ctrl-C:
  ${serverUrl}/console/  the console: stacks, plans, runs; sign in with STACKWRIGHT_TOKEN of .stackwright/env
  ${serverUrl}        the server: RFS API, Terraform registry; ${serverUrl}/docs describes it
  ${storeAddress} its store, for workers
  ${functionsUrl}        the local function runtime

It made
  examples/quickstart/site/           pages, by a local provider
  examples/quickstart/notes/          a note, by a private provider in a function
  examples/quickstart/.stackwright/   state, registry, keys and logs

Next, in another terminal:
  cd examples/quickstart
  . .stackwright/env                    where the store and the functions are
  npx stackwright up -var title=Mine    change something
  npx stackwright show                  what is recorded
  npx stackwright destroy               take everything away
  npx stackwright runs list --stack server-run             runs of the server
  npx stackwright runs start server-run --stack server-run another one
  npx stackwright --help                everything else
  edit private/notes-provider.ts        the next run uses the new code
  terraform init                        elsewhere, for huawei.com/private-provider/notes 1.0.0

examples/private-provider shows how to write and register one of your own.`;
}

function heading(text: string): void {
  process.stdout.write(`\n--- ${text}\n`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
