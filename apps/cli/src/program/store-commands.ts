import type { Command } from "commander";
import type {
  BackupOptions,
  RestoreOptions,
  ThawOptions,
  WholeStoreOptions,
} from "../commands/store.ts";
import type { HistoryOptions } from "../commands/store-history.ts";
import type { MigrateOptions } from "../commands/store-migrate.ts";
import type { UpgradeOptions } from "../commands/store-upgrade.ts";
import type { CommandAction, Define } from "./program.ts";

const BACKUP_HELP = `
Others may use the store meanwhile; an embedded store of a running server too. The folder has all resources at one revision, and the
blobs that they refer to. It gets its name when it is complete: what an interrupted command leaves is called FOLDER.partial.

Encrypted values stay encrypted, and the backup holds no key. Keep these besides, in another place:
  the key-encryption key of the stacks   .stackwright/key, or what the STACKWRIGHT_KEY settings name
  the key of a server                    registry.key beside its embedded store, or what --key-file and its like name
  the files that a server is given       its options, its TLS files, the file of its functions

  --at 123456      as the store was at a revision of its etcd cluster

The cluster answers at each revision that was not compacted since; \`etcdctl endpoint status --write-out fields\` names the present one. Stores
in SQLite and PostgreSQL go back by their history: \`stackwright admin restore --at\`.

Exit code 1 also when the store has lost something: the backup is made without it, and names it. With --at so are blobs that were
collected since then.
`;

const RESTORE_HELP = `
The store has to be empty; it may be of another engine than the one that the backup was made of. Everything in the backup is compared
with its digests first. The resources appear in one step at the end: repeat a command that was interrupted. Nothing else may use the
store until it has ended.

The store is a new one to all that knew the former one: versions and cursors from before are refused, locks that were held are
given up. Saved plans have to be made again. What exists may be newer than the backup, so each project with runs of a server is frozen: its
servers plan, and apply nothing until \`stackwright admin thaw\`. Logins to the console are ended. --no-freeze leaves both as they are in the backup:
what a restore before it had frozen stays frozen, too.

  --at 2026-03-01T14:30:00Z --history ADDRESS     as the store was at a time behind the backup
  --at 104 --history ADDRESS                      as it was at a revision

ADDRESS is that of the store of which the backup was made, in SQLite or PostgreSQL. Its history has to reach from the backup to that
moment; others may write to it meanwhile. \`stackwright admin history\` says how far it goes back. A restore never ends within a step that
changed more than one resource. Exit code 1 also when blobs are lost that came after the backup.
`;

const THAW_HELP = `
Ends the freezes that \`stackwright admin restore\` made; those of users stay. Servers on a shared store may run; an embedded store must not be in use: end them
at its server then, by \`stackwright runs unfreeze --whole-project\`.
`;

const VERIFY_HELP = `
With a folder: compares all of a backup with its digests. Without one: reads all resources and blobs of the store, while others may use
it. Names each damaged record. Exit code 1 when there is one, and for a folder that is not a complete backup.
`;

const MIGRATE_HELP = `
The store of --store is backed up, the backup is restored into the store at ADDRESS, and that one is verified. Stop all that writes to the store
before: an embedded one is held meanwhile. A shared one is refused while a server, a worker or a command that changes a stack gives signs of life; and the
command ends with exit code 1 where something was written after the backup, as the new store lacks it then. The former store stays as it is. Start the servers with the new address, and with the key of the former store:
for an embedded one move its registry.key, or name it with --key-file.

The new store is a new one to all that knew the former one, as after \`stackwright admin restore\`.
`;

const UPGRADE_HELP = `
A server, and each command that writes, brings the tables to its release when it opens the store. This does the same at a time of your choice, before
servers of the new release start. Save a backup with the former release first: older releases do not open the tables afterwards. Servers of the release
before may continue to run on PostgreSQL; an embedded store must not be in use. etcd has no tables.

It also reads all records, and names those that this release cannot read: of kinds or in a form that a newer release has written, or damaged. Exit code 1
where there are some. And it names the servers and workers that run, with their releases; with one that died this takes 15 seconds. Records in PostgreSQL with
tables of an older release are read when the tables are changed. Nothing of it is changed by --dry-run.
`;

const HISTORY_HELP = `
The history is the newest commits. Watches that were away resume from it, and read everything again where it begins too late. A server
bounds it by --history-commits, --history-mib and --history-hours, which stores in SQLite and PostgreSQL keep for all who write to them. An etcd cluster does not say how much it has.

With --list the command names each commit: its revision, its time, and what was written or deleted. These are the moments that
\`stackwright admin restore --at\` goes back to.
`;

const DAMAGED_HELP = `
A damaged resource is one of which the stored content is not what was written. Everything else can be read, written, watched and
backed up; what needs the damaged one fails and names it.

  stackwright admin damaged list              names them; exit code 1 when there is one
  stackwright admin damaged export FILE       copies what is stored of them, as it is, beside a running server
  stackwright admin damaged drop FILE         deletes those that FILE names, at exactly the versions that it names

A resource that is written again is whole again. Blobs that only a dropped resource referred to are collected later.
`;

