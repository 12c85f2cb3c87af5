/** What an engine says to a provider on its command line. */
export interface ProviderArguments {
  /** Absent: the provider waits for Attach. */
  readonly engineAddress: string | undefined;
  readonly logToStderr: boolean;
  /** Verbosity, 0 for none asked for. */
  readonly verbosity: number;
  /** Endpoint for traces. */
  readonly tracing: string | undefined;
}

/**
 * Reads the arguments that engines give: flags (`--logtostderr`, `-v=3`, `--tracing=<endpoint>`; with one or two
 * dashes, a value may be an argument of its own) and then the engine's address. Flags that are not known are passed
 * over, since engines gain some.
 *
 * Source: Pulumi's launch protocol of providers.
 */
export function parseProviderArguments(argv: readonly string[]): ProviderArguments {
  let engineAddress: string | undefined;
  let tracing: string | undefined;
  let verbosity = 0;
  let logToStderr = false;
  const rest = argv.values();
  for (const argument of rest) {
    const flag = /^--?([A-Za-z][\w-]*)(?:=(.*))?$/s.exec(argument);
    if (flag === null) {
      engineAddress ??= argument;
      continue;
    }
    const [, name, value] = flag;
    if (name === "logtostderr") logToStderr = value !== "false";
    else if (name === "v") verbosity = Number(value ?? rest.next().value ?? 0) || 0;
    else if (name === "tracing") tracing = value ?? rest.next().value;
  }
  return { engineAddress, logToStderr, verbosity, tracing };
}
