import { randomUUID } from "node:crypto";
import process from "node:process";
import { parseArgs } from "node:util";
import { runCommand, StopRequest } from "./command.ts";
import { installProvider } from "./install-provider.ts";
import { FUNCTION_URN, type Platform, StartFailure, startPlatform } from "./platform.ts";
import { cancelWaitingRun, deployWithApproval } from "./server-run.ts";

// `npm start`: the whole way of a private provider on one machine. Starts a function platform and a server, registers a
// provider that lives in a function, deploys this folder with it through the server, and shows the result. In a terminal a
// person approves each plan. Everything that it creates is in this folder.

const began = performance.now();

const USAGE = `npm start [-- options]

  --port N   the server is at this port, its store and the function platform at the next two; 7400. 0: any free ones
  --yes      approve the plans; without a terminal it is so in any case
  --once     deploy, check, stop everything, and end; without a terminal it is so in any case
  --help
`;

const stop = new AbortController();

process.exitCode = await main().catch((error: unknown) => {
  if (stop.signal.aborted && error === stop.signal.reason) {
    say("\nEverything has stopped.");
    return 130;
  }
  // Errors with a code are meant to be read: a store that is in use, a folder that cannot be written.
  const isExplained = error instanceof StartFailure || (error instanceof Error && "code" in error);
  if (!isExplained) throw error;
  process.stdout.write(`\n${error.message}\n`);
  return 1;
});

async function main(): Promise<number> {
  const { port, yes, once } = options();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      stop.abort(new StopRequest(name));
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

  await deployHere(platform, yes);
  heading("the console");
  const addressOf = await openConsole(platform);
  await deployThere(platform, yes, addressOf);

  const seconds = Math.round((performance.now() - began) / 1000);
  say(`\nDone in ${seconds} s. ${once ? whatIsThere() : howToGoOn(platform, await addressOf(""))}`);
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

/** The stack of this folder, whose providers are on this machine: the command plans and applies it, on the store of the server. */
async function deployHere(platform: Platform, yes: boolean): Promise<void> {
  const what = yes ? "plan and apply" : "plan, and apply once you say so";
  if (yes) await stackwright(platform, `stackwright up: ${what}`, ["up", "--yes"]);
  else {
    heading(`stackwright up: ${what}`);
    const { code } = await runCommand(platform, ["up"], { stop });
    if (code !== 0) {
      say("This stack stays as it is. In another terminal, as below, up asks again.");
      return;
    }
  }
  await stackwright(platform, "stackwright plan: a second run has nothing to do", [
    "plan",
    "--detailed-exitcode",
  ]);
  await stackwright(platform, "stackwright output", ["output"]);
}

/** A stack that the server plans and applies itself. */
async function deployThere(
  platform: Platform,
  yes: boolean,
  addressOf: (page: string) => Promise<string>,
): Promise<void> {
  await cancelWaitingRun(platform, stop);
  const what = "stackwright runs start: the server plans and applies another stack";
  const words = ["runs", "start", "server-run", "--stack", "server-run", "--yes"];
  if (yes) return stackwright(platform, what, words);
  heading(`${what}, once you approve it`);
  if (!(await deployWithApproval(platform, stop, addressOf)))
    say("The run was not applied. In another terminal, as below, runs start requests another one.");
}

interface StartOptions {
  readonly port: number;
  readonly yes: boolean;
  readonly once: boolean;
}

function options(): StartOptions {
  let values: Record<"yes" | "once" | "help", boolean> & { readonly port: string };
  try {
    ({ values } = parseArgs({
      options: {
        port: { type: "string", default: "7400" },
        yes: { type: "boolean", default: false },
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
  // Commands ask where they can write a question and read the answer.
  const canAsk = process.stdin.isTTY && process.stdout.isTTY;
  return { port, yes: values.yes || !canAsk, once: values.once || !process.stdin.isTTY };
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

/**
 * Asks for the first page, so that it is built from these sources by the time a browser does. Returns what makes the address of a page that
 * signs in.
 */
async function openConsole({
  serverUrl,
  token,
}: Platform): Promise<(page: string) => Promise<string>> {
  const home = `${serverUrl}/console/`;
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(180_000)]);
  const answer = await fetch(home, { signal });
  if (!answer.ok)
    throw new StartFailure(`The server does not show the console: ${await answer.text()}`);
  await answer.body?.cancel();
  say(`${home} asks for the token, which is STACKWRIGHT_TOKEN in .stackwright/env.`);
  return async (page) => {
    const made = await fetch(`${serverUrl}/auth/codes`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.any([stop.signal, AbortSignal.timeout(30_000)]),
    });
    if (!made.ok) throw new StartFailure(`The server opens no console: ${await made.text()}`);
    const { url } = (await made.json()) as { readonly url: string };
    return home + page + new URL(url).hash;
  };
}

/** Runs a command that has to succeed. */
async function stackwright(
  platform: Platform,
  what: string,
  words: readonly string[],
): Promise<void> {
  heading(what);
  const { code } = await runCommand(platform, words, { stop });
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

function howToGoOn(
  { serverUrl, storeAddress, functionsUrl }: Platform,
  consoleAddress: string,
): string {
  return `The console shows stacks, plans and runs. This address signs a browser in, once and within ten minutes:
  ${consoleAddress}

These run until you press Ctrl-C:
  ${serverUrl}/console/  the console; later sign in with STACKWRIGHT_TOKEN of .stackwright/env
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
