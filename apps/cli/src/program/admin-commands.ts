import type * as EngineModule from "@stackwright/engine";
import type { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import type { DoctorOptions } from "../commands/doctor.ts";
import { EXIT } from "../exit-code.ts";
import { openingStore } from "./opening-store.ts";
import type { CommandAction, Define } from "./program.ts";
import { defineStoreCommands } from "./store-commands.ts";

/** Loaded when a command is executed. */
type Engine = typeof EngineModule;

/** A command that takes the options of a server, does its work on the store itself, and gives what is to be printed. */
interface StoreWork {
  readonly name: string;
  readonly description: string;
  readonly usage: string;
  readonly help: string;
  readonly work: (
    engine: Engine,
    words: readonly string[],
    context: CommandContext,
  ) => Promise<string | { readonly text: string; readonly isDamaged: boolean }>;
  /** The name that it had before there was the group; accepted, and in no help. */
  readonly former?: readonly [group: string, name: string] | readonly [name: string];
}

const STORE_WORK: readonly StoreWork[] = [
  {
    name: "bootstrap",
    description: "make a token and an access key for the server, without a running one",
    usage: "[--account NAME] [--output FILE] [--again] [--store ADDRESS] [options of the server]",
    help: `
  --account NAME   whose they are (default: "default")
  --output FILE    written there, for its owner alone, instead of printed
  --again          also where there are some

They may do everything (roles site-admin and worker). Of the options of the server, the store and its key matter.
Further ones are asked of the running server: POST /api/v1/registry/tokens with {"roles": ["worker"],
"storage_scopes": [{"project": "default"}]} for the stacks of one project.
`,
    work: async ({ runBootstrap }, words, { env, directory }) =>
      runBootstrap(words, env, directory),
    former: ["bootstrap"],
  },
  {
    name: "list-keys",
    description: "list the keys that the stored secrets of a server need",
    usage: "[--json] [--store ADDRESS] [options of the server]",
    help: "\n  --json           as JSON\n",
    work: async ({ runServerKeyList }, words, { env, directory }) =>
      runServerKeyList(words, env, directory),
    former: ["server-key", "list"],
  },
  {
    name: "rotate-keys",
    description: "encrypt all stored secrets of a server with its current key",
    usage: "[--store ADDRESS] [options of the server]",
    help: `
  --former-key-file FILE, --former-key-variable NAME, --former-key-command TEXT
                   the key that the secrets are encrypted with so far

An embedded store without a configured key gets a new one: the file registry.key is replaced. Stop its server first.
An interrupted rotation leaves a store that opens; repeat the command to complete it.
`,
    work: async ({ runServerKeyRotate }, words, { env, directory }) =>
      runServerKeyRotate(words, env, directory),
    former: ["server-key", "rotate"],
  },
];

const RETENTION_WORK: readonly StoreWork[] = [
  {
    name: "show",
    description: "say how long a server with these options keeps what it stores",
    usage: "[--json] [--store ADDRESS] [options of the server]",
    help: "\n  --json           as JSON\n\nThe file of the server is given by --config FILE. Nothing is opened.\n",
    work: async ({ runRetentionShow }, words, { env, directory }) =>
      runRetentionShow(words, env, directory),
  },
  {
    name: "enforce",
    description: "remove at once what is past its time, and blobs that nothing needs",
    usage: "[--dry-run] [--json] [--store ADDRESS] [options of the server]",
    help: `
  --dry-run        only says what would be removed, by name; works beside a server on an embedded store too
  --json           as JSON, with all names

Each server does it by itself within an hour. Give the options of the server, such as --config FILE: without them the bounds are those of a server
without options, and more may be removed than the server would. Bounds of the history that are named are kept by the store from then on.
Servers on a shared store may run meanwhile; an embedded store must not be in use, unless for a dry run. Damaged records stay, are named, and keep
no others but blobs: these stay while a record is damaged. Exit code 1 where there was one.
`,
    work: async ({ runRetentionEnforce }, words, { env, directory, signal }) =>
      runRetentionEnforce(words, env, directory, signal),
  },
];

const ADMIN_HELP = `
The commands work where the store is, with the address that the server has: --store, or STACKWRIGHT_STORE. Those that take options of the server
take its variables as well, such as STACKWRIGHT_SERVE_STORE. Names of former releases are accepted as well: store for admin, bootstrap, server-key
list and rotate, server doctor.
`;

const DOCTOR_HELP = `
  --store ADDRESS  examines a store itself, with the options of its server; no server has to run, and some may. All accounts and the keys are examined
  --account NAME   with --store: this account alone

Without --store it examines the store of STACKWRIGHT_SERVE_STORE or STACKWRIGHT_STORE where neither --server nor STACKWRIGHT_SERVER names a server, and
otherwise it asks a running server, and needs the role admin of the account; the role site-admin also has the server itself examined: keys,
store, disks. Exit code 2 where something stays stuck until a user acts, 1 where the server cannot be asked or the store not be read.
`;

/** Commands of those who look after a store and the servers on it. */
export function defineAdminCommands(define: Define, run: CommandAction): void {
  const admin = define("admin", "look after a store and the servers on it")
    .alias("store")
    .addHelpText("after", ADMIN_HELP);
  defineStoreCommands(admin, define, run);

  const groups = new Map<string, Command>();
  for (const one of STORE_WORK) {
    defineWork(define(one.name, one.description, admin), one, run);
    const [first, second] = one.former ?? [];
    if (first === undefined) continue;
    if (second === undefined) {
      defineWork(define(first, one.description, undefined, { hidden: true }), one, run);
      continue;
    }
    const text = "the commands list-keys and rotate-keys of the group admin";
    const group = groups.get(first) ?? define(first, text, undefined, { hidden: true });
    groups.set(first, group);
    defineWork(define(second, one.description, group), one, run);
  }

  const retention = define("retention", "say how long records are kept, and remove others", admin);
  for (const one of RETENTION_WORK)
    defineWork(define(one.name, one.description, retention), one, run);
  defineDoctor("doctor", admin, define, run);
}

/** The doctor, which is in the group of a server as well. */
export function defineDoctor(
  name: string,
  parent: Command,
  define: Define,
  run: CommandAction,
  options: { readonly hidden?: boolean } = {},
): void {
  define(name, "say what is stuck on a server or in a store, why, and what to do", parent, options)
    .allowUnknownOption()
    .allowExcessArguments()
    .usage("[options] [options of the server]")
    .option("--server <url>", "address of the server; without it that of the last login")
    .option("--strict", "end with 2 for warnings as well", false)
    .option("--json", "write a JSON document", false)
    .addHelpText("after", DOCTOR_HELP)
    .action(async (given: DoctorOptions, command: Command) => {
      const { doctor } = await import("../commands/doctor.ts");
      await run(command, async (context) => doctor(given, command.args, context));
    });
}

function defineWork(command: Command, { usage, help, work }: StoreWork, run: CommandAction): void {
  command
    .allowUnknownOption()
    .allowExcessArguments()
    .usage(usage)
    .addHelpText("after", help)
    .action(async (_options: unknown, own: Command) => {
      const engine = await import("@stackwright/engine");
      await run(own, async (context) => {
        const done = await openingStore(async () => work(engine, own.args, context));
        const { text, isDamaged } =
          typeof done === "string" ? { text: done, isDamaged: false } : done;
        context.terminal.write(text);
        return isDamaged ? EXIT.failed : EXIT.ok;
      });
    });
}
