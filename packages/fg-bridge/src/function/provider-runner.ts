/** Starts providers for the function side: real processes, or a provider in this process. */
export interface ProviderRunner {
  /** What is run, for messages. */
  readonly name: string;
  /**
   * Starts one. A start that fails leaves nothing behind.
   *
   * @throws FgBridgeError `FG_PROVIDER_START_FAILED`, `FG_PROTOCOL_REFUSED`; the reason of the signal
   */
  start(options: StartOptions): Promise<RunningProvider>;
}

export interface StartOptions {
  readonly signal: AbortSignal;
  /** Gets lines of the provider's log. */
  readonly onLog?: (line: string) => void;
}

/** A provider that has started. One request at a time. */
export interface RunningProvider extends AsyncDisposable {
  /** Pid of the process, where it is one of its own. */
  readonly pid: number | undefined;
  /** Whether it may get another request. */
  readonly isAlive: boolean;
  /**
   * Calls a method by its name in `tfplugin5.Provider`. Messages pass undecoded.
   *
   * @throws FgBridgeError with the status of the provider and an outcome; the reason of the signal
   */
  call(
    method: string,
    request: Uint8Array,
    options: { readonly signal: AbortSignal },
  ): Promise<Uint8Array>;
  /** Ends it: politely first, unless `kill` is asked for. Frees everything it has. */
  end(options?: { readonly kill?: boolean }): Promise<void>;
}
