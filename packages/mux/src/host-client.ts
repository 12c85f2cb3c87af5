/** Severities of the engine's log. */
export type HostLogSeverity = "debug" | "info" | "warning" | "error";

export interface HostLogEntry {
  readonly severity: HostLogSeverity;
  readonly message: string;
  /** The resource that it is about; absent: none. */
  readonly urn?: string;
  /** Entries of one stream are parts of one text; absent: none. */
  readonly streamId?: number;
  /** Progress: shown while it is the newest entry, not kept. @default false */
  readonly ephemeral?: boolean;
}

/** A connection to the engine that started a provider: what providers call back. */
export interface HostClient {
  log(entry: HostLogEntry): Promise<void>;
  close(): Promise<void>;
}

/**
 * The place in which the present engine connection stands. A mux and the servers that were made with the same
 * slot all see a new engine as soon as `Attach` replaced it.
 *
 * Source: the muxer's documentation (seed 000), Attach.
 */
export class HostSlot implements HostClient {
  readonly #dial: (address: string) => HostClient | Promise<HostClient>;
  #current: HostClient | undefined;
  #address: string | undefined;

  constructor(dial: (address: string) => HostClient | Promise<HostClient>, initial?: HostClient) {
    this.#dial = dial;
    this.#current = initial;
  }

  /** Address of the engine that was attached last. */
  get address(): string | undefined {
    return this.#address;
  }

  /** Whether there is an engine at all. */
  get isAttached(): boolean {
    return this.#current !== undefined;
  }

  /** Connects to another engine. The old connection is closed once the new one stands. */
  async replace(address: string): Promise<void> {
    const next = await this.#dial(address);
    const old = this.#current;
    this.#current = next;
    this.#address = address;
    await old?.close();
  }

  /** Without an engine, or with one that is gone, a log line has nowhere to go and is dropped. */
  async log(entry: HostLogEntry): Promise<void> {
    await this.#current?.log(entry).catch(() => undefined);
  }

  async close(): Promise<void> {
    const old = this.#current;
    this.#current = undefined;
    await old?.close();
  }
}
