/** The signals that stop a command. */
const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export type StopSignal = (typeof STOP_SIGNALS)[number];

/** The process as far as signals are concerned; messages come from a launcher that started it. */
interface SignalSource {
  on(event: StopSignal, listener: () => void): unknown;
  on(event: "message", listener: (message: unknown) => void): unknown;
  on(event: "disconnect", listener: () => void): unknown;
}

/**
 * Calls `stop` once for every signal that was sent to the command, to its process or to the launcher in front of it. A
 * terminal sends Ctrl-C to both: the launcher reports how many signals it received, and the higher count holds. A
 * launcher that was killed counts as one SIGTERM.
 */
export function onStopSignals(source: SignalSource, stop: (signal: StopSignal) => void): void {
  const direct = new Map<StopSignal, number>();
  const launcher = new Map<StopSignal, number>();
  const handled = new Map<StopSignal, number>();
  const settle = (signal: StopSignal): void => {
    const wanted = Math.max(direct.get(signal) ?? 0, launcher.get(signal) ?? 0);
    for (let count = handled.get(signal) ?? 0; count < wanted; count++) {
      handled.set(signal, count + 1);
      stop(signal);
    }
  };
  for (const signal of STOP_SIGNALS) {
    source.on(signal, () => {
      direct.set(signal, (direct.get(signal) ?? 0) + 1);
      settle(signal);
    });
  }
  source.on("message", (message) => {
    const { signal, count } = (message ?? {}) as Partial<{ signal: string; count: number }>;
    const known = STOP_SIGNALS.find((name) => name === signal);
    if (known === undefined || typeof count !== "number") return;
    launcher.set(known, count);
    settle(known);
  });
  source.on("disconnect", () => {
    // Other parents may close their channel and let the command run.
    if (launcher.size > 0) stop("SIGTERM");
  });
}
