import type { Finding } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";
import { printable } from "../terminal/printable.ts";

export interface DoctorOptions {
  readonly server?: string;
  /** Warnings count as well. */
  readonly strict: boolean;
  readonly json: boolean;
}

/**
 * Says what is stuck on a server, or in the store that `--store`, `STACKWRIGHT_SERVE_STORE` or `STACKWRIGHT_STORE` names, why, and what to
 * do. Ends with 2 where something stays stuck until a user acts.
 */
export async function doctor(
  options: DoctorOptions,
  words: readonly string[],
  context: CommandContext,
): Promise<ExitCode> {
  const { values, rest } = taken(words, ["--account"]);
  const account = values.get("--account");
  if (account !== undefined && (account === "" || account.startsWith("-"))) {
    throw new CommandError("--account needs the name of an account.", {
      advice: "Without it all accounts of the store are examined.",
    });
  }
  const namesStore = rest.some((word) => /^--(?:store|config)(?:=|$)/.test(word));
  if (options.server === undefined && (namesStore || isStoreOfEnvironment(context.env))) {
    return storeDoctor(options, rest, account, context);
  }
  if (namesStore) {
    throw new CommandError("--store and --server exclude each other.", {
      advice: "--store examines the store itself, --server asks a server that runs.",
    });
  }
  const [unknown] = words;
  if (unknown !== undefined) {
    throw new CommandError(`${unknown} belongs to --store.`, {
      advice:
        "Without --store, --config or STACKWRIGHT_STORE a running server is asked, which has options of its own.",
    });
  }
  return serverDoctor(options, context);
}

/** Whether the environment names a store, and no server: neither another one, nor the one that such an address leads to. */
function isStoreOfEnvironment({
  STACKWRIGHT_SERVE_STORE: own = "",
  STACKWRIGHT_STORE: common = "",
  STACKWRIGHT_SERVER: server = "",
}: NodeJS.ProcessEnv): boolean {
  const store = own === "" ? common : own;
  return server === "" && store !== "" && !store.startsWith("stackwright:");
}

/** Examines a store without a server. */
async function storeDoctor(
  { strict, json }: DoctorOptions,
  words: readonly string[],
  account: string | undefined,
  { terminal, signal, env, directory }: CommandContext,
): Promise<ExitCode> {
  const { runStoreDoctor } = await import("@stackwright/engine");
  const found = await runStoreDoctor(words, env, directory, { account, signal });
  const { withoutKeys, ...data } = found;
  if (json) terminal.write(`${JSON.stringify(data, undefined, 2)}\n`);
  else {
    const several = new Set(data.findings.map((one) => one.account)).size > 1;
    for (const one of data.findings) {
      terminal.write(textOf(one, several ? [one.account] : []));
    }
    if (data.total === 0) terminal.write("Nothing is stuck.\n");
  }
  if (withoutKeys !== undefined) {
    terminal.writeError(`${printable(`The keys were not examined: ${withoutKeys}.`)}\n`);
  }
  return codeOf(data.findings, strict);
}

/** The values of options among words, and the words without them. */
function taken(words: readonly string[], names: readonly string[]) {
  const values = new Map<string, string>();
  const rest: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const name = names.find((one) => word === one || word.startsWith(`${one}=`));
    if (name === undefined) rest.push(word);
    else if (word === name) values.set(name, words[(at += 1)] ?? "");
    else values.set(name, word.slice(name.length + 1));
  }
  return { values, rest };
}

async function serverDoctor(
  { server, strict, json }: DoctorOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { signal, terminal } = context;
  const client = await openServer(context, server);
  return withServerErrors(client.server, async () => {
    const { data } = await client.examine({}, { signal });
    const { findings, total } = data;
    if (json) terminal.write(`${JSON.stringify(data, undefined, 2)}\n`);
    else {
      for (const one of findings) terminal.write(textOf(one));
      if (findings.length < total) {
        terminal.writeError(`${total - findings.length} further findings are left out.\n`);
      }
      if (total === 0) terminal.write("Nothing is stuck.\n");
      if (!data.server) {
        terminal.writeError(
          "The server itself was not examined: that needs the role site-admin.\n",
        );
      }
    }
    return codeOf(findings, strict);
  });
}

function codeOf(findings: readonly Pick<Finding, "severity">[], strict: boolean): ExitCode {
  return findings.some(({ severity }) => strict || severity === "error") ? EXIT.changes : EXIT.ok;
}

function textOf(
  { code, severity, project, stack, run, since, detail, advice }: Finding,
  before: readonly string[] = [],
): string {
  const place = [...before, project, stack].filter((part) => part !== undefined).join("/");
  const where = [
    ...(place === "" ? [] : [place]),
    ...(run === undefined ? [] : [`run ${run}`]),
    ...(since === undefined ? [] : [`since ${since}`]),
  ].join(", ");
  const at = where === "" ? "" : ` (${where})`;
  return `${printable(`${severity} ${code}${at}: ${detail}`)}\n  ${printable(advice)}\n`;
}
