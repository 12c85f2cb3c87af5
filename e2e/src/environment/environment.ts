import type { ServerClient } from "@stackwright-tools/containers";

/** What runs besides the command: the server with registry and store, and the runtime for functions. */
export type Service = "server" | "functions";

/** A bare Git repository: its folder on this machine, and the address that the server connects. */
interface Repository {
  readonly folder: string;
  readonly address: string;
}

/**
 * The surroundings of a scenario: a server, functions with the provider of notes in both forms, and what can
 * happen to them. The command itself always runs on this machine, as a process of a test.
 */
export interface Environment extends AsyncDisposable {
  readonly kind: "processes" | "compose";
  /** The server's HTTP side, with its first credentials. */
  readonly server: ServerClient;
  /** For `STACKWRIGHT_STORE`. */
  readonly store: string;
  /** The table that says where functions are called. */
  readonly functionsTable: string;

  /** The URN of the function with that form of the notes. */
  urnOf(release: 1 | 2): string;
  /** Names of the existing notes. The functions have to run. */
  notes(): Promise<readonly string[]>;
  /** The text of a note. */
  readNote(name: string): Promise<string>;
  /** Changes a note past its provider, as a user of a cloud does in its console. */
  changeNote(name: string, text: string): Promise<void>;

  /** Makes an empty bare Git repository that the server may connect. */
  makeRepository(name: string): Promise<Repository>;

  /** Asks a service to end, and waits until it did; rejects where it does not end in order. */
  stop(service: Service): Promise<void>;
  /** Ends a service without asking. It stays down. */
  kill(service: Service): Promise<void>;
  /** Starts what was stopped or killed, and waits until it is well. */
  start(service: Service): Promise<void>;
  /** Kills a service and starts it again, in the way of this environment; resolves when it is healthy again. */
  crash(service: Service): Promise<void>;
}
