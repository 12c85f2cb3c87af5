#!/usr/bin/env node
import { parseArgs } from "node:util";
import { isJsonObject, readJsonObject } from "@stackwright/base/json";
import type { PackageParameters } from "@stackwright/mux/host";
import { authenticateBearer, authenticateSignature } from "./authenticate.ts";
import { openDirectoryJournal } from "./directory-journal.ts";
import { type FunctionServerOptions, serveFunction } from "./function-server.ts";
import { createProcessRunner } from "./process-runner.ts";
import { createPulumiRunner } from "./pulumi-runner.ts";
import { createServedResults } from "./result-store.ts";

/*
 * The ready command: runs one provider binary behind the contract. Settings come from arguments, secrets from the
 * environment alone. Prints one line of JSON when it listens, and ends at SIGTERM and SIGINT.
 */

const USAGE = `Usage: stackwright-function (--provider PATH | --pulumi PATH) [options]

  --provider PATH      program of the provider (protocol 5)
  --pulumi PATH        program of a plug-in of Pulumi
  --parameters JSON    makes another package of it: a list of words, or {"name", "version", "value"} (base64)
  --sha256 HEX         refuse any other program
  --listen HOST:PORT   default 127.0.0.1:8000; the port may come from PORT
  --env NAME           hand this variable on to the provider; may be repeated
  --timeout MS         longest time of a request, default 30000
  --processes N        provider processes at a time, default 16
  --journal DIR        recognize repeated applies by records in this shared directory
  --pool               keep a configured process per session
  --results            leave large responses at this server (one instance only)

Environment: STACKWRIGHT_FUNCTION_TOKEN asks callers for this bearer token; STACKWRIGHT_FUNCTION_KEYS ("AK:SK,AK:SK")
for signatures.
`;

function fail(text: string): never {
  process.stderr.write(`${text}\n\n${USAGE}`);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        provider: { type: "string" },
        pulumi: { type: "string" },
        parameters: { type: "string" },
        sha256: { type: "string" },
        listen: { type: "string", default: `127.0.0.1:${process.env.PORT ?? "8000"}` },
        env: { type: "string", multiple: true, default: [] },
        timeout: { type: "string", default: "30000" },
        processes: { type: "string", default: "16" },
        journal: { type: "string" },
        pool: { type: "boolean", default: false },
        results: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

function authentication(): Pick<FunctionServerOptions, "authenticate"> {
  const { STACKWRIGHT_FUNCTION_TOKEN: token, STACKWRIGHT_FUNCTION_KEYS: keys } = process.env;
  if (token !== undefined && token !== "") {
    return { authenticate: authenticateBearer({ caller: token }) };
  }
  if (keys === undefined || keys === "") return {};
  const secrets = new Map(
    keys.split(",").map((pair) => {
      const [accessKey = "", secretKey = ""] = pair.split(":");
      if (accessKey === "" || secretKey === "")
        fail("STACKWRIGHT_FUNCTION_KEYS is not AK:SK,AK:SK");
      return [accessKey, secretKey];
    }),
  );
  return { authenticate: authenticateSignature({ secretFor: (key) => secrets.get(key) }) };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  return Number.isFinite(value) && value > 0 ? value : fail(`--${name} must be a number above 0`);
}

function parametersOf(text: string | undefined): PackageParameters | undefined {
  if (text === undefined) return undefined;
  const { problem, object } = readJsonObject(Buffer.from(`{"given":${text}}`));
  const given: unknown = problem === undefined ? object["given"] : undefined;
  if (Array.isArray(given) && given.length > 0 && given.every((one) => typeof one === "string")) {
    return given;
  }
  const { name, version, value } = isJsonObject(given) ? given : {};
  if (typeof name === "string" && typeof version === "string" && typeof value === "string") {
    return { name, version, value };
  }
  return fail('--parameters is neither a list of words nor {"name", "version", "value"}');
}

async function main(): Promise<void> {
  const values = readArguments();
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  const { provider, pulumi, sha256, journal } = values;
  const command = provider ?? pulumi ?? fail("--provider or --pulumi is missing");
  if (provider !== undefined && pulumi !== undefined)
    fail("--provider and --pulumi exclude another");
  const parameters = parametersOf(values.parameters);
  if (provider !== undefined && parameters !== undefined)
    fail("--parameters is for --pulumi alone");
  const listen =
    /^(?:\[([^\]]+)\]|([^:]*)):(\d+)$/.exec(values.listen) ?? fail("--listen is not HOST:PORT");
  const env = Object.fromEntries(
    values.env.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const secured = authentication();
  const known = secured.authenticate !== undefined;
  // From the start on, so that an order to end is never missed.
  const ended = Promise.withResolvers<void>();
  process.once("SIGTERM", () => ended.resolve());
  process.once("SIGINT", () => ended.resolve());
  const server = await serveFunction({
    runner: await (pulumi === undefined ? createProcessRunner : createPulumiRunner)({
      command,
      env,
      ...(sha256 === undefined ? {} : { sha256 }),
      ...(parameters === undefined ? {} : { parameters }),
    }),
    host: listen[1] ?? listen[2] ?? "127.0.0.1",
    port: Number(listen[3]),
    timeoutMs: positive("timeout", values.timeout),
    maxProcesses: positive("processes", values.processes),
    ...secured,
    ...(journal === undefined
      ? {}
      : { journal: await openDirectoryJournal({ directory: journal }) }),
    // Without authentication of its own, the platform in front decides who may call, all for one owner.
    ...(values.pool ? { pool: known ? {} : { sharedCallers: true } } : {}),
    ...(values.results ? { results: createServedResults() } : {}),
  });
  process.stdout.write(`${JSON.stringify({ listening: server.url, pid: process.pid })}\n`);
  await ended.promise;
  await server.close();
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