/** Commands for a whole store: all of its projects, stacks and records, with the blobs. */
export function defineStoreCommands(store: Command, define: Define, run: CommandAction): void {
  withStore(define("backup <folder>", "copy a store with its blobs into a new folder", store))
    .option("--at <revision>", "the store as it was at a revision of its etcd cluster")
    .addHelpText("after", BACKUP_HELP)
    .action(async (folder: string, options: BackupOptions, command: Command) => {
      const { storeBackup } = await import("../commands/store.ts");
      await run(command, async (context) => storeBackup(folder, options, context));
    });

  withStore(define("restore <folder>", "fill an empty store with a backup", store))
    .option("--without-damaged", "restore the rest of a damaged backup", false)
    .option("--at <moment>", "a time or a revision behind the backup; with --history")
    .option("--history <address>", "the store whose history reaches there")
    .option("--no-freeze", "freezes no project, and ends no login")
    .addHelpText("after", RESTORE_HELP)
    .action(async (folder: string, options: RestoreOptions, command: Command) => {
      const { storeRestore } = await import("../commands/store.ts");
      await run(command, async (context) => storeRestore(folder, options, context));
    });

  withStore(define("thaw", "let the projects of a restored store be applied again", store))
    .option("--account <name>", "those of one account (default: all)")
    .addHelpText("after", THAW_HELP)
    .action(async (options: ThawOptions, command: Command) => {
      const { storeThaw } = await import("../commands/store.ts");
      await run(command, async (context) => storeThaw(options, context));
    });

  withStore(define("verify [folder]", "look for damage in a backup, or in a store", store))
    .addHelpText("after", VERIFY_HELP)
    .action(async (folder: string | undefined, options: WholeStoreOptions, command: Command) => {
      const { storeVerify } = await import("../commands/store.ts");
      await run(command, async (context) => storeVerify(folder, options, context));
    });

  withStore(define("migrate <address>", "copy a store into an empty one of any engine", store))
    .option("--through <folder>", "keeps the backup on the way there; otherwise it is removed")
    .option(
      "--target-blobs <folder>",
      "where the blobs of the new etcd store with ?blobs=folder go (default: .stackwright/blobs)",
    )
    .addHelpText("after", MIGRATE_HELP)
    .action(async (address: string, options: MigrateOptions, command: Command) => {
      const { storeMigrate } = await import("../commands/store-migrate.ts");
      await run(command, async (context) => storeMigrate(address, options, context));
    });

  withStore(define("upgrade", "bring the tables of a store to this release", store))
    .option("--dry-run", "only say what would be done; exit code 2 where there is something", false)
    .option("--json", "write a JSON document", false)
    .addHelpText("after", UPGRADE_HELP)
    .action(async (options: UpgradeOptions, command: Command) => {
      const { storeUpgrade } = await import("../commands/store-upgrade.ts");
      await run(command, async (context) => storeUpgrade(options, context));
    });

  withStore(define("history", "say how much history a store has for watches that resume", store))
    .option("--list", "name each commit", false)
    .option("--since <moment>", "with --list: from this time or revision on")
    .addHelpText("after", HISTORY_HELP)
    .action(async (options: HistoryOptions, command: Command) => {
      const { storeHistory } = await import("../commands/store-history.ts");
      await run(command, async (context) => storeHistory(options, context));
    });

  defineDamagedCommands(store, define, run);
}

function defineDamagedCommands(store: Command, define: Define, run: CommandAction): void {
  const damaged = define("damaged", "name, export and drop damaged resources", store).addHelpText(
    "after",
    DAMAGED_HELP,
  );
  withStore(define("list", "name the damaged resources of a store", damaged)).action(
    async (options: WholeStoreOptions, command: Command) => {
      const { storeDamagedList } = await import("../commands/store-damaged.ts");
      await run(command, async (context) => storeDamagedList(options, context));
    },
  );
  withStore(define("export <file>", "copy damaged resources into a new file", damaged)).action(
    async (file: string, options: WholeStoreOptions, command: Command) => {
      const { storeDamagedExport } = await import("../commands/store-damaged.ts");
      await run(command, async (context) => storeDamagedExport(file, options, context));
    },
  );
  withStore(
    define("drop <file>", "delete the damaged resources that a file names", damaged),
  ).action(async (file: string, options: WholeStoreOptions, command: Command) => {
    const { storeDamagedDrop } = await import("../commands/store-damaged.ts");
    await run(command, async (context) => storeDamagedDrop(file, options, context));
  });
}

function withStore(command: Command): Command {
  return command
    .option("--store <address>", "which store: sqlite:, postgres:, etcd: (STACKWRIGHT_STORE)")
    .option(
      "--blobs <folder>",
      "where the blobs of an etcd store with ?blobs=folder are (default: .stackwright/blobs)",
    );
}
