#!/usr/bin/env node
import { parseArgs } from "node:util";
import { readAccountsFile, readFunctionsFile } from "./functions-file.ts";
import { serveFunctions } from "./functions-server.ts";

/*
 * The local function runtime as a command: runs the functions of a file. Prints one line of JSON when it listens, and
 * ends at SIGTERM and SIGINT with all its functions.
 */

const USAGE = `Usage: stackwright-functions --file FILE [--listen HOST:PORT]

Runs functions on this machine behind FunctionGraph's invoke API, for development and tests.

  --file FILE          functions and accounts, as JSON
  --accounts FILE      further accounts, as JSON, so that their keys may lie apart
  --listen HOST:PORT   default 127.0.0.1:8100; other machines only with accounts
`;

function fail(text: string): never {
  process.stderr.write(`${text}\n\n${USAGE}`);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        file: { type: "string" },
        accounts: { type: "string" },
        listen: { type: "string", default: "127.0.0.1:8100" },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

async function main(): Promise<void> {
  const { file, accounts: keys, listen, help } = readArguments();
  if (help) {
    process.stdout.write(USAGE);
    return;
  }
  if (file === undefined) fail("--file is missing");
  const address = /^(?:\[([^\]]+)\]|([^:]*)):(\d+)$/.exec(listen);
  if (address === null) fail("--listen is not HOST:PORT");
  // From the start on, so that an order to end is never missed.
  const ended = Promise.withResolvers<void>();
  process.once("SIGTERM", () => ended.resolve());
  process.once("SIGINT", () => ended.resolve());
  const { functions, accounts } = await readFunctionsFile(file);
  const server = await serveFunctions({
    functions,
    accounts: [...accounts, ...(keys === undefined ? [] : await readAccountsFile(keys))],
    host: address[1] ?? address[2] ?? "127.0.0.1",
    port: Number(address[3]),
  });
  process.stdout.write(`${JSON.stringify({ listening: server.url, pid: process.pid })}\n`);
  await ended.promise;
  await server.close();
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
